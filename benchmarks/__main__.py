"""Time onefit against nested cross-validation written by hand: ``python -m benchmarks``.

What is measured
----------------
Ridge regression with an unpenalized intercept and squared error on random data of each shape in `benchmarks.cases`; the
same explicit partitions for every method; one thread (threadpoolctl), one process, one run. Seconds are those of the
processor, which on a quiet machine are those of the clock. First the bars: figures that onefit is held to. Then the
table: a line for each case, with the milliseconds a repeat of onefit, its own choice of route, and the times of the
other methods over that time (above 1: onefit is faster).

gram, onestep, kernel off
    onefit with that route; onefit without its compiled kernels, on the route that it took. All times of onefit are of
    the whole of `nested_cv` or `error_curve`: validation, all fold errors, every interval, the result. A route that
    would take more than a few seconds runs fewer repeats, or is left out (-).
Ridge refits
    scikit-learn's `Ridge` (`RidgeCV`, if tuned) fitted without each fold and each pair of folds, K(K+1)/2 fits a
    repeat and value; a `StandardScaler` before it, if the columns are scaled.
their CV
    What scikit-learn has for a part of the question. Curves: `GridSearchCV` with the same folds, which finds the mean
    error of each value, without pairs of folds, hence without intervals. Leave two out: `RidgeCV`, the leave-one-out
    curve alone. Tuned: `GridSearchCV` with five folds, fitted without each fold and each pair.
NumPy refits
    The same loop; X'X + S is formed from the rows of each training set and solved.
Prop. 1
    The paper's Proposition 1 as written: the hat matrix once, then a solve of I - H for each fold and pair. Up to
    5,000 rows.
gemm
    The time that the operations of onefit's route (`onefit.plan`) would take at the speed of a matrix product of
    1,500 rows, measured in the same run.

Loops over training sets are sampled: they hold out fold 0, then it and each other fold, then fold 1 and so on, until
their budget of seconds is spent; the total is by proportion to the number of folds, pairs, repeats and values. The
fold errors that they reach must agree with onefit's ("difference" is the largest relative one); above 1e-8 the
benchmark stops. A time is otherwise the shortest of the runs that fit in the budget.

"peak MB" is the peak of a process that runs onefit on the case, less that of a process with a tiny case: data, BLAS
and compiled workspaces are in it; the paper's shapes below 1,600 rows are left out (-). (!) marks more than 1 GB with
p < n < 20,000.

With ``--plan``: both routes on a grid of shapes, and how far `onefit.plan` is from the better one. With
``--calibrate``: the costs that `onefit.plan` has in it, fitted to times on this machine. With ``--kernels``: each
compiled kernel with every instruction set that the machine has. With ``--sparse``: 20 sparse designs by the gram
route, by refits (which scikit-learn iterates to a tolerance), as a dense copy, and by the choice that onefit makes
itself, what that costs included; with ``--sparse --calibrate``: the costs of that choice. With ``--pipelines``: tables
of text and numbers, encoded, scaled and imputed before a Ridge, and searches inside, beside refits of the same. With
``--glm``: logistic, Poisson and Gamma regression beside refits at scikit-learn's default tolerance. With
``--learners``: lasso, partial least squares, Bayesian ridge regression and Gaussian processes beside refits. With
``--classifiers``: nearest neighbours, discriminant analysis and naive Bayes beside refits, and many outputs. With
``--series``: blocks of time with buffers beside plain folds. With
``--scale``: (a) an array of 10 million rows beside one fit of scikit-learn, (b) the same from Parquet beside reading
the columns twice and the operations at gemm speed, (c) 100 million rows, (d) two Dask workers beside one, (e) a table
with text; peaks are those of whole processes. With ``--throughput FILE``: rows a second as a picture. With
``--everyday``: the table on the first page, what the models that people use cost beside `cross_val_score`. With
``--growth FILE``: time against n, p, K, L and the number of values, as a picture.
"""

from __future__ import annotations

import argparse
import platform
from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module
from importlib.metadata import version

from threadpoolctl import threadpool_limits

from onefit.linalg import compiled

from .bars import bars
from .cases import PAPER, QUICK, SECTIONS
from .measure import gemm_speed, measure
from .memory import peaks
from .table import HEAD, Line, markdown, plain

__all__ = ["main"]

LARGE = 1600
"""Rows from which the memory of the paper's shapes is worth a process of its own."""

BAR_HEAD = ("bar", "measured", "should be", "")

BARS = {
    "glm": "glms:glm_bars",
    "pipelines": "pipelines:pipeline_bars",
    "learners": "learners:learner_bars",
    "classifiers": "classifiers:classifier_bars",
    "series": "series:series_bars",
}
"""By option, the module and function that measure bars of their own; loaded when they are asked for."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure what is asked for and print it."""
    options = _options(arguments)
    if options.sparse:
        from .sparse import calibrate_sparse, sparse_report

        with threadpool_limits(limits=1):
            print((calibrate_sparse if options.calibrate else sparse_report)(options.quick))
        return
    if options.plan or options.calibrate:
        from .planning import calibrate, plan_report

        with threadpool_limits(limits=1):
            print((calibrate if options.calibrate else plan_report)(options.quick))
        return
    if options.kernels:
        from .kernels import kernels_report

        print(kernels_report(options.quick))
        return
    for name in BARS:
        if getattr(options, name):
            _print_bars(BARS[name], options)
            return
    if options.everyday:
        from .everyday import HEAD as EVERYDAY_HEAD
        from .everyday import everyday

        with threadpool_limits(limits=1):
            lines = everyday(options.quick, 0.02 if options.quick else options.seconds)
        form = markdown if options.markdown else plain
        print(form(EVERYDAY_HEAD, lines, EVERYDAY_HEAD[:2]))
        return
    if options.scale or options.throughput:
        from .scale import scale_bars, throughput

        if options.throughput:
            print(throughput(options.throughput, options.quick))
            return
        found = scale_bars(options.quick, options.seconds, options.rows, options.parts)
        form = markdown if options.markdown else plain
        print(form(BAR_HEAD, [bar.cells() for bar in found], ("bar", "")))
        return
    if options.growth:
        from .growth import growth

        with threadpool_limits(limits=1):
            print(growth(options.growth, options.quick))
        return
    _compare(options)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="tiny cases: that everything runs")
    parser.add_argument("--markdown", action="store_true", help="print the tables as Markdown")
    parser.add_argument("--seconds", type=float, default=0.5, help="budget of each method on each case")
    parser.add_argument("--no-memory", action="store_true", help="leave out the peaks of memory")
    parser.add_argument("--plan", action="store_true", help="both routes and the choice, over a grid of shapes")
    parser.add_argument("--calibrate", action="store_true", help="fit the costs of onefit.plan to this machine")
    parser.add_argument("--kernels", action="store_true", help="each compiled kernel with every instruction set")
    parser.add_argument("--sparse", action="store_true", help="every way and the choice, over sparse shapes")
    parser.add_argument("--pipelines", action="store_true", help="encoders, scalers and imputers beside refits")
    parser.add_argument("--glm", action="store_true", help="generalized linear models beside refits")
    parser.add_argument("--learners", action="store_true", help="lasso, PLS and others beside refits")
    parser.add_argument("--classifiers", action="store_true", help="neighbours, discriminant analysis, many outputs")
    parser.add_argument("--series", action="store_true", help="blocks of time with buffers beside plain folds")
    parser.add_argument("--everyday", action="store_true", help="the table of the first page, beside cross_val_score")
    parser.add_argument("--scale", action="store_true", help="rows on disk and on a cluster, in processes of their own")
    parser.add_argument("--rows", type=int, help="with --scale: rows of (c), if not 100 million")
    parser.add_argument("--parts", default="abcde", help="with --scale: which of (a) to (e)")
    parser.add_argument("--throughput", metavar="FILE", help="draw rows a second against rows and workers")
    parser.add_argument("--growth", metavar="FILE", help="draw time against each size")
    return parser.parse_args(arguments)


def _print_bars(place: str, options: argparse.Namespace) -> None:
    """Measure the bars of a module of this package, on one thread."""
    module, function = place.split(":")
    measured = getattr(import_module(f".{module}", __package__), function)
    with threadpool_limits(limits=1):
        found = measured(options.quick, 0.02 if options.quick else 3 * options.seconds)
    form = markdown if options.markdown else plain
    print(form(BAR_HEAD, [bar.cells() for bar in found], ("bar", "")))


def _compare(options: argparse.Namespace) -> None:
    """Bars, then the table section by section."""
    budget = 0.02 if options.quick else options.seconds
    sections = QUICK if options.quick else SECTIONS
    form = markdown if options.markdown else plain
    found = bars(options.quick, 3 * budget)
    print(form(BAR_HEAD, [bar.cells() for bar in found], ("bar", "")), end="\n\n", flush=True)
    with threadpool_limits(limits=1):
        gemm = gemm_speed(200 if options.quick else 1500)
    measured = [case for cases in sections.values() for case in cases if not (case in PAPER and case.n < LARGE)]
    megabytes = {} if options.no_memory else peaks(measured[:1] if options.quick else measured)
    for name, cases in sections.items():
        lines = []
        for case in cases:
            with threadpool_limits(limits=1):
                route, timings = measure(replace(case), budget, gemm)  # a copy, whose data go with it
            lines.append(Line(case, route, timings, megabytes.get(case)).cells())
        print(name, form(HEAD, lines), sep="\n\n", end="\n\n", flush=True)
    print(_footnote(gemm))


def _footnote(gemm: float) -> str:
    versions = ", ".join(f"{name} {version(name)}" for name in ("numpy", "scikit-learn", "onefit"))
    kernel = f"compiled kernels with {compiled.instructions()}" if compiled.is_on() else "no compiled kernels"
    return (
        f"One thread, Python {platform.python_version()}, {versions}, {kernel}; a large matrix product runs at "
        f"{gemm / 1e9:.0f} GF/s."
    )


if __name__ == "__main__":
    main()
