"""A short simulation: does the default interval cover the error of the model at hand?"""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from helpers import quiet_nested_cv


def errors_and_intervals(n, p, n_sets, level):
    """Exact error Err_XY of least squares on Gaussian columns, and the ends of the interval for it.

    A new row has error y - c - x'b = e + (beta - b)'x - c, so the mean square is 1 + |b - beta|^2 + c^2.
    """
    for seed in range(n_sets):
        rng = np.random.default_rng([n, p, seed])
        X, beta = rng.standard_normal((n, p)), rng.standard_normal(p)
        y = X @ beta + rng.standard_normal(n)
        fitted = LinearRegression().fit(X, y)
        error = 1 + np.square(fitted.coef_ - beta).sum() + fitted.intercept_**2
        result = quiet_nested_cv(LinearRegression(), X, y, n_folds="n", confidence_level=level)
        yield error, *result.interval, *result.intervals.loc["naive", ["low", "high"]]


@pytest.mark.slow
def test_leave_two_out_covers_the_error_of_least_squares_as_often_as_it_says():
    error, low, high, naive_low, naive_high = np.array(list(errors_and_intervals(100, 20, 2000, 0.9))).T
    assert 0.87 <= np.mean((low <= error) & (error <= high)) <= 0.93
    assert 0.70 <= np.mean(high - low) <= 0.82  # DESIGN: .76
    assert np.mean((naive_low <= error) & (error <= naive_high)) < 0.85  # what the covariance term is for
