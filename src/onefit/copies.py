"""Columns that are the target under another name: in other units, or with the other sign."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from scipy.special import gammaln

from .typing import BoolArray, Data, FloatArray, IntArray

__all__ = ["LEAKED", "class_copy_of", "copies_of"]

LEAKED = 1e-10
"""Of the variance of y, which noise of a hundred-thousandth of its spread leaves.

Hardly anything is measured so finely, and whoever is told without need has made y of the columns, and knows it.
"""

LEAST_ROWS = 10
"""Rows from which on a straight line through them is no accident."""

ACCIDENT = 1e-6
"""Orders of the values of a column, of all, that may tell the classes for it to be no accident."""

GLANCE = 200
"""Rows that show of most columns that they are not the class."""


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


def class_copy_of(X: Data, codes: IntArray, weights: FloatArray | None) -> int:
    """The first column of X, of numbers or text, each value of which is one class, and each class one value; or -1.

    ``codes`` (n,) number the classes from zero. Rows that do not count are those of `copies_of`.
    """
    counts = np.ones(len(codes), dtype=bool) if weights is None else weights > 0
    n_classes = int(codes.max(initial=0)) + 1
    for place, column in _any_columns(X):
        if _of_both(column[:GLANCE], codes[:GLANCE], counts[:GLANCE]) is None:
            continue
        sizes = _of_both(column, codes, counts)
        if sizes is not None and len(sizes) == n_classes > 1 and sizes.sum() >= counts.sum() / 2:
            orders = gammaln(sizes.sum() + 1) - gammaln(sizes + 1).sum() - gammaln(n_classes + 1)
            if orders > -np.log(ACCIDENT):
                return place
    return -1


def _any_columns(X: Data) -> Iterator[tuple[int, Any]]:
    """Places and values of all columns, of text, too."""
    if isinstance(X, pd.DataFrame):
        yield from ((place, X.iloc[:, place]) for place in range(X.shape[1]))
    elif isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "bUO":
        yield from enumerate(X.T)
    else:
        yield from _columns(X)


def _of_both(column: Any, codes: IntArray, counts: BoolArray) -> IntArray | None:
    """Rows that count of each class, if a column's values and the classes tell each other; else None."""
    try:
        values = pd.factorize(column)[0]
    except TypeError:  # lists, say
        return None
    rows = counts & (values >= 0)
    places, first, sizes = np.unique(codes[rows], return_index=True, return_counts=True)
    own = values[rows][first]
    is_told = len(np.unique(own)) == len(places) and (own[np.searchsorted(places, codes[rows])] == values[rows]).all()
    return sizes if is_told else None


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
