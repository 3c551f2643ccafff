"""Arguments -> a job: checked data, partitions, a route; nothing is computed before all of it is in order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from ..checks import check_choice, check_integer, check_jobs, check_level
from ..dropfolds import DropSets
from ..errors import FoldError, IntervalError, TrainingSetError
from ..folds import Folds, entropy_of
from ..frames import split_columns
from ..inference.intervals import MOST_SCATTERED, RULES, Rule
from ..learners import Learner, Task
from ..metrics import KeptScores, Metric
from ..routes import FoldPlan, Partitions, Workers, automatic_folds, choose_drop_routes, choose_routes
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
    is_automatic = K is None and settings.folds is None
    if is_automatic:
        K = automatic_folds(candidates, task, asked)
    partitions, dependent = _folds_of(settings, candidates, task, workers, progress, (K, L, entropy))
    partitions = with_checkpoint(partitions, problem, contenders, settings, entropy)
    whole = whole_of(partitions.source)
    task = _on_folds(task, whole, dependent is not None)
    plan = plan_folds(problem, partitions, whole, is_automatic)
    names = tuple(contender.name for contender in contenders) if len(contenders) > 1 else ()
    failures = _unfit(candidates, problem, plan, names)
    if dependent is not None and isinstance(partitions.source, DropSets):
        route, bids = choose_drop_routes(candidates, task, plan, asked, dependent.kept)
    else:
        kept_names = [name for at, name in enumerate(names) if at not in failures]
        route, bids = choose_routes(candidates, task, plan, asked, kept_names)
    n_values = sum(bid.learner.n_values for bid in bids) + len(failures)
    values = tuple(value for value in range(n_values) if value not in failures)
    return Job(
        task, question.asked, level, partitions, route, workers, bids, values, failures, plan.is_default, progress,
        settings, entropy, dependent, names,
    )  # fmt: skip


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
    rule = task.rule
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

    If none is left, it raises.
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
    candidates[:] = [candidate for candidate in candidates if candidate]
    if first is not None and not candidates:
        raise first.named(names[first.place] if names and first.place is not None else "") from first.__cause__
    return failures
