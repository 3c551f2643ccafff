"""Hundreds of outputs on the one-step route: products with the matrices of each pair of folds."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge

import onefit
from helpers import quietly
from onefit.linalg import compiled
from onefit.linalg.definite import Inverse, solve_each
from onefit.routes.manyoutputs import LEAST_OUTPUTS, are_many

N_OUTPUTS = LEAST_OUTPUTS + 3


def problem(n, p, seed=0, n_outputs=N_OUTPUTS):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    return X, X @ rng.normal(size=(p, n_outputs)) + rng.normal(size=(n, n_outputs))


@pytest.mark.parametrize(("n", "p", "alpha"), [(60, 15, 1e-3), (61, 40, 1.0), (50, 70, 10.0), (60, 55, 1e-6)])
@pytest.mark.parametrize("has_weights", [False, True])
def test_many_outputs_have_the_figures_of_each_by_itself(n, p, alpha, has_weights):
    X, Y = problem(n, p)
    weights = np.random.default_rng(1).uniform(0.2, 3.0, n) if has_weights else None
    keywords = {"n_folds": 5, "n_repeats": 2, "random_state": 0, "sample_weight": weights}
    assert are_many(N_OUTPUTS, n // 5)
    many = quietly(onefit.nested_cv, Ridge(alpha), X, Y, route="onestep", **keywords)
    for output in (0, N_OUTPUTS - 1):
        one = quietly(onefit.nested_cv, Ridge(alpha), X, Y[:, output], route="refit", **keywords)
        np.testing.assert_allclose(many.estimate[output], one.estimate, rtol=1e-8)
        np.testing.assert_allclose(many.standard_error[output], one.standard_error, rtol=1e-8)
        np.testing.assert_allclose(
            many.intervals.xs(str(output), level="output")["low"], one.intervals["low"], rtol=1e-7
        )


@pytest.mark.parametrize("n_repeats", [1, 3])
def test_a_curve_of_many_outputs_is_that_of_single_ones_for_any_number_of_jobs(n_repeats):
    X, Y = problem(64, 20)
    path = {"param_name": "alpha", "param_range": [0.1, 1.0, 30.0]}
    keywords = {"n_folds": 8, "n_repeats": n_repeats, "random_state": 0, "route": "onestep"}
    many = quietly(onefit.error_curve, Ridge(), X, Y, **path, **keywords)
    again = quietly(onefit.error_curve, Ridge(), X, Y, n_jobs=2, **path, **keywords)
    one = quietly(onefit.error_curve, Ridge(), X, Y[:, [5]], **path, **keywords)
    assert np.array_equal(many.estimate, again.estimate)
    assert np.array_equal(many.results[1].heldout, again.results[1].heldout)
    np.testing.assert_allclose(many.estimate[:, [5]], np.reshape(one.estimate, (3, 1)), rtol=1e-11)
    heldout = many.results[2].heldout["prediction"].iloc[:, 5]
    np.testing.assert_allclose(heldout, np.ravel(one.results[2].heldout["prediction"]), rtol=1e-10)


def test_rows_never_scored_have_no_prediction_at_any_output():
    X, Y = problem(50, 10)
    folds = np.arange(50) % 5
    folds[:4] = -1
    result = quietly(onefit.nested_cv, Ridge(), X, Y, folds=folds, route="onestep")
    assert result.heldout.iloc[:4].isna().all(axis=None)
    assert result.heldout.iloc[4:].notna().all(axis=None)


@pytest.mark.parametrize("condition", [10.0, 1e4, 1e7])
def test_solutions_have_the_accuracy_that_the_condition_allows(condition):
    rng = np.random.default_rng(0)
    Q = np.linalg.qr(rng.normal(size=(30, 30)))[0]
    A = (Q * np.geomspace(1.0 / condition, 1.0, 30)) @ Q.T
    A = (A + A.T) / 2
    expected = rng.normal(size=(30, 100))
    found = Inverse(A).times(A @ expected)
    assert np.abs(found - expected).max() < 30 * condition * 1e-16 * np.abs(expected).max() + 1e-13
    np.testing.assert_array_equal(solve_each(A[None, None], (A @ expected)[None, None])[0, 0], found)


def test_a_matrix_that_is_not_positive_definite_has_no_solution():
    assert np.isnan(Inverse(np.diag([1.0, -1.0])).times(np.ones((2, 3)))).all()


def test_the_kernel_is_not_needed(monkeypatch):
    X, Y = problem(40, 10)
    keywords = {"n_folds": 4, "n_repeats": 1, "random_state": 0, "route": "onestep"}
    fast = quietly(onefit.nested_cv, Ridge(), X, Y, **keywords)
    monkeypatch.setattr(compiled, "is_on", lambda: False)
    slow = quietly(onefit.nested_cv, Ridge(), X, Y, **keywords)
    np.testing.assert_allclose(fast.estimate, slow.estimate, rtol=1e-12)


def test_the_summary_of_many_outputs_says_how_many_it_leaves_out():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(40, 3)), rng.uniform(size=(40, 25))
    result = quietly(onefit.nested_cv, Ridge(), X, Y, n_folds=5, n_repeats=1)
    lines = result.summary().splitlines()
    assert sum("95% interval" in line for line in lines) == 20
    assert "and 5 outputs more: to_frame() has a row for each" in lines
    assert len(result.to_frame()) == 25
