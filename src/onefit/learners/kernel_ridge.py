"""scikit-learn's KernelRidge as a smoother."""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import pairwise_kernels

from ..errors import DataError, RouteError
from ..linalg.columns import EPS, middle
from ..typing import FloatArray
from ..validation import numeric_matrix
from .contract import Path, Task
from .design import DesignSmoother
from .encoded import EncodedLearner
from .encoding import Encoding
from .kernel import KernelSmoother, too_small
from .ridge import penalties_of
from .smoother import Smoother

__all__ = ["encoded_kernel_ridge", "kernel_ridge"]

SMALL = 1e-9
"""Rounding errors of all products of a row, beside a penalty that keeps them from being seen."""


def encoded_kernel_ridge(estimator: KernelRidge, task: Task, path: Path | None, encoding: Encoding) -> EncodedLearner:
    """The same on what steps learn, where the kernel is that of ridge regression without an intercept."""
    if estimator.kernel != "linear":
        raise RouteError(f"the kernel {estimator.kernel!r} is not linear in what the steps make")
    lams = _penalties(estimator, task, path)
    if not lams.all():
        raise RouteError("without a penalty the kernel matrix is singular")
    return EncodedLearner(encoding, lams, task.problem.weights, fit_intercept=False)


def _penalties(estimator: KernelRidge, task: Task, path: Path | None) -> FloatArray:
    if task.problem.classes is not None:
        raise RouteError("KernelRidge is not a classifier")
    return penalties_of(estimator.alpha, task.problem.n_outputs) if path is None else path.penalties()


class LinearKernel(DesignSmoother):
    """A linear kernel: ridge regression on the columns, which have digits that products between rows have not."""

    remedy = KernelSmoother.remedy

    def __init__(self, X: FloatArray, lams: FloatArray, weights: FloatArray | None) -> None:
        if not (lams > 0).all(axis=1).any():
            raise RouteError(too_small(0.0))  # for the refit route
        super().__init__(X, None, False, lams, weights, is_ridge=True)

    def check_fits(self, smallest_training_set: int) -> dict[int, str]:
        """Say which values are no penalty: of more rows than columns the kernel matrix is then singular."""
        return {int(value): f"{too_small(0.0)}." for value in np.flatnonzero((self.lams <= 0).any(axis=1))}


def kernel_ridge(estimator: KernelRidge, task: Task, path: Path | None) -> Smoother:
    """Ridge regression in the feature space of a kernel; that of a linear one are the columns, if they are fewer."""
    problem = task.problem
    if sparse.issparse(problem.X):
        raise RouteError("the kernel of a sparse X is dense; pass X.toarray()")
    lams = _penalties(estimator, task, path)
    X = numeric_matrix(problem)
    if estimator.kernel == "linear" and not _products_serve(X, lams, problem.weights):
        return LinearKernel(X, lams, problem.weights)
    K = X if estimator.kernel == "precomputed" else _kernel_matrix(estimator, X)
    return KernelSmoother(K, lams, problem.y, problem.weights)


def _products_serve(X: FloatArray, lams: FloatArray, weights: FloatArray | None) -> bool:
    """Whether products between rows are smaller than the columns, and their rounding errors nothing to the penalty."""
    n, p = X.shape
    if p <= n or (weights is not None and not (weights > 0).all()):
        return False
    with np.errstate(over="ignore"):
        largest = float(np.einsum("ij,ij->i", X, X).max(initial=0.0))
        heaviest = 1.0 if weights is None else float(weights.max())
        return bool(0 < n * EPS * largest * heaviest <= SMALL * lams.min(initial=np.inf))


def _kernel_matrix(estimator: KernelRidge, X: FloatArray) -> FloatArray:
    """The kernel of all rows."""
    if callable(estimator.kernel):
        parameters = estimator.kernel_params or {}
    else:
        parameters = {"gamma": estimator.gamma, "degree": estimator.degree, "coef0": estimator.coef0}
    if estimator.kernel in ("rbf", "laplacian"):  # of differences: what all rows share would cost them digits
        X = X - middle(X)
    try:
        with np.errstate(over="ignore", invalid="ignore"):  # said below
            if estimator.kernel == "rbf":  # scikit-learn takes products apart, which lose what some rows share
                gamma = 1.0 / X.shape[1] if estimator.gamma is None else estimator.gamma
                K: FloatArray = np.exp(-gamma * cdist(X, X, "sqeuclidean"))
            else:
                K = pairwise_kernels(X, metric=estimator.kernel, filter_params=True, **parameters)
    except Exception as error:
        raise DataError(f"The kernel {estimator.kernel!r} failed: {type(error).__name__}: {error}") from error
    if not np.isfinite(K).all():
        raise DataError(f"The kernel {estimator.kernel!r} gives NaN or infinite values; rescale X.")
    return K
