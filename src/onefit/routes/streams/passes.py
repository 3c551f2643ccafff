"""The two passes over a table: statistics of all folds, and losses of all rows; tasks that can be sent anywhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np

from ...linalg.columns import Columns
from ...linalg.precondition import Coordinates
from ...sources import Piece
from ...typing import FloatArray, IntArray
from ..collect import Chunk, Collector, FoldOrder, FoldStatistics, numbers_of_a_row, rows_of_a_block
from ..score import Question, Scores, score_chunks
from ..threads import threads
from .rows import ReadRows, RowReader
from .summary import RowSummary, SummaryPlan

__all__ = ["CollectTask", "Collected", "ScoreTask", "Scored", "add_collected", "add_scored"]

RowsOf = Callable[[ReadRows], Columns]


@dataclass(frozen=True)
class WeightSums:
    """Over rows: how many, sums of weights, their squares and fourth powers; how many are positive, and their ends."""

    n: int = 0
    first: float = 0.0
    second: float = 0.0
    fourth: float = 0.0
    positive: int = 0
    low: float = np.inf
    high: float = 0.0

    def plus(self, other: WeightSums) -> WeightSums:
        """With those of other rows."""
        return WeightSums(
            self.n + other.n,
            self.first + other.first,
            self.second + other.second,
            self.fourth + other.fourth,
            self.positive + other.positive,
            min(self.low, other.low),
            max(self.high, other.high),
        )

    @property
    def ends(self) -> FloatArray:
        """The smallest and the largest of those that are positive; none if there are none."""
        return np.array([self.low, self.high]) if self.positive else np.zeros(0)

    @classmethod
    def of(cls, n: int, weights: FloatArray | None) -> WeightSums:
        """Of some rows; without weights each counts once."""
        if weights is None:
            return cls(n, float(n), float(n), float(n), n, 1.0, 1.0)
        squares, seen = np.square(weights), weights[weights > 0]
        sums = float(weights.sum()), float(squares.sum()), float(squares @ squares)
        return cls(n, *sums, len(seen), float(seen.min(initial=np.inf)), float(seen.max(initial=0.0)))


@dataclass
class Collected:
    """What the first pass finds: statistics of each model, sums of the weights, and rows (L, K) that have one."""

    statistics: list[FoldStatistics]
    weights: WeightSums
    seen: IntArray


def add_collected(one: Collected, other: Collected) -> Collected:
    """Of earlier and later rows."""
    statistics = [a.plus(b) for a, b in zip(one.statistics, other.statistics, strict=True)]
    return Collected(statistics, one.weights.plus(other.weights), one.seen + other.seen)


def _parts(rows: ReadRows, columns: Sequence[Columns], middle: FloatArray, most: int) -> Iterator[list[Chunk]]:
    """Rows that were read together as even chunks of at most so many, one of each design."""
    y, n = rows.observed - middle, len(rows.observed)
    edges = np.linspace(0, n, 1 + -(-n // most), dtype=int).tolist()
    for start, stop in pairwise(edges):
        some = slice(start, stop)
        yield [
            Chunk(
                each.rows(some),
                y[some],
                rows.ids[:, some],
                None if rows.weights is None else rows.weights[some],
                None if rows.groups is None else rows.groups[some],
                rows.observed[some],
                rows.start + start,
            )
            for each in columns
        ]


@dataclass(frozen=True)
class CollectTask:
    """The first pass over a piece."""

    reader: RowReader
    designs: tuple[RowsOf, ...]
    coordinates: tuple[Coordinates, ...]
    needs_plain: tuple[bool, ...]
    values: tuple[Callable[[ReadRows], FloatArray] | None, ...]

    def __call__(self, piece: Piece) -> Collected:
        """Statistics of its rows."""
        Q, K, L = len(self.reader.target.middle), self.reader.deal.n_folds, len(self.reader.repeats)
        widths = [len(each.T) for each in self.coordinates]
        most = rows_of_a_block(max(widths) + Q, K)
        collectors = [Collector(FoldStatistics.zeros((L, K, Q), len(each.T)), each, most) for each in self.coordinates]
        plain = [
            Collector(FoldStatistics.zeros((L, K, Q), len(each.T)), each, most)
            if needed and self.reader.weights is not None
            else None
            for each, needed in zip(self.coordinates, self.needs_plain, strict=True)
        ]
        extremes: list[tuple[FloatArray, FloatArray] | None] = [None] * len(collectors)
        weights, seen = WeightSums(), np.zeros((L, K), dtype=np.intp)
        with threads(1):
            for rows in self.reader.rows(piece):
                weights = weights.plus(WeightSums.of(len(rows.observed), rows.weights))
                if rows.weights is not None:
                    seen += np.stack([np.bincount(ids[rows.weights > 0], minlength=K) for ids in rows.ids])
                extremes = [
                    None if of is None else _with_extremes(ends, of(rows), rows.ids, K)
                    for ends, of in zip(extremes, self.values, strict=True)
                ]
                columns = [design(rows) for design in self.designs]
                for chunks in _parts(rows, columns, self.reader.target.middle, most):
                    for collector, without, chunk in zip(collectors, plain, chunks, strict=True):
                        collector.add(chunk)
                        if without is not None:
                            without.add(chunk._replace(weights=None))
        found = [
            replace(each.finished(), plain=None if without is None else without.finished(), extremes=ends)
            for each, without, ends in zip(collectors, plain, extremes, strict=True)
        ]
        return Collected(found, weights, seen)


def _with_extremes(
    ends: tuple[FloatArray, FloatArray] | None, values: FloatArray, ids: IntArray, n_folds: int
) -> tuple[FloatArray, FloatArray]:
    """Least and largest values by folds, (L, K, r), with those of more rows."""
    if ends is None:
        shape = (len(ids), n_folds, values.shape[1])
        ends = np.full(shape, np.inf), np.full(shape, -np.inf)
    low, high = ends
    has_gaps = bool(np.isnan(values).any())
    least, most = (np.fmin, np.fmax) if has_gaps else (np.minimum, np.maximum)
    for repeat, own in enumerate(ids):
        order = FoldOrder.of(own, n_folds)
        sorted_values = values[order.order]
        for fold, part in order.parts():
            low[repeat, fold] = least(low[repeat, fold], least.reduce(sorted_values[part], axis=0, initial=np.inf))
            high[repeat, fold] = most(high[repeat, fold], most.reduce(sorted_values[part], axis=0, initial=-np.inf))
    return low, high


@dataclass
class Scored:
    """What the second pass finds."""

    scores: Scores
    summary: RowSummary

    def tables(self, sizes: IntArray) -> tuple[FloatArray, FloatArray]:
        """Means of the losses of fold j with j and k out, and sums of squares about them; NaN if they are not known.

        ``sizes`` (L, K) are rows of the folds.
        """
        (L, K), scores = sizes.shape, self.scores
        moments = [each.fold_moments() for each in scores.repeats]
        mean, scatter = (np.stack(parts) for parts in zip(*moments, strict=True))
        pairs, scatters = np.full((2, L, K, K, *mean.shape[2:]), np.nan)
        if scores.pairs is not None:
            counts = sizes[:, :, None, None, None].astype(float)
            shift = np.stack([each.shift for each in scores.repeats])
            pairs, scatters = scores.pairs.moments(shift, counts)
        every = np.arange(K)
        pairs[:, every, every], scatters[:, every, every] = mean, scatter
        return pairs, scatters


def add_scored(one: Scored, other: Scored) -> Scored:
    """Of earlier and later rows."""
    return Scored(one.scores.plus(other.scores), one.summary.plus(other.summary))


@dataclass(frozen=True)
class ScoreTask:
    """The second pass over a piece."""

    reader: RowReader
    designs: tuple[RowsOf, ...]
    question: Question
    summary: SummaryPlan = field(repr=False)

    def __call__(self, piece: Piece) -> Scored:
        """Losses of its rows."""
        p, V, Q = self.question.sets.own.shape[2:]
        most = rows_of_a_block(numbers_of_a_row(p, V, Q), self.reader.deal.n_folds)
        summary = self.summary.begin()
        with threads(1):
            scores = score_chunks(self._chunks(piece, most), self.question, most, summary, _nothing)
        return Scored(scores, summary)

    def _chunks(self, piece: Piece, most: int) -> Iterator[Chunk]:
        for rows in self.reader.rows(piece):
            columns = [design(rows) for design in self.designs]
            for chunks in _parts(rows, columns, self.reader.target.middle, most):
                first, *others = chunks
                yield first._replace(beside=tuple(chunk.columns for chunk in others))


def _nothing() -> None:
    """Count nothing: pieces are counted where they are added up."""
