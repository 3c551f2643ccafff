"""Columns of X by name or position, whatever its container, as numbers or as levels."""

from __future__ import annotations

import datetime
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ..errors import DataError
from ..frames import Frame, find_frame
from ..typing import AnyArray, BoolArray, FloatArray, Rows

__all__ = ["ColumnTable"]

_DATES = (datetime.date, datetime.timedelta)

MOST_NAMED = 10
"""Messages name at most so many columns or levels."""


@dataclass(frozen=True)
class ColumnTable:
    """A data frame, or an array with two dimensions.

    Attributes
    ----------
    X : Frame or array
    names : tuple or None
        Names of the columns as the frame has them; None for an array.
    shape : tuple
        Numbers of rows and columns.
    """

    X: Frame | AnyArray
    names: tuple[Hashable, ...] | None
    shape: tuple[int, int]

    @classmethod
    def of(cls, X: Rows) -> ColumnTable:
        """The table of a data frame, or of anything that is an array."""
        frame = find_frame(X)
        if frame is not None:
            return cls(frame, frame.names, frame.table.shape)
        array = np.asarray(X)
        if array.ndim != 2:
            raise DataError(
                f"X has {array.ndim} dimension(s), and an additive model reads columns; a single one goes in as "
                "X.reshape(-1, 1), or to_frame() for a Series."
            )
        return cls(array, None, (array.shape[0], array.shape[1]))

    @property
    def n(self) -> int:
        """Number of rows."""
        return self.shape[0]

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return self.shape[1]

    def name(self, j: int) -> str:
        """Name of a column as a text; of one without, x and its position."""
        return f"x{j}" if self.names is None else str(self.names[j])

    def place(self, column: str | int) -> int:
        """Position of a column."""
        if isinstance(column, str):
            if self.names is None:
                raise DataError(
                    f"X has no column names, so there is no {column!r}; give the column's position instead."
                )
            if column not in self.names:
                raise DataError(f"X has no column {column!r}; it has {listed(self.names)}.")
            return self.names.index(column)
        if not 0 <= column < self.n_columns:
            named = "" if self.names is None else f" of {listed(self.names)}"
            raise DataError(
                f"X has no column {column}: an integer is a position, and these are 0 to {self.n_columns - 1}{named}."
            )
        return column

    def is_number(self, j: int) -> bool:
        """Whether a column holds numbers by its type; those of an array do."""
        if not isinstance(self.X, Frame):
            return True
        if self.X.is_date(j):
            self._refuse_dates(j)
        return self.X.is_number(j)

    def refuse_disguised(self, j: int) -> None:
        """Raise if a column holds numbers in a type that is not theirs; categories may look like numbers."""
        if isinstance(self.X, Frame) and self.X.is_category(j):
            return
        try:
            # truth values are no numbers here
            [float("" if isinstance(value, bool | np.bool_) else value) for value in self.values(j).unique()]
        except (TypeError, ValueError):
            return
        name = self.name(j)
        raise DataError(
            f"Column {name!r} holds numbers as text; convert it with pandas.to_numeric, or name it in terms as "
            f"factor({name!r})."
        )

    def numbers(self, j: int) -> FloatArray:
        """A column as finite numbers."""
        array = self.X.column(j).to_numpy() if isinstance(self.X, Frame) else self.X[:, j]
        if array.dtype.kind in "mM" or (array.dtype.kind == "O" and any(isinstance(v, _DATES) for v in array)):
            self._refuse_dates(j)
        if array.dtype.kind == "O" and not any(isinstance(value, str) for value in array):
            array = np.where(pd.isna(array), np.nan, array)
        try:
            values = array.astype(np.float64) if array.dtype.kind in "fiubO" else None
        except (TypeError, ValueError):
            values = None
        if values is None:
            raise DataError(
                f"Column {self.name(j)!r} holds values that are not numbers; use factor(...) for categories."
            )
        if not np.isfinite(values).all():
            self._refuse_missing(j, ~np.isfinite(values), "missing or infinite")
        return values

    def values(self, j: int) -> pd.Index[Any]:
        """A column as it is, for factors."""
        array = self.X.objects(j) if isinstance(self.X, Frame) else self.X[:, j].astype(object)
        missing = np.asarray(pd.isna(array))
        if missing.any():
            self._refuse_missing(j, missing, "missing")
        odd = next((value for value in array if not isinstance(value, Hashable)), None)
        if odd is not None:
            raise DataError(f"Column {self.name(j)!r} holds values of type {type(odd).__name__}, which are no levels.")
        values: pd.Index[Any] = pd.Index(array, dtype=object)
        return values

    def levels(self, j: int, rows: BoolArray) -> tuple[Hashable, ...]:
        """Distinct values of a column in some rows: in the order of its categories if it has one, else sorted."""
        distinct = self.values(j)[rows].unique().tolist()
        categories = self.X.categories(j) if isinstance(self.X, Frame) else None
        if categories is not None:
            present = set(distinct)
            return tuple(level for level in categories if level in present)
        try:
            return tuple(sorted(distinct))
        except TypeError as error:
            raise DataError(
                f"Column {self.name(j)!r} mixes types that cannot be sorted; give factor(..., levels=[...])."
            ) from error

    def _refuse_dates(self, j: int) -> None:
        raise DataError(f"Column {self.name(j)!r} holds dates; turn them into numbers, such as days since the first.")

    def _refuse_missing(self, j: int, bad: BoolArray, what: str) -> None:
        # the word NaN is what people search for
        raise DataError(
            f"Column {self.name(j)!r} is {what} (NaN, null) in {int(bad.sum())} row(s); drop these rows, or impute "
            "in a pipeline."
        )


def listed(names: tuple[Hashable, ...]) -> str:
    """Names in a message."""
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return ", ".join(map(repr, names[:MOST_NAMED])) + more
