"""Leave two rows out: the K = n limit of the one-step route, streamed in tiles."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from ..errors import LossOverflowError, OneFitWarning
from ..inference.fold_errors import FoldErrors, HeldOut, overflowing, spread_of_losses
from ..inference.rowtotals import RowTotals
from ..learners import KernelSmoother, Learner, Refusal, Smoother, Task
from ..metrics.losses import Loss
from ..typing import IntArray
from ..validation import Problem
from .contract import Computation, FoldPlan, Offer, Outcome, Partitions, Route, Ticks, Units, Workers, ignore
from .costs import Shape, seconds_of
from .engine import FailureLog
from .repeats import OVERFLOW, first_errors, not_a_smoother, shape_of
from .rowpairs import LARGE_BYTES, PairTask, RowPairs, tile_side

__all__ = ["LeaveTwoOut", "LeaveTwoOutRoute", "leave_two_out_work"]

MOST_TRIED = 5000
"""Rows up to which "auto" leaves two out."""

MOST_TRIED_DUAL = 2000
"""The same for p >= n and kernels, where it costs n^3."""

KERNEL_BYTES = 2**30
"""Above this a kernel model has spoken of its matrices when it was made."""


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
        if task.loss.keeps_scores:
            return Refusal("it keeps no scores of pairs of rows")
        others = [learner for learner in learners if not isinstance(learner, Smoother)]
        if others:
            return not_a_smoother(others[0])
        smoothers = [learner for learner in learners if isinstance(learner, Smoother)]
        if any(smoother.has_own_target for smoother in smoothers):
            return Refusal("a model is fitted to a function of y")
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


class LeaveTwoOut(PairTask):
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
        super().__init__(problem, list(smoothers), loss, tick, n_threads)
        n = problem.n
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
        log = FailureLog(*(smoother.n_values for smoother in self.smoothers))
        errors, totals = self._compute(log)
        known = {failure.value for failure in log.found}
        lost = [value for _, value in overflowing(errors, 0) if value not in known]
        for value in lost:
            log.add(LossOverflowError(OVERFLOW), 0, (), value)
        if lost:  # by pairs alone, which is rare: again without them, as what is infinite spoils what it is paired with
            self.tick = ignore
            errors, totals = self._compute(log)
        return Outcome(errors, totals, failures=first_errors(log.found, self.n_values))

    def _compute(self, log: FailureLog) -> tuple[FoldErrors, RowTotals]:
        n, V, Q = self.problem.n, self.n_values, self.problem.n_outputs
        R = self.loss.n_losses(Q)
        single = HeldOut.empty(self.folds, V, Q, R)
        e_in, covariance, paired_covariance = np.empty((1, n, V, R)), np.empty((1, V, R)), np.empty((1, V, V, R))
        chain = None
        for outputs in self._groups():
            losses = outputs if self.loss.classes is None else np.array([0])
            y = self.problem.y[:, outputs]
            pairs = RowPairs(self, outputs, log)
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
        single.add_to(totals)
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
            is_ranked=False,
        )
        return errors, totals
