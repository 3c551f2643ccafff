"""Figures of tables whose rows were not kept: ratios of losses from sums over rows."""

from __future__ import annotations

from typing import NoReturn

import numpy as np

from ..errors import OneFitError
from ..inference.figures import Figure, ratio_figure
from ..inference.intervals import Interval
from ..metrics import Asked
from ..routes.streams import StreamedOutcome
from ..typing import FloatArray

__all__ = ["NoStandard", "streamed_r2", "streamed_skill"]


def streamed_r2(own: Interval, sampling: FloatArray, outcome: StreamedOutcome, level: float) -> Figure:
    """One minus the error over that of predicting the mean of the other rows, at every value."""
    summary, errors = outcome.summary, outcome.errors
    assert summary is not None
    n = float(errors.n_rows)
    base = summary.sums[-1] / n
    extra = np.maximum(np.square(own.standard_error) - sampling, 0.0)
    figures = [
        ratio_figure(estimate, base, summary.variance_of_ratio(value, 1, n), extra[value], level, errors.n_units - 1)
        for value, estimate in enumerate(own.estimate)
    ]
    return Figure(*(np.stack(part) for part in zip(*figures, strict=True)))


def streamed_skill(
    asked: Asked, own: Interval, sampling: FloatArray, outcome: StreamedOutcome, level: float, value: int
) -> Figure:
    """One minus the loss over that of the best constant, the last value; NaN where the ratio has no meaning."""
    summary, errors = outcome.summary, outcome.errors
    assert summary is not None
    if asked.scale == "identity" or asked.family in ("rank", "pooled"):
        nan = np.full(own.estimate.shape[1:], np.nan)
        return Figure(nan, nan, nan)
    extra = np.maximum(np.square(own.standard_error[value]) - sampling[value], 0.0)
    paired = summary.variance_of_ratio(value, 0, float(errors.n_rows))[asked.columns]
    return ratio_figure(own.estimate[value], own.estimate[-1], paired, extra, level, errors.n_units - 1)


class NoStandard:
    """Says why there is no best constant."""

    def skill(self, result: object, baseline: object) -> NoReturn:
        """There is none beside nothing."""
        self.compute()

    def compute(self) -> NoReturn:
        """There is none."""
        raise OneFitError(
            "The best constant for this loss is a median or a quantile, or one of two classes that a score such as F1 "
            "likes better, which a table whose rows stay where they are does not tell; see that of a part of the rows: "
            "table.sample(n, random_state)."
        )
