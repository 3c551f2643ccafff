"""Columns of levels, and what they are where missing ones are filled in."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Final

import numpy as np
import pandas as pd
from sklearn.preprocessing import OneHotEncoder

from ...errors import RouteError
from ...typing import AnyArray, BoolArray, FloatArray, IntArray
from ..encoding import FixedFeatures, SetStatistics
from .table import RawTable

__all__ = ["MOST_FREQUENT", "Categories", "Levels"]

MOST_FREQUENT: Final = object()
"""What is missing is the most frequent level of the training set."""


class Levels:
    """One column: its levels in scikit-learn's order, where their indicators are in B, and which level each row has.

    ``gap`` is the indicator of rows that are filled by the most frequent level, if there are such.
    """

    def __init__(self, name: str, levels: AnyArray, sources: IntArray, gap: int | None, is_complete: bool) -> None:
        self.name, self.levels, self.sources, self.gap, self.is_complete = name, levels, sources, gap, is_complete

    def __len__(self) -> int:
        return len(self.levels)

    def counts(self, sets: SetStatistics) -> FloatArray:
        """How often a training set has each level, (S, k), with gaps filled in."""
        counts = sets.counts(self.sources)
        if self.gap is None:
            return counts
        return counts + sets.counts(np.array([self.gap])) * self.most_frequent(sets)

    def held_out(self, sets: SetStatistics) -> FloatArray:
        """The same in the rows that are predicted."""
        counts = sets.held_out(self.sources)
        if self.gap is None:
            return counts
        return counts + sets.held_out(np.array([self.gap])) * self.most_frequent(sets)

    def most_frequent(self, sets: SetStatistics) -> BoolArray:
        """Which level fills the gaps, (S, k): the first of the most frequent; none if all are missing."""
        counts = sets.counts(self.sources)
        found: BoolArray = (np.arange(len(self)) == counts.argmax(axis=1)[:, None]) & (counts.max(axis=1) > 0)[:, None]
        return found


class Categories:
    """Columns of levels: of a table as it came, or with what is missing filled in by ``fill``."""

    def __init__(self, table: RawTable, fixed: FixedFeatures, fill: object = None) -> None:
        self.table, self.fixed, self.fill = table, fixed, fill

    def levels(self, at: int, given: AnyArray | None = None) -> Levels:
        """A column, with the levels that its rows have, or those given."""
        column, fill = self.table.objects(at), self.fill
        gap: int | None = None
        key: tuple[Hashable, ...] = (self.table.keys[at], "levels", repr(given))
        if fill is not None:
            missing: BoolArray = np.asarray(pd.isna(column), dtype=bool)
            if missing.all():
                raise RouteError(f"column {self.table.name(at)!r} has no values")
            if fill is MOST_FREQUENT and missing.any():
                gap = self.fixed.indicator((self.table.keys[at], "missing"), missing)
                column, key = column[~missing], (*key, "seen")
            elif missing.any():
                column = column.astype(object)
                column[missing] = fill
                key = (*key, repr(fill))
        encoder = OneHotEncoder(categories="auto" if given is None else [given], handle_unknown="ignore")
        try:
            table = encoder.fit_transform(column[:, None]).tocsr()
        except (TypeError, ValueError) as error:
            raise RouteError(f"levels of column {self.table.name(at)!r} cannot be told apart: {error}") from error
        found = np.full(table.shape[0], -1, dtype=np.intp)
        found[np.flatnonzero(np.diff(table.indptr))] = table.indices
        codes = found
        if gap is not None:
            codes = np.full(self.fixed.n, -1, dtype=np.intp)
            codes[~missing] = found
        sources = self.fixed.levels(key, codes, len(encoder.categories_[0]))
        return Levels(self.table.name(at), encoder.categories_[0], sources, gap, bool((found >= 0).all()))
