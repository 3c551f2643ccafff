"""Gram matrices of folds, the systems without some of them, and the residuals of their rows."""

from __future__ import annotations

import numpy as np

from ...spare import spare_table
from ...typing import FloatArray, IntArray
from .loading import instructions, is_on, kernel

__all__ = ["collect", "collects", "moments", "predict", "residuals", "systems"]

FEW_COLUMNS = 32


def systems(
    grams: FloatArray, right: FloatArray, D: FloatArray, probe: FloatArray, sets: IntArray
) -> tuple[FloatArray, FloatArray]:
    """``(diag(D_v) - G_j - G_k)^-1 (b_j + b_k)`` for the folds ``sets`` (S, 2); k = -1 leaves out j alone.

    Parameters
    ----------
    grams : (L, K, d, d)
    right : (L, K, d, V, Q)
    D, probe : (V, d)
    sets : (S, 2)

    Returns
    -------
    solutions : (L, S, d, V, Q)
    squares : (L, S, V), the squared length, in the metric of D, of the solution for the probe
    """
    L, K, d, V, Q = right.shape
    change, squares = np.empty((L, len(sets), d, V, Q)), np.empty((L, len(sets), V))
    arrays = (np.ascontiguousarray(each, dtype=np.float64) for each in (grams, right, D, probe))
    kernel.gram(*arrays, np.ascontiguousarray(sets, dtype=np.int64), change, squares, L, K, d, V, Q, len(sets))
    return change, squares


def collects(d: int) -> bool:
    """Whether `collect` is faster than BLAS: with two lanes only if there are few columns, else (measured) always.

    Without columns (all of X is zero) there is nothing to collect.
    """
    return is_on() and d > 0 and (d <= FEW_COLUMNS or instructions() != "baseline")


def collect(
    Z: FloatArray, r: FloatArray, weights: FloatArray, members: IntArray, sizes: IntArray
) -> tuple[FloatArray, FloatArray]:
    """``Z_f'WZ_f`` (..., d, d) and ``Z_f'Wr_f`` (..., d, C) of every fold f, its rows read where they are.

    ``Z`` is (n, d), ``r`` (n, C), ``weights`` (n,), ``members`` (..., m) rows of them, the first ``sizes`` (...) of a
    fold being there.
    """
    d, C, m = Z.shape[1], r.shape[1], members.shape[-1]
    grams, right = spare_table(*sizes.shape, d, d), np.empty((*sizes.shape, d, C))
    arrays = (np.ascontiguousarray(each, dtype=np.float64) for each in (Z, r, weights))
    integers = (np.ascontiguousarray(each, dtype=np.int64) for each in (members, sizes))
    kernel.collect(*arrays, *integers, grams, right, len(Z), sizes.size, m, d, C)
    return grams, right


def residuals(Z: FloatArray, r: FloatArray, change: FloatArray, members: IntArray, sizes: IntArray) -> FloatArray:
    """``r_f + Z_f change_f`` (..., m, C) of every fold f, zero for padding; ``change`` is (..., d, C)."""
    d, C, m = Z.shape[1], r.shape[1], members.shape[-1]
    u = np.empty((*members.shape, C))
    arrays = (np.ascontiguousarray(each, dtype=np.float64) for each in (Z, r, change))
    integers = (np.ascontiguousarray(each, dtype=np.int64) for each in (members, sizes))
    kernel.residuals(*arrays, *integers, u, len(Z), sizes.size, m, d, C)
    return u


def predict(
    Z: FloatArray,
    r: FloatArray,
    change: FloatArray,
    weights: FloatArray,
    sizes: IntArray,
    sets: IntArray,
    tables: tuple[FloatArray, FloatArray],
    members: IntArray | None = None,
) -> None:
    """Moments of ``weights (r_j + Z_j change_s)^2`` over the rows of each fold j, for every set s = (j, k) and (k, j).

    ``Z`` is (n, d), ``r`` (n, C), ``weights`` (n,), of which ``members`` (L, K, m) are rows; without members they stand
    fold by fold, (L, K, m, ...). ``change`` is (L, S, d, C), ``sizes`` (L, K); the moments are written into ``tables``,
    mean and scatter (L, K, K, C), contiguous, at [:, j, k].
    """
    L, K, m = weights.shape if members is None else members.shape
    d, C = Z.shape[-1], r.shape[-1]
    arrays = (np.ascontiguousarray(each, dtype=np.float64) for each in (Z, r, change, weights))
    rows = None if members is None else np.ascontiguousarray(members, dtype=np.int64)
    integers = (np.ascontiguousarray(each, dtype=np.int64) for each in (sizes, sets))
    kernel.predict(*arrays, rows, *integers, *tables, weights.size, L, K, m, d, C, len(sets))


def moments(u: FloatArray, r: FloatArray, weights: FloatArray, sizes: IntArray) -> tuple[FloatArray, FloatArray]:
    """Mean and sum of squares about it, (F, O, C), over the rows of folds of ``weights (u + r)^2``.

    ``u`` is (F, m, O, C), ``r`` (F, m, C), ``weights`` (F, m); the first ``sizes`` (F,) rows of a fold are there.
    """
    F, m, others, C = u.shape
    mean, scatter = np.empty((2, F, others, C))
    arrays = (np.ascontiguousarray(each, dtype=np.float64) for each in (u, r, weights))
    kernel.moments(*arrays, np.ascontiguousarray(sizes, dtype=np.int64), mean, scatter, F, m, others, C)
    return mean, scatter
