"""Outcome of a job -> result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from ..errors import TrainingSetError
from ..inference.figures import Figure
from ..inference.fold_errors import FoldErrors
from ..inference.intervals import RULE_VERSION, RULES, Interval
from ..learners import Refusal, Scores
from ..metrics import Shown
from ..routes import Bid, Outcome, usual_folds
from ..routes.streams import StreamedOutcome
from ..running.job import Job
from ..typing import AnyArray, FloatArray
from ..vocabulary import CRITERIA, Simpler
from .baseline import mean_is_best, standard_of
from .byvalue import ResultsByValue
from .comparison import Comparison
from .curve import Difference, ErrorCurve, as_values, simplest_minimum, simplicity
from .figured import AllFigures, Figures, HeldOutRows, all_figures
from .findings import Known, findings_of, reason_of
from .nested import FoldErrorTables, NestedCVResult
from .streamed import NoStandard, streamed_skill
from .unsteady import Unsteady

__all__ = ["build_comparison", "build_curve", "build_result"]

NOT_OF_TABLES = "they are computed from rows in memory, and these stay where they are"
OF_ANOTHER_TARGET = Refusal("they would be those of a function of y")


def build_result(job: Job, outcome: Outcome, value: int = 0, figures: AllFigures | None = None) -> NestedCVResult:
    """Gather the figures of one parameter value; without an axis of outputs if y has none."""
    problem = job.problem
    figures = all_figures(job, outcome) if figures is None else figures
    first = figures.first
    own, errors, shown, bid = first.own, first.errors, first.asked.shown, job.bid_at(value)
    known, r2 = _known(job, outcome, figures, value), first.r2_at(value)

    def pick(array: AnyArray) -> Any:
        """One value, and its only output if y is a vector."""
        return _alone(array[..., value, :], problem.output_names is None)

    result = NestedCVResult(
        estimate=pick(first.shown("estimate")),
        interval=(pick(first.shown("low")), pick(first.shown("high"))),
        confidence_level=job.confidence_level,
        rule=job.rule.name,
        rule_version=RULE_VERSION,
        standard_error=pick(own.standard_error),
        bias=pick(shown.sign * (first.raw - own.estimate)),
        mse=pick(own.mse),
        mse_is_floored=pick(own.is_floored),
        inflation=pick(own.inflation),
        raw_estimate=pick(shown.of(first.raw)),
        cv_estimate=pick(shown.of(first.cv)),
        monte_carlo_error=pick(first.monte_carlo_error),
        n_folds=errors.n_folds,
        n_repeats=errors.n_repeats,
        route=bid.route.name,
        route_reason=bid.reason,
        exactness=bid.learner.exactness,
        loss=first.asked.name,
        scale=first.asked.scale,
        greater_is_better=shown.greater_is_better,
        metrics=_metric_table(figures.listed, problem.output_names, value),
        calibration=_metric_table(extra, None, value) if (extra := figures.extra) else None,
        intervals=_interval_table(first, problem.output_names, value),
        fold_errors=FoldErrorTables(
            e_in=pick(shown.of(errors.e_in)),
            e_out=pick(shown.of(errors.e_out)),
            v_out=pick(errors.v_out),
            mse=pick(errors.mse),
        ),
        heldout=_heldout_table(job, first, figures.rows, value),
        _row_groups=problem.groups,
        reason="; ".join(filter(None, [reason_of(known), *outcome.notes])),
        output_names=problem.output_names,
        rmse=None if first.rmse is None else Figure(*map(pick, first.rmse)),
        r2=None if r2 is None else Figure(*(_alone(part, problem.output_names is None) for part in r2)),
        findings=findings_of(known),
        row_value="loss" if first.asked.has_row_losses else "influence",
        standard=standard_of(job, first.asked, errors, first.sampling[value], build_result, first.neighbours)
        if not isinstance(outcome, StreamedOutcome)
        else NoStandard(),
        dependence=None if first.serial is None else first.serial.dependence(value, pick),
    )
    if isinstance(outcome, StreamedOutcome):
        _with_constant(result, job, outcome, value, figures)
    return result


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


def _metric_table(figures: Sequence[Figures], output_names: tuple[str, ...] | None, value: int) -> pd.DataFrame:
    """One row a metric (and output): estimate, low, high, standard_error."""
    names = [each.asked.name for each in figures]
    columns = [
        np.concatenate([each.shown(key)[value] for each in figures])
        for key in ("estimate", "low", "high", "standard_error")
    ]
    return _table(names, columns, output_names, ["metric"])


def _known(job: Job, outcome: Outcome, every: AllFigures, value: int) -> Known:
    """What the findings of one parameter value are made from."""
    learner, figures = job.bid_at(value).learner, every.first
    reason, remedy = figures.own.cause_at(value)
    source, Q = job.partitions.source, job.problem.n_outputs
    return Known(
        reason=reason,
        remedy=remedy,
        notes=outcome.notes,
        remarks=outcome.remarks,
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
    )


def _interval_table(figures: Figures, output_names: tuple[str, ...] | None, value: int) -> pd.DataFrame:
    """One row a rule (and output); NaN where the rule does not apply to these folds."""
    by_rule = figures.by_rule
    columns = ("estimate", "low", "high", "standard_error")
    n_outputs = 1 if output_names is None else len(output_names)
    missing = np.full((len(columns), n_outputs), np.nan)
    rows = [
        np.stack([figures.shown(column, by_rule[name])[value] for column in columns]) if name in by_rule else missing
        for name in RULES
    ]
    values = np.stack(rows).transpose(0, 2, 1).reshape(-1, len(columns))
    index: pd.Index[Any] = pd.Index(list(RULES), name="rule")
    if output_names is not None:
        index = pd.MultiIndex.from_product([list(RULES), list(output_names)], names=["rule", "output"])
    table = pd.DataFrame(values, index=index, columns=list(columns))
    reasons = {name: figures.obstacles.get(name) or by_rule[name].reason_at(value) for name in RULES}
    table.attrs["reasons"] = {name: reason for name, reason in reasons.items() if reason}
    return table


def _heldout_table(job: Job, figures: Figures, rows: HeldOutRows, value: int) -> pd.DataFrame:
    """Mean held-out prediction and loss of each row; of classes, the one predicted most often, and probabilities.

    Of numbers their standard deviations, if a metric has asked for them.
    """
    problem, index, classes = job.problem, rows.names, job.loss.classes
    if job.is_streamed:  # rows are not kept
        return pd.DataFrame({"prediction": np.zeros(0), "loss": np.zeros(0)})
    Q, losses = problem.n_outputs, figures.losses[:, value]
    row_value = "loss" if figures.asked.has_row_losses else "influence"
    if classes is not None:
        voted = pd.Series(classes.labels[classes.decide(rows.kept[:, value, :Q])], index=index)
        scored = np.isfinite(losses[:, 0])
        frame = pd.DataFrame({"prediction": voted.where(scored), row_value: losses[:, 0]}, index=index)
        for label, column in zip(classes.labels, rows.kept[:, value, Q:].T, strict=False):
            frame[f"probability_{label}"] = column
        if rows.kept.shape[-1] > Q:
            frame["observed"] = classes.labels[classes.decide(problem.y)]
        return frame
    has_std = rows.kept.shape[-1] > Q
    columns: pd.Index[Any] = pd.Index(["prediction", row_value, *(["std"] if has_std else [])])
    if problem.output_names is not None:
        columns = pd.MultiIndex.from_product([list(columns), list(problem.output_names)])
    both = rows.both[:, value]
    if both.shape[1] > Q + losses.shape[1]:
        both = np.hstack([both[:, :Q], losses, rows.kept[:, value, Q:]])
    return pd.DataFrame(np.asfortranarray(both), index=index, columns=columns, copy=False)


def build_curve(
    job: Job,
    outcome: Outcome,
    values: Sequence[object],
    param_name: str,
    simpler: Simpler,
    deploy: Callable[[object], Any],
) -> ErrorCurve:
    """Gather the curve; values that could not be fitted are NaN."""
    single, V = job.problem.output_names is None, len(values)
    array = as_values(values)
    every = all_figures(job, outcome)
    figures = every.first
    errors, shown = figures.errors, figures.asked.shown
    computed = [at for at in range(len(job.values)) if at not in outcome.failures]
    kept = [job.values[at] for at in computed]
    reasons = dict(job.failures) | {job.values[at]: str(error) for at, error in outcome.failures.items()}
    make = {v: partial(build_result, job, outcome, at, every) for at, v in zip(computed, kept, strict=True)}
    R = figures.own.estimate.shape[1]

    def spread(rows: FloatArray) -> FloatArray:
        """Rows (computed, R) at their places among all values."""
        table = np.full((V, R), np.nan)
        table[kept] = rows[computed]
        return table[:, 0] if single else table

    own = figures.own
    order = simplicity(V, simpler, array)
    best = simplest_minimum(spread(own.estimate).reshape(V, R), order)
    places = np.arange(len(job.values))
    # outputs that share their best value are one call, as each computes all of them
    from_best = {b: figures.difference(places, np.full(len(places), job.values.index(b))) for b in set(best.tolist())}
    difference = [from_best[b] for b in best.tolist()]
    parts = {
        key: spread(np.stack([_signed(key, each, shown)[:, q] for q, each in enumerate(difference)], axis=1))
        for key in ("estimate", "low", "high", "standard_error")
    }
    scores = _scores(job, outcome)
    tables = {name: spread(table) for name, table in _score_tables(scores, errors, own, shown).items()}
    frame = _score_frame(tables, pd.Index(array, name=param_name), job.problem.output_names)
    frame.attrs["reasons"] = dict(scores.reasons)
    return ErrorCurve(
        values=array,
        estimate=spread(figures.shown("estimate")),
        low=spread(figures.shown("low")),
        high=spread(figures.shown("high")),
        standard_error=spread(own.standard_error),
        difference=Difference(**parts, df=figures.degrees),
        best=int(best[0]) if single else best,
        scores=frame,
        edf=None if scores.edf is None else spread(np.broadcast_to(scores.edf, own.estimate.shape)),
        results=ResultsByValue(V, make),
        reasons=tuple(reasons.get(v, "") for v in range(V)),
        param_name=param_name,
        simpler=simpler,
        confidence_level=job.confidence_level,
        loss=figures.asked.name,
        greater_is_better=shown.greater_is_better,
        rule_version=RULE_VERSION,
        output_names=job.problem.output_names,
        deploy=deploy,
    )


def _scores(job: Job, outcome: Outcome) -> Scores:
    """Criteria by value as far as the models have them, with leave-one-out from their route if it has no formula."""
    if isinstance(outcome, StreamedOutcome):
        found = outcome.criteria if job.loss.classes is None else None
        if found is None:
            return Scores({}, reasons=dict.fromkeys(CRITERIA, NOT_OF_TABLES))
        return Scores({"gcv": found["gcv"]}, found["edf"], {"loo": NOT_OF_TABLES, "reml": NOT_OF_TABLES})
    each = [_scores_of(job, bid) for bid in job.bids]
    if len(each) == 1:
        return each[0]
    Q = job.problem.n_outputs
    V = [bid.learner.n_values for bid in job.bids]

    def stacked(tables: Sequence[FloatArray | None]) -> FloatArray:
        """Tables of the bids one below the other; NaN where there is none."""
        blank = [np.full((v, 1), np.nan) if table is None else table for v, table in zip(V, tables, strict=True)]
        return np.concatenate([np.broadcast_to(table, (len(table), Q)) for table in blank])

    names = {name for scores in each for name in scores.tables}
    reasons = {name: reason for scores in each[::-1] for name, reason in scores.reasons.items()}
    has_edf = all(scores.edf is not None for scores in each)
    return Scores(
        {name: stacked([scores.tables.get(name) for scores in each]) for name in names},
        stacked([scores.edf for scores in each]) if has_edf else None,
        reasons,
    )


def _scores_of(job: Job, bid: Bid) -> Scores:
    """Criteria of one learner."""
    found = bid.learner.scores(job.task) if not bid.learner.has_own_target else OF_ANOTHER_TARGET
    if isinstance(found, Refusal):
        return Scores({}, reasons=dict.fromkeys(CRITERIA, str(found)))
    if "loo" in found.tables or "loo" in found.reasons or job.loss.classes is not None:
        return found
    loo = bid.route.leave_one_out(bid.learner, job.task)
    if isinstance(loo, Refusal):
        return Scores(found.tables, found.edf, {**found.reasons, "loo": str(loo)})
    return Scores({**found.tables, "loo": loo}, found.edf, found.reasons)


def _signed(key: str, difference: Interval, shown: Shown) -> FloatArray:
    """A difference of figures as people know them."""
    if key == "standard_error" or not shown.greater_is_better:
        return np.asarray(getattr(difference, key))
    other = {"low": "high", "high": "low"}.get(key, key)
    return -np.asarray(getattr(difference, other))


def _score_tables(scores: Scores, errors: FoldErrors, own: Interval, shown: Shown) -> dict[str, FloatArray]:
    """All scores of a curve by name, (computed, R), in the order of its columns; NaN where the model has none.

    What folds say is the figure that was asked for, such as an area; the criteria of models are losses.
    """
    nothing = np.full(own.estimate.shape, np.nan)
    by_folds = {"kfold": shown.of(errors.e_out.mean(axis=(0, 1))), "ncv": shown.of(own.estimate)}
    every = {**by_folds, **scores.tables}
    return {name: every.get(name, nothing) for name in ("loo", "gcv", "kfold", "ncv", "reml")}


def _score_frame(
    scores: dict[str, FloatArray], index: pd.Index[Any], output_names: tuple[str, ...] | None
) -> pd.DataFrame:
    if output_names is None:
        return pd.DataFrame(scores, index=index)
    columns = pd.MultiIndex.from_product([list(scores), list(output_names)], names=["score", "output"])
    return pd.DataFrame(np.hstack(list(scores.values())), index=index, columns=columns)


def build_comparison(job: Job, outcome: Outcome, names: Sequence[str]) -> Comparison:
    """Gather the models, from the smallest error, and all pairs of them in that order, without those that failed."""
    reasons = {names[place]: reason for place, reason in job.failures.items()}
    reasons |= {names[job.values[at]]: str(error) for at, error in outcome.failures.items()}
    if len(reasons) > len(names) - 2:
        name, reason = next(iter(reasons.items()))
        raise next(iter(outcome.failures.values()), TrainingSetError(reason)).named(name)
    names = [names[place] for place in job.values]
    every = all_figures(job, outcome)
    figures = every.first
    own, shown = figures.own, figures.asked.shown
    order = np.argsort(own.estimate[: len(names)].mean(axis=1), kind="stable")
    order = order[[at not in outcome.failures for at in order]]
    outputs = job.problem.output_names
    columns = ("estimate", "low", "high", "standard_error")
    models = _table([names[at] for at in order], [figures.shown(key)[order] for key in columns], outputs, ["model"])
    repeated = 1 if outputs is None else len(outputs)
    models["route"] = np.repeat([job.bids[at].route.name for at in order], repeated)
    pairs = list(combinations(order, 2))
    first, second = (np.array(side, dtype=np.intp) for side in zip(*pairs, strict=True))
    difference = figures.difference(first, second)
    labels = [(names[a], names[b]) for a, b in pairs]
    table = _table(labels, [_signed(key, difference, shown) for key in columns], outputs, ["first", "second"])
    return Comparison(
        models=models,
        differences=table,
        results={names[at]: build_result(job, outcome, int(at), every) for at in order},
        confidence_level=job.confidence_level,
        loss=figures.asked.name,
        greater_is_better=shown.greater_is_better,
        rule_version=RULE_VERSION,
        output_names=outputs,
        reasons=reasons,
    )


def _table(
    labels: Sequence[str | tuple[str, str]],
    figures: Sequence[FloatArray],
    outputs: tuple[str, ...] | None,
    names: list[str],
) -> pd.DataFrame:
    """Figures (rows, outputs) by label, and by output if y has columns."""
    keys = [label if isinstance(label, tuple) else (label,) for label in labels]
    if outputs is not None:
        keys = [(*key, output) for key in keys for output in outputs]
        names = [*names, "output"]
    values = np.stack([figure.ravel() for figure in figures], axis=1)
    index = (
        pd.MultiIndex.from_tuples(keys, names=names)
        if len(names) > 1
        else pd.Index([k[0] for k in keys], name=names[0])
    )
    return pd.DataFrame(values, index=index, columns=["estimate", "low", "high", "standard_error"])
