r"""Partial least squares of many training sets at once, with all numbers of components from one pass.

A component has the weights w, the first singular vector of ``X'Y`` as it is left, scores ``t = Xr`` with
``r = w - sum_j (p_j'w) r_j``, and loadings ``p = X't / t't`` and ``q = Y't / t't``; what is left is ``X'Y - t't p q'``,
and the coefficients of the first k are ``sum r_j q_j'`` (Dayal and MacGregor, 1997). Either the products ``X'X`` give
``t't`` and p, or the rows do: then all training sets stand in the columns of two products of matrices, and nothing is
squared.

Late components are made of what the others left of ``X'Y``, of which rounding errors may be the larger part; but what
they add to predictions may be as small as these errors. So training sets with a component that is not certain by itself
are computed once more, from data that are moved by many rounding errors: predictions that do not move with them are
certain, whatever became of the components.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..typing import BoolArray, FloatArray, IntArray

__all__ = ["PowerMethod", "from_products", "from_rows"]

LOST = 1e-9
"""Rounding errors, relative to what they are part of, beyond which a component is not trusted."""

MOVED = 2e-13
"""By what part of themselves data are moved: a thousand rounding errors, far more than computations make of them."""

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


@dataclass(frozen=True)
class _Found:
    """What the first components make, and what is known of it.

    Attributes
    ----------
    coefficients : (S, k, p, Q)
    is_known : (S, k), which have lost no digits
    has_columns : (S, k), which are of scores that are no rounding errors: columns of that rank there are
    left : (S, k, Q), squares of the outputs that are left
    """

    coefficients: FloatArray
    is_known: BoolArray
    has_columns: BoolArray
    left: FloatArray

    @property
    def doubtful(self) -> IntArray:
        """Training sets with components that are not certain by themselves, but may not matter."""
        return np.flatnonzero((self.has_columns & ~self.is_known).any(axis=1))

    def confirm(self, moved: _Found, size: FloatArray, squares: FloatArray) -> None:
        """Mark what is certain as it agrees with the same of ``moved`` data, which are those of doubtful training sets.

        A row of columns whose squares sum to ``size`` (S,) over the rows of a training set is then predicted as well,
        relative to the residuals; ``squares`` (S, Q) are of the outputs.
        """
        some = self.doubtful
        change = size[some, None, None] * np.square(moved.coefficients - self.coefficients[some]).sum(axis=2)
        left = np.minimum(self.left[some], moved.left)
        is_same = ((change <= np.square(LOST) * left) & (left > FITTED * squares[some, None])).all(axis=2)
        self.is_known[some] |= np.logical_and.accumulate(is_same & self.has_columns[some], axis=1)


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
    found = _of_products(A, h, squares, n_components, method)
    some = found.doubtful
    if len(some):
        lengths, (tilt, y_tilt) = np.sqrt(np.einsum("spp->sp", A[some])), _moves(A.shape[1:], h.shape[1:])
        moved = _of_products(
            A[some] + (tilt + tilt.T) * lengths[:, :, None] * lengths[:, None],
            h[some] + y_tilt * lengths[:, :, None] * np.sqrt(squares[some])[:, None],
            squares[some],
            n_components,
            method,
        )
        found.confirm(moved, np.einsum("spp->s", A), squares)
    return found.coefficients, found.is_known


def _moves(*shapes: tuple[int, ...]) -> list[FloatArray]:
    """Numbers that data are moved by, the same in every call."""
    rng = np.random.default_rng(0)
    return [MOVED * rng.uniform(-1.0, 1.0, shape) for shape in shapes]


def _of_products(A: FloatArray, h: FloatArray, squares: FloatArray, n_components: int, method: PowerMethod) -> _Found:
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
    found, size, squares = _of_rows(X, y, inside, by, y_by, k, method)
    some = found.doubtful
    if len(some):
        about = X - X.mean(axis=0), y - y.mean(axis=0)
        spread = [np.sqrt(np.square(columns).mean(axis=0)) for columns in about]
        moved = [
            columns + move * each for columns, move, each in zip((X, y), _moves(X.shape, y.shape), spread, strict=True)
        ]
        again, _, _ = _of_rows(moved[0], moved[1], inside[some], by[some], y_by[some], k, method)
        found.confirm(again, size, squares)
    return found.coefficients, found.is_known


def _of_rows(
    X: FloatArray, y: FloatArray, inside: BoolArray, by: FloatArray, y_by: FloatArray, k: int, method: PowerMethod
) -> tuple[_Found, FloatArray, FloatArray]:
    """And the squares of all columns (S,), and of the outputs (S, Q)."""
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

    squares = np.square(Y).sum(axis=1)
    size = (np.square(by) * (mask @ np.square(X) - n[:, None] * np.square(mean))).sum(axis=1)
    return _components(h, squares, k, method, loadings), size, squares


def _components(
    h: FloatArray,
    squares: FloatArray,
    n_components: int,
    method: PowerMethod,
    loadings: Callable[[FloatArray, FloatArray, FloatArray], tuple[FloatArray, FloatArray, FloatArray]],
) -> _Found:
    """One component after the other: ``loadings`` has t't p, t't and its error from r, w and the parts of p in w."""
    S, p, Q = h.shape
    R, P = np.zeros((2, S, n_components, p))
    found, still_left = np.zeros((S, n_components, p, Q)), np.empty((S, n_components, Q))
    is_known: BoolArray = np.ones((S, n_components), dtype=bool)
    has_columns = is_known.copy()
    h, left, first = h.copy(), squares.copy(), np.linalg.norm(h, axis=(1, 2))
    for k in range(n_components):
        is_left = (EPS * first < LOST * np.linalg.norm(h, axis=(1, 2))) & (left > FITTED * squares).all(axis=1)
        w = method.weights(h)
        along = (P[:, :k] @ w[:, :, None])[:, :, 0]
        R[:, k] = w - (along[:, None] @ R[:, :k])[:, 0]
        image, tt, error = loadings(R[:, k], w, along)
        of_sum = 1.0 + (np.abs(along) * np.linalg.norm(R[:, :k], axis=2)).sum(axis=1)  # r is what is left of a sum
        is_seen = (error < LOST * tt) & (EPS * of_sum < LOST * np.linalg.norm(R[:, k], axis=1))
        has_columns[:, k:] &= is_seen[:, None]
        is_known[:, k:] &= is_left[:, None] & has_columns[:, k:]
        tt = np.where(tt > 0, tt, 1.0)
        P[:, k] = image / tt[:, None]
        q = (np.swapaxes(h, 1, 2) @ R[:, k, :, None])[:, :, 0] / tt[:, None]
        h -= tt[:, None, None] * P[:, k, :, None] * q[:, None]
        left -= tt[:, None] * np.square(q)
        still_left[:, k] = left
        found[:, k] = (found[:, k - 1] if k else 0.0) + R[:, k, :, None] * q[:, None]
    return _Found(found, is_known, has_columns, still_left)
