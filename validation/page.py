"""The pages docs/trust.md and trust-details.md: templates whose figures are looked up in the results.

``{{coverage; setting=ols-100-20; rule=bates; folds=10}}`` is the coverage of these rows in percent, and a range if
there are several; ``|`` separates alternatives. Without them: covariance rule, leave two out, errors, not the absolute
error. A model, and a setting that ends in ``*``, is given by how its name begins. ``mean`` is the mean coverage,
``largest_se`` the largest standard error of one.
``{{serial; ...}}`` is looked up in the study of rows that follow one another, ``{{score; ...}}`` in that of scores,
``{{rank; ...}}`` in that of ranks.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path

import pandas as pd

from .benchmark import PREFIX
from .montecarlo import needed
from .scorepage import rank_figure, score_figure, score_table
from .serialpage import ranks_table, serial_figure, serial_table
from .settings import SETTINGS
from .table import benchmark_cells, benchmark_measures, markdown
from .targets import listing

__all__ = ["DETAILS", "KEPT", "NEARLY", "Results", "render", "verdict"]

TEMPLATE, DETAILS = (Path(__file__).with_name(name) for name in ("page.md", "details.md"))
KEPT, NEARLY = 0.88, 0.85
DEFAULTS = {"rule": "covariance", "folds": "n", "target": "error"}


@dataclass(frozen=True)
class Results:
    """What the page is made of."""

    coverage: pd.DataFrame
    montecarlo: pd.DataFrame
    partitions: pd.DataFrame
    serial: pd.DataFrame = field(default_factory=pd.DataFrame)
    scores: pd.DataFrame = field(default_factory=pd.DataFrame)
    ranks: pd.DataFrame = field(default_factory=pd.DataFrame)
    factors: pd.DataFrame = field(default_factory=pd.DataFrame)


def render(results: Results, template: str | Path = TEMPLATE) -> str:
    """A page."""
    text = template.read_text(encoding="utf-8") if isinstance(template, Path) else template
    return re.sub(r"\{\{(.+?)\}\}", lambda found: _figure(found.group(1), results), text, flags=re.DOTALL)


def _figure(field: str, results: Results) -> str:
    name, _, rest = (part.strip() for part in field.partition(";"))
    table = results.coverage
    if name in _WHOLE:
        return _WHOLE[name](results)
    if name == "serial":
        return serial_figure(rest, results.serial)
    if name == "score":
        return score_figure(rest, results.scores)
    if name == "rank":
        return rank_figure(rest, results.factors)
    if name in ("needed", "share"):
        return _partitions(name, _pairs(rest), results)
    if name == "times":
        one, other = (_select(table, part) for part in rest.split("//"))
        return _span([f"{one['median_width'].iloc[0] / other['median_width'].iloc[0]:.2f}"])
    rows = _select(table, rest)
    if name == "verdict":
        return verdict(rows)
    if name == "mean":
        return f"{100 * rows['coverage'].mean():.1f}%"
    if name == "largest_se":
        return f"{100 * rows['coverage_se'].max():.1f}%"
    if name == "relative":
        return _span([f"{value:.2f}" for value in sorted(rows["median_width"] / rows["oracle_width"])])
    values = sorted(rows[name])
    if name.endswith("width"):
        return _span([f"{value:.3g}" for value in values])
    if name == "replications":
        return _span([f"{value:,}" for value in values])
    return _span(
        [_percent(value, 1 if name.startswith("miss") or name.endswith("_se") else 0) for value in values], "%"
    )


def _pairs(text: str) -> dict[str, str]:
    pairs = (part.partition("=") for part in text.split(";") if part.strip())
    return {name.strip(): value.strip() for name, _, value in pairs}


def _select(table: pd.DataFrame, text: str) -> pd.DataFrame:
    """Rows that are asked for; there is one at least."""
    asked = {**DEFAULTS, **_pairs(text)}
    rows = table[(table["loss"] != "absolute_error") | ("loss" in asked)]
    for name, value in asked.items():
        choices = tuple(" ".join(choice.split()) for choice in value.split("|"))
        if name == "model":
            rows = rows[rows["model"].str.startswith(choices)]
        elif name == "setting" and "*" in value:
            rows = rows[[any(fnmatch(each, choice) for choice in choices) for each in rows["setting"]]]
        elif value != "any":
            rows = rows[rows[name].astype(str).isin(choices)]
    if rows.empty:
        raise ValueError(f"no row of the results is asked for by {text!r} in {TEMPLATE.name}; correct the template.")
    return rows


def _percent(share: float, digits: int) -> str:
    """Percent without the sign; nothing below 100 is rounded up to it."""
    return f"{100 * share:.{1 if 0.995 <= share < 1 else digits}f}"


def _span(texts: Sequence[str], unit: str = "") -> str:
    """The first, or first and last of several in ascending order."""
    return f"{texts[0]}{unit}" if texts[0] == texts[-1] else f"{texts[0]} to {texts[-1]}{unit}"


def verdict(rows: pd.DataFrame) -> str:
    """Whether the promise is kept, by the row that covers worst."""
    worst = float(rows["coverage"].min())
    word = "kept" if worst >= KEPT else "nearly" if worst >= NEARLY else "not kept"
    return f"{word}: {_span([_percent(value, 1) for value in sorted(rows['coverage'])], '%')}"


def _partitions(name: str, asked: dict[str, str], results: Results) -> str:
    if name == "needed":
        return "{:.0f} ({:.0f})".format(*needed(results.montecarlo, asked["rule"]))
    rows = results.partitions
    for column, value in asked.items():
        rows = rows[rows[column].astype(str) == value]
    row = rows.iloc[0]
    return "none" if not row["share"] else f"{100 * row['share']:.1f}% ({100 * row['share_se']:.1f})"


def _status(results: Results) -> str:
    """Whether settings have fewer data sets than planned, and how many they have."""
    counts = results.coverage.groupby("setting", sort=False)["replications"].first()
    planned = {name: setting.replications for name, setting in SETTINGS.items()}
    short = sorted(counts.get(name, 0) for name, n in planned.items() if counts.get(name, 0) < n)
    if not short:
        return ""
    return (
        f"\n**Not complete.** {len(short)} of {len(planned)} settings have fewer data sets than planned, "
        f"{short[0]} to {short[-1]}; the [tables](trust-details.md#all-figures) say how many. "
        "`python -m validation` goes on with them.\n"
    )


def _part(results: Results, chosen: Callable[[str], bool]) -> pd.DataFrame:
    """The rows of some settings."""
    return results.coverage[[chosen(name) for name in results.coverage["setting"]]]


_WHOLE: dict[str, Callable[[Results], str]] = {
    "status": _status,
    "simulated": lambda results: markdown(_part(results, lambda name: not name.startswith(("real-", PREFIX)))),
    "real": lambda results: markdown(_part(results, lambda name: name.startswith("real-"))),
    "score_table": lambda results: score_table(results.scores),
    "serial_table": lambda results: serial_table(results.serial),
    "ranks_table": lambda results: ranks_table(results.ranks),
    "benchmark": lambda results: benchmark_measures(results.coverage),
    "cells": lambda results: benchmark_cells(results.coverage),
    "targets": lambda results: listing(results.coverage),
    "settings": lambda results: str(results.coverage["setting"].nunique()),
    "rows": lambda results: str(len(results.coverage)),
    "seeds": lambda results: str(results.montecarlo["seeds"].max()),
    "sets": lambda results: str(results.montecarlo["data_sets"].max()),
    "share_sets": lambda results: f"{results.partitions['data_sets'].max():,}",
    "auto_sets": lambda results: f"{results.partitions['data_sets'].min():,}",
}
