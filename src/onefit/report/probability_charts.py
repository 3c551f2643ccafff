"""Charts of held-out probabilities of two classes."""

from __future__ import annotations

import numpy as np

from ..display.numbers import percent
from ..metrics.reliability import Reliability, RocBand
from ..typing import FloatArray
from .charts import Figure, axis, axis_title, band, layout_of, shortened

__all__ = ["calibration_chart", "roc_chart"]

HEIGHT = 400
LONGEST_CLASS = 22  # characters of the name of a class in the title of an axis
RANGE = [-0.02, 1.02]


def calibration_chart(bins: Reliability, line: tuple[FloatArray, FloatArray] | None, label: str) -> Figure:
    """Observed shares by bins of probability with their bars, and the recalibration line."""
    texts = [
        f"probability {percent(p)}<br>{percent(s)} of {int(m):,} rows ({percent(a)} to {percent(b)})"
        for p, s, a, b, m in zip(*bins, strict=True)
    ]
    points: Figure = {
        "type": "scatter",
        "mode": "markers",
        "x": bins.probability,
        "y": bins.share,
        "text": texts,
        "marker": {"color": "@chosen", "size": 9},
        "error_y": {
            "type": "data",
            "array": bins.high - bins.share,
            "arrayminus": bins.share - bins.low,
            "color": "@chosen",
            "thickness": 2,
            "width": 0,
        },
    }
    data = [_diagonal(), points]
    if line is not None:
        look = {"color": "@chosen/0.75", "width": 2}
        data.append({"type": "scatter", "mode": "lines", "x": line[0], "y": line[1], "line": look})
    name = shortened(label, LONGEST_CLASS)
    return {"data": data, "layout": _layout(f"held-out probability of {name}", f"observed share of {name}")}


def roc_chart(roc: RocBand, label: str) -> Figure:
    """The ROC curve with its band."""
    x = list(roc.false_positive)
    curve: Figure = {
        "type": "scatter",
        "mode": "lines",
        "x": x,
        "y": roc.true_positive,
        "text": [
            f"{percent(t)} found ({percent(a)} to {percent(b)}),<br>{percent(f)} false alarms"
            for f, t, a, b in zip(*roc, strict=True)
        ],
        "line": {"color": "@chosen", "width": 2.4},
    }
    name = shortened(label, LONGEST_CLASS)
    data = [*band(x, roc.low, roc.high), _diagonal(), curve]
    return {"data": data, "layout": _layout(f"share of others called {name}", f"share of {name} found")}


def _diagonal() -> Figure:
    ends = np.array([0.0, 1.0])
    look = {"color": "@other", "width": 1, "dash": "dash"}
    return {"type": "scatter", "mode": "lines", "x": ends, "y": ends, "line": look}


def _layout(x: str, y: str) -> Figure:
    ticks: Figure = {"range": RANGE, "nticks": 6}
    return layout_of(HEIGHT, xaxis=axis(title=axis_title(x), **ticks), yaxis=axis(title=axis_title(y), **ticks))
