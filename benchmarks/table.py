"""Measurements as text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .cases import Case
from .measure import Timing

__all__ = ["HEAD", "Line", "markdown", "plain"]

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

    def cells(self) -> list[str]:
        """Text of the line: times over onefit's own."""
        case, own = self.case, self.timings["onefit"].seconds
        ratios = [self.timings[name].seconds / own if name in self.timings else None for name in METHODS]
        differences = [t.difference for t in self.timings.values() if t.difference is not None]
        mark = " (!)" if self.is_large else ""
        return [
            *(str(number) for number in (case.n, case.p, case.n_folds, case.n_repeats, case.n_values)),
            self.route,
            _number(1e3 * own / case.n_repeats),
            *("-" if ratio is None else _number(ratio) for ratio in ratios),
            "-" if self.megabytes is None else f"{self.megabytes:.0f}{mark}",
            f"{max(differences):.0e}",
        ]


def _number(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.2g}"


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
