"""Every penalized least squares problem in one form."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import linalg
from scipy.linalg import blas

from ..spare import spare_table
from ..typing import BoolArray, FloatArray, IntArray
from .penalty import Penalty, as_penalty
from .rowspace import as_square, clean, row_space, without
from .tall import EPS, is_far_from_singular, norms

__all__ = [
    "EPS",
    "NEGLIGIBLE",
    "UNEVEN",
    "ColumnMap",
    "Columns",
    "Penalty",
    "Shift",
    "are_held_at_zero",
    "clean",
    "column_map",
    "columns_of",
    "middle",
    "norms",
    "row_space",
    "span_beyond_digits",
    "unevenness",
]


UNEVEN = 1e3
"""Columns whose sizes differ more than this are decomposed by slower methods that keep the digits of the small ones."""

MOST_SPAN = 1e30
"""Columns whose sizes differ more than this have no common unit in double precision, whatever the method."""

NEGLIGIBLE = 1e-9
"""Penalties below this part of ``||E||^2`` cannot be told from rounding errors in E E' with certainty."""


@dataclass(frozen=True)
class Columns:
    """``min ||y - E a - N b||^2 + lam ||a||^2``: penalized columns E (n, r), free columns N (n, k).

    ``E_size`` and ``N_size`` are the norms that the columns would have without cancellation in their making: what is
    tiny against them is rounding error. ``centre`` (p,) was subtracted from the columns of the data. ``is_own`` says
    that E are these columns and no products: then their sizes in some rows are known from these rows alone.
    ``has_ones`` says that the first free column is the constant; ``maps`` lead back to the coefficients of the data.
    """

    E: FloatArray
    N: FloatArray
    E_size: FloatArray
    N_size: FloatArray
    centre: FloatArray | None = None
    is_own: bool = False
    has_ones: bool = False
    maps: Penalty | None = None

    @classmethod
    def free_only(cls, N: FloatArray) -> Columns:
        """Columns without a penalty."""
        return cls(N[:, :0], N, np.zeros(0), norms(N))

    @property
    def width(self) -> int:
        """Number of columns, r + k."""
        return int(self.E.shape[1] + self.N.shape[1])

    def at(self, lam: float) -> Columns:
        """The same problem at one value: without a penalty every column is free."""
        if lam > 0:
            return self
        N, N_size = np.hstack([self.N, self.E]), np.hstack([self.N_size, self.E_size])
        return replace(self, E=self.E[:, :0], N=N, E_size=self.E_size[:0], N_size=N_size, is_own=False)

    def free(self) -> Columns:
        """The free columns alone."""
        return replace(self, E=self.E[:, :0], E_size=self.E_size[:0], is_own=False)

    def rows(self, rows: IntArray | slice) -> Columns:
        """The same columns in some rows."""
        return replace(self, E=self.E[rows], N=self.N[rows])

    def times(self, coefficients: FloatArray) -> FloatArray:
        """``(E N) c`` for coefficients (r + k, C)."""
        r = self.E.shape[1]
        product: FloatArray = self.E @ coefficients[:r]
        if self.N.shape[1] and product.size:  # added in place: a table for it would take as long as the product
            product = blas.dgemm(1.0, coefficients[r:].T, self.N.T, beta=1.0, c=product.T, overwrite_c=True).T
        return product

    def weighted(self, root: FloatArray) -> Columns:
        """Rows, all that a fit sees, times the roots of their weights: least squares then weighs them."""
        E, N = root[:, None] * self.E, root[:, None] * self.N
        heaviest = root.max(initial=0.0)
        E_size = self.E_size * heaviest
        if self.is_own:  # in these rows: one wild row elsewhere says nothing of them
            E_size = norms(E) + (0.0 if self.centre is None else np.abs(self.centre) * linalg.norm(root))
        return replace(self, E=E, N=N, E_size=E_size, N_size=self.N_size * heaviest)

    def middles(self) -> Shift | None:
        """What the constant can absorb; of a column that does not vary here, its value to the last bit.

        Medians, see `middle`: means would carry a row that is far away into all others, and be left in these where
        that row is taken out again.
        """
        if not self.has_ones or not len(self.E):
            return None
        first = self.E[0], self.N[0, 1:]
        return first, (middle(self.E - first[0]), middle(self.N[:, 1:] - first[1]))

    def moved(self, shift: Shift | None) -> Columns:
        """The columns less a shift that the constant absorbs, in two steps so that no digit is lost."""
        if shift is None:
            return self
        (E0, N0), (E1, N1) = shift
        N = np.hstack([self.N[:, :1], (self.N[:, 1:] - N0) - N1])
        centre = (0.0 if self.centre is None else self.centre) + E0 + E1 if self.is_own else None
        return replace(self, E=(self.E - E0) - E1, N=N, centre=centre)

    @property
    def is_uneven(self) -> bool:
        """Whether the penalized columns are so different in size that mixing them costs digits."""
        return unevenness(norms(self.E)) > UNEVEN

    def narrow(self) -> Columns:
        """At most n penalized columns: a rotation of ``a`` changes neither its norm nor the fit."""
        n, r = self.E.shape
        if r <= n:
            return self
        largest_first = np.argsort(-norms(self.E), kind="stable")  # else the small columns lose their digits
        if self.is_uneven:
            R, order = linalg.qr(self.E.T[largest_first], mode="r", pivoting=True, check_finite=False)
            E = np.empty((n, n))
            E[order] = R[:n].T
        else:
            E = np.ascontiguousarray(linalg.qr(self.E.T[largest_first], mode="r", check_finite=False)[0][:n].T)
        # the rotation mixes all columns, and so their rounding errors
        return replace(self, E=E, E_size=np.full(n, linalg.norm(E)), is_own=False)

    def full_rank(self, lam: float, rows: IntArray) -> Columns:
        """Without the directions of ``a`` that no row sees, where the penalty is too small to hold them at zero.

        A penalty, however small, sets them to zero in every training set; but a tiny one drowns in the rounding
        errors of E, and they would be fitted to those. ``rows`` are those that count.
        """
        seen, free = (self.E, self.N) if len(rows) == len(self.E) else (self.E[rows], self.N[rows])
        if lam > NEGLIGIBLE * np.square(norms(seen)).sum():
            return self
        if is_far_from_singular(lambda some: np.hstack([free[some], seen[some]]), len(seen), self.width):
            return self
        space = row_space(without(seen, free))
        if space is None:
            return self
        E = np.empty((len(self.E), space.basis.shape[1]))
        E[rows] = space.design  # less what the free columns explain, which they absorb in every training set
        if len(rows) < len(E) and E.shape[1]:  # LAPACK wants a right-hand side
            explained = (
                linalg.lstsq(self.N[rows], seen @ space.basis)[0] if self.N.shape[1] else np.zeros((0, E.shape[1]))
            )
            others = np.setdiff1d(np.arange(len(E)), rows)
            E[others] = self.E[others] @ space.basis - self.N[others] @ explained
        return replace(self, E=E, E_size=norms(E[rows]), is_own=False)

    def dependent(self) -> int:
        """How many of the free columns are linear combinations of the others, whatever their scales and offsets."""
        n, k = self.N.shape
        if k == 0 or n == 0:
            return int(k)
        length = norms(self.N)
        arithmetic = 10 * max(n, k) * EPS
        if (lost := length <= arithmetic * self.N_size).any():
            return int(lost.sum())
        # what the last bits of the data say of a direction, the data do not say
        unknown = 10 * EPS * np.sqrt(np.square(np.maximum(self.N_size, length) / length).sum())
        if is_far_from_singular(lambda rows: self.N[rows], n, k, self.N_size):
            return 0
        s = linalg.svdvals(as_square(self.N / length), check_finite=False)
        return int(k - (s > max(arithmetic, unknown)).sum())


Shift = tuple[tuple[FloatArray, FloatArray], tuple[FloatArray, FloatArray]]
"""For penalized and free columns: first a row, then the mean of what is left."""


def unevenness(size: FloatArray) -> float:
    """Ratio of the largest of some sizes to the smallest that is not zero."""
    return float(size.max(initial=0.0) / size[size > 0].min(initial=np.inf))


def are_held_at_zero(size: FloatArray, least_lam: float) -> BoolArray:
    """Columns so small beside a ridge penalty that what they add to a prediction is 1e-20 of a residual."""
    held: BoolArray = size <= 1e-10 * np.sqrt(least_lam)
    return held


def span_beyond_digits(size: FloatArray, mixes: bool, least_lam: float) -> float | None:
    """Ratio of the sizes of columns, if no method keeps the digits of all of them.

    Tiny ones are held at zero by the penalty, if it ties (``mixes``) no coefficients to others.
    """
    felt = size[(size > 0) & (mixes | ~are_held_at_zero(size, least_lam))]
    ratio = size.max(initial=0.0) / felt.min(initial=np.inf)
    return float(ratio) if ratio > MOST_SPAN else None


MOST_MIDDLE_ROWS = 1000


def middle(X: FloatArray) -> FloatArray:
    """Median of each column, of every so many rows if there are many.

    Any value near the bulk of the rows serves to centre by. The mean is not near it if one row is far away: then the
    others would lose their digits, and a column that is zero but in one row would be zero no more in the others.
    """
    if not len(X):
        return np.zeros(X.shape[1])  # NumPy would warn; what fits no row says so itself
    step = max(1, len(X) // MOST_MIDDLE_ROWS)
    return np.asarray(np.median(X[::step], axis=0), dtype=np.float64)


@dataclass(frozen=True)
class ColumnMap:
    """How rows of a design become rows of penalized and free columns; see `columns_of`.

    ``unseen`` are columns that do not vary in the rows that count, or that the penalty holds at zero: coefficients are
    zero in every training set, and rounding errors would only be magnified. None where other rows may count, too.
    """

    maps: Penalty
    centre: FloatArray | None
    E_size: FloatArray
    N_size: FloatArray
    fit_intercept: bool
    unseen: BoolArray | None = None

    @property
    def mixes(self) -> bool:
        """Whether penalized columns are products of the columns of the design."""
        return self.maps.penalized is not None

    def of(self, X: FloatArray) -> Columns:
        """Some rows, or all."""
        # before any product, which would round by the offset
        moved = X if self.centre is None else np.subtract(X, self.centre, out=spare_table(*X.shape))
        if self.unseen is not None:
            moved = np.where(self.unseen, 0.0, moved)
        E = moved if self.maps.penalized is None else moved @ self.maps.penalized
        N = np.ones((len(X), 1 if self.fit_intercept else 0))
        if self.maps.free.shape[1]:
            N = np.hstack([N, moved @ self.maps.free])
        return Columns(E, N, self.E_size, self.N_size, self.centre, not self.mixes, self.fit_intercept, self.maps)


def column_map(
    X: FloatArray, penalty: Penalty | FloatArray | None, fit_intercept: bool, fitted_rows: IntArray | None = None
) -> ColumnMap:
    """Penalized and free columns of a design whose coefficients carry ``lam b'Sb``; the intercept is free.

    With an intercept the columns are centred, beside the column of ones and not in its place: the intercept absorbs
    the shift exactly, in every training set, and columns with a large offset keep their accuracy. Centre and sizes are
    those of the rows ``fitted_rows``, which count in the fits; the others may be anywhere.
    """
    seen = X if fitted_rows is None else X[fitted_rows]
    centre = middle(seen) if fit_intercept else None
    maps = as_penalty(penalty, X.shape[1])
    unseen = None
    if maps.penalized is None:  # a ridge penalty mixes nothing
        E_size = norms(seen)
        if len(seen) < len(X):
            still = (seen == (0.0 if centre is None else centre)).all(axis=0)
            unseen = still if still.any() else None
    else:
        maps = maps.graded(norms(seen if centre is None else seen - centre))
        assert maps.penalized is not None
        E_size = norms(np.abs(seen) @ np.abs(maps.penalized))
    N_size = np.full(1 if fit_intercept else 0, np.sqrt(len(seen)))
    if maps.free.shape[1]:
        N_size = np.hstack([N_size, norms(np.abs(seen) @ np.abs(maps.free))])
    return ColumnMap(maps, centre, E_size, N_size, fit_intercept, unseen)


def columns_of(
    X: FloatArray, penalty: Penalty | FloatArray | None, fit_intercept: bool, fitted_rows: IntArray | None = None
) -> Columns:
    """All rows of a `column_map`."""
    return column_map(X, penalty, fit_intercept, fitted_rows).of(X)
