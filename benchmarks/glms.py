"""Generalized linear models on the newton route, beside refits of the same object at scikit-learn's own tolerance."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.linear_model import GammaRegressor, LogisticRegression, PoissonRegressor

import onefit
from onefit.typing import AnyArray, FloatArray

from .bars import Bar
from .measure import best_of

__all__ = ["CASES", "GLMCase", "glm_bars"]

SETTINGS = {"n_folds": 10, "random_state": 0}

AGREED = 1e-7
"""Largest relative difference from refits that are taken to convergence."""


@dataclass(frozen=True)
class GLMCase:
    """A model, its shape, the values of a curve over C, and the bar."""

    model: str
    n: int
    p: int
    bar: float | None
    n_classes: int = 2
    n_values: int = 1

    @property
    def label(self) -> str:
        """The job, for people."""
        classes = f", {self.n_classes} classes" if self.n_classes > 2 else ""
        curve = f", curve of {self.n_values} C" if self.n_values > 1 else ""
        return f"{self.model}, {self.n:,} x {self.p}{classes}{curve}"

    @property
    def values(self) -> FloatArray:
        """Penalties of a curve."""
        return np.logspace(-3, 3, self.n_values)

    def data(self) -> tuple[FloatArray, AnyArray]:
        """Columns that tell y to some extent."""
        rng = np.random.default_rng(0)
        X = rng.standard_normal((self.n, self.p))
        eta = 1.5 * X @ rng.standard_normal((self.p, self.n_classes)) / np.sqrt(self.p)
        if self.model == "poisson":
            return X, rng.poisson(np.exp(0.5 * eta[:, 0]))
        if self.model == "gamma":
            return X, rng.gamma(2.0, np.exp(0.5 * eta[:, 0]) / 2)
        if self.n_classes == 2:
            return X, (rng.random(self.n) < 1 / (1 + np.exp(-eta[:, 0]))).astype(int)
        return X, (eta + rng.gumbel(size=eta.shape)).argmax(axis=1)

    def estimator(self, **parameters: Any) -> Any:
        """As people write it."""
        if self.model == "logistic":
            return LogisticRegression(**parameters)
        return (PoissonRegressor if self.model == "poisson" else GammaRegressor)(alpha=0.01, **parameters)


CASES = (
    GLMCase("logistic", 200, 20, 40),
    GLMCase("logistic", 500, 20, 40),
    GLMCase("logistic", 2_000, 50, 15),
    GLMCase("logistic", 100_000, 20, 4),
    GLMCase("logistic", 1_000, 20, 15, n_classes=5),
    GLMCase("logistic", 500, 20, 60, n_values=20),
    GLMCase("poisson", 500, 20, None),
    GLMCase("gamma", 500, 20, None),
)
QUICK = (GLMCase("logistic", 60, 3, None), GLMCase("logistic", 60, 3, None, n_values=2), GLMCase("gamma", 60, 3, None))


def glm_bars(quick: bool, budget: float) -> list[Bar]:
    """Refits over onefit, at 20 repeats of ten folds; at 2 of 100,000 rows, where a repeat is like another."""
    return [_bar(case, budget, quick) for case in (QUICK if quick else CASES)]


def _bar(case: GLMCase, budget: float, quick: bool) -> Bar:
    X, y = case.data()
    n_repeats = 2 if quick or case.n > 10_000 else 20
    keywords = {**SETTINGS, "n_repeats": n_repeats}
    model = case.estimator()

    def run() -> Any:
        if case.n_values == 1:
            return onefit.nested_cv(model, X, y, **keywords)
        return onefit.error_curve(model, X, y, param_name="C", param_range=case.values, **keywords).results[0]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours, result = best_of(run, budget)
        if result.route != "newton":
            raise RuntimeError(f"{case.label} was refitted: {result.route_reason}")
        _check(case, X, y)
        refits = [_seconds_of_a_refit(each, X, y, budget / case.n_values) for each in _estimators(case)]
    fits = n_repeats * 10 * 11 / 2
    bar = case.bar is not None
    return Bar(f"{case.label}: faster than refits", fits * sum(refits) / ours, case.bar or 1.0, counts=bar)


def _estimators(case: GLMCase) -> list[Any]:
    """One for each value."""
    if case.n_values == 1:
        return [case.estimator()]
    return [case.estimator(C=value) for value in case.values]


def _check(case: GLMCase, X: FloatArray, y: AnyArray) -> None:
    """That losses are those of refits that have converged."""
    some, loss = slice(0, min(case.n, 1000)), "absolute_error" if case.model != "logistic" else "log_loss"
    tight = case.estimator(tol=1e-10, max_iter=10_000, solver="newton-cholesky")
    keywords = {**SETTINGS, "n_folds": 3, "n_repeats": 1, "loss": loss}
    found, expected = (
        onefit.nested_cv(tight, X[some], y[some], route=route, **keywords) for route in ("newton", "refit")
    )
    difference = abs(found.raw_estimate / expected.raw_estimate - 1)
    if not difference < AGREED:
        raise RuntimeError(f"{case.label}: differs from refits by {difference:.1e}")


def _seconds_of_a_refit(model: Any, X: FloatArray, y: AnyArray, budget: float) -> float:
    """Of a fit without two folds of ten, and its predictions there."""
    order = np.random.default_rng(1).permutation(len(y))
    out, train = order[: len(y) // 5], np.sort(order[len(y) // 5 :])

    def refit() -> None:
        clone(model).fit(X[train], y[train]).predict(X[out])

    return best_of(refit, budget)[0]
