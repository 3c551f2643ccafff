"""Results that are too good to be true: held-out predictions that are y itself, but for rounding errors."""

from __future__ import annotations

import numpy as np

from ..typing import BoolArray, FloatArray

__all__ = ["LEAKED", "leaks", "unexplained"]

LEAKED = 1e-10
"""Of the variance of y, which noise of a hundred-thousandth of its spread leaves.

Hardly anything is measured so finely, and whoever is told without need has made y of the columns, and knows it. A leak
that a penalty shrinks, or that trees cut into steps, leaves more and is not told.
"""


def unexplained(y: FloatArray, predictions: FloatArray, weights: FloatArray | None) -> FloatArray:
    """The part of the variance of y (n, Q) that held-out predictions leave, (Q,); NaN if y is constant.

    Rows that were never held out, whose predictions are missing, do not count.
    """
    parts = []
    for own, predicted in zip(y.T, predictions.T, strict=True):
        kept = np.isfinite(predicted) & (True if weights is None else weights > 0)
        each = None if weights is None else weights[kept]
        if not kept.any() or np.ptp(own[kept]) == 0:
            parts.append(np.nan)
            continue
        scale = np.abs(own[kept]).max()  # squares neither overflow nor vanish
        observed, error = own[kept] / scale, (own[kept] - predicted[kept]) / scale
        spread = np.average((observed - np.average(observed, weights=each)) ** 2, weights=each)
        parts.append(float(np.average(error**2, weights=each) / spread))
    return np.array(parts)


def leaks(parts: FloatArray) -> BoolArray:
    """Outputs (Q,) of which nothing is left but rounding errors."""
    found: BoolArray = parts < LEAKED
    return found
