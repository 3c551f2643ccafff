"""Arrays and frames of Dask as tables: their chunks are computed on the workers, and read where they are."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeGuard

import numpy as np

from ..errors import DataError
from ..frames import find_frame
from .daskrunner import DaskRunner
from .memoryparts import ArrayRows, FrameRows, fields_of_frame
from .streams import Block, Fragment
from .table import Beside, Column, Table

__all__ = ["DaskChunk", "beside_dask", "is_dask", "table_of_dask"]


def is_dask(X: object) -> TypeGuard[Any]:
    """Whether it is an array, a frame or a series of Dask, which need not be imported to know."""
    names = [("dask.array", "Array"), ("dask.dataframe", "DataFrame"), ("dask.dataframe", "Series")]
    kinds = [getattr(sys.modules.get(module), name, None) for module, name in names]
    return isinstance(X, tuple(kind for kind in kinds if isinstance(kind, type)))


def table_of_dask(X: Any, columns: Sequence[str] | None = None) -> Table:
    """Chunks of rows of a Dask array or DataFrame as fragments; nothing is computed.

    Numbers of rows that Dask does not know are None, and are counted by the first pass. Columns of a frame that are not
    named are left out before the chunks are made, so that they need not be read.
    """
    if X.ndim != 2:
        raise DataError(
            f"X is a Dask {type(X).__name__} with {X.ndim} dimension(s); it must be a table, rows by columns."
        )
    if not hasattr(X, "columns"):
        table = _of_array(X)
        return table if columns is None else table.select(columns)
    names = [name for name in X.columns if columns is None or str(name) in columns]
    table = _of_frame(X if len(names) in (0, len(X.columns)) else X[names])
    return table if columns is None else table.select(columns)


def _of_array(X: Any) -> Table:
    source = f"the Dask array of {X.numblocks[0]} chunks"
    if X.dtype.kind not in "fiub":
        raise DataError(f"{source} has dtype {X.dtype}; it must hold numbers. Give a Dask DataFrame to encode columns.")
    if np.isnan(X.shape[1]) or X.shape[1] == 0:
        raise DataError(f"{source} has {X.shape[1]} columns; it must have one or more, and know how many.")
    if X.numblocks[1] > 1:
        X = X.rechunk({1: -1})  # rows are read whole
    fields = tuple(Column(str(at), str(X.dtype), "number") for at in range(X.shape[1]))
    return _table(X.to_delayed().ravel(), _counts(X), fields, source)


def _of_frame(X: Any) -> Table:
    source = f"the Dask DataFrame of {X.npartitions} partitions"
    frame = find_frame(X._meta)
    if frame is None or not len(frame.names):
        raise DataError(f"{source} has no columns.")
    return _table(X.to_delayed(), [None] * X.npartitions, fields_of_frame(frame, source), source)


def _table(parts: Sequence[Any], counts: Sequence[int | None], fields: tuple[Column, ...], source: str) -> Table:
    if not len(parts) or (None not in counts and not sum(count or 0 for count in counts)):
        raise DataError(f"{source} has no rows.")
    chunks = [
        DaskChunk(f"chunk {at} of {source}", count, (part,))
        for at, (part, count) in enumerate(zip(parts, counts, strict=True))
    ]
    return Table(tuple(chunks), fields, source, DaskRunner())


def _counts(X: Any) -> list[int | None]:
    return [None if np.isnan(count) else int(count) for count in X.chunks[0]]


def beside_dask(table: Table, name: str, values: Any) -> Table:
    """A table of Dask chunks with a further column, from a Dask array or series with the same chunks of rows."""
    is_vector = values.ndim == 1 or (values.ndim == 2 and values.shape[1] == 1 and not hasattr(values, "columns"))
    if not is_vector:
        raise DataError(f"{_role(name)} is a Dask {type(values).__name__} of {values.ndim} dimensions; give a vector.")
    chunks = [each for each in table.fragments if isinstance(each, DaskChunk)]
    if len(chunks) < len(table.fragments):
        raise DataError(f"{_role(name)} is of Dask, and the table is not; name a column of the table instead.")
    counts = [chunk.n_rows for chunk in chunks]
    if hasattr(values, "chunks"):
        known = _counts(values)
        if None not in known and None not in counts and sum(filter(None, known)) == sum(filter(None, counts)):
            values, known = values.rechunk({0: tuple(counts)}), counts
    else:
        known = [None] * values.npartitions
    parts = np.ravel(values.to_delayed())
    if len(parts) != len(chunks) or any(a != b for a, b in zip(known, counts, strict=True) if None not in (a, b)):
        raise DataError(
            f"{_role(name)} and {table.source} are cut into chunks of different rows ({len(parts)} and {len(chunks)} "
            "of them), and Dask does not know the numbers of rows to mend that. Make it a column of the frame and name "
            "it, or call compute_chunk_sizes() on both."
        )
    joined = [
        replace(chunk, parts=(*chunk.parts, part), beside=(*chunk.beside, name))
        for chunk, part in zip(chunks, parts, strict=True)
    ]
    kind = "number" if getattr(values.dtype, "kind", "O") in "fiu" else "text"
    return replace(table, fragments=tuple(joined), fields=(*table.fields, Column(name, str(values.dtype), kind)))


def _role(name: str) -> str:
    return name.strip("_")


@dataclass(frozen=True)
class DaskChunk:
    """A chunk of rows of a Dask array or frame, and of vectors beside it.

    ``parts`` are Dask's promises; where a task runs they have been kept, and `filled` makes a fragment of their values.
    """

    name: str
    n_rows: int | None
    parts: tuple[Any, ...] = field(repr=False)
    beside: tuple[str, ...] = ()

    def blocks(self, columns: Sequence[str]) -> Iterator[Block]:
        """Its rows, which are brought here."""
        import dask

        return self.filled(dask.compute(*self.parts)).blocks(columns)

    def emptied(self) -> DaskChunk:
        """The same without promises: what is sent to whoever gets the values by other ways."""
        return replace(self, parts=())

    def filled(self, values: Sequence[Any]) -> Fragment:
        """A fragment of what was promised."""
        rows, *vectors = values
        inner = _rows_of(rows, self.name)
        beside = {name: np.asarray(each).reshape(-1) for name, each in zip(self.beside, vectors, strict=True)}
        for name, each in beside.items():
            if len(each) != inner.n_rows:
                raise DataError(
                    f"{_role(name)} has {len(each)} rows in {self.name}, which has {inner.n_rows}. Make it a column of "
                    "the frame and name it."
                )
        chunk = _ChunkRows(self.name, inner)
        return Beside(chunk, beside) if beside else chunk


def _rows_of(rows: Any, name: str) -> ArrayRows | FrameRows:
    frame = find_frame(rows)
    if frame is not None:
        return FrameRows(frame, 0, len(frame.table))
    array = np.asarray(rows)
    if array.ndim != 2:
        raise DataError(f"{name} has {array.ndim} dimension(s) where 2 were promised.")
    return ArrayRows(array, 0, len(array))


@dataclass(frozen=True)
class _ChunkRows:
    """A chunk whose rows are in memory."""

    name: str
    rows: ArrayRows | FrameRows

    @property
    def n_rows(self) -> int:
        """How many there are."""
        return self.rows.n_rows

    def blocks(self, columns: Sequence[str]) -> Iterator[Block]:
        """Some rows at a time."""
        names = set(map(str, self.rows.X.names if isinstance(self.rows, FrameRows) else range(self.rows.X.shape[1])))
        missing = [name for name in columns if name not in names]
        if missing and self.n_rows:
            raise DataError(
                f"{self.name} has no column {missing[0]!r}, which Dask says that it has; check the function that makes "
                "the chunks, or its meta."
            )
        return self.rows.blocks(columns)
