"""Whether a few rows carry the variance of the losses."""

from __future__ import annotations

import numpy as np

from ..typing import FloatArray

__all__ = ["heavy_tailed"]


def heavy_tailed(losses: FloatArray) -> bool:
    """Whether a few of the losses (n, V, Q) carry their variance.

    ``mean(l^2) / mean(l)^2`` is the kurtosis of the residuals for squared error: 3 for Gaussian noise, 9 for
    exponential, growing like n^(1/3) for t3, whose squared error has no variance. Calibrated so that Gaussian
    noise is silent in more than 95% of data sets at any n, and exponential and Laplace noise at large n, where the
    interval covers. A loss of zeros and ones is never carried by one row, hence the second condition.
    """
    losses = losses[np.isfinite(losses).all(axis=(1, 2))]
    n = len(losses)
    mean = losses.mean(axis=0)
    relative = losses / np.where(mean > 0, mean, np.inf)  # before any square, which may vanish
    squares = np.square(relative - relative.mean(axis=0))
    total = squares.sum(axis=0)
    kurtosis = np.square(relative).mean(axis=0)
    largest_share = squares.max(axis=0) / np.where(total > 0, total, np.inf)
    threshold = np.clip(0.9 * n ** (1 / 3), 4.2, 12.0)
    return bool(((kurtosis > threshold) & (largest_share > 0.1)).any())
