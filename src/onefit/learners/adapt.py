"""Estimator -> learner: one table of scikit-learn classes; our own models say it themselves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer, PolynomialFeatures
from sklearn.utils import get_tags

from ..errors import DataError, RouteError
from ..typing import FloatArray
from ..validation import Problem, check_penalty_value, numeric_matrix
from .smoother import DesignSmoother, KernelSmoother, Smoother

__all__ = ["Adapted", "adapt"]

EXACT = "exact"
FROZEN = "given the transformers"


@dataclass(frozen=True)
class Adapted:
    """How an estimator can be computed: by a smoother, or, with the reason why not, by refits only."""

    smoother: Smoother | None
    exactness: str = EXACT
    reason: str = ""


def adapt(estimator: Any, problem: Problem, transformers: str) -> Adapted:
    """Find the smoother of an estimator; never guesses: a subclass is not the class it derives from."""
    if type(estimator) is Pipeline:
        return _adapt_pipeline(estimator, problem, transformers)
    own = getattr(estimator, "_onefit_smoother", None)
    if own is not None:
        return Adapted(own(numeric_matrix(problem), problem.n_outputs))
    make = SMOOTHERS.get(type(estimator))
    if make is None:
        return Adapted(None, reason=f"{type(estimator).__name__} has no exact fast route")
    if getattr(estimator, "positive", False):
        return Adapted(None, reason="positive=True makes the fit non-linear in y")
    try:
        return Adapted(make(estimator, problem))
    except RouteError as error:
        return Adapted(None, reason=str(error))


def _adapt_pipeline(pipeline: Pipeline, problem: Problem, transformers: str) -> Adapted:
    """Transform X once if that is exact (stateless steps) or asked for (freeze); else only refits are honest."""
    steps = [step for _, step in pipeline.steps[:-1] if step is not None and step != "passthrough"]
    stateful = [type(step).__name__ for step in steps if not _is_stateless(step)]
    if stateful and transformers != "freeze":
        return Adapted(
            None,
            reason=f"{', '.join(stateful)} must be fitted anew in every training set; "
            'transformers="freeze" fits once on all rows and takes a fast route',
        )
    last = pipeline.steps[-1][1]
    if getattr(last, "_onefit_smoother", None) is None and type(last) not in SMOOTHERS:
        return Adapted(None, reason=f"{type(last).__name__} has no exact fast route")
    X = problem.X
    if len(pipeline.steps) > 1:
        X = clone(pipeline[:-1]).fit_transform(X, problem.target)
    inner = adapt(last, Problem(X, problem.y, problem.output_names, None), transformers)
    return Adapted(inner.smoother, FROZEN if stateful else inner.exactness, inner.reason)


def _is_stateless(step: Any) -> bool:
    """Whether fitting on other rows would transform in the same way."""
    if type(step) is FunctionTransformer:
        # its function sees all rows of a set at once and may centre them; only an elementwise one cannot
        return step.func is None or isinstance(step.func, np.ufunc)
    return type(step) is PolynomialFeatures or not get_tags(step).requires_fit


def _linear(estimator: LinearRegression, problem: Problem) -> Smoother:
    return DesignSmoother(numeric_matrix(problem), None, bool(estimator.fit_intercept), np.zeros((1, 1)))


def _ridge(estimator: Ridge, problem: Problem) -> Smoother:
    lams = _penalties(estimator.alpha, problem.n_outputs)
    return DesignSmoother(numeric_matrix(problem), None, bool(estimator.fit_intercept), lams)


def _kernel_ridge(estimator: KernelRidge, problem: Problem) -> Smoother:
    lams = _penalties(estimator.alpha, problem.n_outputs)
    X = numeric_matrix(problem)
    if estimator.kernel == "precomputed":
        return KernelSmoother(X, lams)
    if callable(estimator.kernel):
        parameters = estimator.kernel_params or {}
    else:
        parameters = {"gamma": estimator.gamma, "degree": estimator.degree, "coef0": estimator.coef0}
    K = pairwise_kernels(X, metric=estimator.kernel, filter_params=True, **parameters)
    return KernelSmoother(K, lams)


def _penalties(alpha: Any, n_outputs: int) -> FloatArray:
    """Penalties (1, 1), or (1, Q) if there is one for each output."""
    values = np.atleast_1d(np.asarray(alpha, dtype=object))
    if values.ndim != 1 or len(values) not in (1, n_outputs):
        raise DataError(
            f"alpha has shape {values.shape} and y has {n_outputs} output(s); give one number or one an output."
        )
    return np.array([[check_penalty_value("alpha", value) for value in values]])


SMOOTHERS: dict[type, Callable[[Any, Problem], Smoother]] = {
    LinearRegression: _linear,
    Ridge: _ridge,
    KernelRidge: _kernel_ridge,
}
