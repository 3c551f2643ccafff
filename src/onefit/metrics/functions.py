"""Functions of means, by the delta method: explained shares such as r2, and root mean errors; of counts see `counts`.

Theta is the function of the means over all held-out rows of a repeat. With g the gradient of the function there, the
influence of a row of components c is ``theta + g.(c - mean of c)``, and what a second fold changes in fold j is
``g.(mean of c in j - the same without j and k)``, the linear part of replacing its predictions.

What is estimated from the rows before (the mean in the denominator of r2, the median in that of the absolute error)
minimises the mean of the component that it enters, so that to first order it may be held fixed.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..errors import DataError
from ..typing import AnyArray, FloatArray
from .contract import Metric, Reduced, Repeat, Shown
from .losses import Loss
from .means import RowLosses
from .orientation import AS_LOSS, ONE_MINUS
from .scored import Scored, class_sums, fold_scales, fold_weights, folds_of, row_mean, to_rows

__all__ = [
    "Explained",
    "FunctionMetric",
    "RootMean",
    "class_shares",
    "mean_constant",
    "quantile_constant",
    "safe_ratio",
]

STEP = 1e-150


class FunctionMetric(Metric):
    """A function of means over rows of C components, for each of R outputs."""

    family = "function"
    per_output: bool = True
    least_rows: int = 1

    def n_figures(self, n_outputs: int) -> int:
        """One a column of y, or one for classes."""
        return n_outputs if self.per_output else 1

    def reference(self, own: Scored) -> Any:
        """What the components need to know of all rows (m, V, ...) together."""
        return None

    @abstractmethod
    def components(self, scored: Scored, reference: Any) -> FloatArray:
        """Components (..., m, V, R, C) of rows."""

    @abstractmethod
    def value(self, means: AnyArray) -> AnyArray:
        """The loss (..., R) of means (..., R, C), in arithmetic that complex numbers have too."""

    def gradient(self, means: FloatArray) -> FloatArray:
        """Derivatives (..., R, C) of `value`, by a step along the imaginary axis: exact, as nothing is subtracted."""
        slopes = np.empty_like(means)
        for component in range(means.shape[-1]):
            moved = means.astype(np.complex128)
            moved[..., component] += STEP * 1j
            slopes[..., component] = self.value(moved).imag / STEP
        return slopes

    def fold_value(self, own: Scored) -> FloatArray:
        """The loss (V, R) of some rows by themselves; NaN if they are too few."""
        components = self.components(own, self.reference(own))
        value: FloatArray = self.value(row_mean(own.weights, components, 3))
        return value if len(own.weights) >= self.least_rows else np.full_like(value, np.nan)

    def reduce(self, repeat: Repeat) -> Reduced:
        """Everything by the delta method at the means of the repeat."""
        folds = list(folds_of(repeat, self.response))
        reference = self.reference(_together(folds))
        own, values, means = [], [], []
        for fold, scored in enumerate(folds):
            own.append(self.components(scored.alone(fold), reference))
            some = (self.components(part, reference) for part in scored.some(own[-1].size))
            means.append(np.concatenate([row_mean(scored.weights, components, 3) for components in some]))
            values.append(self.fold_value(scored.alone(fold)))
        single = np.stack([mean[fold] for fold, mean in enumerate(means)])
        pooled = np.tensordot(fold_weights(repeat), single, 1)
        theta, slopes = self.value(pooled), self.gradient(pooled)
        if not np.isfinite(theta).all():
            raise DataError(
                f"{self.name} is undefined on the held-out predictions of repeat {repeat.number}: it divides by a "
                "share of rows that is zero. Use another metric, or more rows."
            )
        influence = [theta + np.einsum("mvrc,vrc->mvr", rows - pooled, slopes) for rows in own]
        scales = fold_scales(repeat)
        change = [np.einsum("kvrc,vrc->kvr", scales[j] * (mean[j] - mean), slopes) for j, mean in enumerate(means)]
        return Reduced(np.stack(values), to_rows(repeat, influence), np.stack(change))


def _together(folds: list[Scored]) -> Scored:
    """All held-out rows, each when its own fold alone is out."""
    return replace(
        folds[0],
        observed=np.concatenate([scored.observed for scored in folds]),
        response=np.concatenate([scored.response[fold] for fold, scored in enumerate(folds)]),
        weights=np.concatenate([scored.weights for scored in folds]),
    )


def safe_ratio(top: AnyArray, bottom: AnyArray, otherwise: AnyArray | float) -> AnyArray:
    """A ratio, and something else where the denominator is zero."""
    empty = bottom.real == 0
    ratio: AnyArray = np.where(empty, otherwise, top / np.where(empty, 1, bottom))
    return ratio


# ------------------------------------------------------------------------------ roots and shares


@dataclass(frozen=True)
class RootMean(FunctionMetric):
    """The square root of a mean of row losses."""

    is_root_of_mean = True

    name: str
    losses: RowLosses
    shown: Shown = AS_LOSS
    response: str = "predict"
    scale: str = "log"
    loss: Loss | None = None

    def components(self, scored: Scored, reference: None) -> FloatArray:
        """The losses."""
        return self.losses(scored)[..., None]

    def value(self, means: AnyArray) -> AnyArray:
        """Their root; its slope at zero is taken for zero, as all rows are then alike."""
        mean = means[..., 0]
        return np.where(mean.real > 0, np.sqrt(np.where(mean.real > 0, mean, 1)), 0)


@dataclass(frozen=True)
class Explained(FunctionMetric):
    """Mean loss over the mean loss of the best constant response: one minus r2, and minus every other D2.

    ``constant`` gives that response (Q,) or (C,) of the rows; with ``centred`` the mean residual is taken off first, as
    the explained variance does.
    """

    name: str
    losses: RowLosses
    constant: Callable[[Scored], FloatArray]
    shown: Shown = ONE_MINUS
    response: str = "predict"
    per_output: bool = True
    centred: bool = False
    needs_every_class: bool = False
    scale: str = "log"
    least_rows: int = 2
    loss: Loss | None = None

    def reference(self, own: Scored) -> tuple[FloatArray, FloatArray | float]:
        """The best constant and the mean residual."""
        return self.constant(own), row_mean(own.weights, own.response) if self.centred else 0.0

    def components(self, scored: Scored, reference: tuple[FloatArray, FloatArray | float]) -> FloatArray:
        """Loss of the response and of the constant."""
        constant, shift = reference
        losses = self.losses(replace(scored, response=scored.response - shift) if self.centred else scored)
        plain = constant if scored.labels is not None else scored.observed - constant
        null = self.losses(replace(scored, response=np.broadcast_to(plain, (len(scored.observed), 1, len(constant)))))
        return np.stack([losses, np.broadcast_to(null, losses.shape)], axis=-1)

    def value(self, means: AnyArray) -> AnyArray:
        """Their ratio; one if the constant is perfect and the response is not, as scikit-learn says."""
        loss, null = means[..., 0], means[..., 1]
        return safe_ratio(loss, null, np.where(loss.real == 0, 0.0, 1.0))


def mean_constant(own: Scored) -> FloatArray:
    """Means of the observed values, (Q,)."""
    means: FloatArray = row_mean(own.weights, own.observed)[0]
    return means


def quantile_constant(own: Scored, quantile: float = 0.5) -> FloatArray:
    """Quantiles of the observed values, (Q,): any that minimises the pinball loss will do, and this is the least."""
    values = own.observed[:, 0]
    order = values.argsort(axis=0, kind="stable")
    sums = own.weights[order].cumsum(axis=0)
    at = np.minimum((sums < quantile * sums[-1] * (1 - 1e-12)).sum(axis=0), len(values) - 1)
    picks = np.take_along_axis(order, at[None], axis=0)
    quantiles: FloatArray = np.take_along_axis(values, picks, axis=0)[0]
    return quantiles


def class_shares(own: Scored) -> FloatArray:
    """Shares of the classes, (C,)."""
    sums = class_sums(own)
    shares: FloatArray = sums / sums.sum()
    return shares
