"""A QR decomposition as reflections, accurate in every row and column."""

from __future__ import annotations

import numpy as np
from scipy import linalg
from scipy.linalg import lapack

from ..typing import FloatArray
from .columns import norms

__all__ = ["Reflections"]


class Reflections:
    """``A[:, order] = Q R`` with Q (n, n) as reflections, which are never multiplied out.

    The errors are small in every row and column, however different their units: large rows come first, columns are
    scaled to one length and pivoted.
    """

    def __init__(self, A: FloatArray) -> None:
        self.size = norms(A)
        scaled = A / np.where(self.size > 0, self.size, 1.0)
        self.largest_first = np.argsort(-np.abs(scaled).max(axis=1, initial=0.0), kind="stable")
        self.k = A.shape[1]
        if self.k:
            raw, R, self.order = linalg.qr(scaled[self.largest_first], mode="raw", pivoting=True, check_finite=False)
            (self.vectors, self.factors), self.R = raw, R[: self.k] * self.size[self.order]

    def transpose_times(self, C: FloatArray) -> FloatArray:
        """``Q'C``."""
        return self._reflect(C[self.largest_first], "T")

    def times(self, C: FloatArray) -> FloatArray:
        """``Q C``, in the order of the rows of A."""
        product = np.empty_like(C)
        product[self.largest_first] = self._reflect(C, "N")
        return product

    def solve(self, right: FloatArray) -> FloatArray:
        """``x`` with ``R x[order] = right``."""
        x = np.zeros_like(right)
        if self.k:
            x[self.order] = linalg.solve_triangular(self.R, right, check_finite=False)
        return x

    def augmented(self, rows: FloatArray, columns: FloatArray) -> tuple[FloatArray, FloatArray]:
        """``rho`` and ``x`` with ``rho + A x = rows`` and ``A'rho = columns``; A has columns, and full rank."""
        along = self.transpose_times(rows)
        across = linalg.solve_triangular(self.R, columns[self.order], trans="T", check_finite=False)
        x = self.solve(along[: self.k] - across)
        along[: self.k] = across
        return self.times(along), x

    def _reflect(self, C: FloatArray, trans: str) -> FloatArray:
        """Q or its transpose times C, whose rows are in the order of the reflections."""
        sorted_rows = np.array(C, order="F")
        if not self.k or not C.shape[1]:
            return sorted_rows
        arguments = ("L", trans, self.vectors, self.factors)
        work = lapack.dormqr(*arguments, sorted_rows, -1)[1]
        product: FloatArray = lapack.dormqr(*arguments, sorted_rows, int(work[0]), overwrite_c=True)[0]
        return product
