"""The figures of a problem from exact refits, at a precision that is raised until it suffices."""

from __future__ import annotations

from typing import Any

import numpy as np
from flint import arb, ctx

from .exact import IllPosed, Refits, refits_of
from .figures import Figures, tabulate
from .models import Model

__all__ = ["Expected", "reference"]

PRECISIONS = (320, 1280, 5120)
"""Bits."""
ENOUGH = 100
"""Bits that a residual must have, relative to the largest one; or three times as many relative to y."""

Expected = Figures | str
"""The figures, or why there are none."""


class _TooInexactError(Exception):
    pass


def reference(model: Model, folds: np.ndarray) -> list[Expected]:
    """The figures of every candidate, or why its problem is ill-posed."""
    made: dict[int, list[Refits]] = {}
    return [_one(model, folds, lams, made) for lams in model.candidates]


def _one(model: Model, folds: np.ndarray, lams: tuple[float, ...], made: dict[int, list[Refits]]) -> Expected:
    """One candidate; the training sets are ``made`` once at each precision."""
    before = ctx.prec
    try:
        for precision in PRECISIONS:
            ctx.prec = precision
            try:
                if precision not in made:
                    made[precision] = [refits_of(model, ids) for ids in folds]
                return _at_precision(model, folds, lams, made[precision])
            except IllPosed as reason:
                return str(reason)
            except (ZeroDivisionError, _TooInexactError):
                continue
    finally:
        ctx.prec = before
    return f"singular to {PRECISIONS[-1]} bits"


def _at_precision(model: Model, folds: np.ndarray, lams: tuple[float, ...], by_repeat: list[Refits]) -> Figures:
    judge = _Accuracy(model)

    def residuals(repeat: int, out: tuple[int, ...]) -> dict[int, list[Any]]:
        found = by_repeat[repeat].residuals(out, lams)
        judge.see(found)
        return found

    figures = tabulate(model, folds, residuals, arb(0), _as_float)
    judge.check()
    figures.margin = min(figures.margin, *(each.tie for each in by_repeat))
    return figures


def _as_float(ball: arb) -> float:
    return 0.0 if ball.contains(0) else float(ball.mid())


class _Accuracy:
    """Whether the balls are small beside the largest residual of their output, or beside y."""

    def __init__(self, model: Model) -> None:
        response = np.abs(model.Y).max(axis=0).tolist()
        self.least = [arb(2) ** (-3 * ENOUGH) * arb(size) for size in response]
        self.radius = [arb(0)] * len(response)
        self.largest = [arb(0)] * len(response)

    def see(self, residuals: dict[int, list[arb]]) -> None:
        for row in residuals.values():
            for q, u in enumerate(row):
                if not u.is_finite():
                    raise _TooInexactError
                self.radius[q] = max(self.radius[q], u.rad())
                self.largest[q] = max(self.largest[q], abs(u.mid()))

    def check(self) -> None:
        for radius, largest, least in zip(self.radius, self.largest, self.least, strict=True):
            if not (radius <= largest * arb(2) ** -ENOUGH or radius <= least):
                raise _TooInexactError
