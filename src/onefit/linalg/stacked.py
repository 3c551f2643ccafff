"""One penalized least squares fit by QR of the stacked design: accurate where updating formulas are not."""

from __future__ import annotations

import numpy as np
from scipy import linalg

from ..errors import TrainingSetError
from ..typing import FloatArray, IntArray
from .columns import EPS, NEGLIGIBLE, UNEVEN, Columns, clean, norms, row_space, unevenness
from .reflections import Reflections
from .rowspace import joined

__all__ = ["fit_stacked", "graded_qr", "prediction_weights"]

SLACK = 10
"""How many times their rounding errors columns may differ from what larger ones make up."""


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
    k, r = free.N.shape[1], free.E.shape[1]
    factor = Reflections(free.N)
    along = factor.transpose_times(np.hstack([free.E, y]))
    a = np.zeros((r, y.shape[1]))
    if lam > 0:
        # a column that the free ones explain would leave rounding errors only, over the root of lam
        a = _ridge(clean(along[k:, :r], norms(free.E), max(free.E.shape)), along[k:, r:], lam)
    b = factor.solve(factor.transpose_times(y - free.E @ a)[:k])
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


def graded_qr(A: FloatArray) -> tuple[FloatArray, FloatArray, IntArray]:
    """``A[:, order] = Q R`` with Q as thin as A, and the same accuracy."""
    size = norms(A)
    scaled = A / np.where(size > 0, size, 1.0)
    largest_first = np.argsort(-np.abs(scaled).max(axis=1, initial=0.0), kind="stable")
    P, R, order = linalg.qr(scaled[largest_first], mode="economic", pivoting=True, check_finite=False)
    Q = np.empty_like(P)
    Q[largest_first] = P
    return Q, R * size[order], order


def _ridge(E: FloatArray, y: FloatArray, lam: float) -> FloatArray:
    """``argmin ||y - E a||^2 + lam ||a||^2``, in the directions that the rows see.

    From the QR of ``[E; sqrt(lam) I]``, or of ``[E'; sqrt(lam) I]`` if there are more columns than rows: the normal
    equations would square the condition number. A null space of E that the penalty cannot hold at zero is left out,
    and so is that of the larger columns alone.
    """
    size = norms(E)
    if not _has_null_space(E, size, lam):
        a = _ridge_by_qr(E, y, lam)
    else:
        one = joined(E, SLACK)
        if len(one.size) < E.shape[1]:  # none of them then has rounding errors of coefficients of other sizes
            return one.spread(_ridge(one.design, y, lam))
        a = _ridge_by_steps(E, y, lam)
    # lam a = E'(y - E a): of a column that is small beside the penalty, or zero here and large in other rows, the QR
    # knows the coefficient to the last bit of larger ones only
    small = size < np.sqrt(lam)
    a[small] = E[:, small].T @ (y - E @ a) / lam
    return a


def _has_null_space(E: FloatArray, size: FloatArray, lam: float) -> bool:
    """Whether there are coefficients that rows cannot see, and that a penalty may not hold beside rounding errors."""
    is_uneven = unevenness(size) > UNEVEN
    if E.shape[1] > len(E) and is_uneven:
        return True
    is_tiny = lam <= NEGLIGIBLE * np.square(size).sum()
    return (is_tiny or is_uneven) and row_space(E) is not None


def _ridge_by_steps(E: FloatArray, y: FloatArray, lam: float) -> FloatArray:
    """The same for columns of very different sizes, of which some depend on larger ones.

    Where two large columns are proportional, their difference is a rounding error that may be as large as a third
    column: fitted, it would be a coefficient of its own, and other rows may tell the two apart. So ``E = QL`` is made
    from the largest columns down, and what is left of a column is zero once it is no more than its rounding errors.
    With these zeros in L, whose columns have the sizes of those of E, the small columns no longer mix with them.
    """
    L, right, pivots = _staircase(E, y)
    k, r = L.shape
    if k == 0:
        return np.zeros((r, y.shape[1]))
    stacked = np.vstack([L.T, np.sqrt(lam) * np.eye(k)])
    # each step from its largest row: rows of other steps, as small as they may be there, then keep their digits
    steps = np.where(np.abs(L[np.arange(k), pivots]) >= np.sqrt(lam), pivots, r + np.arange(k))
    others = np.setdiff1d(np.argsort(-np.abs(stacked).max(axis=1), kind="stable"), steps, assume_unique=True)
    order = np.concatenate([steps, others])
    Q, R = linalg.qr(stacked[order], mode="economic", check_finite=False)
    a = np.empty((r + k, y.shape[1]))
    a[order] = Q @ linalg.solve_triangular(R, right, trans="T")
    return a[:r]


def _staircase(E: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray, IntArray]:
    """``L = Q'E`` and ``Q'y`` with Q (n, rank): reflections, pivoted on what is left of the columns; and the pivots."""
    n, r = E.shape
    least = SLACK * max(n, r) * EPS * norms(E)
    largest_first = np.argsort(-np.abs(E).max(axis=1, initial=0.0), kind="stable")
    A = np.hstack([E, y])[largest_first]
    is_left = np.ones(r, dtype=bool)
    step, pivots = 0, []
    while step < n:
        left = norms(A[step:, :r])
        lost = is_left & (left <= least)
        A[step:, :r][:, lost] = 0.0
        is_left &= ~lost
        if not is_left.any():
            break
        pivot = int(np.argmax(np.where(is_left, left, -1.0)))
        pivots.append(pivot)
        x = A[step:, pivot] / left[pivot]
        x[0] += np.copysign(1.0, x[0])
        A[step:] -= np.multiply.outer(x / np.abs(x[0]), x @ A[step:])
        A[step + 1 :, pivot] = 0.0
        is_left[pivot] = False
        step += 1
    return A[:step, :r], A[:step, r:], np.array(pivots, dtype=np.intp)


def _ridge_by_qr(E: FloatArray, y: FloatArray, lam: float) -> FloatArray:
    (n, r), is_wide = E.shape, E.shape[1] > E.shape[0]
    if min(n, r) == 0:
        return np.zeros((r, y.shape[1]))
    stacked = np.vstack([E.T if is_wide else E, np.sqrt(lam) * np.eye(min(n, r))])
    Q, R, order = graded_qr(stacked)
    if is_wide:  # a = E'(EE' + lam I)^-1 y, and E' is the upper part of QR
        wide: FloatArray = Q[:r] @ linalg.solve_triangular(R, y[order], trans="T")
        return wide
    a = np.empty((r, y.shape[1]))
    a[order] = linalg.solve_triangular(R, Q[:n].T @ y)
    return a
