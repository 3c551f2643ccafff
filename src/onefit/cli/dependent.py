"""Which column of a table others make up."""

from __future__ import annotations

import numpy as np
from scipy import linalg

from .preparing import Prepared

__all__ = ["sum_of_others"]

DEPENDENT = 1e-12
"""Part of a column of numbers that is rounding errors of those that make it up."""


def sum_of_others(prepared: Prepared) -> str | None:
    """A column of numbers that others make up, in all rows without gaps."""
    if prepared.is_streamed:
        return None
    names = [column.name for column in prepared.columns if column.kind == "number"]
    numbers = prepared.X[names].dropna().to_numpy(dtype=float)
    if len(numbers) <= len(names):
        return None
    numbers = numbers - numbers.mean(axis=0)
    size = np.abs(numbers).max(axis=0)
    varies = np.flatnonzero(size > 0)
    if not len(varies):
        return None
    R, order = linalg.qr(numbers[:, varies] / size[varies], mode="r", pivoting=True, check_finite=False)
    left = np.abs(np.diag(R))
    return names[varies[order[-1]]] if left[-1] <= DEPENDENT * left[0] else None
