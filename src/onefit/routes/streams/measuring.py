"""Several metrics on a table: means of row losses in one pass, functions of such means in two.

Of functions, a first pass over the held-out rows has the means of their components, in every fold with itself and with
each second fold out. These give the figure of every repeat, what a second fold changes in it, and its slopes, by which
components of a row become its influence (see `metrics.functions`); the second pass sums influences as if they were
losses.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy import special

from ...errors import DataError
from ...inference.averaged import with_least_moments
from ...inference.fold_errors import FoldErrors
from ...inference.row_sums import RowSums
from ...learners import Learner
from ...metrics import Loss, Metric
from ...metrics.counts import Counts
from ...metrics.functions import Explained, FunctionMetric, RootMean, class_shares, mean_constant
from ...metrics.losses import Classes
from ...metrics.means import MeanMetric
from ...metrics.scored import Scored
from ...typing import AnyArray, FloatArray, IntArray

__all__ = [
    "Chances",
    "ComponentLoss",
    "Constants",
    "InfluenceLoss",
    "MetricLoss",
    "Reduction",
    "chances_of",
    "in_passes",
    "metric_loss",
    "reduce_means",
    "weight_scales",
]


@dataclass(frozen=True)
class Chances:
    """Probabilities of classes from scores, at some of the values."""

    values: slice
    is_constant: bool

    def of(self, scores: FloatArray) -> FloatArray:
        """Of scores (..., Q), (..., C): a softmax, or of a constant the shares that its codes are means of."""
        if self.is_constant:
            shares = (1.0 + scores) / 2.0
            return shares if scores.shape[-1] > 1 else np.concatenate([1.0 - shares, shares], axis=-1)
        if scores.shape[-1] == 1:
            scores = np.concatenate([-scores, scores], axis=-1) / 2.0
        return np.asarray(special.softmax(scores, axis=-1))


@dataclass(frozen=True)
class MetricLoss(Loss):
    """Row losses of metrics side by side: those that are means of them."""

    metrics: tuple[Metric, ...] = ()
    chances: tuple[Chances, ...] = ()

    @property
    def first(self) -> slice:
        """Figures of the first metric, of which the answer speaks."""
        return slice(0, self.metrics[0].n_figures(1))

    def figures(self, n_outputs: int) -> list[int]:
        """Figures of each metric."""
        return [metric.n_figures(n_outputs if self.classes is None else 1) for metric in self.metrics]

    def n_losses(self, n_outputs: int) -> int:
        """Figures of all metrics."""
        return sum(self.figures(n_outputs))

    def of(self, y: FloatArray, u: FloatArray) -> FloatArray:
        """Losses (..., R) of all metrics."""
        return self._joined(y, u, [self._losses(metric) for metric in self.metrics])

    @staticmethod
    def _losses(metric: Metric) -> Callable[[Scored], FloatArray]:
        assert isinstance(metric, MeanMetric)
        return metric.losses

    def _joined(self, y: FloatArray, u: FloatArray, parts: Sequence[Callable[[Scored], FloatArray]]) -> FloatArray:
        """Figures (b, ..., V, R) of residuals (b, ..., V, Q), each part by its own function of scored rows."""
        shape = u.shape[:-1]
        observed, responses = self._responses(y, u)
        found = []
        for metric, part in zip(self.metrics, parts, strict=True):
            kind = "residual" if self.classes is None else metric.response
            scored = Scored(observed, responses[kind], self._labels, np.ones(len(u)), "some rows of the table")
            table = part(scored)
            found.append(np.broadcast_to(table, (*scored.response.shape[:2], table.shape[-1])).reshape(*shape, -1))
        return np.concatenate(found, axis=-1)

    @property
    def _labels(self) -> AnyArray | None:
        return None if self.classes is None else self.classes.labels

    def _responses(self, y: FloatArray, u: FloatArray) -> tuple[AnyArray, dict[str, AnyArray]]:
        """Observed values (b, 1, Q) or classes (b, 1), and by kind responses (b, V ..., ...)."""
        b, Q = len(u), u.shape[-1]
        plain = y.reshape(b, 1, Q)
        if self.classes is None:
            return plain, {"residual": u.reshape(b, -1, Q)}
        scores, found = y - u, dict[str, AnyArray]()
        for kind in {metric.response for metric in self.metrics}:
            if kind == "predict":
                found[kind] = self.classes.decide(scores).reshape(b, -1)
            elif kind == "predict_proba":
                parts = [each.of(scores[..., each.values, :]) for each in self.chances]
                whole = np.concatenate(parts, axis=-2)
                found[kind] = whole.reshape(b, -1, whole.shape[-1])
            else:
                found[kind] = scores.reshape(b, -1, Q)
        return self.classes.decide(plain), found


@dataclass(frozen=True, eq=False)
class Constants:
    """Best constant responses of all rows, and of each fold, (L, K, ...): means, or shares of classes."""

    of_all: FloatArray
    of_folds: FloatArray

    @classmethod
    def of_means(cls, of_all: FloatArray, of_folds: FloatArray, classes: Classes | None) -> Constants:
        """From means of y (..., Q), as the fits see it."""
        if classes is None:
            return cls(of_all, of_folds)
        return cls(*(Chances(slice(None), is_constant=True).of(each) for each in (of_all, of_folds)))


@dataclass(frozen=True)
class ComponentLoss(MetricLoss):
    """Components of the metrics that are functions of means, and row losses of the others.

    ``Explained`` has three columns an output: the loss, and those of the best constants of all rows and of the fold.
    """

    constants: Constants = field(default_factory=lambda: Constants(np.zeros(0), np.zeros(0)))
    repeat: int = 0
    folds: Any = None

    minds_folds = True

    def among(self, repeat: int, folds: IntArray) -> ComponentLoss:
        """The same for rows of a repeat that are in these folds (b,)."""
        return replace(self, repeat=repeat, folds=folds)

    def widths(self, n_outputs: int) -> list[int]:
        """Columns of each metric."""
        counts = zip(self.metrics, self.figures(n_outputs), strict=True)
        return [count * self._width(metric) for metric, count in counts]

    def _width(self, metric: Metric) -> int:
        if isinstance(metric, Explained):
            return 3
        if isinstance(metric, Counts):
            assert self.classes is not None
            return 3 * len(self.classes.labels)
        return 1

    def n_losses(self, n_outputs: int) -> int:
        """Columns of all metrics."""
        return sum(self.widths(n_outputs))

    def of(self, y: FloatArray, u: FloatArray) -> FloatArray:
        """Components (..., R C)."""
        return self._joined(y, u, [self._part(metric) for metric in self.metrics])

    def _part(self, metric: Metric) -> Callable[[Scored], FloatArray]:
        if isinstance(metric, Explained):
            return lambda scored: self._explained(metric, scored)
        if isinstance(metric, FunctionMetric):
            return lambda scored: _flat(metric.components(scored, None))
        return self._losses(metric)

    def _explained(self, metric: Explained, scored: Scored) -> FloatArray:
        own = metric.losses(scored)
        nulls = []
        for constant in (self.constants.of_all, self.constants.of_folds[self.repeat][self.folds][:, None]):
            plain = constant if scored.labels is not None else scored.observed - constant
            size = (len(scored.observed), 1, np.shape(constant)[-1])
            null = metric.losses(replace(scored, response=np.broadcast_to(plain, size)))
            nulls.append(np.broadcast_to(null, own.shape))
        return _flat(np.stack([own, *nulls], axis=-1))


def _flat(components: FloatArray) -> FloatArray:
    """(b, V, R, C) as (b, V, R C)."""
    return components.reshape(*components.shape[:2], -1)


@dataclass(frozen=True)
class InfluenceLoss(ComponentLoss):
    """Influences of rows on the figures of each repeat: ``theta + slopes.(components - their means)``.

    ``origin`` (L, V, R) and ``slopes`` (L, V, R C in all, R), a matrix from components to figures.
    """

    origin: FloatArray = field(default_factory=lambda: np.zeros(0))
    slopes: FloatArray = field(default_factory=lambda: np.zeros(0))

    def n_losses(self, n_outputs: int) -> int:
        """Figures."""
        return int(self.origin.shape[-1])

    def of(self, y: FloatArray, u: FloatArray) -> FloatArray:
        """Influences (b, V, R)."""
        components = super().of(y, u)
        found: FloatArray = np.einsum("bvc,vcr->bvr", components, self.slopes[self.repeat]) + self.origin[self.repeat]
        return found


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


def metric_loss(
    metrics: Sequence[Metric], learners: Sequence[Learner], n_constants: int, classes: Classes | None
) -> MetricLoss:
    """Metrics of learners side by side, and ``n_constants`` values more, where `in_passes` holds for all."""
    chances = chances_of(learners, n_constants)
    kind = ComponentLoss if any(isinstance(metric, FunctionMetric) for metric in metrics) else MetricLoss
    return kind("metrics", "identity", _nothing, classes, tuple(metrics), chances)


def chances_of(learners: Sequence[Learner], n_constants: int) -> tuple[Chances, ...]:
    """How probabilities are made of the scores of learners side by side, and of constants after them."""
    found, first = list[Chances](), 0
    for learner in learners:
        found.append(Chances(slice(first, first + learner.n_values), is_constant=False))
        first += learner.n_values
    return (*found, Chances(slice(first, first + n_constants), is_constant=True))


def _nothing(y: AnyArray, u: AnyArray) -> AnyArray:
    raise NotImplementedError


def in_passes(metric: Metric, has_weights: bool) -> bool:
    """Whether sums over rows give a metric: a mean of row losses, or a function of such means that are known."""
    if isinstance(metric, Counts) and metric.recalled is not None and has_weights:
        return False  # its least variance takes squares of the weights of every class
    if isinstance(metric, Explained):
        return not metric.centred and metric.constant in (mean_constant, class_shares)
    is_mean = isinstance(metric, MeanMetric) and metric.response in ("predict", "predict_proba")
    return is_mean or isinstance(metric, RootMean | Counts)
