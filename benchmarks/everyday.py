"""What a question costs whoever would have typed `cross_val_score`: the table on the first page.

One table of 1,000 rows with text and gaps, the models that people put behind it, and nothing chosen: `nested_cv` and
`cross_val_score` with their own defaults, which are five folds there.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.linear_model import Lasso, LassoCV, LogisticRegression, PoissonRegressor, Ridge, RidgeCV
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline

import onefit

from .measure import best_of
from .pipelines import PipelineCase

__all__ = ["HEAD", "MODELS", "EverydayLine", "everyday", "times"]

HEAD = ("your model", "how it is computed", "times cross_val_score", "by refits")
TABLE = PipelineCase("houses", 1_000, 5, (6, 12), 0.05, 0)
TINY = PipelineCase("houses", 60, 2, (3,), 0.05, 0)
WORDS = {
    "gram": "no refits, from sums over the rows",
    "onestep": "no refits, from one fit",
    "newton": "no refits, all fits iterated at once",
    "neighbours": "no refits, one list of neighbours a row",
    "refit": "refitted",
}
CV_FOLDS = 5
ALPHAS = np.logspace(-2, 3, 20)


@dataclass(frozen=True)
class Everyday:
    """A model by its name, the last step, whether encoders and imputers come first, what it predicts, and a search."""

    name: str
    last: Callable[[], Any]
    is_encoded: bool = True
    target: str = "number"
    is_searched: bool = False

    def job(self, table: PipelineCase) -> tuple[Any, Any, Any]:
        """The estimator, X and y."""
        frame, y = table.data()
        if self.is_encoded:
            steps = table.pipeline(is_sparse=False)[:-1]
            model, X = make_pipeline(*(step for _, step in steps.steps), self.last()), frame
        else:
            numbers = frame.select_dtypes("number")
            model, X = self.last(), numbers.fillna(numbers.median())
        if self.is_searched:
            model = GridSearchCV(model, {"ridge__alpha": ALPHAS})
        if self.target == "class":
            return model, X, (y > np.median(y)).astype(int)
        if self.target == "count":
            return model, X, np.round(np.exp((y - y.mean()) / (2 * y.std()))).astype(int)
        return model, X, y


MODELS = (
    Everyday("`Ridge` of plain columns", Ridge, is_encoded=False),
    Everyday("encoders, imputers, `Ridge`", Ridge),
    Everyday("the same with `RidgeCV`, 20 penalties", lambda: RidgeCV(ALPHAS)),
    Everyday("the same in `GridSearchCV`, 20 penalties", Ridge, is_searched=True),
    Everyday("the same with `Lasso`", lambda: Lasso(0.02)),
    Everyday("the same with `LassoCV`", LassoCV),
    Everyday("the same with `LogisticRegression`", LogisticRegression, target="class"),
    Everyday("the same with `PoissonRegressor`", lambda: PoissonRegressor(alpha=0.01), target="count"),
    Everyday("`LinearDiscriminantAnalysis`", LinearDiscriminantAnalysis, is_encoded=False, target="class"),
    Everyday("`KNeighborsRegressor`", lambda: KNeighborsRegressor(15), is_encoded=False),
    Everyday("encoders, imputers, boosted trees", lambda: HistGradientBoostingRegressor(random_state=0)),
    Everyday("encoders, imputers, random forest", lambda: RandomForestRegressor(random_state=0)),
)


@dataclass(frozen=True)
class EverydayLine:
    """A model, how it is computed, its time over that of `cross_val_score`, and what refits would take instead."""

    model: str
    how: str
    ratio: float
    by_refits: str

    def cells(self) -> list[str]:
        """Text of the line."""
        return [self.model, self.how, times(self.ratio), self.by_refits]


def everyday(quick: bool, budget: float) -> list[EverydayLine]:
    """A line for each model: how it is computed, and its cost in units of `cross_val_score`."""
    table, models = (TINY, MODELS[:3]) if quick else (TABLE, MODELS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [_line(model, table, budget) for model in models]


def _line(which: Everyday, table: PipelineCase, budget: float) -> EverydayLine:
    model, X, y = which.job(table)
    ours, result = best_of(lambda: onefit.nested_cv(model, X, y, random_state=0, progress=False), budget)
    theirs, _ = best_of(lambda: cross_val_score(model, X, y, cv=CV_FOLDS), budget)
    K, repeats = result.n_folds, result.n_repeats
    drawn = "every pair of rows left out" if result.n_folds == len(y) else f"{K} folds, {repeats} repeats"
    by_refits = times(repeats * K * (K + 1) / 2 / CV_FOLDS)
    how = f"{WORDS[result.route]}; {drawn}"
    return EverydayLine(which.name, how, ours / theirs, by_refits if result.route != "refit" else "the same")


def times(ratio: float) -> str:
    """Two digits, and whole from 10."""
    return f"{ratio:,.0f}" if ratio >= 10 else f"{ratio:.2g}"
