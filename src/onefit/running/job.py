"""Arguments -> a job: checked data, partitions, a route; nothing is computed before all of it is in order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, fields, replace
from typing import Any, NamedTuple

import numpy as np
from joblib import effective_n_jobs

from ..checks import check_choice, check_integer, check_jobs, check_level
from ..errors import FoldError, IntervalError, LossOverflowError, RouteError, TrainingSetError
from ..folds import ExplicitFolds, FoldSource, RandomFolds, entropy_of, explicit_folds, is_single
from ..inference.chain import ascending, outward
from ..inference.fold_errors import FoldErrors, Rows, RowTotals
from ..inference.intervals import RULES, Rule
from ..inference.montecarlo import MOST_REPEATS
from ..learners import Adapted, GramLearner, TunedLearner, adapt, freeze
from ..metrics.losses import Loss, find_loss
from ..routes import GramRoute, LearnedRoute, LeaveTwoOut, OneStepRoute, RefitRoute, Route, SideBySide, TunedRoute
from ..routes.plan import choose
from ..typing import FloatArray, IntArray
from ..validation import Problem, check_problem
from ..vocabulary import ROUTES, TRANSFORMERS
from .progress import Progress, Units, check_progress
from .repeats import Counts, collect, counts_of, mean_cv, stopped_after, stopped_in_bias

__all__ = ["Contender", "Job", "Outcome", "Settings", "prepare"]

DEFAULT_FOLDS = 10
LEAVE_TWO_OUT_ROWS = 5000
"""Up to this many rows a linear smoother leaves two out by default; see below for the others."""

LEAVE_TWO_OUT_DUAL = 2000
"""The same for p >= n, kernels and groups, where it costs n^3."""

LEAVE_TWO_OUT_TUNED = 300
"""The same if the penalty is tuned in every training set: n^2/2 eigendecompositions."""

LEAVE_TWO_OUT_TUNED_BY_ROWS = 100
"""The same if it is tuned by leave-one-out: that costs n^3 (n times the square of the groups) for each value."""

LEAVE_TWO_OUT_TUNED_WORK = 5e8
"""And n^2 d^3, with d columns, is at most this."""

MOST_FOLDS = 2048
"""The tables of pairs of folds are K x K; beyond this they would not be small."""

MOST_ASKED = 100_000
"""So many partitions leave a Monte Carlo error of a few thousandths of that of one; more would only take time."""

LIKELY_REPEATS = 5
"""What "auto" is taken for before it is known."""


@dataclass(frozen=True)
class Settings:
    """The keywords that all public functions share, as given."""

    n_folds: Any
    n_repeats: Any
    loss: Any
    confidence_level: Any
    interval: Any
    groups: Any
    sample_weight: Any
    folds: Any
    bias_folds: Any
    route: Any
    transformers: Any
    random_state: Any
    n_jobs: Any
    progress: Any

    @classmethod
    def of(cls, arguments: Mapping[str, Any]) -> Settings:
        """From the arguments of a public function, its own ones aside."""
        return cls(**{field.name: arguments[field.name] for field in fields(cls)})


@dataclass(frozen=True)
class Contender:
    """What stands on the axis of parameter values: one estimator, or one at several values of a parameter.

    ``param_name`` and ``values`` say which; without them there is one estimator.
    """

    estimators: tuple[Any, ...]
    param_name: str | None = None
    values: tuple[Any, ...] | None = None


class Fact(NamedTuple):
    """Name of a route, why it was taken, and whether it is exact."""

    name: str
    reason: str
    exactness: str


@dataclass(frozen=True)
class Outcome:
    """What a job computes."""

    errors: FoldErrors
    totals: RowTotals
    bias_cv: FloatArray | None


@dataclass(frozen=True)
class Job:
    """Checked data, partitions and the route, with the reason for it; ``n_repeats`` None is "auto".

    ``routes`` are the name, reason and exactness of the route at each value. ``counts`` say what progress counts:
    refits if there are any, else the fast routes. ``notes`` are what happened while it ran.
    """

    problem: Problem
    loss: Loss
    rule: Rule
    confidence_level: float
    source: FoldSource
    n_repeats: int | None
    bias_source: tuple[FoldSource, int] | None
    route: Route | LeaveTwoOut
    routes: tuple[Fact, ...]
    counts: tuple[Counts, ...]
    adapted: tuple[Adapted, ...]
    progress: Progress
    n_threads: int
    notes: list[str] = field(default_factory=list)

    @property
    def rows(self) -> Rows:
        """Weights and groups of the rows."""
        return Rows.of(self.problem.weights, self.problem.groups)

    @property
    def units(self) -> Units:
        """What progress counts."""
        if isinstance(self.route, LeaveTwoOut):
            return Units(self.route.n_units, self.route.units)
        K, repeats = self.source.n_folds, self.n_repeats or MOST_REPEATS
        n_bias = 0 if self.bias_source is None else self.bias_source[1]
        total = sum(each.n_units(K, repeats, True) + each.n_units(K, n_bias, False) for each in self.counts)
        names = {each.units for each in self.counts}
        of_each = sum(each.n_units(K, 1, True) for each in self.counts) if names == {"repeats"} else 1
        return Units(total, names.pop() if len(names) == 1 else "steps", of_each, is_most=self.n_repeats is None)

    def run(self) -> Outcome:
        """Compute the fold errors."""
        with np.errstate(over="ignore", invalid="ignore"):  # the check below speaks of it once
            with self.progress.running(self.units):
                outcome = self._run()
            fine = np.isfinite(np.square(outcome.errors.raw)).all(axis=(0, 2))
        if not fine.all():
            error = LossOverflowError(
                "The losses overflow: rescale y (and X), or leave out the model that predicts such."
            )
            error.value = int(np.flatnonzero(~fine)[0])
            raise error
        return outcome

    def _run(self) -> Outcome:
        try:
            if isinstance(self.route, LeaveTwoOut):
                return Outcome(*self.route.compute(), None)
            with ExitStack() as stack:
                for each in self.counts:
                    if isinstance(each, RefitRoute):
                        stack.enter_context(each.workers_kept())
                return self._run_repeats(self.route)
        except TrainingSetError as error:
            _add_hint(error, self.adapted)
            raise

    def _run_repeats(self, route: Route) -> Outcome:
        Q, is_refitted = self.problem.n_outputs, any(isinstance(each, RefitRoute) for each in self.counts)
        make_chain = outward if len(self.adapted) == 1 and self.adapted[0].smoother is not None else ascending
        done = collect(
            route,
            self.source,
            self.rows,
            Q,
            self.n_repeats,
            self.rule,
            self.loss,
            make_chain,
            1 if is_refitted else self.n_threads,
            self.progress.stop,
            keeps_complete=is_refitted,
        )
        errors, bias_cv = done.errors, None
        if done.is_stopped:
            self.notes.append(stopped_after(errors.n_repeats, self.n_repeats, self.bias_source is not None))
        elif self.bias_source is not None:
            bias_cv, count = mean_cv(route, self.bias_source[0], self.rows, Q, self.bias_source[1], is_refitted)
            if count < self.bias_source[1]:
                self.notes.append(stopped_in_bias(count, self.bias_source[1]))
        return Outcome(errors, done.totals, bias_cv)


def _add_hint(error: TrainingSetError, adapted: Sequence[Adapted]) -> None:
    """Let the message say what a model takes for the likely cause."""
    hints = {hint for each in adapted if (hint := getattr(each.smoother, "hint", ""))}
    error.args = (" ".join([str(error), *sorted(hints)]),)


def prepare(contenders: Sequence[Contender], X: Any, y: Any, settings: Settings) -> Job:
    """Check everything and choose folds and routes."""
    level = check_level(settings.confidence_level)
    rule = RULES[check_choice("interval", settings.interval, tuple(RULES))]
    check_choice("route", settings.route, ROUTES)
    check_choice("transformers", settings.transformers, TRANSFORMERS)
    settings = replace(settings, n_jobs=check_jobs(settings.n_jobs))
    progress = Progress(check_progress(settings.progress))
    firsts = [contender.estimators[0] for contender in contenders]
    problem = check_problem(firsts, X, y, settings.sample_weight, settings.groups)
    loss = find_loss(settings.loss, problem.classes)
    K, L = _check_counts(problem, settings)
    adapted = tuple(_adapt(contender, problem, settings) for contender in contenders)
    entropy = entropy_of(settings.random_state)
    if K is None and settings.folds is None:
        K = _automatic_folds(problem, adapted, settings, rule)
    source, repeats = _partitions(problem, K, L, settings.folds, entropy)
    if rule.needs_v_out and not _whole(source).sizes.min() > 1:
        raise IntervalError(
            f'interval="{rule.name}" needs the variance within each fold, and some folds have one row. Use fewer '
            'folds, or interval="covariance".'
        )
    bias_source = _bias_partitions(problem, source, settings.bias_folds, entropy)
    chosen = _choose_routes(contenders, problem, adapted, source, repeats, loss, settings, progress)
    return Job(
        problem, loss, rule, level, source, repeats, bias_source, *chosen, adapted, progress, _n_threads(settings)
    )


def _n_threads(settings: Settings) -> int:
    return int(effective_n_jobs(1 if settings.n_jobs is None else settings.n_jobs))


def _adapt(contender: Contender, problem: Problem, settings: Settings) -> Adapted:
    if settings.route == "refit":
        return _with_exactness(Adapted(None, reason="asked for"), contender, problem)
    path = None if contender.param_name is None else (contender.param_name, contender.values or ())
    adapted = adapt(contender.estimators[0], problem, settings.transformers, path)
    if adapted.smoother is None and adapted.tuned is None:
        return _with_exactness(adapted, contender, problem)
    return adapted


def _with_exactness(adapted: Adapted, contender: Contender, problem: Problem) -> Adapted:
    """Refits of our own models take their knots and components as given, too."""
    return replace(adapted, exactness=freeze(contender.estimators[0], problem)[1])


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


def _automatic_folds(problem: Problem, adapted: Sequence[Adapted], settings: Settings, rule: Rule) -> int:
    """Leave two out where that is fast and the rule can; else ten folds."""
    units = _units(problem)
    if rule.needs_v_out or settings.bias_folds is not None:
        return min(DEFAULT_FOLDS, units)
    tuned = [each.tuned for each in adapted if each.tuned is not None]
    if tuned:
        by_rows = units**2 * problem.n if any(each.needs_rows for each in tuned) else 0
        work = units**2 * max(each.steps * each.smoother.width**3 for each in tuned)
        small = units <= LEAVE_TWO_OUT_TUNED and by_rows <= LEAVE_TWO_OUT_TUNED_BY_ROWS**3
        small &= work <= LEAVE_TWO_OUT_TUNED_WORK and all(each.smoother or each.tuned for each in adapted)
        return units if small else min(DEFAULT_FOLDS, units)
    smoothers = [each.smoother for each in adapted]
    fast = settings.route != "gram" and not any(s is None or s.why_not_onestep for s in smoothers)
    if fast:
        cubic = problem.groups is not None or any(s is not None and s.wants_dual for s in smoothers)
        if problem.n <= (LEAVE_TWO_OUT_DUAL if cubic else LEAVE_TWO_OUT_ROWS):
            return units
    return min(DEFAULT_FOLDS, units)


def _partitions(
    problem: Problem, K: int | None, L: int | None, folds: Any, entropy: int
) -> tuple[FoldSource, int | None]:
    """Where the folds come from and how many repeats there are; None leaves that to the stopping rule."""
    if folds is None:
        assert K is not None
        source = RandomFolds(problem.n, K, entropy, groups=problem.groups, strata=_strata(problem))
        return source, 1 if source.is_exhaustive else L
    given = explicit_folds(folds, problem.n, problem.X, problem.target, problem.groups)
    if K is not None and given.n_folds != K:
        raise FoldError(f"folds has {given.n_folds} folds and n_folds={K}; leave n_folds out or let them agree.")
    if L is not None and given.n_repeats != L:
        raise FoldError(f"folds has {given.n_repeats} repeats and n_repeats={L}; leave it out or let them agree.")
    return given, given.n_repeats


def _strata(problem: Problem) -> IntArray | None:
    """Number of each row's class, for folds that hold all classes evenly."""
    return None if problem.classes is None else np.searchsorted(problem.classes, problem.labels)


def _bias_partitions(
    problem: Problem, source: FoldSource, bias_folds: Any, entropy: int
) -> tuple[FoldSource, int] | None:
    if bias_folds is None:
        return None
    if not hasattr(bias_folds, "split") and is_single(bias_folds):
        count = check_integer("bias_folds", bias_folds, 1, MOST_ASKED, ", or an array of fold ids")
        scored = (_whole(source).ids >= 0).any(axis=0)
        return RandomFolds(problem.n, source.n_folds, entropy, 1, problem.groups, _strata(problem), scored), count
    given = explicit_folds(bias_folds, problem.n, problem.X, problem.target, problem.groups, "bias_folds")
    if given.n_folds != source.n_folds:
        raise FoldError(
            f"bias_folds has {given.n_folds} folds and folds has {source.n_folds}: the bias correction compares "
            "training sets of n(K-1)/K and n(K-2)/K rows, so K must be the same."
        )
    return given, given.n_repeats


def _whole(source: FoldSource) -> Any:
    """All given partitions, or one random one to tell the sizes."""
    return source.block(0, source.n_repeats if isinstance(source, ExplicitFolds) else 1)


def _choose_routes(
    contenders: Sequence[Contender],
    problem: Problem,
    adapted: Sequence[Adapted],
    source: FoldSource,
    repeats: int | None,
    loss: Loss,
    settings: Settings,
    progress: Progress,
) -> tuple[Route | LeaveTwoOut, tuple[Fact, ...], tuple[Counts, ...]]:
    """One route for each contender, side by side; one pass for all that leave two rows out. And what they count."""
    sizes = np.sort(_whole(source).sizes, axis=1)
    smallest = int(source.n - sizes[:, -2:].sum(axis=1).max())
    smoothers = [each.smoother for each in adapted if each.smoother is not None]
    for smoother in [*smoothers, *(each.tuned.smoother for each in adapted if each.tuned is not None)]:
        try:
            smoother.check_fits(smallest)
        except TrainingSetError as error:
            _add_hint(error, adapted)
            raise
    leaves_two = isinstance(source, RandomFolds) and source.n_folds == problem.n and problem.groups is None
    can = len(smoothers) == len(adapted) and not any(smoother.why_not_onestep for smoother in smoothers)
    if leaves_two and can and settings.route in ("auto", "onestep"):
        facts = [Fact("onestep", "two rows out at a time, in 2 x 2 systems", each.exactness) for each in adapted]
        together = LeaveTwoOut(problem, smoothers, loss, progress.advance, _n_threads(settings))
        return together, _by_value(facts, [smoother.n_values for smoother in smoothers]), ()
    if source.n_folds > MOST_FOLDS:
        raise FoldError(
            f"{source.n_folds} folds would need tables of {source.n_folds}^2 pairs; use at most {MOST_FOLDS} folds. "
            '(Only n_folds="n", with a dense X and a linear smoother, does without them.)'
        )
    chosen: list[tuple[Route, str]] = [
        _choose_route(contender, problem, each, source.n_folds, repeats, int(sizes.max()), loss, settings, progress)
        for contender, each in zip(contenders, adapted, strict=True)
    ]
    facts = [Fact(route.name, reason, each.exactness) for (route, reason), each in zip(chosen, adapted, strict=True)]
    routes = [route for route, _ in chosen]
    by_value = _by_value(facts, [route.n_values for route in routes])
    counts = counts_of(routes, progress.advance, is_one_repeat=repeats == 1)
    return routes[0] if len(routes) == 1 else SideBySide(routes), by_value, counts


def _by_value(facts: Sequence[Fact], counts: Sequence[int]) -> tuple[Fact, ...]:
    return tuple(fact for fact, count in zip(facts, counts, strict=True) for _ in range(count))


def _choose_route(
    contender: Contender,
    problem: Problem,
    adapted: Adapted,
    K: int,
    repeats: int | None,
    largest_fold: int,
    loss: Loss,
    settings: Settings,
    progress: Progress,
) -> tuple[Route, str]:
    smoother, route = adapted.smoother, settings.route
    if adapted.tuned is not None:
        return _choose_tuned(adapted.tuned, problem, K, loss, settings)
    if smoother is None:
        if route not in ("auto", "refit"):
            raise RouteError(f'route="{route}" cannot serve this estimator: {adapted.reason}. Or use route="refit".')
        estimators = [freeze(estimator, problem)[0] for estimator in contender.estimators]
        return RefitRoute(problem, estimators, loss, settings.n_jobs, progress.advance), adapted.reason
    if route == "onestep" and smoother.why_not_onestep:
        raise RouteError(f'route="onestep" cannot serve this design: {smoother.why_not_onestep}. Or use route="gram".')
    reason = "asked for"
    if route == "auto":
        chosen = choose(problem.n, smoother.width, K, repeats or LIKELY_REPEATS, smoother.n_values, largest_fold)
        route, reason = chosen.choice, chosen.reason
        if smoother.why_not_onestep:
            route, reason = "gram", smoother.why_not_onestep
    return (GramRoute if route == "gram" else OneStepRoute)(problem, smoother, loss), reason


def _choose_tuned(
    tuned: TunedLearner | GramLearner, problem: Problem, K: int, loss: Loss, settings: Settings
) -> tuple[Route, str]:
    """The gram route that learns more than coefficients in every training set."""
    if settings.route == "onestep":
        raise RouteError(
            'route="onestep" cannot serve an estimator that tunes its penalty or its components: the residual operator '
            'changes with them. Use route="gram" or "auto".'
        )
    reason = tuned.reason
    if settings.n_folds == "auto" and settings.folds is None and _units(problem) > K:
        most = LEAVE_TWO_OUT_TUNED_BY_ROWS if tuned.needs_rows else LEAVE_TWO_OUT_TUNED
        reason += (
            f'; n_folds="auto" took {K} folds, as it leaves two out up to {most} rows and few columns only, and if the '
            "rule of the interval allows"
        )
    if isinstance(tuned, TunedLearner):
        return TunedRoute(problem, tuned, loss), reason
    return LearnedRoute(problem, tuned, loss), reason
