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

__all__ = ["are_decided", "check_decisions"]

LEAST_DECIDED = 1e-6
"""Scores that differ by a millionth of this are taken for ties (`onefit.metrics.losses.SAME`): of those above, few."""

LEAST_RANKED = 1e-3
"""The same where rows are ranked: equal ones differ by 1e-14 of the codes, and others hardly ever by so little."""

LEAST_BY_COLUMN = 1e-7
"""The same of what one column alone makes of scores: rows that differ in their columns are ties up to 1e-13."""

ROUNDED = 1e-12
"""Part of a column by which it varies if it is a constant but for rounding errors."""


def check_decisions(task: Task, lams: FloatArray, fit_intercept: bool, n_columns: int | None = None) -> None:
    """Leave a classifier to refits if some penalty lets its scores hardly differ, and classes or ranks count.

    With ``n_columns`` they are those that steps make, of size one.
    """
    least, strongest = _least(task), float(np.max(lams, initial=0.0))
    if not (least and strongest):
        return
    bound = _largest_product(task.problem, fit_intercept, n_columns) / strongest
    if 0.0 < bound < least:
        raise RouteError(
            f"with a penalty of {strongest:.3g} its scores differ by at most {bound:.1g}, which is lost beside codes "
            "of the classes of size one"
        )
    if least == LEAST_RANKED and n_columns is None and not sparse.issparse(task.problem.X):
        _check_columns(task.problem, strongest, fit_intercept)


def _check_columns(problem: Problem, penalty: float, fit_intercept: bool) -> None:
    """The same for ranks of rows that differ in a column only whose units let the penalty hold it near zero."""
    X = numeric_matrix(problem)
    about = X - middle(X) if fit_intercept else X
    weights = np.ones(len(X)) if problem.weights is None else problem.weights
    largest, squares = np.abs(about).max(axis=0, initial=0.0), np.einsum("i,ij,ij->j", weights, about, about)
    bounds = largest * np.sqrt(squares * weights.sum()) / (penalty + squares)
    lost = (largest > ROUNDED * np.abs(X).max(axis=0, initial=0.0)) & (bounds < LEAST_BY_COLUMN)
    if lost.any():
        column = int(np.argmax(lost))
        name = column if problem.feature_names is None else repr(problem.feature_names[column])
        raise RouteError(
            f"column {name} is so small beside a penalty of {penalty:.3g} that scores differ by at most "
            f"{bounds[column]:.1g} because of it, and rows may have to be ranked by that (a scaler, or other units "
            "of the column, would do)"
        )


def are_decided(task: Task) -> bool:
    """Whether it counts which class is predicted."""
    return task.loss.classes is not None and (task.loss.name == "zero_one" or "predict" in task.responses)


def _least(task: Task) -> float:
    """How much scores have to differ for what is asked of them; zero if nothing hangs on last bits."""
    if {"scores", "decision_function"} & task.responses:
        return LEAST_RANKED
    return LEAST_DECIDED if are_decided(task) else 0.0


def _largest_product(problem: Problem, fit_intercept: bool, n_columns: int | None) -> float:
    """What scores, times the penalty, differ by at most: rows are no longer, times the gradient at scores of zero.

    That of all rows stands for those of training sets, and of columns of size one that say nothing if steps make them.
    """
    weights = np.ones(problem.n) if problem.weights is None else problem.weights
    if n_columns is not None:
        return float(np.sqrt(weights @ weights)) * n_columns
    if sparse.issparse(problem.X):  # about zero, as if there were no intercept
        X, longest = problem.X, float(sparse_linalg.norm(problem.X, axis=1).max(initial=0.0))
    else:
        X = numeric_matrix(problem)
        X = X - middle(X) if fit_intercept else X
        longest = float(np.linalg.norm(X, axis=1).max(initial=0.0))
    codes = problem.y - np.average(problem.y, axis=0, weights=weights) if fit_intercept else problem.y
    gradient = X.T @ (weights[:, None] * codes)
    return longest * float(np.linalg.norm(gradient, axis=0).max(initial=0.0))
