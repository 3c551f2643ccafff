"""Results that are too good to be true: held-out predictions that are y itself, or nearly, and columns that are."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..copies import LEAKED
from ..typing import BoolArray, FloatArray
from ..validation import Problem

__all__ = ["LEAKED", "SUSPECT", "copied", "copied_classes", "leaks", "unexplained"]

SUSPECT = 1e-2
"""The same from which on columns are held to y one by one: a leak that a penalty shrinks, or that trees cut into steps.
"""

SUSPECT_CLASSES = 0.1
"""The same of the codes of classes, where a column is y or is not; a penalty may leave more of it."""

LEAVE_OUT = "Leave it out, unless it is known before y is: these figures say how well y is predicted from itself."

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


def copied(problem: Problem, suspect: BoolArray) -> Iterator[tuple[str, str, BoolArray]]:
    """Of columns that are y under another name: what was seen, what to do, and of which outputs (Q,)."""
    names, found = problem.feature_names, np.where(suspect, problem.copies, -1)
    for column in np.unique(found[found >= 0]).tolist():
        name = column if names is None else repr(names[column])
        message = f"Column {name} is y in other units: each is a straight line in the other, to five digits."
        yield message, LEAVE_OUT, found == column


def copied_classes(problem: Problem | None, parts: FloatArray) -> Iterator[tuple[str, str]]:
    """Of a column that is the class in other words, where predictions leave little (Q,): what was seen, what to do."""
    if problem is None or not np.nanmax(parts, initial=0.0) < SUSPECT_CLASSES:
        return
    if (column := problem.class_copy) >= 0:
        name = column if problem.feature_names is None else repr(problem.feature_names[column])
        message = f"Column {name} is y in other words: each of its values is one class, and each class one of them."
        yield message, LEAVE_OUT
