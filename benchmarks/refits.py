"""Nested cross-validation by fitting every training set anew."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import Ridge, RidgeCV
from sklearn.model_selection import GridSearchCV

from .cases import Case
from .sweep import HeldOut

__all__ = ["design_and_penalty", "normal_equations", "scikit_learn", "searched"]

Array = NDArray[np.float64]


def design_and_penalty(X: Array, lam: float) -> tuple[Array, Array]:
    """Columns with an intercept before them, and the penalty that leaves it free."""
    penalty = lam * np.eye(X.shape[1] + 1)
    penalty[0, 0] = 0.0
    return np.column_stack([np.ones(len(X)), X]), penalty


def _refitted(make: Any, case: Case) -> HeldOut:
    """A new estimator for each training set."""
    X, y = case.X, case.y

    def held_out(rows: NDArray[np.intp]) -> Array:
        train = np.ones(len(y), dtype=bool)
        train[rows] = False
        model = make().fit(X[train], y[train])
        return y[rows] - model.predict(X[rows])

    return held_out


def scikit_learn(case: Case) -> HeldOut:
    """A Ridge of scikit-learn for each training set, or a RidgeCV if the case is tuned; behind its scaler."""
    if case.tuned:
        return _refitted(lambda: case.estimator(RidgeCV(alphas=case.alphas)), case)
    return _refitted(lambda: case.estimator(Ridge(alpha=case.alphas[case.checked])), case)


def searched(case: Case) -> HeldOut:
    """A GridSearchCV of five folds for each training set: tuned inside, by another criterion than RidgeCV."""
    return _refitted(
        lambda: GridSearchCV(Ridge(), {"alpha": case.alphas}, cv=5, scoring="neg_mean_squared_error"), case
    )


def normal_equations(case: Case) -> HeldOut:
    """Normal equations formed from the rows of each training set: what the paper compares itself with."""
    design, penalty = design_and_penalty(case.X, case.alphas[case.checked])
    y = case.y

    def held_out(rows: NDArray[np.intp]) -> Array:
        train = np.ones(len(y), dtype=bool)
        train[rows] = False
        Z = design[train]
        coef = np.linalg.solve(Z.T @ Z + penalty, Z.T @ y[train])
        return y[rows] - design[rows] @ coef

    return held_out
