"""Gram matrices of rows whose columns are centred and scaled by some of them, and ridge regression in such a matrix."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import linalg

from ..typing import FloatArray, IntArray
from .columns import EPS

__all__ = ["CenteredGram", "standardized_gram"]

BLOCK_CELLS = 2**18
"""Cells of the block of columns that is scaled at a time: about what the caches hold."""

LOST = 1e-6
"""Part of the largest eigenvalue at which the smallest, plus the penalty, has too few digits left in a Gram matrix."""

FEW_VALUES = 12
"""Penalties up to which a factorization for each is cheaper than one eigendecomposition for all."""


def standardized_gram(X: FloatArray, centre: FloatArray, rows: IntArray, n_train: int) -> FloatArray:
    """Products of ``rows`` (n,) of X + centre, its columns standardized by the first ``n_train`` of these, (n, n).

    As scikit-learn's StandardScaler does it: by their mean and deviation, and by the mean alone where a column is
    constant up to rounding errors. Of X scaled there is never more than a block of columns.
    """
    n, p = len(rows), X.shape[1]
    step = max(1, BLOCK_CELLS // n)
    gram = np.zeros((n, n))
    for start in range(0, p, step):
        part = slice(start, start + step)
        block = X[rows, part]
        mean = block[:n_train].mean(axis=0)
        block -= mean
        variance = np.einsum("ij,ij->j", block[:n_train], block[:n_train]) / n_train
        rounding = n_train * EPS
        is_constant = variance <= rounding * variance + np.square(rounding * (mean + centre[part]))
        block *= 1.0 / np.sqrt(np.where(is_constant, 1.0, variance))
        gram += block @ block.T
    return gram


@dataclass(frozen=True)
class CenteredGram:
    """Ridge regression with an intercept on rows that are known by their products, ``fitted = mean + cross a``.

    The rows of ``own`` sum to zero, as the intercept has it, so that ``a = (own + lam I)^-1 (y - mean)`` does too. The
    constant vector is given an eigenvalue of its own, beyond the others: then its zero is no reason for lost digits.

    Attributes
    ----------
    own : (n, n)
    cross : (h, n) products of other rows with these
    y : (n, Q)
    """

    own: FloatArray
    cross: FloatArray
    y: FloatArray

    @cached_property
    def mean(self) -> FloatArray:
        """Mean of y, (Q,)."""
        mean: FloatArray = self.y.mean(axis=0)
        return mean

    @cached_property
    def _norm(self) -> float:
        """At least the largest eigenvalue; the matrix is not zero."""
        return float(np.abs(self.own).sum(axis=0).max()) or 1.0

    @cached_property
    def _lifted(self) -> FloatArray:
        """With the constant vector at twice the norm."""
        return self.own + 2.0 * self._norm / len(self.own)

    @cached_property
    def spectrum(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Eigenvalues (q,), vectors U (n, q) and projections ``U'y`` (q, Q), without the constant vector."""
        mu, U = np.linalg.eigh(self._lifted)
        mu, U = np.maximum(mu[:-1], 0.0), U[:, :-1]
        return mu, U, U.T @ (self.y - self.mean)

    def keeps_digits(self, smallest: float) -> bool:
        """Whether the eigenvalues are known well enough for all penalties from ``smallest`` on."""
        if smallest > LOST * self._norm:
            return True
        mu = self.spectrum[0]
        return bool(len(mu)) and float(mu[0]) + smallest > LOST * float(mu[-1])

    def fitted(self, lams: FloatArray) -> FloatArray:
        """Predictions (h, V, Q) for the other rows at positive penalties (V, 1) or (V, Q)."""
        few = lams.shape[1] == 1 and len(lams) <= FEW_VALUES and "spectrum" not in self.__dict__
        return self.mean + (self._by_factors(lams[:, 0]) if few else self._by_spectrum(lams))

    def _by_factors(self, lams: FloatArray) -> FloatArray:
        centred, identity = self.y - self.mean, np.eye(len(self.own))
        found = []
        for lam in lams:
            factor = linalg.cho_factor(self._lifted + lam * identity, lower=True, overwrite_a=True, check_finite=False)
            found.append(self.cross @ linalg.cho_solve(factor, centred, check_finite=False))
        return np.stack(found, axis=1)

    def _by_spectrum(self, lams: FloatArray) -> FloatArray:
        mu, U, gamma = self.spectrum
        shrunk = gamma[:, None] / (mu[:, None, None] + lams)
        h, (q, V, Q) = len(self.cross), shrunk.shape
        return ((self.cross @ U) @ shrunk.reshape(q, V * Q)).reshape(h, V, Q)
