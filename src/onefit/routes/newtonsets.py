"""Training sets of generalized linear models: in batches from the fit to all rows, or one by one from their own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from ..errors import TrainingSetError
from ..folds import Folds
from ..learners import Encoding, Features, GLMLearner, NoFiniteFit, SetFailure, fit_newton
from ..linalg import compiled
from ..linalg.columns import middle
from ..metrics.losses import Loss
from ..typing import BoolArray, FloatArray, IntArray
from ..validation import Problem
from .encoded import FeaturesEngine, LearningSets, Products
from .engine import FailureLog
from .newtonbatch import NewtonBatch, NewtonSets, Rows, in_predictors
from .rowsets import Ends, MaskedStatistics

__all__ = ["NewtonEngine"]

AT_ONCE = 64
"""Training sets of a repeat that are iterated together."""

ABSENT = -1e4
"""Score of a class that a training set lacks: its probability is zero."""

UNDETERMINED = 1e-5
"""Part of a row that lies where the training rows do not reach, from which on its prediction is arbitrary."""

FEW_PREDICTIONS = 2**17
"""So many are made for all rows, and those of held-out rows picked."""

NO_FIT = "the likelihood has no maximum: columns tell {what} apart without error, and coefficients go to infinity"
REMEDY = 'Give the model a penalty; or take what the solver stops at, by route="refit".'


@dataclass(frozen=True)
class _Full:
    """The fit to all rows at a value.

    Attributes
    ----------
    gamma : (c, q), coefficients of the design
    curvature : (c, c, n), weighted second derivatives of the rows' losses
    hessians : (G, c q, c q), their sums over the rows of each group of classes that has weights of its own
    descents : (n, c q), minus the gradients of the weighted losses of the rows; None if columns are learned
    """

    gamma: FloatArray
    curvature: FloatArray
    hessians: FloatArray
    descents: FloatArray | None


class NewtonEngine(FeaturesEngine):
    r"""Iterates all training sets of a repeat at once.

    Notes
    -----
    The Hessian of a training set at the curvatures of the fit to all rows is that of all rows less those of the folds
    that are out. It only directs the steps: gradients are sums over the rows themselves, so that nothing is lost by
    differences. Pairs of folds start at ``gamma_j + gamma_k - gamma``.
    """

    def __init__(self, problem: Problem, learner: GLMLearner, loss: Loss) -> None:
        super().__init__(problem, learner, loss, learner.n_values)
        self.learner = learner
        self.y = problem.y
        self.by_newton: list[int] = []  # values of training sets that were fitted by themselves; appending is atomic
        self.n_fits: list[int] = []
        B = self.rows[: problem.n]
        if not learner.has_steps and not learner.fit_intercept:
            B = B[:, :-1] + learner.fixed.centres
        self.design: FloatArray | sparse.csr_matrix = B if sparse.issparse(B) else np.ascontiguousarray(B)
        weights = learner.row_weights
        self.shared = Rows(self.design, learner.y, None if (weights == 1).all() else weights, learner.family)
        self.classes = learner.classes_of_rows
        self.full = self._fit_all()

    @cached_property
    def weighed(self) -> IntArray:
        """Number of each row's class if these have weights that change with the training set, else zero."""
        return self.classes if self.learner.is_balanced else np.zeros(len(self.classes), dtype=np.intp)

    @property
    def n_weighed(self) -> int:
        """How many such numbers there are."""
        return self.learner.n_weighed

    def factors(self, sums: FloatArray, present: BoolArray) -> FloatArray:
        """Factors (S, G) of the weights of classes in training sets with these sums of weights, and classes."""
        if not self.learner.is_balanced:
            return np.ones((len(sums), 1))
        shares = sums.sum(axis=1, keepdims=True) / np.where(sums > 0, sums, np.inf)
        return shares / present.sum(axis=1, keepdims=True)

    def penalties(self, value: int, weight: FloatArray, width: int) -> FloatArray:
        """Of the columns, (S, p), in training sets with these sums of weights."""
        found = np.empty((len(weight), width))
        found[:] = np.reshape(self.learner.penalty(value, weight), (-1, 1))
        if self.learner.fit_intercept:
            found[:, -1] = 0.0
        return found

    def maps_of(self, features: Features) -> FloatArray:
        """Columns of fits (S, q, p) from those of the design; an intercept is the last and absorbs all shifts."""
        coef = features.coef
        if self.learner.fit_intercept:
            coef = coef * features.varies[:, features.pattern.output]
        T = features.pattern.matrices(coef, self.fixed.n_columns)
        S, q, p = T.shape
        has_constant = int(self.learner.fit_intercept)
        maps = np.zeros((S, q + 1, p + has_constant))
        maps[:, :q, :p] = T
        if has_constant:
            maps[:, q, p] = 1.0
        else:
            maps[:, q] = features.shift
        return maps

    def _fit_all(self) -> list[_Full]:
        """Fits to all rows, along the path of penalties."""
        learner, family = self.learner, self.learner.family
        maps = self._maps_of_all() if learner.has_steps else None
        Z = self.design if maps is None else self.design @ maps
        Z = np.asarray(Z.toarray() if sparse.issparse(Z) else Z)
        sums = np.bincount(self.weighed, learner.row_weights, minlength=self.n_weighed)[None]
        weights = learner.row_weights * self.factors(sums, sums > 0)[0, self.weighed]
        found: dict[int, _Full] = {}
        theta = None
        for value in map(int, np.argsort(-learner.lams, kind="stable")):  # the stiffest first
            penalty = self.penalties(value, np.array([weights.sum()]), Z.shape[1])[0]
            if theta is None and learner.fit_intercept:
                theta = np.zeros((family.basis.shape[1], Z.shape[1]))
                theta[:, -1] = family.start(learner.y, weights)
            try:
                theta = fit_newton(Z, learner.y, weights, penalty, family, theta).theta
            except NoFiniteFit:
                error = TrainingSetError(f"In the fit to all rows {self._no_fit()}.")
                error.remedy = REMEDY
                raise error from None
            eta = family.basis @ (theta @ Z.T)
            curvature = learner.row_weights * family.curvature(eta, learner.y)
            hessians = self.hessians(curvature, np.arange(learner.n)[None], np.array([learner.n]))[0]
            descents = None
            if maps is None:
                residual = family.basis.T @ (learner.row_weights * family.residual(eta, learner.y))
                descents = (residual.T[:, :, None] * Z[:, None]).reshape(learner.n, -1)
            found[value] = _Full(theta if maps is None else theta @ maps.T, curvature, hessians, descents)
        return [found[value] for value in range(learner.n_values)]

    def _no_fit(self) -> str:
        return NO_FIT.format(what="classes" if self.learner.has_classes else "rows")

    def _maps_of_all(self) -> FloatArray:
        """Columns of the fit to all rows from those of the design, (q, p)."""
        n = self.learner.n
        everything = np.ones((1, n), dtype=bool)
        moments, _, _ = Products(self.plain.gram[None].copy(), self.plain.right[None].copy()).about_means()
        statistics = MaskedStatistics(
            Ends(self.fixed), self.rows[:n, :-1], everything, np.zeros_like(everything), moments
        )
        try:
            return self.maps_of(self.learner.encoding.block.learn(statistics))[0]
        except SetFailure as failure:
            raise TrainingSetError(f"The steps fail on all rows: {failure}.") from None

    def hessians(self, curvature: FloatArray, members: IntArray, sizes: IntArray) -> FloatArray:
        """Hessians (F, G, c q, c q) of some sets of rows (F, m), of which the first ``sizes`` are there."""
        c, q = len(curvature), self.design.shape[1]
        found = np.empty((len(sizes), self.n_weighed, c, q, c, q))
        for group in range(self.n_weighed):
            own = curvature if self.n_weighed == 1 else np.where(self.weighed == group, curvature, 0.0)
            for a in range(c):
                for b in range(a, c):
                    block = self._grams(own[a, b], members, sizes)
                    found[:, group, a, :, b] = block
                    found[:, group, b, :, a] = block  # symmetric in itself
        return found.reshape(len(sizes), self.n_weighed, c * q, c * q)

    def _grams(self, weights: FloatArray, members: IntArray, sizes: IntArray) -> FloatArray:
        """Weighted products of the columns (F, q, q)."""
        B = self.design
        if not sparse.issparse(B) and compiled.collects(B.shape[1]):
            return compiled.collect(self._padded, self._nothing, np.append(weights, 0.0), members, sizes)[0]
        each = []
        for some, size in zip(members, sizes, strict=True):
            part, own = B[some[:size]], weights[some[:size]]
            gram = part.T @ (part.multiply(own[:, None]) if sparse.issparse(part) else own[:, None] * part)
            each.append(gram.toarray() if sparse.issparse(gram) else gram)
        return np.stack(each)

    @cached_property
    def _padded(self) -> FloatArray:
        """The design with a row of zeros, which folds are padded with."""
        return np.vstack([self.design, np.zeros(self.design.shape[1])])

    @cached_property
    def _nothing(self) -> FloatArray:
        return np.zeros((len(self._padded), 1))

    def sets(self, folds: Folds, repeats: range, log: FailureLog) -> _Sets:
        """The training sets of some partitions."""
        return _Sets(self, folds, repeats, log)


@dataclass(frozen=True)
class _Chunk:
    """Some training sets of a repeat.

    Attributes
    ----------
    out : (S, t), folds that they leave out
    sums : (S, C), sums of weights of the classes
    present : (S, C), whether they have a class
    factors : (S, G), factors of the weights of classes
    maps : (S, q, p) or None, columns of the fits from those of the design
    is_sound : (S,), whether the maps have all digits
    """

    out: IntArray
    sums: FloatArray
    present: BoolArray
    factors: FloatArray
    maps: FloatArray | None
    is_sound: BoolArray

    def weight(self) -> FloatArray:
        """Sums of weights, (S,)."""
        return np.asarray((self.factors * self.sums).sum(axis=1))


class _Sets(LearningSets):
    """The training sets of some partitions."""

    engine: NewtonEngine

    def __init__(self, engine: NewtonEngine, folds: Folds, repeats: range, log: FailureLog) -> None:
        super().__init__(engine, folds, repeats, log)
        self._singles: dict[tuple[int, int], FloatArray] = {}
        self._solved: dict[int, FloatArray] = {}

    @property
    def encoding(self) -> Encoding:
        """What the steps make of the columns."""
        return self.engine.learner.encoding

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
        chunks = [self._chunk(out)]
        if is_single and self.with_pairs and K * (K + 1) // 2 <= AT_ONCE:
            chunks.append(self._chunk(repeat * K + np.stack(np.triu_indices(K, 1), axis=1)))
        V, m, Q = self.engine.n_values, self.members.shape[1], self.engine.y.shape[1]
        found = [np.zeros((*chunk.out.shape, m, V, Q)) for chunk in chunks]
        for value in range(V):
            self._residuals_at(chunks, value, [each[:, :, :, value] for each in found])
        if len(found) == 2:
            self._solved[repeat] = found[1]
        return found[0]

    def _chunk(self, out: IntArray) -> _Chunk:
        """What does not depend on the value."""
        engine = self.engine
        counts, sums = (total - by_fold[out].sum(axis=1) for total, by_fold in self._class_sums)
        maps, is_sound = None, np.ones(len(out), dtype=bool)
        if engine.learner.has_steps:
            sets, is_sound = self.learn(out)
            maps = engine.maps_of(sets.features)
        sums = sums if engine.learner.is_balanced else sums.sum(axis=1, keepdims=True)
        return _Chunk(out, sums, counts > 0, engine.factors(sums, counts > 0), maps, is_sound)

    @cached_property
    def _class_sums(self) -> list[tuple[FloatArray, FloatArray]]:
        """Rows of each class, in all and by folds (F, C), and their weights."""
        engine, C = self.engine, self.engine.learner.n_classes
        found = []
        for weights in (np.ones(self.folds.n), engine.learner.row_weights):
            padded, classes = np.append(weights, 0.0), np.append(engine.classes, 0)
            places = (np.arange(len(self.members))[:, None] * C + classes[self.members]).ravel()
            by_fold = np.bincount(places, padded[self.members].ravel(), minlength=C * len(self.members))
            found.append((np.bincount(engine.classes, weights, minlength=C), by_fold.reshape(-1, C)))
        return found

    def _residuals_at(self, chunks: Sequence[_Chunk], value: int, tables: Sequence[FloatArray]) -> None:
        """Fill in the residuals (S, t, m, Q) of some training sets at one value."""
        repeat = int(chunks[0].out[0, 0]) // self.folds.n_folds
        starts = [self._projected(chunk, self._start(chunk.out, repeat, value)) for chunk in chunks]
        parts = [self._batch(chunk, repeat, value) for chunk in chunks]
        batch = NewtonBatch.joined(self.engine.shared, self._cells(repeat), parts)
        start = starts[0] if len(starts) == 1 else np.concatenate(starts)
        first = None
        if len(parts) == 2 or chunks[0].out.shape[1] == 1:
            first = self._first_descent(chunks, batch, repeat, value)
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
                found[index] = self._alone(chunk, int(index), value, start[some][index])
        self.engine.n_fits.append(at)

    def _first_descent(
        self, chunks: Sequence[_Chunk], batch: NewtonBatch, repeat: int, value: int
    ) -> FloatArray | None:
        """Minus the gradient (S, c, p) where the fit to all rows is: known from sums over its folds."""
        full, K, G = self.engine.full[value], self.folds.n_folds, self.engine.n_weighed
        if full.descents is None:
            return None
        ids = self.folds.ids[self.repeats.start + repeat]
        cells = self._cells(repeat)
        shape = (len(cells), (K + 1) * G)
        indicators = sparse.csr_matrix((np.ones(len(ids)), (np.arange(len(ids)), cells)), shape=shape)
        sums = np.asarray(indicators.T @ full.descents)  # (cells, c q)
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
        singles = self._singles.get((repeat, value), self._of_full(value))
        first, second = (out % self.folds.n_folds).T
        found: FloatArray = singles[first] + singles[second] - gamma
        return found

    def _projected(self, chunk: _Chunk, gamma: FloatArray) -> FloatArray:
        """Coefficients (S, c, p) of the columns of the fits that come nearest to those of the design."""
        if chunk.maps is None:
            return gamma
        size = np.linalg.norm(chunk.maps, axis=1, keepdims=True)
        unit = chunk.maps / np.where(size > 0, size, 1.0)
        products = np.matmul(unit.swapaxes(1, 2), unit)
        at = np.arange(products.shape[1])
        products[:, at, at] += np.where(size[:, 0] > 0, 1e-10, 1.0)
        right = np.matmul(gamma, unit).swapaxes(1, 2)
        found: FloatArray = np.linalg.solve(products, right).swapaxes(1, 2)
        return found / np.where(size > 0, size, 1.0)

    def _batch(self, chunk: _Chunk, repeat: int, value: int) -> NewtonSets:
        """The training sets with their Hessians."""
        engine, K, full = self.engine, self.folds.n_folds, self.engine.full[value]
        c, q = full.gamma.shape
        folds, own = self._fold_hessians(repeat, value), chunk.out % K
        inside = full.hessians - folds[own[:, 0]]
        for fold in own.T[1:]:
            inside -= folds[fold]
        H = inside[:, 0] if engine.n_weighed == 1 else np.einsum("sg,sgij->sij", chunk.factors, inside)
        if chunk.maps is not None:
            T = chunk.maps
            blocks = np.ascontiguousarray(H.reshape(-1, c, q, c, q).swapaxes(2, 3))
            blocks = np.matmul(np.matmul(T.swapaxes(1, 2)[:, None, None], blocks), T[:, None, None])
            q = T.shape[2]
            H = np.ascontiguousarray(blocks.swapaxes(2, 3)).reshape(-1, c * q, c * q)
        penalty = engine.penalties(value, chunk.weight(), q)
        diagonal = np.arange(c * q)
        H[:, diagonal, diagonal] += penalty if c == 1 else np.tile(penalty, (1, c))
        factors = np.repeat(chunk.factors.T[None], K + 1, axis=0)  # (K + 1, G, S)
        for fold in own.T:
            factors[fold, :, np.arange(len(own))] = 0.0
        return NewtonSets(factors.reshape(-1, len(own)), chunk.maps, penalty, H, self._curvature(factors, repeat, value))

    def _curvature(self, factors: FloatArray, repeat: int, value: int) -> FloatArray:
        """Sums (S,) of the curvatures of the rows of training sets that weigh cells by factors (K + 1, G, S)."""
        trace = np.einsum("aan->n", self.engine.full[value].curvature)
        sums = np.bincount(self._cells(repeat), trace, minlength=factors.shape[0] * factors.shape[1])
        found: FloatArray = sums @ factors.reshape(len(sums), -1)
        return found

    def _cells(self, repeat: int) -> IntArray:
        """The fold of each row, and its class if classes are weighed; rows in no fold are in one more."""
        ids = self.folds.ids[self.repeats.start + repeat]
        cells: IntArray = np.where(ids < 0, self.folds.n_folds, ids) * self.engine.n_weighed + self.engine.weighed
        return cells

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

    def from_rows(self, out: IntArray) -> FloatArray:
        """Residuals (t, m, V, Q) of the folds that one training set leaves out, by Newton's method from its rows."""
        chunk = self._chunk(out[None])
        each = [self._alone(chunk, 0, value, None) for value in range(self.engine.n_values)]
        return np.stack(each, axis=2)

    def _alone(self, chunk: _Chunk, index: int, value: int, start: FloatArray | None) -> FloatArray:
        """Residuals (t, m, Q) of one training set at one value, by Newton's method from its rows."""
        engine, learner, out = self.engine, self.engine.learner, chunk.out[index]
        engine.by_newton.append(value)
        train, tests = self.train_and_tests(out)
        found = np.zeros((len(out), self.members.shape[1], engine.y.shape[1]))
        present = np.flatnonzero(chunk.present[index])
        try:
            if learner.has_classes and len(present) < 2:
                raise self.failure(
                    out,
                    "This solver needs samples of at least 2 classes in the data, but the data contains only one "
                    "class. Use folds that hold all classes, or leave the rarest class out.",
                )
            Z, held_out = self._columns(chunk, index, train, tests)
            scores = self._scores(chunk, index, value, train, Z, held_out, present, start)
        except TrainingSetError as error:
            error.lam = float(learner.lams[value])
            repeat, folds = self.place(out)
            self.log.add(error, self.folds.first + repeat, folds, value)
            return found
        for at, (rows, part) in enumerate(zip(tests, np.split(scores, np.cumsum([len(t) for t in tests])[:-1]))):
            found[at, : len(rows)] = engine.y[rows] - part
        return found

    def _columns(
        self, chunk: _Chunk, index: int, train: IntArray, tests: list[IntArray]
    ) -> tuple[FloatArray, FloatArray]:
        """Columns of a training set, and the same of the rows that it predicts."""
        engine, learner = self.engine, self.engine.learner
        if chunk.is_sound[index]:
            parts = [engine.design[rows] for rows in (train, np.concatenate(tests))]
            if chunk.maps is not None:
                parts = [part @ chunk.maps[index] for part in parts]
            first, second = (np.asarray(part.toarray() if sparse.issparse(part) else part) for part in parts)
            return first, second
        try:
            Z, *others = learner.encoding.of_rows(train, tests)
        except Exception as error:
            raise self.failure(chunk.out[index], f"{type(error).__name__}: {error}") from error
        held_out = np.vstack(others)
        if not learner.fit_intercept:
            return Z, held_out
        centre = middle(Z)
        varies = Z.min(axis=0) < Z.max(axis=0)
        both = (np.where(varies, each - centre, 0.0) for each in (Z, held_out))
        first, second = (np.hstack([each, np.ones((len(each), 1))]) for each in both)
        return first, second

    def _scores(
        self,
        chunk: _Chunk,
        index: int,
        value: int,
        train: IntArray,
        Z: FloatArray,
        held_out: FloatArray,
        present: IntArray,
        start: FloatArray | None,
    ) -> FloatArray:
        """Predictions (m, Q) for the rows that are held out."""
        engine, learner = self.engine, self.engine.learner
        family, y = learner.family_of(present), learner.y[:, train]
        if learner.has_classes and len(present) < learner.n_classes:
            start = None
            y = np.sign(engine.classes[train] - present[1] + 0.5)[None] if len(present) == 2 else y[present]
        weights = learner.row_weights[train] * chunk.factors[index, engine.weighed[train]]
        penalty = engine.penalties(value, np.array([weights.sum()]), Z.shape[1])[0]
        if start is None or start.shape[1] != Z.shape[1] or not np.isfinite(start).all():
            start = np.zeros((family.basis.shape[1], Z.shape[1]))
            if learner.fit_intercept:
                start[:, -1] = family.start(y, weights)
        try:
            fit = fit_newton(Z, y, weights, penalty, family, start)
        except NoFiniteFit:
            error = self.failure(chunk.out[index], f"in the training set of {len(train)} rows {engine._no_fit()}.")
            error.remedy = REMEDY
            raise error from None
        self._check_determined(fit.free, Z, held_out, chunk.out[index])
        eta = family.predicted((family.basis @ fit.theta) @ held_out.T).T
        if len(present) == learner.n_classes or not learner.has_classes:
            return np.asarray(eta)
        scores = np.full((len(eta), learner.n_classes), ABSENT)
        scores[:, present] = eta if len(present) > 2 else eta * np.array([-0.5, 0.5])
        return scores

    def _check_determined(self, free: FloatArray, Z: FloatArray, held_out: FloatArray, out: IntArray) -> None:
        """Refuse predictions that depend on what the training set does not determine."""
        if not free.shape[1]:
            return
        directions = free.reshape(-1, Z.shape[1], free.shape[1])
        size = np.linalg.norm(directions, axis=1, keepdims=True)
        directions = directions / np.where(size > 0, size, 1.0)
        reach = max(float(np.abs(held_out @ each).max(initial=0.0)) for each in directions)
        if reach > UNDETERMINED * float(np.linalg.norm(held_out, axis=1).max(initial=0.0)):
            error = self.failure(out, "the training set does not determine the coefficients of a model without penalty.")
            error.held_out = np.concatenate(self.train_and_tests(out)[1]).tolist()
            raise error
