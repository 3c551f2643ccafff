"""Where intervals are centred: errors of training sets without one and two folds, extrapolated to all rows."""

from __future__ import annotations

import numpy as np
from scipy import special

from ..typing import FloatArray
from .fold_errors import FoldErrors

__all__ = [
    "bias_factor",
    "covariance_centre",
    "cv_estimate",
    "extrapolated",
    "least_share",
    "monte_carlo_variance",
    "pooled",
    "raw_estimate",
    "within_reach",
]

REACH = 2.0
"""Factor up to which ``raw`` may be apart from ``cv`` for a line through both, on the log scale, to be a guide."""


def bias_factor(K: int) -> float:
    """``1 + (K - 2)/K``: from training sets of (K-2)/K and (K-1)/K of the rows to all of them."""
    return 1.0 + (K - 2) / K


def pooled(by_repeat: FloatArray, count: FloatArray) -> FloatArray:
    """Mean over repeats, each weighted by the number of losses in it."""
    mean: FloatArray = (count[:, None, None] * by_repeat).sum(axis=0) / count.sum()
    return mean


def raw_estimate(errors: FoldErrors) -> FloatArray:
    """Mean of all pair-held-out losses."""
    return pooled(errors.raw, errors.sizes.sum(axis=1) * 1.0)


def cv_estimate(errors: FoldErrors) -> FloatArray:
    """Row mean of the single-held-out losses."""
    return pooled(errors.cv, errors.sizes.sum(axis=1) * 1.0)


def monte_carlo_variance(centres: FloatArray) -> FloatArray:
    """Variance of the mean over repeats of the centre (L, ...) that comes from the partitions drawn; zero of one."""
    count = len(centres)
    if count == 1:
        return np.zeros(centres.shape[1:])
    variance: FloatArray = centres.var(axis=0, ddof=1) / count
    return variance


def least_share(n: int, scale: str) -> float:
    """How near a figure in [0, 1] comes to either end, where no row speaks against that end.

    Half a row for shares of rows; for others, which may be shares of pairs of rows, half a pair of two equal classes.
    """
    return 1 / (2 * n) if scale == "logit" else 2 / n**2


def covariance_centre(raw: FloatArray, cv: FloatArray, errors: FoldErrors, scale: str) -> FloatArray:
    """Error at n training rows from that at n - 2m (``raw``) and n - m (``cv``), extrapolated on the loss's scale."""
    return extrapolated(raw, cv, bias_factor(errors.n_folds), errors.n_scored, scale)


def extrapolated(raw: FloatArray, cv: FloatArray, f: float, n_scored: int, scale: str) -> FloatArray:
    """``raw - f (raw - cv)`` on the loss's scale; on the log scale ``raw`` counts as far as it is `within_reach`."""
    if scale == "identity":
        return raw - f * (raw - cv)
    if scale in ("logit", "unit", "shares"):
        least = least_share(n_scored, scale)
        raw, cv = (special.logit(np.clip(e, least, 1 - least)) for e in (raw, cv))
        share: FloatArray = special.expit(raw - f * (raw - cv))
        return share
    raw = within_reach(raw, cv)
    with np.errstate(divide="ignore", invalid="ignore"):
        centre = np.exp(np.log(raw) - f * (np.log(raw) - np.log(cv)))
    return np.where((raw > 0) & (cv > 0), centre, 0.0)


def within_reach(raw: FloatArray, cv: FloatArray) -> FloatArray:
    """``raw``, or ``cv (raw/cv)^(1/x)`` where the larger of the two is ``1 + x`` times the smaller and x exceeds one.

    Where a second fold that is out makes the error explode, that says nothing of what more rows would do, and the
    centre goes back to ``cv``, the further they are apart.
    """
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        distance = np.log(raw) - np.log(cv)
        beyond = np.abs(distance) > np.log(REACH)
        nearer = cv * np.exp((REACH - 1) * distance / np.expm1(np.abs(distance)))
    return np.where(beyond & (raw > 0) & (cv > 0), nearer, raw)
