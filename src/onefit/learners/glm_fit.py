"""Newton's method for one training set of a generalized linear model, from its rows, with halving and a certificate."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import linalg

from ..typing import FloatArray
from .glm_families import Family

__all__ = ["CERTIFIED", "Fit", "NoFiniteFit", "fit_newton"]

CERTIFIED = 1e-8
"""Newton decrement over the root of the summed curvatures, from which one more step gives all digits.

It is the change of the linear predictor that the gradient still asks for, as a root mean square over the rows.
"""

SETTLED = 1e-5
"""Change of the linear predictor of any row at which a fit may have converged: where classes can be told apart without
error, rows go on to infinity by steps of about one, though their gradients vanish."""

MOST_STEPS, MOST_HALVINGS = 100, 60

ENOUGH = 1e-4
"""Part of the decrease that the gradient promises with which a step is accepted."""

DEPENDENT = 1e-13
"""Eigenvalues of a Hessian with ones on its diagonal below this are those of columns that depend on each other."""


class NoFiniteFit(Exception):
    """The loss has no minimum: coefficients go to infinity."""


@dataclass(frozen=True)
class Fit:
    """A fit: coefficients (c, p), and directions (p c, k) in these that the rows do not determine."""

    theta: FloatArray
    free: FloatArray


@dataclass(frozen=True)
class _Point:
    """The objective, its gradient and its Hessian at some coefficients (c, p)."""

    Z: FloatArray
    y: FloatArray
    weights: FloatArray
    penalty: FloatArray
    family: Family
    theta: FloatArray

    @cached_property
    def eta(self) -> FloatArray:
        """Linear predictors (P, n)."""
        found: FloatArray = self.family.basis @ (self.theta @ self.Z.T)
        return found

    @cached_property
    def objective(self) -> float:
        """Weighted losses and the penalty."""
        losses = self.weights @ self.family.loss(self.eta, self.y)
        return float(losses + 0.5 * (self.penalty * np.square(self.theta)).sum())

    @cached_property
    def descent(self) -> FloatArray:
        """Minus the gradient, (c, p)."""
        residual = self.weights * self.family.residual(self.eta.copy(), self.y)
        found: FloatArray = (self.family.basis.T @ residual) @ self.Z - self.penalty * self.theta
        return found

    def hessian(self) -> tuple[FloatArray, float]:
        """Second derivatives (c p, c p), and the sum of the curvatures of the rows."""
        c, p = self.theta.shape
        curvature = self.weights * self.family.curvature(self.eta, self.y)
        H = np.empty((c, p, c, p))
        for a in range(c):
            for b in range(a, c):
                H[a, :, b] = self.Z.T @ (curvature[a, b][:, None] * self.Z)
                H[b, :, a] = H[a, :, b].T
        at = np.arange(p)
        for a in range(c):
            H[a, at, a, at] += self.penalty
        return H.reshape(c * p, c * p), float(np.einsum("aan->", curvature))

    def moved(self, step: FloatArray) -> _Point:
        """The same elsewhere."""
        return _Point(self.Z, self.y, self.weights, self.penalty, self.family, self.theta + step)


def fit_newton(
    Z: FloatArray,
    y: FloatArray,
    weights: FloatArray,
    penalty: FloatArray,
    family: Family,
    start: FloatArray | None = None,
) -> Fit:
    """Minimize ``sum w l(eta, y) + sum penalty theta^2 / 2`` with ``eta = Z theta``.

    Parameters
    ----------
    Z : array (n, p)
        Columns, a constant among them if there is an intercept.
    y : array (P, n) or (1, n)
    weights : array (n,)
    penalty : array (p,)
    family : Family
    start : array (c, p), default=None
        Zero by default.
    """
    theta = np.zeros((family.basis.shape[1], Z.shape[1])) if start is None else start
    with np.errstate(over="ignore", invalid="ignore"):
        point = _Point(Z, y, weights, penalty, family, theta)
        if not np.isfinite(point.objective):
            point = point.moved(-theta)
        for _ in range(MOST_STEPS):
            step, free, change = _newton_step(point)
            largest = np.abs(family.basis @ (step @ Z.T)).max(initial=0.0)
            if change <= CERTIFIED and largest <= SETTLED:
                return Fit(point.theta + step, free)
            point = _halved(point, step)
    raise NoFiniteFit


def _newton_step(point: _Point) -> tuple[FloatArray, FloatArray, float]:
    """The step, the directions that the Hessian does not know, and how far the linear predictor is from converged."""
    H, curvature = point.hessian()
    g = point.descent.ravel()
    d = np.diag(H)
    if not np.isfinite(d).all() or curvature <= 0:
        raise NoFiniteFit
    D = np.where(d > 0, 1.0 / np.sqrt(np.where(d > 0, d, 1.0)), 0.0)
    scaled = D[:, None] * H * D
    values, vectors = linalg.eigh(scaled, check_finite=False)
    is_known = values > DEPENDENT * len(values)
    along = vectors[:, is_known].T @ (D * g)
    step = D * (vectors[:, is_known] @ (along / values[is_known]))
    change = float(np.sqrt(np.sum(np.square(along) / values[is_known]) / curvature))
    return step.reshape(point.theta.shape), D[:, None] * vectors[:, ~is_known], change


def _halved(point: _Point, step: FloatArray) -> _Point:
    """Half the step until the objective falls enough."""
    promised = float((point.descent * step).sum())
    slack = 1e-13 * (1.0 + abs(point.objective))  # rounding errors of the objective
    for _ in range(MOST_HALVINGS):
        found = point.moved(step)
        if found.objective <= point.objective - ENOUGH * promised + slack:
            return found
        step, promised = step / 2.0, promised / 2.0
    raise NoFiniteFit
