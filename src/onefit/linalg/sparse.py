"""The same decomposition for a sparse design, which is never made dense as a whole."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from scipy import linalg, sparse

from ..errors import TrainingSetError
from ..typing import FloatArray, IntArray
from .reinsch import Reinsch, geometric_mean

__all__ = ["SparseBasis", "sparse_reinsch"]

FIRST_ACCURACY = 1e-4
"""The first Cholesky factor must make the columns orthonormal to this: then the second does to the last digits."""

_BLOCK_BYTES = 32 * 2**20


class SparseBasis:
    """``Z = X T`` with X sparse (n, p) and T (p, d): rows are made dense when they are asked for."""

    def __init__(self, X: Any, T: FloatArray) -> None:
        self.padded = sparse.vstack([X, sparse.csr_matrix((1, X.shape[1]))], format="csr")
        self.X, self.T = X, T
        self.width = T.shape[1]

    def take(self, rows: IntArray) -> FloatArray:
        """Rows (..., d)."""
        flat: FloatArray = self.padded[rows.ravel()] @ self.T
        return flat.reshape(*rows.shape, self.width)

    def times(self, coefficients: FloatArray) -> FloatArray:
        """``Z c`` for all n rows."""
        product: FloatArray = self.X @ (self.T @ coefficients)
        return product

    def transpose_times(self, values: FloatArray) -> FloatArray:
        """``Z'v`` over all n rows."""
        product: FloatArray = self.T.T @ (self.X.T @ values)
        return product


def sparse_reinsch(X: Any, penalized: FloatArray, lams: Sequence[float], weights: FloatArray | None) -> Reinsch:
    """Demmler-Reinsch by Cholesky factors of Gram matrices, twice.

    ``penalized`` is 1 for the columns of X under the ridge penalty and 0 for free ones. One Cholesky factor of the Gram
    matrix would square the condition number; a second one, of the columns that the first has nearly made orthonormal,
    restores the accuracy of QR.
    """
    w = np.ones(X.shape[0]) if weights is None else weights
    tau = geometric_mean(lams) if min(lams) > 0 else 0.0
    G = np.asarray((X.T @ X.multiply(w[:, None])).todense())
    size = np.sqrt(np.diag(G) + tau * penalized)
    if not size.all():
        raise TrainingSetError("a column without a penalty is zero in every row, so the fit is not unique")
    G = (G + np.diag(tau * penalized)) / np.multiply.outer(size, size)
    T = _inverse_root(G) / size[:, None]
    G = sum((Z.T @ (w_rows[:, None] * Z) for Z, w_rows in _blocks(X, T, w)), start=tau * (T.T * penalized) @ T)
    if not np.abs(G - np.eye(len(G))).max() < FIRST_ACCURACY:
        raise TrainingSetError("the columns are nearly dependent, so that their Gram matrix does not determine the fit")
    T = T @ _inverse_root(G)
    if min(lams) == max(lams):
        return Reinsch(SparseBasis(X, T), np.ones(T.shape[1]), np.zeros(T.shape[1]))
    s, V = linalg.eigh((T.T * penalized) @ T)
    s[: int((penalized == 0).sum())] = 0.0  # the free directions, which a large penalty must not find
    T = T @ V
    x = sum(((w_rows[:, None] * np.square(Z)).sum(axis=0) for Z, w_rows in _blocks(X, T, w)), start=np.zeros(len(s)))
    return Reinsch(SparseBasis(X, T), x, np.maximum(s, 0.0))


def _inverse_root(G: FloatArray) -> FloatArray:
    """``R^-1`` with ``R'R = G``."""
    try:
        R = linalg.cholesky(G)
    except linalg.LinAlgError:
        raise TrainingSetError(
            "the unpenalized columns are linear combinations of each other, so the fit is not unique"
        ) from None
    inverse: FloatArray = linalg.solve_triangular(R, np.eye(len(R)))
    return inverse


def _blocks(X: Any, T: FloatArray, weights: FloatArray) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Dense rows of ``X T``, some at a time, with their weights."""
    step = max(1, int(_BLOCK_BYTES // (8 * T.shape[1])))
    for start in range(0, X.shape[0], step):
        yield X[start : start + step] @ T, weights[start : start + step]
