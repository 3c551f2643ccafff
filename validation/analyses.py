"""What is done with a data set: a call of onefit, and the rows of the study that come of it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.base import clone

import onefit
from onefit.datasets import Simulation

from .before import BEFORE, with_rule_before
from .data import EXACT, Truth

__all__ = ["ALL_ROWS_RULES", "ALL_RULES", "LEVEL", "Analysis", "Curve", "Figures", "Key", "Nested", "Outside", "Pair"]

LEVEL = 0.90
ALL_RULES = ("covariance", BEFORE, "bates", "paper", "mlr3", "naive", "corrected_t")
ALL_ROWS_RULES = ("covariance", BEFORE, "naive")
"""Rules for leave two out; corrected_t is defined there, too, but means little with folds of one row."""

Figures = npt.NDArray[np.float64]
"""A row for each `Key`: true error, estimate, low, high."""


@dataclass(frozen=True)
class Key:
    """What identifies a row within its setting."""

    model: str
    loss: str
    target: str
    rule: str
    folds: str
    repeats: int

    def fields(self) -> dict[str, Any]:
        """As columns of the table."""
        return asdict(self)


class Analysis:
    """A call of onefit on a data set."""

    def rows(self) -> list[Key]:
        """The rows that it gives."""
        raise NotImplementedError

    def run(self, simulation: Any, seed: int, level: float) -> Figures:
        """Figures of the rows, in the order of the keys, with intervals of this level."""
        raise NotImplementedError


@dataclass(frozen=True)
class Nested(Analysis):
    """`nested_cv` of a model, several rules of it."""

    model: str
    estimator: Any
    folds: int | str = "n"
    repeats: int = 1
    rules: tuple[str, ...] = ALL_ROWS_RULES
    loss: str = "squared_error"
    with_groups: bool = False
    truth: Truth = EXACT

    def rows(self) -> list[Key]:
        """One for each rule."""
        return [Key(self.model, self.loss, "error", rule, str(self.folds), self.repeats) for rule in self.rules]

    def run(self, simulation: Simulation, seed: int, level: float) -> Figures:
        """Truth and the intervals of the rules."""
        with with_rule_before():
            result = onefit.nested_cv(
                self.estimator,
                simulation.X,
                simulation.y,
                n_folds=self.folds,
                n_repeats=self.repeats,
                loss=self.loss,
                confidence_level=level,
                groups=simulation.groups if self.with_groups else None,
                random_state=seed,
            )
        truth = self.truth(simulation, clone(self.estimator).fit(simulation.X, simulation.y))
        found = result.intervals.loc[list(self.rules), ["estimate", "low", "high"]].to_numpy(float)
        return np.column_stack([np.full(len(found), truth), found])


@dataclass(frozen=True)
class Curve(Analysis):
    """`error_curve` by leave two out: the interval at every value."""

    model: str
    estimator: Any
    parameter: str
    values: tuple[float, ...]

    def rows(self) -> list[Key]:
        """One for each value."""
        names = (f"{self.model}, {self.parameter} = {value:g}" for value in self.values)
        return [Key(name, "squared_error", "error", "covariance", "n", 1) for name in names]

    def curve(self, simulation: Simulation, level: float) -> onefit.ErrorCurve:
        """The curve of a data set."""
        return onefit.error_curve(
            self.estimator,
            simulation.X,
            simulation.y,
            param_name=self.parameter,
            param_range=self.values,
            n_folds="n",
            confidence_level=level,
        )

    def run(self, simulation: Simulation, seed: int, level: float) -> Figures:
        """Truth and interval at every value."""
        curve = self.curve(simulation, level)
        truths = [simulation.true_error(curve.deploy(value)) for value in self.values]
        return np.column_stack([truths, curve.estimate, curve.low, curve.high])


@dataclass(frozen=True)
class Outside(Curve):
    """The interval of the curve at the value that has the smallest estimate: tuned on the same rows, outside."""

    def rows(self) -> list[Key]:
        """One."""
        return [Key(self.model, "squared_error", "error", "covariance", "n", 1)]

    def run(self, simulation: Simulation, seed: int, level: float) -> Figures:
        """Truth of the model that was chosen, and the interval there."""
        curve = self.curve(simulation, level)
        best = int(curve.best)
        truth = simulation.true_error(curve.refit("min"))
        return np.array([[truth, curve.estimate[best], curve.low[best], curve.high[best]]])


@dataclass(frozen=True)
class Pair(Analysis):
    """`compare`: the difference of error between two models that were fixed in advance."""

    first: str
    second: str
    estimators: tuple[Any, Any]
    folds: int | str = "n"
    repeats: int = 1
    truth: Truth = EXACT

    def rows(self) -> list[Key]:
        """One."""
        model = f"{self.first} minus {self.second}"
        return [Key(model, "squared_error", "difference", "covariance", str(self.folds), self.repeats)]

    def run(self, simulation: Simulation, seed: int, level: float) -> Figures:
        """Difference of the true errors, and its interval."""
        models = dict(zip((self.first, self.second), self.estimators, strict=True))
        comparison = onefit.compare(
            models,
            simulation.X,
            simulation.y,
            n_folds=self.folds,
            n_repeats=self.repeats,
            confidence_level=level,
            random_state=seed,
        )
        errors = [self.truth(simulation, clone(one).fit(simulation.X, simulation.y)) for one in self.estimators]
        return np.array([[errors[0] - errors[1], *self._difference(comparison.to_frame())]])

    def _difference(self, table: pd.DataFrame) -> list[float]:
        """Estimate, low and high of first minus second; the table has the pair in the order of the estimates."""
        if (self.first, self.second) in table.index:
            found = table.loc[[(self.first, self.second)]].iloc[0]
            return [found["estimate"], found["low"], found["high"]]
        found = table.loc[[(self.second, self.first)]].iloc[0]
        return [-found["estimate"], -found["high"], -found["low"]]
