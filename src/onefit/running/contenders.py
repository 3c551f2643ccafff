"""Models, and values of parameters, as learners: what any of them can be computed by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from itertools import groupby

from ..errors import DataError, OneFitError
from ..learners import Learner, Path, RefitLearner, Refusal, Task, adapt, free_columns, frozen, has_cut_off, told_of_cut
from ..typing import Estimator
from ..vocabulary import PREDICTIVE
from .asking import METHODS

__all__ = ["Contender", "candidates_of", "named_contenders"]

MOST_VALUES_BYTES = 2**30
"""Of the designs of a path of models, each of its own."""


@dataclass(frozen=True)
class Contender:
    """What stands on the axis of parameter values: one estimator, or one at each value of a path.

    ``name`` is what errors call it, if there are others.
    """

    estimators: tuple[Estimator, ...]
    path: Path | None = None
    name: str = ""


def named_contenders(estimators: Mapping[str, Estimator]) -> list[Contender]:
    """Models to compare, by their names."""
    if not isinstance(estimators, Mapping) or len(estimators) < 2:
        raise DataError('estimators must be a dictionary of at least two, such as {"ridge": Ridge(), "ols": ...}.')
    contenders = [Contender((estimator,), name=str(name)) for name, estimator in estimators.items()]
    if len({each.name for each in contenders}) < len(contenders):
        raise DataError("Two models have the same name; name each differently.")
    return contenders


def candidates_of(contender: Contender, task: Task, asked: str) -> list[list[Learner]]:
    """Learners of a contender, the fast one first if there is one; or of its values, each a model of its own."""
    refusal = Refusal("asked for")
    if asked != "refit":
        try:
            found = adapt(contender.estimators[0], task, contender.path)
        except OneFitError as error:
            raise error.named(contender.name) from error.__cause__
        if isinstance(found, Learner):
            found = _that_responds(found, task)
        if isinstance(found, Learner):
            if contender.path is None:
                found = _cautious(found, contender.estimators[0], task)
            return [[found, _refitted(contender, task, Refusal("no fast route serves what it says of itself"))]]
        refusal = found
        if contender.path is not None and (each := _value_by_value(contender, task)):
            return each
    return [[_refitted(contender, task, refusal)]]


def _value_by_value(contender: Contender, task: Task) -> list[list[Learner]]:
    """The learners of a path each of whose values is a model of its own; none if all of them are refitted anyway.

    Values that are refitted, one after the other, are one candidate.
    """
    found: list[Learner | Refusal] = []
    for estimator in contender.estimators:
        found.append(_adapt_or_refuse(estimator, task))
        size = 8.0 * task.problem.n * getattr(found[-1], "width", 0) * len(contender.estimators)
        if size > MOST_VALUES_BYTES:
            return []
    if not any(isinstance(each, Learner) for each in found):
        return []
    candidates: list[list[Learner]] = []
    for is_fast, run in groupby(zip(contender.estimators, found, strict=True), lambda one: isinstance(one[1], Learner)):
        if is_fast:
            for estimator, learner in run:
                assert isinstance(learner, Learner)
                alone = Contender((estimator,))
                learner = _cautious(learner, estimator, task)
                candidates.append(
                    [learner, _refitted(alone, task, Refusal("no fast route serves what it says of itself"))]
                )
        else:
            estimators, refusals = zip(*run, strict=True)
            candidates.append([_refitted(Contender(estimators), task, refusals[0])])
    return candidates


def _adapt_or_refuse(estimator: Estimator, task: Task) -> Learner | Refusal:
    """The learner of one value; what is wrong with it is said by its fits, and is no fault of the other values."""
    try:
        found = adapt(estimator, task)
        return _that_responds(found, task) if isinstance(found, Learner) else found
    except OneFitError as error:
        return Refusal(str(error))


def _that_responds(learner: Learner, task: Task) -> Learner | Refusal:
    """The learner, if it can say what the metrics need to know."""
    is_of_classes = task.problem.classes is not None
    kinds = task.responses - {"predict"} if is_of_classes else task.responses & {PREDICTIVE}
    own = any(hasattr(metric, "score_rows") for metric in task.metrics)
    lacking = {kind for kind in kinds if not learner.responses & set(METHODS.get(kind, (kind,)))}
    if own:
        return Refusal("a scorer of (estimator, X, y) needs fitted estimators")
    if not lacking:
        return learner
    if lacking == {PREDICTIVE}:
        return Refusal("its standard deviations are known of fitted estimators only")
    return Refusal(f"its {sorted(lacking)[0]} is known of fitted estimators only")


def _cautious(learner: Learner, estimator: Estimator, task: Task) -> Learner:
    """The learner, which says where scikit-learn's least squares drops directions."""
    return learner.with_caution(partial(told_of_cut, estimator, task)) if has_cut_off(estimator) else learner


def _refitted(contender: Contender, task: Task, refusal: Refusal) -> RefitLearner:
    """What is fitted if no fast route serves."""
    return RefitLearner(
        contender.estimators, refusal, lambda each: frozen(each, task), lambda each: free_columns(each, task)
    )
