"""scikit-learn's Lasso and ElasticNet, from the products of the columns in every training set."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, TypeAlias

import numpy as np
from sklearn.base import clone
from sklearn.linear_model import ElasticNet, Lasso

from ..errors import RouteError, TrainingSetError
from ..linalg import batched, elasticnet
from ..linalg import lasso as active_sets
from ..typing import BoolArray, FloatArray, IntArray
from ..validation import Problem
from ..vocabulary import CONVERGED
from .contract import Path, Task
from .encoded import EncodedLearner, EncodedSets, scale_columns
from .encoding import Encoding
from .features import Features
from .ridge import penalties_of
from .steps import encode_columns
from .transformed import without_trace

__all__ = ["LassoLearner", "check_lasso", "encoded_lasso", "lasso", "tight"]

Sparsified: TypeAlias = Lasso | ElasticNet

TIGHT, MOST_SWEEPS = 1e-12, 100_000
"""Tolerance and sweeps of scikit-learn's own fit, where it is asked."""

NEAR = "columns depend on each other so nearly, and the penalty is so small, that"
REMEDY = 'Take a larger alpha, or drop such columns; or take what the solver stops at, by route="refit".'
UNDETERMINED = f"{NEAR} the digits of the data do not determine the coefficients. {REMEDY}"
ENDLESS = f"{NEAR} coordinate descent does not come to its end. {REMEDY}"

MORE_IN_NET = 2.2
"""Factor of the work in a path of an elastic net, in which more columns take part."""

MOST_WIDE = 4
"""Columns, for every row and penalty, up to which Gram matrices take less than coordinate descent over the rows."""


def lasso(estimator: Sparsified, task: Task, path: Path | None) -> LassoLearner:
    """A lasso or elastic net on the columns of X."""
    return encoded_lasso(estimator, task, path, encode_columns(task.problem))


def encoded_lasso(estimator: Sparsified, task: Task, path: Path | None, encoding: Encoding) -> LassoLearner:
    """The same on what steps learn."""
    check_lasso(estimator, task.problem, encoding)
    alphas = penalties_of(estimator.alpha, 1) if path is None else path.penalties()
    return LassoLearner(encoding, alphas, task.problem.weights, estimator)


def check_lasso(estimator: object, problem: Problem, encoding: Encoding) -> None:
    """Refuse an instance that is fitted otherwise than to its rows, or to classes, or minds signs that nobody knows."""
    name = type(estimator).__name__
    if problem.classes is not None:
        raise RouteError(f"{name} is not a classifier")
    if not isinstance(getattr(estimator, "precompute", False), bool | str):
        raise RouteError(f"{name} is given a Gram matrix, which would be that of one training set")
    if getattr(estimator, "positive", False) and encoding.block.lacks_signs:
        raise RouteError(f"{name}(positive=True) minds the signs of components, which are scikit-learn's to choose")


def tight(estimator: Any, **parameters: object) -> Any:
    """A copy whose fit goes on until it has converged."""
    copy = clone(estimator)
    tol, sweeps = min(float(estimator.tol), TIGHT), max(int(estimator.max_iter), MOST_SWEEPS)
    return copy.set_params(tol=tol, max_iter=sweeps, **parameters)


class LassoLearner(EncodedLearner):
    r"""A lasso or elastic net at V values of alpha.

    Parameters
    ----------
    encoding : Encoding
    alphas : array (V, 1)
    weights : array (n,) or None
    estimator : Lasso or ElasticNet
        For what else it has been told, and for training sets that do not determine its coefficients.

    Notes
    -----
    The objective ``|y - Zb|^2 / 2n + alpha (r |b| + (1 - r) b'b / 2)`` of a training set of n rows, or of weights that
    sum to n, is known from ``Z'Z`` and ``Z'y``. Fits are found by active sets and solve their equations to the last
    digits, where scikit-learn goes on until its duality gap is below ``tol``. They are the only solution if the columns
    that take part, or could, do not depend on each other. Where they nearly do, fits are made from the rows in extended
    precision. Where they do, predictions of a lasso may depend on where a descent began, and scikit-learn is asked; but
    not if it is only that all levels of a category sum to one, in any row.
    """

    _exactness = CONVERGED
    reason = "the fit follows from the products of the columns in each training set"
    taking_part: ClassVar[float] = 0.04
    """Of the work of a path to the end, at which all columns take part: what a few alphas take."""

    def __init__(
        self, encoding: Encoding, alphas: FloatArray, weights: FloatArray | None, estimator: Sparsified
    ) -> None:
        super().__init__(encoding, alphas, weights, bool(estimator.fit_intercept))
        self.estimator = estimator
        self.l1_ratio = float(getattr(estimator, "l1_ratio", 1.0))
        self.positive = bool(estimator.positive)

    @property
    def is_narrow(self) -> bool:
        """Whether Gram matrices take less than refits do: all values share one."""
        return super().is_narrow or self.width <= MOST_WIDE * self.n * self.n_values

    def set_seconds(self) -> float:
        """About what a training set takes: its path of faces, a triangular factor for every column that takes part.

        Those that do number more in an elastic net; how many there are at an alpha of its own nobody knows beforehand.
        Where levels sum to one, the condition of most fits of a lasso is looked at.
        """
        q, dense = self.width, 1.0 if self.l1_ratio == 1.0 else MORE_IN_NET
        values = self.n_values * (3e-6 + 1.5e-10 * dense * q**2)
        if self.encoding.block.has_closed and self.l1_ratio == 1.0:
            values += self.n_values * (5e-6 + 2e-12 * q**3)
        return 5e-5 + 1e-8 * q**2 + values + 4e-10 * dense * self.taking_part * q**3

    def alphas(self, sets: EncodedSets, h: FloatArray) -> FloatArray:
        """Alphas (S, V) of each training set, given the products (S, p, Q) of its columns with y."""
        return np.broadcast_to(self.lams[:, 0], (len(h), len(self.lams)))

    def fit(self, sets: EncodedSets) -> tuple[FloatArray, BoolArray]:
        """Coefficients (S, V, p, Q) of the outputs, and which training sets determine them."""
        A, D, h = self._of_length_one(sets)
        strengths = self.alphas(sets, h) * sets.moments.n[:, None]
        return self._solve(A, D, D[:, :, None] * h, strengths, sets.features)

    def are_independent(self, sets: EncodedSets) -> BoolArray:
        """Training sets (S,) whose columns do not depend on each other, so that they determine fits, or nearly all."""
        A, D, h = self._of_length_one(sets)
        least = (1.0 - self.l1_ratio) * self.alphas(sets, h).min(axis=1) * sets.moments.n
        found: BoolArray = np.empty(len(A), dtype=bool)
        for index, (products, lengths) in enumerate(zip(A, D, strict=True)):
            closed = _closed_levels(lengths, sets.features, index) if self.fit_intercept else []
            found[index] = _are_known(products, least[index] * np.square(lengths)[None], (lengths > 0)[None], closed)
        return found

    def _of_length_one(self, sets: EncodedSets) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Products of the columns, made as long as one, inverses of their lengths, and their products with y."""
        A, d, h = self._scaled_equations(sets)
        return A, batched.inverse_roots(d), h

    def _solve(
        self,
        A: FloatArray,
        D: FloatArray,
        h: FloatArray,
        strengths: FloatArray,
        features: Features | None,
    ) -> tuple[FloatArray, BoolArray]:
        """The same from products of columns of length one, as far as eigenvalues are trusted."""
        order = np.argsort(-strengths, axis=1, kind="stable")
        falling = np.take_along_axis(strengths, order, axis=1)
        penalties = (self.l1_ratio * falling, (1.0 - self.l1_ratio) * falling)
        right = np.ascontiguousarray(np.swapaxes(h, 1, 2))
        found, states = active_sets.fit(A, right, D, penalties, self.positive)
        is_known = ~(states == active_sets.FAILED).any(axis=(1, 2))
        levels = features if self.fit_intercept else None
        is_doubtful = states == active_sets.DOUBTFUL
        for index in np.flatnonzero(is_known & is_doubtful.any(axis=(1, 2))):
            at: tuple[IntArray, ...] = np.nonzero(is_doubtful[index])
            l1, l2 = (penalty[index, at[0]] for penalty in penalties)
            h, beta = right[index, at[1]], found[index, at[0], at[1]]
            b = np.divide(beta, D[index], out=np.zeros_like(beta), where=D[index] > 0)
            part = active_sets.tied(h - b @ A[index], h, D[index], l1[:, None], self.positive) | (beta != 0)
            closed = [] if levels is None else _closed_levels(D[index], levels, int(index))
            is_known[index] = _are_known(A[index], l2[:, None] * np.square(D[index]), part, closed)
        back = np.argsort(order, axis=1)
        beta = np.take_along_axis(found, back[:, :, None, None], axis=1)
        return np.swapaxes(beta, 2, 3), is_known

    def fit_rows(self, Z: FloatArray, y: FloatArray, root: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Coefficients (V, p, Q) and constants (V, Q) of one training set from its rows."""
        share = np.square(root) / np.square(root).sum()
        means, y_mean = (share @ each if self.fit_intercept else np.zeros(each.shape[1]) for each in (Z, y))
        columns, target = root[:, None] * (Z - means), root[:, None] * (y - y_mean)
        is_zero = np.abs(columns).max(axis=0, initial=0.0) <= np.finfo(float).eps * np.abs(means)
        columns[:, is_zero] = 0.0
        A, h = (columns.T @ columns)[None], (columns.T @ target)[None]
        D = scale_columns(A)
        strengths = np.square(root).sum() * self.lams[:, 0]
        beta, is_known = self._solve(A, D, D[:, :, None] * h, strengths[None], None)
        if is_known[0]:
            return beta[0], y_mean - means @ beta[0]
        refined = self._refined(np.where(is_zero, 0.0, Z), y, root, strengths, beta[0])
        if refined is not None:
            return refined
        if self.l1_ratio < 1.0 and strengths.min() > 0:  # strictly convex: a descent would take ages, and end anywhere
            raise TrainingSetError(UNDETERMINED)
        return self._asked(Z, y, root)

    def _refined(
        self, Z: FloatArray, y: FloatArray, root: FloatArray, strengths: FloatArray, start: FloatArray
    ) -> tuple[FloatArray, FloatArray] | None:
        """The same in extended precision, from coefficients that are nearly right; None if that does not suffice."""
        if not elasticnet.can_be_solved(Z):
            return None
        wide, target, weight = (each.astype(np.longdouble) for each in (Z, y, root))
        share = np.square(weight) / np.square(weight).sum()
        means, y_mean = (share @ each if self.fit_intercept else np.zeros(each.shape[1]) for each in (wide, target))
        X, left = weight[:, None] * (wide - means), weight[:, None] * (target - y_mean)
        found = np.empty(start.shape, dtype=np.longdouble)
        for value, output in np.ndindex(start.shape[0], start.shape[2]):
            strength = float(strengths[value])
            penalties = (self.l1_ratio * strength, (1.0 - self.l1_ratio) * strength)
            net = elasticnet.solve(X, left[:, output], penalties, self.positive, start[value, :, output])
            if net is None:
                return None
            found[value, :, output] = net
        return found.astype(np.float64), (y_mean - means @ found).astype(np.float64)

    def _asked(self, Z: FloatArray, y: FloatArray, root: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The same by scikit-learn, whose descent has to come to its end."""
        found, constants = np.empty((len(self.lams), Z.shape[1], y.shape[1])), np.empty((len(self.lams), y.shape[1]))
        weights = None if self.weights is None else np.square(root)
        for value, alpha in enumerate(self.lams[:, 0]):
            with without_trace():
                model = tight(self.estimator, alpha=alpha).fit(Z, y, sample_weight=weights)
            if np.max(model.n_iter_) >= model.max_iter:
                raise TrainingSetError(ENDLESS)
            found[value], constants[value] = np.atleast_2d(model.coef_).T, model.intercept_
        return found, constants


def _closed_levels(D: FloatArray, features: Features, index: int) -> list[tuple[IntArray, FloatArray]]:
    """Combinations of columns that are constant in all rows: places and directions of levels, all in a training set."""
    by = np.asarray(np.maximum.reduceat(features.coef[index], features.pattern.starts))
    found = []
    for group in range(int(features.closed.max(initial=-1)) + 1):
        some = np.flatnonzero(features.closed == group)
        if (features.present[index, some] & (by[some] > 0) & (D[some] > 0)).all():
            along = 1.0 / (D[some] * by[some])
            found.append((some, along / np.linalg.norm(along)))
    return found


def _are_known(A: FloatArray, more: FloatArray, part: BoolArray, closed: Sequence[tuple[IntArray, FloatArray]]) -> bool:
    """Whether columns of a training set that take part (M, p) determine fits, of which the last has the most.

    ``more`` (M, p) is what falling penalties add to the diagonal of the products A. Levels are held in directions in
    which all of them sum to one. What holds of columns holds of some of them, as long as the same levels are held:
    most fits of a path are known by one that comes later.
    """
    whole = np.array([part[:, some].all(axis=1) for some, _ in closed], dtype=bool).reshape(len(closed), len(part))
    known: dict[bytes, list[BoolArray]] = {}
    for at in range(len(part) - 1, -1, -1):
        alike = known.setdefault(whole[:, at].tobytes(), [])
        if any(not (part[at] & ~each).any() for each in alike):
            continue
        held = A + np.diag(more[at])
        for some, along in (closed[group] for group in np.flatnonzero(whole[:, at]).tolist()):
            held[np.ix_(some, some)] += along[:, None] * along
        if not batched.is_trusted(held[np.ix_(part[at], part[at])]):
            return False
        alike.append(part[at])
    return True
