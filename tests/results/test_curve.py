"""The error curve, through the public API: every value, paired differences, selection, scores, bad input."""

from __future__ import annotations

import runpy
from functools import cache
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler
from sklearn.tree import DecisionTreeRegressor

import onefit
import reference
from helpers import (
    FAST_ROUTES,
    ROUTES,
    STRICT,
    assert_fold_errors,
    assert_row,
    assert_same_results,
    data,
    quiet_nested_cv,
    quietly,
    random_folds,
    random_groups,
    random_weights,
    relative_gap,
    tolerance,
)
from onefit.display.numbers import interval_text
from onefit.errors import OneFitError

every = pytest.mark.parametrize("route", ROUTES)
FIGURES = ("estimate", "low", "high", "standard_error")
N = 12
ALPHAS = (0.05, 1.0, 40.0)
PAIRED = 1e-8

D = np.diff(np.eye(4), n=2, axis=0)
MODELS = {
    "ridge": (Ridge(), "alpha"),
    "kernel": (KernelRidge(kernel="rbf", gamma=0.1), "alpha"),
    "penalized": (onefit.PenalizedRegression(penalty=D.T @ D), "lam"),
    "pipeline": (
        make_pipeline(PolynomialFeatures(2, interaction_only=True, include_bias=False), Ridge()),
        "ridge__alpha",
    ),
}
GROUPS = random_groups(N, 8, seed=3)
SETTINGS = {
    "folds": {"folds": random_folds(N, 5, 2, unscored=1)},
    "weights": {"folds": random_folds(N, 5, 2), "sample_weight": random_weights(N, "zeros")},
    "groups": {"folds": random_folds(8, 4, 2)[:, GROUPS], "groups": GROUPS},
    "outputs": {"folds": random_folds(N, 5)},
    "n": {"n_folds": "n"},
    "n weights": {"n_folds": "n", "sample_weight": random_weights(N, "positive")},
    "n groups weights": {"n_folds": "n", "groups": GROUPS, "sample_weight": random_weights(N, "positive")},
    "n outputs": {"n_folds": "n"},
}
each_setting = pytest.mark.parametrize("setting", SETTINGS)


def small(setting):
    return data(N, 4, seed=1, n_outputs=2 if "outputs" in setting else None)


def error_curve(*args, **kwargs):
    return quietly(onefit.error_curve, *args, **kwargs)


def ridge_curve(X, y, alphas=ALPHAS, **kwargs):
    return error_curve(Ridge(), X, y, param_name="alpha", param_range=alphas, **kwargs)


@cache
def by_value(model, setting):
    """nested_cv by refits at each value."""
    X, y = small(setting)
    estimator, name = MODELS[model]
    return [
        quiet_nested_cv(clone(estimator).set_params(**{name: alpha}), X, y, route="refit", **SETTINGS[setting])
        for alpha in ALPHAS
    ]


# ------------------------------------------------------------------------------------ every value of the curve


CASES = [
    (model, setting, route)
    for model in MODELS
    for setting in SETTINGS
    for route in ROUTES
    if setting == "folds"
    or (model == "ridge" and (route != "refit" or setting != "n outputs"))
    or (route != "refit" and (model != "pipeline" or "outputs" not in setting))
]


@pytest.mark.sweep(4)
@pytest.mark.parametrize(("model", "setting", "route"), CASES)
def test_each_value_is_nested_cv_at_that_value(model, setting, route):
    X, y = small(setting)
    estimator, name = MODELS[model]
    curve = error_curve(estimator, X, y, param_name=name, param_range=ALPHAS, route=route, **SETTINGS[setting])
    expected = by_value(model, setting)
    for key in ("estimate", "standard_error"):
        wanted = np.array([getattr(result, key) for result in expected])
        np.testing.assert_allclose(getattr(curve, key), wanted, rtol=STRICT, err_msg=key)
    for end, key in enumerate(("low", "high")):
        wanted = np.array([result.interval[end] for result in expected])
        np.testing.assert_allclose(getattr(curve, key), wanted, rtol=STRICT, err_msg=key)
    for result, other in zip(curve.results, expected, strict=True):
        assert_same_results(result, other)
        assert result.route == route


@pytest.mark.parametrize("rule", ["bates", "mlr3", "naive", "corrected_t"])
def test_the_curve_takes_the_rule_asked_for(rule):
    X, y = small("folds")
    keywords = {"folds": random_folds(N, 5, 2), "interval": rule, "bias_folds": 2, "random_state": 0}
    curve = ridge_curve(X, y, confidence_level=0.8, **keywords)
    for v, alpha in enumerate(ALPHAS):
        one = quiet_nested_cv(Ridge(alpha), X, y, confidence_level=0.8, **keywords)
        actual = [curve.estimate[v], curve.low[v], curve.high[v]]
        np.testing.assert_allclose(actual, [one.estimate, *one.interval], rtol=STRICT)


@pytest.mark.sweep(2)
@every
@pytest.mark.parametrize("n_folds", [4, N])
def test_wide_designs_with_tiny_penalties_equal_stacked_refits(n_folds, route):
    X, y = data(N, 16, seed=4)
    folds = random_folds(N, n_folds)
    alphas = [1e-8, 1e-3, 10.0]
    curve = ridge_curve(X, y, alphas, route=route, folds=folds)
    for result, alpha in zip(curve.results, alphas, strict=True):
        losses = reference.fold_losses(y, folds, reference.refitter(X, y, alpha))
        rtol = tolerance(X, folds, alpha)
        assert_fold_errors(result, losses, rtol)
        assert_row(result, "covariance", reference.covariance(losses, 0.95), 10 * rtol)


def test_random_folds_and_repeats_are_those_of_nested_cv():
    X, y = small("folds")
    keywords = {"n_folds": 6, "n_repeats": 3, "random_state": 5}
    curve = ridge_curve(X, y, **keywords)
    for result, alpha in zip(curve.results, ALPHAS, strict=True):
        assert_same_results(result, quiet_nested_cv(Ridge(alpha), X, y, **keywords))


@pytest.mark.parametrize(("transformers", "exactness"), [("refit", "exact"), ("freeze", "given the transformers")])
def test_the_scaler_of_a_pipeline_is_fitted_anew_or_frozen_as_asked(transformers, exactness):
    X, y = small("folds")
    pipeline = make_pipeline(StandardScaler(), Ridge())
    keywords = {"transformers": transformers, "folds": random_folds(N, 4)}
    curve = error_curve(pipeline, X, y, param_name="ridge__alpha", param_range=[0.1, 1.0], **keywords)
    one = quiet_nested_cv(clone(pipeline).set_params(ridge__alpha=1.0), X, y, **keywords)
    assert curve.results[1].exactness == one.exactness == exactness
    assert curve.results[1].route == "gram"
    assert_same_results(curve.results[1], one)


def test_along_a_parameter_that_is_no_penalty_each_value_takes_its_own_route():
    X, y = small("folds")
    folds = random_folds(N, 4)
    curve = error_curve(Ridge(), X, y, param_name="fit_intercept", param_range=[True, False], folds=folds)
    for result, fit_intercept in zip(curve.results, (True, False), strict=True):
        assert result.route == "gram"
        assert_same_results(result, quiet_nested_cv(Ridge(fit_intercept=fit_intercept), X, y, folds=folds))


def test_a_classifier_along_its_penalty():
    rng = np.random.default_rng(2)
    X = rng.standard_normal((24, 3))
    y = np.where(X[:, 0] + rng.standard_normal(24) > 0, "yes", "no")
    folds = random_folds(24, 4, 2)
    curve = error_curve(RidgeClassifier(), X, y, param_name="alpha", param_range=ALPHAS, folds=folds)
    losses = [
        reference.fold_losses(y, folds, reference.estimator_refitter(RidgeClassifier(a), X, y), "zero_one")
        for a in ALPHAS
    ]
    for result, one in zip(curve.results, losses, strict=True):
        assert_row(result, "covariance", reference.covariance(one, 0.95))
    assert curve.loss == "zero_one"
    assert_differences(curve, losses)


# ------------------------------------------------------------------------------------------ paired differences


def assert_differences(curve, losses, output=None):
    """The paired differences from the best value are those of the reference losses."""
    pick = (lambda array: array) if output is None else (lambda array: array[:, output])
    best = curve.best if output is None else curve.best[output]
    expected = [reference.paired(one, losses[best], curve.confidence_level) for one in losses]
    for key in FIGURES:
        wanted = [getattr(interval, key) for interval in expected]
        np.testing.assert_allclose(pick(getattr(curve.difference, key)), wanted, rtol=PAIRED, atol=0, err_msg=key)


@cache
def ridge_losses(setting, loss):
    """Reference losses of each alpha, by output."""
    X, y = small(setting)
    keywords = SETTINGS[setting]
    weights, groups = keywords.get("sample_weight"), keywords.get("groups")
    ids = np.arange(N) if groups is None else groups
    folds = keywords.get("folds", ids[None])
    return [
        [
            reference.fold_losses(
                column, folds, reference.refitter(X, column, a, weights=weights), loss, weights, groups
            )
            for a in ALPHAS
        ]
        for column in y.reshape(N, -1).T
    ]


@pytest.mark.parametrize("route", FAST_ROUTES)  # refits: below
@each_setting
def test_differences_from_the_best_equal_the_double_loop(setting, route):
    X, y = small(setting)
    loss = "absolute_error" if setting in ("folds", "n weights") else "squared_error"
    curve = ridge_curve(X, y, route=route, loss=loss, confidence_level=0.9, **SETTINGS[setting])
    for output, losses in enumerate(ridge_losses(setting, loss)):
        assert_differences(curve, losses, output if y.ndim == 2 else None)


def test_differences_of_a_refitted_learner_equal_the_double_loop():
    X, y = small("folds")
    folds = random_folds(N, 5, 2)
    values = [1, 3, 6]
    curve = error_curve(KNeighborsRegressor(), X, y, param_name="n_neighbors", param_range=values, folds=folds)
    losses = [
        reference.fold_losses(y, folds, reference.estimator_refitter(KNeighborsRegressor(k), X, y)) for k in values
    ]
    assert_differences(curve, losses)


def test_differences_of_neighbouring_penalties_keep_their_digits():
    """A change of alpha by a millionth: the difference is small, but a sum of small terms, not what cancels."""
    X, y = small("folds")
    folds, alphas = random_folds(N, 5), [1.0, 1.0 + 1e-6]
    curve = ridge_curve(X, y, alphas, folds=folds)
    losses = [reference.fold_losses(y, folds, reference.refitter(X, y, a)) for a in alphas]
    best = losses[curve.best]
    other = 1 - curve.best
    expected = reference.paired(losses[other], best, 0.95)
    np.testing.assert_allclose(curve.difference.estimate[other], expected.estimate, rtol=1e-6)
    np.testing.assert_allclose(curve.difference.standard_error[other], expected.standard_error, rtol=1e-6)


@given(st.integers(0, 2**32 - 1), st.sampled_from([5, "n"]))
def test_the_best_differs_from_itself_by_nothing(seed, n_folds):
    X, y = data(N, 4, seed)
    curve = ridge_curve(X, y, np.logspace(-2, 3, 6), n_folds=n_folds, n_repeats=2, random_state=seed)
    for key in FIGURES:
        assert getattr(curve.difference, key)[curve.best] == 0
    assert (curve.difference.low <= curve.difference.estimate).all()
    assert (curve.difference.estimate <= curve.difference.high).all()


# ---------------------------------------------------------------------------------------------------- selection


def brute_one_se(curve):
    """The simplest of the values at least as simple as the best and within one standard error of it."""
    towards = 1 if curve.simpler == "larger" else -1
    best, chosen = curve.values[curve.best], curve.values[curve.best]
    for value, gap, se in zip(curve.values, curve.difference.estimate, curve.difference.standard_error, strict=True):
        if towards * (value - best) >= 0 and gap <= se and towards * (value - chosen) > 0:
            chosen = value
    return chosen


@given(st.integers(0, 2**32 - 1), st.booleans(), st.booleans(), st.sampled_from([6, "n"]))
def test_selection_by_error(seed, falling, smaller, n_folds):
    X, y = data(N, 5, seed)
    alphas = np.logspace(-2, 3, 9)[:: -1 if falling else 1]
    simpler = "smaller" if smaller else "larger"
    curve = ridge_curve(X, y, alphas, simpler=simpler, n_folds=n_folds, n_repeats=1, random_state=0)
    assert curve.select() == curve.select("min") == alphas[np.argmin(curve.estimate)]
    chosen = curve.select("one_se")
    assert chosen == brute_one_se(curve)
    assert chosen <= curve.select("min") if smaller else chosen >= curve.select("min")


def test_one_se_moves_and_the_order_of_the_range_does_not_matter():
    X, y = data(40, 8, seed=2)
    alphas = np.logspace(-2, 3, 21)
    rising, falling = (ridge_curve(X, y, some, n_folds="n") for some in (alphas, alphas[::-1]))
    assert rising.select("one_se") > rising.select("min")
    for rule in ("min", "one_se", "loo", "gcv", "reml", "kfold"):
        np.testing.assert_allclose(rising.select(rule), falling.select(rule))
    np.testing.assert_allclose(rising.difference.low, falling.difference.low[::-1], rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("rule", ["loo", "gcv", "reml", "kfold"])
@pytest.mark.parametrize("seed", range(3))
def test_selection_by_a_score_is_its_argmin(rule, seed):
    X, y = data(30, 6, seed)
    curve = ridge_curve(X, y, np.logspace(-3, 3, 25), n_folds=5, n_repeats=1, random_state=0)
    assert curve.select(rule) == curve.scores[rule].idxmin()


def test_smaller_is_simpler_for_the_depth_of_a_tree():
    X, y = data(40, 3, seed=5)
    tree = DecisionTreeRegressor(random_state=0)
    curve = error_curve(
        tree, X, y, param_name="max_depth", param_range=range(1, 7), simpler="smaller", folds=random_folds(40, 5)
    )
    assert curve.select("one_se") == brute_one_se(curve) <= curve.select("min")


def test_larger_is_simpler_for_the_number_of_neighbours():
    X, y = data(40, 3, seed=6)
    curve = error_curve(
        KNeighborsRegressor(), X, y, param_name="n_neighbors", param_range=[1, 3, 6, 12, 20], folds=random_folds(40, 5)
    )
    assert curve.select("one_se") == brute_one_se(curve) >= curve.select("min")


@pytest.mark.parametrize(("simpler", "expected"), [("smaller", 20), ("larger", 60)])
@pytest.mark.parametrize("rule", ["min", "one_se", "kfold"])
def test_ties_go_to_the_simpler_value(simpler, expected, rule):
    x = np.linspace(0, 1, 30)[:, None]
    tree = DecisionTreeRegressor(random_state=0)
    values = [1, 20, 40, 60]  # the last three grow the same tree
    keywords = {"param_name": "max_depth", "param_range": values, "simpler": simpler}
    curve = error_curve(tree, x, x[:, 0], folds=random_folds(30, 5, 2), **keywords)
    assert curve.estimate[1] == curve.estimate[2] == curve.estimate[3] < curve.estimate[0]
    assert curve.select(rule) == expected


def test_names_count_in_the_order_given():
    X, y = data(30, 3, seed=8)
    names = ["uniform", "distance"]
    keywords = {"param_name": "weights", "folds": random_folds(30, 5)}
    for simpler in ("larger", "smaller"):
        curve = error_curve(KNeighborsRegressor(4), X, y, param_range=names, simpler=simpler, **keywords)
        assert list(curve.values) == names
        position, best = names.index(curve.select("one_se")), names.index(curve.select("min"))
        assert position >= best if simpler == "larger" else position <= best
        assert curve.refit("one_se").weights == curve.select("one_se")


@given(st.integers(0, 2**32 - 1))
def test_indistinguishable_holds_the_best_and_grows_with_the_level(seed):
    X, y = data(N, 4, seed)
    curve = ridge_curve(X, y, np.logspace(-2, 3, 8), n_folds="n")
    sets = [set(curve.indistinguishable(level)) for level in (0.01, 0.5, 0.9, 0.99, 0.999999)]
    assert curve.select("min") in sets[0]
    assert all(one <= other for one, other in pairwise(sets))
    assert set(curve.indistinguishable()) == set(curve.values[curve.difference.low <= 0])


def test_indistinguishable_leaves_out_what_is_clearly_worse():
    X, y = data(60, 3, seed=1)
    curve = ridge_curve(X, 10 * X[:, 0] + 0.1 * y, [1e-3, 1.0, 1e6], n_folds="n")
    assert 1e6 not in curve.indistinguishable(0.99)


def test_several_outputs_select_one_value_each():
    X, Y = data(30, 4, seed=9, n_outputs=2)
    Y[:, 1] = np.random.default_rng(0).standard_normal(30)  # noise: the larger the penalty the better
    alphas = np.logspace(-2, 4, 7)
    curve = ridge_curve(X, Y, alphas, n_folds="n")
    singles = [ridge_curve(X, column, alphas, n_folds="n") for column in Y.T]
    for rule in ("min", "one_se", "loo", "gcv", "reml", "kfold"):
        np.testing.assert_array_equal(curve.select(rule), [one.select(rule) for one in singles])
    for together, one in zip(curve.indistinguishable(), singles, strict=True):
        np.testing.assert_array_equal(together, one.indistinguishable())
    for key in FIGURES:
        alone = np.column_stack([getattr(one.difference, key) for one in singles])
        np.testing.assert_allclose(getattr(curve.difference, key), alone, rtol=PAIRED, atol=1e-12)
    assert len(set(curve.select("min"))) == 2
    deployed = curve.refit("min")
    for output, alpha in enumerate(curve.select("min")):
        np.testing.assert_allclose(deployed.predict(X)[:, output], Ridge(alpha).fit(X, Y[:, output]).predict(X))


@pytest.mark.parametrize(
    ("estimator", "name", "values"),
    [
        (onefit.PenalizedRegression(), "lam", np.logspace(-2, 4, 7)),
        (KNeighborsRegressor(), "n_neighbors", [1, 3, 5, 15]),
    ],
)
def test_outputs_that_select_different_values_of_one_parameter_are_an_error_or_a_fit_each(estimator, name, values):
    X = np.random.default_rng(9).standard_normal((30, 1))
    Y = np.column_stack([X[:, 0], np.random.default_rng(0).standard_normal(30)])  # a straight line, and noise
    curve = error_curve(estimator, X, Y, param_name=name, param_range=values, folds=random_folds(30, 5))
    assert len(set(curve.select("min"))) == 2
    try:
        deployed = curve.refit("min")
    except OneFitError as error:
        assert "output" in str(error)  # noqa: PT017
        return
    for output, value in enumerate(curve.select("min")):
        one = clone(estimator).set_params(**{name: value}).fit(X, Y[:, output])
        np.testing.assert_allclose(deployed.predict(X)[:, output], one.predict(X))


# ------------------------------------------------------------------------------------------------------- refit


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("rule", ["min", "one_se", "gcv"])
@pytest.mark.parametrize("model", MODELS)
def test_refit_is_a_direct_fit_at_the_selected_value(model, rule, weighted):
    X, y = small("folds")
    estimator, name = MODELS[model]
    weights = random_weights(N, "positive") if weighted else None
    keywords = {"param_name": name, "param_range": ALPHAS, "folds": random_folds(N, 5)}
    curve = error_curve(estimator, X, y, sample_weight=weights, **keywords)
    deployed = curve.refit(rule)
    assert deployed.get_params()[name] == curve.select(rule)
    direct = clone(estimator).set_params(**{name: curve.select(rule)})
    key = "ridge__sample_weight" if model == "pipeline" else "sample_weight"
    direct.fit(X, y, **({key: weights} if weighted else {}))
    np.testing.assert_array_equal(deployed.predict(X), direct.predict(X))
    assert estimator.get_params()[name] == 1.0
    assert not hasattr(estimator, "coef_")


def test_refit_of_a_tree_takes_a_whole_number():
    X, y = small("folds")
    tree = DecisionTreeRegressor(random_state=0)
    keywords = {"param_name": "max_depth", "simpler": "smaller", "folds": random_folds(N, 4)}
    curve = error_curve(tree, X, y, param_range=np.array([1, 2]), **keywords)
    assert curve.refit("one_se").get_depth() == curve.select("one_se")


@pytest.mark.parametrize("values", [[None, 2], ["sqrt", 2], [1, 2, None]])
def test_names_and_numbers_may_be_mixed(values):
    X, y = small("folds")
    tree = DecisionTreeRegressor(random_state=0)
    keywords = {"param_name": "max_features", "folds": random_folds(N, 4)}
    curve = error_curve(tree, X, y, param_range=values, **keywords)
    assert list(curve.values) == values
    assert curve.refit("min").max_features == curve.select("min")
    assert list(curve.to_frame().index) == values or None in values
    curve.plot()


# ------------------------------------------------------------------------------------------ values that fail


@pytest.mark.parametrize("n_folds", [5, "n"])
@pytest.mark.parametrize("route", ["auto", "gram", "onestep"])
def test_no_penalty_with_more_columns_than_rows_is_nan_with_its_reason(route, n_folds):
    X, y = data(N, 25, seed=0)
    keywords = {"n_folds": n_folds, "n_repeats": 1, "random_state": 0, "route": route}
    curve = ridge_curve(X, y, [0.0, 0.1, 10.0], **keywords)
    rest = ridge_curve(X, y, [0.1, 10.0], **keywords)
    assert curve.results[0] is None
    assert curve.reasons[0]
    assert list(curve.reasons[1:]) == ["", ""]
    for key in FIGURES:
        assert np.isnan(getattr(curve, key)[0])
        assert np.isnan(getattr(curve.difference, key)[0])
        np.testing.assert_allclose(getattr(curve, key)[1:], getattr(rest, key), rtol=STRICT)
    assert curve.scores.iloc[0].isna().all()
    assert curve.select("min") == rest.select("min")
    assert curve.select("one_se") == rest.select("one_se")
    assert 0.0 not in curve.indistinguishable(0.9999)
    assert len(curve.plot()) == 2


@pytest.mark.parametrize("values", [[1, 5, 12, 40], [40, 12, 5, 1]])
def test_a_refit_that_fails_at_a_value_is_nan_with_its_reason(values):
    X, y = data(20, 2, seed=0)
    keywords = {"param_name": "n_neighbors", "folds": random_folds(20, 4)}
    curve = error_curve(KNeighborsRegressor(), X, y, param_range=values, **keywords)
    failed = [value > 10 for value in values]  # ten rows are left without two folds
    np.testing.assert_array_equal(np.isnan(curve.estimate), failed)
    for reason, result, is_lost in zip(curve.reasons, curve.results, failed, strict=True):
        assert (result is None) == is_lost
        assert ("n_neighbors" in reason) == is_lost
    best = quiet_nested_cv(KNeighborsRegressor(5), X, y, folds=random_folds(20, 4))
    np.testing.assert_allclose(curve.estimate[values.index(5)], best.estimate, rtol=STRICT)
    assert list(curve.to_frame()["reason"] != "") == failed


def test_if_every_value_fails_the_curve_is_an_error():
    X, y = data(20, 2, seed=0)
    keywords = {"param_name": "n_neighbors", "folds": random_folds(20, 4)}
    with pytest.raises(OneFitError, match="n_neighbors"):
        error_curve(KNeighborsRegressor(), X, y, param_range=[30, 40], **keywords)


def test_a_column_that_no_penalty_reaches_fails_at_every_value():
    X, y = data(20, 3, seed=0)
    X[:, 2] = 0.0
    X[3, 2] = 1.0  # a dummy column of one row
    free = onefit.PenalizedRegression(penalty=np.diag([1.0, 1.0, 0.0]))
    with pytest.raises(OneFitError, match="fold"):
        error_curve(free, X, y, param_name="lam", param_range=ALPHAS, folds=random_folds(20, 4))


# ---------------------------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"param_range": []}, "at least two"),
        ({"param_range": [1.0]}, "nested_cv"),
        ({"param_range": 1.0}, "list or an array"),
        ({"param_range": [1.0, 0.1, 10.0]}, "sorted"),
        ({"param_range": [0.1, 1.0, 1.0]}, "equal values|duplicate"),
        ({"param_range": [-1.0, 1.0]}, "alpha.*-1|negative"),
        ({"param_range": [0.1, np.nan]}, "finite"),
        ({"param_range": [0.1, np.inf]}, "finite"),
        ({"param_range": [[0.1, 1.0], [1.0, 2.0]]}, "single values"),
        ({"param_range": ["small", "large"]}, "alpha"),
        ({"param_name": "lambda"}, "no parameter 'lambda'.*alpha"),
        ({"param_name": None}, "no parameter"),
        ({"simpler": "bigger"}, "larger.*smaller"),
    ],
)
def test_bad_input_is_named(keywords, message):
    X, y = small("folds")
    with pytest.raises(OneFitError, match=f"(?s){message}"):
        error_curve(Ridge(), X, y, **{"param_name": "alpha", "param_range": ALPHAS, **keywords})


def test_equal_names_are_an_error():
    X, y = small("folds")
    with pytest.raises(OneFitError):
        error_curve(KNeighborsRegressor(3), X, y, param_name="weights", param_range=["uniform"] * 2, n_repeats=1)


@pytest.mark.parametrize("estimator", [Ridge, object(), None])
def test_what_is_no_estimator_is_an_error(estimator):
    X, y = small("folds")
    with pytest.raises(OneFitError):
        error_curve(estimator, X, y, param_name="alpha", param_range=ALPHAS)


def test_unknown_rules_and_levels_are_errors():
    X, y = small("folds")
    curve = ridge_curve(X, y)
    with pytest.raises(OneFitError, match="one_se"):
        curve.select("best")
    for level in (0.0, 1.0, 95, "high"):
        with pytest.raises(OneFitError):
            curve.indistinguishable(level)


@pytest.mark.parametrize("rule", ["loo", "gcv", "reml"])
def test_a_score_that_does_not_apply_names_those_that_do(rule):
    X, y = small("folds")
    keywords = {"param_name": "n_neighbors", "param_range": [1, 3], "folds": random_folds(N, 4)}
    curve = error_curve(KNeighborsRegressor(), X, y, **keywords)
    with pytest.raises(OneFitError, match="'one_se', 'kfold'"):
        curve.select(rule)
    assert curve.select("kfold") in (1, 3)


# ------------------------------------------------------------------------------------------------------- scores


def hat_matrix(X, alpha, weights=None):
    """By columns: predictions at all rows of the unit vectors."""
    fits = [Ridge(alpha, tol=1e-14).fit(X, unit, sample_weight=weights).predict(X) for unit in np.eye(len(X))]
    return np.column_stack(fits)


@pytest.mark.parametrize("n_folds", [5, "n"])
@pytest.mark.parametrize("shape", [(N, 4), (N, 25)])
def test_scores_by_their_definitions(shape, n_folds):
    X, y = data(*shape, seed=3)
    n = len(y)
    curve = ridge_curve(X, y, n_folds=n_folds, n_repeats=2, random_state=0)
    assert list(curve.scores.columns) == ["loo", "gcv", "kfold", "ncv", "reml"]
    np.testing.assert_array_equal(curve.scores.index, ALPHAS)
    for v, alpha in enumerate(ALPHAS):
        H = hat_matrix(X, alpha)
        residuals = y - H @ y
        gcv = n * (residuals @ residuals) / (n - np.trace(H)) ** 2
        left_out = [y[i] - Ridge(alpha).fit(np.delete(X, i, 0), np.delete(y, i)).predict(X[[i]])[0] for i in range(n)]
        row = curve.scores.iloc[v]
        np.testing.assert_allclose(row["gcv"], gcv, rtol=1e-8)
        np.testing.assert_allclose(row["loo"], np.mean(np.square(left_out)), rtol=1e-8)
        np.testing.assert_allclose(row["kfold"], curve.results[v].fold_errors.e_out.mean(), rtol=STRICT)
        np.testing.assert_allclose(curve.edf[v], np.trace(H), rtol=1e-8)
    np.testing.assert_array_equal(curve.scores["ncv"], curve.estimate)
    if n_folds == "n":
        np.testing.assert_allclose(curve.scores["kfold"], curve.scores["loo"], rtol=1e-8)


def test_reml_by_the_likelihood_of_contrasts():
    """Minus the log-likelihood of n - 1 error contrasts, maximized over the scale; up to what alpha does not change."""
    X, y = data(N, 4, seed=7)
    curve = ridge_curve(X, y)
    contrasts = np.linalg.qr(np.column_stack([np.ones(N), np.eye(N)[:, 1:]]))[0][:, 1:]
    expected = []
    for alpha in ALPHAS:
        V = contrasts.T @ (np.eye(N) + X @ X.T / alpha) @ contrasts
        z = contrasts.T @ y
        scale = z @ np.linalg.solve(V, z) / (N - 1)
        expected.append((N - 1) / 2 * (1 + np.log(2 * np.pi * scale)) + np.linalg.slogdet(V)[1] / 2)
    actual = curve.scores["reml"].to_numpy()
    np.testing.assert_allclose(np.diff(actual), np.diff(expected), rtol=1e-8)
    assert curve.select("reml") == ALPHAS[int(np.argmin(expected))]


def test_scores_that_have_no_meaning_are_nan():
    X, y = small("folds")
    kernel = error_curve(KernelRidge(kernel="rbf"), X, y, param_name="alpha", param_range=ALPHAS)
    assert kernel.scores["reml"].isna().all()
    assert kernel.scores[["loo", "gcv", "kfold", "ncv"]].notna().all(axis=None)
    refitted = ridge_curve(X, y, route="refit", folds=random_folds(N, 4))
    assert refitted.scores[["kfold", "ncv"]].notna().all(axis=None)


# ---------------------------------------------------------------------------------------------- table and picture


def test_to_frame_has_a_row_for_each_value():
    X, y = small("folds")
    curve = ridge_curve(X, y)
    table = curve.to_frame()
    assert table.index.name == "alpha"
    np.testing.assert_array_equal(table.index, ALPHAS)
    for key in FIGURES:
        np.testing.assert_array_equal(table[key], getattr(curve, key))
        np.testing.assert_array_equal(table[f"difference_{key}"], getattr(curve.difference, key))
    for score in curve.scores:
        np.testing.assert_array_equal(table[score], curve.scores[score])
    assert (table["reason"] == "").all()


def test_to_frame_of_several_outputs_has_a_level_for_them():
    X, Y = small("outputs")
    curve = ridge_curve(X, Y)
    table = curve.to_frame()
    assert list(table.index.names) == ["alpha", "output"]
    assert len(table) == 2 * len(ALPHAS)
    for output, name in enumerate(curve.output_names):
        part = table.xs(name, level="output")
        np.testing.assert_array_equal(part["estimate"], curve.estimate[:, output])
        np.testing.assert_array_equal(part["gcv"], curve.scores[("gcv", name)])


@pytest.mark.parametrize("n_outputs", [None, 2])
def test_the_summary_says_the_best_value_and_those_that_are_as_good(n_outputs):
    X, y = data(60, 3, seed=4, n_outputs=n_outputs)
    curve = onefit.error_curve(Ridge(), X, y, param_name="alpha", param_range=[0.01, 1.0, 1e6])
    text = curve.summary()
    assert text.count("at alpha") == text.count("cannot be told from the best") == (n_outputs or 1)
    assert "chosen on the same rows" in text
    for q, line in enumerate(line for line in text.splitlines() if "at alpha" in line):
        best = int(np.atleast_1d(curve.best)[q])
        figures = (np.reshape(part, (3, -1))[best, q] for part in (curve.estimate, curve.low, curve.high))
        assert "squared error {}, 95% interval {} to {}, at alpha".format(*interval_text(*figures)) in line
        assert line.endswith(f"{curve.values[best]:g}")


def test_repr_says_what_was_selected():
    X, y = small("folds")
    curve = ridge_curve(X, y)
    text = repr(curve)
    for part in ("ErrorCurve of alpha", "3 values", "0.05", "40", "min", "one_se", f"{curve.select('min'):.4g}"):
        assert part in text
    assert "np.float64" not in text


def test_the_curve_is_frozen():
    X, y = small("folds")
    curve = ridge_curve(X, y)
    with pytest.raises(AttributeError):
        curve.estimate = curve.low


@pytest.mark.parametrize("output", [0, 1])
def test_plot_draws_two_axes(output):
    from matplotlib import pyplot as plt

    X, Y = small("outputs")
    curve = ridge_curve(X, Y, np.logspace(-2, 3, 6))
    upper, lower = curve.plot(output=output)
    assert upper.get_xscale() == "log"
    assert lower.get_xlabel() == "alpha"
    line = next(line for line in upper.lines if len(line.get_xdata()) == 6)
    np.testing.assert_allclose(line.get_ydata(), curve.estimate[:, output])
    _, axes = plt.subplots(2)
    assert list(curve.plot(axes=axes, output=output)) == list(axes)
    plt.close("all")


def test_plot_of_names():
    from matplotlib import pyplot as plt

    X, y = small("folds")
    keywords = {"param_name": "weights", "param_range": ["uniform", "distance"], "folds": random_folds(N, 4)}
    upper, lower = error_curve(KNeighborsRegressor(3), X, y, **keywords).plot()
    assert [label.get_text() for label in lower.get_xticklabels()] == ["uniform", "distance"]
    assert len(upper.collections) + len(upper.lines) > 0
    plt.close("all")


def test_a_classifier_by_refits_along_c():
    rng = np.random.default_rng(4)
    X = rng.standard_normal((30, 2))
    y = (X[:, 0] + rng.standard_normal(30) > 0).astype(int)
    keywords = {
        "param_name": "C",
        "param_range": [0.01, 1.0, 100.0],
        "simpler": "smaller",
        "folds": random_folds(30, 4),
    }
    curve = error_curve(LogisticRegression(), X, y, **keywords)
    assert curve.select("one_se") == brute_one_se(curve)
    assert relative_gap(curve.scores["ncv"], curve.estimate) == 0
    assert ((curve.low >= 0) & (curve.high <= 1)).all()


def test_the_example_ends_in_advice_and_a_picture(tmp_path, capsys):
    example = Path(__file__).resolve().parents[2] / "examples" / "diabetes_curve.py"
    runpy.run_path(str(example))["main"](["--output", str(tmp_path)])
    assert (tmp_path / "curve.png").read_bytes().startswith(b"\x89PNG")
    printed = capsys.readouterr().out
    assert "Deploy alpha = " in printed
    assert "one_se" in printed


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("alpha", "did you mean 'ridge__alpha'"),
        ("rigde__alpha", "did you mean 'ridge__alpha'"),
        ("zzz", "it has memory"),
    ],
)
def test_a_parameter_that_is_not_there_is_answered_by_one_that_is(name, meant):
    X, y = small("folds")
    with pytest.raises(OneFitError, match=f"no parameter '{name}'; {meant}"):
        error_curve(make_pipeline(StandardScaler(), Ridge()), X, y, param_name=name, param_range=[0.1, 1.0])
