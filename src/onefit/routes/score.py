"""Third phase of the gram route over blocks of rows: losses of all held-out rows, in a second pass."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial, reduce
from typing import Protocol

import numpy as np

from ..folds import Folds
from ..inference.chain import Chain
from ..inference.row_sums import RowSums
from ..inference.rowtotals import RowTotals
from ..linalg import compiled
from ..metrics.losses import Loss
from ..typing import FloatArray
from .collect import Chunk, FoldOrder, RowBlocks, Span
from .solve import JoinedSets, Link, TrainingSets

__all__ = ["PairSums", "Question", "Refitted", "Scores", "score", "score_chunks"]

Refitted = Mapping[tuple[int, int, int], FloatArray]
"""By repeat, fold and value: residuals (rows, Q) of a fold without it, where its training set was fitted from rows."""


@dataclass(frozen=True)
class Question:
    """What is asked of the rows, and what they are scored with.

    Attributes
    ----------
    sets : TrainingSets or JoinedSets
    loss : Loss
    n_groups : int or None
    refitted : Refitted
    folds : Folds or None
        All folds, if some were refitted.
    chain : Chain
        How values are paired.
    shift : (L, K, R)
        About what the losses of each fold are at the best value: sums are taken about it.
    middle : (L, V, R)
        About what the losses of each repeat are at each value: third powers are taken about it.
    with_pairs : bool
        Whether the losses of each fold with it and another out are asked for, too.
    """

    sets: TrainingSets | JoinedSets
    loss: Loss
    n_groups: int | None
    chain: Chain
    shift: FloatArray
    middle: FloatArray
    with_pairs: bool
    refitted: Refitted = field(default_factory=dict)
    folds: Folds | None = None

    @property
    def is_for_the_kernel(self) -> bool:
        """Whether a compiled kernel computes the losses of single folds: squares of one output, from coefficients."""
        is_plain = self.loss.is_squared and self.shift.shape[2] == 1 and not self.refitted and self.n_groups is None
        return is_plain and not self.links and compiled.is_on()

    @property
    def links(self) -> tuple[Link, ...]:
        """Values that have linear predictors rather than predictions."""
        return getattr(self.sets, "links", ())


@dataclass(frozen=True)
class PairSums:
    """Sums (L, K, K, V, R) over the rows of fold j, with j and k out, of losses about a shift and of their squares."""

    sums: FloatArray
    squares: FloatArray

    def add(self, at: tuple[int, int], about: FloatArray) -> None:
        """Take in the losses (b, K, V, R) of some rows of a fold."""
        table = about.reshape(len(about), -1)
        self.sums[at] += table.sum(axis=0).reshape(about.shape[1:])
        self.squares[at] += np.einsum("bc,bc->c", table, table).reshape(about.shape[1:])

    def plus(self, other: PairSums) -> PairSums:
        """With those of other rows."""
        return PairSums(self.sums + other.sums, self.squares + other.squares)

    def moments(self, shift: FloatArray, counts: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Means, and sums of squares about them."""
        return shift[:, :, None, None] + self.sums / counts, np.maximum(
            self.squares - np.square(self.sums) / counts, 0.0
        )


@dataclass(frozen=True)
class Scores:
    """What a second pass over the rows finds: by repeat, and by pairs of folds if these were asked for."""

    repeats: list[RowSums]
    pairs: PairSums | None

    def plus(self, other: Scores) -> Scores:
        """With those of other rows."""
        for one, more in zip(self.repeats, other.repeats, strict=True):
            one.merge(more)
        pairs = None if self.pairs is None or other.pairs is None else self.pairs.plus(other.pairs)
        return Scores(self.repeats, pairs)


class RowSink(Protocol):
    """Takes what is known of the rows of a chunk: sums over the repeats of their residuals and losses."""

    def wants_residuals(self, chunk: Chunk) -> bool:
        """Whether their residuals are looked at; else they need not be there."""

    def put(self, chunk: Chunk, rows: RowTotals) -> None:
        """The first of ``rows`` are those of the chunk."""


class _IntoTotals:
    """Tables of all rows in memory."""

    def __init__(self, totals: RowTotals) -> None:
        self.totals = totals

    def wants_residuals(self, chunk: Chunk) -> bool:
        return True

    def put(self, chunk: Chunk, rows: RowTotals) -> None:
        self.totals.put(chunk.start, chunk.start + len(chunk.y), rows)


def score(
    blocks: RowBlocks,
    weights: FloatArray | None,
    question: Question,
    totals: RowTotals,
    run: Callable[..., Iterable[Scores]],
    tick: Callable[[], None],
) -> Scores:
    """Score every row without its own fold, in one pass; its residuals and losses are added to ``totals``.

    ``weights`` are relative to their mean.
    """
    scores = reduce(Scores.plus, run(partial(_score_span, blocks, weights, question, totals, tick), blocks.spans()))
    totals.count += (blocks.folds.ids >= 0).sum(axis=0)
    return scores


def _score_span(
    blocks: RowBlocks,
    weights: FloatArray | None,
    question: Question,
    totals: RowTotals,
    tick: Callable[[], None],
    span: Span,
) -> Scores:
    """Some of the blocks."""
    return score_chunks(blocks.chunks(span, weights), question, blocks.rows_each, _IntoTotals(totals), tick)


def score_chunks(
    chunks: Iterable[Chunk], question: Question, rows_each: int, sink: RowSink, tick: Callable[[], None]
) -> Scores:
    """Score rows that come in chunks of at most so many."""
    (L, K, R), (p, V, Q) = question.shift.shape, question.sets.own.shape[2:]
    about = zip(question.shift, question.middle, strict=True)
    repeats = [RowSums(question.chain, shift, middle, question.n_groups) for shift, middle in about]
    pairs = PairSums(*np.zeros((2, L, K, K, V, R))) if question.with_pairs else None
    design, own = np.empty((2, rows_each, p + Q))
    space = np.empty((3, rows_each, V, Q))  # fresh memory for every block would take longer than its use
    tables = np.empty((2, rows_each, V + 2))
    rows, is_compiled = RowTotals(rows_each, V, Q, R), question.is_for_the_kernel
    for chunk in chunks:
        count = len(chunk.y)
        chunk.fill(design)
        rows.both.fill(0.0)
        residuals = rows.residuals[:count, :, 0] if sink.wants_residuals(chunk) else None
        for repeat in range(L) if is_compiled else ():
            totals = residuals, rows.losses[:count, :, 0]
            _score_compiled(question, repeat, chunk, design[:count], totals, repeats[repeat])
        for repeat in range(L) if pairs is not None or not is_compiled else ():
            order = FoldOrder.of(chunk.ids[repeat], K)
            np.take(design[:count], order.order, axis=0, out=own[:count], mode="clip")
            block = _Block(question, repeat, chunk, order, own[:count])
            if not is_compiled:
                losses = block.own(rows, space[:, :count])
                repeats[repeat].add(losses, order.parts(), *block.roles, tables)
            for fold, part in order.parts() if pairs is not None else ():
                assert pairs is not None
                pairs.add((repeat, fold), block.pair_losses(fold, part) - question.shift[repeat, fold])
        sink.put(chunk, rows)
        tick()
    return Scores(repeats, pairs)


def _score_compiled(
    question: Question,
    repeat: int,
    chunk: Chunk,
    rows: FloatArray,
    totals: tuple[FloatArray | None, FloatArray],
    sums: RowSums,
) -> None:
    """Rows (b, p + 1) of a block: what `_Block.own` and `RowSums.add` do, without tables in between."""
    compiled.score(
        rows,
        question.sets.own_residuals[repeat],
        chunk.weights,
        question.shift[repeat, :, 0],
        sums.thirds.about[..., 0],
        chunk.ids[repeat],
        question.chain.parents,
        (*totals, sums.products, sums.thirds.sums),
    )


class _Block:
    """Some rows, sorted by their folds in one repeat: columns and y beside each other, (b, p + Q)."""

    def __init__(self, question: Question, repeat: int, chunk: Chunk, order: FoldOrder, rows: FloatArray) -> None:
        self.question, self.repeat, self.start, self.order, self.rows = question, repeat, chunk.start, order, rows
        self.observed = chunk.observed.take(order.order, axis=0)
        self.roles = (
            None if chunk.weights is None else chunk.weights.take(order.order),
            None if chunk.groups is None else chunk.groups.take(order.order),
        )

    def own(self, totals: RowTotals, space: FloatArray) -> FloatArray:
        """Weighted losses (b, V, R) with each row's own fold out; residuals and losses are added to the totals."""
        question, order, (residuals, losses, sorted_back) = self.question, self.order, space
        b, V, Q = residuals.shape
        flat = residuals.reshape(b, V * Q)
        for fold, part in order.parts():
            np.matmul(self.rows[part], question.sets.own_residuals[self.repeat, fold], out=flat[part])
        self._apply_links(residuals, self.observed[:, None])
        for (repeat, fold, value), found in question.refitted.items():
            if repeat == self.repeat:
                residuals[order.part(fold), value] = found[self._places(fold)]
        residuals[: order.ends[0]] = 0.0  # rows that are in no fold
        if question.loss.is_squared:
            np.square(residuals, out=losses)
        else:
            losses = self._loss(slice(None)).of(self.observed[:, None], residuals)
        kept = question.loss.decided_residuals(self.observed[:, None], residuals)
        losses[: order.ends[0]] = kept[: order.ends[0]] = 0.0
        back, R = order.back, losses.shape[2]
        residual_sums, loss_sums = totals.residuals[:b], totals.losses[:b]
        residual_sums += np.take(kept, back, axis=0, out=sorted_back, mode="clip")
        space_of_losses = sorted_back if R == Q else None
        loss_sums += np.take(losses, back, axis=0, out=space_of_losses, mode="clip")
        return self._weighted(losses, slice(None))

    def _apply_links(self, residuals: FloatArray, observed: FloatArray) -> None:
        """Residuals (..., V, Q) of values with a link, of which minus the linear predictors are there."""
        for values, family in self.question.links:
            own = residuals[..., values, :]
            own[...] = observed - family.predicted(-own)

    def pair_losses(self, fold: int, part: slice) -> FloatArray:
        """Weighted losses (b, K, V, R) of the rows of a fold with it and another out."""
        question = self.question
        residuals = self.rows[part] @ question.sets.pair_residuals[self.repeat, fold]
        residuals = residuals.reshape(-1, question.shift.shape[1], *question.sets.own.shape[3:])
        self._apply_links(residuals, self.observed[part][:, None, None])
        return self._weighted(self._loss(part).of(self.observed[part][:, None, None], residuals), part)

    def _loss(self, part: slice) -> Loss:
        """The loss of some of the rows."""
        if not self.question.loss.minds_folds:
            return self.question.loss
        folds = np.repeat(np.arange(-1, len(self.order.ends) - 1), np.diff(self.order.ends, prepend=0))
        return self.question.loss.among(self.repeat, folds[part])

    def _weighted(self, losses: FloatArray, part: slice) -> FloatArray:
        weights = self.roles[0]
        return losses if weights is None else losses * weights[part].reshape(-1, *[1] * (losses.ndim - 1))

    def _places(self, fold: int) -> slice:
        """Where the rows of a fold in this block stand among all of its rows."""
        assert self.question.folds is not None
        before = int((self.question.folds.ids[self.repeat, : self.start] == fold).sum())
        part = self.order.part(fold)
        return slice(before, before + part.stop - part.start)
