"""What fits of generalized linear models are made of, in memory or on a table, and why there may be none."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from ..learners import Features, GLMLearner
from ..typing import BoolArray, FloatArray

__all__ = [
    "HOLD",
    "NONE_WEIGHED",
    "NOT_SETTLED",
    "NO_FIT",
    "NO_MEAN",
    "ONE_WEIGHED",
    "REMEDY",
    "TOO_WEAK",
    "class_factors",
    "dense",
    "feature_maps",
    "hardly_differ",
    "mapped",
    "penalties_of",
    "projected",
    "shifted_columns",
    "why_no_fit",
]

NO_FIT = "the likelihood has no maximum: columns tell {what} apart without error, and coefficients go to infinity"
_HOLD_ALL = 'Use folds that hold rows of all classes with a weight, or take what the solver stops at, by route="refit".'
ONE_WEIGHED = f"the weights leave rows of one class only, whose odds go to infinity. {_HOLD_ALL}"
NONE_WEIGHED = f"the weights leave no row of one of the classes, whose odds go to zero. {_HOLD_ALL}"

NO_MEAN = (
    "all y are zero (or have no weight), and the logarithm of their mean is minus infinity. Use folds that leave rows "
    "with other values in every training set."
)

CLOSE = 1e-9
"""Scores of classes are known to less by an iteration: what is left of it may be larger in single rows."""

NOT_SETTLED = "columns nearly depend on each other: rounding errors hide the coefficients"
REMEDY = 'Give the model a penalty; or take what the solver stops at, by route="refit".'
TOO_WEAK = (
    "the penalty is too weak for columns that are as large as these or nearly depend on each other: rounding errors "
    "hide the coefficients"
)
HOLD = 'Scale the columns, or give the model a stronger penalty; or take what the solver stops at, by route="refit".'


def why_no_fit(learner: GLMLearner, value: int, is_hidden: bool) -> tuple[str, str]:
    """Why there is no fit, or none that is known, for people; and the remedy."""
    if not learner.at([value]).may_have_no_fit:
        return TOO_WEAK, HOLD
    return NOT_SETTLED if is_hidden else NO_FIT.format(what="classes" if learner.has_classes else "rows"), REMEDY


def dense(part: FloatArray | sparse.csr_matrix) -> FloatArray:
    """Some rows as an array."""
    return np.asarray(part.toarray() if sparse.issparse(part) else part)  # type: ignore[union-attr]


def hardly_differ(scores: FloatArray) -> BoolArray:
    """Where the two highest scores (..., Q) of classes, or one and zero, differ by what an iteration may have left."""
    if scores.shape[-1] == 1:
        return np.asarray(np.abs(scores[..., 0]) <= CLOSE)
    best, second = scores[..., 0], np.full(scores.shape[:-1], -np.inf)
    for one in np.moveaxis(scores, -1, 0)[1:]:  # much faster than sorting a few numbers many times
        second = np.maximum(second, np.minimum(best, one))
        best = np.maximum(best, one)
    return np.asarray(best - second <= CLOSE)


def class_factors(learner: GLMLearner, sums: FloatArray, present: BoolArray) -> FloatArray:
    """Factors (S, G) of the weights of classes in training sets with these sums of weights, and classes."""
    if not learner.is_balanced:
        return np.ones((len(sums), 1))
    shares = sums.sum(axis=1, keepdims=True) / np.where(sums > 0, sums, np.inf)
    return np.asarray(shares / present.sum(axis=1, keepdims=True))


def penalties_of(learner: GLMLearner, value: int, weight: FloatArray, width: int) -> FloatArray:
    """Of the columns, (S, p), in training sets with these sums of weights."""
    found = np.empty((len(weight), width))
    found[:] = np.reshape(learner.penalty(value, weight), (-1, 1))
    if learner.held is not None:
        found[:, : len(learner.held)] *= learner.held
    if learner.fit_intercept:
        found[:, -1] = 0.0
    return found


def mapped(H: FloatArray, maps: FloatArray | None) -> FloatArray:
    """Hessians (S, c p, c p) of the columns of the fits from those of the design."""
    if maps is None:
        return H
    q, p = maps.shape[1:]
    c = H.shape[1] // q
    blocks = np.ascontiguousarray(H.reshape(-1, c, q, c, q).swapaxes(2, 3))
    blocks = np.matmul(np.matmul(maps.swapaxes(1, 2)[:, None, None], blocks), maps[:, None, None])
    return np.ascontiguousarray(blocks.swapaxes(2, 3)).reshape(-1, c * p, c * p)


def projected(maps: FloatArray | None, gamma: FloatArray) -> FloatArray:
    """Coefficients (S, c, p) of the columns of the fits that come nearest to those of the design."""
    if maps is None:
        return gamma
    size = np.linalg.norm(maps, axis=1, keepdims=True)
    unit = maps / np.where(size > 0, size, 1.0)
    products = np.matmul(unit.swapaxes(1, 2), unit)
    at = np.arange(products.shape[1])
    products[:, at, at] += np.where(size[:, 0] > 0, 1e-10, 1.0)
    right = np.matmul(gamma, unit).swapaxes(1, 2)
    found: FloatArray = np.linalg.solve(products, right).swapaxes(1, 2)
    return found / np.where(size > 0, size, 1.0)


def feature_maps(features: Features, n_columns: int, fit_intercept: bool) -> FloatArray:
    """Columns of fits (S, q, p) from those of the design; an intercept is the last and absorbs all shifts."""
    coef = features.coef
    if fit_intercept:
        coef = coef * features.varies[:, features.pattern.output]
    T = features.pattern.matrices(coef, n_columns)
    S, q, p = T.shape
    has_constant = int(fit_intercept)
    maps = np.zeros((S, q + 1, p + has_constant))
    maps[:, :q, :p] = T
    if has_constant:
        maps[:, q, p] = 1.0
    else:
        maps[:, q] = features.shift
    return maps


def shifted_columns(learner: GLMLearner, features: Features | None) -> BoolArray:
    """Columns (S, p) that are a constant other than zero where rows have nothing of them; (1, p) if no step learns.

    In a training set without other rows a solver takes any mixture of such a column and the intercept, which is last.
    """
    found = (learner.fixed.centres != 0)[None] if features is None else features.present & ~features.is_zero
    return np.pad(found, ((0, 0), (0, int(learner.fit_intercept))))
