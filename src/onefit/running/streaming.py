"""Arguments -> a job on a table whose rows stay where they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import is_classifier
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.pipeline import Pipeline

from ..checks import check_choice, check_integer, check_jobs, check_level
from ..dealing import DealtClasses, DealtGroups, DealtRows
from ..errors import DataError, FoldError, RouteError, TrainingSetError
from ..folds import Folds, entropy_of, explicit_folds
from ..inference.intervals import RULES, Rule
from ..inference.montecarlo import FAST
from ..learners import EncodedFamily, EncodedLearner, Learner, RefitLearner, Refusal, ScaledLearner, Task, adapt
from ..learners.steps import encode_steps
from ..learners.transformed import is_stateless, steps_of
from ..routes import Bid, Computation, FoldPlan, Partitions, Route, Ticks, Workers
from ..routes.streams import (
    ClassDeal,
    Deal,
    GivenFolds,
    GroupDeal,
    MeanModel,
    ReadRows,
    RowDeal,
    RowReader,
    Sample,
    StreamedComputation,
    StreamedModel,
    Target,
    encoded_model,
    streamed_model,
)
from ..routes.streams.models import IN_MEMORY, runs_of
from ..routes.streams.rows import numbers_of
from ..routes.streams.survey import Survey, SurveyPlan, survey, with_facts
from ..sources import LocalRunner, PassRunner, Table, beside_dask, is_dask, pieces_of, scan
from ..typing import IntArray
from ..validation import Problem, check_problem, numeric_matrix
from ..vocabulary import ROUTES
from .asking import Question, ask
from .contenders import Contender, candidates_of
from .job import Job
from .progress import Progress, check_progress
from .settings import Settings
from .streamkeeping import stream_checkpoint

__all__ = ["make_streamed_job", "streams"]

DEFAULT_FOLDS = 10
MOST_FOLDS = 200
MOST_REPEATS = 1000

SAMPLE_ROWS, SAMPLE_WIDTHS = 4096, 8
"""Rows that coordinates are made from, at least; and at least so many for each column."""

MOST_BYTES = 2**30
"""What statistics and sums of all repeats may take."""

Y, GROUPS, WEIGHTS = "__y__", "__groups__", "__sample_weight__"
"""Names of vectors that are given beside a table."""

REASON = "the rows stay where they are, and are read twice, whatever the repeats, values and models"


def streams(X: object) -> bool:
    """Whether X is a table whose rows stay where they are."""
    return isinstance(X, Table)


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
class _Roles:
    """Names of columns."""

    features: tuple[str, ...]
    y: str
    groups: str | None
    weights: str | None


def make_streamed_job(contenders: Sequence[Contender], table: Table, y: Any, settings: Settings) -> Job:
    """Check everything, look at the table, and make models of its columns."""
    level = check_level(settings.confidence_level)
    rule = RULES[check_choice("interval", settings.interval, tuple(RULES))]
    _refuse_unknown(settings)
    workers, progress = Workers(check_jobs(settings.n_jobs)), Progress(check_progress(settings.progress))
    runner = table.runner or LocalRunner(workers.n_threads)
    table, roles = _roles(table, y, settings)
    learns = any(_has_steps(contender.estimators[0]) for contender in contenders)
    drawn = (*roles.features, roles.y, *filter(None, [roles.weights]))
    labels = (roles.y,) if is_classifier(contenders[0].estimators[0]) else ()
    counted = (*filter(None, [roles.groups]), *labels)
    plan = SurveyPlan(drawn, counted, (*(roles.features if learns else ()), *labels))
    table, found = survey(table, plan, runner)
    counts = [int(fragment.n_rows or 0) for fragment in table.fragments]
    n = sum(counts)
    try:
        frame, task, question, learners, models = _models(contenders, found, roles, settings, rule)
    except DataError as error:
        if "NaN" in str(error):  # in rows that were drawn: it is told of all
            _name_first_missing(table, roles)
        raise
    entropy, groups = entropy_of(settings.random_state), _groups(found, roles, n)
    deal, n_repeats = _deal(settings, n, entropy, None if groups is None else groups[1])
    if labels and groups is None and settings.folds is None:
        deal = _deal_classes(found, roles.y, deal.n_folds, entropy, counts)
    computation = _computation(
        [*models, MeanModel()], frame, task, question, roles, groups, deal, n_repeats, runner, progress
    )
    computation.pieces, computation.n_rows = pieces_of(table.fragments, counts), n
    _check_sizes(models, computation, n)
    if settings.checkpoint is not None:
        _keep(computation, contenders, table, roles, settings)
    route = TableRoute(computation)
    bids = [Bid(route, learner, 0.0, REASON) for learner in learners]
    bids.append(Bid(route, _constant(task), 0.0, REASON))
    values = tuple(range(sum(learner.n_values for learner in learners)))
    names = tuple(contender.name for contender in contenders) if len(contenders) > 1 else ()
    partitions = Partitions(_Source(n, deal.n_folds), n_repeats)
    return Job(
        task, question.asked, level, partitions, route, workers, tuple(bids), values, {}, settings.n_folds == "auto",
        progress, settings, entropy, None, names, True,
    )  # fmt: skip


def _models(
    contenders: Sequence[Contender], found: Survey, roles: _Roles, settings: Settings, rule: Rule
) -> tuple[pd.DataFrame, Task, Question, list[Learner], list[StreamedModel]]:
    """Models of the columns, from rows that were drawn, and what is asked of them."""
    problem, frame = _problem(contenders, found, roles)
    question = ask(settings.scoring, settings.loss, problem, [c.estimators[0] for c in contenders], rule, False)
    _refuse_metrics(question)
    needs = {"fold variance": rule.needs_v_out, "pair scatter": rule.needs_pair_scatter}
    needed = frozenset(name for name, is_needed in needs.items() if is_needed)
    task = Task(problem, question.loss, rule, settings.transformers, needed, ())
    learners, models = list[Learner](), list[StreamedModel]()
    for contender in contenders:
        for each in candidates_of(contender, task, "auto"):
            learners.append(_learner(each, contender, found))
            models += [_model(run, problem, roles, contender) for run in runs_of(learners[-1])]
    return frame, task, question, learners, models


def _refuse_unknown(settings: Settings) -> None:
    """Refuse what takes more than sums over rows."""
    asked = check_choice("route", settings.route, ROUTES)
    if asked not in ("auto", "gram"):
        raise RouteError(
            f'route="{asked}" needs the rows in memory, and tables have route="gram" only. Read a part into memory: '
            "table.sample(n, random_state)."
        )
    if settings.transformers != "refit":
        raise RouteError('transformers="freeze" needs the rows in memory; on tables steps are learned anew, exactly.')
    if settings.bias_folds is not None:
        raise FoldError("bias_folds need the rows in memory; leave them out, or use table.sample(n, random_state).")
    if isinstance(settings.n_folds, str) and settings.n_folds == "n":
        raise FoldError('n_folds="n" leaves out single rows, which a table has too many of; give a number of folds.')


def _refuse_metrics(question: Question) -> None:
    if question.metrics:
        raise DataError(
            f"{question.metrics[0].name} is no mean of row losses, or one of several metrics, and tables have one mean "
            'of row losses at a time (loss="squared_error", "absolute_error", ...; result.r2 is there beside squared '
            "error). Or read a part into memory: table.sample(n, random_state)."
        )


def _roles(table: Table, y: Any, settings: Settings) -> tuple[Table, _Roles]:
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
    return table, _Roles(features, names["y"], names["groups"], names["sample_weight"])


def _problem(contenders: Sequence[Contender], found: Survey, roles: _Roles) -> tuple[Problem, pd.DataFrame]:
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


def _name_first_missing(table: Table, roles: _Roles) -> None:
    """Raise an error that names the first row in which a number is missing, if there is one."""
    start, numeric = 0, [name for name in roles.features if table.column(name).kind == "number"]
    for block in table.blocks((*numeric, roles.y)):
        if numeric:
            numbers_of(block, numeric, start, "X")
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


def _model(learner: Learner, problem: Problem, roles: _Roles, contender: Contender) -> StreamedModel:
    kinds: dict[type, Any] = {EncodedLearner: encoded_model, EncodedFamily: encoded_model}
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


def _has_steps(estimator: object) -> bool:
    """Whether levels, extremes and missing values of the columns must be known before models are made."""
    return isinstance(estimator, Pipeline)


def _constant(task: Task) -> Learner:
    """What the best constant is as a learner, for results."""
    found = adapt(DummyRegressor() if task.problem.classes is None else DummyClassifier(strategy="prior"), task)
    assert isinstance(found, Learner)
    return found


def _groups(found: Survey, roles: _Roles, n: int) -> tuple[Any, IntArray] | None:
    if roles.groups is None:
        return None
    names, counts = found.counted(roles.groups)
    if len(names) < 3:
        raise DataError(
            f"There are only {len(names)} group(s); nested cross-validation leaves two out and needs at least 3."
        )
    largest = int(counts.argmax())
    if counts[largest] > n / 2:
        raise DataError(
            f"Group {names[largest]} holds {counts[largest]} of the {n} rows: without it the training sets are less "
            "than half of the data, and say little about a fit on all of it. Split the group, or leave it out."
        )
    return names, counts


def _deal(settings: Settings, n: int, entropy: int, counts: IntArray | None) -> tuple[Deal, int | None]:
    """Folds, and how many repeats; None is "auto"."""
    units, what = (n, "rows") if counts is None else (len(counts), "groups")
    if n < 3:
        raise DataError(f"There are only {n} rows; nested cross-validation needs at least 3.")
    is_auto = isinstance(settings.n_repeats, str) and settings.n_repeats == "auto"
    L = None if is_auto else check_integer("n_repeats", settings.n_repeats, 1, MOST_REPEATS, ', or "auto"')
    if settings.folds is not None:
        return _given(settings.folds, n, L)
    K = min(DEFAULT_FOLDS, units)
    if not isinstance(settings.n_folds, str):
        K = check_integer("n_folds", settings.n_folds, 3, min(units, MOST_FOLDS), f" (of {units} {what})")
    elif settings.n_folds != "auto":
        raise FoldError(f'n_folds={settings.n_folds!r} must be a number from 3 to {MOST_FOLDS}, or "auto".')
    if counts is None:
        return RowDeal(DealtRows(n, K, entropy)), L
    return GroupDeal(DealtGroups(tuple(counts.tolist()), K, entropy)), L


def _deal_classes(found: Survey, y: str, n_folds: int, entropy: int, rows: Sequence[int]) -> ClassDeal:
    """Folds that spread every class evenly, from how many rows of each the fragments have."""
    names, totals = found.counted(y)
    each = np.array(
        [[part[y].get(name, 0) if y in part else 0 for name in names.tolist()] for part in found.by_fragment]
    )
    before = np.cumsum(each, axis=0) - each
    starts = np.cumsum(rows) - np.asarray(rows)
    return ClassDeal(DealtClasses(tuple(totals.tolist()), n_folds, entropy), starts, before)


def _given(folds: Any, n: int, L: int | None) -> tuple[Deal, int]:
    if hasattr(folds, "split"):
        raise FoldError(
            "Splitters need the rows in memory; give ids of folds by folds=, a number by n_folds=, or use "
            "table.sample(n, random_state)."
        )
    given = explicit_folds(folds, n)
    if (given.ids < 0).any():
        raise FoldError("folds has rows that are in no fold (-1), which tables do not have; leave them out.")
    if L is not None and given.n_repeats != L:
        raise FoldError(f"folds has {given.n_repeats} repeats and n_repeats={L}; leave it out or let them agree.")
    return GivenFolds(given.ids, given.n_folds), given.n_repeats


def _computation(
    models: list[StreamedModel],
    frame: pd.DataFrame,
    task: Task,
    question: Question,
    roles: _Roles,
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
    block: Any = next(iter(scan(frame).blocks()))
    rows = ReadRows(block, numbers, observed, weights, None, np.zeros((1, len(observed)), dtype=np.intp), 0)
    sample = Sample(tuple(model.rows(rows) for model in models), observed - middle, weights)
    return StreamedComputation(
        models, reader, sample, (), 0, runner, question.loss, task.rule, n_repeats, FAST, progress,
        "pair scatter" in task.needs, None if groups is None else groups[1], lambda name: None,
    )  # fmt: skip


def _keep(
    computation: StreamedComputation,
    contenders: Sequence[Contender],
    table: Table,
    roles: _Roles,
    settings: Settings,
) -> None:
    """Let finished pieces be kept in the file that was named."""
    is_seeded = settings.random_state is not None or settings.folds is not None
    estimators = [contender.estimators for contender in contenders]
    reader = computation.reader
    asked = [str(each) for each in (settings.loss, settings.scoring, settings.interval, computation.n_repeats)]
    parts = (estimators, (roles.features, roles.y, roles.groups, roles.weights), asked, reader.deal, computation.n_rows)
    kept = stream_checkpoint(settings.checkpoint, table, is_seeded, parts)
    computation.keep, computation.flush = kept.keep, kept.write


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
    if needed > MOST_BYTES:
        raise DataError(
            f"Sums over the folds would take {needed / 2**30:.1f} GB: {L} repeats, {K} folds, {p} columns, {V} values"
            f"{f', {groups} groups' if groups else ''}. Ask for fewer of them."
        )
