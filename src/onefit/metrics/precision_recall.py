"""Average precision, quickly: a jackknife asks for it some hundred times."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..errors import DataError
from ..typing import AnyArray, BoolArray, FloatArray

__all__ = ["AveragePrecision", "MeanAveragePrecision"]


def average_precision(positive: BoolArray, scores: FloatArray, weights: FloatArray) -> float:
    """Mean precision at the thresholds where positive rows are found; rows of equal scores are found together."""
    order = np.argsort(-scores, kind="stable")
    ranked = scores[order]
    found, passed = np.cumsum((weights * positive)[order]), np.cumsum(weights[order])
    if found[-1] == 0:
        return 0.0  # as scikit-learn's
    last = np.append(ranked[1:] != ranked[:-1], True) & (passed > 0)
    found, passed = found[last], passed[last]
    return float(np.diff(found, prepend=0.0) @ (found / passed) / found[-1])


@dataclass(frozen=True)
class AveragePrecision:
    """Of one class, given its scores."""

    positive: object

    def __call__(self, y: AnyArray, scores: FloatArray, sample_weight: FloatArray) -> float:
        """The average precision of some rows."""
        return average_precision(y == self.positive, scores, sample_weight)


@dataclass(frozen=True)
class MeanAveragePrecision:
    """Of several classes each against the rest, averaged, by their frequency if ``weighted``."""

    labels: AnyArray
    weighted: bool

    def __call__(self, y: AnyArray, scores: FloatArray, sample_weight: FloatArray) -> float:
        """The average of some rows, in which all classes must occur."""
        is_class = [y == label for label in self.labels]
        sums = np.array([sample_weight[own].sum() for own in is_class])
        if (sums == 0).any():
            missing = self.labels[sums == 0][0]
            raise DataError(f"there is no row of class {missing!s}, for which fewer or stratified folds may help")
        values = [average_precision(own, column, sample_weight) for own, column in zip(is_class, scores.T, strict=True)]
        return float(np.average(values, weights=sums if self.weighted else None))
