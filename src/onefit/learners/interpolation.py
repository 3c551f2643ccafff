"""What is known, before it is fitted, of a model that may come near to interpolating its training sets."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import (
    GammaRegressor,
    HuberRegressor,
    LinearRegression,
    LogisticRegression,
    PoissonRegressor,
    Ridge,
    RidgeClassifier,
    TweedieRegressor,
)
from sklearn.pipeline import Pipeline

from ..typing import Estimator
from .contract import Task
from .transformed import steps_of, transformed, without_trace

__all__ = ["WEAK", "free_columns", "is_near_interpolation"]

NEAR = 1.3
"""Training rows for a column below which extrapolation from smaller training sets fails, and columns for a row above
which all of them interpolate, so that it does no harm."""

WEAK = 1e-4
"""A penalty that hardly holds a coefficient."""

MOST_CELLS = 2e5
"""Of X, up to which transformers are fitted once more to count the columns that they make."""


def _alpha_is_weak(model: Any) -> bool:
    return isinstance(model.alpha, int | float) and model.alpha <= WEAK


IS_FREE: dict[type, Callable[[Any], bool]] = {
    LinearRegression: lambda model: True,
    LogisticRegression: lambda model: model.penalty is None or math.isinf(model.C),
    LinearDiscriminantAnalysis: lambda model: model.shrinkage is None,
    **dict.fromkeys(
        (Ridge, RidgeClassifier, HuberRegressor, PoissonRegressor, GammaRegressor, TweedieRegressor), _alpha_is_weak
    ),
}
"""Linear models, and when nothing but the rows determines their coefficients."""


def free_columns(estimator: Estimator, task: Task) -> int:
    """How many columns a linear model has that no penalty holds; zero if there is a penalty, or nothing is known."""
    pipeline = estimator if isinstance(estimator, Pipeline) else None
    last = estimator if pipeline is None else pipeline.steps[-1][1]
    if type(last) not in IS_FREE or not IS_FREE[type(last)](last):
        return 0
    X = task.problem.X
    shape = getattr(X, "shape", ())
    if pipeline is not None and len(shape) == 2 and math.prod(shape) <= MOST_CELLS:
        try:
            with without_trace():
                X = transformed(task, steps_of(pipeline)).problem.X
        except Exception:  # whatever it is, the fits will say so
            return 0
    return int(X.shape[1]) if len(getattr(X, "shape", ())) == 2 else 0


def is_near_interpolation(n_rows: int, n_folds: int, n_free: int) -> bool:
    """Whether training sets with two of these folds out have hardly more rows than there are free columns."""
    return (1 - 2 / n_folds) * n_rows < NEAR * n_free and n_free < NEAR * n_rows
