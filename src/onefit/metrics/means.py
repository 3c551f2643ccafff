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
from .scored import Scored, fold_scales, folds_of, row_mean, to_rows

__all__ = ["MeanMetric", "RowLosses", "mean_of_loss", "row_losses"]

RowLosses = Callable[[Scored], FloatArray]
"""Losses (..., m, V, R) of rows, R = Q outputs for regression and 1 for classes."""


@dataclass(frozen=True)
class MeanMetric(Metric):
    """The mean of a loss of each row.

    Attributes
    ----------
    losses : function of Scored
    per_output : bool
        Whether it has a figure for each column of y.
    is_share : bool
        Whether the losses are zeros and ones.
    needs_every_class : bool
        Whether a class that a training set lacks makes it infinite.
    loss : Loss or None
        The loss of `losses` that it is the mean of, if it is one.
    """

    name: str
    losses: RowLosses
    response: str = "predict"
    scale: str = "log"
    shown: Shown = AS_LOSS
    per_output: bool = False
    is_share: bool = False
    needs_every_class: bool = False
    loss: Loss | None = None
    family: str = "mean"

    def n_figures(self, n_outputs: int) -> int:
        """One a column of y, or one for classes."""
        return n_outputs if self.per_output else 1

    def reduce(self, repeat: Repeat) -> Reduced:
        """Losses of rows, and the difference that a second fold makes to their mean in each fold."""
        scales = fold_scales(repeat)
        own, values, change, scatter = [], [], [], []
        for fold, scored in enumerate(folds_of(repeat, self.response)):
            losses = self.losses(scored)
            means = row_mean(scored.weights, losses)
            own.append(losses[fold].copy())
            values.append(means[fold])
            change.append(scales[fold] * (means[fold] - means))
            scatter.append(
                np.square(scored.weights[:, None, None] * losses - (scales[fold] * means)[:, None]).sum(axis=1)
            )
        return Reduced(np.stack(values), to_rows(repeat, own), np.stack(change), scatter=np.stack(scatter))


def row_losses(loss: Loss) -> RowLosses:
    """A loss of the residual, or of (observed, predicted) class numbers, as one of held-out rows."""
    if loss.classes is None:
        return lambda scored: loss.of(scored.observed, scored.response)
    return lambda scored: np.asarray(loss.function(scored.observed, scored.response), dtype=np.float64)[..., None]


def mean_of_loss(loss: Loss, name: str = "", shown: Shown = AS_LOSS) -> MeanMetric:
    """The mean of a loss, by its own name if there is no other."""
    is_share = loss.scale == "logit"
    return MeanMetric(
        name or loss.name, row_losses(loss), "predict", loss.scale, shown, loss.classes is None, is_share, loss=loss
    )
