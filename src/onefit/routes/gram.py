"""The gram route: training statistics without folds j and k are differences of per-fold statistics."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ..folds import Folds
from ..learners import Smoother
from ..linalg import batched
from ..linalg.reinsch import Basis, Reinsch
from ..losses import Loss
from ..typing import FloatArray, IntArray
from ..validation import Problem
from .base import Piece, SmootherRoute, per_block, refit_residuals

__all__ = ["GramRoute"]


class GramRoute(SmootherRoute):
    r"""Downdated Gram matrices.

    Notes
    -----
    In the Demmler-Reinsch basis, with columns scaled so that the hat matrix at lam is ``ZZ'``, the training set
    without the rows J solves ``(I - Z_J'Z_J) d = Z_J'r_J`` for the change d of the coefficients, where r are the
    residuals of the fit on all rows; the held-out residuals are ``u_J = r_J + Z_J d``. The Gram matrices of the
    folds are free of lam up to the scaling, so a path shares everything but the solve. The systems have the
    eigenvalues below one of ``A_JJ``, the one-step route's: the two fail together, and `refit_residuals` steps in.
    Weights enter the products over rows, ``Z_J'WZ_J`` and ``Z_J'Wr_J``, and nothing else.
    """

    name = "gram"

    def __init__(self, problem: Problem, smoother: Smoother, loss: Loss) -> None:
        super().__init__(problem, smoother, loss)
        self._bases = [self._decompose(lams) for _, lams in self.outputs]
        self.root = None if smoother.weights is None else np.append(np.sqrt(smoother.weights), 0.0)

    def _decompose(self, lams: FloatArray) -> list[tuple[IntArray, Reinsch]]:
        """One basis for the penalized values and one for zero, with the values that each serves."""
        chosen = [np.flatnonzero(lams > 0), np.flatnonzero(lams == 0)]
        return [(values, self.smoother.reinsch(list(lams[values]))) for values in chosen if len(values)]

    def pieces(self, folds: Folds, group: int, with_pairs: bool) -> Iterator[Piece]:
        """Blocks of repeats; within a block the Gram matrices serve all values."""
        outputs, lams = self.outputs[group]
        K, m = folds.n_folds, folds.members.shape[2]
        for values, reinsch in self._bases[group]:
            d = reinsch.basis.width
            n_systems = K * (K - 1) / 2 if with_pairs else K
            step = per_block(8 * max(n_systems * d * d, K * m * d, K * m * K * len(outputs)))
            for start in range(0, folds.n_repeats, step):
                part = folds.part(start, min(start + step, folds.n_repeats))
                grams = self._fold_grams(reinsch.basis, part.members)
                for value in values:
                    block = _Block(self, part, outputs, float(lams[value]), reinsch, grams)
                    yield Piece(start, int(value), block.singles(), *(block.pairs() if with_pairs else ()))

    def weigh(self, values: FloatArray, rows: IntArray) -> FloatArray:
        """Values (..., m, columns) at ``rows`` times the roots of their weights."""
        return values if self.root is None else values * self.root[rows][..., None]

    def _fold_grams(self, basis: Basis, members: IntArray) -> FloatArray:
        """``Z_j'WZ_j`` of every fold, (L, K, d, d)."""
        L, K, m = members.shape
        d = basis.width
        flat, grams = members.reshape(L * K, m), np.empty((L * K, d, d))
        step = per_block(8 * m * d)
        for start in range(0, L * K, step):
            rows = flat[start : start + step]
            Zf = self.weigh(basis.take(rows), rows)
            np.matmul(Zf.swapaxes(1, 2), Zf, out=grams[start : start + step])
        return grams.reshape(L, K, d, d)


class _Block:
    """A block of repeats at one value."""

    def __init__(
        self, route: GramRoute, folds: Folds, outputs: IntArray, lam: float, reinsch: Reinsch, grams: FloatArray
    ) -> None:
        self.route, self.folds, self.outputs, self.lam, self.basis = route, folds, outputs, lam, reinsch.basis
        self.y = route.y[:, outputs]
        self.d, self.Q = reinsch.basis.width, len(outputs)
        self.scale = reinsch.scale(lam)
        is_scaled = not (self.scale == 1.0).all()
        self.grams = grams * np.multiply.outer(self.scale, self.scale) if is_scaled else grams
        everyone = np.arange(len(self.y))
        weighted = route.weigh(route.weigh(self.y, everyone), everyone)
        fitted = self.basis.times(np.square(self.scale)[:, None] * self.basis.transpose_times(weighted))
        residuals = np.vstack([self.y - fitted, np.zeros(self.Q)])
        self.r = residuals[folds.members]  # (L, K, m, Q)
        self.g = np.empty((*self.r.shape[:2], self.d, self.Q))
        for repeat, fold, rows, Zf in self._gathered(0, folds.n_folds, 0):
            weighted = route.weigh(route.weigh(self.r[repeat, fold], rows), rows)
            self.g[repeat, fold] = self.scale[:, None] * (Zf.swapaxes(-1, -2) @ weighted)

    def _gathered(self, low: int, high: int, columns: int) -> Iterator[tuple[IntArray, IntArray, IntArray, FloatArray]]:
        """Design rows of folds ``low`` to ``high``, some folds at a time; ``columns`` results a row are to come."""
        L, m = self.folds.n_repeats, self.r.shape[2]
        repeat, fold = (index.ravel() for index in np.mgrid[0:L, low:high])
        step = per_block(8 * m * (self.d + columns * self.Q))
        for start in range(0, len(repeat), step):
            some = repeat[start : start + step], fold[start : start + step]
            rows = self.folds.members[some]
            yield (*some, rows, self.basis.take(rows))

    def _solve(
        self, systems: FloatArray, right: FloatArray, out: Sequence[tuple[int, ...]]
    ) -> tuple[FloatArray, dict[tuple[int, int], list[FloatArray]]]:
        """Changes of the coefficients (L, systems, d, Q), and refitted residuals where they cannot be trusted.

        ``right`` has a last column for the probe; ``out`` are the folds that each system leaves out.
        """
        right[..., -1] = batched.probe(systems.shape[-1])
        solution = batched.solve(systems, right)
        refitted = {}
        for repeat, index in zip(*np.nonzero(batched.suspects(solution[..., -1])), strict=True):
            if batched.smallest_eigenvalues(systems[repeat, index]) < batched.TRUSTED:
                refitted[int(repeat), int(index)] = refit_residuals(
                    self.route.smoother, self.y, self.lam, self.folds, int(repeat), out[index]
                )
                solution[repeat, index] = 0.0
        return self.scale[:, None] * solution[..., :-1], refitted

    def singles(self) -> FloatArray:
        """Residuals of each fold with it out, (L, K, m, Q)."""
        (L, K), d = self.r.shape[:2], self.d
        u = self.r.copy()
        step = per_block(8 * L * d * d)
        for low in range(0, K, step):
            high = min(low + step, K)
            right = np.empty((L, high - low, d, self.Q + 1))
            right[..., :-1] = self.g[:, low:high]
            change, refitted = self._solve(np.eye(d) - self.grams[:, low:high], right, [(j,) for j in range(low, high)])
            for repeat, fold, _, Zf in self._gathered(low, high, 1):
                u[repeat, fold] += Zf @ change[repeat, fold - low]
            for (at, index), (residuals,) in refitted.items():
                u[at, low + index, : len(residuals)] = residuals
        return u

    def pairs(self) -> tuple[FloatArray, FloatArray]:
        """Mean and scatter of the losses of fold j with j and k out, (L, K, K, Q); the diagonal is left empty.

        Pairs are taken in square tiles of folds, so that each system is solved once and the predictions of a
        fold for all its partners in the tile are one matrix product.
        """
        L, K, d = self.folds.n_repeats, self.folds.n_folds, self.d
        mean, scatter = np.full((2, L, K, K, self.route.loss.n_losses(self.Q)), np.nan)
        side = max(1, int(np.sqrt(per_block(8 * L * d * max(d, self.Q)))))
        if side * np.sqrt(2) >= K:
            side = K  # a diagonal tile holds half as many pairs
        starts = range(0, K, side)
        for low_j in starts:
            for low_k in (k for k in starts if k >= low_j):
                self._tile(low_j, min(low_j + side, K), low_k, min(low_k + side, K), mean, scatter)
        return mean, scatter

    def _tile(self, low_j: int, high_j: int, low_k: int, high_k: int, mean: FloatArray, scatter: FloatArray) -> None:
        L, d = self.folds.n_repeats, self.d
        pairs = [(j, k) for j in range(low_j, high_j) for k in range(max(j + 1, low_k), high_k)]
        if not pairs:
            return
        systems, right = np.empty((L, len(pairs), d, d)), np.empty((L, len(pairs), d, self.Q + 1))
        done = 0
        for j in range(low_j, high_j):  # a row of the tile at a time: gathering pairs would copy twice
            first = max(j + 1, low_k)
            row = slice(done, done + max(high_k - first, 0))
            np.subtract((np.eye(d) - self.grams[:, j])[:, None], self.grams[:, first:high_k], out=systems[:, row])
            np.add(self.g[:, j, None], self.g[:, first:high_k], out=right[:, row, :, :-1])
            done = row.stop
        change, refitted = self._solve(systems, right, pairs)
        jj, kk = np.array(pairs).T
        by_pair = change.transpose(1, 0, 2, 3)
        table = np.zeros((L, high_j - low_j, d, high_k - low_k, self.Q))
        table[:, jj - low_j, :, kk - low_k] = by_pair
        again: dict[tuple[int, int, int], FloatArray] = {}
        for (repeat, index), (at_j, at_k) in refitted.items():
            again[repeat, jj[index], kk[index]] = at_j
            again[repeat, kk[index], jj[index]] = at_k
        if low_j == low_k:
            table[:, kk - low_j, :, jj - low_k] = by_pair
        else:
            self._evaluate(low_k, low_j, np.ascontiguousarray(table.transpose(0, 3, 2, 1, 4)), again, mean, scatter)
        self._evaluate(low_j, low_k, table, again, mean, scatter)

    def _evaluate(
        self,
        low: int,
        low_other: int,
        table: FloatArray,
        again: dict[tuple[int, int, int], FloatArray],
        mean: FloatArray,
        scatter: FloatArray,
    ) -> None:
        """Losses of folds ``low, ...`` with each of the folds ``low_other, ...`` out as well."""
        _, n_folds, d, n_others, Q = table.shape
        m = self.r.shape[2]
        others = np.arange(low_other, low_other + n_others)
        for repeat, fold, rows, Zf in self._gathered(low, low + n_folds, n_others):
            u = Zf @ table[repeat, fold - low].reshape(len(fold), d, n_others * Q)
            u = u.reshape(len(fold), m, n_others, Q) + self.r[repeat, fold][:, :, None]
            here = {pair: at for at, pair in enumerate(zip(repeat.tolist(), fold.tolist(), strict=True))}
            for (a, j, k), residuals in again.items():
                if (a, j) in here and low_other <= k < low_other + n_others:
                    u[here[a, j], : len(residuals), k - low_other] = residuals
            present = self.folds.present[repeat, fold]
            results = self.route.moments(u.swapaxes(1, 2), rows[:, None], present[:, None], self.outputs)
            for target, result in zip((mean, scatter), results, strict=True):
                target[repeat[:, None], fold[:, None], others] = result
