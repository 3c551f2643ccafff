"""What a model is worth beside the best constant prediction, on the same folds; computed when it is first asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.compose import TransformedTargetRegressor
from sklearn.dummy import DummyClassifier, DummyRegressor

from ..folds import ExplicitFolds
from ..inference.figures import Figure, Neighbours, relative_loss
from ..inference.fold_errors import FoldErrors, RowRoles
from ..learners.constant import weighted_percentile
from ..metrics import Asked, Loss
from ..running.contenders import Contender
from ..running.job import Job
from ..running.makejob import make_job
from ..running.settings import Settings
from ..typing import FloatArray

__all__ = ["ConstantGrowth", "ConstantNormal", "ConstantShare", "Standard", "mean_is_best", "standard_of"]

MOST_SINGLE_ROWS = 2000
"""Rows up to which constants other than means are learned without each two of them."""

MOST_FITTED_ROWS = 50
"""The same of a constant that is refitted."""

SAME = 1e-6
"""By how much another class has to be better than the most frequent one."""

LOG_SCORES = ("neg_log_predictive", "log_predictive")

Build = Callable[[Job, Any], Any]
"""Makes a result of a job and its outcome."""


@dataclass(frozen=True, eq=False)
class Standard:
    """How the best constant is computed for a result, and what the ratio of the two needs to know.

    Attributes
    ----------
    y : array
        The target as it was given.
    settings : Settings
        Those of the job, with its folds.
    asked : Asked
    estimator : DummyRegressor or DummyClassifier
    roles : RowRoles
    sampling : array (R,)
        The part of the squared standard error that is the variance of the rows.
    n_units : int
    build : function
        Of a job and its outcome: a result.
    neighbours : Neighbours or None
        Of rows that follow one another, the variance of a mean.
    """

    y: Any
    settings: Settings
    asked: Asked
    estimator: Any
    roles: RowRoles
    sampling: FloatArray
    n_units: int
    build: Build = field(repr=False)
    neighbours: Neighbours | None = None

    def compute(self) -> Any:
        """The result of the best constant: of scores such as F1 it is not always the most frequent class."""
        found = self._result_of(self.estimator, self.settings)
        if self.asked.family != "function" or not isinstance(self.estimator, DummyClassifier):
            return found
        labels = np.unique(np.asarray(self.y))
        if len(labels) > 2:  # averages over classes, for which the most frequent one is best
            return found
        alone = replace(self.settings, scoring=_first_of(self.settings.scoring))  # no class is a probability
        others = [self._result_of(DummyClassifier(strategy="constant", constant=[c]), alone) for c in labels.tolist()]
        sign = 1.0 if found.greater_is_better else -1.0
        best = max(others, key=lambda each: sign * float(np.ravel(each.estimate)[0]))
        gain = sign * (float(np.ravel(best.estimate)[0]) - float(np.ravel(found.estimate)[0]))
        return best if gain > SAME else found

    def _result_of(self, constant: Any, settings: Settings) -> Any:
        job = make_job([Contender((constant,))], np.zeros((len(self.y), 1)), self.y, settings)
        return self.build(job, job.run())

    def skill(self, result: Any, baseline: Any) -> Figure:
        """One minus the ratio of the losses, with an interval; NaN where the ratio has no meaning."""
        own, base = (self._losses(each) for each in (result, baseline))
        loss_of = self.asked.shown.loss_of
        has_none = self.asked.family in ("rank", "pooled") or self.asked.scale == "identity" or own.shape != base.shape
        # of recall a constant leaves nothing to save
        if has_none or (self.asked.family == "function" and not np.any(loss_of(np.asarray(baseline.cv_estimate)))):
            nan = np.full(np.shape(np.atleast_1d(result.estimate)), np.nan)
            return Figure(nan, nan, nan)
        estimate, base_estimate = (np.atleast_1d(np.asarray(loss_of(e.estimate))) for e in (result, baseline))
        extra = np.maximum(np.square(np.atleast_1d(result.standard_error)) - self.sampling, 0.0)
        level = result.confidence_level
        roles, units = self.roles, self.n_units
        found = relative_loss(estimate, base_estimate, own, base, extra, roles, level, units, self.neighbours)
        same = (own == base).all(axis=0)  # what the two differ by is then extrapolation alone, which shows nothing
        low, high = (
            np.where(same, bound(end, 0.0), end) for bound, end in ((np.minimum, found.low), (np.maximum, found.high))
        )
        return Figure(found.estimate, low, high)

    def _losses(self, result: Any) -> FloatArray:
        """Mean held-out losses of the rows, (n, R)."""
        table: FloatArray = result.heldout[result.row_value].to_numpy(dtype=np.float64)
        return table.reshape(len(table), -1)


def _first_of(scoring: Any) -> Any:
    """The first of several scores."""
    if isinstance(scoring, Mapping):
        name = next(iter(scoring))
        return {name: scoring[name]}
    return list(scoring)[:1] if isinstance(scoring, list | tuple) else scoring


def standard_of(
    job: Job, asked: Asked, errors: FoldErrors, sampling: FloatArray, build: Build, neighbours: Neighbours | None = None
) -> Standard:
    """The best constant for a job's first metric."""
    settings, source = job.settings, job.partitions.source
    K, L = source.n_folds, errors.n_repeats
    estimator = _constant(job, asked)
    is_mean = getattr(getattr(estimator, "regressor", estimator), "strategy", "") == "mean"
    most = (
        MOST_FITTED_ROWS if isinstance(estimator, ConstantGrowth | ConstantNormal | ConstantShare) else MOST_SINGLE_ROWS
    )
    if job.dependent is not None:
        settings = replace(settings, folds=job.dependent.again(), n_folds="auto", n_repeats="auto")
    elif isinstance(source, ExplicitFolds):
        settings = replace(settings, folds=source.ids, n_folds="auto", n_repeats="auto")
    elif job.problem.n == K and most < K and not is_mean:
        settings = replace(settings, n_folds=10, n_repeats=5, random_state=job.entropy)
    else:
        settings = replace(settings, n_folds=K, n_repeats=L, random_state=job.entropy)
    settings = replace(
        settings, route="auto", transformers="refit", n_jobs=None, progress=False, bias_folds=None, checkpoint=None
    )
    target, units = job.problem.target, errors.n_units
    return Standard(target, settings, asked, estimator, job.rows, sampling, units, build, neighbours)


def _constant(job: Job, asked: Asked) -> Any:
    """What predicts the best constant."""
    if job.problem.classes is not None:
        return DummyClassifier(strategy="prior")
    return ConstantNormal() if asked.kind in LOG_SCORES else _constant_of(asked.loss, job.problem.weights is not None)


def mean_is_best(job: Job, asked: Asked) -> bool:
    """Whether the best constant is the mean of y, or the shares of its classes."""
    best = _constant(job, asked)
    if isinstance(best, DummyClassifier):  # of F1 and such it is one of two classes, whichever is more frequent
        return asked.family != "function" or asked.kind.startswith("d2_") or len(job.problem.classes) > 2
    return getattr(best, "strategy", "") == "mean"


class ConstantNormal(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """The normal distribution with the mean and the standard deviation of y: the best constant for a log score."""

    def fit(self, X: Any, y: Any) -> ConstantNormal:
        """Take mean and standard deviation."""
        self.mean_, self.std_ = np.mean(y, axis=0), np.std(y, axis=0)
        return self

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """The mean, and the standard deviation if that is asked for."""
        parts = [np.zeros((len(X), *np.shape(self.mean_))) + part for part in (self.mean_, self.std_)]
        return tuple(parts) if return_std else parts[0]


class ConstantShare(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """The median of y with weights 1 / |y|: the best constant for errors that are shares of y."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> ConstantShare:
        """Take the median of each column."""
        values = np.asarray(y, dtype=np.float64).reshape(len(y), -1)
        weights = np.ones(len(values)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        each = weights[:, None] / np.maximum(np.abs(values), np.finfo(np.float64).eps)  # as scikit-learn divides
        medians = [weighted_percentile(column, w, 0.5) for column, w in zip(values.T, each.T, strict=True)]
        self.constant_ = np.reshape(medians, np.shape(y)[1:])
        return self

    def predict(self, X: Any) -> FloatArray:
        """The same for all rows."""
        return np.zeros((len(X), *self.constant_.shape)) + self.constant_


class ConstantGrowth(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """The constant whose log(1 + y) is the weighted mean of those of the rows: the best one for their squares."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> ConstantGrowth:
        """Take the mean of each column."""
        self.constant_ = np.expm1(np.average(np.log1p(np.asarray(y, np.float64)), axis=0, weights=sample_weight))
        return self

    def predict(self, X: Any) -> FloatArray:
        """The same for all rows."""
        return np.zeros((len(X), *np.shape(self.constant_))) + self.constant_


def _constant_of(loss: Loss | None, is_weighted: bool) -> Any:
    """What predicts the constant that suits a loss of numbers: a median or quantile, or a mean."""
    name, quantile = ("", None) if loss is None else (loss.name, getattr(loss.function, "quantile", None))
    if quantile is not None:
        return DummyRegressor(strategy="quantile", quantile=float(quantile))
    if name == "mean_absolute_percentage_error":
        return ConstantShare()
    if name == "mean_squared_log_error" and is_weighted:  # the other one takes no weights
        return ConstantGrowth()
    if name == "mean_squared_log_error":
        return TransformedTargetRegressor(DummyRegressor(strategy="mean"), func=np.log1p, inverse_func=np.expm1)
    return DummyRegressor(strategy="median" if name == "absolute_error" else "mean")
