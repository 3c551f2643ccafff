"""What is said of the weights of rows, in one place."""

from __future__ import annotations

import numpy as np

from ..errors import RouteError
from ..typing import BoolArray, FloatArray

__all__ = ["MOST_RATIO", "check_ratio", "is_light", "is_uneven", "weight_ratio"]

MOST_RATIO = 1e12
"""Largest ratio of two positive weights: their roots, by which rows are scaled, cost half as many digits."""


def weight_ratio(weights: FloatArray) -> float:
    """The largest weight over the smallest that is not zero."""
    return float(weights.max() / weights[weights > 0].min())


def check_ratio(weights: FloatArray | None) -> None:
    """Refuse weights beside the largest of which the smallest are lost, whatever a fit is computed from."""
    if weights is not None and (ratio := weight_ratio(weights)) > MOST_RATIO:
        raise RouteError(
            f"the largest sample_weight is {ratio:.2g} times the smallest that is not zero, and beyond "
            f"{MOST_RATIO:.0e} the rounding errors of some rows would be all that is seen of others; set such "
            "weights to zero, or bring them closer"
        )


def is_uneven(weights: FloatArray) -> bool:
    """Whether what is small beside a sum over all rows may be large in some of them."""
    return bool(weight_ratio(weights) > np.sqrt(MOST_RATIO))


def is_light(weights: FloatArray) -> BoolArray:
    """Rows whose part of an orthogonal factor is scaled down by a thousand or more."""
    light: BoolArray = weights < weights.max() / np.sqrt(MOST_RATIO)
    return light
