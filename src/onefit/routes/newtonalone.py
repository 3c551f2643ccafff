"""Training sets of generalized linear models one by one: by Newton's method from their own rows."""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..errors import TrainingSetError
from ..learners import Encoding, Features, NoFiniteFit, NotSettled, fit_newton
from ..learners.glm_fit import Fit
from ..linalg.columns import middle
from ..typing import BoolArray, FloatArray, IntArray
from .features import LearningSets
from .newtonfull import FullEngine
from .newtonparts import HOLD, NO_MEAN, NONE_WEIGHED, ONE_WEIGHED, TOO_WEAK, dense, shifted_columns, why_no_fit

__all__ = ["Chunk", "LoneSets"]

ABSENT = -1e4
"""Score of a class that a training set lacks: its probability is zero."""

UNDETERMINED = 1e-5
"""Part of a row that lies where the training rows do not reach, from which on its prediction is arbitrary."""

ONE_CLASS = (
    "This solver needs samples of at least 2 classes in the data, but the data contains only one class. Use folds that "
    "hold all classes, or leave the rarest class out."
)


@dataclass(frozen=True)
class Chunk:
    """Some training sets of a repeat.

    Attributes
    ----------
    out : (S, t), folds that they leave out
    sums : (S, C), sums of weights of the classes
    present : (S, C), whether they have a class
    factors : (S, G), factors of the weights of classes
    maps : (S, q, p) or None, columns of the fits from those of the design
    unseen : (S, p) or None, columns of the fits that are zero in all rows, of those that an intercept leaves; None if
        penalties hold all columns
    shifted : (S, p) or None, columns that would be constants other than zero then, so that the intercept takes them
    is_sound : (S,), whether the maps have all digits
    """

    out: IntArray
    sums: FloatArray
    present: BoolArray
    factors: FloatArray
    maps: FloatArray | None
    unseen: BoolArray | None
    shifted: BoolArray | None
    is_sound: BoolArray

    def weight(self) -> FloatArray:
        """Sums of weights, (S,)."""
        return np.asarray((self.factors * self.sums).sum(axis=1))


class LoneSets(LearningSets, ABC):
    """Training sets that can be fitted by themselves."""

    engine: FullEngine

    @property
    def encoding(self) -> Encoding:
        """What the steps make of the columns."""
        return self.engine.learner.encoding

    def chunk(self, out: IntArray) -> Chunk:
        """What does not depend on the value."""
        engine = self.engine
        counts, sums = self._sums_without(out)
        maps, features, is_sound = None, None, np.ones(len(out), dtype=bool)
        if engine.learner.has_steps:
            sets, is_sound = self.learn(out)
            features = sets.features
            maps = engine.maps_of(features)
        sums = sums if engine.learner.is_balanced else sums.sum(axis=1, keepdims=True)
        unseen = shifted = None
        if engine.learner.may_have_no_fit:
            total, by_fold = self._filled
            is_filled = total > by_fold[out].sum(axis=1)
            unseen = ~(is_filled if maps is None else (is_filled[:, :, None] & (maps != 0)).any(axis=1))
            shifted = self._shifted(unseen.shape, features)
        return Chunk(out, sums, counts > 0, engine.factors(sums, counts > 0), maps, unseen, shifted, is_sound)

    def _shifted(self, shape: tuple[int, ...], features: Features | None) -> BoolArray:
        """Which columns (S, p) have a shift, other than zero, if they are zero less that in all rows.

        Where all rows, not only those of a training set, are the same, no prediction depends on it.
        """
        learner, by_all = self.engine.learner, self.engine.maps_of_all
        if not learner.fit_intercept:
            return np.zeros(shape, dtype=bool)
        is_there = self._filled[0] > 0 if by_all is None else by_all.any(axis=0)
        return np.broadcast_to(shifted_columns(learner, None if by_all is None else features) & is_there, shape)

    @cached_property
    def _filled(self) -> tuple[IntArray, IntArray]:
        """How many rows of the design, of those that have a weight, are not zero in each column: in all, by folds."""
        design, has_weight = self.engine.design, self.engine.learner.row_weights > 0

        def count(rows: IntArray) -> IntArray:
            return np.asarray((design[rows[has_weight[rows]]] != 0).sum(axis=0)).ravel()

        by_fold = [count(rows[:size]) for rows, size in zip(self.members, self.sizes, strict=True)]
        return count(np.arange(len(has_weight))), np.stack(by_fold)

    def _sums_without(self, out: IntArray) -> tuple[FloatArray, FloatArray]:
        """Rows of each class (S, C) in some training sets of a repeat, and their weights.

        Those of what stays: taken away from a sum, one heavy row would leave nothing but rounding errors of all others.
        """
        K = self.folds.n_folds
        repeat = int(out[0, 0]) // K
        stays = np.ones((len(out), K + 1, 1), dtype=bool)
        np.put_along_axis(stays[:, :, 0], out % K, False, axis=1)
        counts, sums = (np.where(stays, each[repeat], 0.0).sum(axis=1) for each in self._class_sums)
        return counts, sums

    @cached_property
    def _class_sums(self) -> tuple[FloatArray, FloatArray]:
        """Rows of each class by repeats and folds (L, K + 1, C), and their weights; the last are in no fold."""
        engine, C, K, L = self.engine, self.engine.learner.n_classes, self.folds.n_folds, len(self.repeats)
        ids = self.folds.ids[self.repeats.start : self.repeats.stop]
        cells = np.where(ids < 0, K, ids) + (K + 1) * np.arange(L)[:, None]
        places = (cells * C + engine.classes).ravel()
        each = (np.ones(self.folds.n), engine.learner.row_weights)
        flat = (np.bincount(places, np.tile(own, L), minlength=L * (K + 1) * C) for own in each)
        counts, sums = (own.reshape(L, K + 1, C).astype(np.float64) for own in flat)
        return counts, sums

    def from_rows(self, out: IntArray) -> FloatArray:
        """Residuals (t, m, V, Q) of the folds that one training set leaves out, by Newton's method from its rows."""
        chunk = self.chunk(out[None])
        each = [self.alone(chunk, 0, value, None) for value in range(self.engine.n_values)]
        return np.stack(each, axis=2)

    def alone(self, chunk: Chunk, index: int, value: int, start: FloatArray | None) -> FloatArray:
        """Residuals (t, m, Q) of one training set at one value, by Newton's method from its rows."""
        engine, learner, out = self.engine, self.engine.learner, chunk.out[index]
        engine.by_newton.append(value)
        train, tests = self.train_and_tests(out)
        found = np.zeros((len(out), self.members.shape[1], engine.y.shape[1]))
        present = np.flatnonzero(chunk.present[index])
        try:
            if learner.has_classes and len(present) < 2:
                raise self.failure(out, ONE_CLASS)
            columns = self._columns(chunk, index, train, tests)
            scores = self._scores(chunk, index, value, train, columns, present, start)
        except TrainingSetError as error:
            error.lam = float(learner.lams[value])
            repeat, folds = self.place(out)
            self.log.add(error, self.folds.first + repeat, folds, value)
            for at, rows in enumerate(tests):  # as if all were predicted as they are, which is in the range of any loss
                found[at, : len(rows)] = engine.y[rows] - engine.observed[rows]
            return found
        parts = np.split(scores, np.cumsum([len(rows) for rows in tests])[:-1])
        for at, (rows, part) in enumerate(zip(tests, parts, strict=True)):
            found[at, : len(rows)] = engine.y[rows] - part
        return found

    def _columns(
        self, chunk: Chunk, index: int, train: IntArray, tests: list[IntArray]
    ) -> tuple[FloatArray, FloatArray, BoolArray]:
        """Columns of a training set, the same of the rows that it predicts, and which may be shifts of zeros."""
        engine, learner = self.engine, self.engine.learner
        if chunk.is_sound[index]:
            parts = [engine.design[rows] for rows in (train, np.concatenate(tests))]
            if chunk.maps is not None:
                parts = [part @ chunk.maps[index] for part in parts]
            Z = dense(parts[0])
            shifted = np.zeros(Z.shape[1], dtype=bool) if chunk.shifted is None else chunk.shifted[index]
            return Z, dense(parts[1]), shifted
        try:
            Z, *others = learner.encoding.of_rows(train, tests)
        except Exception as error:
            raise self.failure(chunk.out[index], f"{type(error).__name__}: {error}") from error
        held_out = np.vstack(others)
        if not learner.fit_intercept:
            return Z, held_out, np.zeros(Z.shape[1], dtype=bool)
        centre = middle(Z)
        varies = Z.min(axis=0) < Z.max(axis=0)
        both = (np.where(varies, each - centre, 0.0) for each in (Z, held_out))
        first, second = (np.hstack([each, np.ones((len(each), 1))]) for each in both)
        shifted = ~varies & (centre != 0) & (held_out != centre).any(axis=0)
        return first, second, np.append(shifted, False)

    def _scores(
        self,
        chunk: Chunk,
        index: int,
        value: int,
        train: IntArray,
        columns: tuple[FloatArray, FloatArray, BoolArray],
        present: IntArray,
        start: FloatArray | None,
    ) -> FloatArray:
        """Predictions (m, Q) for the rows that are held out."""
        engine, learner = self.engine, self.engine.learner
        Z, held_out, shifted = columns
        family, y = learner.family_of(present), learner.y[:, train]
        if learner.has_classes and len(present) < learner.n_classes:
            start = None
            y = np.sign(engine.classes[train] - present[1] + 0.5)[None] if len(present) == 2 else y[present]
        weights = learner.row_weights[train] * chunk.factors[index, engine.weighed[train]]
        penalty = engine.penalties(value, np.array([weights.sum()]), Z.shape[1])[0]
        if learner.has_classes and not penalty.all():  # penalties of all coefficients would hold them
            n_weighed = len(np.unique(engine.classes[train][weights > 0]))
            if n_weighed < len(present):
                raise self.failure(chunk.out[index], ONE_WEIGHED if n_weighed < 2 else NONE_WEIGHED)
        begin = np.zeros((family.basis.shape[1], Z.shape[1]))
        if learner.fit_intercept:
            begin[:, -1] = family.start(y, weights)
        starts = [begin]
        if start is not None and start.shape[1] == Z.shape[1] and np.isfinite(start).all():
            starts = [start, begin]
        unseen = (penalty == 0) & ~Z[weights > 0].any(axis=0)
        if (unseen & shifted).any():  # a solver takes any mixture of such a column and the intercept
            raise self._undetermined(chunk.out[index])
        starts = [np.where(unseen, 0.0, each) for each in starts]  # where solvers begin, and stay
        try:
            fit = _first_fit(starts, lambda begin: fit_newton(Z, y, weights, penalty, family, begin, held_out))
        except NoFiniteFit as failure:
            if learner.fit_intercept and family.has_no_mean(y, weights):
                raise self.failure(chunk.out[index], NO_MEAN) from None
            why, remedy = why_no_fit(learner, value, isinstance(failure, NotSettled))
            error = self.failure(chunk.out[index], f"in the training set of {len(train)} rows {why}.")
            error.remedy = remedy
            raise error from None
        if self._is_open(fit.free, Z, held_out):
            raise self._undetermined(chunk.out[index], is_held=not learner.at([value]).may_have_no_fit)
        eta = family.predicted((family.basis @ fit.theta) @ held_out.T).T
        if len(present) == learner.n_classes or not learner.has_classes:
            return np.asarray(eta)
        scores = np.full((len(eta), learner.n_classes), ABSENT)
        scores[:, present] = eta if len(present) > 2 else eta * np.array([-0.5, 0.5])
        return scores

    def _undetermined(self, out: IntArray, is_held: bool = False) -> TrainingSetError:
        why = TOO_WEAK if is_held else "the training set does not determine the coefficients, which no penalty holds"
        error = self.failure(out, f"{why}.")
        error.remedy = HOLD if is_held else error.remedy
        error.held_out = np.concatenate(self.train_and_tests(out)[1]).tolist()
        return error

    def _is_open(self, free: FloatArray, Z: FloatArray, held_out: FloatArray) -> bool:
        """Whether predictions depend on what the training set does not determine."""
        if not free.shape[1]:
            return False
        directions = free.reshape(-1, Z.shape[1], free.shape[1])
        size = np.linalg.norm(directions, axis=1, keepdims=True)
        directions = directions / np.where(size > 0, size, 1.0)
        reach = max(float(np.abs(held_out @ each).max(initial=0.0)) for each in directions)
        return reach > UNDETERMINED * float(np.linalg.norm(held_out, axis=1).max(initial=0.0))


def _first_fit(starts: Sequence[FloatArray], fit: Callable[[FloatArray], Fit]) -> Fit:
    """From the first start that leads to one: where a heavy row held the others, these may have no curvature left.

    Steps know nothing of directions without curvature, so that a fit may seem to have converged there, and free.
    """
    for start in starts[:-1]:
        with suppress(NoFiniteFit):
            found = fit(start)
            if not found.free.shape[1]:
                return found
    return fit(starts[-1])
