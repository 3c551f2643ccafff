"""Estimators -> models of a table, made from some of its rows, or why there are none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.pipeline import Pipeline

from ..errors import RouteError
from ..inference.intervals import Rule
from ..learners import (
    EncodedFamily,
    EncodedLearner,
    GLMLearner,
    Learner,
    RefitLearner,
    Refusal,
    ScaledLearner,
    SearchedGLM,
    SearchedLearner,
    Task,
    adapt,
)
from ..learners.glm_families import Family
from ..learners.steps import encode_steps
from ..learners.transformed import is_stateless, steps_of
from ..routes.streams import (
    StreamedModel,
    encoded_model,
    glm_model,
    searched_model,
    streamed_model,
)
from ..routes.streams.glmpasses import refuse_faults
from ..routes.streams.measuring import in_passes
from ..routes.streams.models import IN_MEMORY, runs_of
from ..routes.streams.rows import numbers_of
from ..routes.streams.searched import refuse_iterated
from ..routes.streams.survey import Survey, with_facts
from ..sources import Table
from ..validation import Problem, check_problem, numeric_matrix
from .asking import Question, ask
from .contenders import Contender, candidates_of
from .settings import Settings

__all__ = ["TableRoles", "constant_of", "make_models", "name_first_fault", "name_first_missing"]

SAMPLE_ROWS, SAMPLE_WIDTHS = 4096, 8
"""Rows that coordinates are made from, at least; and at least so many for each column."""


@dataclass(frozen=True)
class TableRoles:
    """Names of columns."""

    features: tuple[str, ...]
    y: str
    groups: str | None
    weights: str | None


def make_models(
    contenders: Sequence[Contender], found: Survey, roles: TableRoles, settings: Settings, rule: Rule
) -> tuple[pd.DataFrame, Task, Question, list[Learner], list[StreamedModel]]:
    """Models of the columns, from rows that were drawn, and what is asked of them."""
    problem, frame = _problem(contenders, found, roles)
    question = ask(settings.scoring, settings.loss, problem, [c.estimators[0] for c in contenders], rule, False)
    question = _of_passes(question, roles.weights is not None)
    needs = {"fold variance": rule.needs_v_out, "pair scatter": rule.needs_pair_scatter}
    needed = frozenset(name for name, is_needed in needs.items() if is_needed)
    task = Task(problem, question.loss, rule, settings.transformers, needed, question.metrics)
    learners, models = list[Learner](), list[StreamedModel]()
    for contender in contenders:
        for each in candidates_of(contender, task, "auto"):
            learners.append(_learner(each, contender, found))
            models += [_model(run, problem, roles, contender) for run in runs_of(learners[-1])]
    return frame, task, question, learners, models


def _of_passes(question: Question, has_weights: bool) -> Question:
    """The question; if passes over rows give its metrics, without what comes beside those that were asked for."""
    metrics = tuple(metric for metric in question.metrics if not metric.is_extra)
    if not all(in_passes(metric, has_weights) for metric in metrics):
        return question
    return Question(question.loss, metrics, tuple(each for each in question.asked if not each.is_extra))


def _problem(contenders: Sequence[Contender], found: Survey, roles: TableRoles) -> tuple[Problem, pd.DataFrame]:
    """Some rows as a problem in memory, of which learners are made; rows in which something is missing are left out."""
    size = max(SAMPLE_ROWS, SAMPLE_WIDTHS * len(roles.features))
    names = (*roles.features, roles.y, *filter(None, [roles.weights]))
    frame = found.frame(names, size)
    numeric = frame[[roles.y]] if set(found.facts) & set(roles.features) else frame.select_dtypes("number")
    with np.errstate(invalid="ignore"):
        seen = np.isfinite(pd.DataFrame(numeric).select_dtypes("number").to_numpy(dtype=np.float64)).all(axis=1)
    if seen.sum() >= 3:
        frame = frame[seen].reset_index(drop=True)
    if found.facts:
        frame = with_facts(frame, found.facts)
    weights = None if roles.weights is None else frame[roles.weights].to_numpy(dtype=np.float64)
    estimators = [contender.estimators[0] for contender in contenders]
    if weights is not None and not (weights >= 0).all():
        weights = np.abs(weights)  # the pass will name the row
    return check_problem(estimators, frame[list(roles.features)], frame[roles.y].to_numpy(), weights), frame


def name_first_missing(table: Table, roles: TableRoles) -> None:
    """Raise an error that names the first row in which a number is missing, if there is one."""
    start, numeric = 0, [name for name in roles.features if table.column(name).kind == "number"]
    for block in table.blocks((*numeric, roles.y)):
        if numeric:
            numbers_of(block, numeric, start, "X")
        start += block.n_rows


def name_first_fault(table: Table, roles: TableRoles, family: Family) -> None:
    """Raise an error that names the first row whose y the loss of a family is not made for."""
    start = 0
    for block in table.blocks((roles.y,)):
        refuse_faults(family, block.numbers([roles.y])[:, 0], roles.y, start)
        start += block.n_rows


def _learner(candidate: Sequence[Learner], contender: Contender, found: Survey) -> Learner:
    learner = candidate[0]
    if isinstance(learner, RefitLearner):
        reason = str(learner.refusal).rstrip(".")
        gaps = [name for name, facts in found.facts.items() if facts.has_missing]
        if "missing values" in reason and gaps:
            reason += f" (values are missing in {', '.join(map(repr, gaps[:8]))})"
        error = RouteError(
            f"The rows stay where they are, and this model would have to be refitted to them: {reason}. Read a part "
            "into memory: table.sample(n, random_state)."
        )
        raise error.named(contender.name)
    return learner


def _model(learner: Learner, problem: Problem, roles: TableRoles, contender: Contender) -> StreamedModel:
    kinds: dict[type, Any] = {
        EncodedLearner: encoded_model,
        EncodedFamily: encoded_model,
        GLMLearner: glm_model,
        SearchedGLM: refuse_iterated,
        SearchedLearner: searched_model,
    }
    found: StreamedModel | Refusal
    if any(is_stateless(step) for step in _steps(contender.estimators[0])):
        found = Refusal("it has a step that learns nothing, which may not give the same in other rows", IN_MEMORY)
    else:
        learner = _with_constants(learner, problem, contender.estimators[0])
        found = streamed_model(learner, problem, roles.features, kinds)
    if isinstance(found, Refusal):
        error = RouteError(f"The rows stay where they are, and this model cannot do with that: {found}.")
        raise error.named(contender.name)
    return found


def _with_constants(learner: Learner, problem: Problem, estimator: Any) -> Learner:
    """A ridge regression on scaled columns, one of which is constant: triangular factors would have no inverse."""
    if not isinstance(learner, ScaledLearner) or learner.tuned is not None:
        return learner
    X = numeric_matrix(problem)
    if (X.min(axis=0) < X.max(axis=0)).all():
        return learner
    return EncodedLearner(encode_steps(_steps(estimator), problem), learner.smoother.lams, None, True)


def _steps(estimator: Any) -> list[Any]:
    return steps_of(estimator) if isinstance(estimator, Pipeline) else []


def constant_of(task: Task) -> Learner:
    """What the best constant is as a learner, for results."""
    found = adapt(DummyRegressor() if task.problem.classes is None else DummyClassifier(strategy="prior"), task)
    assert isinstance(found, Learner)
    return found
