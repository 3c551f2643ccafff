"""The rows of the study as Markdown: a line for each model and number of folds, the rules side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from . import benchmark
from .before import BEFORE
from .others import CONSERVATIVE_Z, CORRECTED_T

__all__ = ["benchmark_cells", "benchmark_measures", "lines", "markdown"]

KEY = ["setting", "title", "model", "loss", "target", "folds", "repeats"]
OTHERS = (BEFORE, "bates", "mlr3", "corrected_t", "naive")
CELLS = {
    "ours": ("covariance", "5"),
    "0.1": (BEFORE, "5"),
    "leave two out": ("covariance", "n"),
    "corrected t": (CORRECTED_T, "splits"),
    "conservative z": (CONSERVATIVE_Z, "splits"),
    "nested CV": ("mlr3", "5"),
}


def markdown(table: pd.DataFrame) -> str:
    """Coverage of all rules; the misses and the width are the covariance rule's, and 0.1's width stands beside it."""
    head = ["setting", "model", "K", "repeats", "data sets", "covers", "0.1", *OTHERS[1:], "too high, too low"]
    rows, before = [], ""
    for key, of_key in table.groupby(KEY, sort=False):
        rules = of_key.set_index("rule")
        if "covariance" not in rules.index:
            continue
        own: Mapping[str, Any] = dict(zip(KEY, key, strict=True))
        row = rules.loc["covariance"]
        rows.append(
            [
                own["title"] if own["title"] != before else "",
                _model(own),
                own["folds"],
                str(own["repeats"]),
                str(row["replications"]),
                f"{_point(row['coverage'])} ({1000 * row['coverage_se']:.0f})",
                *(_point(rules.loc[rule, "coverage"]) if rule in rules.index else "" for rule in OTHERS),
                f"{_point(row['miss_above'])}, {_point(row['miss_below'])}",
                _relative(row),
                _relative(rules.loc[BEFORE]) if BEFORE in rules.index else "",
            ]
        )
        before = own["title"]
    return lines([*head, "width", "0.1's width"], rows, 2)


def benchmark_measures(table: pd.DataFrame) -> str:
    """The rules by the benchmark's own measures."""
    rows = [
        [
            row["rule"],
            str(row["cells"]),
            _point(row["coverage"]),
            _point(row["least"]),
            _point(row["undercoverage"]),
            f"{row['width']:.2f}",
            row["fits"],
        ]
        for row in benchmark.measures(table).to_dict("records")
    ]
    head = ["rule", "cells", "mean coverage", "least coverage", "mean undercoverage", "median width / sd", "fits"]
    return lines(head, rows, 1)


def benchmark_cells(table: pd.DataFrame) -> str:
    """Coverage of each rule by generator, rows and model; and the median width relative to that of conservative z."""
    rows = []
    for _, cell in table[table["level"] == benchmark.LEVEL].groupby("setting", sort=False):
        found = {name: cell[(cell["rule"] == rule) & (cell["folds"] == folds)] for name, (rule, folds) in CELLS.items()}
        own, other = (found[name].iloc[0] for name in ("ours", "conservative z"))
        coverages = [_point(rows_of["coverage"].iloc[0]) if len(rows_of) else "" for rows_of in found.values()]
        ratio = f"{own['median_width'] / other['median_width']:.2f}"
        rows.append([own["title"], own["model"], str(own["replications"]), *coverages, ratio])
    return lines(["generator", "model", "data sets", *CELLS, "width / conservative z's"], rows, 2)


def lines(head: Sequence[str], rows: Sequence[Sequence[str]], n_left: int) -> str:
    """A Markdown table, its first columns flush left."""
    rule = ["---"] * n_left + ["---:"] * (len(head) - n_left)
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (head, rule, *rows))


def _model(key: Mapping[str, Any]) -> str:
    losses = {"absolute_error": ", absolute error", "huber": ", Huber's loss"}
    return f"{key['model']}{losses.get(key['loss'], '')}"


def _relative(row: pd.Series) -> str:
    """Median width over the width that would do."""
    return f"{row['median_width'] / row['oracle_width']:.2f}"


def _point(share: float) -> str:
    """A share to three digits, without the leading zero."""
    return f"{share:.3f}".removeprefix("0")
