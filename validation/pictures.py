"""The two pictures of the page: coverage against width, and the Monte Carlo error of the half-width."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from .analyses import LEVEL

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["draw_coverage", "draw_montecarlo"]

GRID = "#E3E3E3"
RULES: dict[str, tuple[str, str]] = {
    "covariance": ("#0072B2", "o"),
    "bates": ("#B84A00", "s"),
    "paper": ("#00775A", "^"),
    "mlr3": ("#9A4B7C", "D"),
    "corrected_t": ("#8A6100", "v"),
    "naive": ("#5F5F5F", "X"),
}
PANELS = (
    ("Least squares and ridge", ("ols-", "ridge-")),
    ("Splines, curves, groups, other noise", ("spline", "fpcr", "groups", "noise-")),
    ("Refitted models", ("lasso", "neighbours", "tree", "logistic")),
)


def draw_coverage(table: pd.DataFrame, path: Path) -> None:
    """Coverage against width, relative to the width that the error of the estimate calls for; a point a row."""
    from matplotlib.figure import Figure

    rows = table[(table["target"] == "error") & (table["loss"] != "absolute_error")]
    figure = Figure(figsize=(11, 4.6), layout="constrained")
    panels = figure.subplots(1, len(PANELS), sharex=True, sharey=True)
    for axes, (title, prefixes) in zip(panels, PANELS, strict=True):
        _scatter(axes, rows[rows["setting"].str.startswith(prefixes)])
        axes.set_title(title, loc="left", fontsize="medium")
        axes.set_xlabel("median width / width that would do")
    panels[0].set_ylabel("coverage of Err_XY")
    _legend(figure, panels[0], [rule for rule in RULES if rule in set(rows["rule"])])
    _save(figure, path)


def _scatter(axes: Axes, rows: pd.DataFrame) -> None:
    _plain(axes)
    axes.axhline(LEVEL, color="#333333", linewidth=1, zorder=1)
    axes.axvline(1, color="#333333", linewidth=0.8, linestyle=":", zorder=1)
    for rule, (colour, marker) in RULES.items():
        of_rule = rows[rows["rule"] == rule]
        two_out = of_rule["folds"] == "n"
        ratio = of_rule["median_width"] / of_rule["oracle_width"]
        for chosen, face in ((two_out, colour), (~two_out, "white")):
            axes.scatter(
                ratio[chosen],
                of_rule["coverage"][chosen],
                s=34,
                marker=marker,
                facecolors=face,
                edgecolors=colour,
                linewidths=1.3,
                zorder=3,
            )
    axes.set_xscale("log")
    axes.set_xticks([0.5, 0.7, 1, 1.4, 2], ["0.5", "0.7", "1", "1.4", "2"])
    axes.minorticks_off()


def _legend(figure: Figure, axes: Axes, rules: Sequence[str]) -> None:
    from matplotlib.lines import Line2D

    def handle(colour: str, marker: str, face: str, label: str) -> Any:
        return Line2D([], [], linestyle="", marker=marker, markerfacecolor=face, markeredgecolor=colour, label=label)

    handles = [handle(*RULES[rule], RULES[rule][0], rule) for rule in rules]
    handles += [handle("#333333", "o", "#333333", "leave two out"), handle("#333333", "o", "white", "fewer folds")]
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles), frameon=False, fontsize="small")


def draw_montecarlo(table: pd.DataFrame, path: Path, target: float) -> None:
    """Relative Monte Carlo error of the half-width against the number of repeats."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.5, 4.8), layout="constrained")
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
    figure.savefig(path, dpi=120, metadata={"Software": None})
