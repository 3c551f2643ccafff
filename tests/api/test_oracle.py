"""nested_cv against R: brute-force refits by Bates' own code, every lambda, every route, two estimators."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import Ridge

import onefit
from helpers import FOLD_ERRORS, ROUTES, STRICT, oracle, quiet_nested_cv

ESTIMATORS = {
    "Ridge": lambda lam: Ridge(alpha=lam),
    "PenalizedRegression": lambda lam: onefit.PenalizedRegression(lam=lam),
}
CASES = ("A1", "A2", "A3_negmse", "B")
CASE_LAMBDAS = [(case, position) for case in CASES for position in range(len(oracle(case).by_lambda))]


def run(case, position, route, estimator="Ridge", **kwargs):
    return quiet_nested_cv(
        ESTIMATORS[estimator](case.by_lambda[position]["lambda"]),
        case.X,
        case.y,
        **{"folds": case.folds, "bias_folds": case.bias_folds, "confidence_level": 0.9, "route": route} | kwargs,
    )


def assert_fold_errors_equal_oracle(result, case, position):
    for name in (*FOLD_ERRORS, "mse"):
        expected = case.expected(position, name)
        np.testing.assert_allclose(getattr(result.fold_errors, name), expected, rtol=STRICT, err_msg=name)
    np.testing.assert_allclose(result.raw_estimate, case.expected(position, "mean_ho_errs").mean(), rtol=STRICT)


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize(("name", "position"), CASE_LAMBDAS)
def test_fold_errors_equal_the_oracle(name, position, route):
    case = oracle(name)
    if route == "refit":
        case = case.first(2)
    assert_fold_errors_equal_oracle(run(case, position, route), case, position)


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("name", ["A1", "B"])
def test_fold_errors_of_a_penalized_regression_equal_the_oracle(name, route):
    """On the fast routes it has the smoother of Ridge; its refits are its own."""
    case = oracle(name).first(2)
    assert_fold_errors_equal_oracle(run(case, 1, route, "PenalizedRegression"), case, 1)


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize(("name", "position"), CASE_LAMBDAS)
def test_bates_and_paper_intervals_equal_the_oracle(name, position, route):
    if route == "refit" and name == "A2":
        pytest.skip("hundreds of refits; their fold errors are compared above")
    case = oracle(name)
    result = run(case, position, route)
    for rule in ("bates", "paper"):
        row = case.by_lambda[position][rule]
        expected = np.array([row["err_hat"], row["ci_lo"], row["ci_hi"]], float)
        actual = result.intervals.loc[rule, ["estimate", "low", "high"]].to_numpy(float)
        np.testing.assert_allclose(actual, expected, rtol=STRICT, err_msg=rule)


@pytest.mark.parametrize("route", ROUTES)
def test_figures_of_the_paper_rule_asked_for_by_name_equal_the_oracle(route):
    case = oracle("A1")
    result = run(case, 0, route, interval="paper")
    row = case.by_lambda[0]["paper"]
    np.testing.assert_allclose(result.estimate, row["err_hat"], rtol=STRICT)
    np.testing.assert_allclose(result.interval, (row["ci_lo"], row["ci_hi"]), rtol=STRICT)
    np.testing.assert_allclose(result.mse, row["mse"], rtol=STRICT)
    np.testing.assert_allclose(result.bias, row["bias_est"], rtol=STRICT)
    np.testing.assert_allclose(result.standard_error, row["mse"] ** 0.5, rtol=STRICT)


@pytest.mark.parametrize("name", CASES)
def test_figures_of_the_bates_rule_asked_for_by_name_equal_the_oracle(name):
    case = oracle(name)
    for position in range(len(case.by_lambda)):
        result = run(case, position, "auto", interval="bates")
        row = case.by_lambda[position]["bates"]
        np.testing.assert_allclose(result.estimate, row["err_hat"], rtol=STRICT)
        np.testing.assert_allclose(result.interval, (row["ci_lo"], row["ci_hi"]), rtol=STRICT)
        np.testing.assert_allclose(result.bias, row["bias_est"], rtol=STRICT)
        np.testing.assert_allclose(result.inflation, row["sd_infl"], rtol=STRICT)


@pytest.mark.parametrize("position", range(3))
def test_negative_mse_gives_the_paper_rule_no_interval_and_says_why(position):
    case = oracle("A3_negmse")
    result = run(case, position, "auto", interval="paper")
    row = case.by_lambda[position]["paper"]
    assert row["mse"] < 0
    np.testing.assert_allclose(result.mse, row["mse"], rtol=STRICT)
    np.testing.assert_allclose(result.estimate, row["err_hat"], rtol=STRICT)
    assert np.isnan(result.interval).all()
    assert np.isnan(result.standard_error)
    assert result.intervals.loc["paper", ["low", "high"]].isna().all()
    assert "negative" in result.summary().lower()


def test_other_rules_keep_their_interval_when_the_mse_is_negative():
    result = run(oracle("A3_negmse"), 0, "auto")
    others = result.intervals.drop(index="paper")
    assert (others["low"] < others["high"]).all()
    assert np.isfinite(result.interval).all()
