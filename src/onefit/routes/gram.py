"""The gram route: training statistics without folds j and k are differences of per-fold statistics."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np

from ..folds import Folds
from ..learners import Learner, Refusal, Smoother, Task
from ..linalg import batched, compiled
from ..linalg.downdate import LARGE_COMPILED, MANY, MANY_COMPILED, Downdate
from ..linalg.reinsch import Reinsch, ReinschBasis
from ..metrics.losses import Loss
from ..typing import FloatArray, IntArray
from ..validation import Problem
from .contract import Engine, FoldPlan, Offer, Workers
from .costs import Shape, seconds_of
from .engine import TABLE_BYTES, FailureLog, Piece, SmootherEngine, per_block, refit_or_log
from .repeats import RepeatedRoute, not_a_smoother, shape_of

__all__ = ["GramEngine", "GramRoute", "gram_flops", "gram_work", "offer_gram"]


class GramRoute(RepeatedRoute):
    """Linear smoothers, best while folds hold more rows than there are columns."""

    name = "gram"

    def offer(self, learners: Sequence[Learner], task: Task, plan: FoldPlan) -> Offer | Refusal:
        """The cost of p x p systems."""
        (learner,) = learners
        if not isinstance(learner, Smoother):
            return not_a_smoother(learner)
        if plan.is_trial:
            return Refusal("folds of single rows suit the one-step route")
        return offer_gram(shape_of(learner, plan))

    def engine(self, learner: Learner, task: Task, workers: Workers) -> Engine:
        """Decompose all rows."""
        assert isinstance(learner, Smoother)
        return GramEngine(task.problem, learner, task.loss)


def offer_gram(shape: Shape) -> Offer:
    """What the route takes at a shape."""
    reason = f"it needs {shape.refit_flops / gram_flops(shape):.0f} times fewer operations than refits"
    return Offer(seconds_of("gram", gram_work(shape)), reason, f"{shape.q} x {shape.q} (columns)")


def gram_flops(shape: Shape) -> float:
    """Floating point operations of the route."""
    n, K, V, q = shape.n, shape.K, shape.V, shape.q
    each = 2 * n * q**2 + shape.fits * min(V / 3, 15) * q**3 + V * 2 * n * K * q
    return 4 * n * q**2 + shape.L * each


def gram_work(shape: Shape) -> dict[str, float]:
    """How often the route does what it does."""
    n, p, K, L, V, m, q, fits = shape.n, shape.p, shape.K, shape.L, shape.V, shape.m, shape.q, shape.fits
    is_long = V >= MANY and (not compiled.is_on() or (V >= MANY_COMPILED and q >= LARGE_COMPILED))
    return {
        "call": 1.0,
        "decomposition": n * p * q,
        "gram matrices": L * n * q**2,
        "gathered rows": L * n * q,
        "factorizations": 0.0 if is_long else L * V * fits * q**3,
        "substitutions": 0.0 if is_long else L * V * fits * q**2,
        "eigendecompositions": L * fits * q**3 if is_long else 0.0,
        "rotations": L * V * fits * q**2 if is_long else 0.0,
        "systems": L * V * fits,
        "training sets": L * fits,
        "refits": L * V * fits * n * q**2 if q > n - 2 * m else 0.0,  # near interpolation, see `refit_residuals`
        "predictions": L * V * n * K * q,
        "losses": L * V * n * K,
        "values and rows": L * V * n,
        "values": L * V,
    }


class GramEngine(SmootherEngine):
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

    goes_through_sets = True

    def __init__(self, problem: Problem, smoother: Smoother, loss: Loss) -> None:
        super().__init__(problem, smoother, loss, smoother.n_values, smoother.outputs(problem.n_outputs))
        self.smoother = smoother
        self._bases = [self._decompose(lams) for _, lams in self.outputs]
        self.root = None if smoother.weights is None else np.append(np.sqrt(smoother.weights), 0.0)

    def _decompose(self, lams: FloatArray) -> list[tuple[IntArray, Reinsch]]:
        """One basis for the penalized values, or some if they are far apart, and one for zero; with those it serves."""
        return [(values, self.smoother.reinsch(list(lams[values]))) for values in self.smoother.spans(lams)]

    @property
    def n_passes(self) -> int:
        """One for each basis."""
        return sum(len(bases) for bases in self._bases)

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
        self.engine, self.folds, self.outputs, self.downdate, self.basis = engine, folds, outputs, downdate, basis
        self.values, self.log = values, log
        self.y = engine.y[:, outputs]
        self.d, self.V, self.Q = basis.width, len(downdate.lams), len(outputs)
        everyone = np.arange(len(self.y))
        projected = basis.transpose_times(engine.weigh(engine.weigh(self.y, everyone), everyone))
        coefficients = np.square(downdate.scales).T[:, :, None] * projected[:, None, :]  # (d, V, Q)
        fitted = basis.times(coefficients.reshape(self.d, -1)).reshape(-1, self.V, self.Q)
        residuals = np.vstack([self.y[:, None] - fitted, np.zeros((1, self.V, self.Q))])
        least = [engine.smoother.least_trusted(self.y, lam) for lam in downdate.lams]
        self.scale = np.maximum(self._error_scale(np.moveaxis(residuals[:-1], 1, 0)), np.array(least) / batched.TRUSTED)
        L, K, m = folds.members.shape
        self.r = residuals[folds.members].reshape(L, K, m, self.V * self.Q)
        self.kept = basis.take(folds.members) if 8 * folds.members.size * self.d <= TABLE_BYTES else None
        self.grams = np.empty((L, K, self.d, self.d))
        self.g = np.empty((L, K, self.d, self.V * self.Q))
        for repeat, fold, rows, Zf in self._gathered(0, K, 0):
            weighted = engine.weigh(Zf, rows)
            transposed = weighted.swapaxes(-1, -2)
            self.grams[repeat, fold] = transposed @ weighted
            self.g[repeat, fold] = transposed @ engine.weigh(self.r[repeat, fold], rows)

    def _error_scale(self, r: FloatArray) -> FloatArray:
        """`batched.error_scale` of residuals r (V, n, Q)."""
        everyone = np.arange(len(self.y))
        y, r = (self.engine.weigh(each, everyone) for each in (self.y, r))
        scale = batched.error_scale(y, r, np.ones(r.shape[:2]))
        if (scale == 1.0).all():  # held out, residuals are larger still
            return scale
        diagonal, step = np.empty(r.shape[:2]), per_block(8 * self.d)
        for rows in (everyone[start : start + step] for start in range(0, len(everyone), step)):
            squares = np.square(self.engine.weigh(self.basis.take(rows), rows))
            diagonal[:, rows] = 1.0 - np.square(self.downdate.scales) @ squares.T
        return batched.error_scale(y, r, diagonal)

    def _gathered(self, low: int, high: int, columns: int) -> Iterator[tuple[IntArray, IntArray, IntArray, FloatArray]]:
        """Design rows of folds ``low`` to ``high``, some folds at a time; ``columns`` results a row are to come."""
        L, m = self.folds.n_repeats, self.folds.members.shape[2]
        each = 8 * m * (self.d + columns * self.V * self.Q)
        repeats, n_folds = per_block(each * (high - low)), min(per_block(each), high - low)
        for start, first in product(range(0, L, repeats), range(low, high, n_folds)):
            part = slice(start, min(start + repeats, L)), slice(first, min(first + n_folds, high))
            rows = self.folds.members[part].reshape(-1, m)
            Zf = self.basis.take(rows) if self.kept is None else self.kept[part].reshape(-1, m, self.d)
            repeat, fold = (index.ravel() for index in np.mgrid[part])
            yield repeat, fold, rows, Zf

    def _solve(self, sets: IntArray) -> tuple[FloatArray, dict[tuple[int, int, int], list[FloatArray]]]:
        """Changes of the coefficients (L, S, d, V * Q), and refitted residuals where they cannot be trusted.

        ``sets`` (S, 2) are the folds that each system leaves out; the second is -1 if it is one only.
        """
        L, K = self.grams.shape[:2]
        change, squares = self.downdate.solve(self.grams, self.g.reshape(L, K, self.d, self.V, self.Q), sets)
        self.engine.count(sets=L * len(sets))
        refitted = {}
        for repeat, index, value in np.argwhere(batched.doubtful(squares * np.square(self.scale))):
            out = tuple(int(fold) for fold in sets[index] if fold >= 0)
            removed = self.grams[repeat, list(out)].sum(axis=0)
            least = batched.TRUSTED * self.scale[value]
            if batched.smallest_eigenvalues(self.downdate.system(removed, value)) < least:
                refitted[int(repeat), int(index), int(value)] = refit_or_log(
                    self.engine.smoother,
                    self.y,
                    self.downdate.lams[value],
                    self.folds,
                    int(repeat),
                    out,
                    int(self.values[value]),
                    self.log,
                )
                change[repeat, index, :, value] = 0.0
        return change.reshape(L, len(sets), self.d, self.V * self.Q), refitted

    def singles(self) -> FloatArray:
        """Residuals of each fold with it out, (L, K, m, V, Q)."""
        L, K, m = self.folds.members.shape
        u = self.r.copy()
        step = per_block(8 * L * self.d * max(self.d, self.V * self.Q))
        for low in range(0, K, step):
            high = min(low + step, K)
            change, refitted = self._solve(np.array([(j, -1) for j in range(low, high)]))
            for repeat, fold, _, Zf in self._gathered(low, high, 1):
                u[repeat, fold] += Zf @ change[repeat, fold - low]
            by_value = u.reshape(L, K, m, self.V, self.Q)
            for (at, index, value), (residuals,) in refitted.items():
                by_value[at, low + index, : len(residuals), value] = residuals
        return u.reshape(L, K, m, self.V, self.Q)

    def pairs(self) -> tuple[FloatArray, FloatArray]:
        """Mean and scatter of the losses of fold j with j and k out, (L, K, K, V, R); the diagonal is left empty.

        Pairs are taken in square tiles of folds, so that each system is solved once and the predictions of a
        fold for all its partners in the tile are one matrix product.
        """
        L, K = self.folds.n_repeats, self.folds.n_folds
        mean, scatter = np.full((2, L, K, K, self.V, self.engine.loss.n_losses(self.Q)), np.nan)
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
        if self.engine.is_compiled and self.kept is not None:
            members, shape = self.folds.members, (L, *mean.shape[1:3], columns)
            weights = self.engine.loss_weights(members)
            tables = (mean.reshape(shape), scatter.reshape(shape))  # views
            compiled.predict(self.kept, self.r, change, weights, self.folds.sizes, sets, tables)
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
            u = Zf @ table[repeat, fold - low].reshape(len(fold), d, n_others * columns)
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
