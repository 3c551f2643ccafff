"""Sparse X: the gram route without making it dense."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LinearRegression, Ridge, RidgeClassifier

import onefit
import reference
from helpers import (
    assert_equals_reference,
    assert_same_results,
    badly_scaled,
    quiet_nested_cv,
    quietly,
    random_folds,
    random_groups,
    random_weights,
    tolerance,
)

FORMATS = ["csr_matrix", "csc_matrix", "coo_matrix", "csr_array", "csc_array", "coo_array"]
kinds = pytest.mark.parametrize("weights", ["none", "positive", "zeros"])


def sparse_data(n, p, seed=0, density=0.3, n_outputs=None):
    """A dense copy of a sparse design, with no empty column, and y."""
    rng = np.random.default_rng(seed)
    X = np.where(rng.random((n, p)) < density, rng.standard_normal((n, p)) + 1, 0.0)
    Y = X @ rng.standard_normal((p, n_outputs or 1)) + 2 + rng.standard_normal((n, n_outputs or 1))
    return X, Y if n_outputs else Y[:, 0]


@pytest.fixture(autouse=True, params=["kept", "sparse"])
def _rows_of_the_basis(request, monkeypatch):
    """Small designs have their rows in the basis kept; they are to give the same as sparse products do."""
    if request.param == "sparse":
        monkeypatch.setattr("onefit.linalg.sparse.MOST_KEPT", 0)


@pytest.fixture
def dense_is_refused(monkeypatch):
    """Arm with a number of rows: from then on no sparse matrix of that many may become dense."""
    limit = {"rows": np.inf}

    def guarded(original):
        def method(self, *args, **kwargs):
            assert self.shape[0] < limit["rows"], f"{type(self).__name__} of shape {self.shape} was made dense"
            return original(self, *args, **kwargs)

        return method

    for name in FORMATS:
        container = getattr(sparse, name)
        for method in ("toarray", "todense"):
            monkeypatch.setattr(container, method, guarded(getattr(container, method)))

    def arm(rows):
        limit["rows"] = rows

    return arm


# --------------------------------------------------------------------------- the same numbers as dense


@pytest.mark.parametrize("container", FORMATS)
@pytest.mark.parametrize("estimator", [Ridge(0.5), LinearRegression()], ids=["ridge", "least squares"])
def test_every_format_equals_the_dense_computation(estimator, container, dense_is_refused):
    X, y = sparse_data(60, 6)
    folds = random_folds(60, 5, 2)
    expected = quiet_nested_cv(estimator, X, y, folds=folds, route="gram")
    S = getattr(sparse, container)(X)
    dense_is_refused(60)
    for route in ("auto", "gram"):
        result = quiet_nested_cv(estimator, S, y, folds=folds, route=route)
        assert result.route == "gram"
        assert_same_results(result, expected)


@pytest.mark.sweep(5)
@kinds
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("scaled", [False, True], ids=["plain", "badly scaled"])
@pytest.mark.parametrize("lam", [0.0, 1e-3, 1.0])
def test_sparse_ridge_equals_refits(lam, scaled, fit_intercept, weights):
    X, y = sparse_data(50, 5, seed=1)
    X = badly_scaled(X, 1) if scaled else X
    w, folds = random_weights(50, weights), random_folds(50, 6, 2, unscored=2)
    estimator = Ridge(lam, fit_intercept=fit_intercept) if lam else LinearRegression(fit_intercept=fit_intercept)
    result = quiet_nested_cv(estimator, sparse.csr_matrix(X), y, folds=folds, sample_weight=w)
    losses = reference.fold_losses(y, folds, reference.refitter(X, y, lam, None, fit_intercept, w), weights=w)
    assert_equals_reference(result, losses, tolerance(X, folds, lam, None, fit_intercept, w))
    dense = quiet_nested_cv(estimator, X, y, folds=folds, sample_weight=w, route="gram")
    assert_same_results(result, dense, tolerance(X, folds, lam, None, fit_intercept, w))


@kinds
@pytest.mark.parametrize("p", [30, 45])
def test_sparse_with_more_columns_than_training_rows_equals_refits(p, weights):
    X, y = sparse_data(30, p, seed=2)
    w, folds = random_weights(30, weights), random_folds(30, 5)
    result = quiet_nested_cv(Ridge(0.2), sparse.csr_matrix(X), y, folds=folds, sample_weight=w)
    losses = reference.fold_losses(y, folds, reference.refitter(X, y, 0.2, weights=w), weights=w)
    assert_equals_reference(result, losses, tolerance(X, folds, 0.2, weights=w))


def test_sparse_columns_that_are_nearly_lost_equal_refits():
    """Few entries a column at a tiny penalty: some training sets hardly see it."""
    X, y = sparse_data(40, 12, seed=3, density=0.08)
    folds = random_folds(40, 8, 2)
    for lam in (1e-9, 1e-7, 1e-4):
        losses = reference.fold_losses(y, folds, reference.refitter(X, y, lam))
        result = quiet_nested_cv(Ridge(lam), sparse.csr_matrix(X), y, folds=folds)
        assert_equals_reference(result, losses, tolerance(X, folds, lam))


def test_a_value_keeps_its_digits_beside_a_far_smaller_one_on_a_curve():
    """They share a basis about their middle, in which the larger one lost as many digits as it is above it."""
    X, y = sparse_data(18, 58, seed=5)
    alphas, folds = [7e-11, 7e-3], random_folds(18, 5, 2, unscored=2)
    curve = quietly(
        onefit.error_curve,
        Ridge(),
        sparse.csr_matrix(X),
        y,
        param_name="alpha",
        param_range=alphas,
        folds=folds,
        route="gram",
    )
    for lam, result in zip(alphas, curve.results, strict=True):
        losses = reference.fold_losses(y, folds, reference.refitter(X, y, lam))
        assert_equals_reference(result, losses, 1e-9)


@pytest.mark.parametrize("gap", [1e-3, 1e-6])
def test_ill_conditioned_sparse_columns_are_as_exact_as_a_qr(gap):
    X, y = sparse_data(60, 4, seed=4)
    X[:, 3] = X[:, 2] + gap * X[:, 3]
    folds = random_folds(60, 5)
    result = quiet_nested_cv(LinearRegression(), sparse.csr_matrix(X), y, folds=folds)
    losses = reference.fold_losses(y, folds, reference.refitter(X, y, 0.0))
    assert_equals_reference(result, losses, tolerance(X, folds, 0.0))


def test_empty_column_under_a_penalty_changes_nothing():
    X, y = sparse_data(40, 4, seed=5)
    folds = random_folds(40, 5)
    with_empty = sparse.csr_matrix(np.column_stack([X, np.zeros(40)]))
    one, other = (quiet_nested_cv(Ridge(1.0), S, y, folds=folds) for S in (with_empty, sparse.csr_matrix(X)))
    assert_same_results(one, other)


def test_outputs_groups_classes_and_leave_two_out_stay_sparse(dense_is_refused):
    X, Y = sparse_data(40, 5, seed=6, n_outputs=2)
    S, groups, labels = sparse.csc_matrix(X), random_groups(40, 9), np.where(Y[:, 0] > 2, "a", "b")
    cases = [
        (Ridge(np.array([0.5, 9.0])), Y, {"n_folds": 5, "n_repeats": 2}),
        (Ridge(1.0), Y[:, 0], {"n_folds": 5, "n_repeats": 2, "groups": groups}),
        (Ridge(1.0), Y[:, 0], {"n_folds": "n", "groups": groups}),
        (Ridge(1.0), Y[:, 0], {"n_folds": "n", "loss": "absolute_error"}),
    ]
    dense = [quiet_nested_cv(e, X, y, route="gram", random_state=0, **kwargs) for e, y, kwargs in cases]
    classes = quiet_nested_cv(RidgeClassifier(), X, labels, route="gram", n_folds=5, n_repeats=2, random_state=0)
    dense_is_refused(40)
    for (estimator, y, kwargs), expected in zip(cases, dense, strict=True):
        assert_same_results(quiet_nested_cv(estimator, S, y, random_state=0, **kwargs), expected)
    result = quiet_nested_cv(RidgeClassifier(), S, labels, n_folds=5, n_repeats=2, random_state=0)
    np.testing.assert_array_equal(result.fold_errors.e_in, classes.fold_errors.e_in)


def test_default_is_ten_folds_on_the_gram_route():
    X, y = sparse_data(60, 4)
    result = quiet_nested_cv(Ridge(1.0), sparse.csr_matrix(X), y, random_state=0)
    assert (result.n_folds, result.route) == (10, "gram")
    assert "sparse" in result.route_reason


@pytest.mark.parametrize("dtype", [np.float32, np.int64, bool])
def test_other_types_of_numbers_are_computed_in_double_precision(dtype):
    X, y = sparse_data(40, 4, seed=7)
    X = np.round(X).astype(dtype)
    folds = random_folds(40, 5)
    one, other = (quiet_nested_cv(Ridge(1.0), S, y, folds=folds) for S in (sparse.csr_matrix(X), X.astype(float)))
    assert_same_results(one, other)


def test_sparse_input_is_not_modified():
    X, y = sparse_data(40, 4, seed=8)
    S = sparse.coo_matrix(X)
    quiet_nested_cv(Ridge(1.0), S, y, n_folds=5, n_repeats=1, sample_weight=random_weights(40, "zeros"))
    assert S.format == "coo"
    np.testing.assert_array_equal(S.toarray(), X)


@pytest.mark.parametrize("n_folds", [4, 40])
def test_lost_column_of_a_sparse_design_raises_and_names_the_folds(n_folds):
    X, y = sparse_data(40, 3, seed=9)
    X[:, 2] = 0
    X[2, 2], X[9, 2] = 1.0, -1.0
    folds = (np.arange(40) % n_folds)[None]  # folds 1 and 2 of four, or 2 and 9 of forty
    match = r"1 and 2\b" if n_folds == 4 else r"2 and 9\b"
    with pytest.raises(onefit.errors.TrainingSetError, match=f'{match}.*route="refit"'):
        quiet_nested_cv(LinearRegression(), sparse.csr_matrix(X), y, folds=folds)


# ------------------------------------------------------------------------------ where it cannot stay sparse


def test_one_step_route_of_a_large_design_is_refused_with_the_reason(monkeypatch):
    X, y = sparse_data(40, 4)
    monkeypatch.setattr("onefit.learners.sparse.MOST_DENSE_BYTES", 8 * 40 * 40 - 1)
    with pytest.raises(onefit.errors.RouteError, match=r"onestep.*sparse.*dense n x n.*gram"):
        quiet_nested_cv(Ridge(1.0), sparse.csr_matrix(X), y, n_folds=5, n_repeats=1, route="onestep")


def test_one_step_route_of_a_small_design_takes_a_dense_copy():
    X, y = sparse_data(40, 4)
    one, other = (
        quiet_nested_cv(Ridge(1.0), S, y, folds=random_folds(40, 5), route="onestep") for S in (sparse.csr_matrix(X), X)
    )
    assert one.route == "onestep"
    assert_same_results(one, other)


def test_nearly_dependent_columns_that_cannot_be_dense_go_by_refitting_with_the_reason(monkeypatch):
    X, y = sparse_data(40, 4, seed=4)
    X[:, 3] = X[:, 2] * (1 + 1e-9)
    S, folds = sparse.csr_matrix(X), random_folds(40, 5)
    monkeypatch.setattr("onefit.learners.sparse.MOST_DENSE_BYTES", 0)
    result = quiet_nested_cv(Ridge(1e-13), S, y, folds=folds)
    assert result.route == "refit"
    assert "nearly dependent" in result.route_reason
    with pytest.raises(onefit.errors.RouteError, match="nearly dependent"):
        quiet_nested_cv(Ridge(1e-13), S, y, folds=folds, route="gram")


def test_nearly_dependent_columns_that_can_be_dense_become_so():
    X, y = sparse_data(40, 4, seed=4)
    X[:, 3] = X[:, 2] * (1 + 1e-9)
    folds = random_folds(40, 5)
    one, other = (quiet_nested_cv(Ridge(1e-6), S, y, folds=folds) for S in (sparse.csr_matrix(X), X))
    assert one.route in {"gram", "onestep"}
    assert_same_results(one, other, 1e-6)


@pytest.mark.parametrize("container", FORMATS)
def test_too_many_columns_go_by_refitting_with_the_reason(container):
    rng = np.random.default_rng(0)
    S = getattr(sparse, container)(sparse.random(24, 9000, density=0.01, random_state=0))
    y = rng.standard_normal(24)
    folds, estimator = random_folds(24, 3), Ridge(1.0, fit_intercept=False, solver="lsqr", tol=1e-12)
    result = quiet_nested_cv(estimator, S, y, folds=folds)
    assert result.route == "refit"
    assert "9000 columns" in result.route_reason
    losses = reference.fold_losses(y, folds, reference.estimator_refitter(estimator, S.tocsr(), y))
    assert_equals_reference(result, losses, 1e-7)
    for route in ("gram", "onestep"):
        with pytest.raises(onefit.errors.RouteError, match="9000 columns"):
            quiet_nested_cv(estimator, S, y, folds=folds, route=route)


@pytest.mark.parametrize("container", FORMATS)
def test_kernel_ridge_of_a_sparse_design_goes_by_refitting(container):
    X, y = sparse_data(24, 3)
    folds, estimator = random_folds(24, 4), KernelRidge(alpha=0.5, kernel="linear")
    result = quiet_nested_cv(estimator, getattr(sparse, container)(X), y, folds=folds)
    assert result.route == "refit"
    assert "sparse" in result.route_reason
    assert_equals_reference(result, reference.fold_losses(y, folds, reference.estimator_refitter(estimator, X, y)))


def test_our_own_model_refuses_a_sparse_design_with_a_remedy():
    X, y = sparse_data(24, 3)
    with pytest.raises(onefit.errors.OneFitError, match="toarray"):
        quiet_nested_cv(onefit.PenalizedRegression(), sparse.csr_matrix(X), y, n_folds=4, n_repeats=1, route="gram")


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_missing_values_of_a_sparse_design_are_refused(value):
    X, y = sparse_data(24, 3)
    X[3, 1] = value
    with pytest.raises(onefit.errors.DataError, match="X holds NaN"):
        quiet_nested_cv(Ridge(1.0), sparse.csr_matrix(X), y, n_folds=4, n_repeats=1)
