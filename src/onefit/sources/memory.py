"""Rows in memory: an array, a frame, a sparse matrix, or a vector of objects."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import _safe_indexing

from ..frames import as_array
from ..typing import AnyArray, Data, IntArray
from .contract import BLOCK_BYTES

__all__ = ["MemorySource"]


@dataclass(frozen=True)
class MemorySource:
    """X as it was given."""

    X: Any

    @property
    def n_rows(self) -> int:
        """Rows of a table, or length of a vector of objects, which may be a list."""
        return int(self.X.shape[0]) if hasattr(self.X, "shape") else len(self.X)

    def blocks(self) -> Iterator[AnyArray]:
        """All rows in order as arrays; those of an array itself are views."""
        each = 8 * (self.X.shape[1] if len(getattr(self.X, "shape", ())) == 2 else 1)
        step = max(1, BLOCK_BYTES // each)
        for start in range(0, self.n_rows, step):
            stop = min(start + step, self.n_rows)
            if isinstance(self.X, np.ndarray):
                yield self.X[start:stop]
            else:
                part: Any = self.take(np.arange(start, stop))
                yield part.toarray() if sparse.issparse(part) else as_array(part)

    def take(self, rows: IntArray) -> Data:
        """Some rows in the container that X has."""
        taken: Data = _safe_indexing(self.X, rows)
        return taken

    def between(self, rows: IntArray, others: IntArray) -> AnyArray:
        """Entries of a matrix between rows, such as a kernel."""
        return np.asarray(self.X)[np.ix_(rows, others)]
