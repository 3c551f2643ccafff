"""The gram route for Gaussian classes behind steps that learn from each training set."""

from __future__ import annotations

import numpy as np

from ..folds import Folds
from ..learners import ClassLearner, ClassMoments, Encoding, Features, Task
from ..typing import BoolArray, FloatArray, IntArray
from .byestimator import residuals_by_estimator
from .classranks import RankedClassesEngine
from .classsums import ClassSums
from .engine import FailureLog
from .features import FeaturesEngine, LearningSets
from .trainingsets import Sets

__all__ = ["EncodedClassesEngine"]

SAME = 1e-9
"""How far sums of indicators in rows that are predicted may be from those of the training set, in their scale."""


class EncodedClassesEngine(RankedClassesEngine, FeaturesEngine):
    """Puts the learner on what the steps have learned from the statistics of each training set.

    The outputs of a training set are made of fixed features, and sums over its classes of its own rows, about its own
    means: that costs less than the steps do, and nothing cancels.
    """

    def __init__(self, task: Task, learner: ClassLearner) -> None:
        super().__init__(task.problem, learner, task.loss, learner.n_values)
        self.learner, self.task = learner, task

    def sets(self, folds: Folds, repeats: range, log: FailureLog) -> Sets:
        """The training sets of some partitions."""
        return _Sets(self, folds, repeats, log)


class _Sets(LearningSets):
    """The training sets of some partitions."""

    engine: EncodedClassesEngine

    @property
    def encoding(self) -> Encoding:
        """What the steps make of the columns."""
        assert self.engine.learner.encoding is not None
        return self.engine.learner.encoding

    def floats_each(self, n_out: int) -> int:
        """Numbers that a training set needs."""
        q, rows = self.engine.rows.shape[1], n_out * self.members.shape[1]
        return int(6 * q * q + rows * self.engine.n_values * self.engine.y.shape[1])

    def residuals(self, out: IntArray) -> FloatArray:
        """Residuals of the folds that are out."""
        engine, (B, t) = self.engine, out.shape
        sets, is_sound = self.learn(out)
        found = np.zeros((B, t, self.members.shape[1], engine.n_values, engine.y.shape[1]))
        for index in range(B):
            scores = self._scores(sets.features, index, out[index]) if is_sound[index] else None
            if scores is None:
                found[index] = self.from_rows(out[index])
                continue
            start = 0
            for place, fold in enumerate(out[index]):
                rows = self.members[fold, : self.sizes[fold]]
                found[index, place, : len(rows)] = engine.y[rows][:, None] - scores[start : start + len(rows)]
                start += len(rows)
        return found

    def _scores(self, features: Features, index: int, out: IntArray) -> FloatArray | None:
        """Scores (R, V, Q) of the rows that one training set leaves out; None if they are not surely a refit's."""
        engine, n = self.engine, self.folds.n
        train, tests = self.train_and_tests(out)
        rows = np.concatenate(tests)
        Z = features.in_rows(index, engine.rows[:n, :-1])
        n_outputs, kept = int(features.present[index].sum()), features.present[index]
        if engine.learner.drops_dependent:
            some = _independent(features, index, Z, train, rows)
            if some is None:
                return None
            kept = some
        if not engine.learner.may_have(n_outputs) or not kept.any():
            return None
        learner = engine.learner.on(Z[:, kept], train)
        moments = _moments_of_rows(learner, train)
        scores, is_sure = learner.held_out(moments, rows[None])
        return scores[0] if is_sure[0] and np.isfinite(scores).all() else None

    def from_rows(self, out: IntArray) -> FloatArray:
        """Residuals (t, m, V, Q) of the folds that one training set leaves out, by scikit-learn's fit to it."""
        engine = self.engine
        repeat, held = self.place(out)
        members = self.members[out]
        return residuals_by_estimator(engine.learner, engine.task, self.folds, repeat, held, members, self.log)


def _independent(features: Features, index: int, Z: FloatArray, train: IntArray, tests: IntArray) -> BoolArray | None:
    """Outputs (p,) that vary in a training set, without one of the levels of a column that sum to one there.

    None if a row that is predicted has another sum, as one of no known level does: then it matters which one is left.
    """
    kept: BoolArray = features.varies[index].copy()
    by = np.maximum.reduceat(features.coef[index], features.pattern.starts)
    for group in range(int(features.closed.max(initial=-1)) + 1):
        some = np.flatnonzero((features.closed == group) & kept)
        if not len(some) or not (by[some] > 0).all():
            continue
        sums = (Z[:, some] - features.shift[index, some]) @ (1.0 / by[some])
        expected = sums[train[0]]
        if np.abs(sums[train] - expected).max() > SAME or np.abs(sums[tests] - expected).max(initial=0.0) > SAME:
            return None
        kept[some[-1]] = False
    return kept


def _moments_of_rows(learner: ClassLearner, train: IntArray) -> ClassMoments:
    """What one training set says of its classes, from its rows."""
    X, weights = learner.X[train], None if learner.weights is None else learner.weights[train]
    one = np.zeros((1, len(train)), dtype=np.intp)
    sums = ClassSums.of_folds(X, one, 1, learner.classes[train], learner.n_classes, weights, learner.scatter)

    def inside() -> BoolArray:
        found: BoolArray = np.zeros((1, learner.n), dtype=bool)
        found[0, train] = True
        return found

    return ClassMoments(
        n=sums.n,
        n_rows=np.array([float(len(train))]),
        mean=sums.mean,
        squares=sums.squares if sums.scatter == "diagonal" else None,
        pooled=sums.squares if sums.scatter == "pooled" else None,
        scatter=sums.squares if sums.scatter == "classes" else None,
        overall=lambda: (X.mean(axis=0)[None], X.var(axis=0)[None]),
        inside=inside,
    )
