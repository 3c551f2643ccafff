"""Everything that is computed from an outcome: figures of each metric, at all parameter values at once."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from ..frames import row_names
from ..inference.averaged import figures_of, with_averaged_rows
from ..inference.figures import Figure, Neighbours, r2, rmse
from ..inference.fold_errors import FoldErrors, RowRoles
from ..inference.intervals import RULES, Context, Interval, Rule, cv_estimate, paired, raw_estimate
from ..inference.montecarlo import half_width_error
from ..inference.tails import UnitSizes, heavy_tailed
from ..metrics import Asked
from ..routes import Outcome
from ..routes.streams import StreamedOutcome
from ..running.job import Job
from ..typing import FloatArray, IntArray
from .serial import SerialFigures
from .streamed import streamed_r2

__all__ = ["AllFigures", "Figures", "HeldOutRows", "all_figures"]

NO_V_OUT = "The rule needs the variance within each fold, and some folds have one row."
NO_ROW_LOSSES = "The rule needs a loss of every row, and this metric is no mean of such."
OF_INDEPENDENT_ROWS = "The rule takes rows for independent, and these folds are for rows that follow one another."
NO_PAIR_SCATTER = (
    "The rule needs every row's losses with each pair of folds out, which are computed for so many rows only if they "
    "are asked for by"
)


class HeldOutRows:
    """What is known of the rows at all parameter values: mean held-out predictions and losses."""

    def __init__(self, job: Job, outcome: Outcome) -> None:
        if isinstance(outcome, StreamedOutcome):
            self._of_first_rows(outcome)
            return
        residuals, self.losses = outcome.totals.means()
        self.y = job.problem.y
        self.kept = residuals  # predictions, and probabilities if there are any
        own = residuals[..., : job.problem.n_outputs]
        np.subtract(job.problem.y[:, None], own, out=own)  # in place: tables of all rows and values are large
        self.both = outcome.totals.both
        self.names, self.roles = row_names(job.problem.X), job.rows

    def _of_first_rows(self, outcome: StreamedOutcome) -> None:
        """Of a table only the first rows are kept, to see whether neighbours resemble each other."""
        assert outcome.summary is not None
        self.y, residuals, self.losses, weights = outcome.summary.first_rows()
        self.kept = self.y[:, None] - residuals
        self.both = np.concatenate([self.kept, self.losses], axis=2)
        self.names, self.roles = None, RowRoles(weights, None)


def paired_by(errors: FoldErrors, level: float, scale: str) -> Callable[[IntArray, IntArray], Interval]:
    """Differences between values by the covariance rule of independent rows."""
    return lambda first, second: paired(errors, first, second, level, scale)


class Figures:
    """Everything that is computed from an outcome for one metric, at all parameter values at once.

    In the orientation of a loss; `shown` turns it into the figures that people know.
    """

    def __init__(self, job: Job, outcome: Outcome, asked: Asked, rows: HeldOutRows) -> None:
        level, scale = job.confidence_level, asked.rule_scale
        self.asked, self.rows, self.losses = asked, rows.roles, rows.losses[..., asked.columns]
        self.errors = errors = _errors_of(outcome, asked, self.losses, rows.roles)
        self.serial = None if job.dependent is None else SerialFigures(job, asked, errors, rows.kept, self.losses)
        context = Context(level, scale, outcome.bias_cv, with_skewness=asked.minds_skewness)
        self.obstacles = {
            name: obstacle for name, rule in RULES.items() if (obstacle := _obstacle(rule, errors, asked, self.serial))
        }
        rules = {name: rule for name, rule in RULES.items() if name not in self.obstacles}
        if self.serial is None:
            self.by_rule = {name: rule.compute(errors, context) for name, rule in rules.items()}
        else:
            self.by_rule = {"covariance": self.serial.interval}
        # what is no mean of row losses, beside a first metric that is one, has the rule that serves all
        self.own = self.by_rule.get(job.rule.name, self.by_rule["covariance"])
        self.sampling = errors.sampling(self.own.estimate).mean(axis=0)
        self.raw, self.cv = raw_estimate(errors), _cv_estimate(errors, asked)
        self.monte_carlo_error = half_width_error(errors, job.rule, context)
        self.difference, self.degrees = paired_by(errors, level, scale), errors.n_units - 1.0
        if self.serial is not None:
            self.sampling = self.serial.long_run.total
            self.monte_carlo_error = np.zeros(self.own.estimate.shape)  # nothing is drawn
            self.difference, self.degrees = self.serial.difference, self.serial.degrees
        self.heavy_tailed = heavy_tailed(errors, _unit_sizes(outcome, rows), asked.kind)
        self.rmse: Figure | None = None
        self._explained: Callable[[int], Figure] | None = None
        if job.loss.is_squared_error and asked.family == "mean" and not job.task.metrics:
            self.rmse = rmse(self.own)
            if isinstance(outcome, StreamedOutcome):
                whole = streamed_r2(self.own, self.sampling, outcome, level)
                self._explained = lambda value: Figure(*(part[value] for part in whole))
            else:
                self._explained = partial(
                    r2, self.own, errors, self.losses, job.problem.y, self.rows, level, self.neighbours
                )

    def r2_at(self, value: int) -> Figure | None:
        """R2 at one value, (R,), where there is one: it goes over all rows, and most are never looked at."""
        return None if self._explained is None else self._explained(value)

    @property
    def neighbours(self) -> Neighbours | None:
        """What ratios of losses must know, if rows follow one another."""
        return None if self.serial is None else self.serial.neighbours

    def shown(self, key: str, interval: Interval | None = None) -> FloatArray:
        """One of estimate, low, high, standard_error as people know it; the ends change places with the sign."""
        found, shown = interval or self.own, self.asked.shown
        if key == "standard_error":
            return found.standard_error
        other = {"low": "high", "high": "low"} if shown.greater_is_better else {}
        return shown.of(getattr(found, other.get(key, key)))


def _unit_sizes(outcome: Outcome, rows: HeldOutRows) -> UnitSizes:
    """Sizes of rows, or of groups."""
    if isinstance(outcome, StreamedOutcome) and outcome.units is not None:
        return outcome.units
    return UnitSizes.of(rows.roles, outcome.errors.n_rows)


def _errors_of(outcome: Outcome, asked: Asked, losses: FloatArray, rows: RowRoles) -> FoldErrors:
    """The tables of one metric."""
    own = figures_of(outcome.errors, asked.columns)
    if isinstance(outcome, StreamedOutcome) and outcome.row_values is not None and outcome.row_roles is not None:
        losses, rows = outcome.row_values[..., asked.columns], outcome.row_roles
    return with_averaged_rows(own, losses, rows) if asked.family == "rank" else own


def _cv_estimate(errors: FoldErrors, asked: Asked) -> FloatArray:
    """Mean of the folds' values weighted by their rows; of all rows together where a fold has no value of its own."""
    if (
        asked.has_row_losses
        or errors.shares is None
        or np.isnan(errors.e_out).any()
        or errors.n_folds == errors.n_scored
    ):
        return cv_estimate(errors)
    mean: FloatArray = np.einsum("lk,lkvr->lvr", errors.shares, errors.e_out).mean(axis=0)
    return mean


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


def _obstacle(rule: Rule, errors: FoldErrors, asked: Asked, serial: SerialFigures | None) -> str:
    """Why a rule has no interval for these tables; empty if it has."""
    if serial is not None:
        return "" if rule.name == "covariance" else OF_INDEPENDENT_ROWS
    if rule.needs_v_out and not asked.has_row_losses:
        return NO_ROW_LOSSES
    if rule.needs_v_out and np.isnan(errors.v_out).any():
        return NO_V_OUT
    if rule.needs_pair_scatter and np.isnan(errors.pair_scatter).any():
        return f'{NO_PAIR_SCATTER} interval="{rule.name}".'
    return ""
