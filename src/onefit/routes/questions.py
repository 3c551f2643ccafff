"""What a fitted estimator is asked about held-out rows, and its answers with columns in the order of all classes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..errors import DataError
from ..learners import Task
from ..learners.gaussian_process import std_of_observations
from ..metrics.scored import check_probabilities
from ..typing import AnyArray, Data, FloatArray
from ..vocabulary import PREDICTIVE

__all__ = ["Questions"]


@dataclass(frozen=True)
class Questions:
    """Kinds of response.

    Attributes
    ----------
    kinds : tuple of str
        As in `metrics.Metric`.
    labels : array or None
        All classes in y, in their order.
    needs_every_class : bool
        Whether a class that a training set lacks makes the answer useless: log loss.
    scorers : dict
        By kind, metrics that ask the estimator themselves.
    """

    kinds: tuple[str, ...] = ("predict",)
    labels: AnyArray | None = None
    needs_every_class: bool = False
    scorers: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of_task(cls, task: Task) -> Questions:
        """What the metrics of a task need."""
        if not task.metrics:
            return cls()
        scorers = {metric.response: metric for metric in task.metrics if hasattr(metric, "score_rows")}
        kinds = set(task.responses) - set(scorers)
        if task.problem.classes is None or not kinds:
            kinds |= {"predict"}
        strict = any(getattr(metric, "needs_every_class", False) for metric in task.metrics)
        return cls(tuple(sorted(kinds)), task.problem.classes, strict, scorers)

    def ask(self, fitted: Any, X: Data, y: AnyArray) -> dict[str, AnyArray]:
        """The answers of a fitted estimator about some rows, whose target is y."""
        answers = {kind: self._answer(kind, fitted, X, y) for kind in self.kinds}
        return answers | {kind: metric.score_rows(fitted, X, y) for kind, metric in self.scorers.items()}

    def _answer(self, kind: str, fitted: Any, X: Data, y: AnyArray) -> AnyArray:
        if kind == "scores":
            kind = "decision_function" if hasattr(fitted, "decision_function") else "predict_proba"
            found = self._answer(kind, fitted, X, y)
            return found[:, 1:] if kind == "predict_proba" and found.shape[1] == 2 else found
        if kind == PREDICTIVE:
            return _with_std(fitted, X, y)
        found = np.asarray(getattr(fitted, kind)(X))
        if kind == "predict":
            return found
        return self._aligned(kind, found.astype(np.float64), np.asarray(fitted.classes_), y)

    def _aligned(self, kind: str, found: FloatArray, seen: AnyArray, y: AnyArray) -> FloatArray:
        """Columns for all classes; one that the training set lacks has probability zero, or the least score."""
        assert self.labels is not None
        C = len(self.labels)
        if kind == "predict_proba":
            self._check_probabilities(found, seen)
        unseen = ~np.isin(self.labels, seen)
        if self.needs_every_class and kind == "predict_proba" and np.isin(y, self.labels[unseen]).any():
            missing = ", ".join(map(str, self.labels[unseen]))
            raise DataError(
                f"The training set has no row of class {missing}, so that its log loss would be infinite: use fewer "
                "folds, stratified ones, or merge rare classes."
            )
        if kind == "decision_function" and C == 2:
            return found.reshape(len(y), -1)[:, :1]
        if not unseen.any():
            return found
        at = np.searchsorted(self.labels, seen)
        least = 0.0 if kind == "predict_proba" else np.finfo(np.float64).min
        columns = np.full((len(y), C), least)
        if found.ndim == 1:  # of two classes that were seen, the second's score
            found = np.stack([-found, found], axis=1)
        columns[:, at] = found
        return columns

    @staticmethod
    def _check_probabilities(found: FloatArray, seen: AnyArray) -> None:
        if found.ndim != 2 or found.shape[1] != len(seen):
            raise DataError(f"predict_proba gives an array of shape {found.shape} for {len(seen)} classes.")
        check_probabilities(found, "The metric")


def _with_std(fitted: Any, X: Data, y: AnyArray) -> FloatArray:
    """Residuals and standard deviations of observations, (m, Q, 2)."""
    mean, std = (np.asarray(part, dtype=np.float64) for part in fitted.predict(X, return_std=True))
    if mean.shape != np.shape(y) or std.shape != mean.shape:
        raise DataError(
            f"predict(return_std=True) gives arrays of shapes {mean.shape} and {std.shape} for {np.shape(y)} values."
        )
    parts = np.asarray(y, dtype=np.float64) - mean, std_of_observations(fitted, std)
    return np.stack([part.reshape(len(y), -1) for part in parts], axis=-1)
