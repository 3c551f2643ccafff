"""Fold errors by the one-step route: Proposition 1 of the paper, deletion of rows as a Schur complement."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..folds import Folds
from ..learners import Smoother
from ..linalg import batched, compiled
from ..linalg.definite import solve_each
from ..linalg.operator import Operator, dual_operator, primal_operator
from ..linalg.stacked import prediction_weights
from ..metrics.losses import Loss
from ..typing import FloatArray, IntArray
from ..validation import Problem
from .engine import TABLE_BYTES, FailureLog, Piece, SmootherEngine, per_block, refit_or_log
from .farrows import mend_unweighted, refit_far
from .manyoutputs import FoldSystems, are_many

__all__ = ["MOST_COMPILED", "OneStepEngine", "least_in_unit", "make_operator"]

MOST_COMPILED = 128
"""Rows in a fold up to which the compiled kernel solves the systems: beyond, they leave the caches."""


class OneStepEngine(SmootherEngine):
    r"""Schur complements of the residual operator.

    Notes
    -----
    With ``A = I - H`` and ``r = Ay``, a refit without the rows J leaves ``u_J = A_JJ^-1 r_J`` at J. For a pair of
    folds the system is eliminated by blocks: with ``W = A_jj^-1 A_jk`` and the single-fold residuals
    ``u_j = A_jj^-1 r_j``,

    .. math:: u_k' = (A_{kk} - A_{kj} W)^{-1} (r_k - A_{kj} u_j), \qquad u_j' = u_j - W u_k',

    so that fold j is factored once for all its partners. For p >= n and kernels the same holds of
    ``Q = A / lam`` in its dual form, which stays accurate where the fit nearly interpolates.
    """

    def __init__(self, problem: Problem, smoother: Smoother, loss: Loss) -> None:
        super().__init__(problem, smoother, loss, smoother.n_values, smoother.outputs(problem.n_outputs))
        self.smoother = smoother
        self._last: tuple[tuple[int, int], Operator] | None = None

    def operator(self, group: int, value: int) -> Operator:
        """The operator at one value; the last one is kept, as a single value is asked for again and again."""
        last = self._last  # threads may replace it at any time
        if last is None or last[0] != (group, value):
            last = self._last = None  # free the old one before the new one is made
            outputs, lams = self.outputs[group]
            last = (group, value), make_operator(self.smoother, self.y[:, outputs], float(lams[value]))
            self._last = last
        return last[1]

    def gains(self, rows: IntArray, rho: FloatArray) -> FloatArray:
        """What the square of a solution of the operator's system is multiplied by for a loss; zero for padding."""
        weights = (rows < len(self.y)).astype(np.float64) if self._weights is None else self._weights[rows]
        return weights / np.square(rho)

    def pieces(self, folds: Folds, group: int, with_pairs: bool, log: FailureLog) -> Iterator[Piece]:
        """Value by value, as the operator depends on it; within a value in blocks of repeats."""
        outputs, lams = self.outputs[group]
        K, m = folds.n_folds, folds.members.shape[2]
        for value in range(self.n_values):
            operator = self.operator(group, value)
            step = per_block(8 * (4 * K * m * m + K * m * operator.width))
            for start in range(0, folds.n_repeats, step):
                part = folds.part(start, min(start + step, folds.n_repeats))
                block = _Block(self, part, operator, outputs, value, float(lams[value]), log)
                tables = block.pairs() if with_pairs else ()
                u = block.singles()[..., None, :]
                self.mend_far(group, value, part, u, log)
                yield Piece(start, np.array([value]), u, *(table[..., None, :] for table in tables))

    def mend_far(self, group: int, value: int, folds: Folds, u: FloatArray, log: FailureLog) -> None:
        """Held-out residuals u (L, K, m, 1, Q) of rows of no weight that are far, in place."""
        outputs, lams = self.outputs[group]
        operator, far = self.operator(group, value), self.smoother.unweighted_rows
        # the dual form has prediction weights for such rows: of a fit that nearly interpolates few digits, if uneven
        if operator.left is not None or not self.smoother.are_refined:
            far = far[self.smoother.are_far(operator.light_squares)]
        refit_far(self.smoother, self.y[:, outputs], lams[[value]], folds, [far], np.array([value]), u, log)


def make_operator(smoother: Smoother, y: FloatArray, lam: float) -> Operator:
    """The residual operator of the fit at one value, in the form that is accurate for it."""
    operator, unit = _operator_and_unit(smoother, y, lam)
    mend_unweighted(smoother, y, lam, operator.light_squares, operator.r[:-1], unit)
    return operator


def _operator_and_unit(smoother: Smoother, y: FloatArray, lam: float) -> tuple[Operator, float]:
    """The operator, and the unit of its residuals in rows of no weight."""
    if not smoother.wants_dual:
        reinsch = smoother.reinsch([lam])
        Z = reinsch.basis.take(np.arange(len(y)))
        return primal_operator(Z, y, smoother.weights, TABLE_BYTES), 1.0
    counted = smoother.fitted_rows
    light = np.ones(len(y), dtype=bool)
    light[counted] = False
    root = smoother.root_weights(np.arange(len(y)))
    Q = smoother.dual.matrix(lam)
    hat = np.zeros((0, len(counted)))
    if light.any():
        seen = smoother.take(counted).weighted(root[counted])
        hat = prediction_weights(smoother.take(np.flatnonzero(light)), seen, lam)
    operator = dual_operator(Q, y, root, light, hat, least_in_unit(smoother, y, lam))
    return operator, operator.scale


def least_in_unit(smoother: Smoother, y: FloatArray, lam: float) -> float:
    """Smallest eigenvalue of blocks of Q that can be trusted, in the unit of Q."""
    return smoother.dual.unit(lam) * (smoother.least_trusted(y, lam) / (lam or 1.0))


class _Block:
    """A block of repeats at one value."""

    def __init__(
        self,
        engine: OneStepEngine,
        folds: Folds,
        operator: Operator,
        outputs: IntArray,
        value: int,
        lam: float,
        log: FailureLog,
    ) -> None:
        self.engine, self.folds, self.operator, self.outputs = engine, folds, operator, outputs
        self.value, self.lam, self.log = value, lam, log
        L, K, m = folds.members.shape
        self.diagonal = operator.diagonal_blocks(folds.members)  # (L, K, m, m)
        self.right = np.empty((L, K, m, len(outputs) + 1))
        self.right[..., :-1] = operator.r[folds.members]
        # a probe of its own for each fold: the same one twice is blind to directions that differ in sign between folds
        self.right[..., -1] = batched.probe(K * m).reshape(K, m)
        is_definite = operator.is_symmetric and are_many(len(outputs), m)
        solve = solve_each if is_definite else batched.solve
        self.solution = solve(self.diagonal, self.right)  # A_jj^-1 [r_j, probe]
        self.rho = operator.rho[folds.members][..., None]

    def singles(self) -> FloatArray:
        """Residuals of each fold with it out, (L, K, m, Q)."""
        u = self.solution[..., :-1] / self.rho
        doubtful = batched.suspects(self.solution[..., -1], self.operator.trusted_scale)
        for repeat, fold in zip(*np.nonzero(doubtful), strict=True):
            if not self._is_sound(self.diagonal[repeat, fold], self.folds.members[repeat, fold]):
                (residuals,) = self._refit(int(repeat), int(fold))
                u[repeat, fold, : len(residuals)] = residuals
        return u

    def _is_sound(self, system: FloatArray, rows: IntArray) -> bool:
        """Whether the smallest eigenvalue is large against the errors; rows of no weight play no part in it."""
        counted = np.flatnonzero(~self.operator.light[rows])
        smallest = self.operator.scale
        if len(counted):
            smallest = float(batched.smallest_eigenvalues(system[np.ix_(counted, counted)]))
        return bool(smallest >= batched.TRUSTED * self.operator.trusted_scale)

    def _refit(self, repeat: int, *out: int) -> list[FloatArray]:
        y = self.engine.y[:, self.outputs]
        return refit_or_log(self.engine.smoother, y, self.lam, self.folds, repeat, out, self.value, self.log)

    def pairs(self) -> tuple[FloatArray, FloatArray]:
        """Mean and scatter of the losses of fold j with j and k out, (L, K, K, R); the diagonal is left empty."""
        L, K = self.folds.n_repeats, self.folds.n_folds
        mean, scatter = np.full((2, L, K, K, self.engine.loss.n_moments(len(self.outputs))), np.nan)
        if compiled.is_on() and self.operator.is_symmetric and self._has_many_outputs:
            self._record_many(mean, scatter)
            return mean, scatter
        if compiled.is_on() and self.operator.is_symmetric and self.folds.members.shape[2] <= MOST_COMPILED:
            record = self._record_moments if self.engine.loss.is_squared else self._record_losses
            for repeats, first, M, rows, columns in self._strips():
                record(repeats, first, M, rows, columns, mean, scatter)
            return mean, scatter
        for j in range(K - 1):
            self._record(slice(None), j, *self._partners(j), mean, scatter)
        return mean, scatter

    @property
    def _has_many_outputs(self) -> bool:
        return self.engine.loss.is_squared and are_many(len(self.outputs), self.folds.members.shape[2])

    def _record_many(self, mean: FloatArray, scatter: FloatArray) -> None:
        """Squared losses of all pairs of folds, by products with matrices of each pair."""
        for repeat, (members, sizes) in enumerate(zip(self.folds.members, self.folds.sizes, strict=True)):
            gains = self.engine.gains(members, self.rho[repeat, ..., 0])
            systems = FoldSystems(
                self.operator,
                members,
                self.diagonal[repeat],
                self.right[repeat],
                self.solution[repeat],
                gains,
                sizes,
            )
            squares = systems.record(mean[repeat], scatter[repeat])
            self._mend(slice(repeat, repeat + 1), 0, squares[None], mean, scatter)

    def _record(
        self, repeats: slice, j: int, u_j: FloatArray, u_k: FloatArray, mean: FloatArray, scatter: FloatArray
    ) -> None:
        """Losses of the residuals of fold j and of its partners, (L, K - j - 1, m, Q)."""
        members, present, later = self.folds.members[repeats], self.folds.present[repeats], slice(j + 1, None)
        results = self.engine.moments(u_j, members[:, [j]], present[:, [j]], self.outputs)
        for target, result in zip((mean, scatter), results, strict=True):
            target[repeats, j, later] = result
        results = self.engine.moments(u_k, members[:, later], present[:, later], self.outputs)
        for target, result in zip((mean, scatter), results, strict=True):
            target[repeats, later, j] = result

    def _strips(self) -> Iterator[tuple[slice, int, FloatArray, IntArray, IntArray]]:
        """Matrices that hold the blocks of some folds j, from the first on, with all later ones: with rows and columns.

        The operator itself if it is stored; else some of its rows, repeat by repeat.
        """
        members = self.folds.members
        L, K, m = members.shape
        if self.operator.stored is not None:
            is_whole = self.engine.loss.is_squared  # else the residuals of all pairs are written down
            step = K - 1 if is_whole else per_block(8 * L * K * m * 2 * len(self.outputs))
            for low in range(0, K - 1, step):
                yield slice(None), low, self.operator.stored, members[:, low : min(low + step, K - 1)], members
            return
        step = per_block(8 * K * m * m)
        for repeat in range(L):
            for low in range(0, K - 1, step):
                some = members[repeat, low : min(low + step, K - 1)]
                M = self.operator.blocks(some.ravel(), members[repeat, low:].ravel())
                columns = np.maximum(np.arange(K * m) - low * m, 0).reshape(1, K, m)
                yield slice(repeat, repeat + 1), low, M, np.arange(some.size).reshape(1, *some.shape), columns

    def _record_moments(
        self,
        repeats: slice,
        first: int,
        M: FloatArray,
        rows: IntArray,
        columns: IntArray,
        mean: FloatArray,
        scatter: FloatArray,
    ) -> None:
        """Squared losses of all pairs of a strip, by the kernel."""
        squares = compiled.fold_pairs_moments(
            M,
            columns,
            self.diagonal[repeats],
            self.right[repeats],
            self.engine.gains(self.folds.members[repeats], self.rho[repeats, ..., 0]),
            self.folds.sizes[repeats],
            mean[repeats],
            scatter[repeats],
            rows,
            first,
        )
        self._mend(repeats, first, squares, mean, scatter)

    def _mend(self, repeats: slice, first: int, squares: FloatArray, mean: FloatArray, scatter: FloatArray) -> None:
        """Squared losses of the pairs that cannot be trusted, from refits."""
        for repeat, j, k, residuals in self._refitted(repeats, first, squares):
            for fold, other, u in ((j, k, residuals[0]), (k, j, residuals[1])):
                at = self.folds.members[repeat, fold, : len(u)]
                found = self.engine.moments(u, at, np.ones(len(u), dtype=bool), self.outputs)
                mean[repeat, fold, other], scatter[repeat, fold, other] = found

    def _record_losses(
        self,
        repeats: slice,
        first: int,
        M: FloatArray,
        rows: IntArray,
        columns: IntArray,
        mean: FloatArray,
        scatter: FloatArray,
    ) -> None:
        """Losses of all pairs of a strip, from residuals by the kernel."""
        found = compiled.fold_pairs(M, columns, self.diagonal[repeats], self.right[repeats], rows, first)
        u_j, u_k = found[0] / self.rho[repeats, first : first + rows.shape[1], None], found[1] / self.rho[repeats, None]
        start = repeats.start or 0
        for repeat, j, k, (at_j, at_k) in self._refitted(repeats, first, found[2]):
            u_j[repeat - start, j - first, k, : len(at_j)] = at_j
            u_k[repeat - start, j - first, k, : len(at_k)] = at_k
        for at in range(rows.shape[1]):
            j = first + at
            self._record(repeats, j, u_j[:, at, j + 1 :], u_k[:, at, j + 1 :], mean, scatter)

    def _refitted(
        self, repeats: slice, first: int, squares: FloatArray
    ) -> Iterator[tuple[int, int, int, list[FloatArray]]]:
        """Repeat, folds and residuals of the pairs that the kernel cannot be trusted with."""
        for index in np.argwhere(batched.doubtful(squares, self.operator.trusted_scale)):
            repeat, j, k = int(index[0]) + (repeats.start or 0), int(index[1]) + first, int(index[2])
            members = self.folds.members[repeat]
            A = self.operator.blocks(members[j], members[k])
            if not self._is_sound_pair(repeat, j, k, A):
                yield repeat, j, k, self._refit(repeat, j, k)

    def _is_sound_pair(self, repeat: int, j: int, k: int, A_jk: FloatArray) -> bool:
        """Whether the system of two folds is sound."""
        diagonal, members = self.diagonal[repeat], self.folds.members[repeat]
        system = np.block([[diagonal[j], A_jk], [A_jk.T, diagonal[k]]])
        return self._is_sound(system, np.concatenate([members[j], members[k]]))

    def _partners(self, j: int) -> tuple[FloatArray, FloatArray]:
        """Residuals of fold j with each later fold k out, and of each k with j out, (L, K - j - 1, m, Q)."""
        members = self.folds.members
        L, K, m = members.shape
        later = K - j - 1
        others = members[:, j + 1 :].reshape(L, later * m)
        cross = self.operator.blocks(members[:, j], others)  # A_jk, side by side
        W = batched.solve(self.diagonal[:, j], cross)
        # contiguous: matmul leaves BLAS for strided blocks
        W, A_jk = (np.ascontiguousarray(np.moveaxis(a.reshape(L, m, later, m), 2, 1)) for a in (W, cross))
        A_kj = A_jk.swapaxes(-1, -2)
        if not self.operator.is_symmetric:
            A_kj = self.operator.blocks(others, members[:, j]).reshape(L, later, m, m)
        schur = self.diagonal[:, j + 1 :] - A_kj @ W
        own = self.solution[:, j, None]
        v_k = batched.solve(schur, self.right[:, j + 1 :] - A_kj @ own)
        v_j = own - W @ v_k
        answer = np.concatenate([v_j[..., -1], v_k[..., -1]], axis=-1)
        u_j, u_k = v_j[..., :-1] / self.rho[:, [j]], v_k[..., :-1] / self.rho[:, j + 1 :]
        for repeat, index in zip(*np.nonzero(batched.suspects(answer, self.operator.trusted_scale)), strict=True):
            k = j + 1 + int(index)
            if not self._is_sound_pair(int(repeat), j, k, A_jk[repeat, index]):
                first, second = self._refit(int(repeat), j, k)
                u_j[repeat, index, : len(first)] = first
                u_k[repeat, index, : len(second)] = second
        return u_j, u_k
