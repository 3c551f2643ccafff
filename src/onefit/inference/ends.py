"""Ends of an interval about one model's mean loss; arrays that broadcast against each other.

``centre`` and ``s`` are the estimate and its standard error, ``t`` the quantile. No end lies on the wrong side of the
estimate but Hall's, which is for being taken together with another.
"""

from __future__ import annotations

import numpy as np
from scipy import special

from ..typing import FloatArray

__all__ = ["ends_of_mean", "hall", "logarithmic", "logistic", "score", "wilson"]

BOUNDS = {"log": (0.0, np.inf), "unit": (0.0, 1.0), "shares": (0.0, 1.0)}
"""What figures on a scale never exceed."""

MOST_STRETCHED = 300.0
"""Exponent of the largest factor by which an end on the log scale is apart from the estimate: what doubles hold."""


def ends_of_mean(
    centre: FloatArray, s: FloatArray, t: FloatArray, skewness: FloatArray | None, scale: str
) -> tuple[FloatArray, FloatArray]:
    """The wider, at each end, of Hall's and those on the scale: "log", which is left if s exceeds the centre, or not.

    On the log scale there is nothing below zero, on those of figures in [0, 1] ("unit", "shares") nothing beyond one
    either. Hall's are left out where nothing is known of the skewness; means of shares by class ("shares") have the
    ends of the score instead of both.
    """
    low, high = _ends_on(scale, centre, s, t)
    if skewness is not None and scale == "shares":
        low, high = score(centre, s, t, skewness)
    elif skewness is not None:
        skewed = hall(centre, s, t, skewness)
        low, high = np.minimum(low, skewed[0]), np.maximum(high, skewed[1])
    least, most = BOUNDS.get(scale, (-np.inf, np.inf))
    return np.maximum(low, least), np.minimum(high, most)


def _ends_on(scale: str, centre: FloatArray, s: FloatArray, t: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Symmetric ends on a scale."""
    low, high = centre - t * s, centre + t * s
    if scale in ("unit", "shares"):
        return logistic(centre, s, t)
    if scale == "log":
        curved = (s <= centre) & (centre > 0)
        ends = logarithmic(np.where(curved, centre, 1.0), np.where(curved, s, 0.0), t)
        return np.where(curved, ends[0], low), np.where(curved, ends[1], high)
    return low, high


def logarithmic(centre: FloatArray, s: FloatArray, t: FloatArray) -> tuple[FloatArray, FloatArray]:
    """``c exp(-+ t s / c)``, for positive centres."""
    factor = np.exp(np.minimum(t * s / centre, MOST_STRETCHED))
    return centre / factor, centre * factor


def logistic(centre: FloatArray, s: FloatArray, t: FloatArray) -> tuple[FloatArray, FloatArray]:
    """``expit(logit(c) -+ t s / (c (1 - c)))``; where that is too wide to mean anything, Wilson's."""
    inside = (centre > 0) & (centre < 1)
    safe = np.where(inside, centre, 0.5)
    half = t * s / (safe * (1 - safe))
    low, high = special.expit(special.logit(safe) - half), special.expit(special.logit(safe) + half)
    narrow = inside & (s <= np.minimum(safe, 1 - safe))
    other = wilson(centre, s, t)
    return np.where(narrow, low, other[0]), np.where(narrow, high, other[1])


def wilson(centre: FloatArray, s: FloatArray, t: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Wilson's interval for a share with the effective number ``c (1 - c) / s^2``: ``(x - c)^2 <= t^2 x (1 - x) / n``.

    Each end is computed as a quotient in which nothing cancels: the low one from that equation for x, the high one
    from the same for 1 - x.
    """
    binomial, square = centre * (1 - centre), np.square(t * s)
    root = np.sqrt(square * np.square(binomial) + np.square(square) / 4)

    def low_of(share: FloatArray) -> FloatArray:
        below = share * binomial + square / 2 + root
        return np.where(below > 0, np.square(share) * binomial / np.where(below > 0, below, 1.0), share)

    return low_of(centre), 1 - low_of(1 - centre)


def score(centre: FloatArray, s: FloatArray, t: FloatArray, skewness: FloatArray) -> tuple[FloatArray, FloatArray]:
    """``(x - c)^2 <= t^2 (s^2 + k s (x - c))``: Wilson's for means of shares, whose variance depends on what they are.

    Of a share p of n rows the slope of the variance p (1 - p) / n in p is (1 - 2p) / n, its third moment over its
    variance, and so it is, to first order, of sums of such shares; k is the skewness of the mean, so k s is that slope.
    """
    middle, half = np.square(t) * skewness / 2, t * np.sqrt(1 + np.square(t * skewness) / 4)
    return centre + s * (middle - half), centre + s * (middle + half)


def hall(centre: FloatArray, s: FloatArray, t: FloatArray, skewness: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Hall's (1992) ends ``c - s g^-1(+-t)`` for a mean whose units have this skewness over the root of their number.

    ``g(T) = T + k T^2 / 3 + k^2 T^3 / 27 + k / 6`` takes the skewness k out of the studentized mean T.
    """
    return centre - s * _unskewed(t, skewness), centre - s * _unskewed(-t, skewness)


def _unskewed(x: FloatArray, skewness: FloatArray) -> FloatArray:
    """``g^-1(x) = 3 (u - 1) / k`` with ``u^3 = 1 + k (x - k/6)``, written so that it holds at k = 0."""
    shifted = x - skewness / 6
    u = special.cbrt(1 + skewness * shifted)
    inverse: FloatArray = 3 * shifted / (1 + u + np.square(u))
    return inverse
