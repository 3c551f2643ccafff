"""Roots of many functions at once: each in a bracket of its own, or from values at Chebyshev's nodes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..typing import BoolArray, FloatArray

__all__ = ["bracketed_root", "chebyshev_nodes", "chebyshev_root"]

ACCURACY = 1e-12
MOST_STEPS = 60


def bracketed_root(slope: Callable[[FloatArray], FloatArray], low: FloatArray, high: FloatArray) -> FloatArray:
    """Where a function that is negative below and positive above changes its sign, in each bracket (Chandrupatla).

    Without a change of sign the bracket shrinks to the end at which it points.
    """
    a, b = high.copy(), low.copy()
    f_a, f_b = slope(a), slope(b)
    f_a, f_b = np.where(f_a > 0, f_a, np.finfo(float).tiny), np.where(f_b < 0, f_b, -np.finfo(float).tiny)
    t = np.full(len(a), 0.5)
    for _ in range(MOST_STEPS):
        x = a + t * (b - a)
        f_x = slope(x)
        is_a = np.sign(f_x) == np.sign(f_a)
        c, f_c = np.where(is_a, a, b), np.where(is_a, f_a, f_b)
        b, f_b = np.where(is_a, b, a), np.where(is_a, f_b, f_a)
        a, f_a = x, f_x
        width = np.abs(b - a)
        done = (width <= ACCURACY) | (f_a == 0)
        if done.all():
            break
        t = np.where(done, 0.0, _next_step(a, b, c, f_a, f_b, f_c))
    return np.where(np.abs(f_a) <= np.abs(f_b), a, b)


def _next_step(
    a: FloatArray, b: FloatArray, c: FloatArray, f_a: FloatArray, f_b: FloatArray, f_c: FloatArray
) -> FloatArray:
    """Part of the way from a to b: by inverse quadratic interpolation where that is safe, else half of it."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        xi, phi = (a - b) / (c - b), (f_a - f_b) / (f_c - f_b)
        safe = (np.square(phi) < xi) & (np.square(1.0 - phi) < 1.0 - xi)
        quadratic = f_a / (f_b - f_a) * f_c / (f_b - f_c)
        quadratic += (c - a) / (b - a) * f_a / (f_c - f_a) * f_b / (f_c - f_b)
        least = 0.5 * ACCURACY / np.abs(b - a)
        t: FloatArray = np.where(safe & np.isfinite(quadratic), quadratic, 0.5)
        return np.clip(t, np.minimum(least, 0.5), 1.0 - np.minimum(least, 0.5))


def _angles(count: int) -> FloatArray:
    angles: FloatArray = np.pi * (np.arange(count) + 0.5) / count
    return angles


def chebyshev_nodes(count: int) -> FloatArray:
    """Chebyshev's nodes between -1 and 1, in rising order."""
    return -np.cos(_angles(count))


def chebyshev_root(values: FloatArray, is_up: BoolArray) -> tuple[FloatArray, FloatArray]:
    """Where the interpolant of values (P, N) at N rising Chebyshev nodes vanishes, and its slope there.

    ``is_up`` (P, N) is where the values are positive.
    """
    n_nodes = values.shape[1]
    angles, nodes, order = _angles(n_nodes), chebyshev_nodes(n_nodes), np.arange(n_nodes)
    basis = np.cos(np.outer(np.pi - angles, order)) * (2.0 / n_nodes)
    basis[:, 0] /= 2.0
    coefficients = (values @ basis).T
    # derivative: d_{k-1} = d_{k+1} + 2 k c_k
    slopes = np.zeros((n_nodes + 1, len(values)))
    for k in range(n_nodes - 1, 0, -1):
        slopes[k - 1] = slopes[k + 1] + 2.0 * k * coefficients[k]
    slopes[0] /= 2.0
    after = np.clip(is_up.argmax(axis=1), 1, n_nodes - 1)
    rows = np.arange(len(values))
    low, high = values[rows, after - 1], values[rows, after]
    x = nodes[after - 1] - low * (nodes[after] - nodes[after - 1]) / (high - low)
    x = np.clip(np.where(np.isfinite(x), x, 0.0), -1.0, 1.0)
    for _ in range(3):
        x = np.clip(x - _clenshaw(coefficients, x) / _clenshaw(slopes[:n_nodes], x), -1.0, 1.0)
    return x, _clenshaw(slopes[:n_nodes], x)


def _clenshaw(coefficients: FloatArray, x: FloatArray) -> FloatArray:
    """Sums of Chebyshev's polynomials."""
    later, last = np.zeros_like(x), np.zeros_like(x)
    for coefficient in coefficients[:0:-1]:
        later, last = coefficient + 2.0 * x * later - last, later
    total: FloatArray = coefficients[0] + x * later - last
    return total
