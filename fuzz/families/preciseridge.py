"""Ridge regression in ball arithmetic, as an estimator: digits are certain, whatever the sizes of the columns."""

from __future__ import annotations

from typing import Any

import numpy as np
from flint import arb, arb_mat, ctx
from sklearn.linear_model import Ridge

from ..balls import as_balls

__all__ = ["PreciseRidge"]

BITS = (256, 1024, 4096)
KNOWN, ZERO = 80, 1e-250
"""Bits of a coefficient that suffice; the radius of one that is zero."""


class PreciseRidge(Ridge):
    """Scikit-learn's objective; penalties are above zero, so that there is one solution."""

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


def _is_known(coefficient: arb) -> bool:
    return coefficient.rel_accuracy_bits() >= KNOWN or float(coefficient.abs_upper()) < ZERO
