"""How often do the intervals of onefit cover? ``python -m validation``.

Each setting draws data whose law is known (`onefit.datasets`), fits a model, and asks whether its intervals at 90%
contain the error of that model on new rows: Err_XY, the error of the model fitted to these very data. A row of the
table has, by setting, model, loss, rule, number of folds and of repeats, with the standard error of each as ``..._se``:

coverage, coverage_mean
    Share of data sets whose interval contains Err_XY; and Err, its mean over the data sets. No interval is a miss.
miss_above, miss_below
    Share of intervals that lie above the error, and below it.
no_interval
    Share of data sets without an interval (the paper's rule, if its MSE is negative).
width, bias
    Mean width; mean of the estimate minus Err_XY.
true_error
    Err.
oracle_width
    Width of an interval that would do: twice the normal quantile times the deviation of the estimate from Err_XY.

Blocks of replications are kept in the work directory, and an interrupted run goes on where it stopped; seeds depend on
the setting and the replication alone. Delete that directory after a change of onefit. The results go to
validation/results, and are compared with those of the design in validation/reference.csv: what differs by more than
three standard errors is listed.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from .montecarlo import MONTECARLO, TARGET, montecarlo
from .montecarlo import report as montecarlo_report
from .pictures import draw_coverage, draw_montecarlo
from .progress import Bar
from .reference import report
from .settings import SETTINGS, Setting
from .summary import read, summarize, write
from .table import insert, markdown
from .work import collect

__all__ = ["main"]

ROOT = Path(__file__).resolve().parents[1]
RESULTS, WORK = ROOT / "validation" / "results", ROOT / "validation" / "work"
PAGE, IMAGES = ROOT / "docs" / "trust.md", ROOT / "docs" / "images"
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
        "--replications", type=_positive, metavar="N", help="data sets a setting, instead of 2,000 (300)"
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
        "--table", action="store_true", help="put the table and its picture into docs/trust.md; no runs"
    )
    parser.add_argument("--montecarlo", action="store_true", help="error of the half-width against the repeats")
    return parser.parse_args(arguments)


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
            f"{s.name:22s} {len(s.rows()):3d} rows, {s.replications:4d} data sets, {minutes:5.1f} min  {s.title}"
        )
    return "\n".join(lines)


def _study(options: argparse.Namespace) -> None:
    """Run, write, compare."""
    settings = options.only or list(SETTINGS.values())
    if options.quick:
        with tempfile.TemporaryDirectory() as scratch:
            table = _rows(settings, options.replications or QUICK, options.work or Path(scratch), options.jobs)
    else:
        table = _rows(settings, options.replications, options.work or WORK, options.jobs)
    output = options.output if options.quick else options.output or RESULTS
    if output is not None:
        write(_merged(table, output), output, f"python -m validation{' --quick' if options.quick else ''}")
        print(f"{output} has the results.")
    print(report(table))


def _rows(settings: Sequence[Setting], replications: int | None, work: Path, jobs: int) -> pd.DataFrame:
    """The table of some settings."""
    found = collect(settings, replications, work, jobs, Bar())
    return pd.concat([summarize(setting, found[setting.name]) for setting in settings], ignore_index=True)


def _merged(table: pd.DataFrame, output: Path) -> pd.DataFrame:
    """The new rows, and those of other settings that are there already, in the order of the settings."""
    try:
        known = read(output)
    except FileNotFoundError:
        return table
    kept = known[~known["setting"].isin(set(table["setting"])) & known["setting"].isin(set(SETTINGS))]
    both = pd.concat([table, kept], ignore_index=True)
    order = both["setting"].map({name: at for at, name in enumerate(SETTINGS)})
    return both.loc[order.sort_values(kind="stable").index]


def _render(output: Path, to_page: bool) -> None:
    """Print the whole table; with the results of this repository, renew the page and its picture, too."""
    table = read(output)
    print(markdown(table))
    if to_page:
        insert(PAGE, table)
        draw_coverage(table, IMAGES / "trust.png")
        print(f"{PAGE} and its picture are renewed.", file=sys.stderr)


def _montecarlo(options: argparse.Namespace) -> None:
    """Table and picture of the Monte Carlo error; --quick writes only to --output."""
    table = montecarlo(options.jobs, options.quick)
    output = options.output or (None if options.quick else RESULTS)
    if output is not None:
        output.mkdir(parents=True, exist_ok=True)
        table.to_csv(output / MONTECARLO, index=False, float_format="%.5g", lineterminator="\n")
        picture = (IMAGES if options.output is None else output) / "trust-montecarlo.png"
        draw_montecarlo(table, picture, TARGET)
    print(montecarlo_report(table, output and output / MONTECARLO))


if __name__ == "__main__":
    main()
