"""Arrays and frames in memory, or mapped into it, as fragments: read by blocks, without a copy of the whole."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from ..errors import DataError
from ..frames import Frame, find_frame
from ..typing import AnyArray, FloatArray
from .streams import Block
from .table import Column, Table

__all__ = ["ArrayRows", "FrameRows", "block_of_frame", "fields_of_frame", "table_of_array", "table_of_frame"]

ROWS_OF_A_FRAGMENT = 2**18
ROWS_AT_ONCE = 2**14
"""Rows of a block: those of an array are often far apart in memory, and one block is in the caches."""


def table_of_array(X: AnyArray, source: str = "the array") -> Table:
    """Columns of an array, which go by their numbers."""
    if X.ndim != 2 or X.shape[1] == 0 or X.dtype.kind not in "fiub":
        raise DataError(f"{source} has shape {X.shape} and dtype {X.dtype}; it must be a table of numbers.")
    _refuse_none(len(X), source)
    parts = tuple(ArrayRows(X, *ends) for ends in _parts(len(X)))
    return Table(parts, tuple(Column(str(at), str(X.dtype), "number") for at in range(X.shape[1])), source)


def table_of_frame(X: Any, source: str = "the frame") -> Table:
    """Columns of a frame of pandas, polars or pyarrow."""
    frame = find_frame(X)
    assert frame is not None
    _refuse_none(len(frame.table), source)
    fields = fields_of_frame(frame, source)
    return Table(tuple(FrameRows(frame, *ends) for ends in _parts(len(frame.table))), fields, source)


def block_of_frame(X: Any) -> Block:
    """All rows of a frame at once."""
    frame = find_frame(X)
    assert frame is not None
    return _FrameBlock(frame)


def fields_of_frame(frame: Frame, source: str) -> tuple[Column, ...]:
    """What is known of the columns of a frame."""
    if len(set(map(str, frame.names))) < len(frame.names):
        raise DataError(f"Two columns of {source} share a name; give each a name of its own.")
    return tuple(
        Column(str(name), str(frame.column(at).dtype), _kind(frame, at)) for at, name in enumerate(frame.names)
    )


def _kind(frame: Frame, at: int) -> str:
    if frame.is_number(at):
        return "number"
    dtype = frame.column(at).dtype
    if dtype == nw.Boolean:
        return "truth"
    return "date" if frame.is_date(at) else "text"


def _refuse_none(count: int, source: str) -> None:
    if not count:
        raise DataError(f"{source} has no rows.")


def _parts(count: int) -> list[tuple[int, int]]:
    return [(start, min(start + ROWS_OF_A_FRAGMENT, count)) for start in range(0, count, ROWS_OF_A_FRAGMENT)]


@dataclass(frozen=True)
class _Rows:
    """Consecutive rows."""

    X: Any
    start: int
    stop: int

    @property
    def name(self) -> str:
        """Which rows."""
        return f"rows {self.start} to {self.stop - 1}"

    @property
    def n_rows(self) -> int:
        """How many."""
        return self.stop - self.start

    def blocks(self, columns: Sequence[str]) -> Iterator[Block]:
        """Some at a time."""
        for start in range(self.start, self.stop, ROWS_AT_ONCE):
            yield self._block(start, min(start + ROWS_AT_ONCE, self.stop))

    def _block(self, start: int, stop: int) -> Block:
        raise NotImplementedError


@dataclass(frozen=True)
class ArrayRows(_Rows):
    """Of an array."""

    X: AnyArray

    def _block(self, start: int, stop: int) -> Block:
        return _ArrayBlock(self.X[start:stop])


@dataclass(frozen=True)
class _ArrayBlock:
    rows: AnyArray

    @property
    def n_rows(self) -> int:
        return len(self.rows)

    def numbers(self, names: Sequence[str]) -> FloatArray:
        places = [int(name) for name in names]
        whole = places == list(range(places[0], places[0] + len(places)))
        rows = self.rows[:, places[0] : places[0] + len(places)] if whole else self.rows[:, places]
        return rows.astype(np.float64, copy=False)

    def values(self, name: str) -> AnyArray:
        return np.asarray(self.rows[:, int(name)])


@dataclass(frozen=True)
class FrameRows(_Rows):
    """Of a frame."""

    X: Frame

    def _block(self, start: int, stop: int) -> Block:
        return _FrameBlock(Frame(self.X.table[start:stop], self.X.names))


@dataclass(frozen=True)
class _FrameBlock:
    frame: Frame

    @property
    def n_rows(self) -> int:
        return len(self.frame.table)

    def _place(self, name: str) -> int:
        return next(at for at, each in enumerate(self.frame.names) if str(each) == name)

    def numbers(self, names: Sequence[str]) -> FloatArray:
        found = np.empty((self.n_rows, len(names)))
        for at, name in enumerate(names):
            place = self._place(name)
            column = self.frame.column(place)
            if not (self.frame.is_number(place) or column.dtype == nw.Boolean):
                raise DataError(
                    f"Column {name!r} of the frame holds no numbers ({column.dtype}). Encode it in a pipeline, for "
                    "example with OneHotEncoder, or leave it out."
                )
            if column.dtype != nw.Unknown and column.null_count():
                column = column.cast(nw.Float64)
            found[:, at] = column.to_numpy()
        return found

    def values(self, name: str) -> AnyArray:
        place = self._place(name)
        array = self.frame.column(place).to_numpy()
        return array if array.ndim == 1 and array.dtype.kind in "fiubMm" else self.frame.objects(place)
