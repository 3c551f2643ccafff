"""Refits in several workers: those that nobody waits for any more are given up in silence."""

import gc
import time
import warnings
from contextlib import nullcontext

import joblib
import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin

from onefit.errors import RefitError
from onefit.folds import Folds
from onefit.inference.intervals import RULES
from onefit.learners import Task
from onefit.metrics import find_loss
from onefit.routes.refit import RefitEngine
from onefit.validation import check_problem


class FailsWithoutTheFirstRow(RegressorMixin, BaseEstimator):
    """And is slow with it."""

    def fit(self, X, y):
        if X[0, 0] > 0:
            raise ValueError("the first row is missing")
        time.sleep(0.05)
        return self

    def predict(self, X):
        return np.zeros(len(X))


@pytest.mark.parametrize("is_kept", [False, True])
def test_fits_given_up_because_all_values_have_failed_are_not_warned_of(is_kept):
    """Whether workers are kept or not: values beside those of another route came to joblib's warning."""
    X, models = np.arange(12.0)[:, None], [FailsWithoutTheFirstRow() for _ in range(2)]
    task = Task(check_problem(models, X, np.arange(12.0)), find_loss(None), RULES["covariance"])
    folds = Folds(np.arange(12)[None] % 6, 6)
    with warnings.catch_warnings(record=True) as caught, joblib.parallel_config("threading"):
        warnings.simplefilter("always")
        engine = RefitEngine(task, models, n_jobs=2)
        with (
            pytest.raises(RefitError, match="the first row is missing"),
            engine.at_work() if is_kept else nullcontext(),
        ):
            engine.pairs(folds)
        gc.collect()
    assert [str(each.message) for each in caught] == []
