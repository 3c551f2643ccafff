"""Integrals of functions that are smooth but for a few points, to about 12 digits."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.polynomial import Legendre

from ..typing import FloatArray

__all__ = ["integrate"]

TOLERANCE = 1e-14
MOST_POINTS = 2**20  # a forest's thousands of steps would otherwise be chased to the last digit


def _lobatto(n: int) -> tuple[FloatArray, FloatArray]:
    """Nodes and weights on [-1, 1] of Gauss's rule with both ends among its n nodes."""
    polynomial = Legendre.basis(n - 1)
    nodes = np.concatenate([[-1.0], np.sort(polynomial.deriv().roots().real), [1.0]])
    return nodes, 2 / (n * (n - 1) * polynomial(nodes) ** 2)


# With the ends among the nodes, no step hides between the end of a panel and its first node.
NODES, WEIGHTS = _lobatto(9)


def integrate(function: Callable[[FloatArray], FloatArray], edges: FloatArray, scale: float = 1.0) -> float:
    """Integral over panels by Gauss and Lobatto's rule of 9 points, halving those whose halves disagree with them.

    A panel is done when they differ by less than 1e-14 of ``scale`` plus the integral, or when `MOST_POINTS` are spent.
    """
    low, high = edges[:-1], edges[1:]
    whole = _panels(function, low, high)
    tolerance = TOLERANCE * (scale + float(np.abs(whole).sum()))
    total, spent = 0.0, NODES.size * low.size
    while low.size:
        middle = (low + high) / 2
        left, right = _panels(function, low, middle), _panels(function, middle, high)
        spent += 2 * NODES.size * low.size
        rough = (np.abs(left + right - whole) > tolerance) & (spent < MOST_POINTS)
        total += float((left + right)[~rough].sum())
        low, high = np.concatenate([low[rough], middle[rough]]), np.concatenate([middle[rough], high[rough]])
        whole = np.concatenate([left[rough], right[rough]])
    return total


def _panels(function: Callable[[FloatArray], FloatArray], low: FloatArray, high: FloatArray) -> FloatArray:
    """Integral over each panel."""
    half = (high - low) / 2
    points = (low + high)[:, None] / 2 + half[:, None] * NODES
    points = np.clip(points, low[:, None], high[:, None])  # rounding must not leave the range of x
    values: FloatArray = half * (function(points.ravel()).reshape(points.shape) @ WEIGHTS)
    return values
