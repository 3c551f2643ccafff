"""The gram route for pipelines whose steps learn from each training set: Gram matrices of fixed features, downdated."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, partial

import numpy as np
from scipy import sparse

from ..errors import TrainingSetError
from ..folds import Folds
from ..learners import EncodedLearner, EncodedSets, Features, Learner, Moments, Refusal, SetFailure, SetStatistics, Task
from ..learners.encoding import as_dense
from ..linalg import compiled
from ..metrics.losses import Loss
from ..typing import AnyArray, BoolArray, FloatArray, IntArray
from ..validation import Problem
from .contract import Engine, FoldPlan, Offer, Workers
from .engine import FailureLog
from .repeats import RepeatedRoute
from .trainingsets import Sets, TrainingSetsEngine

__all__ = ["EncodedEngine", "EncodedRoute"]

CANCELLED = 1e-5
"""Part of a column's squares, of all rows, below which those of a training set have lost too many digits."""

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
        if not isinstance(learner, EncodedLearner):
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
        if q <= max(n, FEW_FEATURES) and 8 * plan.n_folds * q**2 <= MOST_GRAM_BYTES:
            return Offer(seconds, reason)
        wide = Refusal(f"the steps make {q:,} features of {n:,} rows, too many for their Gram matrices")
        return Offer(seconds, reason, settle=lambda: wide)

    def engine(self, learner: Learner, task: Task, workers: Workers) -> Engine:
        """Its statistics are collected repeat by repeat."""
        assert isinstance(learner, EncodedLearner)
        return EncodedEngine(task.problem, learner, task.loss)


class EncodedEngine(TrainingSetsEngine):
    r"""Statistics of fixed features B by folds, of which those of every training set are differences.

    Notes
    -----
    Indicators are counted, so that their products are exact whatever is subtracted, and a level that a training set
    lacks is lacking to the last bit. Values are held about their middle; where a training set has so little of what
    varies in all rows that the difference has lost its digits, it is fitted from its rows.
    """

    def __init__(self, problem: Problem, learner: EncodedLearner, loss: Loss) -> None:
        super().__init__(problem, learner, loss, learner.n_values)
        self.learner = learner
        B = learner.fixed.matrix
        ones = np.ones((problem.n, 1))
        if sparse.issparse(B):
            self.rows = sparse.csr_matrix(sparse.hstack([B, ones]))
        else:
            self.rows = np.vstack([np.hstack([B, ones]), np.zeros(B.shape[1] + 1)])  # padding is a row of zeros
        self.weights = None if learner.weights is None else np.append(learner.weights, 0.0)

    @cached_property
    def plain(self) -> _Products:
        """Products over all rows, each counted once."""
        return self.products(np.arange(len(self.y)), None)

    @cached_property
    def weighted(self) -> _Products:
        """The same with the weights of the fit."""
        return self.plain if self.weights is None else self.products(np.arange(len(self.y)), self.weights)

    def products(self, rows: IntArray, weights: FloatArray | None) -> _Products:
        """Products of the fixed features, and a constant, with themselves and with y over some rows."""
        B, y = self.rows[rows], self.y[rows]
        heavy = B if weights is None else _times(weights[rows], B)
        gram = heavy.T @ B
        return _Products(gram.toarray() if sparse.issparse(gram) else np.asarray(gram), np.asarray(heavy.T @ y))

    def by_folds(self, members: IntArray, sizes: IntArray, weights: FloatArray | None) -> _Products:
        """The same for each fold (F, m)."""
        width = self.rows.shape[1]
        if not sparse.issparse(self.rows) and compiled.collects(width):
            w = np.ones(len(self.padded_y)) if weights is None else weights
            return _Products(*compiled.collect(self.rows, self.padded_y, w, members, sizes))
        each = [self.products(some[:size], weights) for some, size in zip(members, sizes, strict=True)]
        return _Products(np.stack([one.gram for one in each]), np.stack([one.right for one in each]))

    def sets(self, folds: Folds, repeats: range, log: FailureLog) -> Sets:
        """The training sets of some partitions."""
        return _Sets(self, folds, repeats, log)


def _times(weights: FloatArray, B: FloatArray | sparse.csr_matrix) -> FloatArray | sparse.csr_matrix:
    """Rows times their weights."""
    return sparse.diags(weights) @ B if sparse.issparse(B) else weights[:, None] * B


class _Products:
    """``B'B`` and ``B'y``, a constant being the last column of B."""

    def __init__(self, gram: FloatArray, right: FloatArray) -> None:
        self.gram, self.right = gram, right

    def without(self, folds: _Products, out: IntArray) -> _Products:
        """Those of all rows but some folds."""
        gram, right = self.gram - folds.gram[out[:, 0]], self.right - folds.right[out[:, 0]]
        for fold in out.T[1:]:
            gram -= folds.gram[fold]
            right -= folds.right[fold]
        return _Products(gram, right)

    def about_means(self) -> tuple[Moments, FloatArray, FloatArray]:
        """Moments of many sets (S,), products with y about the means, and the means of y."""
        n, sums = self.gram[:, -1, -1], self.gram[:, -1, :-1]
        mean, y_mean = sums / n[:, None], self.right[:, -1] / n[:, None]
        products = self.gram[:, :-1, :-1]
        products -= sums[:, :, None] * mean[:, None]
        right = self.right[:, :-1] - sums[:, :, None] * y_mean[:, None]
        return Moments(n, mean, products), right, y_mean


class _Sets(Sets):
    """The training sets of some partitions."""

    engine: EncodedEngine

    def floats_each(self, n_out: int) -> int:
        """Numbers that a training set needs."""
        q, Q = self.engine.rows.shape[1], self.engine.y.shape[1]
        return int(6 * q * q + self.engine.n_values * Q * (q + n_out * self.members.shape[1]))

    @cached_property
    def plain(self) -> _Products:
        """Products by folds."""
        return self.engine.by_folds(self.members, self.sizes, None)

    @cached_property
    def weighted(self) -> _Products:
        """The same with the weights of the fit."""
        weights = self.engine.weights
        return self.plain if weights is None else self.engine.by_folds(self.members, self.sizes, weights)

    @cached_property
    def always(self) -> BoolArray:
        """Rows of each repeat that are in no fold, (L, n)."""
        return self.folds.ids[self.repeats.start : self.repeats.stop] < 0

    @cached_property
    def extremes(self) -> tuple[FloatArray, FloatArray]:
        """Least and largest values by folds, (L, K + 1, r): the last are of rows that are in no fold."""
        values, L, K = self.engine.learner.fixed.values, len(self.repeats), self.folds.n_folds
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

    def stays(self, out: IntArray, with_rest: bool = True) -> BoolArray:
        """Which folds of its repeat each training set has, (B, K + 1), the rows in no fold last."""
        K = self.folds.n_folds
        found: BoolArray = np.ones((len(out), K + 1), dtype=bool)
        found[np.arange(len(out))[:, None], out % K] = False
        return found

    def residuals(self, out: IntArray) -> FloatArray:
        """Residuals of the folds that are out."""
        engine, learner = self.engine, self.engine.learner
        sets, is_sound = self._learn(out)
        beta, is_known = learner.fit(sets)
        gamma = _to_fixed(sets.features, beta, engine.rows.shape[1] - 1)  # (B, V, q, Q)
        constant = learner.intercepts(sets, beta)
        shift = np.einsum("sp,svpq->svq", sets.features.shift, beta)
        gamma = np.concatenate([gamma, (constant + shift)[:, :, None]], axis=2)
        found = self._predicted(out, gamma)
        for index in np.flatnonzero(~(is_sound & is_known)):
            found[index] = self.from_rows(out[index])
        return found

    def _learn(self, out: IntArray) -> tuple[EncodedSets, BoolArray]:
        """What the training sets say, and where it has kept its digits."""
        engine = self.engine
        plain = engine.plain.without(self.plain, out)
        moments, right, y_mean = plain.about_means()
        statistics = _Statistics(self, out, moments)
        try:
            features = engine.learner.block.learn(statistics)
        except SetFailure as failure:
            raise self._failure(out[failure.index], str(failure)) from None
        if engine.weights is not None:
            moments, right, y_mean = engine.weighted.without(self.weighted, out).about_means()
        at = np.array(engine.learner.fixed.value_sources, dtype=np.intp)
        low, high = statistics.extremes(at)
        varies = low < high
        whole = engine.weighted.gram[at, at]
        lost: BoolArray = varies & (moments.products[:, at, at] < CANCELLED * whole)
        is_sound = np.logical_not(lost.any(axis=1))
        return EncodedSets(features, moments, right, y_mean, partial(self._rows, out, features)), is_sound

    def _rows(self, out: IntArray, features: Features, index: int) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Outputs of one training set in its rows, y, both about their means, and the roots of the weights."""
        engine, learner = self.engine, self.engine.learner
        rows = self.training_rows(out[index])
        root = learner.root_weights(rows)
        Z = np.where(features.varies[index], learner.design(features, index, engine.rows[rows, :-1]), 0.0)
        y = engine.y[rows]
        if learner.fit_intercept:
            share = np.square(root) / np.square(root).sum()
            Z, y = Z - share @ Z, y - share @ y
        return Z, y, root

    def _predicted(self, out: IntArray, gamma: FloatArray) -> FloatArray:
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
            found[which, slot, : len(rows)] = np.moveaxis(u, 0, 1)
        return found

    def from_rows(self, out: IntArray) -> FloatArray:
        """Residuals (t, m, V, Q) of the folds that one training set leaves out, from its rows."""
        engine, learner = self.engine, self.engine.learner
        repeat, folds = self.place(out)
        train = self.folds.training_rows(repeat, *folds)
        statistics = _OneSet(self, out, train)
        features = learner.block.learn(statistics)
        counted = np.intersect1d(train, learner.fitted_rows)
        B = engine.rows[:, :-1]
        Z = np.where(features.varies[0], learner.design(features, 0, B[counted]), 0.0)
        beta, constant = learner.fit_rows(Z, engine.y[counted], learner.root_weights(counted))
        found = np.zeros((len(out), self.members.shape[1], *beta.shape[::2]))
        for at, fold in enumerate(out):
            rows = self.members[fold, : self.sizes[fold]]
            Z = np.where(features.varies[0], learner.design(features, 0, B[rows]), 0.0)
            found[at, : len(rows)] = engine.y[rows][:, None] - (np.moveaxis(Z @ beta, 0, 1) + constant)
        return found

    def _failure(self, out: IntArray, why: str) -> TrainingSetError:
        """An error that names the training set."""
        repeat, folds = self.place(out)
        held = " and ".join(map(str, folds))
        return TrainingSetError(
            f"In repeat {self.folds.first + repeat} with fold{'s' if len(folds) > 1 else ''} {held} held out: {why}"
        )


def _to_fixed(features: Features, beta: FloatArray, q: int) -> FloatArray:
    """Coefficients (S, V, q, Q) of the columns of B from those of outputs (S, V, p, Q)."""
    pattern = features.pattern
    entries = features.coef[:, None, :, None] * beta[:, :, pattern.output]
    found = np.zeros((*beta.shape[:2], q, beta.shape[3]))
    order = np.argsort(pattern.source, kind="stable")
    sources, starts = np.unique(pattern.source[order], return_index=True)
    found[:, :, sources] = np.add.reduceat(entries[:, :, order], starts, axis=2)
    return found


class _Statistics(SetStatistics):
    """Statistics of some training sets, by differences."""

    def __init__(self, sets: _Sets, out: IntArray, moments: Moments) -> None:
        self.sets, self.out, self.moments = sets, out, moments
        self._repeat = out[:, 0] // sets.folds.n_folds

    def held_out(self, sources: IntArray) -> FloatArray:
        """Counts in the folds that are out."""
        counts: FloatArray = self.sets.plain.gram[self.out][:, :, -1, sources].sum(axis=1)
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
        places = np.searchsorted(self.sets.engine.learner.fixed.value_sources, sources)
        stays = self.sets.stays(self.out)[:, :, None]
        low, high = (end[self._repeat][:, :, places] for end in self.sets.extremes)
        return np.where(stays, low, np.inf).min(axis=1), np.where(stays, high, -np.inf).max(axis=1)

    def quantiles(self, values: AnyArray, probabilities: Sequence[float]) -> FloatArray:
        """From the order of all rows, without those that are out."""
        order = np.argsort(values, kind="stable")
        order = order[: np.count_nonzero(~np.isnan(values))]
        sets = self.sets
        is_out = sets.is_out(self.out)[:, order]
        ranks = np.cumsum(~is_out, axis=1)
        count = ranks[:, -1] if len(order) else np.zeros(len(self.out))
        found = np.full((len(self.out), len(probabilities)), np.nan)
        some = np.flatnonzero(count)
        ordered = values[order]
        for at, probability in enumerate(probabilities):
            place = probability * (count[some] - 1)
            ends = [np.minimum(np.floor(place) + step, count[some] - 1) for step in (0, 1)]
            low, high = (ordered[(ranks[some] <= end[:, None]).sum(axis=1)] for end in ends)
            found[some, at] = low + (high - low) * (place - np.floor(place))
        return found


class _OneSet(_Statistics):
    """Statistics of one training set, from its rows."""

    def __init__(self, sets: _Sets, out: IntArray, train: IntArray) -> None:
        B = sets.engine.rows[train, :-1]
        dense = as_dense(B)
        mean = dense.mean(axis=0)
        centred = dense - mean
        moments = Moments(np.array([float(len(train))]), mean[None], (centred.T @ centred)[None])
        super().__init__(sets, out[None], moments)
