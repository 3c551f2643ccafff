"""Outcome of a job -> result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..inference.figures import Figure
from ..inference.intervals import RULE_VERSION
from ..routes import Outcome, usual_folds
from ..routes.streams import StreamedOutcome
from ..running.job import Job
from ..typing import AnyArray
from .baseline import Standard, mean_is_best, standard_of
from .figured import AllFigures, Figures, all_figures
from .findings import findings_of, reason_of
from .known import Known
from .nested import FoldErrorTables, NestedCVResult
from .streamed import NoStandard, streamed_skill
from .tabled import heldout_table, interval_table, metric_table
from .unsteady import Unsteady

__all__ = ["build_result"]


def build_result(job: Job, outcome: Outcome, value: int = 0, figures: AllFigures | None = None) -> NestedCVResult:
    """Gather the figures of one parameter value; without an axis of outputs if y has none."""
    outputs = job.problem.output_names
    figures = all_figures(job, outcome) if figures is None else figures
    first, bid, known = figures.first, job.bid_at(value), _known(job, outcome, figures, value)
    errors = first.errors

    def pick(array: AnyArray) -> Any:
        """One value, and its only output if y is a vector."""
        return _alone(array[..., value, :], outputs is None)

    result = NestedCVResult(
        **_picked(first, pick),
        confidence_level=job.confidence_level,
        rule=job.rule.name,
        rule_version=RULE_VERSION,
        n_folds=errors.n_folds,
        n_repeats=errors.n_repeats,
        route=bid.route.name,
        route_reason=bid.reason,
        exactness=bid.learner.exactness,
        loss=first.asked.name,
        scale=first.asked.scale,
        greater_is_better=first.asked.shown.greater_is_better,
        metrics=metric_table(figures.listed, outputs, value),
        calibration=metric_table(extra, None, value) if (extra := figures.extra) else None,
        intervals=interval_table(first, outputs, value),
        fold_errors=_fold_tables(first, pick),
        heldout=heldout_table(job, first, figures.rows, value),
        _row_groups=job.problem.groups,
        reason="; ".join(filter(None, [reason_of(known), *outcome.notes])),
        output_names=outputs,
        rmse=None if first.rmse is None else Figure(*map(pick, first.rmse)),
        r2=None if (r2 := first.r2_at(value)) is None else Figure(*(_alone(part, outputs is None) for part in r2)),
        findings=findings_of(known),
        row_value="loss" if first.asked.has_row_losses else "influence",
        standard=_standard(job, outcome, first, value),
        dependence=None if first.serial is None else first.serial.dependence(value, pick),
    )
    if isinstance(outcome, StreamedOutcome):
        _with_constant(result, job, outcome, value, figures)
    return result


def _picked(figures: Figures, pick: Callable[[AnyArray], Any]) -> dict[str, Any]:
    """The figures of one value, as people know them."""
    own, shown = figures.own, figures.asked.shown
    return {
        "estimate": pick(figures.shown("estimate")),
        "interval": (pick(figures.shown("low")), pick(figures.shown("high"))),
        "standard_error": pick(own.standard_error),
        "bias": pick(shown.sign * (figures.raw - own.estimate)),
        "mse": pick(own.mse),
        "mse_is_floored": pick(own.is_floored),
        "inflation": pick(own.inflation),
        "raw_estimate": pick(shown.of(figures.raw)),
        "cv_estimate": pick(shown.of(figures.cv)),
        "monte_carlo_error": pick(figures.monte_carlo_error),
    }


def _fold_tables(figures: Figures, pick: Callable[[AnyArray], Any]) -> FoldErrorTables:
    """The paper's tables of one value."""
    errors, shown = figures.errors, figures.asked.shown
    return FoldErrorTables(
        e_in=pick(shown.of(errors.e_in)),
        e_out=pick(shown.of(errors.e_out)),
        v_out=pick(errors.v_out),
        mse=pick(errors.mse),
    )


def _standard(job: Job, outcome: Outcome, figures: Figures, value: int) -> Standard | NoStandard:
    """What the model is measured against: the best constant, which is computed when it is asked for."""
    if isinstance(outcome, StreamedOutcome):
        return NoStandard()
    return standard_of(job, figures.asked, figures.errors, figures.sampling[value], build_result, figures.neighbours)


def _with_constant(result: NestedCVResult, job: Job, outcome: StreamedOutcome, value: int, figures: AllFigures) -> None:
    """Let a result on a table know the best constant, which was computed in the same passes."""
    first, last = figures.first, outcome.errors.raw.shape[1] - 1
    if not mean_is_best(job, first.asked):
        return
    skill = streamed_skill(first.asked, first.own, first.sampling, outcome, job.confidence_level, value)
    result.__dict__["skill"] = Figure(*(part if job.problem.output_names else part[0] for part in skill))
    result.__dict__["baseline"] = result if value == last else build_result(job, outcome, last, figures)


def _alone(array: AnyArray, is_vector: bool) -> Any:
    """A copy of numbers (..., Q) that nobody can change; of a vector y its only output, a number if it is one."""
    picked = np.array(array)
    if is_vector:
        picked = picked[..., 0]
    picked.setflags(write=False)
    return picked.item() if picked.ndim == 0 else picked


def _known(job: Job, outcome: Outcome, every: AllFigures, value: int) -> Known:
    """What the findings of one parameter value are made from."""
    learner, figures = job.bid_at(value).learner, every.first
    reason, remedy = figures.own.cause_at(value)
    source, Q = job.partitions.source, job.problem.n_outputs
    return Known(
        reason=reason,
        remedy=remedy,
        notes=outcome.notes,
        remarks=[remark for remark in outcome.remarks if remark.value in (None, value)],
        caution=learner.caution(),
        rule=job.rule,
        loss=figures.asked,
        errors=figures.errors,
        value=value,
        standard_error=figures.own.standard_error[value],
        monte_carlo_error=figures.monte_carlo_error[value],
        confidence_level=job.confidence_level,
        n_repeats=outcome.errors.n_repeats,
        is_automatic=job.n_repeats is None,
        stopping=job.stopping,
        n_folds=outcome.errors.n_folds,
        n_free=learner.n_unpenalized,
        usual_folds=usual_folds(learner, job.problem.n) if job.has_default_folds else 0,
        exactness=learner.exactness,
        rows=figures.rows,
        y=every.rows.y,
        predictions=every.rows.both[:, value, :Q],
        losses=figures.losses[:, value],
        heavy_tailed=figures.heavy_tailed[value],
        row_names=every.rows.names,
        folds=source.block(0, 1).ids[0] if source.is_exhaustive else None,
        serial=None if figures.serial is None else figures.serial.known(value),
        unsteady=Unsteady.of(figures.own, figures.errors, figures.asked, value, job.rule.name),
        has_all_rows=not isinstance(outcome, StreamedOutcome),
        problem=None if isinstance(outcome, StreamedOutcome) else job.problem,
    )
