"""Sample weights, in the fits and in the losses, on every route."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import RandomForestRegressor
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import onefit
import reference
from helpers import (
    FAST_ROUTES,
    ROUTES,
    STRICT,
    assert_equals_reference,
    assert_fold_errors,
    assert_row,
    assert_same_results,
    data,
    quiet_nested_cv,
    random_folds,
    random_weights,
    relative_gap,
    tolerance,
)

every = pytest.mark.parametrize("route", ROUTES)
kinds = pytest.mark.parametrize("kind", ["positive", "zeros"])


# ------------------------------------------------------------------------------- against real refits


@pytest.mark.sweep(4)
@every
@kinds
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize(
    ("n", "p", "n_folds", "unscored", "lam"),
    [(40, 4, 5, 0, 0.5), (37, 3, 6, 3, 0.0), (30, 26, 5, 0, 1e-3), (24, 36, 4, 0, 0.2), (25, 25, 6, 1, 1e-6)],
)
def test_weighted_ridge_equals_stacked_qr_refits(n, p, n_folds, unscored, lam, fit_intercept, kind, route):
    X, y = data(n, p, n)
    w, folds = random_weights(n, kind, seed=p), random_folds(n, n_folds, 2, seed=n, unscored=unscored)
    estimator = Ridge(lam, fit_intercept=fit_intercept) if lam else LinearRegression(fit_intercept=fit_intercept)
    result = quiet_nested_cv(estimator, X, y, folds=folds, sample_weight=w, route=route)
    losses = reference.fold_losses(y, folds, reference.refitter(X, y, lam, None, fit_intercept, w), weights=w)
    rtol = tolerance(X, folds, lam, None, fit_intercept, w)
    assert_fold_errors(result, losses, rtol)
    if unscored == 0:
        assert_equals_reference(result, losses, rtol)


@pytest.mark.sweep(4)
@every
@kinds
@pytest.mark.parametrize("estimator", [Ridge(0.7), LinearRegression(), KernelRidge(alpha=0.3, kernel="rbf")], ids=repr)
def test_weighted_fits_equal_scikit_learns_own(estimator, kind, route):
    X, y = data(36, 3, 1)
    w, folds = random_weights(36, kind), random_folds(36, 6, 2)
    result = quiet_nested_cv(estimator, X, y, folds=folds, sample_weight=w, route=route)
    predict = reference.estimator_refitter(estimator, X, y, w)
    assert_equals_reference(result, reference.fold_losses(y, folds, predict, weights=w))


@pytest.mark.parametrize("route", FAST_ROUTES)
@kinds
def test_weighted_penalty_with_a_null_space_equals_refits(kind, route):
    X, y = data(40, 8, 2)
    root = np.diff(np.eye(8), n=2, axis=0)
    w, folds = random_weights(40, kind), random_folds(40, 5, 2)
    estimator = onefit.PenalizedRegression(root.T @ root, 3.0)
    result = quiet_nested_cv(estimator, X, y, folds=folds, sample_weight=w, route=route)
    losses = reference.fold_losses(y, folds, reference.refitter(X, y, 3.0, root, weights=w), weights=w)
    assert_equals_reference(result, losses, tolerance(X, folds, 3.0, root, weights=w))


def test_our_own_model_fits_weights_as_the_reference_does():
    X, y = data(30, 4, 2)
    w = random_weights(30, "zeros")
    rows = np.arange(30)
    fitted = onefit.PenalizedRegression(lam=2.0).fit(X, y, sample_weight=w)
    expected = reference.refit_predictions(X, y, rows, rows, 2.0, weights=w)
    np.testing.assert_allclose(fitted.predict(X), expected, rtol=STRICT)


def test_learner_that_is_refitted_gets_the_weights_of_its_training_rows():
    X, y = data(30, 3, 3)
    w, folds = random_weights(30, "zeros"), random_folds(30, 5)
    estimator = RandomForestRegressor(5, random_state=0)
    result = quiet_nested_cv(estimator, X, y, folds=folds, sample_weight=w)
    predict = reference.estimator_refitter(estimator, X, y, w)
    assert_equals_reference(result, reference.fold_losses(y, folds, predict, weights=w))


def test_weights_of_a_pipeline_go_to_its_last_step():
    X, y = data(30, 3, 3)
    w, folds = random_weights(30, "zeros"), random_folds(30, 5)
    pipeline = make_pipeline(StandardScaler(), Ridge(3.0))
    result = quiet_nested_cv(pipeline, X, y, folds=folds, sample_weight=w)

    def predict(train, test):
        return pipeline.fit(X[train], y[train], ridge__sample_weight=w[train]).predict(X[test])

    assert_equals_reference(result, reference.fold_losses(y, folds, predict, weights=w))


@pytest.mark.parametrize("n_folds", [5, 24])
@pytest.mark.parametrize(("p", "lam"), [(3, 0.0), (3, 1.0), (10, 1e-2), (30, 1e-2)])
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2, 3))])
def test_weights_over_twelve_orders_of_magnitude_equal_refits(seed, p, lam, n_folds):
    X, y = data(24, p, seed)
    w = 10 ** np.random.default_rng(seed).uniform(-6, 6, 24)
    folds = np.arange(24)[None] if n_folds == 24 else random_folds(24, n_folds, seed=seed)
    losses = reference.fold_losses(y, folds, reference.refitter(X, y, lam, weights=w), weights=w)
    rtol = tolerance(X, folds, lam, weights=w)
    estimator = Ridge(lam) if lam else LinearRegression()
    ways = [{"folds": folds, "route": route} for route in FAST_ROUTES] + [{"n_folds": "n"}] * (n_folds == 24)
    for way in ways:
        result = quiet_nested_cv(estimator, X, y, sample_weight=w, **way)
        assert_fold_errors(result, losses, rtol)
        # in the fold errors light rows do not show; in the held-out rows they do
        assert relative_gap(result.heldout["prediction"], losses.prediction[0]) <= rtol
        assert relative_gap(result.heldout["loss"], losses.plain[0]) <= rtol


# ------------------------------------------------------------------------------------ what weights mean


@every
def test_losses_are_weighed_relative_to_the_mean_over_the_rows_scored(route):
    """Rows that are never scored do not count in mean(w), and the means over rows are plain ones."""
    X, y = data(33, 3, 4)
    folds, w = random_folds(33, 5, seed=2, unscored=3), random_weights(33, "zeros")
    result = quiet_nested_cv(Ridge(1.0), X, y, folds=folds, sample_weight=w, route=route)
    predict = reference.refitter(X, y, 1.0, weights=w)
    for j in range(5):
        test, train = np.flatnonzero(folds[0] == j), np.flatnonzero(folds[0] != j)
        losses = w[test] / w[folds[0] >= 0].mean() * (y[test] - predict(train, test)) ** 2
        np.testing.assert_allclose(result.fold_errors.e_out[0, j], losses.mean(), rtol=STRICT)
        np.testing.assert_allclose(result.fold_errors.v_out[0, j], losses.var(ddof=1), rtol=STRICT)


@pytest.mark.sweep(2)
@every
@pytest.mark.parametrize("n_folds", [6, "n"])
def test_variance_of_the_covariance_rule_is_about_its_centre(n_folds, route):
    X, y = data(30, 2, 5)
    w = random_weights(30, "zeros", 3)
    folds = np.arange(30)[None] % (30 if n_folds == "n" else n_folds)
    result = quiet_nested_cv(Ridge(1.0), X, y, folds=folds, sample_weight=w, route=route)
    losses = reference.fold_losses(y, folds, reference.refitter(X, y, 1.0, weights=w), weights=w)
    z = w * (result.heldout["loss"].to_numpy() - result.estimate) / w.mean()
    floor = z.var(ddof=1) / 30
    factor = 1.0 if n_folds == "n" else (1 - 2 / n_folds) ** 2
    np.testing.assert_allclose(result.mse, floor + factor * reference.covariance_term(losses, 0), rtol=1e-8)
    np.testing.assert_allclose(result.inflation, np.sqrt(max(result.mse, floor) / floor), rtol=1e-8)


@pytest.mark.sweep(2)
@every
@pytest.mark.parametrize("rule", reference.RULES)
def test_every_rule_takes_plain_means_and_variances_of_weighted_losses(rule, route):
    X, y = data(33, 3, 6)
    w, folds = random_weights(33, "zeros"), random_folds(33, 5, 3)
    result = quiet_nested_cv(Ridge(1.0), X, y, folds=folds, sample_weight=w, route=route, interval=rule)
    losses = reference.fold_losses(y, folds, reference.refitter(X, y, 1.0, weights=w), weights=w)
    assert_row(result, rule, reference.RULES[rule](losses, 0.95), 10 * STRICT)


@every
def test_integer_weights_fit_as_repeated_rows_do(route):
    X, y = data(24, 3, 7)
    w = np.random.default_rng(7).integers(0, 4, 24)
    folds = random_folds(24, 4, seed=7)
    weighted = quiet_nested_cv(Ridge(0.8), X, y, folds=folds, sample_weight=w, route=route)
    kept, repeated = w > 0, np.repeat(np.arange(24), w)
    plain = quiet_nested_cv(Ridge(0.8), X[repeated], y[repeated], folds=folds[:, repeated], route=route)
    predictions = np.full(24, np.nan)
    predictions[repeated] = plain.heldout["prediction"]
    np.testing.assert_allclose(weighted.heldout["prediction"][kept], predictions[kept], rtol=STRICT)


@pytest.mark.sweep(4)
@every
@pytest.mark.parametrize("factor", [1e-5, 1e-2, 1e7])
@pytest.mark.parametrize("p", [4, 40])
def test_scaling_the_weights_and_the_penalty_together_changes_nothing(p, factor, route):
    X, y = data(30, p, 8)
    w, folds = random_weights(30, "zeros"), random_folds(30, 5, 2)
    one = quiet_nested_cv(Ridge(0.8), X, y, folds=folds, sample_weight=w, route=route)
    assert_same_results(
        quiet_nested_cv(Ridge(0.8 * factor), X, y, folds=folds, sample_weight=factor * w, route=route), one
    )


@pytest.mark.sweep(2)
@every
@pytest.mark.parametrize("n_folds", [5, "n"])
def test_equal_weights_change_nothing(n_folds, route):
    X, y = data(30, 3, 9)
    shared = {"n_folds": n_folds, "n_repeats": 2, "random_state": 0, "route": route}
    plain = quiet_nested_cv(LinearRegression(), X, y, **shared)
    assert_same_results(quiet_nested_cv(LinearRegression(), X, y, sample_weight=np.full(30, 7.0), **shared), plain)


@pytest.mark.parametrize("route", FAST_ROUTES)
def test_weights_are_the_same_for_every_output(route):
    X, Y = data(32, 3, 10, 2)
    w, folds = random_weights(32, "zeros"), random_folds(32, 5, 2)
    result = quiet_nested_cv(Ridge(np.array([0.5, 20.0])), X, Y, folds=folds, sample_weight=w, route=route)
    for q, lam in enumerate([0.5, 20.0]):
        predict = reference.refitter(X, Y[:, q], lam, weights=w)
        losses = reference.fold_losses(Y[:, q], folds, predict, weights=w)
        assert_fold_errors(result, losses, output=q)
        assert_row(result, "covariance", reference.covariance(losses, 0.95), 10 * STRICT, output=str(q))


@every
def test_row_of_no_weight_is_predicted_but_neither_fitted_nor_counted(route):
    X, y = data(30, 3, 11)
    folds, w = random_folds(30, 5), np.ones(30)
    w[4] = 0.0
    moved = y.copy()
    moved[4] += 100.0
    one, other = (quiet_nested_cv(Ridge(1.0), X, v, folds=folds, sample_weight=w, route=route) for v in (y, moved))
    np.testing.assert_allclose(other.fold_errors.e_in, one.fold_errors.e_in, rtol=STRICT)
    np.testing.assert_allclose(other.heldout["prediction"], one.heldout["prediction"], rtol=1e-8)
    assert other.heldout["loss"][4] > 1000


# ---------------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize("route", FAST_ROUTES)
@pytest.mark.parametrize("p", [8, 27])
@pytest.mark.parametrize(
    ("estimator", "constant"),
    [(Ridge(2e-4), 3.0), (Ridge(2e-4, fit_intercept=False), 0.0), (KernelRidge(alpha=2e-4), 0.0)],
    ids=["ridge", "ridge without intercept", "kernel"],
)
def test_row_of_no_weight_may_be_far_away_in_a_column_that_the_others_do_not_have(estimator, constant, p, route):
    """A penalty holds its coefficient at zero, so the predictions are those without the column, to the last digits."""
    X, y = data(30, p, 2)
    X *= np.logspace(-2, 3, p)
    w, folds = random_weights(30, "zeros"), random_folds(30, 5)
    far = np.where(w == 0, 1e6 * np.arange(30.0), constant)[:, None]
    found = quiet_nested_cv(estimator, np.hstack([X, far]), y, folds=folds, sample_weight=w, route=route)
    has_intercept = bool(constant)
    losses = reference.fold_losses(y, folds, reference.refitter(X, y, 2e-4, None, has_intercept, w), weights=w)
    expected = losses.prediction[0]
    assert relative_gap(found.heldout["prediction"], expected) <= 1e-9
    counted = w > 0
    assert relative_gap(found.heldout["prediction"][counted], expected[counted]) <= 1e-9


@pytest.mark.parametrize(
    "weights",
    [
        np.full(30, -1.0),
        np.full(30, np.nan),
        np.full(30, np.inf),
        np.zeros(30),
        np.ones(29),
        np.ones((30, 1)),
        "w" * 30,
    ],
    ids=["negative", "nan", "infinite", "all zero", "too short", "a column", "text"],
)
@every
def test_impossible_weights_are_refused(weights, route):
    X, y = data(30, 3, 0)
    with pytest.raises(onefit.errors.OneFitError, match="sample_weight"):
        quiet_nested_cv(Ridge(1.0), X, y, n_folds=5, sample_weight=weights, route=route)


def test_one_negative_weight_is_refused():
    X, y = data(30, 3, 0)
    w = np.ones(30)
    w[7] = -1e-9
    with pytest.raises(onefit.errors.OneFitError, match="sample_weight"):
        quiet_nested_cv(Ridge(1.0), X, y, n_folds=5, sample_weight=w)


def test_estimator_whose_fit_takes_no_weights_is_refused():
    X, y = data(30, 3, 0)
    for estimator in (KNeighborsRegressor(3), make_pipeline(StandardScaler(), KNeighborsRegressor(3))):
        with pytest.raises(onefit.errors.OneFitError, match=r"KNeighborsRegressor.*sample_weight"):
            quiet_nested_cv(estimator, X, y, n_folds=5, n_repeats=1, sample_weight=np.ones(30))


@pytest.mark.parametrize("route", [*FAST_ROUTES, "auto"])
@pytest.mark.parametrize("n_folds", [5, "n"])
def test_too_few_rows_of_positive_weight_for_the_columns_raise(n_folds, route):
    X, y = data(30, 6, 0)
    w = np.zeros(30)
    w[:8] = 1.0
    with pytest.raises(onefit.errors.OneFitError, match='route="refit"'):
        quiet_nested_cv(LinearRegression(), X, y, n_folds=n_folds, n_repeats=1, sample_weight=w, route=route)


def test_a_kernel_of_zeros_with_rows_of_no_weight_predicts_nothing():
    """Its features have no columns; a ValueError of NumPy came out (fuzz case 560005194)."""
    y, weights = np.arange(1.0, 17.0), np.where(np.arange(16) % 5, 1.0, 0.0)
    model = KernelRidge(1.0, kernel="precomputed")
    result = quiet_nested_cv(
        model, np.zeros((16, 16)), y, sample_weight=weights, n_folds=4, random_state=0, route="gram"
    )
    assert (result.heldout["prediction"] == 0).all()
    assert result.cv_estimate == pytest.approx(np.average(y**2, weights=weights))
