"""Losses of single rows that `losses` does not have: of probabilities and ranks among classes, and of positive values.

Those of numbers are functions of the observed value and the residual, as in `losses`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import xlogy

from ..errors import DataError
from ..typing import AnyArray, BoolArray, FloatArray
from .losses import Loss
from .scored import Scored, probabilities

__all__ = ["brier", "log_loss", "percentage_error", "squared_log_error", "top_k_misses", "tweedie"]

LEAST_SHARE = 1e-8
"""Predictions below this part of what was observed are known to too few digits for their logarithm."""

TOO_NEAR_ZERO = (
    "{name} needs predictions that are positive, and some held-out ones are {what}: the "
    "model says that this could not be, and the mean would be of such rows alone. Give the model a larger penalty, "
    "drop columns that tell few rows apart, or use another metric."
)

# ------------------------------------------------------------------------------ numbers


def percentage_error() -> Loss:
    """Absolute error over the size of the observed value."""
    return Loss("mean_absolute_percentage_error", "log", _percentage)


def squared_log_error() -> Loss:
    """Squared difference of log(1 + value)."""
    return Loss("mean_squared_log_error", "log", _squared_log)


def tweedie(power: float, name: str = "tweedie_deviance") -> Loss:
    """Deviance for a power of the variance function: 0 squared error, 1 Poisson, 2 Gamma."""
    if 0 < power < 1:
        raise DataError(f"power={power!r} has no Tweedie distribution; it is 0 or less, or 1 or more.")
    return Loss(name, "log", _Tweedie(float(power), name))


def _percentage(y: FloatArray, u: FloatArray) -> FloatArray:
    return np.abs(u) / np.maximum(np.abs(y), np.finfo(np.float64).eps)


def _squared_log(y: FloatArray, u: FloatArray) -> FloatArray:
    name, predicted = "mean_squared_log_error", y - u
    _require(name, "observed", y > -1, "greater than -1")
    _require(name, "predicted", predicted > -1, "greater than -1")
    losses: FloatArray = np.square(np.log1p(y) - np.log1p(predicted))
    return losses


@dataclass(frozen=True)
class _Tweedie:
    power: float
    name: str

    def __call__(self, y: FloatArray, u: FloatArray) -> FloatArray:
        if self.power == 0:
            return np.square(u)
        self._check_observed(y)
        predicted = y - u
        if (np.abs(predicted) < LEAST_SHARE * y).any():
            raise DataError(TOO_NEAR_ZERO.format(name=self.name, what="below 1e-8 of what was observed"))
        return self._of(y, predicted)

    def of_predicted(self, y: FloatArray, predicted: FloatArray) -> FloatArray:
        """Losses of predictions that have all their digits, however small they are."""
        if self.power == 0:
            return np.square(y - predicted)
        self._check_observed(y)
        if ((predicted == 0) & (y > 0)).any():
            raise DataError(TOO_NEAR_ZERO.format(name=self.name, what="so small that they are zero"))
        return self._of(y, predicted)

    def _check_observed(self, y: FloatArray) -> None:
        if self.power >= 2:
            _require(self.name, "observed", y > 0, "positive")
        elif self.power >= 1:
            _require(self.name, "observed", y >= 0, "zero or more")

    def _of(self, y: FloatArray, predicted: FloatArray) -> FloatArray:
        """Deviances, if all is positive."""
        # a zero that is predicted to the last bit: the limit is zero, and so are predictions of fits that failed
        is_nothing = (y == 0) & (predicted == 0)
        _require(self.name, "predicted", (predicted > 0) | is_nothing, "positive")
        if not is_nothing.any():
            return self.deviance(y, predicted)
        return np.where(is_nothing, 0.0, self.deviance(y, np.where(is_nothing, 1.0, predicted)))

    def deviance(self, y: FloatArray, mean: FloatArray) -> FloatArray:
        """Unit deviances."""
        p = self.power
        if p == 1:
            deviance: FloatArray = 2 * (xlogy(y, y / mean) - y + mean)
        elif p == 2:
            deviance = 2 * (np.log(mean / y) + y / mean - 1)
        else:
            top = np.power(np.maximum(y, 0) if p < 0 else y, 2 - p) / ((1 - p) * (2 - p))
            deviance = 2 * (top - y * np.power(mean, 1 - p) / (1 - p) + np.power(mean, 2 - p) / (2 - p))
        return np.maximum(deviance, 0.0)  # which rounding may miss


def _require(name: str, which: str, holds: BoolArray, words: str) -> None:
    """Refuse values that a loss has no meaning for."""
    if holds.all():
        return
    if which == "observed":
        raise DataError(f"{name} needs a target whose values are {words}, and y has others; use another metric.")
    raise DataError(
        f"{name} needs predictions that are {words}, and some held-out ones are not. Use a model that keeps to them, "
        "such as PoissonRegressor or a TransformedTargetRegressor of the logarithm, or another metric."
    )


# ------------------------------------------------------------------------------ classes


def log_loss(scored: Scored) -> FloatArray:
    """Minus the log of the probability of the observed class, cut at the precision of the type as scikit-learn's."""
    chance = _at_observed(probabilities(scored, "The log loss"), scored.observed)
    eps = np.finfo(chance.dtype).eps
    losses: FloatArray = -np.log(np.clip(chance, eps, 1 - eps)).astype(np.float64)
    return losses


def brier(scored: Scored) -> FloatArray:
    """Squared distance of the probabilities from the observed class; of two classes half of it, as scikit-learn's."""
    chances = probabilities(scored, "The Brier score").astype(np.float64, copy=False)
    n_classes = chances.shape[-1]
    if n_classes == 2:
        losses: FloatArray = np.square((scored.observed == 1) - chances[..., 1])
    else:
        losses = np.square((scored.observed[..., None] == np.arange(n_classes)) - chances).sum(axis=-1)
    return losses[..., None]


def top_k_misses(scored: Scored, k: int) -> FloatArray:
    """Whether k or more classes come before the observed one; of equal scores the later class does."""
    scores = scored.response
    own = _at_observed(scores, scored.observed)
    later = np.arange(scores.shape[-1]) > scored.observed[..., None]
    before = (scores > own) | ((scores == own) & later)
    misses: FloatArray = (before.sum(axis=-1, keepdims=True) >= k).astype(np.float64)
    return misses


def _at_observed(columns: AnyArray, observed: AnyArray) -> AnyArray:
    """The column (..., 1) of the observed class."""
    picks = np.broadcast_to(observed[..., None], (*columns.shape[:-1], 1))
    return np.take_along_axis(columns, picks, axis=-1)
