"""Encoders, imputers, scalers and rotations before a linear fit: all of them learn from every training set."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.feature_selection import SelectKBest, VarianceThreshold, f_regression
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    RobustScaler,
    StandardScaler,
)

from .contract import ALL_DIRECTIONS, Asked, pick
from .data import table
from .preciseridge import PreciseLeastSquares, PreciseRidge

__all__ = ["encoder", "pipelines"]


def pipelines(rng: np.random.Generator) -> Asked:
    """A table of numbers and levels, with gaps, into ridge regression or least squares."""
    frame, y = table(rng, int(rng.integers(26, 61)))
    steps = [encoder(rng, frame)]
    if rng.random() < 0.2:
        steps.append((pick(rng, {"scale": 1, "threshold": 1}) == "scale" and StandardScaler()) or VarianceThreshold())
    elif rng.random() < 0.25:
        steps.append(SelectKBest(f_regression, k=int(rng.integers(1, 3))))
    elif rng.random() < 0.25:
        steps.append(PCA(int(rng.integers(1, 3)), svd_solver=pick(rng, {"auto": 1, "full": 1, "covariance_eigh": 1})))
    alphas = tuple(sorted({float(10 ** rng.uniform(-6, 5)) for _ in range(3)}))
    last: Any = (
        LinearRegression(**ALL_DIRECTIONS)
        if rng.random() < 0.25
        else Ridge(alphas[0], fit_intercept=rng.random() < 0.8)
    )
    model = make_pipeline(*steps, last)
    tight = make_pipeline(*steps, last)
    exact = PreciseRidge(last.alpha, fit_intercept=last.fit_intercept) if isinstance(last, Ridge) else None
    tight.steps[-1] = (model.steps[-1][0], exact or PreciseLeastSquares(**ALL_DIRECTIONS))
    path = ("ridge__alpha", alphas) if isinstance(last, Ridge) else None
    return Asked(model, tight, frame, y, pick(rng, {"squared_error": 4, "absolute_error": 1}), path=path)


def encoder(rng: np.random.Generator, frame: Any) -> ColumnTransformer:
    """What becomes of numbers, and of levels."""
    numeric = [name for name in frame if name in "abcd"]
    levels = [name for name in frame if name not in numeric]
    parts = [("numbers", make_pipeline(*_for_numbers(rng)), numeric)]
    dropped = rng.random() < 0.1
    parts.append(("levels", "drop" if dropped else make_pipeline(*_for_levels(rng)), levels))
    return ColumnTransformer(parts)


def _for_numbers(rng: np.random.Generator) -> list[Any]:
    strategy = pick(rng, {"mean": 3, "median": 2, "most_frequent": 1, "constant": 1})
    imputer = SimpleImputer(strategy=strategy, add_indicator=bool(rng.random() < 0.3))
    scaler = pick(rng, {"standard": 5, "none": 2, "minmax": 1, "maxabs": 1, "robust": 1})
    scalers = {
        "standard": StandardScaler(with_mean=bool(rng.random() < 0.8), with_std=bool(rng.random() < 0.8)),
        "minmax": MinMaxScaler(),
        "maxabs": MaxAbsScaler(),
        "robust": RobustScaler(),
    }
    return [imputer] if scaler == "none" else [imputer, scalers[scaler]]


def _for_levels(rng: np.random.Generator) -> list[Any]:
    imputer = SimpleImputer(strategy=pick(rng, {"most_frequent": 1, "constant": 1}), fill_value=None)
    if rng.random() < 0.15:
        return [imputer, OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)]
    hot = OneHotEncoder(
        sparse_output=False,
        handle_unknown=pick(rng, {"ignore": 4, "infrequent_if_exist": 1, "error": 1}),
        drop=pick(rng, {None: 3, "first": 1, "if_binary": 1}),
        min_frequency=pick(rng, {None: 3, 3: 1}),
    )
    return [imputer, hot]
