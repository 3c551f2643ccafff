"""Nearest neighbours, discriminants and naive Bayes."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from .contract import Asked, pick
from .data import classes, numbers, shape, signal
from .precisebayes import PreciseGaussianNB

__all__ = ["discriminants", "neighbours"]

CLASS_LOSSES = {"zero_one": 1, "log_loss": 1, "brier": 1}


def neighbours(rng: np.random.Generator) -> Asked:
    """Regression or classification; columns with ties now and then."""
    n, p = shape(rng, 5)
    X = numbers(rng, n, p)
    counts = tuple(range(1, 8, 2))
    options: dict[str, Any] = {
        "n_neighbors": int(rng.integers(1, 8)),
        "weights": pick(rng, {"uniform": 2, "distance": 1}),
        "p": pick(rng, {2: 3, 1: 1}),
        "algorithm": pick(rng, {"auto": 2, "brute": 1, "kd_tree": 1}),
    }
    if rng.random() < 0.5:
        y, model = signal(rng, X) + rng.standard_normal(n), KNeighborsRegressor(**options)
        loss = pick(rng, {"squared_error": 2, "absolute_error": 1})
    else:
        y, model = classes(rng, X, int(rng.integers(2, 4))), KNeighborsClassifier(**options)
        loss = pick(rng, {"zero_one": 2, "brier": 1})
    last: Any = make_pipeline(StandardScaler(), model) if rng.random() < 0.4 else model
    return Asked(
        last, last, X, y, loss, takes_weights=False, path=None if last is not model else ("n_neighbors", counts)
    )


def discriminants(rng: np.random.Generator) -> Asked:
    """Linear, quadratic and with independent columns."""
    n, p = shape(rng, 5)
    X = numbers(rng, n, p, is_plain=bool(rng.random() < 0.5))
    y = classes(rng, X, int(rng.integers(2, 4)), strength=2.0)
    kind = pick(rng, {"linear": 3, "quadratic": 2, "naive": 2})
    path: Any = None
    tight: Any = None
    if kind == "linear":
        solver = pick(rng, {"svd": 2, "lsqr": 1, "eigen": 1})
        shrinkage = None if solver == "svd" else pick(rng, {None: 1, float(rng.uniform(0, 1)): 2, "auto": 1})
        model: Any = LinearDiscriminantAnalysis(solver=solver, shrinkage=shrinkage)
    elif kind == "quadratic":
        model = QuadraticDiscriminantAnalysis(reg_param=pick(rng, {0.0: 1, float(rng.uniform(0, 1)): 1}))
        path = ("reg_param", (0.0, 0.1, 0.7))
    else:
        model = GaussianNB(var_smoothing=10.0 ** pick(rng, {-9: 2, float(rng.uniform(-12, 0)): 1}))
        tight = PreciseGaussianNB(var_smoothing=model.var_smoothing)
        path = ("var_smoothing", (1e-9, 1e-3, 0.1))
    is_bare = rng.random() >= 0.3
    last, exact = (each if is_bare else make_pipeline(StandardScaler(), each) for each in (model, tight or model))
    if not is_bare:
        exact.steps[-1] = (last.steps[-1][0], exact.steps[-1][1])
    return Asked(last, exact, X, y, pick(rng, CLASS_LOSSES), kind == "naive", path if is_bare else None)
