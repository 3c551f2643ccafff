"""Measurements as text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .cases import Case
from .measure import Timing

__all__ = ["HEAD", "METHODS", "Line", "cells_of", "markdown", "number", "plain"]

METHODS = {
    "gram": "gram",
    "onestep": "onestep",
    "twin": "kernel off",
    "scikit-learn": "Ridge refits",
    "search": "their CV",
    "NumPy": "NumPy refits",
    "Proposition 1": "Prop. 1",
    "gemm": "gemm",
}
HEAD = ("n", "p", "K", "L", "values", "route", "ms a repeat", *METHODS.values(), "peak MB", "difference")
LARGE = 1000
"""Megabytes above which a case with fewer columns than rows and fewer than 20,000 rows is marked."""


@dataclass(frozen=True)
class Line:
    """One case of the table: the timings by method, and megabytes if measured."""

    case: Case
    route: str
    timings: dict[str, Timing]
    megabytes: float | None

    @property
    def is_large(self) -> bool:
        """Whether it holds more memory than it should."""
        case = self.case
        return self.megabytes is not None and self.megabytes > LARGE and case.p < case.n < 20_000

    def record(self) -> dict[str, Any]:
        """Sizes, milliseconds a repeat and times over onefit's own, as JSON has them."""
        case, own = self.case, self.timings["onefit"].seconds
        differences = [t.difference for t in self.timings.values() if t.difference is not None]
        return {
            "sizes": [case.n, case.p, case.n_folds, case.n_repeats, case.n_values],
            "route": self.route,
            "milliseconds": 1e3 * own / case.n_repeats,
            "ratios": {name: self.timings[name].seconds / own for name in METHODS if name in self.timings},
            "megabytes": self.megabytes,
            "is_large": self.is_large,
            "difference": max(differences),
        }

    def cells(self) -> list[str]:
        """Text of the line."""
        return cells_of(self.record())


def cells_of(record: dict[str, Any]) -> list[str]:
    """Text of the line of a record."""
    ratios, megabytes = record["ratios"], record["megabytes"]
    return [
        *map(str, record["sizes"]),
        record["route"],
        number(record["milliseconds"]),
        *(number(ratios[name]) if name in ratios else "-" for name in METHODS),
        "-" if megabytes is None else f"{megabytes:.0f}{' (!)' if record['is_large'] else ''}",
        f"{record['difference']:.0e}",
    ]


def number(value: float) -> str:
    """Three digits at most, and whole from 100."""
    return f"{value:.0f}" if value >= 99.5 else f"{value:.2g}"


def plain(head: Sequence[str], lines: Sequence[Sequence[str]], text: Sequence[str] = ("route",)) -> str:
    """Aligned columns; those named ``text`` to the left."""
    cells = [list(head), *map(list, lines)]
    widths = [max(len(line[column]) for line in cells) for column in range(len(head))]
    left = [name in text for name in head]
    return "\n".join(
        "  ".join(
            c.ljust(w) if is_left else c.rjust(w) for c, w, is_left in zip(line, widths, left, strict=True)
        ).rstrip()
        for line in cells
    )


def markdown(head: Sequence[str], lines: Sequence[Sequence[str]], text: Sequence[str] = ("route",)) -> str:
    """A table of Markdown."""
    rule = ["---" if name in text else "---:" for name in head]
    return "\n".join(f"| {' | '.join(line)} |" for line in [list(head), rule, *map(list, lines)])
