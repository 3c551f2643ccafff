"""Learners that have their statistics in common with least squares, beside refits of the same object."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.cross_decomposition import PLSRegression
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF
from sklearn.linear_model import ARDRegression, BayesianRidge, Lasso, LassoCV

import onefit

from .bars import Bar
from .measure import TOLERANCE, best_of

__all__ = ["CASES", "LearnerCase", "learner_bars"]

SETTINGS: dict[str, Any] = {"n_folds": 10, "random_state": 0}
TIGHT = 1e-12


@dataclass(frozen=True)
class LearnerCase:
    """A model, its rows and columns, a parameter with the values of a curve, and the bar."""

    model: Any
    n: int
    width: int
    bar: float
    parameter: str | None = None
    values: tuple[Any, ...] = ()

    @property
    def label(self) -> str:
        """What is computed, for people."""
        curve = f", curve of {len(self.values)} values of {self.parameter}" if self.parameter else ""
        return f"{type(self.model).__name__}, {self.n:,} rows, {self.width} columns{curve}"

    def data(self) -> tuple[Any, Any]:
        """Columns that resemble each other, of which eight matter."""
        rng = np.random.default_rng(0)
        X = rng.normal(size=(self.n, self.width)) + 0.5 * rng.normal(size=(self.n, 1))
        return X, X[:, :8].sum(axis=1) + 3.0 * rng.normal(size=self.n)

    def run(self, model: Any, X: Any, y: Any, **keywords: Any) -> Any:
        """The curve, or the one model."""
        if self.parameter is None:
            return onefit.nested_cv(model, X, y, **{**SETTINGS, **keywords})
        path = {"param_name": self.parameter, "param_range": list(self.values)}
        return onefit.error_curve(model, X, y, **path, **{**SETTINGS, **keywords})

    def models(self) -> list[Any]:
        """Those that refits would fit to a training set."""
        if self.parameter is None:
            return [self.model]
        return [clone(self.model).set_params(**{self.parameter: value}) for value in self.values]


ALPHAS = tuple(np.geomspace(0.01, 1.0, 50))
CASES = (
    LearnerCase(Lasso(alpha=0.1), 1000, 50, 15),
    LearnerCase(Lasso(), 1000, 50, 30, "alpha", ALPHAS),
    LearnerCase(LassoCV(), 1000, 50, 5),
    LearnerCase(PLSRegression(), 200, 400, 50, "n_components", tuple(range(1, 21))),
    LearnerCase(BayesianRidge(), 1000, 20, 10),
    LearnerCase(ARDRegression(), 1000, 20, 10),
    LearnerCase(GaussianProcessRegressor(RBF(5.0), alpha=1.0, optimizer=None), 300, 5, 10),
)
QUICK = (
    LearnerCase(Lasso(alpha=0.1), 40, 8, 1),
    LearnerCase(PLSRegression(), 40, 8, 1, "n_components", (1, 2)),
)


def learner_bars(quick: bool, budget: float) -> list[Bar]:
    """Refits over onefit, at 20 repeats of ten folds."""
    return [_bar(case, 2 if quick else 20, budget) for case in (QUICK if quick else CASES)]


def _bar(case: LearnerCase, n_repeats: int, budget: float) -> Bar:
    X, y = case.data()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _check(case, X, y)
        ours, _ = best_of(lambda: case.run(case.model, X, y, n_repeats=n_repeats), budget)
        refits = sum(best_of(_refit(model, X, y), budget / len(case.models()))[0] for model in case.models())
    fits = n_repeats * 10 * 11 / 2
    return Bar(f"{case.label}: faster than refits", fits * refits / ours, case.bar)


def _check(case: LearnerCase, X: Any, y: Any) -> None:
    """That no refits were made, and the figures are those of refits that have converged."""
    some = slice(0, min(case.n, 300))
    keywords = {"n_folds": 3, "n_repeats": 1}
    found = case.run(case.model, X[some], y[some], **keywords)
    route = (found if case.parameter is None else found.results[0]).route
    if route == "refit":
        raise RuntimeError(f"{case.label} was refitted")
    is_descent = isinstance(case.model, Lasso | LassoCV)
    model = clone(case.model).set_params(tol=TIGHT, max_iter=100_000) if is_descent else case.model
    expected = case.run(model, X[some], y[some], route="refit", **keywords)
    difference = np.abs(np.asarray(found.estimate) / np.asarray(expected.estimate) - 1).max()
    if not difference < TOLERANCE:
        raise RuntimeError(f"{case.label}: differs from refits by {difference:.1e}")


def _refit(model: Any, X: Any, y: Any) -> Callable[[], None]:
    """A fit without two folds of ten, and its predictions there."""
    order = np.random.default_rng(1).permutation(len(y))
    out, train = order[: len(y) // 5], np.sort(order[len(y) // 5 :])

    def refit() -> None:
        clone(model).fit(X[train], y[train]).predict(X[out])

    return refit
