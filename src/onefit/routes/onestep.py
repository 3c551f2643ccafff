"""The one-step route: Proposition 1 of the paper, deletion of rows as a Schur complement."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..folds import Folds
from ..learners import Smoother
from ..linalg import batched
from ..linalg.dual import prediction_weights
from ..linalg.operator import Operator, dual_operator, primal_operator
from ..losses import Loss
from ..typing import FloatArray, IntArray
from ..validation import Problem
from .base import TABLE_BYTES, Piece, SmootherRoute, per_block, refit_residuals

__all__ = ["OneStepRoute", "make_operator"]


class OneStepRoute(SmootherRoute):
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

    name = "onestep"

    def __init__(self, problem: Problem, smoother: Smoother, loss: Loss) -> None:
        super().__init__(problem, smoother, loss)
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

    def pieces(self, folds: Folds, group: int, with_pairs: bool) -> Iterator[Piece]:
        """Value by value, as the operator depends on it; within a value in blocks of repeats."""
        outputs, lams = self.outputs[group]
        K, m = folds.n_folds, folds.members.shape[2]
        for value in range(self.n_values):
            operator = self.operator(group, value)
            step = per_block(8 * (4 * K * m * m + K * m * operator.width))
            for start in range(0, folds.n_repeats, step):
                part = folds.part(start, min(start + step, folds.n_repeats))
                block = _Block(self, part, operator, outputs, float(lams[value]))
                tables = block.pairs() if with_pairs else ()
                u = block.singles()[..., None, :]
                yield Piece(start, np.array([value]), u, *(table[..., None, :] for table in tables))


def make_operator(smoother: Smoother, y: FloatArray, lam: float) -> Operator:
    """The residual operator of the fit at one value, in the form that is accurate for it."""
    if not smoother.wants_dual:
        reinsch = smoother.reinsch([lam])
        Z = reinsch.basis.take(np.arange(len(y)))
        return primal_operator(Z, y, smoother.weights, TABLE_BYTES)
    heavy = smoother.heavy
    light = np.ones(len(y), dtype=bool)
    light[heavy] = False
    root = smoother.root_weights(np.arange(len(y)))
    Q = smoother.dual.matrix(lam)
    hat = np.zeros((0, len(heavy)))
    if light.any():
        seen = smoother.take(heavy).weighted(root[heavy])
        hat = prediction_weights(smoother.take(np.flatnonzero(light)), seen, Q, lam)
    return dual_operator(Q, y, root, light, hat)


class _Block:
    """A block of repeats at one value."""

    def __init__(self, route: OneStepRoute, folds: Folds, operator: Operator, outputs: IntArray, lam: float) -> None:
        self.route, self.folds, self.operator, self.outputs, self.lam = route, folds, operator, outputs, lam
        L, K, m = folds.members.shape
        self.diagonal = operator.diagonal_blocks(folds.members)  # (L, K, m, m)
        self.right = np.empty((L, K, m, len(outputs) + 1))
        self.right[..., :-1] = operator.r[folds.members]
        # a probe of its own for each fold: the same one twice is blind to directions that differ in sign between folds
        self.right[..., -1] = batched.probe(K * m).reshape(K, m)
        self.solution = batched.solve(self.diagonal, self.right)  # A_jj^-1 [r_j, probe]
        self.rho = operator.rho[folds.members][..., None]

    def singles(self) -> FloatArray:
        """Residuals of each fold with it out, (L, K, m, Q)."""
        u = self.solution[..., :-1] / self.rho
        doubtful = batched.suspects(self.solution[..., -1], self.operator.scale)
        for repeat, fold in zip(*np.nonzero(doubtful), strict=True):
            if not self._is_sound(self.diagonal[repeat, fold], self.folds.members[repeat, fold]):
                (residuals,) = self._refit(int(repeat), int(fold))
                u[repeat, fold, : len(residuals)] = residuals
        return u

    def _is_sound(self, system: FloatArray, rows: IntArray) -> bool:
        """Whether the smallest eigenvalue is large against the errors; rows of no weight play no part in it."""
        heavy = np.flatnonzero(~self.operator.light[rows])
        if not len(heavy):
            return True
        smallest = batched.smallest_eigenvalues(system[np.ix_(heavy, heavy)])
        return bool(smallest >= batched.TRUSTED * self.operator.scale)

    def _refit(self, repeat: int, *out: int) -> list[FloatArray]:
        y = self.route.y[:, self.outputs]
        return refit_residuals(self.route.smoother, y, self.lam, self.folds, repeat, out)

    def pairs(self) -> tuple[FloatArray, FloatArray]:
        """Mean and scatter of the losses of fold j with j and k out, (L, K, K, R); the diagonal is left empty."""
        L, K = self.folds.n_repeats, self.folds.n_folds
        mean, scatter = np.full((2, L, K, K, self.route.loss.n_losses(len(self.outputs))), np.nan)
        members, present = self.folds.members, self.folds.present
        for j in range(K - 1):
            u_j, u_k = self._partners(j)
            later = slice(j + 1, K)
            results = self.route.moments(u_j, members[:, [j]], present[:, [j]], self.outputs)
            for target, result in zip((mean, scatter), results, strict=True):
                target[:, j, later] = result
            results = self.route.moments(u_k, members[:, later], present[:, later], self.outputs)
            for target, result in zip((mean, scatter), results, strict=True):
                target[:, later, j] = result
        return mean, scatter

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
        for repeat, index in zip(*np.nonzero(batched.suspects(answer, self.operator.scale)), strict=True):
            k = j + 1 + int(index)
            A = A_jk[repeat, index]
            system = np.block([[self.diagonal[repeat, j], A], [A.T, self.diagonal[repeat, k]]])
            if not self._is_sound(system, np.concatenate([members[repeat, j], members[repeat, k]])):
                first, second = self._refit(int(repeat), j, k)
                u_j[repeat, index, : len(first)] = first
                u_k[repeat, index, : len(second)] = second
        return u_j, u_k
