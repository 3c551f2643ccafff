"""Arguments -> a job: checked data, partitions, a route; nothing is computed before all of it is in order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .errors import DataError, FoldError, IntervalError, RouteError
from .fold_errors import FoldErrors, Rows, RowTotals
from .folds import ExplicitFolds, FoldSource, RandomFolds, entropy_of, explicit_folds
from .intervals import RULES, Rule
from .learners import Adapted, Smoother, adapt
from .losses import Loss, find_loss
from .montecarlo import MOST_REPEATS
from .progress import Progress, check_progress
from .repeats import collect, mean_cv
from .routes import GramRoute, LeaveTwoOut, OneStepRoute, RefitRoute, Route
from .routes.leavetwo import n_tiles
from .routes.plan import choose
from .typing import FloatArray
from .validation import Problem, check_choice, check_integer, check_level, check_problem

__all__ = ["Job", "Outcome", "Settings", "prepare"]

ROUTES = ("auto", "gram", "onestep", "refit")
DEFAULT_FOLDS = 10
LEAVE_TWO_OUT_ROWS = 5000
"""Up to this many rows a linear smoother leaves two out by default; see below for the others."""

LEAVE_TWO_OUT_DUAL = 2000
"""The same for p >= n, kernels and groups, where it costs n^3."""

MOST_FOLDS = 2048
"""The tables of pairs of folds are K x K; beyond this they would not be small."""

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


@dataclass(frozen=True)
class Outcome:
    """What a job computes."""

    errors: FoldErrors
    totals: RowTotals
    bias_cv: FloatArray | None


@dataclass(frozen=True)
class Job:
    """Checked data, partitions and the route, with the reason for it; ``n_repeats`` None is "auto"."""

    problem: Problem
    loss: Loss
    rule: Rule
    confidence_level: float
    source: FoldSource
    n_repeats: int | None
    bias_source: tuple[FoldSource, int] | None
    route: Route | LeaveTwoOut
    route_reason: str
    exactness: str
    progress: Progress

    @property
    def rows(self) -> Rows:
        """Weights and groups of the rows."""
        return Rows.of(self.problem.weights, self.problem.groups)

    def run(self) -> Outcome:
        """Compute the fold errors."""
        if isinstance(self.route, LeaveTwoOut):
            outcome = Outcome(*self.route.compute(), None)
        else:
            outcome = self._run_repeats(self.route)
        self.progress.finish()
        if not np.isfinite(outcome.errors.raw).all():
            raise DataError("The losses overflow: rescale y (and X) to less extreme units.")
        return outcome

    def _run_repeats(self, route: Route) -> Outcome:
        Q = self.problem.n_outputs
        tick = None if isinstance(route, RefitRoute) else self.progress.advance
        errors, totals = collect(route, self.source, self.rows, Q, self.n_repeats, self.rule, self.loss, tick)
        bias_cv = None
        if self.bias_source is not None:
            bias_cv = mean_cv(route, self.bias_source[0], self.rows, Q, self.bias_source[1])
        return Outcome(errors, totals, bias_cv)


def prepare(estimator: Any, X: Any, y: Any, settings: Settings) -> Job:
    """Check everything and choose folds and route."""
    level = check_level(settings.confidence_level)
    rule = RULES[check_choice("interval", settings.interval, tuple(RULES))]
    check_choice("route", settings.route, ROUTES)
    check_choice("transformers", settings.transformers, ("refit", "freeze"))
    if settings.n_jobs is not None and settings.n_jobs != -1:
        check_integer("n_jobs", settings.n_jobs, 1, also=", or -1 for all cores, or None")
    if isinstance(estimator, type) or not (hasattr(estimator, "fit") and hasattr(estimator, "predict")):
        raise DataError(f"{estimator!r} is not an estimator object with fit and predict, such as Ridge(alpha=1.0).")
    problem = check_problem(estimator, X, y, settings.sample_weight, settings.groups)
    loss = find_loss(settings.loss, problem.classes)
    K, L = _check_counts(problem, settings)
    adapted = Adapted(None, reason="asked for")
    if settings.route != "refit":
        adapted = adapt(estimator, problem, settings.transformers)
    entropy = entropy_of(settings.random_state)
    if K is None and settings.folds is None:
        K = _automatic_folds(problem, adapted.smoother, settings, rule)
    source, repeats = _partitions(problem, K, L, settings.folds, entropy)
    if rule.needs_v_out and not _whole(source).sizes.min() > 1:
        raise IntervalError(
            f'interval="{rule.name}" needs the variance within each fold, and some folds have one row. Use fewer '
            'folds, or interval="covariance".'
        )
    bias_source = _bias_partitions(problem, source, settings.bias_folds, entropy)
    progress = Progress(check_progress(settings.progress), _work(adapted.smoother, source, repeats, bias_source))
    route, reason = _choose_route(estimator, problem, adapted, source, repeats, loss, settings, progress)
    return Job(problem, loss, rule, level, source, repeats, bias_source, route, reason, adapted.exactness, progress)


def _work(
    smoother: Smoother | None, source: FoldSource, repeats: int | None, bias_source: tuple[FoldSource, int] | None
) -> int:
    """Units of progress: fits, repeats, or tiles of pairs of rows."""
    K, L = source.n_folds, repeats or MOST_REPEATS
    if smoother is None:
        return K * (K + 1) // 2 * L + (0 if bias_source is None else K * bias_source[1])
    return n_tiles(source.n) * smoother.n_values if source.n == K else L


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
    return K, None if is_auto else check_integer("n_repeats", settings.n_repeats, 1, also=', or "auto"')


def _automatic_folds(problem: Problem, smoother: Smoother | None, settings: Settings, rule: Rule) -> int:
    """Leave two out where that is fast and the rule can; else ten folds."""
    units = _units(problem)
    fast = smoother is not None and settings.route != "gram" and not smoother.why_not_onestep
    if fast and not rule.needs_v_out and settings.bias_folds is None:
        cubic = problem.groups is not None or (smoother is not None and smoother.wants_dual)
        if problem.n <= (LEAVE_TWO_OUT_DUAL if cubic else LEAVE_TWO_OUT_ROWS):
            return units
    return min(DEFAULT_FOLDS, units)


def _partitions(
    problem: Problem, K: int | None, L: int | None, folds: Any, entropy: int
) -> tuple[FoldSource, int | None]:
    """Where the folds come from and how many repeats there are; None leaves that to the stopping rule."""
    if folds is None:
        assert K is not None
        strata = None
        if problem.classes is not None:
            strata = np.searchsorted(problem.classes, problem.labels)
        source = RandomFolds(problem.n, K, entropy, groups=problem.groups, strata=strata)
        return source, 1 if source.is_exhaustive else L
    given = explicit_folds(folds, problem.n, problem.X, problem.target, problem.groups)
    if K is not None and given.n_folds != K:
        raise FoldError(f"folds has {given.n_folds} folds and n_folds={K}; leave n_folds out or let them agree.")
    if L is not None and given.n_repeats != L:
        raise FoldError(f"folds has {given.n_repeats} repeats and n_repeats={L}; leave it out or let them agree.")
    return given, given.n_repeats


def _bias_partitions(
    problem: Problem, source: FoldSource, bias_folds: Any, entropy: int
) -> tuple[FoldSource, int] | None:
    if bias_folds is None:
        return None
    if np.ndim(bias_folds) == 0 and not hasattr(bias_folds, "split"):
        count = check_integer("bias_folds", bias_folds, 1, also=", or an array of fold ids")
        scored = (_whole(source).ids >= 0).any(axis=0)
        return RandomFolds(problem.n, source.n_folds, entropy, 1, problem.groups, scored=scored), count
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


def _choose_route(
    estimator: Any,
    problem: Problem,
    adapted: Adapted,
    source: FoldSource,
    repeats: int | None,
    loss: Loss,
    settings: Settings,
    progress: Progress,
) -> tuple[Route | LeaveTwoOut, str]:
    smoother, route, K = adapted.smoother, settings.route, source.n_folds
    if smoother is None:
        if route not in ("auto", "refit"):
            raise RouteError(f'route="{route}" cannot serve this estimator: {adapted.reason}. Or use route="refit".')
        _check_folds(K)
        return RefitRoute(problem, [estimator], loss, settings.n_jobs, progress.advance), adapted.reason
    if route == "onestep" and smoother.why_not_onestep:
        raise RouteError(f'route="onestep" cannot serve this design: {smoother.why_not_onestep}. Or use route="gram".')
    sizes = np.sort(_whole(source).sizes, axis=1)
    smoother.check_fits(int(source.n - sizes[:, -2:].sum(axis=1).max()))
    reason = "asked for"
    if route in ("auto", "onestep") and isinstance(source, RandomFolds) and problem.n == K:
        return LeaveTwoOut(problem, smoother, loss, progress.advance), "two rows out at a time, in 2 x 2 systems"
    _check_folds(K)
    if route == "auto":
        chosen = choose(problem.n, smoother.width, K, repeats or LIKELY_REPEATS, smoother.n_values, int(sizes.max()))
        route, reason = chosen.choice, chosen.reason
        if smoother.why_not_onestep:
            route, reason = "gram", smoother.why_not_onestep
    return (GramRoute if route == "gram" else OneStepRoute)(problem, smoother, loss), reason


def _check_folds(K: int) -> None:
    if K > MOST_FOLDS:
        raise FoldError(f"{K} folds would need a table of {K} x {K} pairs; use at most {MOST_FOLDS} folds.")
