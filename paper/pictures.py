"""The figures drawn from their tables; nothing is computed here but what a picture needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from onefit.display.style import CHOSEN, GRID, OTHER, SELECTED

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw_errors", "draw_folds", "draw_growing", "draw_likelihood", "draw_rows"]

Tables = Mapping[str, pd.DataFrame]

LINES = {
    "literal": ("one-step formula, literal", SELECTED[0][0], "^", "-."),
    "gram": ("onefit, gram", SELECTED[1][0], "s", "--"),
    "onestep": ("onefit, onestep", SELECTED[2][0], "D", ":"),
    "many": ("onefit, one of 10 repeats", CHOSEN, "o", "-"),
}
MARKS = dict(zip(("gcv", "loo", "reml"), SELECTED, strict=False))


def _figure(n_rows: int, n_columns: int, size: tuple[float, float], **options: Any) -> tuple[Figure, Any]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    return figure, figure.subplots(n_rows, n_columns, squeeze=False, **options)


def _clean(axes: Any) -> None:
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color=GRID, linewidth=0.8)
    axes.set_axisbelow(True)


def _legend(figure: Figure, axes: Any, columns: int) -> None:
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=columns, frameon=False)


def _ratios(axes: Any, part: pd.DataFrame, across: str) -> None:
    """Time of refits over that of each way, on logarithmic axes."""
    part = part.sort_values(across)
    for way, (label, colour, marker, dashes) in LINES.items():
        axes.plot(part[across], part[f"refit/{way}"], dashes, color=colour, marker=marker, markersize=4, label=label)
    axes.axhline(1.0, color=OTHER, linewidth=1.0)
    axes.set(xscale="log", yscale="log")
    ticks = sorted(set(part[across]))
    axes.set_xticks(ticks, [f"{tick:.0f}" for tick in ticks])
    axes.minorticks_off()
    _clean(axes)


def _panels(tables: Sequence[tuple[str, pd.DataFrame]], across: str, xlabel: str, columns: int) -> Figure:
    rows = -(-len(tables) // columns)
    figure, grid = _figure(rows, columns, (3.2 * columns, 2.9 * rows + 0.5), sharey=True)
    for axes, (title, part) in zip(grid.ravel(), tables, strict=False):
        _ratios(axes, part, across)
        axes.set_title(title, loc="left", fontsize="medium")
    for axes in grid.ravel()[len(tables) :]:
        axes.axis("off")
    for axes in grid[-1]:
        axes.set_xlabel(xlabel)
    for axes in grid[:, 0]:
        axes.set_ylabel("time of refits / time")
    _legend(figure, grid[0, 0], 4 if columns > 3 else 2)
    return figure


def draw_rows(tables: Tables) -> Figure:
    """Figure 1: a panel for each p."""
    groups = tables["figure1"].groupby("p")
    return _panels([(f"p = {p}", part) for p, part in groups], "n", "rows n, folds of five", len(groups))


def draw_growing(tables: Tables) -> Figure:
    """Figure 2: a panel for each ratio of n to p."""
    groups = tables["figure2"].groupby("n/p")
    return _panels([(f"n/p = {r}", part) for r, part in groups], "n", "rows n, folds of five", len(groups))


def draw_folds(tables: Tables) -> Figure:
    """Figure 3: a panel for each n and p, and the predicted break-even as a vertical line."""
    found, lines = tables["figure3"], tables["figure3_crossover"]
    panels = [(f"n = {part['n'].iloc[0]}, p = {part['p'].iloc[0]}", part) for _, part in found.groupby(["n", "p"])]
    figure = _panels(panels, "K", "folds K", found["p"].nunique())
    # both tables go by n, then p
    for axes, predicted in zip(figure.axes, lines.sort_values(["n", "p"])["predicted"], strict=False):
        axes.axvline(predicted, color="black", linestyle=":", linewidth=1.4)
    return figure


def draw_errors(tables: Tables) -> Figure:
    """Figure 4(a): estimates and intervals along the penalty, and boxes of the error on test sets."""
    found, choices = tables["figure4a"], tables["figure4_choices"]
    groups = list(found.groupby("components"))
    figure, grid = _figure(len(groups), 1, (8.5, 3.6 * len(groups) + 0.5), sharex=True)
    for axes, (p, part) in zip(grid.ravel(), groups, strict=True):
        _draw_curve(axes, part)
        for rule, (colour, dashes) in MARKS.items():
            chosen = choices[(choices["components"] == p) & (choices["rule"] == rule)]["lam_paper"].iloc[0]
            axes.axvline(chosen, color=colour, linestyle=dashes, linewidth=1.6, label=rule.upper())
        axes.set_title(f"{p} components, {100 * part['variance'].iloc[0]:.1f}% of the variance", loc="left")
        axes.set(xscale="log", ylabel="squared error")
        _clean(axes)
    grid[-1, 0].set_xlabel("penalty, in the authors' units")
    _legend(figure, grid[0, 0], 4)
    return figure


def _draw_curve(axes: Any, part: pd.DataFrame) -> None:
    lams = part["lam_paper"].to_numpy(float)
    band = {"color": CHOSEN, "alpha": 0.22, "linewidth": 0}
    axes.fill_between(lams, part["paper_low"], part["paper_high"], label="the paper's interval", **band)
    axes.plot(lams, part["paper"], color=CHOSEN, linewidth=1.8, label="the paper's estimate")
    for end, label in (("leave_two_low", "leave two out, covariance"), ("leave_two_high", None)):
        axes.plot(lams, part[end], color=CHOSEN, linestyle=":", linewidth=1.4, label=label)
    axes.plot(lams, part["true"], color="black", linewidth=1.4, label="true error")
    shown = np.arange(len(lams) // 40, len(lams), max(1, len(lams) // 20))
    boxes = [
        dict(zip(("whislo", "q1", "med", "q3", "whishi"), part.iloc[at][[f"test_{q}" for q in _NAMES]], strict=True))
        for at in shown
    ]
    look = {f"{name}props": {"color": OTHER, "linewidth": 0.9} for name in ("box", "whisker", "cap", "median")}
    axes.bxp(boxes, lams[shown], widths=0.14 * lams[shown], showfliers=False, manage_ticks=False, **look)
    axes.plot([], [], color=OTHER, marker="s", fillstyle="none", linestyle="none", label="test sets of 100 rows")


_NAMES = ("2.5", "25", "50", "75", "97.5")


def draw_likelihood(tables: Tables) -> Figure:
    """Figure 4(b): minus the restricted log-likelihood along the penalty."""
    groups = list(tables["figure4b"].groupby("components"))
    figure, grid = _figure(len(groups), 1, (6.5, 3.0 * len(groups)), sharex=True)
    colour, dashes = MARKS["reml"]
    for axes, (p, part) in zip(grid.ravel(), groups, strict=True):
        axes.plot(part["lam_paper"], part["reml"], color=CHOSEN, linewidth=1.8)
        chosen = part.loc[part["chosen"].astype(bool), "lam_paper"].iloc[0]
        axes.axvline(chosen, color=colour, linestyle=dashes, linewidth=1.6)
        axes.set_title(f"{p} components", loc="left", fontsize="medium")
        axes.set(xscale="log", ylabel="minus log REML, from its minimum")
        _clean(axes)
    grid[-1, 0].set_xlabel("penalty, in the authors' units")
    return figure
