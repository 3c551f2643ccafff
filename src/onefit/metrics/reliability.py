"""Pictures of held-out probabilities of two classes, as numbers: reliability by bins, and the ROC curve with a band."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy import stats
from scipy.special import expit, logit

from ..typing import BoolArray, FloatArray, IntArray
from .calibration import LEAST

__all__ = ["Reliability", "RocBand", "recalibration_line", "reliability", "roc_band"]

BINS, RESAMPLES, POINTS = 10, 500, 101
LEAST_ROWS = 10
"""Of a bin; fewer rows make fewer bins."""


class Reliability(NamedTuple):
    """By bin: mean probability, share of rows of the class, ends of its Wilson interval, and number of rows."""

    probability: FloatArray
    share: FloatArray
    low: FloatArray
    high: FloatArray
    n_rows: FloatArray


class RocBand(NamedTuple):
    """Rates of true positives, and the ends of their pointwise band, along rates of false positives."""

    false_positive: FloatArray
    true_positive: FloatArray
    low: FloatArray
    high: FloatArray


def reliability(probability: FloatArray, positive: BoolArray, level: float) -> Reliability:
    """Rows in bins of about equal numbers by probability; equal probabilities share a bin.

    Wilson's interval of a share s of m rows is ``(s + z^2/2m +- z sqrt(s(1-s)/m + z^2/4m^2)) / (1 + z^2/m)``.
    """
    order = np.argsort(probability, kind="stable")
    n_bins = int(np.clip(len(order) // LEAST_ROWS, 1, BINS))
    edges = probability[order][np.linspace(0, len(order), n_bins + 1).astype(int)[1:-1]]
    codes = np.searchsorted(np.unique(edges), probability, side="right")
    _, codes = np.unique(codes, return_inverse=True)
    m = np.bincount(codes).astype(float)
    mean, share = (np.bincount(codes, weights=part) / m for part in (probability, positive.astype(float)))
    z = stats.norm.ppf((1 + level) / 2)
    centre = (share + z**2 / (2 * m)) / (1 + z**2 / m)
    half = z * np.sqrt(share * (1 - share) / m + z**2 / (4 * m**2)) / (1 + z**2 / m)
    return Reliability(mean, share, np.maximum(centre - half, 0.0), np.minimum(centre + half, 1.0), m)


def recalibration_line(probability: FloatArray, slope: float, intercept: float) -> tuple[FloatArray, FloatArray]:
    """Recalibrated probabilities over the range of the held-out ones, by the line of their logits."""
    z = logit(np.clip(np.linspace(probability.min(), probability.max(), POINTS), LEAST, 1 - LEAST))
    return expit(z), expit(intercept + slope * z)


def roc_band(
    probability: FloatArray, positive: BoolArray, level: float, groups: IntArray | None = None, seed: int = 0
) -> RocBand:
    """The curve of all rows, and percentiles over resamples of rows, drawn within each class, or of whole groups.

    The band holds the fitted models fixed, and compares rows of different folds; the interval of the AUC does neither.
    """
    grid = np.linspace(0, 1, POINTS)
    up, down = np.sort(probability[positive]), np.sort(probability[~positive])
    rng = np.random.default_rng(seed)
    samples: Iterator[tuple[FloatArray, FloatArray]]
    if groups is None:
        samples = ((rng.choice(up, len(up)), rng.choice(down, len(down))) for _ in range(RESAMPLES))
    else:
        samples = _of_groups(probability, positive, groups, rng)
    drawn = np.stack([_rates(np.sort(first), np.sort(second), grid) for first, second in samples])
    low, high = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return RocBand(grid, _rates(up, down, grid), low, high)


def _of_groups(
    probability: FloatArray, positive: BoolArray, groups: IntArray, rng: np.random.Generator
) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Probabilities of positive and of other rows of as many groups, drawn anew while a class is missing."""
    rows = [np.flatnonzero(groups == group) for group in np.unique(groups)]
    for _ in range(RESAMPLES):
        while True:
            some = np.concatenate([rows[at] for at in rng.integers(len(rows), size=len(rows))])
            up, down = probability[some[positive[some]]], probability[some[~positive[some]]]
            if len(up) and len(down):
                break
        yield up, down


def _rates(up: FloatArray, down: FloatArray, grid: FloatArray) -> FloatArray:
    """Largest share of positives above a threshold that has at most so many negatives above it, by straight lines."""
    cuts = np.unique(np.concatenate([up, down]))[::-1]
    true = np.concatenate([[0.0], 1 - np.searchsorted(up, cuts, side="left") / len(up)])
    false = np.concatenate([[0.0], 1 - np.searchsorted(down, cuts, side="left") / len(down)])
    last = np.append(np.diff(false) > 0, True)  # of a vertical stretch its upper end
    rates: FloatArray = np.interp(grid, false[last], true[last])
    return rates
