"""What the rows of a matrix can see of its coefficients, whatever the units of its columns."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import linalg

from ..typing import FloatArray, IntArray
from .tall import EPS, norms

__all__ = ["Joined", "RowSpace", "as_square", "clean", "joined", "row_space", "without"]


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
    columns in small units keep their digits; the product ``E B`` would lose them. Columns in proportion to each other
    are one before that: V has rounding errors beside one, and what they make of the difference of two large columns,
    which no row sees, would be large beside small ones.
    """
    size = norms(E)
    used = np.flatnonzero(size > 0)
    if min(E.shape) == 0:
        return None
    if not len(used):
        return RowSpace(np.zeros((E.shape[1], 0)), np.zeros((len(E), 0)))
    used = used[np.argsort(-size[used], kind="stable")]
    F = E[:, used] / size[used]
    s = linalg.svdvals(as_square(F), check_finite=False)
    rank = int((s > max(E.shape) * EPS * s[0]).sum())
    if rank == min(E.shape):
        return None
    one = joined(E[:, used])
    F, size = one.design / one.size, one.size
    rank = min(rank, F.shape[1])
    B = np.zeros((E.shape[1], rank))
    if F.shape[1] == rank:
        B[used] = one.spread(np.eye(rank))
        return RowSpace(B, one.design)
    U, s, Vt = linalg.svd(F, full_matrices=False, check_finite=False)
    inside, R, order = linalg.qr(size[:, None] * Vt[:rank].T, mode="economic", pivoting=True, check_finite=False)
    B[used] = one.spread(inside)
    return RowSpace(B, (U[:, :rank] * s[:rank])[:, order] @ R.T)


class Joined(NamedTuple):
    """Columns (n, q), each for all of the r columns of a matrix that are in proportion to each other.

    ``group`` (r,) says which of them stands for a column, ``weight`` (r,) what share of its coefficient the column has:
    the squares in a group are one in sum, so that the norm of coefficients is what it was. ``size`` are the norms.
    """

    design: FloatArray
    size: FloatArray
    group: IntArray
    weight: FloatArray

    def spread(self, coefficients: FloatArray) -> FloatArray:
        """Those of the r columns, (r, ...), of minimum norm."""
        shares: FloatArray = self.weight[:, None] * coefficients[self.group]
        return shares


def joined(E: FloatArray, slack: float = 1.0) -> Joined:
    """Columns in proportion to each other as one, whatever their units; to so many times the rounding errors."""
    size = norms(E)
    F = E / np.where(size > 0, size, 1.0)
    tolerance = slack * max(F.shape) * EPS
    shadow = np.abs(np.cos(np.arange(len(F))) @ F)  # the same for columns in proportion, and for few others
    order = np.argsort(shadow, kind="stable")
    apart = np.flatnonzero(np.diff(shadow[order]) > 10 * np.sqrt(len(F)) * tolerance)
    first, sign = np.arange(F.shape[1]), np.ones(F.shape[1])
    for alike in np.split(order, apart + 1):
        left = np.sort(alike)
        while len(left) > 1:
            signs = np.where(F[:, left[0]] @ F[:, left] < 0, -1.0, 1.0)
            is_same = norms(F[:, left] * signs - F[:, left[:1]]) <= tolerance
            first[left[is_same]], sign[left[is_same]] = left[0], signs[is_same]
            left = left[~is_same]
    kept, group = np.unique(first, return_inverse=True)
    largest = np.zeros(len(kept))
    np.maximum.at(largest, group, size)
    unit = np.where(largest > 0, largest, 1.0)
    sizes = largest * np.sqrt(np.bincount(group, np.square(size / unit[group])))
    share = np.where(size > 0, size, 1.0) / np.where(sizes > 0, sizes, 1.0)[group]
    return Joined(F[:, kept] * sizes, sizes, group, sign * share)


def as_square(F: FloatArray) -> FloatArray:
    """A matrix with the same singular values, without more rows than columns."""
    n, r = F.shape
    return F if n <= r else np.asarray(linalg.qr(F, mode="r", check_finite=False)[0][:r])
