"""Lasso, elastic net, latent variables and evidence: learners of Gram matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.cross_decomposition import PLSRegression
from sklearn.linear_model import ARDRegression, BayesianRidge, ElasticNet, Lasso, LinearRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from .contract import ALL_DIRECTIONS, Asked, pick
from .data import numbers, shape, signal
from .precise import PreciseElasticNet
from .preciseridge import PreciseLeastSquares, PreciseRidge

__all__ = ["evidence", "latent", "plain", "selecting"]

LOSSES = {"squared_error": 4, "absolute_error": 1}


def selecting(rng: np.random.Generator) -> Asked:
    """Lasso and elastic net, with penalties from tiny to such that no column is left."""
    X, y = _problem(rng, *shape(rng, 12))
    most = float(np.abs((X - X.mean(axis=0)).T @ (y - y.mean())).max()) / len(y)
    share = rng.uniform(-6, 0.5) if rng.random() < 0.8 else rng.uniform(-10, 4)
    alphas = tuple(sorted(max(most, 1e-12) * 10.0 ** (share + shift) for shift in (-0.7, 0.0, 0.4)))
    ratio = 1.0 if rng.random() < 0.5 else float(rng.uniform(0.05, 1.0))
    free = {"fit_intercept": bool(rng.random() < 0.8)}
    last = Lasso(alphas[1], **free) if ratio == 1 else ElasticNet(alphas[1], l1_ratio=ratio, **free)
    tight = PreciseElasticNet(alphas[1], l1_ratio=ratio, **free)
    return _scaled(rng, last, tight, X, y, ("alpha", alphas))


def latent(rng: np.random.Generator) -> Asked:
    """Partial least squares."""
    X, y = _problem(rng, *shape(rng, 10))
    if rng.random() < 0.3:
        y = np.stack([y, signal(rng, X) + rng.standard_normal(len(y))], axis=1)
    most = min(X.shape[1], 6)
    counts = tuple(range(1, most + 1))
    options = {"n_components": int(rng.integers(1, most + 1)), "scale": bool(rng.random() < 0.7)}
    model = PLSRegression(**options)  # its iterations, for several outputs, end where scikit-learn's do
    curve = ("n_components", counts) if most > 1 else None
    return _scaled(rng, model, model, X, y, curve, takes_weights=False)


def evidence(rng: np.random.Generator) -> Asked:
    """Bayesian ridge regression and relevance determination."""
    X, y = _problem(rng, *shape(rng))
    kind = ARDRegression if rng.random() < 0.3 else BayesianRidge
    tol = float(pick(rng, {1e-3: 3, 1e-6: 1, 1e-10: 1}))
    model = kind(tol=tol, fit_intercept=bool(rng.random() < 0.8))  # its iterations end where scikit-learn's do
    return _scaled(rng, model, model, X, y, None, takes_weights=False)


def _problem(rng: np.random.Generator, n: int, p: int) -> tuple[np.ndarray, np.ndarray]:
    X = numbers(rng, n, p)
    y = 2 * signal(rng, X) + rng.standard_normal(n)
    return X, y * 10.0 ** rng.uniform(-3, 3) if rng.random() < 0.3 else y


def _scaled(
    rng: np.random.Generator, last: Any, tight: Any, X: np.ndarray, y: np.ndarray, path: Any, takes_weights: bool = True
) -> Asked:
    """As it is, or behind a scaler."""
    loss = pick(rng, LOSSES)
    if rng.random() < 0.7:
        return Asked(last, tight, X, y, loss, takes_weights, path)
    pair = make_pipeline(StandardScaler(), last), make_pipeline(StandardScaler(), tight)
    pair[1].steps[-1] = (pair[0].steps[-1][0], tight)
    behind = None if path is None else (f"{pair[0].steps[-1][0]}__{path[0]}", path[1])
    return Asked(*pair, X, y, loss, takes_weights, behind)


def plain(rng: np.random.Generator) -> Asked:
    """Least squares and ridge regression, for folds and sources that are not plain."""
    n, p = shape(rng, 6)
    X = numbers(rng, n, p)
    y = signal(rng, X) + rng.standard_normal(n)
    alpha = float(10 ** rng.uniform(-6, 5))
    free = {"fit_intercept": bool(rng.random() < 0.8)}
    if rng.random() < 0.2:
        model: Any = LinearRegression(**free, **ALL_DIRECTIONS)
        return Asked(model, PreciseLeastSquares(**free, **ALL_DIRECTIONS), X, y)
    return Asked(Ridge(alpha, **free), PreciseRidge(alpha, **free), X, y, pick(rng, LOSSES))
