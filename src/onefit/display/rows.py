"""Intervals on rows: a bar and a point each, cut with an arrow where one is far wider than the others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..typing import BoolArray, FloatArray
from .style import ABSENT, CHOSEN, GRID, OTHER, number

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw_row", "label_rows", "row_limits", "tidy_rows"]

REACH = 1.5  # other intervals are cut at an arrow this many typical widths beyond the estimates


def row_limits(estimate: FloatArray, low: FloatArray, high: FloatArray, whole: BoolArray) -> tuple[float, float]:
    """Horizontal limits around every estimate, the intervals to show whole, and all others but the far too wide."""
    points = estimate[np.isfinite(estimate)]
    if points.size == 0:
        return 0.0, 1.0
    widths = (high - low)[np.isfinite(high - low)]
    reach = REACH * float(np.median(widths)) if widths.size else 0.0
    ends = np.concatenate([low, high])
    in_reach = (ends >= points.min() - reach) & (ends <= points.max() + reach)
    shown = ends[np.isfinite(ends) & (in_reach | np.tile(whole, 2))]
    left, right = np.min([points.min(), *shown]), np.max([points.max(), *shown])
    if np.any(low < left):
        left = min(left, points.min() - reach)
    if np.any(high > right):
        right = max(right, points.max() + reach)
    margin = 0.05 * (right - left) or 0.05 * abs(left) or 1.0
    return float(left - margin), float(right + margin)


def draw_row(
    axes: Axes,
    row: int,
    estimate: float,
    low: float,
    high: float,
    *,
    emphasised: bool,
    figures: bool = False,
) -> None:
    """One interval: its bar and point, or what there is of them; with its figures above if asked for."""
    color = CHOSEN if emphasised else OTHER
    if not np.isfinite(estimate):
        left, _ = axes.get_xlim()
        _note(axes, "not available", left, row, 4, "left", ABSENT)
        return
    has_interval = not (np.isnan(low) or np.isnan(high))
    if has_interval:
        _draw_bar(axes, row, low, high, color, 3.5 if emphasised else 1.8)
    axes.plot(
        [estimate],
        [row],
        marker="o",
        markersize=8 if emphasised else 5.5,
        color=color,
        markerfacecolor=color if has_interval else "white",
        zorder=4,
    )
    if not has_interval:
        _note(axes, "no interval", estimate, row, 9, "left", ABSENT)
    elif figures:
        text = f"{number(estimate)} ({number(low)} to {number(high)})"
        _note(axes, text, estimate, row, 0, "center", color, above=True)


def _draw_bar(axes: Axes, row: int, low: float, high: float, color: str, linewidth: float) -> None:
    """Bar of one interval; an end outside the limits becomes an arrow with its value."""
    left, right = axes.get_xlim()
    ends = [max(low, left), min(high, right)]
    axes.plot(ends, [row, row], color=color, linewidth=linewidth, solid_capstyle="butt", zorder=3)
    if low < left:
        axes.plot([left], [row], marker=4, color=color, markersize=7, clip_on=False, zorder=4)
        _note(axes, number(low), left, row, 10, "left", color, above=True)
    if high > right:
        axes.plot([right], [row], marker=5, color=color, markersize=7, clip_on=False, zorder=4)
        _note(axes, number(high), right, row, -10, "right", color, above=True)


def _note(axes: Axes, text: str, x: float, row: int, shift: int, side: str, color: str, *, above: bool = False) -> None:
    """Small text beside a point of a row."""
    axes.annotate(
        text,
        (x, row),
        xytext=(shift, 5 if above else 0),
        textcoords="offset points",
        ha=side,
        va="bottom" if above else "center_baseline",
        fontsize="small",
        color=color,
        bbox={"facecolor": axes.get_facecolor(), "edgecolor": "none", "pad": 0.6},
    )


def label_rows(axes: Axes, names: Sequence[str], emphasised: BoolArray, available: BoolArray) -> None:
    """Names down the side: the emphasised ones bold, those without an estimate grey."""
    axes.set_yticks(range(len(names)), labels=list(names))
    for label, strong, present in zip(axes.get_yticklabels(), emphasised, available, strict=True):
        label.set_color((CHOSEN if strong else "black") if present else ABSENT)
        label.set_fontweight("bold" if strong else "normal")


def tidy_rows(axes: Axes) -> None:
    """First row on top; no frame, faint vertical grid."""
    axes.set_ylim(len(axes.get_yticks()) - 0.5, -0.6)
    axes.tick_params(axis="y", length=0, pad=8)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.grid(axis="x", color=GRID, linewidth=0.8)
    axes.set_axisbelow(True)
