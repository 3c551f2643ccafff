"""What is said of the weights of rows, in one place."""

from __future__ import annotations

import numpy as np

from ..errors import RouteError
from ..typing import BoolArray, FloatArray

__all__ = ["MOST_RATIO", "MOST_RATIO_OF_SUMS", "check_ratio", "is_light", "is_uneven", "weight_ratio", "why_lost"]

MOST_RATIO = 1e12
"""Largest ratio of two positive weights: their roots, by which rows are scaled, cost half as many digits."""

MOST_RATIO_OF_SUMS = 1e8
"""The same where there are sums over rows alone, as on tables: no set of rows can be looked at by itself."""


def weight_ratio(weights: FloatArray) -> float:
    """The largest weight over the smallest that is not zero."""
    return float(weights.max() / weights[weights > 0].min())


def why_lost(weights: FloatArray | None, most: float = MOST_RATIO) -> str:
    """Why weights are refused beside the largest of which the smallest are lost; empty if they are not."""
    if weights is None or not weights.any() or (ratio := weight_ratio(weights)) <= most:
        return ""
    return (
        f"the largest sample_weight is {ratio:.2g} times the smallest that is not zero, and beyond {most:.0e} the "
        "rounding errors of some rows would be all that is seen of others; set such weights to zero, or bring them "
        "closer"
    )


def check_ratio(weights: FloatArray | None) -> None:
    """Refuse such weights, for learners that are made of sums over rows, or of factors of these."""
    if reason := why_lost(weights):
        raise RouteError(reason)


def is_uneven(weights: FloatArray) -> bool:
    """Whether what is small beside a sum over all rows may be large in some of them."""
    return bool(weight_ratio(weights) > np.sqrt(MOST_RATIO))


def is_light(weights: FloatArray) -> BoolArray:
    """Rows whose part of an orthogonal factor is scaled down by a thousand or more."""
    light: BoolArray = weights < weights.max() / np.sqrt(MOST_RATIO)
    return light
