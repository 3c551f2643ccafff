"""Ends of intervals: what they must be whatever the numbers, and what is known of them in closed form."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import LinearRegression, Ridge, RidgeClassifier

from helpers import quiet_nested_cv, random_folds
from onefit.errors import DataError
from onefit.inference.ends import ends_of_mean, hall, logarithmic, score, wilson
from onefit.inference.skewness import ThirdSums, skewness_of_mean

SCALES = st.sampled_from(["log", "identity"])
POSITIVE = st.floats(1e-150, 1e150)
SHARES = st.floats(1e-9, 1 - 1e-9)
RELATIVE = st.floats(0, 5)
QUANTILES = st.floats(1e-3, 700)
SKEWNESS = st.floats(-1, 1)


@pytest.fixture(autouse=True)
def _no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        yield


def arrays(*numbers):
    return [np.float64(number) for number in numbers]


@given(POSITIVE, RELATIVE, QUANTILES, SKEWNESS, SCALES)
def test_ends_of_a_mean_are_finite_in_order_within_the_bound_and_the_wider_of_two(centre, relative, t, skewness, scale):
    c, s, t, skewness = arrays(centre, relative * centre, t, skewness)
    low, high = ends_of_mean(c, s, t, skewness, scale)
    assert np.isfinite([low, high]).all()
    assert low <= c <= high
    assert scale == "identity" or low >= 0
    for one in (
        hall(c, s, t, skewness),
        (c - t * s, c + t * s) if s > c or scale == "identity" else logarithmic(c, s, t),
    ):
        assert low <= max(one[0], 0.0 if scale == "log" else -np.inf)
        assert high >= one[1]


@given(POSITIVE, RELATIVE, QUANTILES, SKEWNESS, SCALES, st.integers(-200, 200))
def test_ends_of_a_mean_scale_with_the_losses(centre, relative, t, skewness, scale, power):
    factor = 2.0**power
    c, s, t, skewness = arrays(centre, relative * centre, t, skewness)
    expected = np.array(ends_of_mean(c, s, t, skewness, scale)) * factor
    np.testing.assert_allclose(ends_of_mean(c * factor, s * factor, t, skewness, scale), expected, rtol=1e-14)


@given(st.floats(0.1, 10), SKEWNESS)
def test_halls_ends_invert_his_polynomial(t, skewness):
    for end, x in zip(hall(*arrays(0.0, 1.0, t, skewness)), (t, -t), strict=True):
        T = -end
        g = T + skewness * T**2 / 3 + skewness**2 * T**3 / 27 + skewness / 6
        assert g == pytest.approx(x, rel=1e-9, abs=1e-9)


@given(st.floats(0.1, 10), st.floats(-1e-6, 1e-6))
def test_halls_ends_tend_to_students_and_lose_no_digits_on_the_way(t, skewness):
    """g^-1(x) = x - k (1 + 2 x^2) / 6 + O(k^2): what subtracts one from a cube root would be wrong by 1e-10."""
    low, high = hall(*arrays(0.0, 1.0, t, skewness))
    step = skewness * (1 + 2 * t**2) / 6
    assert low == pytest.approx(-t + step, abs=1e-14 + (1 + t**3) * skewness**2)
    assert high == pytest.approx(t + step, abs=1e-14 + (1 + t**3) * skewness**2)
    np.testing.assert_allclose(hall(*arrays(0.0, 1.0, t, 0.0)), (-t, t), rtol=1e-15)


@given(st.floats(0.1, 10), st.floats(1e-3, 1), SKEWNESS)
def test_ends_are_monotone_in_the_quantile_and_losses_skewed_to_the_right_reach_further_up(t, more, skewness):
    near, far = (np.array(hall(*arrays(1.0, 0.1, q, skewness))) for q in (t, t + more))
    assert far[0] < near[0]
    assert far[1] > near[1]
    if skewness > 1e-3 and skewness * t < 1:
        assert near.sum() > 2.0


@given(SHARES, st.floats(1e-12, 2), QUANTILES)
def test_wilsons_ends_are_within_zero_and_one_and_those_of_the_textbook(share, s, t):
    c, s, t = arrays(share, s, t)
    low, high = wilson(c, s, t)
    assert 0 <= low <= c <= high <= 1
    n = c * (1 - c) / s**2
    if 1 <= n <= 1e6 and t < 30:
        middle, half = (c + t**2 / (2 * n)), t * np.sqrt(c * (1 - c) / n + t**2 / (4 * n**2))
        np.testing.assert_allclose(
            [low, high], np.array([middle - half, middle + half]) / (1 + t**2 / n), rtol=1e-6, atol=1e-12
        )


def test_wilsons_ends_are_scipys_with_the_binomial_standard_error():
    ends = wilson(*arrays(0.3, np.sqrt(0.3 * 0.7 / 10), stats.norm.ppf(0.95)))
    np.testing.assert_allclose(ends, tuple(stats.binomtest(3, 10).proportion_ci(0.9, "wilson")), rtol=1e-12)


@given(st.integers(0, 2**32 - 1), st.integers(3, 40), st.integers(-100, 100))
def test_skewness_of_a_mean_is_that_of_its_units_over_the_root_of_their_number_on_any_scale(seed, n, power):
    losses = np.exp(np.random.default_rng(seed).standard_normal(n))
    units = (losses - losses.mean()) * 10.0**power
    found = skewness_of_mean(units[None, :, None, None]).item()
    assert found == pytest.approx(stats.skew(losses) / np.sqrt(n), rel=1e-9, abs=1e-12)


@given(st.integers(0, 2**32 - 1), st.integers(3, 40), st.integers(-1060, 1000), st.booleans())
def test_sums_of_third_powers_tell_the_skewness_on_any_scale(seed, n, power, is_weighted):
    """Down to losses that are themselves too small for all digits, and up to those whose squares overflow."""
    rng = np.random.default_rng(seed)
    losses = np.ldexp(np.round(2**10 * np.exp(rng.standard_normal(n))), power - 10)  # exact, even where they are tiny
    weights = rng.integers(1, 9, n) / 4 if is_weighted else None
    sums, weighed = ThirdSums(losses.mean().reshape(1, 1)), losses if weights is None else weights * losses
    sums.add(0, weighed[:, None], weights, tuple(np.empty((2, n, 1))))
    plain = np.ldexp(losses, -power)
    units = plain - plain.mean() if weights is None else weights * (plain - np.average(plain, weights=weights))
    expected = skewness_of_mean(units[None, :, None, None]).item()
    assert sums.skewness().item() == pytest.approx(expected, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize(
    "units", [[0.0, 0.0, 0.0], [1.0, -1.0], [2.0, -1.0, -1.0], [1e300, -1e300, 0.0], [5e-324, -5e-324]]
)
def test_skewness_of_few_or_equal_or_extreme_units_is_finite_and_within_one(units):
    found = skewness_of_mean(np.array(units)[None, :, None, None]).item()
    assert abs(found) <= 1
    assert found == (pytest.approx(6 / 6**1.5) if units[0] == 2.0 else 0.0)


# ------------------------------------------------------------------------------- bad input through the front door


def problem(n=24, p=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    return X, X[:, 0] + rng.standard_normal(n)


def assert_sound(result):
    low, high = result.interval
    assert np.isfinite([result.estimate, low, high, result.standard_error]).all()
    assert low <= result.estimate <= high


@pytest.mark.parametrize("settings", [{"n_folds": "n"}, {"n_folds": 4, "n_repeats": 3, "random_state": 0}])
@pytest.mark.parametrize("unit", [1e59, 1e-59])
def test_interval_scales_with_y_as_far_as_y_may_go(settings, unit):
    X, y = problem()
    one, other = (quiet_nested_cv(Ridge(1.0), X, y * scale, **settings) for scale in (1.0, unit))
    assert_sound(other)
    np.testing.assert_allclose(other.interval, np.array(one.interval) * unit**2, rtol=1e-9)


@pytest.mark.parametrize("unit", [1e77, 1e-155])
def test_y_out_of_range_is_refused_with_its_units_named(unit):
    X, y = problem()
    with pytest.raises(DataError, match="change its units"):
        quiet_nested_cv(Ridge(1.0), X, y * unit)


@pytest.mark.parametrize("settings", [{"n_folds": "n"}, {"n_folds": 3, "n_repeats": 2, "random_state": 0}])
def test_interval_is_finite_for_a_perfect_fit_a_constant_loss_and_a_loss_that_dominates(settings):
    X, y = problem()
    dominated = y.copy()
    dominated[3] = 1e6
    signs = np.where(np.arange(len(y)) % 2, 1.0, -1.0)
    for target in (X @ [1.0, 2.0], np.zeros(len(y)), signs, dominated):
        assert_sound(quiet_nested_cv(LinearRegression(), X, target, **settings))


def test_interval_of_three_rows_and_of_groups_of_one_row_is_finite():
    X, y = problem(n=12, p=1)
    assert_sound(quiet_nested_cv(Ridge(1.0), X[:4], y[:4], n_folds=3, n_repeats=2, random_state=0))
    alone = quiet_nested_cv(Ridge(1.0), X, y, groups=np.arange(12), folds=random_folds(12, 4, 2, 0))
    assert_sound(alone)
    rows = quiet_nested_cv(Ridge(1.0), X, y, folds=random_folds(12, 4, 2, 0))
    # the same units, but fewer than 20 groups keep more of the covariance term
    assert alone.estimate == pytest.approx(rows.estimate)
    assert alone.standard_error > rows.standard_error


def test_losses_that_are_all_the_same_have_an_interval_of_no_width():
    X, _ = problem()
    signs = np.where(np.arange(24) % 3, 1.0, -1.0)
    for folds in ({"n_folds": "n"}, {"n_folds": 4, "n_repeats": 2, "random_state": 0}):
        result = quiet_nested_cv(DummyRegressor(strategy="constant", constant=0.0), X, signs, **folds)
        assert (result.estimate, *result.interval, result.standard_error) == pytest.approx((1.0, 1.0, 1.0, 0.0))


@pytest.mark.parametrize("unit", [1e-20, 1.0, 1e20])
def test_one_loss_that_makes_all_of_the_error_is_named_whatever_the_units(unit):
    X, y = problem(n=40)
    y[3] = 1e8
    result = quiet_nested_cv(Ridge(1.0), X, unit * y)
    assert_sound(result)
    assert result.estimate < 2 * result.cv_estimate
    assert "heavy tails" in {finding.kind for finding in result.findings}


def test_three_rows_or_groups_are_the_fewest_and_fewer_are_refused_with_the_reason():
    X, y = problem(n=12, p=1)
    groups = np.arange(12) // 4
    assert_sound(quiet_nested_cv(Ridge(1.0), X[:3], y[:3]))
    assert_sound(quiet_nested_cv(Ridge(1.0), X, y, groups=groups))
    with pytest.raises(DataError, match="only 2 rows"):
        quiet_nested_cv(Ridge(1.0), X[:2], y[:2])
    with pytest.raises(DataError, match="only 2 group"):
        quiet_nested_cv(Ridge(1.0), X, y, groups=np.minimum(groups, 1))


def test_where_every_row_is_wrong_nothing_speaks_against_one_whatever_the_weights_round_to():
    """The mean of the weighted ones is one less its last bit."""
    rng = np.random.default_rng(5)
    w, y = rng.uniform(1, 2, size=8), np.arange(8) % 2
    w[1::2] *= w[::2].sum() / w[1::2].sum()  # so that the class of a row has less weight without it
    result = quiet_nested_cv(RidgeClassifier(alpha=1e10), rng.normal(size=(8, 2)), y, sample_weight=w, n_folds="n")
    assert result.cv_estimate == pytest.approx(1.0, abs=1e-15)
    assert result.interval[1] == 1.0


@given(st.integers(1, 400), st.integers(1, 3000), st.floats(0.1, 3))
def test_score_ends_of_rare_counts_are_wilsons(hits, scale, t):
    n = 10_000 * scale  # so rare that the variance is linear in the share
    p = np.float64(hits / n)
    s, skewness = np.sqrt(p * (1 - p) / n), (1 - 2 * p) / np.sqrt(n * p * (1 - p))
    np.testing.assert_allclose(score(p, s, np.float64(t), skewness), wilson(p, s, np.float64(t)), rtol=5e-2)
    np.testing.assert_allclose(score(p, s, np.float64(t), 0.0), (p - t * s, p + t * s), rtol=1e-12)


@pytest.mark.parametrize("n", [10, 40, 500])
def test_a_class_that_is_missed_wholly_has_nearly_the_exact_end(n):
    share = (n + 0.5) / (n + 1)
    s = np.sqrt(share * (1 - share) / n)
    skewness = share * (1 - share) * (1 - 2 * share) / n**2 / s**3
    low, high = ends_of_mean(np.float64(1), s, np.float64(1.645), skewness, "shares")
    exact = stats.binomtest(0, n).proportion_ci(0.9).high
    assert high == 1.0
    assert exact <= 1 - low <= 1.35 * exact
