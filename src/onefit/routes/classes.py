"""The gram route for Gaussian classes: counts, means and scatters of a training set, summed over its folds."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, partial
from itertools import pairwise

import numpy as np

from ..folds import Folds
from ..learners import ClassLearner, ClassMoments, Learner, Refusal, Task
from ..typing import BoolArray, FloatArray, IntArray
from .byestimator import residuals_by_estimator
from .classranks import RankedClassesEngine
from .classsums import ClassSums
from .contract import Engine, FoldPlan, Offer, Workers
from .costs import CALL
from .encodedclasses import EncodedClassesEngine
from .engine import FailureLog
from .repeats import RepeatedRoute
from .trainingsets import Sets

__all__ = ["ClassesEngine", "ClassesRoute"]

MOST_BYTES = 2**30
"""Of the scatters of the folds of a repeat."""


class ClassesRoute(RepeatedRoute):
    """Discriminant analysis and naive Bayes."""

    name = "gram"

    def offer(self, learners: Sequence[Learner], task: Task, plan: FoldPlan) -> Offer | Refusal:
        """The cost of a system for each training set."""
        (learner,) = learners
        if not isinstance(learner, ClassLearner):
            return Refusal("it serves classifiers of Gaussian classes")
        if plan.is_trial:
            return Refusal("it leaves two out if asked for")
        n, p, C, V = learner.n, learner.n_columns, learner.n_classes, learner.n_values
        sets = plan.likely_repeats * plan.n_sets
        is_diagonal = learner.scatter == "diagonal"
        matrices = 0 if is_diagonal else C if learner.scatter == "classes" else 1
        each = 2e-5 + 1e-9 * (plan.n_folds * C * p * (1 + p * matrices) + V * matrices * p**3)
        each += 4e-9 * V * C * plan.largest_fold * p
        if learner.encoding is not None:  # its outputs are made anew in every training set, and summed row by row
            each += 5e-4 + n * p * (5e-9 + 1e-10 * matrices * p) + 2e-9 * learner.fixed.n_columns**2
        each *= 1 if learner.for_ranks(task) is None else 2
        fits = plan.n_sets * V
        offer = Offer(
            CALL + sets * each + 1e-6 * plan.likely_repeats * n,
            f"{learner.reason}; refits would be {fits:,} fits a repeat",
        )
        obstacle = learner.needs_more_rows(plan.smallest_training_set)
        if 8 * (plan.n_folds + 1) * matrices * p**2 > MOST_BYTES:
            obstacle = f"the scatters of {p:,} columns in all folds would take too much memory"
        if obstacle:
            return Offer(offer.seconds, offer.reason, settle=lambda: Refusal(obstacle))
        return offer

    def engine(self, learner: Learner, task: Task, workers: Workers) -> Engine:
        """Sums over folds are made repeat by repeat."""
        assert isinstance(learner, ClassLearner)
        return ClassesEngine(task, learner) if learner.encoding is None else EncodedClassesEngine(task, learner)


class ClassesEngine(RankedClassesEngine):
    """Asks the learner for the scores of the folds that each training set leaves out."""

    batch_bytes = 2**23

    def __init__(self, task: Task, learner: ClassLearner) -> None:
        super().__init__(task.problem, learner, task.loss, learner.n_values)
        self.learner, self.task = learner, task

    def sets(self, folds: Folds, repeats: range, log: FailureLog) -> Sets:
        """The training sets of some partitions."""
        return _Sets(self, folds, repeats, log)


class _Sets(Sets):
    """The training sets of some partitions."""

    engine: ClassesEngine

    @cached_property
    def _sums(self) -> ClassSums:
        """Of the folds of each partition, and of the rows that are in none: K + 1 sets a partition."""
        learner = self.engine.learner
        return self._by_folds(learner.classes, learner.n_classes, learner.weights)

    @cached_property
    def _plain(self) -> ClassSums:
        """The same of all classes together, each row counted once."""
        return self._by_folds(np.zeros(self.folds.n, dtype=np.intp), 1, None, "diagonal")

    def _by_folds(self, classes: IntArray, n_classes: int, weights: FloatArray | None, scatter: str = "") -> ClassSums:
        learner, K, L = self.engine.learner, self.folds.n_folds, len(self.repeats)
        ids = self.folds.ids[self.repeats.start : self.repeats.stop]
        sets = np.where(ids >= 0, ids, K) + (K + 1) * np.arange(L)[:, None]
        return ClassSums.of_folds(learner.X, sets, L * (K + 1), classes, n_classes, weights, scatter or learner.scatter)

    def floats_each(self, n_out: int) -> int:
        """Numbers that a training set needs."""
        learner = self.engine.learner
        p, C, V, K = learner.n_columns, learner.n_classes, learner.n_values, self.folds.n_folds
        matrices = {"diagonal": 0, "pooled": 1, "classes": C}[learner.scatter]
        rows = n_out * self.members.shape[1]
        each = p if learner.scatter == "classes" else C  # of a row: distances need it in every direction
        return int(3 * (K + 1) * C * p + 6 * matrices * p * p + rows * V * C * 3 + rows * each)

    def residuals(self, out: IntArray) -> FloatArray:
        """Residuals of the folds that are out."""
        engine = self.engine
        rows = self.members[out]
        B, t, m = rows.shape
        is_there = rows < self.folds.n
        flat = np.where(is_there, rows, 0).reshape(B, t * m)
        scores, is_sure = engine.learner.held_out(self._moments(out), flat)
        is_sure &= np.isfinite(scores).all(axis=(1, 2, 3))
        found = engine.padded_y[rows][:, :, :, None] - scores.reshape(B, t, m, engine.n_values, -1)
        if not is_there.all():
            found[~is_there] = 0.0
        for index in np.flatnonzero(~is_sure):
            found[index] = self.from_rows(out[index])
        return found

    def _together(self, sums: ClassSums, out: IntArray) -> ClassSums:
        """Those of training sets, partition by partition."""
        K = self.folds.n_folds
        kept = np.ones((len(out), K + 1))
        kept[np.arange(len(out))[:, None], out % K] = 0.0
        place = out[:, 0] // K
        partitions = range(int(place[0]), int(place[-1]) + 1)
        ends = np.searchsorted(place, [*partitions, partitions.stop])
        parts = [
            sums.part(each * (K + 1), (each + 1) * (K + 1)).together(kept[start:stop])
            for each, (start, stop) in zip(partitions, pairwise(ends), strict=True)
        ]
        return ClassSums.joined(parts)

    def _moments(self, out: IntArray) -> ClassMoments:
        """What training sets say."""
        sums = self._together(self._sums, out)
        is_weighted = self.engine.learner.weights is not None
        plain = self._together(self._plain, out) if is_weighted else sums
        matrix = sums.squares
        return ClassMoments(
            n=sums.n,
            n_rows=plain.n.sum(axis=1),
            mean=sums.mean,
            squares=matrix if sums.scatter == "diagonal" else None,
            pooled=matrix if sums.scatter == "pooled" else None,
            scatter=matrix if sums.scatter == "classes" else None,
            overall=plain.overall,
            inside=partial(self._inside, out),
        )

    def _inside(self, out: IntArray) -> BoolArray:
        """Which rows are in each training set."""
        return ~self.is_out(out)

    def from_rows(self, out: IntArray) -> FloatArray:
        """Residuals (t, m, V, Q) of the folds that one training set leaves out, by scikit-learn's fit to it."""
        engine = self.engine
        repeat, held = self.place(out)
        members = self.members[out]
        return residuals_by_estimator(engine.learner, engine.task, self.folds, repeat, held, members, self.log)
