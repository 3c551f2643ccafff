"""Passes for searches inside training sets of a table, whose splits are consecutive rows of each training set.

Split f of a training set begins where so many of its rows have been read. So a first pass counts the rows of the folds
in each piece, and a second one has products of the columns by folds and by segments: what lies between two places
where a split of any training set begins. Segments and folds make up the splits of all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from ...linalg.columns import Columns
from ...sources import Piece
from ...typing import FloatArray, IntArray
from ..collect import FoldOrder
from ..threads import threads
from .rows import ReadRows, RowReader

__all__ = ["CountTask", "Cuts", "SegmentTask", "Segments", "add_counts", "add_segments"]

Counts = dict[int, IntArray]
"""By piece, rows of each fold of each repeat, (L, K)."""


@dataclass(frozen=True)
class CountTask:
    """Counts the rows of folds."""

    reader: RowReader

    def __call__(self, piece: Piece) -> Counts:
        """Of a piece."""
        L, K = len(self.reader.repeats), self.reader.deal.n_folds
        counts = np.zeros((L, K), dtype=np.intp)
        for rows in self.reader.rows(piece):
            counts += np.stack([np.bincount(ids, minlength=K) for ids in rows.ids])
        return {piece.place: counts}


def add_counts(one: Counts, other: Counts) -> Counts:
    """Of earlier and later pieces."""
    return {**one, **other}


@dataclass(frozen=True)
class Cuts:
    """Where splits begin: ``out`` (S, 2), folds that training sets leave out, -1 for none, and ``ranks`` (L, S, F - 1).

    Split f + 1 of a training set begins after so many of its rows.
    """

    out: IntArray
    ranks: IntArray

    @classmethod
    def of(cls, sizes: IntArray, n_splits: int) -> Cuts:
        """Of all training sets without one or two folds of these sizes (L, K), split as KFold does."""
        K = sizes.shape[1]
        single = np.stack([np.arange(K), np.full(K, -1)], axis=1)
        out = np.vstack([single, np.stack(np.triu_indices(K, 1), axis=1)])
        padded = np.hstack([sizes, np.zeros((len(sizes), 1), dtype=sizes.dtype)])
        left = sizes.sum(axis=1)[:, None] - padded[:, out].sum(axis=2)  # (L, S)
        at = np.arange(1, n_splits)
        return cls(out, left[..., None] // n_splits * at + np.minimum(at, left[..., None] % n_splits))

    def before(self, row: int, counts: IntArray) -> IntArray:
        """Rows (S,) of the training sets before a row, given counts (K,) of the folds before it."""
        return np.asarray(row - np.append(counts, 0)[self.out].sum(axis=1))


@dataclass
class Segments:
    """Sums over segments, by repeat and number of the segment.

    Attributes
    ----------
    products : list of dicts of (K, d + Q, d + Q), products of the columns and the residuals of the pilot
    extremes : list of dicts of pairs of (K, r), least and largest values
    rows : list of dicts, by training set and split the row where it begins
    """

    products: list[dict[int, FloatArray]]
    extremes: list[dict[int, tuple[FloatArray, FloatArray]]]
    rows: list[dict[tuple[int, int], int]] = field(default_factory=list)


def add_segments(one: Segments, other: Segments) -> Segments:
    """Of earlier and later rows."""
    for products, more in zip(one.products, other.products, strict=True):
        for segment, table in more.items():
            products[segment] = products[segment] + table if segment in products else table
    for extremes, ends in zip(one.extremes, other.extremes, strict=True):
        for segment, (low, high) in ends.items():
            if segment in extremes:
                low, high = np.minimum(extremes[segment][0], low), np.maximum(extremes[segment][1], high)
            extremes[segment] = low, high
    for rows, found in zip(one.rows, other.rows, strict=True):
        rows.update(found)
    return one


@dataclass(frozen=True)
class SegmentTask:
    """Products of the columns by segments and folds.

    Attributes
    ----------
    reader : RowReader
    design, values : functions of rows
        Columns, and those of values whose extremes are noted.
    pilot : array (d, Q)
    before : mapping
        By piece, rows of each fold before it, (L, K).
    cuts : Cuts
    """

    reader: RowReader
    design: Callable[[ReadRows], Columns]
    values: Callable[[ReadRows], FloatArray]
    pilot: FloatArray
    before: Mapping[int, IntArray]
    cuts: Cuts

    def __call__(self, piece: Piece) -> Segments:
        """Of a piece."""
        L = len(self.reader.repeats)
        found = Segments([{} for _ in range(L)], [{} for _ in range(L)], [{} for _ in range(L)])
        counts = self.before[piece.place].copy()
        with threads(1):
            for rows in self.reader.rows(piece):
                B = self.design(rows).N
                residuals = rows.observed - self.reader.target.middle - B @ self.pilot
                table, values = np.hstack([B, residuals]), self.values(rows)
                for repeat, ids in enumerate(rows.ids):
                    self._add(found, repeat, ids, rows.start, counts[repeat], (table, values))
                    counts[repeat] += np.bincount(ids, minlength=counts.shape[1])
        return found

    def _add(
        self,
        found: Segments,
        repeat: int,
        ids: IntArray,
        start: int,
        counts: IntArray,
        tables: tuple[FloatArray, FloatArray],
    ) -> None:
        """Take in some rows, before which there are so many of each fold."""
        segment, ends = self._bounds(found.rows[repeat], repeat, ids, start, counts)
        K = len(counts)
        for low, high in zip([0, *ends], [*ends, len(ids)], strict=True):
            if high > low:
                order = FoldOrder.of(ids[low:high], K)
                table, values = (each[low:high][order.order] for each in tables)
                self._put(found, repeat, segment, K, order, table, values)
            segment += 1

    def _bounds(
        self, rows: dict[tuple[int, int], int], repeat: int, ids: IntArray, start: int, counts: IntArray
    ) -> tuple[int, list[int]]:
        """The segment of the first row, and where others begin; these are noted in ``rows``."""
        cuts, K = self.cuts, len(counts)
        ranks = cuts.ranks[repeat]
        first = cuts.before(start, counts)[:, None]
        last = cuts.before(start + len(ids), counts + np.bincount(ids, minlength=K))[:, None]
        is_here = np.argwhere((first < ranks) & (last >= ranks))
        ends = list[int]()
        if len(is_here):
            running = np.zeros((len(ids) + 1, K + 1), dtype=np.intp)
            running[1:, :K] = np.cumsum(ids[:, None] == np.arange(K), axis=0)
            for index, split in is_here:
                gone = running[:, cuts.out[index]].sum(axis=1)
                before = first[index] + np.arange(len(ids) + 1) - gone
                ends.append(int(np.searchsorted(before, ranks[index, split])))
                rows[int(index), int(split)] = start + ends[-1]
        return int((first >= ranks).sum()), sorted(ends)

    @staticmethod
    def _put(
        found: Segments,
        repeat: int,
        segment: int,
        n_folds: int,
        order: FoldOrder,
        table: FloatArray,
        values: FloatArray,
    ) -> None:
        """Take in rows of one segment, sorted by folds."""
        products, extremes = found.products[repeat], found.extremes[repeat]
        if segment not in products:
            products[segment] = np.zeros((n_folds, table.shape[1], table.shape[1]))
            nothing = np.full((n_folds, values.shape[1]), np.inf)
            extremes[segment] = nothing, -nothing
        low, high = extremes[segment]
        for fold, part in order.parts():
            products[segment][fold] += table[part].T @ table[part]
            low[fold] = np.fmin(low[fold], np.fmin.reduce(values[part], axis=0, initial=np.inf))
            high[fold] = np.fmax(high[fold], np.fmax.reduce(values[part], axis=0, initial=-np.inf))
