r"""Partial least squares of many training sets at once, with all numbers of components from one pass.

A component has the weights w, the first singular vector of ``X'Y`` as it is left, scores ``t = Xr`` with
``r = w - sum_j (p_j'w) r_j``, and loadings ``p = X't / t't`` and ``q = Y't / t't``; what is left is ``X'Y - t't p q'``,
and the coefficients of the first k are ``sum r_j q_j'`` (Dayal and MacGregor, 1997). Either the products ``X'X`` give
``t't`` and p, or the rows do: then all training sets stand in the columns of two products of matrices, and nothing is
squared.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..typing import BoolArray, FloatArray

__all__ = ["PowerMethod", "from_products", "from_rows"]

LOST = 1e-9
"""Rounding errors, relative to what they are part of, beyond which a component is not trusted."""

FITTED = 1e-18
"""Part of the squares of an output below which what is left of it is rounding errors."""

EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class PowerMethod:
    """How scikit-learn finds weights for several outputs: by a power method that stops where it does."""

    max_iter: int
    tol: float

    def weights(self, h: FloatArray) -> FloatArray:
        """Weights (S, p) of products (S, p, Q)."""
        w = _unit(h[:, :, 0])
        if h.shape[2] == 1:
            return w
        running: BoolArray = np.ones(len(w), dtype=bool)
        for _ in range(self.max_iter - 1):
            new = _unit((h @ (np.swapaxes(h, 1, 2) @ w[:, :, None]))[:, :, 0])
            change = np.square(new - w).sum(axis=1)
            w = np.where(running[:, None], new, w)
            running &= change >= self.tol
            if not running.any():
                break
        return w


def _unit(w: FloatArray) -> FloatArray:
    length = np.linalg.norm(w, axis=1, keepdims=True)
    unit: FloatArray = w / np.where(length > 0, length, 1.0)
    return unit


def from_products(
    A: FloatArray, h: FloatArray, squares: FloatArray, n_components: int, method: PowerMethod
) -> tuple[FloatArray, BoolArray]:
    """Coefficients (S, k, p, Q) of the first 1, ..., k components, and which of them (S, k) have lost no digits.

    Parameters
    ----------
    A : (S, p, p), products of the columns about their means
    h : (S, p, Q), those with the outputs
    squares : (S, Q), of the outputs
    """
    size = np.einsum("spp->s", A)

    def loadings(r: FloatArray, w: FloatArray, along: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        image = (A @ r[:, :, None])[:, :, 0]
        tt = (r * image).sum(axis=1)
        return image, tt, EPS * size * np.square(r).sum(axis=1)

    return _components(h, squares, n_components, method, loadings)


def from_rows(
    X: FloatArray, y: FloatArray, inside: BoolArray, by: FloatArray, y_by: FloatArray, k: int, method: PowerMethod
) -> tuple[FloatArray, BoolArray]:
    """The same for training sets that are masks ``inside`` (S, n) of rows X (n, p), y (n, Q).

    Columns and outputs are multiplied by ``by`` (S, p) and ``y_by`` (S, Q); the coefficients are of those.
    """
    mask = inside.astype(np.float64)
    n = mask.sum(axis=1)
    mean, y_mean = (mask @ X) / n[:, None], (mask @ y) / n[:, None]
    Y = (y - y_mean[:, None]) * y_by[:, None] * mask[:, :, None]
    h = by[:, :, None] * np.stack([Y[:, :, each] @ X for each in range(y.shape[1])], axis=2)
    scores = np.zeros((len(mask), 0, len(X)))

    def loadings(r: FloatArray, w: FloatArray, along: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        nonlocal scores
        scaled = by * w
        t = (scaled @ X.T - (scaled * mean).sum(axis=1, keepdims=True)) * mask
        rounding = EPS * np.linalg.norm(t, axis=1)
        t -= (along[:, None] @ scores)[:, 0]
        length = np.square(scores).sum(axis=2)
        again = (scores @ t[:, :, None])[:, :, 0] / np.where(length > 0, length, 1.0)
        t -= (again[:, None] @ scores)[:, 0]  # once more, or what rounding left of the others would grow
        t -= mask * (t.sum(axis=1) / n)[:, None]
        scores = np.concatenate([scores, t[:, None]], axis=1)
        tt = np.square(t).sum(axis=1)
        return by * (t @ X - t.sum(axis=1, keepdims=True) * mean), tt, rounding * np.sqrt(tt)

    return _components(h, np.square(Y).sum(axis=1), k, method, loadings)


def _components(
    h: FloatArray,
    squares: FloatArray,
    n_components: int,
    method: PowerMethod,
    loadings: Callable[[FloatArray, FloatArray, FloatArray], tuple[FloatArray, FloatArray, FloatArray]],
) -> tuple[FloatArray, BoolArray]:
    """One component after the other: ``loadings`` has t't p, t't and its error from r, w and the parts of p in w."""
    S, p, Q = h.shape
    R, P = np.zeros((2, S, n_components, p))
    found = np.zeros((S, n_components, p, Q))
    is_known: BoolArray = np.ones((S, n_components), dtype=bool)
    h, left, first = h.copy(), squares.copy(), np.linalg.norm(h, axis=(1, 2))
    for k in range(n_components):
        is_left = (EPS * first < LOST * np.linalg.norm(h, axis=(1, 2))) & (left > FITTED * squares).all(axis=1)
        w = method.weights(h)
        along = (P[:, :k] @ w[:, :, None])[:, :, 0]
        R[:, k] = w - (along[:, None] @ R[:, :k])[:, 0]
        image, tt, error = loadings(R[:, k], w, along)
        is_known[:, k:] &= (is_left & (error < LOST * tt))[:, None]
        tt = np.where(tt > 0, tt, 1.0)
        P[:, k] = image / tt[:, None]
        q = (np.swapaxes(h, 1, 2) @ R[:, k, :, None])[:, :, 0] / tt[:, None]
        h -= tt[:, None, None] * P[:, k, :, None] * q[:, None]
        left -= tt[:, None] * np.square(q)
        found[:, k] = (found[:, k - 1] if k else 0.0) + R[:, k, :, None] * q[:, None]
    return found, is_known
