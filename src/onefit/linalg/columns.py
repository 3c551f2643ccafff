"""Every penalized least squares problem in one form."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy import linalg
from scipy.linalg import blas

from ..errors import DataError
from ..spare import spare_table
from ..typing import FloatArray, IntArray
from .tall import EPS, is_far_from_singular, norms

__all__ = [
    "EPS",
    "NEGLIGIBLE",
    "UNEVEN",
    "ColumnMap",
    "Columns",
    "Penalty",
    "Shift",
    "as_penalty",
    "check_penalty",
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
        s = linalg.svdvals(_square(self.N / length), check_finite=False)
        return int(k - (s > max(arithmetic, unknown)).sum())


Shift = tuple[tuple[FloatArray, FloatArray], tuple[FloatArray, FloatArray]]
"""For penalized and free columns: first a row, then the mean of what is left."""


def without(E: FloatArray, N: FloatArray) -> FloatArray:
    """What the columns N leave of E; a column that they explain leaves rounding errors, which are set to zero."""
    if not N.shape[1] or not len(N):
        return E
    size = norms(N)
    Q = linalg.qr(N / np.where(size > 0, size, 1.0), mode="economic", check_finite=False)[0]
    left = E - Q @ (Q.T @ E)
    left -= Q @ (Q.T @ left)
    return clean(left, norms(E), max(E.shape))


def clean(columns: FloatArray, size: FloatArray, n_terms: int) -> FloatArray:
    """Columns that are tiny against the size of what they are a difference of are zero, in place."""
    columns[:, norms(columns) <= 10 * n_terms * EPS * size] = 0.0
    return columns


class RowSpace(NamedTuple):
    """Orthonormal basis (r, rank) of the coefficients that the rows of E can see, and ``E basis``, (n, rank)."""

    basis: FloatArray
    design: FloatArray


def row_space(E: FloatArray) -> RowSpace | None:
    """The coefficients that the rows of E can see; None if that is as many as there may be.

    The rank is that of the columns scaled to one length, whatever their units: ``E = F D`` with ``F = U diag(s) V'``
    sees ``DV = BR``, and ``EB = U diag(s) R'``. The largest rows of DV come first and its columns are pivoted, so that
    columns in small units keep their digits; the product ``E B`` would lose them.
    """
    size = norms(E)
    used = np.flatnonzero(size > 0)
    if min(E.shape) == 0:
        return None
    if not len(used):
        return RowSpace(np.zeros((E.shape[1], 0)), np.zeros((len(E), 0)))
    used = used[np.argsort(-size[used], kind="stable")]
    F = E[:, used] / size[used]
    s = linalg.svdvals(_square(F), check_finite=False)
    rank = int((s > max(E.shape) * EPS * s[0]).sum())
    if rank == min(E.shape):
        return None
    U, s, Vt = linalg.svd(F, full_matrices=False, check_finite=False)
    B = np.zeros((E.shape[1], rank))
    B[used], R, order = linalg.qr(size[used, None] * Vt[:rank].T, mode="economic", pivoting=True, check_finite=False)
    return RowSpace(B, (U[:, :rank] * s[:rank])[:, order] @ R.T)


def _square(F: FloatArray) -> FloatArray:
    """A matrix with the same singular values, without more rows than columns."""
    n, r = F.shape
    return F if n <= r else np.asarray(linalg.qr(F, mode="r", check_finite=False)[0][:r])


def unevenness(size: FloatArray) -> float:
    """Ratio of the largest of some sizes to the smallest that is not zero."""
    return float(size.max(initial=0.0) / size[size > 0].min(initial=np.inf))


def span_beyond_digits(size: FloatArray, mixes: bool, least_lam: float) -> float | None:
    """Ratio of the sizes of columns, if no method keeps the digits of all of them.

    Tiny ones are held at zero by the penalty, if it ties (``mixes``) no coefficients to others.
    """
    felt = size[size > (0.0 if mixes else 1e-10 * np.sqrt(least_lam))]
    ratio = size.max(initial=0.0) / felt.min(initial=np.inf)
    return float(ratio) if ratio > MOST_SPAN else None


@dataclass(frozen=True)
class Penalty:
    """Coordinates in which ``b'Sb = ||a||^2``: the coefficients are ``penalized a + free b``.

    ``penalized`` is (p, r), None for the identity, and ``free`` (p, k).
    """

    penalized: FloatArray | None
    free: FloatArray

    @classmethod
    def identity(cls, p: int) -> Penalty:
        """Every coefficient by itself, as in ridge regression."""
        return cls(None, np.zeros((p, 0)))

    @classmethod
    def of_matrix(cls, S: FloatArray) -> Penalty:
        """With ``S = V diag(s) V'`` the coefficients are ``V_+ s_+^(-1/2) a + V_0 b``."""
        s, V = linalg.eigh(S)
        positive = s > 10 * len(S) * EPS * max(s.max(initial=0.0), 0.0)  # LAPACK has been seen at three times eps
        return cls(V[:, positive] / np.sqrt(s[positive]), V[:, ~positive])

    @classmethod
    def of_root(cls, root: FloatArray) -> Penalty:
        """The same for ``S = root'root``: forming S would square the condition number."""
        r, p = root.shape
        if r == 0 or p == 0:
            return cls(np.zeros((p, 0)), np.eye(p))
        _, s, Vt = linalg.svd(root, full_matrices=True)
        rank = int((s > 10 * max(r, p) * EPS * s[0]).sum())
        return cls(Vt[:rank].T / s[:rank], Vt[rank:].T)

    def graded(self, scales: FloatArray) -> Penalty:
        """The same for columns of very different scales: the large ones are in few of the new columns.

        A mixture of columns has the rounding errors of the largest. So rotations of ``a``, and multiples of the free
        columns, which may be added to the others, make the map from coordinates to columns lower triangular, with the
        largest columns first: each is a column of its own up to larger ones.
        """
        assert self.penalized is not None
        P, F = self.penalized, self.free
        k = F.shape[1]
        largest_first = np.argsort(-scales, kind="stable")
        if k:
            # columns that these rows do not see are any pivots: then F alone decides
            scales = np.maximum(scales, EPS * scales.max(initial=0.0)) if scales.any() else np.ones_like(scales)
            pivots = linalg.qr((scales[:, None] * F).T, mode="r", pivoting=True)[1][:k]
            square = F[pivots]
            F = linalg.solve(square.T, F.T).T
            P = P - F @ P[pivots]
            P[pivots] = 0.0
            F = F * np.exp(np.linalg.slogdet(square)[1] / k)  # the volume that the likelihood knows
            largest_first = largest_first[~np.isin(largest_first, pivots)]
        if P.shape[1]:
            P = P.copy()
            P[largest_first] = linalg.qr(P[largest_first].T, mode="full")[1].T
            # rounding errors where zeros belong: a column that is zero in some rows would be what they make of others
            P[np.abs(P) <= len(P) * EPS * linalg.norm(P, axis=1, keepdims=True)] = 0.0
        return Penalty(P, F)

    def coefficients(self, a: FloatArray, b: FloatArray) -> FloatArray:
        """From penalized and free coordinates, (r, Q) and (k, Q), to coefficients (p, Q)."""
        return (a if self.penalized is None else self.penalized @ a) + self.free @ b


def as_penalty(penalty: Penalty | FloatArray | None, p: int) -> Penalty:
    """Coordinates of a penalty matrix (p, p); None is the identity."""
    if penalty is None:
        return Penalty.identity(p)
    return penalty if isinstance(penalty, Penalty) else Penalty.of_matrix(penalty)


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
    """How rows of a design become rows of penalized and free columns; see `columns_of`."""

    maps: Penalty
    centre: FloatArray | None
    E_size: FloatArray
    N_size: FloatArray
    fit_intercept: bool

    @property
    def mixes(self) -> bool:
        """Whether penalized columns are products of the columns of the design."""
        return self.maps.penalized is not None

    def of(self, X: FloatArray) -> Columns:
        """Some rows, or all."""
        # before any product, which would round by the offset
        moved = X if self.centre is None else np.subtract(X, self.centre, out=spare_table(*X.shape))
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
    if maps.penalized is None:  # a ridge penalty mixes nothing
        E_size = norms(seen)
    else:
        maps = maps.graded(norms(seen if centre is None else seen - centre))
        assert maps.penalized is not None
        E_size = norms(np.abs(seen) @ np.abs(maps.penalized))
    N_size = np.full(1 if fit_intercept else 0, np.sqrt(len(seen)))
    if maps.free.shape[1]:
        N_size = np.hstack([N_size, norms(np.abs(seen) @ np.abs(maps.free))])
    return ColumnMap(maps, centre, E_size, N_size, fit_intercept)


def columns_of(
    X: FloatArray, penalty: Penalty | FloatArray | None, fit_intercept: bool, fitted_rows: IntArray | None = None
) -> Columns:
    """All rows of a `column_map`."""
    return column_map(X, penalty, fit_intercept, fitted_rows).of(X)


def check_penalty(penalty: object, p: int) -> FloatArray | None:
    """Return the penalty matrix, checked to be symmetric and positive semi-definite; None for the identity."""
    if penalty is None:
        return None
    try:
        S = np.asarray(penalty, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError("penalty must be a matrix of numbers, or None for the identity.") from error
    if S.shape != (p, p):
        raise DataError(f"penalty has shape {S.shape}; X has {p} columns, so it must be ({p}, {p}).")
    if not np.isfinite(S).all():
        raise DataError("penalty holds NaN or infinite values.")
    scale = np.abs(S).max(initial=0.0)
    if np.abs(S - S.T).max(initial=0.0) > 1e-10 * scale:
        raise DataError("penalty is not symmetric; use (S + S.T) / 2, which gives the same b'Sb.")
    S = (S + S.T) / 2
    smallest = linalg.eigvalsh(S, subset_by_index=(0, 0))[0]
    if smallest < -1e-10 * scale:
        raise DataError(
            f"penalty is not positive semi-definite (smallest eigenvalue {smallest:.3g}): "
            "b'Sb would reward some coefficients without limit."
        )
    return S
