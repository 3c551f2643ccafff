"""Training sets in which steps learn: Gram matrices of fixed features, downdated."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from functools import cache, cached_property, partial

import numpy as np
from scipy import sparse

from ..checks import LEAST_SQUARED
from ..errors import TrainingSetError
from ..learners import (
    ClassLearner,
    Constants,
    EncodedFamily,
    EncodedLearner,
    EncodedSets,
    Encoding,
    Features,
    FixedFeatures,
    GLMLearner,
    Moments,
    RowsOfSet,
    SearchedGLM,
    SearchedLearner,
    SetFailure,
    SetStatistics,
)
from ..linalg import compiled
from ..metrics.losses import Loss
from ..typing import AnyArray, BoolArray, FloatArray, IntArray
from ..validation import Problem
from .products import Products
from .rowsets import quantiles_inside
from .trainingsets import Sets, TrainingSetsEngine

__all__ = [
    "DowndatedStatistics",
    "FeatureSets",
    "FeaturesEngine",
    "LearningSets",
    "coefficients",
    "have_lost_digits",
]

CANCELLED = 1e-5
"""Part of a column's squares, of all rows, below which those of a training set have lost too many digits."""

FEW_AT_ONCE = 8
"""Values and outputs up to which held-out rows are predicted set by set, by the kernel."""


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
        learner: EncodedLearner | EncodedFamily | SearchedLearner | SearchedGLM | GLMLearner | ClassLearner,
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

    @cached_property
    def y_squares(self) -> FloatArray:
        """Weighted squares of y over all rows, (Q,)."""
        squares = np.square(self.y) * (1.0 if self.weights is None else self.weights[:-1, None])
        return np.asarray(squares.sum(axis=0))

    @cached_property
    def values(self) -> FloatArray:
        """The columns of values as they were, NaN where they are missing and in a last row."""
        columns = [np.append(column, np.nan) for column in self.fixed.values]
        return np.stack(columns, axis=1) if columns else np.zeros((len(self.y) + 1, 0))

    @cached_property
    def has_gaps(self) -> bool:
        """Whether values are missing."""
        return bool(np.isnan(self.values[:-1]).any())

    @cached_property
    def constants(self) -> Callable[[bool], Constants]:
        """Combinations of the fixed features that are constant in all rows, given whether there is an intercept."""
        weights = None if self.weights is None else self.weights[:-1]
        return cache(partial(Constants.of_rows, self.rows[: len(self.y)], self.weighted.gram, weights))

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
        heavy = None if self.weights is None else np.diag(self.weighted.gram)[:-1]
        return have_lost_digits(self.fixed, statistics, weighted, np.diag(self.plain.gram)[:-1], heavy)


def have_lost_digits(
    fixed: FixedFeatures, statistics: SetStatistics, weighted: Moments, plain: FloatArray, heavy: FloatArray | None
) -> BoolArray:
    """Sets (S,) whose differences do not tell, given the squares of the columns over all rows, also with weights."""
    at = np.array(fixed.value_sources, dtype=np.intp)
    low, high = statistics.extremes(at)
    squares = np.einsum("sqq->sq", statistics.moments.products)
    varies = squares > 0  # of indicators exactly so
    varies[:, at] = low < high
    least = LEAST_SQUARED**2  # columns that vary by less there, if not in all rows, seem constant
    is_lost = varies & fixed.is_value & (squares < np.maximum(CANCELLED * plain, least))
    if heavy is not None:
        squares = np.einsum("sqq->sq", weighted.products)
        is_lost |= varies & ~(squares >= CANCELLED * heavy)  # NaN if not even the sum of the weights is left
    found: BoolArray = is_lost.any(axis=1)
    return found


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
        if compiled.is_on() and isinstance(engine.rows, np.ndarray) and V * Q <= FEW_AT_ONCE:
            change = np.repeat(-np.moveaxis(gamma, 2, 1).reshape(len(out), w, V * Q), out.shape[1], axis=0)
            y = np.tile(engine.padded_y, V)
            u = compiled.residuals(engine.rows, y, change, self.members[out.ravel()], self.sizes[out.ravel()])
            return u.reshape(found.shape)
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
        values, L, K = self.engine.values, len(self.repeats), self.folds.n_folds
        low, high = np.full((L, K + 1, values.shape[1]), np.inf), np.full((L, K + 1, values.shape[1]), -np.inf)
        has_gaps = self.engine.has_gaps or bool((self.sizes < self.members.shape[1]).any())
        least, most = (np.fmin, np.fmax) if has_gaps else (np.minimum, np.maximum)  # which take less time
        for repeat, members in enumerate(self.members.reshape(L, K, -1)):
            inside = values[members]
            low[repeat, :K] = least.reduce(inside, axis=1, initial=np.inf)
            high[repeat, :K] = most.reduce(inside, axis=1, initial=-np.inf)
            rest = values[:-1][self.always[repeat]]
            low[repeat, K] = np.fmin.reduce(rest, axis=0, initial=np.inf)
            high[repeat, K] = np.fmax.reduce(rest, axis=0, initial=-np.inf)
        return low, high

    def stays(self, out: IntArray) -> BoolArray:
        """Which folds of its repeat each training set has, (B, K + 1), the rows in no fold last."""
        K = self.folds.n_folds
        found: BoolArray = np.ones((len(out), K + 1), dtype=bool)
        found[np.arange(len(out))[:, None], out % K] = False
        return found

    @cached_property
    def _ranked(self) -> list[tuple[IntArray, FloatArray]]:
        """Folds by their least values, and by their largest, and these, (L, K + 1, r)."""
        low, high = self.extremes
        orders = [np.argsort(end, axis=1, kind="stable") for end in (low, -high)]
        return [(order, np.take_along_axis(end, order, axis=1)) for order, end in zip(orders, (low, high), strict=True)]

    def extremes_inside(self, out: IntArray, places: IntArray) -> tuple[FloatArray, FloatArray]:
        """Least and largest values (S, k) of some columns of values, over the folds that stay.

        With t folds out, one of the first t + 1 of all folds has them.
        """
        repeat, gone = out[:, 0] // self.folds.n_folds, out % self.folds.n_folds
        every = len(places) == self.engine.values.shape[1] and bool((places == np.arange(len(places))).all())
        some = slice(None) if every else places
        found = list[FloatArray]()
        for order, ends in self._ranked:
            folds, values = order[:, : gone.shape[1] + 1, some][repeat], ends[:, : gone.shape[1] + 1, some][repeat]
            end: FloatArray = values[:, -1]
            for place in reversed(range(gone.shape[1])):
                is_out = (folds[:, place, None] == gone[..., None]).any(axis=1)
                end = np.where(is_out, end, values[:, place])
            found.append(end)
        return found[0], found[1]

    @cached_property
    def _y_squares(self) -> FloatArray:
        """Weighted squares of y by folds, (F, Q)."""
        engine = self.engine
        squares = np.square(engine.padded_y) * (1.0 if engine.weights is None else engine.weights[:, None])
        return np.asarray(squares[self.members].sum(axis=1))

    def _squares(self, out: IntArray, n: FloatArray, y_mean: FloatArray) -> FloatArray:
        """Weighted squares of y about its means, (S, Q)."""
        left: FloatArray = self.engine.y_squares - self._y_squares[out].sum(axis=1) - n[:, None] * np.square(y_mean)
        return np.maximum(left, 0.0)

    def rows_of(self, out: IntArray, features: Features) -> RowsOfSet | None:
        """What asks for the rows of a training set, if the fit may."""
        return None

    def learn(self, out: IntArray) -> tuple[EncodedSets, BoolArray]:
        """What the training sets say, and where it has kept its digits."""
        engine = self.engine
        moments, right, y_mean = engine.plain.moments_without(self.plain, out)
        statistics = DowndatedStatistics(self, out, moments)
        try:
            features = self.encoding.block.learn(statistics)
        except SetFailure as failure:
            raise self.failure(out[failure.index], str(failure)) from None
        if engine.weights is not None:
            moments, right, y_mean = engine.weighted.moments_without(self.weighted, out)
        is_sound = ~(statistics.in_doubt | engine.has_lost_digits(statistics, moments)) & self._are_fixed(out)
        squares = partial(self._squares, out, moments.n, y_mean)
        return EncodedSets(features, moments, right, y_mean, self.rows_of(out, features), squares), is_sound

    def _are_fixed(self, out: IntArray) -> BoolArray:
        """Whether steps find in each training set what they found in all rows, where that is not sure beforehand."""
        fixed = self.engine.fixed
        if not fixed.has_checks:
            return np.ones(len(out), dtype=bool)
        return np.array([fixed.are_fixed(*self.train_and_tests(each)) for each in out], dtype=bool)

    def failure(self, out: IntArray, why: str) -> TrainingSetError:
        """An error that names the training set."""
        return TrainingSetError(f"{self.folds.words(*self.place(out))}: {why}")


class DowndatedStatistics(SetStatistics):
    """Statistics of some training sets, by differences."""

    def __init__(self, sets: LearningSets, out: IntArray, moments: Moments) -> None:
        super().__init__(moments)
        self.sets, self.out = sets, out
        self._ends: dict[bytes, tuple[FloatArray, FloatArray]] = {}

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
        """Over the folds that stay; steps and checks ask for the same ones."""
        key = np.asarray(sources).tobytes()
        if key not in self._ends:
            places = np.searchsorted(self.sets.engine.fixed.value_sources, sources)
            self._ends[key] = self.sets.extremes_inside(self.out, places)
        return self._ends[key]

    def quantiles(self, values: AnyArray, probabilities: Sequence[float]) -> FloatArray:
        """Without the rows that are out."""
        return quantiles_inside(values, ~self.sets.is_out(self.out), probabilities)
