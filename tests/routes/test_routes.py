"""Fast routes equal real refits, through the public API."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
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
    assert_fold_errors,
    assert_same_results,
    badly_scaled,
    data,
    least_squares,
    quiet_nested_cv,
    random_folds,
    relative_gap,
    tolerance,
)
from onefit.linalg import compiled

fast = pytest.mark.parametrize("route", FAST_ROUTES)
every = pytest.mark.parametrize("route", ROUTES)
losses_of = st.sampled_from(sorted(reference.LOSSES))
seeds = st.integers(0, 2**32 - 1)


def second_differences(p):
    """R with R'R the penalty whose null space holds the constants and the straight lines."""
    return np.diff(np.eye(p), n=2, axis=0)


def assert_equals_refits(
    estimator,
    X,
    y,
    folds,
    lam,
    root=None,
    fit_intercept=True,
    loss="squared_error",
    routes=FAST_ROUTES,
    rtol=None,
):
    """Each route's fold errors equal those of stacked QR refits; rtol None: the tolerance by conditioning."""
    losses = reference.fold_losses(y, folds, reference.refitter(X, y, lam, root, fit_intercept), loss)
    rtol = tolerance(X, folds, lam, root, fit_intercept) if rtol is None else rtol
    for route in routes:
        assert_fold_errors(quiet_nested_cv(estimator, X, y, folds=folds, loss=loss, route=route), losses, rtol)


@st.composite
def layouts(draw, max_n=40, max_folds=8):
    """n, folds (even or not, perhaps with rows never scored) and a seed."""
    n, seed = draw(st.integers(12, max_n)), draw(seeds)
    unscored = draw(st.sampled_from([0, 0, 0, 1, 3]))
    n_folds = draw(st.integers(3, min(max_folds, (n - unscored) // 2)))
    return n, random_folds(n, n_folds, draw(st.integers(1, 2)), seed, unscored), seed


# ------------------------------------------------------------------------------- against real refits


@given(layouts(), st.floats(0, 1.5), st.floats(-8, 8), st.booleans(), losses_of)
def test_ridge_equals_refits_at_every_shape_and_penalty(layout, columns_per_row, log_lam, fit_intercept, loss):
    n, folds, seed = layout
    X, y = data(n, max(1, round(columns_per_row * n)), seed)
    lam = 10**log_lam
    estimator = Ridge(lam, fit_intercept=fit_intercept)
    assert_equals_refits(estimator, X, y, folds, lam, fit_intercept=fit_intercept, loss=loss)


@given(layouts(max_n=60, max_folds=30), st.integers(1, 8), st.floats(-8, 8), losses_of)
def test_many_folds_equal_refits(layout, p, log_lam, loss):
    n, folds, seed = layout
    X, y = data(n, p, seed)
    assert_equals_refits(Ridge(10**log_lam), X, y, folds, 10**log_lam, loss=loss)


@given(layouts(max_folds=6), st.integers(1, 3), st.integers(1, 20), st.floats(-2, 3), st.booleans())
def test_several_outputs_equal_one_refit_each(layout, n_outputs, p, log_lam, one_alpha):
    n, folds, seed = layout
    X, Y = data(n, p, seed, n_outputs)
    alpha = 10**log_lam * np.geomspace(1, 10, n_outputs)
    lams = np.full(n_outputs, alpha[0]) if one_alpha else alpha
    estimator = Ridge(alpha[0] if one_alpha else alpha)
    results = [quiet_nested_cv(estimator, X, Y, folds=folds, route=route) for route in FAST_ROUTES]
    for k, lam in enumerate(lams):
        losses = reference.fold_losses(Y[:, k], folds, reference.refitter(X, Y[:, k], lam))
        for result in results:
            assert_fold_errors(result, losses, tolerance(X, folds, lam), output=k)


@given(layouts(), st.integers(1, 10), st.floats(-3, 3), st.booleans())
def test_duplicate_rows_and_columns_equal_refits(layout, p, log_lam, fit_intercept):
    n, folds, seed = layout
    X, y = data(n, p, seed)
    X = np.hstack([X, X[:, : p // 2 + 1]])
    X[: n // 3], y[: n // 3] = X[n // 3 : 2 * (n // 3)], y[n // 3 : 2 * (n // 3)]
    estimator = Ridge(10**log_lam, fit_intercept=fit_intercept)
    assert_equals_refits(estimator, X, y, folds, 10**log_lam, fit_intercept=fit_intercept)


@given(layouts(), st.integers(2, 30), st.floats(-4, 4))
def test_badly_scaled_columns_equal_refits(layout, p, log_lam):
    n, folds, seed = layout
    X, y = data(n, p, seed)
    assert_equals_refits(Ridge(10**log_lam), badly_scaled(X, seed), y, folds, 10**log_lam)


@given(layouts(), st.integers(3, 25), st.floats(-6, 8), st.booleans())
def test_penalty_with_a_null_space_equals_refits(layout, p, log_lam, fit_intercept):
    n, folds, seed = layout
    X, y = data(n, p, seed)
    root, lam = second_differences(p), 10**log_lam
    estimator = onefit.PenalizedRegression(root.T @ root, lam, fit_intercept)
    assert_equals_refits(estimator, X, y, folds, lam, root, fit_intercept)


@given(layouts(), st.integers(1, 12), st.floats(-4, 6))
def test_dense_positive_definite_penalty_equals_refits(layout, p, log_lam):
    n, folds, seed = layout
    X, y = data(n, p, seed)
    root = np.triu(np.random.default_rng(seed).uniform(0.1, 0.3, (p, p))) + np.eye(p)
    lam = 10**log_lam
    assert_equals_refits(onefit.PenalizedRegression(root.T @ root, lam), X, y, folds, lam, root)


@given(layouts(max_folds=6), st.booleans(), losses_of)
def test_least_squares_equals_refits_when_well_posed(layout, fit_intercept, loss):
    n, folds, seed = layout
    X, y = data(n, 2, seed)
    estimator = LinearRegression(fit_intercept=fit_intercept)
    assert_equals_refits(estimator, X, y, folds, 0.0, None, fit_intercept, loss, routes=ROUTES)


KERNELS = {
    "rbf": {"kernel": "rbf", "gamma": 0.2},
    "linear": {"kernel": "linear"},
    "polynomial": {"kernel": "polynomial", "degree": 2, "coef0": 1.0, "gamma": 0.3},
    "precomputed": {"kernel": "precomputed"},
}


@pytest.mark.parametrize("kernel", KERNELS)
@given(layouts(max_folds=6), st.integers(1, 4), st.floats(-2, 2), losses_of)
def test_kernel_ridge_one_step_equals_its_own_refits(kernel, layout, p, log_alpha, loss):
    n, folds, seed = layout
    X, y = data(n, p, seed)
    if kernel == "precomputed":
        X = np.exp(-0.3 * ((X[:, None] - X) ** 2).sum(axis=2))
    estimator = KernelRidge(alpha=10**log_alpha, **KERNELS[kernel])
    result = quiet_nested_cv(estimator, X, y, folds=folds, loss=loss, route="onestep")
    losses = reference.fold_losses(y, folds, reference.estimator_refitter(estimator, X, y), loss)
    assert_fold_errors(result, losses)


def test_kernel_ridge_with_several_outputs_and_alphas_equals_its_own_refits():
    X, Y = data(30, 3, 0, 2)
    folds = random_folds(30, 4, 2)
    for alpha in (0.5, np.array([0.1, 5.0])):
        estimator = KernelRidge(alpha=alpha, kernel="rbf", gamma=0.1)
        result = quiet_nested_cv(estimator, X, Y, folds=folds, route="onestep")
        for k in range(2):
            refit = reference.estimator_refitter(estimator, X, Y)
            losses = reference.fold_losses(Y[:, k], folds, lambda a, b, refit=refit, k=k: refit(a, b)[:, k])
            assert_fold_errors(result, losses, output=k)


def test_precomputed_kernel_is_cut_on_both_axes_by_refitting():
    X, y = data(24, 3, 1)
    gram, folds = X @ X.T, random_folds(24, 4)
    estimator = KernelRidge(alpha=1.0, kernel="precomputed")
    result = quiet_nested_cv(estimator, gram, y, folds=folds, route="refit")
    assert_fold_errors(result, reference.fold_losses(y, folds, reference.estimator_refitter(estimator, gram, y)))


@pytest.mark.parametrize(
    "estimator", [KNeighborsRegressor(3, metric="nan_euclidean"), Ridge(1.0, positive=True)], ids=["knn", "positive"]
)
def test_other_learners_go_by_refitting(estimator):
    X, y = data(30, 3, 2)
    folds = random_folds(30, 5)
    result = quiet_nested_cv(estimator, X, y, folds=folds)
    assert result.route == "refit"
    assert_fold_errors(result, reference.fold_losses(y, folds, reference.estimator_refitter(estimator, X, y)))


def test_other_learners_are_refused_by_the_fast_routes():
    X, y = data(30, 3, 2)
    for route in FAST_ROUTES:
        with pytest.raises(onefit.errors.RouteError, match=r'[^.]\. Leave the choice to route="auto", or use'):
            quiet_nested_cv(KNeighborsRegressor(3, metric="nan_euclidean"), X, y, n_folds=5, n_repeats=1, route=route)


# ------------------------------------------------------------------------------ strict, without a draw


@pytest.mark.sweep(5)
@fast
@pytest.mark.parametrize("lam", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize(("n", "p", "n_folds"), [(50, 5, 5), (47, 5, 7), (40, 10, 20), (60, 20, 10)])
def test_well_posed_ridge_equals_refits_strictly(route, n, p, n_folds, lam):
    X, y = data(n, p, n + p)
    folds = random_folds(n, n_folds, seed=p)
    assert_equals_refits(Ridge(lam), X, y, folds, lam, routes=[route], rtol=STRICT)


@pytest.mark.sweep(5)
@fast
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("lam", [1e-12, 1e-10, 1e-8, 1e-4, 1.0, 1e4, 1e8])
@pytest.mark.parametrize(("n", "p"), [(24, 24), (24, 40), (30, 31)])
def test_more_columns_than_rows_equals_refits_strictly_down_to_1e_12(route, n, p, lam, fit_intercept):
    X, y = data(n, p, p)
    folds, estimator = random_folds(n, 4, seed=n), Ridge(lam, fit_intercept=fit_intercept)
    assert_equals_refits(estimator, X, y, folds, lam, None, fit_intercept, routes=[route], rtol=STRICT)


@pytest.mark.sweep(3)
@fast
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("lam", [1e-10, 1e-9, 1e-8])
@pytest.mark.parametrize("p", [17, 20, 23, 26, 29])
def test_between_the_smallest_training_set_and_n_columns_equals_refits(route, p, lam, fit_intercept):
    """n - 2m < p < n at a tiny penalty: A_JJ is nearly singular for pairs, or for single folds too."""
    X, y = data(30, p, p)
    folds, estimator = random_folds(30, 5, seed=p), Ridge(lam, fit_intercept=fit_intercept)
    assert_equals_refits(estimator, X, y, folds, lam, None, fit_intercept, routes=[route])


@fast
@pytest.mark.parametrize("unscored", [0, 2])
def test_nearly_lost_columns_with_uneven_folds_and_outputs_equal_refits(route, unscored):
    X, Y = data(31, 24, 2, 2)
    folds = random_folds(31, 5, 2, seed=3, unscored=unscored)
    for lam in (1e-9, 1e-6):
        result = quiet_nested_cv(Ridge(lam), X, Y, folds=folds, route=route)
        for k in range(2):
            losses = reference.fold_losses(Y[:, k], folds, reference.refitter(X, Y[:, k], lam))
            assert_fold_errors(result, losses, tolerance(X, folds, lam), output=k)


@fast
@pytest.mark.parametrize("p", [22, 27, 30, 34])
def test_nearly_lost_columns_under_a_penalty_with_a_null_space_equal_refits(route, p):
    X, y = data(30, p, p)
    root, folds = second_differences(p), random_folds(30, 5, seed=p)
    estimator = onefit.PenalizedRegression(root.T @ root, 1e-8)
    assert_equals_refits(estimator, X, y, folds, 1e-8, root, routes=[route])


@every
def test_folds_of_one_row_equal_refits(route):
    X, y = data(14, 3, 14)
    folds = random_folds(14, 14)
    assert_equals_refits(Ridge(0.5), X, y, folds, 0.5, routes=[route], rtol=STRICT)


@fast
@pytest.mark.parametrize(
    ("n", "p", "n_folds", "lam", "seed"),
    [(12, 12, 3, 1e-4, 1), (21, 22, 6, 1.1e-4, 51), (17, 14, 6, 3.4e-4, 148), (25, 19, 4, 4.7e-4, 131)],
)
def test_badly_scaled_columns_near_interpolation_equal_refits(route, n, p, n_folds, lam, seed):
    """More columns than training rows: squaring the condition number in the dual costs up to eight digits."""
    X, y = data(n, p, seed)
    assert_equals_refits(Ridge(lam), badly_scaled(X, seed), y, random_folds(n, n_folds, 1, seed), lam, routes=[route])


@fast
def test_ill_conditioned_least_squares_is_as_exact_as_a_qr(route):
    """Columns of condition 3e7: normal equations would lose the mse to 7e-8."""
    rng = np.random.default_rng(8)
    X = rng.standard_normal((60, 5))
    X[:, 4] = X[:, 3] + 1e-7 * X[:, 4]
    y = X[:, 0] + rng.standard_normal(60)
    folds = random_folds(60, 5, 2)
    result = quiet_nested_cv(least_squares(tol=1e-12), X, y, folds=folds, route=route)
    losses = reference.fold_losses(y, folds, reference.refitter(X, y, 0.0))
    assert_fold_errors(result, losses)
    # a QR moves the fit by about its condition times the last bit, and so does another QR
    assert relative_gap(result.fold_errors.mse, losses.mse) <= np.finfo(float).eps * np.linalg.cond(X)


@fast
def test_large_mean_of_y_and_x_costs_no_accuracy(route):
    X, y = data(40, 3, 9)
    folds = random_folds(40, 5)
    assert_equals_refits(Ridge(1.0), X + 1e4, y + 1e4, folds, 1.0, routes=[route], rtol=STRICT)


@fast
def test_heaviest_penalty_predicts_the_training_mean(route):
    X, y = data(30, 4, 3)
    folds = random_folds(30, 5)
    result = quiet_nested_cv(Ridge(1e14), X, y, folds=folds, route=route)
    losses = reference.fold_losses(y, folds, lambda train, test: np.full(len(test), y[train].mean()))
    assert_fold_errors(result, losses)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize(
    ("n", "p", "n_folds", "unscored"), [(40, 6, 5, 0), (41, 6, 5, 0), (38, 30, 6, 2), (24, 36, 4, 0)]
)
def test_routes_agree_on_fold_errors_intervals_and_heldout_rows(n, p, n_folds, unscored, fit_intercept):
    X, y = data(n, p, n)
    folds = random_folds(n, n_folds, 3, seed=1, unscored=unscored)
    results = [
        quiet_nested_cv(Ridge(0.7, fit_intercept=fit_intercept), X, y, folds=folds, route=route) for route in ROUTES
    ]
    for route, result in zip(ROUTES, results, strict=True):
        assert result.route == route
        assert result.exactness == "exact"
        assert_same_results(result, results[-1])


@every
def test_penalized_regression_without_penalty_is_least_squares(route):
    X, y = data(40, 4, 6)
    folds = random_folds(40, 5, 2)
    one = quiet_nested_cv(onefit.PenalizedRegression(lam=0.0), X, y, folds=folds, route=route)
    assert_same_results(one, quiet_nested_cv(LinearRegression(), X, y, folds=folds, route=route))


# ---------------------------------------------------------------------------------------- transformers


def test_scaler_is_fitted_anew_in_every_training_set_by_default():
    X, y = data(30, 3, 4)
    folds, pipeline = random_folds(30, 5), make_pipeline(StandardScaler(), Ridge(3.0))
    result = quiet_nested_cv(pipeline, X, y, folds=folds)
    assert result.exactness == "exact"
    assert_fold_errors(result, reference.fold_losses(y, folds, reference.estimator_refitter(pipeline, X, y)))


def test_frozen_scaler_equals_the_model_on_columns_scaled_once_and_says_so():
    X, y = data(30, 3, 4)
    folds, pipeline = random_folds(30, 5), make_pipeline(StandardScaler(), Ridge(3.0))
    result = quiet_nested_cv(pipeline, X, y, folds=folds, transformers="freeze")
    assert result.route in FAST_ROUTES
    assert result.exactness == "given the transformers"
    scaled = StandardScaler().fit_transform(X)
    assert_fold_errors(result, reference.fold_losses(y, folds, reference.refitter(scaled, y, 3.0)))


# ----------------------------------------------------------------- training sets that cannot be fitted


def lonely_dummy(unscored):
    """A column that is zero outside fold 2 of the second of three repeats, and nowhere else alone."""
    rng = np.random.default_rng(12)
    folds = random_folds(30, 5, 3, seed=5, unscored=unscored)
    X = rng.standard_normal((30, 3))
    X[:, 2] = folds[1] == 2
    return X, rng.standard_normal(30), folds


@pytest.mark.parametrize("unscored", [0, 4])
@pytest.mark.parametrize("route", [*FAST_ROUTES, "auto"])
def test_column_that_lives_in_one_fold_raises_and_names_the_folds(route, unscored):
    X, y, folds = lonely_dummy(unscored)
    with pytest.raises(onefit.errors.OneFitError, match=r'repeat 1\b.*folds? .*\b2\b.*route="refit"'):
        quiet_nested_cv(LinearRegression(), X, y, folds=folds, route=route)


@pytest.mark.parametrize("unscored", [0, 4])
def test_column_that_lives_in_one_fold_gets_scikit_learns_answer_by_refitting(unscored):
    X, y, folds = lonely_dummy(unscored)
    result = quiet_nested_cv(LinearRegression(), X, y, folds=folds, route="refit")
    predict = reference.estimator_refitter(LinearRegression(), X, y)
    assert_fold_errors(result, reference.fold_losses(y, folds, predict))


@fast
def test_column_that_lives_in_one_fold_is_fitted_with_any_penalty(route):
    X, y, folds = lonely_dummy(0)
    assert_equals_refits(Ridge(1e-3), X, y, folds, 1e-3, routes=[route])


@pytest.mark.parametrize("unscored", [0, 3])
@pytest.mark.parametrize("route", [*FAST_ROUTES, "auto"])
@pytest.mark.parametrize("p", [19, 25, 40])
def test_least_squares_with_more_columns_than_training_rows_raises(route, p, unscored):
    X, y = data(30, p, 7)
    folds = random_folds(30, 5, unscored=unscored)  # pairs leave 18 rows, or 19 when three are never scored
    with pytest.raises(onefit.errors.OneFitError, match='route="refit"'):
        quiet_nested_cv(LinearRegression(), X, y, folds=folds, route=route)


def test_least_squares_with_more_columns_than_training_rows_works_by_refitting():
    X, y = data(30, 25, 7)
    folds = random_folds(30, 5)
    result = quiet_nested_cv(LinearRegression(), X, y, folds=folds, route="refit")
    predict = reference.estimator_refitter(LinearRegression(), X, y)
    assert_fold_errors(result, reference.fold_losses(y, folds, predict), 1e-7)


@fast
def test_null_space_of_the_penalty_that_a_training_set_cannot_fit_raises(route):
    """Second differences leave straight lines free; here X kills one of them in all rows but fold 1's."""
    rng = np.random.default_rng(3)
    folds = random_folds(30, 5)
    X = rng.standard_normal((30, 4))
    X[:, 3] = np.where(folds[0] == 1, X[:, 3], -(X[:, :3] @ [0.0, 1.0, 2.0]) / 3)  # X (0,1,2,3)' = 0 off fold 1
    root = second_differences(4)
    estimator = onefit.PenalizedRegression(root.T @ root, 1.0, fit_intercept=False)
    with pytest.raises(onefit.errors.OneFitError, match='route="refit"'):
        quiet_nested_cv(estimator, X, rng.standard_normal(30), folds=folds, route=route)


@pytest.mark.parametrize("compiled_kernel", [True, False])
@pytest.mark.parametrize("route", ["gram", "onestep"])
def test_a_kernel_that_is_zero_everywhere_predicts_zero(route, compiled_kernel):
    y = np.random.default_rng(0).normal(size=20)
    folds = np.arange(20)[None] % 4
    with compiled.switched(compiled_kernel and compiled.is_there()):
        result = onefit.nested_cv(KernelRidge(), np.zeros((20, 2)), y, folds=folds, route=route)
    np.testing.assert_allclose(result.cv_estimate, np.mean(y**2), rtol=1e-14)
    np.testing.assert_array_equal(result.heldout["prediction"], 0.0)
