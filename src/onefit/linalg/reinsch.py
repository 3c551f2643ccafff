"""One decomposition for the whole path: Demmler-Reinsch from a stacked QR."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import linalg

from ..typing import FloatArray
from .columns import Columns

__all__ = ["Reinsch", "demmler_reinsch"]


@dataclass(frozen=True)
class Reinsch:
    """Basis Z in which the data and the penalty are diagonal together.

    ``Z'Z = diag(x)`` and the penalty is ``diag(s)``, so that the hat matrix at lam is
    ``Z diag(1/(x + lam s)) Z'`` for every lam. ``x + lam s`` rather than ``1 + (lam - tau) s``: the latter
    cancels.
    """

    Z: FloatArray
    x: FloatArray
    s: FloatArray

    def scale(self, lam: float) -> FloatArray:
        """Column scales g with ``H = (Z g)(Z g)'``."""
        D = self.x + lam * self.s
        return 1.0 / np.sqrt(np.where(D > 0, D, np.inf))


def demmler_reinsch(columns: Columns, lams: Sequence[float]) -> Reinsch:
    """Decompose ``[E N; sqrt(tau) I 0] = QR`` and rotate Q so that its lower block is diagonal.

    Never from normal equations: those square the condition number. ``tau`` is the geometric mean of the
    values; with one value the rotation is not needed, as ``x + tau s = 1``.
    """
    (n, r), k = columns.E.shape, columns.N.shape[1]
    tau = float(np.exp(np.mean(np.log(lams)))) if r else 0.0
    stacked = np.zeros((n + r, r + k))
    stacked[:n, :r], stacked[:n, r:] = columns.E, columns.N
    stacked[n + np.arange(r), np.arange(r)] = np.sqrt(tau)
    Q = linalg.qr(stacked, mode="economic", overwrite_a=True, check_finite=False)[0]
    if r == 0 or min(lams) == max(lams):
        return Reinsch(np.ascontiguousarray(Q[:n]), np.ones(r + k), np.zeros(r + k))
    _, c, Vt = linalg.svd(Q[n:], full_matrices=True, check_finite=False)
    Z = Q[:n] @ Vt.T
    s = np.zeros(r + k)
    s[: len(c)] = np.square(c) / tau
    return Reinsch(np.ascontiguousarray(Z), np.square(Z).sum(axis=0), s)
