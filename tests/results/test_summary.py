"""The summary: what a result does not have is said once."""

import re

import numpy as np
from sklearn.compose import TransformedTargetRegressor
from sklearn.linear_model import LinearRegression, Ridge

import onefit
from helpers import data, quiet_nested_cv
from onefit.display.numbers import interval_text, number_text

X, Y = data(40, 3, seed=0)


def test_a_figure_that_a_constant_target_does_not_have_is_said_once():
    lines = quiet_nested_cv(Ridge(), X, np.ones(40)).summary().splitlines()
    assert "  R2 not available" in lines


def test_an_interval_that_the_rule_does_not_give_is_said_once():
    result = quiet_nested_cv(Ridge(), X, Y, n_folds=10, n_repeats=1, interval="paper", random_state=0)
    assert np.isnan(result.interval).all()
    first, second, *_ = result.summary().splitlines()
    assert first.endswith("95% interval not available")
    assert second.endswith("(no interval)")


def test_an_estimate_far_below_its_upper_end_is_not_said_to_be_zero():
    """One row of which a training set knows nothing, and a function that magnifies it."""
    rng = np.random.default_rng(240)
    n, p = int(rng.integers(20, 60)), int(rng.integers(2, 8))
    X = rng.standard_t(1.5, size=(n, p))
    y = np.clip(np.exp(0.1 * X[:, 0] + rng.normal(size=n) * 0.1) * 0.01, 1e-3, 0.1)
    model = TransformedTargetRegressor(LinearRegression(), func=np.log, inverse_func=np.exp)
    result = quiet_nested_cv(model, X, y, n_folds=5, n_repeats=2, random_state=0)
    assert result.interval[1] > 1000 * result.estimate
    assert f"squared error {number_text(result.estimate, 2)}, 95% interval 0.0000 to" in result.summary()


def test_what_may_be_rounding_errors_of_zero_is_shown_as_zero():
    assert interval_text(1e-17, 0.0, 0.04) == ("0.000", "0.000", "0.040")
    assert interval_text(-0.004, -0.2, 0.19)[0] == "0.00"
    assert interval_text(0.02, 1e-4, 400.0) == ("0.02", "0", "400")


def test_no_number_is_written_with_ten_to_the_power_of_zero():
    assert interval_text(-3e15, -7e15, 1.0)[2] == "1"
    assert interval_text(-3e15, -7e15, -2.5)[2] == "−2.5"


def test_figures_of_the_table_of_rules_have_one_form_in_a_column_of_an_output():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), 100 * rng.normal(size=60)
    text = quiet_nested_cv(Ridge(), X, np.c_[y, y / 1e4], n_folds=5, n_repeats=3, random_state=0).summary(rules=True)
    table = [line.split() for line in text.partition("\n\n")[2].splitlines()]
    first = [row[2:6] if row[1] == "0" else row[1:5] for row in table if "0" in row[:2]]
    second = [row[1:5] if row[0] == "1" else row[2:6] for row in table if row[0] == "1"]
    assert (len(first), len(second)) == (6, 6)
    assert all(re.fullmatch(r"-?[0-9,]+", cell) for row in first for cell in row)
    assert {len(cell.lstrip("-").partition(".")[2]) for row in second for cell in row} == {6}


def test_values_in_the_line_of_a_curve_have_one_form():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 2)), rng.normal(size=40)
    curve = onefit.error_curve(Ridge(), X, y, param_name="alpha", param_range=[9237.0, 14870.0], random_state=0)
    assert "2 values from 9,237 to 14,870" in repr(curve)
