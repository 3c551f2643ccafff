"""Directions that scikit-learn's least squares drops, where the fast routes use all that the columns have."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import linalg, sparse
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import Pipeline

from ..typing import Estimator, FloatArray
from .contract import Task
from .transformed import steps_of, transformed, without_trace

__all__ = ["has_cut_off", "told_of_cut"]

MOST_ROWS = 20_000
"""Rows that are looked at, evenly over all; a condition number is known well enough from so many."""

MOST_CELLS = 2e5
"""Of X, up to which the steps of a pipeline are fitted once more to see what they make of all rows."""

SURE = 1e-10
"""Least singular value of columns of length one that is no rounding error of columns that depend on each other."""


def has_cut_off(estimator: Estimator) -> bool:
    """Whether it is a least-squares fit that drops directions, perhaps behind steps."""
    last: Any = _last_of(estimator)
    return type(last) is LinearRegression and hasattr(last, "tol") and not last.positive


def _last_of(estimator: Estimator) -> Any:
    return estimator.steps[-1][1] if isinstance(estimator, Pipeline) else estimator


def told_of_cut(estimator: Estimator, task: Task) -> tuple[str, str]:
    """What scikit-learn's cut-off does to a least-squares fit on all rows, and what to do; both empty if nothing.

    `LinearRegression` gives its ``tol`` (scikit-learn 1.7 and later) to `scipy.linalg.lstsq`, which drops the
    directions whose singular value is not above ``tol`` times the largest: nearly collinear columns, but columns of
    very different units as well.
    """
    last, X = _last_of(estimator), _columns(estimator, task)
    if X is None:
        return "", ""
    kept, there = _directions(*_taken(X, task.problem.weights), bool(last.fit_intercept), float(last.tol))
    if kept >= there:
        return "", ""
    message = (
        f"scikit-learn's LinearRegression drops directions whose singular value is below tol={last.tol:g} of the "
        f"largest, {there - kept} of {there} on all rows; what is shown here is of the fit in all directions, and "
        "refits differ from it."
    )
    remedy = (
        "Bring the columns to one scale (StandardScaler), or give a smaller tol to fit what was measured; "
        'route="refit" shows the error with the cut-off.'
    )
    return message, remedy


def _columns(estimator: Estimator, task: Task) -> Any:
    """What the last step is fitted to on all rows; None if that is sparse, not numbers, or takes long to find out."""
    X = task.problem.X
    if isinstance(estimator, Pipeline) and steps_of(estimator):
        if math.prod(getattr(X, "shape", (math.inf,))) > MOST_CELLS:
            return None
        try:
            with without_trace():
                X = transformed(task, steps_of(estimator)).problem.X
        except Exception:  # whatever it is, it is nothing that the figures depend on
            return None
    return None if sparse.issparse(X) else X


def _taken(X: Any, weights: FloatArray | None) -> tuple[FloatArray, FloatArray | None]:
    """Some rows, and their weights."""
    some = slice(None, None, math.ceil(len(X) / MOST_ROWS))
    rows = X.iloc[some] if hasattr(X, "iloc") else X[some]
    return np.asarray(rows, dtype=np.float64), None if weights is None else weights[some]


def _directions(X: FloatArray, weights: FloatArray | None, is_centred: bool, tol: float) -> tuple[int, int]:
    """How many directions scikit-learn keeps, and how many there are that are no rounding errors."""
    root = np.ones(len(X)) if weights is None else np.sqrt(weights / weights.max())
    size = np.linalg.norm(root[:, None] * X, axis=0)
    if is_centred:
        X = X - np.square(root) @ X / np.square(root).sum()
    R: FloatArray = np.asarray(np.linalg.qr(root[:, None] * X, mode="r"))
    length = np.linalg.norm(R, axis=0)
    varies = length > SURE * size
    if not varies.any() or not np.isfinite(R).all():
        return 0, 0
    values = linalg.svdvals(R)
    alike = linalg.svdvals(R[:, varies] / length[varies])
    return int((values > tol * values[0]).sum()), int((alike > SURE).sum())
