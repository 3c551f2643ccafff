"""Penalties that are searched for inside of every training set."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.linear_model import ElasticNetCV, Lasso, LassoCV, LogisticRegression, Ridge, RidgeCV
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from .contract import Asked, pick
from .data import classes, numbers, shape, signal
from .precise import PreciseElasticNet, PreciseLogistic
from .preciseridge import FirstRidgeCV

__all__ = ["searches"]


def searches(rng: np.random.Generator) -> Asked:
    """RidgeCV, LassoCV, ElasticNetCV and GridSearchCV over penalties."""
    n, p = shape(rng, 6)
    X = numbers(rng, n, p)
    kind = pick(rng, {"ridge": 3, "grid": 3, "lasso": 1, "net": 1, "selected": 1, "logistic": 2})
    y = signal(rng, X) + rng.standard_normal(n)
    alphas = np.sort(10 ** rng.uniform(-3, 4, int(rng.integers(2, 6))))
    cv: Any = pick(rng, {3: 1, None: 1, KFold(4, shuffle=True, random_state=0): 1})
    if kind == "ridge":
        model = RidgeCV(alphas, cv=cv, alpha_per_target=False)
        tight = FirstRidgeCV(alphas, alpha_per_target=False) if cv is None else model
        return _of(rng, model, tight, X, y)
    if kind == "grid":
        steps = make_pipeline(StandardScaler(), Ridge()) if rng.random() < 0.6 else Ridge()
        name = "alpha" if isinstance(steps, Ridge) else "ridge__alpha"
        scoring = pick(rng, {None: 1, "neg_mean_squared_error": 1, "neg_mean_absolute_error": 1})
        model = GridSearchCV(steps, {name: alphas}, cv=cv, scoring=scoring)
        return _of(rng, model, model, X, y)
    if kind in ("lasso", "net"):
        make = LassoCV if kind == "lasso" else ElasticNetCV
        return _of(rng, make(cv=cv, alphas=12), make(cv=cv, alphas=12, tol=1e-13, max_iter=20_000), X, y)
    grid = np.sort(10 ** rng.uniform(-3, 1, 3))
    if kind == "selected":
        tight = PreciseElasticNet(l1_ratio=1.0)
        pair = (GridSearchCV(each, {"alpha": grid}, cv=cv) for each in (Lasso(), tight))
        return _of(rng, *pair, X, y)
    labels = classes(rng, X, 2)
    scoring = pick(rng, {"neg_log_loss": 2, "roc_auc": 1, "accuracy": 1})
    scaled = [make_pipeline(StandardScaler(), each) for each in (LogisticRegression(), PreciseLogistic())]
    scaled[1].steps[-1] = (scaled[0].steps[-1][0], scaled[1].steps[-1][1])
    pair = (GridSearchCV(each, {"logisticregression__C": grid}, cv=cv, scoring=scoring) for each in scaled)
    return Asked(*pair, X, labels, pick(rng, {"zero_one": 1, "log_loss": 1}), takes_weights=False)


def _of(rng: np.random.Generator, model: Any, tight: Any, X: np.ndarray, y: np.ndarray) -> Asked:
    takes_weights = isinstance(model, RidgeCV) and model.cv is None
    return Asked(model, tight, X, y, pick(rng, {"squared_error": 4, "absolute_error": 1}), takes_weights)
