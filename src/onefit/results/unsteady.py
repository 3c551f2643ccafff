"""Why an error is as uncertain as it is large: a few rows that make it, or training sets that are too small."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ..inference.fold_errors import FoldErrors, RowRoles
from ..inference.intervals import TOO_WIDE_REASONS, Interval, cv_estimate, raw_estimate, within_reach
from ..metrics import Asked, Shown
from ..typing import BoolArray, FloatArray, IntArray

__all__ = ["LOOK_AT_ROWS", "Unsteady", "few_rows_message"]

MOST_ROWS, LEAST_SHARE = 2, 0.9
"""So few rows that make so much of the sum of the losses are the cause, whatever else there is."""

LARGER_TRAINING_SETS = (
    "The training sets are too small for these folds: use more folds, more {units}, fewer columns or a larger penalty."
)
MORE_ROWS = (
    "The training sets are too small, and no folds make them larger: use more {units}, fewer columns or a larger "
    "penalty."
)
"""Where every row, or group, is a fold of its own."""

LOOK_AT_COLUMNS = "If they are not, look for rows with extreme values of a column, which hold the fit together."
LOOK_AT_ROWS = (
    "See whether the values are right: an extreme one, of y or of a column, gives a row such weight, and a function "
    "that takes predictions back to the scale of y may magnify it."
)


def largest_rows(losses: FloatArray, rows: RowRoles) -> tuple[IntArray, float]:
    """The fewest rows of losses (n,) that make nine tenths of their weighted sum, and their share of it."""
    weighted = np.nan_to_num(losses if rows.weights is None else losses * rows.weights)
    order = np.argsort(-weighted, kind="stable")
    total = float(weighted.sum())
    if not 0 < total < np.inf:
        return order, 0.0
    shares = np.cumsum(weighted[order]) / total
    count = int(np.searchsorted(shares, LEAST_SHARE)) + 1
    return order[:count], float(shares[min(count, len(shares)) - 1])


@dataclass(frozen=True)
class Unsteady:
    """Where the error of one result is hardly known.

    Attributes
    ----------
    is_wide : array (Q,)
        Whether the standard error exceeds the estimate.
    raw, cv : array (Q,)
        Mean loss with two folds out, and with one.
    is_logarithmic : bool
        Whether the estimate is extrapolated from both on the log scale.
    has_row_losses : bool
        Whether it is a mean of the losses of rows.
    shown : Shown
        How the figure is told.
    name : str
        What it is called.
    units : str
        What folds are made of: rows or groups.
    has_most_folds : bool
        Whether each of them is a fold of its own.
    reason : str
        Why the interval is not the usual one; empty if it is.
    """

    is_wide: BoolArray
    raw: FloatArray
    cv: FloatArray
    is_logarithmic: bool
    has_row_losses: bool
    shown: Shown
    name: str
    units: str
    has_most_folds: bool
    reason: str

    @classmethod
    def of(cls, own: Interval, errors: FoldErrors, asked: Asked, value: int, rule: str) -> Unsteady:
        """At one parameter value, from the interval of the rule and the tables of the metric."""
        raw, cv = raw_estimate(errors)[value], cv_estimate(errors)[value]
        calm = np.zeros(cv.shape, dtype=bool)
        return cls(
            is_wide=own.affected[value] if own.reason in TOO_WIDE_REASONS and own.affected is not None else calm,
            raw=raw,
            cv=cv,
            is_logarithmic=rule == "covariance" and asked.rule_scale == "log",
            has_row_losses=asked.has_row_losses,
            shown=asked.shown,
            name="mean loss" if asked.shown == Shown() else asked.name,
            units="rows" if errors.n_groups is None else "groups",
            has_most_folds=errors.n_folds == errors.n_units,
            reason=own.reason,
        )

    @property
    def is_out_of_reach(self) -> BoolArray:
        """Whether ``raw`` and ``cv`` are too far apart for the estimate to be extrapolated from both."""
        if not self.is_logarithmic:
            return np.zeros(self.is_wide.shape, dtype=bool)
        apart: BoolArray = within_reach(self.raw, self.cv) != self.raw
        return apart

    @property
    def found(self) -> BoolArray:
        """Outputs that have something to be said of, (Q,)."""
        return self.is_wide | self.is_out_of_reach

    def made_by_few(self, losses: FloatArray, rows: RowRoles) -> BoolArray:
        """Those among them in which so few rows of losses (n, Q) make the error that they are the cause."""
        if not self.has_row_losses:
            return np.zeros(self.is_wide.shape, dtype=bool)
        few = [
            bool(found) and len(largest_rows(column, rows)[0]) <= min(MOST_ROWS, len(column) // 10)
            for found, column in zip(self.found, losses.T, strict=True)
        ]
        return np.array(few)

    def message(self, output: int) -> str:
        """What is seen in one of them."""
        raw, cv = self.shown.of(self.raw), self.shown.of(self.cv)
        apart = (
            f"With a second fold out the {self.name} is {raw[output]:.3g}, not {cv[output]:.3g}: too far "
            "apart to extrapolate, so the estimate stays near cross-validation's."
        )
        parts = [apart] if self.is_out_of_reach[output] else []
        return " ".join([*parts, self.reason] if self.is_wide[output] else parts)

    @property
    def remedy(self) -> str:
        """What helps if it is not a few rows that make the error."""
        larger = MORE_ROWS if self.has_most_folds else LARGER_TRAINING_SETS
        return f"{larger.format(units=self.units)} {LOOK_AT_COLUMNS}"


def few_rows_message(losses: FloatArray, rows: RowRoles, names: pd.Index[Any] | None) -> str:
    """Which rows of losses (n,) make the error."""
    largest, share = largest_rows(losses, rows)
    labels: Sequence[Any] = largest.tolist() if names is None else [names[row] for row in largest]
    percent = f"{100 * share:.0f}%" if share < 0.995 else "nearly all"
    if len(largest) == 1:
        return f"Row {labels[0]} alone makes {percent} of the sum of the losses: the error is hardly more than its own."
    listed = " and ".join(map(str, labels))
    return f"Rows {listed} make {percent} of the sum of the losses: the error is hardly more than theirs."
