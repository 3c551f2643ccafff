"""Every penalized least squares problem in one form."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from ..errors import DataError
from ..typing import FloatArray, IntArray

__all__ = [
    "TINY",
    "Columns",
    "Penalty",
    "as_penalty",
    "check_penalty",
    "columns_of",
    "norms",
    "numerical_rank",
    "truncated_svd",
]


@dataclass(frozen=True)
class Columns:
    """``min ||y - E a - N b||^2 + lam ||a||^2``: penalized columns E (n, r), free columns N (n, k).

    ``E_size`` and ``N_size`` are the norms that the columns would have without cancellation in their making, over
    all rows: what is tiny against them is rounding error, also in a training set.
    """

    E: FloatArray
    N: FloatArray
    E_size: FloatArray
    N_size: FloatArray

    @property
    def width(self) -> int:
        """Number of columns, r + k."""
        return int(self.E.shape[1] + self.N.shape[1])

    def at(self, lam: float) -> Columns:
        """The same problem at one value: without a penalty every column is free."""
        if lam > 0:
            return self
        N, N_size = np.hstack([self.N, self.E]), np.hstack([self.N_size, self.E_size])
        return Columns(self.E[:, :0], N, self.E_size[:0], N_size)

    def rows(self, rows: IntArray) -> Columns:
        """The same columns in some rows."""
        return Columns(self.E[rows], self.N[rows], self.E_size, self.N_size)

    def weighted(self, root: FloatArray) -> Columns:
        """Rows times the roots of their weights: least squares then weighs them."""
        E, N = root[:, None] * self.E, root[:, None] * self.N
        return Columns(E, N, self.E_size * root.max(initial=0.0), self.N_size * root.max(initial=0.0))

    def narrow(self) -> Columns:
        """At most n penalized columns: a rotation of ``a`` changes neither its norm nor the fit."""
        n, r = self.E.shape
        if r <= n:
            return self
        E = np.ascontiguousarray(linalg.qr(self.E.T, mode="r")[0][:n].T)
        # the rotation mixes all columns, and so their rounding errors
        return Columns(E, self.N, np.full(n, linalg.norm(E)), self.N_size)

    def full_rank(self, lam: float, rows: IntArray) -> Columns:
        """Without the directions of ``a`` that no row sees, where the penalty is too small to hold them at zero.

        A penalty, however small, sets them to zero in every training set; but a tiny one drowns in the rounding
        errors of E, and they would be fitted to those. ``rows`` are those that count.
        """
        seen = self.E[rows]
        truncated = truncated_svd(seen) if lam <= TINY * np.square(norms(seen)).sum() else None
        if truncated is None:
            return self
        _, d, V = truncated
        return Columns(self.E @ V, self.N, d, self.N_size)

    def dependent(self) -> int:
        """How many of the free columns are linear combinations of the others, whatever their scales."""
        n, k = self.N.shape
        if k == 0 or n == 0:
            return int(k)
        scaled = self.N / np.where(self.N_size > 0, self.N_size, 1.0)
        length = norms(scaled)
        threshold = 10 * max(n, k) * np.finfo(float).eps
        if (length <= threshold).any():
            return int((length <= threshold).sum())
        diagonal = np.abs(np.diag(linalg.qr(scaled / length, mode="r", pivoting=True)[0]))
        return int(k - (diagonal > threshold).sum())


TINY = 1e-9
"""Penalties below this part of ``||E||^2`` cannot be told from rounding errors in E E' with certainty."""


def truncated_svd(E: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray] | None:
    """``E = U diag(d) V'`` without its null space, if it has one; else None."""
    if min(E.shape) == 0:
        return None
    threshold = max(E.shape) * np.finfo(float).eps
    rank = numerical_rank(E)
    if rank == min(E.shape):
        return None
    U, d, Vt = linalg.svd(E, full_matrices=False)
    if int((d > threshold * d[0]).sum()) != rank:
        return None  # scales so different that the null space cannot be told from small columns
    return U[:, :rank], d[:rank], Vt[:rank].T


def numerical_rank(E: FloatArray) -> int:
    """Rank, whatever the scales of the columns."""
    size = norms(E)
    scaled = linalg.svdvals(E / np.where(size > 0, size, 1.0))
    return int((scaled > max(E.shape) * np.finfo(float).eps * scaled[0]).sum())


def norms(columns: FloatArray) -> FloatArray:
    """Euclidean norm of each column, safe from overflow."""
    largest = np.abs(columns).max(axis=0, initial=0.0)
    lengths: FloatArray = largest * np.sqrt(np.square(columns / np.where(largest > 0, largest, 1.0)).sum(axis=0))
    return lengths


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
        positive = s > len(S) * np.finfo(float).eps * max(s.max(initial=0.0), 0.0)
        return cls(V[:, positive] / np.sqrt(s[positive]), V[:, ~positive])

    @classmethod
    def of_root(cls, root: FloatArray) -> Penalty:
        """The same for ``S = root'root``: forming S would square the condition number."""
        r, p = root.shape
        if r == 0 or p == 0:
            return cls(np.zeros((p, 0)), np.eye(p))
        _, s, Vt = linalg.svd(root, full_matrices=True)
        rank = int((s > max(r, p) * np.finfo(float).eps * s[0]).sum())
        return cls(Vt[:rank].T / s[:rank], Vt[rank:].T)

    def coefficients(self, a: FloatArray, b: FloatArray) -> FloatArray:
        """From penalized and free coordinates, (r, Q) and (k, Q), to coefficients (p, Q)."""
        return (a if self.penalized is None else self.penalized @ a) + self.free @ b


def as_penalty(penalty: Penalty | FloatArray | None, p: int) -> Penalty:
    """Coordinates of a penalty matrix (p, p); None is the identity."""
    if penalty is None:
        return Penalty.identity(p)
    return penalty if isinstance(penalty, Penalty) else Penalty.of_matrix(penalty)


def columns_of(
    X: FloatArray, penalty: Penalty | FloatArray | None, fit_intercept: bool, heavy: IntArray | None = None
) -> Columns:
    """Penalized and free columns of a design whose coefficients carry ``lam b'Sb``; the intercept is free.

    With an intercept the columns are centred, beside the column of ones and not in its place: the intercept absorbs
    the shift exactly, in every training set, and columns with a large offset keep their accuracy. Centre and sizes are
    those of the rows ``heavy``, which count in the fits; the others may be anywhere.
    """
    ones = np.ones((X.shape[0], 1 if fit_intercept else 0))
    maps = as_penalty(penalty, X.shape[1])
    rows = slice(None) if heavy is None else heavy
    E, E_size = (X, norms(X[rows])) if maps.penalized is None else _product(X, maps.penalized, rows)
    N, N_size = _product(X, maps.free, rows)
    if fit_intercept:
        E, N = E - E[rows].mean(axis=0), N - N[rows].mean(axis=0)
    return Columns(E, np.hstack([ones, N]), E_size, np.hstack([norms(ones[rows]), N_size]))


def _product(X: FloatArray, basis: FloatArray, rows: IntArray | slice) -> tuple[FloatArray, FloatArray]:
    """X times a basis, and the norms that its columns would have in some rows if no terms cancelled."""
    return X @ basis, norms(np.abs(X[rows]) @ np.abs(basis))


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
