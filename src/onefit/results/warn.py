"""Warnings that belong to a result: what the reader of the interval should know."""

from __future__ import annotations

import math
import warnings

import numpy as np

from ..errors import HeavyTailWarning, InterruptedWarning, MonteCarloWarning, TrainingSizeWarning
from ..inference.intervals import TOO_SMALL
from ..inference.montecarlo import MOST_REPEATS
from ..inference.tails import heavy_tailed
from ..routes import Outcome
from ..running.job import Job
from .nested import NestedCVResult

__all__ = ["warn_reader"]

_LEVEL = 4  # warn -> warn_reader -> public function -> its caller


def warn_reader(result: NestedCVResult, job: Job, outcome: Outcome, value: int = 0) -> None:
    """Emit the warnings that apply."""
    is_first = len(job.bids) == 1 or value == 0  # of several models, each of which is asked for
    for note in outcome.notes if is_first else ():
        warnings.warn(f"{note[0].upper()}{note[1:]}.", InterruptedWarning, stacklevel=_LEVEL - 1)
    if result.rule == "covariance" and TOO_SMALL in result.reason:
        warnings.warn(TOO_SMALL, TrainingSizeWarning, stacklevel=_LEVEL - 1)
    _warn_monte_carlo(result, job, outcome)
    if job.loss.scale == "log" and heavy_tailed(outcome.totals.means()[1][:, [value]]):
        remedy = (
            'loss="absolute_error", whose interval holds better then'
            if result.loss == "squared_error"
            else "a look at the rows with the largest losses in result.heldout"
        )
        warnings.warn(
            "A few rows carry most of the variance of the losses (heavy-tailed noise, or rows that the model misses), "
            f"so the interval may cover less often than {100 * result.confidence_level:g}%. Consider {remedy}.",
            HeavyTailWarning,
            stacklevel=_LEVEL - 1,
        )


def _warn_monte_carlo(result: NestedCVResult, job: Job, outcome: Outcome) -> None:
    worst = float(np.max(np.atleast_1d(result.monte_carlo_error)))
    remedy = "" if result.rule == "covariance" else ', or interval="covariance", which needs far fewer'
    if math.isnan(worst) and job.rule.needs_v_out:
        warnings.warn(
            f"The {result.rule} interval comes from one random partition, and depends on it much. Use more repeats"
            f"{remedy}.",
            MonteCarloWarning,
            stacklevel=_LEVEL,
        )
    if worst > 0.10:
        more = 'Use more repeats (n_repeats="auto" stops below 5%, or at 200)'
        if result.rule == "naive":
            more, remedy = "It uses one partition only", ': interval="covariance" uses all'
        elif outcome.notes:
            more = "The job was stopped: let it go on for longer"
        elif job.n_repeats is None:
            more = f'n_repeats="auto" ended at its limit of {MOST_REPEATS}: give a larger number'
        warnings.warn(
            f"The half-width of the interval has a Monte Carlo error of {100 * worst:.0f}%: other random partitions "
            f"would change it. {more}{remedy}.",
            MonteCarloWarning,
            stacklevel=_LEVEL,
        )
