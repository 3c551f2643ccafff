"""Logistic, Poisson, gamma and Tweedie regression: the newton route."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.linear_model import GammaRegressor, LogisticRegression, PoissonRegressor, TweedieRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from .contract import Asked, pick
from .data import classes, numbers, shape, signal
from .near import CLASS_LOSSES
from .precise import PreciseFamily, PreciseLogistic

__all__ = ["generalized", "logistic"]


def logistic(rng: np.random.Generator) -> Asked:
    """Two or three classes; penalties from strong to none."""
    n, p = shape(rng, 6)
    X = numbers(rng, n, p)
    y = classes(rng, X, int(pick(rng, {2: 3, 3: 1})), strength=float(rng.uniform(0, 2)))
    Cs = tuple(sorted(float(10 ** rng.uniform(-4, 4)) for _ in range(3)))
    options: dict[str, Any] = {
        "C": np.inf if rng.random() < 0.1 else Cs[1],
        "fit_intercept": bool(rng.random() < 0.85),
        "class_weight": pick(rng, {None: 4, "balanced": 1}),
    }
    return _scaled(
        rng, LogisticRegression(**options), PreciseLogistic(**options), X, y, pick(rng, CLASS_LOSSES), ("C", Cs)
    )


def generalized(rng: np.random.Generator) -> Asked:
    """Counts and positive numbers."""
    n, p = shape(rng, 6)
    X = numbers(rng, n, p)
    mean = np.exp(rng.uniform(0, 1) * signal(rng, X) + rng.uniform(-1, 2))
    kind = pick(rng, {"poisson": 2, "gamma": 1, "tweedie": 1})
    alphas = tuple(sorted(float(10 ** rng.uniform(-6, 3)) for _ in range(3)))
    free = {"alpha": 0.0 if rng.random() < 0.1 else alphas[1], "fit_intercept": bool(rng.random() < 0.85)}
    if kind == "poisson":
        y, model, power = rng.poisson(mean).astype(float), PoissonRegressor(**free), 1.0
    elif kind == "gamma":
        y, model, power = rng.gamma(2.0, mean / 2) + 1e-3, GammaRegressor(**free), 2.0
    else:
        power = float(pick(rng, {0.0: 1, 1.5: 2, float(rng.uniform(1, 2)): 2}))
        y = np.where(rng.random(n) < 0.2, 0.0, rng.gamma(2.0, mean / 2) + 1e-3)
        model = TweedieRegressor(power=power, **free)
    losses = {"squared_error": 2, "absolute_error": 1}
    if kind == "poisson":
        losses["poisson_deviance"] = 2
    elif kind == "gamma":
        losses["gamma_deviance"] = 2
    return _scaled(rng, model, PreciseFamily(power, **free), X, y, pick(rng, losses), ("alpha", alphas))


def _scaled(
    rng: np.random.Generator, last: Any, tight: Any, X: np.ndarray, y: np.ndarray, loss: str, path: Any
) -> Asked:
    """As it is, or, more often, behind a scaler."""
    if rng.random() < 0.4:
        return Asked(last, tight, X, y, loss, path=path)
    pair = make_pipeline(StandardScaler(), last), make_pipeline(StandardScaler(), tight)
    name = pair[0].steps[-1][0]
    pair[1].steps[-1] = (name, tight)
    return Asked(*pair, X, y, loss, path=(f"{name}__{path[0]}", path[1]))
