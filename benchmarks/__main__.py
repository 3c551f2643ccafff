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

An option measures that alone: ``--bars`` and ``--shapes`` the two halves of the above, ``--ratios`` a few of the
shapes. ``--everyday``: what the models that people use cost beside `cross_val_score`, the table on the first page.
``--peers``: beside the libraries that people would take instead (`benchmarks.peers`). ``--pipelines``: tables of text
and numbers, encoded, scaled and imputed before a Ridge, and searches, beside refits of the same. ``--glm``: logistic,
Poisson and Gamma regression beside refits at scikit-learn's default tolerance. ``--learners``: lasso, partial least
squares, Bayesian ridge regression and Gaussian processes. ``--classifiers``: nearest neighbours, discriminant analysis
and naive Bayes, and many outputs. ``--series``: blocks of time with buffers beside plain folds. ``--scale``: (a) an
array of 10 million rows beside one fit of scikit-learn, (b) the same from Parquet beside reading the columns twice and
the operations at gemm speed, (c) 100 million rows, (d) two Dask workers beside one, (e) a table with text; peaks are
those of whole processes. ``--plan``: both routes on a grid of shapes, and how far `onefit.plan` is from the better one.
``--plan-models``: the seconds of `plan_for` beside those of the job, for every learner at two sizes or more.
``--sparse``: 20 sparse designs by the gram route, by refits (which scikit-learn iterates to a tolerance), as a dense
copy, and by onefit's own choice, what that costs included. ``--kernels``: each compiled kernel with every instruction
set that the machine has. ``--growth FILE`` draws time against n, p, K, L and the number of values, and
``--throughput FILE`` rows a second. ``--calibrate`` fits the costs that `onefit.plan` has in it to times on this
machine, with ``--sparse`` those of sparse designs.

``--evidence`` runs all that README and documentation show, some of it three times, keeps the figures in
``benchmarks/results`` and writes them into the pages; it says how long that takes. ``--only`` names some parts of it,
``--pages`` writes the pages from the figures that there are.
"""

from __future__ import annotations

import argparse
import json
import platform
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from threadpoolctl import threadpool_limits

from onefit.linalg import compiled

from .measure import gemm_speed
from .reports import REPORTS

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure what is asked for and print it."""
    options = _options(arguments)
    if options.pages or options.evidence:
        from .evidence import gather, write_pages

        try:
            if options.evidence:
                gather(options.only, options.quick)
        finally:  # what was measured before an end is shown
            write_pages()
        return
    asked = [name for name in REPORTS if getattr(options, name)][:1]
    records = []
    for name in asked or ["bars", "shapes"]:
        report = REPORTS[name](options)
        records += report.records
        print(report.text, end="\n" if asked else "\n\n", flush=True)
    if not asked:
        print(_footnote(options.quick))
    if options.json is not None:
        options.json.write_text(json.dumps(records, indent=1) + "\n", encoding="utf-8")


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="tiny cases: that everything runs")
    parser.add_argument("--markdown", action="store_true", help="print the tables as Markdown")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there, too")
    parser.add_argument("--seconds", type=float, default=0.5, help="budget of each method on each case")
    parser.add_argument("--no-memory", action="store_true", help="leave out the peaks of memory")
    parser.add_argument("--bars", action="store_true", help="what onefit is held to, without the table")
    parser.add_argument("--shapes", action="store_true", help="the table, without the bars")
    parser.add_argument("--ratios", action="store_true", help="a few lines of the table")
    parser.add_argument("--peers", action="store_true", help="other libraries: ikpls, celer, skglm, himalaya, R's")
    parser.add_argument("--plan", action="store_true", help="both routes and the choice, over a grid of shapes")
    parser.add_argument("--plan-models", action="store_true", help="plan_for beside the job, for every learner")
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
    parser.add_argument("--evidence", action="store_true", help="all that the pages show, into files and pages")
    parser.add_argument("--only", default="", metavar="PARTS", help="with --evidence: some parts, by commas")
    parser.add_argument("--pages", action="store_true", help="write the pages from the files alone")
    return parser.parse_args(arguments)


def _footnote(quick: bool) -> str:
    with threadpool_limits(limits=1):
        gemm = gemm_speed(200 if quick else 1500)
    versions = ", ".join(f"{name} {version(name)}" for name in ("numpy", "scikit-learn", "onefit"))
    kernel = f"compiled kernels with {compiled.instructions()}" if compiled.is_on() else "no compiled kernels"
    return (
        f"One thread, Python {platform.python_version()}, {versions}, {kernel}; a large matrix product runs at "
        f"{gemm / 1e9:.0f} GF/s."
    )


if __name__ == "__main__":
    main()
