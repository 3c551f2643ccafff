"""The pictures of the page: coverage against width, real tables, and the Monte Carlo error of the half-width."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from .analyses import LEVEL
from .before import BEFORE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["draw_coverage", "draw_montecarlo", "draw_real"]

GRID = "#E3E3E3"
RULES: dict[str, tuple[str, str]] = {
    "covariance": ("#0072B2", "o"),
    BEFORE: ("#56A0D3", "P"),
    "bates": ("#B84A00", "s"),
    "paper": ("#00775A", "^"),
    "mlr3": ("#9A4B7C", "D"),
    "corrected_t": ("#8A6100", "v"),
    "naive": ("#5F5F5F", "X"),
}
NAMES = {BEFORE: "covariance of 0.1"}
PANELS = (
    ("Least squares, ridge, splines, curves", ("ols-", "ridge-", "spline", "fpcr")),
    ("Real tables", ("real-",)),
    ("Refitted models", ("lasso", "neighbours", "tree", "logistic")),
)
SHOWN = ("covariance", BEFORE, "bates", "naive")
WIDTHS, LEAST = (0.33, 3.0), 0.5
"""What the axes show: points beyond are drawn at the edge."""
WIDTH = 6.4
"""Inches: narrow, so that the words can be read on a telephone."""


def draw_coverage(table: pd.DataFrame, path: Path) -> None:
    """Coverage against width, relative to the width that the error of the estimate calls for; a point a row."""
    from matplotlib.figure import Figure

    rows = table[(table["target"] == "error") & (table["loss"] != "absolute_error") & table["rule"].isin(SHOWN)]
    figure = Figure(figsize=(WIDTH, 8.6), layout="constrained")
    panels = figure.subplots(len(PANELS), 1, sharex=True, sharey=True)
    for axes, (title, prefixes) in zip(panels, PANELS, strict=True):
        _scatter(axes, rows[rows["setting"].str.startswith(prefixes)])
        axes.set_title(title, loc="left", fontsize="medium")
        axes.set_ylabel("coverage")
    panels[-1].set_xlabel("median width / width that would do")
    _legend(figure, SHOWN)
    _save(figure, path)


def draw_real(table: pd.DataFrame, path: Path) -> None:
    """Coverage on each real table, by the rule of 0.1 and now; two out, or five folds for classes."""
    from matplotlib.figure import Figure

    rows = table[table["setting"].str.startswith("real-") & (table["loss"] != "absolute_error")]
    rows = rows[(rows["folds"] == "n") | (rows["loss"] == "zero_one")]
    both = {rule: rows[rows["rule"] == rule].set_index("title") for rule in (BEFORE, "covariance")}
    order = both[BEFORE]["coverage"].sort_values().index
    figure = Figure(figsize=(WIDTH, 1.4 + 0.27 * len(order)), layout="constrained")
    axes = figure.subplots()
    _plain(axes)
    axes.axvline(LEVEL, color="#333333", linewidth=1, zorder=1)
    low, high = (both[rule].loc[order, "coverage"] for rule in (BEFORE, "covariance"))
    axes.hlines(range(len(order)), low, high, color="#B5B5B5", linewidth=2, zorder=2)
    for rule, values in ((BEFORE, low), ("covariance", high)):
        colour, marker = RULES[rule]
        axes.scatter(values, range(len(order)), s=34, marker=marker, color=colour, zorder=3)
    axes.set_yticks(range(len(order)), [_short(title) for title in order], fontsize="small")
    axes.set_xlabel("coverage of 90% intervals")
    _legend(figure, (BEFORE, "covariance"), with_folds=False)
    _save(figure, path)


def _short(title: str) -> str:
    """Without the package, which the table names."""
    return re.sub(r" \(\w[\w-]*\)|, refitted", "", title)


def _scatter(axes: Axes, rows: pd.DataFrame) -> None:
    _plain(axes)
    axes.axhline(LEVEL, color="#333333", linewidth=1, zorder=1)
    axes.axvline(1, color="#333333", linewidth=0.8, linestyle=":", zorder=1)
    for rule in SHOWN:
        colour, marker = RULES[rule]
        of_rule = rows[rows["rule"] == rule]
        two_out = of_rule["folds"] == "n"
        ratio = (of_rule["median_width"] / of_rule["oracle_width"]).clip(*WIDTHS)
        for chosen, face in ((two_out, colour), (~two_out, "white")):
            axes.scatter(
                ratio[chosen],
                of_rule["coverage"][chosen].clip(lower=LEAST),
                s=34,
                marker=marker,
                facecolors=face,
                edgecolors=colour,
                linewidths=1.3,
                zorder=3,
            )
    axes.set_xscale("log")
    axes.set_xticks([0.35, 0.5, 0.7, 1, 1.4, 2], ["0.35", "0.5", "0.7", "1", "1.4", "2"])
    axes.minorticks_off()


def _legend(figure: Figure, rules: Sequence[str], with_folds: bool = True) -> None:
    from matplotlib.lines import Line2D

    def handle(colour: str, marker: str, face: str, label: str) -> Any:
        return Line2D([], [], linestyle="", marker=marker, markerfacecolor=face, markeredgecolor=colour, label=label)

    handles = [handle(*RULES[rule], RULES[rule][0], NAMES.get(rule, rule)) for rule in rules]
    if with_folds:
        handles += [handle("#333333", "o", "#333333", "leave two out"), handle("#333333", "o", "white", "fewer folds")]
    figure.legend(handles=handles, loc="outside lower center", ncols=3, frameon=False, fontsize="medium")


def draw_montecarlo(table: pd.DataFrame, path: Path, target: float) -> None:
    """Relative Monte Carlo error of the half-width against the number of repeats."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH, 4.8), layout="constrained")
    axes = figure.subplots()
    _plain(axes)
    axes.axhline(100 * target, color="#333333", linewidth=1, zorder=1)
    for names in _coinciding(table):
        rows = table[(table["rule"] == names[0]) & (table["no_interval"] < 0.01)]
        colour, marker = RULES[names[0]]
        error, bar = 100 * rows["relative_error"], 200 * rows["relative_error_se"]
        label = " and ".join(names)
        axes.errorbar(
            rows["repeats"], error, bar, color=colour, marker=marker, markersize=5, linewidth=1.5, label=label
        )
    axes.set(xscale="log", yscale="log", xlabel="repeats", ylabel="Monte Carlo error of the half-width, %")
    axes.set_xticks(sorted(set(table["repeats"])), [f"{value:g}" for value in sorted(set(table["repeats"]))])
    low, high = axes.get_ylim()
    ticks = [value for value in (0.2, 0.5, 1, 2, 5, 10, 20, 50) if low <= value <= high]
    axes.set_yticks(ticks, [f"{value:g}" for value in ticks])
    axes.minorticks_off()
    axes.set_title("Least squares, n = 100, p = 20, ten folds", loc="left", fontsize="medium")
    axes.legend(frameon=False, fontsize="small", loc="lower left")
    _save(figure, path)


def _coinciding(table: pd.DataFrame) -> list[tuple[str, ...]]:
    """Rules, those with the same figures together: bates and mlr3 are one where their bounds are."""
    groups: dict[tuple[float, ...], tuple[str, ...]] = {}
    for rule in dict.fromkeys(table["rule"]):
        figures = tuple(table[table["rule"] == rule]["relative_error"].round(5))
        groups[figures] = (*groups.get(figures, ()), rule)
    return list(groups.values())


def _plain(axes: Axes) -> None:
    axes.grid(color=GRID)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def _save(figure: Figure, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=190, metadata={"Software": None})
