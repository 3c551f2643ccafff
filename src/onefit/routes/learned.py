"""The gram route for learners that are a function of the Gram matrix of their training set, but not linear in y."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy import linalg

from ..criteria import NEARLY_REACHED
from ..errors import TrainingSetError
from ..folds import Folds
from ..learners import Learner, Refusal, StatisticsLearner, Task, TrainingStatistics
from ..linalg.columns import Columns
from ..linalg.precondition import Coordinates, whiten
from ..metrics.losses import Loss
from ..typing import BoolArray, FloatArray, IntArray
from ..validation import Problem
from .collect import FoldStatistics
from .contract import CannotStream, Engine, Run, Workers
from .engine import FailureLog
from .gramstream import StreamedEngine
from .rowpasses import Streaming, can_stream
from .solve import BatchSolver, Downdated, FoldSystems
from .trainingsets import MOST_WORK, BasisSets, Sets, TrainingSetsEngine, TrainingSetsRoute, inverse_factors

__all__ = ["LearnedEngine", "LearnedRoute", "streamed_learner"]


class LearnedRoute(TrainingSetsRoute):
    """Whatever is learned from the triangular factor of a training set."""

    kind = StatisticsLearner

    def engine(self, learner: Learner, task: Task, workers: Workers) -> Engine:
        """All rows are decomposed when they are first asked for, if at all."""
        assert isinstance(learner, StatisticsLearner)
        tables = LearnedEngine(task.problem, learner, task.loss)
        if learner.needs_rows or not can_stream(learner, learner.n_values, task):
            return tables
        return StreamedEngine(task, tables, _StreamedLearner(learner))

    def leave_one_out(self, learner: Learner, task: Task) -> FloatArray | Refusal:
        """Mean of the weighted squared residuals of each row without itself, from as many training sets as rows."""
        problem = task.problem
        assert isinstance(learner, StatisticsLearner)
        if problem.n * learner.steps * learner.n_columns**3 > MOST_WORK:
            return Refusal("leaving out every row would take too long for so many rows and columns")
        folds = Folds(np.arange(problem.n, dtype=np.intp)[None], problem.n)
        try:
            single = LearnedEngine(problem, learner, task.loss).singles(folds)
        except TrainingSetError as error:
            return Refusal(str(error))
        residuals = single.residuals[0]
        residuals[:, [failure.value for failure in single.failures]] = np.nan
        weights = np.ones(problem.n) if problem.weights is None else problem.weights
        scores: FloatArray = (weights[:, None, None] * np.square(residuals)).mean(axis=0)
        return scores


class _Whole(NamedTuple):
    """Thin QR decomposition of all rows, and what it leaves of y; row n of Q and of the rest is padding and zero."""

    Q: FloatArray
    R: FloatArray
    rest: FloatArray


class LearnedEngine(TrainingSetsEngine):
    r"""Thin QR decompositions of all training sets, downdated from one.

    Notes
    -----
    With ``W^1/2 X = QR`` for all rows, the training set without the rows J has ``I - Q_J'Q_J = LL'`` and the thin QR
    decomposition ``(Q_t L^-T)(L'R)``: triangular factors, so that nothing is squared, and as accurate as a
    decomposition of the rows themselves unless ``I - Q_J'Q_J`` is nearly singular. Then, and if the training set has
    no more rows than columns, its rows are decomposed, or the learner is asked to fit them.
    """

    def __init__(self, problem: Problem, learner: StatisticsLearner, loss: Loss) -> None:
        super().__init__(problem, learner, loss, learner.n_values)
        self.learner = learner
        self.rank = min(len(learner.fitted_rows), learner.n_columns)

    @property
    def X(self) -> FloatArray:
        """The columns."""
        return self.learner.X

    @cached_property
    def padded_X(self) -> FloatArray:
        """The columns, with a row of zeros at the end."""
        return np.vstack([self.X, np.zeros(self.X.shape[1])])

    @cached_property
    def whole(self) -> _Whole:
        """The decomposition of all rows, for training sets that have more rows than columns."""
        seen = self.learner.fitted_rows
        Q_seen, R = linalg.qr(self.root[seen, None] * self.X[seen], mode="economic", check_finite=False)
        Q = np.zeros((len(self.y) + 1, Q_seen.shape[1]))
        Q[seen] = Q_seen
        rest = self.root[:, None] * self.padded_y
        for _ in range(2):  # twice, as orthogonalization needs
            rest = rest - Q @ (Q.T @ rest)
        return _Whole(Q, R, rest)

    def sets(self, folds: Folds, repeats: range, log: FailureLog) -> Sets:
        """The training sets of some partitions."""
        return _Sets(self, folds, repeats, log)


class _Sets(BasisSets):
    """The training sets of some partitions."""

    engine: LearnedEngine

    @property
    def Zw(self) -> FloatArray:
        """All rows in the orthogonal basis of the design."""
        return self.engine.whole.Q

    @property
    def rest(self) -> FloatArray:
        """What the columns do not reach of y."""
        return self.engine.whole.rest

    def floats_each(self, n_out: int) -> int:
        """Numbers that a training set needs."""
        n, Q = self.engine.y.shape
        d, m, V = self.engine.learner.n_columns, self.members.shape[1], self.engine.n_values
        by_rows = n * (2 * d + 3 * Q + 4) if self.engine.learner.needs_rows else 0
        return int(8 * d * min(n, d) + V * Q * (d + n_out * m) + n_out * m * d + by_rows)

    def residuals(self, out: IntArray) -> FloatArray:
        """Residuals of the folds that are out."""
        engine, m = self.engine, self.members.shape[1]
        (_, Q), V = engine.y.shape, engine.n_values
        n_train = self.n_train(out)
        residuals = np.zeros((*out.shape, m, V, Q))
        is_sound = n_train > engine.rank
        if is_sound.any():
            some = np.flatnonzero(is_sound)
            statistics, is_sound[some] = self._downdate(out[some], n_train[some])
            some = some[is_sound[some]]
            if len(some):
                residuals[some] = self._held_out(out[some], self._fit(statistics, out[some]))
        for index in np.flatnonzero(~is_sound):
            residuals[index] = self.from_rows(out[index])
        return residuals

    def _held_out(self, out: IntArray, coefficients: FloatArray) -> FloatArray:
        """Residuals (B, t, m, V, Q) of the folds that are out."""
        engine, rows = self.engine, self.members[out]
        residuals = np.empty((*rows.shape, *coefficients.shape[1::2]))
        for value in range(engine.n_values):
            fitted = engine.padded_X[rows] @ coefficients[:, None, value]
            residuals[..., value, :] = engine.padded_y[rows] - fitted
        return residuals

    def from_rows(self, out: IntArray) -> FloatArray:
        """Residuals (t, m, V, Q) of the folds that one training set leaves out, from its rows."""
        engine, members = self.engine, self.members[out]
        is_there = members < len(engine.y)
        train, others = self.training_rows(out), members[is_there]
        fitted = engine.learner.fitted(train, others, engine.y)
        if fitted is None:
            (coefficients,) = self._fit(self._statistics(train), out[None])
            fitted = np.moveaxis(engine.learner.rows_of_X(others) @ coefficients, 0, 1)
        residuals = np.zeros((*members.shape, *fitted.shape[1:]))
        residuals[is_there] = engine.y[others][:, None] - fitted
        return residuals

    def _fit(self, statistics: TrainingStatistics, out: IntArray) -> FloatArray:
        """Coefficients; an error, or an entry in the log, says which training set is at fault."""
        try:
            found = self.engine.learner.fit(statistics)
        except TrainingSetError as error:
            raise self._failure(str(error), out, None) from None
        for value, reason in found.failures.items():
            repeat, held = self.place(out[0])
            failure = self._failure(reason, out, 0.0)
            self.log.add(failure, self.folds.first + repeat, held if len(out) == 1 else (), value)
        return found.values

    def _failure(self, reason: str, out: IntArray, lam: float | None) -> TrainingSetError:
        repeat, folds = self.place(out[0])
        where = self.folds.words(repeat, folds if len(out) == 1 else ())
        failure = TrainingSetError(f'{where}: {reason} Choose other folds, or use route="refit".')
        failure.lam = lam
        return failure

    def _downdate(self, out: IntArray, n_train: IntArray) -> tuple[TrainingStatistics, BoolArray]:
        """Statistics of the training sets that are far from singular, and which those are."""
        engine, Q = self.engine, self.engine.y.shape[1]
        L, inverse, is_sound = inverse_factors(np.eye(engine.whole.Q.shape[1]) - self.gram(out))
        W = self._directions(inverse, out) if engine.learner.needs_rows else np.zeros((len(out), 0, 0))
        if engine.learner.needs_rows:
            is_sound &= np.einsum("bnd,bnd->bn", W, W).max(axis=1) < 1.0 - NEARLY_REACHED
        L, inverse, out, W = L[is_sound], inverse[is_sound], out[is_sound], W[is_sound]
        totals, by_fold, squares = self.totals
        projected = inverse @ (totals - by_fold[out].sum(axis=1))
        z, of_rest = projected[..., :Q], projected[..., Q:]
        rest = squares[-1] - squares[out].sum(axis=1) - np.square(of_rest).sum(axis=1)

        def rows(T: FloatArray) -> tuple[FloatArray, FloatArray]:
            is_out = self.is_out(out)
            return W @ T, np.where(is_out[..., None], 0.0, engine.whole.rest[:-1]) - W @ of_rest

        n = n_train[is_sound].astype(float)
        R = L.swapaxes(1, 2) @ engine.whole.R
        return TrainingStatistics(R, z, np.maximum(rest, 0.0), n, rows), is_sound

    def _directions(self, inverse: FloatArray, out: IntArray) -> FloatArray:
        """All rows in the orthogonal bases of the training sets, (B, n, d); zero for those that are out."""
        W = self.engine.whole.Q[:-1] @ inverse.swapaxes(1, 2)
        W[self.is_out(out)] = 0.0
        return W

    def _statistics(self, rows: IntArray) -> TrainingStatistics:
        """Statistics of one training set, from its rows."""
        engine = self.engine
        root = engine.root[rows, None]
        W, R = linalg.qr(root * engine.learner.rows_of_X(rows), mode="economic", check_finite=False)
        y = root * engine.y[rows]
        z = W.T @ y
        left = y - W @ z

        def in_rows(T: FloatArray) -> tuple[FloatArray, FloatArray]:
            inside, rest = np.zeros((1, len(engine.y), T.shape[2])), np.zeros((1, *engine.y.shape))
            inside[0, rows], rest[0, rows] = W @ T[0], left
            return inside, rest

        return TrainingStatistics(
            R[None], z[None], np.square(left).sum(axis=0)[None], np.array([float(len(rows))]), in_rows
        )


def streamed_learner(learner: StatisticsLearner) -> Streaming:
    """How a learner that asks for no rows is computed in passes over blocks of them."""
    return _StreamedLearner(learner)


class _StreamedLearner(Streaming):
    """Whatever is learned from the triangular factor of a training set, without its rows."""

    def __init__(self, learner: StatisticsLearner) -> None:
        self.design, self._learner = learner, learner

    def penalties(self, sample: Columns, y: FloatArray, share: float) -> tuple[float, float]:
        """None: the factor must be known whatever the learner penalizes."""
        return 0.0, 0.0

    def solver(
        self, statistics: FoldStatistics, coordinates: Coordinates, folds: Folds, run: Run, tick: Callable[[], None]
    ) -> BatchSolver | None:
        """In coordinates in which all rows are orthonormal."""
        d = len(coordinates.T)
        B = whiten(statistics.total[:d, :d])
        if B is None:
            return None
        systems = FoldSystems.of(statistics, coordinates, B)
        return _LearnedSolver(systems, folds, run, tick, self._learner)


class _LearnedSolver(BatchSolver):
    """Asks the learner for the coefficients of every training set."""

    def __init__(
        self,
        systems: FoldSystems,
        folds: Folds,
        run: Run,
        tick: Callable[[], None],
        learner: StatisticsLearner,
    ) -> None:
        super().__init__(systems, folds, learner.n_values, run, tick)
        self._learner = learner
        self._back: FloatArray = linalg.solve_triangular(systems.T, np.eye(len(systems.T)))
        self._start = self._back @ systems.pilot

    def fit(self, sets: Downdated) -> tuple[FloatArray, BoolArray]:
        """With ``I - Z_J'WZ_J = LL'`` and coordinates ``Z = XT``, T triangular, ``L'T^-1`` is the triangular factor."""
        systems = self.systems
        L, inverse, is_sound = inverse_factors(np.eye(len(systems.T)) - sets.removed)
        of_rest = inverse @ sets.right
        rest = sets.squares - np.square(of_rest).sum(axis=1)
        is_sound &= sets.keeps(rest) & (sets.n > len(systems.T))
        some, Lt = np.flatnonzero(is_sound), L.swapaxes(1, 2)[is_sound]
        steps = np.zeros((len(is_sound), len(systems.T), self.n_values, systems.pilot.shape[1]))
        if len(some):
            statistics = TrainingStatistics(
                Lt @ self._back, of_rest[some] + Lt @ self._start, rest[some], sets.n[some], _no_rows
            )
            try:
                found = self._learner.fit(statistics)
            except TrainingSetError:
                raise CannotStream from None  # tables can say in which training set
            if found.failures:
                raise CannotStream
            steps[some] = np.moveaxis(self._back @ (found.values - systems.pilot), 1, 2)
        return steps, is_sound


def _no_rows(T: FloatArray) -> tuple[FloatArray, FloatArray]:
    """What a learner that needs no rows never asks for."""
    raise CannotStream
