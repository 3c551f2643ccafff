"""Classes that a model hardly tells apart: their scores are lost beside the codes that they are subtracted from."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import sparse
from scipy.sparse import linalg as sparse_linalg
from sklearn.preprocessing import StandardScaler

from ..equalrows import equal_rows
from ..errors import RouteError
from ..linalg.columns import middle
from ..typing import BoolArray, FloatArray
from ..validation import Problem, numeric_matrix
from .contract import Task
from .encoding import Encoding
from .fixedfeatures import Matrix

__all__ = ["are_decided", "check_decisions", "check_densities", "check_ranks"]

LEAST_DECIDED = 1e-6
"""Scores that differ by a millionth of this are taken for ties (`onefit.metrics.losses.SAME`): of those above, few."""

LEAST_RANKED = 1e-3
"""The same where rows are ranked: equal ones differ by 1e-14 of the codes, and others hardly ever by so little."""

LEAST_BY_COLUMN = 1e-7
"""The same of what one column alone makes of scores: rows that differ in their columns are ties up to 1e-13."""

ROUNDED = 1e-12
"""Part of a column by which it varies if it is a constant but for rounding errors."""


MOST_MADE = 2**24
"""Numbers that steps make to see how large their columns are: of more, rows at equal distances stand for all."""


def check_decisions(task: Task, lams: FloatArray, fit_intercept: bool, encoding: Encoding | None = None) -> None:
    """Leave a classifier to refits if some penalty lets its scores hardly differ, and classes or ranks count.

    With ``encoding`` its columns are those that steps make.
    """
    least, strongest = _least(task), float(np.max(lams, initial=0.0))
    if not (least and strongest):
        return
    weights, rows = _weights(task.problem), None
    if encoding is None:
        rows = _given(task.problem, fit_intercept)
        product = rows.largest_product(task.problem.y)
    else:  # as if all were of size one, and said nothing
        product = float(np.sqrt(weights @ weights)) * encoding.fixed.n_columns
    bound = product / strongest
    if 0.0 < bound < least:
        raise RouteError(
            f"with a penalty of {strongest:.3g} its scores differ by at most {bound:.1g}, which is lost beside codes "
            "of the classes of size one"
        )
    if least == LEAST_RANKED:
        rows = rows or _made(encoding, weights, fit_intercept)
        if rows is not None:
            _check_columns(rows, rows.lost(strongest), f"a penalty of {strongest:.3g}", task.problem)


def check_ranks(task: Task, lams: FloatArray, fit_intercept: bool, encoding: Encoding | None = None) -> None:
    """The same of a classifier that chooses its penalty, whose scores may all be small: if a column alone is lost."""
    if _least(task) != LEAST_RANKED:
        return
    rows, strongest = _rows(task, encoding, fit_intercept), float(np.max(lams))
    if rows is not None and not (found := rows.lost(strongest))[0].all():
        _check_columns(rows, found, f"a penalty of {strongest:.3g}", task.problem)


def check_densities(
    task: Task, held: Callable[[FloatArray], FloatArray], beside: str, encoding: Encoding | None = None
) -> None:
    """The same of classes with densities, whose variances (p,) of columns are ``held`` above zero ``beside`` something.

    A scaler that is the only step, or the last one, leaves no column smaller than others.
    """
    is_decided = are_decided(task) and held(np.zeros(1))[0] > 0  # else columns that are all small are none
    if not (is_decided or task.ranked) or (encoding is not None and _scales(encoding)):
        return
    rows = _rows(task, encoding, fit_intercept=True)
    if rows is None:
        return
    found = rows.lost_beside(held)
    bounds = found[1]
    if is_decided and 0.0 < bounds.sum() < LEAST_DECIDED:
        raise RouteError(
            f"beside {beside} its scores differ by at most {bounds.sum():.1g}, which is lost beside logarithms of the "
            "probabilities of the classes of size one"
        )
    if task.ranked:
        _check_columns(rows, found, beside, task.problem)


def _scales(encoding: Encoding) -> bool:
    """Whether the columns that steps make have a deviation of one."""
    return bool(encoding.steps) and type(encoding.steps[-1]) is StandardScaler and encoding.steps[-1].with_std


def _rows(task: Task, encoding: Encoding | None, fit_intercept: bool) -> _Rows | None:
    """What the model sees; None if steps cannot make it."""
    if encoding is not None:
        return _made(encoding, _weights(task.problem), fit_intercept)
    return _given(task.problem, fit_intercept)


def _given(problem: Problem, fit_intercept: bool) -> _Rows:
    """The columns as they are."""
    X = problem.X if sparse.issparse(problem.X) else numeric_matrix(problem)
    return _Rows(X, _weights(problem), fit_intercept)


def _check_columns(rows: _Rows, found: tuple[BoolArray, FloatArray], beside: str, problem: Problem) -> None:
    """The same for ranks of rows that differ in a column only whose units let a model hold it near zero."""
    lost, bounds = found
    if lost.any() and rows.are_told_apart_by(lost):
        column = int(np.argmax(lost))
        names = problem.feature_names if rows.X.shape[1] == problem.X.shape[1] else None
        raise RouteError(
            f"column {column if names is None else repr(names[column])} is so small beside {beside} "
            f"that scores differ by at most {bounds[column]:.1g} because of it, and rows may have to be ranked by that "
            "(a scaler, or other units of the column, would do)"
        )


class _Rows:
    """Rows as a linear model sees them, and what they weigh: those of a dense matrix about their middle."""

    def __init__(self, X: Matrix, weights: FloatArray, fit_intercept: bool) -> None:
        self.X, self.weights, self.fit_intercept = X, weights, fit_intercept
        self.about = X - middle(X) if fit_intercept and isinstance(X, np.ndarray) else X

    def largest_product(self, y: FloatArray) -> float:
        """What scores, times the penalty, differ by at most: rows are no longer, times the gradient at scores of zero.

        That of all rows stands for those of training sets. Of a sparse matrix about zero, as if without an intercept.
        """
        norms = sparse_linalg.norm if sparse.issparse(self.about) else np.linalg.norm
        codes = y - np.average(y, axis=0, weights=self.weights) if self.fit_intercept else y
        gradient = self.about.T @ (self.weights[:, None] * codes)
        return float(norms(self.about, axis=1).max(initial=0.0) * np.linalg.norm(gradient, axis=0).max(initial=0.0))

    def lost(self, penalty: float) -> tuple[BoolArray, FloatArray]:
        """Which columns (p,) are all but lost under a penalty, and by how much scores differ because of them."""
        return self.lost_beside(lambda variance: variance + penalty / self.weights.sum())

    def lost_beside(self, held: Callable[[FloatArray], FloatArray]) -> tuple[BoolArray, FloatArray]:
        """The same where a model takes others for the variances (p,)."""
        total = self.weights.sum()
        if isinstance(self.about, np.ndarray):
            squares = self.weights @ np.square(self.about)
            shares = squares / total / _positive(held(squares / total))
            if (shares > LEAST_DECIDED).all():  # bounds are larger, as some row is farther away than most
                return np.zeros(len(shares), dtype=bool), shares
            size = np.abs(self.X).max(axis=0, initial=0.0)
            largest = np.abs(self.about).max(axis=0, initial=0.0) if self.fit_intercept else size
        else:
            high, low = (np.asarray(ends.toarray()).ravel() for ends in (self.X.max(axis=0), self.X.min(axis=0)))
            mean = self.X.T @ self.weights / total if self.fit_intercept else np.zeros(len(high))
            size, largest = np.maximum(high, -low), np.maximum(high - mean, mean - low)
            squares = np.maximum(sparse.csr_array(self.X).power(2).T @ self.weights - total * mean**2, 0.0)
        bounds = largest * np.sqrt(squares / total) / _positive(held(squares / total))
        return (largest > ROUNDED * size) & (bounds < LEAST_BY_COLUMN), bounds

    def are_told_apart_by(self, columns: BoolArray) -> bool:
        """Whether some rows are the same in all columns but these."""
        X = sparse.csr_array(self.X) if sparse.issparse(self.X) else self.X
        same, same_in_others = equal_rows(X), equal_rows(X[:, ~columns])
        return same is None or same_in_others is None or bool((same != same_in_others).any())


def _positive(sizes: FloatArray) -> FloatArray:
    """One for those of columns that do not vary, which are zero."""
    return np.where(sizes > 0, sizes, 1.0)


def _made(encoding: Encoding | None, weights: FloatArray, fit_intercept: bool) -> _Rows | None:
    """What steps make of all rows; None if they cannot."""
    assert encoding is not None
    n = len(weights)
    rows = np.arange(0, n, 1 + n * encoding.block.n_outputs // MOST_MADE)
    try:
        made = encoding.of_rows(rows, [])[0]
    except Exception:  # of which refits tell
        return None
    return _Rows(made, weights[rows] * (weights.sum() / weights[rows].sum()), fit_intercept)


def _weights(problem: Problem) -> FloatArray:
    return np.ones(problem.n) if problem.weights is None else problem.weights


def are_decided(task: Task) -> bool:
    """Whether it counts which class is predicted."""
    return task.loss.classes is not None and (task.loss.name == "zero_one" or "predict" in task.responses)


def _least(task: Task) -> float:
    """How much scores have to differ for what is asked of them; zero if nothing hangs on last bits."""
    if task.ranked:
        return LEAST_RANKED
    return LEAST_DECIDED if are_decided(task) else 0.0
