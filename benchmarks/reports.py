"""What each option of ``python -m benchmarks`` measures: records for a file, and the same as a table for people."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from importlib import import_module
from typing import Any

from threadpoolctl import threadpool_limits

from .bars import Bar, bars
from .cases import PAPER, QUICK, SECTIONS, Case
from .measure import gemm_speed, measure
from .memory import peaks
from .table import HEAD, Line, markdown, plain

__all__ = ["BAR_HEAD", "RATIOS", "REPORTS", "Report"]

LARGE = 1600
"""Rows from which the memory of the paper's shapes is worth a process of its own."""

BAR_HEAD = ("bar", "measured", "should be", "")
RATIOS = (
    Case(500, 20, 10, 200),
    Case(2000, 20, 10, 50),
    Case(100_000, 100, 10, 2),
    Case(1600, 40, 320, 2),
    Case(500, 200, 50, 10),
    Case(200, 300, 10, 20),
)
"""The few shapes of the table of ratios in docs/speed-details.md."""

QUICK_BUDGET = 0.02
Options = argparse.Namespace


@dataclass(frozen=True)
class Report:
    """Records that JSON can hold, and the text that is printed."""

    records: list[dict[str, Any]]
    text: str


def _table(
    options: Options, head: Sequence[str], cells: Sequence[Sequence[str]], text: Sequence[str] = ("route",)
) -> str:
    return (markdown if options.markdown else plain)(head, cells, text)


def _bar_report(options: Options, found: Sequence[Bar]) -> Report:
    text = _table(options, BAR_HEAD, [bar.cells() for bar in found], ("bar", ""))
    return Report([asdict(bar) for bar in found], text)


def _bars_of(module: str, function: str) -> Callable[[Options], Report]:
    """Bars of a module of their own, which is loaded when they are asked for; on one thread."""

    def report(options: Options) -> Report:
        measured = getattr(import_module(f".{module}", __package__), function)
        with threadpool_limits(limits=1):
            found = measured(options.quick, QUICK_BUDGET if options.quick else 3 * options.seconds)
        return _bar_report(options, found)

    return report


def _bars(options: Options) -> Report:
    return _bar_report(options, bars(options.quick, 3 * (QUICK_BUDGET if options.quick else options.seconds)))


def _everyday(options: Options) -> Report:
    from .everyday import HEAD as EVERYDAY_HEAD
    from .everyday import everyday

    with threadpool_limits(limits=1):
        lines = everyday(options.quick, QUICK_BUDGET if options.quick else options.seconds)
    return Report(
        [asdict(line) for line in lines],
        _table(options, EVERYDAY_HEAD, [line.cells() for line in lines], EVERYDAY_HEAD[:2]),
    )


def _peers(options: Options) -> Report:
    from .peers import HEAD as PEERS_HEAD
    from .peers import peer_lines

    with threadpool_limits(limits=1):
        lines = list(peer_lines(options.quick, QUICK_BUDGET if options.quick else options.seconds))
    return Report(
        [asdict(line) for line in lines], _table(options, PEERS_HEAD, [line.cells() for line in lines], PEERS_HEAD[:3])
    )


def _shapes(options: Options) -> Report:
    """The table section by section, each printed when it is done."""
    sections = QUICK if options.quick else SECTIONS
    counted = [case for cases in sections.values() for case in cases if not (case in PAPER and case.n < LARGE)]
    megabytes = {} if options.no_memory else peaks(counted[:1] if options.quick else counted)
    records, tables = [], []
    for name, cases in sections.items():
        lines = _lines(options, cases, megabytes)
        records += [{"section": name, **line.record()} for line in lines]
        tables.append(f"{name}\n\n{_table(options, HEAD, [line.cells() for line in lines])}")
    return Report(records, "\n\n".join(tables))


def _ratios(options: Options) -> Report:
    lines = _lines(options, RATIOS[:1] if options.quick else RATIOS, {})
    return Report([line.record() for line in lines], _table(options, HEAD, [line.cells() for line in lines]))


def _lines(options: Options, cases: Sequence[Case], megabytes: dict[Case, float]) -> list[Line]:
    with threadpool_limits(limits=1):
        gemm, lines = gemm_speed(200 if options.quick else 1500), []
        for case in cases:
            copy = replace(case)  # whose data go with it
            route, timings = measure(copy, QUICK_BUDGET if options.quick else options.seconds, gemm)
            lines.append(Line(case, route, timings, megabytes.get(case)))
    return lines


def _plan(options: Options) -> Report:
    from .planning import plan_report

    with threadpool_limits(limits=1):
        return Report(*plan_report(options.quick))


def _plan_models(options: Options) -> Report:
    from .planmodels import plan_models_report

    with threadpool_limits(limits=1):
        return Report(*plan_models_report(options.quick, QUICK_BUDGET if options.quick else options.seconds))


def _sparse(options: Options) -> Report:
    from .sparse import sparse_report

    with threadpool_limits(limits=1):
        return Report(*sparse_report(options.quick))


def _calibrate(options: Options) -> Report:
    from .planning import calibrate
    from .sparse import calibrate_sparse

    with threadpool_limits(limits=1):
        return Report([], (calibrate_sparse if options.sparse else calibrate)(options.quick))


def _kernels(options: Options) -> Report:
    from .kernels import kernels_report

    return Report([], kernels_report(options.quick))


def _scale(options: Options) -> Report:
    from .scale import scale_bars

    return _bar_report(options, scale_bars(options.quick, options.seconds, options.rows, options.parts))


def _throughput(options: Options) -> Report:
    from .scale import throughput

    return Report([], throughput(options.throughput, options.quick))


def _growth(options: Options) -> Report:
    from .growth import growth

    with threadpool_limits(limits=1):
        return Report([], growth(options.growth, options.quick))


REPORTS: dict[str, Callable[[Options], Report]] = {
    "calibrate": _calibrate,  # before "sparse", which says what is calibrated
    "sparse": _sparse,
    "plan": _plan,
    "plan_models": _plan_models,
    "kernels": _kernels,
    "glm": _bars_of("glms", "glm_bars"),
    "pipelines": _bars_of("pipelines", "pipeline_bars"),
    "learners": _bars_of("learners", "learner_bars"),
    "classifiers": _bars_of("classifiers", "classifier_bars"),
    "series": _bars_of("series", "series_bars"),
    "everyday": _everyday,
    "peers": _peers,
    "throughput": _throughput,
    "scale": _scale,
    "growth": _growth,
    "bars": _bars,
    "ratios": _ratios,
    "shapes": _shapes,
}
"""By option, in the order in which they are looked for."""
