"""Kernel fits of single training sets, from the entries of the kernel matrix, with the digits that they have."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import linalg

from ..linalg.columns import EPS
from ..typing import FloatArray, IntArray

__all__ = ["Known", "fit_and_predict", "leave_one_out", "variances"]

UNITS = 4.0
"""Rounding errors in units of the last bit: those of the entries of a kernel, and of factoring and solving."""


class Known(NamedTuple):
    """Some numbers, and what rounding errors may have moved each of them by."""

    values: FloatArray
    errors: FloatArray


class _System:
    """``K + lam W^-1`` of some rows, scaled to a diagonal of ones: ``LL'``.

    An eigendecomposition has errors of the size of the largest entry in all others. Those of a factorization are
    ``EPS |L||L'|`` entry by entry, and errors D move a prediction by ``b'D alpha`` with the dual coefficients alpha.
    """

    def __init__(self, K: FloatArray, weights: FloatArray | None, rows: IntArray, lam: float) -> None:
        system = K[np.ix_(rows, rows)]
        system[np.diag_indices(len(rows))] += lam if weights is None else lam / weights[rows]
        self.size = np.sqrt(np.diag(system))
        system /= self.size
        system /= self.size[:, None]
        self.factor = linalg.cholesky(system, lower=True, overwrite_a=True, check_finite=False)

    def solve(self, right: FloatArray) -> FloatArray:
        """``(K + lam W^-1)^-1 right``, times the roots of the diagonal."""
        scaled: FloatArray = linalg.cho_solve((self.factor, True), right / self.size[:, None], check_finite=False)
        return scaled

    @property
    def square_errors(self) -> FloatArray:
        """Squares of the errors of the entries, in units of the last bit."""
        L = np.abs(self.factor)
        squares: FloatArray = np.square(L @ L.T)
        return squares


def fit_and_predict(
    K: FloatArray, weights: FloatArray | None, rows: IntArray, y: FloatArray, lam: float, new: IntArray
) -> Known:
    """Predictions (new, Q) at ``new`` rows of a fit to others.

    Raises LinAlgError if the penalty is below the rounding errors of the kernel.
    """
    if not len(rows):
        return Known(np.zeros((len(new), y.shape[1])), np.zeros((len(new), y.shape[1])))
    system = _System(K, weights, rows, lam)
    across = K[np.ix_(rows, new)]
    alpha, reach = system.solve(y[rows]), system.solve(across)
    across /= system.size[:, None]
    squares = np.square(reach).T @ (system.square_errors @ np.square(alpha)) + np.square(across).T @ np.square(alpha)
    values: FloatArray = across.T @ alpha
    return Known(values, UNITS * EPS * np.sqrt(squares))


def variances(K: FloatArray, weights: FloatArray | None, rows: IntArray, lam: float, new: IntArray) -> FloatArray:
    """Variances (new,) of observations of a Gaussian process at ``new`` rows, given those at others.

    Raises LinAlgError if the penalty is below the rounding errors of the kernel.
    """
    own = np.diag(K)[new] + (lam if weights is None else lam / weights[new])
    if not len(rows):
        return own
    system, across = _System(K, weights, rows, lam), K[np.ix_(rows, new)]
    reach = system.solve(across)
    across /= system.size[:, None]
    left: FloatArray = own - np.einsum("ij,ij->j", across, reach)
    return left


def leave_one_out(K: FloatArray, weights: FloatArray | None, rows: IntArray, y: FloatArray, lam: float) -> Known:
    """Residuals (rows, Q) of each row without itself: ``alpha_i / Q_ii``; raises LinAlgError likewise."""
    system = _System(K, weights, rows, lam)
    Q = system.solve(np.diag(system.size))  # times the roots of the diagonal on both sides
    alpha, own = system.solve(y[rows]), np.diag(Q)[:, None]
    ratio, spread = alpha / own, np.square(Q / own) @ system.square_errors
    squares = [
        (spread * np.square(coefficients - Q * part[:, None])).sum(axis=1)  # the coefficients of the fits without i
        for coefficients, part in zip(alpha.T, ratio.T, strict=True)
    ]
    errors = UNITS * EPS * np.sqrt(np.stack(squares, axis=1))
    return Known(ratio * system.size[:, None], errors * system.size[:, None])
