"""Learners that see a training set through its statistics only."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from ..linalg.columns import Columns
from ..linalg.tall import row_blocks
from ..typing import FloatArray, IntArray
from .contract import Learner, Refusal, Scores, Task
from .fitrows import FitRows
from .smoother import Smoother

__all__ = ["Coefficients", "SmoothedLearner", "StatisticsLearner", "TrainingStatistics"]


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


@dataclass(frozen=True)
class Coefficients:
    """Coefficients (B, V, d, Q) of the columns at each parameter value, and by value why some cannot be had."""

    values: FloatArray
    failures: Mapping[int, str] = field(default_factory=dict)


class StatisticsLearner(FitRows, Learner):
    """A learner whose coefficients are a function of `TrainingStatistics`.

    Attributes
    ----------
    X : array (n, d)
        The columns of the design; the learner's own intercept is one of them.
    width : int
        Size of what is decomposed in a training set: columns, or rows if they are fewer.
    reason : str
        Why this learner takes the gram route, for people.
    needs_rows : bool
        Whether it asks for the rows of the training sets.
    steps : int
        How many decompositions of the design's size a training set takes, about.
    search_seconds : float
        What a training set takes beside these, however few its columns are.
    """

    X: FloatArray
    width: int
    reason: str = ""
    needs_rows: bool = False
    steps: int = 1
    search_seconds: float = 0.0

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.X)

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return int(self.X.shape[1])

    def rows_of_X(self, rows: IntArray | slice) -> FloatArray:
        """The design in some rows."""
        return self.X[rows]

    def block(self, rows: IntArray | slice) -> Columns:
        """The same as columns without a penalty: what it penalizes is the learner's own business."""
        return Columns.free_only(self.rows_of_X(rows))

    def fault(self, n: int) -> str:
        """What is wrong with a learner that somebody made for n rows; empty if nothing is."""
        if found := super().fault(n):
            return found
        is_finite = all(np.isfinite(self.rows_of_X(rows)).all() for rows in row_blocks(n, self.n_columns))
        return "" if is_finite else "with NaN or infinite values in its columns"

    @abstractmethod
    def fit(self, statistics: TrainingStatistics) -> Coefficients:
        """Fit every training set of a batch."""

    def fitted(self, train: IntArray, others: IntArray, y: FloatArray) -> FloatArray | None:
        """Predictions (h, V, Q) for some rows from a fit on others, where rows are a better way than statistics.

        That is asked for one training set that is no larger than the columns are many, or nearly singular. ``y`` (n, Q)
        is of all rows. None if statistics will do.
        """
        return None


class SmoothedLearner(StatisticsLearner):
    """One that is a linear smoother once it has learned: given its scales or components, say.

    Parameters
    ----------
    smoother : Smoother
        With what all rows teach: it holds the weights, knows which training sets are too small, and has the criteria of
        the fit on all rows.
    columns : array (n, p)
    centre : array (p,)
        The design is a constant and the columns about this: made of some rows at a time where that will do.
    """

    def __init__(self, smoother: Smoother, columns: FloatArray, centre: FloatArray) -> None:
        self.smoother, self.weights, self.fit_intercept = smoother, smoother.weights, smoother.fit_intercept
        self.width = smoother.width
        self._columns, self._centre = columns, centre

    @cached_property
    def X(self) -> FloatArray:  # type: ignore[override]
        """The constant, and the columns about their centre."""
        return self.rows_of_X(slice(None))

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self._columns)

    @property
    def centre_of_columns(self) -> FloatArray:
        """What is subtracted from the columns, (p,)."""
        return self._centre

    def is_made_of(self, X: FloatArray) -> bool:
        """Whether its design is made of these columns and nothing else."""
        return self._columns is X or np.array_equal(self._columns, X)

    @property
    def n_columns(self) -> int:
        """The constant is one."""
        return 1 + int(self._columns.shape[1])

    def rows_of_X(self, rows: IntArray | slice) -> FloatArray:
        """The design in some rows; nothing is made of all of them."""
        some = self._columns[rows]
        design = np.empty((len(some), self.n_columns))
        design[:, 0] = 1.0
        np.subtract(some, self._centre, out=design[:, 1:])
        return design

    def check_fits(self, smallest_training_set: int) -> dict[int, str]:
        """Those that the smoother cannot serve, if the learner has its values."""
        return self.smoother.check_fits(smallest_training_set)

    def scores(self, task: Task) -> Scores | Refusal:
        """Those of the fit on all rows, as a smoother with what it learned there; leave-one-out is left to the route.

        A criterion of one fit takes what that fit found as given. To leave a row out is to learn again without it, and
        no one smoother is behind all of these fits.
        """
        found = self.smoother.scores(task)
        if isinstance(found, Refusal):
            return found
        tables = {name: table for name, table in found.tables.items() if name != "loo"}
        return Scores(tables, found.edf, {name: why for name, why in found.reasons.items() if name != "loo"})
