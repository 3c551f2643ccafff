"""Whether rows that follow one another resemble each other."""

from __future__ import annotations

import numpy as np
from scipy import special

from ..typing import BoolArray, FloatArray

__all__ = ["LEVEL", "MOST", "follow_one_another"]

LEVEL = 0.01
FEWEST, MOST = 30, 2**15
"""Rows: fewer tell nothing, and of more the first are looked at."""
MOST_LAGS = 10
LEAST_CORRELATION = 0.1
"""Of neighbours; less does the interval little harm, however many rows make it certain."""


def follow_one_another(residuals: FloatArray, y: FloatArray, level: float = LEVEL) -> BoolArray:
    """Whether held-out residuals (n, Q) are clearly autocorrelated in the order of the rows, (Q,).

    A portmanteau test, one-sided, as a smooth model pushes neighbouring residuals apart: the sum over lags k of the
    squares of those ``tau_k = sum u_t u_(t-k) / sqrt(sum u_t^2 u_(t-k)^2)`` that are positive. Of independent rows each
    tau is nearly standard normal, whatever their variances (Escanciano and Lobato 2009), and the sum is a mixture of
    chi-squared variables with binomial weights. Rows in the order of their ``y`` have such residuals in any case.
    """
    found = np.zeros(y.shape[1], dtype=bool)
    scored = np.isfinite(residuals).all(axis=1)
    if scored.sum() < FEWEST:
        return found
    steps = np.diff(y[scored], axis=0)
    u = residuals[scored] - residuals[scored].mean(axis=0)
    scale = np.abs(u).max(axis=0)
    some = np.flatnonzero((scale > 0) & (steps < 0).any(axis=0) & (steps > 0).any(axis=0))
    u = u[:, some] / scale[some]  # before any fourth power
    n_lags = min(MOST_LAGS, len(u) // 5)
    sums, deviations = np.empty((2, n_lags, len(some)))
    squares = np.square(u)
    for lag in range(1, n_lags + 1):
        for table, of in ((sums, u), (deviations, squares)):
            np.einsum("tq,tq->q", of[lag:], of[:-lag], out=table[lag - 1])
    deviations = np.sqrt(deviations)
    tau = np.maximum(np.divide(sums, deviations, out=np.zeros_like(sums), where=deviations > 0), 0.0)
    positive = np.arange(1, n_lags + 1)
    weights = special.binom(n_lags, positive) / 2.0**n_lags
    p_value = weights @ special.chdtrc(positive[:, None], np.square(tau).sum(axis=0))
    found[some] = (p_value < level) & (sums.max(axis=0) >= LEAST_CORRELATION * squares.sum(axis=0))
    return found
