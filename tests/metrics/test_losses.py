"""Losses: their values on every route, and the scale of the interval that each asks for."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special, stats
from sklearn.linear_model import LinearRegression, Ridge, RidgeClassifier
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

import onefit
import reference
from helpers import (
    ROUTES,
    STRICT,
    assert_equals_reference,
    assert_row,
    data,
    quiet_nested_cv,
    random_folds,
    warned_nested_cv,
)
from onefit.errors import DataError, OneFitError
from onefit.losses import huber, nonnegative, pinball
from onefit.metrics.rowlosses import tweedie

every = pytest.mark.parametrize("route", ROUTES)


def power(y, prediction):
    return np.abs(y - prediction) ** 1.5


def signed(y, prediction):
    """Not a function of the residual, and of either sign."""
    return (y - prediction) ** 2 - 0.5 * prediction**2


def declared(y, prediction):
    return np.abs(y - prediction) / (1 + np.abs(y))


declared.nonnegative = True


class Object:
    """A callable without a name."""

    nonnegative = True

    def __call__(self, y, prediction):
        return np.log1p((y - prediction) ** 2)


LITERAL = [
    ("squared_error", "squared_error"),
    ("absolute_error", "absolute_error"),
    ("huber", "huber"),
    ("pinball", "pinball"),
    (huber(0.3), nonnegative(lambda y, prediction: reference.huber(y - prediction, 0.3))),
    (pinball(0.9), nonnegative(lambda y, prediction: reference.pinball(y - prediction, 0.9))),
    (power, power),
    (nonnegative(power), nonnegative(power)),
    (signed, signed),
    (declared, declared),
    (Object(), Object()),
]
NAMES = ["squared", "absolute", "huber", "pinball", "huber(.3)", "pinball(.9)", "callable", "wrapped", "signed"]
NAMES += ["declared", "object"]


# ------------------------------------------------------------------------------------------ their values


@every
@pytest.mark.parametrize(("loss", "literal"), LITERAL, ids=NAMES)
def test_loss_equals_the_literal_one_of_real_refits(loss, literal, route):
    X, y = data(37, 3, 1)
    folds = random_folds(37, 5, 2, unscored=2)
    result = quiet_nested_cv(Ridge(0.6), X, y, folds=folds, loss=loss, route=route)
    assert_equals_reference(result, reference.fold_losses(y, folds, reference.refitter(X, y, 0.6), literal))


@every
@pytest.mark.parametrize("loss", [power, signed], ids=["power", "signed"])
def test_callable_sees_one_output_of_several_at_a_time_or_all_of_them_flat(loss, route):
    X, Y = data(30, 3, 2, 2)
    folds = random_folds(30, 5)
    result = quiet_nested_cv(Ridge(np.array([0.6, 9.0])), X, Y, folds=folds, loss=loss, route=route)
    for q, lam in enumerate([0.6, 9.0]):
        losses = reference.fold_losses(Y[:, q], folds, reference.refitter(X, Y[:, q], lam), loss)
        np.testing.assert_allclose(result.fold_errors.e_in[..., q], losses.e_in, rtol=STRICT)
        assert_row(result, "covariance", reference.covariance(losses, 0.95), 10 * STRICT, output=str(q))


def test_callable_never_sees_values_that_are_not_data():
    """Uneven folds are padded inside; a loss must not see the padding."""
    X, y = data(31, 3, 3)
    y = np.abs(y) + 1

    def logarithmic(y, prediction):
        assert (y >= 1).all()
        return np.abs(np.log(y) - np.log(np.maximum(prediction, 0.1)))

    for route in ROUTES:
        quiet_nested_cv(Ridge(1.0), X, y, n_folds=4, n_repeats=2, loss=logarithmic, route=route)


def test_zero_one_loss_of_a_regressor_counts_what_is_not_equal():
    X, y = data(40, 2, 4)
    y = np.round(y)
    folds, estimator = random_folds(40, 5, 2), KNeighborsRegressor(1)
    losses = reference.fold_losses(y, folds, reference.estimator_refitter(estimator, X, y), "zero_one")
    assert_equals_reference(quiet_nested_cv(estimator, X, y, folds=folds, loss="zero_one"), losses)


def test_parameters_of_losses_are_checked():
    for value in (0, -1, np.nan, np.inf, "1"):
        with pytest.raises(OneFitError, match="delta"):
            huber(value)
    for value in (0, 1, -0.1, np.nan, "0.5"):
        with pytest.raises(OneFitError, match="quantile"):
            pinball(value)


def test_result_names_the_loss():
    X, y = data(20, 2, 5)
    names = [
        quiet_nested_cv(Ridge(), X, y, n_folds=5, n_repeats=1, loss=loss).loss
        for loss in (None, "huber", pinball(0.9), power, nonnegative(power))
    ]
    assert names == ["squared_error", "huber", "pinball", "power", "power"]


def test_rmse_and_r2_are_of_squared_error_only():
    X, y = data(20, 2, 5)
    assert quiet_nested_cv(Ridge(), X, y).rmse is not None
    result = quiet_nested_cv(Ridge(), X, y, loss="absolute_error")
    assert result.rmse is None
    assert result.r2 is None


# ------------------------------------------------------------------------------ the scale of the interval


@every
@pytest.mark.parametrize("n_folds", [5, "n"])
def test_undeclared_callable_has_the_ends_of_t_with_n_minus_one_degrees_of_freedom_and_a_longer_tail(n_folds, route):
    """Losses that are skewed to the right: at the low end t's are wider, at the high end Hall's."""
    X, y = data(40, 3, 6)
    result = quiet_nested_cv(Ridge(1.0), X, y, n_folds=n_folds, n_repeats=2, loss=power, route=route)
    low, high = result.interval
    half = stats.t.ppf(0.975, 39) * result.standard_error
    np.testing.assert_allclose(result.estimate - low, half, rtol=STRICT)
    assert half < high - result.estimate < 3 * half
    e_in, e_out, K = result.raw_estimate, result.cv_estimate, result.n_folds
    np.testing.assert_allclose(result.estimate, e_in - (1 + (K - 2) / K) * (e_in - e_out), rtol=STRICT)


@every
@pytest.mark.parametrize("loss", [*reference.LOSSES, nonnegative(power), declared])
def test_nonnegative_loss_has_an_interval_on_the_log_scale(loss, route):
    X, y = data(40, 3, 6)
    result = quiet_nested_cv(Ridge(1.0), X, y, n_folds=8, n_repeats=2, loss=loss, route=route)
    low, high = result.interval
    assert 0 < low < result.estimate < high
    assert np.sqrt(low * high) > (1 - STRICT) * result.estimate  # Hall's end is beyond that of the log scale, if any
    e_in, e_out = result.raw_estimate, result.cv_estimate
    np.testing.assert_allclose(result.estimate, e_in * (e_out / e_in) ** (1 + 6 / 8), rtol=STRICT)


@pytest.mark.parametrize("n_folds", [5, "n"])
def test_zero_one_loss_has_wilson_s_interval(n_folds):
    X, y = data(60, 2, 7)
    labels = (y + np.random.default_rng(0).standard_normal(60) > np.median(y)).astype(int)
    result = quiet_nested_cv(RidgeClassifier(), X, labels, n_folds=n_folds, n_repeats=3, random_state=0)
    low, high = result.interval
    assert 0 < low < result.estimate < high < 1
    np.testing.assert_allclose(special.logit([low, high]).mean(), special.logit(result.estimate), rtol=STRICT)


def separable(n, gap=50.0):
    rng = np.random.default_rng(n)
    labels = np.arange(n) % 2
    return rng.standard_normal((n, 1)) + gap * labels[:, None], labels


@pytest.mark.parametrize("n", [12, 60])
@pytest.mark.parametrize("n_folds", [4, "n"])
def test_no_error_in_any_row_still_leaves_room_for_some(n_folds, n):
    """At 95% about 3/n, as the rule of three has it."""
    X, labels = separable(n)
    result, warned = warned_nested_cv(RidgeClassifier(), X, labels, n_folds=n_folds, n_repeats=3, random_state=0)
    assert result.cv_estimate == 0
    assert result.interval[0] == 0
    assert 1.5 / n < result.interval[1] < 6 / n
    assert result.estimate == pytest.approx(1 / (2 * n))
    assert warned == {}


@pytest.mark.parametrize("n_folds", [4, "n"])
def test_error_in_every_row_ends_at_one(n_folds):
    """Nearest neighbour of the other class: pairs of twins with different labels."""
    X = np.repeat(np.arange(10.0) * 100, 2)[:, None] + np.tile([0.0, 1e-3], 10)[:, None]
    labels = np.tile([0, 1], 10)
    folds = (np.arange(20) if n_folds == "n" else np.arange(20) % 4)[None]
    result = quiet_nested_cv(KNeighborsClassifier(1), X, labels, folds=folds, random_state=0)
    assert result.cv_estimate == 1
    assert result.interval[1] == 1
    assert 0 < result.interval[0] < 1
    losses = reference.fold_losses(
        labels, folds, reference.estimator_refitter(KNeighborsClassifier(1), X, labels), "zero_one"
    )
    assert_row(result, "covariance", reference.covariance(losses, 0.95))


@pytest.mark.sweep(4)
@every
@pytest.mark.parametrize("n_folds", [4, "n"])
@pytest.mark.parametrize("loss", [*reference.LOSSES, power])
def test_perfect_predictions_give_an_interval_of_zero(loss, n_folds, route):
    X, _ = data(20, 2, 8)
    shared = {"n_folds": n_folds, "n_repeats": 2, "random_state": 0, "route": route, "loss": loss}
    result, warned = warned_nested_cv(LinearRegression(), X, np.zeros(20), **shared)
    assert (result.estimate, *result.interval) == (0, 0, 0)
    assert np.isfinite(result.intervals.dropna().to_numpy()).all()
    assert warned == {}


@pytest.mark.parametrize("level", [0.5, 0.9, 0.99])
def test_every_scale_respects_the_level(level):
    X, y = data(30, 3, 9)
    folds = random_folds(30, 5, 2)
    for loss in (power, nonnegative(power), "absolute_error"):
        losses = reference.fold_losses(y, folds, reference.refitter(X, y, 1.0), loss)
        result = quiet_nested_cv(Ridge(1.0), X, y, folds=folds, loss=loss, confidence_level=level)
        assert_row(result, "covariance", reference.covariance(losses, level))


# ---------------------------------------------------------------------------------------------- errors


X, Y = data(24, 2, 10)
LABELS = np.where(np.median(Y) < Y, "high", "low")


@every
@pytest.mark.parametrize("n_folds", [4, "n"])
@pytest.mark.parametrize(
    ("loss", "match"),
    [
        (lambda y, prediction: np.mean((y - prediction) ** 2), "each row"),
        (lambda y, prediction: ((y - prediction) ** 2)[:-1], "each row"),
        (lambda y, prediction: np.full(y.shape, np.nan), "NaN"),
        (lambda y, prediction: np.where(y > 0, np.inf, 1.0), "infinite"),
        (nonnegative(lambda y, prediction: y - prediction), "non-negative"),
    ],
    ids=["mean", "short", "nan", "infinite", "negative"],
)
def test_callable_that_does_not_keep_its_word_is_refused(loss, match, n_folds, route):
    with pytest.raises(onefit.errors.DataError, match=match):
        quiet_nested_cv(Ridge(1.0), X, Y, n_folds=n_folds, n_repeats=1, loss=loss, route=route)


@every
@pytest.mark.parametrize("loss", ["squared", "mse", 3, ["huber"], huber])
def test_unknown_loss_is_refused(loss, route):
    with pytest.raises(OneFitError, match="loss"):
        quiet_nested_cv(Ridge(1.0), X, Y, n_folds=4, n_repeats=1, loss=loss, route=route)


@every
@pytest.mark.parametrize("loss", [*reference.LOSSES, huber(1.0)])
def test_loss_of_numbers_is_refused_for_a_classifier(loss, route):
    with pytest.raises(OneFitError, match="zero_one"):
        quiet_nested_cv(RidgeClassifier(), X, LABELS, n_folds=4, n_repeats=1, loss=loss, route=route)


def test_predictions_that_are_next_to_nothing_beside_what_was_observed_have_no_deviance():
    """Of 2e-16 beside an observed 1 no digit is known once it was subtracted: an estimate was 0.1% off."""
    loss, one = tweedie(1.0), np.ones((1, 1))
    np.testing.assert_allclose(loss.of(one, one - 1e-6), 2 * (np.log(1e6) - 1 + 1e-6), rtol=1e-9)
    with pytest.raises(DataError, match=r"below 1e-8 of what was observed"):
        loss.of(one, one - 2e-16)
