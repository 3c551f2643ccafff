"""Passes over blocks of rows: whether so many make them pay, what they need of a learner, and how far they are."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from threading import Lock

import numpy as np

from ..criteria import AllRows
from ..folds import Folds
from ..learners import Task
from ..linalg.columns import Columns
from ..linalg.precondition import Coordinates
from ..typing import FloatArray
from .collect import Design, FoldStatistics, numbers_of_a_row, rows_of_a_block
from .contract import Run
from .solve import SetSolver

__all__ = ["Meter", "Streaming", "can_stream", "has_many_blocks", "is_tall_enough"]

LEAST_BLOCKS = 8
"""With fewer blocks of rows than this, tables of all of them are as fast."""

LEAST_ROWS_A_COLUMN = 50
"""With fewer rows for each column than this, products of columns take most of the time either way."""


def can_stream(design: Design, n_values: int, task: Task) -> bool:
    """Whether there are so many rows that passes over them pay, and whether all that is asked follows from two."""
    weights, own = task.problem.weights, design.weights
    is_weighted_alike = own is weights or (own is not None and weights is not None and np.array_equal(own, weights))
    knows_pairing = (task.loss.is_squared or n_values == 1) and not task.loss.keeps_scores
    has_no_light_rows = own is None or bool((own > 0).all())
    return is_weighted_alike and knows_pairing and has_no_light_rows and is_tall_enough(design.n, design.n_columns)


def is_tall_enough(n: int, width: int) -> bool:
    """Whether there are enough rows for each column."""
    return width < n // LEAST_ROWS_A_COLUMN


def has_many_blocks(n: int, width: int, n_folds: int, n_values: int, n_outputs: int = 1) -> bool:
    """Whether the rows make enough blocks."""
    return n >= LEAST_BLOCKS * rows_of_a_block(numbers_of_a_row(width, n_values, n_outputs), n_folds)


class Streaming(ABC):
    """How a learner is computed in passes over blocks of rows: what the three phases do not know of it.

    Attributes
    ----------
    design : Design
        Its columns.
    """

    design: Design

    @abstractmethod
    def penalties(self, sample: Columns, y: FloatArray, share: float) -> tuple[float, float]:
        """About the middle and the smallest of its penalties, from a weighted sample of rows, ``share`` of all."""

    @abstractmethod
    def solver(
        self, statistics: FoldStatistics, coordinates: Coordinates, folds: Folds, run: Run, tick: Callable[[], None]
    ) -> SetSolver | None:
        """What solves its training sets; None if the coordinates are not good enough for all rows."""

    def remember(self, known: AllRows | None) -> None:  # noqa: B027  (most have no use for it)
        """Hear what a pass has found out of all rows, or that it is not to be relied on."""


class Meter:
    """Counts the units of some repeats as blocks of rows are done: half of them when the first pass is."""

    def __init__(self, count: Callable[[int], None], units: int, n_blocks: int) -> None:
        self._count, self._left, self._n_blocks, self._done, self._told = count, units, n_blocks, 0, 0
        self._lock = Lock()
        first = units // 2 if n_blocks else units
        self._left -= first
        count(first)

    def block(self) -> None:
        """A block of the second pass is done; raises if nobody waits for the result any more."""
        with self._lock:
            self._done += 1
            due = self._left * self._done // self._n_blocks
            more, self._told = due - self._told, due
        self._count(more)
