"""Three ways to the held-out residuals that are not onefit's."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import Ridge

from benchmarks.sweep import HeldOut

from .shapes import Array, System

__all__ = ["PEERS", "literal", "refit", "scikit_learn"]


def refit(system: System) -> HeldOut:
    """Refits that form ``X'X + S`` from the rows of each training set: the steps of the paper's Table 3."""
    X, S, y = system.X, system.penalty, system.y

    def held_out(rows: NDArray[np.intp]) -> Array:
        train = _others(rows, len(y))
        Z = X[train]
        coef = np.linalg.solve(Z.T @ Z + S, Z.T @ y[train])
        return y[rows] - X[rows] @ coef

    return held_out


def literal(system: System) -> HeldOut:
    """Proposition 1 as the authors count and run it: the steps of Table 2, a block of H made anew for each pair."""
    X, y = system.X, system.y
    inverse = np.linalg.inv(X.T @ X + system.penalty)
    residual = y - X @ (inverse @ (X.T @ y))

    def held_out(rows: NDArray[np.intp]) -> Array:
        Z = X[rows]
        return np.asarray(np.linalg.solve(np.eye(len(rows)) - Z @ inverse @ Z.T, residual[rows]), dtype=np.float64)

    return held_out


def scikit_learn(system: System) -> HeldOut:
    """A `Ridge` for each training set; as it knows no general penalty, R stands below the rows, with zeros for y."""
    X, R, y = system.X, system.root, system.y
    zeros = np.zeros(len(R))

    def held_out(rows: NDArray[np.intp]) -> Array:
        train = _others(rows, len(y))
        model = Ridge(alpha=0.0, fit_intercept=False).fit(np.vstack([X[train], R]), np.append(y[train], zeros))
        predicted: Array = model.predict(X[rows])
        return y[rows] - predicted

    return held_out


def _others(rows: NDArray[np.intp], n: int) -> NDArray[np.bool_]:
    train = np.ones(n, dtype=bool)
    train[rows] = False
    return train


PEERS = {"refit": refit, "scikit-learn": scikit_learn, "literal": literal}
