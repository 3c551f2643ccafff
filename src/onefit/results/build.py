"""Outcome of a job -> result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from ..errors import TrainingSetError
from ..frames import row_names
from ..inference.figures import Figure, r2, rmse
from ..inference.fold_errors import FoldErrors
from ..inference.intervals import RULE_VERSION, RULES, Context, Interval, Rule, cv_estimate, paired, raw_estimate
from ..inference.montecarlo import half_width_error
from ..inference.tails import heavy_tailed
from ..learners import Refusal, Scores
from ..metrics.losses import Loss
from ..routes import Bid, Outcome, usual_folds
from ..running.job import Job
from ..typing import AnyArray, FloatArray
from ..validation import Problem
from ..vocabulary import CRITERIA, Simpler
from .comparison import Comparison
from .curve import Difference, ErrorCurve, as_values, simplest_minimum, simplicity
from .findings import Known, findings_of
from .nested import FoldErrorTables, NestedCVResult

__all__ = ["build_comparison", "build_curve", "build_result"]

NO_V_OUT = "The rule needs the variance within each fold, and some folds have one row."
NO_PAIR_SCATTER = (
    "The rule needs every row's losses with each pair of folds out, which are computed for so many rows only if they "
    "are asked for by"
)

OF_ANOTHER_TARGET = Refusal("they would be those of a function of y")


class Figures:
    """Everything that is computed from an outcome, at all parameter values at once."""

    def __init__(self, job: Job, outcome: Outcome) -> None:
        errors, level = outcome.errors, job.confidence_level
        context = Context(level, job.loss.scale, outcome.bias_cv)
        self.obstacles = {name: obstacle for name, rule in RULES.items() if (obstacle := _obstacle(rule, errors))}
        rules = {name: rule for name, rule in RULES.items() if name not in self.obstacles}
        self.by_rule = {name: rule.compute(errors, context) for name, rule in rules.items()}
        self.own = self.by_rule[job.rule.name]
        self.raw, self.cv = raw_estimate(errors), cv_estimate(errors)
        self.monte_carlo_error = half_width_error(errors, job.rule, job.loss.scale)
        residuals, self.losses = outcome.totals.means()
        np.subtract(
            job.problem.y[:, None], residuals, out=residuals
        )  # in place: tables of all rows and values are large
        self.heldout = outcome.totals.both
        self.row_names, self.rows = row_names(job.problem.X), job.rows
        self.heavy_tailed = heavy_tailed(errors, self.rows, job.loss.name)
        self.rmse = self.r2 = None
        if job.loss.name == "squared_error":
            self.rmse = rmse(self.own)
            self.r2 = r2(self.own, errors, self.losses, job.problem.y, self.rows, level)


def build_result(job: Job, outcome: Outcome, value: int = 0, figures: Figures | None = None) -> NestedCVResult:
    """Gather the figures of one parameter value; without an axis of outputs if y has none."""
    problem, errors = job.problem, outcome.errors
    figures = Figures(job, outcome) if figures is None else figures
    own, bid = figures.own, job.bid_at(value)

    def pick(array: AnyArray) -> Any:
        """One value, and its only output if y is a vector."""
        picked = np.array(array[..., value, :])
        if problem.output_names is None:
            picked = picked[..., 0]
        picked.setflags(write=False)
        return picked.item() if picked.ndim == 0 else picked

    return NestedCVResult(
        estimate=pick(own.estimate),
        interval=(pick(own.low), pick(own.high)),
        confidence_level=job.confidence_level,
        rule=job.rule.name,
        rule_version=RULE_VERSION,
        standard_error=pick(own.standard_error),
        bias=pick(figures.raw - own.estimate),
        mse=pick(own.mse),
        mse_is_floored=pick(own.is_floored),
        inflation=pick(own.inflation),
        raw_estimate=pick(figures.raw),
        cv_estimate=pick(figures.cv),
        monte_carlo_error=pick(figures.monte_carlo_error),
        n_folds=errors.n_folds,
        n_repeats=errors.n_repeats,
        route=bid.route.name,
        route_reason=bid.reason,
        exactness=bid.learner.exactness,
        loss=job.loss.name,
        scale=job.loss.scale,
        intervals=_interval_table(figures, problem.output_names, value),
        fold_errors=FoldErrorTables(*map(pick, (errors.e_in, errors.e_out, errors.v_out, errors.mse))),
        heldout=_heldout_table(problem, job.loss, figures.heldout[:, value], figures.row_names),
        reason="; ".join(filter(None, [own.reason_at(value), *outcome.notes])),
        output_names=problem.output_names,
        rmse=None if figures.rmse is None else Figure(*map(pick, figures.rmse)),
        r2=None if figures.r2 is None else Figure(*map(pick, figures.r2)),
        findings=findings_of(_known(job, outcome, figures, value)),
    )


def _known(job: Job, outcome: Outcome, figures: Figures, value: int) -> Known:
    """What the findings of one parameter value are made from."""
    learner = job.bid_at(value).learner
    reason, remedy = figures.own.cause_at(value)
    problem, source, Q = job.problem, job.partitions.source, job.problem.n_outputs
    return Known(
        reason=reason,
        remedy=remedy,
        notes=outcome.notes,
        rule=job.rule,
        loss=job.loss,
        errors=outcome.errors,
        value=value,
        standard_error=figures.own.standard_error[value],
        monte_carlo_error=figures.monte_carlo_error[value],
        confidence_level=job.confidence_level,
        n_repeats=outcome.errors.n_repeats,
        is_automatic=job.n_repeats is None,
        stopping=job.stopping,
        n_folds=outcome.errors.n_folds,
        n_free=learner.n_free,
        usual_folds=usual_folds(learner, job.problem.n) if job.has_default_folds else 0,
        exactness=learner.exactness,
        rows=figures.rows,
        y=problem.y,
        predictions=figures.heldout[:, value, :Q],
        losses=figures.losses[:, value],
        heavy_tailed=figures.heavy_tailed[value],
        row_names=figures.row_names,
        folds=source.block(0, 1).ids[0] if source.is_exhaustive else None,
    )


def _obstacle(rule: Rule, errors: FoldErrors) -> str:
    """Why a rule has no interval for these tables; empty if it has."""
    if rule.needs_v_out and np.isnan(errors.v_out).any():
        return NO_V_OUT
    if rule.needs_pair_scatter and np.isnan(errors.pair_scatter).any():
        return f'{NO_PAIR_SCATTER} interval="{rule.name}".'
    return ""


def _interval_table(figures: Figures, output_names: tuple[str, ...] | None, value: int) -> pd.DataFrame:
    """One row a rule (and output); NaN where the rule does not apply to these folds."""
    by_rule = figures.by_rule
    columns = ("estimate", "low", "high", "standard_error")
    n_outputs = 1 if output_names is None else len(output_names)
    missing = np.full((len(columns), n_outputs), np.nan)
    rows = [
        np.stack([getattr(by_rule[name], column)[value] for column in columns]) if name in by_rule else missing
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


def _heldout_table(problem: Problem, loss: Loss, both: FloatArray, index: pd.Index[Any] | None) -> pd.DataFrame:
    """Mean held-out prediction and loss of each row, (n, Q + R); of classes, the one that was predicted most often."""
    predictions, losses = both[:, : problem.n_outputs], both[:, problem.n_outputs :]
    if loss.classes is not None:
        voted = pd.Series(loss.classes.labels[loss.classes.decide(predictions)], index=index)
        scored = np.isfinite(losses[:, 0])
        return pd.DataFrame({"prediction": voted.where(scored), "loss": losses[:, 0]}, index=index)
    columns: pd.Index[Any] = pd.Index(["prediction", "loss"])
    if problem.output_names is not None:
        columns = pd.MultiIndex.from_product([list(columns), list(problem.output_names)])
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
    figures = Figures(job, outcome)
    computed = [at for at in range(len(job.values)) if at not in outcome.failures]
    kept = [job.values[at] for at in computed]
    reasons = dict(job.failures) | {job.values[at]: str(error) for at, error in outcome.failures.items()}
    fitted = {v: build_result(job, outcome, at, figures) for at, v in zip(computed, kept, strict=True)}
    R = job.loss.n_losses(job.problem.n_outputs)

    def spread(rows: FloatArray) -> FloatArray:
        """Rows (computed, R) at their places among all values."""
        table = np.full((V, R), np.nan)
        table[kept] = rows[computed]
        return table[:, 0] if single else table

    own = figures.own
    order = simplicity(V, simpler, array)
    best = simplest_minimum(spread(own.estimate).reshape(V, R), order)
    every = np.arange(len(job.values))
    difference = [
        paired(outcome.errors, every, np.full(len(every), job.values.index(b)), job.confidence_level) for b in best
    ]
    parts = {
        key: spread(np.stack([getattr(each, key)[:, q] for q, each in enumerate(difference)], axis=1))
        for key in ("estimate", "low", "high", "standard_error")
    }
    scores = _scores(job)
    tables = {name: spread(table) for name, table in _score_tables(scores, outcome, own).items()}
    frame = _score_frame(tables, pd.Index(array, name=param_name), job.problem.output_names)
    frame.attrs["reasons"] = dict(scores.reasons)
    return ErrorCurve(
        values=array,
        estimate=spread(own.estimate),
        low=spread(own.low),
        high=spread(own.high),
        standard_error=spread(own.standard_error),
        difference=Difference(**parts, df=outcome.errors.n_units - 1.0),
        best=int(best[0]) if single else best,
        scores=frame,
        edf=None if scores.edf is None else spread(np.broadcast_to(scores.edf, own.estimate.shape)),
        results=tuple(fitted.get(v) for v in range(V)),
        reasons=tuple(reasons.get(v, "") for v in range(V)),
        param_name=param_name,
        simpler=simpler,
        confidence_level=job.confidence_level,
        loss=job.loss.name,
        rule_version=RULE_VERSION,
        output_names=job.problem.output_names,
        deploy=deploy,
    )


def _scores(job: Job) -> Scores:
    """Criteria by value as far as the models have them, with leave-one-out from their route if it has no formula."""
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


def _score_tables(scores: Scores, outcome: Outcome, own: Interval) -> dict[str, FloatArray]:
    """All scores of a curve by name, (computed, R), in the order of its columns; NaN where the model has none."""
    nothing = np.full(own.estimate.shape, np.nan)
    every = {"kfold": outcome.errors.e_out.mean(axis=(0, 1)), "ncv": own.estimate, **scores.tables}
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
    figures = Figures(job, outcome)
    own = figures.own
    order = np.argsort(own.estimate.mean(axis=1), kind="stable")
    order = order[[at not in outcome.failures for at in order]]
    outputs = job.problem.output_names
    columns = ("estimate", "low", "high", "standard_error")
    models = _table([names[at] for at in order], [getattr(own, key)[order] for key in columns], outputs, ["model"])
    repeated = 1 if outputs is None else len(outputs)
    models["route"] = np.repeat([job.bids[at].route.name for at in order], repeated)
    pairs = list(combinations(order, 2))
    first, second = (np.array(side, dtype=np.intp) for side in zip(*pairs, strict=True))
    difference = paired(outcome.errors, first, second, job.confidence_level)
    labels = [(names[a], names[b]) for a, b in pairs]
    table = _table(labels, [getattr(difference, key) for key in columns], outputs, ["first", "second"])
    return Comparison(
        models=models,
        differences=table,
        results={names[at]: build_result(job, outcome, int(at), figures) for at in order},
        confidence_level=job.confidence_level,
        loss=job.loss.name,
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
