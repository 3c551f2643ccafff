"""Keywords that people bring from other libraries: refused with the word that is used here."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import ParamSpec, TypeVar

from ..checks import did_you_mean
from ..errors import COMING_FROM, KeywordError
from .waiting import while_at_work

__all__ = ["check_keywords", "with_hints"]

P = ParamSpec("P")
T = TypeVar("T")

SEARCH = (
    "for the error of a search, pass the search itself: nested_cv(GridSearchCV(model, param_grid), X, y); for that of "
    "every value, error_curve(model, X, y, param_name=..., param_range=...)"
)
CURVE = 'the error at each value is error_curve(model, X, y, param_name="alpha", param_range=...)'
HABITS: dict[str, str] = {
    "n_splits": "the number of folds is n_folds= or cv=",
    "k": "the number of folds is n_folds= or cv=",
    "K": "the number of folds is n_folds= or cv=",
    "nfolds": "the number of folds is n_folds= or cv=",
    "repeats": "the number of random partitions is n_repeats=",
    "param_grid": SEARCH,
    "param_distributions": SEARCH,
    "params": "weights of the rows are sample_weight=, and other parameters are set in the model itself",
    "fit_params": "weights of the rows are sample_weight=, and other parameters are set in the model itself",
    "weights": "weights of the rows are sample_weight=",
    "score": "scores are scoring=, losses loss=",
    "metric": "scores are scoring=, losses loss=",
    "metrics": "scores are scoring=, losses loss=",
    "method": "the interval is chosen by interval=, and how it is computed by route=",
    "alpha": f"the level is confidence_level=, 0.95 for what others call alpha=0.05; of a penalty {CURVE}",
    "level": "the level is confidence_level=",
    "seed": "the seed of the partitions is random_state=",
    "shuffle": "folds are always drawn at random, unless folds= gives them; random_state= is their seed",
    "stratify": (
        "folds of classes are stratified without being asked, those of whole groups by "
        "cv=StratifiedGroupKFold(5, shuffle=True)"
    ),
    "verbose": "progress=True shows a bar",
    "param_values": "the values of the curve are param_range=",
    "alphas": CURVE,
    "lambdas": CURVE,
    "lam": CURVE,
    "return_estimator": "it is return_estimators= here",
    "return_train_score": "errors on training rows are not computed: they say nothing of new data",
    "return_indices": "folds can be given by folds=, so that they are known",
    "error_score": "a training set that cannot be fitted is an error, and in error_curve and compare a reason",
    "pre_dispatch": "n_jobs= is enough",
    "n_bootstrap": "nothing is resampled; n_repeats= is the number of random partitions",
}
"""By keyword, what is said here instead."""

TOO_MANY = (
    "{name} takes {places} without their names, and all else by name, such as n_folds=5; several models are one "
    'argument, a dict: compare({{"one": model, "other": model}}, X, y). {coming}'
)


MISSING: dict[str, str] = {
    "estimator": "a model with fit and predict, such as Ridge()",
    "estimators": 'a dict of models, such as {"ridge": Ridge(), "forest": RandomForestRegressor()}',
    "X": "the columns to predict from, an array or a DataFrame",
    "y": (
        "what is to be predicted, an array with a value for each row of X, or the name of a column of X if that is a "
        'DataFrame, such as y="price"'
    ),
    "param_name": 'the parameter that changes along the curve, such as param_name="alpha"',
    "param_range": "the values of the parameter, such as param_range=[0.1, 1, 10]",
}
"""By argument that has no default, what it may be."""


def with_hints(function: Callable[P, T]) -> Callable[P, T]:
    """The function, which names the right word for a keyword that it does not have, and says that it is at work.

    Of a function that takes any keywords only the places are checked.
    """
    known = inspect.signature(function).parameters
    places = [name for name, one in known.items() if one.kind is one.POSITIONAL_OR_KEYWORD]

    @functools.wraps(function)
    def checked(*arguments: P.args, **keywords: P.kwargs) -> T:
        if len(arguments) > len(places):
            raise KeywordError(TOO_MANY.format(name=function.__name__, places=", ".join(places), coming=COMING_FROM))
        if not any(one.kind is one.VAR_KEYWORD for one in known.values()):
            check_keywords(function.__name__, keywords, known)
        _check_missing(function.__name__, places[: len(arguments)], keywords, known)
        if "progress" not in known:
            return function(*arguments, **keywords)
        with while_at_work(keywords.get("progress")) as bar:
            keywords["progress"] = bar
            return function(*arguments, **keywords)

    return checked


def _check_missing(
    function: str, by_place: Sequence[str], keywords: Collection[str], known: Mapping[str, inspect.Parameter]
) -> None:
    """Refuse a call that lacks an argument, and say what that is."""
    for name, one in known.items():
        if one.default is one.empty and one.kind is not one.VAR_KEYWORD and name not in (*by_place, *keywords):
            raise KeywordError(f"{function} needs {name}: {MISSING[name]}.")


def check_keywords(function: str, keywords: Iterable[str], known: Collection[str]) -> None:
    """Refuse a keyword that is not known, with the one that was probably meant."""
    for name in keywords:
        if name not in known:
            meant = did_you_mean(name, known)
            words = (
                f": {HABITS[name]}." if name in HABITS else f"; {meant}" if meant else f"; it has {', '.join(known)}."
            )
            raise KeywordError(f"{function} has no keyword {name!r}{words} {COMING_FROM}")
