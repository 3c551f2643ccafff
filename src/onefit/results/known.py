"""What is known of a result when it is built: all that findings are made from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from ..inference.fold_errors import FoldErrors, RowRoles
from ..inference.intervals import Rule
from ..inference.montecarlo import Stopping
from ..metrics import Asked
from ..routes.contract import Remark
from ..typing import BoolArray, FloatArray, IntArray
from ..validation import Problem
from .dependence import SerialKnown
from .unsteady import Unsteady

__all__ = ["Known"]


@dataclass(frozen=True)
class Known:
    """What is known of one result when it is built, of Q outputs.

    Attributes
    ----------
    reason, remedy : str
        Why the interval is missing or not the usual one, and what to do; empty if it is neither.
    notes : sequence of str
        What the job noted while it ran: that the user stopped it.
    remarks : sequence of Remark
        How it was computed, where that is worth a sentence.
    caution : tuple of str
        Where refits by scikit-learn differ by design, and what to do; empty if they do not.
    rule : Rule
    loss : Asked
    errors : FoldErrors
    value : int
        Its place on the axis of values in ``errors``.
    standard_error : array (Q,)
    monte_carlo_error : array (Q,)
    confidence_level : float
    n_repeats : int
        The repeats that were made.
    is_automatic : bool
        Whether ``n_repeats="auto"`` decided that.
    stopping : Stopping
        When it does, and which Monte Carlo error is tolerated.
    n_folds : int
    n_free : int
        Columns of a linear model that is refitted, or behind steps, if no penalty holds them; else zero.
    usual_folds : int
        Folds that so many rows take if nothing is known of the model; zero if the user said how many.
    exactness : str
    rows : RowRoles
    y, predictions, losses : arrays (n, Q)
        Observed values, mean held-out predictions and mean held-out losses; codes of classes, if y has such.
    heavy_tailed : array (Q,)
        Whether a few units carry the variance of the losses, if these cannot be negative.
    row_names : Index or None
        Names of the rows; None if they go by their numbers.
    folds : array (n,) or None
        The fold of each row, where every row, or group, is a fold of its own.
    serial : SerialKnown or None
        What is known of rows that follow one another, if the folds are for them.
    unsteady : Unsteady
        Where the error is hardly known.
    has_all_rows : bool
        Whether y, predictions and losses are of all rows, or of the first ones of a table.
    problem : Problem or None
        The data, if all rows are in memory.
    """

    reason: str
    remedy: str
    notes: Sequence[str]
    remarks: Sequence[Remark]
    caution: tuple[str, str]
    rule: Rule
    loss: Asked
    errors: FoldErrors
    value: int
    standard_error: FloatArray
    monte_carlo_error: FloatArray
    confidence_level: float
    n_repeats: int
    is_automatic: bool
    stopping: Stopping
    n_folds: int
    n_free: int
    usual_folds: int
    exactness: str
    rows: RowRoles
    y: FloatArray
    predictions: FloatArray
    losses: FloatArray
    heavy_tailed: BoolArray
    row_names: pd.Index[Any] | None
    folds: IntArray | None
    unsteady: Unsteady
    serial: SerialKnown | None = None
    has_all_rows: bool = True
    problem: Problem | None = None

    @cached_property
    def made_by_few(self) -> BoolArray:
        """Outputs (Q,) whose error is as uncertain as it is large because a row or two make it."""
        if not self.has_all_rows:
            return np.zeros(self.unsteady.found.shape, dtype=bool)
        return self.unsteady.made_by_few(self.losses, self.rows)
