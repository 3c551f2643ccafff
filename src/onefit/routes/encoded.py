"""The gram route for pipelines whose steps learn from each training set."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np

from ..errors import TrainingSetError
from ..folds import Folds
from ..learners import (
    EncodedFamily,
    EncodedLearner,
    EncodedSets,
    Encoding,
    Features,
    Learner,
    Moments,
    Refusal,
    SetFailure,
    SomeValuesFail,
    Task,
)
from ..learners.lasso import LassoLearner
from ..metrics.losses import Loss
from ..typing import BoolArray, FloatArray, IntArray
from ..validation import Problem
from .contract import Engine, FoldPlan, Offer, Remark, Workers
from .costs import CALL
from .engine import FailureLog
from .features import DowndatedStatistics, FeaturesEngine, LearningSets, coefficients
from .manysolutions import DoubtfulSets, of_learners
from .repeats import RepeatedRoute
from .trainingsets import Sets

__all__ = ["EncodedEngine", "EncodedRoute"]

MOST_TUNED_ROWS = 20_000
"""Rows up to which leave-one-out inside, from the rows of every training set, is faster than refits."""

MOST_GRAM_BYTES = 2**30
"""Of the Gram matrices of the folds of a repeat."""


class EncodedRoute(RepeatedRoute):
    """Linear fits after encoders, scalers and imputers."""

    name = "gram"

    def offer(self, learners: Sequence[Learner], task: Task, plan: FoldPlan) -> Offer | Refusal:
        """The cost of a Gram matrix and a system for each training set."""
        (learner,) = learners
        if not isinstance(learner, EncodedLearner | EncodedFamily):
            return Refusal("it serves pipelines whose steps learn from each training set")
        if plan.is_trial:
            return Refusal("it takes few folds, each with its statistics")
        q, n, L, V = learner.width, task.problem.n, plan.likely_repeats, learner.n_values
        sets = L * plan.n_sets
        each = learner.set_seconds()
        if learner.n_candidates:  # a row is looked at for each penalty
            each += n * q * (1e-10 * q + 1.4e-9 * learner.n_candidates)
        seconds = CALL + learner.start_seconds() + sets * each
        seconds += L * n * (1e-6 * V + 5e-10 * (q**2 + plan.n_folds * q * V))
        fits = plan.n_sets * V
        reason = f"{learner.reason} ({q} fixed features); refits would be {fits:,} fits a repeat"
        if learner.n_candidates and n > MOST_TUNED_ROWS:
            tall = Refusal(
                f"leave-one-out looks at each of {n:,} rows in every training set, which takes as long as refits",
                "GridSearchCV over Ridge, with few splits, is found without",
            )
            return Offer(seconds, reason, settle=lambda: tall)
        if learner.takes_masks or (learner.is_narrow and 8 * plan.n_folds * q**2 <= MOST_GRAM_BYTES):
            return Offer(seconds, reason)
        wide = Refusal(f"the steps make {q:,} features of {n:,} rows, too many for their Gram matrices")
        return Offer(seconds, reason, settle=lambda: wide)

    def engine(self, learner: Learner, task: Task, workers: Workers) -> Engine:
        """Its statistics are collected repeat by repeat."""
        assert isinstance(learner, EncodedLearner | EncodedFamily)
        return EncodedEngine(task.problem, learner, task.loss)


class EncodedEngine(FeaturesEngine):
    """Fits each training set from its statistics."""

    def __init__(self, problem: Problem, learner: EncodedLearner | EncodedFamily, loss: Loss) -> None:
        super().__init__(problem, learner, loss, learner.n_values)
        self.parts = learner.parts
        self.models = tuple(part.n_values for part in self.parts)
        self.doubtful = DoubtfulSets()

    def remarks(self, first: Folds) -> tuple[Remark, ...]:
        """Whether solutions of a lasso differ, where training sets had to be fitted from their rows."""
        return of_learners(self.parts, self.y, self.doubtful.rows())

    def sets(self, folds: Folds, repeats: range, log: FailureLog) -> Sets:
        """The training sets of some partitions."""
        return _Sets(self, folds, repeats, log)


class _Sets(LearningSets):
    """The training sets of some partitions."""

    engine: EncodedEngine

    @property
    def encoding(self) -> Encoding:
        """What the steps of the first learner make of the columns."""
        return self.engine.parts[0].encoding

    def floats_each(self, n_out: int) -> int:
        """Numbers that a training set needs."""
        (n, Q), q = self.engine.y.shape, self.engine.rows.shape[1]
        if any(part.takes_masks for part in self.engine.parts):
            return int((3 * self.engine.n_values * Q + 4) * (n + q))
        return int(6 * q * q + self.engine.n_values * Q * (q + n_out * self.members.shape[1]))

    def blocks(self, sets: IntArray) -> Iterator[IntArray]:
        """Some at a time, of one partition if they are masks: they share products, whose last bits hang on who does."""
        if not any(part.takes_masks for part in self.engine.parts):
            yield from super().blocks(sets)
            return
        partition = sets[:, 0] // self.folds.n_folds
        for each in np.unique(partition):
            yield from super().blocks(sets[partition == each])

    def residuals(self, out: IntArray) -> FloatArray:
        """Residuals of the folds that are out, of all parts on the axis of values."""
        engine = self.engine
        if len(engine.parts) == 1 and engine.parts[0].takes_masks:
            return self._of_masks(0, out)
        plain = engine.plain.moments_without(self.plain, out)
        weighted = plain
        if engine.weights is not None:
            weighted = engine.weighted.moments_without(self.weighted, out)
        is_fixed = self._are_fixed(out)
        each = [self._of_part(at, out, plain[0], weighted, is_fixed) for at in range(len(engine.parts))]
        return each[0] if len(each) == 1 else np.concatenate(each, axis=3)

    def _of_part(
        self,
        at: int,
        out: IntArray,
        plain: Moments,
        weighted: tuple[Moments, FloatArray, FloatArray],
        is_fixed: BoolArray,
    ) -> FloatArray:
        """Residuals of one of several learners."""
        engine, part = self.engine, self.engine.parts[at]
        if part.takes_masks:
            return self._of_masks(at, out)
        statistics = DowndatedStatistics(self, out, plain)
        try:
            features = part.encoding.block.learn(statistics)
        except SetFailure as failure:
            if len(engine.parts) == 1:
                raise self.failure(out[failure.index], str(failure)) from None
            return np.concatenate([self._from_rows_or_log(at, each)[None] for each in out])
        squares = partial(self._squares, out, weighted[0].n, weighted[2])
        sets = EncodedSets(
            features, *weighted, partial(self._rows, part, out, features), squares, None, engine.constants
        )
        is_sound = ~(statistics.in_doubt | engine.has_lost_digits(statistics, weighted[0])) & is_fixed
        gamma, is_known = coefficients(part, sets)
        found = self.predicted(out, gamma)
        for index in np.flatnonzero(~(is_sound & is_known)):
            found[index] = self._from_rows_or_log(at, out[index])
        return found

    def _of_masks(self, at: int, out: IntArray) -> FloatArray:
        """The same of a learner that fits training sets as masks of the rows."""
        engine = self.engine
        low, high = self.extremes_inside(out, np.arange(engine.values.shape[1]))
        B = np.asarray(engine.rows[:-1, :-1])
        beta, constants, is_known = engine.parts[at].fit_masks(B, engine.y, ~self.is_out(out), low < high)
        found = self.predicted(out, np.concatenate([beta, constants[:, :, None]], axis=2))
        for index in np.flatnonzero(~(is_known & self._are_fixed(out))):
            found[index] = self._from_rows_or_log(at, out[index])
        return found

    def _rows(
        self, learner: EncodedLearner, out: IntArray, features: Features, index: int
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Outputs of one training set in its rows, y, both about their means, and the roots of the weights."""
        engine = self.engine
        rows = self.training_rows(out[index])
        root = learner.root_weights(rows)
        Z = features.in_rows(index, engine.rows[rows, :-1])
        y = engine.y[rows]
        if learner.fit_intercept:
            Z = np.where(features.varies[index], Z, 0.0)
            share = np.square(root) / np.square(root).sum()
            Z, y = Z - share @ Z, y - share @ y
        return Z, y, root

    def from_rows(self, out: IntArray) -> FloatArray:
        """Residuals (t, m, V, Q) of the folds that one training set leaves out, by its steps and from its rows."""
        return np.concatenate([self._part_from_rows(at, out) for at in range(len(self.engine.parts))], axis=2)

    def _from_rows_or_log(self, at: int, out: IntArray) -> FloatArray:
        """The same of one part; zeros, and a note, where it fails and others do not."""
        try:
            return self._part_from_rows(at, out)
        except TrainingSetError as error:
            repeat, folds = self.place(out)
            self.log.add(error, self.folds.first + repeat, folds, sum(self.engine.models[:at]))
            return np.zeros((len(out), self.members.shape[1], self.engine.models[at], self.engine.y.shape[1]))

    def _part_from_rows(self, at: int, out: IntArray) -> FloatArray:
        engine, learner = self.engine, self.engine.parts[at]
        train, tests = self.train_and_tests(out)
        if isinstance(learner, LassoLearner):
            repeat, folds = self.place(out)
            engine.doubtful.note(self.folds.first + repeat, folds, (train, tests))
        try:
            Z, *predicted = learner.encoding.of_rows(train, tests)
            is_counted = np.isin(train, learner.fitted_rows)
            train, Z = train[is_counted], Z[is_counted]
            varies = (Z.min(axis=0) < Z.max(axis=0)) | (not learner.fit_intercept)
            beta, constant = learner.fit_rows(np.where(varies, Z, 0.0), engine.y[train], learner.root_weights(train))
        except SomeValuesFail as some:
            self._log_values(at, out, some.reasons)
            beta, constant = some.fitted
        except TrainingSetError as error:
            raise self.failure(out, str(error)) from error
        except Exception as error:
            raise self.failure(out, f"{type(error).__name__}: {error}") from error
        found = np.zeros((len(out), self.members.shape[1], *beta.shape[::2]))
        for place, (rows, Z) in enumerate(zip(tests, predicted, strict=True)):
            fitted = np.moveaxis(np.where(varies, Z, 0.0) @ beta, 0, 1) + constant
            found[place, : len(rows)] = engine.y[rows][:, None] - fitted
        return found

    def _log_values(self, at: int, out: IntArray, reasons: dict[int, str]) -> None:
        """Note that some values of a part have no fit in a training set; raise if these are all that there are."""
        (repeat, folds), first = self.place(out), sum(self.engine.models[:at])
        for value, why in reasons.items():
            is_alone = len(reasons) < self.engine.models[at]
            self.log.add(self.failure(out, why), self.folds.first + repeat, folds, first + value, is_alone)
