"""Charts of rows that follow one another: held-out losses along time, or on a map."""

from __future__ import annotations

import numpy as np

from ..display.numbers import number_text
from ..results.placed import Placed
from .charts import MOST_POINTS, Figure, axis, axis_title, label_text, layout_of

__all__ = ["place_chart"]


def place_chart(found: Placed, label: str) -> Figure:
    """Losses where their rows are."""
    return _map(found, label) if found.is_map else _time(found, label)


def _time(found: Placed, label: str) -> Figure:
    """A point a row, at most as many as are quick, and a line a block; one block is shaded with what is dropped."""
    some = np.arange(0, len(found.losses), -(-len(found.losses) // MOST_POINTS))
    points = {
        "type": "scatter",
        "mode": "markers",
        "x": found.places[some],
        "y": found.losses[some],
        "text": [f"step {number_text(found.places[i])}<br>{number_text(found.losses[i])}" for i in some],
        "marker": {"color": "@other", "size": 5, "opacity": 0.5},
    }
    means = [
        {"type": "scatter", "mode": "lines", "x": [first, last], "y": [mean, mean],
         "line": {"color": "@chosen", "width": 3}}
        for first, last, mean in found.means()
    ]  # fmt: skip
    whole, upright = found.spans(), {"type": "line", "yref": "paper", "y0": 0, "y1": 1, "layer": "below"}
    ends = [*zip(whole[0], ("@chosen/0.8",) * 2, strict=True), *zip(whole[1], ("@other",) * 2, strict=True)]
    shapes = [
        {**upright, "x0": at, "x1": at, "line": {"color": colour, "width": 1}}
        for at, colour in (ends if found.buffer > 0 else [])
    ]
    layout = layout_of(
        340,
        xaxis=axis(title=axis_title("steps of time"), nticks=6),
        yaxis=axis(title=axis_title(label), nticks=6),
        shapes=shapes,
    )
    return {"data": [points, *means], "layout": layout}


def _map(found: Placed, label: str) -> Figure:
    """A point a row: the tenth of the largest losses in colour and large, one block and what is dropped as rings."""
    large = found.losses > np.quantile(found.losses, 0.9)
    ring = {"size": 10, "symbol": "circle-open"}
    parts = [
        (~large, {"color": "@other", "size": 5, "opacity": 0.45}),
        (large, {"color": "@chosen", "size": 9, "opacity": 0.8}),
        (found.example, {**ring, "color": "@other", "line": {"color": "@other", "width": 1.5}}),
        (found.beside, {**ring, "color": "@chosen", "line": {"color": "@chosen", "width": 1}}),
    ]  # fmt: skip
    data = []
    for inside, marker in parts:
        rows = np.flatnonzero(inside)
        rows = rows[:: -(-len(rows) // MOST_POINTS) or 1]
        data.append(
            {
                "type": "scatter",
                "mode": "markers",
                "x": found.places[rows, 0],
                "y": found.places[rows, 1],
                "text": [f"{label_text(label)} {number_text(found.losses[i])}" for i in rows],
                "marker": marker,
            }
        )
    layout = layout_of(
        420,
        xaxis=axis(title=axis_title("first coordinate"), nticks=6),
        yaxis=axis(title=axis_title("second coordinate"), nticks=6),
    )
    return {"data": data, "layout": layout}
