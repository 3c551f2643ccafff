"""Learners that see their training set through its Gram matrix only."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

from ..typing import FloatArray
from .smoother import Smoother

__all__ = ["GramLearner", "TrainingStatistics"]


@dataclass(frozen=True)
class TrainingStatistics:
    """What B training sets say: thin QR decompositions ``W R`` of their designs, without W.

    Rows count with the roots of their weights.

    Attributes
    ----------
    R : (B, r, d) upper triangular, r at most d
    z : (B, r, Q), ``W'y``
    rest : (B, Q), squared length of what is left of y
    n : (B,), rows with a positive weight
    rows : function
        ``T (B, r, q) -> (W T, residuals)``, (B, n, q) and (B, n, Q): rows in some directions, and what W leaves of
        y there; zero for rows that are not in the training set. Only leave-one-out asks for it.
    """

    R: FloatArray
    z: FloatArray
    rest: FloatArray
    n: FloatArray
    rows: Callable[[FloatArray], tuple[FloatArray, FloatArray]]


class GramLearner(ABC):
    """A learner whose coefficients are a function of `TrainingStatistics`.

    Attributes
    ----------
    smoother : Smoother
        Holds the weights, and knows which training sets are too small; its penalties do not matter.
    X : array (n, d)
        The columns of the design; the learner's own intercept is one of them.
    n_values : int
        Number of parameter values.
    reason : str
        Why this learner takes the gram route, for people.
    needs_rows : bool
        Whether it asks for the rows of the training sets.
    steps : int
        How many decompositions of the design's size a training set takes, about.
    """

    smoother: Smoother
    X: FloatArray
    n_values: int = 1
    reason: str = ""
    needs_rows: bool = False
    steps: int = 1

    @abstractmethod
    def coefficients(self, statistics: TrainingStatistics) -> FloatArray:
        """Coefficients (B, V, d, Q) of the columns, at each parameter value."""
