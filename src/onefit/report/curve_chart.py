"""The error curve as a figure: the error with its band, and below it the paired difference from the best."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..display.curve import limits, reaches
from ..display.numbers import number_text
from ..display.positions import PLAIN, Positions
from ..display.style import loss_label
from ..typing import BoolArray, FloatArray
from .charts import Figure, axis, axis_title, band, label_text, layout_of, loss_axis
from .words import loss_text, title_of

__all__ = ["CurveData", "curve_chart"]

FEW_VALUES = 12  # up to here every value is a point
UPPER, LOWER = (0.48, 1.0), (0.0, 0.36)  # shares of the height
PLOT = 440  # pixels of height, without margins
LEVEL = 19  # pixels of a row of labels
EDF = 28  # pixels of the axis on top
DASHES = ("dash", "dashdot", "dot", "longdash", "longdashdot", "5px,2px,1px,2px")


@dataclass(frozen=True)
class CurveData:
    """What the chart shows, arrays (V,): error with its ends, paired difference with its ends, edf.

    Attributes
    ----------
    values : sequence
        Parameter values as given.
    error, difference : tuples of three arrays
        Estimate, low and high.
    edf : array or None
    same : array of bool
        Values that cannot be told from the best.
    selected : dict
        Positions, with the rules that select them.
    """

    values: Sequence[object]
    error: tuple[FloatArray, FloatArray, FloatArray]
    difference: tuple[FloatArray, FloatArray, FloatArray]
    edf: FloatArray | None
    same: BoolArray
    selected: Mapping[int, Sequence[str]]
    param_name: str
    loss: str
    greater_is_better: bool = False


def curve_chart(curve: CurveData, *, log: bool) -> Figure:
    """The figure: two panels on one horizontal axis, hover texts on both, labelled lines at the selected values."""
    places = Positions.of(curve.values, log=log)
    x, zero = _places(places)
    order = np.argsort(x, kind="stable")
    names = [number_text(value) for value in curve.values]
    is_curve = places.names is None
    greater = curve.greater_is_better
    far, near = reaches(*curve.error, greater) if is_curve else (np.inf, np.inf)
    data: list[Figure] = []
    for part, y_axis, reads in ((curve.error, "y", ""), (curve.difference, "y2", "difference ")):
        texts = [f"{_head(curve, names, i)}<br>{reads}{_says(curve.loss, part, i)}" for i in order]
        data += _panel(x[order], [each[order] for each in part], texts, y_axis, is_curve=is_curve)
    is_log, has_edf = is_curve and places.log, is_curve and curve.edf is not None
    top = 14 + LEVEL * len(curve.selected) + (EDF if has_edf else 0)
    shapes, notes = _selected(curve, x, top, is_log=is_log)
    notes.append(_caption(bool(curve.same.any())))
    below = _x_axis(curve, places, x, zero)
    title = axis_title(loss_label(curve.loss) if greater else title_of(curve.loss).lower())
    layout = layout_of(
        PLOT + top + 48,
        margin={"l": 8, "r": 16, "t": top, "b": 48},
        xaxis=below,
        yaxis=loss_axis(
            curve.loss, domain=UPPER, range=list(limits(*curve.error, far, greater)), title=title, nticks=7
        ),
        yaxis2=loss_axis(
            curve.loss,
            domain=LOWER,
            range=list(limits(*curve.difference, near, greater)),
            title=axis_title("difference"),
            nticks=5,
        ),
        shapes=[*_shaded(curve, x, is_log=is_log, is_category=not is_curve), _zero_line(), *shapes],
        annotations=notes,
        hovermode="x",
    )
    if curve.edf is not None and is_curve:
        layout["xaxis2"] = _edf_axis(curve, curve.edf, x, below)
        notes.append(_note("edf", "paper", 0, 1, xanchor="right", yanchor="bottom", xshift=-8, yshift=6))
    return {"data": data, "layout": layout}


def _places(places: Positions) -> tuple[FloatArray, float | None]:
    """Positions on the axis, and that of zero, which on a log axis gets a place left of the others."""
    x = places.at.copy()
    if not places.log or not (x == 0).any():
        return x, None
    zero = float(x[x > 0].min()) / 10**0.7
    return np.where(x == 0, zero, x), zero


def _head(curve: CurveData, names: Sequence[str], position: int) -> str:
    """First line of a hover text: the value, its edf, and the rules that select it."""
    edf = "" if curve.edf is None else f", edf {number_text(float(curve.edf[position]), 3)}"
    rules = f" ({', '.join(curve.selected[position])})" if position in curve.selected else ""
    return f"<b>{label_text(curve.param_name)} {label_text(names[position])}</b>{edf}{rules}"


def _says(loss: str, part: Sequence[FloatArray], position: int) -> str:
    estimate, low, high = loss_text(loss, *(float(each[position]) for each in part))
    return f"{estimate} ({low} to {high})"


def _panel(
    x: FloatArray, part: Sequence[FloatArray], texts: Sequence[str], y_axis: str, *, is_curve: bool
) -> list[Figure]:
    """Band and line of a curve, or a point and a bar a category."""
    estimate, low, high = (np.where(np.isfinite(each), each, np.nan) for each in part)
    points: Figure = {
        "type": "scatter",
        "x": x,
        "y": estimate,
        "yaxis": y_axis,
        "text": list(texts),
        "line": {"color": "@chosen", "width": 2.4},
        "marker": {"color": "@chosen", "size": 6},
        "mode": "lines+markers" if len(x) <= FEW_VALUES else "lines",
    }
    if is_curve:
        return [*band(list(x), low, high, yaxis=y_axis), points]
    bars = {"type": "data", "array": high - estimate, "arrayminus": estimate - low,
            "color": "@chosen", "thickness": 3, "width": 0}  # fmt: skip
    return [{**points, "mode": "markers", "marker": {"color": "@chosen", "size": 10}, "error_y": bars}]


def _x_axis(curve: CurveData, places: Positions, x: FloatArray, zero: float | None) -> Figure:
    """The axis that both panels share, at the foot of the lower one."""
    options: Figure = {
        "title": axis_title(curve.param_name),
        "showgrid": False,
    }
    if places.names is not None:
        ticks = [label_text(name, 24) for name in places.names]
        return axis(**options, tickvals=x.tolist(), ticktext=ticks, range=[-0.5, len(x) - 0.5])
    if not places.log:
        margin = 0.03 * (x.max() - x.min()) or 0.5
        return axis(**options, range=[float(x.min() - margin), float(x.max() + margin)], nticks=8)
    ends = np.log10([x.min(), x.max()])
    margin = 0.03 * (ends[1] - ends[0]) or 0.1
    options |= {"type": "log", "range": [float(ends[0] - margin), float(ends[1] + margin)]}
    if zero is None:
        plain = x.min() >= PLAIN[0] and x.max() <= PLAIN[1]
        return axis(
            **options, exponentformat="none" if plain else "power", nticks=int(np.clip((ends[1] - ends[0]) / 0.8, 3, 8))
        )
    first = np.log10(x[x > zero].min())
    step = max(1, round((ends[1] - first) / 6))
    powers = 10.0 ** np.arange(np.ceil(first - 1e-9), np.floor(ends[1] + 1e-9) + 1, step)
    return axis(**options, tickvals=[zero, *powers.tolist()], ticktext=["0", *map(number_text, powers)])


def _edf_axis(curve: CurveData, edf: FloatArray, x: FloatArray, below: Figure) -> Figure:
    """Effective degrees of freedom along the top, at some values, evenly spaced and clear of the labelled lines."""
    is_log = below.get("type") == "log"
    at = np.log10(x) if is_log else x
    lines = at[list(curve.selected)]
    clear = np.abs(at[:, None] - lines).min(axis=1) > 0.05 * np.ptp(at)
    free = np.flatnonzero(clear & np.isfinite(edf))
    wanted = np.linspace(at.min(), at.max(), 5)
    kept = np.unique([free[np.abs(at[free] - place).argmin()] for place in wanted]) if len(free) else free
    return axis(
        type="log" if is_log else "linear", showgrid=False,
        tickvals=x[kept].tolist(), ticktext=[number_text(float(v), 3) for v in edf[kept]],
        range=below["range"], tickfont={"size": 12},
    )  # fmt: skip


def _shaded(curve: CurveData, x: FloatArray, *, is_log: bool, is_category: bool) -> list[Figure]:
    """Stretches of the lower panel around the values that cannot be told from the best, halfway to their neighbours."""
    order = np.argsort(x, kind="stable")
    at = np.log10(x[order]) if is_log else x[order]
    middle = (at[1:] + at[:-1]) / 2
    reach = 0.5 if is_category else 0.03 * (at[-1] - at[0]) or 0.1
    edges = np.concatenate([[at[0] - reach], middle, [at[-1] + reach]])
    padded = np.concatenate([[False], curve.same[order], [False]]).astype(int)
    starts, stops = np.flatnonzero(np.diff(padded) == 1), np.flatnonzero(np.diff(padded) == -1)
    ends = [(edges[a], edges[b]) for a, b in zip(starts, stops, strict=True)]
    return [
        {"type": "rect", "xref": "x", "yref": "y2 domain", "y0": 0, "y1": 1,
         "x0": float(10**a if is_log else a), "x1": float(10**b if is_log else b),
         "fillcolor": "@shade", "line": {"width": 0}}
        for a, b in ends
    ]  # fmt: skip


def _zero_line() -> Figure:
    return {"type": "line", "xref": "paper", "yref": "y2", "x0": 0, "x1": 1, "y0": 0, "y1": 0,
            "line": {"color": "@other", "width": 1}}  # fmt: skip


def _selected(curve: CurveData, x: FloatArray, top: float, *, is_log: bool) -> tuple[list[Figure], list[Figure]]:
    """A line through both panels at each selected value, and its label above them, a row each.

    Labels stand on the inner side of their line. Those nearest the edge are highest, so that lines end below them.
    """
    at = np.log10(x) if is_log else x
    middle = (at.min() + at.max()) / 2
    order = sorted(curve.selected, key=lambda position: -abs(at[position] - middle))
    shapes: list[Figure] = []
    notes: list[Figure] = []
    for place, position in enumerate(order):
        color, dash = f"@selected-{place % len(DASHES)}", DASHES[place % len(DASHES)]
        height, value = 1 + (top - 8 - LEVEL * place) / PLOT, float(x[position])
        shapes.append({"type": "line", "xref": "x", "yref": "paper", "x0": value, "x1": value, "y0": 0, "y1": height,
                       "line": {"color": color, "width": 1.6, "dash": dash}})  # fmt: skip
        text = f"{', '.join(curve.selected[position])}: {label_text(number_text(curve.values[position], 3))}"
        side, shift = ("left", 5) if at[position] <= middle else ("right", -5)
        # the logarithm here, and the value itself in a shape, as in plotly, whose words these are
        notes.append(_note(text, "x", float(at[position]), height, color, xanchor=side, yanchor="top", xshift=shift))
    return shapes, notes


def _note(text: str, xref: str, x: float, y: float, color: str = "@text", **options: object) -> Figure:
    """Small text on the page's colour, so that lines behind it do not cross it."""
    return {"text": text, "xref": xref, "yref": "paper", "x": x, "y": y, "bgcolor": "@page/0.85",
            "font": {"color": color, "size": 12}, **options}  # fmt: skip


def _caption(is_shaded: bool) -> Figure:
    """Title of the lower panel."""
    text = "Paired difference from the best value" + ("<br>shaded: too close to call" if is_shaded else "")
    return _note(text, "paper", 0, LOWER[1], xanchor="left", yanchor="bottom", yshift=5)
