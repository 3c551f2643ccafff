"""Outcome of a job -> result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ..frames import row_names
from ..inference.averaged import figures_of, with_averaged_rows
from ..inference.figures import Figure, r2, rmse
from ..inference.fold_errors import FoldErrors, RowRoles
from ..inference.intervals import RULE_VERSION, RULES, Context, Interval, Rule, cv_estimate, paired, raw_estimate
from ..inference.montecarlo import half_width_error
from ..inference.tails import heavy_tailed
from ..learners import Refusal, Scores
from ..metrics import Asked, Shown
from ..routes import Outcome, usual_refit_folds
from ..running.job import Job
from ..typing import AnyArray, FloatArray
from ..vocabulary import CRITERIA, Simpler
from .baseline import standard_of
from .comparison import Comparison
from .curve import Difference, ErrorCurve, as_values, simplest_minimum, simplicity
from .findings import Known, findings_of
from .nested import FoldErrorTables, NestedCVResult

__all__ = ["build_comparison", "build_curve", "build_result"]

NO_V_OUT = "The rule needs the variance within each fold, and some folds have one row."
NO_ROW_LOSSES = "The rule needs a loss of every row, and this metric is no mean of such."
NO_PAIR_SCATTER = (
    "The rule needs every row's losses with each pair of folds out, which are computed for so many rows only if they "
    "are asked for by"
)

OF_ANOTHER_TARGET = Refusal("they would be those of a function of y")


class HeldOutRows:
    """What is known of the rows at all parameter values: mean held-out predictions and losses."""

    def __init__(self, job: Job, outcome: Outcome) -> None:
        residuals, self.losses = outcome.totals.means()
        self.kept = residuals  # predictions, and probabilities if there are any
        own = residuals[..., : job.problem.n_outputs]
        np.subtract(job.problem.y[:, None], own, out=own)  # in place: tables of all rows and values are large
        self.both = outcome.totals.both
        self.names, self.roles = row_names(job.problem.X), job.rows


class Figures:
    """Everything that is computed from an outcome for one metric, at all parameter values at once.

    In the orientation of a loss; `shown` turns it into the figures that people know.
    """

    def __init__(self, job: Job, outcome: Outcome, asked: Asked, rows: HeldOutRows) -> None:
        level, scale = job.confidence_level, asked.rule_scale
        self.asked, self.rows, self.losses = asked, rows.roles, rows.losses[..., asked.columns]
        self.errors = errors = _errors_of(outcome.errors, asked, self.losses, rows.roles)
        context = Context(level, scale, outcome.bias_cv, with_skewness=asked.minds_skewness)
        self.obstacles = {
            name: obstacle for name, rule in RULES.items() if (obstacle := _obstacle(rule, errors, asked))
        }
        rules = {name: rule for name, rule in RULES.items() if name not in self.obstacles}
        self.by_rule = {name: rule.compute(errors, context) for name, rule in rules.items()}
        self.own = self.by_rule[job.rule.name]
        self.sampling = errors.sampling(self.own.estimate).mean(axis=0)
        self.raw, self.cv = raw_estimate(errors), _cv_estimate(errors, asked)
        self.monte_carlo_error = half_width_error(errors, job.rule, scale)
        self.heavy_tailed = heavy_tailed(errors, self.rows, asked.kind)
        self.rmse = self.r2 = None
        if job.loss.is_squared_error and asked.family == "mean" and not job.task.metrics:
            self.rmse = rmse(self.own)
            self.r2 = r2(self.own, errors, self.losses, job.problem.y, self.rows, level)

    def shown(self, key: str, interval: Interval | None = None) -> FloatArray:
        """One of estimate, low, high, standard_error as people know it; the ends change places with the sign."""
        found, shown = interval or self.own, self.asked.shown
        if key == "standard_error":
            return found.standard_error
        other = {"low": "high", "high": "low"} if shown.greater_is_better else {}
        return shown.of(getattr(found, other.get(key, key)))


def _errors_of(errors: FoldErrors, asked: Asked, losses: FloatArray, rows: RowRoles) -> FoldErrors:
    """The tables of one metric."""
    own = figures_of(errors, asked.columns)
    return with_averaged_rows(own, losses, rows) if asked.family == "rank" else own


def _cv_estimate(errors: FoldErrors, asked: Asked) -> FloatArray:
    """Mean of the folds' values weighted by their rows; of all rows together where a fold has no value of its own."""
    if asked.has_row_losses or errors.shares is None or errors.n_folds == errors.n_scored:
        return cv_estimate(errors)
    mean: FloatArray = np.einsum("lk,lkvr->lvr", errors.shares, errors.e_out).mean(axis=0)
    return mean


def build_result(job: Job, outcome: Outcome, value: int = 0, figures: AllFigures | None = None) -> NestedCVResult:
    """Gather the figures of one parameter value; without an axis of outputs if y has none."""
    problem = job.problem
    figures = all_figures(job, outcome) if figures is None else figures
    first = figures.first
    own, errors, shown, bid = first.own, first.errors, first.asked.shown, job.bid_at(value)

    def pick(array: AnyArray) -> Any:
        """One value, and its only output if y is a vector."""
        picked = np.array(array[..., value, :])
        if problem.output_names is None:
            picked = picked[..., 0]
        picked.setflags(write=False)
        return picked.item() if picked.ndim == 0 else picked

    return NestedCVResult(
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
        reason="; ".join(filter(None, [own.reason_at(value), *outcome.notes])),
        output_names=problem.output_names,
        rmse=None if first.rmse is None else Figure(*map(pick, first.rmse)),
        r2=None if first.r2 is None else Figure(*map(pick, first.r2)),
        findings=findings_of(_known(job, outcome, figures, value)),
        row_value="loss" if first.asked.has_row_losses else "influence",
        standard=standard_of(job, first.asked, errors, first.sampling[value], build_result),
    )


class AllFigures(NamedTuple):
    """Those of every metric, and what is known of the rows."""

    by_metric: tuple[Figures, ...]
    rows: HeldOutRows

    @property
    def listed(self) -> list[Figures]:
        """Those of the metrics that were asked for."""
        return [each for each in self.by_metric if not each.asked.is_extra]

    @property
    def extra(self) -> list[Figures]:
        """Those of what comes beside them."""
        return [each for each in self.by_metric if each.asked.is_extra]

    @property
    def first(self) -> Figures:
        """Those of the metric that the result speaks of."""
        return self.by_metric[0]


def all_figures(job: Job, outcome: Outcome) -> AllFigures:
    """Everything that is computed from an outcome."""
    rows = HeldOutRows(job, outcome)
    return AllFigures(tuple(Figures(job, outcome, asked, rows) for asked in job.asked), rows)


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
    problem, source, Q = job.problem, job.partitions.source, job.problem.n_outputs
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
        usual_folds=usual_refit_folds(job.problem.n) if job.has_default_folds else 0,
        exactness=learner.exactness,
        rows=figures.rows,
        y=problem.y,
        predictions=every.rows.both[:, value, :Q],
        losses=figures.losses[:, value],
        heavy_tailed=figures.heavy_tailed[value],
        row_names=every.rows.names,
        folds=source.block(0, 1).ids[0] if source.is_exhaustive else None,
    )


def _obstacle(rule: Rule, errors: FoldErrors, asked: Asked) -> str:
    """Why a rule has no interval for these tables; empty if it has."""
    if rule.needs_v_out and not asked.has_row_losses:
        return NO_ROW_LOSSES
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
    """Mean held-out prediction and loss of each row; of classes, the one predicted most often, and probabilities."""
    problem, index, classes = job.problem, rows.names, job.loss.classes
    Q, losses = problem.n_outputs, figures.losses[:, value]
    row_value = "loss" if figures.asked.has_row_losses else "influence"
    if classes is not None:
        voted = pd.Series(classes.labels[classes.decide(rows.kept[:, value, :Q])], index=index)
        scored = np.isfinite(losses[:, 0])
        frame = pd.DataFrame({"prediction": voted.where(scored), row_value: losses[:, 0]}, index=index)
        for label, column in zip(classes.labels, rows.kept[:, value, Q:].T, strict=False):
            frame[f"probability_{label}"] = column
        return frame
    columns: pd.Index[Any] = pd.Index(["prediction", row_value])
    if problem.output_names is not None:
        columns = pd.MultiIndex.from_product([list(columns), list(problem.output_names)])
    both = rows.both[:, value]
    if both.shape[1] > Q + losses.shape[1]:
        both = np.hstack([both[:, :Q], losses])
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
    fitted = {v: build_result(job, outcome, at, every) for at, v in zip(computed, kept, strict=True)}
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
    difference = [paired(errors, places, np.full(len(places), job.values.index(b)), job.confidence_level) for b in best]
    parts = {
        key: spread(np.stack([_signed(key, each, shown)[:, q] for q, each in enumerate(difference)], axis=1))
        for key in ("estimate", "low", "high", "standard_error")
    }
    scores = _scores(job)
    tables = {name: spread(table) for name, table in _score_tables(scores, errors, own).items()}
    frame = _score_frame(tables, pd.Index(array, name=param_name), job.problem.output_names)
    frame.attrs["reasons"] = dict(scores.reasons)
    return ErrorCurve(
        values=array,
        estimate=spread(figures.shown("estimate")),
        low=spread(figures.shown("low")),
        high=spread(figures.shown("high")),
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
        loss=figures.asked.name,
        greater_is_better=shown.greater_is_better,
        rule_version=RULE_VERSION,
        output_names=job.problem.output_names,
        deploy=deploy,
    )


def _scores(job: Job) -> Scores:
    """Criteria by value as far as the model has them, with leave-one-out from its route if it has no closed form."""
    bid = job.bids[0]
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


def _score_tables(scores: Scores, errors: FoldErrors, own: Interval) -> dict[str, FloatArray]:
    """All scores of a curve by name, (computed, R), in the order of its columns; NaN where the model has none."""
    nothing = np.full(own.estimate.shape, np.nan)
    every = {"kfold": errors.e_out.mean(axis=(0, 1)), "ncv": own.estimate, **scores.tables}
    return {name: every.get(name, nothing) for name in ("loo", "gcv", "kfold", "ncv", "reml")}


def _score_frame(
    scores: dict[str, FloatArray], index: pd.Index[Any], output_names: tuple[str, ...] | None
) -> pd.DataFrame:
    if output_names is None:
        return pd.DataFrame(scores, index=index)
    columns = pd.MultiIndex.from_product([list(scores), list(output_names)], names=["score", "output"])
    return pd.DataFrame(np.hstack(list(scores.values())), index=index, columns=columns)


def build_comparison(job: Job, outcome: Outcome, names: Sequence[str]) -> Comparison:
    """Gather the models, from the smallest error, and all pairs of them in that order."""
    every = all_figures(job, outcome)
    figures = every.first
    results = {name: build_result(job, outcome, at, every) for at, name in enumerate(names)}
    own, shown = figures.own, figures.asked.shown
    order = np.argsort(own.estimate.mean(axis=1), kind="stable")
    outputs = job.problem.output_names
    columns = ("estimate", "low", "high", "standard_error")
    models = _table([names[at] for at in order], [figures.shown(key)[order] for key in columns], outputs, ["model"])
    repeated = 1 if outputs is None else len(outputs)
    models["route"] = np.repeat([job.bids[at].route.name for at in order], repeated)
    pairs = list(combinations(order, 2))
    first, second = (np.array(side, dtype=np.intp) for side in zip(*pairs, strict=True))
    difference = paired(figures.errors, first, second, job.confidence_level)
    labels = [(names[a], names[b]) for a, b in pairs]
    table = _table(labels, [_signed(key, difference, shown) for key in columns], outputs, ["first", "second"])
    return Comparison(
        models=models,
        differences=table,
        results={names[at]: results[names[at]] for at in order},
        confidence_level=job.confidence_level,
        loss=figures.asked.name,
        greater_is_better=shown.greater_is_better,
        rule_version=RULE_VERSION,
        output_names=outputs,
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
