"""Outcome of a job -> result."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from .fold_errors import FoldErrors
from .intervals import RULES, Context, Interval, Rule, cv_estimate, raw_estimate
from .job import Job, Outcome
from .losses import Loss
from .montecarlo import half_width_error
from .results import FoldErrorTables, NestedCVResult
from .scores import Figure, r2, rmse
from .typing import FloatArray
from .validation import Problem

__all__ = ["build_result"]

NO_V_OUT = "the rule needs the variance within each fold, and some folds have one row"


def build_result(job: Job, outcome: Outcome, value: int = 0) -> NestedCVResult:
    """Gather the figures of one parameter value; without an axis of outputs if y has none."""
    problem, rule, loss, errors = job.problem, job.rule, job.loss, outcome.errors
    context = Context(job.confidence_level, loss.scale, outcome.bias_cv)
    single = problem.output_names is None

    def pick(array: Any) -> Any:
        """One value, and its only output if y is a vector."""
        picked = np.array(array[..., value, :])
        if single:
            picked = picked[..., 0]
        picked.setflags(write=False)
        return picked.item() if picked.ndim == 0 else picked

    by_rule = {name: other.compute(errors, context) for name, other in RULES.items() if _applies(other, errors)}
    own = by_rule[rule.name]
    residuals, losses = outcome.totals.means()
    raw = raw_estimate(errors)
    figures: dict[str, Figure | None] = {"rmse": None, "r2": None}
    if loss.name == "squared_error":
        both = {"rmse": rmse(own), "r2": r2(own, errors, losses, problem.y, job.rows, job.confidence_level)}
        figures = {name: Figure(*map(pick, figure)) for name, figure in both.items()}
    return NestedCVResult(
        estimate=pick(own.estimate),
        interval=(pick(own.low), pick(own.high)),
        confidence_level=context.confidence_level,
        rule=rule.name,
        standard_error=pick(own.standard_error),
        bias=pick(raw - own.estimate),
        mse=pick(own.mse),
        mse_is_floored=pick(own.is_floored),
        inflation=pick(own.inflation),
        raw_estimate=pick(raw),
        cv_estimate=pick(cv_estimate(errors)),
        monte_carlo_error=pick(half_width_error(errors, rule, loss.scale)),
        n_folds=errors.n_folds,
        n_repeats=errors.n_repeats,
        route=job.route.name,
        route_reason=job.route_reason,
        exactness=job.exactness,
        loss=loss.name,
        intervals=_interval_table(by_rule, problem.output_names, value),
        fold_errors=FoldErrorTables(*map(pick, (errors.e_in, errors.e_out, errors.v_out, errors.mse))),
        heldout=_heldout_table(problem, loss, problem.y - residuals[:, value], losses[:, value]),
        reason=own.reason,
        output_names=problem.output_names,
        **figures,
    )


def _applies(rule: Rule, errors: FoldErrors) -> bool:
    return not (rule.needs_v_out and np.isnan(errors.v_out).any())


def _interval_table(by_rule: dict[str, Interval], output_names: tuple[str, ...] | None, value: int) -> pd.DataFrame:
    """One row a rule (and output); NaN where the rule does not apply to these folds."""
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
    reasons = {name: by_rule[name].reason if name in by_rule else NO_V_OUT for name in RULES}
    table.attrs["reasons"] = {name: reason for name, reason in reasons.items() if reason}
    return table


def _heldout_table(problem: Problem, loss: Loss, predictions: FloatArray, losses: FloatArray) -> pd.DataFrame:
    """Mean held-out prediction and loss of each row; of classes, the one that was predicted most often."""
    index = problem.X.index if isinstance(problem.X, pd.DataFrame) else None
    if loss.classes is not None:
        voted = pd.Series(loss.classes.labels[loss.classes.decide(predictions)], index=index)
        scored = np.isfinite(losses[:, 0])
        return pd.DataFrame({"prediction": voted.where(scored), "loss": losses[:, 0]}, index=index)
    if problem.output_names is None:
        return pd.DataFrame({"prediction": predictions[:, 0], "loss": losses[:, 0]}, index=index)
    columns = pd.MultiIndex.from_product([["prediction", "loss"], list(problem.output_names)])
    return pd.DataFrame(np.hstack([predictions, losses]), index=index, columns=columns)
