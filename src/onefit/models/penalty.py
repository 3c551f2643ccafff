"""Roots of roughness penalties: ``S = root'root``, which keeps the digits that S itself would lose."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import linalg

from ..typing import FloatArray

__all__ = ["difference_root", "integral_root", "triangular_root"]


def difference_root(size: int, order: int = 2) -> FloatArray:
    """Differences of neighbouring coefficients: the penalty of P-splines."""
    return np.diff(np.eye(size), n=order, axis=0) if size > order else np.zeros((0, size))


def integral_root(derivative: Callable[[FloatArray], FloatArray], breaks: FloatArray, degree: int) -> FloatArray:
    """Root of the integral of ``derivative' derivative``, exact for piecewise polynomials of this degree.

    Gauss-Legendre with ``degree + 1`` points between neighbouring breaks integrates degree ``2 degree + 1``.
    """
    nodes, weights = np.polynomial.legendre.leggauss(degree + 1)
    half = np.diff(breaks)[:, None] / 2
    at = breaks[:-1, None] + half * (1.0 + nodes)
    values = derivative(at.ravel())
    return triangular_root(np.sqrt(half * weights).ravel()[:, None] * values)


def triangular_root(root: FloatArray) -> FloatArray:
    """The same penalty with at most as many rows as columns."""
    if root.shape[0] <= root.shape[1]:
        return root
    R: FloatArray = linalg.qr(root, mode="economic")[1]
    return R
