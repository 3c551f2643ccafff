"""Repeats of random held-out responses, and estimators that say them, for scikit-learn's scorers to ask."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import sklearn
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.fixes import parse_version

from onefit.metrics.contract import Repeat

OLD = parse_version(sklearn.__version__) < parse_version("1.7")
"""scikit-learn without the Brier score of several classes, and with other ideas of words, quantiles and ratios."""

WORDS = np.array(["ash", "elm", "oak", "yew"])


def dealt(n, n_folds, rng, unscored=2):
    """Rows of each fold; the last of all are never scored."""
    ids = rng.permutation(np.arange(n - unscored) % n_folds)
    return [np.flatnonzero(ids == fold) for fold in range(n_folds)]


def drawn_weights(n, weighted, rng):
    weights = rng.exponential(size=n) + 0.1
    return weights / weights.mean() if weighted else None


def numbers(n=47, n_folds=4, n_values=2, n_outputs=1, weighted=False, seed=0, unscored=2):
    """A regression with positive values, whose predictions are better than none."""
    rng = np.random.default_rng(seed)
    rows = dealt(n, n_folds, rng, unscored)
    y = rng.gamma(3.0, size=(n, n_outputs))
    residuals = []
    for held_out in rows:
        own = y[held_out][None, :, None]
        predicted = np.exp(0.6 * np.log(own) + 0.4 * rng.standard_normal((n_folds, len(held_out), n_values, n_outputs)))
        residuals.append(own - predicted)
    return Repeat(y, None, drawn_weights(n, weighted, rng), rows, {"residual": residuals}, 3)


def classes(n=61, n_folds=4, n_values=2, labels=(0, 1), weighted=False, seed=0, ties=True, unscored=2, has_all=True):
    """A classification, with many equal scores if ``ties``; every fold has every class if ``has_all``."""
    rng = np.random.default_rng(seed)
    labels = np.asarray(labels)
    rows = dealt(n, n_folds, rng, unscored)
    observed = rng.choice(len(labels), n, p=np.arange(1, len(labels) + 1) / np.arange(1, len(labels) + 1).sum())
    if has_all:
        for held_out in rows:
            observed[held_out[: 2 * len(labels)]] = np.tile(np.arange(len(labels)), 2)
    chances = []
    for held_out in rows:
        noise = rng.standard_normal((n_folds, len(held_out), n_values, len(labels)))
        score = 1.0 * (observed[held_out][:, None, None] == np.arange(len(labels))) + noise
        chance = np.exp(score) / np.exp(score).sum(axis=-1, keepdims=True)
        chance = (np.round(10 * chance) + 0.25) if ties else chance
        chances.append(chance / chance.sum(axis=-1, keepdims=True))
    responses = {
        "predict": [chance.argmax(axis=-1) for chance in chances],
        "predict_proba": chances,
        "decision_function": [
            np.log(chance[..., 1:] / chance[..., :1]) if len(labels) == 2 else np.log(chance) for chance in chances
        ],
    }
    return Repeat(observed, labels, drawn_weights(n, weighted, rng), rows, responses, 3)


class _Sayer(BaseEstimator):
    """Says what a repeat holds for a fold, whatever it is asked about."""

    def __init__(self, repeat, fold, second, value):
        self.repeat, self.fold, self.second, self.value = repeat, fold, second, value

    def _said(self, kind):
        return self.repeat.responses[kind][self.fold][self.second, :, self.value]

    def fit(self, X, y):
        return self


class SaysNumbers(RegressorMixin, _Sayer):
    def predict(self, X):
        return np.squeeze(self.repeat.observed[self.repeat.rows[self.fold]] - self._said("residual"), axis=-1)


class SaysClasses(ClassifierMixin, _Sayer):
    @property
    def classes_(self):
        return self.repeat.labels

    def predict(self, X):
        return self.classes_[self._said("predict")]

    def predict_proba(self, X):
        return self._said("predict_proba")

    def decision_function(self, X):
        said = self._said("decision_function")
        return said[:, 0] if said.shape[1] == 1 else said


def asked(scorer, repeat, fold, value, second=None):
    """What a scorer says of a fold."""
    rows = repeat.rows[fold]
    says = (SaysNumbers if repeat.labels is None else SaysClasses)(
        repeat, fold, fold if second is None else second, value
    )
    y = repeat.observed[rows, 0] if repeat.labels is None else repeat.labels[repeat.observed[rows]]
    options = {} if repeat.weights is None else {"sample_weight": repeat.weights[rows]}
    return scorer(says, np.zeros((len(rows), 1)), y, **options)


def with_weights(repeat, weights):
    return replace(repeat, weights=weights)


def scored_rows(repeat):
    return np.sort(np.concatenate(repeat.rows))


def theta(metric, repeat, reduced=None):
    """The metric of a repeat: the weighted mean of the influence values, (V, R)."""
    rows = scored_rows(repeat)
    weights = np.ones(repeat.n) if repeat.weights is None else repeat.weights
    influence = (metric.reduce(repeat) if reduced is None else reduced).influence[rows]
    return np.tensordot(weights[rows], influence, 1) / weights[rows].sum()
