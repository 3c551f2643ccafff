"""How the Hessian of a generalized linear model changes between the fit to all rows and those of training sets."""

from __future__ import annotations

from itertools import combinations_with_replacement

import numpy as np

from ..learners.glm_families import Family
from ..typing import AnyArray, FloatArray

__all__ = ["Third", "third_derivatives"]

MOST_PRODUCTS = 2**27
"""Of rows with the columns, three by three: about five milliseconds, which the training sets of a repeat repay."""

MOST_FLOATS = 2**21
"""Numbers of the third derivatives that are held."""

SHORT = np.float32
"""Numbers that only direct steps need no more digits, and take half the time."""

STEP = 1e-4
"""In linear predictors, for differences of curvatures, which only direct steps."""


class Third:
    """Third derivatives of the loss of all rows, in the coefficients.

    Parameters
    ----------
    table : array (A, q, q, c, q)
        For the A pairs of predictors ``a <= b``, and those ``c`` along which the Hessian changes.
    """

    def __init__(self, table: AnyArray) -> None:
        self._c, self._q = table.shape[3:]
        self._table = table.reshape(-1, self._c * self._q)

    def along(self, delta: FloatArray) -> FloatArray:
        """Changes (K, c q, c q) of the Hessian along vectors (K, c q)."""
        K, c, q = len(delta), self._c, self._q
        each = (self._table @ delta.T.astype(SHORT)).T.reshape(K, -1, q, q)
        found = np.empty((K, c, q, c, q))
        for at, (a, b) in enumerate(combinations_with_replacement(range(c), 2)):
            found[:, a, :, b] = each[:, at]
            found[:, b, :, a] = found[:, a, :, b]  # symmetric in itself
        return found.reshape(K, c * q, c * q)


def third_derivatives(
    design: FloatArray, y: FloatArray, weights: FloatArray, family: Family, gamma: FloatArray
) -> Third | None:
    """Of the losses of rows (n, q), at coefficients (c, q); None if they are none, or take too long."""
    (n, q), c = design.shape, len(gamma)
    if n * q**3 * c * (c + 1) * (c + 2) > 18 * MOST_PRODUCTS or c * c * (c + 1) * q**3 > 2 * MOST_FLOATS:
        return None
    triples = list(combinations_with_replacement(range(c), 3))
    slopes = (_slopes(family, gamma @ design.T, y, triples) * weights).astype(SHORT)
    if not slopes.any() or not np.isfinite(slopes).all():
        return None
    rows = design.astype(SHORT)
    columns = np.ascontiguousarray(rows.T)
    right = np.ascontiguousarray(rows[:, :, None] * slopes.T[:, None])  # (n, q, triples)
    T = np.empty((len(triples), q, q, q), dtype=SHORT)
    for j in range(q):  # columns before it have had their products
        left = columns[j:] * columns[j]
        block = (left @ right[:, j:].reshape(n, -1)).reshape(q - j, q - j, -1).transpose(2, 0, 1)
        T[:, j, j:, j:] = T[:, j:, j, j:] = T[:, j:, j:, j] = block
    place = {triple: at for at, triple in enumerate(triples)}
    table = np.empty((c * (c + 1) // 2, q, q, c, q), dtype=SHORT)
    for at, (a, b) in enumerate(combinations_with_replacement(range(c), 2)):
        for k in range(c):
            low, middle, high = sorted((a, b, k))
            table[at, :, :, k] = T[place[low, middle, high]]
    return Third(table) if np.isfinite(table).all() else None


def _slopes(family: Family, eta: FloatArray, y: FloatArray, triples: list[tuple[int, int, int]]) -> FloatArray:
    """Third derivatives (triples, n) of the losses in the predictors that have coefficients, at those (c, n)."""
    found = np.empty((len(triples), eta.shape[1]))
    for k in range(len(eta)):
        ends = []
        for sign in (1.0, -1.0):
            moved = eta.copy()
            moved[k] += sign * STEP
            ends.append(family.curvature(family.basis @ moved, y))
        change = (ends[0] - ends[1]) / (2.0 * STEP)
        for at, (a, b, last) in enumerate(triples):
            if last == k:
                found[at] = change[a, b]
    return found
