"""Comparison of models: paired differences on the same folds, through the public API."""

from __future__ import annotations

from functools import cache
from itertools import combinations, product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.dummy import DummyRegressor
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge, RidgeClassifier, RidgeCV
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import onefit
import reference
from helpers import (
    FAST_ROUTES,
    STRICT,
    assert_same_results,
    data,
    quiet_nested_cv,
    quietly,
    random_folds,
    random_groups,
    random_weights,
)
from onefit.display.numbers import interval_text
from onefit.errors import OneFitError

FIGURES = ["estimate", "low", "high", "standard_error"]
PAIRED = 1e-8
N = 13
SMOOTHERS = {
    "strong": Ridge(100.0),
    "ols": LinearRegression(),
    "kernel": KernelRidge(alpha=0.5, kernel="rbf", gamma=0.2),
    "own": onefit.PenalizedRegression(penalty=np.diag([1.0, 0.0, 2.0]), lam=3.0),
}
MIXED = {"ridge": Ridge(1.0), "neighbours": KNeighborsRegressor(3), "tuned": RidgeCV([0.1, 10.0])}
GROUPS = random_groups(N, 7, seed=1)
SETTINGS = {
    "folds": {"folds": random_folds(N, 4, 2)},
    "weights": {"folds": random_folds(N, 4, 2), "sample_weight": random_weights(N, "positive")},
    "groups": {"folds": random_folds(7, 4, 2)[:, GROUPS], "groups": GROUPS},
    "n": {"n_folds": "n"},
    "n groups weights": {"n_folds": "n", "groups": GROUPS, "sample_weight": random_weights(N, "positive")},
}


def compare(*args, **kwargs):
    return quietly(onefit.compare, *args, **kwargs)


def reference_losses(models, X, y, loss="squared_error", folds=None, groups=None, sample_weight=None, **_):
    """Held-out losses of each model by plain refits."""
    ids = np.arange(len(y)) if groups is None else groups
    folds = ids[None] if folds is None else folds
    return {
        name: reference.fold_losses(
            y, folds, reference.estimator_refitter(model, X, y, sample_weight), loss, sample_weight, groups
        )
        for name, model in models.items()
    }


@cache
def smoother_losses(setting):
    X, y = data(N, 3, seed=2)
    return reference_losses(SMOOTHERS, X, y, **SETTINGS[setting])


def assert_differences(comparison, losses, output=None):
    """Every pair of the table against the double loop."""
    table = comparison.to_frame()
    assert len(table) == len(losses) * (len(losses) - 1) // 2 * len(comparison.output_names or [None])
    for first, second in combinations(dict.fromkeys(comparison.results), 2):
        expected = reference.paired(losses[first], losses[second], comparison.confidence_level)
        row = table.loc[(first, second) if output is None else (first, second, output)]
        for key in FIGURES:
            np.testing.assert_allclose(row[key], getattr(expected, key), rtol=PAIRED, err_msg=f"{first} {second} {key}")


# -------------------------------------------------------------------------------------------------- differences


@pytest.mark.parametrize(
    ("setting", "route"), [*product(SETTINGS, FAST_ROUTES), ("weights", "refit"), ("groups", "refit")]
)
def test_differences_of_smoothers_equal_the_double_loop(setting, route):
    X, y = data(N, 3, seed=2)
    comparison = compare(SMOOTHERS, X, y, route=route, confidence_level=0.9, **SETTINGS[setting])
    assert set(comparison.models["route"]) == {route}
    assert_differences(comparison, smoother_losses(setting))


def test_a_mixture_of_routes_on_the_same_folds():
    X, y = data(24, 3, seed=3)
    folds = random_folds(24, 5, 2)
    comparison = compare(MIXED, X, y, folds=folds)
    assert comparison.results["neighbours"].route == "neighbours"
    assert comparison.results["ridge"].route in ("gram", "onestep")
    assert comparison.results["tuned"].route in ("gram", "onestep")
    assert_differences(comparison, reference_losses(MIXED, X, y, folds=folds))


def test_a_mixture_of_routes_draws_the_same_folds_for_all():
    X, y = data(24, 3, seed=4)
    keywords = {"n_folds": 4, "n_repeats": 2, "random_state": 7}
    comparison = compare(MIXED, X, y, **keywords)
    for name, model in MIXED.items():
        assert_same_results(comparison.results[name], quiet_nested_cv(model, X, y, **keywords))


def test_one_number_of_folds_for_all():
    X, y = data(24, 3, seed=4)
    mixed = compare({"ridge": Ridge(), "neighbours": KNeighborsRegressor(3)}, X, y, n_repeats=1, random_state=0)
    assert {result.n_folds for result in mixed.results.values()} == {10}
    smoothers = compare(SMOOTHERS, X, y)
    assert {result.n_folds for result in smoothers.results.values()} == {24}
    for name, model in SMOOTHERS.items():
        assert_same_results(smoothers.results[name], quiet_nested_cv(model, X, y))


@pytest.mark.parametrize("loss", ["absolute_error", lambda y, prediction: y - prediction])
@pytest.mark.parametrize("n_folds", [4, "n"])
def test_other_losses(loss, n_folds):
    X, y = data(N, 3, seed=5)
    models = {"ridge": Ridge(1.0), "ols": LinearRegression()}
    keywords = {"n_folds": "n"} if n_folds == "n" else {"folds": random_folds(N, 4)}
    comparison = compare(models, X, y, loss=loss, **keywords)
    assert_differences(comparison, reference_losses(models, X, y, loss, **keywords))


def test_classifiers():
    rng = np.random.default_rng(6)
    X = rng.standard_normal((30, 2))
    y = np.where(X[:, 0] + rng.standard_normal(30) > 0, "yes", "no")
    folds = random_folds(30, 4, 2)
    models = {"ridge": RidgeClassifier(), "logistic": LogisticRegression(), "strong": LogisticRegression(C=0.01)}
    comparison = compare(models, X, y, folds=folds)
    assert comparison.loss == "zero_one"
    assert comparison.models.loc["ridge", "route"] != "refit"
    assert_differences(comparison, reference_losses(models, X, y, "zero_one", folds=folds))


@pytest.mark.parametrize("setting", ["folds", "n"])
def test_several_outputs(setting):
    X, Y = data(N, 3, seed=8, n_outputs=2)
    models = {"ridge": Ridge(10.0), "ols": LinearRegression()}
    comparison = compare(models, X, Y, **SETTINGS[setting])
    assert comparison.differences.index.names == ["first", "second", "output"]
    assert comparison.models.index.names == ["model", "output"]
    for output, name in enumerate(comparison.output_names):
        losses = reference_losses(models, X, Y[:, output], **SETTINGS[setting])
        assert_differences(comparison, losses, name)


@given(st.integers(0, 2**32 - 1), st.sampled_from([5, "n"]))
def test_swapping_names_flips_signs(seed, n_folds):
    X, y = data(N, 3, seed)
    one, other = Ridge(0.1), Ridge(50.0)
    keywords = {"n_folds": n_folds, "n_repeats": 2, "random_state": 0}
    models = {"a": one, "b": other}, {"a": other, "b": one}
    straight, swapped = (compare(each, X, y, **keywords).to_frame().iloc[0] for each in models)
    # the first of the table has the smaller error, whatever its name, so both say the same of the same models
    assert straight.name == swapped.name[::-1]
    np.testing.assert_allclose(straight[FIGURES], swapped[FIGURES], rtol=PAIRED)
    forth, back = (compare(dict(reversed(each.items())), X, y, **keywords).to_frame().iloc[0] for each in models)
    assert forth.name == straight.name
    np.testing.assert_allclose(forth[FIGURES], straight[FIGURES], rtol=PAIRED)
    np.testing.assert_allclose(back[FIGURES], straight[FIGURES], rtol=PAIRED)


@given(st.integers(0, 2**32 - 1))
def test_differences_add_up_and_the_interval_is_symmetric(seed):
    X, y = data(N, 3, seed)
    table = compare(SMOOTHERS, X, y, n_folds="n").to_frame()["estimate"]
    names = list(dict.fromkeys(table.index.get_level_values(0)))
    names += [name for name in SMOOTHERS if name not in names]
    for a, b, c in combinations(names, 3):
        np.testing.assert_allclose(table[(a, b)] + table[(b, c)], table[(a, c)], rtol=1e-6, atol=1e-9)


def test_a_model_does_not_differ_from_itself():
    X, y = data(N, 3, seed=9)
    table = compare({"one": Ridge(), "same": Ridge(), "other": Ridge(5.0)}, X, y, n_folds=5, n_repeats=2).to_frame()
    same = table.loc[[pair for pair in table.index if set(pair) == {"one", "same"}], FIGURES]
    np.testing.assert_array_equal(same, 0.0)


# ---------------------------------------------------------------------------------------------- tables and order


def test_models_are_ordered_by_error_and_pairs_follow():
    X, y = data(N, 3, seed=10)
    comparison = compare(SMOOTHERS, X, y, n_folds="n")
    assert comparison.models["estimate"].is_monotonic_increasing
    order = list(comparison.models.index)
    assert set(order) == set(SMOOTHERS)
    assert list(comparison.results) == order
    assert list(comparison.differences.index) == list(combinations(order, 2))
    for name, result in comparison.results.items():
        row = comparison.models.loc[name]
        np.testing.assert_allclose(row[["estimate", "low", "high"]].astype(float), [result.estimate, *result.interval])
        assert row["route"] == result.route


@pytest.mark.parametrize("rule", ["bates", "naive"])
def test_the_models_take_the_rule_asked_for_and_the_differences_the_covariance_rule(rule):
    X, y = data(N, 3, seed=11)
    models = {"ridge": Ridge(10.0), "ols": LinearRegression()}
    folds = random_folds(N, 4, 2)
    comparison = compare(models, X, y, folds=folds, interval=rule)
    for name, model in models.items():
        one = quiet_nested_cv(model, X, y, folds=folds, interval=rule)
        np.testing.assert_allclose(comparison.models.loc[name, "high"], one.interval[1], rtol=STRICT)
    assert_differences(comparison, reference_losses(models, X, y, folds=folds))


def test_to_frame_is_a_copy_and_repr_holds_both_tables():
    X, y = data(N, 3, seed=12)
    comparison = compare({"ridge": Ridge(10.0), "ols": LinearRegression()}, X, y)
    table = comparison.to_frame()
    assert isinstance(table, pd.DataFrame)
    assert table.index.names == ["first", "second"]
    assert list(table.columns) == FIGURES
    table.iloc[:] = 0.0
    assert (comparison.to_frame()["standard_error"] > 0).all()
    for part in ("Comparison", "squared error", "95%", "ridge", "ols", "paired differences"):
        assert part in repr(comparison)


def test_the_summary_has_the_digits_that_intervals_bear_and_what_differences_tell():
    X, y = data(60, 3, seed=12)
    models = {"mean": Ridge(1e9), "ridge": Ridge(0.1), "ols": LinearRegression()}
    comparison = onefit.compare(models, X, 100 * y, n_folds=5, n_repeats=4, random_state=0)
    rows = comparison.summary().splitlines()
    for name, row in comparison.models.iterrows():
        (line,) = [line.split() for line in rows if line.split()[:1] == [name] and "-" not in line]
        assert line[1:4] == list(interval_text(row["estimate"], row["low"], row["high"]))
    told = [line for line in rows if line.endswith(("predicts better", "not told apart"))]
    assert len(told) == len(comparison.differences) == 3
    assert {line.endswith("predicts better") for line in told if " mean " in line} == {True}


@pytest.mark.parametrize("n_outputs", [None, 2])
def test_plot_draws_models_and_pairs(n_outputs):
    from matplotlib import pyplot as plt

    X, y = data(N, 3, seed=13, n_outputs=n_outputs)
    models = {"ridge": Ridge(10.0), "ols": LinearRegression(), "strong": Ridge(1e3)}
    comparison = compare(models, X, y)
    left, right = comparison.plot(output=0 if n_outputs is None else 1)
    order = list(dict.fromkeys(comparison.models.index.get_level_values(0)))
    assert {label.get_text() for label in left.get_yticklabels()} == set(order)
    assert len(right.get_yticklabels()) == 3
    _, axes = plt.subplots(1, 2)
    assert list(comparison.plot(axes=axes)) == list(axes)
    plt.close("all")


# ---------------------------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("estimators", "message"),
    [
        ({"ridge": Ridge()}, "at least two"),
        ({}, "at least two"),
        ([Ridge(), LinearRegression()], "dictionary"),
        (Ridge(), "dictionary"),
        ({"ridge": Ridge(), "class": RidgeClassifier()}, "classifiers"),
        ({"ridge": Ridge(), "nothing": None}, "fit and predict"),
        (
            {"ridge": Ridge(), "type": LinearRegression},
            "is a class, not an estimator object: write",
        ),
        ({"ridge": Ridge(), "scaler": StandardScaler()}, "fit and predict"),
        ({1: Ridge(), "1": LinearRegression()}, "name"),
    ],
)
def test_bad_input_is_named(estimators, message):
    X, y = data(N, 3, seed=0)
    with pytest.raises(OneFitError, match=message):
        compare(estimators, X, (y > 3).astype(int))


def test_weights_that_a_model_cannot_take_are_an_error():
    X, y = data(N, 3, seed=0)
    models = {"ridge": Ridge(), "neighbours": KNeighborsRegressor(3)}
    with pytest.raises(OneFitError, match="KNeighborsRegressor"):
        compare(models, X, y, sample_weight=random_weights(N, "positive"))


def test_a_model_that_fails_says_where():
    X, y = data(N, 3, seed=0)
    with pytest.raises(OneFitError, match="KNeighborsRegressor cannot be fitted"):
        compare({"ridge": Ridge(), "neighbours": KNeighborsRegressor(12)}, X, y, n_folds=3, n_repeats=1)


def test_the_estimators_are_left_alone():
    X, y = data(N, 3, seed=0)
    models = {"ridge": Ridge(), "scaled": make_pipeline(StandardScaler(), Ridge())}
    compare(models, X, y, n_folds=4, n_repeats=1)
    assert not hasattr(models["ridge"], "coef_")
    assert not hasattr(models["scaled"][-1], "coef_")


@pytest.mark.parametrize("route", ["auto", "refit"])
@pytest.mark.parametrize("container", [np.asarray, pd.DataFrame])
def test_five_models_look_through_the_data_as_often_as_two(monkeypatch, container, route):
    X, y = data(41, 7, seed=0)
    passes, isfinite = [], np.isfinite

    def counted(values, *args, **kwargs):
        passes.append(np.shape(values) == X.shape)
        return isfinite(values, *args, **kwargs)

    monkeypatch.setattr(np, "isfinite", counted)
    models = {f"alpha {alpha}": Ridge(alpha) for alpha in (1.0, 2.0, 3.0, 4.0, 5.0)}
    counts = []
    for some in (dict(list(models.items())[:2]), models):
        passes.clear()
        quietly(compare, some, container(X), y, n_folds=4, n_repeats=1, route=route)
        counts.append(sum(passes))
    assert counts == [counts[0]] * 2
    assert 1 <= counts[0] <= 2  # the check, and the matrix that the fast routes compute with


def test_the_heat_map_has_row_minus_column_in_every_cell_and_bold_where_they_are_told_apart():
    X, y = data(60, 4, seed=3)
    models = {"ridge": Ridge(0.1), "mean": DummyRegressor(), "strong": Ridge(500.0)}
    found = quietly(onefit.compare, models, X, y, n_folds=5, n_repeats=2, random_state=0)
    plt = pytest.importorskip("matplotlib.pyplot")
    ax = found.plot(kind="heatmap")
    names = [label.get_text() for label in ax.get_yticklabels()]
    assert names == list(found.models.index)
    cells = {(names[round(t.get_position()[1])], names[round(t.get_position()[0])]): t for t in ax.texts}
    assert len(cells) == 6
    for (first, second), row in found.differences.iterrows():
        both = cells[first, second], cells[second, first]
        assert float(both[0].get_text().replace(",", "")) == pytest.approx(row["estimate"], abs=0.01, rel=0.01)
        assert float(both[1].get_text().replace(",", "")) == pytest.approx(-row["estimate"], abs=0.01, rel=0.01)
        is_told = row["low"] > 0 or row["high"] < 0
        assert {text.get_weight() for text in both} == {"bold" if is_told else "normal"}
    plt.close(ax.figure)
    with pytest.raises(OneFitError, match="kind"):
        found.plot(kind="map")
