"""Lasso and elastic net of many training sets from their Gram matrices, by active sets.

On a face, where the columns that are not zero and their signs are given, the minimum is a linear system. The fit goes
towards it until a coefficient reaches zero, and that column leaves, or it is there; then the column that violates the
conditions of a minimum most enters. Every step lowers the objective, so that the faces come to an end, and what is
found there solves its equations to the last digits.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_solve, solve_triangular

from ..typing import BoolArray, FloatArray, IntArray
from . import compiled

__all__ = ["DOUBTFUL", "FAILED", "SURE", "fit", "go_towards", "tied"]

SURE, DOUBTFUL, FAILED = 0.0, 1.0, 2.0

VIOLATED = 1e-12
"""Of the largest product with y: what conditions are violated by less is rounding errors."""

TIED = 1e-9
"""Columns so close to entering might take part, and other solutions do as well."""

DEPENDENT, SMALL_PIVOT = 1e-10, 1e-3
"""Pivots of columns that others span, and those that say that the condition should be looked at."""


def fit(
    A: FloatArray,
    h: FloatArray,
    D: FloatArray,
    penalties: tuple[FloatArray, FloatArray],
    positive: bool,
) -> tuple[FloatArray, FloatArray]:
    """Minimise ``b'X'Xb/2 - b'X'y + l1 |b| + l2 b'b/2`` for each training set, value and output.

    Parameters
    ----------
    A : (S, p, p)
        Products of the columns, of length one.
    h : (S, Q, p)
        Their products with y.
    D : (S, p)
        Inverses of the lengths of the columns; zero for a column that takes no part.
    penalties : l1 and l2, each (S, V)
        Of the coefficients of the columns as they were. Each value begins with the solution of the one before it, so
        that a path should go from large to small.
    positive : bool
        Whether coefficients may not be negative.

    Returns
    -------
    beta : (S, V, Q, p), coefficients of the columns as they were
    states : (S, V, Q), `SURE`; `DOUBTFUL` if the condition is to be looked at, or there may be other solutions; or
        `FAILED`
    """
    if compiled.is_on():
        return compiled.lasso(A, h, D, penalties, positive)
    (S, Q, p), V = h.shape, penalties[0].shape[1]
    beta, states = np.zeros((S, V, Q, p)), np.zeros((S, V, Q))
    for index in range(S):
        for output in range(Q):
            b = np.zeros(p)
            for value in range(V):
                l1, l2 = (float(each[index, value]) for each in penalties)
                face = _Face(A[index], h[index, output], D[index], l1, l2, positive)
                b, states[index, value, output] = face.fit(b)
                beta[index, value, output] = b * D[index]
    return beta, states


def tied(g: FloatArray, h: FloatArray, D: FloatArray, l1: float | FloatArray, positive: bool) -> BoolArray:
    """Which columns (..., p) take part or are about to, from what is left of the products with y."""
    size = g if positive else np.abs(g)
    found: BoolArray = (D > 0) & (size >= l1 * D - TIED * np.abs(h).max(axis=-1, keepdims=True, initial=0.0))
    return found


def go_towards(goal: NDArray[Any], x: NDArray[Any], sign: NDArray[Any], active: IntArray) -> int:
    """Move ``x[active]`` to the goal, in place, or until one of them is zero: which one that is, -1 if none."""
    turned = np.flatnonzero(goal * sign[active] <= 0)
    if not len(turned):
        x[active] = goal
        return -1
    before = x[active[turned]]
    share = np.where(before == 0, 0.0, before / np.where(before == 0, 1.0, before - goal[turned]))
    leaves = int(active[turned[share.argmin()]])
    x[active] += share.min() * (goal - x[active])
    x[leaves] = 0.0
    return leaves


class _Face:
    """One fit in NumPy: the kernel's twin."""

    def __init__(self, A: FloatArray, h: FloatArray, D: FloatArray, l1: float, l2: float, positive: bool) -> None:
        self.A, self.h, self.D, self.l1, self.positive = A, h, D, l1, positive
        self.system = A + np.diag(l2 * np.square(D))
        self.scale = np.abs(h).max(initial=0.0)

    def fit(self, b: FloatArray) -> tuple[FloatArray, float]:
        """The solution, from a first guess, and its state."""
        active = [int(j) for j in np.flatnonzero(b)]
        b, sign, barred, entering = b.copy(), np.sign(b), np.zeros(len(b), dtype=bool), -1
        for _ in range(20 * len(b) + 100):
            L, spanned = self._factor(active)
            if spanned >= 0 and spanned == entering:
                if not self._exchange(b, sign, active, L):
                    return b, FAILED
                entering = -1
                continue
            if spanned >= 0:
                active.remove(spanned)
                b[spanned] = 0.0
                continue
            gone = self._step(b, sign, active, L)
            if gone >= 0:
                barred[gone] |= gone == entering
                entering = -1
                continue
            g = self.h - self.A[:, active] @ b[active]
            entering = self._violator(g, active, barred)
            if entering < 0:
                return b, self._state(g, active)
            sign[entering] = np.sign(g[entering])
            active.append(entering)
        return b, FAILED

    def _factor(self, active: list[int]) -> tuple[FloatArray, int]:
        """The factor of the columns, and the first that those before it span; -1 if none is."""
        L = np.zeros((len(active), len(active)))
        for i, column in enumerate(active):
            if i:
                L[i, :i] = solve_triangular(L[:i, :i], self.system[active[:i], column], lower=True)
            pivot = self.system[column, column] - L[i, :i] @ L[i, :i]
            if pivot <= DEPENDENT:
                return L[: i + 1, : i + 1], column
            L[i, i] = np.sqrt(pivot)
        return L, -1

    def _exchange(self, b: FloatArray, sign: FloatArray, active: list[int], L: FloatArray) -> bool:
        """Go where no prediction changes and the penalty falls, until a column is zero, and leaves."""
        *others, column = active
        along = sign[column] * solve_triangular(L[:-1, :-1], L[-1, :-1], trans="T", lower=True)
        with np.errstate(divide="ignore", invalid="ignore"):
            t = np.where(along != 0, b[others] / along, np.inf)
        t[~(t >= 0)] = np.inf
        if not np.isfinite(t).any():
            return False
        leaves = int(t.argmin())
        b[others] -= t[leaves] * along
        b[column] = t[leaves] * sign[column]
        b[others[leaves]] = 0.0
        active.remove(others[leaves])
        return True

    def _step(self, b: FloatArray, sign: FloatArray, active: list[int], L: FloatArray) -> int:
        """Go towards the minimum of the face; the column that leaves on the way, -1 if it is reached."""
        if not active:
            return -1
        at: IntArray = np.array(active)
        x = cho_solve((L, True), self.h[at] - self.l1 * self.D[at] * sign[at])
        leaves = go_towards(x, b, sign, at)
        if leaves >= 0:
            active.remove(leaves)
        return leaves

    def _violator(self, g: FloatArray, active: list[int], barred: BoolArray) -> int:
        """The column that violates the conditions of a minimum most; -1 if none does."""
        over = (g if self.positive else np.abs(g)) - self.l1 * self.D
        over[active] = -np.inf
        over[barred | (self.D == 0)] = -np.inf
        worst = int(over.argmax())
        return worst if over[worst] > VIOLATED * self.scale else -1

    def _state(self, g: FloatArray, active: list[int]) -> float:
        """Whether the solution is the only one, as far as pivots tell."""
        about = np.flatnonzero(tied(g, self.h, self.D, self.l1, self.positive))
        L, spanned = self._factor([*active, *(int(j) for j in about if j not in active)])
        return DOUBTFUL if spanned >= 0 or (np.square(np.diag(L)) <= SMALL_PIVOT).any() else SURE
