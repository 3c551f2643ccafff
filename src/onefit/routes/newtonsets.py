"""Training sets of generalized linear models in batches, from the fit to all rows."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from time import perf_counter

import numpy as np
from scipy import sparse

from ..folds import Folds
from ..learners import GLMLearner, Task, are_decided
from ..linalg import compiled
from ..typing import BoolArray, FloatArray, IntArray
from .engine import FailureLog
from .newtonalone import Chunk, LoneSets
from .newtonbatch import NewtonBatch, NewtonSets, in_predictors
from .newtonfull import FullEngine
from .newtonhessians import Hessians
from .newtonparts import hardly_differ, mapped, projected

__all__ = ["NewtonEngine"]

AT_ONCE = 64
"""Training sets of a repeat that are iterated together."""

FEW_CELLS = 2**18
"""Numbers of a table of rows by cells up to which a product with it is faster than with the rows of each cell."""

MOST_FLOATS = 2**22
"""Numbers of Hessians, and of gradients and coefficients, that are held for the values that are iterated together."""


class NewtonEngine(FullEngine):
    """Iterates all training sets of a repeat at once."""

    layouts: dict[Hashable, tuple[FloatArray, IntArray | None]] = {}  # noqa: RUF012, replaced and never changed

    def __init__(self, task: Task, learner: GLMLearner) -> None:
        super().__init__(task.problem, learner, task.loss)
        self.decides = are_decided(task)

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
        self._indicators: dict[int, FloatArray | sparse.csr_array] = {}

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
        step = self._values_at_once(chunks)
        for start in range(0, V, step):
            values = range(start, min(start + step, V))
            self._residuals_at(chunks, values, [each[:, :, :, values.start : values.stop] for each in found])
        if len(found) == 2:
            self._solved[repeat] = found[1]
        return found[0]

    def _values_at_once(self, chunks: Sequence[Chunk]) -> int:
        """How many values are iterated together."""
        d = self.engine.full[0].hessians.shape[1]
        sets = sum(len(chunk.out) for chunk in chunks)
        pieces = self.folds.n_folds + 1 if self._is_plain(chunks) else sets
        return max(1, MOST_FLOATS // int(pieces * d**2 + 8 * sets * d))

    def _is_plain(self, chunks: Sequence[Chunk]) -> bool:
        """Whether Hessians of training sets are that of all rows less those of one fold or two, as they stand."""
        few = all(chunk.maps is None and chunk.out.shape[1] <= 2 for chunk in chunks)
        return few and self.engine.n_weighed == 1

    def _residuals_at(self, chunks: Sequence[Chunk], values: range, tables: Sequence[FloatArray]) -> None:
        """Fill in the residuals (S, t, m, V, Q) of some training sets at some values."""
        engine, K = self.engine, self.folds.n_folds
        repeat = int(chunks[0].out[0, 0]) // K
        starts = [
            np.concatenate([projected(chunk.maps, self._start(chunk.out, repeat, value)) for chunk in chunks])
            for value in values
        ]
        sums = self._sums(repeat, values)
        start, sets = np.concatenate(starts), self._sets(chunks, repeat, values, sums)
        first = None
        if len(chunks) == 2 or chunks[0].out.shape[1] == 1:
            first = self._first_descent(sets, sums, values)
        solution = NewtonBatch(engine.shared, self._cells(repeat), sets).solve(start, first)
        V, c, at = len(values), start.shape[1], 0
        is_converged = engine.are_right(solution, sets, values)
        if any(
            map(engine.is_weak, values)
        ):  # along a direction that a set does not have, any coefficient has converged
            is_converged = is_converged & sets.hessians.are_definite(sets.penalty)
        found_at = solution.theta
        if not is_converged.all():  # others may be anywhere, and are fitted by themselves
            found_at = np.where(is_converged[:, None, None], found_at, start)
        thetas, begun = (each.reshape(V, -1, *each.shape[1:]) for each in (found_at, start))
        is_converged = is_converged.reshape(V, -1)
        for chunk, found in zip(chunks, tables, strict=True):
            some = slice(at, at + len(chunk.out))
            theta, at = thetas[:, some], some.stop
            gamma = theta if chunk.maps is None else np.matmul(theta, chunk.maps.swapaxes(1, 2))
            self._predict(chunk.out, gamma.reshape(V, len(chunk.out), c, -1), found)
            is_right = self._which_stand(chunk, values, is_converged[:, some], found)
            if chunk.out.shape[1] == 1 and len(chunks) == 1:
                for value, its, good in zip(values, gamma, is_right, strict=True):
                    kept = self._singles.setdefault((repeat, value), self._of_full(value))
                    kept[chunk.out[good, 0] % K] = its[good]
            for place, index in zip(*np.nonzero(~is_right), strict=True):
                found[index, :, :, place] = self.alone(chunk, int(index), values[place], begun[place, some][index])
        engine.n_fits.append(V * at)
        engine.n_steps.append(int(solution.n_steps.sum()))

    def seconds_alone(self, value: int) -> float:
        """What the training set without the first fold takes at a value if it is fitted by itself."""
        chunk = self.chunk(np.zeros((1, 1), dtype=np.intp))
        start = projected(chunk.maps, self._of_full(value)[:1])[0]
        begun = perf_counter()
        self.alone(chunk, 0, value, start)
        return perf_counter() - begun

    def _first_descent(self, sets: NewtonSets, sums: FloatArray, values: range) -> FloatArray | None:
        """Minus the gradient (S, c, p) where the fit to all rows is: known from sums over its folds."""
        if sums.shape[2] == 1:
            return None
        gamma = np.stack([self.engine.full[value].gamma for value in values])  # (V, c, q)
        found = (sets.factors.T @ sums[:, :, 1:]).reshape(len(values), -1, *gamma.shape[1:])
        found -= sets.penalty.reshape(len(values), -1, 1, gamma.shape[2]) * gamma[:, None]
        return found.reshape(-1, *gamma.shape[1:])

    def _sums(self, repeat: int, values: range) -> FloatArray:
        """Sums (V, cells, 1 + c q) over cells of curvatures and, if no columns are learned, of minus the gradients."""
        inside = self._indicator(repeat)
        return np.stack([np.asarray(inside @ self.engine.full[value].by_row) for value in values])

    def _of_full(self, value: int) -> FloatArray:
        """The fit to all rows, once for every fold."""
        return np.repeat(self.engine.full[value].gamma[None], self.folds.n_folds, axis=0)

    def _start(self, out: IntArray, repeat: int, value: int) -> FloatArray:
        """Coefficients (S, c, q) of the design to begin with."""
        gamma = self.engine.full[value].gamma
        if out.shape[1] == 1 or (repeat, value) not in self._singles:
            return np.repeat(gamma[None], len(out), axis=0)
        changes = self._singles[repeat, value] - gamma
        found: FloatArray = gamma + changes[out % self.folds.n_folds].sum(axis=1)
        return found

    def _sets(self, chunks: Sequence[Chunk], repeat: int, values: range, sums: FloatArray) -> NewtonSets:
        """The training sets at some values, with their Hessians, from `_sums`."""
        engine, layout = self.engine, self._layout(chunks)
        factors = layout[0]
        weight = np.concatenate([chunk.weight() for chunk in chunks])
        each = [chunk.maps for chunk in chunks if chunk.maps is not None]
        maps = np.concatenate(each) if each else None
        width = engine.design.shape[1] if maps is None else maps.shape[2]
        penalty = np.concatenate([engine.penalties(value, weight, width) for value in values])
        curvature = np.asarray(sums[:, :, 0] @ factors).ravel()
        if layout[1] is not None:
            return NewtonSets(factors, None, penalty, self._downdated(layout[1], repeat, values, sums), curvature)
        H = np.concatenate([self._hessians(chunk, repeat, value) for value in values for chunk in chunks])
        T = len(weight)
        own = [mapped(H[at : at + T], maps) for at in range(0, len(H), T)]
        before = np.concatenate(
            [engine.before(value, chunk.factors, chunk.maps) for value in values for chunk in chunks]
        )
        return NewtonSets(factors, maps, penalty, Hessians(np.concatenate(own), before=before), curvature)

    def _layout(self, chunks: Sequence[Chunk]) -> tuple[FloatArray, IntArray | None]:
        """Factors (cells, T) of the weights of rows, and the folds (T, 2) that are out, -1 for none, if that is all.

        Where classes are not weighed it is the same in every repeat.
        """
        K = self.folds.n_folds
        if self.engine.n_weighed > 1:
            return np.concatenate([self._factors(chunk) for chunk in chunks], axis=1), None
        own = [chunk.out % K for chunk in chunks]
        key = (K, *((each.shape, each.tobytes()) for each in own))
        found = self.engine.layouts.get(key)
        if found is None:
            factors, folds = np.concatenate([self._factors(chunk) for chunk in chunks], axis=1), None
            if self._is_plain(chunks):
                padded = [np.pad(each, ((0, 0), (0, 2 - each.shape[1])), constant_values=-1) for each in own]
                folds = np.concatenate(padded)
            found = factors, folds
            self.engine.layouts = {key: found}
        return found

    def _factors(self, chunk: Chunk) -> FloatArray:
        """Factors (cells, S) of the weights of rows in a fold and of a class; rows in no fold are in one more."""
        K = self.folds.n_folds
        factors = np.repeat(chunk.factors.T[None], K + 1, axis=0)  # (K + 1, G, S)
        for fold in (chunk.out % K).T:
            factors[fold, :, np.arange(len(fold))] = 0.0
        return factors.reshape(-1, len(chunk.out))

    def _downdated(self, folds: IntArray, repeat: int, values: range, sums: FloatArray) -> Hessians:
        """Hessians as those of all rows less those of the folds (T, 2) that are out."""
        K = self.folds.n_folds
        pieces = [
            each
            for value in values
            for each in (self.engine.full[value].hessians, self._fold_hessians(repeat, value)[:, 0])
        ]
        made = np.empty((len(values), len(folds), 3), dtype=np.int64)
        first = (K + 1) * np.arange(len(values))[:, None, None]
        made[:, :, :1] = first
        made[:, :, 1:] = np.where(folds < 0, -1, first + 1 + folds)
        return Hessians(np.concatenate(pieces), made.reshape(-1, 3), self._bends(pieces[1::2], values, sums))

    def _bends(self, hessians: Sequence[FloatArray], values: range, sums: FloatArray) -> FloatArray | None:
        """How Hessians change when a fold is left out, in the order of the pieces; None if that is not known."""
        if sums.shape[2] == 1:
            return None
        K, found = self.folds.n_folds, list[FloatArray]()
        for value, of_folds, own in zip(values, hessians, sums, strict=True):
            bends = self.engine.bends(value, own[:K, 1:], of_folds)
            if bends is None:
                return None
            found += [np.zeros((1, *bends.shape[1:])), bends]
        return np.concatenate(found)

    def _hessians(self, chunk: Chunk, repeat: int, value: int) -> FloatArray:
        """Hessians (S, c q, c q) of training sets in the columns of the design."""
        folds = self._fold_hessians(repeat, value)
        inside = self.engine.full[value].hessians - folds[chunk.out % self.folds.n_folds].sum(axis=1)
        found: FloatArray = np.einsum("sg,sgij->sij", chunk.factors, inside)
        return found

    def _cells(self, repeat: int) -> IntArray:
        """The fold of each row, and its class if classes are weighed; rows in no fold are in one more."""
        if repeat not in self._cells_of:
            ids, K = self.folds.ids[self.repeats.start + repeat], self.folds.n_folds
            self._cells_of[repeat] = np.where(ids < 0, K, ids) * self.engine.n_weighed + self.engine.weighed
        return self._cells_of[repeat]

    def _indicator(self, repeat: int) -> FloatArray | sparse.csr_array:
        """Which rows a cell has, (cells, n): its products are sums over cells."""
        if repeat not in self._indicators:
            cells = self._cells(repeat)
            shape = ((self.folds.n_folds + 1) * self.engine.n_weighed, len(cells))
            places = np.arange(shape[0])
            if shape[0] * shape[1] <= FEW_CELLS:
                self._indicators[repeat] = (cells == places[:, None]).astype(np.float64)
            else:
                ends = np.searchsorted(np.sort(cells), np.append(places, shape[0]))
                order = np.argsort(cells, kind="stable")
                self._indicators[repeat] = sparse.csr_array((np.ones(len(cells)), order, ends), shape=shape)
        return self._indicators[repeat]

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
        """Residuals (S, t, m, V, Q) of the folds that are out, from coefficients (V, S, c, q)."""
        engine, family = self.engine, self.engine.learner.family
        V, S, c, q = gamma.shape
        columns = in_predictors(family, gamma.reshape(V * S, c, q)).reshape(-1, q, V, S)  # (P, q, V, S)
        if compiled.is_on() and not sparse.issparse(engine.design):
            self._predict_compiled(out, columns, found)
            return
        for fold in np.unique(out):
            which, slot = np.nonzero(out == fold)
            rows = self.members[fold, : self.sizes[fold]]
            some = columns[..., which].reshape(len(columns), q, -1)
            eta = np.stack([np.asarray(engine.design[rows] @ each) for each in some], axis=1)  # (m, P, V sets)
            fitted = family.predicted(eta).reshape(len(rows), -1, V, len(which))
            found[which, slot, : len(rows)] = (engine.y[rows][:, :, None, None] - fitted).transpose(3, 0, 2, 1)

    def _which_stand(self, chunk: Chunk, values: range, is_converged: BoolArray, residuals: FloatArray) -> BoolArray:
        """Which fits (V, S) are those of the training sets; others are made by themselves."""
        engine, out = self.engine, chunk.out
        found: BoolArray = is_converged & chunk.is_sound & chunk.present.all(axis=1)
        if chunk.unseen is not None:
            found &= np.stack([~engine.leaves_free(value, chunk.unseen) for value in values])
        if engine.decides:
            step = max(1, MOST_FLOATS // max(1, residuals[0].size))
            for part in (slice(start, start + step) for start in range(0, len(out), step)):
                found[:, part] &= ~self._are_tied(out[part], residuals[part]).any(axis=(1, 2)).T
        return found

    def _are_tied(self, out: IntArray, found: FloatArray) -> BoolArray:
        """Which rows (S, t, m, V) have two classes at the top that hardly differ: what the iteration left may decide.

        Fitted by themselves training sets have the last bits, and classes that nothing tells apart are equal.
        """
        scores = self.engine.y[np.minimum(self.members[out], self.folds.n - 1)][:, :, :, None] - found
        is_row = np.arange(found.shape[2]) < self.sizes[out][:, :, None]
        return hardly_differ(scores) & is_row[..., None]

    def _predict_compiled(self, out: IntArray, columns: FloatArray, found: FloatArray) -> None:
        """The same by the kernel, from coefficients (P, q, V, S): a fold at once for all training sets that lack it."""
        engine, (P, q, V, _) = self.engine, columns.shape
        order = np.argsort(out, axis=None, kind="stable")
        counts = np.unique(out, return_counts=True)[1]
        width = 1 if (counts != counts[0]).any() else int(counts[0])  # else one by one
        order, t = order.reshape(-1, width), out.shape[1]
        held = out.ravel()[order[:, 0]]
        change = columns.transpose(3, 1, 2, 0)[order // t].transpose(0, 2, 1, 3, 4)  # (folds, q, width, V, P)
        nothing = np.zeros((self.folds.n + 1, width * V * P))
        members, sizes = self.members[held], self.sizes[held]
        eta = compiled.residuals(engine.padded, nothing, change.reshape(len(held), q, -1), members, sizes)
        fitted = engine.learner.family.predicted(eta.reshape(len(held), -1, width, V, P))
        y = engine.y[np.minimum(members, self.folds.n - 1)]
        found[order // t, order % t] = (y[:, :, None, None] - fitted).swapaxes(1, 2)
