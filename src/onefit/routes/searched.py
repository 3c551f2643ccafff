"""The gram route for searches inside every training set: its splits are taken out of its statistics, none refitted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np

from ..dropfolds import DropFolds
from ..errors import RefitError, TrainingSetError
from ..folds import Folds, RandomFolds
from ..learners import (
    Constants,
    EncodedLearner,
    EncodedSets,
    Learner,
    Moments,
    Refusal,
    SearchedLearner,
    SetFailure,
    Task,
)
from ..learners.fixedfeatures import as_dense
from ..learners.lasso import LassoLearner
from ..linalg import batched, compiled
from ..typing import BoolArray, FloatArray, IntArray
from .byestimator import scores_by_estimator
from .contract import Engine, FoldPlan, Offer, Remark, Workers
from .costs import CALL
from .engine import FailureLog
from .features import coefficients
from .manysolutions import DoubtfulSets, of_refits
from .newtonalone import ABSENT
from .refit import RefitEngine
from .repeats import RepeatedRoute
from .rowsets import MaskedStatistics
from .splits import Splits, SplitsEngine, SplitSets
from .trainingsets import Sets

__all__ = ["SearchedEngine", "SearchedRoute", "share_asked"]

AGREED = 1e-11
"""Predictions of close candidates that differ by less, relative to y, are the same: whichever is best."""


MOST_LOOKED_AT = 4
"""Training sets that tell how many of all are searched by scikit-learn."""

MOST_ASKED = 0.5
"""Part of them from which on refits take less: until it has converged, a search takes several times as long."""


MOST_HELD = 0.5
"""The l1_ratio up to which the rest of the penalty holds coefficients enough to determine them, as a rule."""

MOST_FILLED = 0.5
"""Columns for each row of a split up to which they depend on each other by themselves, or not at all."""

RARE = 6
"""Rows of a level, of which a split may have one or two: such columns are often the same."""


class SearchedRoute(RepeatedRoute):
    """Searches among linear fits."""

    name = "gram"

    def offer(self, learners: Sequence[Learner], task: Task, plan: FoldPlan) -> Offer | Refusal:
        """The cost of a system for each candidate in each split of each training set."""
        (learner,) = learners
        if not isinstance(learner, SearchedLearner):
            return Refusal("it serves searches inside every training set")
        if plan.is_trial:
            return Refusal("it takes few folds, each with its statistics")
        q, n_sets = learner.width + 1, learner.n_splits + 1
        sets = plan.likely_repeats * plan.n_sets
        fits = n_sets * sum(group.set_seconds() for group in learner.groups)
        rows = task.problem.n * q * (2.5e-10 * q + 1e-10 * len(learner.places))
        start = CALL + max(group.start_seconds() for group in learner.groups)
        leave = partial(_undetermined, learner, task, plan) if _lassos(learner) else None
        return Offer(start + sets * (3e-4 + fits + rows), learner.reason, leave=leave)

    def engine(self, learner: Learner, task: Task, workers: Workers) -> Engine:
        """Its statistics are collected repeat by repeat."""
        assert isinstance(learner, SearchedLearner)
        return SearchedEngine(task, learner)


def share_asked(learner: SearchedLearner, task: Task, folds: Folds) -> float:
    """The part of the training sets without one fold of a repeat in which scikit-learn would search by itself."""
    sets = _Sets(SearchedEngine(task, learner), folds, range(1), FailureLog(1))
    return float(np.mean([sets.is_asked(np.array([[fold]])) for fold in range(min(folds.n_folds, MOST_LOOKED_AT))]))


def _lassos(learner: SearchedLearner) -> list[LassoLearner]:
    """Candidates whose fits training sets may well leave undetermined."""
    return [group for group in learner.groups if isinstance(group, LassoLearner) and group.l1_ratio > MOST_HELD]


def _may_depend(learner: SearchedLearner, plan: FoldPlan) -> bool:
    """Whether columns may depend on each other in splits of training sets: many, rare levels, or values that do."""
    B, is_value = learner.fixed.matrix, learner.fixed.is_value
    inside = plan.smallest_training_set * (learner.n_splits - 1) / learner.n_splits
    counts = np.asarray(B.sum(axis=0)).ravel()[~is_value]
    if MOST_FILLED * inside < learner.width or np.count_nonzero(counts <= RARE) > 1:
        return True
    values = as_dense(B[:, is_value])
    values = values - values.mean(axis=0)
    lengths = np.linalg.norm(values, axis=0)
    values = values[:, lengths > 0] / lengths[lengths > 0]
    return values.shape[1] > 1 and not batched.is_trusted(values.T @ values)


def _undetermined(learner: SearchedLearner, task: Task, plan: FoldPlan) -> Refusal | None:
    """Whether scikit-learn would have to search most training sets, until it has converged: refits take less.

    Two are looked at, and a third where these do not agree; none is fitted unless columns depend on each other, and
    none is looked at unless these seem to. It is advice: what goes wrong here, the route itself will say.
    """
    try:
        if not _may_depend(learner, plan):
            return None
        folds, looked_at = _some_sets(task, plan)
        sets = _Sets(SearchedEngine(task, learner), folds, range(1), FailureLog(1))
        asked = [sets.is_asked(out, _lassos(learner)) for out in looked_at[:2]]
        if asked[0] != asked[1]:
            asked.append(sets.is_asked(looked_at[2], _lassos(learner)))
    except Exception:  # whatever it is, nothing that figures depend on
        return None
    if sum(asked) < MOST_ASKED * len(asked):
        return None
    return Refusal(
        "columns depend on each other in most training sets, as those of rare levels do, so that they do not determine "
        "a lasso, and scikit-learn would have to search them one by one",
        "ElasticNetCV, or merged levels (min_frequency), take none",
    )


def _some_sets(task: Task, plan: FoldPlan) -> tuple[Folds, list[IntArray]]:
    """Folds as they are given, or some that are drawn, and which of them three training sets leave out, (1, t)."""
    pairs: list[tuple[int, ...]] = [(0, 1), (1, 2), (0, 2)]
    if not isinstance(plan.given, DropFolds):
        drawn = RandomFolds(task.problem.n, plan.n_folds, 0, groups=task.problem.groups)
        return plan.given or drawn.block(0, 1), [np.array([pair]) for pair in pairs]
    if not plan.given.has_pairs:
        pairs = [(0,), (plan.n_folds - 1,), (plan.n_folds // 2,)]
    return plan.given.parts, [plan.given.parts_out(*pair)[None] for pair in pairs]


class SearchedEngine(SplitsEngine):
    r"""Scores every candidate in the splits of each training set S, and fits the best to S.

    Notes
    -----
    With T the rows of a split that are scored, ``B_{S-T}'B_{S-T} = B_S'B_S - B_T'B_T``, so that all splits of S cost
    one pass over its rows. S itself is one more set of the batch: the fit of the best candidate is then among those
    known. Where that is not what scikit-learn would certainly do, scikit-learn searches S itself.
    """

    learner: SearchedLearner

    def __init__(self, task: Task, learner: SearchedLearner) -> None:
        super().__init__(task.problem, learner, task.loss)
        self.learner = learner
        self.refits = RefitEngine(learner.task, [learner.estimator])
        self.doubtful = DoubtfulSets()

    def remarks(self, first: Folds) -> tuple[Remark, ...]:
        """Whether solutions of a lasso differ, where scikit-learn had to search training sets itself."""
        return of_refits(self.refits.estimators, self.refits.data, self.doubtful.rows())

    def scores_of(self, fitted: Any, X: Any) -> FloatArray:
        """Scores (rows, Q) of a fitted search of classifiers."""
        classes = self.learner.task.problem.classes
        found = np.asarray(fitted.decision_function(X), dtype=np.float64)
        found = found.reshape(len(found), -1)
        present = np.searchsorted(classes, fitted.classes_)
        if len(present) == len(classes):
            return found
        scores = np.full((len(found), len(classes)), ABSENT)
        scores[:, present] = found if len(present) > 2 else found * np.array([-1.0, 1.0])
        return scores

    @property
    def observed(self) -> FloatArray:
        """Y as it was given, or its codes, (n + 1, Q)."""
        return self._observed

    def sets(self, folds: Folds, repeats: range, log: FailureLog) -> Sets:
        """The training sets of some partitions."""
        return _Sets(self, folds, repeats, log)


@dataclass(frozen=True)
class _Given:
    """Statistics of splits and of the training sets themselves, as candidates are fitted to them.

    ``fitted`` are their moments, products with y and means of y; ``owner`` says whose they are, ``n_splits`` how many
    come before the training sets.
    """

    statistics: MaskedStatistics
    fitted: tuple[Moments, FloatArray, FloatArray]
    squares: Callable[[], FloatArray]
    owner: IntArray
    n_splits: int
    constants: Callable[[bool], Constants]

    def of(self, group: EncodedLearner) -> EncodedSets:
        """The same of what the steps of some candidates learn."""
        features = group.encoding.block.learn(self.statistics)
        whole = self.n_splits + self.owner
        return EncodedSets(features, *self.fitted, None, self.squares, whole, self.constants)


@dataclass(frozen=True)
class _Scored:
    """Candidates in the splits of some training sets.

    Attributes
    ----------
    scores : (F, C)
    gamma : (B, C, q + 1, Q), coefficients of their fits to the training sets
    is_sure : (B,), whether all of it is what scikit-learn would find
    """

    scores: FloatArray
    gamma: FloatArray
    is_sure: BoolArray


class _Sets(SplitSets):
    """The training sets of some partitions."""

    engine: SearchedEngine

    def floats_each(self, n_out: int) -> int:
        """Numbers that a training set needs."""
        learner = self.engine.learner
        (n, Q), q, C = self.engine.y.shape, self.engine.rows.shape[1], len(learner.places)
        return int((learner.n_splits + 1) * (6 * q * q + 3 * C * Q * q + n // 2) + 3 * n * C * Q)

    def residuals(self, out: IntArray) -> FloatArray:
        """Residuals of the folds that are out."""
        try:
            splits = self.splits(out)
            scored = self._scored(out, splits, self._given(out, splits))
        except SetFailure:  # a split or a fit that scikit-learn refuses: it says what comes of that
            if len(out) == 1:
                return self.from_rows(out[0])[None]
            return np.concatenate([self.residuals(each[None]) for each in out])
        found = np.empty((*out.shape, self.members.shape[1], 1, self.engine.y.shape[1]))
        for index, own in enumerate(np.split(np.arange(len(splits.owner)), np.flatnonzero(np.diff(splits.owner)) + 1)):
            best = self.engine.learner.score.best(np.ascontiguousarray(scored.scores[own].T))
            each = self.predicted(out[index : index + 1], scored.gamma[index : index + 1, best])[0]
            if scored.is_sure[index] and self._agree(each):
                found[index] = each[..., :1, :]
            else:
                found[index] = self.from_rows(out[index])
        return found

    def _agree(self, residuals: FloatArray) -> bool:
        """Whether all candidates (t, m, C, Q) that may be the best predict the same."""
        apart = np.abs(residuals - residuals[..., :1, :]).max()
        return bool(apart <= AGREED * np.abs(self.engine.y).max())

    def from_rows(self, out: IntArray) -> FloatArray:
        """Residuals (t, m, 1, Q) of the folds that one training set leaves out, by the search itself."""
        repeat, folds = self.place(out)
        self.engine.doubtful.note(self.folds.first + repeat, folds, self.train_and_tests(out))
        found = np.zeros((len(out), self.members.shape[1], 1, self.engine.y.shape[1]))
        for at, residuals in enumerate(self._by_search(repeat, folds)):
            found[at, : len(residuals), 0] = residuals
        return found

    def _by_search(self, repeat: int, folds: Sequence[int]) -> list[FloatArray]:
        """Residuals (rows, Q) of each fold that is out: of scores if these are asked for, not classes alone."""
        engine = self.engine
        task = engine.learner.task
        if task.problem.classes is None or task.responses <= {"predict"}:
            return engine.refits.residuals(self.folds, repeat, tuple(folds))
        try:
            scores = scores_by_estimator(engine.learner.estimator, task, self.folds, repeat, folds, engine.scores_of)
        except RefitError as error:
            raise TrainingSetError(str(error)) from error
        tests = [np.flatnonzero(self.folds.ids[repeat] == fold) for fold in folds]
        return [task.problem.y[rows] - one for rows, one in zip(tests, scores, strict=True)]

    def is_asked(self, out: IntArray, lassos: Sequence[LassoLearner] = ()) -> bool:
        """Whether scikit-learn would search a training set (1, t) by itself, whichever candidate is the best.

        With ``lassos``, whether that is for their columns, which depend on each other: if not, nothing is fitted.
        """
        try:
            splits = self.splits(out)
            given = self._given(out, splits)
            if lassos and all(group.are_independent(given.of(group)).all() for group in lassos):
                return False
            return not self._scored(out, splits, given).is_sure[0]
        except SetFailure:  # not for their columns
            return not lassos

    def _given(self, out: IntArray, splits: Splits) -> _Given:
        """What the splits, and the training sets themselves, say to the candidates."""
        engine = self.engine
        moments, right, y_mean = self.products(out, splits, None).about_means()
        fitted = (moments, right, y_mean)
        if engine.weights is not None:
            fitted = self.products(out, splits, engine.weights).about_means()
        statistics, masks, owner = self.statistics(out, splits, moments)
        heavy = 1.0 if engine.weights is None else engine.weights[: self.folds.n, None]
        squares = cache(lambda: masks @ (heavy * np.square(engine.y)) - fitted[0].n[:, None] * np.square(fitted[2]))
        return _Given(statistics, fitted, squares, owner, len(splits.owner), engine.constants)

    def _scored(self, out: IntArray, splits: Splits, given: _Given) -> _Scored:
        """All candidates in the splits, and in the training sets themselves."""
        engine, learner, F = self.engine, self.engine.learner, len(splits.owner)
        statistics, fitted, owner = given.statistics, given.fitted, given.owner
        is_sure = ~engine.has_lost_digits(statistics, fitted[0]) & (fitted[0].n > 0)
        found = []
        for group in learner.groups:
            gamma, is_known = coefficients(group, given.of(group))
            found.append(gamma)
            is_sure &= is_known
        is_sure &= ~statistics.in_doubt
        gammas = np.stack([found[group][:, value] for group, value in learner.places], axis=1)
        u = self._residuals(splits, gammas[:F])
        weights = None if engine.weights is None else engine.weights[splits.members]
        scores, is_certain = learner.score.of(engine.observed[splits.members], u, splits.present, weights)
        is_sure[:F] &= is_certain
        if engine.fixed.has_checks:
            is_sure &= [engine.fixed.are_fixed(*each) for each in statistics.rows()]
        return _Scored(scores, gammas[F:], np.bincount(owner, ~is_sure) == 0)

    def _residuals(self, splits: Splits, gamma: FloatArray) -> FloatArray:
        """Residuals (F, m, C, Q) of the rows that are scored, zero for padding."""
        engine = self.engine
        F, C, w, Q = gamma.shape
        change = np.moveaxis(gamma, 2, 1).reshape(F, w, C * Q)
        if compiled.is_on() and isinstance(engine.rows, np.ndarray):
            u = compiled.residuals(engine.rows, np.tile(engine.padded_y, C), -change, splits.members, splits.sizes)
            return u.reshape(F, -1, C, Q)
        u = np.zeros((F, splits.members.shape[1], C, Q))
        for at, size in enumerate(splits.sizes):
            rows = splits.members[at, :size]
            u[at, :size] = engine.y[rows][:, None] - np.asarray(engine.rows[rows] @ change[at]).reshape(-1, C, Q)
        return u
