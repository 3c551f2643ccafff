"""Rows of measurements as text."""

from __future__ import annotations

from collections.abc import Sequence

from .measure import Row
from .methods import ROUTES

__all__ = ["markdown", "plain"]

HEAD = (
    "n",
    "p",
    "K",
    "L",
    "method",
    "ms a repeat",
    *(f"time / {route}" for route in ROUTES),
    "peak MB",
    "difference",
)
TEXT = HEAD.index("method")


def _cells(row: Row) -> list[str]:
    case, method = row.case, row.method
    return [
        *(str(number) for number in (case.n, case.p, case.n_folds, case.n_repeats)),
        method.name,
        f"{method.milliseconds:.3g}" if method.milliseconds < 100 else f"{method.milliseconds:.0f}",
        *(_ratio(row.ratios[route]) for route in ROUTES),
        "" if method.megabytes is None else f"{method.megabytes:.1f}",
        f"{row.difference:.0e}",
    ]


def _ratio(ratio: float) -> str:
    return f"{ratio:.2f}" if ratio < 10 else f"{ratio:.0f}"


def plain(rows: Sequence[Row]) -> str:
    """Aligned columns, a blank line between cases."""
    cells = [list(HEAD), *(_cells(row) for row in rows)]
    widths = [max(len(line[column]) for line in cells) for column in range(len(HEAD))]
    lines = []
    for number, line in enumerate(cells):
        if number and (number == 1 or rows[number - 1].case != rows[number - 2].case):
            lines.append("")
        pairs = enumerate(zip(line, widths, strict=True))
        lines.append("  ".join(c.ljust(w) if i == TEXT else c.rjust(w) for i, (c, w) in pairs).rstrip())
    return "\n".join(lines)


def markdown(rows: Sequence[Row]) -> str:
    """A table of Markdown."""
    rule = ["---" if column == TEXT else "---:" for column in range(len(HEAD))]
    return "\n".join(f"| {' | '.join(line)} |" for line in [list(HEAD), rule, *map(_cells, rows)])
