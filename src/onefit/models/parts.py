"""Terms of an additive model made for some rows: columns of a design, and their penalty."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from ..checks import check_range_of
from ..errors import DataError
from ..typing import BoolArray, FloatArray
from .smooth import Smooth
from .table import ColumnTable, listed

__all__ = ["FactorPart", "LinearPart", "Part", "SmoothPart", "Values", "WeightedTable", "rare_level", "side_by_side"]

GRID_POINTS = 100


MOST_RUG = 1000


FEW_ROWS = 5
"""A level with so few rows is rare, however few rows there are."""


Values: TypeAlias = "FloatArray | pd.Index[Any]"
"""Values of a column: numbers, or levels."""


@dataclass(frozen=True)
class WeightedTable:
    """A table and the weights of its rows; only rows with a positive weight are seen."""

    table: ColumnTable
    weights: FloatArray

    @property
    def seen(self) -> BoolArray:
        """Rows with a positive weight."""
        return np.asarray(self.weights > 0)

    def numbers(self, j: int) -> tuple[FloatArray, FloatArray]:
        """Values of a column in the rows that are seen, and their weights."""
        x = self.table.numbers(j)[self.seen]
        check_range_of(f"Column {self.table.name(j)!r}", x, 0.0)
        return x, self.weights[self.seen]


class Part(ABC):
    """A term made for some rows: columns of the design, and the root of the penalty on their coefficients.

    Attributes
    ----------
    place : int
        Position of its column in X.
    column : str
        Name of that column.
    grid : array
        Where the term is shown: points over the range of its column, or levels.
    rug : array
        Distinct values of the column, at most 1000; none for levels.
    size : int
        Number of columns of the design.
    """

    place: int
    column: str
    grid: Values
    rug: FloatArray
    size: int

    @property
    def name(self) -> str:
        """Name of the term."""
        return self.column

    @property
    def root(self) -> FloatArray:
        """Root of the penalty, (r, size)."""
        return np.zeros((0, self.size))

    @abstractmethod
    def read(self, table: ColumnTable) -> Values:
        """Values of its column in a table."""

    @abstractmethod
    def at(self, values: Any) -> FloatArray:
        """Columns of the design, (n, size)."""

    def label(self, edf: float) -> str:
        """What a plot calls its effect."""
        return f"effect of {self.column}"

    def warn_outside(self, values: Any, stacklevel: int) -> None:  # noqa: B027 - only curves have an outside
        """Say so if values lie where the term was not made for."""


def _range(x: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Points over the range of a column, and distinct values of it."""
    distinct = np.unique(x)
    rug = distinct if len(distinct) <= MOST_RUG else distinct[np.linspace(0, len(distinct) - 1, MOST_RUG).astype(int)]
    return np.linspace(distinct[0], distinct[-1], GRID_POINTS), rug


class SmoothPart(Part):
    """A smooth function that sums to zero over the rows; its roughness is that over the unit interval."""

    def __init__(self, place: int, column: str, x: FloatArray, curve: Smooth, lam: float | None) -> None:
        self.place, self.column, self.curve, self.lam = place, column, curve, lam
        self.grid, self.rug = _range(x)
        self.size = curve.size

    @property
    def name(self) -> str:
        """Name of the term, as mgcv writes it."""
        return f"s({self.column})"

    @property
    def root(self) -> FloatArray:
        """Root of the penalty."""
        return self.curve.unit_root

    def read(self, table: ColumnTable) -> FloatArray:
        """Values of its column in a table."""
        return table.numbers(self.place)

    def at(self, values: FloatArray) -> FloatArray:
        """Columns of the design."""
        return self.curve(values)

    def label(self, edf: float) -> str:
        """What a plot calls its effect, with its degrees of freedom."""
        return f"s({self.column}, {edf:.1f})"

    def warn_outside(self, values: FloatArray, stacklevel: int) -> None:
        """Say so if values lie outside the knots."""
        self.curve.warn_outside(values, f"column {self.column!r}", stacklevel=stacklevel + 1)


class LinearPart(Part):
    """A straight line that sums to zero over the rows."""

    size = 1

    def __init__(self, place: int, column: str, x: FloatArray, weights: FloatArray) -> None:
        self.place, self.column = place, column
        self.centre = float(np.average(x, weights=weights))
        self.grid, self.rug = _range(x)

    def read(self, table: ColumnTable) -> FloatArray:
        """Values of its column in a table."""
        return table.numbers(self.place)

    def at(self, values: FloatArray) -> FloatArray:
        """The column without its mean."""
        return values[:, None] - self.centre


class FactorPart(Part):
    """One constant a level, against the first level."""

    grid: pd.Index[Any]

    def __init__(self, place: int, column: str, levels: tuple[Hashable, ...]) -> None:
        self.place, self.column, self.levels = place, column, levels
        self.grid, self.rug = pd.Index(levels, dtype=object), np.zeros(0)
        self.size = len(levels) - 1

    def read(self, table: ColumnTable) -> pd.Index[Any]:
        """Values of its column in a table."""
        return table.values(self.place)

    def at(self, values: pd.Index[Any]) -> FloatArray:
        """Indicators of all levels but the first."""
        codes = self.grid.get_indexer(values)
        if (codes < 0).any():
            unknown = values[codes < 0][0]
            raise DataError(
                f"Column {self.column!r} holds {unknown!r}, which is not among its levels {listed(self.levels)}. Fit "
                "with rows of this level and a positive weight, or merge it with another one."
            )
        indicators: FloatArray = (codes[:, None] == np.arange(1, len(self.levels))).astype(np.float64)
        return indicators

    def rarest(self, rows: WeightedTable) -> tuple[int, str]:
        """Number of rows of the level that has fewest, and what to do about it."""
        counts = np.bincount(self.grid.get_indexer(self.read(rows.table)[rows.seen]), minlength=len(self.levels))
        count, level = int(counts.min()), self.levels[int(counts.argmin())]
        where = f"level {level!r} of column {self.column!r}"
        return count, f"{where} has {count} row(s); merge it with another level or drop the rows"


def rare_level(parts: list[Part], rows: WeightedTable) -> str:
    """What to say if a training set does not determine the fit; refuses a level that one without a fold cannot have."""
    found = [part.rarest(rows) for part in parts if isinstance(part, FactorPart)]
    count, advice = min(found, default=(rows.table.n, ""))
    if count <= 1:
        raise DataError(f'Without its fold a level cannot be fitted: {advice}. Only route="refit" goes on without it.')
    return f"Perhaps it lacks a rare level: {advice}." if count <= max(FEW_ROWS, rows.table.n // 20) else ""


def side_by_side(parts: list[Part], table: ColumnTable) -> FloatArray:
    """Columns of all terms in the rows of a table."""
    return np.hstack([part.at(part.read(table)) for part in parts])
