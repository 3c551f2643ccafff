"""Nested cross-validation by fitting every training set anew."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import Ridge

from .sweep import HeldOut

__all__ = ["design_and_penalty", "normal_equations", "scikit_learn"]

Array = NDArray[np.float64]


def design_and_penalty(X: Array, lam: float) -> tuple[Array, Array]:
    """Columns with an intercept before them, and the penalty that leaves it free."""
    penalty = lam * np.eye(X.shape[1] + 1)
    penalty[0, 0] = 0.0
    return np.column_stack([np.ones(len(X)), X]), penalty


def scikit_learn(X: Array, y: Array, lam: float) -> HeldOut:
    """A Ridge of scikit-learn for each training set."""

    def held_out(rows: NDArray[np.intp]) -> Array:
        train = np.ones(len(y), dtype=bool)
        train[rows] = False
        model = Ridge(alpha=lam).fit(X[train], y[train])
        return y[rows] - model.predict(X[rows])

    return held_out


def normal_equations(X: Array, y: Array, lam: float) -> HeldOut:
    """Normal equations formed from the rows of each training set: what the paper compares itself with."""
    design, penalty = design_and_penalty(X, lam)

    def held_out(rows: NDArray[np.intp]) -> Array:
        train = np.ones(len(y), dtype=bool)
        train[rows] = False
        Z = design[train]
        coef = np.linalg.solve(Z.T @ Z + penalty, Z.T @ y[train])
        return y[rows] - design[rows] @ coef

    return held_out
