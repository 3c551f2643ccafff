"""Leave two rows out: the K = n limit of the one-step route, streamed in tiles."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from threading import Event

import numpy as np

from ..errors import LossOverflowError, OneFitWarning, RouteError
from ..folds import Folds
from ..inference.chain import Chain, ascending, outward, over_kept
from ..inference.fold_errors import Failure, FoldErrors, HeldOut, RowRoles, RowTotals, overflowing, spread_of_losses
from ..learners import KernelSmoother, Learner, Refusal, Smoother, Task
from ..linalg import batched, compiled
from ..linalg.path import OperatorPath, StoredPath, factor_path
from ..metrics.losses import Loss
from ..typing import FloatArray, IntArray
from ..validation import Problem
from .contract import Computation, FoldPlan, Offer, Outcome, Partitions, Route, Ticks, Units, Workers
from .costs import Shape, seconds_of
from .engine import FailureLog, refit_or_log
from .onestep import make_operator
from .repeats import NOT_A_SMOOTHER, OVERFLOW, reasons_of, shape_of
from .threads import threads

__all__ = ["LeaveTwoOut", "LeaveTwoOutRoute", "leave_two_out_work"]

MOST_TRIED = 5000
"""Rows up to which "auto" leaves two out."""

MOST_TRIED_DUAL = 2000
"""The same for p >= n and kernels, where it costs n^3."""

LARGE_BYTES = 2**30
KERNEL_BYTES = 2**30
"""Above this a kernel model has spoken of its matrices when it was made."""

TILE_BYTES = 8 * 2**20
N_PARTS = 64
"""Parts that the sums over all pairs are made in: always the same ones, in the same order, whoever computes them."""


def tile_side(n_cells: int) -> int:
    """Rows in a tile: pairs at one value are to stay in the caches, and those at all values and outputs in memory."""
    return int(np.clip(np.sqrt(TILE_BYTES / (8 * n_cells)), 64, 160))


def n_tiles(n: int, n_cells: int) -> int:
    """Number of tiles of pairs of rows."""
    side = -(-n // tile_side(n_cells))
    return side * (side + 1) // 2


class LeaveTwoOutRoute(Route):
    """Linear smoothers with folds of single rows: all models of a comparison in one pass over the pairs of rows."""

    name = "onestep"
    serves_together = True

    def offer(self, learners: Sequence[Learner], task: Task, plan: FoldPlan) -> Offer | Refusal:
        """The cost of 2 x 2 systems."""
        if not plan.is_single_rows:
            return Refusal("it is for folds of single rows")
        smoothers = [learner for learner in learners if isinstance(learner, Smoother)]
        if len(smoothers) < len(learners):
            return NOT_A_SMOOTHER
        for smoother in smoothers:
            if smoother.why_not_onestep:
                return Refusal(smoother.why_not_onestep, 'or use route="gram"')
        most = MOST_TRIED_DUAL if any(smoother.wants_dual for smoother in smoothers) else MOST_TRIED
        if plan.is_trial and task.problem.n > most:
            return Refusal(f'n_folds="auto" leaves two rows out up to {most:,} rows')
        seconds = sum(seconds_of("leavetwo", leave_two_out_work(shape_of(smoother, plan))) for smoother in smoothers)
        return Offer(seconds, "two rows out at a time, in 2 x 2 systems")

    def begin(
        self, learners: Sequence[Learner], task: Task, partitions: Partitions, workers: Workers, ticks: Ticks
    ) -> Computation:
        """Nothing is decomposed before it runs."""
        smoothers = [learner for learner in learners if isinstance(learner, Smoother)]
        return LeaveTwoOut(task.problem, smoothers, task.loss, ticks.advance, workers.n_threads)


def leave_two_out_work(shape: Shape) -> dict[str, float]:
    """How often the route does what it does."""
    n, V, q = shape.n, shape.V, shape.q
    return {"call": 1.0, "decompositions": n * shape.p * q, "operators": V * n**2 * q, "pairs": V * n**2}


class LeaveTwoOut:
    r"""All pairs of rows.

    Notes
    -----
    With folds of one row the pair system is 2 x 2,

    .. math:: u_i(-ij) = (a_{jj} r_i - a_{ij} r_j) / (a_{ii} a_{jj} - a_{ij}^2).

    With ``D_ij = l_i - l_i(-ij)``, the covariance rule needs only the sums of D over rows and over columns and
    the sum of the products ``D_ij D_ji``, so A is made in tiles and forgotten; all parameter values in the same pass,
    with the products between values, which their paired differences need. For p >= n and kernels one n x n matrix is
    held. Several smoothers stand one after the other on the axis of values. ``tick`` counts tiles.

    The user can stop it between two tiles, but not within a decomposition, which is one call of LAPACK.
    """

    def __init__(
        self,
        problem: Problem,
        smoothers: Sequence[Smoother],
        loss: Loss,
        tick: Callable[[int], None],
        n_threads: int = 1,
    ) -> None:
        self.n_threads = n_threads
        self.problem, self.smoothers, self.loss, self.tick = problem, list(smoothers), loss, tick
        self.n_values = sum(smoother.n_values for smoother in smoothers)
        self.rows = RowRoles.of(problem.weights, None)
        n = problem.n
        self.folds = Folds(np.arange(n, dtype=np.intp)[None], n)
        said = [isinstance(smoother, KernelSmoother) and 8 * n**2 > KERNEL_BYTES for smoother in smoothers]
        if any(smoother.wants_dual for smoother in smoothers) and 8 * n**2 > LARGE_BYTES and not any(said):
            warnings.warn(
                f"With p >= n, or a kernel, leaving two rows out holds some matrices of {n} x {n}, "
                f"{8 * n**2 / 2**30:.1f} GB each; so does n_folds=10. A design with p < n does not.",
                OneFitWarning,
                stacklevel=5,
            )

    def _groups(self) -> Iterator[IntArray]:
        """Outputs that are computed together: all, or one by one if some have penalties of their own."""
        everyone = np.arange(self.problem.n_outputs)
        if all(smoother.lams.shape[1] == 1 for smoother in self.smoothers):
            yield everyone
        else:
            yield from everyone[:, None]

    @property
    def units(self) -> Units:
        """Tiles of pairs of rows."""
        total = sum(n_tiles(self.problem.n, self.n_values * len(outputs)) for outputs in self._groups())
        return Units(total, "tiles")

    def run(self) -> Outcome:
        """Fold errors of the one repeat that there is, and its held-out rows."""
        log = FailureLog(self.n_values)
        errors, totals = self._compute(log)
        lost = {value for _, value in overflowing(errors, 0)} - {failure.value for failure in log.found}
        log.found.extend(Failure(0, (), value, LossOverflowError(OVERFLOW)) for value in lost)
        if lost and len(lost) < self.n_values:
            errors, totals = self._compute(log)  # without them: what is infinite would spoil what it is paired with
        return Outcome(errors, totals, failures=reasons_of(log.found, self.n_values))

    def _compute(self, log: FailureLog) -> tuple[FoldErrors, RowTotals]:
        n, V, Q = self.problem.n, self.n_values, self.problem.n_outputs
        R = self.loss.n_losses(Q)
        single = HeldOut.empty(self.folds, V, Q, R)
        e_in, covariance, paired_covariance = np.empty((1, n, V, R)), np.empty((1, V, R)), np.empty((1, V, V, R))
        chain = None
        for outputs in self._groups():
            losses = outputs if self.loss.classes is None else np.array([0])
            y = self.problem.y[:, outputs]
            pairs = _Pairs(self, outputs, log)
            chain = pairs.choose_chain() if chain is None else chain
            pairs.chain = chain
            u = pairs.u.swapaxes(0, 1)  # (n, V, Q)
            single.residuals[0][:, :, outputs] = self.loss.decided_residuals(y[:, None], u)
            single.losses[0][:, :, losses] = self.loss.of(y[:, None], u)
            pairs.run()
            e_in[0][:, :, losses] = pairs.sums.columns.swapaxes(0, 1) / (n - 1)
            covariance[0][:, losses], paired_covariance[0][:, :, losses] = pairs.covariance()
        assert chain is not None
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
            **spread_of_losses(single.losses, self.rows, chain),
            covariance=covariance,
            chain=chain,
            paired_covariance=paired_covariance,
        )
        return errors, totals


def make_paths(smoother: Smoother, y: FloatArray, lams: FloatArray) -> list[tuple[IntArray, OperatorPath]]:
    """The operators of a smoother's path, penalized and unpenalized values apart, with the values of each."""
    if smoother.wants_dual:
        if len(smoother.fitted_rows) == smoother.n:
            factors = 1.0 / (smoother.dual.e + lams[:, None])
            return [(np.arange(len(lams)), factor_path(smoother.dual.F, factors, y, smoother.weights, True))]
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
        paths.append((values, factor_path(Z, factors, y, smoother.weights, False)))
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


class _Pairs:
    """All pairs, at all values, of outputs that are computed together."""

    def __init__(self, route: LeaveTwoOut, outputs: IntArray, log: FailureLog) -> None:
        self.route, self.y, self.log = route, route.problem.y[:, outputs], log
        n, V, Q = len(self.y), route.n_values, len(outputs)
        self.paths: list[tuple[IntArray, OperatorPath]] = []
        self.models: list[tuple[Smoother, FloatArray, float]] = []  # of each value: what a refit needs
        for smoother in route.smoothers:
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
        for value, i in np.argwhere(~(self.diagonal >= self.least)):
            self.u[value, i] = self._refit(int(value), int(i))[0][0]
        for failure in log.found:  # what has overflowed, and would again
            if isinstance(failure.error, LossOverflowError):
                self.r[failure.value] = self.u[failure.value] = 0.0
        self.losses = self._weighted(np.arange(n)[None], self.u)
        self.sums = _Sums(self.losses.shape)
        self.chain = ascending(np.zeros(V))

    def choose_chain(self) -> Chain:
        """A path's neighbours, or models from the best to the worst."""
        errors = self.losses.mean(axis=(1, 2))
        lost = {failure.value for failure in self.log.found} | set(map(int, np.flatnonzero(~np.isfinite(errors))))
        return over_kept(outward if len(self.route.smoothers) == 1 else ascending, errors, lost)

    def _weighted(self, rows: IntArray, u: FloatArray) -> FloatArray:
        """Weighted losses of residuals u (..., Q) at ``rows``, which broadcast against the other axes."""
        losses, weights = self.route.loss.of(self.y[rows], u), self.route.rows.weights
        return losses if weights is None else losses * weights[rows][..., None]

    def _refit(self, value: int, *rows: int) -> list[FloatArray]:
        smoother, y, lam = self.models[value]
        return refit_or_log(smoother, y, lam, self.route.folds, 0, rows, value, self.log)

    def run(self) -> None:
        """Accumulate the sums over all pairs, in parts that do not depend on the number of threads."""
        n, side = len(self.y), tile_side(self.route.n_values * self.y.shape[1])
        tiles = [(low, other) for low in range(0, n, side) for other in range(low, n, side)]
        n_threads, stopped = self.route.n_threads, Event()

        def accumulate(part: int) -> _Sums:
            sums = _Sums(self.losses.shape)
            for low, other in tiles[part::N_PARTS]:
                if stopped.is_set():
                    break
                ii, jj = np.arange(low, min(low + side, n)), np.arange(other, min(other + side, n))
                if not self._fused(ii, jj, sums):
                    self._tile(ii, jj, sums)
                self.route.tick(1)
            return sums

        with threads(n_threads) as run:
            try:
                for sums in run(accumulate, range(min(N_PARTS, len(tiles)))):
                    self.sums.add(sums)
            finally:
                stopped.set()  # if one has failed, or the user has had enough, the others need not go on

    def _fused(self, ii: IntArray, jj: IntArray, to: _Sums) -> bool:
        """Pairs of a tile by the compiled kernel, output by output; False, with nothing done, if it cannot serve."""
        loss, rows = self.route.loss, (slice(ii[0], ii[-1] + 1), slice(jj[0], jj[-1] + 1))
        if not (compiled.is_on() and (loss.is_squared or loss.is_absolute)) or self.light.any():
            return False
        on_diagonal, several, Q = bool(ii[0] == jj[0]), self.route.n_values > 1, self.y.shape[1]
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
        gains = 1.0 / (self.rho if self.route.loss.is_absolute else np.square(self.rho))
        if self.route.rows.weights is not None:
            gains *= self.route.rows.weights
        outputs = range(self.y.shape[1])
        return [np.stack([self.diagonal, self.r[..., q], gains, self.losses[..., q]]) for q in outputs]

    def _operators(self, ii: IntArray, jj: IntArray) -> FloatArray:
        """Tiles (V, i, j) of all operators."""
        if len(self.paths) == 1:
            return self.paths[0][1].tile(ii, jj)
        A = np.empty((self.route.n_values, len(ii), len(jj)))
        for at, path in self.paths:
            A[at] = path.tile(ii, jj)
        return A

    def _tile(self, ii: IntArray, jj: IntArray, to: _Sums) -> None:
        """Pairs of the rows ii with the rows jj; on the diagonal every ordered pair, above it every unordered one."""
        A_ij = self._operators(ii, jj)
        A_ji = A_ij if not self.light.any() else self._operators(jj, ii).swapaxes(1, 2)
        on_diagonal = bool(ii[0] == jj[0])
        V, R = self.route.n_values, self.losses.shape[2]
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
        for i, j in doubtful:
            at_i, at_j = self._refit(value, int(ii[i]), int(jj[j]))
            u_i[i, j], u_j[i, j] = at_i[0], at_j[0]
        return self._weighted(ii[:, None], u_i), self._weighted(jj[None], u_j)

    def _doubtful(
        self, value: int, determinant: FloatArray, trace: FloatArray, ii: IntArray, jj: IntArray, on_diagonal: bool
    ) -> list[tuple[int, int]]:
        """Pairs whose smaller eigenvalue, between determinant/trace and twice that, is too small to trust."""
        least = self.least[value, 0]
        alone = self.diagonal[value] >= least
        # the trace says nothing if rounding errors have made both diagonals negative
        sound = (determinant >= least * trace) & alone[ii, None] & alone[jj]
        if sound.all():
            return []
        sound |= self.light[value][ii, None] & alone[jj]
        sound |= self.light[value][jj] & alone[ii, None]
        if on_diagonal:
            sound[np.diag_indices(len(ii))] = True
        return [(int(i), int(j)) for i, j in np.argwhere(~sound)]

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
