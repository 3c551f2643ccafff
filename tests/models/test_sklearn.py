"""PenalizedRegression as a scikit-learn estimator."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import parametrize_with_checks

import onefit
import reference


@parametrize_with_checks([onefit.PenalizedRegression(), onefit.PenalizedRegression(lam=0.1, fit_intercept=False)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("lam", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("shape", [(40, 5), (15, 30)])
def test_identity_penalty_is_ridge(shape, lam, fit_intercept):
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal(shape) + 2, rng.standard_normal((shape[0], 2))
    for y in (Y[:, 0], Y):
        for penalty in (None, np.eye(shape[1])):
            ours = onefit.PenalizedRegression(penalty, lam, fit_intercept).fit(X, y)
            theirs = Ridge(lam, fit_intercept=fit_intercept, solver="svd").fit(X, y)
            np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-7, atol=1e-9 * np.abs(theirs.coef_).max())
            np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-7, atol=1e-12)
            np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-7, atol=1e-9)


def test_no_penalty_is_least_squares():
    rng = np.random.default_rng(1)
    X, y = rng.standard_normal((30, 4)), rng.standard_normal(30)
    ours, theirs = onefit.PenalizedRegression(lam=0.0).fit(X, y), LinearRegression().fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-10)
    np.testing.assert_allclose(ours.edf_, 5.0, rtol=1e-12)


@pytest.mark.parametrize("lam", [1e-4, 1.0, 1e8])
def test_penalty_with_a_null_space_equals_a_stacked_fit(lam):
    rng = np.random.default_rng(2)
    X, y = rng.standard_normal((30, 8)), rng.standard_normal(30)
    root = np.diff(np.eye(8), n=2, axis=0)
    fitted = onefit.PenalizedRegression(root.T @ root, lam).fit(X, y).predict(X)
    rows = np.arange(30)
    np.testing.assert_allclose(fitted, reference.refit_predictions(X, y, rows, rows, lam, root), rtol=1e-8, atol=1e-10)


def test_effective_degrees_of_freedom_are_the_trace_of_the_hat_matrix():
    rng = np.random.default_rng(3)
    X, y = rng.standard_normal((25, 6)), rng.standard_normal(25)
    rows = np.arange(25)
    columns = [reference.refit_predictions(X, unit, rows, rows, 2.0) for unit in np.eye(25)]
    model = onefit.PenalizedRegression(lam=2.0).fit(X, y)
    np.testing.assert_allclose(model.edf_, np.trace(columns), rtol=1e-10)
    assert model.lam_ == 2.0


def test_grid_search_and_clone_keep_the_parameters(regression):
    model = onefit.PenalizedRegression(penalty=np.eye(4), lam=3.0, fit_intercept=False)
    assert clone(model).get_params()["lam"] == 3.0
    search = GridSearchCV(model, {"lam": [0.1, 10.0]}, cv=3).fit(*regression)
    assert search.best_params_["lam"] in (0.1, 10.0)
