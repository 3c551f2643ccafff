"""Run a route over the repeats, a block at a time, until they are done or settled."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain as chain_of
from itertools import pairwise

import numpy as np

from .chain import Chain, ascending
from .fold_errors import FoldErrors, HeldOut, Rows, RowTotals, concatenate, summarize
from .folds import FoldSource
from .intervals import Rule
from .losses import Loss
from .montecarlo import SCHEDULE, is_settled
from .routes.base import TABLE_BYTES, Route, per_block, threads
from .typing import FloatArray

__all__ = ["collect", "mean_cv"]


def collect(
    route: Route,
    source: FoldSource,
    rows: Rows,
    n_outputs: int,
    n_repeats: int | None,
    rule: Rule,
    loss: Loss,
    tick: Callable[[int], None] | None = None,
    make_chain: Callable[[FloatArray], Chain] = ascending,
    n_threads: int = 1,
) -> tuple[FoldErrors, RowTotals]:
    """Fold errors and row means of ``n_repeats`` repeats, or, if None, of as many as the stopping rule asks for.

    Only the small tables of fold errors grow with the repeats: the losses of pairs live for one block. Threads take
    blocks of their own, after the first has found the chain of values that all must share.
    """
    totals = RowTotals(source.n, route.n_values, n_outputs, loss.n_losses(n_outputs))
    blocks: list[FoldErrors] = []
    cells = route.n_values * n_outputs
    step = per_block(8 * cells * (6 * source.n_folds**2 + 4 * source.n), TABLE_BYTES / n_threads)

    def compute(span: tuple[int, int]) -> tuple[HeldOut, FoldErrors]:
        folds = source.block(*span)
        pairs = route.pairs(folds)
        chain = blocks[0].chain if blocks else make_chain(pairs.single.cv_means(rows).mean(axis=(0, 2)))
        return pairs.single, summarize(pairs, folds, rows, chain)

    with threads(n_threads) as run:
        for start, goal in pairwise((0, *(SCHEDULE if n_repeats is None else (n_repeats,)))):
            spans = _spans(start, goal, step, n_threads)
            first = [compute(spans.pop(0))] if not blocks else []
            for single, errors in chain_of(first, run(compute, spans)):
                totals.add(single)
                blocks.append(errors)
                if tick is not None:
                    tick(len(errors.raw))
            if n_repeats is None and is_settled(concatenate(blocks), rule, loss.scale):
                break
    return concatenate(blocks), totals


def _spans(start: int, goal: int, step: int, n_threads: int) -> list[tuple[int, int]]:
    """Repeats of each block; for threads a short one first, which they wait for, and then some for each."""
    if n_threads == 1:
        return [(low, min(low + step, goal)) for low in range(start, goal, step)]
    first = start + 1 if start == 0 else start
    each = max(1, min(step, -(-(goal - first) // (4 * n_threads))))
    later = [(low, min(low + each, goal)) for low in range(first, goal, each)]
    return [(start, first), *later] if first > start else later


def mean_cv(route: Route, source: FoldSource, rows: Rows, n_outputs: int, n_repeats: int) -> FloatArray:
    """Mean over partitions of their row-mean cross-validation error, (V, R)."""
    step = per_block(8 * 4 * source.n * route.n_values * n_outputs, TABLE_BYTES)
    means = []
    for start in range(0, n_repeats, step):
        folds = source.block(start, min(start + step, n_repeats))
        means.append(route.singles(folds).cv_means(rows))
    mean: FloatArray = np.concatenate(means).mean(axis=0)
    return mean
