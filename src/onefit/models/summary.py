"""An additive model as text: a line for each term, and how well the whole fits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..typing import FloatArray
from .parts import FactorPart, Part, SmoothPart
from .table import listed

__all__ = ["FitFacts", "additive_summary"]


@dataclass(frozen=True)
class FitFacts:
    """What a fit is measured by: rows with a weight, and of each output the sum of squares about its mean, (Q,).

    Of a family other than the normal one, ``explained`` is the share of the deviance of the best constant.
    """

    n: int
    squares: FloatArray
    explained: float | None = None

    @classmethod
    def of(cls, y: FloatArray, weights: FloatArray) -> FitFacts:
        """From y (n, Q); squares and mean are weighted."""
        centred = y - np.average(y, axis=0, weights=weights)
        return cls(int((weights > 0).sum()), weights @ np.square(centred))


def additive_summary(
    parts: Sequence[Part],
    edf: Sequence[float],
    lams: Sequence[float],
    at_end: Sequence[str],
    facts: FitFacts,
    total_edf: float,
    scale: FloatArray,
    criterion: tuple[str, FloatArray],
) -> str:
    """The table of terms (``lams`` and ``at_end`` are of the smooth ones), and a line for each output."""
    penalties = iter(zip(lams, at_end, strict=True))
    rows = [("term", "edf", "lam", "over")]
    for part, own in zip(parts, edf, strict=True):
        lam = _penalty(*next(penalties)) if isinstance(part, SmoothPart) else "-"
        rows.append((part.name, f"{own:.2f}", lam, _range(part)))
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    table = [f"{a:<{widths[0]}}  {b:>{widths[1]}}  {c:>{widths[2]}}  {d}" for a, b, c, d in rows]
    table.append(f"{facts.n} rows, {total_edf:.2f} degrees of freedom, the intercept among them")
    name, values = criterion
    for q, variance in enumerate(scale):
        label = f"output {q}: " if len(scale) > 1 else ""
        table.append(
            f"{label}scale {variance:.4g}, {name} {values[q]:.5g}, {_explained(facts, q, total_edf, variance)}"
        )
    return "\n".join(table)


def _explained(facts: FitFacts, output: int, edf: float, scale: float) -> str:
    """Share of the squares about the mean that the model explains, and R2 adjusted for its degrees of freedom."""
    if facts.explained is not None:
        return f"deviance explained {100 * facts.explained:.1f}%"
    squares = facts.squares[output]
    if not squares > 0:
        return "nothing to explain: y is constant"
    explained, adjusted = 1 - scale * (facts.n - edf) / squares, 1 - scale * (facts.n - 1) / squares
    return f"deviance explained {100 * explained:.1f}%, adjusted R2 {adjusted:.3f}"


def _penalty(lam: float, at_end: str) -> str:
    return f"{lam:.3g}" + (f" ({at_end})" if at_end else "")


def _range(part: Part) -> str:
    """Range of a column, or its levels."""
    if isinstance(part, FactorPart):
        return listed(part.levels)
    return f"{part.grid[0]:.4g} to {part.grid[-1]:.4g}"
