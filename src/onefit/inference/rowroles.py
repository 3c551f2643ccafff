"""Weights and groups of the rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..typing import FloatArray, IntArray

__all__ = ["RowRoles"]


@dataclass(frozen=True)
class RowRoles:
    """What the fold errors must know of the rows: weights over the mean of those scored, and groups numbered from 0."""

    weights: FloatArray | None = None
    groups: IntArray | None = None

    def weigh(self, losses: FloatArray) -> FloatArray:
        """Losses (..., n, V, R) times the relative weights of their rows."""
        return losses if self.weights is None else losses * self.weights[:, None, None]

    def totals(self, values: FloatArray) -> FloatArray:
        """Sums over groups of (n, ...), or the rows themselves without groups."""
        if self.groups is None:
            return values
        sums = np.zeros((int(self.groups.max()) + 1, *values.shape[1:]), dtype=values.dtype)
        np.add.at(sums, self.groups, values)
        return sums
