"""What the routes share that fit every training set by itself, from downdated statistics."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from functools import cache, cached_property
from typing import ClassVar

import numpy as np

from ..folds import Folds
from ..inference.chain import Chain, ascending
from ..learners import FitRows, Learner, Refusal, StatisticsLearner, Task, TunedLearner
from ..linalg import batched
from ..metrics.losses import Loss
from ..typing import BoolArray, FloatArray, IntArray
from ..validation import Problem
from .contract import FoldPlan, Offer
from .costs import CALL
from .engine import BLOCK_BYTES, FailureLog, Piece, SetsEngine, per_block
from .repeats import RepeatedRoute

__all__ = [
    "MOST_WORK",
    "NOT_TUNED",
    "BasisSets",
    "Sets",
    "TrainingSetsEngine",
    "TrainingSetsRoute",
    "inverse_factors",
    "offer_by_sets",
]

MOST_UNITS = 300
"""Rows, or groups, up to which "auto" leaves two of them out: that takes n^2/2 decompositions."""

MOST_STREAMED = 2000
"""The same for rows, where what is chosen without two of them follows from the fit to all."""

AXIS_WIDTH = 30
"""What the search of a penalty costs for each pair of rows beside the columns, in columns."""

MOST_STREAMED_WORK = 2e8
"""And n^2 times both is at most this, about ten seconds."""

MOST_UNITS_BY_ROWS = 100
"""The same for leave-one-out inside, which costs n^3 (n times the square of the groups) for each value."""

MOST_WORK = 5e8
"""And n^2 d^3, with d columns, is at most this."""

CANDIDATES = 20
"""Penalties at which a search without a grid asks for leave-one-out in a training set, about."""

SMALL_BYTES = 2**21
"""Training sets that together need less than this are one batch, unless an engine says otherwise."""

KEPT_BYTES = 3 * 2**23
"""Block of memory whose release teaches the allocator of glibc to keep what is freed (at most 32 MB)."""

NOT_TUNED = Refusal("it serves what is learned anew from the statistics of every training set")


def offer_by_sets(learner: TunedLearner | StatisticsLearner, task: Task, plan: FoldPlan) -> Offer | Refusal:
    """The cost of some decompositions of every training set; by default not of as many as pairs of rows."""
    n, units, width = task.problem.n, plan.units, learner.width
    pairs = learner if isinstance(learner, TunedLearner) and learner.streams_pairs else None
    if pairs and plan.is_single_rows:
        return _offer_by_pairs(pairs, n, plan.is_trial)
    most = MOST_UNITS_BY_ROWS if learner.needs_rows else MOST_UNITS
    by_rows = units**2 * n if learner.needs_rows else 0
    work = units**2 * learner.steps * width**3
    if plan.is_trial and (units > MOST_UNITS or by_rows > MOST_UNITS_BY_ROWS**3 or work > MOST_WORK):
        return Refusal(f"it leaves two out up to {most} rows and few columns only")
    if pairs and task.problem.groups is None:
        most = MOST_STREAMED
    reason = learner.reason
    if plan.is_default:
        reason += (
            f'; n_folds="auto" took {plan.n_folds} folds, as it leaves two out up to {most:,} rows and few columns '
            "only, and if the rule of the interval allows"
        )
    return Offer(_seconds_by_sets(learner, n, plan), reason)


def _seconds_by_sets(learner: TunedLearner | StatisticsLearner, n: int, plan: FoldPlan) -> float:
    """Rows once and once a repeat, and for each training set decompositions, and its rows if the criterion asks."""
    d, L = learner.width, plan.likely_repeats
    rows = n * (1e-6 + 3e-8 * d + L * (1e-6 + 5e-10 * (d**2 + plan.n_folds * d)))
    each = 1e-4 + learner.search_seconds + 1e-9 * learner.steps * d**3
    if learner.needs_rows:
        tuned = learner if isinstance(learner, TunedLearner) else getattr(learner, "tuned", None)
        grid = getattr(tuned, "grid", None)
        each += n * d * (5e-11 * d + 7e-10 * (CANDIDATES if grid is None else len(grid)))
    return CALL + rows + L * plan.n_sets * each


def _offer_by_pairs(learner: TunedLearner, n: int, is_trial: bool) -> Offer | Refusal:
    """The cost of a search for every pair of rows."""
    work = n**2 * (learner.width + AXIS_WIDTH)
    if is_trial and (n > MOST_STREAMED or work > MOST_STREAMED_WORK):
        return Refusal(f"it leaves two out up to {MOST_STREAMED:,} rows and few columns only")
    return Offer(CALL + 5e-8 * work, learner.reason_of_pairs)


class TrainingSetsRoute(RepeatedRoute):
    """A gram route for one kind of learner, which it asks anew in every training set."""

    name = "gram"
    kind: ClassVar[type[TunedLearner] | type[StatisticsLearner]]

    def offer(self, learners: Sequence[Learner], task: Task, plan: FoldPlan) -> Offer | Refusal:
        """The cost of the learner's decompositions for each training set."""
        (learner,) = learners
        return offer_by_sets(learner, task, plan) if isinstance(learner, self.kind) else NOT_TUNED


@cache
def keep_freed_memory() -> None:
    """Let batches find the memory of those before them.

    The allocator of glibc gives what is freed back to the system, which makes every batch touch new pages, at the price
    of its arithmetic; it ceases to when it has seen a larger block freed. The block is never touched.
    """
    np.empty(KEPT_BYTES, dtype=np.uint8)


class TrainingSetsEngine(SetsEngine):
    """An engine that goes through the training sets of each repeat in blocks."""

    batch_bytes: ClassVar[int] = SMALL_BYTES

    def make_chain(self, errors: FloatArray) -> Chain:
        """From the best to the worst: what is learned may differ from value to value."""
        return ascending(errors)

    def __init__(self, problem: Problem, rows: FitRows, loss: Loss, n_values: int = 1) -> None:
        keep_freed_memory()
        super().__init__(problem, rows, loss, n_values, [(np.arange(problem.n_outputs), np.zeros(n_values))])
        self.root = np.append(rows.root_weights(np.arange(problem.n)), 0.0)
        self.padded_y = np.vstack([self.y, np.zeros(self.y.shape[1])])

    @abstractmethod
    def sets(self, folds: Folds, repeats: range, log: FailureLog) -> Sets:
        """The training sets of some partitions."""

    def pieces(self, folds: Folds, group: int, with_pairs: bool, log: FailureLog) -> Iterator[Piece]:
        """Some training sets at a time; of several repeats if they are small, as every batch has its price."""
        outputs, _ = self.outputs[group]
        K, m, V = folds.n_folds, folds.members.shape[2], self.n_values
        R = self.loss.n_moments(len(outputs))
        pairs = np.stack(np.triu_indices(K, 1), axis=1)
        each = self.sets(folds, range(1), log).floats_each(2)
        step = per_block(8 * each * len(pairs), self.batch_bytes)
        for start in range(0, folds.n_repeats, step):
            sets = self.sets(folds, range(start, min(start + step, folds.n_repeats)), log)
            sets.with_pairs = with_pairs
            L = len(sets.repeats)
            u = np.zeros((L * K, m, V, len(outputs)))
            for out, residuals in sets.run(np.arange(L * K)[:, None]):
                u[out[:, 0]] = residuals[:, 0]
            mean, scatter = np.full((2, L * K, K, V, R), np.nan)
            everyone = (K * np.arange(L)[:, None, None] + pairs).reshape(-1, 2)
            for out, residuals in sets.run(everyone) if with_pairs else ():
                results = self._moments_of(sets, out, residuals, outputs)
                for table, result in zip((mean, scatter), results, strict=True):
                    table[out, out[:, ::-1] % K] = result
            tables = [table.reshape(L, K, K, V, R) for table in (mean, scatter)] if with_pairs else []
            yield Piece(start, np.arange(V), u.reshape(L, K, m, V, -1), *tables)

    def refit(
        self, folds: Folds, repeat: int, out: tuple[int, ...], values: tuple[int, ...], log: FailureLog
    ) -> list[FloatArray]:
        """Residuals of the folds that one training set leaves out, from its rows."""
        sets = self.sets(folds, range(repeat, repeat + 1), log)
        found = sets.from_rows(np.array(out))[:, :, list(values)]
        return [u[:size] for u, size in zip(found, sets.sizes[list(out)], strict=True)]

    def _moments_of(
        self, sets: Sets, out: IntArray, residuals: FloatArray, outputs: IntArray
    ) -> tuple[FloatArray, FloatArray]:
        """`moments` (B, t, V, R) of residuals (B, t, m, V, Q) of the folds ``out`` (B, t)."""
        rows = sets.members[out]
        if self.is_compiled:
            B, t, m, V, Q = residuals.shape
            columns, at = residuals.reshape(B * t, m, 1, V * Q), rows.reshape(B * t, m)
            found = self.compiled_moments(columns, np.zeros((B * t, m, V * Q)), at, sets.sizes[out].ravel())
            return found[0].reshape(B, t, V, Q), found[1].reshape(B, t, V, Q)
        present = np.arange(rows.shape[2]) < sets.sizes[out][..., None]
        return self.moments(np.moveaxis(residuals, 2, 3), rows[:, :, None], present[:, :, None], outputs)


class Sets(ABC):
    """The training sets of some partitions: the folds of all of them have numbers, K for each partition.

    ``with_pairs`` says that training sets without two folds will be asked for after those without one.
    """

    with_pairs = False

    def __init__(self, engine: TrainingSetsEngine, folds: Folds, repeats: range, log: FailureLog) -> None:
        self.engine, self.folds, self.repeats, self.log = engine, folds, repeats, log
        some = slice(repeats.start, repeats.stop)
        # in C order whatever the folds have: what is taken by it follows its layout, and the order of sums follows that
        self.members = np.ascontiguousarray(folds.members[some].reshape(len(repeats) * folds.n_folds, -1))
        self.sizes = folds.sizes[some].ravel()
        seen = engine.root > 0
        self.fitted_in_fold = seen[self.members].sum(axis=1)
        self.n_fitted = int(seen.sum())

    @abstractmethod
    def floats_each(self, n_out: int) -> int:
        """Numbers that a training set without ``n_out`` folds needs."""

    @abstractmethod
    def residuals(self, out: IntArray) -> FloatArray:
        """Residuals (B, t, m, V, Q) of the folds ``out`` (B, t) that each training set leaves out."""

    @abstractmethod
    def from_rows(self, out: IntArray) -> FloatArray:
        """The same (t, m, V, Q) for one training set without the folds ``out`` (t,), from its rows."""

    def run(self, sets: IntArray) -> Iterator[tuple[IntArray, FloatArray]]:
        """Folds that are out (B, t), and their residuals (B, t, m, V, Q), in blocks of training sets."""
        for out in self.blocks(sets):
            yield out, self.residuals(out)
            self.engine.count(sets=len(out))

    def blocks(self, sets: IntArray) -> Iterator[IntArray]:
        """Some training sets at a time."""
        step = per_block(8 * self.floats_each(sets.shape[1]), 2 * BLOCK_BYTES)
        for start in range(0, len(sets), step):
            yield sets[start : start + step]

    def place(self, out: IntArray) -> tuple[int, tuple[int, ...]]:
        """The repeat of one training set (t,), and its folds there."""
        K = self.folds.n_folds
        return self.repeats.start + int(out[0]) // K, tuple(int(fold) % K for fold in out)

    def n_train(self, out: IntArray) -> IntArray:
        """Rows of the training sets that have a weight."""
        n_train: IntArray = self.n_fitted - self.fitted_in_fold[out].sum(axis=1)
        return n_train

    def training_rows(self, out: IntArray) -> IntArray:
        """Rows of one training set that have a weight."""
        repeat, folds = self.place(out)
        return np.intersect1d(self.folds.training_rows(repeat, *folds), self.engine.fit_rows.fitted_rows)

    def is_out(self, out: IntArray) -> BoolArray:
        """Which rows each training set leaves out, (B, n)."""
        left: BoolArray = np.zeros((len(out), self.folds.n + 1), dtype=bool)
        left[np.arange(len(out))[:, None, None], self.members[out]] = True
        return left[:, :-1]


class BasisSets(Sets):
    """Training sets of an engine that has all rows in an orthogonal basis."""

    @property
    @abstractmethod
    def Zw(self) -> FloatArray:
        """All rows in an orthogonal basis, times the roots of their weights, (n + 1, d); row n is padding."""

    @property
    @abstractmethod
    def rest(self) -> FloatArray:
        """What the columns do not reach of y, times the roots of the weights, (n + 1, Q)."""

    @cached_property
    def totals(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Over all rows (d, 2Q) and by folds (K, d, 2Q): products of Zw with y and with its rest; squares of the rest.

        The squares (K + 1, Q) are by folds, those of all rows last.
        """
        targets = np.hstack([self.engine.root[:, None] * self.engine.padded_y, self.rest])
        by_fold = self.Zw[self.members].swapaxes(1, 2) @ targets[self.members]
        squares = np.square(self.rest)
        return self.Zw.T @ targets, by_fold, np.vstack([squares[self.members].sum(axis=1), squares.sum(axis=0)])

    @cached_property
    def _grams(self) -> FloatArray:
        """Gram matrices of the folds, (K, d, d)."""
        Zf = self.Zw[self.members]
        grams: FloatArray = Zf.swapaxes(1, 2) @ Zf
        return grams

    def gram(self, out: IntArray) -> FloatArray:
        """Gram matrices of the rows that are out, (B, d, d)."""
        d, m = self.Zw.shape[1], self.members.shape[1]
        if m >= d:
            both: FloatArray = self._grams[out].sum(axis=1)
            return both
        Zf = self.Zw[self.members[out].reshape(len(out), -1)]
        grams: FloatArray = Zf.swapaxes(1, 2) @ Zf
        return grams


def inverse_factors(systems: FloatArray) -> tuple[FloatArray, FloatArray, BoolArray]:
    """L and ``L^-1`` with ``LL' = systems``, and which are far from singular; the identity for the others."""
    d = systems.shape[-1]
    L: FloatArray
    inverse: FloatArray
    try:
        L = np.asarray(np.linalg.cholesky(systems), dtype=np.float64)
        inverse = np.asarray(np.linalg.inv(L), dtype=np.float64)
    except np.linalg.LinAlgError:
        L, inverse = np.full((2, *systems.shape), np.inf)
        for index, system in enumerate(systems):
            try:
                L[index] = np.linalg.cholesky(system)
                inverse[index] = np.linalg.inv(L[index])
            except np.linalg.LinAlgError:
                continue
    # the trace of M^-1 is at least the inverse of the smallest eigenvalue, and at most d times that
    is_sound: BoolArray = np.square(inverse).sum(axis=(1, 2)) < 1.0 / batched.TRUSTED
    L[~is_sound], inverse[~is_sound] = np.eye(d), np.eye(d)
    return L, inverse, is_sound
