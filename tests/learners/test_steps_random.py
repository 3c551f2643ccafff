"""Random pipelines on random tables: numbers, levels, gaps and weights; the fast route equals refits, or both fail."""

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.feature_selection import SelectKBest, SelectPercentile, VarianceThreshold, f_regression, r_regression
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    RobustScaler,
    StandardScaler,
)

import onefit
from helpers import STRICT
from onefit.errors import OneFitError, RefitError, TrainingSetError

LONG = settings(max_examples=300, suppress_health_check=list(HealthCheck))
EPS, MAGNIFIED = 2.0**-52, 100.0
"""How many times more than by the last bit of a column figures may be off, where that is more than the usual bound."""

NUMBERS, LEVELS = ("a", "b", "c"), ("s", "t")


@st.composite
def tables(draw):
    """Rows with numbers of several kinds and levels that are rare, some of both missing, and y."""
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    n, gap = draw(st.integers(24, 40)), draw(st.sampled_from([0.0, 0.1, 0.3]))
    kinds = {
        "normal": lambda: rng.normal(size=n) * 10.0 ** rng.integers(-2, 3) + 10.0 * rng.integers(-3, 3),
        "whole": lambda: rng.integers(0, 4, n).astype(float),
        "nearly constant": lambda: np.where(np.arange(n) == rng.integers(n), 2.0, 1.0),
        "skewed": lambda: np.exp(2 * rng.normal(size=n)),
    }
    columns = {name: kinds[draw(st.sampled_from(sorted(kinds)))]() for name in NUMBERS}
    y = columns["a"] / (1 + np.abs(columns["a"]).max()) + rng.normal(size=n)
    for name in LEVELS:
        shares = rng.dirichlet(np.ones(draw(st.integers(2, 6))) / 2)
        columns[name] = np.array(list("uvwxyz"))[rng.choice(len(shares), size=n, p=shares)].astype(object)
    table = pd.DataFrame(columns)
    for name in columns:
        table.loc[rng.random(n) < gap, name] = np.nan
    weights = draw(st.sampled_from([None, "whole", "zeros"]))
    choices = {"whole": [1.0, 2.0, 3.0], "zeros": [0.0, 0.7, 1.3]}
    return table, y, None if weights is None else rng.choice(choices[weights], n)


def one_of(*makers):
    return st.one_of(*(st.just(maker) if not isinstance(maker, st.SearchStrategy) else maker for maker in makers))


imputers = st.builds(
    SimpleImputer,
    strategy=st.sampled_from(["mean", "median", "most_frequent", "constant"]),
    add_indicator=st.booleans(),
    keep_empty_features=st.booleans(),
)
scalers = one_of(
    "passthrough",
    st.builds(StandardScaler, with_mean=st.booleans(), with_std=st.booleans()),
    st.builds(MinMaxScaler, feature_range=st.sampled_from([(0, 1), (-1, 2)])),
    MaxAbsScaler(),
)
raw_scalers = one_of(StandardScaler(), st.builds(RobustScaler, unit_variance=st.booleans()))
level_imputers = st.builds(SimpleImputer, strategy=st.sampled_from(["most_frequent", "constant"]))
one_hot = st.builds(
    OneHotEncoder,
    sparse_output=st.just(False),
    drop=st.sampled_from([None, "first", "if_binary"]),
    handle_unknown=st.sampled_from(["ignore", "infrequent_if_exist", "error"]),
    min_frequency=st.sampled_from([None, 3, 0.2]),
    max_categories=st.sampled_from([None, 3]),
)
ordinal = st.builds(
    OrdinalEncoder,
    handle_unknown=st.just("use_encoded_value"),
    unknown_value=st.just(-1),
    min_frequency=st.sampled_from([None, 3]),
)
after = one_of(
    "passthrough",
    StandardScaler(),
    st.builds(PCA, n_components=st.sampled_from([1, 2, 0.7, None]), whiten=st.booleans()),
    st.builds(TruncatedSVD, n_components=st.integers(1, 2), algorithm=st.just("arpack")),
    st.builds(VarianceThreshold, threshold=st.sampled_from([0.0, 0.1])),
    st.builds(SelectKBest, st.sampled_from([f_regression, r_regression]), k=st.sampled_from([1, 2, 4, "all"])),
    st.builds(SelectPercentile, st.just(f_regression), percentile=st.sampled_from([20, 50, 75])),
)
last_steps = one_of(
    st.builds(Ridge, alpha=st.sampled_from([1e-2, 1.0, 100.0]), fit_intercept=st.booleans()), LinearRegression()
)


@st.composite
def pipelines(draw):
    """Numbers filled in and scaled, levels filled in and encoded, something after both, and a fit."""
    for_numbers = make_pipeline(draw(imputers), draw(scalers))
    if draw(st.integers(0, 3)) == 0:
        indicator = MissingIndicator(features=draw(st.sampled_from(["all", "missing-only"])), error_on_new=False)
        for_numbers = FeatureUnion([("filled", for_numbers), ("missing", indicator)])
    elif draw(st.integers(0, 3)) == 0:
        for_numbers = draw(raw_scalers)  # fails where something is missing
    for_levels = make_pipeline(draw(level_imputers), draw(one_of(one_hot, ordinal)))
    weights = draw(st.sampled_from([None, {"levels": 0.5}]))
    parts = [("levels", for_levels, list(LEVELS)), ("numbers", for_numbers, list(NUMBERS))]
    columns = ColumnTransformer(parts, transformer_weights=weights)
    return make_pipeline(columns, draw(after), draw(last_steps))


def figures(model, table, y, weights, route):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return onefit.nested_cv(
                model, table, y, sample_weight=weights, n_folds=3, n_repeats=1, random_state=0, route=route
            )
        except OneFitError as error:
            return error


def check(model, data):
    table, y, weights = data
    fast, slow = (figures(model, table, y, weights, route) for route in ("auto", "refit"))
    if isinstance(slow, OneFitError):
        event("both fail")
        assert isinstance(slow, RefitError)
        assert isinstance(fast, RefitError | TrainingSetError)
        return
    assert not isinstance(fast, Exception), fast
    event(fast.route)
    names = ("cv_estimate", "raw_estimate", "standard_error")
    found, expected = ([float(getattr(each, name)) for name in names] for each in (fast, slow))
    if np.allclose(found, expected, rtol=STRICT, atol=0.0):
        return
    other = figures(model, table.assign(c=table["c"] * (1 + EPS)), y, weights, "refit")  # by the last bit of a column
    moved = np.abs([float(getattr(other, name)) / value - 1 for name, value in zip(names, expected, strict=True)])
    np.testing.assert_allclose(found, expected, rtol=max(STRICT, MAGNIFIED * float(moved.max())))


@given(pipelines(), tables())
def test_random_pipelines_equal_refits(model, data):
    check(model, data)


@pytest.mark.slow
@LONG
@given(pipelines(), tables())
def test_many_random_pipelines_equal_refits(model, data):
    check(model, data)
