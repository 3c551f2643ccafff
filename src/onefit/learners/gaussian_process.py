"""scikit-learn's GaussianProcessRegressor with a kernel that is given: its mean is a fit in the kernel's features."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.pipeline import Pipeline

from ..errors import DataError, RouteError
from ..typing import FloatArray
from ..validation import Problem, numeric_matrix
from ..vocabulary import PREDICTIVE
from .contract import Learner, Path, Task
from .fitrows import FitRows
from .kernel import KernelSmoother
from .transformed import without_trace

__all__ = [
    "GaussianProcessLearner",
    "gaussian_process",
    "is_optimized",
    "std_of_observations",
    "with_fitted_kernel",
]

LEAST_SCALE = 10 * np.finfo(np.float64).eps
"""Standard deviation of y below which scikit-learn does not divide by it."""


class GaussianProcessLearner(FitRows, Learner):
    """A Gaussian process where its standard deviations are asked for, or y is scaled anew in every training set.

    Attributes
    ----------
    smoother : KernelSmoother
        Its mean, at V values of the noise.
    normalizes : bool
        Whether mean and standard deviation of y are taken from each training set.
    """

    responses = frozenset({"predict", PREDICTIVE})
    weights = None

    def __init__(self, smoother: KernelSmoother, normalizes: bool) -> None:
        self.smoother, self.normalizes = smoother, normalizes
        self.fit_intercept = normalizes  # the mean of all rows may be taken from y, as that of each set is

    @property
    def n(self) -> int:
        """Number of rows."""
        return self.smoother.n

    @property
    def n_values(self) -> int:
        """Number of parameter values V."""
        return self.smoother.n_values

    def at(self, values: Sequence[int]) -> Self:
        """The same at some of its values, given by their places."""
        other = copy(self)
        other.smoother = self.smoother.at(values)
        return other

    def check_fits(self, smallest_training_set: int) -> dict[int, str]:
        """Say at which values rounding errors in the kernel matrix would decide the answer; raise if at all."""
        return self.smoother.check_fits(smallest_training_set)

    def targets(self, y: FloatArray) -> FloatArray:
        """What the smoother is fitted to: y, and a constant whose fit says what the mean of a training set becomes."""
        return np.hstack([y, np.ones((len(y), 1))]) if self.normalizes else y


def gaussian_process(estimator: GaussianProcessRegressor, task: Task, path: Path | None) -> Learner:
    """The mean of a Gaussian process, ``k'(K + alpha I)^-1 y``, given its kernel, whose white part belongs to alpha."""
    problem, is_kept = task.problem, is_optimized(estimator) and task.transformers == "freeze"
    _check(estimator, problem, is_kept)
    X = numeric_matrix(problem)
    if is_kept:
        estimator = with_fitted_kernel(estimator, problem)
    kernel = _kernel(estimator)
    with np.errstate(over="ignore", invalid="ignore"):  # said below
        try:
            K, whole = np.asarray(kernel(X, X)), np.diag(kernel(X))
        except Exception as error:
            raise DataError(f"The kernel {kernel} failed: {type(error).__name__}: {error}") from error
    if not np.isfinite(K).all():
        raise DataError(f"The kernel {kernel} gives NaN or infinite values; rescale X.")
    lams, weights = _noise(estimator, whole - np.diag(K), path)
    normalizes = bool(estimator.normalize_y)
    smoother = KernelSmoother(K, lams, problem.y - problem.y.mean(axis=0) if normalizes else problem.y, weights)
    found: Learner = smoother
    if normalizes or PREDICTIVE in task.responses:
        found = GaussianProcessLearner(smoother, normalizes)
    return found.given_transformers() if is_kept else found


def std_of_observations(fitted: Any, std: FloatArray) -> FloatArray:
    """Standard deviations of observations, from those that ``predict(return_std=True)`` of a fitted estimator gives.

    Those of a Gaussian process lack alpha, the noise of the observations, which its training rows have.
    """
    while isinstance(fitted, Pipeline):
        fitted = fitted.steps[-1][1]
    if not isinstance(fitted, GaussianProcessRegressor):
        return std
    noise = np.asarray(fitted.alpha, dtype=np.float64)
    if noise.ndim:
        raise DataError("alpha has a number for each row that was fitted, and none for others; give one number.")
    scale = np.square(fitted._y_train_std) if fitted.normalize_y else 1.0
    whole: FloatArray = np.sqrt(np.square(std) + noise * scale)
    return whole


def _kernel(estimator: GaussianProcessRegressor) -> Any:
    """The kernel that a fit begins with; the default one is scikit-learn's, whatever its version has."""
    if estimator.kernel is not None:
        return estimator.kernel
    return GaussianProcessRegressor(optimizer=None).fit([[0.0]], [0.0]).kernel_


def is_optimized(estimator: GaussianProcessRegressor) -> bool:
    """Whether a fit looks for the best parameters of the kernel."""
    return estimator.optimizer is not None and _kernel(estimator).n_dims > 0


def with_fitted_kernel(estimator: GaussianProcessRegressor, problem: Problem) -> GaussianProcessRegressor:
    """A copy with the kernel that is the best for all rows, which it keeps."""
    model = clone(estimator)
    try:
        with without_trace():
            fitted = model.fit(numeric_matrix(problem), problem.target)
    except Exception as error:
        raise DataError(f"The Gaussian process failed on all rows: {type(error).__name__}: {error}") from error
    return clone(estimator).set_params(kernel=fitted.kernel_, optimizer=None)


def _check(estimator: GaussianProcessRegressor, problem: Problem, is_kept: bool) -> None:
    """Refuse an instance whose mean is not one smoother for all training sets."""
    if problem.classes is not None:
        raise RouteError("GaussianProcessRegressor is not a classifier")
    if sparse.issparse(problem.X):
        raise RouteError("GaussianProcessRegressor takes no sparse X")
    if problem.weights is not None:
        raise RouteError("GaussianProcessRegressor takes no weights")
    if is_optimized(estimator) and not is_kept:
        raise RouteError(
            "the kernel of a Gaussian process is optimized anew in every training set; optimizer=None takes it as it "
            'is, and transformers="freeze" keeps the one that is the best for all rows'
        )
    if estimator.n_targets not in (None, problem.n_outputs):
        raise RouteError("n_targets is another number than that of the outputs")
    if not getattr(estimator.kernel, "requires_vector_input", True):
        raise RouteError("the kernel is one of other things than numbers")


def _noise(estimator: Any, white: FloatArray, path: Path | None) -> tuple[FloatArray, FloatArray | None]:
    """Penalties (V, 1), and weights (n,) if the rows have different ones."""
    if path is not None:
        if np.ptp(white) > 0:
            raise RouteError("rows of a Gaussian process have different noise, and alpha is not all of it")
        return path.penalties() + white[0], None
    noise = np.asarray(estimator.alpha, dtype=np.float64) + white
    if noise.shape != white.shape:
        raise DataError(
            f"alpha has shape {np.shape(estimator.alpha)}; give one number, or one a row of X ({len(white)})."
        )
    if not (noise > 0).all():
        raise RouteError("alpha is zero, so that a Gaussian process interpolates, and rounding errors decide")
    if np.ptp(noise) <= 0:
        return np.full((1, 1), noise[0]), None
    return np.ones((1, 1)), 1.0 / noise
