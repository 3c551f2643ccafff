"""First phase of the gram route over blocks of rows: statistics of all folds of some repeats, in one pass."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial, reduce
from itertools import pairwise
from typing import NamedTuple, Protocol, TypeAlias

import numpy as np

from ..folds import Folds
from ..linalg import compiled
from ..linalg.columns import Columns
from ..linalg.precondition import Coordinates
from ..typing import FloatArray, IntArray

__all__ = [
    "BLOCK_CELLS",
    "Chunk",
    "Collector",
    "Design",
    "FoldOrder",
    "FoldStatistics",
    "RowBlocks",
    "Span",
    "collect",
    "numbers_of_a_row",
    "rows_of_a_block",
]

BLOCK_CELLS = 2**18
"""Numbers in a block of rows: what the caches hold."""

ROWS_OF_A_FOLD = 64
"""A block holds at least so many of every fold, so that products of them are fast."""

N_SPANS = 8
"""Parts that the blocks are dealt to, each summed by itself: as many for any number of threads, so that bits agree."""

Span: TypeAlias = list[tuple[int, int]]
"""Blocks of rows, one after the other: first row, last row + 1."""


def numbers_of_a_row(width: int, n_values: int, n_outputs: int) -> int:
    """What a row takes of the caches: its columns and y, and residuals and losses at all values."""
    return width + n_outputs * (1 + 2 * n_values)


def rows_of_a_block(width: int, n_folds: int) -> int:
    """Rows of so many numbers that are read at once."""
    return max(ROWS_OF_A_FOLD * n_folds, BLOCK_CELLS // width)


class Design(Protocol):
    """Columns of which some rows can be asked for.

    Attributes
    ----------
    weights : array (n,) or None
    """

    weights: FloatArray | None

    @property
    def n(self) -> int:
        """Number of rows."""

    @property
    def n_columns(self) -> int:
        """Penalized and free columns."""

    def block(self, rows: IntArray | slice) -> Columns:
        """Some rows, without their weights; nothing is made of all rows."""

    def root_weights(self, rows: IntArray) -> FloatArray:
        """Roots of the weights of some rows."""


class Chunk(NamedTuple):
    """Consecutive rows as a pass sees them: columns, y, folds (L, b), weights that count in the pass, and groups.

    ``observed`` is y as it was given, ``start`` the number of the first row, ``beside`` are columns of other designs.
    """

    columns: Columns
    y: FloatArray
    ids: IntArray
    weights: FloatArray | None
    groups: IntArray | None
    observed: FloatArray
    start: int
    beside: tuple[Columns, ...] = ()

    def fill(self, rows: FloatArray) -> None:
        """Write ``(columns, y)`` into the first of ``rows`` (b, p + Q)."""
        parts = [part for each in (self.columns, *self.beside) for part in (each.E, each.N)]
        np.concatenate([*parts, self.y], axis=1, out=rows[: len(self.y)])


@dataclass(frozen=True)
class RowBlocks:
    """The rows of a design in memory in order, a block at a time."""

    design: Design
    y: FloatArray
    folds: Folds
    n_values: int
    observed: FloatArray
    groups: IntArray | None = None

    @property
    def rows_each(self) -> int:
        """Rows of a block."""
        return rows_of_a_block(
            numbers_of_a_row(self.design.n_columns, self.n_values, self.y.shape[1]), self.folds.n_folds
        )

    def spans(self) -> list[Span]:
        """All blocks, in parts that may be summed apart from each other."""
        n, step = len(self.y), self.rows_each
        blocks = [(start, min(start + step, n)) for start in range(0, n, step)]
        edges = [len(blocks) * part // N_SPANS for part in range(N_SPANS + 1)]
        return [blocks[low:high] for low, high in pairwise(edges) if high > low]

    def chunks(self, span: Span, weights: FloatArray | None) -> Iterator[Chunk]:
        """The blocks of a span, with weights of all rows."""
        for start, stop in span:
            some = slice(start, stop)
            yield Chunk(
                self.design.block(some),
                self.y[some],
                self.folds.ids[:, some],
                None if weights is None else weights[some],
                None if self.groups is None else self.groups[some],
                self.observed[some],
                start,
            )


@dataclass(frozen=True)
class FoldOrder:
    """Rows of a block by folds: ``order`` sorts them, fold j is from ``ends[j]`` to ``ends[j + 1]``."""

    order: IntArray
    ends: IntArray

    @classmethod
    def of(cls, ids: IntArray, n_folds: int) -> FoldOrder:
        """From the folds of the rows; -1 are in none."""
        order = np.argsort(ids.astype(np.int16) if n_folds < 2**15 else ids, kind="stable")  # so few bits sort fast
        return cls(order, np.cumsum(np.bincount(ids + 1, minlength=n_folds + 1)))

    @property
    def back(self) -> IntArray:
        """Where each row of the block is among the sorted ones."""
        places = np.empty_like(self.order)
        places[self.order] = np.arange(len(self.order))
        return places

    def part(self, fold: int | np.intp) -> slice:
        """Where the rows of a fold are among the sorted ones."""
        return slice(int(self.ends[fold]), int(self.ends[fold + 1]))

    def parts(self) -> Iterator[tuple[int, slice]]:
        """All folds that have rows here."""
        return ((int(fold), self.part(fold)) for fold in np.flatnonzero(np.diff(self.ends)))


@dataclass(frozen=True)
class FoldStatistics:
    """Products of rows ``(Z, r)`` with themselves, Z in some coordinates and r the residuals of a pilot fit.

    Rows count with their weights. ``products`` (L, K, d + Q, d + Q) are by repeats and folds, ``others`` (d + Q, d + Q)
    of the rows that the first repeat never scores, and ``squares`` (Q,) those of y. Where steps learn there may be
    the same without weights (``plain``), and least and largest values (L, K, r) of some columns (``extremes``).
    """

    products: FloatArray
    others: FloatArray
    squares: FloatArray
    plain: FoldStatistics | None = None
    extremes: tuple[FloatArray, FloatArray] | None = None

    @classmethod
    def zeros(cls, shape: tuple[int, int, int], d: int) -> FoldStatistics:
        """Of no rows, for repeats, folds and outputs, and so many coordinates."""
        L, K, Q = shape
        return cls(np.zeros((L, K, d + Q, d + Q)), np.zeros((d + Q, d + Q)), np.zeros(Q))

    def plus(self, other: FoldStatistics) -> FoldStatistics:
        """With those of other rows."""
        np.add(self.products, other.products, out=self.products)  # large, and of nobody else
        plain = None if self.plain is None or other.plain is None else self.plain.plus(other.plain)
        extremes = self.extremes or other.extremes  # there are none where there is no row
        if self.extremes is not None and other.extremes is not None:
            (low, high), (other_low, other_high) = self.extremes, other.extremes
            extremes = np.minimum(low, other_low), np.maximum(high, other_high)
        return FoldStatistics(self.products, self.others + other.others, self.squares + other.squares, plain, extremes)

    @property
    def total(self) -> FloatArray:
        """Products over all rows."""
        total: FloatArray = self.products[0].sum(axis=0) + self.others
        return total


def collect(
    blocks: RowBlocks,
    coordinates: Coordinates,
    run: Callable[..., Iterable[FoldStatistics]],
    tick: Callable[[], None],
) -> FoldStatistics:
    """Statistics of all folds, from one pass over the rows in order."""
    return reduce(FoldStatistics.plus, run(partial(_collect_span, blocks, coordinates, tick), blocks.spans()))


def _collect_span(blocks: RowBlocks, coordinates: Coordinates, tick: Callable[[], None], span: Span) -> FoldStatistics:
    """Statistics of some of the blocks."""
    shape = (blocks.folds.n_repeats, blocks.folds.n_folds, blocks.y.shape[1])
    collector = Collector(FoldStatistics.zeros(shape, coordinates.T.shape[1]), coordinates, blocks.rows_each)
    for chunk in blocks.chunks(span, blocks.design.weights):
        collector.add(chunk)
        tick()
    return collector.finished()


class Collector:
    """Takes in rows in chunks of at most ``rows_each``, until it is finished."""

    def __init__(self, statistics: FoldStatistics, coordinates: Coordinates, rows_each: int) -> None:
        self.statistics, self.coordinates = statistics, coordinates
        width = statistics.products.shape[2]
        self._rows, self._own = np.empty((2, rows_each, width))
        self._one = np.empty((width, width))
        self._is_compiled = compiled.collects(width)

    def add(self, chunk: Chunk) -> None:
        """Add the products of some rows."""
        columns, y, ids, weights, *_ = chunk
        (L, K), count = self.statistics.products.shape[:2], len(y)
        rows, own, products = self._rows[:count], self._own[:count], self.statistics.products
        self.coordinates.put(columns, y, rows)
        if weights is not None:
            root = np.sqrt(weights)[:, None]
            rows *= root
            y = root * y
        squares, others = self.statistics.squares, self.statistics.others
        squares += np.square(y).sum(axis=0)
        if (ids[0] < 0).any():
            rest = rows[ids[0] < 0]
            others += rest.T @ rest
        if self._is_compiled:
            compiled.gather(rows, ids, products)
            return
        for repeat in range(L):
            order = FoldOrder.of(ids[repeat], K)
            np.take(rows, order.order, axis=0, out=own, mode="clip")
            for fold, part in order.parts():
                products[repeat, fold] += np.matmul(own[part].T, own[part], out=self._one)

    def finished(self) -> FoldStatistics:
        """The statistics of all rows; the kernel adds to upper triangles alone, of which the lower ones are made."""
        if self._is_compiled:
            products = self.statistics.products
            above = np.triu_indices(products.shape[2], 1)
            products[:, :, above[1], above[0]] = products[:, :, above[0], above[1]]
        return self.statistics
