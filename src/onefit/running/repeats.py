"""Run a route over the repeats, a block at a time, until they are done or settled, or the user stops them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Protocol

import numpy as np

from ..folds import FoldSource
from ..inference.chain import Chain, ascending
from ..inference.fold_errors import FoldErrors, HeldOut, Rows, RowTotals, concatenate, summarize
from ..inference.intervals import Rule
from ..inference.montecarlo import MOST_REPEATS, SCHEDULE, is_settled
from ..metrics.losses import Loss
from ..routes.base import TABLE_BYTES, Route, SmootherRoute, per_block, threads
from ..routes.gram import GramRoute
from ..routes.refit import RefitRoute
from ..routes.trainingsets import TrainingSetsRoute
from ..typing import FloatArray

__all__ = ["Collected", "Counts", "collect", "counts_of", "mean_cv", "stopped_after", "stopped_in_bias"]


class Counts(Protocol):
    """What a route counts as it goes on."""

    @property
    def units(self) -> str:
        """Name of a unit, in the plural."""

    def n_units(self, n_folds: int, n_repeats: int, with_pairs: bool) -> int:
        """How many there are in so many repeats."""


def counts_of(routes: Sequence[Route], tick: Callable[[int], None], is_one_repeat: bool) -> tuple[Counts, ...]:
    """Routes that count: refits if there are any, as beside them the others take no time."""
    refits = tuple(route for route in routes if isinstance(route, RefitRoute))
    if refits:
        return refits
    fast = tuple(route for route in routes if isinstance(route, SmootherRoute))
    for route in fast:
        route.tick = tick
        route.counts_sets = is_one_repeat and isinstance(route, GramRoute | TrainingSetsRoute)
    return fast


@dataclass(frozen=True)
class Collected:
    """The fold errors of complete repeats, the sums over their held-out rows, and whether the user stopped there."""

    blocks: tuple[FoldErrors, ...]
    totals: RowTotals
    is_stopped: bool = False

    @property
    def errors(self) -> FoldErrors:
        """The fold errors as one table."""
        return concatenate(self.blocks)

    def plus(self, single: HeldOut, errors: FoldErrors, in_place: bool) -> Collected:
        """With a block more; not in place if what is complete must survive an interruption at any moment."""
        totals = self.totals if in_place else deepcopy(self.totals)
        totals.add(single)
        return Collected((*self.blocks, errors), totals)


def collect(
    route: Route,
    source: FoldSource,
    rows: Rows,
    n_outputs: int,
    n_repeats: int | None,
    rule: Rule,
    loss: Loss,
    make_chain: Callable[[FloatArray], Chain] = ascending,
    n_threads: int = 1,
    stop: Callable[[], None] = lambda: None,
    keeps_complete: bool = False,
) -> Collected:
    """Fold errors and row means of ``n_repeats`` repeats, or, if None, of as many as the stopping rule asks for.

    Only the small tables of fold errors grow with the repeats: the losses of pairs live for one block. The first repeat
    alone says which chain of values all others are read by, and threads wait for it, so that neither the size of the
    blocks nor the number of threads can change a bit of the answer. ``stop`` is to end the threads.
    ``keeps_complete`` makes every repeat a block, and if the user stops it, those that are complete stand.
    """
    outer = sys.exception()
    done = Collected((), RowTotals(source.n, route.n_values, n_outputs, loss.n_losses(n_outputs)))
    cells = route.n_values * n_outputs
    step = per_block(8 * cells * (6 * source.n_folds**2 + 4 * source.n), TABLE_BYTES / n_threads)

    def compute(span: tuple[int, int], chain: Chain | None = None) -> tuple[HeldOut, FoldErrors]:
        folds = source.block(*span)
        pairs = route.pairs(folds)
        if chain is None:
            chain = make_chain(pairs.single.cv_means(rows)[0].mean(axis=1))
        return pairs.single, summarize(pairs, folds, rows, chain)

    try:
        # refits have their own workers, and BLAS as the user has it
        with nullcontext(map) if isinstance(route, RefitRoute) else threads(n_threads) as run:
            try:
                for start, goal in pairwise((0, *(SCHEDULE if n_repeats is None else (n_repeats,)))):
                    spans = _spans(start, goal, 1 if keeps_complete else step, n_threads)
                    if isinstance(route, RefitRoute):
                        route.look_ahead(source, start, goal)
                    if not done.blocks:
                        done = done.plus(*compute(spans.pop(0)), in_place=not keeps_complete)
                    # threads begin at once with what they are given, so the chain must be known by now
                    for single, errors in run(partial(compute, chain=done.blocks[0].chain), spans):
                        done = done.plus(single, errors, in_place=not keeps_complete)
                    if n_repeats is None and is_settled(done.errors, rule, loss.scale):
                        break
            except BaseException:
                stop()  # before the threads are waited for
                raise
    except KeyboardInterrupt as error:
        if not (keeps_complete and done.blocks) or _is_second(error, outer):
            raise
        return Collected(done.blocks, done.totals, is_stopped=True)
    return done


def _is_second(error: BaseException, outer: BaseException | None) -> bool:
    """Whether the user has interrupted what another interruption had set going; ``outer`` was there before."""
    earlier = error.__context__
    if earlier is None or earlier is outer:
        return False
    return isinstance(earlier, KeyboardInterrupt) or _is_second(earlier, outer)


def _spans(start: int, goal: int, step: int, n_threads: int) -> list[tuple[int, int]]:
    """Repeats of each block; for threads the first by itself, which they wait for, and then some blocks for each."""
    if n_threads == 1:
        return [(low, min(low + step, goal)) for low in range(start, goal, step)]
    first = 1 if start == 0 else start
    each = max(1, min(step, -(-(goal - first) // (4 * n_threads))))
    later = [(low, min(low + each, goal)) for low in range(first, goal, each)]
    return [(start, first), *later] if first > start else later


def mean_cv(
    route: Route, source: FoldSource, rows: Rows, n_outputs: int, n_repeats: int, keeps_complete: bool = False
) -> tuple[FloatArray | None, int]:
    """Mean over partitions of their row-mean cross-validation error, (V, R), and of how many partitions.

    If the user stops it, those that are complete stand with ``keeps_complete``; None if there is none.
    """
    step = 1 if keeps_complete else per_block(8 * 4 * source.n * route.n_values * n_outputs, TABLE_BYTES)
    means: list[FloatArray] = []
    outer = sys.exception()
    try:
        for start in range(0, n_repeats, step):
            folds = source.block(start, min(start + step, n_repeats))
            means.append(route.singles(folds).cv_means(rows))
    except KeyboardInterrupt as error:
        if not keeps_complete or _is_second(error, outer):
            raise
    return (np.concatenate(means).mean(axis=0) if means else None), sum(map(len, means))


def stopped_after(count: int, asked: int | None, has_bias: bool) -> str:
    """Note on a job that the user stopped."""
    of = f"at most {MOST_REPEATS}" if asked is None else f"{asked}"
    these = "this one" if count == 1 else f"these {count}"
    bias = ", that of the bias too" if has_bias else ""
    return f"stopped by the user after {count} of {of} repeats; the figures are from {these}{bias}"


def stopped_in_bias(count: int, asked: int) -> str:
    """Note on a job that the user stopped when its repeats were complete."""
    source = f"these {count}" if count else "the repeats themselves"
    return f"stopped by the user after {count} of {asked} partitions for the bias, which is from {source}"
