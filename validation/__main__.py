"""How often do the intervals of onefit cover? ``python -m validation``.

Each setting draws data sets whose true error is known, fits a model, and asks whether its intervals contain the error
of that model on new rows: Err_XY, the error of the model fitted to these very data. There are simulated settings
(`onefit.datasets`), samples of real tables (they ship inside packages: ``pip install ".[validation]"``), both at
90%, and the generators of a published benchmark at its 95%. A row of the table has, by setting, model, loss, rule,
number of folds and of repeats, with the standard error of each as ``..._se``:

coverage, coverage_mean
    Share of data sets whose interval contains Err_XY; and Err, its mean over the data sets. No interval is a miss.
miss_above, miss_below
    Share of intervals that lie above the error, and below it.
no_interval
    Share of data sets without an interval (the paper's rule, if its MSE is negative).
width, median_width, largest_width
    Of the intervals. The mean is left out where the loss has no variance: single intervals would decide it.
bias
    Mean of the estimate minus Err_XY; left out as the mean width is.
true_error
    Err.
oracle_width
    Width of an interval that would do: distance of the 5% and 95% quantiles of the estimate minus Err_XY.
normal_width
    The same as if that were normal: twice the normal quantile times its standard deviation.
estimate_sd
    Standard deviation of the estimate over data sets.

The rule ``before`` is that of onefit 0.1, from the same fold errors.

Blocks of replications are kept in the work directory, and an interrupted run goes on where it stopped; seeds depend on
the setting and the replication alone. Of each setting whose blocks are taken up, one replication is computed again, and
the run stops if it differs: delete the directory that it names after a change of onefit that is right. The results go
to validation/results, with versions and arguments by setting in coverage.json. ``python -m validation.check`` holds the
code at hand to them.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from .montecarlo import MONTECARLO, PARTITIONS, TARGET, montecarlo, partitions
from .montecarlo import report as montecarlo_report
from .page import DETAILS, TEMPLATE, Results, render
from .pictures import draw_coverage, draw_montecarlo, draw_real
from .progress import Bar
from .ranks import OUTPUT as FACTORS
from .scores import SHORT as SCORES
from .serial import RESULT as SERIAL
from .serialranks import RESULT as RANKS
from .settings import SETTINGS, Setting
from .summary import merge, read, summarize, write
from .table import markdown
from .targets import listing
from .work import collect, facts_of, there

__all__ = ["main", "results_in"]

ROOT = Path(__file__).resolve().parents[1]
RESULTS, WORK = ROOT / "validation" / "results", ROOT / "validation" / "work"
PAGES = {TEMPLATE: ROOT / "docs" / "trust.md", DETAILS: ROOT / "docs" / "trust-details.md"}
IMAGES = ROOT / "docs" / "images"
QUICK = 2


def main(arguments: Sequence[str] | None = None) -> None:
    """Do what is asked for."""
    options = _options(arguments)
    if options.list:
        print(_listing())
    elif options.table:
        _render(options.output or RESULTS, options.output is None)
    elif options.montecarlo:
        _montecarlo(options)
    else:
        _study(options)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m validation", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", metavar="NAME,...", type=_chosen, help="some settings; see --list")
    parser.add_argument("--list", action="store_true", help="list the settings and leave")
    parser.add_argument(
        "--replications", type=_positive, metavar="N", help="data sets a setting, instead of those that --list tells"
    )
    parser.add_argument(
        "--jobs", type=int, default=os.cpu_count() or 1, metavar="N", help="processes, all cores if not given"
    )
    parser.add_argument(
        "--output", type=Path, metavar="DIR", help="where the results go: validation/results if not given"
    )
    parser.add_argument(
        "--work", type=Path, metavar="DIR", help="where partial results are: validation/work if not given"
    )
    parser.add_argument("--quick", action="store_true", help=f"{QUICK} data sets a setting; writes only to --output")
    parser.add_argument(
        "--table",
        action="store_true",
        help="make docs/trust.md, trust-details.md and their pictures from the results; no runs",
    )
    parser.add_argument("--montecarlo", action="store_true", help="error of the half-width against the repeats")
    parser.add_argument(
        "--as-is", action="store_true", help="summarize the data sets that are in the work directory; no runs"
    )
    options = parser.parse_args(arguments)
    options.command = " ".join(["python -m validation", *(sys.argv[1:] if arguments is None else arguments)])
    return options


def _chosen(names: str) -> list[Setting]:
    """Settings of these names."""
    asked = [name.strip() for name in names.split(",")]
    unknown = [name for name in asked if name not in SETTINGS]
    if unknown:
        raise argparse.ArgumentTypeError(f"no setting {', '.join(unknown)}; `python -m validation --list` names them")
    return [SETTINGS[name] for name in asked]


def _positive(text: str) -> int:
    """A whole number above zero."""
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of data sets; give 1 or more")
    return int(text)


def _listing() -> str:
    """Name, rows, replications, expected minutes on one core, and title of each setting."""
    lines = []
    for s in SETTINGS.values():
        minutes = s.seconds * s.replications / 60
        lines.append(
            f"{s.name:34s} {len(s.rows()):3d} rows, {s.replications:4d} data sets, {minutes:5.1f} min  {s.title}"
        )
    return "\n".join(lines)


def _study(options: argparse.Namespace) -> None:
    """Run, write, compare."""
    with tempfile.TemporaryDirectory() as scratch:
        work = options.work or (Path(scratch) if options.quick else WORK)
        counts = _counts(options, work)
        output = options.output if options.quick else options.output or RESULTS
        if options.output is None and output is not None:
            _refuse_fewer(counts, output)
        table, facts = _rows(counts, work, options)
    if output is not None:
        rows, about = merge(table, facts, output)
        write(rows, output, about)
        print(f"{output} has the results.")


def _counts(options: argparse.Namespace, work: Path) -> dict[str, int]:
    """Replications by setting: as planned or told, or, with --as-is, those that are there."""
    chosen = options.only or list(SETTINGS.values())
    planned = {s.name: options.replications or (QUICK if options.quick else s.replications) for s in chosen}
    return {name: there(SETTINGS[name], n, work) if options.as_is else n for name, n in planned.items()}


def _refuse_fewer(counts: dict[str, int], output: Path) -> None:
    """Stop rather than replace results by those of fewer data sets."""
    known = read(output)[1]
    fewer = [name for name, n in counts.items() if name in known and n < known[name]["replications"]]
    if fewer:
        name = fewer[0]
        raise SystemExit(
            f"{output} has {known[name]['replications']} data sets of {name}, and {counts[name]} would replace them; "
            f"give --output for a shorter run ({len(fewer)} such settings)."
        )


def _rows(counts: dict[str, int], work: Path, options: argparse.Namespace) -> tuple[pd.DataFrame, dict[str, Any]]:
    """The table of some settings, and how each was made."""
    tables, facts = [], {}
    found = collect({name: n for name, n in counts.items() if n}, work, options.jobs, Bar())
    for name, figures in found.items():
        tables.append(summarize(SETTINGS[name], figures))
        facts[name] = {"command": options.command, "replications": len(figures), **facts_of(SETTINGS[name], work)}
    return pd.concat(tables, ignore_index=True), facts


def _render(output: Path, to_page: bool) -> None:
    """Print the whole table; with the results of this repository, renew the page and its pictures, too."""
    table, _ = read(output)
    print(markdown(table))
    if to_page:
        results = results_in(output)
        for template, page in PAGES.items():
            page.write_text(render(results, template), encoding="utf-8")
        draw_coverage(table, IMAGES / "trust.png")
        draw_real(table, IMAGES / "trust-real.png")
        print(listing(table), "\ndocs/trust.md, trust-details.md and their pictures are renewed.", file=sys.stderr)


def results_in(output: Path) -> Results:
    """All results of a directory."""
    names = (MONTECARLO, PARTITIONS, SERIAL.name, SCORES.name, RANKS.name, FACTORS.name)
    tables = [pd.read_csv(output / name) for name in names]
    return Results(read(output)[0], *tables)


def _montecarlo(options: argparse.Namespace) -> None:
    """Tables and picture of the Monte Carlo error; --quick writes only to --output."""
    table, shares = montecarlo(options.jobs, options.quick), partitions(options.jobs, options.quick)
    output = options.output or (None if options.quick else RESULTS)
    if output is not None:
        output.mkdir(parents=True, exist_ok=True)
        for name, frame in ((MONTECARLO, table), (PARTITIONS, shares)):
            frame.to_csv(output / name, index=False, float_format="%.5g", lineterminator="\n")
        picture = (IMAGES if options.output is None else output) / "trust-montecarlo.png"
        draw_montecarlo(table, picture, TARGET)
    print(montecarlo_report(table, shares, output and output / MONTECARLO))


if __name__ == "__main__":
    main()
