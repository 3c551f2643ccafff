"""Rows that stay on disk, or on a cluster: time beside reading and flops, and peaks of memory."""

from __future__ import annotations

import signal
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from .bars import A_ROW, Bar
from .scaledata import fitting_rows, write_mixed, write_numbers
from .scalejob import ask, flops_of

__all__ = ["Sizes", "scale_bars", "throughput"]


@dataclass(frozen=True)
class Sizes:
    """Rows and columns of each part, and what is asked of them."""

    wide: tuple[int, int] = (10_000_000, 50)
    long: tuple[int, int] = (100_000_000, 20)
    mixed: int = 1_000_000
    n_folds: int = 20
    n_repeats: int = 5
    n_values: int = 20


MINUTES_A_ROW = 6e-8
"""Of (c), all in all: writing, two passes and reading beside them."""

QUICK = Sizes((3_000, 5), (4_000, 3), 2_000, 4, 2, 3)


@contextmanager
def scratch() -> Iterator[Path]:
    """A folder for the tables, on the disk that temporary files are on; it is removed whatever ends the benchmark."""
    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # as Ctrl-C does: else files would be left
    try:
        with tempfile.TemporaryDirectory(prefix="onefit-scale-") as folder:
            yield Path(folder)
    finally:
        signal.signal(signal.SIGTERM, before)


def scale_bars(quick: bool, budget: float, rows: int | None = None, parts: str = "abcde") -> list[Bar]:
    """The parts (a) to (e) that are asked for, each in processes of their own; ``rows`` are those of (c)."""
    sizes = QUICK if quick else Sizes()
    if rows is not None:
        sizes = replace(sizes, long=(rows, sizes.long[1]))
    found: list[Bar] = []
    with scratch() as folder:
        if "a" in parts:
            found += _in_memory(sizes)
        if "b" in parts:
            found += _from_files(folder, sizes)
        if "c" in parts:
            found += _long(folder, sizes)
        if "d" in parts:
            found += _workers(folder, sizes, 1)
        if "e" in parts:
            found += _mixed(folder, sizes)
    return [replace(bar, counts=bar.counts and not quick) for bar in found]


def _label(shape: tuple[int, int], sizes: Sizes) -> str:
    return f"{shape[0]:,} x {shape[1]}, K={sizes.n_folds}, {sizes.n_repeats} repeats, {sizes.n_values} penalties"


def _question(sizes: Sizes) -> tuple[int, int, int]:
    return sizes.n_folds, sizes.n_repeats, sizes.n_values


def _in_memory(sizes: Sizes) -> Iterator[Bar]:
    found = ask("memory", *sizes.wide, *_question(sizes))
    name = f"(a) array, {_label(sizes.wide, sizes)}"
    yield Bar(f"{name}: time over one Ridge.fit", found["seconds"] / found["fit"], 10, at_least=False)
    yield Bar(f"{name}: memory beside the array", found["beside"] / 1e3, 1.5, at_least=False, unit="GB")


def _wide(folder: Path, sizes: Sizes) -> Path:
    """The table of (b) and (d), which is written once."""
    table = folder / "wide"
    return table if table.exists() else write_numbers(table, *sizes.wide)


def _from_files(folder: Path, sizes: Sizes) -> Iterator[Bar]:
    """Two passes read the columns twice."""
    table, shape = _wide(folder, sizes), sizes.wide
    found, reading, speed = ask("parquet", table, *_question(sizes)), ask("read", table), ask("gemm")["speed"]
    lean = ask("blocks", table)
    flops = flops_of(*shape, *_question(sizes))
    label = f"(b) Parquet, {_label(shape, sizes)}"
    print(
        f"{label}: {found['seconds']:.1f} s of the processor, {found['clock']:.1f} s by the clock; reading "
        f"{reading['seconds']:.1f} s a pass as pyarrow does by itself, {lean['seconds']:.1f} s by onefit's blocks, "
        f"{flops:.2g} operations at {speed / 1e9:.1f} GF/s",
        flush=True,
    )
    least, leanest = (2 * each["seconds"] + flops / speed for each in (reading, lean))
    yield Bar(f"{label}: time over reading twice and flops at gemm speed", found["seconds"] / least, 1.5, False)
    name = f"{label}: the same with reading by onefit's blocks"
    yield Bar(name, found["seconds"] / leanest, 0, counts=False)
    yield Bar(f"{label}: {A_ROW}", 1e6 * found["seconds"] / shape[0], 0, unit="us of the processor", counts=False)
    yield Bar(f"{label}: peak of memory", found["peak"] / 1e3, 2, at_least=False, unit="GB")


def _long(folder: Path, sizes: Sizes) -> Iterator[Bar]:
    rows, columns = fitting_rows(folder, *sizes.long), sizes.long[1]
    print(
        f"(c) writes {8e-9 * rows * (columns + 1):.1f} GB below {folder.parent}, which are removed at the end, and "
        f"reads them three times: about {rows * MINUTES_A_ROW:.1f} minutes on an idle machine; --rows takes fewer",
        flush=True,
    )
    table = write_numbers(folder / "long", rows, columns)
    found, reading = ask("parquet", table, 10, 2, 1), ask("read", table)
    label = f"(c) Parquet, {rows:,} x {columns}, K=10, two repeats"
    yield Bar(f"{label}: a pass", found["seconds"] / 2, 0, unit="s of the processor", counts=False)
    yield Bar(f"{label}: a pass by the clock", found["clock"] / 2, 0, unit="s", counts=False)
    yield Bar(f"{label}: a pass over reading the columns", found["seconds"] / 2 / reading["seconds"], 0, counts=False)
    yield Bar(f"{label}: peak of memory", found["peak"] / 1e3, 2, at_least=False, unit="GB")


def _workers(folder: Path, sizes: Sizes, runs: int) -> Iterator[Bar]:
    table = _wide(folder, sizes)
    one, two = (ask("dask", table, workers, *_question(sizes), runs) for workers in (1, 2))
    if one["estimate"] != two["estimate"]:
        raise AssertionError(f"two workers give {two['estimate']!r} and one {one['estimate']!r}")
    label = f"(d) Dask, {_label(sizes.wide, sizes)}"
    yield Bar(f"{label}: two workers faster than one, by the clock", one["clock"] / two["clock"], 1.7)
    name = f"{label}: processor time of one worker over that of the busier of two"
    yield Bar(name, one["busiest"] / two["busiest"], 1.7, counts=False)


def _mixed(folder: Path, sizes: Sizes) -> Iterator[Bar]:
    table = write_mixed(folder / "mixed", sizes.mixed)
    found, reading = ask("mixed", table, 10, 2), ask("read", table)
    label = f"(e) Parquet, {sizes.mixed:,} rows, 5 numbers and 3 texts (225 levels), coded and scaled"
    yield Bar(f"{label}: seconds of the processor", found["seconds"], 0, unit="s", counts=False)
    yield Bar(f"{label}: over reading the columns twice", found["seconds"] / 2 / reading["seconds"], 0, counts=False)
    yield Bar(f"{label}: peak of memory", found["peak"] / 1e3, 2, at_least=False, unit="GB")


def throughput(path: str, quick: bool) -> str:
    """Draw rows a second against rows, and against workers."""
    sizes = [2_000, 4_000] if quick else [100_000, 300_000, 1_000_000, 3_000_000]
    columns = 5 if quick else 20
    rates: dict[str, list[float]] = {"reading, once": [], "nested_cv, K=10, two repeats": [], "20 penalties": []}
    workers: list[float] = []
    with scratch() as folder:
        for n in sizes:
            table = write_numbers(folder / str(n), n, columns)
            rates["reading, once"].append(n / ask("read", table)["seconds"])
            rates["nested_cv, K=10, two repeats"].append(n / ask("parquet", table, 10, 2, 1)["seconds"])
            rates["20 penalties"].append(n / ask("parquet", table, 10, 2, 20)["seconds"])
        table = folder / str(sizes[-1])
        for count in (1, 2):
            workers.append(int(table.name) / ask("dask", table, count, 10, 2, 20, 1 if quick else 2)["clock"])
    _draw(sizes, rates, workers, Path(path))
    lines = [f"{name}: {', '.join(f'{rate:.3g}' for rate in each)} rows/s" for name, each in rates.items()]
    lines.append(f"workers 1, 2: {', '.join(f'{rate:.3g}' for rate in workers)} rows/s by the clock")
    return "\n".join([f"{columns} columns, rows {', '.join(f'{n:,}' for n in sizes)}; {path} is written.", *lines])


def _draw(sizes: list[int], rates: dict[str, list[float]], workers: list[float], path: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=[2, 1])
    for (name, each), colour, marker in zip(rates.items(), ("#5F5F5F", "#0072B2", "#B84A00"), "s^o", strict=True):
        left.plot(sizes, each, color=colour, marker=marker, label=name)
    left.set(xscale="log", yscale="log", xlabel="rows", ylabel="rows a second of the processor")
    left.legend(frameon=False, fontsize=8)
    right.plot([1, 2], workers, color="#0072B2", marker="o", label="measured")
    right.plot([1, 2], [workers[0], 2 * workers[0]], "--", color="#5F5F5F", label="twice as fast")
    right.set(xlabel="Dask workers", ylabel="rows a second of the clock", xticks=[1, 2], ylim=(0, None))
    right.legend(frameon=False, fontsize=8)
    for axes in (left, right):
        axes.grid(color="#E3E3E3")
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=120)
