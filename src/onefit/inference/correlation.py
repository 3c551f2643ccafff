"""How fast held-out residuals forget: one number, fitted to their autocorrelations along a line or in a plane."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import fft, optimize
from scipy.spatial.distance import pdist

from ..arrangement import Arrangement, Line, Plane
from ..typing import FloatArray, IntArray

__all__ = ["Decay", "decay_of", "trend_share"]

LAGS = 5
"""Lags go up to a fifth of the times (a tenth if the model has a smooth function of time)."""

MOST_LAGS = 5000
MOST_CORRELATION = 0.999
GRID = 100

MOST_POINTS = 2000
"""Points whose distances are all looked at; of more, as many are drawn."""

SEED = 20261117
BINS = 40


@dataclass(frozen=True)
class Decay:
    """``rho`` is the correlation of residuals one step apart; d steps apart it is ``rho^d``."""

    rho: float

    @property
    def range(self) -> float:
        """Steps over which it falls to 1/e."""
        return 0.0 if self.rho <= 0 else float(-1.0 / np.log(self.rho))

    def steps_to(self, left: float) -> float:
        """Steps until so much of the correlation is left."""
        return 0.0 if self.rho <= 0 else float(np.log(left) / np.log(self.rho))


def decay_of(residuals: FloatArray, arrangement: Arrangement, lags: int = LAGS) -> Decay:
    """Fit the decay to residuals (n,) of all rows; rows that are not scored are NaN."""
    if not np.nanmax(np.abs(residuals), initial=0.0) > 0:
        return Decay(0.0)
    scaled = residuals / np.nanmax(np.abs(residuals))
    if isinstance(arrangement, Line):
        return _on_line(scaled, arrangement, lags)
    assert isinstance(arrangement, Plane)
    return _in_plane(scaled, arrangement)


def _on_line(residuals: FloatArray, line: Line, lags: int) -> Decay:
    """``rho`` minimises ``sum_k c_k (r_k - rho^k)^2`` with c_k pairs of times k steps apart, k up to T / lags."""
    scored = np.isfinite(residuals)
    places, inverse = np.unique(line.places[scored], return_inverse=True)
    count = np.bincount(inverse)
    series = np.bincount(inverse, residuals[scored]) / count
    most = min(MOST_LAGS, len(series) // lags)
    if most < 1:
        return Decay(0.0)
    cells = _cells(line.times[places], most)
    on_grid, is_there = np.zeros((2, int(cells[-1]) + 1))
    on_grid[cells], is_there[cells] = series, 1.0
    pairs = np.round(_lagged(is_there, most))
    products = _lagged(on_grid, most)
    known = pairs > 0
    r = products[known] / pairs[known] / np.mean(np.square(series))
    steps = np.arange(1, most + 1)[known]
    return Decay(_fit(r, steps.astype(float), pairs[known]))


def _cells(times: FloatArray, most: int) -> IntArray:
    """Times as whole numbers of steps; a gap longer than all lags is as good as one just beyond them."""
    steps = np.minimum(np.maximum(np.round(np.diff(times)), 1.0), most + 1.0)
    return np.concatenate([[0], np.cumsum(steps)]).astype(np.intp)


def _lagged(series: FloatArray, most: int) -> FloatArray:
    """Sums of products of entries 1 to ``most`` apart."""
    size = fft.next_fast_len(len(series) + most + 1, real=True)
    spectrum = fft.rfft(series, size)
    products: FloatArray = fft.irfft(np.square(np.abs(spectrum)), size)[1 : most + 1]
    return products


def _fit(r: FloatArray, distance: FloatArray, weight: FloatArray) -> float:
    """The rho in [0, 1) that comes closest to correlations at some distances."""

    def miss(rho: float) -> float:
        return float(weight @ np.square(r - rho**distance))

    def slope(rho: float) -> float:
        return float(weight @ ((rho**distance - r) * distance * rho ** (distance - 1)))

    grid = MOST_CORRELATION * np.sqrt(np.arange(GRID + 1) / GRID)  # finer where correlations are long
    best = int(np.argmin([miss(rho) for rho in grid]))
    low, high = float(grid[max(best - 1, 0)]), float(grid[min(best + 1, GRID)])
    low = max(low, 1e-9)  # where the slope of short distances would be infinite
    if not slope(low) < 0 < slope(high):
        return float(grid[best])
    # a root of the slope is known to all digits, a minimum to half of them
    return float(optimize.brentq(slope, low, high, xtol=1e-15, rtol=1e-14))


def _in_plane(residuals: FloatArray, plane: Plane) -> Decay:
    """The same by distance: correlations in bins of distance, up to a quarter of the map's side."""
    rows = np.flatnonzero(np.isfinite(residuals))
    if len(rows) > MOST_POINTS:
        rows = np.sort(np.random.default_rng(SEED).choice(rows, MOST_POINTS, replace=False))
    points, u = plane.points[rows], residuals[rows]
    longest = float(np.sqrt(np.prod(np.maximum(np.ptp(points, axis=0), 1.0)))) / 4
    distance = pdist(points)
    first, second = np.triu_indices(len(rows), 1)
    near = (distance < longest) & (distance > 0)
    if not near.any():
        return Decay(0.0)
    bins = np.minimum((distance[near] / longest * BINS).astype(np.intp), BINS - 1)
    pairs = np.bincount(bins, minlength=BINS)
    products = np.bincount(bins, u[first[near]] * u[second[near]], BINS)
    apart = np.bincount(bins, distance[near], BINS)
    known = pairs > 0
    r = products[known] / pairs[known] / np.mean(np.square(u))
    return Decay(_fit(r, apart[known] / pairs[known], pairs[known].astype(float)))


def trend_share(residuals: FloatArray, line: Line) -> float:
    """Part of the squares of residuals (n,) that a straight line in time explains."""
    scored = np.isfinite(residuals)
    time = line.time[scored] - line.time[scored].mean()
    u = residuals[scored] - residuals[scored].mean()
    both = float(np.square(time) @ np.ones(len(time)) * (u @ u))
    return float((time @ u) ** 2 / both) if both > 0 else 0.0
