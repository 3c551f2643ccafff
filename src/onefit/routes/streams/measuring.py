"""Several metrics on a table as losses of its rows: means of them in one pass, functions of such means in two.

The first pass of functions sums their components, the second the influences of rows on them: see `reduction`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ...learners import Learner
from ...learners.glm import logistic_chances
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
    "chances_of",
    "in_passes",
    "metric_loss",
]


@dataclass(frozen=True)
class Chances:
    """Probabilities of classes from scores, at some of the values."""

    values: slice
    is_constant: bool

    def of(self, scores: FloatArray) -> FloatArray:
        """Of scores (..., Q), (..., C): as logistic regression has them, or the shares that a constant is."""
        if self.is_constant:
            shares = (1.0 + scores) / 2.0
            return shares if scores.shape[-1] > 1 else np.concatenate([1.0 - shares, shares], axis=-1)
        return logistic_chances(scores)


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
