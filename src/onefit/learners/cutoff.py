"""Directions that scikit-learn's LinearRegression leaves out of its fits."""

from __future__ import annotations

import numpy as np
import sklearn
from sklearn.linear_model import LinearRegression
from sklearn.utils.fixes import parse_version

from ..linalg.columns import EPS
from ..typing import BoolArray, FloatArray

__all__ = ["cutoff", "is_near_cutoff", "loses_directions"]

IS_CUT = parse_version(sklearn.__version__) >= parse_version("1.9")
"""From this version on ``tol`` is the ``cond`` of ``scipy.linalg.lstsq``; before, only rounding errors were cut."""

MARGIN = 30.0
"""How far above the cutoff the singular values of all rows must be, for those of every training set to be so."""

NULL = 1e-11
"""Eigenvalues of a matrix with ones on its diagonal below this may be those of columns that depend on each other."""

CONSTANT = 1e-13
"""Columns that vary by less than this part of their size are constant but for rounding errors: others say so."""

ROWS_AT_ONCE = 20_000


def cutoff(estimator: LinearRegression) -> float:
    """Singular values, relative to the largest, up to which a direction of dense columns is left out of a fit."""
    return float(estimator.tol) if IS_CUT else 0.0


def is_near_cutoff(X: FloatArray, weights: FloatArray | None, fit_intercept: bool, cut: float) -> bool:
    """Whether a direction of X is so small beside others that a training set may be fitted without it.

    Columns that depend on each other are not meant: they are small by rounding errors, whatever is cut.
    """
    if cut <= 0 or len(X) <= X.shape[1]:
        return False
    w = np.ones(len(X)) if weights is None else weights / weights.max()
    middle = w @ X / w.sum() if fit_intercept else np.zeros(X.shape[1])
    low, high = X.min(axis=0), X.max(axis=0)
    largest = np.maximum(high - middle, middle - low)
    unit = np.where(largest > 0, largest, 1.0)
    gram = np.zeros((X.shape[1],) * 2)
    for start in range(0, len(X), ROWS_AT_ONCE):
        rows = slice(start, start + ROWS_AT_ONCE)
        A = np.sqrt(w[rows])[:, None] * ((X[rows] - middle) / unit)
        gram += A.T @ A
    lengths = np.sqrt(np.diagonal(gram))
    lengths[unit * lengths <= CONSTANT * np.sqrt(len(X)) * np.maximum(high, -low)] = 0.0
    if not lengths.any():
        return False
    sizes = unit * (lengths / (unit * lengths).max())  # no squares of what may be large
    D = np.where(lengths > 0, 1.0 / np.where(lengths > 0, lengths, 1.0), 0.0)
    return bool(loses_directions((D[:, None] * gram * D)[None], np.square(sizes)[None], MARGIN * cut)[0])


def loses_directions(A: FloatArray, squares: FloatArray, cut: float) -> BoolArray:
    """Which training sets (S,) may lose a direction, from products A (S, p, p) of columns of length one.

    ``squares`` (S, p) are the squared lengths of the columns. As many directions as columns depend on each other are
    zero but for rounding errors, and lost to everybody.
    """
    is_finite: BoolArray = np.isfinite(A.sum(axis=(1, 2)) + squares.sum(axis=1))
    A, squares = A[is_finite], np.maximum(squares[is_finite], 0.0)
    lengths = np.sqrt(squares / np.maximum(squares.max(axis=1, keepdims=True), np.finfo(float).tiny))
    values = np.linalg.eigvalsh(A * lengths[:, :, None] * lengths[:, None])
    nulls = (np.linalg.eigvalsh(A) < NULL).sum(axis=1)
    last = np.minimum(nulls, A.shape[1] - 1)
    smallest = values[np.arange(len(A)), last]
    least = np.maximum(np.square(cut), 10 * A.shape[1] * EPS) * values[:, -1]
    is_lost: BoolArray = np.ones(len(is_finite), dtype=bool)
    is_lost[is_finite] = (smallest <= least) & (nulls < A.shape[1])
    return is_lost
