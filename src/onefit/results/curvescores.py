"""Scores along a curve: what folds say, and the criteria that models have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from ..inference.fold_errors import FoldErrors
from ..inference.intervals import Interval
from ..learners import Refusal, Scores
from ..metrics import Shown
from ..routes import Bid, Outcome
from ..routes.streams import StreamedOutcome
from ..running.job import Job
from ..typing import FloatArray
from ..vocabulary import CRITERIA

__all__ = ["score_frame", "score_tables", "scores_of"]

NOT_OF_TABLES = "they are computed from rows in memory, and these stay where they are"


OF_ANOTHER_TARGET = Refusal("they would be those of a function of y")


def scores_of(job: Job, outcome: Outcome) -> Scores:
    """Criteria by value as far as the models have them, with leave-one-out from their route if it has no formula."""
    if isinstance(outcome, StreamedOutcome):
        found = outcome.criteria if job.loss.classes is None else None
        if found is None:
            return Scores({}, reasons=dict.fromkeys(CRITERIA, NOT_OF_TABLES))
        return Scores({"gcv": found["gcv"]}, found["edf"], {"loo": NOT_OF_TABLES, "reml": NOT_OF_TABLES})
    each = [_of_bid(job, bid) for bid in job.bids]
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


def _of_bid(job: Job, bid: Bid) -> Scores:
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


def score_tables(scores: Scores, errors: FoldErrors, own: Interval, shown: Shown) -> dict[str, FloatArray]:
    """All scores of a curve by name, (computed, R), in the order of its columns; NaN where the model has none.

    What folds say is the figure that was asked for, such as an area; the criteria of models are losses.
    """
    nothing = np.full(own.estimate.shape, np.nan)
    by_folds = {"kfold": shown.of(errors.e_out.mean(axis=(0, 1))), "ncv": shown.of(own.estimate)}
    every = {**by_folds, **scores.tables}
    return {name: every.get(name, nothing) for name in ("loo", "gcv", "kfold", "ncv", "reml")}


def score_frame(
    scores: dict[str, FloatArray],
    index: pd.Index[Any],
    output_names: tuple[str, ...] | None,
    reasons: Mapping[str, str],
) -> pd.DataFrame:
    """The same as a frame, by value, with the reasons why some are missing; columns are scores, and outputs of y."""
    if output_names is None:
        frame = pd.DataFrame(scores, index=index)
    else:
        columns = pd.MultiIndex.from_product([list(scores), list(output_names)], names=["score", "output"])
        frame = pd.DataFrame(np.hstack(list(scores.values())), index=index, columns=columns)
    frame.attrs["reasons"] = dict(reasons)
    return frame
