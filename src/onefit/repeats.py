"""Run a route over the repeats, a block at a time, until they are done or settled."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .chain import Chain, ascending
from .fold_errors import FoldErrors, Rows, RowTotals, concatenate, summarize
from .folds import FoldSource
from .intervals import Rule
from .losses import Loss
from .montecarlo import SCHEDULE, is_settled
from .routes.base import TABLE_BYTES, Route, per_block
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
) -> tuple[FoldErrors, RowTotals]:
    """Fold errors and row means of ``n_repeats`` repeats, or, if None, of as many as the stopping rule asks for.

    Only the small tables of fold errors grow with the repeats: the losses of pairs live for one block.
    """
    totals = RowTotals(source.n, route.n_values, n_outputs, loss.n_losses(n_outputs))
    blocks: list[FoldErrors] = []
    cells = route.n_values * n_outputs
    step = per_block(8 * cells * (6 * source.n_folds**2 + 4 * source.n), TABLE_BYTES)
    done = 0
    for goal in SCHEDULE if n_repeats is None else (n_repeats,):
        while done < goal:
            folds = source.block(done, min(done + step, goal))
            pairs = route.pairs(folds)
            totals.add(pairs.single)
            chain = blocks[0].chain if blocks else make_chain(pairs.single.cv_means(rows).mean(axis=(0, 2)))
            blocks.append(summarize(pairs, folds, rows, chain))
            done += folds.n_repeats
            if tick is not None:
                tick(folds.n_repeats)
        if n_repeats is None and is_settled(concatenate(blocks), rule, loss.scale):
            break
    return concatenate(blocks), totals


def mean_cv(route: Route, source: FoldSource, rows: Rows, n_outputs: int, n_repeats: int) -> FloatArray:
    """Mean over partitions of their row-mean cross-validation error, (V, R)."""
    step = per_block(8 * 4 * source.n * route.n_values * n_outputs, TABLE_BYTES)
    means = []
    for start in range(0, n_repeats, step):
        folds = source.block(start, min(start + step, n_repeats))
        means.append(route.singles(folds).cv_means(rows))
    mean: FloatArray = np.concatenate(means).mean(axis=0)
    return mean
