"""Bases of functions of one variable, each with the root of its roughness penalty.

- `CubicRegressionBasis` ("cr"): natural cubic splines, by their values at the knots, as in mgcv;
- `BSplineBasis`: "ps" with evenly spaced knots and a penalty on differences of coefficients, "bs" with knots at
  quantiles and the integral of the squared second derivative;
- `ThinPlateBasis` ("tp"): the leading part of the smoothing spline with a knot at every point, mgcv's default.

All of them continue as straight lines outside their knots.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import Literal

import numpy as np
from scipy import linalg
from scipy.interpolate import BSpline, CubicSpline
from scipy.sparse.linalg import eigsh

from ..errors import DataError
from ..typing import FloatArray
from .penalty import difference_root, integral_root

__all__ = [
    "BASES",
    "BSplineBasis",
    "BasisName",
    "CubicRegressionBasis",
    "SplineBasis",
    "ThinPlateBasis",
    "clamped_knots",
    "make_basis",
    "place_knots",
]

BasisName = Literal["cr", "ps", "bs", "tp"]
BASES: tuple[BasisName, ...] = ("cr", "ps", "bs", "tp")
DEGREE = 3
MOST_THIN_PLATE_POINTS = 1000
"""Above this many distinct values thin plate splines are built on quantiles of them."""

DENSE_EIGENPROBLEM = 300

SAME = 1e-9
"""Values closer than this part of the range are taken for one: a spline between them would be noise."""


class SplineBasis(ABC):
    """Functions of one variable on an interval.

    Attributes
    ----------
    knots : array
        What the basis was made from.
    low, high : float
        Ends of the interval; outside of it the functions are straight lines.
    size : int
        Number of functions.
    root : array (r, size)
        ``||root b||^2`` is the roughness of the function with coefficients b.
    power : float
        The root is in units of x to minus this power; zero for differences of coefficients.
    """

    power = 1.5

    def __init__(self, knots: FloatArray, low: float, high: float, size: int) -> None:
        self.knots, self.low, self.high, self.size = knots, float(low), float(high), size

    @abstractmethod
    def inside(self, x: FloatArray, derivative: int = 0) -> FloatArray:
        """Values (n, size), or derivatives, within the interval."""

    @cached_property
    @abstractmethod
    def root(self) -> FloatArray:
        """Root of the penalty."""

    @cached_property
    def _ends(self) -> tuple[FloatArray, FloatArray]:
        """Values and slopes at the two ends of the interval."""
        ends = np.array([self.low, self.high])
        return self.inside(ends), self.inside(ends, 1)

    def __call__(self, x: FloatArray) -> FloatArray:
        """Values of the functions, (n, size)."""
        values = self.inside(np.clip(x, self.low, self.high))
        outside = self.is_outside(x)
        if outside.any():
            beyond = x[outside]
            end = (beyond > self.high).astype(int)
            distance = beyond - np.where(end, self.high, self.low)
            at_end, slope = self._ends
            values[outside] = at_end[end] + distance[:, None] * slope[end]
        return values

    def is_outside(self, x: FloatArray) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Which values lie outside the interval."""
        outside: np.ndarray[tuple[int], np.dtype[np.bool_]] = (x < self.low) | (x > self.high)
        return outside


class CubicRegressionBasis(SplineBasis):
    """Natural cubic splines; coefficients are the values at the knots."""

    def __init__(self, knots: FloatArray) -> None:
        super().__init__(knots, knots[0], knots[-1], len(knots))
        self._cardinal = CubicSpline(knots, np.eye(len(knots)), bc_type="natural")

    def inside(self, x: FloatArray, derivative: int = 0) -> FloatArray:
        """Values (n, size), or derivatives, within the interval."""
        values: FloatArray = self._cardinal(x, derivative)
        return values

    @cached_property
    def root(self) -> FloatArray:
        """Root of the integrated squared second derivative.

        With second derivatives ``B^-1 D b`` at the inner knots the integral is ``b'D'B^-1 D b``; the Cholesky factor
        of the tridiagonal B gives a root with as many rows as the penalty has rank.
        """
        h = np.diff(self.knots)
        inner = len(self.knots) - 2
        if inner < 1:
            return np.zeros((0, self.size))
        D = np.zeros((inner, self.size))
        at = np.arange(inner)
        D[at, at], D[at, at + 2] = 1.0 / h[:-1], 1.0 / h[1:]
        D[at, at + 1] = -1.0 / h[:-1] - 1.0 / h[1:]
        B = np.diag((h[:-1] + h[1:]) / 3.0) + np.diag(h[1:-1] / 6.0, 1) + np.diag(h[1:-1] / 6.0, -1)
        root: FloatArray = linalg.solve_triangular(linalg.cholesky(B, lower=True), D, lower=True)
        return root


class BSplineBasis(SplineBasis):
    """B-splines on a full vector of knots; the penalty is on differences of coefficients or on a derivative."""

    def __init__(self, knots: FloatArray, full: FloatArray, degree: int, by_differences: bool) -> None:
        super().__init__(knots, full[degree], full[-degree - 1], len(full) - degree - 1)
        self.full, self.degree, self._by_differences = full, degree, by_differences
        self.power = 0.0 if by_differences else 1.5
        self._spline = BSpline(full, np.eye(self.size), degree)

    def inside(self, x: FloatArray, derivative: int = 0) -> FloatArray:
        """Values (n, size), or derivatives, within the interval."""
        values: FloatArray = self._spline(x, derivative)
        return values

    @cached_property
    def root(self) -> FloatArray:
        """Root of the penalty."""
        if self._by_differences:
            return difference_root(self.size)
        if self.degree < 2:
            return np.zeros((0, self.size))
        breaks = np.unique(self.full[self.degree : len(self.full) - self.degree])
        # the rows at the Gauss points depend on each other: a root of full row rank has two rows less than columns
        return _full_row_rank(integral_root(self._spline.derivative(2), breaks, self.degree - 2), 2)


class ThinPlateBasis(SplineBasis):
    r"""Thin plate regression splines in one dimension.

    The smoothing spline with knots :math:`x_j` is :math:`\sum_j \delta_j |x - x_j|^3/12` plus a straight line, with
    :math:`\sum \delta_j = \sum \delta_j x_j = 0`, and its roughness is :math:`\delta'E\delta`. Kept are the
    eigenvectors of E with the largest eigenvalues in size, which is the best approximation of that rank.
    """

    def __init__(self, knots: FloatArray, size: int) -> None:
        super().__init__(knots, knots[0], knots[-1], size)
        self._unit = self.high - self.low
        u = (knots - self.low) / self._unit
        E = _radial(u[:, None] - u)
        d, U = _leading(E, size)
        T = np.column_stack([np.ones(len(u)), u])
        Z = linalg.qr(U.T @ T)[0][:, 2:]
        self._points, self._map = u, U @ Z
        # the roughness Z'U'EUZ is positive definite; in units of x it is larger by unit^-3
        inner = Z.T @ (d[:, None] * Z)
        e, F = linalg.eigh((inner + inner.T) / 2)
        seen = e > len(e) * np.finfo(float).eps * e[-1]  # points nearly on top of each other leave rounding errors
        self._root = np.sqrt(e[seen])[:, None] * F[:, seen].T / self._unit**1.5

    def inside(self, x: FloatArray, derivative: int = 0) -> FloatArray:
        """Values (n, size), or derivatives, within the interval."""
        u = (x - self.low) / self._unit
        values = np.empty((len(x), self.size))
        for start in range(0, len(x), 4096):  # a block of rows against all points at a time
            some = slice(start, start + 4096)
            values[some, :-2] = _radial(u[some, None] - self._points, derivative) @ self._map
        values[:, -2] = 1.0 if derivative == 0 else 0.0
        values[:, -1] = u if derivative == 0 else float(derivative == 1)
        return values / self._unit**derivative

    @cached_property
    def root(self) -> FloatArray:
        """Root of the integrated squared second derivative."""
        return np.hstack([self._root, np.zeros((len(self._root), 2))])


def _radial(difference: FloatArray, derivative: int = 0) -> FloatArray:
    """``|r|^3 / 12`` or a derivative of it."""
    size = np.abs(difference)
    if derivative == 0:
        return size**3 / 12.0
    return difference * size / 4.0 if derivative == 1 else size / 2.0


def _leading(E: FloatArray, count: int) -> tuple[FloatArray, FloatArray]:
    """Eigenvalues and eigenvectors that are largest in size."""
    if len(E) <= max(DENSE_EIGENPROBLEM, 2 * count + 2):
        d, U = linalg.eigh(E)
        kept = np.argsort(-np.abs(d), kind="stable")[:count]
        return d[kept], U[:, kept]
    start = np.ones(len(E)) + np.linspace(0, 1, len(E)) ** 2  # a fixed start: the same basis every time
    d, U = eigsh(E, k=count, which="LM", v0=start, tol=0)
    return d, U


def _full_row_rank(root: FloatArray, null: int) -> FloatArray:
    """The same penalty with as many rows as its rank, which is the number of columns less ``null``."""
    _, s, Vt = linalg.svd(root, full_matrices=False)
    rank = root.shape[1] - null
    full: FloatArray = s[:rank, None] * Vt[:rank]
    return full


def distinct_values(x: FloatArray) -> FloatArray:
    """Values without repetitions; those closer than a tiny part of their range are one value with rounding errors."""
    distinct = np.unique(x)
    apart = np.diff(distinct) > SAME * (distinct[-1] - distinct[0])
    found: FloatArray = distinct[np.concatenate([[True], apart])]
    found[-1] = distinct[-1]  # both ends stay
    return found


def place_knots(x: FloatArray, count: int) -> FloatArray:
    """Quantiles of the distinct values, the ends among them, as mgcv places them."""
    knots: FloatArray = np.quantile(distinct_values(x), np.linspace(0.0, 1.0, count))
    return knots


def clamped_knots(knots: FloatArray, degree: int) -> FloatArray:
    """Full vector of knots of B-splines that end at the first and the last of them."""
    return np.concatenate([np.repeat(knots[0], degree), knots, np.repeat(knots[-1], degree)])


def make_basis(kind: str, x: FloatArray, n_basis: int, knots: FloatArray | SplineBasis | None = None) -> SplineBasis:
    """A basis for the values x, smaller than asked for if there are fewer distinct ones.

    ``knots`` None places them by the values. Two distinct values carry a straight line, and up to three a natural
    cubic spline, whatever the kind.
    """
    if isinstance(knots, SplineBasis):
        return knots
    if knots is not None:
        return _from_knots(kind, knots, n_basis)
    distinct = distinct_values(x)
    size = min(n_basis, len(distinct))
    if kind == "cr" or size <= DEGREE:
        return CubicRegressionBasis(place_knots(distinct, size))
    if kind == "tp":
        few = len(distinct) <= MOST_THIN_PLATE_POINTS
        return ThinPlateBasis(distinct if few else place_knots(distinct, MOST_THIN_PLATE_POINTS), size)
    inner = size - DEGREE + 1
    if kind == "ps":
        return _even_splines(np.linspace(distinct[0], distinct[-1], inner))
    return _from_knots(kind, place_knots(distinct, inner), n_basis)


def _from_knots(kind: str, knots: FloatArray, n_basis: int) -> SplineBasis:
    if kind == "cr" or (kind == "tp" and len(knots) <= DEGREE):
        return CubicRegressionBasis(knots)
    if kind == "tp":
        return ThinPlateBasis(knots, min(n_basis, len(knots)))
    if kind == "bs":
        return BSplineBasis(knots, clamped_knots(knots, DEGREE), DEGREE, by_differences=False)
    steps = np.diff(knots)
    if np.ptp(steps) > 1e-8 * steps.max() + 4 * np.finfo(float).eps * np.abs(knots).max():
        raise DataError('The knots of basis="ps" must be evenly spaced; use basis="bs" for others.')
    return _even_splines(knots)


def _even_splines(knots: FloatArray) -> BSplineBasis:
    """P-splines on evenly spaced knots."""
    step = (knots[-1] - knots[0]) / (len(knots) - 1)
    full = knots[0] + step * np.arange(-DEGREE, len(knots) + DEGREE)
    full[DEGREE:-DEGREE] = knots
    return BSplineBasis(knots, full, DEGREE, by_differences=True)
