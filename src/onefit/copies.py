"""Columns that are the target under another name: in other units, or with the other sign."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
from scipy import sparse

from .typing import Data, FloatArray, IntArray

__all__ = ["LEAKED", "copies_of"]

LEAKED = 1e-10
"""Of the variance of y, which noise of a hundred-thousandth of its spread leaves.

Hardly anything is measured so finely, and whoever is told without need has made y of the columns, and knows it.
"""

LEAST_ROWS = 10
"""Rows from which on a straight line through them is no accident."""


def copies_of(X: Data, y: FloatArray, weights: FloatArray | None) -> IntArray:
    """For each column of y (n, Q) the first of X that is a straight line in it, but for `LEAKED`; -1 if none is.

    Rows of weight zero, and those where the column is missing, do not count; half of all have to. Text is not looked
    at, nor any X but frames of pandas and matrices of numbers.
    """
    found = np.full(y.shape[1], -1)
    counts = np.ones(len(y), dtype=bool) if weights is None else weights > 0
    for place, x in _columns(X):
        rows = counts & np.isfinite(x)
        n = int(rows.sum())
        if n >= max(LEAST_ROWS, counts.sum() / 2):
            found[(found < 0) & (_left(x[rows], y[rows]) < LEAKED)] = place
        if (found >= 0).all():
            break
    return found


def _columns(X: Data) -> Iterator[tuple[int, FloatArray]]:
    """Places and values of the columns of numbers."""
    if isinstance(X, pd.DataFrame):
        for place, dtype in enumerate(X.dtypes):
            if pd.api.types.is_any_real_numeric_dtype(dtype):
                yield place, X.iloc[:, place].to_numpy(dtype=np.float64, na_value=np.nan)
    elif sparse.issparse(X):
        by_columns = sparse.csc_array(X)
        for place in range(by_columns.shape[1]):
            yield place, np.asarray(by_columns[:, [place]].toarray(), dtype=np.float64).ravel()
    elif isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "fiu":
        for place in range(X.shape[1]):
            yield place, X[:, place].astype(np.float64)


def _left(x: FloatArray, y: FloatArray) -> FloatArray:
    """What a straight line in x (n,) leaves of the variance of each column of y (n, Q); one if either is constant."""
    along, about = _unit(x[:, None]), _unit(y)
    left = np.square(about - along * (along.T @ about)).sum(axis=0)
    return np.where((about != 0).any(axis=0), left, 1.0)


def _unit(x: FloatArray) -> FloatArray:
    """Columns about their means, of length one; zeros where they are constant, but for rounding errors."""
    size = np.abs(x).max(axis=0, initial=0.0)
    about = x / np.where(size > 0, size, 1.0)  # squares neither overflow nor vanish
    about = about - about.mean(axis=0)
    length = np.linalg.norm(about, axis=0)
    return np.where(length > LEAKED, about / np.where(length > 0, length, 1.0), 0.0)
