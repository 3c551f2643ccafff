"""A linear kernel is ridge regression on the columns, which have digits that products between rows have lost."""

import numpy as np
import pytest
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge

import onefit
import reference as long_double
from helpers import data, quiet_nested_cv, quietly, random_folds, random_weights, relative_gap
from onefit.errors import RouteError

ROUTES = ("gram", "onestep")


def uneven(n, p=2):
    X, y = data(n, p, 3)
    X[:, 0] *= 1e3
    X[:, 1] *= 1e-5
    return X, y


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("kind", [None, "zeros"])
def test_columns_of_very_different_sizes_keep_their_digits(kind, route):
    """The kernel matrix knows the small column to 1e-16 of the square of the large one (fuzz case 190012867)."""
    X, _ = uneven(12)
    y, folds, w = np.ones(12), random_folds(12, 5, 2), kind and random_weights(12, kind)
    result = quiet_nested_cv(KernelRidge(alpha=0.42), X, y, folds=folds, route=route, sample_weight=w)
    losses = long_double.fold_losses(y, folds, long_double.refitter(X, y, 0.42, None, False, w), weights=w)
    assert relative_gap(result.fold_errors.e_out, losses.e_out) < 1e-13
    assert relative_gap(result.fold_errors.e_in, losses.e_in) < 1e-13


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("p", [3, 30])
def test_it_is_ridge_regression_without_an_intercept(p, route):
    """At every value of a curve, for several outputs with a penalty each, and in comparisons."""
    (X, _), Y = uneven(24, p), data(24, 1, 4, 2)[1]
    settings = {"folds": random_folds(24, 4, 2), "route": route, "sample_weight": random_weights(24, "plain")}
    models = KernelRidge(), Ridge(fit_intercept=False)
    curves = [
        quietly(onefit.error_curve, each, X, Y, param_name="alpha", param_range=[0.1, 1.0, 1e3], **settings)
        for each in models
    ]
    np.testing.assert_array_equal(*(curve.estimate for curve in curves))
    each = [quiet_nested_cv(model.set_params(alpha=[0.3, 20.0]), X, Y, **settings) for model in models]
    np.testing.assert_array_equal(*(result.fold_errors.e_in for result in each))
    found = quietly(
        onefit.compare, {"kernel": KernelRidge(), "ridge": Ridge(fit_intercept=False)}, X, Y[:, 0], **settings
    )
    assert relative_gap(*(found.results[name].estimate for name in ("kernel", "ridge"))) < 1e-13


@pytest.mark.parametrize("route", ROUTES)
def test_bits_do_not_hang_on_the_number_of_jobs(route):
    X, y = uneven(24, 5)
    one, two = (
        quiet_nested_cv(KernelRidge(), X, y, n_folds=4, n_repeats=4, random_state=0, route=route, n_jobs=jobs)
        for jobs in (1, 2)
    )
    np.testing.assert_array_equal(one.fold_errors.e_out, two.fold_errors.e_out)
    np.testing.assert_array_equal(one.fold_errors.e_in, two.fold_errors.e_in)


def test_no_penalty_is_refused_for_one_model_and_marked_on_a_curve():
    X, y = data(24, 3, 0)
    Y = np.c_[y, -y]
    for alpha, target in ((0.0, y), ([0.0, 1.0], Y)):
        with pytest.raises(RouteError, match="alpha=0 is so small"):
            onefit.nested_cv(KernelRidge(alpha=alpha), X, target, n_folds=4, route="gram")
    curve = quietly(
        onefit.error_curve, KernelRidge(), X, y, param_name="alpha", param_range=[0.0, 1.0], n_folds=4, route="gram"
    )
    assert "alpha=0 is so small" in curve.reasons[0]
    assert not curve.reasons[1]
