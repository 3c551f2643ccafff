"""Nearest neighbours, discriminant analysis and naive Bayes beside refits, and what many outputs cost."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.linear_model import Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

import onefit

from .bars import Bar
from .measure import TOLERANCE, best_of, gemm_speed

__all__ = ["CASES", "ClassifierCase", "classifier_bars"]

SETTINGS = {"n_folds": 10, "random_state": 0}


@dataclass(frozen=True)
class ClassifierCase:
    """An estimator, rows, columns, and the bar."""

    estimator: Any
    n: int
    p: int
    bar: float

    @property
    def label(self) -> str:
        """For people."""
        return f"{self.estimator}, {self.n:,} x {self.p}"

    def data(self) -> tuple[Any, Any]:
        """Two classes, or numbers for a regressor."""
        rng = np.random.default_rng(0)
        X = rng.normal(size=(self.n, self.p))
        y = X[:, 0] + X[:, 1] + rng.normal(size=self.n)
        return X, y if isinstance(self.estimator, KNeighborsRegressor) else (y > 0).astype(int)


CASES = (
    ClassifierCase(KNeighborsRegressor(), 2000, 10, 20),
    ClassifierCase(KNeighborsClassifier(), 2000, 10, 20),
    ClassifierCase(LinearDiscriminantAnalysis(), 1000, 20, 50),
    ClassifierCase(LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto"), 1000, 20, 50),
    ClassifierCase(QuadraticDiscriminantAnalysis(), 1000, 20, 10),
    ClassifierCase(GaussianNB(), 1000, 20, 50),
)
QUICK = tuple(ClassifierCase(case.estimator, 80, 3, 0.01) for case in CASES)


def classifier_bars(quick: bool, budget: float) -> list[Bar]:
    """Refits over onefit, at 20 repeats of ten folds; then the cost of outputs over that of their products."""
    found = [_bar(case, 2 if quick else 20, budget) for case in (QUICK if quick else CASES)]
    return [*found, _bar_of_outputs(quick, budget)]


def _bar(case: ClassifierCase, n_repeats: int, budget: float) -> Bar:
    X, y = case.data()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        keywords = {**SETTINGS, "n_repeats": n_repeats}
        ours, result = best_of(lambda: onefit.nested_cv(case.estimator, X, y, **keywords), budget)
        if result.route == "refit":
            raise RuntimeError(f"{case.label} was refitted: {result.route_reason}")
        figures = [
            onefit.nested_cv(case.estimator, X, y, n_folds=3, n_repeats=1, random_state=0, route=route).raw_estimate
            for route in (result.route, "refit")
        ]
        if not abs(figures[0] - figures[1]) < TOLERANCE:
            raise RuntimeError(f"{case.label}: differs from refits by {figures[0] - figures[1]:.1e}")
        refit = _seconds_of_a_refit(case, X, y, budget)
    return Bar(f"{case.label}: faster than refits", n_repeats * 55 * refit / ours, case.bar)


def _seconds_of_a_refit(case: ClassifierCase, X: Any, y: Any, budget: float) -> float:
    """Of a fit without two folds of ten, and its predictions of both."""
    order = np.random.default_rng(1).permutation(case.n)
    first, second, train = np.split(order, [case.n // 10, case.n // 5])

    def refit() -> None:
        fitted = clone(case.estimator).fit(X[train], y[train])
        fitted.predict(X[first])
        fitted.predict(X[second])

    return best_of(refit, budget)[0]


def _bar_of_outputs(quick: bool, budget: float) -> Bar:
    """A curve of 20 penalties of 1,000 outputs, over the products that predict them in every training set."""
    n, p, Q, V = (60, 10, 20, 3) if quick else (500, 200, 1000, 20)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, p))
    Y = X @ rng.normal(size=(p, Q)) / np.sqrt(p) + rng.normal(size=(n, Q))
    keywords = {**SETTINGS, "n_repeats": 1, "param_name": "alpha", "param_range": np.logspace(-1, 4, V)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        one, _ = best_of(lambda: onefit.error_curve(Ridge(), X, Y[:, :1], **keywords), budget)
        many, _ = best_of(lambda: onefit.error_curve(Ridge(), X, Y, **keywords), budget)
    products = 2.0 * n * 10 * p * Q * V / gemm_speed(200 if quick else 1500)
    name = f"{Q:,} outputs, {V} penalties, {n} x {p}: cost beyond one output over that of their products"
    return Bar(name, (many - one) / products, 3.0, at_least=False, counts=not quick)
