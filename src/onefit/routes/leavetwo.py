"""Leave two rows out: the K = n limit of the one-step route, streamed in tiles."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator

import numpy as np

from ..errors import OneFitWarning
from ..fold_errors import FoldErrors, HeldOut, Rows, RowTotals, spread_of_losses
from ..folds import Folds
from ..learners import Smoother
from ..linalg import batched
from ..losses import Loss
from ..typing import FloatArray, IntArray
from ..validation import Problem
from .base import refit_residuals
from .onestep import make_operator

__all__ = ["LeaveTwoOut", "n_tiles"]

TILE = 256
LARGE_BYTES = 2**30


def n_tiles(n: int) -> int:
    """Number of tiles of pairs of rows."""
    side = -(-n // TILE)
    return side * (side + 1) // 2


class LeaveTwoOut:
    r"""All pairs of rows.

    Notes
    -----
    With folds of one row the pair system is 2 x 2,

    .. math:: u_i(-ij) = (a_{jj} r_i - a_{ij} r_j) / (a_{ii} a_{jj} - a_{ij}^2).

    With ``D_ij = l_i - l_i(-ij)``, the covariance rule needs only the sums of D over rows and over columns and
    the sum of the products ``D_ij D_ji``, so A is made in tiles and forgotten. For p >= n and kernels one n x n
    matrix is held.
    """

    name = "onestep"

    def __init__(self, problem: Problem, smoother: Smoother, loss: Loss, tick: Callable[[int], None]) -> None:
        self.problem, self.smoother, self.loss, self.tick = problem, smoother, loss, tick
        self.n_values = smoother.n_values
        self.rows = Rows.of(problem.weights, None)
        n = problem.n
        self.folds = Folds(np.arange(n, dtype=np.intp)[None], n)
        if smoother.wants_dual and 8 * n**2 > LARGE_BYTES:
            warnings.warn(
                f"Leaving two rows out of a kernel model, or with p >= n, holds matrices of {n} x {n}, "
                f"{8 * n**2 / 2**30:.1f} GB each; n_folds=10 needs the same, a design with p < n does not.",
                OneFitWarning,
                stacklevel=5,
            )

    def compute(self) -> tuple[FoldErrors, RowTotals]:
        """Fold errors of the one repeat that there is, and its held-out rows."""
        n, V, Q = self.problem.n, self.n_values, self.problem.n_outputs
        R = self.loss.n_losses(Q)
        single = HeldOut.empty(self.folds, V, Q, R)
        e_in, covariance = np.empty((1, n, V, R)), np.empty((1, V, R))
        for outputs, lams in self.smoother.outputs(Q):
            losses = outputs if self.loss.classes is None else [0]
            y = self.problem.y[:, outputs]
            for value, lam in enumerate(lams):
                pairs = _Pairs(self, y, float(lam))
                single.residuals[0][:, value, outputs] = self.loss.settle(y, pairs.u)
                single.losses[0][:, value, losses] = self.loss.of(y, pairs.u)
                pairs.run()
                e_in[0][:, value, losses] = pairs.columns / (n - 1)
                covariance[0, value, losses] = pairs.covariance()
        totals = RowTotals(n, V, Q, R)
        totals.add(single)
        weighted = self.rows.weigh(single.losses)
        errors = FoldErrors(
            sizes=self.folds.sizes,
            n_rows=n,
            n_groups=None,
            e_in=e_in,
            e_out=weighted,
            v_out=np.full_like(weighted, np.nan),
            mse=np.full((1, V, R), np.nan),
            raw=e_in.mean(axis=1),
            cv=weighted.mean(axis=1),
            pair_scatter=np.full((1, V, R), np.nan),
            row_variance=weighted.var(axis=1, ddof=1) / n,
            spread=spread_of_losses(single.losses, self.rows),
            covariance=covariance,
        )
        return errors, totals


class _Pairs:
    """All pairs at one value, of the outputs that share it."""

    def __init__(self, route: LeaveTwoOut, y: FloatArray, lam: float) -> None:
        self.route, self.y, self.lam = route, y, lam
        self.centred = route.smoother.centre(y)
        self.operator = make_operator(route.smoother, self.centred, lam)
        self.diagonal, self.r, self.rho = self.operator.diagonal(), self.operator.r[:-1], self.operator.rho[:-1]
        least = batched.TRUSTED * self.operator.scale
        weights = route.rows.weights
        self.weights = np.ones(len(y)) if weights is None else weights
        with np.errstate(divide="ignore", invalid="ignore"):
            self.u = self.r / self.diagonal[:, None] / self.rho[:, None]
        for i in np.flatnonzero(~(self.diagonal >= least)):
            self.u[i] = self._refit(int(i))[0][0]
        self.losses = self._weighted(np.arange(len(y)), self.u)
        self.row_sums, self.columns = np.zeros((2, *self.losses.shape))
        self.products = np.zeros(self.losses.shape[1])

    def _weighted(self, rows: IntArray, u: FloatArray) -> FloatArray:
        """Weighted losses of residuals u (len(rows), ..., Q)."""
        between = (1,) * (u.ndim - 2)
        y = self.y[rows].reshape(len(rows), *between, -1)
        return self.route.loss.of(y, u) * self.weights[rows].reshape(len(rows), *between, 1)

    def _refit(self, *rows: int) -> list[FloatArray]:
        return refit_residuals(self.route.smoother, self.centred, self.lam, self.route.folds, 0, rows)

    def run(self) -> None:
        """Accumulate the sums over all pairs."""
        n = len(self.y)
        starts = range(0, n, TILE)
        for low in starts:
            for other in (s for s in starts if s >= low):
                ii, jj = np.arange(low, min(low + TILE, n)), np.arange(other, min(other + TILE, n))
                self._tile(ii, jj)
                self.route.tick(1)

    def _tile(self, ii: IntArray, jj: IntArray) -> None:
        """Pairs of the rows ii with the rows jj; on the diagonal every ordered pair, above it every unordered one."""
        A_ij = self.operator.blocks(ii, jj)
        A_ji = A_ij if self.operator.is_symmetric else self.operator.blocks(jj, ii).T
        a_i, a_j = self.diagonal[ii][:, None], self.diagonal[jj][None]
        determinant = a_i * a_j - A_ij * A_ji
        on_diagonal = ii[0] == jj[0]
        if on_diagonal:
            determinant[np.diag_indices(len(ii))] = 1.0
        with np.errstate(divide="ignore", invalid="ignore"):
            u_i = (a_j[..., None] * self.r[ii][:, None] - A_ij[..., None] * self.r[jj][None]) / determinant[..., None]
            u_j = (a_i[..., None] * self.r[jj][None] - A_ji[..., None] * self.r[ii][:, None]) / determinant[..., None]
        u_i /= self.rho[ii][:, None, None]
        u_j /= self.rho[jj][None, :, None]
        for i, j in self._doubtful(determinant, a_i + a_j, ii, jj, on_diagonal):
            first, second = self._refit(int(ii[i]), int(jj[j]))
            u_i[i, j], u_j[i, j] = first[0], second[0]
        self._add(ii, jj, self._weighted(ii, u_i), self._weighted(jj, u_j.swapaxes(0, 1)).swapaxes(0, 1), on_diagonal)

    def _doubtful(
        self,
        determinant: FloatArray,
        trace: FloatArray,
        ii: IntArray,
        jj: IntArray,
        on_diagonal: bool,
    ) -> Iterator[tuple[int, int]]:
        """Pairs whose smaller eigenvalue, between determinant/trace and twice that, is too small to trust."""
        sound = determinant >= batched.TRUSTED * self.operator.scale * trace
        sound |= self.operator.light[ii][:, None] & (self.diagonal[jj] >= batched.TRUSTED * self.operator.scale)[None]
        sound |= self.operator.light[jj][None] & (self.diagonal[ii] >= batched.TRUSTED * self.operator.scale)[:, None]
        if on_diagonal:
            sound[np.diag_indices(len(ii))] = True
        yield from zip(*np.nonzero(~sound), strict=True)

    def _add(self, ii: IntArray, jj: IntArray, loss_i: FloatArray, loss_j: FloatArray, on_diagonal: bool) -> None:
        """Add the losses of i without i and j, and of j, to the sums."""
        change_i = self.losses[ii][:, None] - loss_i
        change_j = self.losses[jj][None] - loss_j
        if on_diagonal:
            itself = np.diag_indices(len(ii))
            loss_i[itself] = change_i[itself] = change_j[itself] = 0.0
            loss_j[itself] = 0.0
        self.row_sums[ii] += change_i.sum(axis=1)
        self.columns[jj] += loss_i.sum(axis=0)
        product = np.einsum("ijr,ijr->r", change_i, change_j)
        if on_diagonal:
            self.products += product
            return
        self.row_sums[jj] += change_j.sum(axis=0)
        self.columns[ii] += loss_j.sum(axis=1)
        self.products += 2 * product

    def covariance(self) -> FloatArray:
        """Covariance term, ``n^-2 sum_{j != k} B_jk B_kj / (1 - 1/(n-1))^2`` with B centred by columns."""
        n = len(self.y)
        centre = (self.losses.sum(axis=0) - self.losses - self.columns) / (n - 1)
        crossed = (centre * self.row_sums).sum(axis=0)
        total = self.products - 2 * crossed + np.square(centre.sum(axis=0)) - np.square(centre).sum(axis=0)
        term: FloatArray = total / n**2 / (1 - 1 / (n - 1)) ** 2
        return term
