"""Statistics of any sets of rows, each a mask: what differences of folds do not tell of sets inside training sets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np
from scipy import sparse

from ..learners import FixedFeatures, Moments, SetStatistics
from ..typing import AnyArray, BoolArray, FloatArray, IntArray

__all__ = ["Ends", "MaskedStatistics", "quantiles_inside"]

PEEK = 12
"""Rows at either end of a column among which most sets have their extremes."""

RANKS = 2**20
"""Ranks of rows that are held at a time."""


class Ends:
    """The order of the rows in every column of values."""

    def __init__(self, fixed: FixedFeatures) -> None:
        self._fixed = fixed
        values = np.column_stack(fixed.values) if fixed.values else np.zeros((fixed.n, 0))
        # missing values come last, as the row n that no set has
        order = np.argsort(values, axis=0, kind="stable")
        self._values = np.vstack([values, np.full(values.shape[1], np.nan)])
        self._ascending = np.where(np.isnan(np.take_along_axis(values, order, axis=0)), fixed.n, order)
        self._descending = self._ascending[::-1]
        missing = np.count_nonzero(self._ascending == fixed.n, axis=0)
        if missing.any():
            turns = (np.arange(fixed.n)[:, None] + missing) % max(fixed.n, 1)
            self._descending = np.take_along_axis(self._descending, turns, axis=0)

    @property
    def sources(self) -> list[int]:
        """Which columns of B these are."""
        return self._fixed.value_sources

    def extremes(self, inside: BoolArray) -> tuple[FloatArray, FloatArray]:
        """Least and largest values (S, r) of sets (S, n); infinite if all are missing."""
        padded = np.hstack([inside, np.zeros((len(inside), 1), dtype=bool)])
        return self._first(padded, self._ascending, np.inf), self._first(padded, self._descending, -np.inf)

    def _first(self, padded: BoolArray, order: IntArray, none: float) -> FloatArray:
        """The first value that each set has."""
        near, columns = order[:PEEK], np.arange(order.shape[1])
        seen = padded[:, near]  # (S, PEEK, r)
        is_found = seen.any(axis=1)
        found = np.where(is_found, self._values[near[seen.argmax(axis=1), columns], columns], none)
        for index, at in np.argwhere(~is_found):
            far = order[padded[index, order[:, at]], at]
            if len(far):
                found[index, at] = self._values[far[0], at]
        return found


class MaskedStatistics(SetStatistics):
    """Statistics of sets of rows.

    Parameters
    ----------
    ends : Ends
    B : array or sparse matrix (n, q), the fixed features
    inside, predicted : (S, n), the rows of each set, and those that it is to predict
    moments : Moments
    outer : MaskedStatistics and array (S,), default=None
        The sets that these are parts of, and of which each is one.
    """

    def __init__(
        self,
        ends: Ends,
        B: FloatArray | sparse.csr_matrix,
        inside: BoolArray,
        predicted: BoolArray,
        moments: Moments,
        outer: tuple[MaskedStatistics, IntArray] | None = None,
    ) -> None:
        super().__init__(moments)
        self._ends, self._B, self._inside, self._predicted, self._outer = ends, B, inside, predicted, outer

    def whole(self) -> tuple[SetStatistics, IntArray]:
        """The sets that these are parts of."""
        return super().whole() if self._outer is None else self._outer

    def rows(self) -> Iterator[tuple[IntArray, list[IntArray]]]:
        """The rows of each set, and those that it is to predict."""
        for inside, predicted in zip(self._inside, self._predicted, strict=True):
            yield np.flatnonzero(inside), [np.flatnonzero(predicted)]

    def held_out(self, sources: IntArray) -> FloatArray:
        """Counts in the rows that are predicted."""
        return np.asarray(self._predicted.astype(np.float64) @ self._B[:, sources])

    def tally(self, codes: IntArray, n_codes: int) -> FloatArray:
        """Counts of codes."""
        rows = np.flatnonzero(codes >= 0)
        entries = (np.ones(len(rows)), (rows, codes[rows]))
        return np.asarray(self._inside.astype(np.float64) @ sparse.csr_matrix(entries, shape=(len(codes), n_codes)))

    def extremes(self, sources: IntArray) -> tuple[FloatArray, FloatArray]:
        """From the ends of the order of all rows."""
        low, high = self._all_extremes
        at = np.searchsorted(self._ends.sources, sources)
        return low[:, at], high[:, at]

    @cached_property
    def _all_extremes(self) -> tuple[FloatArray, FloatArray]:
        return self._ends.extremes(self._inside)

    def quantiles(self, values: AnyArray, probabilities: Sequence[float]) -> FloatArray:
        """From the order of all rows."""
        return quantiles_inside(values, self._inside, probabilities)


def quantiles_inside(values: AnyArray, inside: BoolArray, probabilities: Sequence[float]) -> FloatArray:
    """Quantiles (S, k) of a column (n,) in sets of rows (S, n), from the order of all; NaN if all are missing."""
    order = np.argsort(values, kind="stable")
    order = order[: np.count_nonzero(~np.isnan(values))]
    step = max(1, RANKS // max(len(values), 1))
    parts = range(0, len(inside), step)
    return np.vstack([_quantiles(values, order, inside[at : at + step], probabilities) for at in parts])


def _quantiles(values: AnyArray, order: IntArray, inside: BoolArray, probabilities: Sequence[float]) -> FloatArray:
    """The same with the order of the values that are there."""
    ranks = np.cumsum(inside[:, order], axis=1, dtype=np.int32)
    count = ranks[:, -1] if len(order) else np.zeros(len(inside))
    found = np.full((len(inside), len(probabilities)), np.nan)
    some = np.flatnonzero(count)
    ordered = values[order]
    for at, probability in enumerate(probabilities):
        place = probability * (count[some] - 1)
        ends = [np.minimum(np.floor(place) + step, count[some] - 1) for step in (0, 1)]
        low, high = (ordered[(ranks[some] <= end[:, None]).sum(axis=1)] for end in ends)
        found[some, at] = low + (high - low) * (place - np.floor(place))
    return found
