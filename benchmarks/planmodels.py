"""How good the seconds of `plan_for` are, beside those of the job itself: every learner at two sizes."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.cross_decomposition import PLSRegression
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.ensemble import RandomForestRegressor
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF
from sklearn.impute import SimpleImputer
from sklearn.linear_model import (
    ARDRegression,
    BayesianRidge,
    ElasticNet,
    ElasticNetCV,
    Lasso,
    LassoCV,
    LogisticRegression,
    PoissonRegressor,
    Ridge,
    RidgeCV,
)
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import onefit

from .measure import best_of
from .table import plain

__all__ = ["CASES", "PlanCase", "plan_models_report"]

BAR = 3.0
HEAD = ("model", "rows", "columns", "K", "L", "route", "plan s", "true s", "plan / true", "refits s", "")

PENALTIES = np.geomspace(0.01, 100.0, 9)


@dataclass(frozen=True)
class PlanCase:
    """A model, its rows and columns, the kind of data, folds and repeats."""

    label: str
    model: Any
    n: int
    width: int
    kind: str = "numbers"
    n_folds: int = 10
    n_repeats: int = 1

    def data(self) -> tuple[Any, Any]:
        """Made-up rows."""
        return DATA[self.kind](self.n, self.width)

    def job(self) -> dict[str, Any]:
        """Keywords of the job."""
        return {"n_folds": self.n_folds, "n_repeats": self.n_repeats, "random_state": 0}


def _numbers(n: int, width: int) -> tuple[Any, Any]:
    """Columns that resemble each other, of which eight matter."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, width)) + 0.5 * rng.normal(size=(n, 1))
    y = X[:, :8].sum(axis=1) + 3.0 * rng.normal(size=n)
    return X, y / y.std()


def _classes(n: int, width: int) -> tuple[Any, Any]:
    X, y = _numbers(n, width)
    return X, (y > 0).astype(int)


def _counts(n: int, width: int) -> tuple[Any, Any]:
    X, y = _numbers(n, width)
    return X, np.random.default_rng(1).poisson(np.exp(y))


def _curves(n: int, width: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(n, width))
    return X, np.sin(6 * X).sum(axis=1) + rng.normal(size=n)


def _houses(n: int, width: int) -> tuple[Any, Any]:
    """A table with gaps, of which every second column is text of six levels, some of them rare."""
    rng = np.random.default_rng(0)
    quality, worth = rng.normal(size=n), rng.normal(size=n)
    columns: dict[str, Any] = {}
    for j in range(width):
        if j % 2:
            levels = rng.choice(6, size=n, p=rng.dirichlet(np.full(6, 2.0)))
            worth += rng.normal(size=6)[levels] * (j < 20)
            column = np.array([f"level {level}" for level in range(6)], dtype=object)[levels]
            column[rng.random(n) < 0.05 * (j % 3)] = None
        else:
            column = np.round(100 * np.exp(0.3 * (rng.normal(size=n) + 0.7 * quality)))
            worth += 0.01 * column * (j < 20)
            column[rng.random(n) < 0.05 * (j % 4)] = np.nan
        columns[f"column {j}"] = column
    worth += quality
    return pd.DataFrame(columns), (worth - worth.mean()) / worth.std()


DATA: dict[str, Callable[[int, int], tuple[Any, Any]]] = {
    "numbers": _numbers,
    "classes": _classes,
    "counts": _counts,
    "curves": _curves,
    "houses": _houses,
}


def _prepared(model: Any) -> Any:
    """A pipeline as `onefit run --impute` makes it."""
    numbers = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
    text = make_pipeline(
        SimpleImputer(strategy="most_frequent"), OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    )
    columns = ColumnTransformer(
        [
            ("numbers", numbers, make_column_selector(dtype_include=np.number)),
            ("text", text, make_column_selector(dtype_exclude=np.number)),
        ]
    )
    return make_pipeline(columns, model)


def _searched(model: Any) -> Any:
    return GridSearchCV(_prepared(model), {f"{type(model).__name__.lower()}__alpha": list(PENALTIES)})


def _additive(width: int, lam: str) -> Any:
    return onefit.AdditiveModel([onefit.smooth(column) for column in range(width)], lam=lam)


def _cases() -> Iterator[PlanCase]:
    for name, model in (("Lasso", Lasso(alpha=0.05)), ("ElasticNet", ElasticNet(alpha=0.05))):
        for n, width in ((200, 20), (200, 100), (1000, 50), (1000, 300), (5000, 20), (5000, 100)):
            yield PlanCase(name, model, n, width)
        for n, width in ((1460, 80), (2930, 30)):
            yield PlanCase(f"{name}, pipeline", _prepared(model), n, width, "houses")
    for name, model in (("LassoCV", LassoCV(max_iter=10_000)), ("ElasticNetCV", ElasticNetCV(max_iter=10_000))):
        for n, width in ((200, 20), (200, 100), (1000, 50), (1000, 300), (5000, 20), (5000, 100)):
            yield PlanCase(name, model, n, width, n_folds=5)
        for n, width in ((1460, 80), (2930, 30)):
            yield PlanCase(f"{name}, pipeline", _prepared(model), n, width, "houses", 3)
    for lam in ("reml", "gcv"):
        for n, width in ((500, 1), (500, 3), (5000, 6), (53_940, 6)):
            yield PlanCase(f"AdditiveModel, {lam}", _additive(width, lam), n, width, "curves", 5)
        yield PlanCase(f"AdditiveModel, {lam}", _additive(1, lam), 500, 1, "curves", 10, 5)
    for name, make, sizes, kind in OTHERS:
        yield from (PlanCase(name, make(), n, width, kind) for n, width in sizes)


OTHERS: tuple[tuple[str, Callable[[], Any], tuple[tuple[int, int], ...], str], ...] = (
    ("SplineRegression", onefit.SplineRegression, ((300, 1), (20_000, 1)), "curves"),
    ("Ridge", Ridge, ((500, 20), (20_000, 100)), "numbers"),
    ("Ridge, pipeline", lambda: _prepared(Ridge()), ((500, 10), (3000, 60)), "houses"),
    ("RidgeCV", partial(RidgeCV, PENALTIES), ((500, 20), (5000, 100)), "numbers"),
    ("RidgeCV, pipeline", lambda: _prepared(RidgeCV(PENALTIES)), ((500, 10), (3000, 60)), "houses"),
    ("GridSearchCV, pipeline", lambda: _searched(Ridge()), ((500, 10), (3000, 60)), "houses"),
    ("LogisticRegression", LogisticRegression, ((500, 10), (10_000, 50)), "classes"),
    ("PoissonRegressor", PoissonRegressor, ((500, 10), (10_000, 50)), "counts"),
    ("PLSRegression", partial(PLSRegression, 5), ((200, 20), (200, 400)), "numbers"),
    ("BayesianRidge", BayesianRidge, ((500, 20), (5000, 100)), "numbers"),
    ("ARDRegression", ARDRegression, ((500, 20), (5000, 50)), "numbers"),
    ("LinearDiscriminantAnalysis", LinearDiscriminantAnalysis, ((500, 10), (10_000, 50)), "classes"),
    ("QuadraticDiscriminantAnalysis", QuadraticDiscriminantAnalysis, ((500, 10), (10_000, 50)), "classes"),
    ("KNeighborsRegressor", KNeighborsRegressor, ((500, 5), (10_000, 5)), "numbers"),
    (
        "GaussianProcessRegressor",
        partial(GaussianProcessRegressor, RBF(5.0), alpha=1.0, optimizer=None, normalize_y=True),
        ((300, 5), (1500, 5)),
        "numbers",
    ),
    ("RandomForestRegressor", partial(RandomForestRegressor, 20, random_state=0), ((300, 5), (1500, 5)), "numbers"),
)
CASES = tuple(_cases())
QUICK = (
    PlanCase("Lasso", Lasso(alpha=0.1), 40, 4),
    PlanCase("AdditiveModel", _additive(2, "reml"), 40, 2, "curves", 3),
)


def plan_models_report(quick: bool, budget: float) -> tuple[list[dict[str, Any]], str]:
    """Every case as a record, and all of them as a table."""
    records = [_record(case, budget) for case in (QUICK if quick else CASES)]
    lines = [[_cell(record[name]) for name in HEAD[:-1]] + ["" if record["is_near"] else "FAR"] for record in records]
    far = sum(not record["is_near"] for record in records)
    return records, (
        f"{plain(HEAD, lines, ('model', 'route', ''))}\n\n{len(records)} jobs, {far} whose plan is off by more than a "
        f"factor of {BAR:g}."
    )


def _cell(value: object) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def _record(case: PlanCase, budget: float) -> dict[str, Any]:
    X, y = case.data()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plan = onefit.plan_for(case.model, X, y, **case.job())
        clock = time.perf_counter if plan.choice == "refit" else time.process_time  # that of the fit that is timed
        seconds, result = best_of(lambda: onefit.nested_cv(case.model, X, y, **case.job()), budget, clock)
    expected = plan.seconds[plan.choice]
    figures = (case.label, case.n, case.width, case.n_folds, case.n_repeats, result.route, expected, seconds)
    ratio = expected / seconds
    values = (*figures, ratio, plan.seconds.get("refit", float("nan")))
    return {**dict(zip(HEAD, values, strict=False)), "is_near": 1 / BAR <= ratio <= BAR}
