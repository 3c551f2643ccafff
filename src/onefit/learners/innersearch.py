"""What searches inside training sets share, whatever their candidates are."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, Generic, Self, TypeVar

import numpy as np

from ..typing import Estimator, FloatArray, IntArray
from .contract import Learner, Task
from .encoded import EncodedLearner
from .featurerows import FeatureRows
from .fixedfeatures import FixedFeatures
from .glm import GLMLearner

__all__ = ["InnerSearch"]

G = TypeVar("G", EncodedLearner, GLMLearner)
S = TypeVar("S")


class InnerSearch(FeatureRows, Learner, Generic[G, S]):
    """Candidates, by groups that share their features, and the splits by which they are scored.

    ``places`` are the candidates in the order of the search: which group, which value. The ``estimator`` is the search
    itself, for training sets in which candidates are too close to each other.
    """

    groups_inside: IntArray | None = None  # that reach the splitter
    n_values = 1

    def __init__(
        self,
        groups: Sequence[G],
        places: Sequence[tuple[int, int]],
        splitter: Any,
        score: S,
        estimator: Estimator,
        task: Task,
    ) -> None:
        self.groups: list[G] = list(groups)
        self.places, self.splitter = list(places), splitter
        self.score, self.estimator, self.task = score, estimator, task
        self.weights: FloatArray | None = task.problem.weights
        self.fit_intercept = all(group.fit_intercept for group in groups)

    @property
    def fixed(self) -> FixedFeatures:
        """The features of all candidates."""
        fixed: FixedFeatures = self.groups[0].fixed
        return fixed

    @cached_property
    def n_splits(self) -> int:
        """Splits of a training set."""
        return int(self.splitter.get_n_splits(np.arange(self.n), self.task.problem.target, self.groups_inside))

    def at(self, values: Sequence[int]) -> Self:
        """Itself: there is one value."""
        return self

    def splits(self, rows: IntArray) -> list[tuple[IntArray, IntArray]]:
        """Places in a training set with these rows that are fitted, and those that are scored, of each split."""
        groups = None if self.groups_inside is None else self.groups_inside[rows]
        return list(self.splitter.split(rows, self.task.problem.target[rows], groups))
