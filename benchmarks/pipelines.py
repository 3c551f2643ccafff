"""Everyday pipelines, encoders and scalers and imputers before a ridge regression, beside refits of the same object."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import onefit

from .bars import Bar
from .measure import TOLERANCE, best_of
from .searches import QUICK_SEARCHES, SEARCHES, SearchCase

__all__ = ["CASES", "PipelineCase", "pipeline_bars"]

SETTINGS = {"n_folds": 10, "random_state": 0}


@dataclass(frozen=True)
class PipelineCase:
    """Rows, columns of numbers, levels of each column of text, the share of missing values, and the bar."""

    name: str
    n: int
    numbers: int
    levels: tuple[int, ...]
    missing: float
    bar: float

    @property
    def label(self) -> str:
        """The table, for people."""
        q = sum(self.levels) + self.numbers
        return f"{self.name}-like, {self.n:,} rows, about {q} columns"

    def data(self) -> tuple[pd.DataFrame, Any]:
        """Levels with frequencies of all sizes, as real tables have them."""
        rng = np.random.default_rng(0)
        table, y = {}, rng.normal(size=self.n)
        for at, k in enumerate(self.levels):
            codes = rng.choice(k, size=self.n, p=rng.dirichlet(np.full(k, 0.7)))
            table[f"text{at}"] = np.array([f"level {level}" for level in range(k)], dtype=object)[codes]
            y += rng.normal(size=k)[codes]
        for at in range(self.numbers):
            table[f"number{at}"] = rng.gamma(2.0, size=self.n)
            y += rng.normal() * table[f"number{at}"]
        frame = pd.DataFrame(table)
        return (frame.mask(rng.random(frame.shape) < self.missing) if self.missing else frame), y

    def pipeline(self, is_sparse: bool) -> Any:
        """What most people write."""
        encoder: Any = OneHotEncoder(handle_unknown="ignore", sparse_output=is_sparse)
        scaler: Any = StandardScaler()
        if self.missing:
            encoder = make_pipeline(SimpleImputer(strategy="most_frequent"), encoder)
            scaler = make_pipeline(SimpleImputer(), scaler)
        text = make_column_selector(dtype_include=object)
        return make_pipeline(
            make_column_transformer((encoder, text), (scaler, make_column_selector(dtype_include="number"))), Ridge()
        )


CASES = (
    PipelineCase("mpg", 234, 3, (15, 38, 10, 3, 5, 7), 0.0, 100),
    PipelineCase("diamonds", 54_000, 6, (5, 7, 8), 0.0, 25),
    PipelineCase("ames", 2_900, 35, (*range(2, 11), *range(3, 11), *(6,) * 28), 0.03, 10),
)
QUICK = (PipelineCase("mpg", 60, 2, (3, 4), 0.1, 1),)


def pipeline_bars(quick: bool, budget: float) -> list[Bar]:
    """Refits over onefit, at 20 repeats of ten folds."""
    cases = (*QUICK, *QUICK_SEARCHES) if quick else (*CASES, *SEARCHES)
    return [_bar(case, 2 if quick else 20, budget) for case in cases]


def _bar(case: PipelineCase | SearchCase, n_repeats: int, budget: float) -> Bar:
    X, y = case.data()
    model = case.pipeline(is_sparse=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        keywords = {**SETTINGS, "n_repeats": n_repeats}
        ours, result = best_of(lambda: onefit.nested_cv(model, X, y, **keywords), budget)
        if result.route == "refit":
            raise RuntimeError(f"{case.name} was refitted: {result.route_reason}")
        _check(case, X, y)
        refit = _seconds_of_a_refit(model, X, y, budget)
    fits = n_repeats * 10 * 11 / 2
    return Bar(f"{case.label}: faster than refits", fits * refit / ours, case.bar)


def _check(case: PipelineCase | SearchCase, X: pd.DataFrame, y: Any) -> None:
    """That the figures are those of refits; of dense columns, as scikit-learn iterates on sparse ones."""
    some = slice(0, min(case.n, 1500))
    model, keywords = case.pipeline(is_sparse=False), {**SETTINGS, "n_folds": 3, "n_repeats": 1}
    found, expected = (
        onefit.nested_cv(model, X[some], y[some], route=route, **keywords) for route in ("gram", "refit")
    )
    difference = abs(found.raw_estimate / expected.raw_estimate - 1)
    if not difference < TOLERANCE:
        raise RuntimeError(f"{case.name}: differs from refits by {difference:.1e}")


def _seconds_of_a_refit(model: Any, X: pd.DataFrame, y: Any, budget: float) -> float:
    """Of a fit without two folds of ten, and its predictions there."""
    order = np.random.default_rng(1).permutation(len(y))
    out, train = order[: len(y) // 5], np.sort(order[len(y) // 5 :])

    def refit() -> None:
        clone(model).fit(X.iloc[train], y[train]).predict(X.iloc[out])

    return best_of(refit, budget)[0]  # as onefit is timed: a mean would count what disturbs the machine
