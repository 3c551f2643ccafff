"""scikit-learn's GaussianNB: means and variances of the classes of a training set."""

from __future__ import annotations

from copy import copy
from functools import cached_property
from typing import Any, Self

import numpy as np
from scipy.special import logit, logsumexp
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import Pipeline

from ..errors import DataError
from ..typing import AnyArray, BoolArray, FloatArray, IntArray
from .classmoments import ClassLearner, ClassMoments, have_digits, parameters_along, products
from .contract import RANKING, Path, Task
from .decisions import check_densities
from .encoding import Encoding
from .priors import class_priors, known_priors

__all__ = ["NaiveBayesLearner", "encoded_naive_bayes", "naive_bayes"]

FARTHEST = 1e4
"""Squared distances, in deviations, up to which they are found by products: the error is less than 1e-11."""

RIVALS = 2000.0
"""Difference of squared distances beyond which the farther class has no probability at all."""

NEARLY_ONE = 15.0
"""Log odds from which on it is looked at how scikit-learn rounds a probability."""

ONE = 40.0
"""Log odds of a probability of one in double precision."""

NO_DIGITS = 1e6
"""Joint log probability, less than none, from which on scikit-learn's has no digits that tell classes apart."""

ALIKE = 0.01
"""Difference of two variances, of one of them, up to which squared distances differ by what their means do."""

NO_WEIGHT = 1.001e-8
"""Sum of the weights of a class up to which scikit-learn's GaussianNB may take them for none."""

MANY_STEPS = 1e6
"""Of the last digit of a joint log probability: what is farther from one is as good as not rounded."""

SIGNS = (-1.0, 1.0)
"""Of log odds for each of two classes."""


class NaiveBayesLearner(ClassLearner):
    """Joint log probabilities of independent normal columns.

    Scikit-learn subtracts the logarithm of their sum, which has the last digit of the largest. So probabilities next to
    one are ties, up to 1e-14 from it if log probabilities are about 100, and ranks have to have the same ties. Log odds
    of two classes do not know that digit: where it matters there is a second learner that ``rounds`` them.
    """

    responses = frozenset({"predict", "predict_proba"})
    rounds = False

    def for_ranks(self, task: Task) -> Self | None:
        """Of two classes; of more the scores are joint log probabilities, which have that digit."""
        is_ranked = any(
            metric.family in RANKING and metric.response in ("scores", "predict_proba") and not metric.is_extra
            for metric in task.metrics
        )
        if not is_ranked or self.n_classes > 2:
            return None
        other = copy(self)
        other.rounds = True
        return other

    def of_two(self, scores: FloatArray) -> FloatArray:
        """From log odds; next to one with the last digit that doubles have there, which ``1 / (1 + x)`` has not.

        Those next to zero are exponentials, which end at -745: ``expit`` of scipy is zero from -710 on.
        """
        small = np.exp(-np.logaddexp(0.0, np.abs(scores)))
        both = np.concatenate([small, 1.0 - small], axis=-1)
        return np.where(scores > 0, both, both[..., ::-1])

    def of_many(self, scores: FloatArray) -> FloatArray:
        """As scikit-learn rounds them."""
        return np.asarray(np.exp(scores - logsumexp(scores, axis=-1, keepdims=True)))

    @cached_property
    def _both(self) -> tuple[FloatArray, FloatArray]:
        """The columns and their squares side by side (n, 2p), and the largest squares."""
        squares = np.square(self.X)
        return np.hstack([squares, self.X]), squares.max(axis=0)

    def held_out(self, moments: ClassMoments, rows: IntArray) -> tuple[FloatArray, BoolArray]:
        """Scores at every ``var_smoothing``."""
        assert moments.squares is not None
        deviation, _, sure = self.scale(moments)
        _, overall = moments.overall()
        sure &= (moments.n > (0.0 if self.weights is None else NO_WEIGHT)).all(axis=1)
        n = np.where(moments.n > 0, moments.n, 1.0)
        scores = np.empty((*rows.shape, self.n_values, self.n_columns_of_scores))
        for value, estimator in enumerate(self.estimators):
            scaled = np.square(deviation)
            smoothing = estimator.var_smoothing * (overall / scaled).max(axis=1)
            variance = moments.squares / n[..., None] + (smoothing[:, None] * scaled)[:, None]
            sure &= have_digits(variance, moments.mean).all(axis=1)
            variance = np.where(sure[:, None, None], variance, 1.0)
            with np.errstate(divide="ignore"):
                constant = np.log(class_priors(estimator, moments)) - 0.5 * np.log(
                    2.0 * np.pi * variance / scaled[:, None]
                ).sum(axis=2)
            distances = self._distances(rows, moments.mean, 1.0 / variance, sure)
            np.subtract(self.in_columns(constant)[:, None], 0.5 * distances, out=scores[:, :, value])
            for each in (0, 1) if self.rounds else ():
                found = scores[:, :, value, 0] * SIGNS[each]
                self._round(found, rows, constant[:, each], moments.mean[:, each], 1.0 / variance[:, each])
                scores[:, :, value, 0] = found * SIGNS[each]
        return scores, sure

    def _distances(self, rows: IntArray, mean: FloatArray, precision: FloatArray, sure: BoolArray) -> FloatArray:
        """Squared distances (B, R, Q) of rows to the means, in deviations; of two classes their difference.

        A column that is constant in a class has hardly any deviation there, and a row with another value is extremely
        far away. Where that is so of all classes, differences are what rounding leaves: that is not ``sure`` (B,).
        """
        X, largest = self._both
        far = precision @ largest + (np.square(mean) * precision).sum(axis=2)
        near = (far < FARTHEST).all(axis=1)
        if near.all():
            return self._by_products(X, rows, mean, precision)
        found = np.empty((*rows.shape, self.n_columns_of_scores))
        if near.any():
            found[near] = self._by_products(X, rows[near], mean[near], precision[near])
        for at in np.flatnonzero(~near):
            apart = np.square(self.X[rows[at]][:, None] - mean[at])
            distance = np.einsum("rcp,cp->rc", apart, precision[at])
            nearest, second = np.partition(distance, 1, axis=1)[:, :2].T
            sure[at] &= not ((nearest > FARTHEST) & (second - nearest < RIVALS)).any()
            found[at] = self.in_columns(distance)
        return found

    def _by_products(self, X: FloatArray, rows: IntArray, mean: FloatArray, precision: FloatArray) -> FloatArray:
        """The same as ``x^2 P - 2 x'(P m) + m'P m``."""
        leaning = mean * precision
        weight = np.concatenate([precision, -2.0 * leaning], axis=2).swapaxes(1, 2)
        constant = np.einsum("bcp,bcp->bc", leaning, mean)
        found = products(X, rows, self.in_columns(weight))
        found += self.in_columns(constant)[:, None]
        return found

    def _round(
        self, odds: FloatArray, rows: IntArray, constant: FloatArray, mean: FloatArray, precision: FloatArray
    ) -> None:
        """Give log odds (B, R) of rows the ties of scikit-learn's probabilities of a class (B, ...)."""
        for at in np.flatnonzero((odds > NEARLY_ONE).any(axis=1)):
            some = np.flatnonzero(odds[at] > NEARLY_ONE)
            distances = np.square(self.X[rows[at, some]] - mean[at]) @ precision[at]
            odds[at, some] = _rounded(odds[at, some], constant[at] - 0.5 * distances)

    def settle(self, fitted: Any, X: Any, y: AnyArray, weights: FloatArray | None) -> None:
        """What is the same in all rows of a class is the mean of that column there, which a sum and a quotient miss."""
        if isinstance(fitted, Pipeline):
            X, fitted = fitted[:-1].transform(X), fitted[-1]
        X = np.asarray(X)
        if (X.min(axis=0) == X.max(axis=0)).all():  # variances are 1e-33, what rounding errors make of zero
            raise ValueError("no column varies in these rows, so that classes have no variances.")
        for at, label in enumerate(fitted.classes_):
            rows = X[(y == label) if weights is None else (y == label) & (weights > 0)]
            if len(rows) and fitted.class_count_[at] > NO_WEIGHT:
                same = rows.min(axis=0) == rows.max(axis=0)
                fitted.theta_[at, same], fitted.var_[at, same] = rows[0, same], fitted.epsilon_

    def scores_by(self, fitted: Any, X: Any) -> FloatArray:
        """Joint log probabilities; of rows that are far from every class, how much they are above the nearest's."""
        with np.errstate(divide="ignore", invalid="ignore"):  # a class without weight has no probability
            joint = np.asarray(fitted.predict_joint_log_proba(X), dtype=np.float64)
            far = np.isfinite(joint).all(axis=1) & (joint.max(axis=1) < -NO_DIGITS)
        relative, Z = joint.copy(), np.asarray(X, dtype=np.float64)
        for nearest in np.unique(joint[far].argmax(axis=1)):
            some = np.flatnonzero(far & (joint.argmax(axis=1) == nearest))
            for each in range(joint.shape[1]):
                relative[some, each] = _odds(fitted, Z[some], each, nearest)
        if not self.rounds:
            return relative
        odds: FloatArray = relative[:, 1] - relative[:, 0]
        for each in (0, 1):
            odds = np.where(far, odds, SIGNS[each] * _rounded(SIGNS[each] * odds, joint[:, each]))
        return odds


def _odds(fitted: GaussianNB, X: FloatArray, each: int, other: int) -> FloatArray:
    """Log odds of one class to another; what is the same in both cancels in every column, however far a row is."""
    (m, v), (at, u) = ((fitted.theta_[c].astype(np.float64), fitted.var_[c].astype(np.float64)) for c in (each, other))
    from_each, from_other = X - m, X - at
    apart = np.square(from_each) / v - np.square(from_other) / u
    close = (at - m) * (from_each + from_other) / v + np.square(from_other) * ((u - v) / v / u)
    distance = np.where(np.abs(u - v) < ALIKE * u, close, apart).sum(axis=1)
    constant = np.log(fitted.class_prior_[each] / fitted.class_prior_[other]) - 0.5 * np.log(v / u).sum()
    odds: FloatArray = constant - 0.5 * distance
    return odds


def _rounded(odds: FloatArray, joint: FloatArray) -> FloatArray:
    """Log odds of a class whose probability is that of scikit-learn, given its joint log probability."""
    digit = np.spacing(np.abs(joint))
    with np.errstate(over="ignore", divide="ignore"):
        left = np.log1p(np.exp(-odds))  # what the logarithm of the sum is above the largest
        steps = np.rint(left / digit)
        exact = np.minimum(logit(np.exp(-steps * digit)), ONE)
    return np.where((odds > 0) & (steps < MANY_STEPS), exact, odds)


def _check(estimator: GaussianNB, task: Task) -> None:
    """Refuse weights whose means and variances would be zero in scikit-learn."""
    known_priors(estimator, len(task.problem.classes))
    weights, classes = task.problem.weights, task.problem.classes
    if weights is None:
        return
    sums = np.bincount(np.searchsorted(classes, task.problem.labels), weights, minlength=len(classes))
    if (small := (sums > 0) & (sums <= NO_WEIGHT)).any():
        raise DataError(
            f"The weights of class {classes[small][0]} sum to {sums[small][0]:.3g}, and scikit-learn's GaussianNB "
            "takes sums of up to 1e-8 for no weight at all: the mean of the class would be zero. Multiply "
            "sample_weight by a number, such as one over its mean, which changes nothing else."
        )


def naive_bayes(estimator: GaussianNB, task: Task, path: Path | None) -> NaiveBayesLearner:
    """On the columns as they are."""
    _check(estimator, task)
    return _learner(parameters_along(estimator, path), task, None)


def encoded_naive_bayes(estimator: GaussianNB, task: Task, path: Path | None, encoding: Encoding) -> NaiveBayesLearner:
    """After steps that learn from each training set."""
    _check(estimator, task)
    return _learner(parameters_along(estimator, path), task, encoding)


def _learner(estimators: list[GaussianNB], task: Task, encoding: Encoding | None) -> NaiveBayesLearner:
    """If the columns are not too small beside the largest one for ranks."""
    share = max(each.var_smoothing for each in estimators)
    check_densities(task, lambda v: v + share * v.max(initial=0.0), f"a var_smoothing of {share:.3g}", encoding)
    return NaiveBayesLearner(estimators, task, encoding)
