"""Columns scaled anew in every training set, without refits."""

from __future__ import annotations

import numpy as np
import pytest
from flint import fmpq, fmpq_mat
from hypothesis import example, given
from hypothesis import strategies as st
from sklearn.linear_model import LinearRegression, Ridge, RidgeClassifier, RidgeClassifierCV, RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, SplineTransformer, StandardScaler

import onefit
import reference
from helpers import (
    FOLD_ERRORS,
    assert_fold_errors,
    badly_scaled,
    data,
    quiet_nested_cv,
    quietly,
    random_folds,
    random_groups,
    relative_gap,
    tolerance,
)
from onefit import PenalizedRegression
from onefit.learners.scaled import ScaledLearner
from onefit.linalg import standardized
from onefit.linalg.standardized import FEW_VALUES
from onefit.vocabulary import CRITERIA

ALPHAS = np.logspace(-2, 3, 12)


def scaled(last, *before):
    return make_pipeline(*before, StandardScaler(), last)


def assert_equals_refits(estimator, X, y, rtol=1e-9, route="gram", **keywords):
    """Fast route and real refits agree in all fold errors; returns the fast result."""
    keywords = {"n_folds": 5, "n_repeats": 2, "random_state": 0, **keywords}
    fast = quiet_nested_cv(estimator, X, y, **keywords)
    slow = quiet_nested_cv(estimator, X, y, **keywords, route="refit")
    assert (fast.route, fast.exactness, slow.route) == (route, "exact", "refit")
    for name in FOLD_ERRORS:
        gap = relative_gap(getattr(fast.fold_errors, name), getattr(slow.fold_errors, name))
        assert gap <= rtol, f"{name}: {gap:.2e}"
    return fast


def assert_equals_reference_refits(alpha, X, y, folds, loss):
    """A scaled ridge against refits in extended precision.

    Those of scikit-learn will not do for the smallest penalties: it solves normal equations, which loses the square of
    the condition number.
    """
    fast = quiet_nested_cv(scaled(Ridge(alpha)), X, y, folds=folds, loss=loss)
    assert (fast.route, fast.exactness) == ("gram", "exact")
    rtol = tolerance(X, folds, alpha, reference.scales(X))
    for q, target in enumerate(y.T if y.ndim == 2 else [y]):
        losses = reference.fold_losses(target, folds, reference.refitter(X, target, alpha, reference.scales(X)), loss)
        assert_fold_errors(fast, losses, rtol, output=q if y.ndim == 2 else None)


@given(
    n=st.integers(12, 60),
    p=st.integers(1, 8),
    K=st.integers(3, 6),
    alpha=st.sampled_from([1e-6, 1e-2, 1.0, 1e3]),
    n_outputs=st.sampled_from([None, 2]),
    loss=st.sampled_from(["squared_error", "absolute_error", "huber"]),
    seed=st.integers(0, 99),
)
@example(n=12, p=8, K=3, alpha=1e-6, n_outputs=None, loss="squared_error", seed=47)
def test_scaled_ridge_equals_its_refits(n, p, K, alpha, n_outputs, loss, seed):
    X, y = data(n, p, seed, n_outputs)
    assert_equals_reference_refits(alpha, 10 * X + 3, y, random_folds(n, K, seed=seed), loss)


@pytest.mark.sweep(4)
@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("n_outputs", [None, 3])
@pytest.mark.parametrize("shape", [(50, 6), (41, 28), (30, 1)], ids=str)
def test_a_penalty_chosen_on_scaled_columns(shape, n_outputs, criterion):
    if criterion == "loo" and shape == (41, 28):
        shape = (41, 20)  # with fewer rows than columns leave-one-out is 0/0 near interpolation, and so is its minimum
    X, y = data(*shape, 1, n_outputs)
    y = y + 2 * np.random.default_rng(2).standard_normal(y.shape)
    assert_equals_refits(scaled(PenalizedRegression(lam=criterion)), X * np.arange(1, shape[1] + 1), y)


@pytest.mark.parametrize("per_target", [False, True])
def test_ridge_cv_on_scaled_columns(per_target):
    X, Y = data(50, 6, 3, 3)
    assert_equals_refits(scaled(RidgeCV(ALPHAS, alpha_per_target=per_target)), X * 7 ** np.arange(6), Y)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("last", [RidgeClassifier(2.0), RidgeClassifierCV(ALPHAS)], ids=str)
def test_classifiers_on_scaled_columns(last, n_classes):
    X, y = data(60, 4, 5)
    labels = np.digitize(y, np.quantile(y, np.arange(1, n_classes) / n_classes))
    assert_equals_refits(scaled(last), X * [1, 10, 100, 1000], labels)


def test_a_penalty_for_each_output():
    X, Y = data(40, 5, 6, 2)
    assert_equals_refits(scaled(Ridge(np.array([0.1, 50.0]))), X, Y)


def test_columns_of_very_different_size():
    X, y = data(60, 6, 7)
    assert_equals_refits(scaled(Ridge(1.0)), badly_scaled(X, 1), y)
    assert_equals_refits(scaled(Ridge(1.0)), X + 1e6 * np.arange(6), y, rtol=1e-8)  # means cost sklearn digits, too


def test_means_and_groups_and_leave_two_out():
    X, y = data(40, 3, 8)
    assert_equals_refits(scaled(Ridge(1.0)), X[:20], y[:20], n_folds="n", n_repeats=1)
    assert_equals_refits(scaled(Ridge(1.0)), X, y, groups=random_groups(40, 9), n_folds=4)
    assert_equals_refits(
        scaled(Ridge(1.0)), X, y, folds=random_folds(40, 5, 2, unscored=3), n_folds="auto", n_repeats="auto"
    )


def test_a_column_that_is_constant_in_some_training_sets_is_left_alone_there():
    X, y = data(40, 3, 9)
    folds = random_folds(40, 5)
    X[:, 1] = 5.0 + (folds[0] == 2)
    assert_equals_refits(scaled(Ridge(1.0)), X, y, folds=folds, n_folds="auto", n_repeats="auto")


def test_collinear_columns_are_no_matter_with_a_penalty():
    X, y = data(40, 3, 10)
    X = np.hstack([X, X[:, :1] + X[:, 1:2]])
    assert_equals_refits(scaled(Ridge(1.0)), X, y)
    with pytest.raises(onefit.errors.TrainingSetError, match="linear combinations"):
        quiet_nested_cv(scaled(Ridge(0.0)), X, y, n_folds=5)


def test_training_sets_with_fewer_rows_than_columns():
    X, y = data(30, 24, 11)
    assert_equals_refits(scaled(Ridge(1.0)), X, y, n_folds=3)


def test_steps_before_the_scaler():
    X, y = data(60, 3, 12)
    assert_equals_refits(scaled(Ridge(1.0), PolynomialFeatures(2, include_bias=False)), X, y)


@pytest.mark.parametrize("last", [LinearRegression(), Ridge(2.0)], ids=str)
@pytest.mark.parametrize("scaler", [StandardScaler(), StandardScaler(with_std=False)], ids=str)
def test_scales_that_do_not_matter_leave_all_routes_open(scaler, last):
    if isinstance(last, Ridge) and scaler.with_std:
        pytest.skip("these scales do matter")
    X, y = data(20, 4, 13)
    assert_equals_refits(make_pipeline(scaler, last), X, y, route="onestep", n_folds="n", n_repeats=1)


def test_the_curve_of_a_scaled_ridge_is_that_of_its_values():
    X, y = data(40, 4, 14)
    keywords = {"param_name": "ridge__alpha", "param_range": ALPHAS, "n_folds": 5, "n_repeats": 2, "random_state": 0}
    fast = quietly(onefit.error_curve, scaled(Ridge()), X * [1, 2, 4, 8], y, **keywords)
    slow = quietly(onefit.error_curve, scaled(Ridge()), X * [1, 2, 4, 8], y, **keywords, route="refit")
    assert fast.results[0].route == "gram"
    assert relative_gap(fast.estimate, slow.estimate) < 1e-9
    assert relative_gap(fast.high, slow.high) < 1e-9
    assert fast.scores["gcv"].notna().all()
    at = fast.deploy(ALPHAS[3])
    expected = PenalizedRegression(lam=ALPHAS[3]).fit(StandardScaler().fit_transform(X * [1, 2, 4, 8]), y)
    np.testing.assert_allclose(at.predict(X), at[-1].predict(at[0].transform(X)))
    np.testing.assert_allclose(fast.scores["gcv"].iloc[3], expected.scores_["gcv"], rtol=1e-9)


@pytest.mark.parametrize(
    ("pipeline", "keywords", "reason"),
    [
        (scaled(PenalizedRegression(penalty=np.eye(3))), {}, "fitted anew"),
        (make_pipeline(StandardScaler(), SplineTransformer(), Ridge()), {}, "fitted anew"),
        (scaled(RidgeCV(ALPHAS, scoring="r2")), {}, "cv or scoring"),
        (scaled(Ridge(positive=True)), {}, "positive"),
    ],
    ids=str,
)
def test_what_the_scales_of_a_training_set_do_not_decide_is_refitted(pipeline, keywords, reason):
    X, y = data(30, 3, 15)
    result = quiet_nested_cv(pipeline, X, y, n_folds=3, n_repeats=1, **keywords)
    assert result.route == "refit"
    assert reason in result.route_reason


@pytest.mark.parametrize(
    ("pipeline", "keywords"),
    [(scaled(Ridge(fit_intercept=False)), {}), (scaled(Ridge()), {"sample_weight": np.linspace(1, 2, 30)})],
    ids=["no intercept", "weights"],
)
def test_without_an_intercept_and_with_weights_scaled_columns_are_encoded(pipeline, keywords):
    """The scaler counts every row once, whatever the weights of the fit."""
    X, y = data(30, 3, 15)
    fast, slow = (
        quiet_nested_cv(pipeline, X, y, n_folds=3, n_repeats=1, random_state=0, route=route, **keywords)
        for route in ("auto", "refit")
    )
    assert fast.route == "gram"
    assert relative_gap(fast.raw_estimate, slow.raw_estimate) < 1e-12
    assert relative_gap(fast.standard_error, slow.standard_error) < 1e-12


@pytest.mark.sweep(3)
@pytest.mark.parametrize("shape", [(20, 19), (20, 20), (20, 25), (18, 400)], ids=str)
@pytest.mark.parametrize(
    "last",
    [Ridge(0.5), RidgeCV(ALPHAS), *(PenalizedRegression(lam=criterion) for criterion in ("gcv", "reml"))],
    ids=str,
)
def test_as_many_columns_as_rows_are_scaled_without_refits(last, shape):
    X, y = data(*shape, 16, 2)
    y = y + 2 * np.random.default_rng(2).standard_normal(y.shape)
    assert_equals_refits(scaled(last), X * np.linspace(1, 9, shape[1]), y, n_folds=4)


def test_equal_rows_of_a_wide_table_are_no_matter():
    X, y = data(20, 60, 16)
    X[3:6] = X[9]
    for last in (Ridge(1e-3), RidgeCV(ALPHAS), PenalizedRegression(lam="gcv")):
        assert_equals_refits(scaled(last), X, y, n_folds=4, rtol=1e-7)


def test_a_wide_classifier_and_a_curve_on_scaled_columns():
    X, y = data(24, 50, 5)
    assert_equals_refits(scaled(RidgeClassifierCV(ALPHAS)), X, np.digitize(y, np.quantile(y, [0.3, 0.7])))
    keywords = {"param_name": "ridge__alpha", "param_range": ALPHAS, "n_folds": 5, "n_repeats": 2, "random_state": 0}
    fast = quietly(onefit.error_curve, scaled(Ridge()), X, y, **keywords)
    slow = quietly(onefit.error_curve, scaled(Ridge()), X, y, **keywords, route="refit")
    assert fast.results[0].route == "gram"
    assert relative_gap(fast.estimate, slow.estimate) < 1e-9


def test_a_large_value_of_a_column_that_is_constant_elsewhere_moves_nothing():
    X, y = data(40, 3, 9)
    folds = random_folds(40, 5)
    X[:, 1] = 1e8 * (folds[0] == 2)
    assert_equals_refits(scaled(Ridge(1.0)), X, y, rtol=1e-12, folds=folds, n_folds="auto", n_repeats="auto")


@pytest.mark.parametrize("spread", [1.0, 1e-3])
def test_a_wild_value_does_not_hide_its_column_from_other_training_sets(spread):
    X, y = data(60, 3, 17)
    X[:, 0] *= spread
    X[7, 0] = 1e12
    assert_equals_refits(scaled(Ridge(1.0)), X, y, rtol=1e-9)


def test_nearly_constant_columns_are_told_from_constant_ones_as_scikit_learn_does():
    X, y = data(60, 4, 18)
    X[:, 0] = 1e8 + 1e-7 * X[:, 0]
    X[:, 1] = 3.0
    X[:, 2] = 1e-100 * X[:, 2]
    assert_equals_refits(scaled(Ridge(1.0)), X, y, rtol=1e-6)  # the first column has a digit or two


@pytest.mark.parametrize("shape", [(60, 4), (30, 50)], ids=str)
def test_a_column_that_scikit_learn_takes_for_constant_counts_as_it_is(shape):
    X, y = data(*shape, 18)
    X[:, 0] = 1e15 + np.round(X[:, 0] * 8) / 8  # it varies by less than n roundings of its mean
    assert StandardScaler().fit(X).scale_[0] == 1.0
    assert_equals_refits(scaled(Ridge(1.0)), X, y)


def forbid_statistics(monkeypatch):
    def fit(self, statistics):
        raise AssertionError("the triangular factor was asked for")

    monkeypatch.setattr(ScaledLearner, "fit", fit)


@pytest.mark.parametrize("alpha", 10.0 ** np.arange(-3, 7, 3))
@pytest.mark.parametrize("n_outputs", [None, 2])
def test_wide_training_sets_are_fitted_from_the_products_of_their_rows(alpha, n_outputs, monkeypatch):
    forbid_statistics(monkeypatch)
    X, y = data(40, 150, 19, n_outputs)
    result = assert_equals_refits(scaled(Ridge(alpha)), X * 3 ** np.linspace(-4, 4, 150) + 5, y)
    assert result.route_reason.endswith("from the products of its rows")


@pytest.mark.parametrize("n_values", [FEW_VALUES, FEW_VALUES + 1])
def test_a_wide_curve_by_factors_and_by_eigenvalues(n_values, monkeypatch):
    forbid_statistics(monkeypatch)
    X, y = data(30, 80, 20, 2)
    alphas = np.logspace(-3, 6, n_values)
    keywords = {"param_name": "ridge__alpha", "param_range": alphas, "n_folds": 5, "n_repeats": 2, "random_state": 0}
    fast = quietly(onefit.error_curve, scaled(Ridge()), X + 2, y, **keywords)
    slow = quietly(onefit.error_curve, scaled(Ridge()), X + 2, y, **keywords, route="refit")
    assert relative_gap(fast.estimate, slow.estimate) < 1e-9
    assert relative_gap(fast.high, slow.high) < 1e-9


@pytest.mark.parametrize(
    "last",
    [Ridge(np.array([0.1, 50.0])), RidgeCV(ALPHAS, alpha_per_target=True), PenalizedRegression(lam="reml")],
    ids=str,
)
def test_wide_penalties_by_output_or_chosen_from_the_products(last, monkeypatch):
    forbid_statistics(monkeypatch)
    X, y = data(36, 200, 21, 2)
    y = y + 2 * np.random.default_rng(2).standard_normal(y.shape)
    assert_equals_refits(scaled(last), X * np.linspace(1, 9, 200), y)


def test_wide_folds_of_other_kinds():
    X, y = data(24, 40, 22)
    folds = random_folds(24, 5, 2, unscored=3)
    assert_equals_refits(scaled(Ridge(1.0)), X, y, folds=folds, n_folds="auto", n_repeats="auto")
    assert_equals_refits(scaled(Ridge(1.0)), X, y, groups=random_groups(24, 7), n_folds=3)
    assert_equals_refits(scaled(RidgeCV(ALPHAS)), X[:12], y[:12], n_folds="n", n_repeats=1)


def test_some_training_sets_have_more_rows_than_columns_and_some_do_not():
    X, y = data(30, 22, 23)
    assert_equals_refits(scaled(Ridge(1.0)), X, y, n_folds=5)  # 24 rows without a fold, 18 without two


@pytest.mark.parametrize("n_folds", [3, 5])
def test_wide_columns_that_are_constant_in_some_training_sets(n_folds):
    X, y = data(30, 60, 24)
    folds = random_folds(30, n_folds)
    X[:, 1] = 5.0 + (folds[0] == 2)
    X[:, 2] = 1e8 * (folds[0] == 1)
    X[:, 3] = 0.1 * (1 + (folds[0] == 0)) + 7 * (folds[0] == 1)
    X[:, 4] = 3.0
    X[7, 5] = 1e12
    assert_equals_refits(scaled(Ridge(1.0)), X, y, folds=folds, n_folds="auto", n_repeats="auto")


@pytest.mark.parametrize("alpha", [1e-9, 1e-6, 1e-3])
def test_products_that_have_lost_their_digits_are_not_used(alpha):
    X, y = data(20, 30, 25)
    X[10:] = X[:10] + 1e-5 * X[10:]  # the products know the differences to 1e-10 of themselves
    assert_equals_reference_refits(alpha, X, y, random_folds(20, 4, seed=1), "squared_error")


def test_wide_results_do_not_depend_on_the_number_of_threads():
    X, y = data(40, 300, 26)
    keywords = {"n_folds": 5, "n_repeats": 6, "random_state": 0}
    for last in (Ridge(1.0), RidgeCV(ALPHAS)):
        one, two = (quiet_nested_cv(scaled(last), X, y, **keywords, n_jobs=n_jobs) for n_jobs in (1, 2))
        for name in FOLD_ERRORS:
            assert np.array_equal(getattr(one.fold_errors, name), getattr(two.fold_errors, name))


def test_products_of_standardized_rows_are_those_of_scikit_learn_whatever_the_blocks(monkeypatch):
    X, _ = data(20, 37, 27)
    rows = np.random.default_rng(0).permutation(20)
    X[rows[:12], 3] = 2.0  # constant in the training set
    Z = StandardScaler().fit(X[rows[:12]]).transform(X[rows])
    for cells in (1, 100, 2**18):
        monkeypatch.setattr(standardized, "BLOCK_CELLS", cells)
        found = standardized.standardized_gram(X - 1.5, np.full(37, 1.5), rows, 12)
        np.testing.assert_allclose(found, Z @ Z.T, rtol=1e-12, atol=1e-12)


def dummies_beside_dependent_columns():
    """More columns than rows, and fewer directions: a fit at a tiny penalty reaches the rows of the dummies alone."""
    rng = np.random.default_rng(2)
    A, dummies = rng.integers(-8, 9, size=(24, 8)).astype(float), np.zeros((24, 3))
    dummies[[0, 1, 10], [0, 1, 2]] = 1.0
    X = np.hstack([A, A[:, :2] + A[:, 1:3], A, dummies])
    return X, A @ rng.normal(size=8) + rng.normal(size=24), [5e-17, 1.5, 1e9]


def wild_rows():
    """More rows than columns, and two of them far away, each in one column."""
    rng = np.random.default_rng(4)
    X = rng.normal(size=(21, 5))
    X[[0, 10], [0, 1]] *= 1e11, 1e6
    X = np.hstack([X, X[:, 2:3] - X[:, 3:4]])
    return X, X[:, 2:] @ rng.normal(size=4) + rng.normal(size=21) / 2 + 1e-8 * X[:, 0], [1e-14, 1e-4, 1.5]


@pytest.mark.parametrize("make", [dummies_beside_dependent_columns, wild_rows])
def test_leave_one_out_behind_a_scaler_has_its_digits_in_rows_that_a_tiny_penalty_reaches(make):
    X, y, alphas = make()
    n, folds = len(y), np.repeat(np.arange(3), len(y) // 3)

    def exactly(values):
        return fmpq_mat(*values.shape, [fmpq(*v.as_integer_ratio()) for v in values.ravel().tolist()])

    def predicted(alpha, rows, new, variances):
        """In rational numbers: what the scaler does is part of the penalty."""
        design = np.hstack([X, np.ones((n, 1))])
        train = exactly(design[rows])
        S = train.transpose() * train
        for j, variance in enumerate(variances):
            S[j, j] += fmpq(*alpha.as_integer_ratio()) * (variance or 1)
        fitted = exactly(design[new]) * S.solve(train.transpose() * exactly(y[rows, None]))
        return np.array([int(v.p) / int(v.q) for v in fitted.entries()])

    result = quiet_nested_cv(scaled(RidgeCV(alphas)), X, y, folds=folds)
    for fold in range(3):
        train, held_out = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
        columns = [exactly(column[train, None]).entries() for column in X.T]
        means = [sum(column, fmpq(0)) / len(train) for column in columns]
        variances = [
            sum(((v - mean) ** 2 for v in column), fmpq(0)) / len(train)
            for column, mean in zip(columns, means, strict=True)
        ]
        errors = [sum((y[i] - predicted(a, train[train != i], [i], variances)[0]) ** 2 for i in train) for a in alphas]
        expected = predicted(alphas[int(np.argmin(errors))], train, held_out, variances)
        np.testing.assert_allclose(result.heldout["prediction"].to_numpy()[held_out], expected, rtol=1e-9)
