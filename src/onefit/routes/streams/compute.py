"""From a table to fold errors: a first pass for statistics, small systems, and a second pass for losses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

import numpy as np

from ...errors import LossOverflowError, OneFitError, TrainingSetError
from ...folds import Folds
from ...inference.averaged import figures_of
from ...inference.chain import Chain, ascending, outward, over_kept
from ...inference.fold_errors import Failure, PairErrors, RowRoles, overflowing, summarize
from ...inference.intervals import Rule
from ...inference.montecarlo import Stopping, is_precise
from ...inference.row_sums import spread_tables
from ...inference.rowtotals import RowTotals
from ...inference.tails import UnitSizes
from ...metrics.asked import rule_scale_of
from ...metrics.losses import Loss
from ...sources import Keep, PassRunner, Piece
from ...typing import FloatArray, IntArray
from ..contract import Remark, Ticks, Units
from ..engine import FailureLog
from ..gramstream import MOST_CANCELLED
from ..measured import n_figures
from ..repeats import OVERFLOW, first_errors
from ..score import Question
from ..solve import JoinedSets
from .estimate import PassEstimate, estimate_passes
from .glm import GLMModel
from .glmfit import expected_passes
from .keeping import KeepTask, KeptScoring, add_kept
from .measuring import ComponentLoss, Constants, InfluenceLoss, MetricLoss
from .models import StreamedModel
from .outcome import Held, Sample, StreamedFolds, StreamedOutcome
from .passes import Collected, Scored, ScoreTask, add_scored
from .reduction import Reduction, reduce_means, weight_scales
from .rows import RowReader
from .summary import SummaryPlan
from .training import FirstPass, refuse_doubtful

__all__ = ["Sample", "StreamedComputation", "StreamedFolds", "StreamedOutcome"]

ROUNDS = (2, 5, 10, 20, 40)
"""Repeats at which ``n_repeats="auto"`` looks: every time takes two passes, so there are few of them."""

T = TypeVar("T")


@dataclass
class StreamedComputation:
    """All models of a job on a table, the last of which is the best constant.

    Attributes
    ----------
    models : sequence of StreamedModel
    reader : RowReader
    sample : Sample
    pieces : sequence of Piece
    n_rows : int
    runner : PassRunner
    loss : Loss
    rule : Rule
    n_repeats : int or None
        None is "auto".
    stopping : Stopping
    ticks : Ticks
    needs_scatter : bool
        Whether the rule needs losses of every row with each pair of folds out.
    group_counts : array or None
        Rows of each group.
    keep : function
        Of the name of a pass: where its sums are kept, or None.
    flush : function or None
        Writes what is kept, when a job ends or is stopped.
    kept : KeptScoring or None
        Metrics for which the scores of all rows are kept.
    """

    models: Sequence[StreamedModel]
    reader: RowReader
    sample: Sample
    pieces: Sequence[Piece]
    n_rows: int
    runner: PassRunner
    loss: Loss
    rule: Rule
    n_repeats: int | None
    stopping: Stopping
    ticks: Ticks
    needs_scatter: bool
    group_counts: IntArray | None
    keep: Callable[[str], Keep | None]
    flush: Callable[[], None] | None = None
    kept: KeptScoring | None = None
    notes: list[str] = field(default_factory=list)
    criteria: dict[str, FloatArray] | None = None

    @property
    def units(self) -> Units:
        """Pieces, in two passes, one more for functions of means, and those that models that iterate will take."""
        passes = (
            2
            + isinstance(self.loss, ComponentLoss)
            + sum(expected_passes(model) for model in self.models if isinstance(model, GLMModel))
        )
        return Units(passes * len(self.pieces), "pieces of the table")

    @property
    def estimate(self) -> PassEstimate | None:
        """What models that iterate will take; None if there are none."""
        return estimate_passes(self.models, self.reader, self.n_rows, self.n_repeats or ROUNDS[0])

    def run(self) -> StreamedOutcome:
        """Compute all repeats; of "auto", as many as suffice."""
        rounds = ROUNDS if self.n_repeats is None else (self.n_repeats,)
        try:
            for at, count in enumerate(rounds):
                outcome = self._run(replace(self.reader, repeats=tuple(range(count))))
                kept = np.ones(outcome.errors.raw.shape[1], dtype=bool)
                kept[[-1, *outcome.failures]] = False
                errors, scale = outcome.errors, self.loss.scale
                if self.kept is not None:
                    errors, scale = self.kept.first(errors)
                elif isinstance(self.loss, MetricLoss):
                    errors, scale = figures_of(errors, self.loss.first), rule_scale_of(self.loss.metrics[0])
                if at == len(rounds) - 1 or is_precise(errors, self.rule, scale, kept, self.stopping):
                    break
        except BaseException:
            self.ticks.stop()
            raise
        finally:
            if self.flush is not None:
                self.flush()
        return outcome

    def _run(self, reader: RowReader) -> StreamedOutcome:
        folds = StreamedFolds.of(reader, self.n_rows)
        first = FirstPass(self.models, self.sample, self.n_rows, reader, folds, self._pass, self._still_wanted)
        collected, sets, self.criteria = first.train()
        joined = JoinedSets(sets)
        log = FailureLog(*(model.n_values for model in self.models))
        refuse_doubtful(self.models, sets, folds, log)
        failed = {failure.value for failure in log.found}
        mean_weight = collected.weights.first / collected.weights.n
        if self.kept is not None:
            return self._kept_outcome(self.kept, reader.relative(mean_weight), joined, collected, log)
        means = None
        if self.loss.is_squared and joined.squares is not None:
            means = joined.squares / (mean_weight * folds.sizes[:, :, None, None, None])
        reader, loss, reduction = reader.relative(mean_weight), self.loss, None
        if isinstance(loss, ComponentLoss):
            loss = replace(loss, constants=self._constants(collected))
        guess = self._own_squares(joined, folds, mean_weight, loss) if means is None else None
        own = np.einsum("ljjvr->ljvr", means) if means is not None else guess
        assert own is not None
        share = folds.sizes[:, :, None, None] / self.n_rows
        middle = (share * own).sum(axis=1)
        chain = self._chain(middle[0].mean(axis=1), failed)
        if isinstance(loss, ComponentLoss):
            found = self._second_pass(reader, joined, collected, chain, own, middle, loss, by_rows=True)
            scales = weight_scales(found.scores.repeats)
            reduction = reduce_means(loss, *found.tables(folds.sizes), folds.sizes, scales)
            loss, own, middle = reduction.loss, reduction.own, reduction.middle
            chain = self._chain(middle[0].mean(axis=1), failed)
        by_rows = means is None and reduction is None
        scored = self._second_pass(reader, joined, collected, chain, own, middle, loss, by_rows)
        return self._outcome(folds, scored, means, chain, log.found, collected, reduction)

    def _kept_outcome(
        self, kept: KeptScoring, reader: RowReader, joined: JoinedSets, collected: Collected, log: FailureLog
    ) -> StreamedOutcome:
        """From the scores of all rows; these are not written into a checkpoint."""
        L, K, _, V, Q = joined.own.shape
        task = KeepTask(reader, tuple(model.rows for model in self.models), joined)
        rows = self.runner.sum(task, self.pieces, add_kept, self.ticks.advance, None)
        R = n_figures(kept.task)
        plan = self._summary_plan(collected, (V, Q, R, L), np.ones((V + 1, R)))
        chain = self._chain(np.zeros(V), {failure.value for failure in log.found})
        errors, summary, values, roles = kept.errors(rows, K, chain, log.found, plan, self.reader.target.middle)
        failed = first_errors([each for each in log.found if each.value < V - 1], V - 1)
        units = UnitSizes.of(roles, self.n_rows)
        nothing = RowTotals(0, V, 1, 1)
        return StreamedOutcome(
            errors, nothing, None, failed, (), tuple(map(Remark, self.notes)), summary, units, values, roles
        )

    def _summary_plan(self, collected: Collected, shape: tuple[int, int, int, int], typical: FloatArray) -> SummaryPlan:
        """What is summed of values, outputs, losses and repeats; ``typical`` (V + 1, R) is about what losses are."""
        total = collected.statistics[-1].total
        mean = self._constant_pilot + total[0, 1:] / total[0, 0]
        n_groups = None if self.group_counts is None else len(self.group_counts)
        return SummaryPlan(*shape, mean, float(self.n_rows), np.where(typical > 0, typical, 1.0), n_groups)

    def _constants(self, collected: Collected) -> Constants:
        """Weighted means of y over all rows and over the rows of each fold, as constants that metrics know."""
        statistics, pilot = collected.statistics[-1], self._constant_pilot + self.reader.target.middle
        products, total = statistics.products, statistics.total
        with np.errstate(invalid="ignore", divide="ignore"):  # a fold without weight is refused by its metrics
            by_fold = pilot + products[:, :, 0, 1:] / products[:, :, 0, :1]
        return Constants.of_means(pilot + total[0, 1:] / total[0, 0], by_fold, self.loss.classes)

    def _pass(self, task: Callable[[Piece], T], add: Callable[[T, T], T], name: str) -> T:
        return self.runner.sum(task, self.pieces, add, self.ticks.advance, self.keep(name))

    def _still_wanted(self) -> None:
        self.ticks.advance(0)

    def _own_squares(self, joined: JoinedSets, folds: Folds, mean_weight: float, loss: Loss) -> FloatArray:
        """About how large the losses of each fold are, (L, K, V, R), where squares do not tell."""
        L, K, _, V, Q = joined.own.shape
        R = loss.n_losses(Q)
        has_unit = loss.is_absolute or loss.classes is not None  # that of residuals: about other losses sums cancel
        if joined.squares is None or isinstance(loss, MetricLoss) or not has_unit:
            return np.broadcast_to(self._losses_of_sample(joined, loss, R), (L, K, V, R))
        squares = np.einsum("ljjvq->ljvq", joined.squares) / (mean_weight * folds.sizes[:, :, None, None])
        typical: FloatArray = np.sqrt(np.maximum(squares, 0.0))
        return typical if typical.shape[-1] == R else typical.mean(axis=-1, keepdims=True)

    def _losses_of_sample(self, joined: JoinedSets, loss: Loss, n_losses: int) -> FloatArray:
        """Mean losses (V, R) of rows that are in memory, by coefficients of one training set."""
        parts = [part for columns in self.sample.designs for part in (columns.E, columns.N)]
        observed = (self.sample.y + self.reader.target.middle)[:, None]
        residuals = np.hstack([*parts, self.sample.y]) @ joined.own_residuals[0, 0]
        residuals = residuals.reshape(len(observed), *joined.own.shape[3:])
        for values, family in joined.links:
            residuals[:, values] = observed - family.predicted(-residuals[:, values])
        try:
            with np.errstate(all="ignore"):
                loss = loss.among(0, np.zeros(len(observed), dtype=np.intp))
                means = np.mean(loss.of(observed, residuals), axis=0)
        except OneFitError:  # of rows that have levels of all columns, and need not exist
            means = np.zeros((joined.own.shape[3], n_losses))
        return np.where(np.isfinite(means), means, 0.0)

    def _chain(self, errors: FloatArray, failed: set[int]) -> Chain:
        """How values are paired; the constant, the last one, is paired with the best of the others."""
        is_path = len(self.models) == 2 and self.models[0].is_path
        return over_kept(outward if is_path else ascending, errors, failed | {len(errors) - 1})

    def _second_pass(
        self,
        reader: RowReader,
        joined: JoinedSets,
        collected: Collected,
        chain: Chain,
        own: FloatArray,
        middle: FloatArray,
        loss: Loss,
        by_rows: bool,
    ) -> Scored:
        _, _, _, V, Q = joined.own.shape
        R = own.shape[-1]
        n_groups = None if self.group_counts is None else len(self.group_counts)
        with_pairs = by_rows or (self.needs_scatter and not isinstance(loss, InfluenceLoss))
        question = Question(
            sets=joined if with_pairs else joined.without_pairs(),
            loss=loss,
            n_groups=n_groups,
            chain=chain,
            shift=own[:, :, chain.root],
            middle=middle,
            with_pairs=with_pairs,
        )
        typical = np.vstack([middle.mean(axis=0), np.full((1, R), middle[:, -1].mean())])
        plan = self._summary_plan(collected, (V, Q, R, len(reader.repeats)), typical)
        task = ScoreTask(reader, tuple(model.rows for model in self.models), question, plan)
        return self._pass(task, add_scored, f"{loss.name} of {len(reader.repeats)} repeats")

    @property
    def _constant_pilot(self) -> FloatArray:
        """What the best constant is counted from, (Q,)."""
        model, columns = self.models[-1], self.sample.designs[-1]
        pilot: FloatArray = model.coordinates(columns, self.sample.y, self.sample.root(), 1.0).pilot[0]
        return pilot

    def _outcome(
        self,
        folds: Folds,
        scored: Scored,
        means: FloatArray | None,
        chain: Chain,
        failures: list[Failure],
        collected: Collected,
        reduction: Reduction | None = None,
    ) -> StreamedOutcome:
        """Tables of fold errors."""
        scores = scored.scores
        is_one = not isinstance(self.loss, MetricLoss)  # influences may be about any number
        if is_one and len(chain) > 1 and max(each.cancelled() for each in scores.repeats) > MOST_CANCELLED:
            raise TrainingSetError(
                "At some values the losses of a fold are more than a million times those at the best value, and sums "
                "over rows lose their digits. Ask for these values by themselves, or leave them out."
            )
        pairs, scatters = scored.tables(folds.sizes)
        if means is not None:
            pairs = means
        if reduction is not None:
            pairs, scatters = reduction.pairs(pairs, scatters)
        held = Held(spread_tables(scores.repeats))
        errors = summarize(PairErrors(held, pairs, scatters), folds, RowRoles(None, None), chain)
        if reduction is not None:
            errors = reduction.completed(errors)
        if self.group_counts is not None:
            errors = replace(errors, n_groups=len(self.group_counts))
        if overflowing(errors, folds.first):
            raise LossOverflowError(OVERFLOW)
        last = errors.raw.shape[1] - 1
        failed = first_errors([each for each in failures if each.value < last], last)
        no_rows = RowTotals(0, errors.raw.shape[1], 1, 1)
        return StreamedOutcome(
            errors,
            no_rows,
            None,
            failed,
            (),
            tuple(map(Remark, self.notes)),
            summary=scored.summary,
            units=self._units(collected, scored),
            criteria=self.criteria,
        )

    def _units(self, collected: Collected, scored: Scored) -> UnitSizes:
        """Sizes of rows, or of groups."""
        w = collected.weights
        spread = w.second * w.n / w.first**2
        if self.group_counts is None:
            return UnitSizes(w.first**2 / w.second, w.second**2 / w.fourth, spread, w.n, False)
        sums = scored.scores.repeats[0]
        return UnitSizes.of_sizes(sums.group_sizes + sums.group_weights, spread, True)
