"""Settings -> partitions of the rows, and what routes must know of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..checks import check_integer
from ..dropfolds import DropFolds, DropSets
from ..errors import FoldError
from ..folds import ExplicitFolds, Folds, FoldSource, RandomFolds
from ..givenfolds import explicit_folds, is_single
from ..routes import FoldPlan, Partitions
from ..typing import ArrayLike, IntArray, Splitter
from ..validation import Problem
from .checkpoints import make_checkpoint
from .contenders import Contender
from .dependent import Dependent
from .settings import Settings

__all__ = ["check_counts", "partition", "plan_folds", "plan_of_drops", "whole_of", "with_checkpoint"]

MOST_ASKED = 100_000
"""So many partitions leave a Monte Carlo error of a few thousandths of that of one; more would only take time."""


def check_counts(problem: Problem, settings: Settings) -> tuple[int | None, int | None]:
    """Folds and repeats asked for; None is "auto"."""
    units, what = _units(problem), "rows" if problem.groups is None else "groups"
    K: int | None = None
    if isinstance(settings.n_folds, str) and settings.n_folds == "n":
        K = units
    elif not (isinstance(settings.n_folds, str) and settings.n_folds == "auto"):
        K = check_integer("n_folds", settings.n_folds, 3, units, f' (the number of {what}), or "n" or "auto"')
    is_auto = isinstance(settings.n_repeats, str) and settings.n_repeats == "auto"
    return K, None if is_auto else check_integer("n_repeats", settings.n_repeats, 1, MOST_ASKED, ', or "auto"')


def partition(problem: Problem, K: int | None, L: int | None, settings: Settings, entropy: int) -> Partitions:
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


def with_checkpoint(
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


def _bias_partitions(
    problem: Problem, source: FoldSource, bias_folds: int | ArrayLike | Splitter | None, entropy: int
) -> tuple[FoldSource, int] | None:
    if bias_folds is None:
        return None
    if not hasattr(bias_folds, "split") and is_single(bias_folds):
        count = check_integer("bias_folds", bias_folds, 1, MOST_ASKED, ", or an array of fold ids")
        scored = np.asarray((whole_of(source).ids >= 0).any(axis=0))
        return RandomFolds(problem.n, source.n_folds, entropy, 1, problem.groups, _strata(problem), scored), count
    given = explicit_folds(bias_folds, problem.n, problem.X, problem.target, problem.groups, "bias_folds")
    if given.n_folds != source.n_folds:
        raise FoldError(
            f"bias_folds has {given.n_folds} folds and folds has {source.n_folds}: the bias correction compares "
            "training sets of n(K-1)/K and n(K-2)/K rows, so K must be the same."
        )
    return given, given.n_repeats


def _strata(problem: Problem) -> IntArray | None:
    """Number of each row's class, for folds that hold all classes evenly."""
    return None if problem.classes is None else np.searchsorted(problem.classes, problem.labels)


def plan_of_drops(problem: Problem, source: DropSets) -> FoldPlan:
    """What routes must know of folds with drop sets."""
    return plan_folds(problem, Partitions(source, 1), source.whole, False)


def plan_folds(problem: Problem, partitions: Partitions, whole: Folds, is_automatic: bool) -> FoldPlan:
    """What routes must know of the folds."""
    source, sizes = partitions.source, np.sort(whole.sizes, axis=1)
    if isinstance(whole, DropFolds):
        largest = max(len(drop) for drop in whole.drops)
        return FoldPlan(source.n_folds, 1, _units(problem), largest, whole.smallest_training_set, given=whole)
    return FoldPlan(
        n_folds=source.n_folds,
        n_repeats=partitions.n_repeats,
        units=_units(problem),
        largest_fold=int(sizes.max()),
        smallest_training_set=int(source.n - sizes[:, -2:].sum(axis=1).max()),
        is_single_rows=isinstance(source, RandomFolds) and source.n_folds == problem.n and problem.groups is None,
        is_default=is_automatic and source.n_folds < _units(problem),
        given=None if isinstance(source, RandomFolds) else source.block(0, 1),
    )


def _units(problem: Problem) -> int:
    """Rows, or groups: what cannot be split between folds."""
    return problem.n if problem.groups is None else int(problem.groups.max()) + 1


def whole_of(source: FoldSource) -> Folds:
    """All given partitions, or one random one to tell the sizes."""
    return source.block(0, source.n_repeats if isinstance(source, ExplicitFolds | DropSets) else 1)
