"""Where a second fold out makes the error explode: the centre stays near cross-validation's, and the cause is named."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import special
from sklearn.compose import TransformedTargetRegressor
from sklearn.linear_model import LinearRegression, Ridge

import onefit
from helpers import quiet_nested_cv, warned_nested_cv
from onefit.errors import HeavyTailWarning, TrainingSizeWarning
from onefit.inference.intervals import covariance_centre, within_reach

TEN = SimpleNamespace(n_folds=10, n_scored=50)


def centre(raw, cv):
    """Of ten folds, on the log scale."""
    return covariance_centre(np.array([[raw]]), np.array([[cv]]), TEN, "log").item()


def test_the_centre_is_untouched_while_raw_is_within_a_factor_of_two():
    for raw in (0.51, 0.9, 1.0, 1.1, 1.99):
        assert within_reach(np.array([raw]), np.array([1.0])).item() == raw
        np.testing.assert_allclose(centre(raw, 1.0), raw**-0.8, rtol=1e-14)


@pytest.mark.parametrize("raw", [2.0, 0.5])
def test_the_centre_is_continuous_where_the_reach_ends(raw):
    near = [centre(raw * (1 + step), 1.0) for step in (-1e-9, 1e-9)]
    np.testing.assert_allclose(near, raw**-0.8, rtol=1e-8)


def test_the_centre_goes_back_to_cross_validation_as_pair_errors_explode():
    cv = 3e6
    centres = np.array([centre(cv * factor, cv) for factor in (2, 4, 10, 1e3, 1e15, 1e290)])
    assert (np.diff(centres) > 0).all()
    assert centres[0] > cv / 2
    np.testing.assert_allclose(centres[2], cv * 10 ** (-0.8 / 9), rtol=1e-12)  # x = 9
    np.testing.assert_allclose(centres[-1], cv, rtol=1e-12)
    np.testing.assert_allclose(centre(cv / 1e15, cv), cv, rtol=1e-12)


def test_zeros_are_as_before():
    assert centre(0.0, 0.0) == 0
    assert centre(1.0, 0.0) == 0


def typos(rows, n=400):
    """Prices that grow exponentially with a size, and rows whose size has a decimal point too few."""
    rng = np.random.default_rng(3)
    size, other = rng.uniform(1, 10, (2, n))
    y = np.exp(0.5 * size + 0.1 * rng.standard_normal(n))
    size[rows] *= 10
    return np.column_stack([size, other]), y


LOG_TARGET = TransformedTargetRegressor(LinearRegression(), func=np.log, inverse_func=np.exp)


def test_a_row_whose_prediction_explodes_is_named_and_the_estimate_is_that_of_cross_validation():
    X, y = typos([7, 211])
    result, warned = warned_nested_cv(LOG_TARGET, X, y, n_folds=10, n_repeats=3, random_state=0)
    assert result.raw_estimate > 2 * result.cv_estimate
    assert 0.5 < result.estimate / result.cv_estimate <= 1
    largest = result.heldout["loss"].nlargest(2)
    assert set(largest.index) == {7, 211}
    assert largest.sum() > 0.99 * result.heldout["loss"].sum()
    assert "nearly all of the sum of the losses" in " ".join(warned[HeavyTailWarning].split())
    assert TrainingSizeWarning not in warned
    told = {finding.kind: finding for finding in result.findings}
    assert str(largest.index[0]) in told["heavy tails"].message
    assert "near cross-validation's" in told["heavy tails"].message
    assert "values are right" in told["heavy tails"].remedy
    assert "training size" not in told


def test_a_difference_of_models_of_which_one_explodes_is_that_of_their_estimates():
    X, y = typos([7, 211])
    models = {"log": LOG_TARGET, "plain": LinearRegression()}
    with pytest.warns(onefit.errors.OneFitWarning):
        both = onefit.compare(models, X, y, n_folds=10, n_repeats=2, random_state=0)
    [found] = both.differences["estimate"]
    cv = {name: both.results[name].cv_estimate for name in models}
    first, second = both.differences.index[0]
    assert 0.5 < found / (cv[first] - cv[second]) < 2
    assert both.results["log"].raw_estimate > 10 * cv["log"]


def test_an_explosion_that_no_row_makes_alone_is_told_with_both_causes():
    """Two copies of an extreme column value: each row is predicted well while the other is there."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.standard_normal(60), np.zeros(60)])
    X[[5, 40], 1] = 1e3, 1.001e3
    X[:, 1] += 1e-3 * rng.standard_normal(60)
    y = X[:, 0] + rng.standard_normal(60)
    folds = np.arange(60)[None] % 6
    folds[0, [5, 40]] = 0, 1
    result = quiet_nested_cv(LinearRegression(), X, y, folds=folds)
    assert result.raw_estimate > 10 * result.cv_estimate
    np.testing.assert_allclose(result.estimate, result.cv_estimate, rtol=0.05)
    [found] = [finding for finding in result.findings if finding.kind == "training size"]
    assert "too far apart to extrapolate" in found.message
    assert "extreme values of a column" in found.remedy


def test_too_few_rows_for_the_columns_are_still_called_so():
    small = onefit.datasets.make_linear(n=24, p=19, random_state=0)
    _, warned = warned_nested_cv(LinearRegression(), small.X, small.y)
    assert "training sets are too small" in " ".join(warned[TrainingSizeWarning].split())


def test_sound_data_have_no_finding_of_this_kind():
    data = onefit.datasets.make_linear(n=60, p=5, random_state=0)
    result = onefit.nested_cv(Ridge(1.0), data.X, data.y, n_folds=5, n_repeats=2, random_state=0)
    assert {finding.kind for finding in result.findings}.isdisjoint({"training size", "heavy tails"})


def test_the_remedy_names_more_folds_only_where_there_can_be_more():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((3, 3))
    result = quiet_nested_cv(Ridge(1e-6), X, X[:, 0] + rng.standard_normal(3))
    [found] = [finding for finding in result.findings if finding.kind == "training size"]
    assert "more folds" not in found.text
    assert "no folds make them larger: use more rows, fewer columns" in found.remedy
    rng = np.random.default_rng(2)
    X, y, groups = rng.standard_normal((24, 15)), rng.standard_normal(24), np.repeat(np.arange(6), 4)
    for n_folds, remedy in ((3, "use more folds, more groups"), (6, "no folds make them larger: use more groups")):
        result = quiet_nested_cv(Ridge(1e-6), X, y, groups=groups, n_folds=n_folds, random_state=0)
        [found] = [finding for finding in result.findings if finding.kind == "training size"]
        assert remedy in found.remedy


def skewed(power):
    """Losses that are skewed more with larger powers."""
    rng = np.random.default_rng(2)
    X = np.exp(power * rng.standard_normal((40, 1)))
    return quiet_nested_cv(Ridge(), X, rng.standard_normal(40), folds=np.arange(40)[None] % 8)


def test_the_reason_names_the_end_that_lies_beyond_that_on_the_plain_scale():
    result = skewed(3)
    assert result.standard_error > result.estimate
    assert result.interval[0] == 0
    assert result.interval[1] > result.estimate + special.stdtrit(3.0, 0.975) * result.standard_error
    assert "cut at 0; if the losses are skewed to the right, its upper end is Hall's" in result.reason


def test_an_interval_on_the_log_scale_begins_at_zero_if_the_end_of_hall_lies_below():
    result = skewed(2)
    assert result.standard_error < result.estimate
    assert result.interval[0] == 0
    assert result.reason == ""
