"""GridSearchCV, RandomizedSearchCV, RidgeCV(cv=...), LassoCV: what they search, by which splits and scores."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from sklearn.base import clone
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import LogisticRegressionCV, Ridge, RidgeClassifier, RidgeClassifierCV, RidgeCV
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    GroupShuffleSplit,
    KFold,
    LeaveOneGroupOut,
    LeaveOneOut,
    LeavePGroupsOut,
    ParameterGrid,
    ParameterSampler,
    RandomizedSearchCV,
    RepeatedKFold,
    RepeatedStratifiedKFold,
    ShuffleSplit,
    StratifiedGroupKFold,
    StratifiedKFold,
    StratifiedShuffleSplit,
    TimeSeriesSplit,
    check_cv,
)
from sklearn.pipeline import Pipeline

from ..errors import DataError, RouteError
from ..metrics.losses import Classes
from ..typing import Estimator
from .contract import Learner, Path, Task
from .encoded import EncodedLearner
from .encoding import Block, Encoding
from .fixedfeatures import FixedFeatures
from .glm import GLMLearner
from .glm_searched import SearchedGLM, glm_score, logistic_candidates, tight_glm
from .lasso_cv import is_path_search, path_learners, tightened
from .refitted import fit_parameters, is_routed, weight_name
from .searched import ERRORS, Held, InnerScore, SearchedLearner
from .steps import encode_steps
from .steps.table import RawTable
from .transformed import steps_of

__all__ = ["LastSteps", "is_search", "searched"]

SPLITTERS = (
    KFold,
    LeaveOneOut,
    RepeatedKFold,
    RepeatedStratifiedKFold,
    ShuffleSplit,
    StratifiedKFold,
    StratifiedShuffleSplit,
    TimeSeriesSplit,
)
"""Those that split rows by their number, or by y."""

BY_GROUPS = (GroupKFold, GroupShuffleSplit, LeaveOneGroupOut, LeavePGroupsOut, StratifiedGroupKFold)
"""And those that keep groups together."""


MOST_BYTES = 2**28
"""Memory of the products of columns in all splits of a training set; systems take a few times that."""


def is_search(estimator: object) -> bool:
    """Whether an estimator searches among candidates by splits of the rows that it is fitted to."""
    if type(estimator) in (RidgeCV, RidgeClassifierCV):
        return getattr(estimator, "cv", None) is not None
    return is_path_search(estimator) or type(estimator) in (GridSearchCV, LogisticRegressionCV, RandomizedSearchCV)


class LastSteps(NamedTuple):
    """What is known of last steps: the name of their penalty, and how to make learners of them, or raise RouteError."""

    penalty_of: Callable[[object], str | None]
    make: Callable[[Any, Task, Path | None, Encoding], Learner]


_Before: TypeAlias = tuple[RawTable | Block, FixedFeatures]
"""What steps are given, and the fixed features that they add to."""


class _Asked(NamedTuple):
    """What is searched."""

    estimator: Estimator
    candidates: list[dict[str, Any]]


class _Group(NamedTuple):
    """Candidates that differ in the penalty of the last step alone."""

    estimator: Estimator
    penalties: list[object]


def searched(
    estimator: Any, steps: Sequence[Any], search: Any, task: Task, last_steps: LastSteps
) -> SearchedLearner | SearchedGLM:
    """An estimator that is a search, behind steps that learn from the whole training set; or RouteError."""
    name, problem = type(search).__name__, task.problem
    of_version = is_path_search(search) or type(search) is LogisticRegressionCV
    if problem.weights is not None and (is_routed(estimator) or of_version):
        raise RouteError(f"weights may be routed to the splits and scores inside {name}")
    groups_inside = fit_parameters(estimator, None, problem.groups).get("groups")
    splitter = _splitter(search, task, groups_inside is not None)
    before = _before(steps, task)
    learners: Sequence[Learner]
    if is_path_search(search):
        learners = path_learners(search, task, encode_steps([], problem, before))
        places = [(group, value) for group, each in enumerate(learners) for value in range(each.n_values)]
        estimator = tightened(estimator)
    else:
        groups, places = _groups(_asked(search, task), last_steps)
        learners = [_learner(group, before, task, last_steps) for group in groups]
    has_weights = problem.weights is not None and _weighs_scores(search)
    found: SearchedLearner | SearchedGLM
    iterated = [learner for learner in learners if isinstance(learner, GLMLearner)]
    if iterated:
        _check_iterated(iterated, learners, name)
        for learner in iterated:
            learner.is_behind_steps = bool(steps)
        score_inside = glm_score(search, task, iterated[0], has_weights)
        found = SearchedGLM(iterated, places, splitter, score_inside, tight_glm(estimator), task)
    else:
        encoded = [learner for learner in learners if isinstance(learner, EncodedLearner)]
        score = replace(_score(search, task), is_weighted=has_weights)
        found = SearchedLearner(encoded, places, splitter, score, estimator, task)
    found.groups_inside = groups_inside
    if found.width >= problem.n:
        raise RouteError(f"{name} fits as many columns as rows, for which products of columns are no shortcut")
    if (found.n_splits + 1) * max(8 * found.width**2, 16 * problem.n) > MOST_BYTES:
        raise RouteError(f"{found.n_splits} splits of {found.width} columns in {name} take too much memory")
    return found


def _before(steps: Sequence[Any], task: Task) -> _Before:
    """What comes into the search: the table, or what the steps before it make of that."""
    problem = task.problem
    before: _Before = (RawTable.of(problem.X, problem.n), FixedFeatures(problem.n, problem.target))
    if not steps:
        return before
    outer = encode_steps(steps, problem, before)
    return Held(outer.block, outer.fixed), outer.fixed


def _check_iterated(iterated: Sequence[GLMLearner], learners: Sequence[Learner], name: str) -> None:
    """Refuse what cannot be iterated together."""
    if len(iterated) < len(learners):
        raise RouteError(f"{name} compares models that are iterated with others")
    if any(learner.may_have_no_fit for learner in iterated):
        raise RouteError(f"a candidate of {name} has no penalty, and may have no fit in some split")


def _asked(search: Any, task: Task) -> _Asked:
    """The estimator inside, and the candidates in the order of the search."""
    name = type(search).__name__
    if type(search) is LogisticRegressionCV:
        logistic, Cs = logistic_candidates(search, len(() if task.problem.classes is None else task.problem.classes))
        return _Asked(logistic, [{"C": C} for C in Cs])
    if type(search) in (RidgeCV, RidgeClassifierCV):
        if search.store_cv_results or getattr(search, "alpha_per_target", False):
            raise RouteError(f"{name} with cv stores no results, and has one alpha for all outputs")
        inner = (Ridge if type(search) is RidgeCV else RidgeClassifier)(fit_intercept=search.fit_intercept)
        if getattr(search, "class_weight", None) is not None:
            raise RouteError("class_weight changes the weights with the training set")
        return _Asked(inner, _listed(name, lambda: ParameterGrid({"alpha": np.asarray(search.alphas)})))
    if search.refit is not True:
        raise RouteError(f"{name} has refit={search.refit!r}, and only refit=True fits the best candidate by its score")
    if type(search) is GridSearchCV:
        return _Asked(search.estimator, _listed(name, lambda: ParameterGrid(search.param_grid)))
    if not isinstance(search.random_state, numbers.Integral):
        raise RouteError(f"{name} draws other candidates in every fit; give it a number as random_state")
    sampler = lambda: ParameterSampler(search.param_distributions, search.n_iter, random_state=search.random_state)  # noqa: E731
    return _Asked(search.estimator, _listed(name, sampler))


def _listed(name: str, make: Callable[[], Any]) -> list[dict[str, Any]]:
    """All candidates."""
    try:
        found = list(make())
    except (TypeError, ValueError) as error:
        raise RouteError(f"the candidates of {name} cannot be listed: {error}") from error
    if not found:
        raise RouteError(f"{name} has no candidates")
    return found


def _weighs_scores(search: Any) -> bool:
    """Whether scores inside a search are weighted: if the weights of its fit are its own, not those of a step."""
    return weight_name(search) == "sample_weight" and _scores_are_weighted()


@cache
def _scores_are_weighted() -> bool:
    """Whether this version of scikit-learn hands the weights of a fit on to the scores inside; tried out."""
    search = GridSearchCV(
        DummyRegressor(strategy="constant"), {"constant": [0.0]}, cv=KFold(2), scoring="neg_mean_squared_error"
    )
    search.fit(np.zeros((4, 1)), np.arange(4.0), sample_weight=np.array([1.0, 3.0, 1.0, 3.0]))
    return bool(search.best_score_ < -np.square(np.arange(4.0)).mean())


def _splitter(search: Any, task: Task, has_groups: bool) -> Any:
    """How rows are split; it gives the same splits whenever it is asked."""
    name, cv = type(search).__name__, search.cv
    if cv is not None and not isinstance(cv, numbers.Integral) and not hasattr(cv, "split"):
        raise DataError(
            f"{name} has a list of splits as cv: these are rows of one table, and it is fitted to many training sets; "
            "give it a number of folds, or a splitter such as KFold."
        )
    try:
        splitter = check_cv(cv, task.problem.target, classifier=task.problem.classes is not None)
    except ValueError as error:
        raise RouteError(f"its cv cannot be read: {error}") from error
    kind = type(splitter).__name__
    if type(splitter) in BY_GROUPS and not has_groups:
        raise RouteError(
            f"{kind} inside {name} gets groups only from nested_cv(groups=...), and if scikit-learn's metadata routing "
            "is enabled"
        )
    if type(splitter) not in (*SPLITTERS, *BY_GROUPS):
        raise RouteError(f"{kind} inside {name} may split by more than the number of rows and y")
    draws = getattr(splitter, "shuffle", hasattr(splitter, "random_state"))
    if draws and not isinstance(splitter.random_state, numbers.Integral):
        raise RouteError(f"{kind} inside {name} splits otherwise in every fit; give it a number as random_state")
    return splitter


def _score(search: Any, task: Task) -> InnerScore:
    """How candidates are scored."""
    if is_path_search(search):
        return InnerScore("neg_mean_squared_error", None)
    classes, scoring = task.problem.classes, search.scoring
    known = ("r2", *ERRORS) if classes is None else ("accuracy",)
    if scoring is None:
        scoring = known[0]
    if not isinstance(scoring, str) or scoring not in known:
        raise RouteError(f"scoring={scoring!r} is not one of {', '.join(known)}")
    return InnerScore(scoring, None if classes is None else Classes(np.asarray(classes)))


def _groups(asked: _Asked, last_steps: LastSteps) -> tuple[list[_Group], list[tuple[int, int]]]:
    """Groups of candidates, and where the candidates are there; what is given twice is there once."""
    groups: dict[Hashable, int] = {}
    made: list[_Group] = []
    places = dict[tuple[int, int], None]()
    for parameters in asked.candidates:
        penalty = _penalty_name(asked.estimator, parameters, last_steps)
        rest = {name: value for name, value in parameters.items() if name != penalty}
        key = (penalty in parameters, *((name, _identity(rest[name])) for name in sorted(rest)))
        if key not in groups:
            groups[key] = len(made)
            made.append(_Group(_with(asked.estimator, rest), []))
        values = made[groups[key]].penalties
        value = parameters.get(penalty) if penalty is not None else None
        if not isinstance(value, numbers.Real | None):
            raise RouteError(f"{penalty}={value!r} is not a number")
        if value not in values:
            values.append(value)
        places[groups[key], values.index(value)] = None
    return made, list(places)


def _identity(value: object) -> Hashable:
    """What is the same for the same value; objects of a grid are the same in all of its candidates."""
    return (type(value), value) if isinstance(value, str | numbers.Number | None) else id(value)


def _penalty_name(estimator: Any, parameters: Mapping[str, Any], last_steps: LastSteps) -> str | None:
    """The parameter of a search that is the penalty of the last step."""
    if type(estimator) is not Pipeline:
        return last_steps.penalty_of(estimator)
    name, last = estimator.steps[-1]
    penalty = last_steps.penalty_of(parameters.get(name, last))
    return None if penalty is None else f"{name}__{penalty}"


def _with(estimator: Any, parameters: Mapping[str, Any]) -> Estimator:
    """A copy with some parameters set, as the search does it."""
    try:
        made: Estimator = clone(estimator).set_params(**clone(dict(parameters), safe=False))
    except (TypeError, ValueError) as error:
        raise RouteError(f"its candidates cannot be made: {error}") from error
    return made


def _learner(group: _Group, before: _Before, task: Task, last_steps: LastSteps) -> EncodedLearner | GLMLearner:
    """The learner of a group of candidates."""
    steps, last = list[Any](), group.estimator
    if isinstance(last, Pipeline):
        steps, last = list[Any](steps_of(last)), last.steps[-1][1]
    if steps and isinstance(before[0], Block):
        raise RouteError("steps inside the search stand behind others that learn")
    encoding = encode_steps(steps, task.problem, before)
    path = None if group.penalties == [None] else Path(str(last_steps.penalty_of(last)), tuple(group.penalties))
    try:
        learner = last_steps.make(last, task, path, encoding)
    except DataError as error:
        raise RouteError(f"a candidate cannot be fitted: {error}") from error  # which has a score in the search
    if isinstance(learner, GLMLearner):
        return learner
    if not isinstance(learner, EncodedLearner) or learner.needs_rows:
        raise RouteError(f"{type(last).__name__} tunes itself inside the search")
    return learner
