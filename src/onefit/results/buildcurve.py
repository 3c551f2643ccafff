"""Outcome of a job -> curve along a parameter."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from ..inference.intervals import RULE_VERSION
from ..routes import Outcome
from ..running.job import Job
from ..running.ranges import as_values
from ..typing import FloatArray, IntArray
from ..vocabulary import Simpler
from .build import build_result
from .byvalue import ResultsByValue
from .curve import Difference, ErrorCurve, simplest_minimum, simplicity
from .curvescores import score_frame, score_tables, scores_of
from .figured import Figures, all_figures
from .tabled import COLUMNS, signed

__all__ = ["build_curve"]


def build_curve(
    job: Job,
    outcome: Outcome,
    values: Sequence[object],
    param_name: str,
    simpler: Simpler,
    deploy: Callable[[object], Any],
) -> ErrorCurve:
    """Gather the curve; values that could not be fitted are NaN."""
    outputs, V, array = job.problem.output_names, len(values), as_values(values)
    every = all_figures(job, outcome)
    figures, own, shown = every.first, every.first.own, every.first.asked.shown
    computed = [at for at in range(len(job.values)) if at not in outcome.failures]
    kept = [job.values[at] for at in computed]
    reasons = dict(job.failures) | {job.values[at]: str(error) for at, error in outcome.failures.items()}
    make = {v: partial(build_result, job, outcome, at, every) for at, v in zip(computed, kept, strict=True)}
    R = own.estimate.shape[1]

    def spread(rows: FloatArray) -> FloatArray:
        """Rows (computed, R) at their places among all values."""
        table = np.full((V, R), np.nan)
        table[kept] = rows[computed]
        return table[:, 0] if outputs is None else table

    best = simplest_minimum(spread(own.estimate).reshape(V, R), simplicity(V, simpler, array))
    from_best = {key: spread(table) for key, table in _differences(figures, job.values, best).items()}
    scores = scores_of(job, outcome)
    tables = {name: spread(table) for name, table in score_tables(scores, figures.errors, own, shown).items()}
    return ErrorCurve(
        values=array,
        estimate=spread(figures.shown("estimate")),
        low=spread(figures.shown("low")),
        high=spread(figures.shown("high")),
        standard_error=spread(own.standard_error),
        difference=Difference(**from_best, df=figures.degrees),
        best=int(best[0]) if outputs is None else best,
        scores=score_frame(tables, pd.Index(array, name=param_name), outputs, scores.reasons),
        edf=None if scores.edf is None else spread(np.broadcast_to(scores.edf, own.estimate.shape)),
        results=ResultsByValue(V, make),
        reasons=tuple(reasons.get(v, "") for v in range(V)),
        param_name=param_name,
        simpler=simpler,
        confidence_level=job.confidence_level,
        loss=figures.asked.name,
        greater_is_better=shown.greater_is_better,
        rule_version=RULE_VERSION,
        output_names=outputs,
        deploy=deploy,
    )


def _differences(figures: Figures, values: Sequence[int], best: IntArray) -> dict[str, FloatArray]:
    """Each computed value less the best of its output, as people know figures: tables (computed, R) by column.

    Outputs that share their best value are one call, as each computes all of them.
    """
    places = np.arange(len(values))
    by_best = {b: figures.difference(places, np.full(len(places), values.index(b))) for b in set(best.tolist())}
    each = [by_best[b] for b in best.tolist()]
    shown = figures.asked.shown
    return {
        key: np.stack([signed(key, difference, shown)[:, q] for q, difference in enumerate(each)], axis=1)
        for key in COLUMNS
    }
