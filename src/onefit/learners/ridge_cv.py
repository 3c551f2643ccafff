"""scikit-learn's RidgeCV and RidgeClassifierCV, tuned by their own leave-one-out in every training set."""

from __future__ import annotations

import numpy as np
from scipy import sparse
from sklearn.linear_model import RidgeClassifierCV, RidgeCV

from ..checks import check_penalty_value
from ..errors import DataError, RouteError
from .contract import Path, Task
from .decisions import check_ranks
from .encoded_tuned import TunedEncodedLearner
from .encoding import Encoding
from .ridge import class_obstacle, design_of, sparse_obstacle
from .smoother import MOST_DENSE_BYTES
from .sparse import SparseSmoother
from .tuned import TunedLearner, Tuning

__all__ = ["encoded_ridge_cv", "ridge_cv"]


def ridge_cv(estimator: RidgeCV | RidgeClassifierCV, task: Task, path: Path | None) -> TunedLearner:
    """Ridge regression that chooses its alpha by leave-one-out on the rows that it is fitted to."""
    tuning = _tuning(estimator, task)
    assert tuning.grid is not None
    check_ranks(task, tuning.grid, bool(estimator.fit_intercept))
    smoother = design_of(estimator, task.problem, tuning.grid[:, None])
    if isinstance(smoother, SparseSmoother) and not smoother.is_accurate():
        smoother = smoother.dense()
    return TunedLearner(smoother, tuning.criterion, tuning.grid, tuning.per_output)


def _tuning(estimator: RidgeCV | RidgeClassifierCV, task: Task) -> Tuning:
    """How it chooses its alpha; raises RouteError if that is not by its own leave-one-out."""
    name, problem = type(estimator).__name__, task.problem
    reason = sparse_obstacle(problem)
    if estimator.cv is not None or estimator.scoring is not None:
        reason = f"{name} with cv or scoring does not tune by its own leave-one-out"
    elif problem.classes is not None and class_obstacle(estimator, problem):
        reason = class_obstacle(estimator, problem)
    elif sparse.issparse(problem.X) and 8 * problem.n * (problem.X.shape[1] + 1) > MOST_DENSE_BYTES:
        reason = f"X is sparse, and {name} needs all of its rows at once"
    if reason:
        raise RouteError(reason)
    alphas = np.atleast_1d(np.asarray(estimator.alphas, dtype=object))
    if alphas.ndim != 1 or not len(alphas):
        raise DataError(f"alphas has shape {alphas.shape}; give one positive number or a list of them.")
    grid = np.array([check_penalty_value("alphas", alpha) for alpha in alphas])
    if not (grid > 0).all():
        raise DataError("alphas holds a zero; the leave-one-out of RidgeCV needs positive numbers.")
    return Tuning("loo", grid, bool(getattr(estimator, "alpha_per_target", False)))


def encoded_ridge_cv(
    estimator: RidgeCV | RidgeClassifierCV, task: Task, path: Path | None, encoding: Encoding
) -> TunedEncodedLearner:
    """The same on what steps learn."""
    tuning = _tuning(estimator, task)
    assert tuning.grid is not None
    check_ranks(task, tuning.grid, bool(estimator.fit_intercept), encoding)
    return TunedEncodedLearner(encoding, tuning, task.problem.weights, bool(estimator.fit_intercept))
