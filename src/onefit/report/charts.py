"""Charts as plain figures in the words of plotly: arrays in, a dict out; nothing is estimated here.

The page's own script, ``templates/charts.js``, draws what is used of these words.

Colours are names of the palette ("@chosen", "@chosen/0.2" with an opacity), which the page replaces by those of the
reader's scheme. Texts that a user gave pass through `label_text`, because labels may hold some HTML.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from html import escape
from typing import TypeAlias

import numpy as np

from ..display.numbers import digits_for, number_text
from ..display.rows import row_limits
from ..typing import BoolArray, FloatArray, IntArray
from .words import loss_text

__all__ = [
    "Figure",
    "axis",
    "axis_title",
    "band",
    "forest",
    "label_text",
    "layout_of",
    "loss_axis",
    "predictions",
    "shortened",
]

Figure: TypeAlias = dict[str, object]
"""A figure, or a part of one, as JSON has it."""

LONGEST = 32  # characters of a label; the tables have the whole name
LONGEST_TITLE = 48  # of an axis; a phone has room for it
MOST_POINTS = 3000  # of a scatter, so that the page stays quick
ROW = 34  # pixels
NARROW = 22  # characters of a line of a row's name, of which there are two at most
MINUS = " − "  # between the names of a pair
WORD_ENDS = re.compile(r"(?<=[a-z0-9])(?=[A-Z(])|(?<=[\s_/.,;:-])")


def label_text(text: object, longest: int = LONGEST) -> str:
    """Text that a chart shows as it stands: HTML escaped, line breaks gone, cut if long."""
    return escape(shortened(text, longest), quote=False)


def shortened(text: object, longest: int) -> str:
    """Text in one line, cut if long."""
    flat = " ".join(str(text).split())
    return flat if len(flat) <= longest else flat[: longest - 1] + "…"


def name_lines(name: str) -> list[str]:
    """A row's name in two lines at most: a pair has its second on the second, a long name ends its line with a word.

    Examples
    --------
    >>> from onefit.report.charts import name_lines
    >>> name_lines("LinearDiscriminantAnalysis"), name_lines("GaussianNB − KNeighborsClassifier(15)")
    (['LinearDiscriminant', 'Analysis'], ['GaussianNB', '− KNeighborsClassifie…'])
    """
    flat = " ".join(name.split())
    if len(flat) <= NARROW:
        return [flat]
    first, minus, second = flat.partition(MINUS)
    if minus:
        return [shortened(first, NARROW), shortened(f"− {second}", NARROW)]
    line = ""
    for part in WORD_ENDS.split(flat):
        if len((line + part).rstrip()) > NARROW:
            break
        line += part
    line = line or flat[:NARROW]
    return [line.rstrip(), shortened(flat[len(line) :], NARROW)]


def axis(**options: object) -> Figure:
    """An axis in the look of the library's plots."""
    look: Figure = {
        "gridcolor": "@grid",
        "linecolor": "@other",
    }
    return {**look, **options}


def loss_axis(loss: str, **options: object) -> Figure:
    """An axis of errors: percentages for zero-one loss."""
    return axis(**options, tickformat=".1~%") if loss == "zero_one" else axis(**options)


def axis_title(text: object) -> Figure:
    """Title of an axis; the text is a user's."""
    return {"text": label_text(text, LONGEST_TITLE)}


def layout_of(height: float, **options: object) -> Figure:
    """A layout in the look of the library's plots."""
    look: Figure = {
        "height": height,
        "margin": {"l": 8, "r": 16, "t": 16, "b": 44},
        "hovermode": "closest",
    }
    return {**look, **options}


def band(
    x: Sequence[object], low: FloatArray, high: FloatArray, name: str = "@chosen", **options: object
) -> list[Figure]:
    """Filled areas between two lines, one for each stretch without a gap."""
    present = np.concatenate([[False], np.isfinite(low) & np.isfinite(high), [False]]).astype(int)
    starts, stops = np.flatnonzero(np.diff(present) == 1), np.flatnonzero(np.diff(present) == -1)
    shape = {"type": "scatter", "mode": "lines", "fill": "toself", "fillcolor": f"{name}/0.22"}
    return [
        {
            **shape,
            "line": {"width": 0},
            "x": [*x[a:b], *x[a:b][::-1]],
            "y": [*low[a:b], *high[a:b][::-1]],
            **options,
        }
        for a, b in zip(starts.tolist(), stops.tolist(), strict=True)
    ]


def forest(
    names: Sequence[str],
    estimate: FloatArray,
    low: FloatArray,
    high: FloatArray,
    *,
    emphasised: BoolArray,
    loss: str,
    title: str,
    zero: bool = False,
) -> Figure:
    """An interval on each row, from top to bottom, the emphasised ones in colour; with a line at zero if asked for."""
    rows, present = np.arange(len(names)), np.isfinite(estimate)
    left, right = row_limits(estimate, low, high, emphasised)
    if zero:
        margin = 0.05 * (right - left)
        left, right = min(left, -margin), max(right, margin)
    data = [
        _intervals(rows[chosen], names, *(part[chosen] for part in (estimate, low, high)), strong=strong, loss=loss)
        for strong in (False, True)
        if (chosen := present & (emphasised == strong)).any()
    ]
    lines = ["<br>".join(map(label_text, name_lines(name))) for name in names]
    ticks = [f"<b>{line}</b>" if strong else line for line, strong in zip(lines, emphasised, strict=True)]
    absent = [
        {"text": "not available", "x": 0, "xref": "paper", "xanchor": "left", "y": int(row),
         "font": {"color": "@muted", "size": 12}}
        for row in rows[~present]
    ]  # fmt: skip
    bare = [
        {"text": "no interval", "x": float(estimate[row]), "y": int(row), "xanchor": "left",
         "xshift": 10, "font": {"color": "@muted", "size": 12}}
        for row in rows[present & ~np.isfinite(low + high)]
    ]  # fmt: skip
    upright = {"type": "line", "yref": "paper", "y0": 0, "y1": 1}
    marks = [{**upright, "x0": 0, "x1": 0, "line": {"color": "@other", "width": 1.2}}] if zero else []
    marks += [
        {**upright, "x0": float(value), "x1": float(value), "line": {"color": "@chosen/0.35", "width": 1}}
        for value in ([] if zero else estimate[emphasised & present])
    ]
    y = axis(tickvals=rows.tolist(), ticktext=ticks, range=[len(names) - 0.5, -0.5], showgrid=False)
    layout = layout_of(
        64 + ROW * max(len(names), 2),
        xaxis=loss_axis(loss, title=axis_title(title), range=[left, right]),
        yaxis={**y, "ticklabelstandoff": 8},
        annotations=[*absent, *bare],
        shapes=marks,
    )
    return {"data": data, "layout": layout}


def _intervals(
    rows: IntArray,
    names: Sequence[str],
    estimate: FloatArray,
    low: FloatArray,
    high: FloatArray,
    *,
    strong: bool,
    loss: str,
) -> Figure:
    """Points with horizontal bars; an open point where there is no interval."""
    has_interval, color = np.isfinite(low) & np.isfinite(high), "@chosen" if strong else "@other"
    texts = [loss_text(loss, *each) for each in zip(estimate, low, high, strict=True)]
    says = [
        f"{point} ({a} to {b})" if whole else point for (point, a, b), whole in zip(texts, has_interval, strict=True)
    ]
    return {
        "type": "scatter",
        "mode": "markers",
        "x": estimate,
        "y": rows,
        "text": [
            f"<b>{label_text(name, 60)}</b><br>{say}"
            for name, say in zip((names[row] for row in rows), says, strict=True)
        ],
        "marker": {
            "color": color,
            "size": 12 if strong else 9,
            "symbol": ["circle" if whole else "circle-open" for whole in has_interval],
            "line": {"color": color, "width": 1.5},
        },
        "error_x": {
            "type": "data",
            "array": np.where(has_interval, high - estimate, 0.0),
            "arrayminus": np.where(has_interval, estimate - low, 0.0),
            "color": color,
            "thickness": 4.5 if strong else 2,
            "width": 0,
        },
    }


def predictions(
    rows: Sequence[object], observed: FloatArray, predicted: FloatArray, loss: FloatArray, names: Mapping[str, str]
) -> Figure:
    """Held-out predictions against what was observed; all of the worst rows, and every so many of the others."""
    kept = np.flatnonzero(np.isfinite(predicted) & np.isfinite(observed))
    worst_first = kept[np.argsort(-loss[kept], kind="stable")]
    few = worst_first[:20]
    rest = worst_first[20:]
    shown = np.concatenate([rest[:: -(-len(rest) // MOST_POINTS) or 1], few])
    both = np.concatenate([observed[kept], predicted[kept]])
    ends = [float(both.min()), float(both.max())]
    digits = digits_for(both)
    texts = [
        f"<b>{label_text(rows[i])}</b><br>observed {number_text(observed[i], digits)}, "
        f"predicted {number_text(predicted[i], digits)}<br>{label_text(names['loss'])} {number_text(loss[i])}"
        for i in shown
    ]
    points = {
        "type": "scatter",
        "mode": "markers",
        "x": predicted[shown],
        "y": observed[shown],
        "text": texts,
        "marker": {"color": "@chosen", "size": 6, "opacity": 0.55},
    }
    line = {"type": "scatter", "mode": "lines", "x": ends, "y": ends,
            "line": {"color": "@other", "width": 1, "dash": "dash"}}  # fmt: skip
    layout = layout_of(
        400,
        xaxis=axis(title=axis_title("mean held-out prediction"), nticks=6),
        yaxis=axis(title=axis_title(names["target"]), nticks=7),
    )
    return {"data": [line, points], "layout": layout}
