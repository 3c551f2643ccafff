"""The newton route for searches inside every training set: candidates of all its splits are iterated together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..errors import RefitError, TrainingSetError
from ..folds import Folds
from ..learners import Learner, NoFiniteFit, Refusal, SearchedGLM, SetFailure, Task, are_decided, fit_newton
from ..learners.glm_scores import Scores
from ..typing import BoolArray, FloatArray, IntArray
from .byestimator import scores_by_estimator
from .contract import Engine, FoldPlan, Offer, Workers
from .costs import CALL
from .engine import FailureLog
from .newton import seconds_of_set
from .newtonalone import ABSENT
from .newtonbatch import NewtonBatch, in_predictors
from .newtonparts import dense, hardly_differ, projected
from .newtonsets import NewtonEngine
from .repeats import RepeatedRoute
from .splits import Splits, SplitsEngine, SplitSets
from .trainingsets import Sets

__all__ = ["NewtonSearchEngine", "NewtonSearchRoute"]

AT_ONCE = 48
"""Splits, and training sets, that are iterated together."""

AGREED = 1e-11
"""Predictions of close candidates that differ by less, relative to the largest, are the same: whichever is best."""


class NewtonSearchRoute(RepeatedRoute):
    """Searches among generalized linear models."""

    name = "newton"

    def offer(self, learners: Sequence[Learner], task: Task, plan: FoldPlan) -> Offer | Refusal:
        """The cost of all candidates in all splits of each training set."""
        (learner,) = learners
        if not isinstance(learner, SearchedGLM):
            return Refusal("it serves searches among generalized linear models")
        if plan.is_trial:
            return Refusal("it takes few folds, each with its statistics")
        each, refit = seconds_of_set(learner.groups[0])
        fits = plan.likely_repeats * plan.n_sets * (learner.n_splits + 1) * len(learner.places)
        offer = Offer(CALL + fits * each, learner.reason)
        if each > refit:
            wide = Refusal(f"its {learner.width:,} columns take longer than refits")
            return Offer(offer.seconds, offer.reason, settle=lambda: wide)
        return offer

    def engine(self, learner: Learner, task: Task, workers: Workers) -> Engine:
        """Fit all rows with every candidate."""
        assert isinstance(learner, SearchedGLM)
        return NewtonSearchEngine(task, learner)


class NewtonSearchEngine(SplitsEngine):
    """Scores every candidate in the splits of each training set, and fits the best to it.

    Where that is not what scikit-learn's search would certainly do with converged fits, it searches by itself.
    """

    learner: SearchedGLM

    def __init__(self, task: Task, learner: SearchedGLM) -> None:
        super().__init__(task.problem, learner, task.loss.of_predictions())
        y = task.problem.y
        self.learner, self.y = learner, np.zeros_like(y) if self.loss.is_of_predictions else y
        self.engines = [NewtonEngine(task, group) for group in learner.groups]
        self.decides = are_decided(task)

    @cached_property
    def observed(self) -> FloatArray:
        """Numbers of the classes, or y, (n,)."""
        return (
            self.engines[0].classes.astype(np.float64) if self.learner.groups[0].has_classes else self._observed[:-1, 0]
        )

    def sets(self, folds: Folds, repeats: range, log: FailureLog) -> Sets:
        """The training sets of some partitions."""
        return _Sets(self, folds, repeats, log)

    def scores_of(self, fitted: Any, X: Any) -> FloatArray:
        """Scores (rows, Q) of a fitted search, as the candidates have them."""
        group = self.learner.groups[0]
        if not group.has_classes:
            return np.asarray(fitted.predict(X), dtype=np.float64).reshape(-1, 1)
        found = np.asarray(fitted.decision_function(X), dtype=np.float64)
        found = found.reshape(len(found), -1)
        present = np.searchsorted(self.learner.task.problem.classes, fitted.classes_)
        if len(present) == group.n_classes:
            return found
        scores = np.full((len(found), group.n_classes), ABSENT)
        scores[:, present] = found if len(present) > 2 else found * np.array([-0.5, 0.5])
        return scores


@dataclass(frozen=True)
class _Batch:
    """Splits and training sets that are fitted together.

    Attributes
    ----------
    masks : (S, n), their rows: those of the splits first
    owner : (S,), which training set each belongs to
    maps : (S, q, p) or None, for each group of candidates
    is_sure : (S,), whether they are what scikit-learn would make
    """

    masks: BoolArray
    owner: IntArray
    maps: list[FloatArray | None]
    is_sure: BoolArray


class _Sets(SplitSets):
    """The training sets of some partitions."""

    engine: NewtonSearchEngine

    def floats_each(self, n_out: int) -> int:
        """Numbers that a training set needs."""
        learner, n = self.engine.learner, self.folds.n
        return int((learner.n_splits + 1) * (6 * (learner.width + 1) ** 2 + n) + 2 * n * len(learner.places))

    def run(self, sets: IntArray) -> Iterator[tuple[IntArray, FloatArray]]:
        """Repeat by repeat: which training sets are iterated together must not depend on what else there is."""
        K, step = self.folds.n_folds, max(1, AT_ONCE // (self.engine.learner.n_splits + 1))
        for repeat in range(len(self.repeats)):
            own = sets[sets[:, 0] // K == repeat]
            for start in range(0, len(own), step):
                out = own[start : start + step]
                yield out, self.residuals(out)
                self.engine.count(sets=len(out))

    def residuals(self, out: IntArray) -> FloatArray:
        """Residuals of the folds that are out."""
        learner = self.engine.learner
        found = np.empty((*out.shape, self.members.shape[1], 1, self.engine.y.shape[1]))
        try:
            splits = self.splits(out)
            batch = self._batch(out, splits)
            gammas = self._fitted(out, splits, batch)
        except SetFailure:  # a split or a fit that scikit-learn refuses: it says what comes of that
            for index, held in enumerate(out):
                found[index] = self.from_rows(held)
            return found
        scores = self._scores(splits, np.arange(len(splits.owner)), range(len(gammas)), gammas, learner.score.of)
        for index, held in enumerate(out):
            best = self._best(splits, np.flatnonzero(splits.owner == index), scores, gammas)
            is_sure = batch.is_sure[batch.owner == index].all() and len(best) > 0
            at = len(splits.owner) + index
            each = [self._predicted(held, learner.places[c][0], gammas[c][at]) for c in best] if is_sure else []
            largest = max((float(np.abs(one).max(initial=0.0)) for one in each), default=0.0)
            agree = all(float(np.abs(one - each[0]).max(initial=0.0)) <= AGREED * largest for one in each)
            found[index, :, :, 0] = each[0] if each and agree else self.from_rows(held)[:, :, 0]
        return found

    def from_rows(self, out: IntArray) -> FloatArray:
        """Residuals (t, m, 1, Q) of the folds that one training set leaves out, by the search itself."""
        engine = self.engine
        repeat, folds = self.place(out)
        found = np.zeros((len(out), self.members.shape[1], 1, engine.y.shape[1]))
        try:
            scores = scores_by_estimator(
                engine.learner.estimator, engine.learner.task, self.folds, repeat, folds, engine.scores_of
            )
        except RefitError as error:
            raise TrainingSetError(str(error)) from error
        for at, (fold, one) in enumerate(zip(out, scores, strict=True)):
            rows = self.members[fold, : self.sizes[fold]]
            found[at, : len(rows), 0] = engine.y[rows] - one
        return found

    def _batch(self, out: IntArray, splits: Splits) -> _Batch:
        """What does not depend on the penalties."""
        engine, groups = self.engine, self.engine.learner.groups
        moments, _, _ = self.products(out, splits, None).about_means()
        statistics, masks, owner = self.statistics(out, splits, moments)
        is_sure = np.ones(len(masks), dtype=bool)
        maps: list[FloatArray | None] = []
        for group, own in zip(groups, engine.engines, strict=True):
            maps.append(own.maps_of(group.encoding.block.learn(statistics)) if group.has_steps else None)
        if any(group.has_steps for group in groups):
            weighted = moments
            if engine.weights is not None:
                weighted = self.products(out, splits, engine.weights).about_means()[0]
            is_sure &= ~engine.has_lost_digits(statistics, weighted) & ~statistics.in_doubt
        if engine.fixed.has_checks:
            is_sure &= [engine.fixed.are_fixed(*each) for each in statistics.rows()]
        return _Batch(masks, owner, maps, is_sure)

    def _fitted(self, out: IntArray, splits: Splits, batch: _Batch) -> list[FloatArray]:
        """Coefficients (S, c, q) of every candidate in every split, and in the training sets."""
        by_group = [self._solved(at, out, splits, batch) for at in range(len(self.engine.engines))]
        return [by_group[group][value] for group, value in self.engine.learner.places]

    def _solved(self, group: int, out: IntArray, splits: Splits, batch: _Batch) -> list[FloatArray]:
        """The same of a group of candidates, along the path of penalties, the stiffest first."""
        own, maps, masks = self.engine.engines[group], batch.maps[group], batch.masks
        learner = own.learner
        one_hot = (own.classes == np.arange(learner.n_classes)[:, None]).astype(np.float64)
        counts, sums = masks @ one_hot.T, masks @ (learner.row_weights * one_hot).T
        batch.is_sure[(counts == 0).any(axis=1)] = False  # a class that is not there: as scikit-learn has it
        sums = sums if learner.is_balanced else sums.sum(axis=1, keepdims=True)
        factors = own.factors(sums, counts > 0)
        table = np.ascontiguousarray((masks * factors[:, own.weighed]).T)  # (n, S)
        found: dict[int, FloatArray] = {}
        last: int | None = None
        for value in map(int, np.argsort(-learner.lams, kind="stable")):
            full = own.full[value].gamma
            start = np.repeat(full[None], len(masks), axis=0)
            if last is not None:
                start = found[last] + (full - own.full[last].gamma)
            H = np.einsum("sg,sgij->sij", factors, self._hessians(group, value, out, splits))
            sets = own.as_sets(value, (factors * sums).sum(axis=1), table, factors, H, maps)
            theta = projected(maps, start)
            solution = NewtonBatch(own.shared, np.arange(self.folds.n), sets).solve(theta)
            is_right = own.are_right(solution, sets, [value])
            if self.engine.decides:
                is_right[len(splits.owner) :] &= ~self._are_tied(group, out, solution.theta[len(splits.owner) :], maps)
            for index in np.flatnonzero(~is_right & batch.is_sure):
                alone = self._alone(group, int(index), batch, table[:, index], sets.penalty[index], theta[index])
                batch.is_sure[index] = alone is not None
                solution.theta[index] = 0.0 if alone is None else alone
            solution.theta[~batch.is_sure] = 0.0
            found[value] = (
                solution.theta if maps is None else np.asarray(np.matmul(solution.theta, maps.swapaxes(1, 2)))
            )
            last = value
        return [found[value] for value in range(learner.n_values)]

    def _are_tied(self, group: int, out: IntArray, theta: FloatArray, maps: FloatArray | None) -> BoolArray:
        """Which training sets decide on a class of a row that is out by what the iteration may have left."""
        own = self.engine.engines[group]
        each = theta if maps is None else np.matmul(theta, maps[-len(theta) :].swapaxes(1, 2))
        rows = [np.concatenate([self.members[fold, : self.sizes[fold]] for fold in held]) for held in out]
        tied = [hardly_differ(_predictors(own, *one)).any() for one in zip(rows, each, strict=True)]
        return np.array(tied)

    def _hessians(self, group: int, value: int, out: IntArray, splits: Splits) -> FloatArray:
        """Hessians (S, G, c q, c q) at the fit to all rows."""
        own, K = self.engine.engines[group], self.folds.n_folds
        curvature = own.full[value].curvature
        repeat = int(out[0, 0]) // K
        some = slice(repeat * K, (repeat + 1) * K)
        key = (repeat, group, value)
        if key not in self._of_folds:
            self._of_folds = {each: kept for each, kept in self._of_folds.items() if each[0] == repeat}
            self._of_folds[key] = own.hessians(curvature, self.members[some], self.sizes[some])
        whole = own.full[value].hessians - self._of_folds[key][out % K].sum(axis=1)
        n_inside = splits.inside.sum(axis=1)
        n_whole = self.folds.n - self.sizes[out].sum(axis=1)
        if (n_inside + splits.sizes == n_whole[splits.owner]).all():
            inside = whole[splits.owner] - own.hessians(curvature, splits.members, splits.sizes)
        else:
            rows = np.full((len(n_inside), int(n_inside.max())), self.folds.n)
            for at, mask in enumerate(splits.inside):
                rows[at, : n_inside[at]] = np.flatnonzero(mask)
            inside = own.hessians(curvature, rows, n_inside)
        return np.concatenate([inside, whole])

    _of_folds: dict[tuple[int, int, int], FloatArray] = {}  # noqa: RUF012, replaced and never changed

    def _alone(
        self, group: int, index: int, batch: _Batch, weights: FloatArray, penalty: FloatArray, start: FloatArray
    ) -> FloatArray | None:
        """Coefficients (c, p) of one set by Newton's method from its rows; None if there are none that are finite."""
        own, maps = self.engine.engines[group], batch.maps[group]
        rows = np.flatnonzero(batch.masks[index])
        Z = own.design[rows] if maps is None else own.design[rows] @ maps[index]
        learner = own.learner
        heavy = learner.row_weights[rows] * weights[rows]
        own.by_newton.append(0)
        try:
            fit = fit_newton(dense(Z), learner.y[:, rows], heavy, penalty, learner.family, start)
        except NoFiniteFit:
            return None
        return None if fit.free.shape[1] else fit.theta

    def _best(
        self, splits: Splits, own: IntArray, scores: FloatArray, gammas: list[FloatArray]
    ) -> Sequence[int] | IntArray:
        """Candidates that may be the best in some splits."""
        score = self.engine.learner.score
        best = score.best(scores[own])
        if len(best) < 2 or score.exact is None:
            return best
        its = score.means(self._scores(splits, own, best.tolist(), gammas, score.exact))
        return best[[int(its.argmax())]]

    def _scores(
        self, splits: Splits, own: IntArray, candidates: Sequence[int], gammas: list[FloatArray], score: Scores
    ) -> FloatArray:
        """Scores of some candidates in some splits."""
        engine, learner = self.engine, self.engine.learner
        weights = learner.weights if learner.score.is_weighted else None
        found = np.full((len(own), len(candidates)), np.nan)
        for place, at in enumerate(own):
            rows = splits.members[at, : splits.sizes[at]]
            w = np.ones(len(rows)) if weights is None else weights[rows]
            if w.sum() > 0:
                means = [self._means(rows, learner.places[c][0], gammas[c][at]) for c in candidates]
                found[place] = score(engine.observed[rows], np.stack(means, axis=1), w / w.sum())
        return found

    def _means(self, rows: IntArray, group: int, gamma: FloatArray) -> FloatArray:
        """Means (m,) of some rows, their probabilities (m, C) or decisions (m, Q): what the score is of."""
        own = self.engine.engines[group]
        eta = _predictors(own, rows, gamma)
        if not own.learner.has_classes:
            return np.asarray(own.learner.family.predicted(eta)[:, 0])
        return own.learner.respond(self.engine.learner.score.response, eta)

    def _predicted(self, out: IntArray, group: int, gamma: FloatArray) -> FloatArray:
        """Residuals (t, m, Q) of the folds that are out."""
        engine, own = self.engine, self.engine.engines[group]
        found = np.zeros((len(out), self.members.shape[1], engine.y.shape[1]))
        for at, fold in enumerate(out):
            rows = self.members[fold, : self.sizes[fold]]
            found[at, : len(rows)] = engine.y[rows] - own.learner.family.predicted(_predictors(own, rows, gamma))
        return found


def _predictors(own: NewtonEngine, rows: IntArray, gamma: FloatArray) -> FloatArray:
    """Linear predictors (m, P) of some rows."""
    columns = in_predictors(own.learner.family, gamma[None])[:, :, 0]
    return np.asarray(own.design[rows] @ columns.T)
