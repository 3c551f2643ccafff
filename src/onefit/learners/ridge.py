"""scikit-learn's LinearRegression, Ridge and RidgeClassifier as smoothers."""

from __future__ import annotations

import numbers
from typing import TypeAlias

import numpy as np
from scipy import sparse
from sklearn.linear_model import LinearRegression, Ridge, RidgeClassifier, RidgeClassifierCV, RidgeCV

from ..checks import check_penalty_value
from ..errors import DataError, RouteError
from ..typing import ArrayLike, FloatArray
from ..validation import Problem, check_columns, numeric_matrix
from .contract import Path, Task
from .decisions import check_decisions
from .design import DesignSmoother
from .encoded import EncodedLearner
from .encoding import Encoding
from .smoother import Smoother
from .sparse import SparseSmoother

__all__ = [
    "class_obstacle",
    "design_of",
    "encoded_least_squares",
    "encoded_ridge",
    "least_squares",
    "penalties_of",
    "ridge",
    "sparse_obstacle",
]

LinearModel: TypeAlias = LinearRegression | Ridge | RidgeClassifier | RidgeCV | RidgeClassifierCV

MOST_GRAM_BYTES = 2**29

CENTRED = ("cholesky", "saga")
"""Solvers that take a sparse matrix without an intercept only."""


def least_squares(estimator: LinearRegression, task: Task, path: Path | None) -> Smoother:
    """Least squares: a path of no penalty at all."""
    _check_linear(estimator, task.problem)
    return design_of(estimator, task.problem, np.zeros((1, 1)))


def encoded_least_squares(
    estimator: LinearRegression, task: Task, path: Path | None, encoding: Encoding
) -> EncodedLearner:
    """The same on what steps learn."""
    _check_linear(estimator, task.problem)
    return EncodedLearner(encoding, np.zeros((1, 1)), task.problem.weights, bool(estimator.fit_intercept))


def ridge(estimator: Ridge | RidgeClassifier, task: Task, path: Path | None) -> Smoother:
    """Ridge regression, of numbers or of the codes of classes."""
    lams = _penalties(estimator, task, path)
    check_decisions(task, lams, bool(estimator.fit_intercept))
    return design_of(estimator, task.problem, lams)


def encoded_ridge(
    estimator: Ridge | RidgeClassifier, task: Task, path: Path | None, encoding: Encoding
) -> EncodedLearner:
    """The same on what steps learn."""
    lams = _penalties(estimator, task, path)
    if obstacle := _solver_obstacle(estimator, encoding.block.may_be_sparse):
        raise RouteError(obstacle)
    check_decisions(task, lams, bool(estimator.fit_intercept), encoding)
    return EncodedLearner(encoding, lams, task.problem.weights, bool(estimator.fit_intercept))


def _penalties(estimator: Ridge | RidgeClassifier, task: Task, path: Path | None) -> FloatArray:
    _check_linear(estimator, task.problem)
    return penalties_of(estimator.alpha, task.problem.n_outputs) if path is None else path.penalties()


def _check_linear(estimator: LinearRegression | Ridge | RidgeClassifier, problem: Problem) -> None:
    """Refuse an instance that is not the linear smoother that its class is by default."""
    reason = ""
    if getattr(estimator, "positive", False):
        reason = "positive=True makes the fit non-linear in y"
    elif isinstance(estimator, RidgeClassifier):
        reason = class_obstacle(estimator, problem)
        if not reason and not isinstance(estimator.alpha, numbers.Real):
            reason = "alpha is not one number"
    elif problem.classes is not None:
        reason = f"{type(estimator).__name__} is not a classifier"
    if reason := reason or _solver_obstacle(estimator, sparse.issparse(problem.X)) or sparse_obstacle(problem):
        raise RouteError(reason)


def _solver_obstacle(estimator: LinearModel, is_sparse: bool) -> str:
    """What a solver that was chosen by name does not take, of which refits tell; empty if it takes all."""
    solver = getattr(estimator, "solver", "auto")
    if solver == "lbfgs":
        return 'solver="lbfgs" is for positive=True only'
    if is_sparse and (solver == "svd" or (solver in CENTRED and estimator.fit_intercept)):
        return f'solver="{solver}" does not take a sparse matrix; use sparse_output=False, or solver="auto"'
    return ""


def class_obstacle(estimator: RidgeClassifier | RidgeClassifierCV, problem: Problem) -> str:
    """Why a ridge classifier is not one smoother for all training sets; empty if it is."""
    if estimator.class_weight is not None:
        return "class_weight changes the weights with the training set"
    if not estimator.fit_intercept and len(problem.classes) > 2:
        return "without an intercept a class that a training set lacks would still get scores"
    return ""


def sparse_obstacle(problem: Problem) -> str:
    """Why a sparse design is too wide for the gram route; empty if it is not."""
    if sparse.issparse(problem.X) and 8 * problem.X.shape[1] ** 2 > MOST_GRAM_BYTES:
        return (
            f"X is sparse with {problem.X.shape[1]} columns, and the gram route would need a dense matrix between "
            "them; select columns, or project them with TruncatedSVD"
        )
    return ""


def design_of(estimator: LinearModel, problem: Problem, lams: FloatArray) -> Smoother:
    """Ridge regression on the columns of X, sparse or not."""
    fit_intercept = bool(estimator.fit_intercept)
    if sparse.issparse(problem.X):
        X = sparse.csr_matrix(problem.X, dtype=np.float64)
        check_columns(abs(X).max(axis=0).toarray().ravel(), problem.feature_names)
        return SparseSmoother(X, fit_intercept, lams, problem.weights)
    return DesignSmoother(numeric_matrix(problem), None, fit_intercept, lams, problem.weights, is_ridge=True)


def penalties_of(alpha: ArrayLike, n_outputs: int) -> FloatArray:
    """Penalties (1, 1), or (1, Q) if there is one for each output."""
    values = np.atleast_1d(np.asarray(alpha, dtype=object))
    if values.ndim != 1 or len(values) not in (1, n_outputs):
        raise DataError(
            f"alpha has shape {values.shape} and y has {n_outputs} output(s); give one number or one an output."
        )
    return np.array([[check_penalty_value("alpha", value) for value in values]])
