"""What is said of the weights of rows, in one place."""

from __future__ import annotations

import numpy as np

from ..typing import BoolArray, FloatArray

__all__ = ["MOST_RATIO", "is_light", "weight_ratio"]

MOST_RATIO = 1e12
"""Largest ratio of two positive weights: their roots, by which rows are scaled, cost half as many digits."""


def weight_ratio(weights: FloatArray) -> float:
    """The largest weight over the smallest that is not zero."""
    return float(weights.max() / weights[weights > 0].min())


def is_light(weights: FloatArray) -> BoolArray:
    """Rows whose part of an orthogonal factor is scaled down by a thousand or more."""
    light: BoolArray = weights < weights.max() / np.sqrt(MOST_RATIO)
    return light
