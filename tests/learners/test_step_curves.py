"""Curves over options of steps equal refits at every value, from one set of sums; values that fail spoil no other."""

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import TransformedTargetRegressor, make_column_transformer
from sklearn.decomposition import PCA
from sklearn.feature_selection import SelectKBest, f_regression
from sklearn.impute import SimpleImputer
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LinearRegression, Ridge, RidgeClassifier, RidgeCV
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, OrdinalEncoder, RobustScaler, StandardScaler
from sklearn.tree import DecisionTreeRegressor

import onefit
from helpers import STRICT, quietly
from onefit.routes.encoded import EncodedEngine

N = 60
OPTIONS = {"n_folds": 3, "n_repeats": 1, "random_state": 0}


@pytest.fixture
def frame():
    rng = np.random.default_rng(3)
    table = pd.DataFrame(rng.normal(size=(N, 3)) * [1.0, 5.0, 0.2] + 3.0, columns=list("abc"))
    table["colour"] = rng.choice(["red", "green", "blue", "pink"], p=[0.5, 0.3, 0.15, 0.05], size=N)
    table["size"] = rng.choice(list("SML"), size=N)
    y = table["a"].to_numpy() + (table["colour"] == "red") + rng.normal(size=N)
    table.loc[rng.random(N) < 0.15, ["a", "b"]] = np.nan
    return table, y


def pipeline(last=None):
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    levels = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    steps = make_column_transformer((numbers, ["a", "b", "c"]), (levels, ["colour", "size"]))
    return make_pipeline(steps, SelectKBest(f_regression, k="all"), "passthrough", last or Ridge())


def curves(model, X, y, name, values, **options):
    return [
        quietly(onefit.error_curve, model, X, y, param_name=name, param_range=values, route=route, **OPTIONS, **options)
        for route in ("auto", "refit")
    ]


def assert_same(fast, slow):
    assert [bool(reason) for reason in fast.reasons] == [bool(reason) for reason in slow.reasons]
    for key in ("estimate", "standard_error", "low", "high"):
        np.testing.assert_allclose(getattr(fast, key), getattr(slow, key), rtol=STRICT)
    np.testing.assert_allclose(fast.difference.estimate, slow.difference.estimate, rtol=1e-8, atol=1e-12)


NUMBERS, LEVELS = "columntransformer__pipeline__", "columntransformer__onehotencoder__"
PATHS = {
    NUMBERS + "simpleimputer__strategy": ["mean", "median", "most_frequent"],
    NUMBERS + "simpleimputer__add_indicator": [False, True],
    NUMBERS + "standardscaler": [StandardScaler(), MinMaxScaler(), "passthrough"],
    NUMBERS + "standardscaler__with_std": [False, True],
    LEVELS + "min_frequency": [1, 5, 12],
    LEVELS + "drop": ["first", "if_binary"],
    "columntransformer__onehotencoder": [
        OneHotEncoder(handle_unknown="ignore", sparse_output=False),
        OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1),
        "drop",
    ],
    "selectkbest__k": [1, 3, 6, "all"],
    "passthrough": [PCA(2), StandardScaler(), "passthrough"],
    "ridge": [Ridge(), LinearRegression(), RidgeCV([0.1, 10.0])],
    "ridge__fit_intercept": [True, False],
    "ridge__alpha": [0.1, 1.0, 10.0],
}


@pytest.mark.parametrize("name", PATHS)
def test_a_curve_over_an_option_of_a_step_equals_refits(frame, name):
    fast, slow = curves(pipeline(), *frame, name, PATHS[name])
    assert {result.route for result in fast.results} == {"gram"}
    assert_same(fast, slow)


@pytest.mark.parametrize("name", ["selectkbest__k", "ridge"])
def test_the_same_with_weights(frame, name):
    weights = np.random.default_rng(1).choice([0.5, 1.0, 2.0], N)
    fast, slow = curves(pipeline(), *frame, name, PATHS[name], sample_weight=weights)
    assert {result.route for result in fast.results} == {"gram"}
    assert_same(fast, slow)


def test_components_share_the_sums_over_the_rows(frame, monkeypatch):
    calls = []
    inner = EncodedEngine.by_folds
    monkeypatch.setattr(EncodedEngine, "by_folds", lambda self, *given: calls.append(1) or inner(self, *given))
    model = make_pipeline(SimpleImputer(), StandardScaler(), PCA(), Ridge())
    X, y = frame[0][["a", "b", "c"]], frame[1]
    fast, slow = curves(model, X, y, "pca__n_components", [1, 2, 3])
    assert_same(fast, slow)
    one = len(calls)
    calls.clear()
    quietly(onefit.nested_cv, model, X, y, **OPTIONS)
    assert len(calls) == one


def test_a_value_that_a_step_refuses_is_missing_with_its_reason(frame):
    model = make_pipeline(SimpleImputer(), PCA(), Ridge())
    X, y = frame[0][["a", "b", "c"]], frame[1]
    fast, slow = curves(model, X, y, "pca__n_components", [1, 2, 7])
    assert "n_components=7" in fast.reasons[2]
    assert fast.results[2] is None
    assert_same(fast, slow)


def test_a_value_that_is_no_parameter_at_all_is_missing_and_the_others_take_no_refits(frame):
    model = make_pipeline(SimpleImputer(), StandardScaler(), Ridge())
    X, y = frame[0][["a", "b", "c"]], frame[1]
    fast, slow = curves(model, X, y, "simpleimputer__strategy", ["mean", "nonsense", "median"])
    assert [result and result.route for result in fast.results] == ["gram", None, "gram"]
    assert_same(fast, slow)


def test_values_that_need_refits_stand_beside_others_that_do_not(frame):
    model = make_pipeline(SimpleImputer(), PCA(2), Ridge())
    X, y = frame[0][["a", "b", "c"]], frame[1]
    fast, slow = curves(model, X, y, "pca__n_components", ["mle", 0.5, 2])
    assert [result.route for result in fast.results] == ["refit", "gram", "gram"]
    assert_same(fast, slow)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_bits_do_not_depend_on_jobs(frame, n_jobs):
    model, name = make_pipeline(SimpleImputer(), PCA(), Ridge()), "pca__n_components"
    X, y = frame[0][["a", "b", "c"]], frame[1]
    given = {"param_name": name, "param_range": [1, 2, 3, 8], "n_folds": 4, "n_repeats": 7, "random_state": 0}
    one, other = (quietly(onefit.error_curve, model, X, y, n_jobs=jobs, **given) for jobs in (None, n_jobs))
    for key in ("estimate", "low", "high"):
        assert np.array_equal(getattr(one, key), getattr(other, key), equal_nan=True)
        assert np.array_equal(getattr(one.difference, key), getattr(other.difference, key), equal_nan=True)


def test_behind_a_transformed_target_and_for_classes(frame):
    X, y = frame
    model = TransformedTargetRegressor(pipeline(), func=np.arctan, inverse_func=np.tan)
    fast, slow = curves(model, X, y - y.mean(), "regressor__selectkbest__k", [2, 4, "all"])
    assert {result.route for result in fast.results} == {"gram"}
    assert_same(fast, slow)
    fast, slow = curves(
        pipeline(RidgeClassifier()), X, (y > np.median(y)).astype(int), LEVELS + "min_frequency", [1, 12]
    )
    assert {result.route for result in fast.results} == {"gram"}
    assert_same(fast, slow)


def test_other_families_take_a_route_for_each_value(frame):
    X, y = frame[0][["c"]].to_numpy(), frame[1]
    fast, slow = curves(KernelRidge(kernel="rbf"), X, y, "gamma", [0.1, 1.0, 10.0])
    assert "refit" not in {result.route for result in fast.results}
    assert_same(fast, slow)
    assert not fast.scores["gcv"].isna().any()
    search = GridSearchCV(Ridge(), {"alpha": [0.1, 10.0]}, cv=3)
    fast, slow = curves(search, X, y, "scoring", ["r2", "neg_mean_absolute_error"])
    assert {result.route for result in fast.results} == {"gram"}
    assert_same(fast, slow)


def test_what_only_refits_can_do_is_one_job_as_before(frame):
    X, y = frame[0][["c"]].to_numpy(), frame[1]
    curve = quietly(
        onefit.error_curve,
        DecisionTreeRegressor(random_state=0),
        X,
        y,
        param_name="max_depth",
        param_range=[1, 2],
        **OPTIONS,
    )
    assert {result.route for result in curve.results} == {"refit"}


def test_compare_mixes_everything(frame):
    X, y = frame
    models = {
        "pipeline": pipeline(),
        "components": make_pipeline(pipeline()[0], PCA(2), LinearRegression()),
        "search": GridSearchCV(pipeline(), {"ridge__alpha": [0.1, 100.0]}, cv=2),
        "robust": make_pipeline(make_column_transformer((RobustScaler(), ["c"])), RidgeCV()),
        "tree": make_pipeline(pipeline()[0], DecisionTreeRegressor(max_depth=2, random_state=0)),
    }
    fast, slow = (quietly(onefit.compare, models, X, y, route=route, **OPTIONS) for route in ("auto", "refit"))
    assert dict(fast.models["route"]) == {name: "refit" if name == "tree" else "gram" for name in models}
    for table in ("models", "differences"):
        one, other = (getattr(each, table).select_dtypes("number") for each in (fast, slow))
        np.testing.assert_allclose(one, other, rtol=1e-8, atol=1e-12)
