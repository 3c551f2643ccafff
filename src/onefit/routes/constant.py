"""The best constant prediction of every training set: what other models are measured against."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations_with_replacement

import numpy as np

from ..dropfolds import DropFolds
from ..folds import Folds
from ..inference.fold_errors import HeldOut, PairErrors, empty_pairs, moments
from ..learners import ConstantLearner, Learner, Refusal, Task
from ..typing import AnyArray, FloatArray, IntArray
from .contract import Engine, FoldPlan, Offer, Workers, ignore
from .repeats import RepeatedRoute
from .responses import Responses

__all__ = ["ConstantRoute"]

MOST_SETS = 5000
"""Training sets up to which a fold for each group, or weighted row, is the default: each is looked at."""

MOST_ROWS = 2000
"""Rows up to which a fold for each is: what is learned without two of them follows from the order of all."""

SECONDS_A_ROW = 2e-8
"""What a quantile of a training set takes for each of its rows."""


class ConstantRoute(RepeatedRoute):
    """Models that predict the same for all rows."""

    name = "gram"

    def offer(self, learners: Sequence[Learner], task: Task, plan: FoldPlan) -> Offer | Refusal:
        """Some passes over y for each training set."""
        (learner,) = learners
        if not isinstance(learner, ConstantLearner):
            return Refusal("it is for constants")
        sets = plan.n_sets
        is_ordered = plan.is_single_rows and task.problem.weights is None
        if plan.is_trial and (plan.units > MOST_ROWS if is_ordered else sets > MOST_SETS):
            return Refusal("a constant is learned anew in every training set, and these would be many")
        return Offer(SECONDS_A_ROW * sets * plan.likely_repeats * task.problem.n, "a constant is learned from y alone")

    def engine(self, learner: Learner, task: Task, workers: Workers) -> Engine:
        """Look at y."""
        assert isinstance(learner, ConstantLearner)
        return ConstantEngine(task, learner)


class ConstantEngine(Engine):
    """Goes through the training sets of each repeat."""

    units = "repeats"

    def __init__(self, task: Task, learner: ConstantLearner) -> None:
        problem = task.problem
        self.problem, self.loss, self.learner, self.tick, self.n_values = problem, task.loss, learner, ignore, 1
        self._y: AnyArray = problem.y
        if problem.classes is not None:
            self._y = np.searchsorted(problem.classes, problem.labels)
        self._relative = problem.relative_weights

    def n_units(self, n_folds: int, n_repeats: int, with_pairs: bool) -> int:
        """Repeats."""
        return n_repeats

    def singles(self, folds: Folds) -> HeldOut:
        """Residuals and losses with each fold out."""
        Q = self.problem.n_outputs
        single = HeldOut.empty(folds, 1, Q, self.loss.n_losses(Q))
        for repeat in range(folds.n_repeats):
            for fold in range(folds.n_folds):
                self._record(single, repeat, self._rows(folds, repeat, fold), self._constant(folds, repeat, fold))
            self.tick(1)
        return single

    def pairs(self, folds: Folds) -> PairErrors[HeldOut]:
        """The same, and the losses of each fold with it and another out."""
        Q = self.problem.n_outputs
        pairs = empty_pairs(folds, 1, Q, self.loss.n_losses(Q))
        for repeat in range(folds.n_repeats):
            for fold, rows, constants in self._by_fold(folds, repeat):
                y = self.problem.y[rows]
                losses = self.loss.of(y, y - self._values(constants)[:, None])
                if self._relative is not None:
                    losses = losses * self._relative[rows, None]
                found = moments(losses, np.ones((len(rows), 1), dtype=bool))
                pairs.mean[repeat, fold, :, 0], pairs.scatter[repeat, fold, :, 0] = found
                self._record(pairs.single, repeat, rows, constants[fold])
            self.tick(1)
        return pairs

    def responses(self, folds: Folds, learner: Learner, task: Task) -> Responses:
        """What the constants say to every fold."""
        tables = []
        for repeat in range(folds.n_repeats):
            kinds = task.responses if task.problem.classes is not None else {"residual"}
            table: dict[str, list[AnyArray]] = {kind: [] for kind in kinds}
            for _, rows, constants in self._by_fold(folds, repeat):
                for kind, parts in table.items():
                    parts.append(self._response(kind, rows, constants)[:, :, None])
            tables.append(table)
            self.tick(1)
        return Responses(tables)

    def _by_fold(self, folds: Folds, repeat: int) -> Iterator[tuple[int, IntArray, FloatArray]]:
        """Each fold, its rows, and the constants (K, ...) without it and each of the others; at itself without it."""
        K = folds.n_folds
        if folds.n == K and self.problem.weights is None and not isinstance(folds, DropFolds):
            row_of = folds.members[repeat, :, 0]
            for fold, row in enumerate(row_of):
                yield fold, row_of[fold : fold + 1], self.learner.without_two(self._y, int(row))[row_of]
            return
        pairs = combinations_with_replacement(range(K), 2)
        constants = {held: self._constant(folds, repeat, *held) for held in pairs}
        for fold in range(K):
            own = np.stack([constants[min(fold, other), max(fold, other)] for other in range(K)])
            yield fold, self._rows(folds, repeat, fold), own

    def _response(self, kind: str, rows: IntArray, constants: FloatArray) -> AnyArray:
        """One kind of response of some rows, (K, m, ...)."""
        m = len(rows)
        if kind == "residual":
            return self.problem.y[rows] - constants[:, None]
        if kind == "predict":
            return np.repeat(constants.argmax(axis=1)[:, None], m, axis=1)
        shares = np.repeat(self.learner.respond("predict_proba", constants)[:, None], m, axis=1)
        return shares[..., 1:] if kind == "scores" and constants.shape[1] == 2 else shares

    def _rows(self, folds: Folds, repeat: int, fold: int) -> IntArray:
        return folds.members[repeat, fold, : folds.sizes[repeat, fold]]

    def _constant(self, folds: Folds, repeat: int, *out: int) -> FloatArray:
        train = folds.training_rows(repeat, *out)
        weights = self.problem.weights
        return self.learner.fit(self._y[train], None if weights is None else weights[train])

    def _values(self, constants: FloatArray) -> FloatArray:
        """Predictions (..., Q): constants, or codes of the most frequent class."""
        return constants if self.loss.classes is None else self.loss.classes.encode(constants.argmax(axis=-1))

    def _record(self, single: HeldOut, repeat: int, rows: IntArray, constant: FloatArray) -> None:
        residuals = self.problem.y[rows] - self._values(constant)
        single.residuals[repeat, rows, 0] = residuals
        single.losses[repeat, rows, 0] = self.loss.of(self.problem.y[rows], residuals)
