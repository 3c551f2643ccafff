"""scikit-learn's DummyRegressor and DummyClassifier: the best constant, learned anew in every training set."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.linear_model import Ridge

from ..errors import RouteError
from ..metrics import Classes
from ..typing import FloatArray, IntArray
from .contract import Learner, Path, Task
from .ridge import ridge

__all__ = ["ConstantLearner", "constant_class", "constant_number", "weighted_percentile"]

LIKELIEST = ("prior", "most_frequent")
"""Strategies of DummyClassifier that predict the class that is most frequent."""


class ConstantLearner(Learner):
    """One prediction for all rows: a quantile of each output, or the shares of classes.

    Attributes
    ----------
    quantile : float or None
        Which quantile of y; None for classes.
    classes : Classes or None
    is_certain : bool
        Whether all probability is on the most frequent class.
    label : int or None
        Number of the class that is predicted whatever y is.
    """

    responses = frozenset({"predict", "predict_proba"})

    def __init__(
        self, quantile: float | None, classes: Classes | None, is_certain: bool = False, label: int | None = None
    ) -> None:
        self.quantile, self.classes, self.is_certain, self.label = quantile, classes, is_certain, label

    @property
    def n_values(self) -> int:
        """One."""
        return 1

    def at(self, values: Sequence[int]) -> Self:
        """Itself: there is no other value."""
        return self

    def fit(self, y: FloatArray, weights: FloatArray | None) -> FloatArray:
        """The constant (Q,) of a training set, or of class numbers (n,) the shares of all classes (C,)."""
        if self.classes is not None and self.label is not None:
            return self._given
        if self.classes is not None:
            counts = np.bincount(y.astype(np.intp), weights, minlength=len(self.classes.labels)).astype(np.float64)
            shares: FloatArray = counts / counts.sum()
            return shares
        assert self.quantile is not None
        if weights is None:
            return np.atleast_1d(np.percentile(y, 100.0 * self.quantile, axis=0))
        return np.array([weighted_percentile(column, weights, self.quantile) for column in y.T])

    def without_two(self, y: FloatArray, row: int) -> FloatArray:
        """The constants (n, Q), or shares (n, C), without one row and each of the others; at the row, without it alone.

        Rows are equal in weight. Order statistics of the rest are those of all, moved by the rows that are out.
        """
        n, others = len(y), np.arange(len(y))
        if self.classes is not None and self.label is not None:
            return np.tile(self._given, (n, 1))
        if self.classes is not None:
            is_class = y.astype(np.intp)[:, None] == np.arange(len(self.classes.labels))
            counts = is_class.sum(axis=0) - is_class[row] - np.where(others[:, None] == row, 0, is_class)
            shares: FloatArray = counts / counts.sum(axis=1, keepdims=True)
            return shares
        assert self.quantile is not None
        order = y.argsort(axis=0, kind="stable")
        ranks = order.argsort(axis=0)
        count = np.where(others == row, n - 1, n - 2)[:, None]
        first = np.where(others[:, None] == row, ranks, np.minimum(ranks, ranks[row]))
        second = np.where(others[:, None] == row, n, np.maximum(ranks, ranks[row]))
        place = (count - 1) * self.quantile
        low = np.floor(place).astype(np.intp)

        def statistic(k: IntArray) -> FloatArray:
            moved = k + (k >= first)
            moved = moved + (moved >= second)
            return np.take_along_axis(np.take_along_axis(y, order, axis=0), np.minimum(moved, n - 1), axis=0)

        below, above = statistic(low), statistic(np.minimum(low + 1, count - 1))
        return below + (place - low) * (above - below)

    @property
    def _given(self) -> FloatArray:
        """All probability on the class that is given."""
        assert self.classes is not None
        given: FloatArray = np.where(np.arange(len(self.classes.labels)) == self.label, 1.0, 0.0)
        return given

    def respond(self, kind: str, scores: FloatArray) -> FloatArray:
        """Shares are probabilities as they are; of one class only, if that is what is predicted."""
        if kind != "predict_proba":
            raise NotImplementedError(kind)
        return _certain(scores) if self.is_certain else scores


def _certain(shares: FloatArray) -> FloatArray:
    """All probability on the most frequent class."""
    return np.where(np.arange(shares.shape[-1]) == shares.argmax(axis=-1)[..., None], 1.0, 0.0)


def weighted_percentile(y: FloatArray, weights: FloatArray, quantile: float) -> float:
    """As scikit-learn's: the least value at which the weights of those up to it reach the share."""
    from sklearn.utils.stats import _weighted_percentile as percentile

    return float(percentile(y, weights, 100.0 * quantile))


def constant_number(estimator: Any, task: Task, path: Path | None) -> Learner:
    """DummyRegressor: the mean is a ridge regression on nothing; medians and quantiles have a route of their own."""
    if not isinstance(estimator, DummyRegressor) or task.problem.classes is not None:
        raise RouteError("it predicts no numbers")
    if estimator.strategy == "mean":
        nothing = replace(task.problem, X=np.zeros((task.problem.n, 1)), feature_names=None)
        return ridge(Ridge(), replace(task, problem=nothing), None)
    quantiles = {"median": 0.5, "quantile": estimator.quantile}
    if estimator.strategy not in quantiles or quantiles[estimator.strategy] is None:
        raise RouteError(f"strategy={estimator.strategy!r} is not learned from y alone, or lacks what it needs")
    return ConstantLearner(float(quantiles[estimator.strategy]), None)


def constant_class(estimator: Any, task: Task, path: Path | None) -> Learner:
    """DummyClassifier that predicts the most frequent class, by shares or with certainty, or one that is given."""
    if not isinstance(estimator, DummyClassifier) or task.problem.classes is None:
        raise RouteError("it predicts no classes")
    if estimator.strategy == "constant" and np.size(estimator.constant) == 1:
        given = np.flatnonzero(task.problem.classes == np.ravel(estimator.constant)[0])
        if len(given) == 1:
            return ConstantLearner(None, Classes(task.problem.classes), label=int(given[0]))
    if estimator.strategy not in LIKELIEST:
        raise RouteError(f"strategy={estimator.strategy!r} draws random numbers, or is not learned")
    return ConstantLearner(None, Classes(task.problem.classes), estimator.strategy == "most_frequent")
