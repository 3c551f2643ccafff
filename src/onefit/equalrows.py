"""Rows that are the same in all columns: any model predicts the same of them."""

from __future__ import annotations

import numpy as np
import pandas as pd

from .typing import AnyArray, Data, IntArray

__all__ = ["equal_rows"]

MOST_CELLS = 2**20
"""Numbers that are hashed at a time."""


def equal_rows(X: Data) -> IntArray | None:
    """For each row the first one that is the same, (n,); None if X is no frame of pandas and no array of numbers.

    Rows are told apart by hashes of 64 bits: of a million rows two that differ are taken for one another once in 4e7.
    """
    hashes: AnyArray
    if isinstance(X, pd.DataFrame):
        try:
            hashes = pd.util.hash_pandas_object(X, index=False).to_numpy()
        except TypeError:  # lists in cells, and other things that have no hash
            return None
    elif isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "fiub":
        hashes = _hashes(X)
    else:
        return None
    _, first, inverse = np.unique(hashes, return_index=True, return_inverse=True)
    return np.asarray(first[inverse])


def _hashes(X: AnyArray) -> AnyArray:
    """A sum of the hashes of the numbers of each row, times odd numbers, which tell columns apart."""
    n, p = X.shape
    factors = np.random.default_rng(0).integers(2**63, size=p, dtype=np.uint64) * np.uint64(2) + np.uint64(1)
    found, step = np.zeros(n, dtype=np.uint64), max(1, MOST_CELLS // max(1, p))
    for start in range(0, n, step):
        part = np.ascontiguousarray(X[start : start + step])
        found[start : start + step] = pd.util.hash_array(part.ravel()).reshape(part.shape) @ factors
    return found
