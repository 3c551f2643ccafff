"""The covariance rule for rows that follow one another.

``s^2 = max(V_cos, V_rho) + max(0, C)``: the long-run variance of the mean of the losses, and their covariance through
training rows that neighbourhoods share. The centre is extrapolated by the numbers of training rows. Losses other than
squared errors, and differences, have V_cos alone: how their correlation follows from that of residuals is not known.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from ..arrangement import Arrangement, Line
from ..typing import FloatArray, IntArray
from .correlation import Decay
from .ends import ends_of_mean, wilson
from .fold_errors import FoldErrors, RowRoles
from .intervals import TOO_WIDE, Interval, cv_estimate, extrapolated, least_share, raw_estimate, where_no_row_speaks
from .longrun import by_cosines, by_decay, independent, n_cosines

__all__ = ["LongRun", "Serial", "degrees_of_differences", "serial_differences", "serial_interval"]

FEWEST_DEGREES = 3.0


@dataclass(frozen=True)
class Serial:
    """What the rule must know of the folds.

    Attributes
    ----------
    arrangement : Arrangement
    share : float
        Part of all rows that the training sets with two neighbourhoods out have on average; zero if the centre is not
        extrapolated, as the future never trains the past.
    decays : list of list of Decay, or None
        Of the residuals, by value and output; None if it is to be fitted to the held-out residuals themselves.
    """

    arrangement: Arrangement
    share: float
    decays: list[list[Decay]] | None = None


@dataclass(frozen=True)
class LongRun:
    """Variance of the mean of the losses, (V, R): as of independent rows, and with their correlation."""

    plain: FloatArray
    total: FloatArray


def long_run(
    losses: FloatArray, centre: FloatArray, serial: Serial, rows: RowRoles, decays: list[list[Decay]] | None
) -> LongRun:
    """Of losses (n, V, R), NaN where rows are not scored; without ``decays`` by cosines alone."""
    scored = np.flatnonzero(np.isfinite(losses).all(axis=(1, 2)))
    if not len(scored):  # a figure that these rows do not have, such as a slope where all probabilities are one
        unknown = np.full(losses.shape[1:], np.nan)
        return LongRun(unknown, unknown)
    z = losses[scored]
    if rows.weights is not None:
        z = rows.weights[scored, None, None] * (z - centre)
    z = z - z.mean(axis=0)
    peak = np.abs(z).max(axis=0)
    peak = np.where(peak > 0, peak, 1.0)  # before it is squared
    found = by_cosines(z / peak, serial.arrangement, scored)
    if decays is not None:
        found = np.maximum(found, by_decay(z / peak, serial.arrangement, scored, decays))
    plain = independent(z / peak, serial.arrangement, scored)
    return LongRun(plain * np.square(peak), found * np.square(peak))


def serial_centre(raw: FloatArray, cv: FloatArray, share: float, scale: str, n_scored: int) -> FloatArray:
    """``log c = log cv - share (log raw - log cv)``, on the scale of the loss."""
    return cv if share == 0 else extrapolated(raw, cv, 1 + share, n_scored, scale)


def serial_interval(
    errors: FoldErrors,
    losses: FloatArray,
    serial: Serial,
    rows: RowRoles,
    level: float,
    scale: str,
    decays: list[list[Decay]] | None,
) -> tuple[Interval, LongRun]:
    """Intervals for the error of every value, from fold errors and losses (n, V, R); arrays (V, R)."""
    scale = "unit" if scale == "shares" else scale  # whose moments are those of independent rows
    centre = serial_centre(raw_estimate(errors), cv_estimate(errors), serial.share, scale, errors.n_scored)
    found = long_run(losses, centre, serial, rows, decays)
    plain, floor = found.plain, found.total
    if scale in ("logit", "unit"):  # where all rows are right, nothing else says how uncertain that is
        least = centre * (1 - centre) if scale == "logit" else least_share(errors.n_scored, scale)
        plain, floor = (np.maximum(each, least / errors.n_scored) for each in (plain, floor))
    shared = errors.covariance[0] if serial.share else np.zeros(centre.shape)
    s = np.sqrt(floor + np.maximum(shared, 0.0))
    too_wide = (s > centre) if scale == "log" else np.zeros(centre.shape, dtype=bool)
    t = special.stdtrit(_degrees(centre, s, scale, errors.n_scored, serial), 0.5 + level / 2)
    if scale == "logit":
        low, high = wilson(centre, s, t)
        low, high = where_no_row_speaks(low, high, errors)
    else:
        low, high = ends_of_mean(centre, s, t, None, scale)
    inflation = np.sqrt(np.divide(np.square(s), plain, out=np.ones(s.shape), where=plain > 0))
    reason = TOO_WIDE if too_wide.any() else ""
    interval = Interval(centre, low, high, s, floor + shared, shared < 0, inflation, reason, affected=too_wide)
    return interval, LongRun(plain, floor)


def _degrees(centre: FloatArray, s: FloatArray, scale: str, n_scored: int, serial: Serial) -> FloatArray:
    """Of the t quantile: what the spread of a positive loss tells, else the cosines that the variance is a mean of."""
    if scale == "log":
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.maximum(FEWEST_DEGREES, np.where(s > 0, np.square(centre / np.where(s > 0, s, 1.0)), np.inf))
    return np.full(centre.shape, max(FEWEST_DEGREES, float(_cosines(n_scored, serial))))


def _cosines(n_scored: int, serial: Serial) -> int:
    line = serial.arrangement
    return n_cosines(min(n_scored, line.n_places) if isinstance(line, Line) else n_scored)


def degrees_of_differences(errors: FoldErrors, serial: Serial) -> float:
    """Of the t quantile: the cosines that the variance is a mean of."""
    return max(FEWEST_DEGREES, float(_cosines(errors.n_scored, serial)))


def serial_differences(
    errors: FoldErrors,
    losses: FloatArray,
    first: IntArray,
    second: IntArray,
    serial: Serial,
    rows: RowRoles,
    level: float,
) -> Interval:
    """Differences of error between values ``first`` and ``second``, each (D,); arrays (D, R)."""
    raw, cv = raw_estimate(errors), cv_estimate(errors)
    estimate = serial_centre(raw[first] - raw[second], cv[first] - cv[second], serial.share, "identity", 0)
    found = long_run(losses[:, first] - losses[:, second], estimate, serial, rows, None)
    _, covariance = errors.paired(first, second, estimate)
    shared = covariance[0] if serial.share else np.zeros(estimate.shape)
    s = np.sqrt(found.total + np.maximum(shared, 0.0))
    half = special.stdtrit(degrees_of_differences(errors, serial), 0.5 + level / 2) * s
    inflation = np.sqrt(np.divide(np.square(s), found.plain, out=np.ones(s.shape), where=found.plain > 0))
    return Interval(estimate, estimate - half, estimate + half, s, found.total + shared, shared < 0, inflation)
