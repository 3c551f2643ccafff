"""How losses spread between rows, or between groups of them: sums from which variances are read for any centre."""

from __future__ import annotations

import numpy as np

from ..typing import FloatArray, IntArray
from .chain import Chain
from .rowroles import RowRoles
from .skewness import skewness_of_mean

__all__ = ["spread_of_losses"]

LOSSES_AT_ONCE = 2**17
"""Losses of a repeat that are taken together."""


SUMMED_ALIKE = 4096
"""Losses of a repeat up to which NumPy adds them in the same order, whatever other repeats stand beside them."""


def spread_of_losses(losses: FloatArray, rows: RowRoles, chain: Chain) -> dict[str, FloatArray]:
    """``total``, ``cross``, ``weight`` and the paired ones of `FoldErrors`, from losses (L, n, V, R)."""
    _, n, V, R = losses.shape
    step = max(1, LOSSES_AT_ONCE // (n * V))
    if step < R:  # a few outputs at a time, which stay in the caches; the same whatever repeats are in the block
        each = [spread_of_losses(losses[..., start : start + step], rows, chain) for start in range(0, R, step)]
        weight = {"weight": each[0]["weight"]}
        return {name: np.concatenate([part[name] for part in each], axis=-1) for name in each[0]} | weight
    if len(losses) > 1 and n * V * R > SUMMED_ALIKE:
        return _joined([spread_of_losses(losses[at : at + 1], rows, chain) for at in range(len(losses))])
    weights = np.ones(n) if rows.weights is None else rows.weights
    if rows.groups is None and not np.isnan(losses).any():
        return _spread_between(rows.weigh(losses), weights, rows.groups, chain)
    parts = []
    for table in losses:
        scored = ~np.isnan(table).all(
            axis=(1, 2)
        )  # a metric that does not exist, as of calibration, is NaN in all rows
        groups = None if rows.groups is None else np.unique(rows.groups[scored], return_inverse=True)[1]
        weighted = weights[scored, None, None] * table[scored]
        parts.append(_spread_between(weighted[None], weights[scored], groups, chain))
    return _joined(parts)


def _joined(parts: list[dict[str, FloatArray]]) -> dict[str, FloatArray]:
    """Tables of repeats one after the other."""
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def _spread_between(
    weighted: FloatArray, weights: FloatArray, groups: IntArray | None, chain: Chain
) -> dict[str, FloatArray]:
    """The same for weighted losses (L, n, V, R) of rows that are all scored."""
    part = RowRoles(None, groups)
    B = part.totals(weights - weights.mean())
    scale = len(B) / (len(B) - 1) / len(weights) ** 2

    def between(values: FloatArray) -> FloatArray:
        """Totals of groups (L, G, V, R) about their mean."""
        centred = values - values.mean(axis=1, keepdims=True)
        return centred if groups is None else np.stack([part.totals(table) for table in centred])

    A = between(weighted)
    about_mean = A - (weighted.sum(axis=1) / weights.sum())[:, None] * B[:, None, None] if B.any() else A
    tables = {
        "skewness": skewness_of_mean(about_mean),
        "total": scale * np.einsum("lgvr,lgvr->lvr", A, A),
        "cross": scale * np.einsum("lgvr,g->lvr", A, B),
        "weight": np.full(len(weighted), scale * (B @ B)),
    }
    if len(chain) == 1:  # its only increment is the value itself
        return tables | {"paired_total": tables["total"][:, None], "paired_cross": tables["cross"]}
    A = between(chain.increments(weighted, axis=2))
    by_output = np.moveaxis(A, 3, 1)  # (L, R, G, V)
    paired_total = np.moveaxis(by_output.swapaxes(2, 3) @ by_output, 1, 3)
    return tables | {"paired_total": scale * paired_total, "paired_cross": scale * np.einsum("lgvr,g->lvr", A, B)}
