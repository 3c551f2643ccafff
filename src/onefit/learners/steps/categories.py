"""Columns of levels, and what they are where missing ones are filled in."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, Final

import numpy as np
import pandas as pd
from sklearn.preprocessing import OneHotEncoder

from ...errors import RouteError
from ...typing import AnyArray, BoolArray, FloatArray, IntArray
from ..fixedfeatures import FixedFeatures
from ..setstatistics import SetStatistics
from .table import RawTable

__all__ = ["MOST_FREQUENT", "Categories", "Levels"]

MOST_FREQUENT: Final = object()
"""What is missing is the most frequent level of the training set."""


class Levels:
    """One column: its levels in scikit-learn's order, where their indicators are in B, and which level each row has.

    ``gap`` is the indicator of rows that are filled in, if there are such; by the most frequent level if none has been
    put there.
    """

    def __init__(
        self, name: str, levels: AnyArray, sources: IntArray, gap: int | None, has_mode: bool, is_complete: bool
    ) -> None:
        self.name, self.levels, self.sources, self.is_complete = name, levels, sources, is_complete
        self._filled, self.gap = gap, gap if has_mode else None

    def __len__(self) -> int:
        return len(self.levels)

    def counts(self, sets: SetStatistics) -> FloatArray:
        """How often a training set has each level, (S, k), with gaps filled in."""
        if self._filled is not None:  # whether a column without values is dropped differs by version
            sets.doubt(sets.counts(np.array([self._filled]))[:, 0] == sets.n)
        return self._with_gaps(sets.counts, sets)

    def held_out(self, sets: SetStatistics) -> FloatArray:
        """The same in the rows that are predicted."""
        return self._with_gaps(sets.held_out, sets)

    def _with_gaps(self, count: Callable[[IntArray], FloatArray], sets: SetStatistics) -> FloatArray:
        counts = count(self.sources)
        if self.gap is None:
            return counts
        return counts + count(np.array([self.gap])) * self.most_frequent(sets)

    def most_frequent(self, sets: SetStatistics) -> BoolArray:
        """Which level fills the gaps, (S, k): the first of the most frequent; none if all are missing."""
        counts = sets.counts(self.sources)
        found: BoolArray = (np.arange(len(self)) == counts.argmax(axis=1)[:, None]) & (counts.max(axis=1) > 0)[:, None]
        return found


class Categories:
    """Columns of levels: of a table as it came, or with ``missing`` values filled in by ``fill``."""

    def __init__(self, table: RawTable, fixed: FixedFeatures, fill: object = None, missing: Any = np.nan) -> None:
        self.table, self.fixed, self.fill, self.missing = table, fixed, fill, missing

    def levels(self, at: int, given: AnyArray | None = None) -> Levels:
        """A column, with the levels that its rows have, or those given."""
        table, name = self.table, self.table.name(at)
        column, gap, has_mode = table.objects(at), None, self.fill is MOST_FREQUENT
        key: tuple[Hashable, ...] = (table.keys[at], "levels", None if given is None else (*given.tolist(),))
        kept: BoolArray = np.ones(len(column), dtype=bool)
        if self.fill is not None and (is_gap := table.missing(at, self.missing)).any():
            recipe = table.recipe("missing", at, missing=self.missing)
            gap = self.fixed.indicator((table.keys[at], "missing", repr(self.missing)), is_gap, recipe)
            key = (*key, repr(self.missing), None if has_mode else repr(self.fill))
            kept = ~is_gap if has_mode else kept
            column = column.astype(object)
            column[is_gap] = self.fill
        levels, found = _coded(name, column[kept], given)
        if has_mode and any(level is None for level in levels):
            raise RouteError(f"column {name!r} has None among levels of which the most frequent is asked for")
        codes = np.full(self.fixed.n, -1, dtype=np.intp)
        codes[kept] = found
        fill = None if has_mode else self.fill
        recipe = table.recipe(
            "levels", at, missing=self.missing, levels=levels, fill=fill, has_mode=has_mode and gap is not None
        )
        sources = self.fixed.levels(key, codes, len(levels), recipe)
        return Levels(name, levels, sources, gap, has_mode, bool((found >= 0).all()))


def _coded(name: str, column: AnyArray, given: AnyArray | None) -> tuple[AnyArray, IntArray]:
    """Levels in scikit-learn's order, and which of them each row has; -1 is one that is not among those given."""
    if given is None and len(column) and pd.api.types.infer_dtype(column, skipna=False) == "string":
        codes, levels = pd.factorize(column, sort=True)  # text is sorted as scikit-learn does it, but sooner
        return np.asarray(levels), codes.astype(np.intp)
    encoder = OneHotEncoder(categories="auto" if given is None else [given], handle_unknown="ignore")
    try:
        indicators = encoder.fit_transform(column[:, None]).tocsr()
    except (TypeError, ValueError) as error:
        raise RouteError(f"levels of column {name!r} cannot be told apart: {error}") from error
    found = np.full(indicators.shape[0], -1, dtype=np.intp)
    found[np.flatnonzero(np.diff(indicators.indptr))] = indicators.indices
    return encoder.categories_[0], found
