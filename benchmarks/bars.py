"""The bars that onefit is held to, each measured beside its peer."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from onefit.models import AdditiveModel, PenalizedRegression

from .cases import Case
from .literal import literal
from .measure import best_of, gemm_speed, time_onefit, time_peer
from .memory import peaks
from .ours import errors_of, flops, run
from .refits import scikit_learn

__all__ = ["A_ROW", "Bar", "bars"]

A_ROW = "a row, in both passes"
"""How the bar ends from which the pages extrapolate to more rows; see `scale`."""

IMPORT = """
import sklearn, pandas, sys, time
start = time.perf_counter()
import onefit
print(time.perf_counter() - start)
"""


@dataclass(frozen=True)
class Bar:
    """A figure and what it should be: at least ``bar``, or at most."""

    name: str
    figure: float
    bar: float
    at_least: bool = True
    unit: str = "x"
    counts: bool = True

    @property
    def holds(self) -> bool:
        """Whether the bar is met."""
        return self.figure >= self.bar if self.at_least else self.figure <= self.bar

    @property
    def verdict(self) -> str:
        """Pass or fail; nothing for a case that only shows that the benchmark runs."""
        return ("pass" if self.holds else "FAIL") if self.counts else "-"

    def cells(self) -> list[str]:
        """Text of a line of the table."""
        sign = "at least" if self.at_least else "at most"
        shown = f"{self.figure:.0f}" if self.figure >= 100 else f"{self.figure:.3g}"
        should = f"{sign} {self.bar:g} {self.unit}" if self.bar else "-"
        return [self.name, f"{shown} {self.unit}", should, self.verdict]


def bars(quick: bool, budget: float) -> list[Bar]:
    """All of them; quick ones have smaller cases of the same names, and their figures mean nothing."""
    with threadpool_limits(limits=1):
        found = [*_nested(quick, budget), *_curve(quick, budget), *_small_folds(quick, budget), *_two(quick, budget)]
        found += [*_many_rows(quick, budget), *_learned(quick, budget), *_scatter(quick, budget)]
    found += [*_jobs(quick, budget), *_imports(1 if quick else 5)]
    return [replace(bar, counts=not quick) for bar in found]


def _label(case: Case) -> str:
    values = f", {case.n_values} values" if case.n_values > 1 else ""
    return f"n={case.n} p={case.p} K={case.n_folds} L={case.n_repeats}{values}"


def _nested(quick: bool, budget: float) -> Iterator[Bar]:
    case = Case(100, 5, 5, 4) if quick else Case(500, 20, 10, 200)
    (ours, result) = time_onefit(case, "auto", budget)
    peer = time_peer("scikit-learn", scikit_learn, case, errors_of(case, result), budget)
    yield Bar(f"nested_cv, {_label(case)}: faster than scikit-learn Ridge refits", peer.seconds / ours.seconds, 300)


def _curve(quick: bool, budget: float) -> Iterator[Bar]:
    case = Case(100, 5, 5, 4, 10) if quick else Case(1000, 40, 10, 200, 50)
    (ours, result) = time_onefit(case, "auto", 2 * budget)
    peer = time_peer("scikit-learn", scikit_learn, case, errors_of(case, result), budget)
    name = f"error_curve, {_label(case)}"
    yield Bar(f"{name}: faster than scikit-learn Ridge refits", peer.seconds / ours.seconds, 300)
    at_gemm = flops(case, result.results[0].route) / gemm_speed(200 if quick else 1500)
    yield Bar(f"{name}: time over its flops at gemm speed", ours.seconds / at_gemm, 6, at_least=False)


def _small_folds(quick: bool, budget: float) -> Iterator[Bar]:
    case = Case(100, 5, 20) if quick else Case(1600, 40, 320)
    (ours, result) = time_onefit(case, "auto", budget)
    expected = errors_of(case, result)
    for name, prepare, bar in (
        ("the literal Proposition 1 in NumPy", literal, 20),
        ("scikit-learn Ridge refits", scikit_learn, 1000),
    ):
        peer = time_peer(name, prepare, case, expected, budget)
        yield Bar(f"nested_cv, {_label(case)}: faster than {name}", peer.seconds / ours.seconds, bar)


def _two(quick: bool, budget: float) -> Iterator[Bar]:
    """Repeats share the operator, so one and three repeats tell what 200 take."""
    n = 100 if quick else 2000
    two, folded = Case(n, 20, n), Case(n, 20, n // 10, 3)
    ours, _ = best_of(lambda: run(two), budget)
    once, _ = best_of(lambda: run(folded.with_repeats(1), "onestep"), budget)
    thrice, _ = best_of(lambda: run(folded, "onestep"), budget)
    many = once + 199 * max(0.0, thrice - once) / 2
    name = f"leave two out, n={n} p=20: faster than onestep K={n // 10} L=200 (from 1 and 3 repeats)"
    yield Bar(name, many / ours, 50)


def _many_rows(quick: bool, budget: float) -> Iterator[Bar]:
    """Beside one fit of the same model to the same rows; memory beside X and y."""
    shapes = ((Case(100_000, 100, 10, 2), 8), (Case(1_000_000, 50, 10, 5, 20), 10))
    for case, most in ((Case(600, 5, 5, 2, V), most) for V, most in ((1, 8), (4, 10))) if quick else shapes:
        fit, _ = best_of(lambda case=case: Ridge(1.0).fit(case.X, case.y), 2 * budget)
        ours, _ = best_of(lambda case=case: run(case), 2 * budget)
        function = "error_curve" if case.n_values > 1 else "nested_cv"
        name = f"{function}, {_label(case)}"
        yield Bar(f"{name}: time over one Ridge.fit", ours / fit, most, at_least=False)
        if case.n_values > 1:
            beside = peaks([case])[case] - (case.X.nbytes + case.y.nbytes) / 1e6
            yield Bar(f"{name}: memory beside the data", beside / 1e3, 1.5, at_least=False, unit="GB")


def _learned(quick: bool, budget: float) -> Iterator[Bar]:
    """What is learned anew in every training set, beside one fit of the same model to the same rows."""
    tall = Case(600, 5, 5, 2) if quick else Case(200_000, 30, 10, 2)
    models = {
        "StandardScaler, Ridge": (make_pipeline(StandardScaler(), Ridge(1.0)), tall),
        'PenalizedRegression(lam="gcv")': (PenalizedRegression(lam="gcv"), tall),
        "AdditiveModel()": (AdditiveModel(), Case(600, 2, 5, 2) if quick else Case(100_000, 4, 10, 2)),
    }
    for name, (model, case) in models.items():
        fit, _ = best_of(lambda model=model, case=case: model.fit(case.X, case.y), budget)
        ours, _ = best_of(lambda model=model, case=case: run(case, model=model), budget)
        yield Bar(f"nested_cv, {name}, {_label(case)}: time over one fit", ours / fit, 8, at_least=False)


def _scatter(quick: bool, budget: float) -> Iterator[Bar]:
    """What rules cost that need every row's losses with each pair of folds out."""
    case = Case(600, 5, 5, 2) if quick else Case(200_000, 50, 10, 2)
    without, _ = best_of(lambda: run(case), budget)
    having, _ = best_of(lambda: run(case, interval="bates"), budget)
    name = f'nested_cv, {_label(case)}: interval="bates", with the losses of all pairs, over the default without'
    yield Bar(name, having / without, 2, at_least=False)


def _jobs(quick: bool, budget: float) -> Iterator[Bar]:
    """Both times with one thread of BLAS for each of ours; turn by turn, as the machine may not be quiet."""
    case = Case(100, 5, 5, 8, 10) if quick else Case(1000, 40, 10, 100, 50)
    with threadpool_limits(limits=1):
        rounds = [
            tuple(best_of(lambda jobs=jobs: run(case, n_jobs=jobs), 0.0, time.perf_counter)[0] for jobs in (None, 2))
            for _ in range(1 if quick else max(3, int(budget)))
        ]
    one, two = np.min(rounds, axis=0)
    yield Bar(f"error_curve, {_label(case)}: n_jobs=2 faster than one", float(one / two), 1.6)


def _imports(runs: int) -> Iterator[Bar]:
    seconds = min(
        float(subprocess.run([sys.executable, "-c", IMPORT], capture_output=True, text=True, check=True).stdout)
        for _ in range(runs)
    )
    yield Bar("import onefit after scikit-learn and pandas", seconds, 0.2, at_least=False, unit="s")
