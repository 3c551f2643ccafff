"""Singular values by Jacobi's method, for matrices whose columns are in very different units."""

from __future__ import annotations

import numpy as np
from scipy import linalg

from ..typing import FloatArray, IntArray
from .columns import norms

__all__ = ["left_of_wide", "svd_by_jacobi", "svd_of_wide"]

UPPER_TRIANGLE, ALL, NO_RANGE, NO_PERTURBATION = 0, 0, 0, 0
"""LAPACK's choices by number: accuracy for columns of any scale, all vectors, nothing set to zero, nothing added."""


def svd_by_jacobi(A: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """``A = U diag(d) V'`` for at least as many rows as columns: small columns keep the digits of what is theirs."""
    lengths, U, V, work, _, info = linalg.lapack.dgejsv(
        np.asfortranarray(A), joba=UPPER_TRIANGLE, jobu=ALL, jobv=ALL, jobr=NO_RANGE, jobp=NO_PERTURBATION
    )
    d: FloatArray = lengths * (work[0] / work[1])
    if info != 0 or not np.isfinite(d).all():
        U, d, Vt = linalg.svd(A, full_matrices=False, check_finite=False)
        V = Vt.T
    return U, d, V


def svd_of_wide(E: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """``E = U diag(d) V'`` with U (m, m), for any number of columns in any units.

    From ``E' = QR`` with the largest rows first and columns pivoted, which keeps the digits of small rows.
    """
    largest_first = np.argsort(-norms(E), kind="stable")
    Q, R, order = linalg.qr(E.T[largest_first], mode="economic", pivoting=True, check_finite=False, overwrite_a=True)
    U, d, inside = _of_triangle(R, order)
    V = np.empty((E.shape[1], len(E)))
    V[largest_first] = Q @ inside[: Q.shape[1]]
    return U, d, V


def left_of_wide(E: FloatArray) -> tuple[FloatArray, FloatArray]:
    """U and d alone, without anything as wide as E but one copy of it."""
    largest_first = np.argsort(-norms(E), kind="stable")
    R, order = linalg.qr(E.T[largest_first], mode="r", pivoting=True, check_finite=False, overwrite_a=True)
    return _of_triangle(R[: len(E)], order)[:2]


def _of_triangle(R: FloatArray, order: IntArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """U and d of the matrix whose transpose has this factor, and what leads from its Q to V."""
    r, m = R.shape
    inside, d, outside = svd_by_jacobi(R if r == m else np.vstack([R, np.zeros((m - r, m))]))
    U = np.empty((m, m))
    U[order] = outside
    return U, d, inside
