"""The one-step route for many outputs: their products with the same small matrices, a few outputs at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np

from ..linalg import compiled
from ..linalg.definite import Inverse
from ..linalg.operator import Operator
from ..typing import FloatArray, IntArray

__all__ = ["FoldSystems", "are_many"]

LEAST_OUTPUTS = 64
"""From so many outputs on their products with the matrices of a pair take longer than the matrices do."""

LEAST_ROWS = 8
"""In a fold: of smaller ones there are many, and the kernel takes several pairs at once."""

CHUNK_BYTES = 2**19
"""Of the residuals of all folds at some outputs, which should stay in the caches."""


Moments: TypeAlias = tuple[FloatArray, FloatArray]


def are_many(n_outputs: int, fold_size: int) -> bool:
    """Whether products with the matrices of pairs of folds are faster than a system for every pair."""
    return n_outputs >= LEAST_OUTPUTS and fold_size >= LEAST_ROWS


class Partners(NamedTuple):
    """Of fold j, for each later fold k: ``A_jj^-1 A_jk``, A_kj, and the inverse of the Schur complement of k."""

    W: FloatArray
    back: FloatArray
    schur: list[Inverse]


@dataclass(frozen=True)
class FoldSystems:
    """The folds of one repeat and what the operator says of them.

    Attributes
    ----------
    operator : Operator, a symmetric one
    members : (K, m)
    diagonal : (K, m, m)
    right : (K, m, Q + 1), the probe last
    own : (K, m, Q + 1), solutions of each fold by itself
    gains : (K, m), what a squared solution is multiplied by; zero for padding
    sizes : (K,)
    """

    operator: Operator
    members: IntArray
    diagonal: FloatArray
    right: FloatArray
    own: FloatArray
    gains: FloatArray
    sizes: IntArray

    def record(self, mean: FloatArray, scatter: FloatArray) -> FloatArray:
        """Write moments (K, K, Q) of the squared residuals of folds j and k with both out; squares (K, K) of the probe.

        The formulas are those of `OneStepEngine`.
        """
        K, m, sides = self.right.shape
        squares = np.zeros((K, K))
        step = max(LEAST_OUTPUTS, CHUNK_BYTES // (8 * K * m))
        space = np.zeros((3, K * m * min(step, sides - 1)))  # taken once: fresh memory would cost more than products
        for j in range(K - 1):
            partners = self._partners(j)
            squares[j, j + 1 :] = self._probe(j, partners)
            for start in range(0, sides - 1, step):
                some = slice(start, min(start + step, sides - 1))
                at_j, at_k = self._moments(j, partners, some, space)
                mean[j, j + 1 :, some], scatter[j, j + 1 :, some] = at_j
                mean[j + 1 :, j, some], scatter[j + 1 :, j, some] = at_k
        return squares

    def _partners(self, j: int) -> Partners:
        """What takes a later fold out beside fold j."""
        cross = self.operator.blocks(self.members[[j]], self.members[j + 1 :])  # (K - j - 1, m, m)
        first = Inverse(self.diagonal[j])
        W = np.stack([first.times(each) for each in cross])
        back = np.ascontiguousarray(cross.swapaxes(1, 2))
        return Partners(W, back, [Inverse(each) for each in self.diagonal[j + 1 :] - back @ W])

    def _probe(self, j: int, partners: Partners) -> FloatArray:
        """Squared lengths of the solutions for the probe, of fold j with each later one."""
        own, right = self.own[j, :, -1:], self.right[j + 1 :, :, -1:]
        left = right - partners.back @ own
        at_k = np.stack([schur.times(each) for schur, each in zip(partners.schur, left, strict=True)])
        at_j = own - partners.W @ at_k
        found: FloatArray = np.square(at_j).sum(axis=(1, 2)) + np.square(at_k).sum(axis=(1, 2))
        return found

    def _moments(self, j: int, partners: Partners, some: slice, space: FloatArray) -> tuple[Moments, Moments]:
        """Of fold j with each later one out, and of these with fold j out; the last part of the space holds zeros."""
        K, m, _ = self.right.shape
        width, later = some.stop - some.start, slice(j + 1, None)
        own = np.ascontiguousarray(self.own[j, :, some])
        first, second, nothing = space[:, : (K - j - 1) * m * width].reshape(3, K - j - 1, m, width)
        np.matmul(partners.back, own, out=first)
        np.subtract(self.right[later, :, some], first, out=first)
        for schur, right, solution in zip(partners.schur, first, second, strict=True):
            schur.times(right, out=solution)
        at_k = self._of(second, nothing, later)
        np.matmul(partners.W, second, out=first)
        np.subtract(own, first, out=first)
        return self._of(first, nothing, slice(j, j + 1)), at_k

    def _of(self, u: FloatArray, nothing: FloatArray, folds: slice) -> Moments:
        gains = np.broadcast_to(self.gains[folds], u.shape[:2])
        sizes = np.broadcast_to(self.sizes[folds], len(u))
        mean, scatter = compiled.moments(u[:, :, None], nothing, gains, sizes)
        return mean[:, 0], scatter[:, 0]
