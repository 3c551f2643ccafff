"""From what a user gives as ``scoring`` or ``loss`` to metrics."""

from __future__ import annotations

import difflib
import inspect
import reprlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from ..errors import COMING_FROM, DataError
from ..typing import AnyArray, ArrayLike
from ..vocabulary import METRIC_HINTS
from .callables import EstimatorScorer, refuse_bare
from .contract import Metric
from .givenlosses import find_loss
from .known import CLASSES, LOSSES, NUMBERS, REFUSED, Given, Unknown
from .losses import NAMED, Loss
from .means import MeanMetric, mean_of_loss
from .orientation import AS_LOSS, NEGATED
from .pooled import PooledMetric
from .predictive import OWN_LOSSES, OWN_SCORES

__all__ = ["ScoringLike", "find_metrics", "loss_of_metric", "names_metric"]

ScoringLike: TypeAlias = str | Metric | Callable[..., Any] | Sequence[Any] | Mapping[str, Any] | None
"""What scoring may be given as: a name or scorer of scikit-learn, a callable (estimator, X, y), a `Metric`, or a list
or dict of such."""

FOR_CLASSES = "'accuracy', 'roc_auc', 'neg_log_loss' or 'balanced_accuracy'"
FOR_NUMBERS = "'neg_mean_squared_error', 'neg_mean_absolute_error' or 'r2'"
LOSSES_FOR_NUMBERS = "'squared_error' or 'absolute_error'"


def find_metrics(
    scoring: ScoringLike, loss: object, classes: ArrayLike | None, n_outputs: int = 1
) -> tuple[Metric, ...]:
    """The metrics asked for by ``scoring``, or by ``loss`` if that is None; the usual loss if both are.

    Parameters
    ----------
    scoring : str, scorer, callable (estimator, X, y), Metric, or a list, tuple or dict of them
    loss : name of a loss, Loss, or function of (y, prediction)
    classes : array or None
        The classes in their order, None for regression.
    n_outputs : int
        Columns of y in regression.
    """
    labels = None if classes is None else np.asarray(classes)
    if scoring is None:
        return (_of_loss(loss, labels),)
    return tuple(_of_scoring(one, name, labels, n_outputs) for name, one in _listed(scoring))


def names_metric(loss: object) -> bool:
    """Whether a loss is not one of `losses`: it names a metric, rightly or in a way that asks for a hint."""
    if isinstance(loss, str):
        known = {*LOSSES, *OWN_LOSSES, *METRIC_HINTS}
        return loss not in NAMED and (loss in known or loss in _scorer_names())
    return _is_scorer(loss)


def loss_of_metric(metric: Metric, classes: ArrayLike | None = None) -> Loss | None:
    """The loss of `losses` whose mean a metric is, which routes compute themselves; None if it is none."""
    return metric.loss if isinstance(metric, MeanMetric) else None


# ------------------------------------------------------------------------------ loss=


def _of_loss(loss: object, labels: AnyArray | None) -> Metric:
    """A mean of row losses by the name of a loss, shown as it is."""
    if _is_scorer(loss):
        raise DataError("loss= is smaller the better, and a scorer greater the better: give it as scoring=.")
    if not isinstance(loss, str) or not names_metric(loss):
        return mean_of_loss(find_loss(loss, labels))
    if loss in OWN_LOSSES:
        return _own(OWN_LOSSES[loss], f"loss={loss!r}", labels)
    if loss not in LOSSES:
        raise DataError(f"loss={loss!r} is not the name of a loss: {_hint(loss, 'loss')}")
    import sklearn.metrics  # here: it takes as long to load as all of onefit

    function = getattr(sklearn.metrics, LOSSES[loss])
    table = _table(LOSSES[loss], f"loss={loss!r}", labels)
    return table[LOSSES[loss]](Given(loss, function, {}, "predict_proba", labels, AS_LOSS))


def _own(metric: Metric, what: str, labels: AnyArray | None) -> Metric:
    """A metric of numbers that scikit-learn does not have."""
    if labels is not None:
        raise DataError(f"{what} is of numbers, and the estimator predicts classes; use one such as {FOR_CLASSES}.")
    return metric


# ------------------------------------------------------------------------------ scoring=


def _listed(scoring: object) -> Iterable[tuple[str, object]]:
    """Names and scorers, in their order."""
    if isinstance(scoring, Mapping):
        pairs = list(scoring.items())
    elif isinstance(scoring, list | tuple):
        pairs = [(_name_of(one), one) for one in scoring]
    elif isinstance(scoring, set | frozenset):
        raise DataError("scoring is a set, which has no order, and results speak of the first metric: give a list.")
    else:
        pairs = [(_name_of(scoring), scoring)]
    if not pairs:
        raise DataError("scoring is empty: give at least one metric, or leave it out for the usual loss.")
    names = [name for name, _ in pairs]
    if not all(isinstance(name, str) and name for name in names):
        raise DataError("The keys of a dict of scoring are names of metrics, and must be text.")
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise DataError(
            f"scoring names {', '.join(sorted(twice))} more than once; give a dict with a name of its own for each."
        )
    return pairs


def _of_scoring(one: object, name: str, labels: AnyArray | None, n_outputs: int) -> Metric:
    """One metric, shown so that greater is better."""
    if isinstance(one, Metric):
        return one if one.name == name else _renamed(one, name)
    if isinstance(one, str) and one in OWN_SCORES:
        own = _own(OWN_SCORES[one], f"scoring={one!r}", labels)
        return own if name == one else _renamed(own, name)
    if isinstance(one, str):
        one = _scorer_of_name(one)
    if _is_scorer(one):
        return _of_scorer(one, name, labels, n_outputs)
    if not callable(one):
        raise DataError(
            f"scoring={reprlib.repr(one)} is neither the name of a scorer nor one; give a name such as {FOR_CLASSES} "
            f"for classes, {FOR_NUMBERS} for numbers, make_scorer(...), or a list or dict of them."
        )
    refuse_bare(one, name)
    return EstimatorScorer(name, one)


def _renamed(metric: Metric, name: str) -> Metric:
    """A metric under the name that a dict gives it."""
    other = copy(metric)
    object.__setattr__(other, "name", name)  # whether or not it is frozen
    return other


def _of_scorer(scorer: Any, name: str, labels: AnyArray | None, n_outputs: int) -> Metric:
    """A scorer of scikit-learn: the metric that its function is known to be, or a function of pooled predictions."""
    function, sign = scorer._score_func, int(scorer._sign)
    key = str(getattr(function, "__name__", ""))
    is_own = str(getattr(function, "__module__", "")).startswith("sklearn.metrics.")
    options = _options(function, scorer._kwargs)
    given = Given(name, function, options, _response(scorer._response_method), labels, NEGATED)
    if is_own:
        if key in REFUSED:
            raise DataError(f"{name} has no interval: {REFUSED[key]}.")
        if ".cluster." in function.__module__:
            raise DataError(
                f"{name} compares two ways of grouping rows (clustering) and does not see which class is which; for "
                f"predicted classes use {FOR_CLASSES}."
            )
        table = _table(key, f"scoring={name!r}", labels)
        if key in table:
            _check_sign(given, key, sign)
            _check_response(given, key)
            try:
                return table[key](_with_outputs(given, n_outputs))
            except Unknown:
                pass
    return _pooled(given, function, sign)


def _pooled(given: Given, function: Callable[..., Any], sign: int) -> Metric:
    """A function that is not known, or not with these options."""
    parameters = _parameters(function)
    positive = 1
    if given.n_classes == 2 and given.response != "predict":
        default = parameters["pos_label"].default if "pos_label" in parameters else None
        positive = given.positive(default)
    call = partial(function, **given.options) if given.options else function
    takes_weights = "sample_weight" in parameters
    return PooledMetric(given.name, call, given.response, sign, takes_weights=takes_weights, positive=positive)


def _with_outputs(given: Given, n_outputs: int) -> Given:
    """Without the option that says how outputs are averaged: each has a figure of its own."""
    options = dict(given.options)
    average = options.pop("multioutput", "uniform_average")
    if n_outputs > 1 and not (isinstance(average, str) and average in ("uniform_average", "raw_values")):
        raise DataError(
            f"{given.name} has multioutput={reprlib.repr(average)}, and onefit gives a figure for each column of y; "
            "leave it out."
        )
    return Given(given.name, given.function, options, given.response, given.labels, given.shown)


def _table(key: str, what: str, labels: AnyArray | None) -> Mapping[str, Callable[[Given], Metric]]:
    """The known functions of the task; those of the other one are refused."""
    if labels is None and key in CLASSES:
        raise DataError(
            f"{what} is of classes, and the estimator predicts numbers; use one such as "
            f"{LOSSES_FOR_NUMBERS if what.startswith('loss') else FOR_NUMBERS}, or, if y holds classes, a classifier."
        )
    if labels is not None and key in NUMBERS:
        raise DataError(f"{what} is of numbers, and the estimator predicts classes; use one such as {FOR_CLASSES}.")
    return NUMBERS if labels is None else CLASSES


def _check_sign(given: Given, key: str, sign: int) -> None:
    """Refuse make_scorer(mean_squared_error), which says that a larger error is better."""
    greater = key.endswith("_score") or key in ("matthews_corrcoef", "positive_likelihood_ratio")
    if greater != (sign > 0):
        raise DataError(
            f"{given.name} says that a {'smaller' if greater else 'larger'} {key} is better, and the opposite is true: "
            f"use make_scorer({key}, greater_is_better={greater}, ...)."
        )


def _check_response(given: Given, key: str) -> None:
    """Refuse a function of probabilities that is to get classes, and the other way round."""
    if given.labels is None:
        return
    if key in ("log_loss", "brier_score_loss", "d2_log_loss_score", "d2_brier_score"):
        wanted: tuple[str, ...] = ("predict_proba",)
    elif key in ("roc_auc_score", "average_precision_score"):
        wanted = ("scores", "predict_proba", "decision_function", "predict")
    elif key == "top_k_accuracy_score":
        wanted = ("scores", "predict_proba", "decision_function")
    else:
        wanted = ("predict",)
    if given.response not in wanted:
        method = '("decision_function", "predict_proba")' if wanted[0] == "scores" else f'"{wanted[0]}"'
        raise DataError(f"{given.name} gives {key} what {given.response} returns; it needs response_method={method}.")


# ------------------------------------------------------------------------------ scorers of scikit-learn


def _is_scorer(one: object) -> bool:
    """Whether something is what make_scorer makes."""
    return hasattr(one, "_score_func") and hasattr(one, "_sign") and hasattr(one, "_response_method")


def _response(method: object) -> str:
    """Kind of response; of several that would do, the decision first unless the user says otherwise."""
    if isinstance(method, str):
        return method
    methods = tuple(method) if isinstance(method, list | tuple) else ("predict",)
    return "scores" if methods[:2] == ("decision_function", "predict_proba") else str(methods[0])


def _parameters(function: Callable[..., Any]) -> Mapping[str, inspect.Parameter]:
    try:
        return inspect.signature(function).parameters
    except (TypeError, ValueError):
        return {}


def _options(function: Callable[..., Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Keywords that differ from the defaults of the function."""
    parameters = _parameters(function)
    options = dict(given)
    for key, value in given.items():
        default = parameters[key].default if key in parameters else inspect.Parameter.empty
        if value is default or (
            isinstance(value, str | float | int) and type(value) is type(default) and value == default
        ):
            del options[key]
    return options


def _scorer_names() -> list[str]:
    from sklearn.metrics import get_scorer_names  # here: it takes as long to load as all of onefit

    return list(get_scorer_names())


def _scorer_of_name(name: str) -> object:
    from sklearn.metrics import get_scorer

    if name not in _scorer_names():
        raise DataError(f"scoring={name!r} is not the name of a scorer: {_hint(name, 'scoring')}")
    return get_scorer(name)


def _name_of(one: object) -> str:
    """The name of a scorer; one of scikit-learn's goes by its own."""
    if isinstance(one, str):
        return one
    if isinstance(one, Metric):
        return one.name
    if _is_scorer(one):
        from sklearn.metrics import get_scorer

        same = (name for name in _scorer_names() if repr(get_scorer(name)) == repr(one))
        function = one._score_func  # type: ignore[attr-defined]
        plain = getattr(function, "__name__", type(function).__name__)
        return next(same, plain if one._sign > 0 else f"neg_{plain}")  # type: ignore[attr-defined]
    return str(getattr(one, "__name__", type(one).__name__))


def _hint(name: str, keyword: str) -> str:
    """What was probably meant."""
    known = METRIC_HINTS.get(name.lower().replace("-", "_").replace(" ", "_"))
    if known is not None:
        scoring, loss = known
        by_scoring = f"scoring={scoring!r}, where greater is better"
        by_loss = f", or loss={loss!r}, where smaller is" if loss else ""
        return f"use {by_scoring}{by_loss}. {COMING_FROM}"
    names = _scorer_names()
    if keyword == "loss" and name in names:
        return f"it is a score, where greater is better; use scoring={name!r}."
    if keyword == "scoring" and (name in NAMED or name in LOSSES):
        return f"it is a loss, where smaller is better; use loss={name!r}."
    close = difflib.get_close_matches(name, names, n=3)
    if close:
        return "did you mean " + " or ".join(map(repr, close)) + "?"
    return (
        f"use one such as {FOR_CLASSES} for classes, or {FOR_NUMBERS} for numbers; sklearn.metrics.get_scorer_names() "
        "lists all."
    )
