"""Functions of the counts of classes: precision, recall, f1, Jaccard, balanced accuracy, Matthews' correlation, kappa.

All are functions of three shares of rows a class: of the class and predicted so (hits), predicted so, of the class.

Recalls, and means of them, are shares of the rows of a class, of which a rare one has few. Where all of these are
missed, or none, they show no variance, though it is not zero. Its least value, and the skewness, are those of counts
with half a row added to the hits and half a one to the misses of each class (Jeffreys): with the share
``m_c = (misses + 1/2) / (n_c + 1)`` and a_c what class c counts, the variance is ``sum_c a_c^2 m_c (1 - m_c) / n_c``,
the third moment ``sum_c a_c^3 m_c (1 - m_c)(1 - 2 m_c) / n_c^2``. Of a class whose n_c rows are all missed, the end of
the score (`inference.ends`) at 90% is then a recall of 3.1 / n_c, where that of Clopper and Pearson is 3.0 / n_c.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from ..typing import AnyArray, FloatArray
from .contract import Reduced, Repeat, Shown
from .functions import FunctionMetric, safe_ratio
from .orientation import ONE_MINUS
from .scored import Scored, class_sums, folds_of

__all__ = [
    "Counts",
    "Figure",
    "Ratio",
    "balanced_accuracy",
    "f_score",
    "jaccard",
    "kappa",
    "matthews",
    "negative_likelihood_ratio",
    "positive_likelihood_ratio",
    "precision",
    "ratio_of_counts",
    "recall",
]

Figure = Callable[[AnyArray, AnyArray, AnyArray], AnyArray]
"""Of hits, predicted and true shares (..., C) a figure (...)."""

TINY = 1e-15
"""Below this a difference of shares of rows is zero."""


@dataclass(frozen=True)
class Counts(FunctionMetric):
    """A loss that is shown as a figure of the counts of classes.

    ``undefined`` is shown for a fold that has all classes where the figure divides by zero; ``recalled`` are the
    classes whose mean recall it is, none for all that occur, and None if it is something else.
    """

    name: str
    figure: Figure
    shown: Shown = ONE_MINUS
    scale: str = "logit"
    response: str = "predict"
    per_output: bool = False
    undefined: float = np.nan
    recalled: tuple[int, ...] | None = None

    def reduce(self, repeat: Repeat) -> Reduced:
        """By the delta method; of recalls the least moments, too."""
        found = super().reduce(repeat)
        return found if self.recalled is None else replace(found, moments=self._moments(repeat))

    def _moments(self, repeat: Repeat) -> FloatArray:
        """Variance and skewness (2, V, 1) of the mean loss with half a row added to hits and misses of each class."""
        assert repeat.labels is not None
        C, folds = len(repeat.labels), list(folds_of(repeat, self.response))
        sums: FloatArray = np.sum([class_sums(scored) for scored in folds], axis=0)
        squares = np.zeros(C)
        missed = np.zeros((C, repeat.n_values))
        for fold, scored in enumerate(folds):
            true = scored.observed[:, 0]
            squares += np.bincount(true, weights=scored.weights**2, minlength=C)
            np.add.at(missed, true, scored.weights[:, None] * (scored.response[fold] != scored.observed))
        return self.least_moments(sums, squares, missed)

    def least_moments(self, sums: FloatArray, squares: FloatArray, missed: FloatArray) -> FloatArray:
        """The same from sums of weights (C,) by class, of their squares, and of weights (C, V) that are missed."""
        classes = np.array(self.recalled or np.flatnonzero(sums), dtype=np.intp)
        counts = (sums[classes] ** 2 / squares[classes])[:, None]  # effective ones
        share = (missed[classes] / sums[classes][:, None] * counts + 0.5) / (counts + 1)
        variance = share * (1 - share) / counts / len(classes) ** 2
        third = variance * (1 - 2 * share) / counts / len(classes)
        total = variance.sum(axis=0)
        return np.stack([total, third.sum(axis=0) / total**1.5])[..., None]

    def fold_value(self, own: Scored) -> FloatArray:
        """The loss of a fold, with what scikit-learn puts in the place of an undefined one."""
        value = super().fold_value(own)
        instead = self.shown.sign * (self.undefined - self.shown.origin)
        return np.where(np.isnan(value), instead, value) if class_sums(own).all() else value

    def components(self, scored: Scored, reference: None) -> FloatArray:
        """For each class whether a row is a hit, is predicted to be of it, is of it."""
        assert scored.labels is not None
        classes = np.arange(len(scored.labels))
        predicted = scored.response[..., None] == classes
        true = np.broadcast_to(scored.observed[..., None] == classes, predicted.shape)
        return np.concatenate([predicted & true, predicted, true], axis=-1)[..., None, :].astype(np.float64)

    def value(self, means: AnyArray) -> AnyArray:
        """The loss of the figure."""
        hits, predicted, true = np.split(means, 3, axis=-1)
        return self.shown.sign * (self.figure(hits, predicted, true) - self.shown.origin)


# ------------------------------------------------------------------------------ ratios, averaged over classes

Ratio = Callable[[AnyArray, AnyArray, AnyArray], tuple[AnyArray, AnyArray]]


def precision(hits: AnyArray, predicted: AnyArray, true: AnyArray) -> tuple[AnyArray, AnyArray]:
    """Hits among those predicted."""
    return hits, predicted


def recall(hits: AnyArray, predicted: AnyArray, true: AnyArray) -> tuple[AnyArray, AnyArray]:
    """Hits among those of the class."""
    return hits, true


def f_score(beta: float = 1.0) -> Ratio:
    """Harmonic mean of precision and recall, recall counted ``beta`` squared times."""

    def ratio(hits: AnyArray, predicted: AnyArray, true: AnyArray) -> tuple[AnyArray, AnyArray]:
        return (1 + beta**2) * hits, beta**2 * true + predicted

    return ratio


def jaccard(hits: AnyArray, predicted: AnyArray, true: AnyArray) -> tuple[AnyArray, AnyArray]:
    """Hits among those predicted or of the class."""
    return hits, predicted + true - hits


def ratio_of_counts(ratio: Ratio, average: str, positive: int = 1, otherwise: float = 0.0) -> Figure:
    """A ratio of one class ("binary"), of the sums ("micro"), or its mean over classes ("macro", "weighted").

    ``otherwise`` is the value where the denominator is zero. As in scikit-learn, the plain mean is over classes that
    occur among the observed or predicted ones.
    """

    def figure(hits: AnyArray, predicted: AnyArray, true: AnyArray) -> AnyArray:
        top, bottom = ratio(hits, predicted, true)
        if average == "binary":
            return safe_ratio(top[..., positive], bottom[..., positive], otherwise)
        if average == "micro":
            return safe_ratio(top.sum(axis=-1), bottom.sum(axis=-1), otherwise)
        values = safe_ratio(top, bottom, otherwise)
        occurs = (predicted.real > 0) | (true.real > 0)
        return _average(values, true if average == "weighted" else occurs)

    return figure


def _average(values: AnyArray, weights: AnyArray) -> AnyArray:
    mean: AnyArray = (values * weights).sum(axis=-1) / weights.sum(axis=-1)
    return mean


# ------------------------------------------------------------------------------ others


def balanced_accuracy(hits: AnyArray, predicted: AnyArray, true: AnyArray) -> AnyArray:
    """Mean recall of the classes that occur."""
    occurs = true.real > 0
    return _average(safe_ratio(hits, true, 0.0), occurs)


def matthews(hits: AnyArray, predicted: AnyArray, true: AnyArray) -> AnyArray:
    """Correlation of observed and predicted classes; zero if either is constant."""
    total = true.sum(axis=-1)
    together = hits.sum(axis=-1) * total - (true * predicted).sum(axis=-1)
    spread = _mixed(predicted) * _mixed(true)
    return safe_ratio(together, np.sqrt(np.where(spread.real > 0, spread, 0)), 0.0)


def _mixed(shares: AnyArray) -> AnyArray:
    """Chance that two draws differ; exactly zero if there is one class."""
    chance: AnyArray = shares.sum(axis=-1) ** 2 - (shares * shares).sum(axis=-1)
    return chance


def kappa(hits: AnyArray, predicted: AnyArray, true: AnyArray) -> AnyArray:
    """Cohen's kappa: agreement beyond chance; NaN if only one class occurs."""
    total = true.sum(axis=-1)
    by_chance = (true * predicted).sum(axis=-1)
    return 1 - safe_ratio((total - hits.sum(axis=-1)) * total, _cut(total**2 - by_chance), np.nan)


def positive_likelihood_ratio(hits: AnyArray, predicted: AnyArray, true: AnyArray) -> AnyArray:
    """Rate of hits among the positive over the rate of false alarms among the negative; NaN without such."""
    false_alarms = _cut(true[..., 0] - hits[..., 0])
    return safe_ratio(hits[..., 1] * true[..., 0], false_alarms * true[..., 1], np.nan)


def negative_likelihood_ratio(hits: AnyArray, predicted: AnyArray, true: AnyArray) -> AnyArray:
    """Rate of misses among the positive over the rate of right ones among the negative; NaN without such."""
    misses = _cut(true[..., 1] - hits[..., 1])
    return safe_ratio(misses * true[..., 0], hits[..., 0] * true[..., 1], np.nan)


def _cut(difference: AnyArray) -> AnyArray:
    """A difference of shares, its real part zero where it is rounding."""
    return np.where(np.abs(difference.real) < TINY, difference - difference.real, difference)
