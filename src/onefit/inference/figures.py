"""Figures that people know, derived from an interval for the squared error by the delta method."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import special

from ..typing import FloatArray
from .fold_errors import FoldErrors, RowRoles
from .intervals import Interval

__all__ = ["Figure", "r2", "rmse"]


class Figure(NamedTuple):
    """An estimate with its interval."""

    estimate: FloatArray
    low: FloatArray
    high: FloatArray


def rmse(interval: Interval) -> Figure:
    """Root mean squared error: the delta method on the log scale is the root of each end."""
    return Figure(*(np.sqrt(np.maximum(v, 0.0)) for v in (interval.estimate, interval.low, interval.high)))


def r2(
    interval: Interval, errors: FoldErrors, losses: FloatArray, y: FloatArray, rows: RowRoles, level: float
) -> Figure:
    """One minus the error over that of predicting the mean of the other rows.

    Numerator and denominator are paired by row: the variance of the log ratio is that of
    ``l_i / lbar - t_i / tbar``, plus what the rule adds to the variance of the losses.
    """
    scored = np.isfinite(losses[:, :1]).all(axis=(1, 2))  # at one value, at all
    some = slice(None) if scored.all() else scored
    w = np.ones((int(scored.sum()), 1, 1)) if rows.weights is None else rows.weights[some, None, None]
    y, losses = y[some, None, :], losses[some] if rows.weights is None else w * losses[some]
    with np.errstate(divide="ignore", invalid="ignore"):  # one weight may be all to the last bit
        others = w.sum(axis=0) - w
        baseline = w * np.square((y - (w * y).sum(axis=0) / w.sum(axis=0)) * w.sum(axis=0) / others)
    base, mean = baseline.mean(axis=0), losses.mean(axis=0)
    groups = None if rows.groups is None else np.unique(rows.groups[some], return_inverse=True)[1]
    extra = np.maximum(np.square(interval.standard_error) - errors.sampling(interval.estimate).mean(axis=0), 0.0)
    t = special.stdtrit(errors.n_units - 1, 0.5 + level / 2)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = interval.estimate / base
        paired, relative = np.empty(mean.shape), baseline[:, 0] / base[0]
        for value, at in enumerate(mean):  # one by one: tables of all rows and values are large
            gaps = losses[:, value] / at
            gaps -= relative
            totals = RowRoles(None, groups).totals(gaps)
            squares = np.einsum("gq,gq->q", totals, totals)
            paired[value] = len(totals) / (len(totals) - 1) * squares / len(y) ** 2
        half = t * np.sqrt(np.square(ratio) * paired + extra / np.square(base))
        on_log = half < t * ratio  # as for the error itself, whose interval leaves the log scale when it is that wide
        spread = np.exp(np.where(on_log, half / ratio, 0.0))
        low = np.where(on_log, 1 - ratio * spread, 1 - ratio - half)
        high = np.where(on_log, 1 - ratio / spread, np.minimum(1 - ratio + half, 1.0))
    return Figure(1 - ratio, low, high)
