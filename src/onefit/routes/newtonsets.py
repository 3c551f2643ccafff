"""Training sets of generalized linear models in batches, from the fit to all rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ..folds import Folds
from ..typing import BoolArray, FloatArray, IntArray
from .engine import FailureLog
from .newtonalone import Chunk, LoneSets
from .newtonbatch import NewtonBatch, NewtonSets, in_predictors
from .newtonfull import FullEngine

__all__ = ["NewtonEngine"]

AT_ONCE = 64
"""Training sets of a repeat that are iterated together."""

FEW_PREDICTIONS = 2**19
"""So many are made for all rows, and those of held-out rows picked."""


class NewtonEngine(FullEngine):
    """Iterates all training sets of a repeat at once."""

    def sets(self, folds: Folds, repeats: range, log: FailureLog) -> _Sets:
        """The training sets of some partitions."""
        return _Sets(self, folds, repeats, log)


class _Sets(LoneSets):
    """The training sets of some partitions."""

    engine: NewtonEngine

    def __init__(self, engine: NewtonEngine, folds: Folds, repeats: range, log: FailureLog) -> None:
        super().__init__(engine, folds, repeats, log)
        self._singles: dict[tuple[int, int], FloatArray] = {}
        self._solved: dict[int, FloatArray] = {}
        self._cells_of: dict[int, IntArray] = {}
        self._order_of: dict[int, tuple[IntArray, IntArray, BoolArray]] = {}

    def floats_each(self, n_out: int) -> int:
        """Numbers that a training set needs."""
        q, n = self.engine.design.shape[1], self.folds.n
        return int(2 * q * q + n + self.engine.n_values * self.engine.y.shape[1] * n_out * self.members.shape[1])

    def run(self, sets: IntArray) -> Iterator[tuple[IntArray, FloatArray]]:
        """Repeat by repeat: which training sets are iterated together must not depend on what else there is."""
        K = self.folds.n_folds
        for repeat in range(len(self.repeats)):
            own = sets[sets[:, 0] // K == repeat]
            for start in range(0, len(own), AT_ONCE):
                out = own[start : start + AT_ONCE]
                yield out, self.residuals(out)
                self.engine.count(sets=len(out))

    def residuals(self, out: IntArray) -> FloatArray:
        """Residuals of the folds that are out."""
        K = self.folds.n_folds
        repeat, is_single = int(out[0, 0]) // K, out.shape[1] == 1
        if repeat in self._solved and not is_single:
            return self._solved.pop(repeat)
        chunks = [self.chunk(out)]
        if is_single and self.with_pairs and K * (K + 1) // 2 <= AT_ONCE:
            chunks.append(self.chunk(repeat * K + np.stack(np.triu_indices(K, 1), axis=1)))
        V, m, Q = self.engine.n_values, self.members.shape[1], self.engine.y.shape[1]
        found = [np.zeros((*chunk.out.shape, m, V, Q)) for chunk in chunks]
        for value in range(V):
            self._residuals_at(chunks, value, [each[:, :, :, value] for each in found])
        if len(found) == 2:
            self._solved[repeat] = found[1]
        return found[0]

    def _residuals_at(self, chunks: Sequence[Chunk], value: int, tables: Sequence[FloatArray]) -> None:
        """Fill in the residuals (S, t, m, Q) of some training sets at one value."""
        repeat = int(chunks[0].out[0, 0]) // self.folds.n_folds
        starts = [self.engine.projected(chunk.maps, self._start(chunk.out, repeat, value)) for chunk in chunks]
        ends = np.cumsum([len(chunk.out) for chunk in chunks])
        space = np.empty((ends[-1], *self.engine.full[value].hessians.shape[1:]))
        rooms = np.split(space, ends[:-1])
        parts = [self._sets(chunk, repeat, value, room) for chunk, room in zip(chunks, rooms, strict=True)]
        batch = NewtonBatch(self.engine.shared, self._cells(repeat), NewtonSets.joined(parts, space))
        start = starts[0] if len(starts) == 1 else np.concatenate(starts)
        first = None
        if len(parts) == 2 or chunks[0].out.shape[1] == 1:
            first = self._first_descent(batch, repeat, value)
        solution, at = batch.solve(start, first), 0
        for chunk, found in zip(chunks, tables, strict=True):
            some = slice(at, at + len(chunk.out))
            theta, at = solution.theta[some], some.stop
            gamma = theta if chunk.maps is None else np.matmul(theta, chunk.maps.swapaxes(1, 2))
            is_right = solution.is_converged[some] & chunk.is_sound & chunk.present.all(axis=1)
            if chunk.out.shape[1] == 1 and len(chunks) == 1:
                kept = self._singles.setdefault((repeat, value), self._of_full(value))
                kept[chunk.out[is_right, 0] % self.folds.n_folds] = gamma[is_right]
            self._predict(chunk.out, gamma, found)
            for index in np.flatnonzero(~is_right):
                found[index] = self.alone(chunk, int(index), value, start[some][index])
        self.engine.n_fits.append(at)
        self.engine.n_steps.append(int(solution.n_steps.sum()))

    def _first_descent(self, batch: NewtonBatch, repeat: int, value: int) -> FloatArray | None:
        """Minus the gradient (S, c, p) where the fit to all rows is: known from sums over its folds."""
        full = self.engine.full[value]
        if full.descents is None:
            return None
        order, starts, is_there = self._by_cells(repeat)
        sums = np.zeros((len(is_there), full.descents.shape[1]))  # (cells, c q)
        sums[is_there] = np.add.reduceat(full.descents[order], starts, axis=0)
        found = (batch.factors.T @ sums).reshape(-1, *full.gamma.shape)
        return np.asarray(found - batch.penalty[:, None] * full.gamma)

    def _of_full(self, value: int) -> FloatArray:
        """The fit to all rows, once for every fold."""
        return np.repeat(self.engine.full[value].gamma[None], self.folds.n_folds, axis=0)

    def _start(self, out: IntArray, repeat: int, value: int) -> FloatArray:
        """Coefficients (S, c, q) of the design to begin with."""
        gamma = self.engine.full[value].gamma
        if out.shape[1] == 1:
            return np.repeat(gamma[None], len(out), axis=0)
        changes = self._singles.get((repeat, value), self._of_full(value)) - gamma
        found: FloatArray = gamma + changes[out % self.folds.n_folds].sum(axis=1)
        return found

    def _sets(self, chunk: Chunk, repeat: int, value: int, room: FloatArray) -> NewtonSets:
        """The training sets with their Hessians, for which there is room."""
        engine, K, full = self.engine, self.folds.n_folds, self.engine.full[value]
        folds, own = self._fold_hessians(repeat, value), chunk.out % K
        if engine.n_weighed == 1:
            H = np.subtract(full.hessians, folds[own[:, 0]], out=room[:, None])[:, 0]
            for fold in own.T[1:]:
                H -= folds[fold, 0]
        else:
            inside = full.hessians - folds[own].sum(axis=1)
            H = np.einsum("sg,sgij->sij", chunk.factors, inside, out=room)
        factors = np.repeat(chunk.factors.T[None], K + 1, axis=0)  # (K + 1, G, S)
        for fold in own.T:
            factors[fold, :, np.arange(len(own))] = 0.0
        curvature = self._curvature(factors, repeat, value)
        return engine.as_sets(value, chunk.weight(), factors.reshape(-1, len(own)), H, chunk.maps, curvature)

    def _curvature(self, factors: FloatArray, repeat: int, value: int) -> FloatArray:
        """Sums (S,) of the curvatures of the rows of training sets that weigh cells by factors (K + 1, G, S)."""
        trace = self.engine.full[value].trace
        sums = np.bincount(self._cells(repeat), trace, minlength=factors.shape[0] * factors.shape[1])
        found: FloatArray = sums @ factors.reshape(len(sums), -1)
        return found

    def _cells(self, repeat: int) -> IntArray:
        """The fold of each row, and its class if classes are weighed; rows in no fold are in one more."""
        if repeat not in self._cells_of:
            ids, K = self.folds.ids[self.repeats.start + repeat], self.folds.n_folds
            self._cells_of[repeat] = np.where(ids < 0, K, ids) * self.engine.n_weighed + self.engine.weighed
        return self._cells_of[repeat]

    def _by_cells(self, repeat: int) -> tuple[IntArray, IntArray, BoolArray]:
        """Rows in the order of their cells, where each cell begins, and which cells have rows; kept for the curve."""
        if repeat not in self._order_of:
            cells = self._cells(repeat)
            counts = np.bincount(cells, minlength=(self.folds.n_folds + 1) * self.engine.n_weighed)
            is_there = counts > 0
            starts = (np.cumsum(counts) - counts)[is_there]
            self._order_of[repeat] = np.argsort(cells, kind="stable"), starts, is_there
        return self._order_of[repeat]

    def _fold_hessians(self, repeat: int, value: int) -> FloatArray:
        """Hessians of the folds of a repeat, (K, G, c q, c q); kept until another is asked for."""
        key, kept = self._kept
        if key != (repeat, value):
            K = self.folds.n_folds
            some = slice(repeat * K, (repeat + 1) * K)
            kept = self.engine.hessians(self.engine.full[value].curvature, self.members[some], self.sizes[some])
            self._kept = (repeat, value), kept
        return kept

    _kept: tuple[tuple[int, int], FloatArray] = ((-1, -1), np.zeros(0))

    def _predict(self, out: IntArray, gamma: FloatArray, found: FloatArray) -> None:
        """Residuals (S, t, m, Q) of the folds that are out, fold by fold, from coefficients (S, c, q)."""
        engine, family = self.engine, self.engine.learner.family
        columns = in_predictors(family, gamma)  # (P, q, S)
        if len(out) * self.folds.n * len(columns) <= FEW_PREDICTIONS:  # all at once, and then those that are asked for
            eta = np.matmul(np.asarray(engine.design), columns)
            rows = np.minimum(self.members[out], self.folds.n - 1)
            fitted = family.predicted(eta[:, rows, np.arange(len(out))[:, None, None]])
            found[:] = np.moveaxis(engine.y.T[:, rows] - fitted, 0, 3)
            return
        for fold in np.unique(out):
            which, slot = np.nonzero(out == fold)
            rows = self.members[fold, : self.sizes[fold]]
            eta = np.stack([np.asarray(engine.design[rows] @ each[:, which]) for each in columns], axis=1)
            found[which, slot, : len(rows)] = np.moveaxis(engine.y[rows, :, None] - family.predicted(eta), 2, 0)
