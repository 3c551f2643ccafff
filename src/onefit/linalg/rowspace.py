"""What the rows of a matrix can see of its coefficients, whatever the units of its columns."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import linalg

from ..typing import FloatArray
from .tall import EPS, norms

__all__ = ["RowSpace", "as_square", "clean", "row_space", "without"]


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
    s = linalg.svdvals(as_square(F), check_finite=False)
    rank = int((s > max(E.shape) * EPS * s[0]).sum())
    if rank == min(E.shape):
        return None
    U, s, Vt = linalg.svd(F, full_matrices=False, check_finite=False)
    B = np.zeros((E.shape[1], rank))
    B[used], R, order = linalg.qr(size[used, None] * Vt[:rank].T, mode="economic", pivoting=True, check_finite=False)
    return RowSpace(B, (U[:, :rank] * s[:rank])[:, order] @ R.T)


def as_square(F: FloatArray) -> FloatArray:
    """A matrix with the same singular values, without more rows than columns."""
    n, r = F.shape
    return F if n <= r else np.asarray(linalg.qr(F, mode="r", check_finite=False)[0][:r])
