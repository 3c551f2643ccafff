"""Plots: plain arrays in, matplotlib Axes out; nothing is estimated here.

matplotlib is an optional dependency and is imported when a plot is drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from .errors import OneFitError
from .typing import BoolArray, FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_intervals"]

# Okabe and Ito's blue is safe under every common colour-vision deficiency; greys carry the rest.
CHOSEN = "#0072B2"
OTHER = "#5F5F5F"
ABSENT = "#767676"
GRID = "#E3E3E3"

LOSS_LABELS = {"huber": "Huber loss", "pinball": "pinball loss", "zero_one": "zero-one loss"}
REACH = 1.5  # other intervals are cut at an arrow this many typical widths beyond the estimates


def plot_intervals(
    names: Sequence[str],
    estimates: ArrayLike,
    lows: ArrayLike,
    highs: ArrayLike,
    *,
    chosen: str,
    confidence_level: float,
    loss: str,
    ax: Axes | None = None,
) -> Axes:
    """Draw the interval of each rule on a row of its own, the chosen rule emphasised.

    Parameters
    ----------
    names : sequence of str
        Names of the interval rules, drawn from top to bottom.
    estimates, lows, highs : array-like of shape (n_rules,)
        Point estimates and interval ends. A rule without an estimate is listed as not available; one with an
        estimate but no interval is drawn as an open point.
    chosen : str
        The rule to emphasise.
    confidence_level : float
        Level of the intervals, for the title.
    loss : str
        Name of the loss, for the horizontal axis.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes
        The axes drawn on.

    Notes
    -----
    An interval much wider than the others is cut at the edge of the plot, with an arrow and the value of its
    end, so that it does not squeeze the others together.

    Examples
    --------
    >>> from onefit.display import plot_intervals
    >>> ax = plot_intervals(["covariance", "naive"], [3.1, 3.0], [2.7, 2.8], [3.6, 3.3], chosen="covariance",
    ...                     confidence_level=0.95, loss="squared_error")
    >>> ax.get_xlabel()
    'squared error'
    """
    names = list(names)
    estimate, low, high = (np.asarray(values, dtype=float) for values in (estimates, lows, highs))
    axes = _new_axes(len(names)) if ax is None else ax
    is_chosen = np.array([name == chosen for name in names])
    axes.set_xlim(_limits(estimate, low, high, is_chosen))
    for row, name in enumerate(names):
        _draw_row(axes, row, estimate[row], low[row], high[row], emphasised=name == chosen)
    _label_rows(axes, names, chosen, np.isfinite(estimate))
    for value in estimate[is_chosen & np.isfinite(estimate)]:
        axes.axvline(value, color=CHOSEN, linewidth=0.8, alpha=0.35, zorder=1)
    axes.set_xlabel(LOSS_LABELS.get(loss, loss.replace("_", " ")))
    axes.set_title(f"Generalization error, {100 * confidence_level:g}% intervals", loc="left", fontsize="medium")
    _tidy(axes)
    return axes


def _new_axes(n_rows: int) -> Axes:
    """Axes of a new figure, tall enough for the rows; an error with a remedy if matplotlib is missing."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise OneFitError('Plots need matplotlib, which is not installed: run `pip install "onefit[plot]"`.') from error
    _, axes = plt.subplots(figsize=(7.0, 1.3 + 0.4 * max(n_rows, 2)), layout="constrained")
    return axes


def _limits(
    estimate: FloatArray,
    low: FloatArray,
    high: FloatArray,
    is_chosen: BoolArray,
) -> tuple[float, float]:
    """Horizontal limits around every estimate, the chosen interval, and all others but the far too wide."""
    points = estimate[np.isfinite(estimate)]
    if points.size == 0:
        return 0.0, 1.0
    widths = (high - low)[np.isfinite(high - low)]
    reach = REACH * float(np.median(widths)) if widths.size else 0.0
    ends = np.concatenate([low, high])
    in_reach = (ends >= points.min() - reach) & (ends <= points.max() + reach)
    shown = ends[np.isfinite(ends) & (in_reach | np.tile(is_chosen, 2))]
    left, right = np.min([points.min(), *shown]), np.max([points.max(), *shown])
    if np.any(low < left):
        left = min(left, points.min() - reach)
    if np.any(high > right):
        right = max(right, points.max() + reach)
    margin = 0.05 * (right - left) or 0.05 * abs(left) or 1.0
    return float(left - margin), float(right + margin)


def _draw_row(axes: Axes, row: int, estimate: float, low: float, high: float, *, emphasised: bool) -> None:
    """One rule: its bar and point, or what there is of them."""
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
    elif emphasised:
        figures = f"{_number(estimate)} ({_number(low)} to {_number(high)})"
        _note(axes, figures, estimate, row, 0, "center", color, above=True)


def _draw_bar(axes: Axes, row: int, low: float, high: float, color: str, linewidth: float) -> None:
    """Bar of one interval; an end outside the limits becomes an arrow with its value."""
    left, right = axes.get_xlim()
    ends = [max(low, left), min(high, right)]
    axes.plot(ends, [row, row], color=color, linewidth=linewidth, solid_capstyle="butt", zorder=3)
    if low < left:
        axes.plot([left], [row], marker=4, color=color, markersize=7, clip_on=False, zorder=4)
        _note(axes, _number(low), left, row, 10, "left", color, above=True)
    if high > right:
        axes.plot([right], [row], marker=5, color=color, markersize=7, clip_on=False, zorder=4)
        _note(axes, _number(high), right, row, -10, "right", color, above=True)


def _number(value: float) -> str:
    """Four significant digits, and no exponent where whole digits will do."""
    return f"{value:.0f}" if 1e3 <= abs(value) < 1e7 else f"{value:.4g}"


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


def _label_rows(axes: Axes, names: list[str], chosen: str, available: BoolArray) -> None:
    """Rule names down the side: the chosen one bold, those without an estimate grey."""
    axes.set_yticks(range(len(names)), labels=names)
    for name, label, present in zip(names, axes.get_yticklabels(), available, strict=True):
        label.set_color((CHOSEN if name == chosen else "black") if present else ABSENT)
        label.set_fontweight("bold" if name == chosen else "normal")


def _tidy(axes: Axes) -> None:
    """First rule on top; no frame, faint vertical grid."""
    axes.set_ylim(len(axes.get_yticks()) - 0.5, -0.6)
    axes.tick_params(axis="y", length=0, pad=8)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.grid(axis="x", color=GRID, linewidth=0.8)
    axes.set_axisbelow(True)
