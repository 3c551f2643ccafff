"""Newton's method for one training set of a generalized linear model, from its rows, with halving and a certificate."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import linalg
from scipy.linalg import lapack

from ..typing import FloatArray, IntArray
from .glm_families import Family

__all__ = ["CERTIFIED", "Fit", "NoFiniteFit", "NotSettled", "fit_newton"]

CERTIFIED = 1e-8
"""Newton decrement over the root of the summed curvatures, from which one more step gives all digits.

It is the change of the linear predictor that the gradient still asks for, as a root mean square over the rows.
"""

SETTLED = 1e-5
"""Change of the linear predictor of any row at which a fit may have converged: where classes can be told apart without
error, rows go on to infinity by steps of about one, though their gradients vanish."""

POLISHED, HIDDEN = 1e-9, 1e-7
"""The same, from which one more step gives all digits in rows far from the others, too; and what rounding errors
may leave of it where columns nearly depend on each other."""

UNSETTLED = 0.1
"""The same after the last step, up to which it is rounding errors rather than rows that go to infinity."""

MOST_STEPS, MOST_HALVINGS = 100, 60
MOST_HELD = 900
"""Steps where there are penalties: rows that a weak one holds far out, up to the logarithm of the smallest double, come
there by steps of about one."""

ENOUGH = 1e-4
"""Part of the decrease that the gradient promises with which a step is accepted."""

DEPENDENT = 1e-13
"""Singular values of columns of length one (of the root of a Hessian) below this are those of columns that depend on
each other."""

NEARLY = 1e-8
"""Eigenvalues of a Hessian with ones on its diagonal below which it has lost digits that its root still has."""


class NoFiniteFit(Exception):
    """The loss has no minimum: coefficients go to infinity."""


class NotSettled(NoFiniteFit):
    """Rounding errors hide where the minimum is."""


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

    def directions(self, scale: FloatArray, some: IntArray) -> tuple[FloatArray, FloatArray]:
        """Eigenvalues and eigenvectors of a part of the Hessian with scales on both sides, from the columns."""
        c, p = self.theta.shape
        roots = np.sqrt(self.weights) * self.family.root_curvature(self.eta, self.y)  # (P, c, n)
        rows = (roots[:, :, :, None] * self.Z).transpose(0, 2, 1, 3).reshape(-1, c * p)
        held = np.diag(np.sqrt(np.tile(self.penalty, c)))
        R = linalg.qr(np.vstack([rows, held])[:, some] * scale, mode="r", check_finite=False)[0][: len(some)]
        _, values, vectors = linalg.svd(R, check_finite=False)
        return np.square(values), vectors.T

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
    also: FloatArray | None = None,
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
    also : array (m, p), default=None
        Other rows whose linear predictors must have settled.
    """
    theta = np.zeros((family.basis.shape[1], Z.shape[1])) if start is None else start
    with np.errstate(over="ignore", invalid="ignore"):
        point = _Point(Z, y, weights, penalty, family, theta)
        if not np.isfinite(point.objective):
            point = point.moved(-theta)
        rows = Z if also is None else np.vstack([Z, also])
        last = np.inf
        for _ in range(MOST_HELD if penalty.any() else MOST_STEPS):
            step, free, change = _newton_step(point)
            largest = float(np.abs(family.basis @ (step @ rows.T)).max(initial=0.0))
            if not (change <= CERTIFIED and largest <= SETTLED):
                point = _halved(point, step)
            elif largest <= POLISHED or (largest <= HIDDEN and largest > last / 4.0):
                return Fit(point.theta + step, free)
            else:
                point, last = point.moved(step), largest
    raise NotSettled if largest <= UNSETTLED else NoFiniteFit


def _newton_step(point: _Point) -> tuple[FloatArray, FloatArray, float]:
    """The step, the directions that the Hessian does not know, and how far the linear predictor is from converged."""
    H, curvature = point.hessian()
    g = point.descent.ravel()
    d = np.diag(H)
    if not np.isfinite(d).all() or curvature <= 0:
        raise NoFiniteFit
    kept = np.flatnonzero(d > 0)  # a column of zeros stays where it is
    step = np.zeros_like(g)
    if not len(kept):
        return step.reshape(point.theta.shape), np.zeros((len(g), 0)), 0.0
    D = 1.0 / np.sqrt(d[kept])
    right = D * g[kept]
    scaled = D[:, None] * H[np.ix_(kept, kept)] * D
    factor, failed = lapack.dpotrf(scaled, lower=1)
    if not failed and lapack.dpocon(factor, np.abs(scaled).sum(axis=0).max(), uplo="L")[0] > NEARLY:
        step[kept] = D * lapack.dpotrs(factor, right, lower=1)[0]
        change = float(np.sqrt(max(0.0, float(step @ g)) / curvature))
        return step.reshape(point.theta.shape), np.zeros((len(g), 0)), change
    values, vectors = linalg.eigh(scaled, check_finite=False)
    if values[0] < NEARLY:
        values, vectors = point.directions(D, kept)
    is_known = values > np.square(DEPENDENT * len(values))
    along = vectors[:, is_known].T @ right
    step[kept] = D * (vectors[:, is_known] @ (along / values[is_known]))
    change = float(np.sqrt(np.sum(np.square(along) / values[is_known]) / curvature))
    free = np.zeros((len(g), int((~is_known).sum())))
    free[kept] = D[:, None] * vectors[:, ~is_known]
    return step.reshape(point.theta.shape), free, change


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
