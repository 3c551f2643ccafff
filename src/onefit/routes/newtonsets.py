"""Training sets of generalized linear models: in batches from the fit to all rows, or one by one from their own."""

from __future__ import annotations

from collections.abc import Iterator
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
from .newtonbatch import NewtonBatch, Rows
from .rowsets import Ends, MaskedStatistics

__all__ = ["NewtonEngine"]

AT_ONCE = 64
"""Training sets of a repeat that are iterated together."""

ABSENT = -1e4
"""Score of a class that a training set lacks: its probability is zero."""

UNDETERMINED = 1e-5
"""Part of a row that lies where the training rows do not reach, from which on its prediction is arbitrary."""

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
    """

    gamma: FloatArray
    curvature: FloatArray
    hessians: FloatArray


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
            curvature = learner.row_weights * family.curvature(family.basis @ (theta @ Z.T), learner.y)
            hessians = self.hessians(curvature, np.arange(learner.n)[None], np.array([learner.n]))[0]
            found[value] = _Full(theta if maps is None else theta @ maps.T, curvature, hessians)
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
        for repeat in np.unique(sets[:, 0] // K):
            own = sets[sets[:, 0] // K == repeat]
            for start in range(0, len(own), AT_ONCE):
                out = own[start : start + AT_ONCE]
                yield out, self.residuals(out)
                self.engine.count(sets=len(out))

    def residuals(self, out: IntArray) -> FloatArray:
        """Residuals of the folds that are out."""
        chunk, V = self._chunk(out), self.engine.n_values
        found = np.zeros((*out.shape, self.members.shape[1], V, self.engine.y.shape[1]))
        for value in range(V):
            self._residuals_at(chunk, value, found[:, :, :, value])
        return found

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

    def _residuals_at(self, chunk: _Chunk, value: int, found: FloatArray) -> None:
        """Fill in the residuals (S, t, m, Q) at one value."""
        engine, out = self.engine, chunk.out
        repeat = int(out[0, 0]) // self.folds.n_folds
        start = self._projected(chunk, self._start(out, repeat, value))
        batch = self._batch(chunk, repeat, value)
        solution = batch.solve(start)
        gamma = solution.theta if chunk.maps is None else np.matmul(solution.theta, chunk.maps.swapaxes(1, 2))
        is_right = solution.is_converged & chunk.is_sound & chunk.present.all(axis=1)
        if out.shape[1] == 1:
            kept = self._singles.setdefault((repeat, value), self._of_full(value))
            kept[out[is_right, 0] % self.folds.n_folds] = gamma[is_right]
        self._predict(out, gamma, found)
        for index in np.flatnonzero(~is_right):
            found[index] = self._alone(chunk, int(index), value, start[index])
        engine.n_fits.append(len(out))

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

    def _batch(self, chunk: _Chunk, repeat: int, value: int) -> NewtonBatch:
        """The training sets with their Hessians."""
        engine, K, full = self.engine, self.folds.n_folds, self.engine.full[value]
        c, q = full.gamma.shape
        at, folds = self.repeats.start + repeat, self._fold_hessians(repeat, value)
        own = chunk.out % K
        inside = full.hessians - folds[own[:, 0]]
        for fold in own.T[1:]:
            inside -= folds[fold]
        H = inside[:, 0] if engine.n_weighed == 1 else np.einsum("sg,sgij->sij", chunk.factors, inside)
        if chunk.maps is not None:
            T = chunk.maps
            blocks = np.ascontiguousarray(H.reshape(-1, c, q, c, q).swapaxes(2, 3))
            blocks = np.matmul(np.matmul(T.swapaxes(1, 2)[:, None, None], blocks), T[:, None, None])
            p = T.shape[2]
            H = np.ascontiguousarray(blocks.swapaxes(2, 3)).reshape(-1, c * p, c * p)
        width = H.shape[1] // c
        penalty = engine.penalties(value, chunk.weight(), width)
        diagonal = np.arange(c * width)
        constant = np.arange(c) * width + width - 1
        curvature = H[:, constant, constant].sum(axis=1) if engine.learner.fit_intercept else None
        H[:, diagonal, diagonal] += np.tile(penalty, (1, c))
        ids = self.folds.ids[at]
        G = engine.n_weighed
        cells = np.where(ids < 0, K, ids) * G + engine.weighed
        factors = np.repeat(chunk.factors.T[None], K + 1, axis=0)  # (K + 1, G, S)
        factors[own.T, :, np.arange(len(own))] = 0.0
        if curvature is None:
            sums = np.bincount(cells, np.einsum("aan->n", full.curvature), minlength=(K + 1) * G)
            curvature = np.einsum("kg,kgs->s", sums.reshape(K + 1, G), factors)
        return NewtonBatch(
            engine.shared, cells, factors.reshape((K + 1) * G, -1), chunk.maps, penalty, H, curvature
        )

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
        columns = np.tensordot(family.basis, gamma, (1, 1)).transpose(2, 0, 1)  # (q, P, S)
        for fold in np.unique(out):
            which, slot = np.nonzero(out == fold)
            rows = self.members[fold, : self.sizes[fold]]
            eta = np.asarray(engine.design[rows] @ columns[:, :, which].reshape(len(columns), -1))
            fitted = family.predicted(eta).reshape(len(rows), -1, len(which))
            found[which, slot, : len(rows)] = np.moveaxis(engine.y[rows, :, None] - fitted, 2, 0)

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
