"""Losses of single rows that `losses` does not have: of probabilities, of positive values, of ranks among classes."""

from __future__ import annotations

import numpy as np
from scipy.special import xlogy

from ..errors import DataError
from ..typing import BoolArray, FloatArray
from .scored import Scored, probabilities

__all__ = [
    "brier",
    "chance_of_observed",
    "log_loss",
    "percentage_error",
    "squared_log_error",
    "top_k_misses",
    "tweedie",
    "tweedie_deviance",
]


def _is_class(scored: Scored, n_classes: int) -> BoolArray:
    """Whether a row is of each class, (m, 1, C)."""
    is_class: BoolArray = scored.observed[..., None] == np.arange(n_classes)
    return is_class


def chance_of_observed(scored: Scored, name: str) -> FloatArray:
    """Predicted probability (..., m, V) of the class that was observed."""
    chances = probabilities(scored, name)
    picks = np.broadcast_to(scored.observed[..., None], (*chances.shape[:-1], 1))
    return np.take_along_axis(chances, picks, axis=-1)[..., 0]


def log_loss(scored: Scored) -> FloatArray:
    """Minus the log of the probability of the observed class, cut at the precision of the type as scikit-learn's."""
    chance = chance_of_observed(scored, "The log loss")
    eps = np.finfo(chance.dtype).eps
    losses: FloatArray = -np.log(np.clip(chance, eps, 1 - eps)).astype(np.float64)
    return losses[..., None]


def brier(scored: Scored) -> FloatArray:
    """Squared distance of the probabilities from the observed class; of two classes half of it, as scikit-learn's."""
    chances = probabilities(scored, "The Brier score").astype(np.float64, copy=False)
    n_classes = chances.shape[-1]
    if n_classes == 2:
        losses: FloatArray = np.square((scored.observed == 1) - chances[..., 1])
    else:
        losses = np.square(_is_class(scored, n_classes) - chances).sum(axis=-1)
    return losses[..., None]


def percentage_error(scored: Scored) -> FloatArray:
    """Absolute error over the size of the observed value."""
    losses: FloatArray = np.abs(scored.response) / np.maximum(np.abs(scored.observed), np.finfo(np.float64).eps)
    return losses


def squared_log_error(scored: Scored) -> FloatArray:
    """Squared difference of log(1 + value)."""
    predicted = scored.observed - scored.response
    _require(scored, "The squared log error", "observed", scored.observed > -1, "greater than -1")
    _require(scored, "The squared log error", "predicted", predicted > -1, "greater than -1")
    losses: FloatArray = np.square(np.log1p(scored.observed) - np.log1p(predicted))
    return losses


def tweedie(scored: Scored, power: float, name: str = "The Tweedie deviance") -> FloatArray:
    """Deviance of the predictions, for the power of a variance function."""
    if power >= 2:
        _require(scored, name, "observed", scored.observed > 0, "positive")
    elif power >= 1:
        _require(scored, name, "observed", scored.observed >= 0, "zero or more")
    if power == 0:
        return np.square(scored.response)
    predicted = scored.observed - scored.response
    _require(scored, name, "predicted", predicted > 0, "positive")
    return tweedie_deviance(scored.observed, predicted, power)


def tweedie_deviance(y: FloatArray, mean: FloatArray, power: float) -> FloatArray:
    """Unit deviances; of Poisson for power 1 and Gamma for 2."""
    if power == 0:
        deviance: FloatArray = np.square(y - mean)
    elif power == 1:
        deviance = 2 * (xlogy(y, y / mean) - y + mean)
    elif power == 2:
        deviance = 2 * (np.log(mean / y) + y / mean - 1)
    else:
        top = np.power(np.maximum(y, 0) if power < 0 else y, 2 - power) / ((1 - power) * (2 - power))
        deviance = 2 * (top - y * np.power(mean, 1 - power) / (1 - power) + np.power(mean, 2 - power) / (2 - power))
    return deviance


def top_k_misses(scored: Scored, k: int) -> FloatArray:
    """Whether k or more classes come before the observed one; of equal scores the later class does."""
    scores = scored.response
    observed = np.broadcast_to(scored.observed[..., None], (*scores.shape[:-1], 1))
    own = np.take_along_axis(scores, observed, axis=-1)
    before = (scores > own) | ((scores == own) & (np.arange(scores.shape[-1]) > observed))
    misses: FloatArray = (before.sum(axis=-1) >= k).astype(np.float64)
    return misses[..., None]


def _require(scored: Scored, name: str, which: str, holds: BoolArray, words: str) -> None:
    """Refuse values that a loss has no meaning for."""
    if not holds.all():
        raise DataError(
            f"{name} needs {which} values that are {words}, and {scored.where} has others; "
            + (
                "use another metric for this target."
                if which == "observed"
                else "use a model that keeps to them, such as PoissonRegressor or a TransformedTargetRegressor of "
                "the logarithm, or another metric."
            )
        )
