"""Downdated systems ``D_lam - G`` of a path: solved value by value, or all from one eigendecomposition each."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..typing import FloatArray, IntArray
from . import batched, compiled
from .reinsch import Diagonal, geometric_mean

__all__ = ["Downdate"]

MANY = 12
"""From this many values on, an eigendecomposition of a system costs less than a factorization at each of them."""

MANY_COMPILED = 50
LARGE_COMPILED = 250
"""The same for the compiled kernel, whose factorizations are faster: measured, it takes 0.7 times as long as an
eigendecomposition with d = 200 and 50 values, 1.1 with d = 300 and 50, 1.7 with d = 300 and 100."""

HELD = 1e200

SPAN_OF_A_SYSTEM = 1e8
"""Largest ratio of values that share a decomposition, made at their geometric mean: the error grows with its root."""


class Downdate:
    """Solves ``(diag(x + lam s) - G) c = b`` for many G, at every value of a path.

    Scaled by ``g = (x + lam s)^(-1/2)`` the system is ``I - gGg``, with eigenvalues between 0 and 1; the smallest says
    how close the training set is to losing a column.
    """

    def __init__(self, reinsch: Diagonal, lams: FloatArray) -> None:
        self.x, self.s, self.lams = reinsch.x, reinsch.s, [float(lam) for lam in lams]
        self.scales = np.stack([reinsch.scale(lam) for lam in self.lams])  # (V, d)
        seen = self.scales > 0  # a direction that neither data nor penalty hold is held at zero
        self.D = np.where(seen, 1.0 / np.square(np.where(seen, self.scales, 1.0)), HELD)
        self.probe = np.where(seen, batched.probe(len(self.x)) / np.where(seen, self.scales, 1.0), 0.0)

    def system(self, removed: FloatArray, value: int) -> FloatArray:
        """``I - gGg`` of some Gram matrices (..., d, d)."""
        g = self.scales[value]
        scaled = removed if (g == 1.0).all() else removed * np.multiply.outer(g, g)
        return np.eye(len(g)) - scaled

    def untrusted(
        self, grams: FloatArray, squares: FloatArray, scale: FloatArray, sets: IntArray
    ) -> Iterator[tuple[int, int, int, tuple[int, ...]]]:
        """Repeat, set and value of systems too close to singular, and the folds that are out; as `solve` returns them.

        ``scale`` (V,) is the size of the errors in the entries, in units of the machine's precision.
        """
        for repeat, index, value in np.argwhere(batched.doubtful(squares, scale)).tolist():
            out = tuple(int(fold) for fold in sets[index] if fold >= 0)
            system = self.system(grams[repeat, list(out)].sum(axis=0), value)
            if batched.smallest_eigenvalues(system) < batched.TRUSTED * scale[value]:
                yield repeat, index, value, out

    def solve(self, grams: FloatArray, right: FloatArray, sets: IntArray) -> tuple[FloatArray, FloatArray]:
        """Solutions (L, S, d, V, Q) without the folds ``sets`` (S, 2), and squares (L, S, V) for `batched.doubtful`.

        ``grams`` (L, K, d, d) and ``right`` (L, K, d, V, Q) are those of the folds; a set (j, -1) leaves out j alone.
        """
        if compiled.is_on() and not self._is_long():
            return compiled.systems(grams, right, self.D, self.probe, sets)
        first, second = sets.T
        removed, sides = grams[:, first], right[:, first]
        pairs = second >= 0
        removed[:, pairs] += grams[:, second[pairs]]
        sides[:, pairs] += right[:, second[pairs]]
        change = np.empty_like(sides)
        answers = np.empty((*sides.shape[:2], len(self.lams), sides.shape[2]))
        for values in self._segments():
            if len(values) < MANY:
                self._solve_each(removed, sides, values, change, answers)
            else:
                self._solve_many(removed, sides, values, change, answers)
        return change, np.square(answers).sum(axis=-1)

    def _is_long(self) -> bool:
        """Whether even the compiled kernel is slower than one eigendecomposition for all values."""
        return len(self.lams) >= MANY_COMPILED and len(self.x) >= LARGE_COMPILED

    def _segments(self) -> list[IntArray]:
        """Values close enough to each other to share a decomposition."""
        order = np.argsort(self.lams)
        sorted_lams = np.array(self.lams)[order]
        segments, start = [], 0
        for end in range(1, len(order) + 1):
            if end == len(order) or sorted_lams[end] > SPAN_OF_A_SYSTEM * max(sorted_lams[start], 1e-300):
                segments.append(order[start:end])
                start = end
        return segments

    def _solve_each(
        self, removed: FloatArray, right: FloatArray, values: IntArray, change: FloatArray, answers: FloatArray
    ) -> None:
        d, Q = right.shape[2], right.shape[4]
        for value in values:
            g = self.scales[value][:, None]
            sides = np.empty((*right.shape[:3], Q + 1))
            np.multiply(g, right[..., value, :], out=sides[..., :-1])
            sides[..., -1] = batched.probe(d)
            solution = batched.solve(self.system(removed, value), sides)
            np.multiply(g, solution[..., :-1], out=change[..., value, :])
            answers[..., value, :] = solution[..., -1]

    def _solve_many(
        self, removed: FloatArray, right: FloatArray, values: IntArray, change: FloatArray, answers: FloatArray
    ) -> None:
        """All values together; if that fails, system by system, so that one says nothing about the others."""
        if self._solve_together(removed, right, values, change, answers):
            return
        for repeat, system in np.ndindex(removed.shape[:2]):
            at = (slice(repeat, repeat + 1), slice(system, system + 1))
            one = (removed[at], right[at], values, change[at], answers[at])
            if not self._solve_together(*one):
                self._solve_each(*one)

    def _solve_together(
        self, removed: FloatArray, right: FloatArray, values: IntArray, change: FloatArray, answers: FloatArray
    ) -> bool:
        """All values from one eigendecomposition of each system.

        ``M_lam^-1 = W diag(1/(1 + (lam - tau) mu)) W'``, from ``M = LL'`` at tau and ``L^-1 S L^-T = U diag(mu) U'``.
        False if a system is not positive definite at tau; then each value has to be looked at.
        """
        lams = np.array(self.lams)[values]
        tau = geometric_mean(lams.tolist())
        h = 1.0 / np.sqrt(np.where(self.x + tau * self.s > 0, self.x + tau * self.s, np.inf))
        try:
            inverse = np.linalg.inv(np.linalg.cholesky(np.eye(len(h)) - removed * np.multiply.outer(h, h)))
        except np.linalg.LinAlgError:
            return False
        mu, U = np.linalg.eigh((inverse * (np.square(h) * self.s)) @ inverse.swapaxes(-1, -2))
        W = h[:, None] * (inverse.swapaxes(-1, -2) @ U)
        L, systems, d, _, Q = right.shape
        V = len(values)
        sides = np.empty((L, systems, d, V, Q + 1))
        sides[..., :-1] = right[..., values, :]
        sides[..., -1] = (batched.probe(d) / np.where(self.scales[values] > 0, self.scales[values], np.inf)).T
        along = W.swapaxes(-1, -2) @ sides.reshape(L, systems, d, V * (Q + 1))
        shrink = 1.0 / (1.0 + (lams - tau) * mu[..., None])  # (L, systems, d, V)
        along = along.reshape(L, systems, d, V, Q + 1) * shrink[..., None]
        solution = (W @ along.reshape(L, systems, d, V * (Q + 1))).reshape(L, systems, d, V, Q + 1)
        change[..., values, :] = solution[..., :-1]
        unscaled = solution[..., -1] / np.where(self.scales[values].T > 0, self.scales[values].T, np.inf)
        answers[:, :, values] = np.moveaxis(unscaled, 2, 3)
        return True
