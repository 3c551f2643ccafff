"""Terms of an additive model: what the user asks for, and what it becomes for some rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from ..checks import check_penalty_value, check_range_of
from ..errors import DataError
from ..typing import AnyArray, ArrayLike, BoolArray, FloatArray
from .basis import BasisName, SplineBasis
from .smooth import Smooth, check_knots, make_smooth
from .table import ColumnTable, listed

__all__ = [
    "FactorTerm",
    "LinearTerm",
    "Part",
    "SmoothPart",
    "SmoothTerm",
    "Term",
    "Values",
    "as_terms",
    "default_terms",
    "factor",
    "linear",
    "rare_level",
    "smooth",
]

GRID_POINTS = 100
MOST_RUG = 1000
FEW_ROWS = 5
"""A level with so few rows is rare, however few rows there are."""


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


@dataclass(frozen=True)
class Defaults:
    """What a smooth term takes if it does not say."""

    n_basis: int
    basis: str


# ------------------------------------------------------------------------------------------- terms made for some rows


Values: TypeAlias = "FloatArray | pd.Index[Any]"
"""Values of a column: numbers, or levels."""


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


# --------------------------------------------------------------------------------------------- what the user asks for


@dataclass(frozen=True)
class SmoothTerm:
    """A smooth function of a column; see `smooth`."""

    column: str | int
    n_basis: int | None = None
    basis: str | None = None
    knots: tuple[float, ...] | SplineBasis | None = None
    lam: float | None = None

    def make(self, rows: WeightedTable, place: int, defaults: Defaults) -> SmoothPart:
        """The term for some rows."""
        name, (x, weights) = rows.table.name(place), rows.numbers(place)
        if self.knots is None and x.min() == x.max():
            _refuse_constant(name)
        kind = defaults.basis if self.basis is None else self.basis
        n_basis = defaults.n_basis if self.n_basis is None else self.n_basis
        knots = np.array(self.knots) if isinstance(self.knots, tuple) else self.knots
        curve = make_smooth(kind, x, n_basis, knots, f"column {name!r}", weights)
        return SmoothPart(place, name, x, curve, self.lam)

    def frozen(self, part: Part) -> SmoothTerm:
        """The same with the knots of a part."""
        if self.knots is not None or not isinstance(part, SmoothPart):
            return self
        return replace(self, knots=part.curve.basis)


@dataclass(frozen=True)
class LinearTerm:
    """A straight line in a column; see `linear`."""

    column: str | int

    def make(self, rows: WeightedTable, place: int, defaults: Defaults) -> LinearPart:
        """The term for some rows."""
        name, (x, weights) = rows.table.name(place), rows.numbers(place)
        if x.min() == x.max():
            _refuse_constant(name)
        return LinearPart(place, name, x, weights)

    def frozen(self, part: Part) -> LinearTerm:
        """The same: nothing depends on the rows but its mean, which the intercept absorbs."""
        return self


@dataclass(frozen=True)
class FactorTerm:
    """A constant for each level of a column; see `factor`."""

    column: str | int
    levels: tuple[Hashable, ...] | None = None

    def make(self, rows: WeightedTable, place: int, defaults: Defaults) -> FactorPart:
        """The term for some rows."""
        name = rows.table.name(place)
        levels = rows.table.levels(place, rows.seen) if self.levels is None else self.levels
        if len(levels) < 2:
            _refuse_constant(name)
        return FactorPart(place, name, levels)

    def frozen(self, part: Part) -> FactorTerm:
        """The same with the levels of a part."""
        if self.levels is not None or not isinstance(part, FactorPart):
            return self
        return replace(self, levels=part.levels)


Term: TypeAlias = SmoothTerm | LinearTerm | FactorTerm


def _refuse_constant(name: str) -> None:
    raise DataError(f"Column {name!r} is constant, so the intercept has all of it; remove its term.")


def smooth(
    column: str | int,
    n_basis: int | None = None,
    basis: BasisName | None = None,
    knots: ArrayLike | SplineBasis | None = None,
    lam: float | None = None,
) -> SmoothTerm:
    """A smooth function of a column, as a term of `AdditiveModel`.

    Parameters
    ----------
    column : str or int
        Name of the column in a data frame, or its position.
    n_basis : int, default=None
        Number of spline functions, at least 3; None is that of the model.
    basis : {"cr", "ps", "bs", "tp"}, default=None
        Kind of splines, as in `SplineRegression`; None is that of the model.
    knots : array, default=None
        Knots, increasing, the ends among them; None places them by the values of the column.
    lam : float, default=None
        Strength of the penalty on this term, whatever the model's; None leaves it to the model.

    Returns
    -------
    SmoothTerm

    Examples
    --------
    >>> import onefit
    >>> model = onefit.AdditiveModel(terms=[onefit.smooth("age", n_basis=6), onefit.factor("sex")])
    >>> model.terms[0].n_basis
    6
    """
    column = _check_column(column)
    if knots is not None and not isinstance(knots, SplineBasis):
        knots = tuple(check_knots(knots, f"column {column!r}").tolist())
    return SmoothTerm(column, n_basis, basis, knots, None if lam is None else check_penalty_value("lam", lam))


def linear(column: str | int) -> LinearTerm:
    """A straight line in a column, as a term of `AdditiveModel`.

    Parameters
    ----------
    column : str or int
        Name of the column in a data frame, or its position.

    Returns
    -------
    LinearTerm

    Examples
    --------
    >>> import onefit
    >>> onefit.linear("age")
    LinearTerm(column='age')
    """
    return LinearTerm(_check_column(column))


def factor(column: str | int, levels: Sequence[Hashable] | AnyArray | None = None) -> FactorTerm:
    """A constant for each level of a column, as a term of `AdditiveModel`.

    Parameters
    ----------
    column : str or int
        Name of the column in a data frame, or its position.
    levels : list, default=None
        The levels; the others are compared with the first. None takes those in the data: in the order of the categories
        of a categorical column, else sorted.

    Returns
    -------
    FactorTerm

    Examples
    --------
    >>> import onefit
    >>> onefit.factor("dose", levels=["none", "low", "high"])
    FactorTerm(column='dose', levels=('none', 'low', 'high'))
    """
    column = _check_column(column)
    if levels is None:
        return FactorTerm(column)
    found = tuple(np.asarray(levels, dtype=object).tolist()) if not isinstance(levels, str) else (levels,)
    if len(found) < 2 or len(set(found)) < len(found):
        raise DataError(f"The levels of column {column!r} must be at least two, and all different; they are {found}.")
    return FactorTerm(column, found)


def _check_column(column: object) -> str | int:
    if isinstance(column, bool) or not isinstance(column, str | int | np.integer):
        raise DataError(f"column={column!r} must be the name of a column, or its position as an integer.")
    return column if isinstance(column, str) else int(column)


def as_terms(terms: object) -> list[Term]:
    """Terms as a list; a name or a position stands for a smooth function of that column."""
    if not isinstance(terms, list | tuple) or not terms:
        raise DataError(f"terms={terms!r} must be a list of terms such as smooth(...), or None for one in each column.")
    return [term if isinstance(term, SmoothTerm | LinearTerm | FactorTerm) else smooth(term) for term in terms]


def default_terms(rows: WeightedTable) -> list[Term]:
    """A smooth function of each column of numbers and a factor for each other one, without those that are constant."""
    terms: list[Term] = []
    for j in range(rows.table.n_columns):
        if rows.table.is_number(j):
            x, _ = rows.numbers(j)
            terms += [SmoothTerm(j)] if x.min() < x.max() else []
        elif _count_levels(rows, j) > 1:
            terms.append(FactorTerm(j))
    return terms


def _count_levels(rows: WeightedTable, j: int) -> int:
    """Number of levels of a column that nobody called a factor; refuses numbers and identifiers."""
    rows.table.refuse_disguised(j)
    count, name = len(rows.table.levels(j, rows.seen)), rows.table.name(j)
    if count > max(2, int(rows.seen.sum()) // 2):
        raise DataError(
            f"Column {name!r} has {count} levels in {int(rows.seen.sum())} rows, as an identifier has; drop it, or "
            f"name it in terms as factor({name!r})."
        )
    return count
