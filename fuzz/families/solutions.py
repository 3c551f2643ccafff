"""Lassos with many solutions: how far those may be apart, by mathematics and not by what onefit says of them."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
from sklearn.linear_model import LassoCV
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline

from ..figures import Figures
from .contract import Trial
from .loop import fit, training_sets
from .precise import PreciseElasticNet

__all__ = ["are_of_solutions"]

SLACK = 1e-7
"""Of the largest figure of a table."""


def are_of_solutions(trial: Trial, at: int, actual: Figures) -> bool:
    """Whether a lasso has many solutions in a training set, and figures lie where those of one of them can.

    Two solutions have the same sum of absolute coefficients, which bounds how far their predictions, and so losses of
    folds, are apart. Where figures are no means over folds of losses it is known only that there are many solutions.
    """
    model = trial.candidates(tight=True)[at]
    if trial.how != "rows" or trial.asked.y.ndim != 1:
        return any(_spread(_fitted(trial, model, rows), trial.asked.X).any() for rows in training_sets(trial))
    ends = [_Ends(trial, model, repeat) for repeat in range(len(trial.folds))]
    if not any(each.has_many for each in ends):
        return False
    for name in ("e_out", "e_in"):
        found = actual.tables[name]
        low, high = (np.stack([getattr(each, name)[end] for each in ends])[..., None] for end in (0, 1))
        slack = SLACK * np.nanmax(np.abs(high), initial=0.0)
        if not ((found >= low - slack) & (found <= high + slack)).all():
            return False
    return True


class _Ends:
    """The least and the largest errors of folds (2, K) of a repeat, with one fold out and with two."""

    def __init__(self, trial: Trial, model: Any, repeat: int) -> None:
        self.trial, self.model, self.has_many = trial, model, False
        ids, y = trial.folds[repeat], trial.asked.y
        K = int(ids.max()) + 1
        scored = (np.asarray(trial.folds) >= 0).sum(axis=0)
        relative = (
            np.ones(len(y)) if trial.weights is None else trial.weights / np.average(trial.weights, weights=scored)
        )
        inner: list[list[np.ndarray]] = [[] for _ in range(K)]
        self.e_out = np.empty((2, K))
        for out in [*combinations(range(K), 1), *combinations(range(K), 2)]:
            losses = relative * self._losses(np.flatnonzero(~np.isin(ids, out)))
            if len(out) == 1:
                self.e_out[:, out[0]] = losses[:, ids == out[0]].mean(axis=1)
                continue
            for fold, other in (out, out[::-1]):
                inner[other].append(losses[:, ids == fold])
        self.e_in = np.stack([np.hstack(each).mean(axis=1) for each in inner], axis=1)

    def _losses(self, train: np.ndarray) -> np.ndarray:
        """The least and the largest loss of every row (2, n)."""
        asked = self.trial.asked
        fitted = _fitted(self.trial, self.model, train)
        off, reach = np.abs(asked.y - np.asarray(fitted.predict(asked.X), dtype=float)), _spread(fitted, asked.X)
        self.has_many |= bool(reach.any())
        ends = np.stack([np.maximum(off - reach, 0.0), off + reach])
        return ends**2 if asked.loss == "squared_error" else ends


def _fitted(trial: Trial, model: Any, rows: np.ndarray) -> Any:
    asked = trial.asked
    found = fit(model, asked.X, asked.y, trial.weights, rows)
    if isinstance(found, LassoCV):  # the penalty that it chose
        exact = PreciseElasticNet(found.alpha_, l1_ratio=1.0, fit_intercept=found.fit_intercept)
        return fit(exact, asked.X, asked.y, trial.weights, rows)
    return found


def _spread(fitted: Any, X: Any) -> np.ndarray:
    """How far predictions of solutions may be apart (n,), behind searches and steps; zero where there is one."""
    if isinstance(fitted, GridSearchCV):
        return _spread(fitted.best_estimator_, X)
    if isinstance(fitted, Pipeline):
        return _spread(fitted.steps[-1][1], fitted[:-1].transform(X))
    return fitted.spread(X) if isinstance(fitted, PreciseElasticNet) else np.zeros(len(X))
