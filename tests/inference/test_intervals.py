"""The six interval rules against literal loops over the losses of real refits."""

from __future__ import annotations

import re
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.neighbors import KNeighborsRegressor

import onefit
import reference
from helpers import STRICT, assert_row, quiet_nested_cv, random_folds, warned_nested_cv
from onefit.inference.chain import Chain
from onefit.inference.fold_errors import FoldErrors

LAYOUTS = {
    "even": {"n": 40, "n_folds": 5, "n_repeats": 4},
    "uneven": {"n": 43, "n_folds": 6, "n_repeats": 3},
    "one repeat": {"n": 30, "n_folds": 10, "n_repeats": 1},
    "never scored": {"n": 43, "n_folds": 5, "n_repeats": 3, "unscored": 3},
    "uneven, never scored": {"n": 44, "n_folds": 6, "n_repeats": 2, "unscored": 3},
    "folds of one row": {"n": 14, "n_folds": 9, "n_repeats": 2},
}


def case(layout, loss="squared_error", lam=2.0, seed=3, p=4):
    """Data, folds and the losses of real refits."""
    folds = random_folds(**LAYOUTS[layout], seed=seed)
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((folds.shape[1], p))
    y = X @ rng.standard_normal(p) + rng.standard_normal(len(X))
    return X, y, folds, reference.fold_losses(y, folds, reference.refitter(X, y, lam), loss)


@pytest.mark.sweep(3)
@pytest.mark.parametrize("loss", reference.LOSSES)
@pytest.mark.parametrize("layout", [name for name in LAYOUTS if name != "folds of one row"])
@pytest.mark.parametrize("rule", reference.RULES)
def test_rule_equals_the_literal_loop(rule, layout, loss):
    X, y, folds, losses = case(layout, loss)
    result = quiet_nested_cv(Ridge(2.0), X, y, folds=folds, loss=loss, confidence_level=0.8)
    assert_row(result, rule, reference.RULES[rule](losses, 0.8))


@pytest.mark.parametrize("rule", reference.RULES)
def test_rule_asked_for_by_name_fills_the_headline_figures(rule):
    X, y, folds, losses = case("uneven")
    result = quiet_nested_cv(Ridge(2.0), X, y, folds=folds, interval=rule)
    expected = reference.RULES[rule](losses, 0.95)
    np.testing.assert_allclose(result.estimate, expected.estimate, rtol=STRICT)
    np.testing.assert_allclose(result.interval, (expected.low, expected.high), rtol=STRICT)
    np.testing.assert_allclose(result.standard_error, expected.standard_error, rtol=STRICT)
    np.testing.assert_allclose(result.bias, losses.raw_estimate - expected.estimate, rtol=1e-7)
    np.testing.assert_allclose(result.cv_estimate, losses.cv_estimate, rtol=STRICT)
    assert result.confidence_level == 0.95


@pytest.mark.parametrize("layout", ["even", "uneven", "never scored"])
def test_covariance_mse_inflation_and_monte_carlo_error_equal_the_literal_loop(layout):
    X, y, folds, losses = case(layout)
    result = quiet_nested_cv(Ridge(2.0), X, y, folds=folds)
    mse, floor, drawn = reference.covariance_mse(losses)
    np.testing.assert_allclose(result.mse, mse + drawn, rtol=1e-8)
    assert result.mse_is_floored == (mse < floor)
    np.testing.assert_allclose(result.inflation, np.sqrt((max(mse, floor) + drawn) / floor), rtol=1e-8)
    np.testing.assert_allclose(result.monte_carlo_error, reference.monte_carlo_error(losses), rtol=1e-7)


def test_covariance_mse_below_its_floor_is_reported_unfloored_but_not_used():
    """A linear fit hardly ever gets there; two neighbours do."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 1))
    y = X[:, 0] * rng.standard_normal() + rng.standard_normal(40)
    folds, estimator = random_folds(40, 5, 1, 0), KNeighborsRegressor(2)
    losses = reference.fold_losses(y, folds, reference.estimator_refitter(estimator, X, y))
    mse, floor, _ = reference.covariance_mse(losses)
    assert mse < floor
    result = quiet_nested_cv(estimator, X, y, folds=folds)
    np.testing.assert_allclose(result.mse, mse, rtol=1e-8)
    assert result.mse_is_floored
    np.testing.assert_allclose(result.standard_error, np.sqrt(floor), rtol=STRICT)
    assert_row(result, "covariance", reference.covariance(losses, 0.95))


def test_covariance_falls_back_to_the_identity_scale_and_warns_when_the_error_exceeds_the_centre():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((20, 12))
    y = rng.standard_normal(20)
    for seed in range(60):
        folds = random_folds(20, 5, 2, seed=seed)
        losses = reference.fold_losses(y, folds, reference.refitter(X, y, 1e-6))
        expected = reference.covariance(losses, 0.95)
        if expected.standard_error > expected.estimate:
            break
    assert expected.standard_error > expected.estimate
    result, warned = warned_nested_cv(Ridge(1e-6), X, y, folds=folds)
    assert "training sets are too small" in " ".join(warned[onefit.errors.TrainingSizeWarning].split())
    assert_row(result, "covariance", expected, rtol=1e-7)
    assert result.interval[0] == 0


def test_monte_carlo_error_is_nan_at_one_repeat():
    X, y, folds, _ = case("one repeat")
    assert np.isnan(quiet_nested_cv(Ridge(2.0), X, y, folds=folds).monte_carlo_error)


def test_covariance_needs_no_variance_within_folds_of_one_row():
    X, y, folds, losses = case("folds of one row")
    result = quiet_nested_cv(Ridge(2.0), X, y, folds=folds)
    assert_row(result, "covariance", reference.covariance(losses, 0.95))
    sizes = losses.table(losses.fold_size)
    assert (np.isnan(result.fold_errors.v_out) == (sizes == 1)).all()


@pytest.mark.parametrize("rule", ["paper", "bates", "mlr3"])
def test_rule_that_needs_the_variance_within_folds_is_nan_or_an_error_by_name(rule):
    X, y, folds, _ = case("folds of one row")
    assert quiet_nested_cv(Ridge(2.0), X, y, folds=folds).intervals.loc[rule].isna().all()
    with pytest.raises(onefit.errors.OneFitError, match=rule):
        quiet_nested_cv(Ridge(2.0), X, y, folds=folds, interval=rule)


@pytest.mark.parametrize("rule", ["paper", "bates"])
def test_bias_folds_move_only_the_rules_that_use_them(rule):
    X, y, folds, losses = case("uneven")
    bias_folds = random_folds(len(X), 6, 5, seed=99)
    result = quiet_nested_cv(Ridge(2.0), X, y, folds=folds, bias_folds=bias_folds)
    bias_cv = reference.cv_error(y, bias_folds, reference.refitter(X, y, 2.0))
    assert_row(result, rule, reference.RULES[rule](losses, 0.95, bias_cv))
    for other in ("covariance", "mlr3", "naive", "corrected_t"):
        assert_row(result, other, reference.RULES[other](losses, 0.95))


def test_drawn_bias_folds_are_reproducible_and_change_the_bias():
    X, y, folds, _ = case("even")
    one, same, none = (
        quiet_nested_cv(Ridge(2.0), X, y, folds=folds, bias_folds=b, interval="bates", random_state=0).estimate
        for b in (3, 3, None)
    )
    assert one == same != none


def test_never_negative_loss_never_gets_a_negative_bound():
    rng = np.random.default_rng(5)
    X, y = rng.standard_normal((30, 14)), rng.standard_normal(30)
    result = quiet_nested_cv(LinearRegression(), X, y, n_folds=10, n_repeats=3, random_state=0)
    assert 0 <= result.interval[0] < result.estimate < result.interval[1]


def test_rmse_is_the_root_of_the_estimate_and_of_its_interval(regression):
    X, y = regression
    result = quiet_nested_cv(Ridge(1.0), X, y, n_folds=5, n_repeats=2, random_state=0)
    root = np.sqrt([result.estimate, *result.interval])
    np.testing.assert_allclose([result.rmse.estimate, result.rmse.low, result.rmse.high], root, rtol=1e-12)


def test_heldout_averages_the_single_held_out_predictions_and_losses_by_row():
    X, y, folds, losses = case("never scored")
    heldout = quiet_nested_cv(Ridge(2.0), X, y, folds=folds).heldout
    assert list(heldout.index) == list(range(len(X)))
    times_scored = (folds >= 0).sum(axis=0)
    assert (times_scored > 0).all()
    prediction, loss = (np.nansum(a, axis=0) / times_scored for a in (losses.prediction, losses.single))
    np.testing.assert_allclose(heldout["prediction"], prediction, rtol=STRICT)
    np.testing.assert_allclose(heldout["loss"], loss, rtol=STRICT)


def test_of_a_difference_of_ranks_at_least_a_twentieth_of_the_variance_stays():
    """Noise of comparisons is estimated, and may exceed the variance that it is taken off."""
    noise = np.array([[1.0, 0.2], [0.2, 0.5]])[None, ..., None]
    errors = SimpleNamespace(
        chain=Chain(np.array([0, 0])),
        paired_total=np.diag([3.0, 1.3])[None, ..., None],
        paired_cross=np.zeros((1, 2, 1)),
        paired_covariance=np.zeros((1, 2, 2, 1)),
        noise=noise,
        is_ranked=True,
        _in_centre=lambda total, cross, centre: total,
    )
    found = [
        FoldErrors.paired(replaced, np.array([1]), np.array([0]), np.zeros((1, 1)))[0].item()
        for replaced in (errors, SimpleNamespace(**{**vars(errors), "noise": 2 * noise}))
    ]
    np.testing.assert_allclose(found, [1.3 - (1.0 + 0.5 - 2 * 0.2), 1.3 / 20], rtol=1e-12)


@pytest.mark.parametrize(
    ("scale", "told"), [(100.0, r"\(-[0-9]{1,3}(,000|,[0-9]{3})+\)"), (1e-3, r"\(-[0-9.]+e-[0-9]+\)")]
)
def test_the_reason_of_a_missing_interval_writes_its_number_as_people_do(scale, told):
    rng = np.random.default_rng(1)
    X, y = rng.standard_normal((60, 3)), scale * rng.standard_normal(60)
    for seed in range(40):
        found = quiet_nested_cv(LinearRegression(), X, y, n_folds=10, n_repeats=2, random_state=seed)
        reason = found.intervals.attrs["reasons"].get("paper")
        if reason:
            break
    assert re.search(told, reason)
