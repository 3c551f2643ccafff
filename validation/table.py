"""The rows of the study as Markdown, and their place in the page."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

__all__ = ["BEGIN", "END", "insert", "markdown"]

BEGIN, END = "<!-- table: python -m validation --table -->", "<!-- end of table -->"
HEAD = (
    "setting",
    "model",
    "rule",
    "K",
    "repeats",
    "data sets",
    "covers Err_XY",
    "covers Err",
    "misses: too high, too low",
    "width",
    "bias",
)
LEFT = frozenset({"setting", "model", "rule"})
SHORT_RULES = ("covariance", "bates", "naive")


def shortened(table: pd.DataFrame) -> pd.DataFrame:
    """The rows of the page: three rules, and of the settings with several numbers of folds all of them."""
    return table[table["rule"].isin(SHORT_RULES) & ~((table["rule"] == "naive") & (table["folds"] == "n"))]


def markdown(table: pd.DataFrame) -> str:
    """A Markdown table; standard errors in brackets, in units of the last digit."""
    lines = [
        f"| {' | '.join(HEAD)} |",
        f"| {' | '.join('---' if name in LEFT else '---:' for name in HEAD)} |",
    ]
    before = ""
    for row in table.to_dict("records"):
        cells = (
            row["title"] if row["title"] != before else "",
            _model(row),
            row["rule"],
            row["folds"],
            str(row["repeats"]),
            str(row["replications"]),
            _share(row["coverage"], row["coverage_se"]),
            _share(row["coverage_mean"], row["coverage_mean_se"]),
            f"{_point(row['miss_above'])}, {_point(row['miss_below'])}",
            f"{row['width']:.3g}",
            f"{row['bias']:+.2g}" if abs(row["bias"]) > 2 * row["bias_se"] else "0",
        )
        before = row["title"]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _model(row: Mapping[Any, Any]) -> str:
    return f"{row['model']}{', absolute error' if row['loss'] == 'absolute_error' else ''}"


def _point(share: float) -> str:
    """A share to three digits, without the leading zero."""
    return f"{share:.3f}".removeprefix("0")


def _share(share: float, error: float) -> str:
    return f"{_point(share)} ({1000 * error:.0f})"


def insert(page: Path, table: pd.DataFrame) -> bool:
    """Put the shortened table between the markers of a page; whether the page changed."""
    text = page.read_text(encoding="utf-8")
    before, found, rest = text.partition(BEGIN)
    _, closed, after = rest.partition(END)
    if not (found and closed):
        raise ValueError(f"{page} lacks the lines {BEGIN!r} and {END!r}, between which the table belongs; add them.")
    new = f"{before}{BEGIN}\n{markdown(shortened(table))}\n{END}{after}"
    page.write_text(new, encoding="utf-8")
    return new != text
