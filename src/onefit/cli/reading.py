"""A file, or standard input -> a table, or one sentence that says why not."""

from __future__ import annotations

import contextlib
import csv
import glob
import io
import itertools
import os
import stat
import sys
import threading
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from ..errors import DataError
from .options import STANDARD_INPUT, Source
from .texts import show_lines

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["begin", "read_table", "tell_loading"]

DELIMITERS = (",", ";", "\t", "|")
SNIFFED_LINES = 50
PATIENCE = 2.0
"""Seconds before it is said what is waited for."""
SLOWEST = "sklearn"
"""Of the libraries the one that takes most of the seconds, and all commands that compute need it."""


def begin(source: Source, is_quiet: bool) -> None:
    """Before libraries are loaded, which takes seconds: refuse a file that is not there, and tell who waits."""
    is_named = source.data and source.data != STANDARD_INPUT and "://" not in source.data
    if is_named and not glob.has_magic(source.data) and not os.path.exists(os.path.expanduser(source.data)):
        raise DataError(_cannot_read(source, FileNotFoundError()))
    tell_loading(f"loading libraries, and then {source.name!r}", is_quiet)


def tell_loading(what: str, is_quiet: bool) -> None:
    """To who waits, at a terminal or for lines of a file; libraries that are loaded already take no time."""
    if not is_quiet and SLOWEST not in sys.modules:
        show_lines("onefit", [what])


def read_table(source: Source) -> tuple[pd.DataFrame, str]:
    """The table, and the Python that reads it."""
    if source.is_parquet:
        return _read_parquet(source)
    text = _decode(_bytes(source), source)
    delimiter = source.delimiter or _sniff(text)
    _check_shape(text, delimiter, source)
    return _parse(text, delimiter, source)


def _read_parquet(source: Source) -> tuple[pd.DataFrame, str]:
    import pandas as pd

    if _is_pipe(source):
        raise DataError(f"{source.name!r} is a pipe, and Parquet is not read from front to back; give a file, or CSV.")
    try:
        table = pd.read_parquet(source.data)
    except OSError as error:
        raise DataError(_cannot_read(source, error)) from error
    except Exception as error:  # pyarrow's own, of many kinds
        raise DataError(
            f"{source.name!r} is no readable Parquet file ({error}); write it again, or give CSV."
        ) from error
    code = f"table = pd.read_parquet({source.data!r})"
    if any(name is not None for name in table.index.names):
        table, code = table.reset_index(), code + ".reset_index()"
    if not all(isinstance(name, str) for name in table.columns):
        table.columns, code = table.columns.map(str), code + "\ntable.columns = table.columns.map(str)"
    _check_names(list(table.columns), source)
    if not len(table):
        raise DataError(f"{source.name!r} has no rows; give a table with some.")
    return table, code


def _cannot_read(source: Source, error: OSError) -> str:
    if isinstance(error, FileNotFoundError):
        return f"There is no file {source.name!r}; check the name and the folder."
    if isinstance(error, IsADirectoryError):
        return f"{source.name!r} is a folder; give a file in it."
    return f"{source.name!r} cannot be read: {error.strerror or error}; check that it is whole and may be read."


def _bytes(source: Source) -> bytes:
    """The content, unpacked."""
    import bz2
    import gzip
    import lzma

    if source.data == STANDARD_INPUT:
        with _awaited("standard input"):
            return bytes(sys.stdin.buffer.read())
    openers: dict[str, Callable[[bytes], bytes]] = {
        ".gz": gzip.decompress,
        ".bz2": bz2.decompress,
        ".xz": lzma.decompress,
        ".zip": lambda raw: _unzip(raw, source),
        ".zst": _unpack_zst,
    }
    try:
        raw = _raw(source)
        return openers[source.compression](raw) if source.compression else raw
    except (EOFError, lzma.LZMAError, zipfile.BadZipFile, zlib.error) as error:
        raise DataError(f"{source.name!r} is no whole {source.compression} file ({error}); pack it again.") from error
    except ValueError as error:
        if isinstance(error, DataError) or source.compression != ".bz2":
            raise
        raise DataError(f"{source.name!r} is no whole .bz2 file ({error}); pack it again.") from error
    except OSError as error:
        raise DataError(_cannot_read(source, error)) from error


def _raw(source: Source) -> bytes:
    """The content as it is; that of a named pipe as soon as somebody writes to it."""
    is_pipe = _is_pipe(source)
    with (
        _awaited(f"the pipe {source.name!r}") if is_pipe else contextlib.nullcontext(),
        open(source.data, "rb") as file,
    ):
        return file.read()


def _is_pipe(source: Source) -> bool:
    try:
        return stat.S_ISFIFO(os.stat(source.data).st_mode)
    except OSError:
        return False


@contextlib.contextmanager
def _awaited(what: str) -> Iterator[None]:
    """Say what is waited for, if it takes more than a moment."""
    timer = threading.Timer(PATIENCE, print, [f"onefit: waiting for {what}"], {"file": sys.stderr, "flush": True})
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _unpack_zst(raw: bytes) -> bytes:
    import pyarrow  # type: ignore[import-untyped]

    with pyarrow.input_stream(pyarrow.py_buffer(raw), compression="zstd") as stream:
        return bytes(stream.read())


def _unzip(raw: bytes, source: Source) -> bytes:
    with zipfile.ZipFile(io.BytesIO(raw)) as archive:
        names = [name for name in archive.namelist() if not name.endswith("/")]
        if len(names) != 1:
            raise DataError(f"{source.name!r} holds {len(names)} files; unpack it and name one of them.")
        try:
            return archive.read(names[0])
        except RuntimeError as error:  # a password
            raise DataError(f"{source.name!r} cannot be unpacked ({error}); unpack it first.") from error


def _decode(raw: bytes, source: Source) -> str:
    """The text; a mark of byte order is not part of it."""
    if not raw.strip():
        raise DataError(f"{source.name!r} is empty; give a table with a line of column names and a line for each row.")
    encoding = source.encoding or "utf-8-sig"
    if source.encoding is None and raw[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise DataError(f"{source.name!r} is written in UTF-16; give --encoding utf-16.")
    try:
        text = raw.decode(encoding)
    except LookupError as error:
        raise DataError(f"--encoding {encoding!r} is unknown; try utf-8, latin-1, cp1252 or utf-16.") from error
    except UnicodeError as error:
        at = f" (byte {error.start})" if isinstance(error, UnicodeDecodeError) else ""
        raise DataError(
            f"{source.name!r} is not text in {encoding.removesuffix('-sig')}{at}; give its encoding, "
            "such as --encoding latin-1 or cp1252."
        ) from error
    if "\0" in text:
        raise DataError(f"{source.name!r} is not a text table (it holds zero bytes); give CSV or a .parquet file.")
    return text


def _records(text: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Fields of each line that is not empty, with the number of the line."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    for record in reader:
        if len(record) > 1 or "".join(record).strip():
            yield reader.line_num, record


def _sniff(text: str) -> str:
    """The delimiter that splits the first lines into most fields, equally many in each."""
    best, most = ",", 1.0
    for delimiter in DELIMITERS:
        try:
            counts = [len(record) for _, record in itertools.islice(_records(text, delimiter), SNIFFED_LINES)]
        except csv.Error:
            continue
        width, even = counts[0] if counts else 0, len(set(counts)) == 1
        if width > 1 and (width if even else 1.5) > most:
            best, most = delimiter, width if even else 1.5
    return best


def _check_shape(text: str, delimiter: str, source: Source) -> None:
    """Refuse lines of unequal length, which pandas would fill up or cut, and headers that are none."""
    header: list[str] | None = None
    rows = 0
    try:
        for line, record in _records(text, delimiter):
            if header is None:
                header = record
                _check_names(header, source)
                _check_header(header, source)
                continue
            rows += 1
            if len(record) != len(header):
                raise DataError(
                    f"Line {line} of {source.name!r} has {len(record)} field(s) and the first line {len(header)} "
                    f"(delimiter {delimiter!r}); correct the line, or give --delimiter."
                )
    except csv.Error as error:
        raise DataError(f"{source.name!r} cannot be read as a table: {error}; give --delimiter.") from error
    if not rows:
        raise DataError(f"{source.name!r} has column names and no rows; give a table with some.")


def _check_names(header: list[str], source: Source) -> None:
    twice = [name for name, count in Counter(header).items() if count > 1 and name.strip()]
    if twice:
        raise DataError(
            f"The column name {twice[0]!r} stands {header.count(twice[0])} times in {source.name!r}; "
            "give each column a name of its own."
        )


def _check_header(header: list[str], source: Source) -> None:
    """Refuse a first line of numbers, which is a row."""
    if all(_is_number(name) for name in header):
        raise DataError(
            f"The first line of {source.name!r} holds numbers ({', '.join(header[:4])}), not column names; "
            "put a line of names before it."
        )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _parse(text: str, delimiter: str, source: Source) -> tuple[pd.DataFrame, str]:
    import pandas as pd

    options: dict[str, Any] = {"low_memory": False}  # types by whole columns, not by blocks of lines
    if delimiter != ",":
        options["sep"] = delimiter
    if source.encoding:
        options["encoding"] = source.encoding
    if source.decimal != ".":
        options["decimal"] = source.decimal
    if source.thousands:
        options["thousands"] = source.thousands
    if source.missing:
        options["na_values"] = list(source.missing)
    try:
        table = pd.read_csv(io.StringIO(text), **{key: value for key, value in options.items() if key != "encoding"})
    except (ValueError, pd.errors.ParserError) as error:
        if "EOF inside string" in str(error):
            raise DataError(
                f"{source.name!r} has a quotation mark that is never closed; close or remove it."
            ) from error
        cause = " ".join(str(error).split()).rstrip(".")
        raise DataError(f"{source.name!r} cannot be read as a table: {cause}; give --delimiter.") from error
    keywords = "".join(f", {key}={value!r}" for key, value in options.items())
    return table, f"table = pd.read_csv({_file_code(source)}{keywords})"


def _file_code(source: Source) -> str:
    if source.data == STANDARD_INPUT:
        return "sys.stdin"
    if source.compression == ".zst":
        return f'pyarrow.input_stream({source.data!r}, compression="zstd")'
    return repr(source.data)
