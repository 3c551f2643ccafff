"""Lassos with many solutions: told where these predict held-out rows otherwise, and nowhere else."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import ElasticNet, Lasso, LassoCV, Ridge
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder

import onefit
from helpers import quietly
from onefit.learners.lasso import tight
from onefit.learners.solutions import differ

SETTINGS = {"n_folds": 5, "n_repeats": 1, "random_state": 0}


def table(n: int, n_levels: int, seed: int = 3) -> tuple[pd.DataFrame, np.ndarray]:
    """Two categories; of many levels, most are rare."""
    rng = np.random.default_rng(seed)
    shares = 1.0 / np.arange(1, n_levels + 1)
    codes = rng.choice(n_levels, size=(n, 2), p=shares / shares.sum())
    effects, x = rng.standard_normal((2, n_levels)), rng.standard_normal(n)
    y = x + effects[0, codes[:, 0]] + effects[1, codes[:, 1]] + 0.5 * rng.standard_normal(n)
    return pd.DataFrame({"a": codes[:, 0].astype(str), "b": codes[:, 1].astype(str), "x": x}), y


def dummies(n: int, n_levels: int) -> tuple[np.ndarray, np.ndarray]:
    """The same as columns of numbers."""
    frame, y = table(n, n_levels)
    return np.asarray(pd.get_dummies(frame, dtype=float)), y


def behind_levels(last: object) -> Pipeline:
    encoder = OneHotEncoder(handle_unknown="ignore")
    return make_pipeline(make_column_transformer((encoder, ["a", "b"]), remainder="passthrough"), last)


def is_told(result: onefit.NestedCVResult) -> bool:
    return any("many solutions" in finding.message and "ElasticNet" in finding.remedy for finding in result.findings)


@pytest.mark.parametrize(("alpha", "is_one_of_many"), [(0.01, True), (0.3, False)])
@pytest.mark.parametrize("route", ["gram", "refit"])
def test_it_is_told_where_the_order_of_the_columns_changes_the_figures(alpha, is_one_of_many, route):
    X, y = dummies(120, 40)
    assert is_told(quietly(onefit.nested_cv, Lasso(alpha=alpha), X, y, **SETTINGS, route=route)) == is_one_of_many
    one, other = (
        quietly(onefit.nested_cv, tight(Lasso(alpha=alpha)), columns, y, **SETTINGS, route="refit").estimate
        for columns in (X, X[:, ::-1])
    )
    assert (abs(one / other - 1) > 1e-3) == is_one_of_many


@pytest.mark.parametrize("last", [Lasso(alpha=0.01), LassoCV(cv=2)])
def test_it_is_told_of_pipelines_too(last):
    assert is_told(quietly(onefit.nested_cv, behind_levels(last), *table(120, 40), **SETTINGS))


def data(n: int, p: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, p))
    return X, X[:, 0] + rng.normal(size=n)


X, Y = data(80, 8)
FINE = {
    "columns of their own": (Lasso(alpha=0.02), X, Y),
    "a column that is there twice, in every row": (Lasso(alpha=0.02), np.hstack([X, X[:, :2]]), Y),
    "more columns than rows": (Lasso(alpha=0.05), *data(60, 150)),
    "a search of few columns": (LassoCV(cv=3), X, Y),
    "levels that sum to one": (Lasso(alpha=0.01), *dummies(120, 3)),
    "levels behind an encoder": (behind_levels(Lasso(alpha=0.01)), *table(120, 3)),
    "a net": (ElasticNet(alpha=0.01), *dummies(120, 40)),
}


@pytest.mark.parametrize("route", ["auto", "refit"])
@pytest.mark.parametrize("name", FINE)
def test_nothing_is_told_where_all_solutions_predict_the_same(name, route):
    model, columns, y = FINE[name]
    assert not is_told(quietly(onefit.nested_cv, model, columns, y, **SETTINGS, route=route))


def test_it_is_told_of_the_models_and_values_that_it_is_about():
    columns, y = dummies(120, 40)
    results = quietly(onefit.compare, {"ridge": Ridge(), "lasso": Lasso(alpha=0.01)}, columns, y, **SETTINGS).results
    assert {name: is_told(each) for name, each in results.items()} == {"ridge": False, "lasso": True}
    path = {"param_name": "alpha", "param_range": [0.01, 0.3, 1.0]}
    curve = quietly(onefit.error_curve, Lasso(), columns, y, **path, **SETTINGS)
    assert [is_told(each) for each in curve.results] == [True, False, False]


def test_solutions_of_two_columns_that_are_one_in_the_training_set_differ_where_they_are_two():
    """Any share of the one coefficient is a solution: a row that has only the first tells them apart."""
    x = np.array([1.0, 2.0, 3.0, 4.0])
    Z, y, root = np.c_[x, x], x[:, None], np.ones(4)
    for held, expected in (([[1.0, 0.0]], True), ([[1.0, 1.0]], False), ([[1.0, 1.0], [0.0, 2.0]], True)):
        for positive in (False, True):
            assert differ(Z, y, root, 0.1, np.array(held), False, positive) is expected
    assert not differ(Z, y, root, 10.0, np.array([[1.0, 0.0]]), False, False)  # both are zero, whatever they are
    assert not differ(np.c_[x, 2 * x], y, root, 0.1, np.array([[1.0, 0.0]]), False, False)  # the longer one alone


@pytest.mark.parametrize("route", ["gram", "refit"])
def test_no_value_of_a_curve_is_left_out_between_two_that_are_told_of(route):
    """Refits look at some values only: the others are as their neighbours."""
    rng = np.random.default_rng(1)
    rare = (rng.random((60, 80)) < 0.03).astype(float)
    y = rare[:, :6] @ np.ones(6) + rng.normal(size=60)
    path = {"param_name": "alpha", "param_range": np.logspace(-3, -2, 12)}
    curve = quietly(onefit.error_curve, tight(Lasso()), rare, y, **path, **SETTINGS, route=route)
    assert all(map(is_told, curve.results))
