"""Terms of an additive model: what the user asks for; what they become for some rows is in `parts`."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from ..checks import check_penalty_value
from ..errors import DataError
from ..typing import AnyArray, ArrayLike
from .basis import BasisName, SplineBasis
from .parts import FactorPart, LinearPart, Part, SmoothPart, WeightedTable
from .smooth import check_knots, make_smooth

__all__ = ["FactorTerm", "LinearTerm", "SmoothTerm", "Term", "as_terms", "default_terms", "factor", "linear", "smooth"]


@dataclass(frozen=True)
class Defaults:
    """What a smooth term takes if it does not say."""

    n_basis: int
    basis: str


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
