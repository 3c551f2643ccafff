"""Likelihoods without a maximum: whether coefficients may grow for ever, decided by a linear program."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linprog
from sklearn.linear_model import LogisticRegression, PoissonRegressor, TweedieRegressor

from .contract import Trial
from .loop import training_sets

__all__ = ["has_no_maximum", "is_way"]

ROUNDING = 1e-11
"""Part of the terms of a sum that rounding errors of a program's solution are."""


def has_no_maximum(trial: Trial) -> bool:
    """Whether a fit without a penalty goes to infinity in a training set, whatever held-out rows see of that.

    Poisson and Tweedie regressions do where columns tell zeros apart from what is not zero, and logistic ones of two
    classes where they tell the classes apart. Scalers change nothing of it but that there is a column of ones.
    """
    last = getattr(trial.asked.estimator, "steps", [("", trial.asked.estimator)])[-1][1]
    is_log = isinstance(last, PoissonRegressor) or (isinstance(last, TweedieRegressor) and 1 <= last.power < 2)
    is_free = last.alpha == 0 if is_log else isinstance(last, LogisticRegression) and np.isinf(last.C)
    y, weights = np.asarray(trial.asked.y), trial.weights
    if not is_free or (not is_log and len(np.unique(y)) > 2):
        return False
    X = np.asarray(trial.asked.X, dtype=float)
    with_ones = last.fit_intercept or last is not trial.asked.estimator
    for rows in training_sets(trial):
        seen = rows if weights is None else rows[np.asarray(weights)[rows] > 0]
        Z = np.column_stack([X[seen], np.ones((len(seen), int(with_ones)))])
        Z = Z / np.maximum(np.abs(Z).max(axis=0), 1e-300)
        if is_log and _is_unbounded(-Z, y[seen] > 0):
            return True
        if not is_log and _is_unbounded(
            np.where(y[seen] == y.max(), 1, -1)[:, None] * Z, np.zeros(len(seen), dtype=bool)
        ):
            return True
    return False


def _is_unbounded(Z: np.ndarray, is_fixed: np.ndarray) -> bool:
    """Whether a direction d has ``Zd = 0`` in the rows that are fixed, ``Zd >= 0`` in the others, and not 0 in all."""
    free = Z[~is_fixed]
    if not len(free):
        return False
    found = linprog(
        -free.sum(axis=0),
        A_ub=np.vstack([-free, free]),
        b_ub=np.repeat([0.0, 1.0], len(free)),
        A_eq=Z[is_fixed],
        b_eq=np.zeros(int(is_fixed.sum())),
        bounds=(None, None),
    )
    return bool(found.status == 0 and -found.fun > 1e-6 and is_way(free, Z[is_fixed], found.x))


def is_way(free: np.ndarray, fixed: np.ndarray, d: np.ndarray) -> bool:
    """Whether a direction has ``Zd >= 0`` in free rows and ``Zd = 0`` in fixed ones but for rounding errors.

    Programs allow for far more: rows that overlap by less than that have a maximum, and not far away.
    """

    def gap(Z: np.ndarray) -> np.ndarray:
        return Z @ d / np.maximum(np.abs(Z) @ np.abs(d), 1e-300)

    return bool((gap(free) >= -ROUNDING).all() and (np.abs(gap(fixed)) <= ROUNDING).all())
