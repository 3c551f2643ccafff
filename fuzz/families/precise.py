"""Generalized linear models in ball arithmetic, the lasso in extended precision: what a solver finds at its end."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
from scipy.optimize import linprog
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.linear_model import Lasso
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.extmath import softmax
from sklearn.utils.validation import _check_sample_weight

from .preciseminimum import BernoulliRows, FamilyRows, Minimum, Rows, SoftmaxRows
from .separation import is_way

__all__ = ["PreciseElasticNet", "PreciseFamily", "PreciseLogistic"]

LONG = np.longdouble
MOST_STEPS = 300
SMALL = LONG(1e-17)
"""Gradients relative to the sizes of their terms; the precision is 1e-19."""
EVEN = LONG(1e-15)
"""Scores of classes that differ by no more are the same: those of classes that nothing tells apart."""
LEFT = 1e-9
"""A constant column below this is the rounding error that a scaler leaves of one."""
TIED, DEPENDENT = 1e-9, 1e-12
"""Columns so near to taking part in a lasso count; singular values below which such columns depend on each other."""
MOST_SWEEPS = 200_000
"""Of scikit-learn's descent."""


def solve(A: np.ndarray, b: np.ndarray) -> np.ndarray:
    """A positive definite system in extended precision; columns that depend on others get zero."""
    size = np.sqrt(np.diagonal(A))
    size = np.where(size > 0, size, LONG(1))
    M = A / np.outer(size, size)
    right = (b / size).astype(LONG)
    is_known = np.ones(len(M), dtype=bool)
    for k in range(len(M)):  # elimination without exchanges: M is positive definite
        is_known[k] = M[k, k] > SMALL
        factor = M[k + 1 :, k] / M[k, k] if is_known[k] else np.zeros(len(M) - k - 1, dtype=LONG)
        M[k + 1 :, k:] -= np.outer(factor, M[k, k:])
        right[k + 1 :] -= factor * right[k]
    x = np.zeros_like(right)
    for k in np.flatnonzero(is_known)[::-1]:
        x[k] = (right[k] - M[k, k + 1 :] @ x[k + 1 :]) / M[k, k]
    return x / size


class _Linear(BaseEstimator):
    """Scores that are linear in columns, with a penalty on the squares of coefficients."""

    def _design(self, X: Any) -> np.ndarray:
        X = np.asarray(X, dtype=LONG)
        return np.hstack([X, np.ones((len(X), int(self.fit_intercept)), dtype=LONG)])

    def _prepare(self, X: Any, weights: Any) -> None:
        """Columns about their means, which changes no prediction; so are rounding errors that a scaler left."""
        X = np.asarray(X, dtype=LONG)
        is_left = (np.ptp(X, axis=0) == 0) & (np.abs(X).max(axis=0, initial=0) < LEFT)
        self.place_ = np.where(is_left | self.fit_intercept, X.mean(axis=0), LONG(0))
        self._A = self._design(X - self.place_)
        self._w = np.ones(len(X), dtype=LONG) if weights is None else np.asarray(weights, dtype=LONG)
        self._free = np.append(np.ones(X.shape[1], dtype=LONG), np.zeros(int(self.fit_intercept), dtype=LONG))

    def _minimise(self, rows: Rows, penalty: Any, start: np.ndarray) -> None:
        self._minimum = Minimum(self._A, self._w, rows, penalty * self._free, start)
        self.theta_ = self._minimum.coefficients()

    def _scores(self, X: Any) -> np.ndarray:
        return self._minimum.scores(self._design(np.asarray(X, dtype=LONG) - self.place_))


class PreciseFamily(RegressorMixin, _Linear):
    """Poisson, gamma and Tweedie regression with scikit-learn's objective."""

    def __init__(self, power: float = 1.0, alpha: float = 1.0, fit_intercept: bool = True) -> None:
        self.power, self.alpha, self.fit_intercept = power, alpha, fit_intercept

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> PreciseFamily:
        """Minimise half the mean deviance and the penalty."""
        self._prepare(X, sample_weight)
        self._y, self._w = np.asarray(y, dtype=LONG), self._w / self._w.sum()
        start = np.zeros(self._A.shape[1], dtype=LONG)
        if self.fit_intercept and self.power:
            if not self._w @ self._y:
                raise FloatingPointError("all y are zero: the intercept is at infinity")
            start[-1] = np.log(self._w @ self._y)
        self._minimise(FamilyRows(y, self.power), LONG(self.alpha), start[:, None])
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Means."""
        eta = self._scores(X)[:, 0]
        return (eta if self.power == 0 else np.exp(eta)).astype(float)


def _class_weights(given: Any, classes: np.ndarray, y: Any, weights: Any) -> np.ndarray:
    """As the installed scikit-learn counts them: those that balance classes mind the weights of rows, or do not."""
    knows = "sample_weight" in inspect.signature(compute_class_weight).parameters
    extra = {"sample_weight": _check_sample_weight(weights, np.empty((len(y), 1)))} if knows else {}
    return compute_class_weight(given, classes=classes, y=np.asarray(y), **extra).astype(LONG)


class PreciseLogistic(ClassifierMixin, _Linear):
    """Logistic regression, of two classes or softmax, with scikit-learn's objective."""

    def __init__(self, C: float = 1.0, fit_intercept: bool = True, class_weight: Any = None) -> None:
        self.C, self.fit_intercept, self.class_weight = C, fit_intercept, class_weight

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> PreciseLogistic:
        """Minimise the log loss and the penalty."""
        self._prepare(X, sample_weight)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError("one class only")
        if self.class_weight is not None:
            self._w = self._w * _class_weights(self.class_weight, self.classes_, y, sample_weight)[codes]
        self._codes = (codes[:, None] == np.arange(len(self.classes_))).astype(LONG)
        self._count = 1 if len(self.classes_) == 2 else len(self.classes_)
        if self.fit_intercept and len(np.unique(codes[np.asarray(self._w > 0)])) < len(self.classes_):
            raise FloatingPointError("a class has no row with a weight: its intercept is at infinity")
        if np.isinf(self.C) and self._is_separated():
            raise FloatingPointError("classes are told apart without error: the fit is at infinity")
        rows = BernoulliRows(codes) if self._count == 1 else SoftmaxRows(codes, self._count)
        self._minimise(rows, 1 / LONG(self.C), np.zeros((self._A.shape[1], self._count), dtype=LONG))
        return self

    def _is_separated(self) -> bool:
        """Whether a direction lowers no row's likelihood and raises some (Albert and Anderson, 1984)."""
        A, k = self._A[self._w > 0].astype(float), len(self.classes_)
        codes = self._codes[self._w > 0].astype(float)
        A = A / np.abs(A).max(axis=0, initial=np.finfo(float).tiny)
        gains = [  # of a row's own class over another, for coefficients (k, width)
            (codes[:, :, None] - np.eye(k)[other][:, None])[codes[:, other] == 0] * A[codes[:, other] == 0][:, None]
            for other in range(k)
        ]
        M = np.concatenate(gains).reshape(-1, k * A.shape[1])
        found = linprog(-M.sum(axis=0), A_ub=-M, b_ub=np.zeros(len(M)), bounds=(-1, 1))
        return bool(found.status == 0 and -found.fun > 1e-5 and is_way(M, M[:0], found.x))

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of the classes, rounded as scikit-learn does it: what it takes for ties are ties."""
        scores = self._scores(X).astype(float)
        if self._count > 1:
            return softmax(scores)
        upper = expit(scores)
        return np.hstack([1 - upper, upper])

    def decision_function(self, X: Any) -> np.ndarray:
        """Scores."""
        scores = self._scores(X).astype(float)
        return scores[:, 0] if self._count == 1 else scores

    def predict(self, X: Any) -> np.ndarray:
        """The likeliest class, the first of those that differ by the last bits of this precision only."""
        scores = self._scores(X)
        if self._count == 1:
            return self.classes_[(scores[:, 0] > EVEN).astype(int)]
        return self.classes_[(scores >= scores.max(axis=1, keepdims=True) - EVEN).argmax(axis=1)]


class PreciseElasticNet(RegressorMixin, BaseEstimator):
    """The lasso and the elastic net with scikit-learn's objective, by feature-sign search (Lee and others, 2006)."""

    def __init__(self, alpha: float = 1.0, l1_ratio: float = 0.5, fit_intercept: bool = True) -> None:
        self.alpha, self.l1_ratio, self.fit_intercept = alpha, l1_ratio, fit_intercept

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> PreciseElasticNet:
        """Minimise half the mean squared error and the penalty."""
        X, y = np.asarray(X, dtype=LONG), np.asarray(y, dtype=LONG)
        w = np.ones(len(X), dtype=LONG) if sample_weight is None else np.asarray(sample_weight, dtype=LONG)
        w = w / w.sum()
        self.place_ = w @ X * int(self.fit_intercept)
        self.mean_ = w @ y * int(self.fit_intercept)
        A, r = X - self.place_, y - self.mean_
        ratio = LONG(self.l1_ratio)
        gram = A.T @ (w[:, None] * A) + LONG(self.alpha) * (1 - ratio) * np.eye(X.shape[1], dtype=LONG)
        noise = LONG(1e-16) * np.sqrt(np.diagonal(gram) * (w @ r**2))
        penalty, right = LONG(self.alpha) * ratio, A.T @ (w * r)
        self.coef_ = _feature_sign(gram, right, penalty, noise)
        near = np.abs(right - gram @ self.coef_) >= penalty - TIED * np.abs(right).max(initial=0)
        self.free_ = near & (ratio == 1 and _depend(np.sqrt(w)[:, None] * A[:, near]))
        if self.free_.any():
            self.coef_ = self._descended(X, y, sample_weight)
        return self

    def spread(self, X: Any) -> np.ndarray:
        """How far predictions of two solutions can be apart: both have the same sum of absolute coefficients."""
        far = np.abs(np.asarray(X, dtype=LONG) - self.place_)[:, self.free_].max(axis=1, initial=0)
        return (2 * np.abs(self.coef_).sum() * far).astype(float)

    def _descended(self, X: np.ndarray, y: np.ndarray, weights: Any) -> np.ndarray:
        """One of many solutions, which predict other rows differently: the one that scikit-learn's descent ends at."""
        model = Lasso(self.alpha, fit_intercept=self.fit_intercept, tol=1e-14, max_iter=MOST_SWEEPS)
        model.fit(X.astype(float), y.astype(float), sample_weight=weights)
        if model.n_iter_ >= MOST_SWEEPS:
            raise FloatingPointError("the lasso has many solutions, and scikit-learn's descent does not end at one")
        return model.coef_.astype(LONG)

    def predict(self, X: Any) -> np.ndarray:
        """The fitted line."""
        return (self.mean_ + (np.asarray(X, dtype=LONG) - self.place_) @ self.coef_).astype(float)


def _depend(columns: np.ndarray) -> bool:
    """Whether columns depend on each other, as far as the digits of doubles tell."""
    size = np.sqrt((columns**2).sum(axis=0))
    spread = np.linalg.svd((columns[:, size > 0] / size[size > 0]).astype(float), compute_uv=False)
    return bool((size > 0).sum() > len(columns) or spread.min(initial=1.0) < DEPENDENT)


def _feature_sign(gram: np.ndarray, right: np.ndarray, penalty: np.ndarray, noise: np.ndarray) -> np.ndarray:
    """Minimise ``b'Gb/2 - h'b + penalty |b|``: columns come in one by one, and leave where they change their sign."""
    b, signs = np.zeros(len(right), dtype=LONG), np.zeros(len(right), dtype=LONG)
    for _ in range(MOST_STEPS):
        slope = right - gram @ b
        beyond = np.where(signs == 0, np.abs(slope) - penalty - noise, -1)
        entering = int(np.argmax(beyond))
        if beyond[entering] <= 0:
            on = signs != 0
            if (np.abs(slope - penalty * signs)[on] > 10 * noise[on] + LONG(1e-9) * penalty).any():
                break  # a column that others span came in, and stayed at zero
            return b
        signs[entering] = np.sign(slope[entering])
        for _ in range(MOST_STEPS):
            active = np.flatnonzero(signs)
            goal = solve(gram[np.ix_(active, active)], right[active] - penalty * signs[active])
            start = b[active]
            with np.errstate(all="ignore"):
                shares = np.where(np.sign(goal) * signs[active] < 0, start / (start - goal), LONG(2))
            share = shares.min()
            if share > 1:
                b[active] = goal
                break
            b[active] = start + share * (goal - start)
            b[active[shares <= share]] = signs[active[shares <= share]] = 0
    raise FloatingPointError("the reference does not end")
