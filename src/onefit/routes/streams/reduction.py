"""Functions of means on a table: from the first pass over its held-out rows to what the second one sums.

The first pass has the means of their components, in every fold with itself and with each second fold out. These give
the figure of every repeat, what a second fold changes in it, and its slopes, by which components of a row become its
influence (see `metrics.functions`); the second pass sums influences as if they were losses.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...errors import DataError
from ...inference.averaged import with_least_moments
from ...inference.fold_errors import FoldErrors
from ...inference.row_sums import RowSums
from ...metrics import Metric
from ...metrics.counts import Counts
from ...metrics.functions import Explained, FunctionMetric
from ...typing import FloatArray, IntArray
from .measuring import ComponentLoss, InfluenceLoss

__all__ = ["Reduction", "reduce_means", "weight_scales"]


@dataclass(frozen=True)
class Reduction:
    """What the first pass says of the metrics: in the orientation of a loss, of R figures.

    Attributes
    ----------
    loss : InfluenceLoss
        For the second pass.
    middle : (L, V, R), figures of each repeat
    own : (L, K, V, R), mean influences of the folds
    change : (L, K, K, V, R), by which they fall when another fold joins
    fold_values : (L, K, V, R), figures of the folds by themselves
    scatter : (L, K, K, V, R), sums of squares of the losses of means about them; NaN for others
    shares : (L, K), weights of the folds over those of all rows
    moments : (L, 2, V, R), least variances of figures and their skewness, NaN where there are none
    is_mean : (R,), which figures are means of row losses
    """

    loss: InfluenceLoss
    middle: FloatArray
    own: FloatArray
    change: FloatArray
    fold_values: FloatArray
    scatter: FloatArray
    shares: FloatArray
    moments: FloatArray
    is_mean: tuple[bool, ...]

    def pairs(self, means: FloatArray, scatter: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Tables of pairs of folds from those (L, K, K, V, R) of which the second pass knows the diagonal."""
        every = np.arange(means.shape[1])
        found = means[:, every, every][:, :, None] - self.change
        whole = self.scatter.copy()
        whole[:, every, every] = scatter[:, every, every]
        return found, whole

    def completed(self, errors: FoldErrors) -> FoldErrors:
        """Fold errors in which figures that are no means of row losses have their own values by folds."""
        errors = with_least_moments(errors, self.moments[:, 0], self.moments[:, 1])
        others = ~np.array(self.is_mean)
        missing = {name: np.array(getattr(errors, name)) for name in ("e_in", "v_out", "mse", "pair_scatter")}
        for table in missing.values():
            table[..., others] = np.nan
        e_out = np.where(others, self.fold_values, errors.e_out)
        return replace(errors, e_out=e_out, shares=self.shares, **missing)  # type: ignore[arg-type]


def weight_scales(repeats: Sequence[RowSums]) -> FloatArray:
    """Mean weights of the rows of each fold, (L, K)."""
    scales = np.stack([1.0 + each.products[:, 0, 0, 1] / each.products[:, 0, 0, 0] for each in repeats])
    if not (scales > 0).all():
        repeat, fold = np.argwhere(~(scales > 0))[0]
        raise DataError(f"All rows of fold {fold} of repeat {repeat} have weight zero, so that it has no score.")
    return scales


def reduce_means(
    loss: ComponentLoss, means: FloatArray, scatters: FloatArray, sizes: IntArray, scales: FloatArray
) -> Reduction:
    """From means (L, K, K, V, RC) of weighted components of the folds, and sums of squares about them.

    ``sizes`` (L, K) are rows of the folds, and ``scales`` their mean weights.
    """
    L, K, _, V, columns = means.shape
    every, n_outputs = np.arange(K), loss.constants.of_all.shape[-1]
    shares = sizes / sizes.sum(axis=1, keepdims=True)
    single = means[:, every, every]
    pooled = np.einsum("lk,lkvc->lvc", shares, single)
    figures, widths = loss.figures(n_outputs), loss.widths(n_outputs)
    R = sum(figures)
    middle, slopes = np.zeros((L, V, R)), np.zeros((L, V, columns, R))
    fold_values, is_mean = np.zeros((L, K, V, R)), list[bool]()
    scatter, moments = np.full((L, K, K, V, R), np.nan), np.full((L, 2, V, R), np.nan)
    column = figure = 0
    for metric, count, width in zip(loss.metrics, figures, widths, strict=True):
        own, part = slice(figure, figure + count), slice(column, column + width)
        size = width // count
        table, by_fold = (each[..., part].reshape(*each.shape[:-1], count, size) for each in (pooled, single))
        by_fold = by_fold / scales[:, :, None, None, None]  # of all weights of the fold
        value, gradient, values = _function(metric, table, by_fold)
        if not np.isfinite(value).all():
            raise DataError(
                f"{metric.name} is undefined on the held-out predictions of a repeat: it divides by a share of rows "
                "that is zero. Use another metric, or more rows."
            )
        middle[..., own], fold_values[..., own] = value, values
        if isinstance(metric, Counts) and metric.recalled is not None:
            moments[..., own] = _least_moments(metric, int(sizes[0].sum()) * table[..., 0, :])
        if not isinstance(metric, FunctionMetric):
            scatter[..., own] = scatters[..., part]
        for at in range(count):
            slopes[:, :, column + at * size : column + (at + 1) * size, figure + at] = gradient[:, :, at]
        is_mean += [not isinstance(metric, FunctionMetric)] * count
        column, figure = part.stop, own.stop
    origin = middle - np.einsum("lvc,lvcr->lvr", pooled, slopes)
    change = np.einsum("ljkvc,lvcr->ljkvr", single[:, :, None] - means, slopes)
    influence = np.einsum("lkvc,lvcr->lkvr", single, slopes) + scales[:, :, None, None] * origin[:, None]
    fields = {name: getattr(loss, name) for name in ("scale", "function", "classes", "metrics", "chances")}
    found = InfluenceLoss("influences", **fields, constants=loss.constants, origin=origin, slopes=slopes)
    of_weights = sizes * scales
    weighed = of_weights / of_weights.sum(axis=1, keepdims=True)
    return Reduction(found, middle, influence, change, fold_values, scatter, weighed, moments, tuple(is_mean))


def _function(metric: Metric, pooled: FloatArray, by_fold: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Figure (L, V, R), slopes (L, V, R, C) and figures of folds (L, K, V, R), of means of components."""
    if not isinstance(metric, FunctionMetric):
        return pooled[..., 0], np.ones(pooled.shape), by_fold[..., 0]
    if not isinstance(metric, Explained):
        return metric.value(pooled), metric.gradient(pooled), _defined(metric, metric.value(by_fold), by_fold)
    slopes = np.zeros(pooled.shape)
    slopes[..., :2] = metric.gradient(pooled[..., :2])
    return metric.value(pooled[..., :2]), slopes, metric.value(by_fold[..., [0, 2]])


def _least_moments(metric: Counts, counted: FloatArray) -> FloatArray:
    """Least moments (L, 2, V, 1) from counts (L, V, 3 C) of hits, of rows predicted, and of rows of each class."""
    hits, _, true = np.split(counted, 3, axis=-1)
    each = zip(hits, true, strict=True)
    return np.stack([metric.least_moments(own[0], own[0], (own - found).T) for found, own in each])


def _defined(metric: FunctionMetric, values: FloatArray, by_fold: FloatArray) -> FloatArray:
    """Figures of folds, with what scikit-learn puts in the place of one that divides by zero (see `Counts`)."""
    if not isinstance(metric, Counts):
        return values
    true = by_fold[..., 2 * by_fold.shape[-1] // 3 :]
    instead = metric.shown.loss_of(metric.undefined)
    return np.where(np.isnan(values) & (true > 0).all(axis=-1), instead, values)
