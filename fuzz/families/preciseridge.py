"""Ridge regression and least squares in ball arithmetic: digits are certain, whatever the sizes of the columns."""

from __future__ import annotations

from typing import Any

import numpy as np
from flint import arb, arb_mat, ctx
from sklearn.linear_model import LinearRegression, Ridge, RidgeCV

from ..balls import as_balls

__all__ = ["FirstRidgeCV", "PreciseLeastSquares", "PreciseRidge"]

BITS = (256, 1024, 4096)
KNOWN, ZERO = 80, 1e-250
"""Bits of a coefficient that suffice; the radius of one that is zero."""
TIED = 1e-12
"""Part of a leave-one-out error by which rounding errors may tell penalties apart that give the same."""
SURE = 1e-10
"""Least singular value of columns of length one that is no rounding error of columns that depend on each other."""


class PreciseRidge(Ridge):
    """Scikit-learn's objective; penalties are above zero, or columns independent: there is one solution."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> PreciseRidge:
        """Solve the normal equations, with as many bits as it takes."""
        A, Y = self._with_constant(X), np.asarray(y, dtype=float)
        self.is_vector_ = Y.ndim == 1
        weights = np.ones(len(Y)) if sample_weight is None else np.asarray(sample_weight, dtype=float)
        for bits in BITS:
            with ctx.workprec(bits):
                self.theta_ = self._solved(A, Y.reshape(len(Y), -1), weights)
            if self.theta_ is not None and all(map(_is_known, self.theta_.entries())):
                return self
        raise FloatingPointError(f"coefficients take more than {BITS[-1]} bits")

    def predict(self, X: Any) -> np.ndarray:
        """The nearest doubles, of one output or several."""
        with ctx.workprec(BITS[1]):
            found = as_balls(self._with_constant(X)) * self.theta_
            table = np.array([[float(each.mid()) for each in row] for row in found.tolist()])
        return table[:, 0] if self.is_vector_ else table

    def _with_constant(self, X: Any) -> np.ndarray:
        return np.hstack([np.asarray(X, dtype=float), np.ones((len(X), int(self.fit_intercept)))])

    def _solved(self, A: np.ndarray, Y: np.ndarray, weights: np.ndarray) -> arb_mat | None:
        columns, p = as_balls(A), A.shape[1]
        sides = [arb(w) * arb(value) for w, row in zip(weights, A.tolist(), strict=True) for value in row]
        weighted = arb_mat(*A.shape, sides).transpose()
        penalty = np.diag([float(self.alpha)] * (p - self.fit_intercept) + [0.0] * self.fit_intercept)
        try:
            return (weighted * columns + as_balls(penalty)).solve(weighted * as_balls(Y))
        except ZeroDivisionError:  # with these bits it may be singular
            return None


class FirstRidgeCV(RidgeCV):
    """Scikit-learn's search by leave-one-out; of penalties that are as good as each other the first is taken.

    Of two rows each is predicted by the other, whatever the penalty is: scikit-learn lets rounding errors choose.
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> FirstRidgeCV:
        """Search, look at the errors of all penalties, and fit again if an earlier one is as good."""
        super().fit(X, y, sample_weight)
        looked = RidgeCV(self.alphas, fit_intercept=self.fit_intercept, store_cv_results=True).fit(X, y, sample_weight)
        errors = looked.cv_results_.reshape(len(X), -1, len(self.alphas)).mean(axis=(0, 1))
        first = self.alphas[int(np.argmax(errors <= errors.min() * (1 + TIED)))]
        if first != self.alpha_:
            fixed = Ridge(first, fit_intercept=self.fit_intercept).fit(X, y, sample_weight)
            self.alpha_, self.coef_, self.intercept_ = first, fixed.coef_, fixed.intercept_
        return self


class PreciseLeastSquares(LinearRegression):
    """Least squares in all directions: scikit-learn's ``tol`` drops small columns beside large ones.

    Where columns depend on each other, as far as doubles tell, it is scikit-learn's own, unless that drops more.
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> PreciseLeastSquares:
        """Ridge regression without a penalty, if there is one solution."""
        self.exact_ = None
        count, width = _directions(np.asarray(X, dtype=float), self.fit_intercept, sample_weight)
        if count == width:
            self.exact_ = PreciseRidge(0.0, fit_intercept=self.fit_intercept).fit(X, y, sample_weight)
            return self
        super().fit(X, y, sample_weight)
        if self.rank_ < count:
            raise FloatingPointError("directions are dropped that are no rounding errors")
        return self

    def predict(self, X: Any) -> np.ndarray:
        """The fitted line."""
        return super().predict(X) if self.exact_ is None else self.exact_.predict(X)


def _directions(X: np.ndarray, is_centred: bool, weights: Any) -> tuple[int, int]:
    """How many directions the columns have, each of length one, and how many columns there are."""
    w = np.ones(len(X)) if weights is None else np.asarray(weights, dtype=float)
    largest = np.abs(X).max(axis=0, initial=0.0)
    A = X / np.where(largest > 0, largest, 1.0)
    A = np.sqrt(w)[:, None] * (A - (w @ A / w.sum() if is_centred else 0.0))
    length = np.linalg.norm(A, axis=0)
    values = np.linalg.svd(A / np.where(length > 0, length, 1.0), compute_uv=False)
    return int((values > SURE).sum()), X.shape[1]


def _is_known(coefficient: arb) -> bool:
    return coefficient.rel_accuracy_bits() >= KNOWN or float(coefficient.abs_upper()) < ZERO
