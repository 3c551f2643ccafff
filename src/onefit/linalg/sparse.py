"""The same decomposition for a sparse design, which is never made dense as a whole."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg, sparse

from ..errors import TrainingSetError
from ..typing import FloatArray, IntArray
from .reinsch import SHARP, DenseBasis, Reinsch, ReinschBasis, along_penalty, middle_penalty

__all__ = ["Density", "FirstBasis", "SparseBasis", "first_basis", "sparse_reinsch"]

FIRST_ACCURACY = 1e-4
"""The first Cholesky factor must make the columns orthonormal to this: then the second does to the last digits."""

PAIR, MIXED, PRODUCT, SQUARE = 8.0, 0.28, 0.04, 0.022
"""Nanoseconds of a multiplication and addition: of two entries of a sparse row, of an entry with a dense row, in a
product of dense matrices, and in that of one with itself. Ways are chosen by their ratios."""

MOST_KEPT = 2**20
"""Entries of Z up to which it is kept: there the calls of sparse products take longer than the dense ones."""

_FOLD = 5e5
"""Nanoseconds of the calls for the sparse products of a fold."""

_BLOCK_BYTES = 32 * 2**20
_FEW = 2**16
"""Entries of a dense copy that are not worth making: the product with the sparse rows takes no time either."""

_N_PROBES = 4


@dataclass(frozen=True)
class Density:
    """What the work on sparse rows is counted from: rows, columns, entries, and pairs of entries in the same row."""

    n: float
    p: float
    nnz: float
    pairs: float

    @classmethod
    def of(cls, X: Any) -> Density:
        """Count the entries of a matrix in rows."""
        entries = np.diff(X.indptr).astype(np.float64)
        return cls(X.shape[0], X.shape[1], float(entries.sum()), float(np.square(entries).sum()))

    def part(self, share: float) -> Density:
        """A share of the rows."""
        return Density(self.n * share, self.p, self.nnz * share, self.pairs * share)

    @property
    def gram(self) -> dict[str, float]:
        """Nanoseconds of ``X'X`` by each way."""
        return {
            "sparse": PAIR * self.pairs + self.p**2,
            "mixed": MIXED * self.nnz * self.p,
            "dense": SQUARE * self.n * self.p**2 + self.n * self.p,
        }

    def rows(self, d: float) -> dict[str, float]:
        """Nanoseconds of ``X T`` with T (p, d) by each way."""
        return {"sparse": MIXED * self.nnz * d, "dense": (PRODUCT * d + 1.0) * self.n * self.p}

    def fold_gram(self, d: float) -> dict[str, float]:
        """Nanoseconds of ``T'X'XT`` from the rows of ``X T``, and from ``X'X``."""
        return {
            "rows": min(self.rows(d).values()) + SQUARE * self.n * d**2,
            "products": min(self.gram.values()) + PRODUCT * (self.p**2 * d + self.p * d**2),
        }

    def repeat(self, d: float, n_folds: int, columns: int) -> dict[str, float]:
        """Nanoseconds of a repeat with so many columns of coefficients a fit: from kept rows, and from products."""
        training_sets = n_folds * (n_folds + 1) / 2
        rows = min(self.rows(d).values()) + 2 * self.n * d
        each = min(self.part(1 / n_folds).fold_gram(d).values())
        predictions = n_folds * MIXED * self.nnz + training_sets * PRODUCT * self.p * d
        return {
            "rows": rows + SQUARE * self.n * d**2 + columns * n_folds * 3 * PRODUCT * self.n * d,
            "products": n_folds * (_FOLD + each) + columns * predictions,
        }


class SparseBasis:
    """``Z = X T`` with X sparse (n, p) and T (p, d): its rows are made only where sparse products would take longer.

    ``is_sharp`` says that T does not magnify the rounding errors of ``X'X``, so that the Gram matrices of folds may be
    taken from those of X.
    """

    def __init__(self, X: Any, T: FloatArray, is_sharp: bool = False) -> None:
        self.padded = sparse.vstack([X, sparse.csr_matrix((1, X.shape[1]))], format="csr")
        self.X, self.T, self.is_sharp = X, T, is_sharp
        self.width = T.shape[1]

    def take(self, rows: IntArray) -> FloatArray:
        """Rows (..., d)."""
        return _product(self.padded[rows.ravel()], self.T).reshape(*rows.shape, self.width)

    def times(self, coefficients: FloatArray) -> FloatArray:
        """``Z c`` for all n rows."""
        product: FloatArray = self.X @ (self.T @ coefficients)
        return product

    def transpose_times(self, values: FloatArray) -> FloatArray:
        """``Z'v`` over all n rows."""
        product: FloatArray = self.T.T @ (self.X.T @ values)
        return product

    def prefers_products(self, n_folds: int, columns: int) -> bool:
        """Whether the statistics of folds and the predictions take less time without the rows of Z."""
        costs = Density.of(self.X).repeat(self.width, n_folds, columns)
        return costs["products"] < costs["rows"]

    def predict(self, rows: IntArray, coefficients: FloatArray) -> FloatArray:
        """``Z c`` (..., m, C) in some rows (..., m), each with its own coefficients (..., d, C)."""
        *batch, m = rows.shape
        mapped = (self.T @ coefficients).reshape(-1, len(self.T), coefficients.shape[-1])
        found = [self.padded[part] @ each for part, each in zip(rows.reshape(-1, m), mapped, strict=True)]
        return np.stack(found).reshape(*batch, m, coefficients.shape[-1])

    def fold_grams(self, ids: IntArray, n_folds: int, root: FloatArray | None = None) -> FloatArray:
        """``Z_f'W Z_f`` (K, d, d) of the folds that ``ids`` (n,) say; ``root`` (n,) are the roots of the weights."""
        grams = np.empty((n_folds, self.width, self.width))
        for fold in range(n_folds):
            grams[fold] = self._gram_of_fold(self._rows_of(ids == fold, root))
        return grams

    def fold_products(self, ids: IntArray, n_folds: int, values: FloatArray) -> FloatArray:
        """``Z_f'v_f`` (K, d, C) of the folds, for values (n, C)."""
        along = np.stack([self._rows_of(ids == fold, None).T @ values[ids == fold] for fold in range(n_folds)])
        product: FloatArray = self.T.T @ along
        return product

    def _rows_of(self, chosen: Any, root: FloatArray | None) -> Any:
        """Some rows of X, times the roots of their weights."""
        part = self.X[np.flatnonzero(chosen)]
        return part if root is None else sparse.csr_matrix(part.multiply(root[chosen][:, None]))

    def _gram_of_fold(self, part: Any) -> FloatArray:
        """``T'X'X T`` of some rows of X, from ``X'X`` if that is less work and keeps the digits."""
        costs = Density.of(part).fold_gram(self.width)
        if self.is_sharp and costs["products"] < costs["rows"]:
            found: FloatArray = self.T.T @ (_gram(part) @ self.T)
            if deviation(part, self.T, found) <= SHARP * np.sqrt(self.width):
                return found
        return _gram_of_rows(part, self.T)


@dataclass(frozen=True)
class FirstBasis:
    """``Z = X T`` with ``Z'WZ + tau T'T = I``, the last over penalized columns, from one Cholesky factor."""

    T: FloatArray
    tau: float
    error: float

    @property
    def is_sharp(self) -> bool:
        """Whether a second factor would mend nothing."""
        return bool(self.error <= SHARP * np.sqrt(self.T.shape[1]))

    @property
    def is_sound(self) -> bool:
        """Whether a second factor can mend it."""
        return self.error < FIRST_ACCURACY


def first_basis(X: Any, penalized: FloatArray, lams: Sequence[float], weights: FloatArray | None) -> FirstBasis:
    """One Cholesky factor of the Gram matrix, about the middle of the values.

    ``penalized`` is 1 for the columns of X under the ridge penalty and 0 for free ones.
    """
    tau = middle_penalty(np.asarray(lams))
    weighted = _weighted(X, weights)
    G = _gram(weighted)
    G[np.diag_indices_from(G)] += tau * penalized
    size = np.sqrt(np.diag(G))
    if not size.all():
        raise TrainingSetError("a column without a penalty is zero in every row, so the fit is not unique")
    G /= np.multiply.outer(size, size)
    T = _inverse_root(G) / size[:, None]
    return FirstBasis(T, tau, deviation(weighted, T, np.eye(len(T)), tau * penalized))


def sparse_reinsch(
    X: Any,
    penalized: FloatArray,
    lams: Sequence[float],
    weights: FloatArray | None,
    first: FirstBasis | None = None,
) -> Reinsch:
    """Demmler-Reinsch by Cholesky factors of Gram matrices, twice where once loses digits.

    One Cholesky factor of the Gram matrix squares the condition number; a second one, of the columns that the first has
    nearly made orthonormal, restores the accuracy of QR. It takes the Gram matrix of their rows: another one made of
    ``X'X`` would repeat its errors.
    """
    first = first_basis(X, penalized, lams, weights) if first is None else first
    T, weighted = first.T, _weighted(X, weights)
    if not first.is_sharp:
        G = _gram_of_rows(weighted, T) + first.tau * (T.T * penalized) @ T
        if not np.abs(G - np.eye(len(G))).max() < FIRST_ACCURACY:
            raise TrainingSetError(
                "the columns are nearly dependent, so that their Gram matrix does not determine the fit"
            )
        T = T @ _inverse_root(G)
    if min(lams) == max(lams):
        return Reinsch(_basis(X, T, first.is_sharp), np.ones(T.shape[1]), np.zeros(T.shape[1]))
    T, s = along_penalty(T, lambda columns: penalized[:, None] * columns, first.tau, max(lams))
    s[: int((penalized == 0).sum())] = 0.0  # the free directions, which a large penalty must not find
    x = sum((np.square(Z).sum(axis=0) for Z in _blocks(weighted, T)), start=np.zeros(len(s)))
    return Reinsch(_basis(X, T, first.is_sharp), x, np.maximum(s, 0.0))


def _basis(X: Any, T: FloatArray, is_sharp: bool) -> ReinschBasis:
    """``Z = X T`` in memory if it is small."""
    return DenseBasis(X @ T) if X.shape[0] * T.shape[1] <= MOST_KEPT else SparseBasis(X, T, is_sharp)


def deviation(X: Any, T: FloatArray, gram: FloatArray, penalty: FloatArray | float = 0.0) -> float:
    """How far ``T'(X'X + penalty)T`` is from a matrix that should be it, in its products with some random vectors.

    The products go through the rows of ``X T``, whose errors are not squared.
    """
    probes = np.random.default_rng(0).choice([-1.0, 1.0], size=(T.shape[1], _N_PROBES))
    mapped = T @ probes
    through = T.T @ (X.T @ (X @ mapped) + np.reshape(penalty, (-1, 1)) * mapped)
    return float(np.abs(through - gram @ probes).max(initial=0.0))


def _weighted(X: Any, weights: FloatArray | None) -> Any:
    """Rows times the roots of their weights."""
    return X if weights is None else sparse.csr_matrix(X.multiply(np.sqrt(weights)[:, None]))


def _gram(X: Any) -> FloatArray:
    """``X'X`` of sparse rows as an array, by whichever kind of product is least work."""
    costs = Density.of(X).gram
    way = min(costs, key=lambda each: costs[each])
    if way == "sparse" or X.shape[0] * X.shape[1] <= _FEW:
        return np.asarray((X.T @ X).toarray(), dtype=np.float64)
    G = np.zeros((X.shape[1], X.shape[1]))
    for part in _parts(X, X.shape[1]):
        dense = part.toarray()
        G += dense.T @ dense if way == "dense" else part.T @ dense
    return G


def _gram_of_rows(X: Any, T: FloatArray) -> FloatArray:
    """``Z'Z`` of the rows of ``Z = X T``."""
    return sum((Z.T @ Z for Z in _blocks(X, T)), start=np.zeros((T.shape[1], T.shape[1])))


def _product(X: Any, T: FloatArray) -> FloatArray:
    """``X T`` of sparse rows, which may be made dense for it."""
    costs = Density.of(X).rows(T.shape[1])
    is_dense = costs["dense"] < costs["sparse"] and X.shape[0] * X.shape[1] > _FEW
    product: FloatArray = (X.toarray() if is_dense else X) @ T
    return product


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


def _parts(X: Any, width: int) -> Iterator[Any]:
    """Sparse rows, as many at a time as may be dense with so many columns."""
    step = max(1, int(_BLOCK_BYTES // (8 * max(width, 1))))
    for start in range(0, X.shape[0], step):
        yield X[start : start + step]


def _blocks(X: Any, T: FloatArray) -> Iterator[FloatArray]:
    """Dense rows of ``X T``, some at a time."""
    for part in _parts(X, max(T.shape)):
        yield _product(part, T)
