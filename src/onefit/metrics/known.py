"""scikit-learn's metric functions that are known here, each with the metric that it is: one row a function.

A function that stands in none of the tables is taken as it is, on pooled predictions (`pooled`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ..errors import DataError
from ..typing import AnyArray
from . import counts
from .contract import Metric, Shown
from .functions import Explained, RootMean, class_shares, mean_constant, quantile_constant
from .givenlosses import find_loss
from .losses import Loss, pinball
from .means import MeanMetric, mean_of_loss, row_losses
from .orientation import NEGATED, ONE_MINUS
from .pooled import PooledMetric
from .precision_recall import AveragePrecision, MeanAveragePrecision
from .ranks import RankMetric
from .rowlosses import brier, log_loss, percentage_error, squared_log_error, top_k_misses, tweedie

__all__ = ["CLASSES", "LOSSES", "NUMBERS", "REFUSED", "Given", "Maker", "Unknown"]


class Unknown(Exception):
    """The function is known, but not with these options."""


@dataclass(frozen=True)
class Given:
    """A metric function with its options, as a user asked for it.

    Attributes
    ----------
    name : str
    function : callable
    options : mapping
        Keywords that differ from the defaults of the function.
    response : str
        As in `Metric`.
    labels : array or None
    shown : Shown
        In which orientation a loss is shown: as it is, or negated.
    """

    name: str
    function: Callable[..., Any]
    options: Mapping[str, Any]
    response: str
    labels: AnyArray | None
    shown: Shown = NEGATED

    def only(self, **defaults: Any) -> dict[str, Any]:
        """The options with these defaults; `Unknown` if there are others."""
        if set(self.options) - set(defaults):
            raise Unknown
        return defaults | dict(self.options)

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return 0 if self.labels is None else len(self.labels)

    def positive(self, default: object) -> int:
        """Number of the positive class of two."""
        label = self.options.get("pos_label", default)
        assert self.labels is not None
        if label is None:
            return 1
        found = [number for number, own in enumerate(self.labels.tolist()) if own == label]
        if not found:
            first, second = self.labels.tolist()
            raise DataError(
                f"{self.name} takes {label!r} for the positive class, and the classes are {first!r} and {second!r}: "
                f"say which is meant, as in scoring=make_scorer({self.function.__name__}, pos_label={second!r}"
                + (")." if self.response == "predict" else f", response_method={_method(self.response)}).")
            )
        return found[0]


def _method(response: str) -> str:
    return '("decision_function", "predict_proba")' if response == "scores" else f'"{response}"'


Maker = Callable[[Given], Metric]

# ------------------------------------------------------------------------------ numbers


def _loss(make: Callable[..., Loss], **defaults: Any) -> Maker:
    """The mean of a loss, which is made with the options."""
    return lambda given: mean_of_loss(make(**given.only(**defaults)), given.name, given.shown)


def _explained(
    make: Callable[..., Loss], constant: Callable[..., Any], centred: bool = False, **defaults: Any
) -> Maker:
    """The share of the loss of the best constant that is explained."""

    def metric(given: Given) -> Metric:
        loss = make(**given.only(**defaults))
        return Explained(given.name, row_losses(loss), constant, centred=centred, loss=loss)

    return metric


def _root(make: Callable[..., Loss]) -> Maker:
    def metric(given: Given) -> Metric:
        given.only()
        loss = make()
        return RootMean(given.name, row_losses(loss), given.shown, loss=loss)

    return metric


_squared, _absolute = partial(find_loss, "squared_error"), partial(find_loss, "absolute_error")


def _pinball(alpha: float) -> Loss:
    return pinball(alpha)


def _explained_pinball(given: Given) -> Metric:
    alpha = given.only(alpha=0.5)["alpha"]
    loss = pinball(alpha)
    return Explained(given.name, row_losses(loss), partial(quantile_constant, quantile=alpha), loss=loss)


NUMBERS: dict[str, Maker] = {
    "mean_squared_error": _loss(_squared),
    "mean_absolute_error": _loss(_absolute),
    "mean_pinball_loss": _loss(_pinball, alpha=0.5),
    "mean_absolute_percentage_error": _loss(percentage_error),
    "mean_squared_log_error": _loss(squared_log_error),
    "mean_tweedie_deviance": _loss(tweedie, power=0),
    "mean_poisson_deviance": _loss(partial(tweedie, 1, "poisson_deviance")),
    "mean_gamma_deviance": _loss(partial(tweedie, 2, "gamma_deviance")),
    "root_mean_squared_error": _root(_squared),
    "root_mean_squared_log_error": _root(squared_log_error),
    "r2_score": _explained(_squared, mean_constant),
    "explained_variance_score": _explained(_squared, mean_constant, centred=True),
    "d2_tweedie_score": _explained(tweedie, mean_constant, power=0),
    "d2_absolute_error_score": _explained(_absolute, quantile_constant),
    "d2_pinball_score": _explained_pinball,
}
"""Of numbers; greater is better for those that end in ``_score``."""


# ------------------------------------------------------------------------------ classes


def _zero_one(given: Given) -> Metric:
    if not given.only(normalize=True)["normalize"]:
        raise Unknown
    shown = ONE_MINUS if given.function.__name__ == "accuracy_score" else given.shown
    return mean_of_loss(find_loss("zero_one", given.labels), given.name, shown)


def _ratio(make: Callable[..., counts.Ratio], **defaults: Any) -> Maker:
    """A ratio of counts, of one class or averaged over several."""

    def metric(given: Given) -> Metric:
        common = {"average": "binary", "pos_label": 1, "zero_division": "warn"}
        options = given.only(**common, **defaults)
        average, otherwise = options["average"], options["zero_division"]
        otherwise = 0.0 if otherwise == "warn" else otherwise
        if average == "samples":
            raise DataError(
                f"{given.name} averages over rows that have several labels each (multilabel), and here a row has one; "
                f"use {given.name.replace('_samples', '_macro')} or {given.name.replace('_samples', '_weighted')}."
            )
        if average not in ("binary", "micro", "macro", "weighted") or otherwise not in (0, 1):
            raise Unknown
        positive = 1
        if average == "binary":
            named = given.name in ("f1", "jaccard", "precision", "recall")
            _require_two(
                given, f"{given.name}_macro or {given.name}_weighted" if named else "average='macro' or 'weighted'"
            )
            positive = given.positive(1)
        ratio = make(**{key: options[key] for key in defaults})
        figure = counts.ratio_of_counts(ratio, average, positive, float(otherwise))
        recalled = None
        if ratio is counts.recall and average in ("binary", "macro"):
            recalled = (positive,) if average == "binary" else ()
        return counts.Counts(given.name, figure, recalled=recalled)

    return metric


def _require_two(given: Given, remedy: str) -> None:
    if given.n_classes != 2:
        raise DataError(f"{given.name} is for two classes, and y has {given.n_classes}; use {remedy}.")


def _counts(figure: counts.Figure, scale: str) -> Maker:
    def metric(given: Given) -> Metric:
        given.only()
        recalled = () if figure is counts.balanced_accuracy else None
        return counts.Counts(given.name, figure, scale=scale, recalled=recalled)

    return metric


def _likelihood_ratio(given: Given) -> Metric:
    given.only()
    _require_two(given, "balanced_accuracy or recall_macro")
    if given.function.__name__ == "positive_likelihood_ratio":
        return counts.Counts(given.name, counts.positive_likelihood_ratio, NEGATED, "identity", undefined=1.0)
    return counts.Counts(given.name, _minus_negative_ratio, NEGATED, "log", undefined=-1.0)


def _minus_negative_ratio(hits: AnyArray, predicted: AnyArray, true: AnyArray) -> AnyArray:
    return -counts.negative_likelihood_ratio(hits, predicted, true)


def _log_loss(given: Given) -> Metric:
    options = given.only(normalize=True, labels=None)
    if not options["normalize"] or not _are_all(options["labels"], given):
        raise Unknown
    return MeanMetric(given.name, log_loss, "predict_proba", "log", given.shown, needs_every_class=True)


def _are_all(labels: Any, given: Given) -> bool:
    return labels is None or np.array_equal(np.asarray(labels), np.asarray(given.labels))


def _brier(given: Given) -> Metric:
    options = given.only(pos_label=None, labels=None, scale_by_half="auto")
    two = given.n_classes == 2
    if options["scale_by_half"] not in ("auto", two) or not _are_all(options["labels"], given):
        raise Unknown
    if two:
        given.positive(None)  # the score is the same for either
    return MeanMetric(given.name, brier, "predict_proba", "logit" if two else "identity", given.shown)


def _explained_chances(losses: Any) -> Maker:
    def metric(given: Given) -> Metric:
        options = given.only(labels=None, pos_label=None)
        if not _are_all(options["labels"], given):
            raise Unknown
        is_log = losses is log_loss
        return Explained(
            given.name, losses, class_shares, response="predict_proba", per_output=False, needs_every_class=is_log
        )

    return metric


def _roc_auc(given: Given) -> Metric:
    options = given.only(average="macro", multi_class="raise", labels=None)
    average, multiclass = options["average"], options["multi_class"]
    if average not in ("macro", "weighted") or not _are_all(options["labels"], given):
        raise Unknown
    if given.n_classes > 2 and multiclass == "raise":
        raise DataError(
            f"{given.name} is for two classes, and y has {given.n_classes}; use roc_auc_ovr (each class against the "
            "rest), roc_auc_ovo (pairs of classes), or their _weighted variants."
        )
    if given.n_classes > 2 and given.response != "predict_proba":
        raise DataError(
            f"{given.name} of {given.n_classes} classes needs probabilities: use roc_auc_ovr or roc_auc_ovo, or "
            'make_scorer(roc_auc_score, multi_class="ovr", response_method="predict_proba").'
        )
    return RankMetric(given.name, given.response, str(multiclass), average == "weighted")


def _top_k(given: Given) -> Metric:
    k = given.only(k=2)["k"]
    if k >= given.n_classes:
        raise DataError(
            f"{given.name} counts every row as right, as {given.n_classes} classes are all among the best {k}; use "
            "accuracy" + ("." if given.n_classes == 2 else ", or make_scorer(top_k_accuracy_score, k=...) with less.")
        )
    losses = partial(top_k_misses, k=k)
    return MeanMetric(given.name, losses, given.response, "logit", ONE_MINUS, is_share=True)


def _average_precision(given: Given) -> Metric:
    average = given.only(pos_label=1, average="macro")["average"]
    if average not in ("macro", "weighted") or given.response == "predict" or given.labels is None:
        raise Unknown
    if given.n_classes > 2:
        mean = MeanAveragePrecision(given.labels, average == "weighted")
        return PooledMetric(given.name, mean, given.response, 1, "logit", ONE_MINUS, True)
    positive = given.positive(1)
    quick = AveragePrecision(given.labels[positive])
    return PooledMetric(given.name, quick, given.response, 1, "logit", ONE_MINUS, True, positive, needs_positives=True)


CLASSES: dict[str, Maker] = {
    "accuracy_score": _zero_one,
    "zero_one_loss": _zero_one,
    "hamming_loss": _zero_one,
    "precision_score": _ratio(lambda: counts.precision),
    "recall_score": _ratio(lambda: counts.recall),
    "f1_score": _ratio(counts.f_score),
    "fbeta_score": _ratio(counts.f_score, beta=1.0),
    "jaccard_score": _ratio(lambda: counts.jaccard),
    "balanced_accuracy_score": _counts(counts.balanced_accuracy, "logit"),
    "matthews_corrcoef": _counts(counts.matthews, "identity"),
    "cohen_kappa_score": _counts(counts.kappa, "identity"),
    "positive_likelihood_ratio": _likelihood_ratio,
    "negative_likelihood_ratio": _likelihood_ratio,
    "log_loss": _log_loss,
    "brier_score_loss": _brier,
    "d2_log_loss_score": _explained_chances(log_loss),
    "d2_brier_score": _explained_chances(brier),
    "roc_auc_score": _roc_auc,
    "average_precision_score": _average_precision,
    "top_k_accuracy_score": _top_k,
}
"""Of classes."""

REFUSED: dict[str, str] = {
    "median_absolute_error": "a median of errors is no smooth function of the rows, so that neither jackknife nor "
    "delta method gives its variance; use neg_mean_absolute_error, or loss=huber()",
    "max_error": "the largest error hangs on one row, and has no interval; use neg_mean_squared_error or "
    "neg_mean_absolute_error",
}
"""Functions for which no honest interval is known."""

LOSSES: dict[str, str] = {
    "log_loss": "log_loss",
    "brier": "brier_score_loss",
    "poisson_deviance": "mean_poisson_deviance",
    "gamma_deviance": "mean_gamma_deviance",
}
"""Names of loss= that stand for a metric function; the other names are in `losses.NAMED`."""
