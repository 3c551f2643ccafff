"""Results that are too good to be true: held-out predictions that are y itself, or nearly."""

from __future__ import annotations

import numpy as np

from ..typing import BoolArray, FloatArray

__all__ = ["LEAKED", "leaks", "unexplained"]

LEAKED = 1e-10
"""Of the variance of y, which noise of a hundred-thousandth of its spread leaves.

Hardly anything is measured so finely, and whoever is told without need has made y of the columns, and knows it. A leak
that a penalty shrinks, or that trees cut into steps, leaves more and is not told.
"""


ENTRIES = 2**20
"""Of y, which are held in memory once more at a time."""


def unexplained(y: FloatArray, predictions: FloatArray, weights: FloatArray | None) -> FloatArray:
    """The part of the variance of y (n, Q) that held-out predictions leave, (Q,); NaN if y is constant.

    Rows that were never held out, whose predictions are missing, do not count.
    """
    n, n_outputs = y.shape
    step = max(1, ENTRIES // n)
    blocks = [slice(first, first + step) for first in range(0, n_outputs, step)]
    return np.concatenate([_unexplained(y[:, each], predictions[:, each], weights) for each in blocks])


def _unexplained(y: FloatArray, predictions: FloatArray, weights: FloatArray | None) -> FloatArray:
    """The same of so many outputs as are held in memory once more."""
    w = np.isfinite(predictions) * (1.0 if weights is None else weights[:, None])
    counts = w > 0
    low, high = np.where(counts, y, np.inf).min(axis=0), np.where(counts, y, -np.inf).max(axis=0)
    is_known = low < high
    scale = np.where(is_known, np.maximum(np.abs(low), np.abs(high)), 1.0)  # squares neither overflow nor vanish
    with np.errstate(over="ignore"):  # of predictions far from any y, which leave infinitely much
        left = np.einsum("nq,nq->q", w, (np.where(counts, y - predictions, 0.0) / scale) ** 2)
    observed = np.where(counts, y, 0.0) / scale
    observed -= np.einsum("nq,nq->q", w, observed) / np.where(is_known, w.sum(axis=0), 1.0)
    spread = np.einsum("nq,nq,nq->q", w, observed, observed)
    parts: FloatArray = np.where(is_known, left / np.where(is_known, spread, 1.0), np.nan)
    return parts


def leaks(parts: FloatArray) -> BoolArray:
    """Outputs (Q,) of which so little is left."""
    found: BoolArray = parts < LEAKED
    return found
