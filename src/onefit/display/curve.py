"""The error along the values of a parameter, and below it the paired difference from the best value."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ..typing import BoolArray, FloatArray
from .marks import draw_edf, draw_selected, headroom, selected_labels
from .positions import Positions
from .style import CHOSEN, GRID, OTHER, SHADE, AxesArray, given_axes, loss_label, new_axes, number, title_of_level

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["limits", "plot_curve", "reaches"]

PARTS = ("the curve", "the difference from the best value")
FEW_VALUES = 20  # up to this many values each has a point of its own
# The curve is cut this many interval widths of the best value, or times its error if that is farther, above it; the
# differences, which matter near zero and have narrower intervals, one such width above it.
CUT_WIDTHS = 4.0
CUT_ERRORS = 2.0


def plot_curve(
    values: Iterable[object],
    estimate: ArrayLike,
    low: ArrayLike,
    high: ArrayLike,
    difference: ArrayLike,
    difference_low: ArrayLike,
    difference_high: ArrayLike,
    *,
    param_name: str,
    selected: Mapping[str, object],
    loss: str,
    confidence_level: float,
    greater_is_better: bool = False,
    indistinguishable: Iterable[object] | None = None,
    edf: ArrayLike | None = None,
    log_axis: bool = True,
    title: str | None = None,
    axes: Sequence[Axes] | AxesArray | None = None,
) -> AxesArray:
    """Draw an error curve with its band, and below it the paired difference from the best value with its own.

    Parameters
    ----------
    values : sequence of length n_values
        Values of the parameter. Numbers make a curve; anything else (strings, None, booleans) a point and a bar each.
    estimate, low, high : array-like of shape (n_values,)
        Error at each value and the ends of its interval. NaN leaves a gap.
    difference, difference_low, difference_high : array-like of shape (n_values,)
        Error at each value minus that at the best value, and the ends of its interval.
    param_name : str
        Name of the parameter, for the horizontal axis.
    selected : dict of str to value
        Selected values by the rule that selects them, drawn as vertical lines; NaN and None are left out. Rules that
        select the same value share a line and a label.
    loss : str
        Name of the loss, for the vertical axis.
    confidence_level : float
        Level of the intervals, for the title.
    greater_is_better : bool, default=False
        Whether the figures are scores rather than errors; what is far below the best is then cut.
    indistinguishable : sequence of values, optional
        Values that the data cannot tell from the best, shaded in the lower axes.
    edf : array-like of shape (n_values,), optional
        Effective degrees of freedom at each value, for a second axis on top.
    log_axis : bool, default=True
        Whether numbers go on a log axis; a value of 0 then has a place of its own at the left.
    title : str, optional
        Title in place of the one that names the level.
    axes : sequence of two matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    ndarray of two matplotlib.axes.Axes
        The curve and the differences.

    Raises
    ------
    OneFitError
        If `axes` does not hold two axes, if a selected category is not among the values, or matplotlib is missing.

    Notes
    -----
    Errors far above the best one are cut at the edge, with the largest written there, so that the part of the curve
    that matters keeps its shape. The differences are cut sooner: they matter near zero.

    Examples
    --------
    >>> from onefit.display import plot_curve
    >>> upper, lower = plot_curve([0.1, 1, 10], [3.2, 3.0, 3.9], [2.8, 2.7, 3.4], [3.7, 3.4, 4.5], [0.2, 0, 0.9],
    ...                           [-0.1, 0, 0.5], [0.5, 0, 1.3], param_name="alpha", selected={"min": 1, "gcv": 1},
    ...                           loss="squared_error", confidence_level=0.95)
    >>> [text.get_text() for text in upper.texts]
    ['min, gcv: 1']
    """
    both = _new_pair() if axes is None else given_axes(axes, PARTS)
    upper, lower = both
    positions = Positions.of(values, log=log_axis)
    error = tuple(np.asarray(part, dtype=float) for part in (estimate, low, high))
    change = tuple(np.asarray(part, dtype=float) for part in (difference, difference_low, difference_high))
    for part in (upper, lower):
        positions.set_ticks(part)
    labels = selected_labels(upper, positions, selected)
    far, near = (
        reaches(error[0], error[1], error[2], greater_is_better) if positions.names is None else (np.inf, np.inf)
    )
    _draw_part(upper, positions, *error, reach=far, room=headroom(upper, labels), greater=greater_is_better)
    _draw_part(lower, positions, *change, reach=near, room=0.0, greater=greater_is_better)
    lower.axhline(0.0, color=OTHER, linewidth=1.0, zorder=2)
    draw_selected(upper, lower, labels)
    if edf is not None:
        draw_edf(upper, positions, np.asarray(edf, dtype=float))
    shaded = () if indistinguishable is None else positions.cells(lower, positions.among(indistinguishable))
    for start, stop in shaded:
        lower.axvspan(start, stop, facecolor=SHADE, edgecolor="none", zorder=0)
    upper.set_title(
        title_of_level(confidence_level, greater_is_better) if title is None else title, loc="left", fontsize="medium"
    )
    note = "; shaded: too close to call" if shaded else ""
    lower.set_title(f"Paired difference from the best value{note}", loc="left", fontsize="medium")
    upper.set_ylabel(loss_label(loss))
    lower.set_ylabel(f"difference in\n{loss_label(loss)}")
    lower.set_xlabel(param_name)
    upper.tick_params(axis="x", which="both", labelbottom=False)
    return both


def _new_pair() -> AxesArray:
    """Two axes of a new figure, one above the other, on one horizontal axis."""
    return new_axes(2, 1, (7.0, 6.0), sharex=True, height_ratios=[1.25, 1.0])


def reaches(
    estimate: FloatArray, low: FloatArray, high: FloatArray, greater_is_better: bool = False
) -> tuple[float, float]:
    """How far beyond the best, on the worse side, the curve is shown, and how far beyond zero the differences."""
    if greater_is_better:
        return reaches(-estimate, -high, -low)
    if not np.isfinite(estimate).any():
        return np.inf, np.inf
    best = int(np.nanargmin(np.where(np.isfinite(estimate), estimate, np.nan)))
    size, width = abs(estimate[best]), high[best] - low[best]
    if not np.isfinite(width):
        width = 0.0
    far = max(CUT_WIDTHS * width, CUT_ERRORS * size)
    return float(far or np.inf), float(width or far or np.inf)


def _draw_part(
    axes: Axes,
    positions: Positions,
    estimate: FloatArray,
    low: FloatArray,
    high: FloatArray,
    *,
    reach: float,
    room: float,
    greater: bool = False,
) -> None:
    """A curve with its band, or a point and a bar a category; `room` is the share of the height to leave on top."""
    bottom, top = limits(estimate, low, high, reach, greater)
    axes.set_ylim(bottom, bottom + (top - bottom) / (1.0 - room))
    order = np.argsort(positions.at, kind="stable")
    x, y = positions.at[order], np.where(np.isfinite(estimate), estimate, np.nan)[order]
    down = np.nan_to_num(low, nan=np.nan, posinf=top, neginf=bottom)[order]
    up = np.nan_to_num(high, nan=np.nan, posinf=top, neginf=bottom)[order]
    barred = np.ones(x.size, dtype=bool) if positions.names is not None else _alone(y)
    if positions.names is None:
        pointed = barred | (x.size <= FEW_VALUES)
        axes.fill_between(x, down, up, facecolor=CHOSEN, alpha=0.22, linewidth=0, zorder=1.5)
        axes.plot(x, y, color=CHOSEN, linewidth=1.8, marker="o", markersize=4.5, markevery=list(pointed), zorder=3)
    else:
        axes.plot(x, y, color=CHOSEN, linestyle="none", marker="o", markersize=7, zorder=4)
    axes.vlines(x[barred], down[barred], up[barred], colors=CHOSEN, linewidth=2.5, zorder=3)
    if not greater and np.nanmax(y, initial=-np.inf) > top:
        _write_peak(axes, x, y, np.fmax(y, up) > top, top)
    if greater and np.nanmin(y, initial=np.inf) < bottom:
        _write_peak(axes, x, -y, np.fmin(y, down) < bottom, bottom, sign=-1)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color=GRID, linewidth=0.8)
    axes.set_axisbelow(True)


def limits(
    estimate: FloatArray, low: FloatArray, high: FloatArray, reach: float, greater_is_better: bool = False
) -> tuple[float, float]:
    """Vertical limits around estimates and intervals, but no farther than `reach` from the best estimate."""
    if greater_is_better:
        bottom, top = limits(-estimate, -high, -low, reach)
        return -top, -bottom
    points = estimate[np.isfinite(estimate)]
    if points.size == 0:
        return 0.0, 1.0
    ends = np.concatenate([points, low[np.isfinite(low)], high[np.isfinite(high)]])
    bottom = max(ends.min(), points.min() - reach)
    top = min(ends.max(), points.min() + reach)
    margin = 0.05 * (top - bottom) or 0.05 * abs(top) or 1.0
    return float(bottom - margin), float(top + margin)


def _alone(y: FloatArray) -> BoolArray:
    """Values with a gap on either side, which a line would not show."""
    present = np.concatenate([[False], np.isfinite(y), [False]])
    return np.asarray(present[1:-1] & ~present[:-2] & ~present[2:])


def _write_peak(axes: Axes, x: FloatArray, y: FloatArray, outside: BoolArray, edge: float, sign: int = 1) -> None:
    """The worst estimate, which is outside, written where the curve or its band comes back into the plot."""
    peak = int(np.nanargmax(y))
    rightwards = peak < int(np.nanargmin(y))
    after = np.flatnonzero(~outside[peak:]) if rightwards else -np.flatnonzero(~outside[: peak + 1][::-1])
    axes.annotate(
        f"{'up' if sign > 0 else 'down'} to {number(sign * y[peak])}",
        (x[peak + after[0]], edge),
        xytext=(4 if rightwards else -4, 0),
        textcoords="offset points",
        ha="left" if rightwards else "right",
        va="top" if sign > 0 else "bottom",
        fontsize="small",
        color=CHOSEN,
        bbox={"facecolor": axes.get_facecolor(), "edgecolor": "none", "alpha": 0.8, "pad": 0.8},
        zorder=5,
    )
