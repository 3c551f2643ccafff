"""The areas under ROC curves that a figure of several classes is a mean of, and how each counts."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from ..typing import BoolArray, FloatArray

__all__ = ["RankTerm", "one_against_one", "one_against_rest", "two_classes"]


@dataclass(frozen=True)
class RankTerm:
    """One area: of a column of scores, between positive and negative classes.

    It counts ``constant + slopes.(shares of the classes)``.
    """

    column: int
    positive: BoolArray
    negative: BoolArray
    constant: float
    slopes: FloatArray

    def weight(self, sums: FloatArray) -> float:
        """How much it counts, given the sums of weights of the classes."""
        return float(self.constant + self.slopes @ sums / sums.sum())

    def weight_slopes(self, sums: FloatArray) -> FloatArray:
        """By how much that grows with the weight of a row of each class, (C,)."""
        slopes: FloatArray = (self.slopes - self.slopes @ sums / sums.sum()) / sums.sum()
        return slopes


def two_classes() -> tuple[RankTerm, ...]:
    """The second class against the first."""
    return (RankTerm(0, np.array([False, True]), np.array([True, False]), 1.0, np.zeros(2)),)


def one_against_rest(n_classes: int, weighted: bool) -> tuple[RankTerm, ...]:
    """Each class against all others."""
    unit = np.eye(n_classes)
    constant = 0.0 if weighted else 1 / n_classes
    return tuple(RankTerm(c, unit[c] > 0, unit[c] == 0, constant, weighted * unit[c]) for c in range(n_classes))


def one_against_one(n_classes: int, weighted: bool) -> tuple[RankTerm, ...]:
    """Each pair of classes, by the scores of the one and of the other; by frequency if ``weighted`` (Hand and Till)."""
    unit = np.eye(n_classes)
    constant = 0.0 if weighted else 1 / (n_classes * (n_classes - 1))
    return tuple(
        RankTerm(c, unit[c] > 0, unit[d] > 0, constant, weighted * (unit[a] + unit[b]) / (2 * (n_classes - 1)))
        for a, b in combinations(range(n_classes), 2)
        for c, d in ((a, b), (b, a))
    )
