"""Edges of steps that a reviewer found: what the fast route said differed from refits, or it broke."""

import contextlib
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import TransformedTargetRegressor, make_column_transformer
from sklearn.decomposition import PCA
from sklearn.feature_selection import SelectKBest, f_regression
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    StandardScaler,
)

from helpers import quiet_nested_cv
from onefit.errors import OneFitError
from onefit.learners import EncodedLearner, EncodedSets, Features, Moments
from onefit.learners.features import Pattern

SETTINGS = {"n_folds": 4, "n_repeats": 2, "random_state": 0}


def table(n=80, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"level": rng.choice(list("abcd"), n, p=[0.4, 0.3, 0.2, 0.1]), "x": rng.normal(size=n)})
    return X, X["x"] + X["level"].map({"a": 0.0, "b": 1.0, "c": -1.0, "d": 2.0}) + 0.3 * rng.normal(size=n)


def assert_refits(model, X, y):
    fast, slow = (quiet_nested_cv(model, X, y, route=route, **SETTINGS) for route in ("auto", "refit"))
    for name in ("estimate", "cv_estimate", "raw_estimate"):
        assert getattr(fast, name) == pytest.approx(getattr(slow, name), rel=1e-9)
    return fast


@pytest.mark.parametrize(
    "encoder",
    [
        OrdinalEncoder(categories=[list("abc")], handle_unknown="use_encoded_value", unknown_value=-5),
        OneHotEncoder(
            categories=[list("abc")], handle_unknown="infrequent_if_exist", min_frequency=20, sparse_output=False
        ),
        OneHotEncoder(categories=[list("abc")], handle_unknown="ignore", sparse_output=False),
    ],
    ids=["ordinal", "rare", "ignored"],
)
def test_levels_that_are_not_among_the_categories_are_what_the_encoder_makes_of_them(encoder):
    X, y = table()
    assert_refits(
        make_pipeline(make_column_transformer((encoder, ["level"]), (StandardScaler(), ["x"])), Ridge()), X, y
    )


def test_a_number_for_unknown_levels_that_is_that_of_a_level_is_refused_as_by_refits():
    X, y = table()
    encoder = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=1)
    for route in ("auto", "refit"):
        with pytest.raises(OneFitError):
            quiet_nested_cv(make_pipeline(encoder, Ridge()), X[["level"]], y, route=route, **SETTINGS)


@pytest.mark.parametrize("last", [Ridge(), LinearRegression()], ids=repr)
@pytest.mark.parametrize("seed", range(3))
def test_a_column_with_a_single_value_in_a_training_set_stays_constant_when_it_is_filled(last, seed):
    """A mean that is off by a rounding error would be scaled up to a column of noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(90, 3))
    X[3:, 2] = np.nan
    X[:3, 2] = 0.1 + rng.normal(size=3)
    y = X[:, 0] + rng.normal(size=90)
    assert_refits(make_pipeline(SimpleImputer(), StandardScaler(), last), X, y)


def test_levels_that_reach_a_scaler_are_refitted():
    X, y = table()
    numbers = X[["x"]].astype(object)
    numbers.iloc[::7, 0] = None
    imputer = SimpleImputer(strategy="constant", fill_value=0.0, missing_values=None)
    try:
        found = quiet_nested_cv(make_pipeline(imputer, StandardScaler(), Ridge()), numbers, y, **SETTINGS)
    except OneFitError:
        return  # as scikit-learn has it, by version
    assert np.isfinite(found.estimate)


def test_filters_of_warnings_are_left_as_they_were_by_several_threads():
    X, y = table()
    X.loc[X.index[:3], "level"] = list("efg")  # levels of one row: their training sets are left to the steps
    encoder = OneHotEncoder(drop=["e"], handle_unknown="ignore", sparse_output=False)
    model = make_pipeline(make_column_transformer((encoder, ["level"]), (StandardScaler(), ["x"])), Ridge())
    before = list(warnings.filters)
    for _ in range(3):
        with contextlib.suppress(OneFitError):
            quiet_nested_cv(model, X, y, n_jobs=4, n_folds=6, n_repeats=8, random_state=0)
    assert list(warnings.filters) == before


@pytest.mark.parametrize("gap", [1e-3, 4e-6, 1e-6, 3e-7])
def test_columns_that_nearly_depend_on_each_other_are_not_taken_to_do_so(gap):
    """Their products have lost the square of the gap; the difference of the columns is what y follows."""
    rng = np.random.default_rng(0)
    X, _ = table()
    noise = rng.normal(size=len(X))
    X["near"] = X["x"] + gap * noise
    y = noise + 0.1 * rng.normal(size=len(X))
    columns = make_column_transformer((OneHotEncoder(sparse_output=False), ["level"]), remainder="passthrough")
    model = make_pipeline(columns, Ridge(1e-3 * gap**2, solver="svd"))
    fast, slow = (quiet_nested_cv(model, X, y, route=route, **SETTINGS) for route in ("auto", "refit"))
    assert fast.route == "gram"
    assert fast.raw_estimate == pytest.approx(slow.raw_estimate, rel=1e-6)
    assert fast.cv_estimate < 0.1


class Centred(FunctionTransformer):
    """A function of all rows at once, whose parent says that it learns nothing."""


def test_a_subclass_does_not_inherit_that_it_learns_nothing():
    X, y = table()
    step = Centred(lambda Z: np.asarray(Z, dtype=float) - np.asarray(Z, dtype=float).mean(axis=0))
    fast = assert_refits(make_pipeline(step, Ridge(fit_intercept=False)), X[["x"]], y)
    assert fast.route == "refit"


def test_a_selection_before_a_transformed_target_sees_y_as_it_was():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 6))
    y = np.exp(X[:, 0] + X[:, 1] ** 2 + 0.2 * rng.normal(size=60))
    target = TransformedTargetRegressor(Ridge(), func=np.log, inverse_func=np.exp)
    assert_refits(make_pipeline(SelectKBest(f_regression, k=2), target), X, y)


@pytest.mark.parametrize("components", [PCA(), PCA(5, whiten=True)], ids=repr)
@pytest.mark.parametrize("last", [LinearRegression(), Ridge(0.0)], ids=repr)
def test_components_that_are_rounding_errors_end_in_no_error_of_algebra(components, last):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(60, 3)) @ rng.normal(size=(3, 6))
    y = X[:, 0] + rng.normal(size=60)
    with contextlib.suppress(OneFitError):  # a training set that does not determine the fit may be refused
        found = quiet_nested_cv(make_pipeline(MinMaxScaler(), components, last), X, y, **SETTINGS)
        assert found.route == "gram"


def test_an_output_whose_columns_cancel_is_fitted_from_its_rows():
    """Levels, and what fills their gaps, add up to a constant in all rows with a weight: what is left is rounding."""
    pattern = Pattern(np.array([0, 1]), np.array([0, 0]), 1)
    ones, ends = np.ones((2, 1)), (np.zeros((2, 1)), np.ones((2, 1)))
    found = Features(pattern, np.ones((2, 2)), 0 * ones, ones > 0, *ends, np.array([-1]))
    products = np.array([[[1.0, -1.0], [-1.0, 1.0 + rest]] for rest in (3e-15, 0.5)])
    moments = Moments(np.full(2, 9.0), np.zeros((2, 2)), products)
    sets = EncodedSets(found, moments, np.zeros((2, 2, 1)), np.zeros((2, 1)), None, None)
    learner = EncodedLearner(None, np.zeros((1, 1)), None, True)
    assert learner.fit(sets)[1].tolist() == [False, True]


def test_least_squares_behind_steps_takes_more_folds_near_interpolation_and_says_so():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(60, 39)))
    y = rng.normal(size=60)
    many = quiet_nested_cv(make_pipeline(MinMaxScaler(), LinearRegression()), X, y, n_repeats=1, random_state=0)
    assert (many.route, many.n_folds) == ("gram", 20)
    assert "With fewer folds than 20" in " ".join(finding.text for finding in many.findings)
    few = make_pipeline(MinMaxScaler(), SelectKBest(f_regression, k=5), LinearRegression())
    for model in (few, make_pipeline(MinMaxScaler(), Ridge())):
        found = quiet_nested_cv(model, X, y, n_repeats=1, random_state=0)
        assert found.n_folds == 10
        assert not any(finding.kind == "interpolation" for finding in found.findings)
    given = quiet_nested_cv(make_pipeline(MinMaxScaler(), LinearRegression()), X, y, n_folds=5, n_repeats=1)
    assert "5 folds have about 36 rows for 39 columns" in " ".join(finding.text for finding in given.findings)
