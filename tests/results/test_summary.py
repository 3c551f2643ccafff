"""The summary: what a result does not have is said once."""

import numpy as np
from sklearn.linear_model import Ridge

from helpers import data, quiet_nested_cv

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
