"""What was named -> a table: which files there are, what is in them, and how they are read."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np

from ..errors import DataError
from ..frames import is_frame
from .arrow import CSV_BYTES, CSVFile, IPCFile, Location, ParquetGroups, arrow, kind_of_type
from .daskparts import is_dask, table_of_dask
from .memoryparts import table_of_array, table_of_frame
from .streams import ROWS_OF_A_PIECE, Fragment
from .table import Column, Table

__all__ = ["scan"]

FORMATS = {
    ".parquet": "parquet", ".pq": "parquet", ".parq": "parquet", ".arrow": "ipc", ".feather": "ipc", ".ipc": "ipc",
    ".csv": "csv", ".tsv": "csv", ".txt": "csv",
}  # fmt: skip
PACKED = (".gz", ".bz2", ".zst")
INDEX = re.compile(r"__index_level_\d+__")
"""How pandas names an index without a name in files: it is no column of the frame."""

NO_VALUE = "__HIVE_DEFAULT_PARTITION__"


def scan(
    source: Any, *, columns: Sequence[str] | None = None, storage_options: Mapping[str, Any] | None = None
) -> Table:
    """Look at a table whose rows are too many for memory; they stay where they are, and are read when needed.

    Parameters
    ----------
    source : path, glob, directory, list of paths, frame or array, or Dask array or DataFrame
        Parquet, Arrow (Feather) or CSV files, of one kind and with the same columns, in the order of their names. A
        directory is read with its folders; in paths such as ``year=2024/month=1/part.parquet`` the names before "=" are
        columns, too. Paths with "://" go through fsspec. A frame of pandas, polars or pyarrow, an array or a memory map
        is read by blocks, without a copy of the whole. Chunks of a Dask array or DataFrame are computed and read by
        Dask's active scheduler: threads, processes, or the workers of a cluster.
    columns : sequence of str, default=None
        The columns to use; all if None. Only those that a job needs are read.
    storage_options : mapping, default=None
        Keywords for fsspec's file system.

    Returns
    -------
    Table
        For `nested_cv`, `error_curve`, `compare` and `plan_for`.

    Raises
    ------
    DataError
        If there are no such files, if they cannot be read, or if their columns differ.

    Examples
    --------
    >>> import tempfile, onefit, pandas as pd
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for part in range(2):
    ...         frame = pd.DataFrame({"size": [1.0, 2.0, 3.0], "price": [1.0, 2.5, part]})
    ...         frame.to_parquet(f"{folder}/part-{part}.parquet")
    ...     table = onefit.scan(f"{folder}/*.parquet")
    ...     table.n_rows, table.schema
    (6, {'size': 'double', 'price': 'double'})
    """
    if isinstance(source, Table):
        table = source
    elif isinstance(source, np.ndarray):
        table = table_of_array(source)
    elif is_dask(source):
        return table_of_dask(source, None if columns is None else list(columns))
    elif is_frame(source):
        table = table_of_frame(source)
    else:
        return _of_files(source, columns, storage_options)
    return table if columns is None else table.select(list(columns))


def _of_files(source: Any, columns: Sequence[str] | None, storage_options: Mapping[str, Any] | None) -> Table:
    arrow()
    base, paths = _find(source, storage_options)
    name = repr(source if isinstance(source, str) else str(source)) if not isinstance(source, list | tuple) else (
        f"{len(paths)} files"
    )  # fmt: skip
    kinds = {_format(path) for path in paths}
    if len(kinds) > 1:
        raise DataError(f"{name} holds files of several kinds ({', '.join(sorted(kinds))}); name one kind, as '*.csv'.")
    hive = _hive(base, paths)
    is_remote = storage_options is not None or "://" in paths[0]
    options = dict(storage_options or {}) if is_remote else None
    look = {"parquet": _look_parquet, "ipc": _look_ipc, "csv": _look_csv}[kinds.pop()]
    first: dict[str, Column] | None = None
    fragments: list[Fragment] = []
    for path, constants in zip(paths, hive, strict=True):
        location = Location(path, options)
        with location.opened(is_known=False) as file:
            found, parts = look(location, file, constants, columns, first)
        keyed = {key: Column(key, *_of_value(key, hive)) for key in constants}
        found = {each: column for each, column in found.items() if each not in keyed} | keyed
        _check_same(first, found, path, columns)
        first = found if first is None else first
        fragments += parts
    assert first is not None
    if all(fragment.n_rows == 0 for fragment in fragments):
        raise DataError(f"{name} has no rows.")
    table = Table(tuple(each for each in fragments if each.n_rows != 0), tuple(first.values()), name)
    return table if columns is None else table.select(list(columns))


def _find(source: Any, storage_options: Mapping[str, Any] | None) -> tuple[str, list[str]]:
    """The folder that paths are looked at from, and the files."""
    if isinstance(source, list | tuple):
        if not source:
            raise DataError("source is an empty list; name at least one file.")
        each = [_find(one, storage_options) for one in source]
        return "", [path for _, paths in each for path in paths]
    if not isinstance(source, str | os.PathLike):
        raise DataError(
            f"source is a {type(source).__name__}; give a path, a glob, a directory, a list of paths, a frame or an "
            "array."
        )
    path = os.fspath(source)
    if storage_options is not None or "://" in path:
        return _find_remote(path, dict(storage_options or {}))
    if os.path.isdir(path):
        found = [str(each) for each in Path(path).rglob("*") if each.is_file()]
        return path, _data_files(found, path)
    if os.path.exists(path):
        return os.path.dirname(path), [path]
    if glob.has_magic(path):
        found = [each for each in glob.glob(path, recursive=True) if os.path.isfile(each)]
        if found:
            return "", sorted(found)
    raise DataError(f"There is no file, and no directory, {path!r}; check the name and the folder.")


def _find_remote(path: str, options: dict[str, Any]) -> tuple[str, list[str]]:
    try:
        import fsspec  # type: ignore[import-untyped]
    except ImportError as error:
        raise DataError(f"{path!r} needs fsspec: pip install fsspec and what it takes to read there.") from error
    try:
        system, inner = fsspec.core.url_to_fs(path, **options)
        if glob.has_magic(path):
            found = sorted(system.glob(inner))
        elif system.isdir(inner):
            found = _data_files(system.find(inner), path)
        else:
            found = [inner] if system.exists(inner) else []
        paths = [str(system.unstrip_protocol(each)) for each in found]
    except (OSError, ValueError, ImportError) as error:
        raise DataError(f"{path!r} cannot be looked at: {error}; check the address and storage_options.") from error
    if not paths:
        raise DataError(f"There is no file, and no directory, {path!r}; check the name and the folder.")
    return path, paths


def _data_files(found: Sequence[str], folder: str) -> list[str]:
    """Files of a folder that are data: names that begin with a dot or an underscore are marks of whoever wrote them."""
    marks = (".", "_")
    visible = [
        each
        for each in found
        if not any(part.startswith(marks) for part in os.path.relpath(each, folder).split(os.sep))
    ]
    data = sorted(each for each in visible if _known_format(each))
    if not data:
        raise DataError(f"{folder!r} holds no Parquet, Arrow or CSV file.")
    return data


def _known_format(path: str) -> str | None:
    stem, ending = os.path.splitext(path)
    return FORMATS.get((os.path.splitext(stem)[1] if ending in PACKED else ending).lower())


def _format(path: str) -> str:
    found = _known_format(path)
    if found is None:
        raise DataError(f"{path!r} is no Parquet, Arrow or CSV file by its name; rename it (*.parquet, *.csv).")
    return found


def _hive(base: str, paths: Sequence[str]) -> list[dict[str, Any]]:
    """By file, what its folders say: numbers if all are."""
    texts = []
    for path in paths:
        folders = os.path.relpath(path, base).split(os.sep)[:-1] if base and "://" not in path else path.split("/")[:-1]
        pairs = [folder.split("=", 1) for folder in folders if "=" in folder]
        texts.append({unquote(key): None if value == NO_VALUE else unquote(value) for key, value in pairs})
    if len({tuple(each) for each in texts}) > 1:
        raise DataError(f"Folders name columns for some files and not for others, as for {paths[0]!r}; name one kind.")
    for key in texts[0]:
        if all(each[key] is None or _is_whole(each[key]) for each in texts):
            for each in texts:
                each[key] = None if each[key] is None else int(each[key])  # type: ignore[assignment,arg-type]
    return list(texts)


def _is_whole(text: str | None) -> bool:
    return text is not None and text.lstrip("-").isascii() and text.lstrip("-").isdigit()


def _of_value(key: str, hive: Sequence[Mapping[str, Any]]) -> tuple[str, str]:
    """Type and kind of a column that folders name."""
    is_text = any(isinstance(each[key], str) for each in hive)
    return ("string", "text") if is_text else ("int64", "number")


def _check_same(
    first: Mapping[str, Column] | None, found: Mapping[str, Column], path: str, columns: Sequence[str] | None
) -> None:
    """Refuse a file whose columns are not those of the first one."""
    if first is None:
        return
    for name, column in first.items():
        if columns is not None and name not in columns:
            continue
        if name not in found:
            raise DataError(f"{path!r} has no column {name!r}, which the first file has; name files of one kind only.")
        if found[name].kind != column.kind:
            raise DataError(
                f"Column {name!r} is {found[name].type} in {path!r} and {column.type} in the first file; write them "
                "with one type, or leave it out by columns=[...]."
            )
    more = [name for name in found if name not in first and (columns is None or name in columns)]
    if more:
        raise DataError(
            f"{path!r} has a column {more[0]!r}, which the first file does not have; leave it out by columns=[...]."
        )


def _fields(schema: Any) -> dict[str, Column]:
    names = list(schema.names)
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise DataError(f"Two columns are named {twice!r}; give each a name of its own.")
    return {
        each.name: Column(each.name, str(each.type), kind_of_type(each.type))
        for each in schema
        if not INDEX.fullmatch(each.name)
    }


def _look_parquet(
    location: Location, file: Any, constants: Mapping[str, Any], columns: Any, first: Any
) -> tuple[dict[str, Column], list[Fragment]]:
    import pyarrow.parquet as pq  # type: ignore[import-untyped]

    reader = pq.ParquetFile(file)
    rows = [reader.metadata.row_group(at).num_rows for at in range(reader.num_row_groups)]
    ends, held = [0], 0
    for at, count in enumerate(rows):
        held += count
        if held >= ROWS_OF_A_PIECE or at == len(rows) - 1:
            ends.append(at + 1)
            held = 0
    make = partial(ParquetGroups, location.stamped())
    parts = [make(sum(rows[low:high]), constants, tuple(range(low, high))) for low, high in pairwise(ends)]
    return _fields(reader.schema_arrow), list(parts)


def _look_ipc(
    location: Location, file: Any, constants: Mapping[str, Any], columns: Any, first: Any
) -> tuple[dict[str, Column], list[Fragment]]:
    from pyarrow import ipc

    schema = ipc.open_file(file).schema
    return _fields(schema), [IPCFile(location.stamped(), None, constants)]


def _look_csv(
    location: Location, file: Any, constants: Mapping[str, Any], columns: Any, first: dict[str, Column] | None
) -> tuple[dict[str, Column], list[Fragment]]:
    from pyarrow import csv

    from .arrow import _compression

    path = location.path
    with arrow().input_stream(file, compression=_compression(path)) as stream:
        head = stream.read(CSV_BYTES)
    line = head.partition(b"\n")[0].decode("utf-8", "replace")
    delimiter = max((",", ";", "\t", "|"), key=line.count)
    complete = head if len(head) < CSV_BYTES else head[: head.rfind(b"\n") + 1]
    if not complete.strip():
        raise DataError(f"{path!r} is empty; it must have a line of column names and a line for each row.")
    convert = csv.ConvertOptions(strings_can_be_null=True)
    table = csv.read_csv(arrow().BufferReader(complete), parse_options=csv.ParseOptions(delimiter=delimiter),
                         convert_options=convert)  # fmt: skip
    fields = _fields(table.schema)
    if first is not None:  # the first file says what is a number and what is text
        fields = {name: first.get(name, column) for name, column in fields.items()}
    types = {name: column.kind for name, column in fields.items()}
    return fields, [CSVFile(location.stamped(), None, constants, types, delimiter)]
