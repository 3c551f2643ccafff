"""SimpleImputer: what is missing is a statistic of the column in the training set."""

from __future__ import annotations

import numpy as np
import pandas as pd
from sklearn.impute import SimpleImputer

from ...errors import RouteError
from ...typing import BoolArray, FloatArray, IntArray
from ..encoding import Block, Features, FixedFeatures, Pattern, SetStatistics, side_by_side
from .categories import MOST_FREQUENT, Categories
from .table import RawTable

__all__ = ["impute"]


class _Imputed(Block):
    """Columns of numbers with gaps that are filled in."""

    def __init__(self, step: SimpleImputer, table: RawTable, fixed: FixedFeatures) -> None:
        self.step, self.columns = step, [table.numbers(at) for at in range(table.n_columns)]
        found = [fixed.value(key, column) for key, column in zip(table.keys, self.columns, strict=True)]
        self._values: IntArray = np.array([source for source, _ in found], dtype=np.intp)
        self._centre = np.array([centre for _, centre in found])
        masks = [np.isnan(column) for column in self.columns]
        self._gapped: IntArray = np.flatnonzero([mask.any() for mask in masks])
        gaps = [fixed.indicator((table.keys[at], "missing"), masks[at]) for at in self._gapped]
        self._gaps: IntArray = np.array(gaps, dtype=np.intp)
        p = len(self.columns)
        output = np.concatenate([np.arange(p), self._gapped])
        order = np.argsort(output, kind="stable")
        self._pattern = Pattern(np.concatenate([self._values, self._gaps])[order], output[order], p)
        self._is_gap = order >= p
        if step.strategy == "most_frequent":
            self._modes = [_Modes(column) for column in self.columns]

    def learn(self, sets: SetStatistics) -> Features:
        """The columns, filled in; and where they were missing, if that is asked for."""
        S, p = len(sets.n), len(self.columns)
        missing = np.zeros((S, p))
        missing[:, self._gapped] = sets.counts(self._gaps)
        is_empty = missing == sets.n[:, None]
        fill = self._fill(sets, missing)
        if self.step.keep_empty_features:
            empty = (
                self.step.fill_value if self.step.strategy == "constant" and self.step.fill_value is not None else 0.0
            )
            fill = np.where(is_empty, empty, fill)
        present: BoolArray = ~is_empty | self.step.keep_empty_features
        fill = np.where(present, fill, 0.0)
        coef = np.ones((S, len(self._is_gap)))
        coef[:, self._is_gap] = (fill - self._centre)[:, self._gapped]
        low, high = sets.extremes(self._values)
        low, high = (
            np.where(missing > 0, choose(end, fill), end) for choose, end in ((np.minimum, low), (np.maximum, high))
        )
        shift = np.broadcast_to(self._centre, (S, p))
        found = Features(self._pattern, coef, shift, present, low, high, np.full(p, -1)).kept(present)
        return side_by_side([found, self._indicators(sets)]) if self.step.add_indicator else found

    def _fill(self, sets: SetStatistics, missing: FloatArray) -> FloatArray:
        """What stands for a missing value, (S, p)."""
        strategy, n = self.step.strategy, sets.n[:, None]
        if strategy == "mean":
            sums = sets.moments.mean[:, self._values] * n
            seen = n - missing
            return self._centre + sums / np.where(seen > 0, seen, 1.0)
        if strategy == "median":
            return np.hstack([sets.quantiles(column, (0.5,)) for column in self.columns])
        if strategy == "most_frequent":
            return np.column_stack([mode.of(sets) for mode in self._modes])
        return np.full(missing.shape, 0.0 if self.step.fill_value is None else float(self.step.fill_value))

    def _indicators(self, sets: SetStatistics) -> Features:
        """Of columns in which the training set has gaps."""
        k = len(self._gaps)
        counts = sets.counts(self._gaps)
        ones = np.ones((len(sets.n), k))
        found = Features(
            Pattern(self._gaps, np.arange(k), k),
            ones,
            np.zeros_like(ones),
            counts > 0,
            (counts == sets.n[:, None]).astype(float),
            (counts > 0).astype(float),
            np.full(k, -1),
        )
        return found.kept(counts > 0)


class _Modes:
    """The most frequent value of a column, the least of several."""

    def __init__(self, column: FloatArray) -> None:
        seen = ~np.isnan(column)
        self._levels = np.unique(column[seen])
        self._codes: IntArray = np.where(seen, np.searchsorted(self._levels, np.where(seen, column, 0.0)), -1)

    def of(self, sets: SetStatistics) -> FloatArray:
        """(S,); NaN if all are missing."""
        if not len(self._levels):
            return np.full(len(sets.n), np.nan)
        counts = sets.tally(self._codes, len(self._levels))
        modes: FloatArray = np.where(counts.any(axis=1), self._levels[counts.argmax(axis=1)], np.nan)
        return modes


def impute(step: SimpleImputer, table: RawTable | Block, fixed: FixedFeatures) -> Block | Categories:
    """SimpleImputer, of numbers or of levels."""
    if not isinstance(table, RawTable):
        raise RouteError("SimpleImputer stands behind another step that learns")
    if not (step.missing_values is None or pd.isna(step.missing_values)):
        raise RouteError("SimpleImputer takes a value for a missing one")
    if step.strategy not in ("mean", "median", "most_frequent", "constant"):
        raise RouteError("SimpleImputer has a strategy of its own")
    if all(table.is_numeric(at) for at in range(table.n_columns)):
        if step.strategy == "constant" and isinstance(step.fill_value, str):
            raise RouteError("SimpleImputer fills numbers by text")
        return _Imputed(step, table, fixed)
    return _impute_levels(step, table, fixed)


def _impute_levels(step: SimpleImputer, table: RawTable, fixed: FixedFeatures) -> Categories:
    """Levels of text, the missing one merged with another."""
    if step.strategy not in ("most_frequent", "constant"):
        raise RouteError(f"SimpleImputer(strategy={step.strategy!r}) meets columns that hold no numbers")
    if step.add_indicator or step.keep_empty_features:
        raise RouteError("SimpleImputer adds columns to levels of text")
    fill = "missing_value" if step.fill_value is None else step.fill_value
    return Categories(table, fixed, fill if step.strategy == "constant" else MOST_FREQUENT)
