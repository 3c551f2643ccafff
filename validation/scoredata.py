"""What ``python -m validation.scores`` draws: settings, models, data sets, and what is true of a fitted model."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np
from scipy.special import expit
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import (
    average_precision_score,
    balanced_accuracy_score,
    brier_score_loss,
    f1_score,
    log_loss,
    roc_auc_score,
)
from sklearn.pipeline import Pipeline, make_pipeline

from onefit.typing import FloatArray, IntArray

__all__ = ["MODELS", "SETTINGS", "DataSet", "Setting", "draw", "true_area", "true_numbers", "true_scores"]

ROWS, COLUMNS, NEW_ROWS = (100, 200, 500), 10, 20_000
MOST_OF_FOREST = 200
"""Rows up to which forests are looked at: they are refitted."""
SIGNALS = {"weak": 0.7, "strong": 2.0}
"""Standard deviation of the log odds, and of the mean of y beside noise of one."""

SHARES = {0.5: {"weak": 0.0, "strong": 0.0}, 0.15: {"weak": -1.92, "strong": -2.72}}
"""By share of positives, the intercept that gives it."""


class Setting(NamedTuple):
    """What is simulated; a share of positives of zero means a regression."""

    model: str
    share: float
    signal: str
    n: int


class DataSet(NamedTuple):
    """Rows, and the seed of their folds."""

    X: FloatArray
    y: FloatArray | IntArray
    seed: int


def on_half(second: bool = False) -> Pipeline:
    """A logistic regression on one half of the columns."""
    half = COLUMNS // 2
    columns = list(range(half, COLUMNS) if second else range(half))
    return make_pipeline(ColumnTransformer([("half", "passthrough", columns)]), LogisticRegression())


def forest() -> RandomForestClassifier:
    """A small forest: two repeats of five folds fit it 30 times."""
    return RandomForestClassifier(10, min_samples_leaf=5, random_state=0)


MODELS: dict[str, dict[str, Any]] = {
    "logistic": {"logistic": LogisticRegression()},
    "pair": {"all": LogisticRegression(), "half": on_half(), "other half": on_half(second=True)},
    "ridge": {"ridge": Ridge()},
    "forest": {"forest": forest(), "logistic": LogisticRegression()},
}
"""By the name of a setting's model what is fitted; the scores are those of the first but for "pair"."""

SETTINGS = [
    Setting(model, share, signal, n)
    for n in ROWS
    for model in MODELS
    if model != "forest" or n <= MOST_OF_FOREST
    for share in ((0.0,) if model == "ridge" else SHARES)
    for signal in SIGNALS
]


@cache
def slopes(signal: str) -> FloatArray:
    """Coefficients, the same for the two halves of the columns."""
    half = np.array([4.0, 3.0, 2.0, 1.0, 0.0])
    whole = np.concatenate([half, half])
    found: FloatArray = SIGNALS[signal] * whole / np.linalg.norm(whole)
    return found


def draw(setting: Setting, number: int) -> DataSet:
    """A data set of its own for every setting and number."""
    rng = np.random.default_rng([crc32(repr(tuple(setting)).encode()), number])
    X = rng.normal(size=(setting.n, COLUMNS))
    if setting.share == 0:
        y = X @ slopes(setting.signal) + rng.normal(size=setting.n)
    else:
        y = (rng.random(setting.n) < _chances(setting.share, setting.signal, X)).astype(int)
    return DataSet(X, y, int(rng.integers(2**31)))


def _chances(share: float, signal: str, X: FloatArray) -> FloatArray:
    """Probability of a positive row."""
    chance: FloatArray = expit(SHARES[share][signal] + X @ slopes(signal))
    return chance


@cache
def _new_rows(share: float, signal: str) -> tuple[FloatArray, IntArray, FloatArray]:
    """New rows, then the classes of each as a positive and as a negative one, and the chances of these as weights."""
    X = np.random.default_rng(2**31).normal(size=(NEW_ROWS, COLUMNS))
    chance = _chances(share, signal, X)
    return X, np.repeat([1, 0], NEW_ROWS), np.concatenate([chance, 1 - chance])


def true_area(setting: Setting, model: Any) -> float:
    """AUC of a fitted classifier on new rows."""
    X, y, w = _new_rows(setting.share, setting.signal)
    return float(roc_auc_score(y, np.tile(model.predict_proba(X)[:, 1], 2), sample_weight=w))


def true_scores(setting: Setting, model: Any) -> dict[str, float]:
    """Scores of a fitted classifier on new rows."""
    X, y, w = _new_rows(setting.share, setting.signal)
    p = np.tile(model.predict_proba(X)[:, 1], 2)
    decided = (p > 0.5).astype(int)
    return {
        "roc_auc": roc_auc_score(y, p, sample_weight=w),
        "neg_log_loss": -log_loss(y, p, sample_weight=w),
        "neg_brier_score": -brier_score_loss(y, p, sample_weight=w),
        "balanced_accuracy": balanced_accuracy_score(y, decided, sample_weight=w),
        "f1": f1_score(y, decided, sample_weight=w, zero_division=0.0),
        "average_precision": average_precision_score(y, p, sample_weight=w),
    }


def true_numbers(setting: Setting, model: Any) -> dict[str, float]:
    """R2 and (minus) the root mean squared error of a fitted linear regression, exactly."""
    beta = slopes(setting.signal)
    error = 1 + float(np.square(model.coef_ - beta).sum() + model.intercept_**2)
    return {"r2": 1 - error / (1 + float(beta @ beta)), "neg_root_mean_squared_error": -np.sqrt(error)}
