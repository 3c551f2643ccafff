"""The one-step route: Proposition 1 of the paper, deletion of rows as a Schur complement."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..fold_errors import moments
from ..folds import Folds
from ..learners import Smoother
from ..linalg import batched
from ..linalg.reinsch import demmler_reinsch
from ..losses import Loss
from ..typing import FloatArray, IntArray
from .base import TABLE_BYTES, Piece, SmootherRoute, per_block, refit_residuals

__all__ = ["OneStepRoute"]


@dataclass(frozen=True)
class _Operator:
    """``M = identity I + sign R R'`` with ``u_J = M_JJ^-1 (My)_J``: the residual operator or a multiple of it.

    ``R`` and ``r = My`` have a last row of zeros for the padding. ``scale`` is the size of the errors in M's
    entries in units of the machine's precision.
    """

    R: FloatArray
    r: FloatArray
    identity: float
    sign: float
    scale: float
    stored: FloatArray | None

    @classmethod
    def of(cls, R: FloatArray, y: FloatArray, dual: bool) -> _Operator:
        """From the root of Q (dual, ``A = lam Q``) or of the hat matrix (primal, ``A = I - H``)."""
        identity, sign = (0.0, 1.0) if dual else (1.0, -1.0)
        scale = float(np.square(R).sum(axis=1).max()) if dual else 1.0
        r = identity * y + sign * (R @ (R.T @ y))
        R = np.vstack([R, np.zeros(R.shape[1])])
        stored = None
        if 8 * len(R) ** 2 <= TABLE_BYTES:
            stored = sign * (R @ R.T)
            stored[np.diag_indices(len(r))] += identity  # but not the padding's: it is in several folds
        return cls(R, np.vstack([r, np.zeros(y.shape[1])]), identity, sign, scale, stored)

    def blocks(self, rows: IntArray, columns: IntArray) -> FloatArray:
        """Off-diagonal blocks M[rows, columns]; leading axes broadcast, no row is in both."""
        if self.stored is not None:
            return self.stored[rows[..., :, None], columns[..., None, :]]
        return self.sign * (self.R[rows] @ self.R[columns].swapaxes(-1, -2))

    def diagonal_blocks(self, rows: IntArray) -> FloatArray:
        """Blocks M[rows, rows], with ``scale`` on the diagonal of the padding."""
        blocks = self.blocks(rows, rows)
        index = np.arange(rows.shape[-1])
        padding = rows == len(self.R) - 1
        if self.stored is None:
            blocks[..., index, index] += self.identity
        blocks[..., index, index] = np.where(padding, self.scale, blocks[..., index, index])
        return blocks


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

    def __init__(self, y: FloatArray, smoother: Smoother, loss: Loss) -> None:
        super().__init__(y, smoother, loss)
        self._last: tuple[tuple[int, int], _Operator] | None = None

    def _operator(self, group: int, value: int) -> _Operator:
        """The operator at one value; the last one is kept, as a single value is asked for again and again."""
        if self._last is None or self._last[0] != (group, value):
            self._last = None  # free the old one before the new one is made
            outputs, lams = self.outputs[group]
            lam = float(lams[value])
            if self.smoother.wants_dual:
                R = self.smoother.dual.root(lam)
            else:
                R = demmler_reinsch(self.smoother.columns.at(lam), [lam]).Z
            self._last = (group, value), _Operator.of(R, self.y[:, outputs], self.smoother.wants_dual)
        return self._last[1]

    def pieces(self, folds: Folds, group: int, with_pairs: bool) -> Iterator[Piece]:
        """Value by value, as the operator depends on it; within a value in blocks of repeats."""
        outputs, lams = self.outputs[group]
        K, m = folds.n_folds, folds.members.shape[2]
        for value in range(self.n_values):
            operator = self._operator(group, value)
            step = per_block(8 * m * K * m * 4 + 8 * (m if operator.stored is None else 0) * operator.R.shape[1])
            for start in range(0, folds.n_repeats, step):
                part = folds.part(start, min(start + step, folds.n_repeats))
                block = _Block(self, part, operator, self.y[:, outputs], float(lams[value]))
                yield Piece(start, value, block.singles(), *(block.pairs() if with_pairs else ()))


@dataclass
class _Block:
    """A block of repeats at one value."""

    route: OneStepRoute
    folds: Folds
    operator: _Operator
    y: FloatArray
    lam: float

    def __post_init__(self) -> None:
        L, K, m = self.folds.members.shape
        self.diagonal = self.operator.diagonal_blocks(self.folds.members)  # (L, K, m, m)
        self.right = np.empty((L, K, m, self.y.shape[1] + 1))
        self.right[..., :-1] = self.operator.r[self.folds.members]
        self.right[..., -1] = batched.probe(m)
        self.solution = batched.solve(self.diagonal, self.right)  # A_jj^-1 [r_j, probe]

    def singles(self) -> FloatArray:
        """Residuals of each fold with it out, (L, K, m, Q)."""
        u = self.solution[..., :-1].copy()
        doubtful = batched.suspects(self.solution[..., -1], self.operator.scale)
        for repeat, fold in zip(*np.nonzero(doubtful), strict=True):
            if not self._is_sound(self.diagonal[repeat, fold]):
                (residuals,) = self._refit(int(repeat), int(fold))
                u[repeat, fold, : len(residuals)] = residuals
        return u

    def _is_sound(self, system: FloatArray) -> bool:
        smallest = batched.smallest_eigenvalues(system)
        return bool(smallest >= batched.TRUSTED * self.operator.scale)

    def _refit(self, repeat: int, *out: int) -> list[FloatArray]:
        return refit_residuals(self.route.smoother, self.y, self.lam, self.folds, repeat, out)

    def pairs(self) -> tuple[FloatArray, FloatArray]:
        """Mean and scatter of the losses of fold j with j and k out, (L, K, K, Q); the diagonal is left empty."""
        L, K = self.folds.n_repeats, self.folds.n_folds
        mean, scatter = np.full((2, L, K, K, self.y.shape[1]), np.nan)
        present = self.folds.present[..., None]
        for j in range(K - 1):
            u_j, u_k = self._partners(j)
            for target, result in zip((mean, scatter), self._moments(u_j, present[:, [j]]), strict=True):
                target[:, j, j + 1 :] = result
            for target, result in zip((mean, scatter), self._moments(u_k, present[:, j + 1 :]), strict=True):
                target[:, j + 1 :, j] = result
        return mean, scatter

    def _moments(self, u: FloatArray, present: np.ndarray) -> tuple[FloatArray, FloatArray]:
        return moments(self.route.loss.of_residual(u), present)

    def _partners(self, j: int) -> tuple[FloatArray, FloatArray]:
        """Residuals of fold j with each later fold k out, and of each k with j out, (L, K - j - 1, m, Q)."""
        members = self.folds.members
        L, K, m = members.shape
        later = K - j - 1
        cross = self.operator.blocks(members[:, j], members[:, j + 1 :].reshape(L, later * m))  # A_jk, side by side
        W = batched.solve(self.diagonal[:, j], cross)
        # contiguous: matmul leaves BLAS for strided blocks
        W, cross = (np.ascontiguousarray(np.moveaxis(a.reshape(L, m, later, m), 2, 1)) for a in (W, cross))
        A_kj = cross.swapaxes(-1, -2)
        schur = self.diagonal[:, j + 1 :] - A_kj @ W
        own = self.solution[:, j, None]
        u_k = batched.solve(schur, self.right[:, j + 1 :] - A_kj @ own)
        u_j = own - W @ u_k
        answer = np.concatenate([u_j[..., -1], u_k[..., -1]], axis=-1)
        for repeat, index in zip(*np.nonzero(batched.suspects(answer, self.operator.scale)), strict=True):
            k = j + 1 + int(index)
            A = cross[repeat, index]
            system = np.block([[self.diagonal[repeat, j], A], [A.T, self.diagonal[repeat, k]]])
            if not self._is_sound(system):
                first, second = self._refit(int(repeat), j, k)
                u_j[repeat, index, : len(first), :-1] = first
                u_k[repeat, index, : len(second), :-1] = second
        return u_j[..., :-1], u_k[..., :-1]
