"""Columns of every type in frames of pandas, polars and pyarrow: the same numbers, and the same refusals."""

from __future__ import annotations

import datetime
import decimal

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.compose import make_column_transformer
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import onefit
from helpers import assert_same_results, optional, quiet_nested_cv, quietly
from onefit.errors import DataError
from onefit.frames import find_frame, in_double, is_frame, row_names

pa, pl = optional("pyarrow"), optional("polars")

N = 40
RNG = np.random.default_rng(0)
A, B = RNG.standard_normal((2, N))
COUNTS = RNG.integers(0, 9, N)
WORDS = RNG.choice(["low", "middle", "high"], N).tolist()
Y = A + B + RNG.standard_normal(N)
DATES = [datetime.date(2026, 1, 1) + datetime.timedelta(days=k) for k in range(N)]
TIMES = [datetime.datetime.combine(date, datetime.time(12)) for date in DATES]
SETTINGS = {"n_folds": 4, "n_repeats": 1, "random_state": 0}
LIBRARIES = {
    "pandas": pd.DataFrame,
    "polars": lambda columns: pl.DataFrame(columns),
    "pyarrow": lambda columns: pa.table(columns),
}
NUMBERS = {
    "whole": COUNTS,
    "small": COUNTS.astype(np.int8),
    "single": COUNTS.astype(np.float32),
    "truth": COUNTS > 4,
    "decimal": [decimal.Decimal(int(count)) for count in COUNTS],
}


def table(library, column):
    return LIBRARIES[library]({"a": A, "b": B, "c": column})


@pytest.mark.parametrize("kind", NUMBERS)
@pytest.mark.parametrize("library", LIBRARIES)
def test_columns_of_numbers_are_their_values(library, kind):
    expected = np.column_stack([A, B, np.asarray(NUMBERS[kind], dtype=float)])
    frame = table(library, NUMBERS[kind])
    result = quiet_nested_cv(Ridge(), frame, Y, **SETTINGS)
    assert_same_results(result, quiet_nested_cv(Ridge(), expected, Y, **SETTINGS))
    frame_y = LIBRARIES[library]({"one": A, "two": NUMBERS[kind]})
    result = quiet_nested_cv(Ridge(), expected[:, :2], frame_y, **SETTINGS)
    named = pd.DataFrame(expected[:, [0, 2]], columns=["one", "two"])
    assert_same_results(result, quiet_nested_cv(Ridge(), expected[:, :2], named, **SETTINGS))


PANDAS = {
    "nullable": lambda: pd.array(COUNTS, dtype="Int64"),
    "nullable single": lambda: pd.array(COUNTS, dtype="Float32"),
    "nullable truth": lambda: pd.array(COUNTS > 4, dtype="boolean"),
    "half": lambda: COUNTS.astype(np.float16),
    "sparse": lambda: pd.arrays.SparseArray(COUNTS.astype(float)),
    "categories that are numbers": lambda: pd.Categorical(COUNTS),
    "objects": lambda: COUNTS.astype(object),
    "arrow": lambda: pd.array(COUNTS, dtype="int64[pyarrow]"),
}


@pytest.mark.parametrize("route", ["auto", "refit"])
@pytest.mark.parametrize("kind", PANDAS)
def test_the_types_of_pandas_are_their_values(kind, route):
    column = PANDAS[kind]()
    expected = np.column_stack([A, B, np.asarray(column, dtype=float)])
    result = quiet_nested_cv(Ridge(), table("pandas", column), Y, route=route, **SETTINGS)
    assert_same_results(result, quiet_nested_cv(Ridge(), expected, Y, route=route, **SETTINGS), 1e-9)


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("column", [[None, *COUNTS[1:].tolist()], [None, *A[1:].tolist()]], ids=["whole", "real"])
def test_missing_values_are_refused_with_the_name_of_their_column(library, column):
    with pytest.raises(DataError, match="NaN or infinite values, 1 of them in column 'c'"):
        onefit.nested_cv(Ridge(), table(library, column), Y, **SETTINGS)


@pytest.mark.parametrize("column", [WORDS, DATES, TIMES], ids=["text", "date", "time"])
@pytest.mark.parametrize("library", LIBRARIES)
def test_text_and_dates_are_refused_with_the_name_of_their_column(library, column):
    with pytest.raises(DataError, match=r"X holds values that are not numbers \(in column 'c'\)"):
        onefit.nested_cv(Ridge(), table(library, column), Y, **SETTINGS)


@pytest.mark.parametrize("library", LIBRARIES)
def test_steps_find_their_columns_by_name(library):
    """scikit-learn's own ColumnTransformer refuses frames of other libraries than pandas and polars."""
    encoder = make_column_transformer((OneHotEncoder(sparse_output=False), ["c"]), remainder="passthrough")
    if library == "polars":
        encoder.set_output(transform="polars")
    dummies = pd.get_dummies(pd.Series(WORDS)).to_numpy(dtype=float)
    result = quiet_nested_cv(make_pipeline(encoder, Ridge()), table(library, WORDS), Y, **SETTINGS)
    expected = quiet_nested_cv(Ridge(), np.column_stack([dummies, A, B]), Y, route="refit", **SETTINGS)
    assert_same_results(result, expected, 1e-9)


@pytest.mark.parametrize("library", LIBRARIES)
def test_curves_and_comparisons_take_frames(library):
    X, frame = np.column_stack([A, B, COUNTS]), table(library, COUNTS)
    settings = SETTINGS | {"param_name": "alpha", "param_range": [0.1, 1.0]}
    curves = [quietly(onefit.error_curve, Ridge(), data, Y, **settings) for data in (frame, X)]
    np.testing.assert_allclose(curves[0].estimate, curves[1].estimate, rtol=1e-12)
    models = {"ridge": Ridge(), "additive": onefit.AdditiveModel(), "refitted": Ridge(positive=True)}
    found = [quietly(onefit.compare, models, data, Y, **SETTINGS) for data in (frame, X)]
    np.testing.assert_allclose(found[0].models["estimate"], found[1].models["estimate"], rtol=1e-9)


@pytest.mark.parametrize("library", LIBRARIES)
def test_an_additive_model_takes_categories_and_refuses_dates(library):
    model = onefit.AdditiveModel()
    results = [quiet_nested_cv(model, table(each, WORDS), Y, **SETTINGS) for each in ("pandas", library)]
    assert_same_results(*results, 1e-9)
    with pytest.raises(DataError, match="Column 'c' holds dates"):
        onefit.nested_cv(model, table(library, TIMES), Y, **SETTINGS)
    with pytest.raises(DataError, match="Column 'c' holds numbers as text"):
        onefit.nested_cv(model, table(library, COUNTS.astype(str).tolist()), Y, **SETTINGS)


@pytest.mark.parametrize("library", ["polars", "pyarrow"])
def test_an_additive_model_refuses_lists_as_levels(library):
    with pytest.raises(DataError, match=r"Column 'c' holds values of type (list|ndarray), which are no levels"):
        onefit.nested_cv(onefit.AdditiveModel(), table(library, [[1, 2]] * N), Y, **SETTINGS)


# ------------------------------------------------------------------------------------------------- names and rows

NAMES = {
    "positions": [0, 1, 2],
    "twice": ["a", "a", "b"],
    "two levels": pd.MultiIndex.from_tuples([("x", 1), ("x", 2), ("y", 1)]),
    "of all kinds": ["a", 1, ("b", 2)],
}


@pytest.mark.parametrize("dtype", [float, np.float32])
@pytest.mark.parametrize("route", ["auto", "refit"])
@pytest.mark.parametrize("kind", NAMES)
def test_pandas_may_name_its_columns_as_it_likes(kind, route, dtype):
    X = np.column_stack([A, B, COUNTS]).astype(dtype)
    frame = pd.DataFrame(X, columns=NAMES[kind])
    if route == "refit" and kind in ("twice", "of all kinds"):
        pytest.skip("scikit-learn itself refuses such names")
    result = quiet_nested_cv(Ridge(), frame, Y, route=route, **SETTINGS)
    assert_same_results(result, quiet_nested_cv(Ridge(), X, Y, route=route, **SETTINGS), 1e-9)


def test_two_columns_of_one_name_are_refused_elsewhere():
    twice = pa.table([A, B], names=["a", "a"])
    with pytest.raises(DataError, match="Two columns of X are named 'a'"):
        onefit.nested_cv(Ridge(), twice, Y, **SETTINGS)
    with pytest.raises(DataError, match="Two columns of y are named 'a'"):
        onefit.nested_cv(Ridge(), np.column_stack([A, B]), twice, **SETTINGS)


def test_single_precision_is_made_double_and_all_else_is_left_alone():
    frame = pd.DataFrame({"x": A.astype(np.float32), "y": COUNTS, "z": WORDS}, index=range(100, 100 + N))
    double = in_double(frame)
    assert list(double.columns) == ["x", "y", "z"]
    assert [double.dtypes[name] == frame.dtypes[name] for name in double.columns] == [False, True, True]
    assert double["x"].dtype == np.float64
    assert double.index.equals(frame.index)
    assert in_double(double) is double
    twice = pd.DataFrame(np.column_stack([A, B]).astype(np.float32), columns=["a", "a"])
    assert list(in_double(twice).columns) == ["a", "a"]
    assert in_double(pl.DataFrame({"x": A.astype(np.float32)})).schema == {"x": pl.Float64}


class Kept(RegressorMixin, BaseEstimator):
    """Predicts the mean, and looks at the type of what it is given."""

    def __init__(self, kind=None):
        self.kind = kind

    def fit(self, X, y):
        assert type(X) is self.kind
        self.mean_ = y.mean()
        return self

    def predict(self, X):
        assert type(X) is self.kind
        return np.full(len(X), self.mean_)


@pytest.mark.parametrize("library", LIBRARIES)
def test_an_estimator_gets_frames_of_pandas_and_polars_as_they_are_and_others_as_those_of_pandas(library):
    frame = table(library, WORDS)
    kind = pd.DataFrame if library == "pyarrow" else type(frame)
    assert np.isfinite(quiet_nested_cv(Kept(kind), frame, Y, **SETTINGS).estimate)


def test_only_pandas_names_its_rows():
    assert list(row_names(pd.DataFrame({"a": [1, 2]}, index=["u", "v"]))) == ["u", "v"]
    assert list(row_names(pd.Series([1, 2], index=["u", "v"]))) == ["u", "v"]
    for other in (pl.DataFrame({"a": [1]}), pl.Series([1]), pa.table({"a": [1]}), np.ones((1, 1)), ["text"]):
        assert row_names(other) is None


def test_frames_are_told_from_all_else():
    assert all(is_frame(table(library, WORDS)) for library in LIBRARIES)
    for other in (np.ones((2, 2)), [[1.0]], pd.Series([1.0]), pl.Series([1.0]), "text", None):
        assert find_frame(other) is None


def test_lazy_frames_are_refused_with_their_remedy():
    lazy = pl.DataFrame({"a": A, "b": B}).lazy()
    with pytest.raises(DataError, match=r"X is a lazy frame; pass X.collect\(\)"):
        onefit.nested_cv(Ridge(), lazy, Y, **SETTINGS)
    with pytest.raises(DataError, match=r"y is a lazy frame; pass y.collect\(\)"):
        onefit.nested_cv(Ridge(), np.column_stack([A, B]), lazy, **SETTINGS)


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda: pd.DataFrame({"c": pd.Categorical(["u", "v"], ["v", "u", "w"])}), ["v", "u", "w"]),
        (lambda: pd.DataFrame({"c": pd.Categorical(["u", "v"], ["v", "u", "w"], ordered=True)}), ["v", "u", "w"]),
        (lambda: pl.DataFrame({"c": pl.Series(["u", "v"], dtype=pl.Enum(["v", "u", "w"]))}), ["v", "u", "w"]),
        (lambda: pl.DataFrame({"c": pl.Series(["v", "u"], dtype=pl.Categorical)}), None),
        (lambda: pa.table({"c": pa.array(["v", "u"]).dictionary_encode()}), None),
        (lambda: pd.DataFrame({"c": ["u", "v"]}), None),
    ],
    ids=["pandas", "pandas, ordered", "polars Enum", "polars Categorical", "pyarrow", "text"],
)
def test_categories_have_the_order_that_the_user_gave_them_if_any(make, expected):
    assert find_frame(make()).categories(0) == expected
