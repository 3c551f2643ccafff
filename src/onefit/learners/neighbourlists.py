"""Sorted lists of the nearest rows of every row, by scikit-learn's own search among all rows."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, sqrt
from threading import Lock
from typing import Any

import numpy as np
from sklearn.neighbors import NearestNeighbors

from ..linalg.columns import EPS
from ..typing import BoolArray, FloatArray, IntArray

__all__ = ["NeighbourLists", "RankedRows"]

MOST_CELLS = 3 * 10**7
"""Rows times length of a list, beyond which lists are not made longer: 12 bytes each."""

BLOCK = 256
"""Rows that are looked up together: always the same ones, so that no bit depends on who asks."""

SAME = 1e-10
"""Distances that differ by less, relative to them, are tied."""


@dataclass(frozen=True)
class RankedRows:
    """The nearest rows of every row, itself included, in rising order of their distances: both (n, length).

    Only of the ``known`` blocks of rows.
    """

    index: IntArray
    distance: FloatArray
    known: BoolArray

    @property
    def length(self) -> int:
        """Rows in each list."""
        return int(self.index.shape[1])


class NeighbourLists:
    """Lists of growing length, each twice as long as the one before, made when they are first asked for.

    Parameters
    ----------
    search : NearestNeighbors
        Not fitted; it has the metric and the algorithm of the estimator.
    X : array or sparse matrix (n, p)
    is_brute : bool
        Whether some training set may be searched without a tree: Euclidean distances are then differences of squares.
    """

    def __init__(self, search: NearestNeighbors, X: Any, is_brute: bool) -> None:
        self._search, self._X = search.fit(X), X
        self._levels, self._lock = dict[int, RankedRows](), Lock()
        self._noise = self._rounding() if is_brute else None

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self._X.shape[0])

    @property
    def is_squared(self) -> bool:
        """Whether rounding errors are those of squared distances."""
        return self._noise is not None and self._search.effective_metric_ == "euclidean"

    def first_length(self, n_neighbors: int, share_out: float) -> int:
        """How long lists must be so that nearly all of them have enough rows if this share of all rows is out."""
        stays = 1.0 - min(share_out, 1.0 - 1.0 / self.n)
        margin = 5.0 * sqrt(n_neighbors * share_out) / stays
        return min(self.n, ceil((n_neighbors + 1) / stays + margin) + 1)

    def next_length(self, length: int) -> int | None:
        """Twice as much; None if lists have all rows, or would take too much memory."""
        twice = min(2 * length, self.n)
        return None if length == self.n or self.n * twice > MOST_CELLS else twice

    def of_rows(self, rows: IntArray, length: int) -> RankedRows:
        """Lists of this length, of some rows at least."""
        with self._lock:
            if length not in self._levels:
                shape, n_blocks = (self.n, length), -(-self.n // BLOCK)
                known = np.zeros(n_blocks, dtype=bool)
                self._levels[length] = RankedRows(np.empty(shape, dtype=np.int32), np.empty(shape), known)
            ranked = self._levels[length]
            wanted = np.zeros(len(ranked.known), dtype=bool)
            wanted[rows // BLOCK] = True
            for block in np.flatnonzero(wanted & ~ranked.known):
                some = slice(block * BLOCK, (block + 1) * BLOCK)
                ranked.distance[some], ranked.index[some] = self._search.kneighbors(self._X[some], n_neighbors=length)
                ranked.known[block] = True
            return ranked

    def _rounding(self) -> FloatArray:
        """Rounding errors of the distances of each row, as they may be computed: squared ones if Euclidean."""
        if self._search.effective_metric_ != "euclidean":
            return np.zeros(self.n)
        squares = np.asarray(self._X.multiply(self._X).sum(axis=1) if hasattr(self._X, "multiply") else self._X**2)
        norms = squares.reshape(self.n, -1).sum(axis=1)
        rounding: FloatArray = 16.0 * EPS * (norms + norms.max())
        return rounding

    def are_tied(self, rows: IntArray, near: FloatArray, far: FloatArray) -> BoolArray:
        """Whether distances of some rows may be the same, or in another order, where scikit-learn computes them.

        So are those that are no numbers, such as correlations with a row of equal values.
        """
        with np.errstate(invalid="ignore"):
            tied: BoolArray = ~(far - near > SAME * far)
        if self._noise is None:
            return tied
        return tied | (np.square(far) - np.square(near) <= 2.0 * self._noise[rows]) if self.is_squared else tied

    def are_blurred(self, rows: IntArray, nearest: FloatArray) -> BoolArray:
        """Whether the smallest distances have too few digits, where scikit-learn computes them, to weight by them."""
        if not self.is_squared:
            return np.zeros(len(rows), dtype=bool)
        assert self._noise is not None
        blurred: BoolArray = np.square(nearest) * SAME <= self._noise[rows]
        return blurred
