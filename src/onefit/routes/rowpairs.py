"""All pairs of rows of smoothers, in tiles: the 2 x 2 systems of leave two out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from threading import Event

import numpy as np

from ..errors import LossOverflowError, RouteError, TrainingSetError
from ..folds import Folds
from ..inference.chain import Chain, ascending, outward, over_kept
from ..inference.fold_errors import RowRoles
from ..learners import KernelSmoother, Smoother
from ..learners.kernel import too_small
from ..linalg import batched, compiled
from ..linalg.path import OperatorPath, StoredPath, factor_path
from ..metrics import Loss
from ..typing import FloatArray, IntArray
from ..validation import Problem
from .engine import FailureLog, refit_or_log
from .farrows import mend_unweighted, squared_lengths
from .onestepengine import least_in_unit, make_operator
from .repeats import OVERFLOW
from .threads import threads

__all__ = ["LARGE_BYTES", "PairTask", "RowPairs", "tile_side"]

LARGE_BYTES = 2**30
TILE_BYTES = 8 * 2**20
MOST_REFIT_WORK = 1e11
"""Operations that fits to the training sets of a tile may take: some seconds."""
N_PARTS = 64
"""Parts that the sums over all pairs are made in: always the same ones, in the same order, whoever computes them."""


def tile_side(n_cells: int) -> int:
    """Rows in a tile: pairs at one value are to stay in the caches, and those at all values and outputs in memory."""
    return int(np.clip(np.sqrt(TILE_BYTES / (8 * n_cells)), 64, 160))


@dataclass
class PairTask:
    """What pairs of rows are computed for: smoothers one after the other on the axis of values."""

    problem: Problem
    smoothers: Sequence[Smoother]
    loss: Loss
    tick: Callable[[int], None]
    n_threads: int = 1

    @property
    def n_values(self) -> int:
        """Values of all smoothers."""
        return sum(smoother.n_values for smoother in self.smoothers)

    @cached_property
    def rows(self) -> RowRoles:
        """Weights of the rows."""
        return RowRoles(self.problem.relative_weights, None)

    @cached_property
    def folds(self) -> Folds:
        """Every row a fold of its own."""
        return Folds(np.arange(self.problem.n, dtype=np.intp)[None], self.problem.n)


def make_paths(smoother: Smoother, y: FloatArray, lams: FloatArray) -> list[tuple[IntArray, OperatorPath]]:
    """The operators of a smoother's path, penalized and unpenalized values apart, with the values of each."""
    if smoother.wants_dual:
        if len(smoother.fitted_rows) == smoother.n:
            factors = np.stack([smoother.dual.factors(lam) for lam in lams.tolist()])
            least = np.array([least_in_unit(smoother, y, lam) for lam in lams.tolist()])
            return [(np.arange(len(lams)), factor_path(smoother.dual.F, factors, y, smoother.weights, True, least))]
        if 8 * smoother.n**2 * len(lams) > 2 * LARGE_BYTES:
            raise RouteError(
                "Leaving two rows out along a path, with rows of weight zero and p >= n, would hold a matrix for each "
                "value; use n_folds=10, or leave out the rows of weight zero."
            )
        return [(np.arange(len(lams)), StoredPath([make_operator(smoother, y, float(lam)) for lam in lams]))]
    paths: list[tuple[IntArray, OperatorPath]] = []
    for values in smoother.spans(lams):
        reinsch = smoother.reinsch(list(lams[values]))
        factors = np.stack([np.square(reinsch.scale(float(lam))) for lam in lams[values]])
        Z = reinsch.basis.take(np.arange(len(y)))
        path = factor_path(Z, factors, y, smoother.weights, False)
        squares = squared_lengths(reinsch.basis, smoother.unweighted_rows, factors)
        for at, lam in enumerate(lams[values].tolist()):
            mend_unweighted(smoother, y, lam, squares[at], path.r[at])
        paths.append((values, path))
    return paths


class _Sums:
    """Sums over pairs: of changes by rows, of losses by columns (V, n, R), and products of changes."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        V, _, R = shape
        self.row_sums, self.columns = np.zeros((2, *shape))
        self.products, self.own_products = np.zeros((V, V, R)), np.zeros((V, R))
        self._space = np.empty(0)

    def add(self, other: _Sums) -> None:
        """Add those of other pairs."""
        for name in ("row_sums", "columns", "products", "own_products"):
            getattr(self, name)[...] += getattr(other, name)

    def space(self, shape: tuple[int, ...]) -> FloatArray:
        """Space for the changes at j of a tile, if there are several values; the same for all tiles."""
        size = int(np.prod(shape)) if shape[0] > 1 else 0
        if len(self._space) < size:
            self._space = np.empty(size)
        return self._space[:size].reshape(shape if size else (0,))


class RowPairs:
    """All pairs, at all values, of outputs that are computed together."""

    def __init__(self, task: PairTask, outputs: IntArray, log: FailureLog) -> None:
        self.task, self.y, self.log = task, task.problem.y[:, outputs], log
        n, V, Q = len(self.y), task.n_values, len(outputs)
        self.paths: list[tuple[IntArray, OperatorPath]] = []
        self.models: list[tuple[Smoother, FloatArray, float]] = []  # of each value: what a refit needs
        for smoother in task.smoothers:
            lams = smoother.lams[:, min(outputs[0], smoother.lams.shape[1] - 1)]
            centred = smoother.centre(self.y)
            first = len(self.models)
            self.paths += [(first + at, path) for at, path in make_paths(smoother, centred, lams)]
            self.models += [(smoother, centred, float(lam)) for lam in lams]
        self.r, self.diagonal, self.least = np.empty((V, n, Q)), np.empty((V, n)), np.empty((V, 1))
        self.rho, self.light = np.empty((V, n)), np.empty((V, n), dtype=bool)
        for at, path in self.paths:
            self.r[at], self.diagonal[at], self.rho[at], self.light[at] = path.r, path.diagonal, path.rho, path.light
            self.least[at, 0] = batched.TRUSTED * path.scale
        with np.errstate(divide="ignore", invalid="ignore"):
            self.u = self.r / (self.diagonal * self.rho)[..., None]
        is_doubtful = ~(self.diagonal >= self.least)
        for value in np.flatnonzero(is_doubtful.any(axis=1)):
            self.u[value, is_doubtful[value]] = 0.0
            for (i,) in self._refitted(int(value), np.argwhere(is_doubtful[value])):
                self.u[value, i] = self._refit(int(value), i)[0][0]
        self.losses = self._weighted(np.arange(n)[None], self.u)
        for value in np.flatnonzero(~np.isfinite(np.square(self.losses).sum(axis=(1, 2)))):
            log.add(LossOverflowError(OVERFLOW), 0, (), int(value))
        for failure in log.found:
            if isinstance(failure.error, LossOverflowError):
                self.r[failure.value] = self.u[failure.value] = 0.0
                self.losses[failure.value] = self._weighted(np.arange(n), self.u[failure.value])
        self.sums = _Sums(self.losses.shape)
        self.chain = ascending(np.zeros(V))

    def choose_chain(self) -> Chain:
        """A path's neighbours, or models from the best to the worst."""
        errors = self.losses.mean(axis=(1, 2))
        lost = {failure.value for failure in self.log.found} | set(map(int, np.flatnonzero(~np.isfinite(errors))))
        return over_kept(outward if len(self.task.smoothers) == 1 else ascending, errors, lost)

    def _weighted(self, rows: IntArray, u: FloatArray) -> FloatArray:
        """Weighted losses of residuals u (..., Q) at ``rows``, which broadcast against the other axes."""
        losses, weights = self.task.loss.of(self.y[rows], u), self.task.rows.weights
        return losses if weights is None else losses * weights[rows][..., None]

    def _refitted(self, value: int, doubtful: IntArray) -> list[list[int]]:
        """Those of some training sets that are fitted by themselves: all, or none if that would take too long."""
        smoother, _, lam = self.models[value]
        if isinstance(smoother, KernelSmoother) and len(doubtful) * float(smoother.n) ** 3 > MOST_REFIT_WORK:
            error = TrainingSetError(f"{too_small(lam)}, or fewer folds.")
            error.lam = lam
            self.log.add(error, 0, (), value)
            return []
        found: list[list[int]] = doubtful.tolist()
        return found

    def _refit(self, value: int, *rows: int) -> list[FloatArray]:
        smoother, y, lam = self.models[value]
        return refit_or_log(smoother, y, lam, self.task.folds, 0, rows, value, self.log)

    def run(self) -> None:
        """Accumulate the sums over all pairs, in parts that do not depend on the number of threads."""
        n, side = len(self.y), tile_side(self.task.n_values * self.y.shape[1])
        tiles = [(low, other) for low in range(0, n, side) for other in range(low, n, side)]
        n_threads, stopped = self.task.n_threads, Event()

        def accumulate(part: int) -> _Sums:
            sums = _Sums(self.losses.shape)
            for low, other in tiles[part::N_PARTS]:
                if stopped.is_set():
                    break
                ii, jj = np.arange(low, min(low + side, n)), np.arange(other, min(other + side, n))
                if not self._fused(ii, jj, sums):
                    self._tile(ii, jj, sums)
                self.task.tick(1)
            return sums

        with threads(n_threads) as run:
            try:
                for sums in run(accumulate, range(min(N_PARTS, len(tiles)))):
                    self.sums.add(sums)
            finally:
                stopped.set()  # if one has failed, or the user has had enough, the others need not go on

    def _fused(self, ii: IntArray, jj: IntArray, to: _Sums) -> bool:
        """Pairs of a tile by the compiled kernel, output by output; False, with nothing done, if it cannot serve."""
        loss, rows = self.task.loss, (slice(ii[0], ii[-1] + 1), slice(jj[0], jj[-1] + 1))
        if not (compiled.is_on() and (loss.is_squared or loss.is_absolute)) or self.light.any():
            return False
        on_diagonal, several, Q = bool(ii[0] == jj[0]), self.task.n_values > 1, self.y.shape[1]
        A = self._operators(ii, jj)
        changes_j = to.space(A.shape)
        for q in range(Q):
            changes_i = A.copy() if several and q + 1 < Q else A  # the kernel writes over it
            of_i, of_j = (self._of_rows[q][..., some] for some in rows)
            chain = (self.least[:, 0], self.chain.order, self.chain.parents)
            sums = compiled.row_pairs(changes_i, of_i, of_j, *chain, changes_j, on_diagonal, loss.is_absolute)
            if sums is None:  # which pairs are doubtful does not depend on the output
                return False
            for some, found in zip(rows, sums[:2], strict=True):
                to.row_sums[:, some, q] += found[0]
                to.columns[:, some, q] += found[1]
            to.own_products[:, q] += 2 * sums[2]
            product = sums[2][:, None]
            if several:
                product = changes_i.reshape(len(A), -1) @ changes_j.reshape(len(A), -1).T
            to.products[..., q] += product + product.T
        return True

    @cached_property
    def _of_rows(self) -> list[FloatArray]:
        """Of each output: diagonal, r, what a squared or absolute solution is multiplied by, and loss, (4, V, n)."""
        gains = 1.0 / (self.rho if self.task.loss.is_absolute else np.square(self.rho))
        if self.task.rows.weights is not None:
            gains *= self.task.rows.weights
        outputs = range(self.y.shape[1])
        return [np.stack([self.diagonal, self.r[..., q], gains, self.losses[..., q]]) for q in outputs]

    def _operators(self, ii: IntArray, jj: IntArray) -> FloatArray:
        """Tiles (V, i, j) of all operators."""
        if len(self.paths) == 1:
            return self.paths[0][1].tile(ii, jj)
        A = np.empty((self.task.n_values, len(ii), len(jj)))
        for at, path in self.paths:
            A[at] = path.tile(ii, jj)
        return A

    def _tile(self, ii: IntArray, jj: IntArray, to: _Sums) -> None:
        """Pairs of the rows ii with the rows jj; on the diagonal every ordered pair, above it every unordered one."""
        A_ij = self._operators(ii, jj)
        A_ji = A_ij if not self.light.any() else self._operators(jj, ii).swapaxes(1, 2)
        on_diagonal = bool(ii[0] == jj[0])
        V, R = self.task.n_values, self.losses.shape[2]
        changes_i, changes_j = np.empty((2, V, len(ii), len(jj), R))
        for value in range(V):  # one at a time, so that everything stays in the caches
            loss_i, loss_j = self._pair_losses(value, A_ij[value], A_ji[value], ii, jj, on_diagonal)
            change_i = np.subtract(self.losses[value][ii, None], loss_i, out=changes_i[value])
            change_j = np.subtract(self.losses[value][None, jj], loss_j, out=changes_j[value])
            if on_diagonal:
                itself = np.diag_indices(len(ii))
                loss_i[itself] = change_i[itself] = change_j[itself] = 0.0
            else:
                to.row_sums[value, jj] += change_j.sum(axis=0)
                to.columns[value, ii] += loss_j.sum(axis=1)
            to.row_sums[value, ii] += change_i.sum(axis=1)
            to.columns[value, jj] += loss_i.sum(axis=0)
            to.own_products[value] += (1 if on_diagonal else 2) * np.einsum("ijr,ijr->r", change_i, change_j)
        for value in self.chain.order[:0:-1]:  # to increments in place: children before their parents
            changes_i[value] -= changes_i[self.chain.parents[value]]
            changes_j[value] -= changes_j[self.chain.parents[value]]
        for r in range(R):
            product = changes_i[..., r].reshape(V, -1) @ changes_j[..., r].reshape(V, -1).T
            to.products[..., r] += product if on_diagonal else product + product.T

    def _pair_losses(
        self, value: int, A_ij: FloatArray, A_ji: FloatArray, ii: IntArray, jj: IntArray, on_diagonal: bool
    ) -> tuple[FloatArray, FloatArray]:
        """Weighted losses (i, j, R) of i without i and j, and of j."""
        a_i, a_j = self.diagonal[value][ii, None], self.diagonal[value][None, jj]
        determinant = a_i * a_j
        determinant -= A_ij * A_ji
        if on_diagonal:
            determinant[np.diag_indices(len(ii))] = 1.0
        doubtful = self._doubtful(value, determinant, a_i + a_j, ii, jj, on_diagonal)
        with np.errstate(divide="ignore", invalid="ignore"):
            inverse = np.divide(1.0, determinant, out=determinant)
            u_i, u_j = np.empty((2, len(ii), len(jj), self.y.shape[1]))
            for q in range(self.y.shape[1]):
                r_i, r_j = self.r[value, ii, q], self.r[value, jj, q]
                for u, own, other, A, rho in (
                    (u_i[..., q], np.outer(r_i, a_j), r_j, A_ij, self.rho[value][ii, None]),
                    (u_j[..., q], np.outer(a_i, r_j), r_i[:, None], A_ji, self.rho[value][jj]),
                ):
                    own -= A * other
                    own *= inverse
                    np.divide(own, rho, out=u)
        u_i[tuple(doubtful.T)] = u_j[tuple(doubtful.T)] = 0.0
        for i, j in self._refitted(value, doubtful):
            at_i, at_j = self._refit(value, int(ii[i]), int(jj[j]))
            u_i[i, j], u_j[i, j] = at_i[0], at_j[0]
        return self._weighted(ii[:, None], u_i), self._weighted(jj[None], u_j)

    def _doubtful(
        self, value: int, determinant: FloatArray, trace: FloatArray, ii: IntArray, jj: IntArray, on_diagonal: bool
    ) -> IntArray:
        """Pairs whose smaller eigenvalue, between determinant/trace and twice that, is too small to trust."""
        least = self.least[value, 0]
        alone = self.diagonal[value] >= least
        # the trace says nothing if rounding errors have made both diagonals negative
        sound = (determinant >= least * trace) & alone[ii, None] & alone[jj]
        if sound.all():
            return np.zeros((0, 2), dtype=np.intp)
        sound |= self.light[value][ii, None] & alone[jj]
        sound |= self.light[value][jj] & alone[ii, None]
        if on_diagonal:
            sound[np.diag_indices(len(ii))] = True
        return np.argwhere(~sound)

    def covariance(self) -> tuple[FloatArray, FloatArray]:
        """Covariance terms of values (V, R) and of increments (V, V, R).

        ``n^-2 sum_{j != k} B_jk B_kj / (1 - 1/(n-1))^2``, where B is D centred by columns: its products are those of D
        less what the centring takes.
        """
        n = len(self.y)
        factor = 1.0 / (n * (1 - 1 / (n - 1))) ** 2
        centre = (self.losses.sum(axis=1, keepdims=True) - self.losses - self.sums.columns) / (n - 1)
        taken = (
            2 * (centre * self.sums.row_sums).sum(axis=1)
            - np.square(centre.sum(axis=1))
            + np.square(centre).sum(axis=1)
        )
        own = factor * (self.sums.own_products - taken)
        centre, rows = self.chain.increments(centre, axis=0), self.chain.increments(self.sums.row_sums, axis=0)
        crossed = np.einsum("anr,bnr->abr", centre, rows)
        sums = centre.sum(axis=1)
        total = self.sums.products - crossed - crossed.swapaxes(0, 1) + sums[:, None] * sums[None]
        total -= np.einsum("anr,bnr->abr", centre, centre)
        return own, factor * (total + total.swapaxes(0, 1)) / 2
