"""Time onefit against nested cross-validation written by hand: ``python -m benchmarks``.

What is measured
----------------
One ridge regression with an unpenalized intercept, lambda = 1, squared error, on random data of each shape in
`benchmarks.cases`; the same explicit partitions for every method; one thread (threadpoolctl), one process,
one run. A time is the shortest of the runs that fit in the budget, divided by the repeats it covered.

scikit-learn Ridge, refitted
    Fits a `Ridge` without each fold and without each pair of folds, K(K+1)/2 fits a repeat.
NumPy normal equations, refitted
    The same loop; X'X + S is formed from the rows of each training set and solved.
NumPy Proposition 1, literal
    The hat matrix once, then a solve of I - H for each fold and pair; the time includes the hat matrix.
onefit gram, onestep, auto
    The whole of `onefit.nested_cv`: validation, all fold errors, every interval, the result object. The
    others stop at e_in and e_out.

The two refit loops run only the first repeats of a case and are extrapolated linearly to L: nothing they
compute is shared between repeats. All other methods run all L repeats.

A ratio is the time of the line's method over the time of a route of onefit: above 1, that route is faster.
"peak MB" is what Python and NumPy held at most during the call (tracemalloc, in a run that is not timed).
"difference" is the largest relative difference of e_in and e_out from onefit's automatic route; above 1e-8
the benchmark stops with an error.

After the table: the whole path of penalties of `onefit.error_curve` against refits at every value, a leave-two-out
curve against curves with ten folds, and a RidgeCV that is tuned in every training set against its own refits.
"""

from __future__ import annotations

import argparse
import platform
from collections.abc import Sequence
from importlib.metadata import version

from threadpoolctl import threadpool_limits

from .cases import CASES, Case
from .curve import curve_lines
from .measure import compare_case
from .table import markdown, plain

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure all cases and print the table."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="a tenth of the repeats, few runs of each method")
    parser.add_argument("--markdown", action="store_true", help="print the table as Markdown")
    parser.add_argument("--seconds", type=float, default=3.0, help="budget of each method on each case")
    options = parser.parse_args(arguments)

    cases = [case.quick() for case in CASES] if options.quick else CASES
    budget = 0.1 * options.seconds if options.quick else options.seconds
    with threadpool_limits(limits=1):
        rows = [row for case in cases for row in compare_case(case, budget)]
    print(markdown(rows) if options.markdown else plain(rows))
    print(f"\n{_footnote(cases)}\n")
    with threadpool_limits(limits=1):
        for line in curve_lines(options.quick):
            print(f"- {line}")


def _footnote(cases: Sequence[Case]) -> str:
    versions = ", ".join(f"{name} {version(name)}" for name in ("numpy", "scikit-learn", "onefit"))
    sampled = ", ".join(str(case.refit_repeats) for case in cases)
    return (
        f"One thread, Python {platform.python_version()}, {versions}.\n"
        f"Refit loops ran the first {sampled} repeats of the cases in turn, extrapolated linearly to L."
    )


if __name__ == "__main__":
    main()
