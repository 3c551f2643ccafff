"""Outcome of a job -> comparison of models."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from ..errors import TrainingSetError
from ..inference.intervals import RULE_VERSION
from ..routes import Outcome
from ..running.job import Job
from .build import build_result
from .comparison import Comparison
from .figured import all_figures
from .tabled import COLUMNS, signed, table_of

__all__ = ["build_comparison"]


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
    models = table_of([names[at] for at in order], [figures.shown(key)[order] for key in COLUMNS], outputs, ["model"])
    repeated = 1 if outputs is None else len(outputs)
    models["route"] = np.repeat([job.bids[at].route.name for at in order], repeated)
    pairs = list(combinations(order, 2))
    first, second = (np.array(side, dtype=np.intp) for side in zip(*pairs, strict=True))
    difference = figures.difference(first, second)
    labels = [(names[a], names[b]) for a, b in pairs]
    table = table_of(labels, [signed(key, difference, shown) for key in COLUMNS], outputs, ["first", "second"])
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
