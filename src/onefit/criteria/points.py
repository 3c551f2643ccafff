r"""GCV and REML of several penalties at one place, with their derivatives, and along the axes through it.

With ``M = I + sum_t E_t E_t'/lam_t`` of a `Reduced` problem the residual operator is ``A = M^-1``, so that

.. math::

    RSS = rest + z'A^2z, \quad RSS + b'Sb = rest + z'Az, \quad n - edf = spare + tr(A).

A QR of the stacked ``[E_t'/lam_t^(1/2); I]`` gives the factor V of ``M = V'V``. With ``L_t = E_t' V^-1 / lam_t^(1/2)``,
``y = V^-T z``, ``N_t = L_t V^-T`` and ``x = V^-1 y = Az`` the derivatives in ``rho = log lam`` are sums over blocks of
``LL'`` and ``NN'``: ``dA/drho_t = V^-1 K_t V^-T`` with ``K_t = L_t'L_t``, and

.. math::

    d^2A/drho_s drho_t = V^{-1} (K_s K_t + K_t K_s - \delta_{st} K_t) V^{-T}.

Along one axis, other penalties fixed, one decomposition of ``L_t L_t'`` gives the criterion everywhere.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from copy import copy
from typing import NamedTuple, Self

import numpy as np
from scipy import linalg

from ..typing import FloatArray
from .reduced import Reduced, triangle
from .single import AXIS, AXIS_POINTS, NEAR_INTERPOLATION, TIED

__all__ = [
    "GRID",
    "LEAST",
    "MOST",
    "ROUNDING",
    "SMALLEST_NORMAL",
    "GcvPoint",
    "GuardedGcv",
    "Point",
    "RemlPoint",
    "StrictGcv",
    "eigen",
    "inside",
]

GRID = np.log(10.0) * np.linspace(*AXIS, AXIS_POINTS)
"""Places at which an axis is scanned; most penalized first."""

MOST, LEAST = float(GRID[0]), float(GRID[-1])
SMALLEST_NORMAL = float(np.finfo(np.float64).tiny)

ROUNDING = TIED * (MOST - LEAST)
"""Values are sums of logarithms that run through the whole axis: smaller differences may be rounding errors."""

STEEP = 10.0
"""How steep the guard of GCV against interpolation is."""


TRUSTED = 1e4
"""A change of one penalty that magnifies rounding errors more than this is decomposed anew."""


class Shift(NamedTuple):
    """A move of one term: its columns, `Point.line` at the place, ``c^(1/2)``, ``L L_t'P`` and ``P'L_t y``."""

    own: slice
    P: FloatArray
    shrink: FloatArray
    D: FloatArray
    root: float
    K: FloatArray
    b: FloatArray


class Point(ABC):
    """A problem at one place of the axes: its decomposition there, and what a criterion makes of it.

    ``made`` counts the decompositions of all points that come from one another.
    """

    value: float
    tolerance: float
    is_exact = True

    def __init__(self, problem: Reduced, rho: FloatArray) -> None:
        self.problem, self.rho, self.made = problem, rho, [1]
        q, r = problem.E.shape
        by_column = rho[problem.coordinates.term]
        whole = problem.whole.copy(order="F")
        whole[:, :r] *= np.exp(-by_column / 2)
        stack = np.empty((r + q, q), order="F")
        # large rows first: small ones then keep their digits
        stack[:r] = whole.T[np.argsort(by_column, kind="stable")]
        stack[r:] = problem.identity
        self.V = np.multiply(triangle(stack), problem.upper, order="F")
        whole = _solve(self.V, whole, transposed=True)
        self.Lt, self.y = whole[:, :r], whole[:, r:]
        self.LL, self.a = self.Lt.T @ self.Lt, self.Lt.T @ self.y

    def moved(self, rho: FloatArray) -> Self:
        """The same problem elsewhere, in the box."""
        there = type(self)(self.problem, inside(self.problem, rho))
        self.made[0] += 1
        there.made = self.made
        return there

    def shifted(self, term: int, at: int) -> Self:
        """The same problem at a place of one axis, from the decomposition at hand where that is accurate enough.

        With the terms of `line`, ``L_s L_u'`` becomes ``L_s L_u' - L_s L_t'P diag(shrink) P'L_t L_u'``, and that of
        the term itself, which would cancel, ``c^(1/2) P diag(1/D) P'L_t L_u'``.
        """
        own = self.problem.coordinates.terms[term]
        P, shrink, D = (each[:, at] if k else each for k, each in enumerate(self.line(term)))
        rho = self.rho.copy()
        rho[term] = GRID[at]
        if (np.abs(shrink) > TRUSTED).any() or (D < 1.0 / TRUSTED).any():
            return self.moved(rho)
        there, root = copy(self), float(np.exp((self.rho[term] - GRID[at]) / 2))
        K, b = self.LL[:, own] @ P, P.T @ self.a[own]
        there.rho, there.is_exact = rho, False
        there.LL, there.a = self.LL - (K * shrink) @ K.T, self.a - K @ (shrink[:, None] * b)
        mine = root * (P / D) @ K.T
        there.LL[own], there.LL[:, own] = mine, mine.T
        there.LL[own, own], there.a[own] = root * mine[:, own], root * (P / D) @ b
        self._shift(there, Shift(own, P, shrink, D, root, K, b))
        return there

    @abstractmethod
    def _shift(self, there: Self, by: Shift) -> None:
        """Change what is the criterion's own."""

    @abstractmethod
    def derivatives(self) -> tuple[FloatArray, FloatArray]:
        """Gradient (T,) and Hessian (T, T) of the value."""

    @abstractmethod
    def along(self, term: int) -> FloatArray:
        """Values on the grid of one axis."""

    @abstractmethod
    def report(self) -> tuple[float, FloatArray, FloatArray]:
        """The criterion, its gradient and its Hessian."""

    @property
    def is_guarded(self) -> bool:
        """Whether the criterion alone would not have its minimum here."""
        return False

    def line(self, term: int) -> tuple[FloatArray, FloatArray, FloatArray]:
        """``L_t L_t' = P diag(s) P'``, and what the penalties of the grid, lam/c, make of it.

        ``M`` becomes ``V'(I + (c - 1) L_t'L_t)V``, with eigenvalues ``D = 1 + (c - 1) s`` in the middle, and the middle
        of ``A`` becomes ``I - L_t'P diag(shrink) P'L_t``, ``shrink = (c - 1)/D``. Returns P, shrink and D.
        """
        own = self.problem.coordinates.terms[term]
        s, P = eigen(self.LL[own, own])
        s = np.minimum(np.maximum(s, 0.0), 1.0)[:, None]
        c = np.exp(self.rho[term] - GRID)
        D = np.maximum(1.0 - s, SMALLEST_NORMAL) + c * s
        return P, (c - 1.0) / D, D


class RemlPoint(Point):
    """REML, summed over the outputs."""

    def __init__(self, problem: Reduced, rho: FloatArray) -> None:
        super().__init__(problem, rho)
        self.dimension = problem.n - problem.coordinates.k
        self.tolerance = ROUNDING * max(self.dimension, 1) * problem.z.shape[1]
        self.penalized = np.maximum(problem.rest + np.square(self.y).sum(axis=0), SMALLEST_NORMAL)
        self.log_det = 2.0 * float(np.log(np.abs(self.V.diagonal())).sum())
        self.value = float(self._values(self.penalized, self.log_det))

    def _values(self, penalized: FloatArray, log_det: FloatArray | float) -> FloatArray:
        """The criterion from ``RSS + b'Sb`` (Q, ...) of the outputs and from ``log|M|``."""
        D, Q = self.dimension, len(self.penalized)
        log_phi = np.log(penalized).sum(axis=0) - Q * np.log(max(D, 1) / (2.0 * np.pi))
        values: FloatArray = D / 2 * (Q + log_phi) + Q * (self.problem.constant + log_det / 2)
        return values

    def derivatives(self) -> tuple[FloatArray, FloatArray]:
        """Gradient and Hessian."""
        D, Q, total = self.dimension, len(self.penalized), self.problem.coordinates.of_term
        a = self.a / np.sqrt(self.penalized)
        shares = total @ np.square(a)
        gradient = D / 2 * shares.sum(axis=1) - Q / 2 * (total @ self.LL.diagonal())
        blocks = total @ ((D * (a @ a.T) - Q / 2 * self.LL) * self.LL) @ total.T
        return gradient, blocks - D / 2 * (shares @ shares.T) - np.diag(gradient)

    def along(self, term: int) -> FloatArray:
        """Values on the grid of one axis."""
        P, shrink, D = self.line(term)
        change = np.square(P.T @ self.a[self.problem.coordinates.terms[term]]).T @ shrink
        penalized = np.maximum(self.penalized[:, None] - change, SMALLEST_NORMAL)
        return self._values(penalized, self.log_det + np.log(D).sum(axis=0))

    def _shift(self, there: Self, by: Shift) -> None:
        there.penalized = np.maximum(self.penalized - by.shrink @ np.square(by.b), SMALLEST_NORMAL)
        there.log_det = self.log_det + float(np.log(by.D).sum())
        there.value = float(there._values(there.penalized, there.log_det))

    def report(self) -> tuple[float, FloatArray, FloatArray]:
        """The criterion, its gradient and its Hessian."""
        return (self.value, *self.derivatives())


class GcvPoint(Point):
    """Logarithm of the GCV of all outputs together: it has the same minimum, and no units."""

    tolerance = ROUNDING
    floor = 0.0

    def __init__(self, problem: Reduced, rho: FloatArray) -> None:
        super().__init__(problem, rho)
        r = problem.E.shape[1]
        solved = _solve(self.V, np.hstack([self.Lt, self.y]), transposed=False)
        self.Nt, self.x = solved[:, :r], solved[:, r:]
        self.rest = float(problem.rest.sum())
        self.rss = max(self.rest + float(np.square(self.x).sum()), SMALLEST_NORMAL)
        self.left = problem.spare + float(np.square(_inverse(self.V)).sum())
        self.value = float(self._values(self.rss, self.left))

    def _values(self, rss: FloatArray | float, left: FloatArray | float) -> FloatArray:
        """Logarithm of ``n RSS/(n - edf)^2``, and the guard."""
        n = self.problem.n
        defined = np.asarray(left > NEAR_INTERPOLATION * n)
        known = np.where(defined, left, n)
        guard = STEEP * np.power(np.log(np.maximum(self.floor * n / known, 1.0)), 3)
        return np.where(defined, np.log(n * rss / np.square(known)) + guard, np.inf)

    @property
    def is_guarded(self) -> bool:
        """Whether the criterion alone would not have its minimum here."""
        return self.left < self.floor * self.problem.n

    def changes(self) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """First and second derivatives of ``n - edf`` and of RSS."""
        total, a, b = self.problem.coordinates.of_term, self.a, self.Nt.T @ self.x
        NN, cross = self.Nt.T @ self.Nt, a @ b.T
        left_1 = total @ NN.diagonal()
        left_2 = 2.0 * (total @ (self.LL * NN) @ total.T) - np.diag(left_1)
        rss_1 = 2.0 * (total @ (a * b).sum(axis=1))
        rss_2 = 2.0 * (total @ ((a @ a.T) * NN + (cross + cross.T) * self.LL) @ total.T) - np.diag(rss_1)
        return left_1, left_2, rss_1, rss_2

    def derivatives(self) -> tuple[FloatArray, FloatArray]:
        """Gradient and Hessian, NaN where the value is infinite."""
        left, rss = self.left if np.isfinite(self.value) else np.nan, self.rss
        left_1, left_2, rss_1, rss_2 = (
            each / by for each, by in zip(self.changes(), (left, left, rss, rss), strict=True)
        )
        left_2 -= np.outer(left_1, left_1)
        short = np.log(max(self.floor * self.problem.n / left, 1.0))  # derivatives of the guard STEEP short^3
        slope = -2.0 - 3.0 * STEEP * short**2
        hessian = rss_2 - np.outer(rss_1, rss_1) + slope * left_2 + 6.0 * STEEP * short * np.outer(left_1, left_1)
        return rss_1 + slope * left_1, hessian

    def along(self, term: int) -> FloatArray:
        """Values on the grid of one axis."""
        P, shrink, _ = self.line(term)
        own = self.problem.coordinates.terms[term]
        C, alpha = self.Nt[:, own] @ P, P.T @ self.a[own]
        change = C @ (alpha.T[:, :, None] * shrink)
        rss = self.rest + np.square(self.x.T[:, :, None] - change).sum(axis=(0, 1))
        return self._values(np.maximum(rss, SMALLEST_NORMAL), self.left - np.square(C).sum(axis=0) @ shrink)

    def _shift(self, there: Self, by: Shift) -> None:
        own, P, shrink, D, root, K, b = by
        C = self.Nt[:, own] @ P
        there.Nt, there.x = self.Nt - (C * shrink) @ K.T, self.x - C @ (shrink[:, None] * b)
        there.Nt[:, own] = root * (C / D) @ P.T
        there.rss = max(self.rest + float(np.square(there.x).sum()), SMALLEST_NORMAL)
        there.left = self.left - float(np.square(C).sum(axis=0) @ shrink)
        there.value = float(there._values(there.rss, there.left))

    def report(self) -> tuple[float, FloatArray, FloatArray]:
        """GCV, not its logarithm."""
        value, (g, hessian) = float(np.exp(self.value)), self.derivatives()
        return value, value * g, value * (hessian + np.outer(g, g))


class GuardedGcv(GcvPoint):
    """GCV that grows without bound where less than a tenth of the rows is left, ``n - edf < n/10``.

    Near interpolation GCV is 0/0 and tends to some constant, often below its minimum among the fits that smooth. From
    a tenth on it is GCV itself; below, its logarithm and two derivatives are continuous.
    """

    floor = 0.1


class StrictGcv(GcvPoint):
    """The same with a half of the rows: where to look for a minimum far from interpolation."""

    floor = 0.5


def inside(problem: Reduced, rho: FloatArray) -> FloatArray:
    """The nearest place in the box; penalties that are given stay."""
    return np.where(problem.open, np.minimum(np.maximum(rho, LEAST), MOST), problem.fixed)


def _solve(V: FloatArray, right: FloatArray, transposed: bool) -> FloatArray:
    """``V^-1 right`` or ``V^-T right``; destroys ``right`` if that is in Fortran's order."""
    if right.size == 0:
        return right
    solution: FloatArray = linalg.blas.dtrsm(1.0, V, np.asfortranarray(right), trans_a=int(transposed), overwrite_b=1)
    return solution


def _inverse(V: FloatArray) -> FloatArray:
    """``V^-1``."""
    inverse: FloatArray = linalg.lapack.dtrtri(V)[0] if V.size else V
    return inverse


def eigen(matrix: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Eigenvalues and eigenvectors of a small symmetric matrix."""
    if matrix.size == 0:
        return np.zeros(0), np.zeros((0, 0))
    values, vectors, _ = linalg.lapack.dsyev(matrix)
    return values, vectors
