"""Columns as they are before the first step that learns: what a training set says of them is not asked yet."""

from __future__ import annotations

import numbers
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.base import clone
from sklearn.utils import _safe_indexing, check_array
from sklearn.utils._mask import _get_mask
from sklearn.utils._missing import is_scalar_nan

from ...errors import RouteError
from ...typing import AnyArray, BoolArray, FloatArray, IntArray
from ..encoding import Block
from ..features import Features, Pattern
from ..fixedfeatures import FixedFeatures, Recipe
from ..setstatistics import SetStatistics

__all__ = ["RawTable", "Values", "as_block"]


@dataclass(frozen=True)
class RawTable:
    """Columns that are the same in every training set, by the keys of where they come from.

    ``places`` are those of the columns in the table as it was given, None of what steps have made of it.
    """

    X: Any
    keys: tuple[Hashable, ...]
    places: tuple[int | None, ...] = ()

    @classmethod
    def of(cls, X: Any, n: int) -> RawTable:
        """A table of n rows as it was given, or as steps that learn nothing have made it."""
        if not len(getattr(X, "shape", ())) == 2:
            raise RouteError("its steps make no table of columns")
        if X.shape[0] != n:
            raise RouteError(f"its steps make {X.shape[0]} rows of {n}")
        if sparse.issparse(X):
            raise RouteError("its steps learn from a sparse matrix")
        origin = object()  # not the id of X, which another table may have once this one is gone
        return cls(X, tuple((origin, at) for at in range(X.shape[1])), tuple(range(X.shape[1])))

    def through(self, step: Any) -> RawTable:
        """What a step that learns nothing makes of each row by itself."""
        try:
            with np.errstate(over="ignore"):  # refused, or said by refits
                made = clone(step).fit_transform(self.X)
        except Exception as error:
            raise RouteError(f"{type(step).__name__} failed on all rows: {type(error).__name__}: {error}") from error
        return replace(RawTable.of(made, self.X.shape[0]), places=())

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return len(self.keys)

    def select(self, columns: Sequence[int]) -> RawTable:
        """Some of the columns."""
        places = tuple(self.places[at] for at in columns) if self.places else ()
        return RawTable(_safe_indexing(self.X, list(columns), axis=1), tuple(self.keys[at] for at in columns), places)

    def recipe(self, kind: str, at: int, **options: Any) -> Recipe | None:
        """How columns of B are made of a column in any rows; None if steps have made it."""
        place = self.places[at] if self.places else None
        return None if place is None else Recipe(kind, place, **options)

    def objects(self, at: int) -> AnyArray:
        """A column as scikit-learn sees it."""
        if isinstance(self.X, np.ndarray) and self.X.dtype.kind in "fiub":
            return self.X[:, at]  # as it is, without the price of checks for each of many columns
        column = _safe_indexing(self.X, at, axis=1)
        return np.asarray(check_array(column, ensure_2d=False, dtype=None, ensure_all_finite=False))

    def name(self, at: int) -> str:
        """How people call a column."""
        names = getattr(self.X, "columns", None)
        return str(at if names is None else names[at])

    def numbers(self, at: int) -> FloatArray:
        """A column as numbers, NaN where they are missing."""
        column = self.objects(at)
        if column.dtype.kind in "fiub":
            return column.astype(np.float64)
        if column.dtype.kind == "O" and not any(isinstance(value, str) for value in column):
            try:
                return column.astype(np.float64)  # None is NaN, and pandas' NA an error, as in scikit-learn
            except (TypeError, ValueError):
                pass
        raise RouteError(f"column {self.name(at)!r} holds no numbers where a step needs them")

    def missing(self, at: int, value: Any) -> BoolArray:
        """Where a column has a value that stands for a missing one, as scikit-learn finds it."""
        column = self.objects(at)
        is_number = isinstance(value, numbers.Real)
        if column.dtype.kind in "fiub" and not (is_number or value is pd.NA):
            raise RouteError(f"column {self.name(at)!r} holds numbers, and {value!r} cannot be missing there")
        try:
            mask = _get_mask(column, value)
            unseen = np.zeros_like(mask) if value is pd.NA or is_scalar_nan(value) else pd.isna(column) & ~mask
        except (TypeError, ValueError) as error:
            raise RouteError(f"missing values of column {self.name(at)!r} cannot be told: {error}") from error
        if np.any(unseen):
            raise RouteError(f"column {self.name(at)!r} has missing values beside {value!r}")
        return np.asarray(mask, dtype=bool)

    def is_numeric(self, at: int) -> bool:
        """Whether a column is of a type of numbers."""
        return self.objects(at).dtype.kind in "fiub"


class Values(Block):
    """Columns of numbers as they are."""

    def __init__(self, table: RawTable, fixed: FixedFeatures) -> None:
        columns = [table.numbers(at) for at in range(table.n_columns)]
        if any(np.isnan(column).any() for column in columns):
            raise RouteError("missing values reach a step that is not an imputer or encoder")
        recipes = [table.recipe("number", at) for at in range(table.n_columns)]
        names = [f"column {table.name(at)!r}" for at in range(table.n_columns)]
        found = fixed.all_values(table.keys, columns, recipes, names)
        self.sources: IntArray = np.array([source for source, _ in found], dtype=np.intp)
        self._centre = np.array([centre for _, centre in found])
        self.columns, self.n_outputs = columns, len(columns)
        self.made_of: Pattern = Pattern(self.sources, np.arange(len(found)), len(found))
        self._fixed = fixed

    @property
    def are_all(self) -> bool:
        """Whether they are the fixed features, in their order."""
        return self._fixed.n_columns == len(self.sources) and bool((self.sources == np.arange(len(self.sources))).all())

    def learn(self, sets: SetStatistics) -> Features:
        """The values."""
        shape = (len(sets.n), len(self.sources))
        low, high = sets.extremes(self.sources)
        there: BoolArray = np.ones(shape, dtype=bool)
        return Features(
            self.made_of,
            np.ones(shape),
            np.broadcast_to(self._centre, shape),
            there,
            low,
            high,
            np.full(shape[1], -1, dtype=np.intp),
        )


def as_block(table: object, fixed: FixedFeatures) -> Block:
    """Numbers for what follows."""
    if isinstance(table, RawTable):
        return Values(table, fixed)
    if not isinstance(table, Block):
        raise RouteError("levels of text reach a step, or a fit, that needs numbers")
    return table
