"""What is written on a curve: the selected values, and the effective degrees of freedom along the top."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..typing import FloatArray
from .positions import Positions, squeezed
from .style import SELECTED, LineStyle, number

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw_edf", "draw_selected", "headroom"]

LINE_POINTS = 13.0  # height of a line of small text
CHARACTER_POINTS = 5.3  # generous width of a character of small text
TICK_GAP = 0.07  # of the width, between two ticks of the second axis
WIDE_RANGE = 20.0  # ratio above which round numbers go 1, 2, 5, 10, ...


@dataclass(frozen=True)
class Label:
    """A label of one or several selections that fall on one value: its place and its line of text from the top."""

    text: str
    x: float
    row: int
    leftwards: bool
    color: str
    style: LineStyle


def selected_labels(axes: Axes, positions: Positions, selected: Mapping[str, object]) -> list[Label]:
    """Labels of the selected values: equal values share one, and none lies on another."""
    groups: list[tuple[float, list[str], int]] = []
    for index, (name, value) in enumerate(selected.items()):
        x = positions.find(value)
        same = [names for place, names, _ in groups if np.isclose(place, x, rtol=1e-9, atol=0.0)]
        if same:
            same[0].append(name)
        elif np.isfinite(x):
            groups.append((x, [name], index))
    left, right = squeezed(axes, np.array(axes.get_xlim()))
    width = _points(axes)[0]
    taken: list[list[tuple[float, float]]] = []
    labels = []
    for x, names, index in sorted(groups, key=lambda group: group[0]):
        text = ", ".join(names) + (f": {number(x, 3)}" if positions.names is None else "")
        start = float((squeezed(axes, np.array([x]))[0] - left) / (right - left)) * width
        length = CHARACTER_POINTS * len(text) + 6
        leftwards = start + length > width
        span = (start - length, start) if leftwards else (start, start + length)
        labels.append(Label(text, x, _free_row(taken, span), leftwards, *SELECTED[index % len(SELECTED)]))
    return labels


def _free_row(taken: list[list[tuple[float, float]]], span: tuple[float, float]) -> int:
    """First row in which the span meets no other; it is taken from then on."""
    for row, spans in enumerate(taken):
        if all(span[1] < start or span[0] > stop for start, stop in spans):
            spans.append(span)
            return row
    taken.append([span])
    return len(taken) - 1


def headroom(axes: Axes, labels: list[Label]) -> float:
    """Share of the height of the axes that the labels take."""
    rows = 1 + max((label.row for label in labels), default=-1)
    return min(0.5, (LINE_POINTS * rows + 4) / _points(axes)[1]) if rows else 0.0


def draw_selected(upper: Axes, lower: Axes, labels: list[Label]) -> None:
    """A thin line through both axes at each selected value, labelled at the top of the upper one."""
    for label in labels:
        for axes in (upper, lower):
            axes.axvline(label.x, color=label.color, linestyle=label.style, linewidth=1.3, zorder=2.5)
        upper.annotate(
            label.text,
            (label.x, 1.0),
            xycoords=upper.get_xaxis_transform(),
            xytext=(-4 if label.leftwards else 4, -3 - LINE_POINTS * label.row),
            textcoords="offset points",
            ha="right" if label.leftwards else "left",
            va="top",
            fontsize="small",
            color=label.color,
            bbox={"facecolor": upper.get_facecolor(), "edgecolor": "none", "pad": 0.8},
            zorder=5,
        )


def _points(axes: Axes) -> tuple[float, float]:
    """Width and height of the axes in points, before any layout."""
    box = axes.get_window_extent()
    scale = 72.0 / axes.figure.dpi
    return box.width * scale, box.height * scale


def draw_edf(axes: Axes, positions: Positions, edf: FloatArray) -> None:
    """Effective degrees of freedom as a second horizontal axis on top, at a handful of round numbers."""
    order = np.argsort(positions.at)
    order = order[np.isfinite(edf[order])]
    if order.size == 0:
        return
    places, numbers = squeezed(axes, positions.at[order]), edf[order]
    if positions.names is None:
        places, numbers = _edf_ticks(places, numbers)
    top = axes.twiny()  # not secondary_xaxis, which loses a symlog scale

    def follow(changed: Axes) -> None:
        top.set_xlim(*squeezed(changed, np.array(changed.get_xlim())))

    follow(axes)
    axes.callbacks.connect("xlim_changed", follow)
    top.set_xticks(places, labels=[number(value, 3) for value in numbers])
    top.spines[:].set_visible(False)
    top.tick_params(labelsize="small")
    top.set_xlabel("effective degrees of freedom", fontsize="small")


def _edf_ticks(places: FloatArray, numbers: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Places and labels of the ticks: round numbers where the degrees of freedom rise or fall, else some values."""
    steps = np.diff(numbers)
    gap = TICK_GAP * float(np.ptp(places))
    if numbers.size > 1 and (np.all(steps <= 0) or np.all(steps >= 0)):
        way = 1 if steps.sum() > 0 else -1
        wanted = _round_numbers(float(numbers.min()), float(numbers.max()))
        ticks = np.interp(wanted, numbers[::way], places[::way])
        kept = _apart(ticks, gap)
        if len(kept) > 1:
            return ticks[kept], wanted[kept]
    some = np.unique(np.linspace(0, numbers.size - 1, min(6, numbers.size)).round().astype(int))
    return places[some], numbers[some]


def _round_numbers(low: float, high: float) -> FloatArray:
    """Round numbers between two, those to prefer first: 1, 2, 5, ... over orders of magnitude, then evenly spaced."""
    from matplotlib.ticker import MaxNLocator

    numbers = np.asarray(MaxNLocator(nbins=7, steps=[1, 2, 5, 10]).tick_values(low, high))[::-1]
    if low > 0 and high / low > WIDE_RANGE:
        decades = 10.0 ** np.arange(np.floor(np.log10(max(low, high * 1e-3))), np.ceil(np.log10(high)) + 1)
        numbers = np.concatenate([np.outer(decades, [1, 2, 5]).ravel()[::-1], numbers])
    return numbers[(numbers >= low) & (numbers <= high)]


def _apart(ticks: FloatArray, gap: float) -> list[int]:
    """Indices of the ticks that keep the gap from those taken before them."""
    kept: list[int] = []
    for index in range(ticks.size):
        if all(abs(ticks[index] - ticks[other]) >= gap for other in kept):
            kept.append(index)
    return kept
