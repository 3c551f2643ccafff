"""The residual operator when there are as many columns as rows, and for kernels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from ..typing import FloatArray
from .columns import Columns
from .jacobi import left_of_wide

__all__ = ["Dual", "dual_of"]


@dataclass(frozen=True)
class Dual:
    """``Q(lam) = F diag(1/(e + lam)) F'``, with ``A = lam Q`` the residual operator.

    Deleting rows is a Schur complement of A and so of Q. Where the fit nearly interpolates, ``I - H``
    cancels and Q does not: its entries keep their relative accuracy at every lam.
    """

    F: FloatArray
    e: FloatArray

    def unit(self, lam: float) -> float:
        """A power of four near lam. Q in this unit can be squared twice, whatever lam is, and keeps its bits."""
        positive = self.e[self.e > 0]
        size = lam or (float(positive.min()) if len(positive) else 1.0)
        return float(4.0 ** round(np.log2(size) / 2))

    def factors(self, lam: float) -> FloatArray:
        """The diagonal of Q in its unit, in the basis F."""
        within: FloatArray = self.unit(lam) / (self.e + lam)
        return within

    def matrix(self, lam: float) -> FloatArray:
        """Q at one value, in its unit."""
        root: FloatArray = self.F / (np.sqrt(self.e + lam) / np.sqrt(self.unit(lam)))
        return root @ root.T


def dual_of(columns: Columns) -> Dual:
    """Project the free columns out first: ``Q = W (W'(EE' + lam I)W)^-1 W'`` with W'N = 0.

    The textbook form ``C - CN(N'CN)^-1 N'C`` cancels when N is nearly orthogonal to E.
    """
    n, k = columns.N.shape
    W = linalg.qr(columns.N, mode="full", check_finite=False)[0][:, k:] if k else np.eye(n)
    if columns.is_uneven:
        U, d = left_of_wide(W.T @ columns.E)
    else:
        U, d, _ = linalg.svd(W.T @ columns.narrow().E, full_matrices=True, check_finite=False)
    e = np.zeros(n - k)
    e[: len(d)] = np.square(d)
    return Dual(np.ascontiguousarray(W @ U), e)
