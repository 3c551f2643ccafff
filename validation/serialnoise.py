"""Errors and columns whose rows resemble their neighbours, of unit variance: the series and maps of ``serial``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import linalg, signal, special
from scipy.spatial.distance import cdist

from onefit.typing import FloatArray

__all__ = ["Setting", "autoregression", "garch", "grid", "long_memory", "map_of", "moving_average", "season"]

MEMORY, BURN_IN = 2000, 200


@dataclass(frozen=True)
class Setting:
    """How errors and columns go on from row to row: functions of (n, series, generator) with unit variances."""

    errors: Callable[[int, int, np.random.Generator], FloatArray]
    columns: Callable[[int, int, np.random.Generator], FloatArray]
    is_map: bool = False


def autoregression(phi: float) -> Callable[[int, int, np.random.Generator], FloatArray]:
    """AR(1), from its stationary distribution on."""

    def draw(n: int, count: int, rng: np.random.Generator) -> FloatArray:
        noise = rng.standard_normal((n, count)) * np.sqrt(1 - phi**2)
        noise[0] /= np.sqrt(1 - phi**2)
        return np.asarray(signal.lfilter([1.0], [1.0, -phi], noise, axis=0))

    return draw


def moving_average(order: int) -> Callable[[int, int, np.random.Generator], FloatArray]:
    """The mean of the last rows' noise, all alike."""

    def draw(n: int, count: int, rng: np.random.Generator) -> FloatArray:
        noise = rng.standard_normal((n + order, count))
        kernel = np.ones((order + 1, 1)) / np.sqrt(order + 1)
        return np.asarray(signal.fftconvolve(noise, kernel, mode="valid", axes=0))

    return draw


def season(n: int, count: int, rng: np.random.Generator) -> FloatArray:
    """Half of the variance is a wave of period 12 with a random phase, the rest independent."""
    phase = rng.uniform(0, 2 * np.pi, count)
    wave = np.sqrt(2) * np.cos(2 * np.pi * np.arange(n)[:, None] / 12 + phase)
    return np.asarray((wave + rng.standard_normal((n, count))) / np.sqrt(2))


def long_memory(d: float) -> Callable[[int, int, np.random.Generator], FloatArray]:
    """Fractional noise: correlations that fall off as a power, so that no block is far enough from the next."""

    def draw(n: int, count: int, rng: np.random.Generator) -> FloatArray:
        lags = np.arange(MEMORY)
        weights = np.exp(special.gammaln(lags + d) - special.gammaln(lags + 1) - special.gammaln(d))
        noise = rng.standard_normal((n + MEMORY - 1, count)) / np.sqrt(np.square(weights).sum())
        return np.asarray(signal.fftconvolve(noise, weights[:, None], mode="valid", axes=0))

    return draw


def garch(n: int, count: int, rng: np.random.Generator) -> FloatArray:
    """Errors that are uncorrelated, but large ones come together."""
    errors, variance = np.empty((n + BURN_IN, count)), np.ones(count)
    for t, noise in enumerate(rng.standard_normal(errors.shape)):
        errors[t] = np.sqrt(variance) * noise
        variance = 0.05 + 0.2 * np.square(errors[t]) + 0.75 * variance
    return errors[BURN_IN:]


def map_of(spacings: float) -> Callable[[int, int, np.random.Generator], FloatArray]:
    """Exponential covariance on a square grid, with a range of so many spacings."""

    def draw(n: int, count: int, rng: np.random.Generator) -> FloatArray:
        root = linalg.cholesky(np.exp(-cdist(grid(n), grid(n)) / spacings), lower=True)
        return np.asarray(root @ rng.standard_normal((n, count)))

    return draw


def grid(n: int) -> FloatArray:
    """Points of a square grid, row by row; the last row may be incomplete."""
    side = int(np.ceil(np.sqrt(n)))
    return np.stack(np.divmod(np.arange(n), side), axis=1).astype(float)
