"""The axis of parameter values as a chain of increments, from the best value to worse ones."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..typing import FloatArray, IntArray

__all__ = ["Chain", "ascending", "outward", "over_kept"]


@dataclass(frozen=True)
class Chain:
    """Each value's losses as the change from those of its parent; the root, the best value, has itself as parent.

    The variance of a difference is then a sum over the increments on the way, not a difference of large sums; and as
    losses grow away from the root, a value with huge losses does not spoil the others'.
    """

    parents: IntArray

    def __len__(self) -> int:
        return len(self.parents)

    @cached_property
    def root(self) -> int:
        """The best value."""
        return int(np.flatnonzero(self.parents == np.arange(len(self)))[0])

    @cached_property
    def order(self) -> IntArray:
        """Values, each after its parent."""
        depth = np.zeros(len(self), dtype=np.intp)
        for _ in range(len(self)):
            depth = np.where(self.parents == np.arange(len(self)), 0, depth[self.parents] + 1)
        return np.argsort(depth, kind="stable")

    def increments(self, values: FloatArray, axis: int) -> FloatArray:
        """Change along an axis of values; the root keeps its level."""
        parents = np.take(values, self.parents, axis=axis)
        is_root = self.parents == np.arange(len(self))
        shape = [1] * values.ndim
        shape[axis] = len(self)
        return values - np.where(is_root.reshape(shape), 0.0, parents)

    @cached_property
    def levels(self) -> FloatArray:
        """Each value as a sum of increments, (V, V)."""
        X = np.eye(len(self))
        for value in self.order[1:]:
            X[value] += X[self.parents[value]]
        return X


def over_kept(make_chain: Callable[[FloatArray], Chain], errors: FloatArray, lost: Collection[int]) -> Chain:
    """The chain of the values that are not lost; those hang on its root, and play no part for the others."""
    if not lost or len(lost) == len(errors):
        return make_chain(errors)
    kept = np.array([value for value in range(len(errors)) if value not in lost])
    inner = make_chain(errors[kept])
    parents = np.full(len(errors), kept[inner.order[0]])
    parents[kept] = kept[inner.parents]
    return Chain(parents)


def outward(errors: FloatArray) -> Chain:
    """Neighbours on a path, from the value with the smallest error to both ends."""
    best, index = int(np.nanargmin(errors)), np.arange(len(errors))
    return Chain(np.where(index > best, index - 1, np.where(index < best, index + 1, index)))


def ascending(errors: FloatArray) -> Chain:
    """From the smallest error to the largest: for values that have no neighbours, such as models."""
    order = np.argsort(errors, kind="stable")
    parents = np.empty(len(errors), dtype=np.intp)
    parents[order] = np.concatenate([order[:1], order[:-1]])
    return Chain(parents)
