"""One positive definite system for very many right-hand sides."""

from __future__ import annotations

import numpy as np
from scipy.linalg import blas, lapack

from ..typing import FloatArray

__all__ = ["Inverse", "solve_each"]

MOST_MULTIPLIED = 100.0
"""Condition number up to which the inverse itself is multiplied: the error grows with its square."""


class Inverse:
    """Of a symmetric matrix (m, m), of which the lower triangle counts; NaN if it is not positive definite.

    A product with the inverse costs a third of two triangular solutions, but where ``b = Ax`` its error is that of b
    times the inverse, and not of x; so it is taken of well-conditioned matrices only.
    """

    def __init__(self, matrix: FloatArray) -> None:
        self._factor, self._failed = lapack.dpotrf(matrix, lower=1)
        self._inverse: FloatArray | None = None
        if not self._failed:
            lower = lapack.dpotri(self._factor, lower=1)[0]
            inverse = np.tril(lower) + np.tril(lower, -1).T
            if np.linalg.norm(inverse) * np.linalg.norm(matrix) <= MOST_MULTIPLIED * len(matrix):
                self._inverse = inverse

    def times(self, right: FloatArray, out: FloatArray | None = None) -> FloatArray:
        """The solution for right-hand sides (m, Q)."""
        found = np.empty(right.shape) if out is None else out
        if self._failed:
            found.fill(np.nan)
        elif self._inverse is not None:
            np.matmul(self._inverse, right, out=found)
        else:
            sides = np.array(right, order="C").T  # in this order BLAS copies nothing
            for transposed in (1, 0):
                sides = blas.dtrsm(1.0, self._factor, sides, side=1, lower=1, trans_a=transposed, overwrite_b=1)
            found[:] = sides.T
        return found


def solve_each(systems: FloatArray, right: FloatArray) -> FloatArray:
    """``systems[i]^-1 right[i]`` (..., m, Q) of symmetric systems; NaN where they are not positive definite."""
    solution = np.empty(right.shape)
    for index in np.ndindex(systems.shape[:-2]):
        Inverse(systems[index]).times(right[index], solution[index])
    return solution
