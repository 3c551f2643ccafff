"""What a family asks, and the trial that is made of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.linear_model import LinearRegression

__all__ = ["ALL_DIRECTIONS", "Asked", "Family", "Trial", "pick"]

ALL_DIRECTIONS = {"tol": 1e-13} if "tol" in LinearRegression().get_params() else {}
"""Least squares of all directions but those that are rounding errors, which is what onefit says that it fits."""


@dataclass(frozen=True)
class Asked:
    """An estimator with its data: all that a family draws.

    Attributes
    ----------
    estimator : what onefit is given
    tight : the same estimator with a solver that does not stop early, for the reference
    X : array or DataFrame
    y : (n,), or (n, Q)
    loss : how a row is measured
    takes_weights : whether its fit can be weighted
    path : name and values of a parameter that a curve may go along; None if there is none
    n_outputs : columns of y
    """

    estimator: Any
    tight: Any
    X: Any
    y: np.ndarray
    loss: str = "squared_error"
    takes_weights: bool = True
    path: tuple[str, tuple[Any, ...]] | None = None

    @property
    def is_classes(self) -> bool:
        """Whether y has labels."""
        return self.y.dtype.kind not in "f"


@dataclass(frozen=True)
class Trial:
    """What is asked of onefit, and how.

    Attributes
    ----------
    how : "rows" (in memory, given folds), "drops" (folds with neighbourhoods), "tables" (streamed), "metrics"
    folds : (L, n), or a splitter whose training sets are not all other rows
    scoring : metrics instead of a loss; empty if there are none
    is_curve : whether a curve along the path is asked for
    is_compiled : whether the compiled kernels are used
    checks_jobs : whether two threads must give the same bits
    """

    seed: int
    kind: str
    how: str
    asked: Asked
    folds: Any
    weights: np.ndarray | None
    groups: np.ndarray | None
    scoring: tuple[str, ...]
    is_curve: bool
    route: str
    is_compiled: bool
    checks_jobs: bool

    @property
    def n(self) -> int:
        """Rows."""
        return len(self.asked.y)

    def candidates(self, tight: bool) -> list[Any]:
        """The estimators that are asked for, as they are or as the reference has them."""
        estimator = self.asked.tight if tight else self.asked.estimator
        if not self.is_curve or self.asked.path is None:
            return [estimator]
        name, values = self.asked.path
        if "__" not in name:
            return [type(estimator)(**{**estimator.get_params(deep=False), name: value}) for value in values]
        from sklearn.base import clone

        return [clone(estimator).set_params(**{name: value}) for value in values]

    def as_dict(self) -> dict[str, Any]:
        """Plain Python, for JSON."""
        asked = self.asked
        return {
            "seed": self.seed,
            "kind": self.kind,
            "how": self.how,
            "estimator": repr(asked.estimator),
            "curve": repr(asked.path) if self.is_curve else "",
            "shape": [*np.shape(asked.X)],
            "loss": asked.loss,
            "scoring": list(self.scoring),
            "folds": repr(self.folds),
            "weights": None if self.weights is None else [float(self.weights.min()), float(self.weights.max())],
            "has_groups": self.groups is not None,
            "route": self.route,
            "is_compiled": self.is_compiled,
            "checks_jobs": self.checks_jobs,
        }


Family = Callable[[np.random.Generator], Asked]
"""Draws an estimator and its data."""


def pick(rng: np.random.Generator, odds: dict[Any, float]) -> Any:
    """One of the keys, by odds."""
    shares = np.array(list(odds.values()), dtype=float)
    return list(odds)[int(rng.choice(len(odds), p=shares / shares.sum()))]
