"""scikit-learn's KNeighborsRegressor and KNeighborsClassifier: means over the nearest rows of a training set."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any, NoReturn, Self, TypeAlias

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor, NearestNeighbors

from ..errors import DataError, RouteError, TrainingSetError
from ..typing import BoolArray, FloatArray, IntArray
from ..validation import numeric_matrix
from .contract import Learner, Path, Task
from .encoding import Encoding
from .fitrows import FitRows
from .neighbourlists import NeighbourLists
from .refitted import weight_name
from .transformed import check_parameters

__all__ = ["NeighbourLearner", "encoded_neighbours", "neighbours"]

Neighbours: TypeAlias = KNeighborsRegressor | KNeighborsClassifier

MOST_BRUTE_COLUMNS = 15
"""Up to so many columns scikit-learn's "auto" plants a tree, and beyond none."""

CLOSE = 1e-9
"""Weighted votes that differ by less are counted by scikit-learn itself."""

FINEST = 2.0**50
"""Votes are multiples of its inverse: what is subtracted from a code and added again is then the same to the bit."""

OWN_SHAPE = {"mahalanobis": "VI", "seuclidean": "V"}
"""Metrics, and the parameter without which they are estimated from each training set."""


class NeighbourLearner(FitRows, Learner):
    """Means of y, or of the codes of classes, over the k nearest rows of a training set, at V numbers k.

    Parameters
    ----------
    estimator : KNeighborsRegressor or KNeighborsClassifier
    task : Task
    n_neighbors : sequence of int
    """

    weights = None
    fit_intercept = False
    responses = frozenset({"predict", "predict_proba"})

    def __init__(self, estimator: Neighbours, task: Task, n_neighbors: Sequence[int]) -> None:
        self.estimator, self.n_neighbors = estimator, tuple(map(int, n_neighbors))
        X = task.problem.X
        self.X = X if sparse.issparse(X) else numeric_matrix(task.problem)
        self.y, self.labels = task.problem.y, task.problem.classes
        self.is_weighted = estimator.weights == "distance"
        self.lists = self._make_lists()

    def _make_lists(self) -> NeighbourLists:
        """All values share them."""
        given = self.estimator
        search = NearestNeighbors(
            n_neighbors=max(self.n_neighbors),
            algorithm=given.algorithm,
            leaf_size=given.leaf_size,
            metric=given.metric,
            p=given.p,
            metric_params=given.metric_params,
        )
        # of the fewest folds that there can be
        has_few = 2 * max(self.n_neighbors) + 2 >= self.n // 3
        is_flat = given.algorithm == "auto" and (self.X.shape[1] > MOST_BRUTE_COLUMNS or has_few)
        return NeighbourLists(search, self.X, is_flat or given.algorithm == "brute" or sparse.issparse(self.X))

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.X.shape[0])

    @property
    def is_classifier(self) -> bool:
        """Whether y are codes of classes."""
        return self.labels is not None

    @property
    def n_values(self) -> int:
        """How many numbers of neighbours there are."""
        return len(self.n_neighbors)

    @property
    def most(self) -> int:
        """The largest number of neighbours."""
        return max(self.n_neighbors)

    def at(self, values: Sequence[int]) -> Self:
        """The same at some of its numbers of neighbours."""
        other = copy(self)
        other.n_neighbors = tuple(self.n_neighbors[value] for value in values)
        return other

    def check_fits(self, smallest_training_set: int) -> dict[int, str]:
        """Say which numbers of neighbours are more than a training set has rows."""
        lost = {
            value: f"The smallest training set has {smallest_training_set} rows, fewer than n_neighbors={k}."
            for value, k in enumerate(self.n_neighbors)
            if k > smallest_training_set
        }
        if len(lost) == self.n_values:
            raise TrainingSetError(
                f"{type(self.estimator).__name__} cannot be fitted: the smallest training set, without two folds, has "
                f"{smallest_training_set} rows, fewer than "
                f"n_neighbors={min(self.n_neighbors)}. Use fewer neighbours, or more folds."
            )
        return lost

    def respond(self, kind: str, scores: FloatArray) -> FloatArray:
        """What scikit-learn's method of that name gives: shares of the votes."""
        if kind != "predict_proba":
            raise NotImplementedError(kind)
        shares = (scores + 1.0) / 2.0
        return np.concatenate([1.0 - shares, shares], axis=-1) if scores.shape[-1] == 1 else shares

    def scores_of(self, fitted: Neighbours, X: Any) -> FloatArray:
        """Predictions of one of its estimators that was fitted, as means of y or of codes, (rows, Q)."""
        Q = self.y.shape[1]
        if not self.is_classifier:
            return np.asarray(fitted.predict(X), dtype=np.float64).reshape(-1, Q)
        found = fitted.predict_proba(X)
        shares = np.zeros((len(found), len(self.labels)))
        shares[:, np.searchsorted(self.labels, fitted.classes_)] = found
        return self._votes(shares[:, 1:] - shares[:, :1] if Q == 1 else 2.0 * shares - 1.0)

    def _votes(self, means: FloatArray) -> FloatArray:
        """Means of codes without their last bits, so that classes with as many votes stay equal."""
        return np.round(means * FINEST) / FINEST if self.is_classifier else means

    def estimator_at(self, value: int) -> Neighbours:
        """The estimator with one of the numbers of neighbours."""
        fresh: Neighbours = clone(self.estimator).set_params(n_neighbors=self.n_neighbors[value])
        return fresh

    def means(self, nearest: IntArray, distance: FloatArray) -> tuple[FloatArray, BoolArray]:
        """Predictions (R, V, Q) from the nearest rows (R, k) of a training set, and which are surely a refit's."""
        y = self.y[nearest]
        last = [k - 1 for k in self.n_neighbors]
        if not self.is_weighted:
            if len(last) == 1:
                means = y[:, : self.most].sum(axis=1)[:, None] / self.most
            else:
                means = np.cumsum(y, axis=1)[:, last] / np.array(self.n_neighbors)[:, None]
            return self._votes(means), np.ones(len(nearest), dtype=bool)
        weight, is_plain = inverse_distances(distance)
        if len(last) == 1:
            sums, total = np.einsum("rk,rkq->rq", weight, y)[:, None], weight.sum(axis=1)[:, None]
        else:
            sums, total = np.cumsum(y * weight[..., None], axis=1)[:, last], np.cumsum(weight, axis=1)[:, last]
        means = sums / total[..., None]
        is_sure = is_plain | ~self._is_close(means) if self.is_classifier else np.ones(len(nearest), dtype=bool)
        return self._votes(means), is_sure

    def _is_close(self, means: FloatArray) -> BoolArray:
        """Whether two classes have nearly the same votes, so that rounding errors would decide; of any value."""
        if means.shape[-1] == 1:
            return np.asarray((np.abs(means[..., 0]) < CLOSE).any(axis=1))
        best = np.sort(means, axis=-1)
        return np.asarray((best[..., -1] - best[..., -2] < CLOSE).any(axis=1))


def inverse_distances(distance: FloatArray) -> tuple[FloatArray, BoolArray]:
    """Weights (R, k), and which rows have others on the spot: those alone then count, each once."""
    is_there = distance == 0.0
    is_plain = is_there[:, 0]
    with np.errstate(divide="ignore"):
        weight = np.where(is_plain[:, None], is_there, 1.0 / distance)
    return weight, is_plain


def neighbours(estimator: Neighbours, task: Task, path: Path | None) -> NeighbourLearner:
    """Lists of neighbours, if they are the same for every training set."""
    if task.problem.weights is not None:
        weight_name(estimator)  # says that it takes none
    if obstacle := _obstacle(estimator, task.problem.X):
        raise RouteError(obstacle)
    values = (estimator.n_neighbors,) if path is None else path.values
    for value in values:
        check_parameters(clone(estimator).set_params(n_neighbors=value), DataError)
    try:
        return NeighbourLearner(estimator, task, [_whole(value) for value in values])
    except (DataError, RouteError):
        raise
    except (TypeError, ValueError) as error:  # of the search: a refit says it with the training set
        raise RouteError(f"the search among all rows fails ({error})") from error


def encoded_neighbours(estimator: Neighbours, task: Task, path: Path | None, encoding: Encoding) -> NoReturn:
    """Nothing behind steps that learn."""
    raise RouteError("distances between rows change with what the steps learn")


def _whole(value: Any) -> int:
    if value is None:
        raise RouteError("n_neighbors is None")
    return int(value)


def _obstacle(estimator: Neighbours, X: Any) -> str:
    """Why the nearest rows of a training set are not the nearest of all rows that are in it; empty if they are."""
    metric = estimator.metric
    if callable(estimator.weights):
        return "weights is a function, which is asked anew in every training set"
    if callable(metric):
        return "its metric is a function, and if that is no distance, what a tree finds hangs on the training set"
    if metric == "nan_euclidean":
        return "its metric takes missing values"
    if metric == "precomputed" and sparse.issparse(X):
        return "a sparse graph of distances may lack neighbours of some training set"
    if metric in OWN_SHAPE and OWN_SHAPE[metric] not in (estimator.metric_params or {}):
        return f"the metric {metric} is estimated from every training set"
    return ""
