"""The compiled kernels, if they are there; every use of them has a twin in NumPy.

The environment variable ``ONEFIT_KERNEL`` set to "off" leaves them out, and set to "baseline", "AVX2" or "AVX-512"
allows instructions up to those.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import numpy as np

from ..errors import DataError
from ..spare import spare_table
from ..typing import FloatArray, IntArray

_kernel: Any
try:
    _kernel = import_module("._kernel", __package__)
except ImportError:
    _kernel = None  # there was no compiler

__all__ = [
    "collect",
    "collects",
    "deal",
    "exceeds",
    "fold_pairs",
    "fold_pairs_moments",
    "gather",
    "instructions",
    "interleave",
    "is_on",
    "is_there",
    "lasso",
    "moments",
    "newton",
    "predict",
    "project",
    "residuals",
    "row_pairs",
    "scale",
    "score",
    "switched",
    "systems",
    "use",
    "without",
]

FEW_COLUMNS = 32
SETTINGS = {name.lower(): name for name in ("on", "off", "baseline", "AVX2", "AVX-512")}
_ASKED = os.environ.get("ONEFIT_KERNEL", "on")
if _ASKED.lower() not in SETTINGS:
    raise DataError(f"The environment variable ONEFIT_KERNEL is {_ASKED!r}; it may be {', '.join(SETTINGS.values())}.")
SETTING = SETTINGS[_ASKED.lower()]
_state: dict[str, Any] = {"on": _kernel is not None and SETTING != "off"}


def use(most: str) -> str:
    """Take instructions up to those named, or all; returns those taken. For tests and benchmarks, and when loaded."""
    _state["instructions"] = "" if _kernel is None else _kernel.use(most)
    return str(_state["instructions"])


use(SETTING)


def is_on() -> bool:
    """Whether the compiled kernels are used."""
    return bool(_state["on"])


def is_there() -> bool:
    """Whether the compiled kernels were built."""
    return _kernel is not None


def instructions() -> str:
    """Which instructions the kernels use; empty if there are no kernels."""
    return str(_state["instructions"]) if is_on() else ""


@contextmanager
def switched(on: bool) -> Iterator[None]:
    """Use the kernels, or not, for a while: for tests and benchmarks."""
    before = _state["on"]
    _state["on"] = on and _kernel is not None
    try:
        yield
    finally:
        _state["on"] = before


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
    _kernel.gram(*arrays, np.ascontiguousarray(sets, dtype=np.int64), change, squares, L, K, d, V, Q, len(sets))
    return change, squares


def collects(d: int) -> bool:
    """Whether `collect` is faster than BLAS: with two lanes only if there are few columns, else (measured) always."""
    return is_on() and (d <= FEW_COLUMNS or _state["instructions"] != "baseline")


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
    _kernel.collect(*arrays, *integers, grams, right, len(Z), sizes.size, m, d, C)
    return grams, right


def residuals(Z: FloatArray, r: FloatArray, change: FloatArray, members: IntArray, sizes: IntArray) -> FloatArray:
    """``r_f + Z_f change_f`` (..., m, C) of every fold f, zero for padding; ``change`` is (..., d, C)."""
    d, C, m = Z.shape[1], r.shape[1], members.shape[-1]
    u = np.empty((*members.shape, C))
    arrays = (np.ascontiguousarray(each, dtype=np.float64) for each in (Z, r, change))
    integers = (np.ascontiguousarray(each, dtype=np.int64) for each in (members, sizes))
    _kernel.residuals(*arrays, *integers, u, len(Z), sizes.size, m, d, C)
    return u


def interleave(columns: Sequence[FloatArray], first: int, rows: FloatArray) -> None:
    """Write columns, contiguous, from place ``first`` on, as ``rows`` (n, columns)."""
    if is_on():
        _kernel.interleave(columns, rows, first, *rows.shape)
        return
    for at, column in enumerate(columns):
        rows[:, at] = column[first : first + len(rows)]


def exceeds(values: FloatArray, most: float) -> bool:
    """Whether a number is further from zero than ``most``, or is NaN."""
    if is_on() and values.flags.c_contiguous and values.dtype == np.float64:
        return bool(_kernel.exceeds(values, values.size, most))
    return bool(values.size) and not max(float(values.max()), -float(values.min())) <= most


def deal(
    keys: Sequence[tuple[int, int]], start: int, stop: int, n: int, halves: tuple[int, int], n_folds: int
) -> IntArray:
    """Folds of the rows ``start`` to ``stop - 1`` of n, or their places if there are n folds: see `KeyedOrder`.

    ``halves`` are width and height of the network, and ``keys`` those of its rounds.
    """
    ids = np.empty(stop - start, dtype=np.int64)
    _kernel.deal(np.array(keys, dtype=np.uint64), ids, start, n, *halves, n_folds, len(keys), stop - start)
    return ids


def project(
    E: FloatArray, N: FloatArray, y: FloatArray, scale: FloatArray, pilot: FloatArray, rows: FloatArray
) -> None:
    """Write ``(E, N) scale`` and ``y - (E, N) pilot`` into the contiguous ``rows`` (n, r + k + 1); y has one output."""
    arrays = (np.ascontiguousarray(each, dtype=np.float64) for each in (E, N, y, scale, pilot))
    _kernel.project(*arrays, rows, len(rows), E.shape[1], N.shape[1])


def gather(rows: FloatArray, ids: IntArray, products: FloatArray) -> None:
    """Add ``Z_f'Z_f``, its upper triangle, of every fold f in every repeat to ``products`` (L, F, d, d), contiguous.

    ``rows`` is (n, d), and ``ids`` (L, n) are their folds; -1 are in none.
    """
    (L, F, d, _), n = products.shape, len(rows)
    numbers = np.ascontiguousarray(ids, dtype=np.int64)
    _kernel.gather(np.ascontiguousarray(rows, dtype=np.float64), numbers, products, n, L, F, d)


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
    _kernel.score(*arrays, *integers, *sums, len(rows), F, d, V, root)


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
    _kernel.predict(*arrays, rows, *integers, *tables, weights.size, L, K, m, d, C, len(sets))


def moments(u: FloatArray, r: FloatArray, weights: FloatArray, sizes: IntArray) -> tuple[FloatArray, FloatArray]:
    """Mean and sum of squares about it, (F, O, C), over the rows of folds of ``weights (u + r)^2``.

    ``u`` is (F, m, O, C), ``r`` (F, m, C), ``weights`` (F, m); the first ``sizes`` (F,) rows of a fold are there.
    """
    F, m, others, C = u.shape
    mean, scatter = np.empty((2, F, others, C))
    arrays = (np.ascontiguousarray(each, dtype=np.float64) for each in (u, r, weights))
    _kernel.moments(*arrays, np.ascontiguousarray(sizes, dtype=np.int64), mean, scatter, F, m, others, C)
    return mean, scatter


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
    _kernel.onestep(matrix, rows, columns, diagonal, right, gains, sizes, is_table, one, other, squares, *shape)
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
    _kernel.leavetwo(A, *tables, *chain, changes_j, *sums, V, height, width, on_diagonal, is_absolute)
    return None if doubtful[0] else (sums_i, sums_j, own)


def lasso(
    A: FloatArray,
    h: FloatArray,
    D: FloatArray,
    penalties: tuple[FloatArray, FloatArray],
    positive: bool,
) -> tuple[FloatArray, FloatArray]:
    """Coefficients (S, V, Q, p) and states (S, V, Q) of lasso fits: see `lasso.fit`."""
    (S, Q, p), V = h.shape, penalties[0].shape[1]
    beta, status = np.empty((S, V, Q, p)), np.empty((S, V, Q))
    arrays = [np.ascontiguousarray(each, dtype=np.float64) for each in (A, h, D, *penalties)]
    _kernel.lasso(*arrays, beta, status, S, p, V, Q, positive)
    return beta, status


def newton(
    design: FloatArray,
    y: FloatArray,
    weights: FloatArray,
    cells: IntArray,
    tables: Sequence[FloatArray | None],
    made: IntArray | None,
    theta: FloatArray,
    family: tuple[int, float],
    limits: tuple[float, int, float, float, float],
) -> tuple[IntArray, IntArray]:
    """Iterate training sets of a generalized linear model; returns which have converged (S,), and the steps of each.

    Parameters
    ----------
    design, y, weights, cells : (n, q), (P, n), (n,), (n,)
    tables : factors (cells, T) and maps (T, q, p) or None, of which set s has those at s % T, penalty (S, p), pieces of
        Hessians (M, c p, c p), curvature (S,), basis (P, c), minus the gradient at the start (S, c, p) or None, and how
        Hessians change until the end for each piece that is taken away, as expected (M, c p, c p), or None
    made : (S, 3), a piece and two that are taken away from it or -1, which gives a Hessian but for its penalty; None if
        the pieces are those
    theta : (S, c, p), the start, which becomes the solution
    family : number of the loss in ``tasks.h``, and its power
    limits : tolerance, window, slow, wild, least pivot; see `routes.newtonbatch`
    """
    S, c, p = theta.shape
    converged, steps = np.zeros((2, S), dtype=np.int64)
    arrays = [np.ascontiguousarray(each, dtype=np.float64) for each in (design, y, weights)]
    contiguous = [None if each is None else np.ascontiguousarray(each, dtype=np.float64) for each in tables]
    factors, _, _, pieces, *_ = contiguous
    assert factors is not None
    assert pieces is not None
    if made is None:
        made = np.stack([np.arange(S), np.full(S, -1), np.full(S, -1)], axis=1)
    shape = (*design.shape, p, len(y), c, S, *factors.shape, len(pieces))
    places, parts = (np.ascontiguousarray(each, dtype=np.int64) for each in (cells, made))
    _kernel.newton(*arrays, places, *contiguous, parts, theta, converged, steps, *shape, *family, *limits)
    return converged, steps


def without(gram: FloatArray, folds: FloatArray, out: IntArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Sums (S, w), means (S, w - 1) and products about them of columns in all rows but some folds ``out`` (S, t).

    ``gram`` (w, w) and ``folds`` (F, w, w) are the products of all rows and of the folds, a constant the last column.
    """
    (S, t), w = out.shape, len(gram)
    sums, mean, products = np.empty((S, w)), np.empty((S, w - 1)), np.empty((S, w - 1, w - 1))
    arrays = (np.ascontiguousarray(each, dtype=np.float64) for each in (gram, folds))
    places = np.ascontiguousarray(out, dtype=np.int64)
    _kernel.without(*arrays, places, sums, mean, products, w, len(folds), S, t)
    return sums, mean, products


def scale(products: FloatArray, by: FloatArray) -> FloatArray:
    """Matrices (S, q, q) with rows and columns times factors (S, q)."""
    scaled = np.empty(products.shape)
    arrays = (np.ascontiguousarray(each, dtype=np.float64) for each in (products, by))
    _kernel.scale(*arrays, scaled, *by.shape)
    return scaled
