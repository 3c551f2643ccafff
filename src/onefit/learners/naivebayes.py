"""scikit-learn's GaussianNB: means and variances of the classes of a training set."""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from sklearn.naive_bayes import GaussianNB

from ..typing import BoolArray, FloatArray, IntArray
from .classmoments import ClassLearner, ClassMoments, parameters_along, products, scaler_of
from .contract import Path, Task
from .encoding import Encoding
from .priors import class_priors, known_priors

__all__ = ["NaiveBayesLearner", "encoded_naive_bayes", "naive_bayes"]

FARTHEST = 1e4
"""Squared distances, in deviations, up to which they are found by products: the error is less than 1e-11."""


class NaiveBayesLearner(ClassLearner):
    """Joint log probabilities of independent normal columns."""

    responses: ClassVar[frozenset[str]] = frozenset({"predict", "predict_proba"})

    @cached_property
    def _both(self) -> tuple[FloatArray, FloatArray]:
        """The columns and their squares side by side (n, 2p), and the largest squares."""
        squares = np.square(self.X)
        return np.hstack([squares, self.X]), squares.max(axis=0)

    def held_out(self, moments: ClassMoments, rows: IntArray) -> tuple[FloatArray, BoolArray]:
        """Scores at every ``var_smoothing``."""
        assert moments.squares is not None
        deviation, _, sure = self.scale(moments)
        sure &= (moments.n > 0).all(axis=1)
        n = np.where(moments.n > 0, moments.n, 1.0)
        scores = np.zeros((*rows.shape, self.n_values, self.n_classes))
        for value, estimator in enumerate(self.estimators):
            scaled = np.square(deviation)
            smoothing = estimator.var_smoothing * (moments.variance / scaled).max(axis=1)
            variance = moments.squares / n[..., None] + (smoothing[:, None] * scaled)[:, None]
            sure &= (variance > 0).all(axis=(1, 2))
            variance = np.where(sure[:, None, None], variance, 1.0)
            with np.errstate(divide="ignore"):
                constant = np.log(class_priors(estimator, moments)) - 0.5 * np.log(2.0 * np.pi * variance / scaled[:, None]).sum(axis=2)
            scores[:, :, value] = constant[:, None] - 0.5 * self._distances(rows, moments.mean, 1.0 / variance)
        return scores, sure

    def _distances(self, rows: IntArray, mean: FloatArray, precision: FloatArray) -> FloatArray:
        """Squared distances (B, R, C) of rows to the means, in deviations."""
        X, largest = self._both
        far = precision @ largest + (np.square(mean) * precision).sum(axis=2)
        near = (far < FARTHEST).all(axis=1)
        found = np.empty((*rows.shape, mean.shape[1]))
        if near.any():
            weight = np.concatenate([precision[near], -2.0 * mean[near] * precision[near]], axis=2).swapaxes(1, 2)
            constant = (np.square(mean[near]) * precision[near]).sum(axis=2)
            found[near] = products(X, rows[near], weight) + constant[:, None]
        for at in np.flatnonzero(~near):
            distance = self.X[rows[at]][:, None] - mean[at]
            found[at] = np.einsum("rcp,cp->rc", np.square(distance), precision[at])
        return found

    def scores_by(self, fitted: Any, X: Any) -> FloatArray:
        """Joint log probabilities."""
        return np.asarray(fitted.predict_joint_log_proba(X))


def naive_bayes(estimator: GaussianNB, task: Task, path: Path | None) -> NaiveBayesLearner:
    """On the columns as they are."""
    known_priors(estimator, len(task.problem.classes))
    return NaiveBayesLearner(parameters_along(estimator, path), task, None)


def encoded_naive_bayes(
    estimator: GaussianNB, task: Task, path: Path | None, encoding: Encoding
) -> NaiveBayesLearner:
    """After a StandardScaler."""
    known_priors(estimator, len(task.problem.classes))
    return NaiveBayesLearner(parameters_along(estimator, path), task, scaler_of(encoding))
