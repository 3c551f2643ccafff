"""Whether rows that follow one another resemble each other."""

from __future__ import annotations

import numpy as np
from scipy import special

from ..typing import FloatArray

__all__ = ["LEVEL", "MOST", "follow_one_another"]

LEVEL = 0.01
FEWEST, MOST = 30, 2**15
"""Rows: fewer tell nothing, and of more the first are looked at."""
MOST_LAGS = 10
LEAST_CORRELATION = 0.1
"""Of neighbours; less does the interval little harm, however many rows make it certain."""


def follow_one_another(residuals: FloatArray, y: FloatArray, level: float = LEVEL) -> bool:
    """Whether held-out residuals (n,) are clearly autocorrelated in the order of the rows.

    A portmanteau test, one-sided, as a smooth model pushes neighbouring residuals apart: the sum over lags k of the
    squares of those ``tau_k = sum u_t u_(t-k) / sqrt(sum u_t^2 u_(t-k)^2)`` that are positive. Of independent rows each
    tau is nearly standard normal, whatever their variances (Escanciano and Lobato 2009), and the sum is a mixture of
    chi-squared variables with binomial weights. Rows in the order of their ``y`` have such residuals in any case.
    """
    scored = np.isfinite(residuals)
    steps = np.diff(y[scored])
    if scored.sum() < FEWEST or (steps >= 0).all() or (steps <= 0).all():
        return False
    u = residuals[scored] - residuals[scored].mean()
    scale = float(np.abs(u).max())
    if not scale > 0:
        return False
    u = u / scale  # before any fourth power
    n_lags = min(MOST_LAGS, len(u) // 5)
    products = [u[lag:] * u[:-lag] for lag in range(1, n_lags + 1)]
    sums = np.array([each.sum() for each in products])
    deviations = np.sqrt([each @ each for each in products])
    tau = np.maximum(np.divide(sums, deviations, out=np.zeros(n_lags), where=deviations > 0), 0.0)
    positive = np.arange(1, n_lags + 1)
    p_value = float((special.binom(n_lags, positive) / 2.0**n_lags) @ special.chdtrc(positive, tau @ tau))
    return p_value < level and float(sums.max()) >= LEAST_CORRELATION * float(u @ u)
