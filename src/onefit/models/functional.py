"""Curves as covariates: where they were observed, how they are integrated, and the function that weighs them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from scipy.special import ndtri
from sklearn.utils.validation import check_is_fitted

from ..checks import check_integer, check_level
from ..display import plot_function
from ..errors import DataError
from ..typing import ArrayLike, FloatArray
from .base import DesignModel
from .basis import DEGREE, BSplineBasis, clamped_knots

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Curves", "Domain", "FunctionalModel", "make_curves"]

Domain: TypeAlias = Sequence[float] | FloatArray | None
"""Low and high end; None takes them from the grid."""

LEAST_BASIS = DEGREE + 1
PLOT_POINTS = 401


@dataclass(frozen=True)
class Curves:
    """Points t_j (N,), quadrature weights w_j (N,), and the M splines of the coefficient function."""

    grid: FloatArray
    quadrature: FloatArray
    basis: BSplineBasis

    @property
    def root(self) -> FloatArray:
        """Root of the penalty, in units of a domain of length one: there omega is T times as large, for length T."""
        length = self.basis.high - self.basis.low
        scaled: FloatArray = length**2.5 * self.basis.root
        return scaled

    @cached_property
    def _weighted(self) -> FloatArray:
        return self.quadrature[:, None] * self.basis.inside(self.grid)

    def design(self, X: FloatArray) -> FloatArray:
        """Integrals of each curve times each spline, (n, M)."""
        return X @ self._weighted


def make_curves(
    N: int, n_basis: object, grid: ArrayLike | None, quadrature: ArrayLike | None, domain: Domain
) -> Curves:
    """How curves with values at N points are integrated against splines; see `SignalRegression`."""
    size = min(check_integer("n_basis", n_basis, LEAST_BASIS), N)
    points = None if grid is None else _grid(grid, N)
    low, high = _domain(domain, points)
    if points is None:
        points = low + (high - low) * np.arange(1, N + 1) / N
        points[-1] = high  # not beyond it by a rounding error
        weights = np.full(N, (high - low) / N)
    elif N == 1 and quadrature is None:
        raise DataError("The trapezoidal rule needs two points and the grid has one; give quadrature, too.")
    else:
        weights = _trapezoid(points)
    if quadrature is not None:
        weights = _vector("quadrature", quadrature, N)
        if not (weights > 0).all():
            raise DataError("quadrature must be positive; leave out columns of X that should not count.")
    if not low <= points[0] <= points[-1] <= high:
        raise DataError(
            f"The grid runs from {points[0]:.6g} to {points[-1]:.6g}, outside the domain from {low:.6g} to {high:.6g}; "
            "widen the domain, or leave it out to take the ends of the grid."
        )
    degree = min(DEGREE, size - 1)
    knots = np.linspace(low, high, size - degree + 1)
    return Curves(points, weights, BSplineBasis(knots, clamped_knots(knots, degree), degree, by_differences=False))


def _vector(name: str, values: ArrayLike, N: int) -> FloatArray:
    """One finite number for each column of X."""
    try:
        found = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"{name} must be a list of numbers, one for each column of X.") from error
    if found.shape != (N,):
        raise DataError(f"{name} has shape {found.shape} and X has {N} columns; give one number for each column of X.")
    if not np.isfinite(found).all():
        raise DataError(f"{name} holds NaN or infinite values; drop these columns of X, or correct them.")
    return found


def _grid(grid: ArrayLike, N: int) -> FloatArray:
    """The points at which the curves were observed, increasing."""
    points = _vector("grid", grid, N)
    steps = np.diff(points)
    if (steps < 0).any():
        raise DataError("The grid does not increase; sort the columns of X by the grid, and the grid with them.")
    if (steps == 0).any():
        at = points[1:][steps == 0][0]
        raise DataError(f"The grid repeats the point {at:.6g}; average the columns of X that share a point.")
    return points


def _domain(domain: Domain, points: FloatArray | None) -> tuple[float, float]:
    """The ends of the interval; without any of one's own those of the grid, or 0 and 1."""
    if domain is None and points is None:
        return 0.0, 1.0
    if domain is None and points is not None:
        if len(points) == 1:
            raise DataError("A grid of one point spans no interval; give domain=(low, high) and quadrature, too.")
        return float(points[0]), float(points[-1])
    try:
        ends = np.asarray(domain, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"domain={domain!r} must be two numbers, (low, high).") from error
    if ends.shape != (2,) or not np.isfinite(ends).all() or ends[0] >= ends[1]:
        raise DataError(f"domain={domain!r} must be two finite numbers (low, high) with low < high.")
    return float(ends[0]), float(ends[1])


def _trapezoid(points: FloatArray) -> FloatArray:
    """Weights of the trapezoidal rule."""
    half = np.diff(points) / 2
    weights: FloatArray = np.append(half, 0.0) + np.append(0.0, half)
    return weights


class FunctionalModel(DesignModel):
    """A model of ``y = c + integral of x(t) omega(t) dt`` for curves x, and what can be asked about omega."""

    n_basis: int
    grid: ArrayLike | None
    quadrature: ArrayLike | None
    domain: Domain
    fit_intercept: bool
    _curves: Curves
    _minimum_norm = True

    def _make_curves(self, N: int) -> Curves:
        """How curves with N columns are integrated."""
        return make_curves(N, self.n_basis, self.grid, self.quadrature, self.domain)

    def _keep_curves(self, curves: Curves) -> None:
        self._curves = curves
        self.grid_, self.n_basis_ = curves.grid, curves.basis.size

    def _functions(self, t: FloatArray) -> FloatArray:
        """Values at t of the functions whose coefficients are ``coef_``."""
        return self._curves.basis.inside(t)

    def coefficient_function(
        self, t: ArrayLike | None = None, return_std: bool = False
    ) -> FloatArray | tuple[FloatArray, FloatArray]:
        """Evaluate the coefficient function omega.

        Parameters
        ----------
        t : array-like of shape (n_points,), default=None
            Points within the domain; None is ``grid_``.
        return_std : bool, default=False
            Whether to return the standard deviation of omega(t), too. It is the Bayesian one, as in mgcv, and takes
            ``lam_`` as known.

        Returns
        -------
        array of shape (n_points,) or (n_points, n_outputs), or a tuple of two of them
        """
        check_is_fitted(self)
        functions = self._functions(self.grid_ if t is None else self._check_points(t))
        omega: FloatArray = functions @ self.coef_.T
        if not return_std:
            return omega
        root = self._covariance_root()[int(self._has_intercept) :]
        spread = np.sqrt(np.square(functions @ root).sum(axis=1))
        return omega, np.multiply.outer(spread, np.sqrt(self.scale_))

    def _check_points(self, t: ArrayLike) -> FloatArray:
        """Points within the domain."""
        try:
            points = np.atleast_1d(np.asarray(t, dtype=np.float64))
        except (TypeError, ValueError) as error:
            raise DataError("t must be a list of numbers.") from error
        low, high = self._curves.basis.low, self._curves.basis.high
        if points.ndim != 1 or not ((points >= low) & (points <= high)).all():
            raise DataError(
                f"t must be a list of points from {low:.6g} to {high:.6g}; the coefficient function is not defined "
                "elsewhere. Fit with a wider domain if it should be."
            )
        return points

    def plot_coefficient(self, ax: Axes | None = None, confidence_level: float = 0.95, output: int = 0) -> Axes:
        """Plot the coefficient function with its pointwise band.

        The band is ``omega(t) +- z std(t)`` with the Bayesian standard deviation of `coefficient_function`. It is
        pointwise: such bands cover the true function at about the stated share of the points t, averaged over the
        domain (Nychka 1988), and not everywhere at once. The penalty is taken as known, and so are components.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, default=None
            Where to draw; a new figure by default.
        confidence_level : float, default=0.95
        output : int, default=0
            Which column of y.

        Returns
        -------
        matplotlib.axes.Axes
        """
        check_is_fitted(self)
        level = check_level(confidence_level)
        t = np.linspace(self._curves.basis.low, self._curves.basis.high, PLOT_POINTS)
        omega, std = (part.reshape(len(t), -1) for part in self.coefficient_function(t, return_std=True))
        q = check_integer("output", output, 0, omega.shape[1] - 1)
        half = ndtri((1.0 + level) / 2) * std[:, q]
        return plot_function(
            t,
            omega[:, q],
            omega[:, q] - half,
            omega[:, q] + half,
            ax=ax,
            xlabel="t",
            ylabel="coefficient function",
            title=f"Coefficient function, {100 * level:g}% pointwise band",
        )
