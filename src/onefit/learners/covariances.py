"""Covariance matrices of classes: how much Ledoit and Wolf's lemma shrinks them, and roots of their inverses."""

from __future__ import annotations

import numpy as np

from ..linalg import batched
from ..linalg.columns import EPS
from ..typing import BoolArray, FloatArray, IntArray
from .classmoments import ClassMoments

__all__ = ["inverse_roots", "ledoit_wolf_shares"]

FARTHEST = 1e5
"""Squared distances, in deviations, up to which they are found by products."""


def ledoit_wolf_shares(X: FloatArray, classes: IntArray, covariance: FloatArray, moments: ClassMoments) -> FloatArray:
    r"""How much the covariances (B, C, p, p) of classes, of standardized columns, are shrunk, (B, C); NaN if unsure.

    With correlations R and standardized rows z, ``delta = (sum R_ij^2 - p)/p`` and
    ``beta = (mean |z|^4 - sum R_ij^2)/(p n)``; the share is ``min(beta, delta)/delta``.
    """
    B, C, p, _ = covariance.shape
    share = np.zeros((B, C))
    if p == 1:
        return share
    variance = np.einsum("bcpp->bcp", covariance)
    is_sure = (variance > 0).all(axis=2)
    precision = 1.0 / np.where(variance > 0, variance, 1.0)
    inside, squares = moments.inside(), np.square(X)
    for c in range(C):
        rows = np.flatnonzero(classes == c)
        P, mean = precision[:, c], moments.mean[:, c]
        far = P @ squares[rows].max(axis=0) + (np.square(mean) * P).sum(axis=1)
        is_sure[:, c] &= far < FARTHEST
        distance = squares[rows] @ P.T - 2.0 * X[rows] @ (mean * P).T + (np.square(mean) * P).sum(axis=1)
        fourth = np.einsum("rb,rb,br->b", distance, distance, inside[:, rows].astype(np.float64))
        n = np.maximum(moments.n[:, c], 1.0)
        correlation = covariance[:, c] * np.sqrt(P)[:, :, None] * np.sqrt(P)[:, None]
        products = np.square(correlation).sum(axis=(1, 2))
        delta = (products - p) / p
        beta = np.minimum((fourth / n - products) / (p * n), delta)
        is_sure[:, c] &= delta > 1e4 * EPS  # else both are rounding errors
        share[:, c] = np.divide(beta, delta, out=np.zeros(B), where=delta > 0)
    share[~is_sure] = np.nan
    return share


def inverse_roots(
    covariance: FloatArray, deviation: FloatArray, tol: float
) -> tuple[FloatArray, FloatArray, BoolArray]:
    """R (..., p, p) with ``RR' = covariance^-1``, log determinants, and where both have all digits.

    Determinants are those of columns divided by their deviations, and so are eigenvalues, which must exceed ``tol``.
    """
    diagonal = np.einsum("...pp->...p", covariance)
    is_known: BoolArray = np.isfinite(diagonal).all(axis=-1) & (diagonal > 0).all(axis=-1)
    D = 1.0 / np.sqrt(np.where(is_known[..., None], diagonal, 1.0))
    p = D.shape[-1]
    A = np.where(is_known[..., None, None], covariance * D[..., :, None] * D[..., None, :], np.eye(p))
    L = _factors(A, is_known)
    inverse = np.linalg.inv(L)
    is_known &= np.square(inverse).sum(axis=(-2, -1)) < 1.0 / batched.TRUSTED
    R = D[..., None] * inverse.swapaxes(-2, -1)
    # the trace of an inverse is more than the inverse of the smallest eigenvalue
    bound = np.square(R * deviation[..., None]).sum(axis=(-2, -1))
    for index in map(tuple, np.argwhere(is_known & (bound * tol >= 1.0))):
        scale = np.broadcast_to(deviation, D.shape)[index]
        least = np.linalg.eigvalsh(covariance[index] / scale[:, None] / scale)[0]
        is_known[index] = least > (1.0 + 1e-8) * tol
    log_size = 2.0 * (np.log(np.einsum("...pp->...p", L)) - np.log(D * deviation)).sum(axis=-1)
    return R, log_size, is_known


def _factors(A: FloatArray, is_known: BoolArray) -> FloatArray:
    """Cholesky factors; the identity, and not known, where there is none."""
    try:
        return np.asarray(np.linalg.cholesky(A))
    except np.linalg.LinAlgError:
        L = np.broadcast_to(np.eye(A.shape[-1]), A.shape).copy()
        for index in np.ndindex(A.shape[:-2]):
            try:
                L[index] = np.linalg.cholesky(A[index])
            except np.linalg.LinAlgError:
                is_known[index] = False
        return L
