"""n_folds="n": every pair of rows, or of groups, left out, against brute-force refits of all pairs."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.svm import SVR
from sklearn.tree import DecisionTreeRegressor

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
    random_groups,
    random_weights,
    relative_gap,
    tolerance,
)
from onefit.losses import nonnegative

every = pytest.mark.parametrize("route", ROUTES)
V_OUT_RULES = ["bates", "paper", "mlr3"]


def one_row_each(n):
    return np.arange(n)[None]


def asymmetric(y, prediction):
    """A loss that is not a function of the residual alone, and may be negative."""
    return (y - prediction) ** 2 - 0.1 * y


LOSSES = [*reference.LOSSES, asymmetric, nonnegative(lambda y, prediction: abs(y - prediction) ** 1.5)]


# --------------------------------------------------------------------- against brute force of all pairs


@pytest.mark.sweep(4)
@pytest.mark.parametrize("weights", ["none", "positive", "zeros"])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize(("n", "p", "lam"), [(16, 4, 0.5), (14, 3, 0.0), (12, 12, 0.3), (11, 17, 2.0)])
def test_ridge_equals_refits_of_all_pairs(n, p, lam, fit_intercept, weights):
    X, y = data(n, p, n + p)
    w, folds = random_weights(n, weights, seed=p), one_row_each(n)
    estimator = Ridge(lam, fit_intercept=fit_intercept) if lam else LinearRegression(fit_intercept=fit_intercept)
    losses = reference.fold_losses(y, folds, reference.refitter(X, y, lam, None, fit_intercept, w), weights=w)
    rtol = tolerance(X, folds, lam, None, fit_intercept, w)
    for route in ROUTES:
        result = quiet_nested_cv(estimator, X, y, n_folds="n", sample_weight=w, route=route)
        assert result.route == route
        assert_equals_reference(result, losses, rtol)


@pytest.mark.parametrize("weights", ["none", "zeros"])
@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: getattr(loss, "__name__", loss))
def test_every_loss_equals_refits_of_all_pairs(loss, weights):
    X, y = data(15, 3, 5)
    w = random_weights(15, weights)
    losses = reference.fold_losses(y, one_row_each(15), reference.refitter(X, y, 0.4, weights=w), loss, w)
    for route in ROUTES:
        result = quiet_nested_cv(Ridge(0.4), X, y, n_folds="n", loss=loss, sample_weight=w, route=route)
        assert_equals_reference(result, losses)


@pytest.mark.sweep(2)
@pytest.mark.parametrize("weights", ["none", "positive", "zeros"])
@pytest.mark.parametrize("kernel", [{"kernel": "rbf", "gamma": 0.2}, {"kernel": "polynomial", "degree": 2}])
def test_kernel_ridge_equals_its_own_refits_of_all_pairs(kernel, weights):
    X, y = data(15, 2, 6)
    w, estimator = random_weights(15, weights), KernelRidge(alpha=0.3, **kernel)
    losses = reference.fold_losses(y, one_row_each(15), reference.estimator_refitter(estimator, X, y, w), weights=w)
    for route in ("onestep", "refit"):
        result = quiet_nested_cv(estimator, X, y, n_folds="n", sample_weight=w, route=route)
        assert_equals_reference(result, losses)


@pytest.mark.parametrize("alpha", [1.5, np.array([0.2, 5.0])], ids=["one alpha", "one an output"])
@pytest.mark.parametrize("p", [3, 15])
def test_several_outputs_equal_refits_of_all_pairs(p, alpha):
    X, Y = data(13, p, 7, 2)
    results = [quiet_nested_cv(Ridge(alpha), X, Y, n_folds="n", route=route) for route in ROUTES]
    for q, lam in enumerate(np.broadcast_to(alpha, 2)):
        losses = reference.fold_losses(Y[:, q], one_row_each(13), reference.refitter(X, Y[:, q], lam))
        for result in results:
            assert result.fold_errors.e_in.shape == (1, 13, 2)
            assert_fold_errors(result, losses, output=q)
            assert_row(result, "covariance", reference.covariance(losses, 0.95), 10 * STRICT, output=str(q))


@every
@pytest.mark.parametrize("weights", ["none", "zeros"])
@pytest.mark.parametrize("p", [2, 20])
def test_leaving_two_groups_out_equals_refits(p, weights, route):
    X, y = data(18, p, 8)
    names = np.array(["f", "b", "a", "d", "e", "c", "aa"])
    ids = random_groups(18, 7)
    groups, w = names[ids], random_weights(18, weights)
    result = quiet_nested_cv(Ridge(0.7), X, y, n_folds="n", groups=groups, sample_weight=w, route=route)
    folds = np.searchsorted(np.sort(names), groups)[None]  # sorted order of the groups
    losses = reference.fold_losses(y, folds, reference.refitter(X, y, 0.7, weights=w), weights=w, groups=groups)
    assert (result.n_folds, result.n_repeats, result.monte_carlo_error) == (7, 1, 0.0)
    assert_equals_reference(result, losses)


@pytest.mark.parametrize("estimator", [SVR(), DecisionTreeRegressor(max_depth=2, random_state=0)])
def test_any_learner_leaves_two_out_by_refitting(estimator):
    X, y = data(14, 2, 9)
    result = quiet_nested_cv(estimator, X, y, n_folds="n")
    assert result.route == "refit"
    losses = reference.fold_losses(y, one_row_each(14), reference.estimator_refitter(estimator, X, y))
    assert_equals_reference(result, losses)


# ------------------------------------------------------------------------------ shape of the result


@every
def test_fold_errors_are_in_row_order_and_rules_that_need_the_variance_within_folds_do_not_apply(route):
    X, y = data(14, 3, 1)
    result = quiet_nested_cv(Ridge(1.0), X, y, n_folds="n", n_repeats=7, route=route, random_state=0)
    assert (result.n_folds, result.n_repeats, result.monte_carlo_error) == (14, 1, 0.0)
    errors = result.fold_errors
    assert errors.e_in.shape == errors.e_out.shape == errors.v_out.shape == (1, 14)
    assert errors.mse.shape == (1,)
    assert np.isnan(errors.v_out).all()
    assert np.isnan(errors.mse).all()
    predict = reference.estimator_refitter(Ridge(1.0), X, y)
    own = [(y[i] - predict(np.delete(np.arange(14), i), [i])[0]) ** 2 for i in range(14)]
    np.testing.assert_allclose(errors.e_out[0], own, rtol=STRICT)
    np.testing.assert_allclose(result.heldout["loss"], own, rtol=STRICT)
    for rule in result.intervals.index:
        missing = rule in V_OUT_RULES
        assert result.intervals.loc[rule].isna().all() == missing
        assert bool(result.intervals.attrs["reasons"].get(rule)) == missing


@every
@pytest.mark.parametrize("rule", V_OUT_RULES)
def test_rule_that_needs_the_variance_within_folds_is_an_error_by_name(rule, route):
    X, y = data(14, 3, 1)
    with pytest.raises(onefit.errors.OneFitError, match=f"{rule}.*variance within"):
        quiet_nested_cv(Ridge(1.0), X, y, n_folds="n", interval=rule, route=route)


@every
@pytest.mark.parametrize("rule", ["naive", "corrected_t"])
def test_other_rules_apply(rule, route):
    X, y = data(14, 3, 1)
    losses = reference.fold_losses(y, one_row_each(14), reference.refitter(X, y, 1.0))
    result = quiet_nested_cv(Ridge(1.0), X, y, n_folds="n", interval=rule, route=route)
    assert_row(result, rule, reference.RULES[rule](losses, 0.95))


def test_no_random_number_enters():
    X, y = data(40, 3, 2)
    results = [quiet_nested_cv(Ridge(1.0), X, y, n_folds="n", random_state=s) for s in (0, 1)]
    assert results[0].interval == results[1].interval


def test_automatic_number_of_folds():
    X, y = data(60, 3, 3)
    groups = random_groups(60, 12)

    def n_folds(estimator=None, X=X, y=y, **kwargs):
        estimator = Ridge(1.0) if estimator is None else estimator
        return quiet_nested_cv(estimator, X, y, **kwargs).n_folds

    assert n_folds() == n_folds(LinearRegression()) == n_folds(KernelRidge(kernel="rbf")) == 60
    assert n_folds(groups=groups) == 12
    assert n_folds(SVR()) == n_folds(route="refit") == n_folds(route="gram") == 10
    assert [n_folds(interval=rule, n_repeats=2) for rule in V_OUT_RULES] == [10, 10, 10]
    assert n_folds(SVR(), X[:8], y[:8]) == 8


@pytest.mark.parametrize(("n", "expected"), [(5000, 5000), (5001, 10)])
def test_automatic_leave_two_out_ends_at_five_thousand_rows(n, expected):
    X, y = data(n, 2, 4)
    assert quiet_nested_cv(LinearRegression(), X, y, random_state=0).n_folds == expected


# --------------------------------------------------------------------------------- tiles and memory


@pytest.mark.parametrize("weights", ["none", "zeros"])
@pytest.mark.parametrize(("n", "p"), [(255, 3), (256, 3), (257, 3), (515, 2), (257, 300)])
def test_tiles_equal_the_generic_routes(n, p, weights):
    X, y = data(n, p, n)
    w = random_weights(n, weights)
    shared = {"sample_weight": w, "loss": "absolute_error"}
    tiled = quiet_nested_cv(Ridge(1.0), X, y, n_folds="n", **shared)
    for route in FAST_ROUTES[p > n :]:  # 300 columns make 33,000 systems of 257 x 257 on the gram route
        assert_same_results(tiled, quiet_nested_cv(Ridge(1.0), X, y, folds=one_row_each(n), route=route, **shared))


@pytest.mark.slow
def test_memory_stays_below_a_gigabyte_at_twenty_thousand_rows():
    X, y = data(20_000, 10, 5)
    tracemalloc.start()
    result = quiet_nested_cv(Ridge(1.0), X, y, n_folds="n")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2**30
    assert result.n_folds == 20_000
    np.testing.assert_allclose(result.estimate, 1 + 11 / 20_000, rtol=0.05)


def test_kernel_models_say_before_they_start_that_they_hold_a_large_matrix(monkeypatch):
    monkeypatch.setattr("onefit.routes.leavetwo.LARGE_BYTES", 8 * 30**2 - 1)
    X, y = data(30, 2, 6)
    with pytest.warns(onefit.errors.OneFitWarning, match="30 x 30"):
        onefit.nested_cv(KernelRidge(kernel="rbf"), X, y, n_folds="n", loss="absolute_error")


# --------------------------------------------------------------------- training sets that lose a column


def contrast(n=20, first=3, second=11):
    """A column of zeros but for +1 and -1 in two rows: lost without both, and nowhere else."""
    X, y = data(n, 3, 12)
    X[:, 2] = 0
    X[first, 2], X[second, 2] = 1.0, -1.0
    return X, y


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("route", [*FAST_ROUTES, "auto"])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_column_that_a_pair_of_rows_takes_away_raises_with_the_rows_named(fit_intercept, route, scale):
    X, y = contrast()
    X[:, 2] *= scale
    with pytest.raises(onefit.errors.TrainingSetError, match=r'\b3 and 11\b.*route="refit"'):
        quiet_nested_cv(LinearRegression(fit_intercept=fit_intercept), X, y, n_folds="n", route=route)


@pytest.mark.parametrize("route", [*FAST_ROUTES, "auto"])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_column_that_a_pair_of_folds_takes_away_raises_with_the_folds_named(fit_intercept, route):
    X, y = contrast()
    folds = np.arange(20)[None] % 7  # rows 3 and 11 are in folds 3 and 4
    with pytest.raises(onefit.errors.TrainingSetError, match=r'\b3 and 4\b.*route="refit"'):
        quiet_nested_cv(LinearRegression(fit_intercept=fit_intercept), X, y, folds=folds, route=route)


@pytest.mark.parametrize("route", FAST_ROUTES)
@pytest.mark.parametrize("n_folds", ["n", 7])
def test_column_that_rows_of_weight_zero_seem_to_keep_raises(n_folds, route):
    """Three rows carry the column; one has no weight, so without the other two it is lost."""
    X, y = contrast()
    X[15, 2] = 1.0
    w = np.ones(20)
    w[15] = 0.0
    folds = {"n_folds": "n"} if n_folds == "n" else {"folds": np.arange(20)[None] % 7}
    with pytest.raises(onefit.errors.TrainingSetError, match='route="refit"'):
        quiet_nested_cv(LinearRegression(), X, y, sample_weight=w, route=route, **folds)


@pytest.mark.parametrize("route", FAST_ROUTES)
@pytest.mark.parametrize("lam", [1e-8, 1e-3])
def test_column_that_a_pair_of_rows_takes_away_is_fitted_with_a_penalty(lam, route):
    X, y = contrast()
    folds = one_row_each(20)
    result = quiet_nested_cv(Ridge(lam), X, y, n_folds="n", route=route)
    losses = reference.fold_losses(y, folds, reference.refitter(X, y, lam))
    assert_equals_reference(result, losses, tolerance(X, folds, lam))


def test_too_few_rows_for_the_columns_raise_before_anything_is_computed():
    X, y = data(14, 12, 3)
    with pytest.raises(onefit.errors.TrainingSetError, match="12 rows for 13"):
        quiet_nested_cv(LinearRegression(), X, y, n_folds="n")


def test_nearly_interpolating_pairs_equal_refits():
    """n - 2 < p < n at a tiny penalty: the 2 x 2 systems cannot be trusted."""
    for p in (12, 13, 14):
        X, y = data(14, p, p)
        folds = one_row_each(14)
        losses = reference.fold_losses(y, folds, reference.refitter(X, y, 1e-9))
        for route in FAST_ROUTES:
            result = quiet_nested_cv(Ridge(1e-9), X, y, n_folds="n", route=route)
            assert_fold_errors(result, losses, tolerance(X, folds, 1e-9))
        assert relative_gap(result.heldout["loss"], losses.plain[0]) <= tolerance(X, folds, 1e-9)
