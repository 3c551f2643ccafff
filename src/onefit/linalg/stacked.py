"""One penalized least squares fit by QR of the stacked design: accurate where updating formulas are not."""

from __future__ import annotations

import numpy as np
from scipy import linalg

from ..errors import TrainingSetError
from ..typing import FloatArray
from .columns import TINY, Columns, norms, truncated_svd

__all__ = ["fit_stacked"]


def fit_stacked(columns: Columns, y: FloatArray, lam: float) -> tuple[FloatArray, FloatArray]:
    """Coefficients a (r, Q) and b (k, Q) of ``min ||y - E a - N b||^2 + lam ||a||^2``.

    Raises TrainingSetError if the rows do not determine the free coefficients.
    """
    free = columns.at(lam)
    lost = free.dependent()
    if lost:
        raise TrainingSetError(
            f"{lost} of its {free.N.shape[1]} unpenalized columns (the intercept among them, if there is one) "
            "are linear combinations of the others, so the fit is not unique"
        )
    (n, r), k = free.E.shape, free.N.shape[1]
    a, b = _fit_wide(free, y, lam) if r + k > n or _is_tiny(free.E, lam) else _fit_tall(free, y, lam)
    if lam > 0:
        return a, b
    kept = columns.N.shape[1]
    return b[kept:], b[:kept]


def _fit_tall(columns: Columns, y: FloatArray, lam: float) -> tuple[FloatArray, FloatArray]:
    (n, r), k = columns.E.shape, columns.N.shape[1]
    stacked = np.zeros((n + r, r + k))
    stacked[:n, :r], stacked[:n, r:] = columns.E, columns.N
    stacked[n + np.arange(r), np.arange(r)] = np.sqrt(lam)
    Q, R = linalg.qr(stacked, mode="economic", overwrite_a=True)
    coef = linalg.solve_triangular(R, Q[:n].T @ y)
    return coef[:r], coef[r:]


def _is_tiny(E: FloatArray, lam: float) -> bool:
    """Whether the penalty may drown in rounding errors, so that a lost direction of E would not be held at zero."""
    return bool(0 < lam <= TINY * np.square(norms(E)).sum())


def _fit_wide(columns: Columns, y: FloatArray, lam: float) -> tuple[FloatArray, FloatArray]:
    """Dual form: ``a = E2'(E2 E2' + lam I)^-1 y2`` with the free columns projected out.

    As ``a = Q R^-T y2`` from the QR of ``[E2'; sqrt(lam) I]``: solving with R'R would square the condition number. If
    E2 has a null space that the penalty cannot hold at zero, by the SVD without it.
    """
    n, k = columns.N.shape
    Q, R = linalg.qr(columns.N, mode="full") if k else (np.eye(n), np.zeros((n, 0)))
    E2, y2 = Q[:, k:].T @ columns.E, Q[:, k:].T @ y
    if E2.shape[0] > E2.shape[1]:  # what no column reaches would only leave rounding errors, over the root of lam
        P, E2 = linalg.qr(E2, mode="economic")
        y2 = P.T @ y2
    seen = truncated_svd(E2) if _is_tiny(columns.E, lam) else None
    if seen is not None:
        U, d, V = seen
        a = V @ ((d / (np.square(d) + lam))[:, None] * (U.T @ y2))
    else:
        Q2, R2 = linalg.qr(np.vstack([E2.T, np.sqrt(lam) * np.eye(len(E2))]), mode="economic", overwrite_a=True)
        a = Q2[: E2.shape[1]] @ linalg.solve_triangular(R2, y2, trans="T")
    b = linalg.solve_triangular(R[:k], Q[:, :k].T @ (y - columns.E @ a)) if k else np.zeros((0, y.shape[1]))
    return a, b
