"""How many folds should refits have? ``python -m validation.folds``: five and ten at equal numbers of fits.

A repeat of K folds takes K(K+1)/2 fits, so three repeats of 5 folds (45 fits) stand against one of 10 (55), and ten of
5 (150) against three of 10 (165). Every data set is analysed in all four ways, so differences between rows of the
table are far surer than the coverages themselves. Columns, with standard errors as ``..._se``:

coverage
    Share of data sets whose 90% interval contains Err_XY, the error of the model fitted to these very data.
more_than_ten
    Coverage less that of ten folds at about as many fits, on the same data sets.
width
    Median width of the interval over the one that would do: 2 x 1.645 times the root mean square of estimate - Err_XY.
half_width_error, centre_error
    Monte Carlo error of the half-width, and of the centre in half-widths: root mean squares over the data sets.
"""

from __future__ import annotations

import argparse
import inspect
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from pathlib import Path

import numpy as np
import pandas as pd
import sklearn
from sklearn.datasets import make_friedman1
from sklearn.ensemble import GradientBoostingRegressor, RandomForestRegressor
from sklearn.linear_model import Lasso, LogisticRegression
from sklearn.neighbors import KNeighborsRegressor
from sklearn.tree import DecisionTreeRegressor
from threadpoolctl import threadpool_limits

import onefit
from onefit.inference.fold_errors import FoldErrors
from onefit.inference.intervals import RULES, Context
from onefit.running.contenders import Contender
from onefit.running.makejob import make_job
from onefit.running.settings import Settings
from onefit.typing import Estimator, FloatArray

__all__ = ["main", "study"]

RESULT = Path(__file__).parent / "results" / "folds.csv"
ROWS = (60, 100, 300)
LEVEL, NOISE, NEW_ROWS, Z = 0.90, 2.0, 4000, 1.645
PLANS = ((5, 3), (10, 1), (5, 10), (10, 3))
"""Folds and repeats, by pairs of about as many fits."""

TEN = {3: 1, 10: 3}
"""Repeats of ten folds that stand beside those of five."""


@dataclass(frozen=True)
class Learner:
    """A model that has to be refitted, whether it is a classifier, and the share of the data sets that it gets."""

    estimator: Estimator
    is_classifier: bool = False
    share: float = 1.0


LEARNERS = {
    "lasso": Learner(Lasso(alpha=0.1)),
    "neighbours": Learner(KNeighborsRegressor(10)),
    "tree": Learner(DecisionTreeRegressor(min_samples_leaf=5, random_state=0), share=0.2),
    "logistic": Learner(LogisticRegression(), is_classifier=True),
    "forest": Learner(RandomForestRegressor(10, min_samples_leaf=2, random_state=0), share=0.04),
    "boosting": Learner(GradientBoostingRegressor(n_estimators=25, max_depth=2, random_state=0), share=0.04),
}


def regression(n: int, seed: int) -> tuple[FloatArray, FloatArray, Callable[[FloatArray], float]]:
    """Friedman's first function of five of ten columns; the last is the error of predictions at new rows."""
    X, y = make_friedman1(n, noise=NOISE, random_state=seed)
    _, truth = _new_rows()
    return X, y, lambda predicted: float(np.square(predicted - truth).mean() + NOISE**2)


def classification(n: int, seed: int) -> tuple[FloatArray, FloatArray, Callable[[FloatArray], float]]:
    """Two classes, whose odds depend on five of ten columns."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 10))
    y = (rng.uniform(size=n) < _chance(X)).astype(float)
    chance = _chance(_new_rows()[0])
    return X, y, lambda predicted: float(np.where(predicted == 1, 1 - chance, chance).mean())


def _chance(X: FloatArray) -> FloatArray:
    chance: FloatArray = 1 / (1 + np.exp(-4 * (X[:, :5] - 0.5) @ np.array([1.0, 1.0, 1.0, -1.0, -1.0])))
    return chance


def _new_rows() -> tuple[FloatArray, FloatArray]:
    """New rows, the same for every data set, and Friedman's function there."""
    X, y = make_friedman1(NEW_ROWS, noise=0.0, random_state=2**31)
    return X, y


def fold_errors(estimator: Estimator, X: FloatArray, y: FloatArray, n_folds: int, seed: int) -> tuple[FoldErrors, str]:
    """Fold errors of as many repeats as any plan wants, and the scale of the loss."""
    repeats = max(L for K, L in PLANS if n_folds == K)
    defaults = {name: each.default for name, each in inspect.signature(onefit.nested_cv).parameters.items()}
    asked = {"n_folds": n_folds, "n_repeats": repeats, "random_state": seed, "progress": False}
    job = make_job([Contender((estimator,))], X, y, Settings.of(defaults | asked))
    return job.run().errors, job.loss.scale


def first(errors: FoldErrors, count: int) -> FoldErrors:
    """The tables of the first repeats."""
    tables = {field.name: getattr(errors, field.name) for field in fields(errors)}
    kept = {name: table for name, table in tables.items() if isinstance(table, np.ndarray)}
    return replace(errors, **{name: table[:count] for name, table in kept.items()})


def figures(name: str, n: int, seed: int) -> Iterator[dict[str, float | int | str]]:
    """One row a plan, of one data set."""
    learner, rule = LEARNERS[name], RULES["covariance"]
    X, y, error_of = (classification if learner.is_classifier else regression)(n, seed)
    truth = error_of(learner.estimator.fit(X, y).predict(_new_rows()[0]))
    tables = {K: fold_errors(learner.estimator, X, y, K, seed) for K in sorted({K for K, _ in PLANS})}
    for K, L in PLANS:
        errors, scale = tables[K]
        found = rule.compute(first(errors, L), Context(LEVEL, scale))
        half = Z * found.standard_error.item()
        mse, centre = rule.repeat_mse(errors, scale).ravel(), rule.repeat_centre(errors, scale).ravel()
        yield {
            "learner": name,
            "n": n,
            "seed": seed,
            "folds": K,
            "repeats": L,
            "truth": truth,
            "estimate": found.estimate.item(),
            "low": found.low.item(),
            "high": found.high.item(),
            "half_width_error": mse.std(ddof=1) / max(mse.mean(), 1e-300) / 2 / np.sqrt(L),
            "centre_error": centre.std(ddof=1) / np.sqrt(L) / half,
        }


def study(datasets: int, learners: tuple[str, ...] = tuple(LEARNERS)) -> pd.DataFrame:
    """The table of all settings."""
    counts = {name: max(2, int(datasets * LEARNERS[name].share)) for name in learners}
    jobs = [(name, n, seed) for name, count in counts.items() for n in ROWS for seed in range(count)]
    with (
        threadpool_limits(1),
        sklearn.config_context(skip_parameter_validation=True, assume_finite=True),  # a third of the time of refits
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        return summary(pd.DataFrame([row for job in jobs for row in figures(*job)]))


def summary(table: pd.DataFrame) -> pd.DataFrame:
    """Means over data sets, with their standard errors."""
    table = table.assign(
        covered=((table["low"] <= table["truth"]) & (table["truth"] <= table["high"])).astype(float),
        width=table["high"] - table["low"],
        missed=table["estimate"] - table["truth"],
    )
    rows = []
    for (name, n, K, L), part in table.groupby(["learner", "n", "folds", "repeats"], sort=False):
        needed = 2 * Z * np.sqrt(np.square(part["missed"]).mean())
        beside = (table["learner"] == name) & (table["n"] == n) & (table["folds"] == 10)
        ten = table[beside & (table["repeats"] == TEN.get(L, 0))].set_index("seed")["covered"]
        more = part.set_index("seed")["covered"] - ten if K == 5 else pd.Series([np.nan, np.nan])
        rows.append(
            {
                "learner": name,
                "n": n,
                "folds": K,
                "repeats": L,
                "fits": L * K * (K + 1) // 2,
                "datasets": len(part),
                "coverage": part["covered"].mean(),
                "coverage_se": part["covered"].sem(),
                "more_than_ten": more.mean(),
                "more_than_ten_se": more.sem(),
                "width": part["width"].median() / needed,
                "half_width_error": np.sqrt(np.square(part["half_width_error"]).mean()),
                "centre_error": np.sqrt(np.square(part["centre_error"]).mean()),
            }
        )
    return pd.DataFrame(rows).round(4)


def main() -> None:
    """Run the study and write its table."""
    parser = argparse.ArgumentParser(prog="python -m validation.folds", description=__doc__.splitlines()[0])
    fewer = "data sets a setting; of trees a fifth, of forests and boosting a 25th"
    parser.add_argument("--datasets", type=int, default=400, help=fewer)
    asked = parser.parse_args()
    table = study(asked.datasets)
    table.to_csv(RESULT, index=False)
    print(table.to_string(index=False))


if __name__ == "__main__":
    main()
