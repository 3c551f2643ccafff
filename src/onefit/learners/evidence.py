"""scikit-learn's BayesianRidge and ARDRegression: their own iterations, from products of columns."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any, TypeAlias

import numpy as np
from scipy import linalg
from sklearn.base import clone
from sklearn.linear_model import ARDRegression, BayesianRidge

from ..errors import RouteError
from ..linalg import batched
from ..linalg.jacobi import svd_by_jacobi
from ..typing import BoolArray, FloatArray, IntArray
from ..vocabulary import CONVERGED
from .contract import Path, Task
from .encoded import EncodedLearner, EncodedSets
from .encoding import Encoding
from .steps import encode_columns
from .transformed import without_trace

__all__ = ["BayesianLearner", "RelevanceLearner", "bayesian", "encoded_bayesian"]

Evidence: TypeAlias = BayesianRidge | ARDRegression

LEAST_LEFT = 1e-5
"""Part of the squares of y that must be left, for their difference to have kept its digits."""

LEAST_EIGENVALUE = 1e-7
"""Of a matrix and its penalty, relative to the largest, that must be known."""

MOST_INFLATED = 1e6
"""Variance of a coefficient beside others, relative to that of one alone, up to which products tell enough."""

CLOSE = 1e-8
"""Decisions that are closer than this, relative to what they compare, are left to scikit-learn."""

LEAST_SHAPE = 1e-10
"""lambda_1 beside which rounding errors of ``1 - lambda * variance`` do not count, which is zero for some columns."""

SIZES = 8
"""Systems of columns that are kept have a multiple of it as their size, so that few sizes serve all training sets."""

EPS = float(np.finfo(np.float64).eps)


def bayesian(estimator: Evidence, task: Task, path: Path | None) -> EncodedLearner:
    """Bayesian ridge regression, or relevance determination, on the columns of X."""
    return encoded_bayesian(estimator, task, path, encode_columns(task.problem))


def encoded_bayesian(estimator: Evidence, task: Task, path: Path | None, encoding: Encoding) -> EncodedLearner:
    """The same on what steps learn."""
    name, problem = type(estimator).__name__, task.problem
    if problem.classes is not None:
        raise RouteError(f"{name} is not a classifier")
    if problem.weights is not None:
        raise RouteError(f"it depends on the version of scikit-learn how {name} counts weights")
    if problem.n_outputs > 1:
        raise RouteError(f"{name} takes one output")
    if type(estimator) is ARDRegression and not _is_held(estimator.lambda_1):
        raise RouteError(
            f"with lambda_1={estimator.lambda_1!r} rounding errors say how ARDRegression penalizes a column that does "
            "not vary in a training set (zero over zero), and with that where the iteration ends"
        )
    return (BayesianLearner if type(estimator) is BayesianRidge else RelevanceLearner)(encoding, estimator)


def _is_held(shape: object) -> bool:
    """Whether a parameter of the prior is a number, and large beside rounding errors."""
    return isinstance(shape, Real) and float(shape) >= LEAST_SHAPE


class EvidenceLearner(EncodedLearner):
    """A linear fit whose penalties come from iterations on the evidence of each training set.

    The iterations are those of scikit-learn, with its stopping rule, on what the columns and y say about their means.
    A training set for which that may have lost digits, or a decision is close, is fitted by scikit-learn.
    """

    _exactness = CONVERGED
    reason = "the iterations of the evidence follow from the products of the columns in each training set"

    def __init__(self, encoding: Encoding, estimator: Any) -> None:
        super().__init__(encoding, np.zeros((1, 1)), None, bool(estimator.fit_intercept))
        self.estimator = estimator

    @property
    def is_narrow(self) -> bool:
        """Whether products tell as much as rows, and take less."""
        return self.width < self.n

    def _about_mean(self, sets: EncodedSets) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Products with columns (S, p, p), y (S, p) and y itself (S,), and its variance, by which iterations begin."""
        A, h = self._normal_equations(sets)
        squares = sets.squares()[:, 0]
        variance = squares / sets.moments.n
        if not self.fit_intercept:
            squares = squares + sets.moments.n * np.square(sets.y_mean[:, 0])
        return A, h[:, :, 0], squares, variance

    def fit_rows(self, Z: FloatArray, y: FloatArray, root: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Coefficients (1, p, 1) and constants (1, 1) of one training set, by scikit-learn."""
        with without_trace():
            model = clone(self.estimator).fit(Z, y[:, 0])
        return model.coef_[None, :, None], np.full((1, 1), model.intercept_)


class BayesianLearner(EvidenceLearner):
    """Bayesian ridge regression, on the spectrum of each training set."""

    def fit(self, sets: EncodedSets) -> tuple[FloatArray, BoolArray]:
        """Coefficients (S, 1, p, 1), and which training sets have those of a refit to all digits."""
        A, h, squares, variance = self._about_mean(sets)
        found, is_known, is_doubted = self._iterated(*np.linalg.eigh(A), h, squares, variance, sets.moments.n)
        if is_doubted.any():  # uneven columns, while iterations begin with almost no penalty
            mu, V, is_sound = _spectra_of_uneven(A[is_doubted])
            some = (each[is_doubted] for each in (h, squares, variance, sets.moments.n))
            found[is_doubted], is_known[is_doubted], _ = self._iterated(mu, V, *some)
            is_known[is_doubted] &= is_sound
        is_known &= sets.moments.n > 1  # scikit-learn says whether one row is enough
        found = found[:, None, :, None]
        return found, is_known & np.isfinite(found).all(axis=(1, 2, 3))

    def _iterated(
        self, mu: FloatArray, V: FloatArray, h: FloatArray, squares: FloatArray, variance: FloatArray, n: FloatArray
    ) -> tuple[FloatArray, BoolArray, BoolArray]:
        """Coefficients (S, p) from ascending spectra, which are known but for them, and where these lack digits."""
        mu = np.maximum(mu, 0.0)
        g = (np.swapaxes(V, 1, 2) @ h[:, :, None])[:, :, 0]
        model = self.estimator
        alpha = 1.0 / (variance + EPS) if model.alpha_init is None else np.full(len(n), float(model.alpha_init))
        lam = np.full(len(n), 1.0 if model.lambda_init is None else float(model.lambda_init))
        old, running = np.zeros(h.shape), np.ones(len(n), dtype=bool)
        is_known: BoolArray = np.ones(len(n), dtype=bool)
        least = np.full(len(n), np.inf)  # of the penalties on the way
        for step in range(int(model.max_iter)):
            ratio = lam / alpha
            least = np.minimum(least, ratio)
            c = g / (mu + ratio[:, None])
            coef = (V @ c[:, :, None])[:, :, 0]
            left = squares - 2.0 * (c * g).sum(axis=1) + (np.square(c) * mu).sum(axis=1)
            is_known &= ~running | (left > LEAST_LEFT * squares)
            share = (alpha[:, None] * mu / (lam[:, None] + alpha[:, None] * mu)).sum(axis=1)
            new = (share + 2.0 * model.lambda_1) / (np.square(c).sum(axis=1) + 2.0 * model.lambda_2)
            lam = np.where(running, new, lam)
            alpha = np.where(running, (n - share + 2.0 * model.alpha_1) / (left + 2.0 * model.alpha_2), alpha)
            if step:
                change = np.abs(old - coef).sum(axis=1)
                is_known &= ~(running & (np.abs(change - model.tol) <= CLOSE * model.tol))
                running &= change >= model.tol
                if not running.any():
                    break
            old = coef
        ratio = lam / alpha
        is_doubted: BoolArray = ~(mu[:, 0] + np.minimum(least, ratio) > LEAST_EIGENVALUE * mu[:, -1])
        return (V @ (g / (mu + ratio[:, None]))[:, :, None])[:, :, 0], is_known, is_doubted


def _spectra_of_uneven(A: FloatArray) -> tuple[FloatArray, FloatArray, BoolArray]:
    """Eigenvalues (S, p), ascending, and vectors (S, p, p) of Gram matrices, and which have all their digits.

    They are singular values of a triangle whose columns have the units of the table, which Jacobi's method finds with
    digits of their own, if the columns are far from dependent in equal units.
    """
    size = np.sqrt(np.einsum("spp->sp", A))
    unit = np.where(size > 0, size, 1.0)
    even = A / (unit[:, :, None] * unit[:, None])
    at = np.arange(A.shape[1])
    even[:, at, at] = 1.0  # of columns of zeros, too, which get their zeros back below
    is_sound: BoolArray = np.linalg.eigvalsh(even)[:, 0] > LEAST_EIGENVALUE
    mu, V = np.zeros(size.shape), np.zeros(A.shape)
    for place in np.flatnonzero(is_sound):
        triangle = linalg.cholesky(even[place], check_finite=False) * size[place]
        _, lengths, right = svd_by_jacobi(triangle)
        mu[place], V[place] = np.square(lengths[::-1]), right[:, ::-1]
    return mu, V, is_sound


class RelevanceLearner(EvidenceLearner):
    """Automatic relevance determination: a penalty for each column, and columns that are left out on the way."""

    @np.errstate(divide="ignore", invalid="ignore")  # of columns that are out, or sets that are then not known
    def fit(self, sets: EncodedSets) -> tuple[FloatArray, BoolArray]:
        """Coefficients (S, 1, p, 1), and which training sets have those of a refit to all digits."""
        A, h, squares, variance = self._about_mean(sets)
        model, every = self.estimator, np.arange(len(h))
        at = every
        state = _Relevance(np.ones(h.shape), 1.0 / (variance + EPS), np.zeros(h.shape), np.ones(len(h), dtype=bool))
        for step in range(int(model.max_iter)):
            lam, alpha = state.lam[at], state.alpha[at]
            keep = (lam < model.threshold_lambda) | (step == 0)  # the first step takes every column
            coef, diagonal, is_sound = _posterior(A, h[at], lam, alpha, keep, at)
            left = squares[at] - (coef * (h[at] + lam * coef / alpha[:, None])).sum(axis=1)  # as A coef is known
            is_sound &= left > LEAST_LEFT * squares[at]
            share = np.where(keep, 1.0 - lam * diagonal, 0.0)
            new = (share + 2.0 * model.lambda_1) / (np.square(coef) + 2.0 * model.lambda_2)
            lam = np.where(keep, new, lam)
            degrees = sets.moments.n[at] - share.sum(axis=1)
            state.lam[at], state.alpha[at] = lam, (degrees + 2.0 * model.alpha_1) / (left + 2.0 * model.alpha_2)
            is_sound &= ~_is_close(lam, model.threshold_lambda).any(axis=1)
            coef = np.where(lam < model.threshold_lambda, coef, 0.0)
            change = np.abs(state.coef[at] - coef).sum(axis=1)
            state.coef[at] = coef
            ends = ~(lam < model.threshold_lambda).any(axis=1)
            if step:
                is_sound &= ~_is_close(change, model.tol)
                ends |= change < model.tol
            state.is_known[at] = is_sound
            at = at[is_sound & ~ends]
            if not len(at):
                break
        found, _, is_sound = _posterior(A, h, state.lam, state.alpha, state.lam < model.threshold_lambda, every)
        is_enough = sets.moments.n > 1  # scikit-learn says whether one row is
        return found[:, None, :, None], state.is_known & is_sound & is_enough & np.isfinite(found).all(axis=1)


@dataclass(frozen=True)
class _Relevance:
    """Penalties (S, p) of the columns, precisions (S,) of the noise, coefficients (S, p), and which sets are known."""

    lam: FloatArray
    alpha: FloatArray
    coef: FloatArray
    is_known: BoolArray


def _is_close(values: FloatArray, limit: float) -> BoolArray:
    found: BoolArray = np.abs(values - limit) <= CLOSE * limit
    return found


def _posterior(
    A: FloatArray, h: FloatArray, lam: FloatArray, alpha: FloatArray, keep: BoolArray, sets: IntArray
) -> tuple[FloatArray, FloatArray, BoolArray]:
    """Means and variances (S, p) of the coefficients that some sets keep, and which are known; the others are zero.

    Systems have the size that their own set asks for, whatever sets are beside it: their bits depend on nothing else.
    """
    coef, diagonal = np.zeros((2, *h.shape))
    is_sound: BoolArray = np.ones(len(h), dtype=bool)
    sizes = np.minimum(-(-keep.sum(axis=1) // SIZES) * SIZES, h.shape[1])
    for m in np.unique(sizes):
        at = np.flatnonzero(sizes == m)
        order = np.argsort(~keep[at], axis=1, kind="stable")[:, :m]  # those that are kept stand first
        inside = np.take_along_axis(keep[at], order, axis=1)
        systems = A[sets[at][:, None, None], order[:, :, None], order[:, None]]
        penalties = np.take_along_axis(lam[at], order, axis=1)
        right = np.take_along_axis(h[at], order, axis=1)
        means, variances, is_sound[at] = _posterior_inside(systems, right, penalties, alpha[at], inside)
        coef[at[:, None], order], diagonal[at[:, None], order] = means, variances
    return coef, diagonal, is_sound


def _posterior_inside(
    systems: FloatArray, right: FloatArray, penalties: FloatArray, alpha: FloatArray, inside: BoolArray
) -> tuple[FloatArray, FloatArray, BoolArray]:
    """Means and variances (S, m) of systems of one size, zero where columns are not inside, and which are known."""
    systems = alpha[:, None, None] * systems * (inside[:, :, None] & inside[:, None])
    at = np.arange(systems.shape[1])
    systems[:, at, at] += np.where(inside, penalties, 1.0)
    size = np.einsum("smm->sm", systems).copy()
    sigma = batched.inverses(systems)
    is_finite = np.isfinite(systems).all(axis=(1, 2))
    for place in np.flatnonzero(np.isnan(sigma).any(axis=(1, 2)) & is_finite):
        sigma[place] = np.linalg.pinv(systems[place])
    variances = np.einsum("smm->sm", sigma) * inside
    means = alpha[:, None] * (sigma @ (right * inside)[:, :, None])[:, :, 0]
    is_sound: BoolArray = is_finite & (variances * size <= MOST_INFLATED).all(axis=1)
    return means, variances, is_sound
