"""What people do with the held-out predictions of one cross-validation, for ``python -m validation.scores``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats
from sklearn.base import clone, is_classifier
from sklearn.model_selection import KFold, StratifiedKFold

from onefit.typing import FloatArray, IntArray

__all__ = ["Predicted", "bootstrap", "delong", "naive"]

RESAMPLES = 200

Figures = dict[str, tuple[float, float, float]]
"""Estimate, low and high by metric."""


@dataclass(frozen=True)
class Predicted:
    """Held-out predictions of one cross-validation: probabilities of the second class, or numbers."""

    y: FloatArray
    p: FloatArray
    folds: IntArray
    has_classes: bool

    @classmethod
    def of(cls, model: Any, X: FloatArray, y: FloatArray, K: int, seed: int) -> Predicted:
        """Cross-validate once, with shuffled folds."""
        classes = is_classifier(model)
        splitter = (StratifiedKFold if classes else KFold)(K, shuffle=True, random_state=seed)
        p, folds = np.empty(len(y)), np.empty(len(y), dtype=np.intp)
        for fold, (train, test) in enumerate(splitter.split(X, y)):
            fitted = clone(model).fit(X[train], y[train])
            p[test] = fitted.predict_proba(X[test])[:, 1] if classes else fitted.predict(X[test])
            folds[test] = fold
        return cls(y.astype(float), p, folds, classes)

    def scores(self, rows: IntArray) -> dict[str, FloatArray]:
        """Every metric on each set of rows (B, m)."""
        y, p = self.y[rows], self.p[rows]
        if not self.has_classes:
            mse = np.square(y - p).mean(axis=1)
            return {"r2": 1 - mse / y.var(axis=1), "neg_root_mean_squared_error": -np.sqrt(mse)}
        q = np.clip(p, 1e-15, 1 - 1e-15)
        n1, n0 = y.sum(axis=1), (1 - y).sum(axis=1)
        hit, called = (y * (p > 0.5)).sum(axis=1), (p > 0.5).sum(axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            return {
                "roc_auc": _auc(y, p, n1, n0),
                "neg_log_loss": (y * np.log(q) + (1 - y) * np.log(1 - q)).mean(axis=1),
                "neg_brier_score": -np.square(y - p).mean(axis=1),
                "balanced_accuracy": (hit / n1 + (n0 - called + hit) / n0) / 2,
                "f1": np.where(called + n1 > 0, 2 * hit / (called + n1), 0.0),
                "average_precision": _average_precision(y, p, n1),
            }


def _auc(y: FloatArray, p: FloatArray, n1: FloatArray, n0: FloatArray) -> FloatArray:
    ranks = stats.rankdata(p, axis=1)
    area: FloatArray = ((ranks * y).sum(axis=1) - n1 * (n1 + 1) / 2) / (n1 * n0)
    return area


def _average_precision(y: FloatArray, p: FloatArray, n1: FloatArray) -> FloatArray:
    """Mean over positives of the precision at their score, ties together."""
    order = np.argsort(-p, axis=1, kind="stable")
    sorted_y, sorted_p = np.take_along_axis(y, order, 1), np.take_along_axis(p, order, 1)
    precision = sorted_y.cumsum(axis=1) / np.arange(1, y.shape[1] + 1)
    last = np.ones(y.shape, dtype=bool)
    last[:, :-1] = sorted_p[:, 1:] != sorted_p[:, :-1]
    ends = np.where(last, np.arange(y.shape[1]), y.shape[1])
    ends = np.flip(np.minimum.accumulate(np.flip(ends, axis=1), axis=1), axis=1)
    area: FloatArray = (np.take_along_axis(precision, ends, 1) * sorted_y).sum(axis=1) / n1
    return area


def naive(first: Predicted, level: float, seed: int, second: Predicted | None = None) -> Figures:
    """Mean of the folds' scores, or of their differences, and its t interval."""
    sets = [np.flatnonzero(first.folds == fold)[None] for fold in range(first.folds.max() + 1)]
    tables = [[whose.scores(rows) for rows in sets] for whose in (first, second) if whose is not None]
    found = {}
    for name in tables[0][0]:
        values = np.array([fold[name][0] for fold in tables[0]])
        if second is not None:
            values = values - np.array([fold[name][0] for fold in tables[1]])
        half = stats.t.ppf((1 + level) / 2, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values))
        found[name] = (values.mean(), values.mean() - half, values.mean() + half)
    return found


def bootstrap(first: Predicted, level: float, seed: int, second: Predicted | None = None) -> Figures:
    """Percentiles over resampled rows of the pooled held-out predictions."""
    rng, n = np.random.default_rng([seed, 1]), len(first.y)
    rows = np.vstack([np.arange(n), rng.integers(n, size=(RESAMPLES, n))])
    found = {}
    others = None if second is None else second.scores(rows)
    for name, values in first.scores(rows).items():
        drawn = values if others is None else values - others[name]
        low, high = np.nanquantile(drawn[1:], [(1 - level) / 2, (1 + level) / 2])
        found[name] = (float(drawn[0]), float(low), float(high))
    return found


def delong(first: Predicted, level: float, seed: int, second: Predicted | None = None) -> Figures:
    """AUC of the pooled held-out predictions with the variance of its placements, and of differences."""
    positive = first.y == 1
    shares = _placements(first.p, positive)
    if second is not None:
        other = _placements(second.p, second.y == 1)
        shares = (shares[0] - other[0], shares[1] - other[1])
    area = float(shares[0].mean())
    error = np.sqrt(sum(part.var(ddof=1) / len(part) for part in shares))
    half = stats.norm.ppf((1 + level) / 2) * error
    return {"roc_auc": (area, area - half, area + half)}


def _placements(p: FloatArray, positive: Any) -> tuple[FloatArray, FloatArray]:
    """Share of the other class that each positive, and each negative, row is ordered rightly with."""
    compare: Callable[..., Any] = np.heaviside
    right = compare(p[positive][:, None] - p[~positive], 0.5)
    return right.mean(axis=1), right.mean(axis=0)
