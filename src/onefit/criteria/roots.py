"""Roots of many functions at once, each in a bracket of its own."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..typing import FloatArray

__all__ = ["bracketed_root"]

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
