"""Rows that are the same in all columns: any model predicts the same of them."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd
from scipy import sparse

from .typing import AnyArray, Data, IntArray

__all__ = ["equal_rows"]

MOST_CELLS = 2**20
"""Numbers that are hashed at a time."""


def equal_rows(X: Data) -> IntArray | None:
    """For each row the first one that is the same, (n,); None if X is no frame of pandas and no matrix of numbers.

    Rows are told apart by hashes of 64 bits: of a million rows two that differ are taken for one another once in 4e7.
    """
    hashes: AnyArray
    if isinstance(X, pd.DataFrame):
        try:
            hashes = pd.util.hash_pandas_object(_told_apart(X), index=False).to_numpy()
        except (TypeError, ValueError):  # lists in cells, and other things that have no hash, such as long doubles
            return None
    elif isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "fiub":
        hashes = _hashes(X)
    elif sparse.issparse(X) and (rows := sparse.csr_array(X)).dtype.kind in "fiub":
        hashes = _sparse_hashes(rows)
    else:
        return None
    _, first, inverse = np.unique(hashes, return_index=True, return_inverse=True)
    return np.asarray(first[inverse])


def _told_apart(X: pd.DataFrame) -> pd.DataFrame:
    """With numbers of values where pandas takes some that differ for one another: None and NaN, 1 and "1"."""
    coded = dict[int, AnyArray]()
    for place, dtype in enumerate(X.dtypes):
        column = X.iloc[:, place]
        if isinstance(dtype, pd.CategoricalDtype):
            coded[place] = column.cat.codes.to_numpy()
        elif dtype == np.dtype("O") and pd.api.types.infer_dtype(column, skipna=False) != "string":
            coded[place] = _numbered(column)
    if not coded:
        return X
    return pd.DataFrame({place: coded.get(place, X.iloc[:, place].array) for place in range(X.shape[1])})


def _numbered(values: Iterable[object]) -> IntArray:
    """A number for each value, the same for those that are equal."""
    seen = dict[object, int]()
    named = (_NaN if isinstance(v, float | np.floating) and np.isnan(v) else v for v in values)
    return np.array([seen.setdefault(v, len(seen)) for v in named])


class _NaN:
    """Stands for all of them: they do not equal themselves."""


def _hashes(X: AnyArray) -> AnyArray:
    """A sum of the hashes of the numbers of each row, times odd numbers, which tell columns apart."""
    n, p = X.shape
    factors = _factors(p)
    found, step = np.zeros(n, dtype=np.uint64), max(1, MOST_CELLS // max(1, p))
    for start in range(0, n, step):
        part = np.ascontiguousarray(X[start : start + step])
        found[start : start + step] = pd.util.hash_array(part.ravel()).reshape(part.shape) @ factors
    return found


def _sparse_hashes(X: sparse.csr_array) -> AnyArray:
    """The same of what is not zero in each row."""
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    own = np.where(X.data != 0, pd.util.hash_array(X.data) * _factors(X.shape[1])[X.indices], np.uint64(0))
    return np.diff(np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(own)])[X.indptr])


def _factors(p: int) -> AnyArray:
    return np.random.default_rng(0).integers(2**63, size=p, dtype=np.uint64) * np.uint64(2) + np.uint64(1)
