"""Estimator -> learner: one table of scikit-learn classes; our own models say it themselves."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LinearRegression, Ridge, RidgeClassifier, RidgeClassifierCV, RidgeCV
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer, PolynomialFeatures, StandardScaler
from sklearn.utils import get_tags

from ..errors import DataError, RouteError
from ..linalg.columns import middle
from ..typing import FloatArray
from ..validation import Problem, check_columns, check_penalty_value, numeric_matrix
from .gram import GramLearner
from .scaled import ScaledLearner
from .smoother import DesignSmoother, KernelSmoother, Smoother, SparseSmoother
from .tuned import TunedLearner

__all__ = ["Adapted", "adapt", "freeze"]

MOST_GRAM_BYTES = 2**29
MOST_ROW_BYTES = 2**28
EXACT = "exact"
FROZEN = "given the transformers"


@dataclass(frozen=True)
class Adapted:
    """How an estimator can be computed: by a smoother, by a learner that tunes itself, or, with a reason, by refits."""

    smoother: Smoother | None
    exactness: str = EXACT
    reason: str = ""
    tuned: TunedLearner | GramLearner | None = None


Path = tuple[str, Sequence[Any]]
"""A parameter's name and the values that it takes on."""


def adapt(estimator: Any, problem: Problem, transformers: str, path: Path | None = None) -> Adapted:
    """Find the smoother of an estimator, or of its path; never guesses: a subclass is not the class it derives from."""
    if type(estimator) is Pipeline:
        return _adapt_pipeline(estimator, problem, transformers, path)
    lams = None
    if path is not None:
        if path[0] != PENALTIES.get(type(estimator), getattr(type(estimator), "_onefit_penalty", None)):
            return Adapted(None, reason=f"the parameter {path[0]} is not a penalty, so the model is refitted")
        if any(isinstance(value, str) for value in path[1]):
            raise DataError(
                f"{path[0]} is to be {', '.join(map(repr, path[1]))}, and names make no curve of penalties; give "
                "numbers, or set models with different criteria against each other by compare({...})."
            )
        lams = np.array([[check_penalty_value(path[0], value)] for value in path[1]])
    if _says_itself(estimator):
        if sparse.issparse(problem.X):
            return Adapted(None, reason=f"{type(estimator).__name__} takes no sparse X; pass X.toarray()")
        try:
            return _adapt_ours(estimator, problem, lams)
        except RouteError as error:
            return Adapted(None, reason=str(error))
    if type(estimator) in TUNED:
        try:
            return _adapt_tuned(estimator, problem)
        except RouteError as error:
            return Adapted(None, reason=str(error))
    make = SMOOTHERS.get(type(estimator))
    if make is None:
        return Adapted(None, reason=f"{type(estimator).__name__} has no exact fast route")
    reason = _not_linear(estimator, problem)
    if reason:
        return Adapted(None, reason=reason)
    _check_parameters(estimator)
    try:
        return Adapted(make(estimator, problem, lams))
    except RouteError as error:
        return Adapted(None, reason=str(error))


def _adapt_pipeline(pipeline: Pipeline, problem: Problem, transformers: str, path: Path | None) -> Adapted:
    """Transform X once if that is exact (stateless steps) or asked for (freeze); else only refits are honest."""
    stateful = [type(step).__name__ for step in _steps(pipeline) if not _is_stateless(step)]
    name, last = pipeline.steps[-1]
    scales = transformers != "freeze" and _only_scales(pipeline, problem)
    if stateful and transformers != "freeze" and not scales:
        return Adapted(
            None,
            reason=f"{', '.join(stateful)} must be fitted anew in every training set; "
            'transformers="freeze" fits once on all rows and takes a fast route',
        )
    if path is not None:
        if not path[0].startswith(f"{name}__"):
            return Adapted(None, reason=f"the parameter {path[0]} is not the last step's, so the model is refitted")
        path = path[0].removeprefix(f"{name}__"), path[1]
    if not _says_itself(last) and type(last) not in SMOOTHERS and type(last) not in TUNED:
        return Adapted(None, reason=f"{type(last).__name__} has no exact fast route")
    before = _transformed(problem, _steps(pipeline)[: -1 if scales else None])
    if not scales:
        inner = adapt(last, before, transformers, path)
        return replace(inner, exactness=FROZEN if stateful else inner.exactness)
    return _adapt_scaled(_steps(pipeline)[-1], last, before, transformers, path)


def _transformed(problem: Problem, steps: Sequence[Any]) -> Problem:
    """The problem with X transformed by some steps, fitted on all rows."""
    X = problem.X
    for step in steps:
        try:
            X = clone(step).fit_transform(X, problem.target)
        except Exception as error:
            raise DataError(
                f"The pipeline's transformers failed on all rows: {type(error).__name__}: {error}"
            ) from error
    return replace(problem, X=X, feature_names=None) if len(steps) else problem


def _only_scales(pipeline: Pipeline, problem: Problem) -> bool:
    """Whether all that the pipeline learns before a ridge regression is the mean and deviation of the columns."""
    steps, last = _steps(pipeline), pipeline.steps[-1][1]
    ridge = last._onefit_is_ridge if _says_itself(last) else type(last) in RIDGE
    return (
        bool(steps)
        and type(steps[-1]) is StandardScaler
        and all(_is_stateless(step) for step in steps[:-1])
        and ridge
        and bool(last.fit_intercept)
        and problem.weights is None  # those of a pipeline go to its last step, and the scaler knows nothing of them
        and not sparse.issparse(problem.X)
    )


def _adapt_scaled(scaler: StandardScaler, last: Any, problem: Problem, transformers: str, path: Path | None) -> Adapted:
    """A ridge regression whose columns are scaled anew in every training set."""
    if not scaler.with_std or type(last) is LinearRegression:
        return adapt(last, problem, transformers, path)  # the intercept absorbs the means, least squares the scales
    X = numeric_matrix(problem)
    inner = adapt(last, _transformed(problem, [scaler]), transformers, path)
    learner = inner.tuned if inner.smoother is None else inner.smoother
    if learner is None:
        return inner
    assert not isinstance(learner, GramLearner)
    return Adapted(None, tuned=ScaledLearner(learner, X))


def _says_itself(estimator: Any) -> bool:
    """Whether its own class, not one that it derives from or wraps, knows its smoother."""
    return "_onefit_design" in vars(type(estimator))


def _adapt_ours(estimator: Any, problem: Problem, lams: FloatArray | None) -> Adapted:
    """One of our own models, with its knots or components as all rows have them."""
    if obstacle := estimator._onefit_obstacle():
        return Adapted(None, reason=obstacle)
    X = _data(estimator, problem)
    frozen = estimator._onefit_freeze(X, problem.weights)
    exactness = EXACT if frozen is estimator else FROZEN
    tuned: TunedLearner | GramLearner | None = frozen._onefit_gram(X, problem.weights, lams)
    if tuned is None and lams is None:
        tuned = frozen._onefit_tuned(X, problem.weights)
    if tuned is not None:
        return Adapted(None, exactness, tuned=tuned)
    return Adapted(frozen._onefit_smoother(X, problem.weights, lams), exactness)


def _data(estimator: Any, problem: Problem) -> Any:
    """X as one of our own models takes it."""
    return problem.X if estimator._onefit_takes_frames else numeric_matrix(problem)


def freeze(estimator: Any, problem: Problem) -> tuple[Any, str]:
    """An estimator as the refit route takes it, and its exactness: our own models keep the knots of all rows.

    All routes give the same numbers, so what the fast ones take as given must be given here, too. In a pipeline with a
    transformer that is fitted anew in every training set, so are the knots.
    """
    if type(estimator) is Pipeline:
        if not _says_itself(estimator.steps[-1][1]) or any(not _is_stateless(step) for step in _steps(estimator)):
            return estimator, EXACT
        X = clone(estimator[:-1]).fit_transform(problem.X) if len(estimator.steps) > 1 else problem.X
        last, exactness = freeze(estimator.steps[-1][1], replace(problem, X=X, feature_names=None))
        return Pipeline([*estimator.steps[:-1], (estimator.steps[-1][0], last)]), exactness
    if not _says_itself(estimator) or sparse.issparse(problem.X):
        return estimator, EXACT
    frozen = estimator._onefit_freeze(_data(estimator, problem), problem.weights)
    return frozen, EXACT if frozen is estimator else FROZEN


def _steps(pipeline: Pipeline) -> list[Any]:
    """Transformers of a pipeline that do something."""
    return [step for _, step in pipeline.steps[:-1] if step is not None and step != "passthrough"]


def _adapt_tuned(estimator: Any, problem: Problem) -> Adapted:
    """Ridge regression that chooses its alpha by leave-one-out on the rows that it is fitted to."""
    name = type(estimator).__name__
    reason = _sparse_problem(problem)
    if estimator.cv is not None or estimator.scoring is not None:
        reason = f"{name} with cv or scoring does not tune by its own leave-one-out"
    elif problem.classes is not None and _class_problem(estimator, problem):
        reason = _class_problem(estimator, problem)
    elif sparse.issparse(problem.X) and 8 * problem.n * (problem.X.shape[1] + 1) > MOST_ROW_BYTES:
        reason = f"X is sparse, and {name} needs all of its rows at once"
    if reason:
        return Adapted(None, reason=reason)
    _check_parameters(estimator)
    alphas = np.atleast_1d(np.asarray(estimator.alphas, dtype=object))
    if alphas.ndim != 1 or not len(alphas):
        raise DataError(f"alphas has shape {alphas.shape}; give one positive number or a list of them.")
    grid = np.array([check_penalty_value("alphas", alpha) for alpha in alphas])
    if not (grid > 0).all():
        raise DataError("alphas holds a zero; the leave-one-out of RidgeCV needs positive numbers.")
    per_output = bool(getattr(estimator, "alpha_per_target", False))
    return Adapted(None, tuned=TunedLearner(_design(estimator, problem, grid[:, None]), "loo", grid, per_output))


def _is_stateless(step: Any) -> bool:
    """Whether fitting on other rows would transform in the same way."""
    if type(step) is FunctionTransformer:
        # its function sees all rows of a set at once and may centre them; only an elementwise one cannot
        return step.func is None or isinstance(step.func, np.ufunc)
    try:
        return type(step) is PolynomialFeatures or not get_tags(step).requires_fit
    except (AttributeError, TypeError):
        return False


def _check_parameters(estimator: Any) -> None:
    """The checks that the estimator's own fit would make."""
    try:
        estimator._validate_params()
    except AttributeError:
        return  # a private method: without it, only our own checks
    except ValueError as error:
        raise DataError(str(error)) from error


def _not_linear(estimator: Any, problem: Problem) -> str:
    """Why this instance is not the linear smoother that its class is by default; empty if it is."""
    if getattr(estimator, "positive", False):
        return "positive=True makes the fit non-linear in y"
    if isinstance(estimator, RidgeClassifier):
        if _class_problem(estimator, problem):
            return _class_problem(estimator, problem)
        if not isinstance(estimator.alpha, numbers.Real):
            return "alpha is not one number"
    elif problem.classes is not None:
        return f"{type(estimator).__name__} is not a classifier"
    if sparse.issparse(problem.X) and isinstance(estimator, KernelRidge):
        return "the kernel of a sparse X is dense; pass X.toarray()"
    return _sparse_problem(problem)


def _class_problem(estimator: Any, problem: Problem) -> str:
    """Why a ridge classifier is not one smoother for all training sets; empty if it is."""
    if estimator.class_weight is not None:
        return "class_weight changes the weights with the training set"
    if not estimator.fit_intercept and len(problem.classes) > 2:
        return "without an intercept a class that a training set lacks would still get scores"
    return ""


def _sparse_problem(problem: Problem) -> str:
    """Why a sparse design is too wide for the gram route; empty if it is not."""
    if sparse.issparse(problem.X) and 8 * problem.X.shape[1] ** 2 > MOST_GRAM_BYTES:
        return (
            f"X is sparse with {problem.X.shape[1]} columns, and the gram route would need a dense matrix between "
            "them; select columns, or project them with TruncatedSVD"
        )
    return ""


def _design(estimator: Any, problem: Problem, lams: FloatArray) -> Smoother:
    fit_intercept = bool(estimator.fit_intercept)
    if sparse.issparse(problem.X):
        X = sparse.csr_matrix(problem.X, dtype=np.float64)
        check_columns(abs(X).max(axis=0).toarray().ravel(), problem.feature_names)
        smoother = SparseSmoother(X, fit_intercept, lams, problem.weights)
        if smoother.is_accurate():
            return smoother
        if 8 * problem.n * (X.shape[1] + 1) > MOST_ROW_BYTES:
            raise RouteError(
                "the columns of the sparse X are so nearly dependent, or of such different scales, that its Gram "
                "matrix cannot tell, and X is too large to be made dense; use a larger penalty, or scale the columns"
            )
        return DesignSmoother(X.toarray(), None, fit_intercept, lams, problem.weights)
    return DesignSmoother(numeric_matrix(problem), None, fit_intercept, lams, problem.weights)


def _linear(estimator: LinearRegression, problem: Problem, lams: FloatArray | None) -> Smoother:
    return _design(estimator, problem, np.zeros((1, 1)))


def _ridge(estimator: Ridge, problem: Problem, lams: FloatArray | None) -> Smoother:
    return _design(estimator, problem, _penalties(estimator.alpha, problem.n_outputs) if lams is None else lams)


def _kernel_ridge(estimator: KernelRidge, problem: Problem, lams: FloatArray | None) -> Smoother:
    lams = _penalties(estimator.alpha, problem.n_outputs) if lams is None else lams
    X = numeric_matrix(problem)
    if estimator.kernel == "precomputed":
        return KernelSmoother(X, lams, problem.y, problem.weights)
    if callable(estimator.kernel):
        parameters = estimator.kernel_params or {}
    else:
        parameters = {"gamma": estimator.gamma, "degree": estimator.degree, "coef0": estimator.coef0}
    if estimator.kernel in ("rbf", "laplacian"):  # of differences: what all rows share would cost them digits
        X = X - middle(X)
    try:
        with np.errstate(over="ignore", invalid="ignore"):  # said below
            K = pairwise_kernels(X, metric=estimator.kernel, filter_params=True, **parameters)
            if estimator.kernel == "rbf":  # scikit-learn takes products apart, which lose what some rows share
                gamma = 1.0 / X.shape[1] if estimator.gamma is None else estimator.gamma
                K = np.exp(-gamma * cdist(X, X, "sqeuclidean"))
    except Exception as error:
        raise DataError(f"The kernel {estimator.kernel!r} failed: {type(error).__name__}: {error}") from error
    if not np.isfinite(K).all():
        raise DataError(f"The kernel {estimator.kernel!r} gives NaN or infinite values; rescale X.")
    return KernelSmoother(K, lams, problem.y, problem.weights)


def _penalties(alpha: Any, n_outputs: int) -> FloatArray:
    """Penalties (1, 1), or (1, Q) if there is one for each output."""
    values = np.atleast_1d(np.asarray(alpha, dtype=object))
    if values.ndim != 1 or len(values) not in (1, n_outputs):
        raise DataError(
            f"alpha has shape {values.shape} and y has {n_outputs} output(s); give one number or one an output."
        )
    return np.array([[check_penalty_value("alpha", value) for value in values]])


TUNED = (RidgeCV, RidgeClassifierCV)
RIDGE = (LinearRegression, Ridge, RidgeClassifier, *TUNED)
PENALTIES = {Ridge: "alpha", RidgeClassifier: "alpha", KernelRidge: "alpha"}
SMOOTHERS: dict[type, Callable[[Any, Problem, FloatArray | None], Smoother]] = {
    LinearRegression: _linear,
    Ridge: _ridge,
    RidgeClassifier: _ridge,
    KernelRidge: _kernel_ridge,
}
