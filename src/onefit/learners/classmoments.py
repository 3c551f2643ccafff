"""Classifiers that know a training set by the counts, means and scatters of its classes."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.special import expit, softmax
from sklearn.base import clone
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from ..errors import DataError
from ..linalg import compiled
from ..linalg.weights import check_ratio
from ..typing import AnyArray, BoolArray, Estimator, FloatArray, IntArray
from ..validation import numeric_matrix
from .contract import Learner, Path, Task
from .encoding import Encoding
from .fitrows import FitRows
from .fixedfeatures import FixedFeatures
from .transformed import check_parameters

__all__ = ["ABSENT", "CONSTANT", "ClassLearner", "ClassMoments", "have_digits", "parameters_along", "products"]

ABSENT = -1e300
"""Score of a class that a training set lacks: less than any other, and no infinity, which could not be subtracted."""

CONSTANT = 1e-18
"""Variance of a column, of its largest square, below which scikit-learn itself says if a scaler sees a constant."""

LOST = 1e-12
"""Variance of a column in a class, of the square of its mean there, below which it may be rounding errors of rows."""


@dataclass(frozen=True)
class ClassMoments:
    """What B training sets say of C classes; rows are weighted, and columns moved by the learner's ``shift``.

    Attributes
    ----------
    n : (B, C) sums of weights
    n_rows : (B,) numbers of rows
    mean : (B, C, p)
    squares : (B, C, p) sums of squares about the means, if the learner's scatter is "diagonal"
    pooled : (B, p, p) sums of products about the means of their classes, if it is "pooled"
    scatter : (B, C, p, p) the same by classes, if it is "classes"
    overall : function
        Means and variances (B, p) of all rows, each counted once.
    inside : function
        Which rows are in the training sets, (B, n).
    """

    n: FloatArray
    n_rows: FloatArray
    mean: FloatArray
    squares: FloatArray | None
    pooled: FloatArray | None
    scatter: FloatArray | None
    overall: Callable[[], tuple[FloatArray, FloatArray]]
    inside: Callable[[], BoolArray]


class ClassLearner(FitRows, Learner):
    """A classifier of Gaussian classes, perhaps after steps that learn from each training set.

    Parameters
    ----------
    estimators : sequence of estimators
        Of the last step, one a parameter value.
    task : Task
    before : Encoding or None
        What the steps make of the columns. A StandardScaler alone divides sums by deviations; after others the columns
        of every training set are made by themselves, and the learner is put on them.

    Attributes
    ----------
    X : array (n, p), moved by ``shift`` so that sums of squares keep their digits
    classes : (n,) class of each row
    scatter : {"diagonal", "pooled", "classes"}
        Which sums of products it needs.
    """

    fit_intercept = False
    responses = frozenset({"predict", "predict_proba", "decision_function"})
    scatter: str = "diagonal"
    reason = "counts, means and sums of products of the classes of a training set are those of its folds"

    scaler: StandardScaler | None = None
    encoding: Encoding | None = None

    def __init__(self, estimators: Sequence[Any], task: Task, before: Encoding | None = None) -> None:
        problem = task.problem
        check_ratio(problem.weights)
        self.estimators, self.weights = tuple(estimators), problem.weights
        self.labels = problem.classes
        self.classes: IntArray = np.searchsorted(problem.classes, problem.labels)
        if before is not None and len(before.steps) == 1 and type(before.steps[0]) is StandardScaler:
            self.scaler = before.steps[0]
        else:
            self.encoding = before
        if self.encoding is None:
            self._set_columns(numeric_matrix(problem), slice(None))
        else:
            self._set_columns(np.zeros((problem.n, 0)), slice(None))

    def _set_columns(self, X: FloatArray, rows: IntArray | slice) -> None:
        """Take columns (n, p), moved to their mean in some of the rows."""
        self.shift: FloatArray = X[rows].mean(axis=0)
        self.X: FloatArray = X - self.shift
        self.largest: FloatArray = np.square(X).max(axis=0)

    def on(self, Z: FloatArray, train: IntArray) -> Self:
        """The same on the outputs (n, p) that steps have learned from the rows of a training set."""
        other = copy(self)
        other.encoding = None
        other._set_columns(Z, train)
        return other

    @property
    def fixed(self) -> FixedFeatures:
        """Of which the outputs of its steps are made."""
        assert self.encoding is not None
        return self.encoding.fixed

    @property
    def drops_dependent(self) -> bool:
        """Whether columns that follow from others in a training set, and constant ones, change nothing."""
        return False

    def may_have(self, n_outputs: int) -> bool:
        """Whether so many columns are enough for its parameters."""
        return n_outputs > 0

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.X)

    @property
    def n_columns(self) -> int:
        """Number of columns; of those that steps make, the most that a training set may have."""
        return int(self.X.shape[1]) if self.encoding is None else self.encoding.block.n_most

    @property
    def n_classes(self) -> int:
        """Number of classes in all rows."""
        return len(self.labels)

    @property
    def n_values(self) -> int:
        """Number of parameter values."""
        return len(self.estimators)

    def at(self, values: Sequence[int]) -> Self:
        """The same at some of its values."""
        other = copy(self)
        other.estimators = tuple(self.estimators[value] for value in values)
        return other

    @abstractmethod
    def held_out(self, moments: ClassMoments, rows: IntArray) -> tuple[FloatArray, BoolArray]:
        """Scores (B, R, V, Q) of rows (B, R), and of which training sets they are a refit's to all digits."""

    def for_ranks(self, task: Task) -> Self | None:
        """The same with scores whose probabilities are rounded next to one as scikit-learn rounds them.

        None if those are its own, or if no metric of a task ranks them.
        """
        return None

    def needs_more_rows(self, n_train: int) -> str:
        """Why training sets of so many rows would all be left to scikit-learn; empty if they are not."""
        return ""

    def scale(self, moments: ClassMoments) -> tuple[FloatArray, FloatArray, BoolArray]:
        """What columns are divided by, where their zero is, (B, p) both, and where scikit-learn surely agrees."""
        B, _, p = moments.mean.shape
        sure: BoolArray = np.ones(B, dtype=bool)
        deviation, origin = np.ones((B, p)), np.broadcast_to(-self.shift, (B, p))
        if self.scaler is None:
            return deviation, origin, sure
        centre, variance = moments.overall()
        if self.scaler.with_std:
            sure = np.asarray((variance > CONSTANT * self.largest).all(axis=1))
            deviation = np.sqrt(np.where(sure[:, None], variance, 1.0))
        origin = centre if self.scaler.with_mean else origin
        return deviation, origin, sure

    @property
    def n_columns_of_scores(self) -> int:
        """One for two classes, else one a class."""
        return 1 if self.n_classes == 2 else self.n_classes

    def in_columns(self, scores: FloatArray) -> FloatArray:
        """Scores (..., C) of the classes as (..., Q): their difference if there are two."""
        return scores[..., 1:] - scores[..., :1] if self.n_classes == 2 else scores

    def respond(self, kind: str, scores: FloatArray) -> FloatArray:
        """What scikit-learn's method of that name gives."""
        if kind == "decision_function" and kind in self.responses:
            return scores
        if kind != "predict_proba":
            raise NotImplementedError(kind)
        if scores.shape[-1] > 1:
            return self.of_many(scores)
        return self.of_two(scores)

    def of_many(self, scores: FloatArray) -> FloatArray:
        """Probabilities of three classes or more."""
        return np.asarray(softmax(scores, axis=-1))

    def of_two(self, scores: FloatArray) -> FloatArray:
        """Probabilities of two classes from log odds."""
        return np.concatenate([expit(-scores), expit(scores)], axis=-1)

    def whole(self, value: int) -> Estimator:
        """What scikit-learn fits if a training set is left to it."""
        steps = [] if self.scaler is None else [self.scaler]
        if self.encoding is not None:
            steps = list(self.encoding.steps)
        last = clone(self.estimators[value])
        found: Estimator = make_pipeline(*(clone(step) for step in steps), last) if steps else last
        return found

    def scores_of(self, fitted: Any, X: Any) -> FloatArray:
        """Scores (rows, Q) by an estimator that was fitted; a class that it does not know has less than any other."""
        if isinstance(fitted, Pipeline):
            X, fitted = fitted[:-1].transform(X), fitted[-1]
        scores = np.full((X.shape[0], self.n_classes), ABSENT)
        known = np.searchsorted(self.labels, fitted.classes_)
        if len(known) == 1:
            scores[:, known] = 0.0
        else:
            found = self.scores_by(fitted, X)
            scores[:, known] = np.stack([np.zeros_like(found), found], axis=1) if found.ndim == 1 else found
        return np.maximum(self.in_columns(scores), ABSENT)

    def settle(self, fitted: Any, X: Any, y: AnyArray, weights: FloatArray | None) -> None:
        """Mend what rounding left in an estimator that was fitted to these rows."""

    def scores_by(self, fitted: Any, X: Any) -> FloatArray:
        """Scores by an estimator that knows several classes: of each of them, or the difference of two."""
        return np.asarray(fitted.decision_function(X))


def have_digits(variance: FloatArray, mean: FloatArray) -> BoolArray:
    """Where variances (..., p) about means of the same shape are more than what rounding leaves of a constant."""
    return np.asarray((np.isfinite(variance) & (variance > LOST * np.square(mean))).all(axis=-1))


def products(X: FloatArray, rows: IntArray, coef: FloatArray) -> FloatArray:
    """``X[rows[b]] @ coef[b]`` (B, R, D) for rows (B, R) and coefficients (B, p, D)."""
    if compiled.is_on():
        nothing, sizes = np.zeros((len(X), coef.shape[2])), np.full(len(rows), rows.shape[1])
        return compiled.residuals(X, nothing, coef, rows, sizes)
    return np.stack([X[some] @ each for some, each in zip(rows, coef, strict=True)])


def parameters_along(estimator: Any, path: Path | None) -> list[Any]:
    """The estimator at the values of a path, checked as its own fit would."""
    if path is None:
        return [estimator]
    along = [clone(estimator).set_params(**{path.name: value}) for value in path.values]
    for each in along:
        check_parameters(each, DataError)
    return along
