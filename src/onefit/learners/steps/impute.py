"""SimpleImputer: what is missing is a statistic of the column in the training set."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np
from sklearn.impute import MissingIndicator, SimpleImputer

from ...errors import RouteError
from ...typing import FloatArray, IntArray
from ..encoding import Block
from ..features import Features, Pattern, side_by_side
from ..fixedfeatures import FixedFeatures
from ..setstatistics import SetFailure, SetStatistics
from .categories import MOST_FREQUENT, Categories
from .table import RawTable

__all__ = ["impute", "missing"]


class _Gaps:
    """Where columns have a value that stands for a missing one."""

    def __init__(self, table: RawTable, missing: Any, fixed: FixedFeatures, of_all: bool = False) -> None:
        self.masks, self._of_all = [table.missing(at, missing) for at in range(table.n_columns)], of_all
        self.gapped: IntArray = np.flatnonzero([of_all or bool(mask.any()) for mask in self.masks])
        found = [
            fixed.indicator(
                (table.keys[at], "missing", repr(missing)),
                self.masks[at],
                table.recipe("missing", at, missing=missing),
            )
            for at in self.gapped.tolist()
        ]
        self.sources: IntArray = np.array(found, dtype=np.intp)

    def counts(self, sets: SetStatistics) -> FloatArray:
        """How many are missing of each column, (S, p)."""
        found = np.zeros((len(sets.n), len(self.masks)))
        found[:, self.gapped] = sets.counts(self.sources)
        return found

    def indicators(self, sets: SetStatistics) -> Features:
        """Of columns in which the training set has gaps, or of all."""
        k, counts = len(self.sources), sets.counts(self.sources)
        ones = np.ones((len(sets.n), k))
        low, high = (counts == sets.n[:, None]).astype(float), (counts > 0).astype(float)
        pattern, present = Pattern(self.sources, np.arange(k), k), (counts > 0) | self._of_all
        return Features(pattern, ones, 0 * ones, present, low, high, np.full(k, -1)).kept(present)


class _Imputed(Block):
    """Columns of numbers with gaps that are filled in."""

    def __init__(self, step: SimpleImputer, table: RawTable, fixed: FixedFeatures) -> None:
        self.step, self._gaps = step, _Gaps(table, step.missing_values, fixed)
        numbers = [table.numbers(at) for at in range(table.n_columns)]
        self.columns = [np.where(mask, np.nan, column) for mask, column in zip(self._gaps.masks, numbers, strict=True)]
        keys = [(key, "without", repr(step.missing_values)) for key in table.keys]
        recipes = [table.recipe("value", at, missing=step.missing_values) for at in range(table.n_columns)]
        names = [f"column {table.name(at)!r}" for at in range(table.n_columns)]
        found = [fixed.value(*each) for each in zip(keys, self.columns, recipes, names, strict=True)]
        self._values: IntArray = np.array([source for source, _ in found], dtype=np.intp)
        self._centre = np.array([centre for _, centre in found])
        p, gapped = len(self.columns), self._gaps.gapped
        self.n_outputs = p + (len(gapped) if step.add_indicator else 0)
        output = np.concatenate([np.arange(p), gapped])
        order = np.argsort(output, kind="stable")
        self._pattern = Pattern(np.concatenate([self._values, self._gaps.sources])[order], output[order], p)
        self._is_gap = order >= p
        self.made_of = None if step.add_indicator else self._pattern
        if step.strategy == "most_frequent":
            self._modes = [_Modes(column) for column in self.columns]

    def learn(self, sets: SetStatistics) -> Features:
        """The columns, filled in; and where they were missing, if that is asked for."""
        S, p = len(sets.n), len(self.columns)
        missing = self._gaps.counts(sets)
        is_empty = missing == sets.n[:, None]
        sets.doubt(is_empty.any(axis=1))  # whether such a column is dropped, and what fills it, differs by version
        fill = np.where(is_empty, 0.0, self._fill(sets, missing))
        coef = np.ones((S, len(self._is_gap)))
        coef[:, self._is_gap] = (fill - self._centre)[:, self._gaps.gapped]
        low, high = sets.extremes(self._values)
        low, high = (
            np.where(missing > 0, choose(end, fill), end) for choose, end in ((np.minimum, low), (np.maximum, high))
        )
        shift, there = np.broadcast_to(self._centre, (S, p)), np.ones((S, p), dtype=bool)
        found = Features(self._pattern, coef, shift, there, low, high, np.full(p, -1))
        return side_by_side([found, self._gaps.indicators(sets)]) if self.step.add_indicator else found

    def _fill(self, sets: SetStatistics, missing: FloatArray) -> FloatArray:
        """What stands for a missing value, (S, p)."""
        strategy, n = self.step.strategy, sets.n[:, None]
        if strategy == "mean":
            sums = sets.moments.mean[:, self._values] * n
            seen = n - missing
            # a mean that is a rounding error beyond the values would make a column vary that does not
            return np.clip(self._centre + sums / np.where(seen > 0, seen, 1.0), *sets.extremes(self._values))
        if strategy == "median":
            return np.hstack([sets.quantiles(column, (0.5,)) for column in self.columns])
        if strategy == "most_frequent":
            return np.column_stack([mode.of(sets) for mode in self._modes])
        return np.full(missing.shape, 0.0 if self.step.fill_value is None else float(self.step.fill_value))


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


class _Missing(Block):
    """Indicators of missing values alone."""

    def __init__(self, step: MissingIndicator, table: RawTable, fixed: FixedFeatures) -> None:
        self.step, self._gaps = step, _Gaps(table, step.missing_values, fixed, step.features == "all")
        self.may_be_sparse = step.sparse is True
        self.n_outputs = len(self._gaps.sources)
        self._names = [table.name(at) for at in self._gaps.gapped]

    def learn(self, sets: SetStatistics) -> Features:
        """Of columns in which the training set has gaps, or of all."""
        if self.step.features == "missing-only" and self.step.error_on_new:
            self._refuse_new(sets)
        found = self._gaps.indicators(sets)
        sets.doubt(~found.present.any(axis=1))
        return found

    def _refuse_new(self, sets: SetStatistics) -> None:
        is_new = (sets.counts(self._gaps.sources) == 0) & (sets.held_out(self._gaps.sources) > 0)
        if is_new.any():
            at, column = (int(index) for index in np.argwhere(is_new)[0])
            raise SetFailure(
                at,
                f"column {self._names[column]!r} has missing values where it is predicted and none in the training "
                'set; use MissingIndicator(features="all") or error_on_new=False.',
            )


def missing(step: MissingIndicator, table: RawTable | Categories | Block, fixed: FixedFeatures) -> Block:
    """MissingIndicator."""
    if not isinstance(table, RawTable):
        raise RouteError("MissingIndicator stands behind another step that learns")
    found = _Missing(step, table, fixed)
    if not found.n_outputs:
        raise RouteError("MissingIndicator finds nothing that is missing")
    return found


def impute(step: SimpleImputer, table: RawTable | Categories | Block, fixed: FixedFeatures) -> Block | Categories:
    """SimpleImputer, of numbers or of levels."""
    if not isinstance(table, RawTable):
        raise RouteError("SimpleImputer stands behind another step that learns")
    if callable(step.strategy):
        raise RouteError("SimpleImputer has a strategy of its own")
    kinds = {str(table.objects(at).dtype.kind) for at in range(table.n_columns)}
    if step.strategy in ("mean", "median"):
        return _Imputed(step, table, fixed)
    if kinds <= set("fiu"):
        _check_fill(step, kinds)
        return _Imputed(step, table, fixed)
    if kinds & set("bMm"):
        raise RouteError(f"SimpleImputer(strategy={step.strategy!r}) meets booleans or dates")
    return _impute_levels(step, table, fixed)


def _check_fill(step: SimpleImputer, kinds: set[str]) -> None:
    """Refuse what scikit-learn does not put among numbers."""
    fill = step.fill_value
    if step.strategy != "constant" or fill is None:
        return
    if not isinstance(fill, numbers.Real) or not np.isfinite(float(fill)):
        raise RouteError(f"SimpleImputer fills numbers by {fill!r}")
    if "f" not in kinds and not isinstance(fill, numbers.Integral):
        raise RouteError(f"SimpleImputer fills whole numbers by {fill!r}")


def _impute_levels(step: SimpleImputer, table: RawTable, fixed: FixedFeatures) -> Categories:
    """Levels of text, the missing one merged with another."""
    if step.add_indicator or step.keep_empty_features:
        raise RouteError("SimpleImputer adds columns to levels of text")
    fill = "missing_value" if step.fill_value is None else step.fill_value
    return Categories(table, fixed, fill if step.strategy == "constant" else MOST_FREQUENT, step.missing_values)
