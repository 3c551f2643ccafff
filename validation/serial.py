"""Do intervals cover where rows follow one another? ``python -m validation.serial``: series and maps of known error.

Errors and columns are correlated from row to row; the models are least squares (20 columns), ridge regression (40), a
spline of one column and a spline of time. Every data set is analysed in all ways, each at 90%. Columns of the table:

setting, model, n, target, method
    ``elsewhere`` is the error of the model fitted to these very rows on a new, independent stretch, known exactly (of
    a spline of time: at the same times with other errors);
    ``gaps`` and ``ahead`` are the mean errors inside gaps of 5 rows, and of forecasts of 5 rows from a third of the
    rows on, known as means over the data sets; ``difference`` is that of the errors elsewhere of ridge regression and
    least squares.
coverage, coverage_se
    Share of data sets whose interval contains it.
width
    Median width over the one that would do: 2 x 1.645 times the root mean square of estimate - target.
bias
    Mean of estimate - target over the mean target.
buffer, effective
    Medians, of the methods that have them.

Data sets are kept in ``validation/work`` as they are done, and the study goes on from there. ``--blocks`` has what
blocks alone say of least squares and ridge regression, at a tenth of the cost, of data sets of its own (from number
5,000 on); a line of the table is replaced when there are more data sets of it.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import special
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.model_selection import TimeSeriesSplit, cross_val_score
from threadpoolctl import threadpool_limits

import onefit
from onefit.typing import Estimator, FloatArray, IntArray, Predictor

from .serialnoise import Setting, autoregression, garch, grid, long_memory, map_of, moving_average, season

__all__ = ["SETTINGS", "main", "study", "summary"]

RESULT = Path(__file__).parent / "results" / "serial.csv"
WORK = Path(__file__).parent / "work" / "serial"
ROWS = (100, 200, 400)
LEVEL, Z, SIGNAL, GAP = 0.90, 1.645, 1.0, 5
COLUMNS = {"least squares": 20, "ridge": 40}
SPLINES = {"spline": ("AR .5 / .5", "AR .8 / .8"), "spline of time": ("AR 0 / 0", "AR .5 / .5", "AR .8 / .8")}
"""And the settings that they are tried in."""

PENALTY, NODES, AT_ONCE = 20.0, 200, 10
FIGURES, SAME = ["estimate", "low", "high"], 1e-9
LINE = ["setting", "model", "n", "target", "method"]
FRESH = 5000
"""Number of the first data set of which there are blocks alone."""


SETTINGS = {
    "AR 0 / 0": Setting(autoregression(0.0), autoregression(0.0)),
    "AR .5 / .5": Setting(autoregression(0.5), autoregression(0.5)),
    "AR .8 / 0": Setting(autoregression(0.8), autoregression(0.0)),
    "AR .8 / .8": Setting(autoregression(0.8), autoregression(0.8)),
    "MA(5) / MA(5)": Setting(moving_average(5), moving_average(5)),
    "season / AR .5": Setting(season, autoregression(0.5)),
    "map, range 1": Setting(map_of(1.0), map_of(1.0), is_map=True),
    "map, range 2": Setting(map_of(2.0), map_of(2.0), is_map=True),
    "AR .95 / .5": Setting(autoregression(0.95), autoregression(0.5)),
    "long memory / AR .5": Setting(long_memory(0.4), autoregression(0.5)),
    "GARCH / AR .5": Setting(garch, autoregression(0.5)),
}
"""Errors / columns."""

CORE = ("AR 0 / 0", "AR .5 / .5", "AR .8 / 0", "AR .8 / .8")
"""Others, and splines, are not compared with other methods than random folds."""


@dataclass(frozen=True)
class Data:
    """A data set, the model for it, and what fits are compared with: points, and the function there, with weights."""

    X: FloatArray
    y: FloatArray
    points: FloatArray
    function: FloatArray
    weights: FloatArray

    def elsewhere(self, fitted: Predictor) -> float:
        """Mean squared error on a new stretch: errors have unit variance, and nothing to do with these."""
        return float(1 + self.weights @ np.square(fitted.predict(self.points) - self.function))


def draw(name: str, model: str, n: int, seed: int) -> Data:
    """One data set."""
    setting, p = SETTINGS[name], COLUMNS.get(model, 1)
    rng = np.random.default_rng([seed, n, p, list(SETTINGS).index(name)])
    X, errors = setting.columns(n, p, rng), setting.errors(n, 1, rng)[:, 0]
    if model in COLUMNS:
        beta = np.full(p, np.sqrt(SIGNAL / p)) * np.where(np.arange(p) % 2, -1.0, 1.0)
        # points whose mean squares are the expectation over columns of unit variance, whatever is linear
        points = np.sqrt(p) * np.vstack([np.eye(p), -np.eye(p)])
        return Data(X, X @ beta + errors, points, points @ beta, np.full(2 * p, 1 / (2 * p)))
    if model == "spline":
        nodes, weights = special.roots_hermitenorm(NODES)
        used = weights > 1e-12  # further out nobody has data
        nodes, weights = nodes[used], weights[used] / weights[used].sum()
        return Data(X, np.sin(2 * X[:, 0]) + errors, nodes[:, None], np.sin(2 * nodes), weights)
    time = np.arange(n) / n
    wave = np.sin(3 * np.pi * time)
    return Data(time[:, None], wave + errors, time[:, None], wave, np.full(n, 1 / n))


def model_of(name: str) -> Estimator:
    """The model."""
    if name in SPLINES:
        return onefit.SplineRegression(n_basis=10, lam="reml" if name == "spline" else 1e-3)
    return LinearRegression() if name == "least squares" else Ridge(PENALTY)


def figures(name: str, model: str, n: int, seed: int, only_blocks: bool = False) -> Iterator[dict[str, object]]:
    """One row a method, of one data set; or that of blocks alone."""
    data, estimator = draw(name, model, n, seed), model_of(model)
    truth = data.elsewhere(estimator.fit(data.X, data.y))
    common = {"setting": name, "model": model, "n": n, "seed": seed}

    def row(target: str, method: str, estimate: float, low: float, high: float, **rest: float) -> dict[str, object]:
        known = {"target": target, "method": method, "truth": truth if target == "elsewhere" else np.nan}
        return {**common, **known, "estimate": estimate, "low": low, "high": high, **rest}

    def of(target: str, method: str, cv: object) -> dict[str, object]:
        found = onefit.nested_cv(estimator, data.X, data.y, cv=cv, confidence_level=LEVEL, progress=False)
        rest = {}
        if found.dependence is not None:
            rest = {"buffer": found.dependence.buffer, "effective": found.dependence.effective_rows}
        return row(target, method, found.estimate, *found.interval, **rest)

    blocks: onefit.TimeBlocks | onefit.SpaceBlocks = onefit.TimeBlocks(20 if model == "spline of time" else 10)
    if SETTINGS[name].is_map:
        blocks = onefit.SpaceBlocks(coords=grid(n))
    yield of("elsewhere", type(blocks).__name__, blocks)
    if only_blocks:
        return
    yield of("elsewhere", "random folds", None)
    if name not in CORE or model in SPLINES:
        return
    yield row("elsewhere", "TimeSeriesSplit, s/sqrt(5)", *_of_means(estimator, data, TimeSeriesSplit(5), Z))
    t = float(special.stdtrit(9, 0.5 + LEVEL / 2))
    yield row("elsewhere", "means of 10 blocks, t", *_of_means(estimator, data, ten_blocks(n), t))
    yield of("gaps", "Gaps", onefit.Gaps(GAP))
    yield of("ahead", "RollingOrigin", onefit.RollingOrigin(GAP))
    yield _difference(data, blocks, common)


def _difference(data: Data, cv: object, common: dict[str, object]) -> dict[str, object]:
    """Of ridge regression and least squares on the same rows."""
    models = {name: model_of(name) for name in COLUMNS}
    errors = {name: data.elsewhere(each.fit(data.X, data.y)) for name, each in models.items()}
    table = onefit.compare(models, data.X, data.y, cv=cv, confidence_level=LEVEL, progress=False).to_frame()
    (first, second), found = table.index[0], table.iloc[0]
    known = {"target": "difference", "method": "TimeBlocks", "truth": errors[first] - errors[second]}
    return {**common, **known, "estimate": found["estimate"], "low": found["low"], "high": found["high"]}


def ten_blocks(n: int) -> list[tuple[IntArray, IntArray]]:
    """Ten blocks without buffers, as (train, test)."""
    block = np.arange(n) * 10 // n
    return [(np.flatnonzero(block != each), np.flatnonzero(block == each)) for each in range(10)]


def _of_means(estimator: Estimator, data: Data, cv: object, factor: float) -> tuple[float, float, float]:
    """Mean of the errors of some test sets, with the standard error of independent ones."""
    means = -cross_val_score(estimator, data.X, data.y, cv=cv, scoring="neg_mean_squared_error")
    centre, half = float(means.mean()), factor * float(means.std(ddof=1) / np.sqrt(len(means)))
    return centre, centre - half, centre + half


def jobs(name: str, rows: Sequence[int], only_blocks: bool) -> list[tuple[str, int]]:
    """Models and numbers of rows of the data sets of a setting; of blocks alone there are no splines."""
    models = [*COLUMNS, *(model for model, names in SPLINES.items() if name in names and not only_blocks)]
    return [(model, n) for model in models for n in rows]


def study(name: str, datasets: range, rows: Sequence[int] | None = None, only_blocks: bool = False) -> pd.DataFrame:
    """A row for each data set and method of a setting."""
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        every = [(*job, seed, only_blocks) for seed in datasets for job in jobs(name, rows or ROWS, only_blocks)]
        return pd.DataFrame([row for each in every for row in figures(name, *each)])


def summary(table: pd.DataFrame) -> pd.DataFrame:
    """Coverage and widths by setting, model, rows, target and method."""
    rows = []
    for key, part in table.groupby(LINE, sort=False):
        truth = part["truth"].fillna(part["estimate"].mean())
        covered = ((part["low"] <= truth) & (truth <= part["high"])).astype(float)
        missed = part["estimate"] - truth
        needed = 2 * Z * float(np.sqrt(np.square(missed).mean()))
        rows.append(
            {
                **dict(zip(LINE, key, strict=True)),
                "datasets": len(part),
                "coverage": covered.mean(),
                "coverage_se": covered.sem(),
                "width": (part["high"] - part["low"]).median() / needed if needed else np.nan,
                "bias": missed.mean() / truth.mean(),
                "buffer": part["buffer"].median(),
                "effective": part["effective"].median(),
            }
        )
    return pd.DataFrame(rows).round(4)


@dataclass(frozen=True)
class Kept:
    """Data sets in files, some of a setting in each; of all methods, or of blocks alone."""

    only_blocks: bool = False

    @property
    def first(self) -> int:
        """Number of the first data set: those of blocks alone are others than those that all methods have."""
        return FRESH if self.only_blocks else 0

    def path(self, name: str, first: int) -> Path:
        """Where the data sets of a setting from a first one on are kept."""
        folder = WORK / "blocks" if self.only_blocks else WORK
        return folder / "".join(each if each.isalnum() else "-" for each in name) / f"{first:05d}.csv"

    def compute(self, name: str, first: int) -> None:
        """Draw some data sets of a setting and keep what came out; a file is there whole or not at all."""
        path = self.path(name, first)
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(f".{os.getpid()}.part")
        study(name, range(first, first + AT_ONCE), only_blocks=self.only_blocks).to_csv(part, index=False)
        part.replace(path)

    def check(self, name: str) -> None:
        """Stop if the code at hand does not give the first figures that are kept."""
        path = self.path(name, self.first)
        if not path.exists():
            return
        again = study(name, range(self.first, self.first + 1), ROWS[:1], self.only_blocks)
        there = pd.read_csv(path).query(f"seed == {self.first} and n == {ROWS[0]}")
        both = [table.sort_values(["model", "target", "method"])[FIGURES].to_numpy(float) for table in (again, there)]
        if both[0].shape != both[1].shape or not np.allclose(*both, rtol=SAME, atol=0):
            raise SystemExit(f"{path} was made by other code; delete {path.parent} if the change of the code is right.")

    def table(self) -> pd.DataFrame:
        """A row for each data set and method of all settings, as far as they are there."""
        files = [path for name in SETTINGS for path in sorted(self.path(name, 0).parent.glob("*.csv"))]
        return pd.concat([pd.read_csv(path) for path in files]) if files else pd.DataFrame()


def merged(tables: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Lines of several summaries, in the order in which they first come; of each that of the most data sets."""
    every = pd.concat(tables, ignore_index=True)
    best = every.sort_values("datasets", kind="stable").drop_duplicates(LINE, keep="last").set_index(LINE)
    return best.loc[pd.MultiIndex.from_frame(every[LINE].drop_duplicates())].reset_index()


def main() -> None:
    """Run the study, or go on with it; then its table is written."""
    parser = argparse.ArgumentParser(prog="python -m validation.serial", description=__doc__.splitlines()[0])
    parser.add_argument("--datasets", type=int, default=500, help="data sets a setting, at most")
    parser.add_argument("--minutes", type=float, default=60.0, help="of processor time, after which it ends")
    parser.add_argument("--only", nargs="+", default=list(SETTINGS), choices=SETTINGS, help="settings to go on with")
    parser.add_argument("--blocks", action="store_true", help="what blocks say alone, of other data sets")
    asked = parser.parse_args()
    kept = Kept(asked.blocks)
    for name in asked.only:
        kept.check(name)
    for first in range(kept.first, kept.first + asked.datasets, AT_ONCE):
        for name in [name for name in asked.only if not kept.path(name, first).exists()]:
            if time.process_time() < 60 * asked.minutes:
                kept.compute(name, first)
    before = [pd.read_csv(RESULT)] if RESULT.exists() else []
    found = [summary(table) for each in (False, True) if len(table := Kept(each).table())]
    merged([*before, *found]).to_csv(RESULT, index=False)
    print(pd.read_csv(RESULT).to_string(index=False))


if __name__ == "__main__":
    main()
