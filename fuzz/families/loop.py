"""Refits of the estimator itself on every training set: the figures that are right."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.linear_model import LinearRegression
from sklearn.metrics import get_scorer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

import onefit

from ..figures import Figures, tabulate
from ..library import warned
from .asking import figures_of, keywords_of
from .contract import Trial

__all__ = ["expected_figures", "lacks_rank", "moved", "training_sets", "warned_by_refits"]

RESIDUALS = ("squared_error", "absolute_error")
POOLED = ("log_loss", "brier")
"""Losses of probabilities: their intervals are on scales of their own."""

MEANS = ("neg_mean_absolute_error", "neg_log_loss", "neg_brier_score", "accuracy")
"""Metrics that are means of losses."""


@dataclass(frozen=True)
class Rows:
    """What `tabulate` wants to know of a problem."""

    Y: np.ndarray
    weights: np.ndarray | None
    groups: np.ndarray | None
    loss: str
    scale: str

    @property
    def n_outputs(self) -> int:
        """Columns of Y."""
        return int(self.Y.shape[1])


def expected_figures(trial: Trial, candidate: int, tight: bool, X: Any, y: np.ndarray, weights: Any) -> Figures | str:
    """The figures of a candidate on these data, or why there are none."""
    estimator = trial.candidates(tight)[candidate]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            if trial.how in ("drops", "metrics") or trial.asked.loss in POOLED:
                return _by_onefit(trial, estimator, X, y, weights)
            return _by_loop(trial, estimator, X, y, weights)
        except Exception as error:
            return f"{type(error).__name__}: {error}"


def _by_loop(trial: Trial, estimator: Any, X: Any, y: np.ndarray, weights: Any) -> Figures:
    """A loop over training sets; nothing of onefit but the interval rule."""
    loss = trial.asked.loss
    is_number = loss in RESIDUALS
    Y = y.reshape(len(y), -1) if y.dtype.kind == "f" else np.zeros((len(y), 1))
    groups = None if trial.groups is None else np.unique(trial.groups, return_inverse=True)[1]
    rows = Rows(Y, weights, groups, loss if is_number else "given", loss)
    labels = np.unique(y) if trial.asked.is_classes else None

    def residuals(repeat: int, out: tuple[int, ...]) -> dict[int, list[Any]]:
        held = np.isin(trial.folds[repeat], out)
        train, test = np.flatnonzero(~held), np.flatnonzero(held)
        fitted = fit(estimator, X, y, weights, train)
        if is_number:
            found = Y[test] - np.asarray(fitted.predict(_some(X, test)), dtype=float).reshape(len(test), -1)
        else:
            found = _losses(loss, fitted, _some(X, test), y[test], labels)[:, None]
        if not np.isfinite(found).all():
            raise FloatingPointError("predictions that are not finite")
        return {int(i): row for i, row in zip(test, found.tolist(), strict=True)}

    return tabulate(rows, trial.folds, residuals, 0.0, float)


def _by_onefit(trial: Trial, estimator: Any, X: Any, y: np.ndarray, weights: Any) -> Figures:
    """The refit route, once its errors of folds are seen to be those of a loop."""
    result = onefit.nested_cv(estimator, X, y, **(keywords_of(trial, weights) | {"route": "refit"}))
    figures = figures_of(result)
    if y.dtype.kind == "f":  # predictions are known to the last bits of these
        figures = replace(figures, response=np.abs(y.reshape(len(y), -1)).max(axis=0))
    if trial.how == "drops":
        looped = _drop_errors(trial, estimator, X, y, weights)
    elif not trial.scoring:
        looped = _fold_losses(trial, estimator, X, y, weights)
    else:
        looped = _fold_scores(trial, estimator, X, y, weights)
    found = np.array(result.fold_errors.e_out, dtype=float).reshape(looped.shape)
    if not np.allclose(found, looped, rtol=1e-9, atol=1e-12 * np.nanmax(np.abs(looped)), equal_nan=True):
        figures.tables["e_out"] = looped.reshape(figures.tables["e_out"].shape)
    return figures


def _fold_scores(trial: Trial, estimator: Any, X: Any, y: np.ndarray, weights: Any) -> np.ndarray:
    """The first metric on every fold, (L, K)."""
    scorer = get_scorer(trial.scoring[0])
    folds = trial.folds
    scores = np.empty((len(folds), int(folds.max()) + 1))
    for repeat, fold in np.ndindex(*scores.shape):
        test = np.flatnonzero(folds[repeat] == fold)
        fitted = fit(estimator, X, y, weights, np.flatnonzero(folds[repeat] != fold))
        extra = {} if weights is None else {"sample_weight": weights[test]}
        scores[repeat, fold] = scorer(fitted, _some(X, test), y[test], **extra)
        if weights is not None and trial.scoring[0] in MEANS:  # losses count by the mean weight of the rows scored
            best = 1.0 if trial.scoring[0] == "accuracy" else 0.0  # of a loss of zero
            scores[repeat, fold] = best - (best - scores[repeat, fold]) * weights[test].mean() / _mean_weight(
                weights, folds
            )
    return scores


def _mean_weight(weights: np.ndarray, folds: np.ndarray) -> float:
    """Mean over all rows that are scored, of all repeats."""
    return float(np.average(weights, weights=(folds >= 0).sum(axis=0)))


def _fold_losses(trial: Trial, estimator: Any, X: Any, y: np.ndarray, weights: Any) -> np.ndarray:
    """The mean loss of every fold, (L, K)."""
    folds, labels = trial.folds, np.unique(y)
    relative = np.ones(len(y)) if weights is None else weights / _mean_weight(weights, folds)
    means = np.empty((len(folds), int(folds.max()) + 1))
    for repeat, fold in np.ndindex(*means.shape):
        test = np.flatnonzero(folds[repeat] == fold)
        fitted = fit(estimator, X, y, weights, np.flatnonzero(folds[repeat] != fold))
        losses = _losses(trial.asked.loss, fitted, _some(X, test), y[test], labels)
        means[repeat, fold] = np.mean(relative[test] * losses)
    return means


def _drop_errors(trial: Trial, estimator: Any, X: Any, y: np.ndarray, weights: Any) -> np.ndarray:
    """The mean loss of every fold, (1, K), by fits to what the splitter trains on."""
    labels = np.unique(y) if trial.asked.is_classes else None
    splits = _splits(trial)
    scored = np.concatenate([test for _, test in splits])
    relative = np.ones(len(y)) if weights is None else weights / weights[scored].mean()
    means = []
    for train, test in splits:
        fitted = fit(estimator, X, y, weights, train)
        losses = _losses(trial.asked.loss, fitted, _some(X, test), y[test], labels)
        means.append(np.mean((relative[test] * losses.T).T, axis=0))
    return np.array(means)[None]


def _splits(trial: Trial) -> list[tuple[np.ndarray, np.ndarray]]:
    """Training and test rows of folds with neighbourhoods, written out."""
    n, splitter = trial.n, trial.folds
    if not isinstance(splitter, onefit.TimeBlocks):
        return list(splitter.split(np.zeros((n, 1))))
    rows, K, b = np.arange(n), splitter.n_blocks, splitter.buffer
    blocks = [np.flatnonzero((2 * rows + 1) * K // (2 * n) == j) for j in range(K)]
    return [(rows[(rows < block[0] - b) | (rows > block[-1] + b)], block) for block in blocks]


def training_sets(trial: Trial) -> Iterator[np.ndarray]:
    """Rows of all training sets, with one fold out and with two."""
    if trial.how == "drops":
        inside = [np.isin(np.arange(trial.n), train) for train, _ in _splits(trial)]
        yield from (np.flatnonzero(one & other) for one, other in combinations(inside, 2))
        yield from map(np.flatnonzero, inside)
        return
    for ids in trial.folds:
        every = range(int(ids.max()) + 1)
        for out in [*combinations(every, 1), *combinations(every, 2)]:
            yield np.flatnonzero(~np.isin(ids, out))


def lacks_rank(trial: Trial) -> bool:
    """Whether a training set leaves columns free that nothing penalizes: the fit is not unique there."""
    whole = trial.asked.estimator
    *steps, last = [step for _, step in whole.steps] if isinstance(whole, Pipeline) else [whole]
    is_free = isinstance(last, LinearRegression) or getattr(last, "alpha", None) == 0 or getattr(last, "C", 1) == np.inf
    if not is_free or not all(isinstance(step, StandardScaler) for step in steps):
        return False
    X = np.asarray(trial.asked.X, dtype=float)
    has_constant = bool(steps) or last.fit_intercept  # a scaler takes the means away
    X = np.hstack([X, np.ones((len(X), int(has_constant)))])
    for rows in training_sets(trial):
        size = np.abs(X[rows]).max(axis=0)
        if np.linalg.matrix_rank(X[rows] / np.where(size > 0, size, 1.0)) < X.shape[1]:
            return True
    return False


def warned_by_refits(trial: Trial) -> set[str]:
    """What scikit-learn warns of where the estimators themselves are fitted to the training sets and predict."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for estimator in trial.candidates(tight=False):
            for rows in training_sets(trial):
                try:
                    fit(estimator, trial.asked.X, trial.asked.y, trial.weights, rows).predict(trial.asked.X)
                except Exception:  # whoever asks for figures hears of it
                    continue
    return {warned(each) for each in caught}


def fit(estimator: Any, X: Any, y: np.ndarray, weights: Any, train: np.ndarray) -> Any:
    """A clone, fitted to some rows with their weights."""
    names = {}
    if weights is not None:
        last = f"{estimator.steps[-1][0]}__" if isinstance(estimator, Pipeline) else ""
        names = {f"{last}sample_weight": weights[train]}
    return clone(estimator).fit(_some(X, train), y[train], **names)


def _some(X: Any, rows: np.ndarray) -> Any:
    return X.iloc[rows] if isinstance(X, pd.DataFrame) else X[rows]


def _losses(loss: str, fitted: Any, X: Any, y: np.ndarray, labels: np.ndarray | None) -> np.ndarray:
    """The losses of rows, as scikit-learn's metrics define them."""
    if labels is None:
        predicted = np.asarray(fitted.predict(X), dtype=float).reshape(y.shape)
        with np.errstate(all="ignore"):
            if loss == "poisson_deviance":
                return 2 * (np.where(y > 0, y * np.log(np.where(y > 0, y, 1.0) / predicted), 0.0) - y + predicted)
            if loss == "gamma_deviance":
                return 2 * (np.log(predicted / y) + y / predicted - 1)
        return (y - predicted) ** 2 if loss == "squared_error" else np.abs(y - predicted)
    if loss == "zero_one":
        return (np.asarray(fitted.predict(X)) != y).astype(float)
    chance = np.zeros((len(y), len(labels)))  # a class that the training set lacks has none
    chance[:, np.searchsorted(labels, fitted.classes_)] = fitted.predict_proba(X)
    own = y[:, None] == labels
    if loss == "log_loss":
        tiny = np.finfo(float).eps
        return -np.log(np.clip(chance, tiny, 1 - tiny))[own]
    return ((chance - own) ** 2).sum(axis=1) / (2 if len(labels) == 2 else 1)


def moved(trial: Trial, copy: int) -> tuple[Any, np.ndarray, Any]:
    """X, y and the weights, each number moved to one of its neighbours in double precision; zeros and labels stay."""
    rng = np.random.default_rng([trial.seed, 7, copy])

    def other(values: np.ndarray) -> np.ndarray:
        if values.dtype.kind != "f":
            return values
        towards = np.where(rng.random(values.shape) < 0.5, -np.inf, np.inf)
        return np.where((values == 0) | np.isnan(values), values, np.nextafter(values, towards))

    X = trial.asked.X
    X = pd.DataFrame({name: other(X[name].to_numpy()) for name in X}) if isinstance(X, pd.DataFrame) else other(X)
    return X, other(trial.asked.y), None if trial.weights is None else other(trial.weights)
