"""Folds with drop sets on every route that takes rows out of statistics or operators; what does not is refitted.

The gram route of smoothers keeps statistics of the parts that drop sets are unions of (`gramtables`). The engines that
fit every training set from its statistics are asked for the sets that lack these parts. The one-step route solves with
the block of the residual operator that belongs to the rows dropped.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from typing import TypeAlias

import numpy as np

from ..dropfolds import DropFolds
from ..folds import Folds
from ..inference.chain import Chain
from ..learners import Learner, RefitLearner, Refusal, Smoother, Task
from ..linalg import batched
from ..linalg.operator import Operator
from ..metrics.losses import Loss
from ..typing import FloatArray, IntArray
from ..validation import Problem
from .choice import Bid, Candidate, choose_routes
from .constant import ConstantRoute
from .contract import Engine, FoldPlan, Offer, Remark, Route, Workers
from .encoded import EncodedRoute
from .engine import FailureLog, Piece, SmootherEngine, refit_or_log
from .gram import GramRoute
from .gramstream import StreamedEngine
from .learned import LearnedRoute
from .newton import NewtonRoute
from .newtonsearched import NewtonSearchRoute
from .onestep import OneStepRoute
from .onestepengine import OneStepEngine
from .refit import RefitRoute
from .repeats import RepeatedRoute, SideBySide
from .searched import SearchedRoute
from .trainingsets import Sets, TrainingSetsEngine
from .tuned import TunedRoute

__all__ = ["Kept", "choose_drop_routes"]

SERVING = (
    GramRoute,
    OneStepRoute,
    TunedRoute,
    LearnedRoute,
    EncodedRoute,
    SearchedRoute,
    NewtonRoute,
    NewtonSearchRoute,
    ConstantRoute,
)
"""Routes with engines that take parts, rows of an operator, or training sets as the folds say them."""

NOT_BY_DROP_SETS = "its fast route does not leave out the rows around a fold"


def choose_drop_routes(
    candidates: Sequence[Candidate], task: Task, plan: FoldPlan, asked: str, kept: Kept
) -> tuple[Route, tuple[Bid, ...]]:
    """The routes of `choose_routes`, as far as they serve drop sets; refits for other models.

    What is ``kept`` of one call is used again in the next: a pilot and its job share the decompositions of all rows.
    """
    _, chosen = choose_routes(candidates, task, plan, asked)
    bids = tuple(_with_drops(bid, candidate, kept) for bid, candidate in zip(chosen, candidates, strict=True))
    if len(bids) == 1:
        return bids[0].route, bids
    return SideBySide([bid.route for bid in bids if isinstance(bid.route, RepeatedRoute)]), bids


def _with_drops(bid: Bid, candidate: Candidate, kept: Kept) -> Bid:
    """The bid of a route that serves drop sets."""
    if isinstance(bid.route, RefitRoute):
        return bid
    if isinstance(bid.route, RepeatedRoute) and _serves(bid.route):
        return replace(bid, route=kept.setdefault((id(bid.route), id(bid.learner)), DropRoute(bid.route)))
    refitted = next(each for each in candidate if isinstance(each, RefitLearner))
    return Bid(RefitRoute(), refitted, bid.seconds, NOT_BY_DROP_SETS)


def _serves(route: RepeatedRoute) -> bool:
    """Whether a route has an engine that can be asked for drop sets."""
    return isinstance(route, SERVING)


class DropRoute(RepeatedRoute):
    """A route on folds with drop sets."""

    def __init__(self, route: RepeatedRoute) -> None:
        self.route = route
        self.name = route.name  # type: ignore[misc]
        self._made: tuple[Learner, Loss, Engine] | None = None

    def offer(self, learners: Sequence[Learner], task: Task, plan: FoldPlan) -> Offer | Refusal:
        """That of the route itself."""
        return self.route.offer(learners, task, plan)

    def engine(self, learner: Learner, task: Task, workers: Workers) -> Engine:
        """The route's own engine, with tables of all rows; kept, as a pilot asks for it first."""
        if self._made is None or self._made[0] is not learner or self._made[1] is not task.loss:
            self._made = learner, task.loss, self._make(learner, task, workers)
        return self._made[2]

    def _make(self, learner: Learner, task: Task, workers: Workers) -> Engine:
        if isinstance(self.route, OneStepRoute):
            assert isinstance(learner, Smoother)
            return DropOneStepEngine(task.problem, learner, task.loss)
        engine = self.route.engine(learner, task, workers)
        engine = engine.tables if isinstance(engine, StreamedEngine) else engine
        return DropSetsEngine(task.problem, engine) if isinstance(engine, TrainingSetsEngine) else engine

    def leave_one_out(self, learner: Learner, task: Task) -> FloatArray | Refusal:
        """That of the route itself."""
        return self.route.leave_one_out(learner, task)


Kept: TypeAlias = dict[tuple[int, int], DropRoute]
"""Routes by route and learner."""


class DropOneStepEngine(OneStepEngine):
    """``u_N = A_NN^-1 r_N`` for the rows N that are dropped, of which some are scored."""

    def pieces(self, folds: Folds, group: int, with_pairs: bool, log: FailureLog) -> Iterator[Piece]:
        """Value by value, set by set: drop sets differ in size."""
        assert isinstance(folds, DropFolds)
        outputs, lams = self.outputs[group]
        K, m, Q = folds.n_folds, folds.members.shape[2], len(outputs)
        R = self.loss.n_moments(Q)
        for value in range(self.n_values):
            block = _DropBlock(self, folds, outputs, value, float(lams[value]), self.operator(group, value), log)
            u = np.zeros((1, K, m, 1, Q))
            for each in range(K):
                (own,) = block.residuals(each)
                u[0, each, : len(own), 0] = own
            self.mend_far(group, value, folds, u, log)
            tables = np.full((2, 1, K, K, 1, R), np.nan)
            for j, k in combinations(range(K), 2) if with_pairs else ():
                for fold, other, found in zip((j, k), (k, j), block.residuals(j, k), strict=True):
                    rows = folds.members[0, fold, : len(found)]
                    tables[:, 0, fold, other, 0] = self.moments(found, rows, np.ones(len(rows), dtype=bool), outputs)
            yield Piece(0, np.array([value]), u, *(tables if with_pairs else ()))


class _DropBlock:
    """The systems of all drop sets at one value."""

    def __init__(
        self,
        engine: DropOneStepEngine,
        folds: DropFolds,
        outputs: IntArray,
        value: int,
        lam: float,
        operator: Operator,
        log: FailureLog,
    ) -> None:
        self.engine, self.folds, self.outputs, self.value, self.lam = engine, folds, outputs, value, lam
        self.operator, self.log = operator, log

    def residuals(self, *out: int) -> list[FloatArray]:
        """Residuals (rows, Q) of each fold that is out."""
        rows = np.flatnonzero(self.folds.dropped[list(out)].any(axis=0))
        system = self.operator.diagonal_blocks(rows)
        right = np.hstack([self.operator.r[rows], batched.probe(len(rows))[:, None]])
        solution = batched.solve(system, right)
        self.engine.count()
        if batched.suspects(solution[:, -1], self.operator.trusted_scale) and not self._is_sound(system, rows):
            y = self.engine.y[:, self.outputs]
            return refit_or_log(self.engine.smoother, y, self.lam, self.folds, 0, out, self.value, self.log)
        u = solution[:, :-1] / self.operator.rho[rows, None]
        return [u[np.searchsorted(rows, self._scored(fold))] for fold in out]

    def _scored(self, fold: int) -> IntArray:
        return np.asarray(self.folds.members[0, fold, : self.folds.sizes[0, fold]])

    def _is_sound(self, system: FloatArray, rows: IntArray) -> bool:
        """Whether the smallest eigenvalue is large against the errors; rows of no weight play no part in it."""
        counted = np.flatnonzero(~self.operator.light[rows])
        smallest = self.operator.scale
        if len(counted):
            smallest = float(batched.smallest_eigenvalues(system[np.ix_(counted, counted)]))
        return bool(smallest >= batched.TRUSTED * self.operator.trusted_scale)


class DropSetsEngine(SmootherEngine):
    """An engine that fits every training set from its statistics, asked for sets that lack the parts of drop sets."""

    def __init__(self, problem: Problem, inner: TrainingSetsEngine) -> None:
        super().__init__(problem, inner.fit_rows, inner.loss, inner.n_values, inner.outputs)
        self.inner, self.goes_through_sets = inner, True  # type: ignore[misc]

    def make_chain(self, errors: FloatArray) -> Chain:
        """That of the engine itself."""
        return self.inner.make_chain(errors)

    def remarks(self, first: Folds) -> tuple[Remark, ...]:
        """Those of the engine itself."""
        return self.inner.remarks(first)

    def pieces(self, folds: Folds, group: int, with_pairs: bool, log: FailureLog) -> Iterator[Piece]:
        """All training sets of the one repeat."""
        assert isinstance(folds, DropFolds)
        outputs, _ = self.outputs[group]
        K, V, R = folds.n_folds, self.n_values, self.loss.n_moments(len(outputs))
        self.inner.tick, self.inner.counts_sets = self.tick, self.counts_sets
        sets = self.inner.sets(folds.parts, range(1), log)
        u = np.zeros((1, K, folds.members.shape[2], V, len(outputs)))
        for (fold,), (found,) in self._residuals(folds, sets, [(fold,) for fold in range(K)]):
            u[0, fold, : len(found)] = found
        tables = np.full((2, 1, K, K, V, R), np.nan)
        pairs = list(combinations(range(K), 2)) if with_pairs else []
        for (j, k), both in self._residuals(folds, sets, pairs):
            for fold, other, found in zip((j, k), (k, j), both, strict=True):
                rows = folds.members[0, fold, : len(found)]
                present = np.ones((1, len(rows)), dtype=bool)
                tables[:, 0, fold, other] = self.moments(np.moveaxis(found, 0, 1), rows[None], present, outputs)
        yield Piece(0, np.arange(V), u, *(tables if with_pairs else ()))

    def _residuals(
        self, folds: DropFolds, sets: Sets, outs: Sequence[tuple[int, ...]]
    ) -> Iterator[tuple[tuple[int, ...], list[FloatArray]]]:
        """Residuals (rows, V, Q) of the folds that each training set leaves out; sets of as many parts are a batch."""
        lacking = [folds.parts_out(*out) for out in outs]
        for count in sorted({len(parts) for parts in lacking}):
            which = [at for at, parts in enumerate(lacking) if len(parts) == count]
            done = 0
            for parts, residuals in sets.run(np.stack([lacking[at] for at in which])):
                for place, own in enumerate(parts):
                    out = outs[which[done + place]]
                    yield out, [self._scored(folds, fold, own, residuals[place]) for fold in out]
                done += len(parts)

    def _scored(self, folds: DropFolds, fold: int, parts: IntArray, residuals: FloatArray) -> FloatArray:
        """Of residuals (t, m, V, Q) of all parts that are out, those of the rows that a fold scores."""
        scored = folds.members[0, fold, : folds.sizes[0, fold]]
        found = np.empty((len(scored), *residuals.shape[2:]))
        for part, u in zip(parts, residuals, strict=True):
            rows = folds.parts.members[0, part, : folds.parts.sizes[0, part]]
            if folds.ids[0, rows[0]] == fold:
                found[np.searchsorted(scored, rows)] = u[: len(rows)]
        return found
