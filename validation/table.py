"""The rows of the study as Markdown."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import pandas as pd

__all__ = ["markdown", "shortened"]

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
    "median width",
    "width that would do",
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
            f"{row['median_width']:.3g}",
            f"{row['oracle_width']:.3g}",
            _bias(row["bias"], row["bias_se"]),
        )
        before = row["title"]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _model(row: Mapping[Any, Any]) -> str:
    losses = {"absolute_error": ", absolute error", "huber": ", Huber's loss"}
    return f"{row['model']}{losses.get(row['loss'], '')}"


def _bias(bias: float, error: float) -> str:
    """Nothing where the loss has no variance, and so the bias no standard error."""
    if math.isnan(error):
        return ""
    return f"{bias:+.2g}" if abs(bias) > 2 * error else "0"


def _point(share: float) -> str:
    """A share to three digits, without the leading zero."""
    return f"{share:.3f}".removeprefix("0")


def _share(share: float, error: float) -> str:
    return f"{_point(share)} ({1000 * error:.0f})"
