"""Pipelines that differ in a parameter of a step, side by side: their fixed features, and sums of these, are shared."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Self

from ..typing import FloatArray
from .contract import Learner, Refusal, Scores, Task
from .encoded import EncodedLearner
from .featurerows import FeatureRows
from .fixedfeatures import FixedFeatures

__all__ = ["EncodedFamily"]


class EncodedFamily(FeatureRows, Learner):
    """Linear fits to the outputs of steps, of the same fixed features and rows.

    Parameters
    ----------
    parts : sequence of EncodedLearner
        One after the other on the axis of values.
    """

    def __init__(self, parts: Sequence[EncodedLearner]) -> None:
        self.parts = list(parts)
        self.weights: FloatArray | None = self.parts[0].weights
        self.fit_intercept = all(part.fit_intercept for part in self.parts)

    @property
    def fixed(self) -> FixedFeatures:
        """The features of all."""
        return self.parts[0].fixed

    @property
    def n_values(self) -> int:
        """Values of all."""
        return sum(part.n_values for part in self.parts)

    @property
    def n_candidates(self) -> int:
        """Penalties among which each training set chooses by leaving out its rows, over all parts."""
        return sum(part.n_candidates for part in self.parts)

    @property
    def n_unpenalized(self) -> int:
        """Outputs that no penalty holds, where they are most."""
        return max(part.n_unpenalized for part in self.parts)

    @property
    def takes_masks(self) -> bool:
        """Whether training sets are fitted from all rows at once, by all parts."""
        return all(part.takes_masks for part in self.parts)

    @property
    def is_narrow(self) -> bool:
        """Whether Gram matrices of so many features take less than refits do."""
        return all(part.is_narrow for part in self.parts)

    def start_seconds(self) -> float:
        """About what it takes to make features of the columns of a table, once."""
        return max(part.start_seconds() for part in self.parts)

    def set_seconds(self) -> float:
        """About what a training set takes, from its statistics."""
        return sum(part.set_seconds() for part in self.parts)

    @property
    def reason(self) -> str:
        """Why the gram route, for people."""
        return self.parts[0].reason

    def at(self, values: Sequence[int]) -> Self:
        """The same at some of its values."""
        starts = accumulate((part.n_values for part in self.parts), initial=0)
        chosen = [
            (part, [value - start for value in values if start <= value < start + part.n_values])
            for start, part in zip(starts, self.parts, strict=False)
        ]
        return type(self)([part.at(some) for part, some in chosen if some])

    def scores(self, task: Task) -> Scores | Refusal:
        """None: what the steps learn is not linear in y."""
        return self.parts[0].scores(task)
