"""The mean of a Gaussian process with a given kernel equals refits; its options have their own reasons."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import linalg
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, DotProduct, Matern, RationalQuadratic, WhiteKernel

import onefit
from helpers import quietly
from onefit.errors import OneFitError

FOLDS = {"n_folds": 4, "n_repeats": 1, "random_state": 0}
KERNEL_DIGITS = 1e-8  # as the smoother promises


def table(seed, n=40):
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 3, size=(n, 2))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] + 0.2 * rng.normal(size=n)


@settings(max_examples=12)
@given(
    st.integers(0, 10**6),
    st.sampled_from(
        [
            RBF(0.8),
            2.0 * Matern(0.7, nu=1.5),
            RationalQuadratic() + DotProduct(),
            ConstantKernel(0.5) * RBF([1.0, 2.0]) + WhiteKernel(0.1),
        ]
    ),
    st.sampled_from([0.5, 0.01]),
)
def test_the_mean_given_the_kernel_equals_refits(seed, kernel, alpha):
    X, y = table(seed)
    model = GaussianProcessRegressor(kernel, alpha=alpha, optimizer=None)
    fast, slow = (quietly(onefit.nested_cv, model, X, y, **FOLDS, route=route) for route in ("auto", "refit"))
    assert fast.route != "refit"
    assert fast.exactness == "exact"
    for name in ("estimate", "standard_error"):
        np.testing.assert_allclose(getattr(fast, name), getattr(slow, name), rtol=KERNEL_DIGITS)


def test_an_alpha_for_every_row_goes_with_the_row():
    X, y = table(1)
    alpha = 0.05 + 0.1 * X[:, 0]
    model = GaussianProcessRegressor(RBF(0.8), alpha=alpha, optimizer=None)
    result = quietly(onefit.nested_cv, model, X, y, n_folds="n", route="onestep")
    K = RBF(0.8)(X)
    errors = []
    for row in range(len(y)):
        rest = np.delete(np.arange(len(y)), row)
        fitted = K[row, rest] @ linalg.solve(K[np.ix_(rest, rest)] + np.diag(alpha[rest]), y[rest], assume_a="pos")
        errors.append((y[row] - fitted) ** 2)
    np.testing.assert_allclose(result.cv_estimate, np.mean(errors), rtol=1e-9)


def test_a_curve_over_alpha_adds_to_the_white_part_of_the_kernel():
    X, y = table(2)
    model = GaussianProcessRegressor(RBF(0.8) + WhiteKernel(0.05), optimizer=None)
    more = {"param_name": "alpha", "param_range": [0.01, 0.1, 1.0]}
    fast, slow = (quietly(onefit.error_curve, model, X, y, **FOLDS, **more, route=route) for route in ("auto", "refit"))
    assert fast.results[0].route != "refit"
    np.testing.assert_allclose(fast.standard_error, slow.standard_error, rtol=KERNEL_DIGITS)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_kernel_that_is_optimized_is_refitted_or_kept():
    X, y = table(3, 30)
    model = GaussianProcessRegressor(RBF(0.8) + WhiteKernel(0.1), random_state=0)
    anew = quietly(onefit.nested_cv, model, X, y, n_folds=3, n_repeats=1, random_state=0)
    assert anew.route == "refit"
    assert "optimized anew" in anew.route_reason
    fast, slow = (
        quietly(onefit.nested_cv, model, X, y, **FOLDS, transformers="freeze", route=route)
        for route in ("auto", "refit")
    )
    assert fast.route != "refit"
    assert fast.exactness == slow.exactness == "given the transformers"
    np.testing.assert_allclose(fast.estimate, slow.estimate, rtol=KERNEL_DIGITS)


@pytest.mark.parametrize(
    ("model", "why"),
    [
        (GaussianProcessRegressor(RBF(), optimizer=None, alpha=0.1, normalize_y=True), "scales y anew"),
        (GaussianProcessRegressor(RBF(3.0), optimizer=None), "alpha=1e-10 is so small"),
    ],
)
def test_an_option_that_forces_refits_is_named(model, why):
    result = quietly(onefit.nested_cv, model, *table(4, 60), n_folds=3, n_repeats=1, random_state=0)
    assert result.route == "refit"
    assert why in result.route_reason


class Indefinite(ConstantKernel):
    """No kernel at all."""

    def __call__(self, X, Y=None, eval_gradient=False):
        Y = X if Y is None else Y
        return -np.exp(-np.square(X[:, None] - Y).sum(axis=2))


def test_a_kernel_that_is_not_positive_definite_fails_as_a_refit_does():
    X, y = table(5)
    with pytest.raises(OneFitError, match="positive definite"):
        onefit.nested_cv(GaussianProcessRegressor(Indefinite(), alpha=0.1, optimizer=None), X, y, **FOLDS)
