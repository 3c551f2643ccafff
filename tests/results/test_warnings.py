"""Warnings and the automatic number of repeats, calibrated by simulation."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from helpers import data, quiet_nested_cv, warned_nested_cv
from onefit.errors import HeavyTailWarning, MonteCarloWarning
from validation.warnings import Setting, study

NOISES = {
    "gaussian": lambda rng, n: rng.standard_normal(n),
    "t3": lambda rng, n: rng.standard_t(3, n),
}


def share_warned(noise, n_sets, n=100, p=5, **kwargs):
    """Share of data sets with a HeavyTailWarning, and the last message."""
    count, message = 0, ""
    for seed in range(n_sets):
        rng = np.random.default_rng([seed, 42])
        X = rng.standard_normal((n, p))
        y = X.sum(axis=1) + NOISES[noise](rng, n)
        _, warned = warned_nested_cv(LinearRegression(), X, y, **kwargs)
        if HeavyTailWarning in warned:
            count, message = count + 1, warned[HeavyTailWarning]
    return count / n_sets, message


# ------------------------------------------------------------------------------------------ heavy tails


@pytest.mark.parametrize("kwargs", [{}, {"n_folds": 10, "n_repeats": 5, "random_state": 0}], ids=["K = n", "K = 10"])
def test_gaussian_noise_is_silent_in_ninety_five_of_a_hundred_data_sets(kwargs):
    assert share_warned("gaussian", 80, **kwargs)[0] <= 0.05


@pytest.mark.parametrize("n", [30, 400])
def test_gaussian_noise_is_silent_in_smaller_and_larger_data_sets(n):
    assert share_warned("gaussian", 60, n=n)[0] <= 0.07


def test_t3_noise_is_loud_in_most_data_sets_and_the_warning_names_its_remedy():
    share, message = share_warned("t3", 80)
    assert share >= 0.6
    assert 'loss="absolute_error"' in message
    assert "95%" in message


@pytest.mark.slow
@pytest.mark.parametrize("n", [30, 60, 100, 200, 500, 2000, 5000])
def test_gaussian_rows_are_silent_in_ninety_seven_of_a_hundred_data_sets(n):
    count = 600 if n <= 200 else 100
    table = study([Setting("squared error", "gaussian", n)], count, 1).iloc[0]
    allowed = 0.03 + 2.5 * np.sqrt(0.03 * 0.97 / count)  # the share itself is a sample of so many
    assert table["heavy tails"] <= allowed
    # of 30 rows one may well move the estimate by a standard error: 2.25% in the study of warnings, and no false alarm
    assert table["leverage"] <= (allowed if n == 30 else 0.01)
    assert table["dependence"] <= 0.01 + 2.5 * np.sqrt(0.01 / count)


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.0, 0.3, 0.8])
@pytest.mark.parametrize("n_groups", [20, 60, 150])
def test_gaussian_groups_are_silent_in_ninety_seven_of_a_hundred_data_sets(n_groups, share):
    table = study([Setting("groups", "gaussian", n_groups, share)], 200, 1).iloc[0]
    assert table["heavy tails"] <= 0.06
    assert table["leverage"] <= 0.02


@pytest.mark.slow
def test_most_data_sets_are_warned_of_where_the_interval_covers_badly():
    settings = [Setting("squared error", noise, n) for noise in ("t2.5", "lognormal 1.5") for n in (50, 100, 200, 500)]
    settings += [Setting("groups", noise, n, 0.3, noise) for noise in ("t2.5", "lognormal 1.5") for n in (30, 60)]
    table = study(settings, 60, 1)
    assert table["coverage"].mean() < 0.80
    assert table.groupby("family")["heavy tails"].mean().min() >= 0.85


def test_the_remedy_is_mostly_silent():
    share, message = share_warned("t3", 80, loss="absolute_error")
    assert share <= 0.25
    assert 'loss="absolute_error"' not in message


def test_one_row_far_off_is_loud_and_the_rest_is_not():
    X, y = data(100, 3, 0)
    assert HeavyTailWarning not in warned_nested_cv(LinearRegression(), X, y)[1]
    y[7] += 30
    assert HeavyTailWarning in warned_nested_cv(LinearRegression(), X, y)[1]
    assert HeavyTailWarning in warned_nested_cv(LinearRegression(), X, y, loss="huber", sample_weight=np.ones(100))[1]


# --------------------------------------------------------------------------------------- Monte Carlo error


def half_width(result):
    return (result.interval[1] - result.interval[0]) / 2


@pytest.mark.slow
def test_automatic_repeats_reach_the_promised_error_of_the_half_width():
    """Promised: 5%. Measured against 400 repeats of other partitions, whose own error is far smaller."""
    deviations, repeats = [], []
    for seed in range(60):
        rng = np.random.default_rng([seed, 7])
        X = rng.standard_normal((60, 8))
        y = X[:, 0] + rng.standard_normal(60)
        auto = quiet_nested_cv(LinearRegression(), X, y, n_folds=10, random_state=seed)
        many = quiet_nested_cv(LinearRegression(), X, y, n_folds=10, n_repeats=400, random_state=1000 + seed)
        deviations.append(half_width(auto) / half_width(many) - 1)
        repeats.append(auto.n_repeats)
        assert auto.monte_carlo_error < 0.05
    assert np.sqrt(np.mean(np.square(deviations))) < 0.06
    assert abs(np.mean(deviations)) < 0.02
    assert min(repeats) >= 2
    assert max(repeats) <= 200


@pytest.mark.parametrize("rule", ["covariance", "bates"])
def test_monte_carlo_error_is_the_spread_over_seeds(rule):
    X, y = data(60, 8, 3)
    results = [
        quiet_nested_cv(LinearRegression(), X, y, n_folds=6, n_repeats=12, interval=rule, random_state=seed)
        for seed in range(100)
    ]
    s = np.array([r.standard_error for r in results])
    claimed = np.sqrt(np.mean([r.monte_carlo_error**2 for r in results]))
    spread = s.std(ddof=1) / s.mean()
    if rule == "bates":  # clipped at the naive standard error from below, which only hides spread
        assert spread <= 1.3 * claimed
    else:
        assert claimed == pytest.approx(spread, rel=0.25)


def test_monte_carlo_warning_comes_above_ten_percent_only():
    X, y = data(60, 8, 3)
    for n_repeats in (2, 3, 5, 50):
        for rule in ("covariance", "paper"):
            result, warned = warned_nested_cv(
                LinearRegression(), X, y, n_folds=6, n_repeats=n_repeats, interval=rule, random_state=1
            )
            assert (MonteCarloWarning in warned) == (result.monte_carlo_error > 0.10)


def test_leave_two_out_has_no_monte_carlo_error_to_warn_of():
    X, y = data(60, 8, 3)
    result, warned = warned_nested_cv(LinearRegression(), X, y)
    assert result.monte_carlo_error == 0
    assert MonteCarloWarning not in warned


def test_the_error_of_the_half_width_minds_the_skewness_where_halls_end_hangs_on_it():
    """Two repeats left an upper end of 3.2 instead of 2.1, with a Monte Carlo error of 0.1% beside it."""
    rng = np.random.default_rng([1, 7])
    X = rng.standard_normal((60, 8))
    y = X[:, 0] + rng.standard_normal(60)
    two = quiet_nested_cv(LinearRegression(), X, y, n_folds=10, n_repeats=2, random_state=1)
    auto = quiet_nested_cv(LinearRegression(), X, y, n_folds=10, random_state=1)
    assert two.interval[1] > 3.0
    assert two.monte_carlo_error > 0.1
    assert auto.n_repeats > 10
    assert auto.interval[1] == pytest.approx(2.1, abs=0.3)
