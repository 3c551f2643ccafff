"""Arguments -> a job: checked data, partitions, a route; nothing is computed before all of it is in order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np

from ..checks import check_choice, check_integer, check_jobs, check_level
from ..dropfolds import DropFolds, DropSets
from ..errors import FoldError, IntervalError, OneFitError, TrainingSetError
from ..folds import ExplicitFolds, Folds, FoldSource, RandomFolds, entropy_of, explicit_folds, is_single
from ..frames import split_columns
from ..inference.fold_errors import RowRoles
from ..inference.intervals import MOST_SCATTERED, RULES, Rule
from ..inference.montecarlo import Stopping
from ..learners import Learner, RefitLearner, Task
from ..metrics import Asked, KeptScores, Loss, Metric
from ..routes import (
    Bid,
    Computation,
    FoldPlan,
    Outcome,
    Partitions,
    Route,
    Workers,
    automatic_folds,
    choose_drop_routes,
    choose_routes,
)
from ..typing import ArrayLike, Data, IntArray, Rows, Splitter
from ..validation import Problem, check_problem
from ..vocabulary import ROUTES, TRANSFORMERS
from .asking import ask
from .checkpoints import make_checkpoint
from .contenders import Contender, candidates_of
from .dependent import Dependent, Pilot, find_dependent, pilot_task, refuse_beside
from .lostcolumns import explain_lost_columns
from .progress import LONG, Progress, check_progress, time_text
from .rareclasses import check_rare_classes
from .settings import Settings
from .times import read_times

__all__ = ["Contender", "Job", "Settings", "make_job"]

MOST_ASKED = 100_000
"""So many partitions leave a Monte Carlo error of a few thousandths of that of one; more would only take time."""


@dataclass(frozen=True)
class Job:
    """Checked data, partitions and the route, with the reason for it.

    Attributes
    ----------
    task : Task
    confidence_level : float
    partitions : Partitions
    route : Route
    workers : Workers
    bids : tuple of Bid
        The learner of each contender, its route and the reason for that.
    values : tuple of int
        Places of the values that are computed among those that were asked for.
    asked : tuple of Asked
        The figures that were asked for; the answer speaks of the first.
    failures : mapping of int to str
        Why others cannot be, by their places.
    has_default_folds : bool
        Whether ``n_folds="auto"`` settled for fewer than there are rows or groups.
    progress : Progress
    settings : Settings
        As they were given.
    entropy : int
        The seed of the partitions.
    dependent : Dependent or None
        How the folds came about, if they are for rows that follow one another.
    names : tuple of str
        Of the models, if there are several; by the places of their values.
    is_streamed : bool
        Whether the rows stay where they are: the problem then holds some of them.
    """

    task: Task
    asked: tuple[Asked, ...]
    confidence_level: float
    partitions: Partitions
    route: Route
    workers: Workers
    bids: tuple[Bid, ...]
    values: tuple[int, ...]
    failures: Mapping[int, str]
    has_default_folds: bool
    progress: Progress
    settings: Settings
    entropy: int
    dependent: Dependent | None = None
    names: tuple[str, ...] = ()
    is_streamed: bool = False

    @cached_property
    def computation(self) -> Computation:
        """What runs; decompositions are made when it is first asked for."""
        learners = [bid.learner for bid in self.bids]
        return self.route.begin(learners, self.task, self.partitions, self.workers, self.progress)

    @property
    def problem(self) -> Problem:
        """The checked data."""
        return self.task.problem

    @property
    def loss(self) -> Loss:
        """What is computed."""
        return self.task.loss

    @property
    def rule(self) -> Rule:
        """The interval rule that was asked for."""
        return self.task.rule

    @property
    def n_repeats(self) -> int | None:
        """Repeats asked for; None is "auto"."""
        return self.partitions.n_repeats

    @property
    def stopping(self) -> Stopping:
        """When "auto" stops."""
        return self.partitions.stopping(any(isinstance(bid.learner, RefitLearner) for bid in self.bids))

    @property
    def rows(self) -> RowRoles:
        """Weights and groups of the rows."""
        return RowRoles.of(self.problem.weights, self.problem.groups)

    def bid_at(self, value: int) -> Bid:
        """The bid that a place on the axis of computed values belongs to."""
        return [bid for bid in self.bids for _ in range(bid.learner.n_values)][value]

    def run(self) -> Outcome:
        """Compute the fold errors."""
        self.progress.plan(self._plan_words(), self.is_streamed and sum(bid.seconds for bid in self.bids) > LONG)
        units = self.computation.units
        # overflow is spoken of once, by the value that it is about
        with np.errstate(over="ignore", invalid="ignore"), self.progress.running(units):
            try:
                outcome = self.computation.run()
            except OneFitError as error:
                if isinstance(error, TrainingSetError):
                    _with_hints(error, self.problem, [bid.learner for bid in self.bids])
                raise error.named(self._name_at(error.place)) from error.__cause__
            self.progress.was_interrupted = bool(outcome.notes)
        for place, failure in outcome.failures.items():
            if isinstance(failure, TrainingSetError):
                _with_hints(failure, self.problem, [self.bid_at(place).learner])
        return outcome

    def _plan_words(self) -> str:
        """Folds, repeats, routes and the expected time, for people who wait."""
        K, at_most = self.partitions.source.n_folds, "at most " if self.n_repeats is None else ""
        L = self.n_repeats or self.stopping.most
        refitted = [bid for bid in self.bids if isinstance(bid.learner, RefitLearner)]
        asked = self.bids[:-1] if self.is_streamed else self.bids  # the last one there is the best constant
        routes = " and ".join(dict.fromkeys(bid.route.name for bid in asked))
        words = f"{K:,} folds, {at_most}{L} repeat{'s' if L > 1 else ''}, by {routes}"
        if refitted and self.dependent is None:
            fits = sum(bid.learner.n_values for bid in refitted) * L * K * (K + 1) // 2
            return f"{words}: {at_most}{fits:,} fits, whose time the first ones will tell"
        seconds = sum(bid.seconds for bid in self.bids)
        if self.is_streamed and seconds:
            words += ", " + next(bid.reason for bid in self.bids if bid.seconds).partition(": ")[2]
        if refitted or not 0 < seconds < np.inf:
            return words
        return f"{words}: {'less than a second' if seconds < 1 else f'about {time_text(seconds)}'}"

    def _name_at(self, place: int | None) -> str:
        """The name of the model that a place on the axis of computed values belongs to; empty if it has none."""
        return self.names[self.values[place]] if self.names and place is not None else ""


def _with_hints(error: TrainingSetError, problem: Problem, learners: Sequence[Learner]) -> TrainingSetError:
    """Let the message name the columns that are lost, and say what a model takes for the likely cause."""
    if error.held_out and error.lam == 0:
        has_intercept = all(getattr(learner, "fit_intercept", True) for learner in learners)
        error.remedy = explain_lost_columns(problem, error.held_out, has_intercept) or error.remedy
    hints = {learner.hint for learner in learners if learner.hint}
    error.remedy = " ".join([error.remedy, *sorted(hints)]).strip()
    return error


def make_job(contenders: Sequence[Contender], X: Data, y: Rows | str, settings: Settings) -> Job:
    """Check everything and choose folds and routes."""
    level = check_level(settings.confidence_level)
    rule = RULES[check_choice("interval", settings.interval, tuple(RULES))]
    asked = check_choice("route", settings.route, ROUTES)
    check_choice("transformers", settings.transformers, TRANSFORMERS)
    check_integer("max_fits", settings.max_fits, 1)
    workers, progress = Workers(check_jobs(settings.n_jobs)), Progress(check_progress(settings.progress))
    firsts = [contender.estimators[0] for contender in contenders]
    X, named = split_columns(X, y=y, groups=settings.groups, sample_weight=settings.sample_weight)
    X, folds = read_times(X, settings.folds, firsts)
    settings = replace(settings, groups=named["groups"], sample_weight=named["sample_weight"], folds=folds)
    problem = check_problem(firsts, X, named["y"], settings.sample_weight, settings.groups)
    needs = {
        "fold variance": rule.needs_v_out,
        "bias folds": settings.bias_folds is not None,
        "pair scatter": rule.needs_pair_scatter or problem.n <= MOST_SCATTERED,
    }
    question = ask(settings.scoring, settings.loss, problem, firsts, rule, settings.bias_folds is not None)
    needed = frozenset(name for name, is_needed in needs.items() if is_needed)
    task = Task(problem, question.loss, rule, settings.transformers, needed, question.metrics)
    K, L = _check_counts(problem, settings)
    candidates = [each for contender in contenders for each in candidates_of(contender, task, asked)]
    entropy = entropy_of(settings.random_state)
    is_automatic = K is None and settings.folds is None
    if is_automatic:
        K = automatic_folds(candidates, task, asked)
    partitions, dependent = _folds_of(settings, candidates, task, workers, progress, (K, L, entropy))
    partitions = _with_checkpoint(partitions, problem, contenders, settings, entropy)
    whole = _whole(partitions.source)
    if rule.needs_v_out and not whole.sizes.min() > 1:
        raise IntervalError(
            f'interval="{rule.name}" needs the variance within each fold, and some folds have one row. Use fewer '
            'folds, or interval="covariance".'
        )
    if isinstance(task.loss, KeptScores):
        task = replace(task, loss=replace(task.loss, width=whole.members.shape[2]))
        _check_folds(task.metrics, whole)
        check_rare_classes(task.metrics, whole, problem, dependent is not None)
    plan = _plan(problem, partitions, whole, is_automatic)
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
        plan = partial(_plan_of, problem)
        pilot = Pilot(candidates, pilot_task(task), settings.route, workers, plan, progress)
        dependent = find_dependent(settings.folds, pilot)
    if dependent is None:
        return _partitions(problem, K, L, settings, entropy), None
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
            _with_hints(error, problem, [candidate[0]])
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


def _plan_of(problem: Problem, source: DropSets) -> FoldPlan:
    """What routes must know of folds with drop sets."""
    return _plan(problem, Partitions(source, 1), source.whole, False)


def _plan(problem: Problem, partitions: Partitions, whole: Folds, is_automatic: bool) -> FoldPlan:
    """What routes must know of the folds."""
    source, sizes = partitions.source, np.sort(whole.sizes, axis=1)
    if isinstance(whole, DropFolds):
        largest = max(len(drop) for drop in whole.drops)
        return FoldPlan(source.n_folds, 1, _units(problem), largest, whole.smallest_training_set)
    return FoldPlan(
        n_folds=source.n_folds,
        n_repeats=partitions.n_repeats,
        units=_units(problem),
        largest_fold=int(sizes.max()),
        smallest_training_set=int(source.n - sizes[:, -2:].sum(axis=1).max()),
        is_single_rows=isinstance(source, RandomFolds) and source.n_folds == problem.n and problem.groups is None,
        is_default=is_automatic and source.n_folds < _units(problem),
    )


def _units(problem: Problem) -> int:
    """Rows, or groups: what cannot be split between folds."""
    return problem.n if problem.groups is None else int(problem.groups.max()) + 1


def _check_counts(problem: Problem, settings: Settings) -> tuple[int | None, int | None]:
    """Folds and repeats asked for; None is "auto"."""
    units, what = _units(problem), "rows" if problem.groups is None else "groups"
    K: int | None = None
    if isinstance(settings.n_folds, str) and settings.n_folds == "n":
        K = units
    elif not (isinstance(settings.n_folds, str) and settings.n_folds == "auto"):
        K = check_integer("n_folds", settings.n_folds, 3, units, f' (the number of {what}), or "n" or "auto"')
    is_auto = isinstance(settings.n_repeats, str) and settings.n_repeats == "auto"
    return K, None if is_auto else check_integer("n_repeats", settings.n_repeats, 1, MOST_ASKED, ', or "auto"')


def _partitions(problem: Problem, K: int | None, L: int | None, settings: Settings, entropy: int) -> Partitions:
    """Where the folds come from and how many repeats there are; None leaves that to the stopping rule."""
    source: FoldSource
    if settings.folds is None:
        assert K is not None
        source = RandomFolds(problem.n, K, entropy, groups=problem.groups, strata=_strata(problem))
        repeats = 1 if source.is_exhaustive else L
    else:
        assert not isinstance(settings.folds, Dependent)  # these are partitions of their own
        source = explicit_folds(settings.folds, problem.n, problem.X, problem.target, problem.groups)
        repeats = source.n_repeats
        if K is not None and source.n_folds != K:
            raise FoldError(f"folds has {source.n_folds} folds and n_folds={K}; leave n_folds out or let them agree.")
        if L is not None and repeats != L:
            raise FoldError(f"folds has {repeats} repeats and n_repeats={L}; leave it out or let them agree.")
    bias = _bias_partitions(problem, source, settings.bias_folds, entropy)
    return Partitions(source, repeats, bias, int(settings.max_fits))


def _with_checkpoint(
    partitions: Partitions, problem: Problem, contenders: Sequence[Contender], settings: Settings, entropy: int
) -> Partitions:
    """The same, with the file that was named for finished repeats."""
    if settings.checkpoint is None:
        return partitions
    drawn = None if settings.random_state is None else entropy
    seed = 0 if settings.folds is not None else drawn
    models = [contender.estimators for contender in contenders]
    others = (settings.loss, settings.scoring, settings.interval, settings.transformers, settings.route)
    kept = make_checkpoint(settings.checkpoint, problem, models, partitions, seed, others)
    return replace(partitions, checkpoint=kept)


def _strata(problem: Problem) -> IntArray | None:
    """Number of each row's class, for folds that hold all classes evenly."""
    return None if problem.classes is None else np.searchsorted(problem.classes, problem.labels)


def _bias_partitions(
    problem: Problem, source: FoldSource, bias_folds: int | ArrayLike | Splitter | None, entropy: int
) -> tuple[FoldSource, int] | None:
    if bias_folds is None:
        return None
    if not hasattr(bias_folds, "split") and is_single(bias_folds):
        count = check_integer("bias_folds", bias_folds, 1, MOST_ASKED, ", or an array of fold ids")
        scored = np.asarray((_whole(source).ids >= 0).any(axis=0))
        return RandomFolds(problem.n, source.n_folds, entropy, 1, problem.groups, _strata(problem), scored), count
    given = explicit_folds(bias_folds, problem.n, problem.X, problem.target, problem.groups, "bias_folds")
    if given.n_folds != source.n_folds:
        raise FoldError(
            f"bias_folds has {given.n_folds} folds and folds has {source.n_folds}: the bias correction compares "
            "training sets of n(K-1)/K and n(K-2)/K rows, so K must be the same."
        )
    return given, given.n_repeats


def _whole(source: FoldSource) -> Folds:
    """All given partitions, or one random one to tell the sizes."""
    return source.block(0, source.n_repeats if isinstance(source, ExplicitFolds | DropSets) else 1)
