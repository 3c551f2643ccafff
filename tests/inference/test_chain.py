"""Values share tables of increments; none of them may spoil another, however large its losses, in whatever order."""

import numpy as np
import pytest
from sklearn.dummy import DummyRegressor
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures

import onefit
from helpers import STRICT, data, quietly
from onefit.inference.chain import ascending, outward

FOLDS = {"n_folds": 5, "n_repeats": 2, "random_state": 0}


@pytest.mark.parametrize("make", [outward, ascending])
def test_levels_are_the_sums_of_their_increments(make):
    rng = np.random.default_rng(0)
    values = rng.standard_normal((3, 7))
    chain = make(values.mean(axis=0))
    increments = chain.increments(values, axis=1)
    np.testing.assert_allclose(increments @ chain.levels.T, values, rtol=1e-14, atol=1e-14)
    root = int(np.argmin(values.mean(axis=0)))
    np.testing.assert_array_equal(increments[:, root], values[:, root])
    seen = set()
    for value in chain.order:
        assert value == root or chain.parents[value] in seen
        seen.add(value)


@pytest.mark.parametrize("degrees", [[14, 12, 10, 8, 5, 3], [3, 5, 8, 10, 12, 14]], ids=["worst first", "best first"])
def test_a_curve_equals_nested_cv_at_each_value_though_some_losses_are_enormous(degrees):
    rng = np.random.default_rng(1)
    x = np.sort(rng.uniform(-1, 1, 60))[:, None]
    y = np.sin(4 * x[:, 0]) + 0.2 * rng.standard_normal(60)
    model = make_pipeline(PolynomialFeatures(include_bias=False), LinearRegression())
    name = "polynomialfeatures__degree"
    curve = quietly(onefit.error_curve, model, x, y, param_name=name, param_range=degrees, simpler="smaller", **FOLDS)
    for at, degree in enumerate(degrees):
        alone = quietly(onefit.nested_cv, model.set_params(**{name: degree}), x, y, route="refit", **FOLDS)
        np.testing.assert_allclose(curve.standard_error[at], alone.standard_error, rtol=1e-10)
        np.testing.assert_allclose([curve.low[at], curve.high[at]], alone.interval, rtol=1e-10)


@pytest.mark.parametrize("names", [("a", "bad", "b"), ("bad", "a", "b"), ("b", "a", "bad")])
@pytest.mark.parametrize("folds", [FOLDS, {"n_folds": "n"}], ids=["folds", "two out"])
def test_a_hopeless_model_leaves_the_comparison_of_the_others_alone(names, folds):
    X, y = data(30, 4, 3)
    bad = DummyRegressor(strategy="constant", constant=1e8) if folds is FOLDS else Ridge(1e-3, fit_intercept=False)
    target = y if folds is FOLDS else y + 1e8
    models = {"a": Ridge(1.0), "b": Ridge(2.0), "bad": bad}
    all_three = quietly(onefit.compare, {name: models[name] for name in names}, X, target, **folds)
    two = quietly(onefit.compare, {name: models[name] for name in ("a", "b")}, X, target, **folds)
    pair = two.to_frame().index[0]
    rtol = 1e-9 if folds is FOLDS else 1e-6  # y + 1e8 leaves the losses themselves only eight digits
    np.testing.assert_allclose(all_three.to_frame().loc[pair], two.to_frame().loc[pair], rtol=rtol)
    for name in ("a", "b"):
        np.testing.assert_allclose(all_three.results[name].standard_error, two.results[name].standard_error, rtol=rtol)


@pytest.mark.parametrize("tiny", [1e-12, pytest.param(1e-20, marks=pytest.mark.slow), 1e-200])
def test_rows_of_almost_no_weight_are_right_in_models_of_both_forms(tiny):
    X, y = data(13, 4, 5)
    weights = np.random.default_rng(2).exponential(size=13)
    weights[[2, 7]] = tiny
    models = {"kernel": KernelRidge(alpha=0.5, kernel="rbf"), "ridge": Ridge(1.0)}
    settings = {"sample_weight": weights, "n_folds": "n"}
    slow = quietly(onefit.compare, models, X, y, route="refit", **settings)
    for order in (models, dict(reversed(models.items()))):  # differences are the better model's minus the other's
        fast = quietly(onefit.compare, order, X, y, **settings)
        assert list(fast.to_frame().index) == list(slow.to_frame().index)
        np.testing.assert_allclose(fast.to_frame(), slow.to_frame(), rtol=STRICT)
        for name in models:
            np.testing.assert_allclose(
                fast.results[name].heldout["prediction"], slow.results[name].heldout["prediction"], rtol=0, atol=1e-8
            )


@pytest.mark.parametrize("constant", [1e200, 2e76, 1e75])
def test_a_value_whose_losses_overflow_is_nan_with_its_reason(constant):
    """Or those of their sums: an interval of losses of 1e153 was made from infinities (fuzz case 550008954)."""
    X, y = data(20, 2, 0)
    curve = quietly(
        onefit.error_curve,
        DummyRegressor(strategy="constant"),
        X,
        y,
        param_name="constant",
        param_range=[0.0, 1.0, constant],
        **FOLDS,
    )
    assert np.isfinite(curve.estimate[:2]).all()
    assert np.isnan(curve.estimate[2])
    assert "overflow" in curve.reasons[2]
