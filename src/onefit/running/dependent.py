"""Folds for rows that follow one another: a pilot says how long a buffer must be, and then the folds are made."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass, field, replace

import numpy as np

from ..arrangement import Arrangement, Line, Plane
from ..dropfolds import DropSets, as_source, drop_sets, is_complement, splits_of
from ..errors import DataError, FoldError, IntervalError
from ..folds import ExplicitFolds
from ..frames import as_array
from ..givenfolds import GivenSplits
from ..inference.correlation import LAGS, Decay, decay_of, trend_share
from ..inference.fold_errors import HeldOut
from ..inference.serial import Serial
from ..learners import Learner, RefitLearner, Task
from ..metrics import find_loss
from ..metrics.pooled import MOST_BLOCKS
from ..neighbourhoods import GIVEN, Gaps, Kind, Neighbourhoods, RollingOrigin, SpaceBlocks, TimeBlocks
from ..routes import Bid, Engine, FoldPlan, Kept, RepeatedRoute, Workers, choose_drop_routes
from ..routes.sidebyside import joined_singles
from ..rowsplitters import FEWEST_IN_A_BLOCK
from ..typing import Data, Estimator, FloatArray, IntArray
from ..validation import Problem
from .progress import Progress, Units

__all__ = ["Dependent", "Pilot", "decays_of", "find_dependent", "pilot_task", "refuse_beside"]

PILOT_BLOCKS, PILOT_BLOCKS_IN_SPACE, BLOCKS_OF_SMOOTHS = 10, 16, 20
LEFT = 0.3
"""Of the correlation, beyond a buffer in time."""

LEAST_CORRELATION = 0.1
RANGES = 2.3
"""Ranges that a buffer in space is wide."""

SMOOTH_LAGS, SMOOTH_BUFFER = 10, 50
"""With a smooth function of time: lags up to a tenth of the times, a pilot's buffer of a fiftieth."""

SMOOTHS = ("SplineRegression", "AdditiveModel", "SplineTransformer", "KernelRidge", "GaussianProcessRegressor")


@dataclass(frozen=True)
class Dependent:
    """Folds for rows that follow one another, and how they came about.

    Attributes
    ----------
    source : DropSets or ExplicitFolds
    serial : Serial
        What the interval must know.
    kind : str
        "elsewhere", "gaps", "ahead" or "given".
    meaning : str
        Which error is estimated, in words.
    buffer : float
        In steps of time, or in the unit of the coordinates.
    wanted : float
        The buffer that the pilot asked for.
    has_smooth : bool
        Whether the model has a smooth function of time.
    trend : float
        Part of the squares of the pilot's residuals that a straight line in time explains.
    """

    source: DropSets | ExplicitFolds
    serial: Serial
    kind: str
    meaning: str
    buffer: float = 0.0
    wanted: float = 0.0
    has_smooth: bool = False
    trend: float = 0.0
    kept: Kept = field(default_factory=dict, repr=False)

    def again(self) -> Dependent:
        """The same folds for another model, whose residuals have their own correlation."""
        return replace(self, serial=replace(self.serial, decays=None), kept={})

    @property
    def training_rows(self) -> float:
        """Mean number of rows that the fits with one neighbourhood out are made of."""
        source = self.source
        return source.whole.training_sizes[0] if isinstance(source, DropSets) else source.n - float(source.sizes.mean())


@dataclass(frozen=True)
class Pilot:
    """What computes held-out residuals of some folds before the job is made."""

    candidates: Sequence[Sequence[Learner]]
    task: Task
    asked: str
    workers: Workers
    plan: Callable[[DropSets], FoldPlan]
    progress: Progress
    kept: Kept = field(default_factory=dict)

    def residuals(self, source: DropSets, n_folds: int) -> HeldOut:
        """Of every row with its own neighbourhood out; ``n_folds`` are those of the job that comes after it."""
        _, bids = choose_drop_routes(self.candidates, self.task, self.plan(source), self.asked, self.kept)
        engines = [self._engine(bid) for bid in bids]
        with ExitStack() as stack:
            for engine in engines:
                stack.enter_context(engine.at_work())
            stack.enter_context(self._counted(engines, source.n_folds, n_folds))
            return joined_singles([engine.singles(source.whole) for engine in engines])

    def _counted(self, engines: Sequence[Engine], own: int, n_folds: int) -> AbstractContextManager[None]:
        """Count fits or training sets, if that is what the job will count; all else takes no time."""
        counted = [engine for engine in engines if engine.is_refitted] or list(engines)
        for engine in counted:
            engine.counts_sets = engine.goes_through_sets
        names = {engine.units for engine in counted}
        if names not in ({"fits"}, {"training sets"}):
            return nullcontext()
        for engine in counted:
            engine.tick = self.progress.advance
        total = sum(each.n_units(n_folds, 1, True) for each in counted)
        units = Units(total, names.pop(), at_once=self.workers.n_threads)
        return self.progress.piloting(sum(each.n_units(own, 1, False) for each in counted), units)

    def _engine(self, bid: Bid) -> Engine:
        assert isinstance(bid.route, RepeatedRoute)
        return bid.route.engine(bid.learner, bid.learner.own_task(self.task), self.workers)


def pilot_task(task: Task) -> Task:
    """The task with a loss of rows, where metrics were asked for: a pilot is about residuals."""
    return replace(task, loss=find_loss(None, task.problem.classes), metrics=()) if task.metrics else task


def find_dependent(folds: object, pilot: Pilot) -> Dependent | None:
    """Folds of these kinds, or with training sets that are no complements; None if they are partitions."""
    if isinstance(folds, Dependent):
        return folds
    if isinstance(folds, Kind):
        return dependent_folds(folds, pilot)
    problem = pilot.task.problem
    splits = splits_of(folds, problem)
    if splits is None or all(is_complement(train, test, problem.n) for train, test in splits):
        return None
    name = "cv" if isinstance(folds, GivenSplits) else type(folds).__name__
    if problem.groups is not None:
        raise DataError(
            f"The training sets of {name} are not all rows but those tested, and groups are given; leave groups out."
        )
    return given_splits(splits, name, problem.n)


def refuse_beside(found: Dependent, task: Task, K: int | None, L: int | None, bias_folds: object) -> None:
    """Refuse keywords that make no sense beside such folds."""
    for metric in task.metrics:
        if not metric.is_extra and metric.family == "pooled" and task.problem.n > MOST_BLOCKS:
            raise IntervalError(
                f"{metric.name} is a function of all predictions together: from {MOST_BLOCKS + 1} rows on its variance "
                "comes from rows left out by chance, which tells nothing of neighbours that resemble each other. "
                "Choose a mean of losses, a function of such, or ranks within blocks: as neg_log_loss, r2 or roc_auc."
            )
    if task.rule.name != "covariance":
        raise IntervalError(
            f'interval="{task.rule.name}" takes rows for independent, and these folds are for rows that follow one '
            'another; use interval="covariance".'
        )
    if bias_folds is not None:
        raise FoldError("bias_folds are for the rules of independent rows; leave them out beside such folds.")
    if K is not None and found.source.n_folds != K:
        raise FoldError(f"cv makes {found.source.n_folds} folds and n_folds={K}; leave n_folds out.")
    if L is not None and L != 1:
        raise FoldError(f"cv makes one repeat and n_repeats={L}; leave it out.")


def dependent_folds(cv: Kind, pilot: Pilot) -> Dependent:
    """The folds that are meant."""
    problem = pilot.task.problem
    if problem.groups is not None:
        raise DataError(f"groups and {type(cv).__name__} are two ways to hold rows together; leave groups out.")
    arrangement = cv.arrange(problem.X, problem.n)
    if isinstance(cv, TimeBlocks | SpaceBlocks):
        return _blocks(cv, arrangement, pilot)
    if isinstance(cv, Gaps):
        source = _checked(drop_sets(problem.n, cv.pairs_of(arrangement, problem.n), "Gaps"))
        return Dependent(source, _serial(arrangement, source), "gaps", cv.meaning)
    if isinstance(cv, RollingOrigin):
        ahead = drop_sets(problem.n, cv.pairs_of(arrangement, problem.n), "RollingOrigin", has_pairs=False)
        return Dependent(ahead, Serial(arrangement, 0.0), "ahead", cv.meaning)
    assert isinstance(cv, Neighbourhoods)
    found = drop_sets(problem.n, cv.pairs_of(arrangement, problem.n), "Neighbourhoods")
    return _given(found, arrangement)


def given_splits(splits: Sequence[tuple[IntArray, IntArray]], name: str, n: int) -> Dependent:
    """Folds of a splitter whose training sets are not all rows but those that are tested."""
    pairs = []
    for train, test in splits:
        stays = np.zeros(n, dtype=bool)
        stays[train] = True
        pairs.append((np.flatnonzero(~stays), np.asarray(test)))
    return _given(drop_sets(n, pairs, name), Line.as_they_come(n))


def _given(found: DropSets, line: Arrangement) -> Dependent:
    """Forecasts if all that is trained on comes before what is scored; else neighbourhoods."""
    assert isinstance(line, Line)
    whole = found.whole
    for fold in range(whole.n_folds):
        if line.time[whole.training_rows(0, fold)].max() >= line.time[whole.ids[0] == fold].min():
            source = _checked(found)
            return Dependent(source, _serial(line, source), "given", GIVEN)
    ahead = drop_sets(whole.n, list(zip(whole.drops, _scored(found), strict=True)), has_pairs=False)
    steps = "the mean error of forecasts from origins like these; not that of the next one"
    return Dependent(ahead, Serial(line, 0.0), "ahead", steps)


def _scored(found: DropSets) -> list[IntArray]:
    return [np.flatnonzero(found.whole.ids[0] == fold) for fold in range(found.n_folds)]


def _blocks(cv: TimeBlocks | SpaceBlocks, arrangement: Arrangement, pilot: Pilot) -> Dependent:
    problem, name = pilot.task.problem, type(cv).__name__
    blocks = cv.blocks(arrangement)
    unit = arrangement.step if isinstance(arrangement, Plane) else 1.0
    if not isinstance(cv.buffer, str):
        source = _checked(drop_sets(problem.n, cv.pairs_of(arrangement, problem.n), name))
        return Dependent(source, _serial(arrangement, source), "elsewhere", cv.meaning, float(cv.buffer))
    has_smooth = _has_smooth_of_time(pilot, arrangement)
    held_out = pilot.residuals(_pilot_folds(arrangement, problem.n, has_smooth), cv.n_blocks)
    decays = decays_of(held_out.residuals[0], arrangement, SMOOTH_LAGS if has_smooth else LAGS)
    value = _best_value(held_out)
    wanted = max(_wanted(decay, arrangement, has_smooth) for decay in decays[value])
    distance = min(wanted, arrangement.most_distance(blocks))
    source = _checked(drop_sets(problem.n, arrangement.drops(blocks, distance), name))
    residuals = held_out.residuals[0, :, value]
    trend = max((trend_share(u, arrangement) for u in residuals.T), default=0.0) if isinstance(arrangement, Line) else 0
    return Dependent(
        source,
        _serial(arrangement, source, decays),
        "elsewhere",
        cv.meaning,
        unit * distance,
        unit * wanted,
        has_smooth,
        float(trend),
        pilot.kept,
    )


def _pilot_folds(arrangement: Arrangement, n: int, has_smooth: bool) -> DropSets:
    """Blocks with the widest buffers that they may have; shorter ones where a smooth function of time bridges gaps."""
    count = PILOT_BLOCKS if isinstance(arrangement, Line) else PILOT_BLOCKS_IN_SPACE
    count = BLOCKS_OF_SMOOTHS if has_smooth else count
    count = max(4, min(count, arrangement.n_places // FEWEST_IN_A_BLOCK))
    blocks = arrangement.blocks(count)
    distance = arrangement.most_distance(blocks)
    if has_smooth:
        distance = max(1.0, float(arrangement.n_places // SMOOTH_BUFFER))
    return drop_sets(n, arrangement.drops(blocks, distance), "The pilot")


def _wanted(decay: Decay, arrangement: Arrangement, has_smooth: bool) -> float:
    """The buffer beyond which little of the correlation is left."""
    if isinstance(arrangement, Plane):
        return 0.0 if decay.rho <= LEAST_CORRELATION else RANGES * decay.range
    least = 2 / math.sqrt(arrangement.n_places) if has_smooth else LEAST_CORRELATION
    return 0.0 if decay.rho <= least else float(math.ceil(decay.steps_to(LEFT)))


def decays_of(residuals: FloatArray, arrangement: Arrangement, lags: int = LAGS) -> list[list[Decay]]:
    """Of residuals (n, V, Q), by value and output."""
    return [[decay_of(u, arrangement, lags) for u in by_output.T] for by_output in np.moveaxis(residuals, 1, 0)]


def _best_value(held_out: HeldOut) -> int:
    """The value, or model, of the smallest losses: a bad one has residuals that follow what it misses."""
    means = np.nanmean(held_out.losses[0], axis=0).mean(axis=1)
    means[[failure.value for failure in held_out.failures]] = np.inf
    return int(np.argmin(means))


def _checked(found: DropSets) -> DropSets | ExplicitFolds:
    """The folds, if the training sets of all pairs have rows."""
    if found.whole.smallest_training_set < 1:
        raise FoldError(
            "Two folds and their neighbourhoods hold all rows, so that none are left to train on; use a smaller buffer "
            "or more folds."
        )
    return as_source(found)


def _serial(
    arrangement: Arrangement, source: DropSets | ExplicitFolds, decays: list[list[Decay]] | None = None
) -> Serial:
    return Serial(arrangement, sizes_of_training_sets(source) / source.n, decays)


def sizes_of_training_sets(source: DropSets | ExplicitFolds) -> float:
    """Mean number of training rows with two neighbourhoods out."""
    if isinstance(source, DropSets):
        return source.whole.training_sizes[1]
    return source.n - 2 * float(source.sizes.mean())


def _has_smooth_of_time(pilot: Pilot, arrangement: Arrangement) -> bool:
    """Whether a model has a smooth function of a column that rises, or falls, with time."""
    if not isinstance(arrangement, Line):
        return False
    learners = [learner for candidate in pilot.candidates for learner in candidate if isinstance(learner, RefitLearner)]
    if not any(_is_smooth(learner.given[0]) for learner in learners):
        return False
    return _has_clock(pilot.task.problem, arrangement)


def _is_smooth(estimator: Estimator) -> bool:
    parts = [estimator, *(estimator.get_params().values() if hasattr(estimator, "get_params") else ())]
    return any(type(part).__name__ in SMOOTHS for part in parts)


def _has_clock(problem: Problem, line: Line) -> bool:
    """Whether a column of X rises, or falls, from each time to the next."""
    X: Data = problem.X
    if len(getattr(X, "shape", ())) != 2:
        return False
    table = X.toarray() if hasattr(X, "toarray") else as_array(X)
    first = np.unique(line.places, return_index=True)[1]
    for column in table[first].T:
        try:
            steps = np.diff(column.astype(np.float64))
        except (TypeError, ValueError):
            continue
        if (steps > 0).all() or (steps < 0).all():
            return True
    return False
