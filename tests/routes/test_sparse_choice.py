"""Sparse designs: of the gram route, a dense copy and refits the cheapest is taken, by what they should take."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.linalg import cg
from sklearn.linear_model import LinearRegression, Ridge, RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer

import onefit
from helpers import assert_same_results, quiet_nested_cv, quietly, random_folds, random_weights
from onefit.routes.sparsecosts import solver_of, steps_of
from onefit.validation import check_problem


def texts(n, p, density, seed=0):
    """A sparse design and y."""
    rng = np.random.default_rng(seed)
    X = sparse.csr_matrix(sparse.random(n, p, density=density, random_state=rng, data_rvs=rng.standard_normal))
    return X, X @ rng.standard_normal(p) + 3 + rng.standard_normal(n)


def refuse(*_, **__):
    raise AssertionError("this was not to be called")


# --------------------------------------------------------------------------- what is taken


def test_refits_are_taken_where_they_are_faster_and_nothing_is_decomposed_before(monkeypatch):
    X, y = texts(1500, 1500, 0.004)
    folds = random_folds(1500, 5)
    monkeypatch.setattr("onefit.learners.sparse.sparse_reinsch", refuse)
    monkeypatch.setattr("onefit.learners.sparse.DesignSmoother", refuse)
    result = quiet_nested_cv(Ridge(1.0), X, y, folds=folds)
    assert result.route == "refit"
    assert "refit takes about" in result.route_reason
    assert "steps of sparse_cg a fit and should be" in result.route_reason
    assert "times faster than" in result.route_reason
    assert_same_results(result, quiet_nested_cv(Ridge(1.0), X, y, folds=folds, route="refit"))


def test_refits_that_are_faster_have_the_folds_of_refits():
    X, y = texts(1500, 1500, 0.004)
    plan = onefit.plan_for(Ridge(1.0), X, y, interval="paper", n_repeats=1, random_state=0)
    assert (plan.choice, plan.n_folds, plan.n_fits) == ("refit", 5, 15)
    assert "times faster than" in plan.reason


def test_a_curve_of_refits_says_how_to_get_its_criteria():
    X, y = texts(1500, 1500, 0.004)
    curve = quietly(
        onefit.error_curve, Ridge(), X, y, param_name="alpha", param_range=[1.0, 2.0], folds=random_folds(1500, 3)
    )
    assert curve.results[0].route == "refit"
    assert 'route="gram"' in curve.scores.attrs["reasons"]["gcv"]


def test_steps_are_not_counted_where_nothing_hangs_on_them(monkeypatch):
    monkeypatch.setattr("onefit.routes.sparsecosts.steps_of", refuse)
    X, y = texts(60, 5, 0.3)
    assert quiet_nested_cv(Ridge(), X, y, n_folds=5, n_repeats=1, route="refit").route == "refit"
    assert quiet_nested_cv(Ridge(), X, y, n_folds=5, n_repeats=1).route == "gram"
    wide, y = texts(24, 9000, 0.01)
    result = quiet_nested_cv(Ridge(), wide, y, n_folds=3, n_repeats=1)
    assert "9000 columns" in result.route_reason


def test_a_wide_design_takes_the_one_step_route_on_a_dense_copy():
    X, y = texts(120, 900, 0.02)
    folds = random_folds(120, 10, 5)
    result = quiet_nested_cv(Ridge(0.5), X, y, folds=folds)
    assert result.route == "onestep"
    assert "(rows of a fold)" in result.route_reason
    assert result.route_reason.endswith("; X is small enough to be made dense.")
    assert_same_results(result, quiet_nested_cv(Ridge(0.5), X.toarray(), y, folds=folds))


@pytest.mark.parametrize("weights", ["none", "zeros"])
def test_a_tall_design_stays_sparse_and_equals_the_dense_computation(weights, monkeypatch):
    X, y = texts(30_000, 40, 0.05)  # more entries than are kept in the basis, and folds of many rows
    w, folds = random_weights(30_000, weights), random_folds(30_000, 5, unscored=7)
    dense = quiet_nested_cv(Ridge(2.0), X.toarray(), y, folds=folds, sample_weight=w, route="gram")
    monkeypatch.setattr("onefit.learners.sparse.DesignSmoother", refuse)
    monkeypatch.setattr("onefit.linalg.sparse._gram_of_rows", refuse)  # products of X alone
    result = quiet_nested_cv(Ridge(2.0), X, y, folds=folds, sample_weight=w)
    assert result.route == "gram"
    assert_same_results(result, dense)


def test_threads_change_no_bit():
    X, y = texts(30_000, 40, 0.05)
    folds = random_folds(30_000, 4, 3)
    one, two = (quiet_nested_cv(Ridge(2.0), X, y, folds=folds, n_jobs=n_jobs) for n_jobs in (1, 2))
    np.testing.assert_array_equal(one.fold_errors.e_in, two.fold_errors.e_in)


# --------------------------------------------------------------------------- what refits take


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("weights", ["none", "positive"])
@pytest.mark.parametrize("shape", [(200, 30), (40, 90)], ids=["tall", "wide"])
def test_steps_of_lsqr_are_those_that_scikit_learn_takes(shape, weights, fit_intercept):
    X, y = texts(*shape, 0.2)
    w = random_weights(shape[0], weights)
    model = Ridge(0.3, solver="lsqr", tol=1e-6, fit_intercept=fit_intercept).fit(X, y, sample_weight=w)
    found = steps_of(solver_of(model), check_problem([model], X, y, w), 10_000)
    assert abs(found - model.n_iter_[0]) <= 1  # they scale the weights otherwise


@pytest.mark.parametrize("shape", [(200, 30), (40, 90)], ids=["tall", "wide"])
def test_steps_of_conjugate_gradients_are_those_of_scipy(shape):
    X, y = texts(*shape, 0.2)
    model, centred = Ridge(0.3), X.toarray() - X.toarray().mean(axis=0)
    A = centred if shape[1] <= shape[0] else centred.T
    right = centred.T @ (y - y.mean()) if shape[1] <= shape[0] else y - y.mean()
    steps = []
    cg(A.T @ A + 0.3 * np.eye(A.shape[1]), right, rtol=model.tol, callback=steps.append)
    assert steps_of(solver_of(model), check_problem([model], X, y), 10_000) == len(steps)


@pytest.mark.parametrize("model", [Ridge(0.01), Ridge(0.01, solver="lsqr"), LinearRegression()])
def test_steps_beyond_those_allowed_are_extrapolated(model):
    X, y = texts(2000, 400, 0.01)
    problem, solver = check_problem([model], X, y), solver_of(model)
    whole, guessed = steps_of(solver, problem, 10_000), steps_of(solver, problem, 10)
    assert whole > 12
    assert whole / 3 < guessed < 3 * whole


def test_nothing_is_said_of_solvers_and_estimators_that_were_not_measured():
    class Own(Ridge):
        pass

    for model in (Ridge(), Ridge(solver="lsqr"), RidgeClassifier(), LinearRegression(), Ridge(np.array([1, 2]))):
        assert solver_of(model) is not None
    unknown = [
        Own(),
        Ridge(solver="sag"),
        Ridge(positive=True),
        Ridge(max_iter=5),
        Ridge("much"),
        Ridge([[1.0], [1.0, 2.0]]),
        Ridge(np.zeros(0)),
        Ridge(-1.0),
        Ridge(tol=None),
        make_pipeline(Normalizer(), Ridge()),
    ]
    assert [solver_of(model) for model in unknown] == [None] * len(unknown)
