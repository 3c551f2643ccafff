"""Mean and standard deviations of a Gaussian process with a given kernel equal refits; options have their reasons."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import linalg, stats
from sklearn.datasets import load_diabetes
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, DotProduct, Matern, RationalQuadratic, WhiteKernel
from sklearn.linear_model import BayesianRidge, LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV

import onefit
from helpers import quietly
from onefit.errors import DataError, OneFitError

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


KERNELS = [RBF(0.8), 2.0 * Matern(0.7, nu=1.5) + WhiteKernel(0.2), ConstantKernel(0.5) * RBF([1.0, 2.0]) + DotProduct()]


def assert_same(fast, slow, rtol=KERNEL_DIGITS):
    assert fast.route != "refit"
    assert slow.route == "refit"
    for name in ("estimate", "interval", "standard_error", "cv_estimate", "raw_estimate"):
        np.testing.assert_allclose(getattr(fast, name), getattr(slow, name), rtol=rtol, atol=rtol)
    np.testing.assert_allclose(fast.heldout.to_numpy(), slow.heldout.to_numpy(), rtol=rtol, atol=rtol)


@settings(max_examples=12)
@given(
    st.integers(0, 10**6),
    st.sampled_from(KERNELS),
    st.sampled_from([0.5, 0.02]),
    st.booleans(),
    st.sampled_from([None, "absolute_error", "neg_log_predictive"]),
    st.integers(1, 2),
)
def test_scaled_targets_and_log_scores_equal_refits(seed, kernel, alpha, normalize_y, loss, n_outputs):
    X, y = table(seed, 37)
    y = 50.0 + (y if n_outputs == 1 else np.stack([y, 100.0 * y**2], axis=1))
    model = GaussianProcessRegressor(kernel, alpha=alpha, optimizer=None, normalize_y=normalize_y)
    routes = ("auto", "refit")
    fast, slow = (quietly(onefit.nested_cv, model, X, y, **FOLDS, loss=loss, route=route) for route in routes)
    assert_same(fast, slow)


def test_standard_deviations_are_those_of_observations():
    X, y = table(1, 30)
    model = GaussianProcessRegressor(RBF(0.8), alpha=0.1, optimizer=None, normalize_y=True)
    folds = np.arange(30) % 5
    result = quietly(onefit.nested_cv, model, X, y, folds=folds, loss="neg_log_predictive")
    for fold in range(5):
        test = folds == fold
        mean, std = model.fit(X[~test], y[~test]).predict(X[test], return_std=True)
        std = np.sqrt(std**2 + 0.1 * y[~test].var())
        np.testing.assert_allclose(result.heldout["std"][test], std, rtol=1e-9)
        expected = -stats.norm.logpdf(y[test], mean, std)
        np.testing.assert_allclose(result.heldout["loss"][test], expected, rtol=1e-9)


def test_an_alpha_for_every_row_is_the_noise_of_that_row():
    X, y = table(1, 30)
    alpha = 0.05 + 0.1 * X[:, 0]
    model = GaussianProcessRegressor(RBF(0.8), alpha=alpha, optimizer=None)
    folds = np.arange(30) % 5
    result = quietly(onefit.nested_cv, model, X, y, folds=folds, loss="neg_log_predictive")
    assert result.route == "onestep"
    for fold in range(5):
        test = folds == fold
        own = GaussianProcessRegressor(RBF(0.8), alpha=alpha[~test], optimizer=None).fit(X[~test], y[~test])
        mean, std = own.predict(X[test], return_std=True)
        np.testing.assert_allclose(result.heldout["prediction"][test], mean, rtol=1e-9)
        np.testing.assert_allclose(result.heldout["std"][test], np.sqrt(std**2 + alpha[test]), rtol=1e-9)


def test_bands_cover_what_they_say_where_the_model_is_true():
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 5, size=(300, 1))
    kernel = RBF(0.7) + WhiteKernel(0.25)
    y = rng.multivariate_normal(np.zeros(300), kernel(X), method="cholesky")  # the same rows whatever the BLAS
    model = GaussianProcessRegressor(kernel, optimizer=None)
    result = quietly(onefit.nested_cv, model, X, y, n_folds=10, n_repeats=2, random_state=0, scoring="log_predictive")
    assert result.greater_is_better
    assert list(result.calibration.index) == ["band_50", "band_80", "band_95"]
    for level, (low, high) in zip((0.5, 0.8, 0.95), result.calibration[["low", "high"]].to_numpy(), strict=True):
        assert low < level < high
    inside = np.abs(y - result.heldout["prediction"]) <= stats.norm.ppf(0.975) * result.heldout["std"]
    assert result.calibration["estimate"]["band_95"] == pytest.approx(inside.mean(), abs=0.02)
    assert "share inside the 95% band" in result.summary()
    assert -result.estimate < -result.baseline.estimate


def test_the_constant_beside_a_log_score_is_the_normal_distribution_of_each_training_set():
    X, y = table(2, 40)
    folds = np.arange(40) % 5
    model = GaussianProcessRegressor(RBF(0.8), alpha=0.1, optimizer=None)
    base = quietly(onefit.nested_cv, model, X, y, folds=folds, loss="neg_log_predictive").baseline
    losses = [-stats.norm.logpdf(y[i], y[folds != folds[i]].mean(), y[folds != folds[i]].std()) for i in range(40)]
    np.testing.assert_allclose(base.cv_estimate, np.mean(losses), rtol=1e-12)


def test_a_curve_of_log_scores_over_alpha_leaves_out_what_rounding_errors_decide():
    X, y = table(6)
    model = GaussianProcessRegressor(RBF(0.8), optimizer=None, normalize_y=True)
    keywords = {**FOLDS, "param_name": "alpha", "param_range": [1e-14, 0.01, 0.1, 1.0], "loss": "neg_log_predictive"}
    curve = quietly(onefit.error_curve, model, X, y, **keywords)
    assert np.isnan(curve.estimate[0])
    assert "rounding errors" in curve.to_frame()["reason"].iloc[0]
    for value, estimate in list(zip(curve.values, curve.estimate, strict=True))[1:]:
        alone = GaussianProcessRegressor(RBF(0.8), alpha=value, optimizer=None, normalize_y=True)
        slow = quietly(onefit.nested_cv, alone, X, y, **FOLDS, loss="neg_log_predictive", route="refit")
        np.testing.assert_allclose(estimate, slow.estimate, rtol=KERNEL_DIGITS)


def test_training_sets_that_nearly_interpolate_are_fitted_from_their_rows():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.uniform(0, 3, size=(12, 1)), 10 + 1e-3 * np.arange(8)[:, None]])  # a cluster in one fold
    y = X[:, 0] + 0.1 * rng.normal(size=20)
    folds = np.r_[np.arange(12) % 3, np.full(8, 3)]
    model = GaussianProcessRegressor(RBF(1.0), alpha=1e-6, optimizer=None, normalize_y=True)
    fast, slow = (quietly(onefit.nested_cv, model, X, y, folds=folds, route=route) for route in ("auto", "refit"))
    np.testing.assert_allclose(fast.estimate, slow.estimate, rtol=1e-6)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_fitted_kernel_is_kept_with_scaled_targets():
    X, y = load_diabetes(return_X_y=True)
    X, y = 20.0 * X[:60, :4], y[:60]
    model = GaussianProcessRegressor(RBF(1.0) + WhiteKernel(0.5), normalize_y=True)
    keywords = {**FOLDS, "transformers": "freeze", "loss": "neg_log_predictive"}
    fast, slow = (quietly(onefit.nested_cv, model, X, y, **keywords, route=route) for route in ("auto", "refit"))
    assert fast.exactness == "given the transformers"
    assert_same(fast, slow)


def test_log_scores_of_other_models_are_refitted():
    X, y = table(3)
    result = quietly(onefit.nested_cv, BayesianRidge(), X, y, **FOLDS, loss="neg_log_predictive")
    assert result.route == "refit"
    assert "standard deviations" in result.route_reason
    both = quietly(onefit.nested_cv, BayesianRidge(), X, y, **FOLDS, scoring=["r2", "log_predictive"])
    np.testing.assert_allclose(both.metrics["estimate"]["log_predictive"], -result.estimate)


@pytest.mark.parametrize(
    ("model", "keywords", "message"),
    [
        (LinearRegression(), {"loss": "neg_log_predictive"}, "has no return_std"),
        (GridSearchCV(GaussianProcessRegressor(), {"alpha": [1.0]}), {"loss": "neg_log_predictive"}, "return_std"),
        (LogisticRegression(), {"loss": "neg_log_predictive"}, "is of numbers"),
        (GaussianProcessRegressor(optimizer=None), {"loss": "nlpd"}, "log_predictive"),
        (GaussianProcessRegressor(optimizer=None), {"scoring": "neg_log_predictive"}, "scoring='log_predictive'"),
    ],
)
def test_a_log_score_that_makes_no_sense_is_refused(model, keywords, message):
    X, y = table(7, 20)
    y = (y > y.mean()).astype(int) if isinstance(model, LogisticRegression) else y
    with pytest.raises(DataError, match=message):
        onefit.nested_cv(model, X, y, **FOLDS, **keywords)
