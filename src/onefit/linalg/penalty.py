"""Coordinates in which a quadratic penalty is a sum of squares."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from ..errors import DataError
from ..typing import FloatArray
from .tall import EPS

__all__ = ["Penalty", "as_penalty", "check_penalty"]


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
