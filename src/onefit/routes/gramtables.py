"""The gram route with tables of all rows: training statistics of folds j and k are differences of per-fold ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import product

import numpy as np

from ..dropfolds import DropFolds
from ..folds import Folds
from ..learners import Smoother
from ..linalg import batched, compiled
from ..linalg.downdate import Downdate
from ..linalg.reinsch import DenseBasis, Reinsch, ReinschBasis
from ..linalg.sparse import SparseBasis
from ..metrics.losses import Loss
from ..typing import FloatArray, IntArray
from ..validation import Problem
from .engine import TABLE_BYTES, FailureLog, Piece, SetsEngine, per_block, refit_or_log
from .farrows import far_of_values, refit_far

__all__ = ["GramEngine"]


class GramEngine(SetsEngine):
    r"""Downdated Gram matrices.

    Notes
    -----
    In the Demmler-Reinsch basis, with columns scaled so that the hat matrix at lam is ``ZZ'``, the training set
    without the rows J solves ``(I - Z_J'Z_J) d = Z_J'r_J`` for the change d of the coefficients, where r are the
    residuals of the fit on all rows; the held-out residuals are ``u_J = r_J + Z_J d``. The Gram matrices of the
    folds are free of lam up to the scaling, so a path shares everything but the solve (see `Downdate`). The systems
    have the eigenvalues below one of ``A_JJ``, the one-step route's: the two fail together, and `refit_residuals`
    steps in. Weights enter the products over rows, ``Z_J'WZ_J`` and ``Z_J'Wr_J``, and nothing else.
    """

    def __init__(self, problem: Problem, smoother: Smoother, loss: Loss) -> None:
        super().__init__(problem, smoother, loss, smoother.n_values, smoother.outputs(problem.n_outputs))
        self.smoother = smoother
        self.root = None if smoother.weights is None else np.append(np.sqrt(smoother.weights), 0.0)

    @cached_property
    def _bases(self) -> list[list[tuple[IntArray, Reinsch]]]:
        """By outputs: a basis for the penalized values, or some if they are far apart, and one for zero."""
        return [
            [(values, self.smoother.reinsch(list(lams[values]))) for values in self.smoother.spans(lams)]
            for _, lams in self.outputs
        ]

    @property
    def n_passes(self) -> int:
        """One for each basis."""
        return sum(len(self.smoother.spans(lams)) for _, lams in self.outputs)

    def pieces(self, folds: Folds, group: int, with_pairs: bool, log: FailureLog) -> Iterator[Piece]:
        """Blocks of repeats; within a block all values at once."""
        outputs, lams = self.outputs[group]
        K, m = folds.n_folds, folds.members.shape[2]
        for values, reinsch in self._bases[group]:
            d, columns = reinsch.basis.width, len(values) * len(outputs)
            n_systems = K * (K - 1) / 2 if with_pairs else K
            each = columns if compiled.is_on() else max(d, columns)  # the kernel holds one system at a time
            step = per_block(8 * max(n_systems * d * each, K * m * d, K * d * d, K * m * columns))
            for start in range(0, folds.n_repeats, step):
                part = folds.part(start, min(start + step, folds.n_repeats))
                block = _Block(self, part, outputs, values, Downdate(reinsch, lams[values]), reinsch.basis, log)
                u = block.singles()
                yield Piece(start, values, u, *(block.pairs() if with_pairs else ()))

    def refit(
        self, folds: Folds, repeat: int, out: tuple[int, ...], values: tuple[int, ...], log: FailureLog
    ) -> list[FloatArray]:
        """Residuals of the folds that one training set leaves out, from its rows."""
        (_, lams), *_ = self.outputs
        found = [refit_or_log(self.smoother, self.y, lams[v], folds, repeat, out, v, log) for v in values]
        return [np.stack(each, axis=1) for each in zip(*found, strict=True)]

    def weigh(self, values: FloatArray, rows: IntArray) -> FloatArray:
        """Values (..., m, columns) at ``rows`` times the roots of their weights."""
        return values if self.root is None else values * self.root[rows][..., None]


class _Block:
    """A block of repeats, at all values that share a basis."""

    def __init__(
        self,
        engine: GramEngine,
        folds: Folds,
        outputs: IntArray,
        values: IntArray,
        downdate: Downdate,
        basis: ReinschBasis,
        log: FailureLog,
    ) -> None:
        self.engine, self.folds, self.outputs, self.values, self.log = engine, folds, outputs, values, log
        self.downdate, self.basis = downdate, basis
        # what statistics are kept of: a buffer is part of several drop sets, and is looked at once
        self.parts = folds.parts if isinstance(folds, DropFolds) else folds
        self.y = engine.y[:, outputs]
        self.d, self.V, self.Q = basis.width, len(downdate.lams), len(outputs)
        everyone = np.arange(len(self.y))
        projected = basis.transpose_times(engine.weigh(engine.weigh(self.y, everyone), everyone))
        coefficients = np.square(downdate.scales).T[:, :, None] * projected[:, None, :]  # (d, V, Q)
        fitted = basis.times(coefficients.reshape(self.d, self.V * self.Q)).reshape(-1, self.V, self.Q)
        residuals = np.vstack([self.y[:, None] - fitted, np.zeros((1, self.V, self.Q))])
        factors = np.square(downdate.scales)
        self.far = far_of_values(engine.smoother, self.y, downdate.lams, basis, factors, residuals[:-1])
        least = [engine.smoother.least_trusted(self.y, lam) for lam in downdate.lams]
        self.scale = np.maximum(self._error_scale(np.moveaxis(residuals[:-1], 1, 0)), np.array(least) / batched.TRUSTED)
        self.residuals = residuals.reshape(-1, self.V * self.Q)
        # the kernels read the rows where they are
        self.table = basis.padded if isinstance(basis, DenseBasis) and compiled.collects(self.d) else None
        if self.table is not None:
            weights = engine.smoother.weights
            weights = np.ones(len(residuals)) if weights is None else np.append(weights, 0.0)
            self.grams, self.g = compiled.collect(
                self.table, self.residuals, weights, self.parts.members, self.parts.sizes
            )
            return
        L, K, _ = self.parts.members.shape
        self.grams = np.empty((L, K, self.d, self.d))
        self.g = np.empty((L, K, self.d, self.V * self.Q))
        if self.sparse is not None:
            self._collect_sparse(self.sparse, self.residuals[:-1])
            return
        for repeat, fold, rows, Zf in self._gathered(0, K, 0, self.parts):
            assert Zf is not None
            weighted = engine.weigh(Zf, rows)
            transposed = weighted.swapaxes(-1, -2)
            self.grams[repeat, fold] = transposed @ weighted
            self.g[repeat, fold] = transposed @ engine.weigh(self.residuals[rows], rows)

    @cached_property
    def sparse(self) -> SparseBasis | None:
        """The basis, if sparse products are faster than its rows."""
        if not isinstance(self.basis, SparseBasis):
            return None
        is_preferred = self.basis.prefers_products(self.folds.n_folds, self.V * self.Q)
        return self.basis if is_preferred or not self._can_keep else None

    def _collect_sparse(self, basis: SparseBasis, residuals: FloatArray) -> None:
        """Statistics of the folds from sparse products."""
        root, everyone = None if self.engine.root is None else self.engine.root[:-1], np.arange(len(self.y))
        weighted = self.engine.weigh(self.engine.weigh(residuals, everyone), everyone)
        for repeat, ids in enumerate(self.parts.ids):
            self.grams[repeat] = basis.fold_grams(ids, self.parts.n_folds, root)
            self.g[repeat] = basis.fold_products(ids, self.parts.n_folds, weighted)

    def _predicted(self, rows: IntArray, Zf: FloatArray | None, coefficients: FloatArray) -> FloatArray:
        """Changes (F, m, C) of the fits in the rows of some folds."""
        if self.sparse is not None:
            return self.sparse.predict(rows, coefficients)
        assert Zf is not None
        product: FloatArray = Zf @ coefficients
        return product

    @property
    def _can_keep(self) -> bool:
        """Whether the rows of the basis by folds are not too many to be held."""
        return 8 * self.folds.members.size * self.d <= TABLE_BYTES

    @cached_property
    def r(self) -> FloatArray:
        """Residuals of the fit on all rows, by folds."""
        return self.residuals[self.folds.members]

    @cached_property
    def kept(self) -> FloatArray | None:
        """Rows of the basis by folds, if they are made and not too many to be held."""
        return self.basis.take(self.folds.members) if self._can_keep and self.sparse is None else None

    def _error_scale(self, r: FloatArray) -> FloatArray:
        """`batched.error_scale` of residuals r (V, n, Q)."""
        everyone = np.arange(len(self.y))
        y, r = (self.engine.weigh(each, everyone) for each in (self.y, r))
        root = None if self.engine.root is None else self.engine.root[:-1]
        scale = batched.error_scale(y, r, np.ones(r.shape[:2]))
        if root is None and (scale == 1.0).all():  # held out, residuals are larger still
            return scale
        diagonal, step = np.empty(r.shape[:2]), per_block(8 * self.d)
        for rows in (everyone[start : start + step] for start in range(0, len(everyone), step)):
            squares = np.square(self.engine.weigh(self.basis.take(rows), rows))
            diagonal[:, rows] = 1.0 - np.square(self.downdate.scales) @ squares.T
        return batched.error_scale(y, r, diagonal, root)

    def _gathered(
        self, low: int, high: int, columns: int, folds: Folds | None = None
    ) -> Iterator[tuple[IntArray, IntArray, IntArray, FloatArray | None]]:
        """Design rows of folds ``low`` to ``high``, some folds at a time; ``columns`` results a row are to come.

        Those of a sparse design are not made.
        """
        folds = self.folds if folds is None else folds
        kept = self.kept if folds is self.folds and self.sparse is None else None
        L, m = folds.n_repeats, folds.members.shape[2]
        each = 8 * m * (self.d + columns * self.V * self.Q)
        repeats, n_folds = per_block(each * (high - low)), min(per_block(each), high - low)
        for start, first in product(range(0, L, repeats), range(low, high, n_folds)):
            part = slice(start, min(start + repeats, L)), slice(first, min(first + n_folds, high))
            rows = folds.members[part].reshape(-1, m)
            Zf = None
            if self.sparse is None:
                Zf = self.basis.take(rows) if kept is None else kept[part].reshape(len(rows), m, self.d)
            repeat, fold = (index.ravel() for index in np.mgrid[part])
            yield repeat, fold, rows, Zf

    def _solve(self, sets: IntArray) -> tuple[FloatArray, dict[tuple[int, int, int], list[FloatArray]]]:
        """Changes of the coefficients (L, S, d, V * Q), and refitted residuals where they cannot be trusted.

        ``sets`` (S, 2) are the folds that each system leaves out; the second is -1 if it is one only.
        """
        if isinstance(self.folds, DropFolds):
            return self._solve_drops(self.folds, sets)
        L, K = self.grams.shape[:2]
        change, squares = self.downdate.solve(self.grams, self.g.reshape(L, K, self.d, self.V, self.Q), sets)
        self.engine.count(sets=L * len(sets))
        doubtful = self.downdate.untrusted(self.grams, squares, self.scale, sets)
        return self._with_refits(change, doubtful)

    def _solve_drops(
        self, folds: DropFolds, sets: IntArray
    ) -> tuple[FloatArray, dict[tuple[int, int, int], list[FloatArray]]]:
        """The same where folds have drop sets: statistics of all parts of the two, each counted once."""
        A, S = self.parts.n_folds, len(sets)
        change = np.empty((1, S, self.d, self.V, self.Q))
        doubtful: list[tuple[int, int, int, tuple[int, ...]]] = []
        step = per_block(8 * self.d * (self.d + self.V * self.Q))
        for start in range(0, S, step):
            outs = [tuple(int(fold) for fold in out if fold >= 0) for out in sets[start : start + step]]
            lacking = np.stack([folds.parts_dropped[list(out)].any(axis=0) for out in outs]).astype(np.float64)
            grams = (lacking @ self.grams.reshape(A, -1)).reshape(1, len(outs), self.d, self.d)
            right = (lacking @ self.g.reshape(A, -1)).reshape(1, len(outs), self.d, self.V, self.Q)
            each = np.stack([np.arange(len(outs)), np.full(len(outs), -1)], axis=1)
            change[:, start : start + len(outs)], squares = self.downdate.solve(grams, right, each)
            for repeat, index, value, _ in self.downdate.untrusted(grams, squares, self.scale, each):
                doubtful.append((repeat, start + index, value, outs[index]))
            self.engine.count(sets=len(outs))
        return self._with_refits(change, doubtful)

    def _with_refits(
        self, change: FloatArray, doubtful: Iterable[tuple[int, int, int, tuple[int, ...]]]
    ) -> tuple[FloatArray, dict[tuple[int, int, int], list[FloatArray]]]:
        """Changes as a table, and refits of what cannot be trusted."""
        (L, S), refitted = change.shape[:2], {}
        for repeat, index, value, out in doubtful:
            lam, at = self.downdate.lams[value], int(self.values[value])
            refitted[repeat, index, value] = refit_or_log(
                self.engine.smoother, self.y, lam, self.folds, repeat, out, at, self.log
            )
            change[repeat, index, :, value] = 0.0
        return change.reshape(L, S, self.d, self.V * self.Q), refitted

    def singles(self) -> FloatArray:
        """Residuals of each fold with it out, (L, K, m, V, Q)."""
        L, K, m = self.folds.members.shape
        members, sizes = self.folds.members, self.folds.sizes
        u = self.r.copy() if self.table is None else np.empty((L, K, m, self.V * self.Q))
        step = per_block(8 * L * self.d * max(self.d, self.V * self.Q))
        for low in range(0, K, step):
            high = min(low + step, K)
            change, refitted = self._solve(np.array([(j, -1) for j in range(low, high)]))
            if self.table is not None:
                part = members[:, low:high], sizes[:, low:high]
                u[:, low:high] = compiled.residuals(self.table, self.residuals, change, *part)
            else:
                for repeat, fold, rows, Zf in self._gathered(low, high, 1):
                    u[repeat, fold] += self._predicted(rows, Zf, change[repeat, fold - low])
            by_value = u.reshape(L, K, m, self.V, self.Q)
            for (at, index, value), (residuals,) in refitted.items():
                by_value[at, low + index, : len(residuals), value] = residuals
        u = u.reshape(L, K, m, self.V, self.Q)
        refit_far(self.engine.smoother, self.y, self.downdate.lams, self.folds, self.far, self.values, u, self.log)
        return u

    def pairs(self) -> tuple[FloatArray, FloatArray]:
        """Mean and scatter of the losses of fold j with j and k out, (L, K, K, V, R); the diagonal is left empty.

        Pairs are taken in square tiles of folds, so that each system is solved once and the predictions of a
        fold for all its partners in the tile are one matrix product.
        """
        L, K = self.folds.n_repeats, self.folds.n_folds
        mean, scatter = np.full((2, L, K, K, self.V, self.engine.loss.n_moments(self.Q)), np.nan)
        each = self.V * self.Q if compiled.is_on() else max(self.d, self.V * self.Q)
        # by the size of one repeat: products are rounded by the width of a tile; several repeats at once fit as a whole
        side = max(1, int(np.sqrt(per_block(8 * self.d * each))))
        if side * np.sqrt(2) >= K:
            side = K  # a diagonal tile holds half as many pairs
        starts = range(0, K, side)
        for low_j in starts:
            for low_k in (k for k in starts if k >= low_j):
                self._tile(low_j, min(low_j + side, K), low_k, min(low_k + side, K), mean, scatter)
        return mean, scatter

    def _tile(self, low_j: int, high_j: int, low_k: int, high_k: int, mean: FloatArray, scatter: FloatArray) -> None:
        L, d, columns = self.folds.n_repeats, self.d, self.V * self.Q
        above = np.arange(low_j, high_j)[:, None] < np.arange(low_k, high_k)
        sets = np.argwhere(above) + np.array([low_j, low_k])
        if not len(sets):
            return
        change, refitted = self._solve(sets)
        members, sizes, shape = self.folds.members, self.folds.sizes, (*mean.shape[:3], -1)
        tables = (mean.reshape(shape), scatter.reshape(shape))  # views
        if self.engine.is_compiled and self.table is not None:
            weights = self.engine.loss_weights(np.arange(len(self.table)))
            compiled.predict(self.table, self.residuals, change, weights, sizes, sets, tables, members)
        elif self.engine.is_compiled and d > 0 and self.kept is not None:
            compiled.predict(self.kept, self.r, change, self.engine.loss_weights(members), sizes, sets, tables)
        else:
            jj, kk = sets.T
            by_pair = change.transpose(1, 0, 2, 3)
            table = np.zeros((L, high_j - low_j, d, high_k - low_k, columns))
            table[:, jj - low_j, :, kk - low_k] = by_pair
            if low_j == low_k:
                table[:, kk - low_j, :, jj - low_k] = by_pair
            else:
                self._evaluate(low_k, low_j, np.ascontiguousarray(table.transpose(0, 3, 2, 1, 4)), mean, scatter)
            self._evaluate(low_j, low_k, table, mean, scatter)
        # afterwards and one by one: a pair that is refitted must not change the way that others are computed
        for (repeat, index, value), residuals in refitted.items():
            j, k = sets[index]
            for fold, other, u in ((j, k, residuals[0]), (k, j, residuals[1])):
                rows = self.folds.members[repeat, fold, : len(u)]
                found = self.engine.moments(u, rows, np.ones(len(u), dtype=bool), self.outputs)
                mean[repeat, fold, other, value], scatter[repeat, fold, other, value] = found

    def _evaluate(self, low: int, low_other: int, table: FloatArray, mean: FloatArray, scatter: FloatArray) -> None:
        """Losses of folds ``low, ...`` with each of the folds ``low_other, ...`` out as well."""
        _, n_folds, d, n_others, columns = table.shape
        m = self.r.shape[2]
        others = np.arange(low_other, low_other + n_others)
        for repeat, fold, rows, Zf in self._gathered(low, low + n_folds, n_others):
            u = self._predicted(rows, Zf, table[repeat, fold - low].reshape(len(fold), d, n_others * columns))
            u = u.reshape(len(fold), m, n_others, columns)
            r = self.r[repeat, fold]
            if self.engine.is_compiled:
                results = self.engine.compiled_moments(u, r, rows, self.folds.sizes[repeat, fold])
                for target, result in zip((mean, scatter), results, strict=True):
                    target[repeat[:, None], fold[:, None], others] = result.reshape(*result.shape[:2], self.V, self.Q)
                continue
            u += r[:, :, None]
            u = u.reshape(len(fold), m, n_others, self.V, self.Q)
            present = self.folds.present[repeat, fold][:, None, None]
            results = self.engine.moments(np.moveaxis(u, 1, 3), rows[:, None, None], present, self.outputs)
            for target, result in zip((mean, scatter), results, strict=True):
                target[repeat[:, None], fold[:, None], others] = result
