"""The neighbours route: one sorted list of neighbours a row, of which a training set has the first that are in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..errors import OneFitError, TrainingSetError
from ..folds import Folds
from ..learners import Learner, NeighbourLearner, RankedRows, Refusal, Task
from ..typing import BoolArray, FloatArray, IntArray
from .byestimator import scores_by_estimator
from .contract import Engine, FoldPlan, Offer, Workers
from .costs import CALL
from .engine import FailureLog
from .repeats import RepeatedRoute
from .trainingsets import Sets, TrainingSetsEngine

__all__ = ["NeighboursEngine", "NeighboursRoute"]

MOST_TIED = 0.5
"""Part of the training sets with a tie that only scikit-learn can break, beyond which all are refitted."""


class NeighboursRoute(RepeatedRoute):
    """Means over nearest neighbours."""

    name = "neighbours"

    def offer(self, learners: Sequence[Learner], task: Task, plan: FoldPlan) -> Offer | Refusal:
        """The cost of looking at each list once for every fold."""
        (learner,) = learners
        if not isinstance(learner, NeighbourLearner):
            return Refusal("it serves nearest neighbours")
        if plan.is_trial:
            return Refusal("it leaves two out if asked for")
        n, K = task.problem.n, plan.n_folds
        cells = n * K * learner.lists.first_length(learner.most, 2.0 / K)
        seconds = CALL + 3e-5 * n + 2e-8 * plan.likely_repeats * cells * (1 + learner.n_values)
        reason = (
            "the nearest rows of a training set are the first in each row's list of neighbours that are in it; refits "
            f"would be {plan.n_sets * learner.n_values:,} fits a repeat"
        )

        def settle() -> Learner | Refusal:
            share = share_of_ties(learner, plan)
            if share <= MOST_TIED:
                return learner
            return Refusal(
                "rows are equally far from others so often that the training set decides which of them are neighbours"
            )

        return Offer(seconds, reason, settle=settle)

    def engine(self, learner: Learner, task: Task, workers: Workers) -> Engine:
        """Lists are made when they are first asked for."""
        assert isinstance(learner, NeighbourLearner)
        return NeighboursEngine(task, learner)


def share_of_ties(learner: NeighbourLearner, plan: FoldPlan) -> float:
    """About which part of the training sets has a row whose last neighbour is tied with the next, with another y."""
    lists = learner.lists
    rows = np.arange(learner.n)
    ranked = lists.of_rows(rows, lists.first_length(learner.most, 2.0 / plan.n_folds))
    tied = lists.are_tied(rows[:, None], ranked.distance[:, :-1], ranked.distance[:, 1:])
    differs = (learner.y[ranked.index[:, :-1]] != learner.y[ranked.index[:, 1:]]).any(axis=2)
    # a neighbour moves up in the list of a training set by about as many places as there are rows out
    share_in = 1.0 - 2.0 * plan.largest_fold / learner.n
    hits = np.zeros(learner.n, dtype=bool)
    for k in learner.n_neighbors:
        place = min(round(k / max(share_in, 1.0 / learner.n)), ranked.length - 1)
        hits |= (tied & differs)[:, place - 1] | (tied & differs)[:, min(k, ranked.length - 1) - 1]
    return float(1.0 - (1.0 - hits.mean()) ** (2 * plan.largest_fold))


class NeighboursEngine(TrainingSetsEngine):
    """Means over the first rows of each list that are in a training set.

    Where the last of them is as far away as the next one, scikit-learn's choice hangs on its search in the training set
    (the shape of a tree, the order of a heap, rounding errors of products): it then makes that choice itself.
    """

    def __init__(self, task: Task, learner: NeighbourLearner) -> None:
        super().__init__(task.problem, learner, task.loss, learner.n_values)
        self.learner, self.task = learner, task

    def sets(self, folds: Folds, repeats: range, log: FailureLog) -> Sets:
        """The training sets of some partitions."""
        return _Sets(self, folds, repeats, log)


@dataclass(frozen=True)
class _Queries:
    """Rows that are out, each with a training set: ``row`` (R,), and the folds that are out there (R, t)."""

    row: IntArray
    out: IntArray

    def at(self, some: IntArray | BoolArray) -> _Queries:
        return _Queries(self.row[some], self.out[some])


class _Sets(Sets):
    """The training sets of some partitions."""

    engine: NeighboursEngine

    @property
    def _length(self) -> int:
        """Of lists that are long enough for nearly all training sets."""
        return self.engine.learner.lists.first_length(self.engine.learner.most, 2.0 / self.folds.n_folds)

    @cached_property
    def _fold_of(self) -> IntArray:
        """Number of the fold of each row, over all partitions, (repeats, n); -1 if it is always in."""
        ids = self.folds.ids[self.repeats.start : self.repeats.stop]
        first = self.folds.n_folds * np.arange(len(ids))[:, None]
        return np.where(ids >= 0, ids + first, -1).astype(np.int32)

    @cached_property
    def _folds_in_lists(self) -> IntArray:
        """The folds of the rows in the first lists, (repeats, n, length)."""
        ranked = self.engine.learner.lists.of_rows(np.arange(self.folds.n), self._length)
        return self._fold_of[:, ranked.index]

    def floats_each(self, n_out: int) -> int:
        """Numbers that a training set needs."""
        Q, V = self.engine.y.shape[1], self.engine.n_values
        each = 4 * self._length + (self.engine.learner.most + V) * (Q + 2)
        return int(n_out * self.members.shape[1] * each)

    def residuals(self, out: IntArray) -> FloatArray:
        """Residuals of the folds that are out."""
        engine, rows = self.engine, self.members[out]
        found = np.zeros((*rows.shape, engine.n_values, engine.y.shape[1]))
        if (self.n_train(out) < engine.learner.most).any():
            raise self._too_few(out)
        is_there = rows < self.folds.n
        owner, *_ = np.nonzero(is_there)
        queries = _Queries(rows[is_there], out[owner])
        means, is_sure = self._means(queries)
        found[is_there] = engine.y[queries.row][:, None] - means
        for index in np.unique(owner[~is_sure]):
            found[index] = self.from_rows(out[index])
        return found

    def _too_few(self, out: IntArray) -> OneFitError:
        """Folds of very different sizes may leave fewer rows than the check of the first partition saw."""
        worst = int(np.argmin(self.n_train(out)))
        repeat, folds = self.place(out[worst])
        return TrainingSetError(
            f"{self.folds.words(repeat, folds)}, the training set has {self.n_train(out)[worst]} rows, fewer than "
            f"n_neighbors={self.engine.learner.most}. Use fewer neighbours, or folds of similar sizes."
        )

    def _means(self, queries: _Queries) -> tuple[FloatArray, BoolArray]:
        """Predictions (R, V, Q), and which of them are those of a refit for sure; by longer lists where needed."""
        engine = self.engine
        means = np.zeros((len(queries.row), engine.n_values, engine.y.shape[1]))
        is_sure = np.zeros(len(means), dtype=bool)
        length: int | None = self._length
        left = np.arange(len(means))
        while length is not None and len(left):
            some = queries if len(left) == len(means) else queries.at(left)
            ranked = engine.learner.lists.of_rows(some.row, length)
            inside = self._inside(ranked, some)
            rank = np.cumsum(inside, axis=1, dtype=np.int32)
            needed = self._needed(some)
            has_enough = rank[:, -1] >= needed
            inside &= rank <= needed[:, None]  # only those that count, and the next one
            if has_enough.all():
                means[left], is_sure[left] = self._from_lists(ranked, some, inside, needed)
                break
            at = np.flatnonzero(has_enough)
            if len(at):
                found = self._from_lists(ranked, some.at(at), inside[at], needed[at])
                means[left[at]], is_sure[left[at]] = found
            left = left[~has_enough]
            length = engine.learner.lists.next_length(length)
        return means, is_sure

    def _needed(self, queries: _Queries) -> IntArray:
        """How many rows of its training set a list must have: one more than are counted, to see ties."""
        return np.minimum(self.engine.learner.most + 1, self.n_train(queries.out))

    def _inside(self, ranked: RankedRows, queries: _Queries) -> BoolArray:
        """Which rows of each list are in the training set, (R, length)."""
        place = queries.out[:, 0] // self.folds.n_folds
        if ranked.length == self._length:
            fold = self._folds_in_lists[place, queries.row]
        else:
            fold = self._fold_of[place[:, None], ranked.index[queries.row]]
        inside: BoolArray = fold != queries.out[:, :1]
        for other in queries.out.T[1:]:
            inside &= fold != other[:, None]
        return inside

    def _from_lists(
        self, ranked: RankedRows, queries: _Queries, counted: BoolArray, needed: IntArray
    ) -> tuple[FloatArray, BoolArray]:
        """Predictions from the places in each list that count, of which there are as many as needed."""
        learner, row, k = self.engine.learner, queries.row, self.engine.learner.most
        starts = ranked.length * np.arange(len(row), dtype=np.intp)
        if (needed == k + 1).all():
            place = np.flatnonzero(counted).reshape(-1, k + 1) - starts[:, None]
        else:
            place = np.full((len(row), k + 1), ranked.length - 1)
            place[np.arange(k + 1) < needed[:, None]] = np.nonzero(counted)[1]
        nearest = ranked.index[row[:, None], place[:, :k]]
        distance = ranked.distance[row[:, None], place]
        distance[:, k][needed == k] = np.inf  # the training set has no other row
        means, is_sure = learner.means(nearest, distance[:, :k])
        if learner.is_weighted:
            is_sure &= ~learner.lists.are_blurred(row, distance[:, 0])
        ends = np.array(learner.n_neighbors)
        with np.errstate(invalid="ignore"):
            tied = learner.lists.are_tied(row[:, None], distance[:, ends - 1], distance[:, ends])
        for at in np.flatnonzero(tied.any(axis=1)):
            some = queries.at(np.array([at]))
            last = distance[at, ends[tied[at]] - 1]
            is_sure[at] &= all(self._is_same(ranked, some, float(each)) for each in last)
        return means, is_sure

    def _is_same(self, ranked: RankedRows, query: _Queries, distance: float) -> bool:
        """Whether all rows of a training set at this distance have the same y, whichever of them are taken."""
        lists, (row,) = self.engine.learner.lists, query.row
        listed = ranked.distance[row]
        among = lists.are_tied(query.row, np.minimum(listed, distance), np.maximum(listed, distance))
        if among[-1] and ranked.length < lists.n:
            return False  # there may be more of them
        y = self.engine.y[ranked.index[row, among & self._inside(ranked, query)[0]]]
        return bool((y == y[0]).all())

    def from_rows(self, out: IntArray) -> FloatArray:
        """Residuals (t, m, V, Q) of the folds that one training set leaves out, by scikit-learn's search in it."""
        engine, members = self.engine, self.members[out]
        repeat, held = self.place(out)
        residuals = np.zeros((*members.shape, engine.n_values, engine.y.shape[1]))
        for value in range(engine.n_values):
            estimator = engine.learner.estimator_at(value)
            scores = scores_by_estimator(estimator, engine.task, self.folds, repeat, held, engine.learner.scores_of)
            for place, found in enumerate(scores):
                rows = members[place, : len(found)]
                residuals[place, : len(found), value] = engine.y[rows] - found
        return residuals
