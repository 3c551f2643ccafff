"""Blocks of rows as they are read: dealt to folds, brought into coordinates, gathered, and scored."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...typing import FloatArray, IntArray
from .loading import is_on, kernel

__all__ = ["deal", "exceeds", "gather", "interleave", "project", "score"]


def interleave(columns: Sequence[FloatArray], first: int, rows: FloatArray) -> None:
    """Write columns, contiguous, from place ``first`` on, as ``rows`` (n, columns)."""
    if is_on():
        kernel.interleave(columns, rows, first, *rows.shape)
        return
    for at, column in enumerate(columns):
        rows[:, at] = column[first : first + len(rows)]


def exceeds(values: FloatArray, most: float) -> bool:
    """Whether a number is further from zero than ``most``, or is NaN."""
    if is_on() and values.flags.c_contiguous and values.dtype == np.float64:
        return bool(kernel.exceeds(values, values.size, most))
    return bool(values.size) and not max(float(values.max()), -float(values.min())) <= most


def deal(
    keys: Sequence[tuple[int, int]], start: int, stop: int, n: int, halves: tuple[int, int], n_folds: int
) -> IntArray:
    """Folds of the rows ``start`` to ``stop - 1`` of n, or their places if there are n folds: see `KeyedOrder`.

    ``halves`` are width and height of the network, and ``keys`` those of its rounds.
    """
    ids = np.empty(stop - start, dtype=np.int64)
    kernel.deal(np.array(keys, dtype=np.uint64), ids, start, n, *halves, n_folds, len(keys), stop - start)
    return ids


def project(
    E: FloatArray, N: FloatArray, y: FloatArray, scale: FloatArray, pilot: FloatArray, rows: FloatArray
) -> None:
    """Write ``(E, N) scale`` and ``y - (E, N) pilot`` into the contiguous ``rows`` (n, r + k + 1); y has one output."""
    arrays = (np.ascontiguousarray(each, dtype=np.float64) for each in (E, N, y, scale, pilot))
    kernel.project(*arrays, rows, len(rows), E.shape[1], N.shape[1])


def gather(rows: FloatArray, ids: IntArray, products: FloatArray) -> None:
    """Add ``Z_f'Z_f``, its upper triangle, of every fold f in every repeat to ``products`` (L, F, d, d), contiguous.

    ``rows`` is (n, d), and ``ids`` (L, n) are their folds; -1 are in none.
    """
    (L, F, d, _), n = products.shape, len(rows)
    numbers = np.ascontiguousarray(ids, dtype=np.int64)
    kernel.gather(np.ascontiguousarray(rows, dtype=np.float64), numbers, products, n, L, F, d)


def score(
    rows: FloatArray,
    maps: FloatArray,
    weights: FloatArray | None,
    shift: FloatArray,
    about: FloatArray,
    ids: IntArray,
    parents: IntArray,
    sums: tuple[FloatArray | None, FloatArray, FloatArray, FloatArray],
) -> None:
    """Add what the residuals ``rows maps_f`` of every fold f, at all values, and their weighted squares amount to.

    Parameters
    ----------
    rows : (n, d)
    maps : (F, d, V)
    weights : (n,) or None
    shift : (F,), what the weighted squares at the root of the chain are taken about
    about : (2, V), scale and scaled middle of the squares, for their third powers
    ids : (n,), the fold of each row; -1 are in none
    parents : (V,), of the chain of values; its root is its own parent
    sums : residuals (n, V) or None and squares (n, V) of each row, the products (F, V + 2, V + 2) of the columns ``1``,
        ``weights - 1`` and the increments along the chain, and the sums (4, 4, V) over all folds of the powers
        ``w^a T^b``, a + b up to 3, of the weights and ``T = w (scale square - middle)``; contiguous, and added to
    """
    F, d, V = maps.shape
    given = (rows, maps, weights, shift, about)
    arrays = (None if each is None else np.ascontiguousarray(each, dtype=np.float64) for each in given)
    integers = (np.ascontiguousarray(each, dtype=np.int64) for each in (ids, parents))
    root = int(np.flatnonzero(parents == np.arange(V))[0])
    kernel.score(*arrays, *integers, *sums, len(rows), F, d, V, root)
