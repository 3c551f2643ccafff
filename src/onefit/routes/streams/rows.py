"""Rows of a table as passes see them: read by whoever computes, checked, and given their folds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np
import pandas as pd

from ...checks import MOST_SIZE
from ...dealing import DealtClasses, DealtGroups, DealtRows
from ...errors import DataError
from ...linalg import compiled
from ...metrics.losses import Classes
from ...sources import Block, Piece, check_rows, read_ahead
from ...typing import AnyArray, FloatArray, IntArray

__all__ = ["ClassDeal", "Deal", "GivenFolds", "GroupDeal", "ReadRows", "RowDeal", "RowReader", "Target", "numbers_of"]


class Deal(Protocol):
    """Which fold a row is in."""

    @property
    def n_folds(self) -> int:
        """Number of folds."""

    def ids(self, start: int, stop: int, groups: IntArray | None, repeat: int) -> IntArray:
        """Folds of consecutive rows in a repeat."""

    def sizes(self, repeat: int) -> IntArray:
        """Rows in each fold."""


@dataclass(frozen=True)
class RowDeal:
    """Rows by themselves."""

    dealt: DealtRows

    @property
    def n_folds(self) -> int:
        """Number of folds."""
        return self.dealt.n_folds

    def ids(self, start: int, stop: int, groups: IntArray | None, repeat: int) -> IntArray:
        """By their numbers."""
        return self.dealt.ids(start, stop, repeat)

    def sizes(self, repeat: int) -> IntArray:
        """Even ones."""
        return self.dealt.sizes()


@dataclass(frozen=True)
class GroupDeal:
    """Whole groups."""

    dealt: DealtGroups

    @property
    def n_folds(self) -> int:
        """Number of folds."""
        return self.dealt.n_folds

    def ids(self, start: int, stop: int, groups: IntArray | None, repeat: int) -> IntArray:
        """By their groups."""
        assert groups is not None
        return self.dealt.ids(groups, repeat)

    def sizes(self, repeat: int) -> IntArray:
        """As even as the groups allow."""
        return self.dealt.sizes(repeat)


@dataclass(frozen=True, eq=False)
class ClassDeal:
    """Rows of every class spread evenly.

    ``starts`` (F,) are the first rows of the fragments, ``before`` (F, C) the rows of each class before them.
    """

    dealt: DealtClasses
    starts: IntArray
    before: IntArray

    @property
    def n_folds(self) -> int:
        """Number of folds."""
        return self.dealt.n_folds

    def before_row(self, start: int) -> IntArray:
        """Rows of each class before a fragment."""
        return np.array(self.before[np.searchsorted(self.starts, start, side="right") - 1])

    def ids(self, start: int, stop: int, groups: IntArray | None, repeat: int) -> IntArray:
        """Not known without classes."""
        raise NotImplementedError

    def sizes(self, repeat: int) -> IntArray:
        """Even ones."""
        return self.dealt.sizes(repeat)


@dataclass(frozen=True)
class GivenFolds:
    """Folds (L, n) that the user gave."""

    table: IntArray
    n_folds: int

    def ids(self, start: int, stop: int, groups: IntArray | None, repeat: int) -> IntArray:
        """As they were given."""
        return self.table[repeat, start:stop]

    def sizes(self, repeat: int) -> IntArray:
        """How many rows have each id."""
        return np.bincount(self.table[repeat] + 1, minlength=self.n_folds + 1)[1:]


@dataclass(frozen=True)
class Target:
    """What is predicted: columns of numbers, or one of classes, whose codes the fits see.

    ``middle`` (Q,) is what is subtracted from y where an intercept absorbs it.
    """

    names: tuple[str, ...]
    middle: FloatArray
    classes: Classes | None = None

    def of(self, block: Block, first: int) -> FloatArray:
        """Y of some rows, (b, Q)."""
        if self.classes is None:
            return numbers_of(block, self.names, first, "y")
        return self.classes.encode(self.codes(block, first))

    def codes(self, block: Block, first: int) -> IntArray:
        """Numbers of the classes of some rows."""
        assert self.classes is not None
        codes = pd.Index(self.classes.labels).get_indexer(pd.Index(block.values(self.names[0])))
        if (codes < 0).any():
            raise DataError(f"y has a class in row {first + int(np.argmax(codes < 0))} that was not there before.")
        return codes


class ReadRows(NamedTuple):
    """Some consecutive rows: the block itself, matrices that were made of it by their columns, and roles."""

    block: Block
    numbers: dict[tuple[str, ...], FloatArray]
    observed: FloatArray
    weights: FloatArray | None
    groups: IntArray | None
    ids: IntArray
    start: int


@dataclass(frozen=True)
class RowReader:
    """What every task of a pass must know of the rows.

    Attributes
    ----------
    features : tuple of str
        Columns that models ask for.
    matrices : tuple of tuples of str
        Columns of which a matrix of numbers is made, for models that have nothing else.
    target : Target
    weights, groups : str or None
        Names of columns.
    group_names : array or None
        All groups in sorted order.
    deal : Deal
    repeats : tuple of int
        Which repeats.
    mean_weight : float
        Weights are counted relative to it.
    reads_ahead : bool
        Whether rows are read by another thread while others are computed with.
    """

    features: tuple[str, ...]
    matrices: tuple[tuple[str, ...], ...]
    target: Target
    weights: str | None
    groups: str | None
    group_names: AnyArray | None
    deal: Deal
    repeats: tuple[int, ...]
    mean_weight: float = 1.0
    reads_ahead: bool = True

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns that are read."""
        roles = (*self.target.names, self.weights, self.groups)
        return tuple(dict.fromkeys([*self.features, *(name for name in roles if name is not None)]))

    def relative(self, mean_weight: float) -> RowReader:
        """The same with weights relative to their mean."""
        return replace(self, mean_weight=mean_weight)

    @cached_property
    def _group_index(self) -> Any:
        assert self.group_names is not None
        return pd.Index(self.group_names)

    def rows(self, piece: Piece) -> Iterator[ReadRows]:
        """The rows of a piece."""
        return read_ahead(self._read(piece)) if self.reads_ahead else self._read(piece)

    def _read(self, piece: Piece) -> Iterator[ReadRows]:
        assert piece.first is not None
        start = piece.first
        for fragment in piece.fragments:
            assert fragment.n_rows is not None
            before = self.deal.before_row(start) if isinstance(self.deal, ClassDeal) else None
            for block in check_rows(fragment, self.columns, fragment.n_rows):
                if block.n_rows:
                    yield self._prepared(block, start, before)
                start += block.n_rows

    def _ids(self, block: Block, start: int, groups: IntArray | None, before: IntArray | None) -> IntArray:
        """Folds of a block; ``before`` (C,) counts the rows of each class before it, and then those in it, too."""
        if not isinstance(self.deal, ClassDeal) or before is None:
            stop = start + block.n_rows
            return np.stack([self.deal.ids(start, stop, groups, repeat) for repeat in self.repeats])
        codes = self.target.codes(block, start)
        ids = np.stack([self.deal.dealt.ids(codes, before, repeat) for repeat in self.repeats])
        before += np.bincount(codes, minlength=len(before))
        return ids

    def _prepared(self, block: Block, start: int, before: IntArray | None) -> ReadRows:
        numbers = {names: numbers_of(block, names, start, "X") for names in self.matrices}
        groups = weights = None
        if self.groups is not None:
            groups = self._group_index.get_indexer(pd.Index(block.values(self.groups)))
            if (groups < 0).any():
                raise DataError(f"Row {start + int(np.argmax(groups < 0))} has a group that was not there before.")
        if self.weights is not None:
            weights = weights_of(block, self.weights, start)
            if self.mean_weight != 1.0:
                weights = weights / self.mean_weight
        ids = self._ids(block, start, groups, before)
        return ReadRows(block, numbers, self.target.of(block, start), weights, groups, ids, start)


def numbers_of(block: Block, names: Sequence[str], first: int, what: str) -> FloatArray:
    """Columns of numbers that can be computed with; what is missing, or too large, is named by column and row."""
    found = block.numbers(names)
    if not compiled.exceeds(found, MOST_SIZE):
        return found
    wrong = ~(np.abs(found) <= MOST_SIZE)
    column = int(np.flatnonzero(wrong.any(axis=0))[0])
    row = int(np.argmax(wrong[:, column]))
    value = found[row, column]
    if np.isfinite(value):
        raise DataError(
            f"Column {names[column]!r} is {value:.3g} in row {first + row}, too large to be squared; rescale it."
        )
    remedy = (
        "Leave such rows out when the table is written."
        if what == "y"
        else "Impute inside a pipeline (SimpleImputer), or leave such rows out when the table is written."
    )
    is_nan = "missing (NaN)" if np.isnan(value) else "infinite"
    raise DataError(f"Column {names[column]!r} is {is_nan} in row {first + row}, the first such row. {remedy}")


def weights_of(block: Block, name: str, first: int) -> FloatArray:
    """Weights, which are finite and not negative."""
    weights = block.numbers([name])[:, 0]
    wrong = ~(np.isfinite(weights) & (weights >= 0))
    if wrong.any():
        row = int(np.argmax(wrong))
        raise DataError(
            f"sample_weight, column {name!r}, is {weights[row]} in row {first + row}; it must be finite and not "
            "negative in every row."
        )
    return weights
