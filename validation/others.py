"""Rules of others that need training sets of their own: the ones that the benchmark recommends, at its cheap settings.

Schulz-Kuempel et al. (arXiv 2409.18836) recommend the corrected t interval of Nadeau and Bengio (2003) over random
splits, their conservative z interval, and nested cross-validation; the last is the rule ``mlr3`` of onefit.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import special
from sklearn.base import clone

from .analyses import Analysis, Figures, Key
from .data import ON_ROWS, Sample, Truth, row_losses

__all__ = ["CONSERVATIVE_Z", "CORRECTED_T", "Splits", "conservative_z", "corrected_t", "halves", "splits"]

RATIO = 0.9
N_SPLITS = 25
INNER, OUTER = 5, 10
CORRECTED_T, CONSERVATIVE_Z = "corrected t, 25 splits", "conservative z, 10 x 5"

Vector = npt.NDArray[np.float64]
Rows = npt.NDArray[np.int64]
Interval = tuple[float, float, float]


def corrected_t(means: Vector, n_train: int, n_test: int, level: float) -> Interval:
    """Estimate, low and high from the mean losses of J splits: variance times ``1/J + n_test/n_train``, J - 1 df."""
    J = len(means)
    spread = means.std(ddof=1) * np.sqrt(1 / J + n_test / n_train)
    half = float(special.stdtrit(J - 1, 0.5 + level / 2) * spread)
    centre = float(means.mean())
    return centre, centre - half, centre + half


def conservative_z(means: Vector, pairs: Vector, level: float) -> Interval:
    """Estimate from the splits of all rows; variance from the disjoint halves, ``pairs`` (outer, 2, inner).

    Two halves share no row, so that half the squared difference of their mean losses estimates a variance without
    bias: that of an estimate from half the rows, which is too large.
    """
    of_halves = pairs.mean(axis=2)
    variance = np.square(of_halves[:, 0] - of_halves[:, 1]).mean() / 2
    half = float(special.ndtri(0.5 + level / 2) * np.sqrt(variance))
    centre = float(means.mean())
    return centre, centre - half, centre + half


def splits(rows: Rows, n_test: int, count: int, rng: np.random.Generator) -> Iterator[tuple[Rows, Rows]]:
    """Training and test rows of random splits."""
    for _ in range(count):
        shuffled = rng.permutation(rows)
        yield shuffled[n_test:], shuffled[:n_test]


def halves(n: int, rng: np.random.Generator) -> tuple[Rows, Rows]:
    """Two disjoint halves of the rows; of an odd number, one is left out."""
    shuffled = rng.permutation(n)
    return shuffled[: n // 2], shuffled[n // 2 : 2 * (n // 2)]


@dataclass(frozen=True)
class Splits(Analysis):
    """Corrected t and conservative z of one model, by refits."""

    model: str
    estimator: Any
    loss: str = "squared_error"
    truth: Truth = ON_ROWS

    def rows(self) -> list[Key]:
        """One for each rule; ``repeats`` is the number of fits."""
        counts = {CORRECTED_T: N_SPLITS, CONSERVATIVE_Z: INNER * (1 + 2 * OUTER)}
        return [Key(self.model, self.loss, "error", rule, "splits", fits) for rule, fits in counts.items()]

    def run(self, simulation: Sample, seed: int, level: float) -> Figures:
        """Truth and both intervals; the halves are tested on as many rows as the whole is."""
        X, y, rng = simulation.X, simulation.y, np.random.default_rng(seed)
        n = len(y)
        n_test = n - round(RATIO * n)

        def mean_losses(rows: Rows, count: int) -> Vector:
            return np.array([self._loss(X, y, *split) for split in splits(rows, n_test, count, rng)])

        every = np.arange(n)
        pairs = np.array([[mean_losses(half, INNER) for half in halves(n, rng)] for _ in range(OUTER)])
        found = (
            corrected_t(mean_losses(every, N_SPLITS), n - n_test, n_test, level),
            conservative_z(mean_losses(every, INNER), pairs, level),
        )
        truth = self.truth(simulation, clone(self.estimator).fit(X, y))
        return np.array([[truth, *interval] for interval in found])

    def _loss(self, X: Vector, y: npt.NDArray[Any], train: Rows, test: Rows) -> float:
        fitted = clone(self.estimator).fit(X[train], y[train])
        return float(row_losses(self.loss, y[test], fitted.predict(X[test])).mean())
