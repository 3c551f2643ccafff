"""Fits of many training sets at once, and the statistics that they begin from."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...typing import FloatArray, IntArray
from .loading import kernel

__all__ = ["lasso", "newton", "scale", "without"]


def without(gram: FloatArray, folds: FloatArray, out: IntArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Sums (S, w), means (S, w - 1) and products about them of columns in all rows but some folds ``out`` (S, t).

    ``gram`` (w, w) and ``folds`` (F, w, w) are the products of all rows and of the folds, a constant the last column.
    """
    (S, t), w = out.shape, len(gram)
    sums, mean, products = np.empty((S, w)), np.empty((S, w - 1)), np.empty((S, w - 1, w - 1))
    arrays = (np.ascontiguousarray(each, dtype=np.float64) for each in (gram, folds))
    places = np.ascontiguousarray(out, dtype=np.int64)
    kernel.without(*arrays, places, sums, mean, products, w, len(folds), S, t)
    return sums, mean, products


def scale(products: FloatArray, by: FloatArray) -> FloatArray:
    """Matrices (S, q, q) with rows and columns times factors (S, q)."""
    scaled = np.empty(products.shape)
    arrays = (np.ascontiguousarray(each, dtype=np.float64) for each in (products, by))
    kernel.scale(*arrays, scaled, *by.shape)
    return scaled


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
    kernel.lasso(*arrays, beta, status, S, p, V, Q, positive)
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
    limits: tuple[float, int, float, float, float, float],
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
    limits : tolerance, window, slow, wild, least pivot, noise; see `routes.newtonbatch`
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
    kernel.newton(*arrays, places, *contiguous, parts, theta, converged, steps, *shape, *family, *limits)
    return converged, steps
