"""The figures that were asked for: where each stands in the tables, on which scale, and how it is shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .contract import Metric, Shown
from .losses import Classes, Loss

__all__ = ["Asked", "asked_of_loss", "asked_of_metrics", "figures_asked", "rule_scale_of"]


@dataclass(frozen=True)
class Asked:
    """One metric, as rules and results see it.

    Attributes
    ----------
    name : str
        As it was asked for.
    kind : str
        The loss or metric that it is made of.
    scale : str
        "log", "logit" or "identity": on which the interval of the loss is built.
    rule_scale : str
        The same for the rules, which know shares of rows ("logit") and means of such shares by class ("shares") from
        other figures in [0, 1] ("unit").
    shown : Shown
    family : str
        "mean", "function", "rank" or "pooled".
    columns : slice
        Its figures in the tables.
    classes : Classes or None
    minds_skewness : bool
        Whether the skewness of the row values is that of losses, so that the ends of the interval mind it.
    is_extra : bool
        Whether it comes beside what was asked for.
    loss : Loss or None
        The loss of rows behind it, if there is one: its best constant is the baseline.
    """

    name: str
    kind: str
    scale: str
    rule_scale: str
    shown: Shown
    family: str
    columns: slice
    classes: Classes | None = None
    minds_skewness: bool = True
    is_extra: bool = False
    loss: Loss | None = None

    @property
    def has_row_losses(self) -> bool:
        """Whether it is a mean of losses of single rows, as some rules need."""
        return self.family == "mean"


def asked_of_loss(loss: Loss, name: str = "", shown: Shown = Shown()) -> Asked:  # noqa: B008  (frozen)
    """A loss, or the score that is made of it."""
    words = (name or loss.name, loss.name, loss.scale, loss.scale)
    return Asked(*words, shown, "mean", slice(None), loss.classes, loss=loss)


def rule_scale_of(metric: Metric) -> str:
    """The scale by which rules know a metric."""
    if getattr(metric, "recalled", None) is not None:
        return "shares"
    is_share = getattr(metric, "is_share", False)
    return "unit" if metric.scale == "logit" and not is_share else metric.scale


def figures_asked(metrics: Sequence[Metric], n_outputs: int, classes: object) -> slice:
    """Figures of the metrics that were asked for, all of a loss; what comes beside them, after them, need not exist."""
    counts = [metric.n_figures(n_outputs if classes is None else 1) for metric in metrics if not metric.is_extra]
    return slice(0, sum(counts) if counts else None)


def asked_of_metrics(metrics: Sequence[Metric], n_outputs: int, classes: Classes | None) -> tuple[Asked, ...]:
    """Metrics side by side, of a target with so many columns (one of classes)."""
    asked, start = list[Asked](), 0
    for metric in metrics:
        stop = start + metric.n_figures(n_outputs)
        rule_scale = rule_scale_of(metric)
        columns = slice(start, stop)
        shown, family = metric.shown, metric.family
        minds = family == "mean" or getattr(metric, "is_root_of_mean", False) or rule_scale == "shares"
        words = (metric.name, metric.name, metric.scale, rule_scale)
        loss = getattr(metric, "loss", None)
        asked.append(Asked(*words, shown, family, columns, classes, minds, metric.is_extra, loss))
        start = stop
    return tuple(asked)
