"""Arguments -> a job on a table whose rows stay where they are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import is_classifier
from sklearn.pipeline import Pipeline

from ..checks import check_choice, check_jobs, check_level
from ..errors import DataError, FoldError, RouteError, TrainingSetError
from ..folds import Folds, entropy_of
from ..inference.intervals import RULES
from ..inference.montecarlo import FAST
from ..learners import GLMLearner, Learner, Refusal, Task
from ..learners.glm import OutOfRangeError
from ..routes import Bid, Computation, FoldPlan, Partitions, Route, Ticks, Workers
from ..routes.streams import (
    Deal,
    GLMModel,
    MeanModel,
    ReadRows,
    RowReader,
    Sample,
    SearchedModel,
    StreamedComputation,
    StreamedModel,
    Target,
)
from ..routes.streams.glmfit import glm_numbers
from ..routes.streams.keeping import KeptScoring, refuse_many
from ..routes.streams.measuring import in_passes, metric_loss
from ..routes.streams.survey import Survey, SurveyPlan, survey
from ..sources import LocalRunner, PassRunner, Table, beside_dask, is_dask, is_remote, pieces_of
from ..sources.memoryparts import block_of_frame
from ..typing import IntArray
from ..vocabulary import ROUTES
from .asking import Question
from .contenders import Contender
from .job import Job
from .progress import Progress, check_progress
from .settings import Settings
from .streameddeal import deal_classes, deal_rows, groups_of
from .streamedmodels import TableRoles, constant_of, make_models, name_first_fault, name_first_missing
from .streamkeeping import StreamCheckpoint, stream_checkpoint

__all__ = ["make_streamed_job"]

MOST_BYTES = 2**30
"""What statistics and sums of all repeats may take."""

Y, GROUPS, WEIGHTS = "__y__", "__groups__", "__sample_weight__"
"""Names of vectors that are given beside a table."""

REASON = "the rows stay where they are, and are read twice, whatever the repeats, values and models"


ITERATED = "the rows stay where they are, and are read once for every iteration of all training sets together"


@dataclass(frozen=True)
class _Source:
    """Where folds come from, as results ask for it."""

    n: int
    n_folds: int
    is_exhaustive: bool = False

    def block(self, start: int, stop: int) -> Folds:
        raise NotImplementedError


@dataclass(frozen=True)
class TableRoute(Route):
    """Two passes over a table."""

    computation: StreamedComputation

    name = "gram"

    def offer(self, learners: Sequence[Learner], task: Task, plan: FoldPlan) -> Refusal:
        """It is the only one that tables have."""
        return Refusal("it serves tables")

    def begin(
        self, learners: Sequence[Learner], task: Task, partitions: Partitions, workers: Workers, ticks: Ticks
    ) -> Computation:
        """Everything is known."""
        return self.computation


@dataclass(frozen=True)
class IteratedTableRoute(TableRoute):
    """The same with a pass for every iteration of models that need it."""

    name = "newton"


def make_streamed_job(contenders: Sequence[Contender], table: Table, y: Any, settings: Settings) -> Job:
    """Check everything, look at the table, and make models of its columns."""
    level = check_level(settings.confidence_level)
    rule = RULES[check_choice("interval", settings.interval, tuple(RULES))]
    _refuse_unknown(settings)
    workers, progress = Workers(check_jobs(settings.n_jobs)), Progress(check_progress(settings.progress))
    runner = table.runner or LocalRunner(workers.n_threads)
    table, roles = _roles(table, y, settings)
    labels = (roles.y,) if is_classifier(contenders[0].estimators[0]) else ()
    entropy = entropy_of(settings.random_state)
    kept = None if settings.checkpoint is None else _checkpoint(contenders, table, roles, settings, entropy)
    table, found = _surveyed(table, _survey_plan(contenders, roles, labels), runner, kept)
    counts = [int(fragment.n_rows or 0) for fragment in table.fragments]
    n = sum(counts)
    with _faults_of_all_rows(table, roles):
        frame, task, question, learners, models = make_models(contenders, found, roles, settings, rule)
    groups = groups_of(found, roles, n)
    deal, n_repeats = deal_rows(settings, n, entropy, None if groups is None else groups[1])
    if labels and groups is None and settings.folds is None:
        deal = deal_classes(found, roles.y, deal.n_folds, entropy, counts)
    computation = _computation(
        [*models, MeanModel()], frame, task, question, roles, groups, deal, n_repeats, runner, progress
    )
    computation.pieces, computation.n_rows = pieces_of(table.fragments, counts), n
    if question.metrics:
        _measure(computation, question, task, learners)
    reads_ahead = runner.reads_ahead or any(map(is_remote, table.fragments))
    computation.reader = replace(computation.reader, reads_ahead=reads_ahead)
    _check_sizes(models, computation, n)
    if kept is not None:
        computation.keep, computation.flush = kept.keep, kept.write
    route = TableRoute(computation)
    bids = [_bid(learner, computation) for learner in learners]
    bids.append(Bid(route, constant_of(task), 0.0, REASON))
    values = tuple(range(sum(learner.n_values for learner in learners)))
    names = tuple(contender.name for contender in contenders) if len(contenders) > 1 else ()
    partitions = Partitions(_Source(n, deal.n_folds), n_repeats)
    return Job(
        task, question.asked, level, partitions, route, workers, tuple(bids), values, {}, settings.n_folds == "auto",
        progress, settings, entropy, None, names, True,
    )  # fmt: skip


def _refuse_unknown(settings: Settings) -> None:
    """Refuse what takes more than sums over rows."""
    asked = check_choice("route", settings.route, ROUTES)
    if asked not in ("auto", "gram", "newton"):
        raise RouteError(
            f'route="{asked}" needs the rows in memory, and tables have route="gram", and "newton" for generalized '
            "linear models. Read a part into memory: table.sample(n, random_state)."
        )
    if settings.transformers != "refit":
        raise RouteError('transformers="freeze" needs the rows in memory; on tables steps are learned anew, exactly.')
    if settings.bias_folds is not None:
        raise FoldError("bias_folds need the rows in memory; leave them out, or use table.sample(n, random_state).")
    if isinstance(settings.n_folds, str) and settings.n_folds == "n":
        raise FoldError('n_folds="n" leaves out single rows, which a table has too many of; give a number of folds.')


def _roles(table: Table, y: Any, settings: Settings) -> tuple[Table, TableRoles]:
    """The columns by what they are for; vectors in memory become columns."""
    vectors: dict[str, Any] = {}
    names: dict[str, str | None] = {}
    given = {"y": (y, Y), "groups": (settings.groups, GROUPS), "sample_weight": (settings.sample_weight, WEIGHTS)}
    for role, (value, own) in given.items():
        if isinstance(value, str):
            names[role] = table.column(value, role).name
        elif value is None:
            names[role] = None
        elif is_dask(value):
            table, names[role] = beside_dask(table, own, value), own
        else:
            vectors[own], names[role] = np.asarray(value), own
    if names["y"] is None:
        raise DataError("y is None: the error of a prediction needs observed values; name a column of the table.")
    features = tuple(name for name in table.columns if name not in names.values())
    if not features:
        raise DataError("The table has no columns beside those that are named for other roles.")
    if vectors:
        table = table.with_vectors(**vectors)
    return table, TableRoles(features, names["y"], names["groups"], names["sample_weight"])


def _survey_plan(contenders: Sequence[Contender], roles: TableRoles, labels: tuple[str, ...]) -> SurveyPlan:
    """What a first look is for: rows that are drawn, levels that are counted, columns that steps learn from."""
    learns = any(_has_steps(contender.estimators[0]) for contender in contenders)
    drawn = (*roles.features, roles.y, *filter(None, [roles.weights]))
    counted = (*filter(None, [roles.groups]), *labels)
    return SurveyPlan(drawn, counted, (*(roles.features if learns else ()), *labels))


@contextmanager
def _faults_of_all_rows(table: Table, roles: TableRoles) -> Iterator[None]:
    """Tell what is wrong with rows that were drawn of the first such row of the table."""
    try:
        yield
    except DataError as error:
        if "NaN" in str(error):
            name_first_missing(table, roles)
        if isinstance(error, OutOfRangeError):
            name_first_fault(table, roles, error.family)
        raise


def _has_steps(estimator: object) -> bool:
    """Whether levels, extremes and missing values of the columns must be known before models are made."""
    inside = estimator.get_params().values() if hasattr(estimator, "get_params") else ()  # of a search, too
    return any(isinstance(each, Pipeline) for each in (estimator, *inside))


def _computation(
    models: list[StreamedModel],
    frame: pd.DataFrame,
    task: Task,
    question: Question,
    roles: TableRoles,
    groups: tuple[Any, IntArray] | None,
    deal: Deal,
    n_repeats: int | None,
    runner: PassRunner,
    progress: Progress,
) -> StreamedComputation:
    """What runs, but for the pieces."""
    problem = task.problem
    observed, weights = problem.y, problem.weights
    root = np.ones(len(observed)) if weights is None else weights
    has_constants = all(model.constant is not None for model in models)
    middle = root @ observed / root.sum() if has_constants and problem.classes is None else np.zeros(observed.shape[1])
    matrices = tuple({model.names for model in models if model.names and model.is_numeric})
    features = tuple(dict.fromkeys(name for model in models for name in model.names))
    reader = RowReader(
        features, matrices, Target((roles.y,), middle, task.loss.classes), roles.weights, roles.groups,
        None if groups is None else groups[0], deal, (0,),
    )  # fmt: skip
    numbers = {names: frame[list(names)].to_numpy(dtype=np.float64) for names in matrices}
    rows = ReadRows(
        block_of_frame(frame), numbers, observed, weights, None, np.zeros((1, len(observed)), dtype=np.intp), 0
    )
    sample = Sample(tuple(model.rows(rows) for model in models), observed - middle, weights)
    return StreamedComputation(
        models, reader, sample, (), 0, runner, question.loss, task.rule, n_repeats, FAST, progress,
        "pair scatter" in task.needs, None if groups is None else groups[1], lambda name: None,
    )  # fmt: skip


def _checkpoint(
    contenders: Sequence[Contender], table: Table, roles: TableRoles, settings: Settings, entropy: int
) -> StreamCheckpoint:
    """The file that was named, for what this job is made of: all that is known before its rows are."""
    is_seeded = settings.random_state is not None or settings.folds is not None
    estimators = [contender.estimators for contender in contenders]
    names = (roles.features, roles.y, roles.groups, roles.weights)
    words = (settings.loss, settings.scoring, settings.interval, settings.n_repeats, settings.n_folds)
    dealt = entropy if settings.folds is None else settings.folds
    parts = (estimators, names, [str(each) for each in words], dealt)
    return stream_checkpoint(settings.checkpoint, table, is_seeded, parts)


def _surveyed(
    table: Table, plan: SurveyPlan, runner: PassRunner, kept: StreamCheckpoint | None
) -> tuple[Table, Survey]:
    """A first look; if it takes all rows and is stopped, what was seen is kept."""
    if kept is None:
        return survey(table, plan, runner)
    try:
        return survey(table, plan, runner, kept.keep("counts"))
    except BaseException:
        kept.write()
        raise


def _measure(computation: StreamedComputation, question: Question, task: Task, learners: Sequence[Learner]) -> None:
    """Let metrics be computed, from sums over rows if these tell them, else from the scores of all rows."""
    has_weights = computation.reader.weights is not None
    if all(in_passes(metric, has_weights) for metric in question.metrics):
        computation.loss = metric_loss(question.metrics, learners, 1, question.loss.classes)
        return
    K, V = computation.reader.deal.n_folds, sum(learner.n_values for learner in learners) + 1
    names = [metric.name for metric in question.metrics if not in_passes(metric, has_weights) and not metric.is_extra]
    refuse_many(names, computation.n_rows, (computation.n_repeats or 2, K, V, task.problem.n_outputs))
    computation.kept = KeptScoring(task, tuple(learners))


def _bid(learner: Learner, computation: StreamedComputation) -> Bid:
    """The route of a learner."""
    estimate = computation.estimate
    if not isinstance(learner, GLMLearner) or estimate is None:
        return Bid(TableRoute(computation), learner, 0.0, REASON)
    return Bid(IteratedTableRoute(computation), learner, estimate.seconds, f"{ITERATED}: {estimate.words}")


def _check_sizes(models: Sequence[StreamedModel], computation: StreamedComputation, n: int) -> None:
    """Refuse training sets that are too small, and tables that would not fit in memory."""
    deal = computation.reader.deal
    sizes = np.sort(deal.sizes(0))
    smallest = n - int(sizes[-2:].sum())
    for model in models:
        if smallest <= model.n_columns:
            raise TrainingSetError(
                f"The smallest training set, with two folds out, has {smallest} rows for {model.n_columns} columns: "
                "sums over rows do not tell such fits. Read the table into memory."
            )
    L, K = computation.n_repeats or 2, deal.n_folds
    V = sum(model.n_values for model in models) + 1
    p = sum(model.n_columns for model in models) + 1
    groups = 0 if computation.group_counts is None else len(computation.group_counts)
    needed = 8.0 * L * (2 * K * p**2 + 3 * K * K * p * V + groups * V)
    needed += sum(8.0 * glm_numbers(model, L, K) for model in models if isinstance(model, GLMModel))
    needed += sum(8.0 * model.numbers(L, K) for model in models if isinstance(model, SearchedModel))
    if needed > MOST_BYTES:
        raise DataError(
            f"Sums over the folds would take {needed / 2**30:.1f} GB: {L} repeats, {K} folds, {p} columns, {V} values"
            f"{f', {groups} groups' if groups else ''}. Ask for fewer of them."
        )
