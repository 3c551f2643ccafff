"""Smooth functions of single columns, without the constant that the intercept takes."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from scipy import linalg

from ..errors import DataError, ExtrapolationWarning
from ..extrapolation import is_measured
from ..typing import FloatArray
from .basis import BASES, SAME, SplineBasis, make_basis

__all__ = ["Smooth", "check_knots", "joint_root", "make_smooth", "side_by_side"]

LEAST_BASIS = 3
LEAST_SPAN, MOST_SPAN = 1e-90, 1e90


@dataclass(frozen=True)
class Smooth:
    """Functions of a basis that sum to zero over the rows they were made for.

    Attributes
    ----------
    basis : SplineBasis or None
        None if the column was constant: the intercept has all of it.
    Z : array (size, size - 1)
        Coefficients of those functions.
    """

    basis: SplineBasis | None
    Z: FloatArray

    @property
    def size(self) -> int:
        """Number of columns."""
        return int(self.Z.shape[1])

    def __call__(self, x: FloatArray) -> FloatArray:
        """Columns of the design, (n, size)."""
        return np.zeros((len(x), 0)) if self.basis is None else self.basis(x) @ self.Z

    @property
    def root(self) -> FloatArray:
        """Root of the penalty on the coefficients."""
        return np.zeros((0, 0)) if self.basis is None else self.basis.root @ self.Z

    @property
    def span(self) -> float:
        """Length of the interval between the outer knots."""
        return 1.0 if self.basis is None else self.basis.high - self.basis.low

    @property
    def unit_root(self) -> FloatArray:
        """The same of the function over the unit interval, which has no units."""
        scaled: FloatArray = self.root if self.basis is None else self.span**self.basis.power * self.root
        return scaled

    def warn_outside(self, x: FloatArray, name: str, stacklevel: int = 4) -> None:
        """Say so if values lie outside the knots."""
        if self.basis is not None and not is_measured() and self.basis.is_outside(x).any():
            # the same text for every training set, so that Python shows it once
            warnings.warn(
                f"Some values of {name} lie outside the knots of the spline, where it continues as a straight line.",
                ExtrapolationWarning,
                stacklevel=stacklevel,
            )


def make_smooth(
    kind: str,
    x: FloatArray,
    n_basis: int,
    knots: FloatArray | SplineBasis | None,
    name: str,
    weights: FloatArray | None = None,
) -> Smooth:
    """A smooth function of the values x; weighted sums over them are zero."""
    if kind not in BASES:
        raise DataError(f"basis={kind!r} is unknown; choose one of {', '.join(map(repr, BASES))}.")
    if isinstance(n_basis, bool) or not isinstance(n_basis, int | np.integer) or n_basis < LEAST_BASIS:
        raise DataError(f"n_basis={n_basis!r} must be an integer of at least {LEAST_BASIS}.")
    if knots is None and x.min() == x.max():
        return Smooth(None, np.zeros((0, 0)))
    is_given = knots is not None and not isinstance(knots, SplineBasis)
    basis_knots = check_knots(knots, name) if is_given else knots
    if kind != "ps" and not isinstance(basis_knots, SplineBasis):  # differences of coefficients have no units
        _check_span(x if basis_knots is None else basis_knots, name)
    basis = make_basis(kind, x, n_basis, basis_knots)
    relative = np.ones(len(x)) if weights is None else weights / weights.max()  # their squares must be numbers
    found = Smooth(basis, _sum_to_zero(relative @ basis(x)))
    if is_given:
        found.warn_outside(x, name, stacklevel=6)
    return found


def _check_span(x: FloatArray, name: str) -> None:
    """Refuse columns whose cubes would overflow or vanish."""
    span = float(x.max() - x.min())
    if not LEAST_SPAN <= span <= MOST_SPAN:
        raise DataError(
            f"The values of {name} span {span:.3g}, and the roughness of a spline, which goes by its cube, would not "
            f"be a number (or zero) in double precision; change the units of {name}."
        )


def _sum_to_zero(sums: FloatArray) -> FloatArray:
    """Coefficients whose functions sum to zero: the Householder reflection of the sums without its first column.

    The same as mgcv's, so that coefficients agree with it. If all sums vanish, any column may go.
    """
    v = sums.copy()
    v[0] += np.copysign(np.linalg.norm(sums), sums[0])
    squared = v @ v
    H = np.eye(len(v)) - (2.0 / squared) * np.outer(v, v) if squared > 0 else np.eye(len(v))
    return H[:, 1:]


def check_knots(knots: object, name: str) -> FloatArray:
    """Knots of one column, increasing."""
    try:
        found = np.asarray(knots, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"The knots of {name} must be numbers.") from error
    if found.ndim != 1 or len(found) < 2:
        raise DataError(f"The knots of {name} must be a list of at least two numbers; it has shape {found.shape}.")
    if not np.isfinite(found).all() or (np.diff(found) <= SAME * (found[-1] - found[0])).any():
        raise DataError(f"The knots of {name} must be finite and increase; sort them and drop (near) repetitions.")
    return found


def joint_root(smooths: list[Smooth]) -> FloatArray:
    """Root of the penalty on all functions."""
    # with several columns their units must not decide how the one penalty is shared
    roots = [smooth.root if len(smooths) == 1 else smooth.unit_root for smooth in smooths]
    found: FloatArray = linalg.block_diag(*roots)
    return found


def side_by_side(smooths: list[Smooth], X: FloatArray) -> FloatArray:
    """The functions of all columns in the rows of X."""
    return np.hstack([smooth(X[:, j]) for j, smooth in enumerate(smooths)])
