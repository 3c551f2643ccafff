"""OneHotEncoder and OrdinalEncoder: levels of a training set, and which of them are rare there."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder

from ...checks import plain_text
from ...errors import RouteError
from ...typing import BoolArray, FloatArray, IntArray
from ..encoding import Block
from ..features import Features, Pattern
from ..fixedfeatures import FixedFeatures
from ..setstatistics import SetFailure, SetStatistics
from .categories import Categories, Levels
from .table import RawTable

__all__ = ["one_hot", "ordinal"]

ERROR = "error"


class _Encoded(Block):
    """An encoder with its options, and the columns of levels before it."""

    def __init__(self, encoder: Any, columns: Sequence[Levels]) -> None:
        self.encoder, self.columns = encoder, list(columns)
        self.groups_rare = encoder.min_frequency is not None or encoder.max_categories is not None
        self.is_fixed = not isinstance(encoder.categories, str)
        self.is_complete = all(column.is_complete for column in self.columns)

    def _known(self, column: Levels, counts: FloatArray, sets: SetStatistics) -> BoolArray:
        """Which levels a training set knows, (S, k); raises if one that it does not is to be predicted."""
        known: BoolArray = np.ones(counts.shape, dtype=bool) if self.is_fixed else counts > 0
        if self.encoder.handle_unknown == ERROR:
            unknown = ~known & (column.held_out(sets) > 0)
            if unknown.any():
                at, level = (int(index) for index in np.argwhere(unknown)[0])
                shown = plain_text(column.levels[level])
                raise SetFailure(
                    at,
                    f"{shown} of column {column.name!r} is in no row of the training set, and the "
                    'encoder has handle_unknown="error"; use handle_unknown="ignore", merge rare levels '
                    "(min_frequency), or choose other folds.",
                )
        return known

    def _rare(self, counts: FloatArray, known: BoolArray, n: FloatArray) -> BoolArray:
        """Which known levels are grouped as infrequent, (S, k), by scikit-learn's rule."""
        least, most = self.encoder.min_frequency, self.encoder.max_categories
        rare: BoolArray = np.zeros(counts.shape, dtype=bool)
        if isinstance(least, numbers.Integral):
            rare = known & (counts < int(least))
        elif least is not None:
            rare = known & (counts < n[:, None] * float(least))
        if most is not None:
            too_many = (known & ~rare).sum(axis=1) + 1 > most
            # stable, so that the first of equal counts goes first; unknown levels are not among them
            order = np.argsort(np.where(known, counts, -1.0), axis=1, kind="stable")
            place = np.argsort(order, axis=1)
            beyond = known & (place < counts.shape[1] - (most - 1))
            rare = np.where(too_many[:, None], rare | beyond, rare)
        return rare


class _OneHot(_Encoded):
    """A column for each level, and one for those that are rare if they are grouped."""

    def __init__(self, encoder: OneHotEncoder, columns: Sequence[Levels]) -> None:
        super().__init__(encoder, columns)
        self.may_be_sparse = bool(encoder.sparse_output)
        self.n_stored = len(columns) if encoder.drop is None and self.is_complete else 0
        self._drops = _dropped(encoder, columns)
        sources, outputs, closed, first = [], [], [], 0
        for number, column in enumerate(columns):
            k = len(column)
            width = k + self.groups_rare
            each = [column.sources] + ([np.full(k, column.gap)] if column.gap is not None else [])
            entries = [(source, first + np.arange(k)) for source in each]
            if self.groups_rare:
                entries += [(source, np.full(k, first + k)) for source in each]
            sources += [source for source, _ in entries]
            outputs += [output for _, output in entries]
            is_closed = encoder.drop is None and column.is_complete
            closed.append(np.full(width, number if is_closed else -1))
            first += width
        output: IntArray = np.concatenate(outputs)
        self._order = np.argsort(output, kind="stable")
        self._pattern = Pattern(np.concatenate(sources)[self._order], output[self._order], first)
        self._closed = np.concatenate(closed)
        self.has_closed = bool((self._closed >= 0).any())
        self.n_outputs = first

    def learn(self, sets: SetStatistics) -> Features:
        """Indicators of the levels that the training set knows."""
        coef, counts, present = [], [], []
        for column, drop in zip(self.columns, self._drops, strict=True):
            of_column = self._learn(column, drop, sets)
            coef += of_column[0]
            counts.append(of_column[1])
            present.append(of_column[2])
        table, there = np.hstack(counts), np.hstack(present)
        found = Features(
            self._pattern,
            np.hstack(coef)[:, self._order],
            np.zeros(table.shape),
            there,
            (table == sets.n[:, None]).astype(float),
            (table > 0).astype(float),
            self._closed,
        )
        return found.kept(there)

    def _learn(
        self, column: Levels, drop: object, sets: SetStatistics
    ) -> tuple[list[FloatArray], FloatArray, BoolArray]:
        """Coefficients of a column's entries; counts of its outputs, and which of these are there."""
        counts = column.counts(sets)
        known = self._known(column, counts, sets)
        rare = self._rare(counts, known, sets.n) if self.groups_rare else np.zeros_like(known)
        shown = known & ~rare
        grouped, has_rare = rare, rare.max(axis=1, keepdims=True)
        if self.encoder.handle_unknown in ("infrequent_if_exist", "warn"):
            grouped = rare | (~known & has_rare)
        shown, is_rare_shown = self._without_dropped(column, drop, shown, rare, has_rare)
        own = [shown.astype(float)]
        if column.gap is not None:
            own.append(own[0] * column.most_frequent(sets))
        if not self.groups_rare:
            return own, counts, shown
        together = [grouped * is_rare_shown * 1.0]
        if column.gap is not None:
            together.append(together[0] * column.most_frequent(sets))
        rare_count = (counts * rare).sum(axis=1, keepdims=True)
        return own + together, np.hstack([counts, rare_count]), np.hstack([shown, is_rare_shown])

    def _without_dropped(
        self, column: Levels, drop: object, shown: BoolArray, rare: BoolArray, has_rare: BoolArray
    ) -> tuple[BoolArray, BoolArray]:
        """Levels that are shown, and whether the rare ones are, without the one that is dropped."""
        if drop is None:
            return shown, has_rare
        if isinstance(drop, str):  # "first", "if_binary"
            number = shown.sum(axis=1, keepdims=True) + has_rare
            drops = number == 2 if drop == "if_binary" else number > 0
            is_first = np.arange(shown.shape[1]) == shown.argmax(axis=1)[:, None]
            has_shown = shown.max(axis=1, keepdims=True)
            return shown & ~(is_first & drops), has_rare & ~(drops & ~has_shown)
        (level,) = np.asarray(drop)
        lost = np.flatnonzero(~shown[:, level])
        if len(lost):
            why = "is infrequent in" if rare[lost[0], level] else "is in no row of"
            raise SetFailure(
                int(lost[0]),
                f"{plain_text(column.levels[level])} of column {column.name!r}, which is to be dropped, {why} it.",
            )
        return shown & (np.arange(shown.shape[1]) != level), has_rare


class _Ordinal(_Encoded):
    """The number of a level among those of the training set."""

    def __init__(self, encoder: OrdinalEncoder, columns: Sequence[Levels]) -> None:
        super().__init__(encoder, columns)
        sources, outputs = [], []
        for number, column in enumerate(columns):
            each = [column.sources] + ([np.array([column.gap])] if column.gap is not None else [])
            sources += each
            outputs.append(np.full(sum(map(len, each)), number))
        self._pattern = Pattern(np.concatenate(sources), np.concatenate(outputs), len(columns))
        self.n_outputs = len(columns)

    def learn(self, sets: SetStatistics) -> Features:
        """Numbers of levels."""
        S, p = len(sets.n), len(self.columns)
        coef, low, high = [], np.zeros((S, p)), np.zeros((S, p))
        for at, column in enumerate(self.columns):
            counts = column.counts(sets)
            known = self._known(column, counts, sets)
            rare = self._rare(counts, known, sets.n) if self.groups_rare else np.zeros_like(known)
            frequent = known & ~rare
            codes = np.cumsum(frequent, axis=1) - 1.0
            codes = np.where(rare, frequent.sum(axis=1, keepdims=True), codes)
            codes = np.where(known, codes, self._unknown_value())
            if self.encoder.unknown_value is not None:  # scikit-learn refuses the number of a level
                value = self._unknown_value()
                sets.doubt((value >= 0) & (value < known.sum(axis=1)))
            coef.append(codes)
            if column.gap is not None:
                coef.append((codes * column.most_frequent(sets)).sum(axis=1, keepdims=True))
            there = counts > 0
            low[:, at] = np.where(there, codes, np.inf).min(axis=1)
            high[:, at] = np.where(there, codes, -np.inf).max(axis=1)
        there = np.ones((S, p), dtype=bool)
        return Features(self._pattern, np.hstack(coef), np.zeros((S, p)), there, low, high, np.full(p, -1))

    def _unknown_value(self) -> float:
        value = self.encoder.unknown_value
        return 0.0 if value is None else float(value)  # None only where unknown levels are an error


def _dropped(encoder: OneHotEncoder, columns: Sequence[Levels]) -> list[object]:
    """For each column what is dropped: None, a rule, or the place of a level."""
    if encoder.drop is None or isinstance(encoder.drop, str):
        return [encoder.drop] * len(columns)
    places: list[object] = []
    for column, level in zip(columns, np.asarray(encoder.drop, dtype=object), strict=True):
        found = np.flatnonzero(column.levels == level)
        if not len(found):
            raise RouteError(f"a level of column {column.name!r} that is to be dropped is in no row")
        places.append(found[:1])
    return places


def one_hot(step: OneHotEncoder, table: RawTable | Categories | Block, fixed: FixedFeatures) -> Block:
    """OneHotEncoder."""
    encoder = _OneHot(step, _columns(step, table, fixed))
    if encoder.groups_rare and step.handle_unknown != "ignore" and not encoder.is_complete:
        raise RouteError("OneHotEncoder groups levels that are not among its categories with rare ones")
    return encoder


def ordinal(step: OrdinalEncoder, table: RawTable | Categories | Block, fixed: FixedFeatures) -> Block:
    """OrdinalEncoder."""
    columns = _columns(step, table, fixed)
    if any(level is None or level != level for column in columns for level in column.levels):
        raise RouteError("OrdinalEncoder meets missing values")
    value = step.unknown_value
    if value is not None and np.isnan(value):
        raise RouteError("OrdinalEncoder makes missing values of unknown levels")
    encoder = _Ordinal(step, columns)
    if not encoder.is_complete:
        raise RouteError("OrdinalEncoder meets levels that are not among its categories")
    return encoder


def _columns(step: Any, table: RawTable | Categories | Block, fixed: FixedFeatures) -> list[Levels]:
    """The columns of levels, with those that were given to the encoder."""
    if isinstance(table, RawTable):
        table = Categories(table, fixed)
    if not isinstance(table, Categories):
        raise RouteError(f"{type(step).__name__} stands behind another step that learns")
    n_columns, given = table.table.n_columns, step.categories
    lists = [None] * n_columns if isinstance(given, str) else [np.asarray(each) for each in given]
    if len(lists) != n_columns:
        raise RouteError(f"{type(step).__name__} has categories for {len(lists)} of {n_columns} columns")
    columns = [table.levels(at, lists[at]) for at in range(n_columns)]
    if step.handle_unknown == ERROR and not all(column.is_complete for column in columns):
        raise RouteError(f"{type(step).__name__} meets levels that are not among its categories")
    return columns
