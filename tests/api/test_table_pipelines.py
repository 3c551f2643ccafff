"""Pipelines and further learners on tables: what steps learn in each training set is what they learn in memory."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.cross_decomposition import PLSRegression
from sklearn.decomposition import PCA
from sklearn.feature_selection import SelectKBest, f_regression
from sklearn.impute import SimpleImputer
from sklearn.linear_model import BayesianRidge, ElasticNet, Lasso, LinearRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    RobustScaler,
    StandardScaler,
)

import onefit
from onefit.dealing import DealtGroups, DealtRows
from onefit.errors import DataError, RouteError

pytest.importorskip("pyarrow")

pytestmark = pytest.mark.filterwarnings("ignore::onefit.errors.MonteCarloWarning")

N, K, L, SEED = 1500, 4, 2, 5
ASKED = {"n_folds": K, "n_repeats": L, "random_state": SEED}
NUMBERS = ["a", "b", "c", "year"]


@pytest.fixture(scope="module")
def frame():
    """Text, whole numbers, an offset; the last rows have a level of their own."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(N, 3)) * [1.0, 1e3, 1e-3], columns=["a", "b", "c"])
    frame["year"] = 2000.0 + rng.integers(0, 20, N)
    frame["city"] = rng.choice(["x", "y", "z"], N, p=[0.5, 0.3, 0.2])
    frame.loc[N - 40 :, "city"] = "rare"
    frame["rooms"] = rng.integers(0, 4, N)
    frame["y"] = frame["a"] + 2e-3 * frame["b"] + (frame["city"] == "x") + frame["rooms"] + rng.normal(size=N)
    frame["w"] = rng.uniform(0.5, 2, N)
    return frame


@pytest.fixture(scope="module")
def gaps(frame):
    rng = np.random.default_rng(1)
    gaps = frame.copy()
    gaps.loc[rng.random(N) < 0.1, "b"] = np.nan
    gaps.loc[rng.random(N) < 0.05, "city"] = np.nan
    return gaps


def ids():
    dealt = DealtRows(N, K, SEED)
    return np.stack([dealt.ids(0, N, repeat) for repeat in range(L)])


def check(estimator, frame, columns, folder, rtol=1e-9, **roles):
    for part in range(3):
        frame[500 * part : 500 * (part + 1)].to_parquet(folder / f"{part}.parquet", row_group_size=200)
    table = onefit.scan(folder, columns=[*columns, "y", *roles.values()])
    streamed = onefit.nested_cv(estimator, table, "y", **ASKED, **roles)
    given = {role: frame[name] for role, name in roles.items()}
    memory = onefit.nested_cv(estimator, frame[columns], frame["y"], folds=ids(), **given)
    for name in ("estimate", "interval", "standard_error", "mse", "skill"):
        np.testing.assert_allclose(getattr(streamed, name), getattr(memory, name), rtol=rtol, err_msg=name)
    assert streamed.exactness == memory.exactness


def dummies(**options):
    return OneHotEncoder(handle_unknown="ignore", sparse_output=False, **options)


def encoded(last, **options):
    steps = make_column_transformer((StandardScaler(), NUMBERS), (dummies(**options), ["city", "rooms"]))
    return make_pipeline(steps, last)


@pytest.mark.parametrize(
    "estimator",
    [
        make_pipeline(StandardScaler(), Ridge(10.0)),
        make_pipeline(StandardScaler(), LinearRegression()),
        make_pipeline(MinMaxScaler(), Ridge()),
        make_pipeline(StandardScaler(), PCA(2), LinearRegression()),
        make_pipeline(StandardScaler(), SelectKBest(f_regression, k=2), Ridge()),
        Lasso(0.1),
        ElasticNet(0.1),
        make_pipeline(StandardScaler(), BayesianRidge()),
        PLSRegression(2),
    ],
    ids=lambda each: repr(each)[:50],
)
def test_numbers(estimator, frame, tmp_path):
    check(estimator, frame, NUMBERS, tmp_path, rtol=1e-8)


def test_without_an_intercept_y_is_not_centred(frame, tmp_path):
    """Here the figures of a table were those of a model with an intercept."""
    frame = frame.assign(y=frame["y"] + 1e3)
    check(Lasso(0.1, fit_intercept=False), frame, NUMBERS, tmp_path)
    check(make_pipeline(StandardScaler(), Ridge(fit_intercept=False)), frame, NUMBERS, tmp_path)


@pytest.mark.parametrize("roles", [{}, {"sample_weight": "w"}], ids=["", "weighted"])
def test_text_and_whole_numbers_as_levels(roles, frame, tmp_path):
    columns = [*NUMBERS, "city", "rooms"]
    check(encoded(Ridge()), frame, columns, tmp_path, **roles)
    check(encoded(LinearRegression(), drop="first"), frame, columns, tmp_path, **roles)
    check(encoded(Lasso(0.01), drop="first"), frame, columns, tmp_path, 1e-8, **roles)
    ordinal = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    passed = make_column_transformer((ordinal, ["city"]), remainder="passthrough")
    check(make_pipeline(passed, StandardScaler(), Ridge()), frame, columns, tmp_path, **roles)


def test_what_is_missing_is_filled_in_anew_in_every_training_set(gaps, tmp_path):
    columns = [*NUMBERS, "city"]
    mean = make_pipeline(SimpleImputer(add_indicator=True), StandardScaler())
    constant = make_pipeline(SimpleImputer(strategy="constant", fill_value="none"), dummies(min_frequency=60))
    mode = make_pipeline(SimpleImputer(strategy="most_frequent"), dummies())
    for text in (constant, mode, dummies()):
        check(
            make_pipeline(make_column_transformer((mean, NUMBERS), (text, ["city"])), Ridge()), gaps, columns, tmp_path
        )
    zero = make_column_transformer((SimpleImputer(strategy="constant", fill_value=0.0), NUMBERS))
    check(make_pipeline(zero, StandardScaler(), Ridge()), gaps, columns, tmp_path)


def test_what_would_fill_gaps_is_no_level_where_there_are_none(frame, tmp_path):
    imputer = SimpleImputer(strategy="constant", fill_value="none")
    filled = make_column_transformer((make_pipeline(imputer, OneHotEncoder(handle_unknown="ignore")), ["city"]))
    check(make_pipeline(filled, Ridge()), frame, ["city"], tmp_path)


def test_columns_that_do_not_vary_are_scaled_as_in_memory(frame, tmp_path):
    frame = frame.assign(c=3.0)
    check(make_pipeline(StandardScaler(), Ridge()), frame, NUMBERS, tmp_path)
    check(Ridge(), frame, NUMBERS, tmp_path)


def test_columns_that_folders_name_are_features_and_groups(frame, tmp_path):
    for year, part in frame.groupby("year"):
        (tmp_path / f"year={year:.0f}").mkdir()
        part.drop(columns="year").to_csv(tmp_path / f"year={year:.0f}" / "part.csv", index=False)
    table = onefit.scan(tmp_path, columns=["a", "b", "city", "year", "y"])
    steps = make_column_transformer((StandardScaler(), ["a", "b"]), (dummies(), ["city"]))
    streamed = onefit.nested_cv(make_pipeline(steps, Ridge()), table, "y", groups="year", **ASKED)
    sorted_rows = table.sample(N)
    dealt = DealtGroups(tuple(np.bincount(sorted_rows["year"] - 2000).tolist()), K, SEED)
    folds = np.stack([dealt.ids(sorted_rows["year"].to_numpy() - 2000, repeat) for repeat in range(L)])
    X, y = sorted_rows[["a", "b", "city"]], sorted_rows["y"]
    memory = onefit.nested_cv(make_pipeline(steps, Ridge()), X, y, groups=sorted_rows["year"], folds=folds)
    np.testing.assert_allclose(streamed.interval, memory.interval, rtol=1e-9)


def test_a_comparison_of_pipelines_is_that_of_memory(frame):
    models = {
        "all": encoded(Ridge()),
        "numbers": make_pipeline(make_column_transformer((StandardScaler(), NUMBERS)), Ridge()),
    }
    columns = [*NUMBERS, "city", "rooms"]
    streamed = onefit.compare(models, onefit.scan(frame[[*columns, "y"]]), "y", **ASKED)
    memory = onefit.compare(models, frame[columns], frame["y"], folds=ids())
    figures = ["estimate", "low", "high", "standard_error"]
    np.testing.assert_allclose(streamed.models[figures], memory.models[figures], rtol=1e-9)
    np.testing.assert_allclose(streamed.differences[figures], memory.differences[figures], rtol=1e-9)


def test_a_curve_behind_steps_is_that_of_memory(frame):
    path = {"param_name": "ridge__alpha", "param_range": [0.1, 10.0, 1000.0]}
    columns = [*NUMBERS, "city", "rooms"]
    streamed = onefit.error_curve(encoded(Ridge()), onefit.scan(frame[[*columns, "y"]]), "y", **path, **ASKED)
    memory = onefit.error_curve(encoded(Ridge()), frame[columns], frame["y"], **path, folds=ids())
    np.testing.assert_allclose(streamed.estimate, memory.estimate, rtol=1e-9)
    np.testing.assert_allclose(streamed.difference.standard_error, memory.difference.standard_error, rtol=1e-8)


@pytest.mark.parametrize(
    "estimator",
    [
        make_pipeline(SimpleImputer(strategy="median"), Ridge()),
        make_pipeline(SimpleImputer(strategy="most_frequent"), Ridge()),
        make_pipeline(SimpleImputer(), RobustScaler(), Ridge()),
        make_pipeline(PolynomialFeatures(2), Ridge()),
        make_pipeline(FunctionTransformer(np.abs), Ridge()),
    ],
    ids=lambda each: repr(each)[:60],
)
def test_what_sums_do_not_tell_is_refused_with_the_remedy(estimator, frame, gaps):
    table = gaps if "Imputer" in repr(estimator) else frame
    with pytest.raises(RouteError, match=r"table\.sample"):
        onefit.nested_cv(estimator, onefit.scan(table[[*NUMBERS, "y"]]), "y")


def test_what_is_missing_and_not_imputed_is_named(gaps):
    first = int(gaps["b"].isna().idxmax())
    for estimator in (make_pipeline(StandardScaler(), Ridge()), Lasso()):
        with pytest.raises(DataError, match=f"'b' is missing .NaN. in row {first}, the first such row"):
            onefit.nested_cv(estimator, onefit.scan(gaps[[*NUMBERS, "y"]]), "y")


def test_a_level_that_a_training_set_lacks_is_refused_as_a_refit_would(frame):
    frame = frame.assign(city=np.where(frame.index == 7, "once", frame["city"]))
    strict = make_pipeline(make_column_transformer((OneHotEncoder(sparse_output=False), ["city"])), Ridge())
    with pytest.raises(onefit.errors.TrainingSetError, match="'once' of column 'city'"):
        onefit.nested_cv(strict, onefit.scan(frame[["city", "y"]]), "y", **ASKED)
