"""Lassos with many solutions: whether these predict held-out rows otherwise, so that figures hang on the solver."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import qr, svd
from scipy.optimize import linprog
from sklearn.base import clone
from sklearn.linear_model import ElasticNet, ElasticNetCV, Lasso, LassoCV
from sklearn.pipeline import Pipeline

from ..linalg import lasso as active_sets
from ..typing import FloatArray
from .transformed import steps_of

__all__ = ["MANY_SOLUTIONS", "can_be_looked_at", "differ", "fits_differ", "is_sparsified"]

MANY_SOLUTIONS = (
    "In a training set columns depend on each other so that the lasso has many solutions, and these predict the rows "
    "that were held out otherwise: the figures are those of the solution that the solver picks.",
    "Take a small l2 part, with which there is one solution (ElasticNet, l1_ratio=0.99), a larger alpha, or leave out "
    'columns that others make up (drop="first", min_frequency in the encoder).',
)
"""What is seen, and what to do."""

DEPENDENT = 1e-10
"""Singular values of columns of length one that are rounding errors of zero."""

FELT = 1e-3
"""Of the standard deviation of y: predictions that are closer change no figure that is looked at."""

MOST_CELLS = 2_000_000
"""Of a training set that is looked at, and of its products between columns."""

MOST_WALLS = 50_000
"""Numbers of a linear program: beyond that it takes longer than many fits."""


def is_sparsified(estimator: object) -> bool:
    """Whether it is a lasso, or a search of one, perhaps behind steps."""
    last = estimator.steps[-1][1] if isinstance(estimator, Pipeline) else estimator
    if type(last) in (ElasticNet, ElasticNetCV):
        return bool(np.max(getattr(last, "l1_ratio", 0.0)) == 1.0)
    return type(last) in (Lasso, LassoCV)


def can_be_looked_at(n_rows: int, n_columns: int) -> bool:
    """Whether a look costs little beside the fits: it takes all products between columns."""
    return max(n_rows, n_columns) * n_columns <= MOST_CELLS


def fits_differ(estimator: Any, X: Any, y: FloatArray, weights: FloatArray | None, held: Sequence[Any]) -> bool:
    """Whether a fit of the estimator to a training set is one of several that predict held-out rows otherwise.

    Nothing is fitted but its steps, if columns do not depend on each other, and but for searches.
    """
    last = estimator
    if isinstance(estimator, Pipeline):
        last = estimator.steps[-1][1]
        for step in steps_of(estimator):
            fitted: Any = clone(step)
            X = fitted.fit_transform(X, y)
            held = [fitted.transform(rows) for rows in held]
    if len(getattr(X, "shape", ())) != 2 or not can_be_looked_at(*X.shape):
        return False
    Z, *others = (np.asarray(each.toarray() if sparse.issparse(each) else each, float) for each in (X, *held))
    root = np.ones(len(Z)) if weights is None else np.sqrt(weights)
    if not _depend(Z, root, bool(last.fit_intercept)):
        return False
    if isinstance(last, LassoCV | ElasticNetCV):
        extra = {} if weights is None else {"sample_weight": weights}
        found: Any = clone(last).fit(X, y, **extra)
        alpha, ratio = float(found.alpha_), float(getattr(found, "l1_ratio_", 1.0))
    else:
        alpha, ratio = float(last.alpha), float(getattr(last, "l1_ratio", 1.0))
    target = np.asarray(y, dtype=np.float64).reshape(len(Z), -1)
    settings = bool(last.fit_intercept), bool(last.positive)
    return ratio == 1.0 and differ(Z, target, root, alpha, np.vstack(others), *settings)


def _depend(Z: FloatArray, root: FloatArray, is_centred: bool) -> bool:
    """Whether columns of a training set, those that vary, may depend on each other."""
    X, _, _ = _scaled(Z, root, is_centred)
    return X.shape[1] >= len(X) or bool(np.linalg.eigvalsh(X.T @ X)[:1].min(initial=1.0) <= DEPENDENT)


def differ(
    Z: FloatArray, y: FloatArray, root: FloatArray, alpha: float, held: FloatArray, is_centred: bool, positive: bool
) -> bool:
    r"""Whether solutions of a lasso predict held-out rows otherwise, of any output.

    Parameters
    ----------
    Z, y : arrays (n, p), (n, Q)
    root : array (n,)
        Roots of the weights.
    alpha : float
    held : array (m, p)
    is_centred : bool
        Whether there is an intercept.
    positive : bool

    Notes
    -----
    All solutions have the same residuals, so the same columns E whose products with these are as large as the penalty,
    and the same signs s of these products: with one of them, b, they are the ``b + v`` with ``X_E v = 0`` and
    ``s (b + v) >= 0``. How far a sum of held-out predictions with random weights may go either way there is a linear
    program; if it may go nowhere, nor may the predictions.
    """
    X, means, D = _scaled(Z, root, is_centred)
    seen = D > 0
    target = root[:, None] * (y - (np.square(root) @ y / np.square(root).sum() if is_centred else 0.0))
    rows = ((held - means) * D)[:, seen]
    l1 = np.full((1, 1), float(np.square(root).sum() * alpha))
    A, h = X.T @ X, X.T @ target
    lengths = np.ascontiguousarray(D[None, seen])
    for q in range(target.shape[1]):
        right = np.ascontiguousarray(h[:, q])
        beta, states = active_sets.fit(A[None], right[None, None], lengths, (l1, np.zeros((1, 1))), positive)
        if states[0, 0, 0] == active_sets.FAILED:
            continue
        b = beta[0, 0, 0] / lengths[0]
        slopes = right - A @ b
        part = active_sets.tied(slopes, right, lengths[0], float(l1[0, 0]), positive) | (b != 0)
        way = _way(X[:, part], b[part], np.sign(slopes[part]), rows[:, part])
        if way > FELT * float(np.linalg.norm(target[:, q])) / np.linalg.norm(root):
            return True
    return False


def _scaled(Z: FloatArray, root: FloatArray, is_centred: bool) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Columns that are not zero, of length one; means of all, and inverses of their lengths."""
    share = np.square(root) / np.square(root).sum()
    means = share @ Z if is_centred else np.zeros(Z.shape[1])
    X = root[:, None] * (Z - means)
    length = np.linalg.norm(X, axis=0)
    seen = length > 1e-14 * np.linalg.norm(root[:, None] * Z, axis=0)
    D = np.where(seen, 1.0 / np.where(seen, length, 1.0), 0.0)
    return X[:, seen] * D[seen], means, D


def _way(X: FloatArray, b: FloatArray, sign: FloatArray, rows: FloatArray) -> float:
    """How far a weighted mean of predictions can go among solutions; nowhere if there are too many to tell."""
    if not len(b):
        return 0.0
    _, values, right = svd(qr(X, mode="r", check_finite=False)[0][: X.shape[1]])
    free = right[int((values > DEPENDENT).sum()) :].T
    if free.size > MOST_WALLS:
        return 0.0
    along = np.random.default_rng(0).normal(size=len(rows)) @ (rows @ free) / len(rows)
    if not free.size or np.abs(rows @ free).max(initial=0.0) <= DEPENDENT * np.abs(rows).max(initial=1.0):
        return 0.0
    walls = -sign[:, None] * free
    ends = [linprog(way * along, A_ub=walls, b_ub=np.maximum(sign * b, 0.0), bounds=(None, None)) for way in (1, -1)]
    if any(end.status == 3 for end in ends):  # no wall on the way: there is no penalty
        return np.inf
    return float(sum(-end.fun for end in ends)) if all(end.status == 0 for end in ends) else 0.0
