"""Whether a few rows carry the variance of the losses."""

from __future__ import annotations

import numpy as np

from ..typing import FloatArray

__all__ = ["heavy_tailed"]

BLOCK = 2**15
"""Losses at a time: what the caches hold."""


def heavy_tailed(losses: FloatArray) -> bool:
    """Whether a few of the losses (n, V, Q) carry their variance.

    ``mean(l^2) / mean(l)^2`` is the kurtosis of the residuals for squared error: 3 for Gaussian noise, 9 for
    exponential, growing like n^(1/3) for t3, whose squared error has no variance. Calibrated so that Gaussian
    noise is silent in more than 95% of data sets at any n, and exponential and Laplace noise at large n, where the
    interval covers. A loss of zeros and ones is never carried by one row, hence the second condition.
    """
    sizes = [_relative_sizes(column[np.isfinite(column)]) for column in losses.reshape(len(losses), -1).T]
    n, kurtosis, largest_share = np.array(sizes).T
    threshold = np.clip(0.9 * n ** (1 / 3), 4.2, 12.0)
    return bool(((kurtosis > threshold) & (largest_share > 0.1)).any())


def _relative_sizes(losses: FloatArray) -> tuple[float, float, float]:
    """Number of losses, mean of their squares in units of their mean, and largest share in the variance."""
    n, mean = len(losses), float(losses.mean())
    unit = mean if mean > 0 else np.inf
    parts = (
        losses[start : start + BLOCK] / unit for start in range(0, n, BLOCK)
    )  # before any square, which may vanish
    squares = sum(float(part @ part) for part in parts)
    spread = max(losses.max() / unit - 1.0, 1.0 - losses.min() / unit)
    total = squares - n
    return n, squares / n, float(spread**2 / total) if total > 0 and np.isfinite(unit) else 0.0
