"""Classes that a model hardly tells apart: their scores are lost beside the codes that they are subtracted from."""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.sparse import linalg as sparse_linalg

from ..errors import RouteError
from ..linalg.columns import middle
from ..typing import FloatArray
from ..validation import Problem, numeric_matrix
from .contract import Task

__all__ = ["check_decisions"]

LEAST_SCORE = 1e-6
"""Scores that differ by a millionth of this are taken for ties (`onefit.metrics.losses.SAME`): of those above, few."""


def check_decisions(task: Task, lams: FloatArray, fit_intercept: bool, n_columns: int | None = None) -> None:
    """Leave a classifier to refits if some penalty lets its scores hardly differ from a constant, and classes count.

    With ``n_columns`` they are those that steps make, of size one.
    """
    if task.loss.classes is None or not (task.loss.name == "zero_one" or "predict" in task.responses):
        return
    strongest = float(np.max(lams, initial=0.0))
    if strongest == 0.0:
        return
    bound = _largest_product(task.problem, fit_intercept, n_columns) / strongest
    if 0.0 < bound < LEAST_SCORE:
        raise RouteError(
            f"with a penalty of {strongest:.3g} its scores differ by at most {bound:.1g}, which is lost beside codes "
            "of the classes of size one"
        )


def _largest_product(problem: Problem, fit_intercept: bool, n_columns: int | None) -> float:
    """What scores, times the penalty, differ by at most: gradients at zero are sums of rows times less than two."""
    weights = np.ones(problem.n) if problem.weights is None else problem.weights
    if n_columns is not None:
        return 2.0 * float(weights.sum()) * n_columns
    if sparse.issparse(problem.X):  # about zero, as if there were no intercept
        sizes: FloatArray = sparse_linalg.norm(problem.X, axis=1)
    else:
        X = numeric_matrix(problem)
        sizes = np.linalg.norm(X - middle(X) if fit_intercept else X, axis=1)
    return 2.0 * float(weights @ sizes) * float(sizes.max(initial=0.0))
