"""Combinations of columns that are constant: in all rows, and so in every training set, or in the rows of one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import linalg

from ..linalg.batched import inverse_roots
from ..typing import FloatArray
from .features import Features
from .fixedfeatures import Matrix
from .setstatistics import Moments

__all__ = ["Constants", "SetRows", "constant_in_rows", "held"]

NULL = 1e-11
"""Eigenvalues of a matrix with ones on its diagonal below this may be those of columns that depend on each other."""

SAME = 1e-12
"""Columns of length one that depend on each other add up to no more than this, by rounding errors."""

ABSENT = 1e-8
"""Part of their largest singular value below which combinations are not there in a training set: it lacks columns."""

ROWS_AT_ONCE = 2**14

SetRows = tuple[FloatArray, FloatArray, FloatArray]


@dataclass(frozen=True)
class Constants:
    """Combinations of fixed features and a constant, (q + 1, k), that are zero in all rows that have a weight.

    A combination of columns that is constant in all rows is so in every training set: the rows of none need be asked.
    ``apart`` (k,) are the roots of the sums of its squares, by rounding errors, times the weights.
    """

    combinations: FloatArray
    apart: FloatArray

    @classmethod
    def of_rows(cls, B: Matrix, gram: FloatArray, weights: FloatArray | None, fit_intercept: bool) -> Constants:
        """Those of columns B (n, q + 1), the last of ones, given their weighted products.

        Products have lost the square of a gap between columns that nearly depend on each other: rows tell, in blocks.
        Without an intercept combinations must be zero by themselves, with it up to a constant.
        """
        A = gram[:-1, :-1] - np.outer(gram[-1, :-1], gram[-1, :-1]) / gram[-1, -1] if fit_intercept else gram
        D = inverse_roots(np.diag(A))
        values, vectors = np.linalg.eigh(A * D[:, None] * D + np.diag((D == 0) * 1.0))
        null = np.zeros((len(gram), int(np.count_nonzero(values < NULL))))
        null[: len(D)] = D[:, None] * vectors[:, values < NULL]
        counted = np.ones(B.shape[0]) if weights is None else weights
        if fit_intercept:
            null[-1] = -(B[[int(np.argmax(counted > 0))]] @ null)[0]
        squares = np.zeros((null.shape[1], null.shape[1]))
        for start in range(0, B.shape[0] if null.size else 0, ROWS_AT_ONCE):
            rows = slice(start, start + ROWS_AT_ONCE)
            part = np.sqrt(counted[rows, None]) * (B[rows] @ null)
            squares += part.T @ part
        values, rotation = np.linalg.eigh(squares)
        kept = values <= SAME**2
        return cls(null @ rotation[:, kept], np.sqrt(np.maximum(values[kept], 0.0)))

    def within(
        self, features: Features, moments: Moments, index: int, D: FloatArray, fit_intercept: bool
    ) -> FloatArray:
        """Combinations (p, k) of the outputs of a training set, each times D (p,), that are these of fixed features.

        With T the coefficients of the outputs, those u of which ``T D u`` is in the span of the combinations, where
        columns vary in the training set: both are compared in columns of length one there, so that what is left bounds
        how far the outputs in the rows are from a constant.
        """
        sizes, made = _in_columns(features, moments, index, fit_intercept)
        F, M = sizes[:, None] * made * D, sizes[:, None] * self.combinations[: len(sizes)]
        if not M.size:
            return np.zeros((len(D), 0))
        Q, s, V = linalg.svd(M, full_matrices=False)
        is_there = s > ABSENT * s[0]
        Q, back = Q[:, is_there], V[is_there].T / s[is_there]
        u = linalg.lstsq(F, Q, cond=ABSENT, lapack_driver="gelsy")[0]
        _, left, turns = linalg.svd(Q - F @ u, full_matrices=False)
        turns = turns[left <= SAME].T
        u = u @ turns
        rest = np.sqrt(len(sizes)) * np.linalg.norm(F @ u - Q @ turns, axis=0)
        error = self.apart @ np.abs(back @ turns) + rest
        return np.asarray(u[:, error <= SAME * np.linalg.norm(u, axis=0)])


def _in_columns(features: Features, moments: Moments, index: int, fit_intercept: bool) -> tuple[FloatArray, FloatArray]:
    """Lengths of the fixed features, about their means, in a training set, and outputs as combinations of them.

    Without an intercept nothing is subtracted, and the constant is one of them.
    """
    coef, squares = features.coef[index : index + 1], np.diag(moments.products[index])
    if fit_intercept:
        coef = coef * features.varies[index, features.pattern.output]
    made = features.pattern.matrices(coef, len(squares))[0]
    if not fit_intercept:
        squares = np.append(squares + moments.n[index] * np.square(moments.mean[index]), moments.n[index])
        made = np.vstack([made, features.shift[index]])
    return np.sqrt(np.maximum(squares, 0.0)), made


def constant_in_rows(A: FloatArray, D: FloatArray, rows: Callable[[], SetRows] | None) -> FloatArray:
    """Combinations (p, k) of columns of a training set, each times D (p,), that are constant in its rows.

    Columns that nearly depend on each other are not told by their products, of which the square of the gap is lost:
    the rows must say so, of which the gap itself is not.
    """
    values, vectors = np.linalg.eigh(A)
    null: FloatArray = vectors[:, values < NULL]
    if null.shape[1] and rows is not None:
        Z, _, root = rows()
        if np.linalg.norm((root[:, None] * Z) @ (D[:, None] * null), axis=0).max() <= SAME:
            return null
    return np.zeros((len(A), 0))


def held(D: FloatArray, null: FloatArray) -> FloatArray:
    """A projection, in scaled coordinates, on combinations of columns that are constant, in which no fit goes."""
    if not null.shape[1]:
        return np.zeros((len(D), len(D)))
    orthogonal = linalg.qr(D[:, None] * null, mode="economic")[0]
    along = linalg.qr(D[:, None] * orthogonal, mode="economic")[0]
    return np.asarray(along @ along.T)
