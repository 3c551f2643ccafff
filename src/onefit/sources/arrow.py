"""Files that pyarrow reads: Parquet, Arrow (Feather) and CSV, some rows at a time, only the columns that are used."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..errors import DataError, how_to_install
from ..linalg import compiled
from ..spare import spare_table
from ..typing import AnyArray, FloatArray
from .streams import Block

__all__ = ["ArrowBlock", "CSVFile", "IPCFile", "Location", "ParquetGroups", "arrow", "is_remote", "kind_of_type"]

ROWS_AT_ONCE = 2**16
"""Rows that are decoded at once."""

ROWS_OF_A_BLOCK = 2**13
"""Rows of a block: what is computed with them stays in the caches."""

READ_BYTES = 2**20
"""Bytes of a column of a Parquet file that are read at once."""

CSV_BYTES = 2**22
"""Bytes of a CSV file that are parsed at once; its first ones tell the types."""


def arrow() -> Any:
    """The library, or how to get it."""
    try:
        import pyarrow  # type: ignore[import-untyped]
    except ImportError as error:
        raise DataError(
            f"Reading tables from files needs pyarrow, which is not installed: {how_to_install('tables')}, or give a "
            "frame in memory."
        ) from error
    return pyarrow


@dataclass(frozen=True)
class Location:
    """Where a file is: a path here, or one of a file system that fsspec knows, with what it takes to get there.

    ``stamp`` is what tells the file from a later one at the same place.
    """

    path: str
    options: Mapping[str, Any] | None = None
    stamp: tuple[Any, ...] = ()

    @property
    def is_remote(self) -> bool:
        """Whether it takes fsspec to read it."""
        return self.options is not None

    def stamped(self) -> Location:
        """The same, with the stamp that the file has now."""
        return Location(self.path, self.options, self._look())

    def _look(self) -> tuple[Any, ...]:
        if self.options is None:
            found = os.stat(self.path)
            return found.st_size, found.st_mtime_ns
        import fsspec  # type: ignore[import-untyped]

        system, path = fsspec.core.url_to_fs(self.path, **self.options)
        return (system.ukey(path),)

    @contextmanager
    def opened(self, is_known: bool = True) -> Iterator[Any]:
        """What pyarrow reads from; errors of files, and of what is in them, name the file."""
        pa = arrow()
        try:
            if is_known and self.stamp and self._look() != self.stamp:
                raise DataError(
                    f"{self.path!r} was changed after it was scanned. Scan it again when nobody writes to it any more."
                )
            if self.options is None:
                with pa.OSFile(self.path) as file:
                    yield file
            else:
                import fsspec

                with fsspec.open(self.path, "rb", **self.options) as file:
                    yield file
        except FileNotFoundError as error:
            raise DataError(f"{self.path!r} is not there, or not any more; check the name, and scan again.") from error
        except pa.ArrowException as error:
            raise DataError(_unreadable(self.path, error)) from error
        except OSError as error:
            raise DataError(
                f"{self.path!r} cannot be read: {error}; check that it is whole, and that it may be read."
            ) from error


def _unreadable(path: str, error: Exception, columns: Sequence[str] = ()) -> str:
    """What pyarrow says of a file, in words that name it, and its columns if they are known."""
    cause = " ".join(str(error).split()).rstrip(".")
    if "CSV" in cause:
        numbered = re.search(r"CSV column #(\d+)", cause)
        if numbered is not None and int(numbered[1]) < len(columns):
            cause = cause.replace(numbered[0], f"column {columns[int(numbered[1])]!r}", 1)
        remedy = "correct the line, or read the file in memory with pandas, which is more patient"
        return f"{path!r}: {cause}; {remedy}."
    return f"{path!r} is damaged or cut off ({cause}); write it again."


def kind_of_type(kind: Any) -> str:
    """What an Arrow type means: "number", "truth", "text", "date" or "other"."""
    types = arrow().types
    if types.is_dictionary(kind):
        return kind_of_type(kind.value_type)
    if types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind) or types.is_null(kind):
        return "number"
    if types.is_boolean(kind):
        return "truth"
    is_view = getattr(types, "is_string_view", lambda _: False)
    if types.is_string(kind) or types.is_large_string(kind) or is_view(kind):
        return "text"
    return "date" if types.is_temporal(kind) else "other"


@dataclass(frozen=True)
class ArrowBlock:
    """Some rows of a record batch, and columns that are one value in all of its rows.

    ``converted`` are columns of the whole batch as numbers, which its blocks share.
    """

    batch: Any
    constants: Mapping[str, Any]
    source: str
    start: int
    n_rows: int
    converted: dict[str, AnyArray]

    @classmethod
    def of(cls, batch: Any, constants: Mapping[str, Any], source: str) -> Iterator[ArrowBlock]:
        """A batch in parts."""
        count, converted = int(batch.num_rows), dict[str, AnyArray]()
        for start in range(0, count, ROWS_OF_A_BLOCK):
            yield cls(batch, constants, source, start, min(ROWS_OF_A_BLOCK, count - start), converted)

    def numbers(self, names: Sequence[str]) -> FloatArray:
        """Columns side by side."""
        for name in names:
            if name not in self.converted:
                self.converted[name] = self._number(name)
        found = spare_table(self.n_rows, len(names))
        compiled.interleave([self.converted[name] for name in names], self.start, found)
        return found

    def _number(self, name: str) -> AnyArray:
        pa = arrow()
        if name in self.constants:
            value = self.constants[name]
            if isinstance(value, str):
                raise _no_number(name, self.source, value)
            return np.full(self.batch.num_rows, np.nan if value is None else float(value))
        column = self._column(name)
        if kind_of_type(column.type) not in ("number", "truth"):
            raise _no_number(name, self.source, str(column.type))
        if pa.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        if pa.types.is_boolean(column.type):
            column = column.cast(pa.int8())
        if not pa.types.is_float64(column.type):
            column = column.cast(pa.float64(), safe=False)
        array: AnyArray = np.ascontiguousarray(column.to_numpy(zero_copy_only=False))
        return array

    def values(self, name: str) -> AnyArray:
        """A column as NumPy has it, texts as objects."""
        if name in self.constants:
            value = self.constants[name]
            return np.full(self.n_rows, value, dtype=object if isinstance(value, str) or value is None else None)
        column = self._column(name).slice(self.start, self.n_rows)
        pa = arrow()
        if pa.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        if kind_of_type(column.type) == "text":
            found = np.empty(len(column), dtype=object)
            found[:] = column.to_pylist()
            if column.null_count:  # None in frames of pandas 2, which scikit-learn's imputers take for a level
                found[column.is_null().to_numpy(zero_copy_only=False)] = np.nan
            return found
        if pa.types.is_decimal(column.type):
            column = column.cast(pa.float64(), safe=False)
        array: AnyArray = column.to_numpy(zero_copy_only=False)
        return array

    def _column(self, name: str) -> Any:
        return self.batch.column(self.batch.schema.get_field_index(name))


def _no_number(name: str, source: str, what: str) -> DataError:
    return DataError(
        f"Column {name!r} of {source} holds no numbers ({what}). Encode it in a pipeline, as with OneHotEncoder, or "
        "leave it out by scan(..., columns=[...])."
    )


@dataclass(frozen=True)
class _OfFile:
    """Part of a file: what is the same for all formats."""

    location: Location
    n_rows: int | None
    constants: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The file."""
        return repr(self.location.path)

    def blocks(self, columns: Sequence[str]) -> Iterator[Block]:
        """Its rows in order."""
        inside = [name for name in columns if name not in self.constants]
        with self.location.opened() as file:
            for batch in self._batches(file, inside):
                yield from ArrowBlock.of(batch, self.constants, self.name)

    def _batches(self, file: Any, columns: list[str]) -> Iterator[Any]:
        raise NotImplementedError


def is_remote(fragment: Any) -> bool:
    """Whether a fragment comes over a network, for which one waits."""
    inner = getattr(fragment, "fragment", None)
    return is_remote(inner) if inner is not None else isinstance(fragment, _OfFile) and fragment.location.is_remote


@dataclass(frozen=True)
class ParquetGroups(_OfFile):
    """Some row groups of a Parquet file."""

    groups: tuple[int, ...] = ()

    @property
    def name(self) -> str:
        """The file, and which of its row groups."""
        return f"{self.location.path!r} (row groups {self.groups[0]} to {self.groups[-1]})" if self.groups else ""

    def _batches(self, file: Any, columns: list[str]) -> Iterator[Any]:
        import pyarrow.parquet as pq  # type: ignore[import-untyped]

        if not columns:  # those of the path alone
            for start in range(0, self.n_rows or 0, ROWS_AT_ONCE):
                yield _nothing(min(ROWS_AT_ONCE, (self.n_rows or 0) - start))
            return
        # here, what is read at once is bounded however large the row groups are; far away, few reads are worth more
        is_far = self.location.is_remote
        reader = pq.ParquetFile(file, pre_buffer=is_far, buffer_size=0 if is_far else READ_BYTES)
        _check_columns(columns, reader.schema_arrow.names, self.location.path)
        if self.groups and self.groups[-1] >= reader.num_row_groups:
            raise DataError(f"{self.location.path!r} was changed after it was scanned; scan it again.")
        # whoever reads is a thread beside the one that computes, or one of many: more of them would only be in the way
        yield from reader.iter_batches(ROWS_AT_ONCE, row_groups=list(self.groups), columns=columns, use_threads=False)


@dataclass(frozen=True)
class IPCFile(_OfFile):
    """An Arrow file (Feather)."""

    def _batches(self, file: Any, columns: list[str]) -> Iterator[Any]:
        from pyarrow import ipc

        if not columns:
            yield from (_nothing(batch.num_rows) for batch in _record_batches(ipc.open_file(file)))
            return
        names = ipc.open_file(file).schema.names
        _check_columns(columns, names, self.location.path)
        options = ipc.IpcReadOptions(included_fields=sorted(names.index(name) for name in columns))
        yield from _record_batches(ipc.open_file(file, options=options))


def _record_batches(reader: Any) -> Iterator[Any]:
    return (reader.get_batch(at) for at in range(reader.num_record_batches))


@dataclass(frozen=True)
class CSVFile(_OfFile):
    """A CSV file, in which columns have the types that its first rows showed."""

    types: Mapping[str, str] = field(default_factory=dict)
    delimiter: str = ","

    def _batches(self, file: Any, columns: list[str]) -> Iterator[Any]:
        from pyarrow import csv

        pa = arrow()
        named = {"number": pa.float64(), "truth": pa.bool_(), "text": pa.string()}
        types = {name: named[kind] for name, kind in self.types.items() if kind in named}
        convert = csv.ConvertOptions(
            column_types=types, include_columns=columns or list(self.types)[:1], strings_can_be_null=True
        )
        stream = pa.input_stream(file, compression=_compression(self.location.path))
        reader = csv.open_csv(
            stream,
            csv.ReadOptions(use_threads=False, block_size=CSV_BYTES),
            csv.ParseOptions(delimiter=self.delimiter),
            convert,
        )
        for batch in reader:
            yield batch if columns else _nothing(batch.num_rows)

    def blocks(self, columns: Sequence[str]) -> Iterator[Block]:
        """Its rows in order; what is no number is named by its column."""
        try:
            yield from super().blocks(columns)
        except DataError as error:
            if not isinstance(error.__cause__, arrow().ArrowException):
                raise
            raise DataError(_unreadable(self.location.path, error.__cause__, list(self.types))) from error.__cause__


def _compression(path: str) -> str | None:
    return {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}.get(os.path.splitext(path)[1])


def _nothing(count: int) -> Any:
    """So many rows without a column."""
    pa = arrow()
    return pa.RecordBatch.from_struct_array(pa.array([{}] * count, pa.struct([])))


def _check_columns(columns: Sequence[str], names: Sequence[str], path: str) -> None:
    missing = [name for name in columns if name not in names]
    if missing:
        raise DataError(f"{path!r} has no column {missing[0]!r}, which other files of the table have.")
