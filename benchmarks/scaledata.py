"""Tables on disk for the benchmarks of scale: numbers, and numbers with text, written in row groups as others do."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

__all__ = ["GROUP", "fitting_rows", "write_mixed", "write_numbers"]

GROUP, FILE = 2**18, 2**22
"""Rows of a row group, and of a file."""

LEVELS = {"kind": 5, "city": 20, "brand": 200}


def fitting_rows(folder: Path, rows: int, columns: int) -> int:
    """As many rows as half of the free disk takes."""
    return min(rows, int(shutil.disk_usage(folder).free / 2 / (8 * (columns + 1))))


def write_numbers(folder: Path, rows: int, columns: int) -> Path:
    """Columns x0, x1, ... and y, in files of 4 million rows.

    All are made of one block of random numbers, of which each column is turned by another number of rows in every row
    group: rows differ, and writing takes no longer than the disk.
    """
    names = [f"x{at}" for at in range(columns)]
    base = np.random.default_rng(0).standard_normal((columns + 1, GROUP)) + 1.0

    def group(number: int, count: int) -> pa.Table:
        turns = np.random.default_rng(number).integers(GROUP, size=columns + 1)
        X = [np.roll(values, turn)[:count] for values, turn in zip(base, turns, strict=True)]
        y = sum(X[: max(1, columns // 10)]) + X[-1]
        return pa.table(dict(zip([*names, "y"], [*X[:-1], y], strict=True)))

    return _write(folder, rows, group)


def write_mixed(folder: Path, rows: int) -> Path:
    """Five columns of numbers, three of text, and y."""
    labels = {name: np.array([f"{name} {at}" for at in range(levels)]) for name, levels in LEVELS.items()}

    def group(number: int, count: int) -> pa.Table:
        rng = np.random.default_rng(number)
        X = {f"x{at}": rng.standard_normal(count) for at in range(5)}
        codes = {name: rng.integers(levels, size=count) for name, levels in LEVELS.items()}
        y = X["x0"] + codes["kind"] + 0.1 * codes["city"] + rng.standard_normal(count)
        texts = {name: labels[name][codes[name]] for name in LEVELS}
        return pa.table({**X, **texts, "y": y})

    return _write(folder, rows, group)


def _write(folder: Path, rows: int, group: object) -> Path:
    folder.mkdir(parents=True)
    for first in range(0, rows, FILE):
        writer = None
        for start in range(first, min(first + FILE, rows), GROUP):
            table = group(start // GROUP, min(GROUP, rows - start))  # type: ignore[operator]
            if writer is None:
                path = folder / f"part-{first // FILE:05d}.parquet"
                writer = pq.ParquetWriter(path, table.schema, compression="none", use_dictionary=list(LEVELS))
            writer.write_table(table, row_group_size=GROUP)
        assert writer is not None
        writer.close()
    return folder
