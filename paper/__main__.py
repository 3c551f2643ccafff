"""Make the figures and tables of Cao and Stringer (2026) again: ``python -m paper``.

Writes ``paper/results/*.csv``, ``docs/images/paper/*.png`` and the blocks of ``docs/paper.md``, which says what is run
and how. ``--quick`` runs small grids in under a minute and writes elsewhere: to ``--output DIR``, or a new temporary
directory. Times are seconds of the processor on one thread. The slow ways are sampled and extended by proportion.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
from threadpoolctl import threadpool_limits

import onefit

from .experiments import EXPERIMENTS, Experiment
from .page import write_blocks
from .timing import Settings

__all__ = ["Place", "main"]

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "paper.md"


@dataclass(frozen=True)
class Place:
    """Where tables, pictures and the page go."""

    results: Path
    images: Path
    page: Path

    @classmethod
    def of(cls, output: Path | None) -> Place:
        """In the repository, or all below one directory."""
        if output is None:
            return cls(ROOT / "paper" / "results", ROOT / "docs" / "images" / "paper", PAGE)
        return cls(output / "results", output / "images" / "paper", output / "paper.md")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the experiments that are asked for; write each as soon as it is done."""
    options = _options(arguments)
    settings = Settings(quick=True, budget=0.01) if options.quick else Settings()
    output = options.output
    if output is None and options.quick:
        output = Path(tempfile.mkdtemp(prefix="onefit-paper-"))
    place = Place.of(output)
    for folder in (place.results, place.images):
        folder.mkdir(parents=True, exist_ok=True)
    seconds = {}
    with threadpool_limits(limits=1):
        for name in options.only:
            print(name, file=sys.stderr, flush=True)
            start = time.perf_counter()
            _run(name, EXPERIMENTS[name], settings, place)
            seconds[name] = time.perf_counter() - start
        _write(place, {"run": _record(place, seconds)})
    for name, spent in seconds.items():
        print(f"{name:<9} {spent:6.1f} s")
    print(f"{'all':<9} {sum(seconds.values()):6.1f} s; tables in {place.results}, page {place.page}")


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m paper", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--quick", action="store_true", help="small grids: that everything runs; the numbers mean little"
    )
    parser.add_argument(
        "--only", type=_names, default=list(EXPERIMENTS), metavar="NAMES", help=f"some of {', '.join(EXPERIMENTS)}"
    )
    parser.add_argument("--output", type=Path, metavar="DIR", help="write below this directory, not in the repository")
    return parser.parse_args(arguments)


def _names(text: str) -> list[str]:
    """Experiments by name, in their own order."""
    asked = {name.strip() for name in text.split(",")}
    unknown = asked - set(EXPERIMENTS)
    if unknown:
        raise argparse.ArgumentTypeError(f"unknown: {', '.join(sorted(unknown))}; choose from {', '.join(EXPERIMENTS)}")
    return [name for name in EXPERIMENTS if name in asked]


def _run(name: str, experiment: Experiment, settings: Settings, place: Place) -> None:
    """Compute an experiment; write its tables, its picture and its block of the page."""
    for table, found in experiment.run(settings).items():
        found.to_csv(place.results / f"{table}.csv", index=False, float_format="%.10g")
    # from the files, so that page and picture show what is in them
    tables = {table: pd.read_csv(place.results / f"{table}.csv") for table in experiment.tables}
    text = experiment.describe(tables)
    if experiment.draw is not None:
        experiment.draw(tables).savefig(place.images / f"{name}.png", dpi=110)
        text = f"![{experiment.title}](images/paper/{name}.png)\n\n{text}"
    _write(place, {name: text})


def _write(place: Place, blocks: dict[str, str]) -> None:
    """Put blocks into the page; a page elsewhere begins as a copy of the one in the repository."""
    page = (place.page if place.page.exists() else PAGE).read_text(encoding="utf-8")
    place.page.write_text(write_blocks(page, blocks), encoding="utf-8")


def _record(place: Place, seconds: dict[str, float]) -> str:
    """Seconds of the experiments, those of earlier runs too, and what they ran on."""
    path = place.results / "run.csv"
    machine = io.StringIO()
    with contextlib.redirect_stdout(machine):
        onefit.show_config()
    about = "; ".join(machine.getvalue().splitlines())
    rows = pd.DataFrame({"experiment": list(seconds), "seconds": list(seconds.values()), "machine": about})
    if path.exists():
        earlier = pd.read_csv(path)
        rows = pd.concat([earlier[~earlier["experiment"].isin(seconds)], rows])
    order = {name: at for at, name in enumerate(EXPERIMENTS)}
    rows = rows.sort_values("experiment", key=lambda names: names.map(order))
    rows.to_csv(path, index=False, float_format="%.3g")
    each = ", ".join(f"{row.experiment} {row.seconds:.0f} s" for row in rows.itertuples())
    return f"{each}; together {rows['seconds'].sum():.0f} s by the clock. {about}."


if __name__ == "__main__":
    main()
