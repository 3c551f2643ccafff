"""scikit-learn's GaussianProcessRegressor with a kernel that is given: its mean is a fit in the kernel's features."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.gaussian_process import GaussianProcessRegressor

from ..errors import DataError, RouteError
from ..typing import FloatArray
from ..validation import Problem, numeric_matrix
from .contract import Path, Task
from .kernel import KernelSmoother
from .transformed import without_trace

__all__ = ["gaussian_process", "is_optimized", "with_fitted_kernel"]


def gaussian_process(estimator: GaussianProcessRegressor, task: Task, path: Path | None) -> KernelSmoother:
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
    found = KernelSmoother(K, lams, problem.y, weights)
    return found.given_transformers() if is_kept else found


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
    if estimator.normalize_y:
        raise RouteError("normalize_y=True scales y anew in every training set of a Gaussian process")
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
