r"""Penalized least squares with several penalties, from the statistics of its rows.

The problem is ``min ||z - R b||^2 + rest + sum_t lam_t ||root_t b||^2``, each root on its own columns. In the
coordinates ``a_t = root_t b`` and v, the directions that no root sees, the design is ``[N, E_1, ..., E_T]``. A QR that
takes N first leaves

.. math::

    \min \|z_E - \sum_t E_t a_t\|^2 + rest + \sum_t lam_t \|a_t\|^2,

from which v and the units of the roots are gone. So they are from REML:
``log|X'X + S| - log|S|_+ = log|N'N| + log|I + sum_t E_t E_t'/lam_t|``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import linalg

from ..errors import TrainingSetError
from ..linalg.columns import norms
from ..typing import BoolArray, FloatArray
from .coordinates import EPS, Coordinates, Roots, coordinates_of

__all__ = ["Reduced", "Statistics", "coefficients_at", "reduce", "statistics_of_rows", "triangle"]


@dataclass(frozen=True)
class Statistics:
    """What a fit needs of its rows, times the roots of their weights.

    Attributes
    ----------
    R : (m, d) triangular factor of the design; m is d, or less if there are fewer rows
    z : (m, Q) projections of y on the same orthonormal basis
    rest : (Q,) squared length of the part of y that no column reaches
    n : number of rows with a positive weight

    Examples
    --------
    >>> import numpy as np
    >>> from onefit.criteria.reduced import Statistics
    >>> Statistics(R=np.eye(2), z=np.ones((2, 1)), rest=np.array([3.0]), n=9).n
    9
    """

    R: FloatArray
    z: FloatArray
    rest: FloatArray
    n: int


def statistics_of_rows(design: FloatArray, y: FloatArray) -> Statistics:
    """Statistics of rows that are times the roots of their weights already.

    Parameters
    ----------
    design : (n, d)
    y : (n, Q)

    Returns
    -------
    Statistics

    Examples
    --------
    >>> import numpy as np
    >>> from onefit.criteria.reduced import statistics_of_rows
    >>> statistics = statistics_of_rows(np.ones((4, 1)), np.array([[1.0], [2.0], [3.0], [4.0]]))
    >>> round(float(statistics.rest[0]), 12)  # squared deviations from the mean
    5.0
    """
    n, d = design.shape
    factor = linalg.qr(np.hstack([design, y]), mode="r", check_finite=False)[0]
    m = min(n, d)
    rest = np.square(factor[m:, d:]).sum(axis=0)
    return Statistics(np.ascontiguousarray(factor[:m, :d]), factor[:m, d:].copy(), rest, n)


@dataclass(frozen=True)
class Reduced:
    """The problem ``min ||z - sum_t E_t a_t||^2 + rest + sum_t lam_t ||a_t||^2`` without its free directions.

    Attributes
    ----------
    E : (q, r) penalized columns, those of each term divided by its scale; q is the smaller of r and ``n - k``
    z : (q, Q)
    rest : (Q,)
    n : number of rows
    constant : part of REML that depends on neither the penalties nor y
    scales : (T,) root of the sum of the eigenvalues of a term's Gram matrix against its penalty, one if that is zero
    coordinates : Coordinates
    fixed : (T,) places of the penalties that are given, NaN for those to be chosen
    """

    E: FloatArray
    z: FloatArray
    rest: FloatArray
    n: int
    constant: float
    scales: FloatArray
    coordinates: Coordinates
    fixed: FloatArray

    @cached_property
    def open(self) -> BoolArray:
        """Which penalties are to be chosen, (T,)."""
        return np.isnan(self.fixed)

    @cached_property
    def spare(self) -> int:
        """``n - k - q``, the dimension of what no column reaches."""
        return self.n - self.coordinates.k - len(self.E)

    @cached_property
    def n_terms(self) -> int:
        """Number of penalties, T."""
        return len(self.scales)

    @cached_property
    def whole(self) -> FloatArray:
        """``[E, z]``, (q, r + Q)."""
        return np.asfortranarray(np.hstack([self.E, self.z]))

    @cached_property
    def identity(self) -> FloatArray:
        """Identity (q, q)."""
        return np.eye(len(self.E))

    @cached_property
    def upper(self) -> FloatArray:
        """Indicators (q, q) of the upper triangle."""
        return np.asfortranarray(np.triu(np.ones((len(self.E), len(self.E)))))

    def place(self, rho: FloatArray) -> FloatArray:
        """``log lam`` on the axes that depend on no units."""
        place: FloatArray = np.asarray(rho, dtype=np.float64) - 2.0 * np.log(self.scales)
        return place

    def lams(self, place: FloatArray) -> FloatArray:
        """Penalties (T,) at a place on the axes."""
        lams: FloatArray = np.square(self.scales * np.exp(place / 2))
        return lams


@dataclass(frozen=True)
class _Parts:
    """Triangular design in the coordinates (v, a), and y along and across its free directions."""

    NN: FloatArray
    NE: FloatArray
    E: FloatArray
    along: FloatArray
    across: FloatArray


def _parts(statistics: Statistics, coordinates: Coordinates) -> _Parts:
    """Free directions first, by QR; refuses those that the rows do not determine."""
    R, d, k = statistics.R, statistics.R.shape[1], coordinates.k
    factor = triangle(np.hstack([R @ coordinates.both, statistics.z]))
    m = min(len(factor), d)
    size = norms(np.abs(R) @ coordinates.absolute)
    if k > min(m, statistics.n) or (np.abs(factor.diagonal()[:k]) <= 10 * d * EPS * size).any():
        raise TrainingSetError(
            f"The rows do not determine the {k} unpenalized directions of the model; remove columns that depend on "
            "others (terms must not contain the intercept), or use more rows."
        )
    NN = np.triu(factor[:k, :k])
    E = np.triu(factor[k:m, k:d])
    return _Parts(NN, factor[:k, k:d], E, factor[:k, d:], factor[k:m, d:])


def triangle(stack: FloatArray) -> FloatArray:
    """Triangular factor of a QR without its signs, as many rows as columns at most; below its diagonal is garbage."""
    if stack.size == 0:
        return stack[: stack.shape[1]]
    factor: FloatArray = linalg.lapack.dgeqrf(np.asfortranarray(stack), lwork=32 * stack.shape[1], overwrite_a=1)[0]
    return factor[: stack.shape[1]]


def reduce(statistics: Statistics, roots: Roots, lams: FloatArray | None = None) -> Reduced:
    """Project the free directions out, and bring the terms to one scale.

    Parameters
    ----------
    statistics : Statistics
    roots : tuple of (r_t, d)
        Of full row rank, each on its own columns; or their `Coordinates`.
    lams : (T,) or None
        Penalties that are given, NaN for those to be chosen; None is all of them.

    Returns
    -------
    Reduced

    Examples
    --------
    >>> import numpy as np
    >>> from onefit.criteria.reduced import reduce, statistics_of_rows
    >>> x = np.linspace(-1, 1, 9)[:, None]
    >>> design = np.hstack([np.ones((9, 1)), x, x**2])
    >>> reduce(statistics_of_rows(design, x), (np.array([[0.0, 0.0, 1.0]]),)).spare
    6
    """
    coordinates = coordinates_of(roots, statistics.R.shape[1])
    parts = _parts(statistics, coordinates)
    E, z = parts.E, parts.across
    left = statistics.n - coordinates.k
    if len(E) > left:
        E, z = _fewer_rows(E, z, left)
    gram = coordinates.of_term @ np.square(E).sum(axis=0)
    projected = coordinates.of_term @ np.square(parts.NE).sum(axis=0)
    seen = gram > np.square(10 * statistics.R.shape[1] * EPS) * (gram + projected)
    scales = np.sqrt(np.where(seen, gram, 1.0))
    fixed = np.full(len(scales), np.nan) if lams is None else np.log(lams) - 2.0 * np.log(scales)
    return Reduced(
        E=E * (seen / scales)[coordinates.term],
        z=z,
        rest=statistics.rest,
        n=statistics.n,
        constant=float(np.log(np.abs(parts.NN.diagonal())).sum()),
        scales=scales,
        coordinates=coordinates,
        fixed=fixed,
    )


def _fewer_rows(E: FloatArray, z: FloatArray, n_rows: int) -> tuple[FloatArray, FloatArray]:
    """The same problem in as many rows as it has dimensions: pivoting moves the rounding errors to the others."""
    Q, factor, order = linalg.qr(E, mode="economic", pivoting=True, check_finite=False)
    rotated = np.empty((n_rows, E.shape[1]))
    rotated[:, order] = factor[:n_rows]
    return rotated, Q[:, :n_rows].T @ z


def coefficients_at(statistics: Statistics, roots: Roots, lams: FloatArray) -> FloatArray:
    """Coefficients (d, Q) at given penalties by a stacked QR, never from the normal equations.

    Parameters
    ----------
    statistics : Statistics
    roots : tuple of (r_t, d)
        Of full row rank, each on its own columns; or their `Coordinates`.
    lams : (T,)
        Not negative.

    Returns
    -------
    array of shape (d, Q)

    Examples
    --------
    >>> import numpy as np
    >>> from onefit.criteria.reduced import coefficients_at, statistics_of_rows
    >>> x = np.array([[-1.0], [0.0], [1.0]])
    >>> coefficients_at(statistics_of_rows(x, 2 * x), (np.eye(1),), np.array([2.0])).round(12).tolist()
    [[1.0]]
    """
    coordinates = coordinates_of(roots, statistics.R.shape[1])
    parts = _parts(statistics, coordinates)
    k, r = parts.NE.shape
    roots_of_lam = np.sqrt(lams)[coordinates.term]
    stack = np.zeros((len(parts.E) + r, r + parts.across.shape[1]))
    stack[: len(parts.E)] = np.hstack([parts.E, parts.across])
    stack[len(parts.E) :, :r] = np.diag(roots_of_lam)
    # large rows first: small ones then keep their digits
    order = np.argsort(-np.hstack([norms(parts.E.T), roots_of_lam]), kind="stable")
    factor = triangle(stack[order])
    U = np.zeros((k + r, k + r))
    U[:k, :k], U[:k, k:], U[k:, k:] = parts.NN, parts.NE, np.triu(factor[:r, :r])
    if (np.abs(U.diagonal()[k:]) <= r * EPS * norms(U[k:, k:])).any():
        raise TrainingSetError("The rows do not determine the fit without a penalty; use a positive one for each term.")
    right = np.vstack([parts.along, factor[:r, r:]])
    found: FloatArray = coordinates.both @ linalg.solve_triangular(U, right, check_finite=False)
    return found
