"""Targets that are counts or positive amounts: recognised, and what suits them is suggested, never assumed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import stats

from ..errors import DataError
from .preparing import Prepared

__all__ = ["check_amounts", "suggested"]

SKEWED = 1.0
"""Skewness from which on amounts are more likely products than sums."""

LEAST_ROWS = 20
"""Fewer rows say little of skewness, and of which values do not occur."""


def suggested(prepared: Prepared, target: str, models: Sequence[str]) -> str:
    """A model that suits the target and was not asked for; empty if none does."""
    if prepared.has_classes or prepared.is_streamed or {"poisson", "gamma"} & set(models):
        return ""
    if len(prepared.y) < LEAST_ROWS:
        return ""
    if _are_counts(prepared):
        return (
            f"The target {target!r} holds whole numbers from {int(prepared.y.min())} up, as counts do: if it counts "
            "something, try --model poisson (and --loss poisson_deviance)."
        )
    if prepared.y.min() > 0 and float(stats.skew(prepared.y)) > SKEWED:
        return (
            f"The target {target!r} is positive and skewed, as amounts are that grow by factors: try --model gamma "
            "(and --loss gamma_deviance)."
        )
    return ""


def _are_counts(prepared: Prepared) -> bool:
    """Whether all values are whole numbers that begin at zero or one: numbers of years or prices do not."""
    y = prepared.y
    return bool(y.min() in (0, 1) and (y == np.floor(y)).all() and len(np.unique(y)) > 2)


def check_amounts(name: str, prepared: Prepared) -> None:
    """Refuse targets that a model of counts or amounts is not made for; passes over rows name the first such row."""
    if name not in ("poisson", "gamma") or prepared.has_classes or prepared.is_streamed:
        return
    least = float(prepared.y.min())
    if name == "poisson" and least < 0:
        raise DataError(
            f"--model poisson predicts counts, and the target has a negative value, {least:g}; use --model ridge, or "
            "leave such rows out."
        )
    if name == "gamma" and least <= 0:
        other = "--model poisson takes zeros" if least == 0 else "use --model ridge"
        raise DataError(
            f"--model gamma predicts positive amounts, and the target has the value {least:g}; {other}, or leave such "
            "rows out."
        )
