"""Means of row losses: accuracy, log loss, Brier score, deviances and the errors of regression.

The influence of a row on a mean is its own loss, so these need nothing beyond the losses.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..typing import FloatArray
from .contract import Metric, Reduced, Repeat, Shown
from .losses import Loss
from .orientation import AS_LOSS
from .rowlosses import top_k_misses
from .scored import Scored, folds_of, row_mean, to_rows

__all__ = ["MeanMetric", "RowLosses", "mean_of_loss", "top_k"]

RowLosses = Callable[[Scored], FloatArray]
"""Losses (..., m, V, R) of rows, R = Q outputs for regression and 1 for classes."""


@dataclass(frozen=True)
class MeanMetric(Metric):
    """The mean of a loss of each row."""

    name: str
    losses: RowLosses
    response: str = "predict"
    scale: str = "log"
    shown: Shown = AS_LOSS
    per_output: bool = True
    family: str = "mean"

    def n_figures(self, n_outputs: int) -> int:
        """One a column of y, or one for classes."""
        return n_outputs if self.per_output else 1

    def reduce(self, repeat: Repeat) -> Reduced:
        """Losses of rows, and the difference that a second fold makes to their mean in each fold."""
        own, values, change, scatter = [], [], [], []
        for fold, scored in enumerate(folds_of(repeat, self.response)):
            losses = self.losses(scored)
            means = row_mean(scored.weights, losses)
            own.append(losses[fold])
            values.append(means[fold])
            # per share of rows, not of weight: what is heavier counts for more
            change.append((means[fold] - means) * scored.weights.mean())
            weighted = losses * scored.weights[:, None, None]
            scatter.append(np.square(weighted - weighted.mean(axis=-3, keepdims=True)).sum(axis=-3))
        return Reduced(np.stack(values), to_rows(repeat, own), np.stack(change), scatter=np.stack(scatter))


def mean_of_loss(loss: Loss, shown: Shown = AS_LOSS) -> MeanMetric:
    """The mean of a loss of `losses`, of the residual or of (observed, predicted) class numbers."""
    if loss.classes is None:
        return MeanMetric(loss.name, lambda s: loss.of(s.observed, s.response), scale=loss.scale, shown=shown)

    def of_classes(scored: Scored) -> FloatArray:
        losses = np.asarray(loss.function(scored.observed, scored.response), dtype=np.float64)
        return losses[..., None]

    return MeanMetric(loss.name, of_classes, scale=loss.scale, shown=shown, per_output=False)


def top_k(name: str, k: int, shown: Shown) -> MeanMetric:
    """Share of rows whose class is not among the k with the largest scores."""
    return MeanMetric(name, lambda s: top_k_misses(s, k), "scores", "logit", shown, per_output=False)
