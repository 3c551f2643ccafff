"""PolynomialFeatures behind steps that learn, and last steps that are ridge regressions by another name."""

import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, PolynomialFeatures, RobustScaler, StandardScaler

import onefit
from helpers import STRICT, quiet_nested_cv, quietly
from onefit.learners import fixedfeatures

N = 70
OPTIONS = {"n_folds": 3, "n_repeats": 1, "random_state": 0}


@pytest.fixture
def frame():
    rng = np.random.default_rng(3)
    table = pd.DataFrame(rng.normal(size=(N, 3)) * [1.0, 5.0, 0.2] + [3.0, 90.0, -2.0], columns=list("abc"))
    table["d"] = rng.integers(0, 2, N).astype(float)
    y = table["a"].to_numpy() * (1 + table["c"].to_numpy()) + rng.normal(size=N)
    table["colour"] = rng.choice(["red", "green", "blue"], size=N)
    return table, y


def with_gaps(table):
    rng = np.random.default_rng(0)
    return table.mask(rng.random(table.shape) < 0.1)


def both(model, X, y, **options):
    fast, slow = (quiet_nested_cv(model, X, y, route=route, **OPTIONS, **options) for route in ("auto", "refit"))
    for name in ("cv_estimate", "raw_estimate", "standard_error"):
        np.testing.assert_allclose(getattr(fast, name), getattr(slow, name), rtol=STRICT)
    return fast


POLYNOMIALS = [
    PolynomialFeatures(),
    PolynomialFeatures(3, include_bias=False),
    PolynomialFeatures((2, 3)),
    PolynomialFeatures(interaction_only=True),
]


@pytest.mark.sweep(3)
@pytest.mark.parametrize("polynomial", POLYNOMIALS, ids=str)
@pytest.mark.parametrize("last", [Ridge(0.5), Ridge(0.5, fit_intercept=False)], ids=str)
@pytest.mark.parametrize("scaler", [StandardScaler(), MinMaxScaler((-1, 1)), RobustScaler()], ids=str)
def test_products_of_scaled_columns_equal_refits(frame, scaler, polynomial, last):
    table, y = frame
    assert both(make_pipeline(scaler, polynomial, last), table[list("abcd")], y).route == "gram"


def test_least_squares_weights_and_a_scaler_after_the_products(frame):
    table, y = frame
    X, weights = with_gaps(table[list("abcd")]), np.random.default_rng(1).choice([0.0, 0.7, 1.3], N)
    first = make_pipeline(SimpleImputer(), StandardScaler(), PolynomialFeatures(include_bias=False))
    assert both(make_pipeline(first, LinearRegression()), X, y, sample_weight=weights).route == "gram"
    assert both(make_pipeline(first, StandardScaler(), Ridge()), X, y).route == "gram"


def test_products_across_parts_of_a_column_transformer(frame):
    table, y = frame
    parts = make_column_transformer(
        (StandardScaler(), ["a", "d"]), (make_pipeline(SimpleImputer(strategy="median"), MinMaxScaler()), ["b"])
    )
    X = table.assign(b=with_gaps(table)["b"])
    assert both(make_pipeline(parts, PolynomialFeatures(), Ridge()), X, y).route == "gram"


def test_a_training_set_in_which_a_column_is_constant(frame):
    table, y = frame
    X = table[["a", "b"]].assign(rare=(np.arange(N) == 5).astype(float))
    assert both(make_pipeline(StandardScaler(), PolynomialFeatures(), Ridge()), X, y).route == "gram"


def test_dummies_and_wide_tables_go_by_refits_with_a_reason(frame, monkeypatch):
    table, y = frame
    encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    model = make_pipeline(make_column_transformer((encoder, ["colour"])), PolynomialFeatures(), Ridge())
    found = quiet_nested_cv(model, table, y, **OPTIONS)
    assert (found.route, "not the same in every training set" in found.route_reason) == ("refit", True)
    monkeypatch.setattr(sys.modules["onefit.learners.steps.polynomial"], "MOST_OUTPUTS", 4)
    model = make_pipeline(StandardScaler(), PolynomialFeatures(), Ridge())
    found = quiet_nested_cv(model, table[["a", "b"]], y, **OPTIONS)
    assert (found.route, "makes 6 columns" in found.route_reason) == ("refit", True)


def test_a_curve_over_the_degree(frame):
    table, y = frame
    model, X = make_pipeline(StandardScaler(), PolynomialFeatures(), Ridge()), table[["a", "c"]]
    given = {"param_name": "polynomialfeatures__degree", "param_range": [1, 2, 3], **OPTIONS}
    fast, slow = (quietly(onefit.error_curve, model, X, y, route=route, **given) for route in ("auto", "refit"))
    assert {result.route for result in fast.results} == {"gram"}
    np.testing.assert_allclose(fast.estimate, slow.estimate, rtol=STRICT)


def test_products_of_sparse_fixed_features(frame, monkeypatch):
    monkeypatch.setattr(fixedfeatures, "MOST_DENSE_BYTES", 0)
    table, y = frame
    X = with_gaps(table[["a", "b"]])
    model = make_pipeline(SimpleImputer(), StandardScaler(), PolynomialFeatures(), Ridge())
    assert both(model, X, y).route == "gram"


# ----------------------------------------------------------------------------------- ridge regression by other names


def pipeline(last):
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    levels = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    return make_pipeline(make_column_transformer((numbers, ["a", "b"]), (levels, ["colour"])), last)


@pytest.mark.parametrize(
    "last",
    [KernelRidge(alpha=0.5), onefit.PenalizedRegression(lam=2.0), onefit.PenalizedRegression(fit_intercept=False)],
    ids=str,
)
@pytest.mark.parametrize("is_weighted", [False, True])
def test_ridge_regressions_by_other_names_behind_steps(frame, last, is_weighted):
    table, y = frame
    weights = np.random.default_rng(1).choice([0.0, 0.7, 1.3], N) if is_weighted else None
    assert both(pipeline(last), table, y, sample_weight=weights).route == "gram"


@pytest.mark.parametrize(
    ("last", "reason"),
    [
        (KernelRidge(kernel="rbf"), "is not linear"),
        (onefit.PenalizedRegression(lam="gcv"), "by a criterion"),
        (onefit.PenalizedRegression(penalty=np.eye(5)), "no ridge regression with a penalty"),
    ],
)
def test_others_are_refitted_with_a_reason(frame, last, reason):
    table, y = frame
    found = quiet_nested_cv(pipeline(last), table, y, **OPTIONS)
    assert found.route == "refit"
    assert reason in found.route_reason


@pytest.mark.parametrize(
    ("last", "name"),
    [(KernelRidge(), "kernelridge__alpha"), (onefit.PenalizedRegression(), "penalizedregression__lam")],
)
def test_curves_over_their_penalties(frame, last, name):
    table, y = frame
    given = {"param_name": name, "param_range": [0.1, 1.0, 10.0], **OPTIONS}
    fast, slow = (
        quietly(onefit.error_curve, pipeline(last), table, y, route=route, **given) for route in ("auto", "refit")
    )
    assert {result.route for result in fast.results} == {"gram"}
    np.testing.assert_allclose(fast.estimate, slow.estimate, rtol=STRICT)
