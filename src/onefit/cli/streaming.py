"""Globs, directories and files that would fill the memory: tables whose rows stay where they are."""

from __future__ import annotations

import glob
import math
import os
from dataclasses import replace
from typing import Any

import pandas as pd

from ..errors import DataError
from ..sources import LocalRunner, Table, scan
from .asking import Ask
from .engine import on_dask, scan_code, uses_dask
from .options import STANDARD_INPUT, Source
from .preparing import Prepared, prepare, wrapped

__all__ = ["find_table", "is_many", "penalty_of", "prepare_table", "read_many"]

SHARE = 4
"""Tables that take more than this part of the free memory, one over so many, stay where they are."""

SAMPLED = 20_000
"""Rows from which the kinds of the columns are told."""

STREAMED = ("ridge", "ols", "lasso", "logistic", "poisson", "gamma")
ENDINGS = (".parquet", ".pq", ".parq", ".arrow", ".feather", ".ipc", ".csv", ".tsv", ".txt")


def is_many(source: Source) -> bool:
    """Whether a glob or a directory is named."""
    if source.data == STANDARD_INPUT or os.path.isfile(source.data):
        return False
    return os.path.isdir(source.data) or glob.has_magic(source.data)


def find_table(source: Source) -> Table | None:
    """The table that is named, if it is to stay where it is; None if it is to be read."""
    if uses_dask(source):
        _check_plain(source)
        return on_dask(scan(source.data), source)
    if source.data == STANDARD_INPUT or not _is_plain(source):
        return None
    if not is_many(source) and not (os.path.isfile(source.data) and source.data.lower().endswith(ENDINGS)):
        return None
    size = _bytes(source)
    if size <= free_memory() / SHARE / 4:  # packed columns may be several times as large, and no more
        return None
    table = scan(source.data)
    unpacked = 8.0 * len(table.fields) * table.n_rows if table.n_rows is not None else 2.0 * size
    return table if unpacked > free_memory() / SHARE else None


def read_many(source: Source) -> tuple[pd.DataFrame, str]:
    """All rows of a glob or directory that is small enough, and the Python that reads them."""
    _check_plain(source)
    table = scan(source.data)
    return table.head(len(table)), f"table = onefit.scan({source.data!r})\ntable = table.head(len(table))"


def prepare_table(table: Table, ask: Ask) -> tuple[Prepared, str]:
    """What the library gets of a table whose rows stay where they are: kinds of columns are told by some rows."""
    _refuse(ask)
    from ..routes.streams.survey import SurveyPlan, survey

    table, found = survey(table, SurveyPlan(table.columns), table.runner or LocalRunner())
    drawn = found.frame(table.columns, SAMPLED)
    if ask.roles.target in drawn.columns and drawn[ask.roles.target].isna().any():
        _name_missing(table, ask.roles.target)
    prepared = prepare(drawn, ask.roles, keeps_categories=True)
    roles = ask.roles
    columns = [column.name for column in prepared.columns]
    used = [*columns, *filter(None, [roles.target, roles.groups, roles.weights])]
    code = [f"X = table.select({wrapped(used)})", f"y = {roles.target!r}"]
    code += [f"groups = {roles.groups!r}"] if roles.groups is not None else []
    code += [f"weights = {roles.weights!r}"] if roles.weights is not None else []
    note = (
        f"{ask.source.name!r} has {len(table):,} rows, {_where(ask.source)} and are read {_how_often(ask)}. What the "
        f"columns hold was told by {len(prepared.X):,} of them."
    )
    X: Any = table.select(used)
    y: Any = roles.target
    groups: Any = roles.groups
    weights: Any = roles.weights
    if "ridge" in ask.models and _is_fixed(ask, prepared):
        note += " The penalty is 1: onefit curve shows others, and --lambda sets one."
    notes = (note, *(each for each in prepared.notes if "more than once" not in each))
    found_all = replace(
        prepared, X=X, y=y, groups=groups, weights=weights, code=tuple(code), notes=notes, is_streamed=True
    )
    return found_all, scan_code(ask.source)


def _name_missing(table: Table, target: str) -> None:
    """Raise an error that names the first row without a target."""
    start = 0
    for block in table.blocks([target]):
        missing = pd.isna(block.values(target))
        if missing.any():
            raise DataError(
                f"The target {target!r} is missing in row {start + int(missing.argmax())}, the first such row. Leave "
                "such rows out when the table is written."
            )
        start += block.n_rows


def _how_often(ask: Ask) -> str:
    """How many passes over the rows the models take, for people."""
    return "once for every iteration" if {"logistic", "poisson", "gamma"} & set(ask.models) else "twice"


def _where(source: Source) -> str:
    """Where the rows are, for people."""
    if uses_dask(source):
        return "which stay with Dask's workers"
    return "more than a quarter of the free memory: they stay on disk"


def penalty_of(name: str, ask: Ask, prepared: Prepared) -> float | None:
    """The penalty of a model; behind encoders, and for classes, none is chosen from sums over a training set."""
    return 1.0 if name == "ridge" and prepared.is_streamed and _is_fixed(ask, prepared) else ask.lam


def _is_fixed(ask: Ask, prepared: Prepared) -> bool:
    """Whether a ridge regression that was given no penalty has that of scikit-learn."""
    return ask.lam is None and ask.tuned is None and (bool(prepared.categories) or prepared.has_classes)


def _refuse(ask: Ask) -> None:
    """What needs the rows in memory."""
    for name in ask.models:
        if name not in STREAMED and ":" not in name:
            raise DataError(
                f"--model {name} needs the rows in memory, and {_why(ask.source)}; use {', '.join(STREAMED)}, or give "
                "a part of the rows."
            )
    roles = ask.roles
    given: dict[str, object] = {
        "--order": roles.order,
        "--coords": roles.coords,
        "--ahead": ask.ahead,
        "--freeze": ask.freeze or None,
    }
    given |= {"--categorical": roles.categorical or None}
    given |= {"--drop-missing-target": roles.drop_missing_target or None}
    for option, value in given.items():
        if value is not None:
            raise DataError(
                f"{option} needs the rows in memory, and {_why(ask.source)}; leave it out, or give a part of the rows."
            )


def _why(source: Source) -> str:
    return "--engine dask leaves them to workers" if uses_dask(source) else "the table takes more than a quarter of it"


def _check_plain(source: Source) -> None:
    if not _is_plain(source):
        raise DataError("--delimiter, --encoding, --decimal, --thousands and --missing are for single files of text.")


def _is_plain(source: Source) -> bool:
    options = (source.delimiter, source.encoding, source.thousands)
    return not any(options) and source.decimal == "." and not source.missing


def _bytes(source: Source) -> float:
    """Of all files that are named."""
    if os.path.isdir(source.data):
        return float(
            sum(os.path.getsize(os.path.join(at, name)) for at, _, names in os.walk(source.data) for name in names)
        )
    names = [source.data] if os.path.isfile(source.data) else glob.glob(source.data, recursive=True)
    return float(sum(os.path.getsize(name) for name in names if os.path.isfile(name)))


def memory_notes(rows: int, columns: int) -> list[str]:
    """Whether a design of this size is more than the memory of this machine, and what then."""
    needed, free = 8.0 * rows * columns, free_memory()
    if needed <= free:
        return []
    remedy = (
        "take fewer columns"
        if columns > rows
        else "keep them in files, which are read in pieces (Parquet; onefit plan 'data/*.parquet' --target COLUMN)"
    )
    sizes = f"{rows:,} rows of {columns:,} numbers take {_size_text(needed)}"
    return [f"{sizes}, and this machine has {_size_text(free)} free: {remedy}."]


def _size_text(size: float) -> str:
    """Bytes in the unit that suits them."""
    power = min(6, max(2, int(math.log10(size)) // 3))
    return f"{size / 1000**power:,.3g} {' kMGTPE'[power]}B" if size < 1e21 else "more than a thousand exabytes"


def free_memory() -> float:
    """Bytes that can be had without swapping; half of all where nobody says."""
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            found = {line.split(":")[0]: line.split()[1] for line in lines}
        return 1024.0 * int(found["MemAvailable"])
    except (OSError, KeyError, ValueError):
        pass
    try:
        return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2)
    except (AttributeError, OSError, ValueError):
        return 4.0 * 2**30
