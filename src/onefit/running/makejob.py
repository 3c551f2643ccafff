"""Arguments -> a job: checked data, partitions, a route; nothing is computed before all of it is in order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import isfinite

from ..checks import check_choice, check_integer, check_jobs, check_level
from ..dropfolds import DropSets
from ..errors import FoldError, IntervalError, TrainingSetError
from ..folds import Folds, entropy_of
from ..frames import split_columns
from ..inference.intervals import MOST_SCATTERED, RULES, Rule
from ..learners import Learner, RefitLearner, Task
from ..metrics import KeptScores, Metric
from ..routes import (
    Bid,
    FoldPlan,
    Partitions,
    Route,
    Workers,
    automatic_folds,
    choose_drop_routes,
    choose_routes,
    few_folds,
)
from ..typing import Data, Estimator, Rows
from ..validation import Problem, check_problem
from ..vocabulary import ROUTES, TRANSFORMERS
from .asking import Question, ask
from .contenders import Contender, candidates_of
from .dependent import Dependent, Pilot, find_dependent, pilot_task, refuse_beside
from .job import Job, with_hints
from .partitioning import check_counts, partition, plan_folds, plan_of_drops, whole_of, with_checkpoint
from .progress import Progress, check_progress
from .rareclasses import check_rare_classes
from .settings import Settings
from .times import read_times

__all__ = ["make_job"]


def make_job(contenders: Sequence[Contender], X: Data, y: Rows | str, settings: Settings) -> Job:
    """Check everything and choose folds and routes."""
    level = check_level(settings.confidence_level)
    rule = RULES[check_choice("interval", settings.interval, tuple(RULES))]
    asked = check_choice("route", settings.route, ROUTES)
    check_choice("transformers", settings.transformers, TRANSFORMERS)
    check_integer("max_fits", settings.max_fits, 1)
    workers, progress = Workers(check_jobs(settings.n_jobs)), Progress(check_progress(settings.progress))
    firsts = [contender.estimators[0] for contender in contenders]
    problem, settings = _check_data(firsts, X, y, settings)
    question = ask(settings.scoring, settings.loss, problem, firsts, rule, settings.bias_folds is not None)
    task = _task(problem, question, rule, settings)
    K, L = check_counts(problem, settings)
    candidates = [each for contender in contenders for each in candidates_of(contender, task, asked)]
    entropy = entropy_of(settings.random_state)
    names = tuple(contender.name for contender in contenders) if len(contenders) > 1 else ()
    draft = _Draft(task, asked, settings, workers, progress, L, entropy, names)
    is_automatic = K is None and settings.folds is None
    chosen = draft.with_automatic_folds(candidates) if is_automatic else draft.on_folds(candidates, K)
    partitions = with_checkpoint(chosen.partitions, problem, contenders, settings, entropy)
    n_values = sum(bid.learner.n_values for bid in chosen.bids) + len(chosen.failures)
    values = tuple(value for value in range(n_values) if value not in chosen.failures)
    return Job(
        chosen.task, question.asked, level, partitions, chosen.route, workers, chosen.bids, values, chosen.failures,
        chosen.plan.is_default, progress, settings, entropy, chosen.dependent, names,
    )  # fmt: skip


@dataclass(frozen=True)
class _Chosen:
    """Folds and the route of every model on them; ``settled`` are the candidates that such a choice leaves."""

    task: Task
    partitions: Partitions
    dependent: Dependent | None
    plan: FoldPlan
    failures: dict[int, str]
    route: Route
    bids: tuple[Bid, ...]
    settled: list[list[Learner]]


@dataclass(frozen=True)
class _Draft:
    """A job before its folds and routes are chosen."""

    task: Task
    asked: str
    settings: Settings
    workers: Workers
    progress: Progress
    n_repeats: int | None
    entropy: int
    names: tuple[str, ...]

    def with_automatic_folds(self, candidates: Sequence[Sequence[Learner]]) -> _Chosen:
        """Routes on the folds of "auto"; on those of refits, if that is what a model has come to on others."""
        found = self.on_folds(candidates, automatic_folds(candidates, self.task, self.asked), True)
        learners = [bid.learner for bid in found.bids]
        if not any(isinstance(learner, RefitLearner) for learner in learners):
            return found
        fewer = few_folds(learners, self.task)
        return self.on_folds(found.settled, fewer, True) if fewer < found.plan.n_folds else found

    def on_folds(
        self, candidates: Sequence[Sequence[Learner]], n_folds: int | None, is_automatic: bool = False
    ) -> _Chosen:
        """Folds, and routes on them."""
        each = [list(candidate) for candidate in candidates]
        counts = (n_folds, self.n_repeats, self.entropy)
        partitions, dependent = _folds_of(self.settings, each, self.task, self.workers, self.progress, counts)
        whole = whole_of(partitions.source)
        task = _on_folds(self.task, whole, dependent is not None)
        plan = plan_folds(task.problem, partitions, whole, is_automatic)
        failures = _unfit(each, task.problem, plan, self.names)
        fit = [candidate for candidate in each if candidate]
        if dependent is not None and isinstance(partitions.source, DropSets):
            route, bids = choose_drop_routes(fit, task, plan, self.asked, dependent.kept)
        else:
            kept_names = [name for at, name in enumerate(self.names) if at not in failures]
            route, bids = choose_routes(fit, task, plan, self.asked, kept_names)
        return _Chosen(task, partitions, dependent, plan, failures, route, bids, _settled(candidates, each, bids))


def _settled(
    candidates: Sequence[Sequence[Learner]], fit: Sequence[Sequence[Learner]], bids: Sequence[Bid]
) -> list[list[Learner]]:
    """Candidates at all of their values, without fast learners that no route has been found to serve well."""
    settled: list[list[Learner]] = [list(candidate) for candidate in candidates]
    for candidate, bid in zip((each for each, some in zip(settled, fit, strict=True) if some), bids, strict=True):
        if isinstance(bid.learner, RefitLearner) and not isfinite(bid.seconds):
            candidate[:] = [each.because(bid.reason) for each in candidate if isinstance(each, RefitLearner)]
    return settled


def _check_data(firsts: Sequence[Estimator], X: Data, y: Rows | str, settings: Settings) -> tuple[Problem, Settings]:
    """The checked data, and settings in which columns that were named are vectors."""
    X, named = split_columns(X, y=y, groups=settings.groups, sample_weight=settings.sample_weight)
    X, folds = read_times(X, settings.folds, firsts)
    settings = replace(settings, groups=named["groups"], sample_weight=named["sample_weight"], folds=folds)
    return check_problem(firsts, X, named["y"], settings.sample_weight, settings.groups), settings


def _task(problem: Problem, question: Question, rule: Rule, settings: Settings) -> Task:
    """What learners and routes must know, with what the rule needs of them."""
    needs = {
        "fold variance": rule.needs_v_out,
        "bias folds": settings.bias_folds is not None,
        "pair scatter": rule.needs_pair_scatter or problem.n <= MOST_SCATTERED,
    }
    needed = frozenset(name for name, is_needed in needs.items() if is_needed)
    return Task(problem, question.loss, rule, settings.transformers, needed, question.metrics)


def _on_folds(task: Task, whole: Folds, is_dependent: bool) -> Task:
    """The task on these folds; refuses those that the rule or a metric cannot do with."""
    rule, task = task.rule, replace(task, problem=task.problem.scored_by(whole.ids))
    if rule.needs_v_out and not whole.sizes.min() > 1:
        raise IntervalError(
            f'interval="{rule.name}" needs the variance within each fold, and some folds have one row. Use fewer '
            'folds, or interval="covariance".'
        )
    if not isinstance(task.loss, KeptScores):
        return task
    _check_folds(task.metrics, whole)
    check_rare_classes(task.metrics, whole, task.problem, is_dependent)
    return replace(task, loss=replace(task.loss, width=whole.members.shape[2]))


def _folds_of(
    settings: Settings,
    candidates: Sequence[Sequence[Learner]],
    task: Task,
    workers: Workers,
    progress: Progress,
    counts: tuple[int | None, int | None, int],
) -> tuple[Partitions, Dependent | None]:
    """Where folds come from, and how, if they are for rows that follow one another; counts are K, L and the seed."""
    K, L, entropy = counts
    problem, dependent = task.problem, None
    if settings.folds is not None:
        plan = partial(plan_of_drops, problem)
        pilot = Pilot(candidates, pilot_task(task), settings.route, workers, plan, progress)
        dependent = find_dependent(settings.folds, pilot)
    if dependent is None:
        return partition(problem, K, L, settings, entropy), None
    refuse_beside(dependent, task, K, L, settings.bias_folds)
    return Partitions(dependent.source, 1, None, int(settings.max_fits)), dependent


def _check_folds(metrics: Sequence[Metric], whole: Folds) -> None:
    """Refuse folds of single rows to metrics that are no means or functions of means."""
    for metric in metrics:
        if metric.family in ("rank", "pooled") and not metric.is_extra and whole.sizes.min() < 2:
            raise FoldError(f"{metric.name} is not defined on folds of one row; use fewer folds.")


def _unfit(candidates: list[list[Learner]], problem: Problem, plan: FoldPlan, names: Sequence[str]) -> dict[int, str]:
    """Take out the values that no training set of these folds can determine, and say why, by their places.

    A candidate of which none is left is empty; if all are, it raises.
    """
    failures: dict[int, str] = {}
    first: TrainingSetError | None = None
    place = 0
    for candidate in candidates:
        V = candidate[0].n_values
        try:
            lost = candidate[0].check_fits(plan.smallest_training_set)
        except TrainingSetError as error:
            with_hints(error, problem, [candidate[0]])
            lost, error.place = dict.fromkeys(range(V), str(error)), place
            first = first or error
        if lost:
            kept = [value for value in range(V) if value not in lost]
            candidate[:] = [learner.at(kept) for learner in candidate] if kept else []
            failures |= {place + value: reason for value, reason in lost.items()}
        place += V
    if first is not None and not any(candidates):
        raise first.named(names[first.place] if names and first.place is not None else "") from first.__cause__
    return failures
