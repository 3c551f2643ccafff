"""Figures that people know, derived from an interval for the squared error by the delta method."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import special

from ..typing import FloatArray, IntArray
from .fold_errors import FoldErrors, RowRoles
from .intervals import Interval

__all__ = ["Figure", "Neighbours", "r2", "ratio_figure", "relative_loss", "rmse"]


class Figure(NamedTuple):
    """An estimate with its interval."""

    estimate: FloatArray
    low: FloatArray
    high: FloatArray


class Neighbours(NamedTuple):
    """Of rows that follow one another: the variance of a mean, that of the losses' mean (V, Q), and degrees of freedom.

    ``variance`` is a function of what the mean is of (n, Q) and of its rows.
    """

    variance: Callable[[FloatArray, IntArray], FloatArray]
    sampling: FloatArray
    degrees: float


def rmse(interval: Interval) -> Figure:
    """Root mean squared error: the delta method on the log scale is the root of each end."""
    return Figure(*(np.sqrt(np.maximum(v, 0.0)) for v in (interval.estimate, interval.low, interval.high)))


def r2(
    interval: Interval,
    errors: FoldErrors,
    losses: FloatArray,
    y: FloatArray,
    rows: RowRoles,
    level: float,
    neighbours: Neighbours | None,
    value: int,
) -> Figure:
    """One minus the error at one value over that of predicting the mean of the other rows, (R,)."""
    scored = np.isfinite(losses[:, :1]).all(axis=(1, 2))  # at one value, at all
    w = np.ones((int(scored.sum()), 1)) if rows.weights is None else rows.weights[scored, None]
    own = y[scored]
    baseline = np.full(y.shape, np.nan)
    with np.errstate(divide="ignore", invalid="ignore"):  # one weight may be all to the last bit
        others = w.sum(axis=0) - w
        baseline[scored] = np.square((own - (w * own).sum(axis=0) / w.sum(axis=0)) * w.sum(axis=0) / others)
    sampling = errors.sampling(interval.estimate).mean(axis=0) if neighbours is None else neighbours.sampling
    extra = np.maximum(np.square(interval.standard_error) - sampling, 0.0)
    base = (w * baseline[scored]).mean(axis=0)
    estimate, units = interval.estimate[value], errors.n_units
    return relative_loss(estimate, base, losses[:, value], baseline, extra[value], rows, level, units, neighbours)


def relative_loss(
    estimate: FloatArray,
    base: FloatArray,
    losses: FloatArray,
    base_losses: FloatArray,
    extra: FloatArray,
    rows: RowRoles,
    level: float,
    n_units: int,
    neighbours: Neighbours | None = None,
) -> Figure:
    """One minus the ratio of two losses (R,), the second that of a constant, from the losses of rows (n, R).

    Numerator and denominator are paired by row: the variance of the log ratio is that of
    ``l_i / lbar - t_i / tbar``, plus ``extra``, what the rule adds to the variance of the losses. What ``neighbours``
    say takes the place of the variance of independent rows.
    """
    scored = np.isfinite(losses).all(axis=1) & np.isfinite(base_losses).all(axis=1)
    groups = None if rows.groups is None else np.unique(rows.groups[scored], return_inverse=True)[1]
    own, constant = (losses, base_losses) if scored.all() else (losses[scored], base_losses[scored])
    if rows.weights is not None:
        own, constant = rows.weights[scored, None] * own, rows.weights[scored, None] * constant
    with np.errstate(divide="ignore", invalid="ignore"):
        gaps = own / own.mean(axis=0) - constant / constant.mean(axis=0)
        if neighbours is not None:
            paired = neighbours.variance(gaps, np.flatnonzero(scored))
        else:
            totals = RowRoles(None, groups).totals(gaps)
            squares = np.einsum("gq,gq->q", totals, totals)
            paired = len(totals) / (len(totals) - 1) * squares / len(own) ** 2
    degrees = n_units - 1 if neighbours is None else neighbours.degrees
    return ratio_figure(estimate, base, paired, extra, level, degrees)


def ratio_figure(
    estimate: FloatArray, base: FloatArray, paired: FloatArray, extra: FloatArray, level: float, degrees: float
) -> Figure:
    """One minus the ratio of two losses, given the variance of the log ratio over rows and what a rule adds to it."""
    t = special.stdtrit(degrees, 0.5 + level / 2)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = estimate / base
        half = t * np.sqrt(np.square(ratio) * paired + extra / np.square(base))
        on_log = half < t * ratio  # as for the error itself, whose interval leaves the log scale when it is that wide
        spread = np.exp(np.where(on_log, half / ratio, 0.0))
        low = np.where(on_log, 1 - ratio * spread, 1 - ratio - half)
        high = np.where(on_log, 1 - ratio / spread, np.minimum(1 - ratio + half, 1.0))
    return Figure(1 - ratio, low, high)
