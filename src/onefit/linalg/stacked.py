"""One penalized least squares fit by QR of the stacked design: accurate where updating formulas are not."""

from __future__ import annotations

import numpy as np
from scipy import linalg

from ..errors import TrainingSetError
from ..typing import FloatArray, IntArray
from .columns import TINY, Columns, clean, norms, row_space

__all__ = ["fit_stacked", "prediction_weights"]


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
    k = free.N.shape[1]
    Q, R, order = _graded_qr(free.N, mode="full")
    a = np.zeros((0, y.shape[1]))
    if lam > 0:
        # a column that the free ones explain would leave rounding errors only, over the root of lam
        E2 = clean(Q[:, k:].T @ free.E, norms(free.E), max(free.E.shape))
        a = _ridge(E2, Q[:, k:].T @ y, lam)
    b = np.empty((k, y.shape[1]))
    b[order] = linalg.solve_triangular(R[:k], Q[:, :k].T @ (y - free.E @ a)) if k else b
    if lam > 0:
        return a, b
    kept = columns.N.shape[1]
    return b[kept:], b[:kept]


def prediction_weights(new: Columns, columns: Columns, lam: float) -> FloatArray:
    """``H`` with ``H y`` the predictions at new rows of the fit to y: a fit to every unit vector.

    Not from the residual operator: where columns are large, the products would cancel.
    """
    a, b = fit_stacked(columns, np.eye(len(columns.N)), lam)
    weights: FloatArray = new.E @ a + new.N @ b
    return weights


def _graded_qr(A: FloatArray, mode: str = "economic") -> tuple[FloatArray, FloatArray, IntArray]:
    """``A[:, order] = Q R``, with small errors in every row and column, however different their units.

    Householder's method is so if large rows come first and columns are pivoted.
    """
    n, k = A.shape
    if not k:
        return np.eye(n), np.zeros((n, 0)), np.arange(0)
    size = norms(A)
    scaled = A / np.where(size > 0, size, 1.0)
    largest_first = np.argsort(-np.abs(scaled).max(axis=1), kind="stable")
    P, R, order = linalg.qr(scaled[largest_first], mode=mode, pivoting=True, check_finite=False)
    Q = np.empty_like(P)
    Q[largest_first] = P
    return Q, R * size[order], order


def _ridge(E: FloatArray, y: FloatArray, lam: float) -> FloatArray:
    """``argmin ||y - E a||^2 + lam ||a||^2``, in the directions that the rows see.

    From the QR of ``[E; sqrt(lam) I]``, or of ``[E'; sqrt(lam) I]`` if there are more columns than rows: the normal
    equations would square the condition number. A null space of E that the penalty cannot hold at zero is left out.
    """
    is_tiny = lam <= TINY * np.square(norms(E)).sum()
    space = row_space(E) if is_tiny else None
    if space is not None:
        return space.basis @ _ridge_by_qr(space.design, y, lam)
    return _ridge_by_qr(E, y, lam)


def _ridge_by_qr(E: FloatArray, y: FloatArray, lam: float) -> FloatArray:
    (n, r), is_wide = E.shape, E.shape[1] > E.shape[0]
    if min(n, r) == 0:
        return np.zeros((r, y.shape[1]))
    stacked = np.vstack([E.T if is_wide else E, np.sqrt(lam) * np.eye(min(n, r))])
    Q, R, order = _graded_qr(stacked)
    if is_wide:  # a = E'(EE' + lam I)^-1 y, and E' is the upper part of QR
        wide: FloatArray = Q[:r] @ linalg.solve_triangular(R, y[order], trans="T")
        return wide
    a = np.empty((r, y.shape[1]))
    a[order] = linalg.solve_triangular(R, Q[:n].T @ y)
    return a
