"""The gram route for pipelines whose steps learn from each training set: Gram matrices of fixed features, downdated."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from functools import cached_property, partial

import numpy as np
from scipy import sparse

from ..errors import TrainingSetError
from ..folds import Folds
from ..learners import (
    EncodedFamily,
    EncodedLearner,
    EncodedSets,
    Encoding,
    Features,
    GLMLearner,
    Learner,
    Moments,
    Refusal,
    RowsOfSet,
    SearchedLearner,
    SetFailure,
    SetStatistics,
    Task,
)
from ..linalg import compiled
from ..metrics.losses import Loss
from ..typing import AnyArray, BoolArray, FloatArray, IntArray
from ..validation import Problem
from .contract import Engine, FoldPlan, Offer, Workers
from .engine import FailureLog
from .products import Products
from .repeats import RepeatedRoute
from .rowsets import quantiles_inside
from .trainingsets import Sets, TrainingSetsEngine

__all__ = [
    "EncodedEngine",
    "EncodedRoute",
    "FeatureSets",
    "FeaturesEngine",
    "LearningSets",
    "Products",
    "coefficients",
]

CANCELLED = 1e-5
"""Part of a column's squares, of all rows, below which those of a training set have lost too many digits."""

MOST_TUNED_ROWS = 20_000
"""Rows up to which leave-one-out inside, from the rows of every training set, is faster than refits."""

FEW_FEATURES = 200
"""So many may be more than there are rows: small Gram matrices take less than a refit does."""

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
        sets = L * plan.n_folds * (plan.n_folds + 1) / 2
        each = 5e-5 + 2e-8 * q**2 + 1e-10 * V * q**3
        if learner.n_candidates:  # a row is looked at for each penalty
            each += n * q * (1e-10 * q + 1.4e-9 * learner.n_candidates)
        seconds = sets * each + L * n * (1e-6 * V + 5e-10 * (q**2 + plan.n_folds * q * V))
        fits = plan.n_folds * (plan.n_folds + 1) // 2 * V
        reason = f"{learner.reason} ({q} fixed features); refits would be {fits:,} fits a repeat"
        if learner.n_candidates and n > MOST_TUNED_ROWS:
            tall = Refusal(
                f"leave-one-out looks at each of {n:,} rows in every training set, which takes as long as refits",
                "GridSearchCV over Ridge, with few splits, is found without",
            )
            return Offer(seconds, reason, settle=lambda: tall)
        if q <= max(n, FEW_FEATURES) and 8 * plan.n_folds * q**2 <= MOST_GRAM_BYTES:
            return Offer(seconds, reason)
        wide = Refusal(f"the steps make {q:,} features of {n:,} rows, too many for their Gram matrices")
        return Offer(seconds, reason, settle=lambda: wide)

    def engine(self, learner: Learner, task: Task, workers: Workers) -> Engine:
        """Its statistics are collected repeat by repeat."""
        assert isinstance(learner, EncodedLearner | EncodedFamily)
        return EncodedEngine(task.problem, learner, task.loss)


class FeaturesEngine(TrainingSetsEngine):
    r"""Statistics of fixed features B by folds, of which those of every training set are differences.

    Notes
    -----
    Indicators are counted, so that their products are exact whatever is subtracted, and a level that a training set
    lacks is lacking to the last bit. Values are held about their middle; where a training set has so little of what
    varies in all rows that the difference has lost its digits, it is fitted from its rows.
    """

    def __init__(
        self,
        problem: Problem,
        learner: EncodedLearner | EncodedFamily | SearchedLearner | GLMLearner,
        loss: Loss,
        n_values: int = 1,
    ) -> None:
        super().__init__(problem, learner, loss, n_values)
        self.fixed = learner.fixed
        B = self.fixed.matrix
        ones = np.ones((problem.n, 1))
        if sparse.issparse(B):
            self.rows = sparse.csr_matrix(sparse.hstack([B, ones]))
        else:
            self.rows = np.vstack([np.hstack([B, ones]), np.zeros(B.shape[1] + 1)])  # padding is a row of zeros
        self.weights = None if learner.weights is None else np.append(learner.weights, 0.0)

    @cached_property
    def plain(self) -> Products:
        """Products over all rows, each counted once."""
        return self.products(np.arange(len(self.y)), None)

    @cached_property
    def weighted(self) -> Products:
        """The same with the weights of the fit."""
        return self.plain if self.weights is None else self.products(np.arange(len(self.y)), self.weights)

    def products(self, rows: IntArray, weights: FloatArray | None) -> Products:
        """Products of the fixed features, and a constant, with themselves and with y over some rows."""
        B, y = self.rows[rows], self.y[rows]
        heavy = B if weights is None else _times(weights[rows], B)
        gram = heavy.T @ B
        return Products(gram.toarray() if sparse.issparse(gram) else np.asarray(gram), np.asarray(heavy.T @ y))

    def by_folds(self, members: IntArray, sizes: IntArray, weights: FloatArray | None) -> Products:
        """The same for each fold (F, m)."""
        width = self.rows.shape[1]
        if not sparse.issparse(self.rows) and compiled.collects(width):
            w = np.ones(len(self.padded_y)) if weights is None else weights
            return Products(*compiled.collect(self.rows, self.padded_y, w, members, sizes))
        each = [self.products(some[:size], weights) for some, size in zip(members, sizes, strict=True)]
        return Products(np.stack([one.gram for one in each]), np.stack([one.right for one in each]))

    def has_lost_digits(self, statistics: SetStatistics, weighted: Moments) -> BoolArray:
        """Sets (S,) that have so little of what a column has in all rows that differences do not tell."""
        fixed = self.fixed
        at = np.array(fixed.value_sources, dtype=np.intp)
        low, high = statistics.extremes(at)
        squares = np.einsum("sqq->sq", statistics.moments.products)
        varies = squares > 0  # of indicators exactly so
        varies[:, at] = low < high
        is_lost = varies & fixed.is_value & (squares < CANCELLED * np.diag(self.plain.gram)[:-1])
        if self.weights is not None:
            squares = np.einsum("sqq->sq", weighted.products)
            is_lost |= varies & (squares < CANCELLED * np.diag(self.weighted.gram)[:-1])
        found: BoolArray = is_lost.any(axis=1)
        return found


class EncodedEngine(FeaturesEngine):
    """Fits each training set from its statistics."""

    def __init__(self, problem: Problem, learner: EncodedLearner | EncodedFamily, loss: Loss) -> None:
        super().__init__(problem, learner, loss, learner.n_values)
        self.parts = learner.parts
        self.models = tuple(part.n_values for part in self.parts)

    def sets(self, folds: Folds, repeats: range, log: FailureLog) -> Sets:
        """The training sets of some partitions."""
        return _Sets(self, folds, repeats, log)


def coefficients(learner: EncodedLearner, sets: EncodedSets) -> tuple[FloatArray, BoolArray]:
    """Coefficients (S, V, q + 1, Q) of the fixed features and a constant, and which sets have them to all digits."""
    beta, is_known = learner.fit(sets)
    gamma = sets.features.to_fixed(beta, sets.moments.mean.shape[1])
    shift = np.einsum("sp,svpq->svq", sets.features.shift, beta)
    constant = learner.intercepts(sets, beta) + shift
    return np.concatenate([gamma, constant[:, :, None]], axis=2), is_known


def _times(weights: FloatArray, B: FloatArray | sparse.csr_matrix) -> FloatArray | sparse.csr_matrix:
    """Rows times their weights."""
    return sparse.diags(weights) @ B if sparse.issparse(B) else weights[:, None] * B


class FeatureSets(Sets):
    """The training sets of some partitions, with their products by folds."""

    engine: FeaturesEngine

    @cached_property
    def plain(self) -> Products:
        """Products by folds."""
        return self.engine.by_folds(self.members, self.sizes, None)

    @cached_property
    def weighted(self) -> Products:
        """The same with the weights of the fit."""
        weights = self.engine.weights
        return self.plain if weights is None else self.engine.by_folds(self.members, self.sizes, weights)

    def predicted(self, out: IntArray, gamma: FloatArray) -> FloatArray:
        """Residuals (B, t, m, V, Q) of the folds that are out, fold by fold."""
        engine = self.engine
        _, V, w, Q = gamma.shape
        found = np.zeros((*out.shape, self.members.shape[1], V, Q))
        columns = np.moveaxis(gamma, 2, 0).reshape(w, len(out), V * Q)
        for fold in np.unique(out):
            which, slot = np.nonzero(out == fold)
            rows = self.members[fold, : self.sizes[fold]]
            fitted = engine.rows[rows] @ columns[:, which].reshape(w, -1)
            u = engine.y[rows][:, None, None] - np.asarray(fitted).reshape(len(rows), len(which), V, Q)
            found[which, slot, : len(rows)] = u.swapaxes(0, 1)
        return found

    def train_and_tests(self, out: IntArray) -> tuple[IntArray, list[IntArray]]:
        """Rows of one training set, and of the folds that it leaves out."""
        repeat, folds = self.place(out)
        tests = [self.members[fold, : self.sizes[fold]] for fold in out]
        return self.folds.training_rows(repeat, *folds), tests


class LearningSets(FeatureSets):
    """The training sets of some partitions, in each of which steps learn."""

    @property
    @abstractmethod
    def encoding(self) -> Encoding:
        """What the steps make of the columns."""

    @cached_property
    def always(self) -> BoolArray:
        """Rows of each repeat that are in no fold, (L, n)."""
        return self.folds.ids[self.repeats.start : self.repeats.stop] < 0

    @cached_property
    def extremes(self) -> tuple[FloatArray, FloatArray]:
        """Least and largest values by folds, (L, K + 1, r): the last are of rows that are in no fold."""
        values, L, K = self.engine.fixed.values, len(self.repeats), self.folds.n_folds
        low, high = np.full((L, K + 1, len(values)), np.inf), np.full((L, K + 1, len(values)), -np.inf)
        for at, column in enumerate(values):
            padded = np.append(column, np.nan)[self.members].reshape(L, K, -1)
            low[:, :K, at] = np.fmin.reduce(padded, axis=2, initial=np.inf)
            high[:, :K, at] = np.fmax.reduce(padded, axis=2, initial=-np.inf)
            for repeat in np.flatnonzero(self.always.any(axis=1)):
                rest = column[self.always[repeat]]
                low[repeat, K, at] = np.fmin.reduce(rest, initial=np.inf)
                high[repeat, K, at] = np.fmax.reduce(rest, initial=-np.inf)
        return low, high

    def stays(self, out: IntArray) -> BoolArray:
        """Which folds of its repeat each training set has, (B, K + 1), the rows in no fold last."""
        K = self.folds.n_folds
        found: BoolArray = np.ones((len(out), K + 1), dtype=bool)
        found[np.arange(len(out))[:, None], out % K] = False
        return found

    def rows_of(self, out: IntArray, features: Features) -> RowsOfSet | None:
        """What asks for the rows of a training set, if the fit may."""
        return None

    def learn(self, out: IntArray) -> tuple[EncodedSets, BoolArray]:
        """What the training sets say, and where it has kept its digits."""
        engine = self.engine
        plain = engine.plain.without(self.plain, out)
        moments, right, y_mean = plain.about_means()
        statistics = _Statistics(self, out, moments)
        try:
            features = self.encoding.block.learn(statistics)
        except SetFailure as failure:
            raise self.failure(out[failure.index], str(failure)) from None
        if engine.weights is not None:
            moments, right, y_mean = engine.weighted.without(self.weighted, out).about_means()
        is_sound = ~(statistics.in_doubt | engine.has_lost_digits(statistics, moments)) & self._are_fixed(out)
        return EncodedSets(features, moments, right, y_mean, self.rows_of(out, features)), is_sound

    def _are_fixed(self, out: IntArray) -> BoolArray:
        """Whether steps find in each training set what they found in all rows, where that is not sure beforehand."""
        fixed = self.engine.fixed
        if not fixed.has_checks:
            return np.ones(len(out), dtype=bool)
        return np.array([fixed.are_fixed(*self.train_and_tests(each)) for each in out], dtype=bool)

    def failure(self, out: IntArray, why: str) -> TrainingSetError:
        """An error that names the training set."""
        return TrainingSetError(f"{self.folds.words(*self.place(out))}: {why}")


class _Sets(LearningSets):
    """The training sets of some partitions."""

    engine: EncodedEngine

    @property
    def encoding(self) -> Encoding:
        """What the steps of the first learner make of the columns."""
        return self.engine.parts[0].encoding

    def floats_each(self, n_out: int) -> int:
        """Numbers that a training set needs."""
        q, Q = self.engine.rows.shape[1], self.engine.y.shape[1]
        return int(6 * q * q + self.engine.n_values * Q * (q + n_out * self.members.shape[1]))

    def residuals(self, out: IntArray) -> FloatArray:
        """Residuals of the folds that are out, of all parts on the axis of values."""
        engine = self.engine
        plain = engine.plain.without(self.plain, out).about_means()
        weighted = plain
        if engine.weights is not None:
            weighted = engine.weighted.without(self.weighted, out).about_means()
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
        statistics = _Statistics(self, out, plain)
        try:
            features = part.encoding.block.learn(statistics)
        except SetFailure as failure:
            if len(engine.parts) == 1:
                raise self.failure(out[failure.index], str(failure)) from None
            return np.concatenate([self._from_rows_or_log(at, each)[None] for each in out])
        sets = EncodedSets(features, *weighted, partial(self._rows, part, out, features))
        is_sound = ~(statistics.in_doubt | engine.has_lost_digits(statistics, weighted[0])) & is_fixed
        gamma, is_known = coefficients(part, sets)
        found = self.predicted(out, gamma)
        for index in np.flatnonzero(~(is_sound & is_known)):
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
        try:
            Z, *predicted = learner.encoding.of_rows(train, tests)
        except Exception as error:
            raise self.failure(out, f"{type(error).__name__}: {error}") from error
        is_counted = np.isin(train, learner.fitted_rows)
        train, Z = train[is_counted], Z[is_counted]
        varies = (Z.min(axis=0) < Z.max(axis=0)) | (not learner.fit_intercept)
        beta, constant = learner.fit_rows(np.where(varies, Z, 0.0), engine.y[train], learner.root_weights(train))
        found = np.zeros((len(out), self.members.shape[1], *beta.shape[::2]))
        for at, (rows, Z) in enumerate(zip(tests, predicted, strict=True)):
            fitted = np.moveaxis(np.where(varies, Z, 0.0) @ beta, 0, 1) + constant
            found[at, : len(rows)] = engine.y[rows][:, None] - fitted
        return found


class _Statistics(SetStatistics):
    """Statistics of some training sets, by differences."""

    def __init__(self, sets: LearningSets, out: IntArray, moments: Moments) -> None:
        super().__init__(moments)
        self.sets, self.out = sets, out
        self._repeat = out[:, 0] // sets.folds.n_folds

    def held_out(self, sources: IntArray) -> FloatArray:
        """Counts in the folds that are out."""
        counts: FloatArray = self.sets.plain.gram[:, -1][self.out][:, :, sources].sum(axis=1)
        return counts

    def tally(self, codes: IntArray, n_codes: int) -> FloatArray:
        """Counts of codes, fold by fold."""
        sets = self.sets
        members = np.append(codes, -1)[sets.members]
        F = len(members)
        places = (np.arange(F)[:, None] * (n_codes + 1) + members + 1).ravel()
        by_fold = np.bincount(places, minlength=F * (n_codes + 1)).reshape(F, -1)[:, 1:]
        total = np.bincount(codes + 1, minlength=n_codes + 1)[1:]
        counts: FloatArray = (total - by_fold[self.out].sum(axis=1)).astype(np.float64)
        return counts

    def extremes(self, sources: IntArray) -> tuple[FloatArray, FloatArray]:
        """Over the folds that stay."""
        places = np.searchsorted(self.sets.engine.fixed.value_sources, sources)
        stays = self.sets.stays(self.out)[:, :, None]
        low, high = (end[self._repeat][:, :, places] for end in self.sets.extremes)
        return np.where(stays, low, np.inf).min(axis=1), np.where(stays, high, -np.inf).max(axis=1)

    def quantiles(self, values: AnyArray, probabilities: Sequence[float]) -> FloatArray:
        """Without the rows that are out."""
        return quantiles_inside(values, ~self.sets.is_out(self.out), probabilities)
