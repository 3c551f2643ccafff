"""Pairs of folds, or of rows, that are left out, from the residual operator of one fit."""

from __future__ import annotations

import numpy as np

from ...typing import FloatArray, IntArray
from .loading import kernel

__all__ = ["fold_pairs", "fold_pairs_moments", "row_pairs"]


def fold_pairs_moments(
    M: FloatArray,
    members: IntArray,
    diagonal: FloatArray,
    right: FloatArray,
    gains: FloatArray,
    sizes: IntArray,
    mean: FloatArray,
    scatter: FloatArray,
    rows: IntArray | None = None,
    first: int = 0,
) -> FloatArray:
    """Moments of the squared residuals of folds j and k with both out, for all k > j, from a symmetric operator M.

    Parameters
    ----------
    M : matrix of which the off-diagonal blocks are taken
    members : (L, K, m), columns of M
    diagonal : (L, K, m, m)
    right : (L, K, m, Q + 1), right-hand sides and a probe
    gains : (L, K, m), what a squared solution is multiplied by; zero for padding
    sizes : (L, K), rows that are there
    mean, scatter : (L, K, K, Q), written at [j, k] and [k, j]
    rows : (L, J, m), rows of M of the folds j = first, ..., first + J - 1; all folds if None

    Returns
    -------
    squares : (L, J, K), the squared length of the solution for the probe; zero unless k > j
    """
    return _fold_pairs(M, members, diagonal, right, gains, sizes, False, mean, scatter, rows, first)


def fold_pairs(
    M: FloatArray, members: IntArray, diagonal: FloatArray, right: FloatArray, rows: IntArray, first: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Solutions at j and at k, (L, J, K, m, Q) with zeros unless k > j, and ``squares``: see `fold_pairs_moments`."""
    L, K, m, sides = right.shape
    at_j, at_k = np.zeros((2, L, rows.shape[1], K, m, sides - 1))
    sizes = np.full((L, K), m)
    squares = _fold_pairs(M, members, diagonal, right, np.ones((L, K, m)), sizes, True, at_j, at_k, rows, first)
    return at_j, at_k, squares


def _fold_pairs(
    M: FloatArray,
    members: IntArray,
    diagonal: FloatArray,
    right: FloatArray,
    gains: FloatArray,
    sizes: IntArray,
    is_table: bool,
    one: FloatArray,
    other: FloatArray,
    rows: IntArray | None,
    first: int,
) -> FloatArray:
    L, K, m, sides = right.shape
    rows = members if rows is None else rows
    J = rows.shape[1]
    squares = np.zeros((L, J, K))
    matrix, diagonal, right, gains = (np.ascontiguousarray(a, dtype=np.float64) for a in (M, diagonal, right, gains))
    rows, columns, sizes = (np.ascontiguousarray(a, dtype=np.int64) for a in (rows, members, sizes))
    shape = (*matrix.shape, L, K, m, sides - 1, first, first + J)
    kernel.onestep(matrix, rows, columns, diagonal, right, gains, sizes, one, other, squares, *shape, is_table)
    return squares


def row_pairs(
    A: FloatArray,
    of_i: FloatArray,
    of_j: FloatArray,
    least: FloatArray,
    order: IntArray,
    parents: IntArray,
    changes_j: FloatArray,
    on_diagonal: bool,
    is_absolute: bool,
) -> tuple[FloatArray, FloatArray, FloatArray] | None:
    """Sums over the pairs of a tile of rows i and j, at all values; None if a pair is too close to singular.

    Parameters
    ----------
    A : (V, I, J), the operators; if V > 1 it becomes the changes at i, as increments from each value's parent
    of_i, of_j : (4, V, I), (4, V, J), for the rows: diagonal of the operator, r, what a squared (or absolute) solution
        is multiplied by for a loss, and the loss with the row alone out
    least : (V,), smallest eigenvalue to be trusted
    order, parents : (V,), of the chain of values
    changes_j : (V, I, J), becomes the changes at j, unless V is 1

    Returns
    -------
    sums_i, sums_j : (2, V, I), (2, V, J), of the changes of a row and of the losses of all others with it out
    own : (V,), of the products of the changes at i and at j
    """
    V, height, width = A.shape
    sums_i, sums_j, own, doubtful = np.zeros((2, V, height)), np.zeros((2, V, width)), np.zeros(V), np.zeros(1)
    changes_j = changes_j if V > 1 else np.empty(1)
    tables = (np.ascontiguousarray(each, dtype=np.float64) for each in (of_i, of_j, least))
    chain = (np.ascontiguousarray(each, dtype=np.int64) for each in (order, parents))
    sums = (sums_i, sums_j, own, doubtful)
    kernel.leavetwo(A, *tables, *chain, changes_j, *sums, V, height, width, on_diagonal, is_absolute)
    return None if doubtful[0] else (sums_i, sums_j, own)
