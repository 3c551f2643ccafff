"""The generators of the benchmark of Schulz-Kuempel et al. (arXiv 2409.18836), written from their description.

The true error is that on fresh rows that all data sets share; only the distance from the mean given the latent
variables is sampled, and what the noise adds is known.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import special

from .data import FRESH_SEED, Rows, Sample, Source

__all__ = ["LAWS", "Generated", "Law"]

Vector = npt.NDArray[np.float64]
FRESH = 20_000
COPIES = 10
"""Columns that Chen's generator makes of each of its six variables."""


class Law(NamedTuple):
    """Columns and mean (probability, for classes) of rows, and the noise's variance (None for classes)."""

    rows: Callable[[np.random.Generator, int], tuple[Vector, Vector]]
    noise: float | None


def _bates(p: int, is_class: bool) -> Law:
    """Independent N(0, 1) columns, the first five with coefficient 1; noise of variance 1, or a logistic class."""

    def rows(rng: np.random.Generator, n: int) -> tuple[Vector, Vector]:
        X = rng.standard_normal((n, p))
        score = X[:, :5].sum(axis=1)
        return X, special.expit(score) if is_class else score

    return Law(rows, None if is_class else 1.0)


def _friedman() -> Law:
    """Friedman's first function of five of ten uniform columns, noise of variance 1."""

    def rows(rng: np.random.Generator, n: int) -> tuple[Vector, Vector]:
        X = rng.random((n, 10))
        mean = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * np.square(X[:, 2] - 0.5) + 10 * X[:, 3] + 5 * X[:, 4]
        return X, mean

    return Law(rows, 1.0)


def _chen() -> Law:
    """Three of six uniform variables matter; of each, ten blurred copies are seen, the later the more blurred.

    As in the benchmark's published code, the blur has mean 0.3 and variance 1 before it is scaled.
    """

    def rows(rng: np.random.Generator, n: int) -> tuple[Vector, Vector]:
        v = rng.random((n, 6))
        mean = 0.25 * np.exp(4 * v[:, 0]) + 4 * special.expit(20 * (v[:, 1] - 0.5)) + 3 * v[:, 2]
        blur = 0.01 + 0.5 * np.arange(COPIES) / (COPIES - 1)
        X = v[:, :, None] + blur * rng.normal(0.3, 1.0, size=(n, 6, COPIES))
        return X.reshape(n, -1), mean

    return Law(rows, 0.04)


LAWS = {
    "bates-20": _bates(20, is_class=False),
    "bates-100": _bates(100, is_class=False),
    "friedman": _friedman(),
    "chen": _chen(),
    "bates-class-20": _bates(20, is_class=True),
    "bates-class-100": _bates(100, is_class=True),
}


@cache
def fresh(name: str) -> Rows:
    """New rows, the same for every data set; their means stand for the target."""
    law = LAWS[name]
    X, mean = law.rows(np.random.default_rng(FRESH_SEED), FRESH)
    return Rows(X, mean, noise=law.noise or 0.0)


@dataclass(frozen=True)
class Generated(Source):
    """``n`` rows by one of the laws."""

    name: str
    n: int

    def draw(self, seed: int) -> Sample:
        """A data set."""
        law, rng = LAWS[self.name], np.random.default_rng(seed)
        X, mean = law.rows(rng, self.n)
        if law.noise is None:
            y = (rng.random(self.n) < mean).astype(np.int64)
        else:
            y = mean + rng.normal(scale=np.sqrt(law.noise), size=self.n)
        return Sample(X, y, None, fresh(self.name))
