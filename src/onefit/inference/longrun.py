"""Variance of the mean of losses that resemble their neighbours: by cosines, and as their correlation would have it.

``z`` are losses less their mean, times relative weights: what the mean is a mean of. Arrays are (n, ...) by rows.
"""

from __future__ import annotations

import numpy as np
from scipy import fft
from scipy.spatial.distance import cdist

from ..arrangement import Arrangement, Line, Plane
from ..typing import FloatArray, IntArray
from .correlation import Decay

__all__ = ["by_cosines", "by_decay", "independent", "n_cosines"]

COSINES = 0.4
"""The number of cosines is this times n^(2/3)."""

MOST_POINTS = 2000
SEED = 20261117
CHUNK = 2**22


def n_cosines(n: int) -> int:
    """How many of the slowest cosines are averaged."""
    return max(1, round(float(COSINES * n ** (2 / 3))))


def independent(z: FloatArray, arrangement: Arrangement, rows: IntArray) -> FloatArray:
    """v/n of independent times (or points), as of independent rows where every time has one."""
    totals = _by_place(z, arrangement, rows)
    T = len(totals)
    variance: FloatArray = T / (T - 1) * np.square(totals).sum(axis=0) / len(rows) ** 2
    return variance


def by_cosines(z: FloatArray, arrangement: Arrangement, rows: IntArray) -> FloatArray:
    """Mean square of the projections on slow cosines: each says how much slow swings move the mean.

    Along a line ``(1/n) mean_k (sqrt(2/n) sum_t cos(pi k (t - 1/2)/n) z_t)^2``; in the plane with products of cosines
    of both coordinates, about their means and scaled to the same squares.
    """
    if isinstance(arrangement, Line):
        totals = _by_place(z, arrangement, rows)
        nu = min(n_cosines(len(totals)), len(totals) - 1)
        sums = fft.dct(totals, type=2, axis=0)[1 : nu + 1] / 2
        found: FloatArray = 2 * np.square(sums).mean(axis=0) / len(rows) ** 2
        return found
    assert isinstance(arrangement, Plane)
    return _in_plane(z, arrangement.points[rows])


def _in_plane(z: FloatArray, points: FloatArray) -> FloatArray:
    n = len(points)
    side = np.maximum(np.ptp(points, axis=0), 1e-300)
    unit = (points - points.min(axis=0)) / side
    waves = _slowest(n_cosines(n), side)
    flat = z.reshape(n, -1)
    squares, step = np.zeros(flat.shape[1]), max(1, CHUNK // n)
    for start in range(0, len(waves), step):
        some = waves[start : start + step]
        basis = np.cos(np.pi * unit[:, :1] * some[:, 0]) * np.cos(np.pi * unit[:, 1:] * some[:, 1])
        basis -= basis.mean(axis=0)
        length = np.square(basis).sum(axis=0)
        sums = np.square(basis.T @ flat) / np.where(length > 0, length, np.inf)[:, None]
        squares += sums.sum(axis=0)
    found: FloatArray = (squares / len(waves) / n).reshape(z.shape[1:])
    return found


def _slowest(count: int, side: FloatArray) -> FloatArray:
    """Numbers of half waves along both sides, of the slowest ``count`` products of cosines."""
    most = count + 1
    waves = np.stack(np.meshgrid(np.arange(most), np.arange(most), indexing="ij"), axis=-1).reshape(-1, 2)[1:]
    speed = np.square(waves / side).sum(axis=1)
    return np.asarray(waves[np.argsort(speed, kind="stable")[:count]], dtype=np.float64)


def by_decay(z: FloatArray, arrangement: Arrangement, rows: IntArray, decays: list[list[Decay]]) -> FloatArray:
    """v/n times what squares of residuals with this correlation make of it; ``decays`` by value and output.

    Along a line ``(1 + rho^2)/(1 - rho^2)``, in the plane the mean over rows of ``sum_j exp(-2 d_ij / range)``.
    """
    plain = independent(z, arrangement, rows)
    factors = np.ones(plain.shape)
    for value, by_output in enumerate(decays):
        for output, decay in enumerate(by_output):
            if isinstance(arrangement, Line):
                factors[value, output] = (1 + decay.rho**2) / (1 - decay.rho**2)
            elif isinstance(arrangement, Plane):
                factors[value, output] = _crowding(arrangement.points[rows], decay.range)
    return plain * factors


def _crowding(points: FloatArray, length: float) -> float:
    """Mean over points of ``sum_j exp(-2 d_ij / length)``; of many, over some of them."""
    if length <= 0:
        return 1.0
    n = len(points)
    some = np.arange(n)
    if n > MOST_POINTS:
        some = np.random.default_rng(SEED).choice(n, MOST_POINTS, replace=False)
    step = max(1, CHUNK // n)
    total = sum(
        float(np.exp(-2 * cdist(points[some[at : at + step]], points) / length).sum())
        for at in range(0, len(some), step)
    )
    return total / len(some)


def _by_place(z: FloatArray, arrangement: Arrangement, rows: IntArray) -> FloatArray:
    """Sums of z at each time, in the order of time; in the plane every row is a place."""
    if not isinstance(arrangement, Line):
        return z
    places, inverse = np.unique(arrangement.places[rows], return_inverse=True)
    if len(places) == len(rows):
        ordered: FloatArray = z[np.argsort(inverse)]
        return ordered
    totals = np.zeros((len(places), *z.shape[1:]))
    np.add.at(totals, inverse, z)
    return totals
