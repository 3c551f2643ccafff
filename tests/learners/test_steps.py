"""Steps that learn anew in every training set, from statistics: every one of them, with its options, equals refits."""

import re
import warnings
from contextlib import suppress

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import ColumnTransformer, make_column_selector, make_column_transformer
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.feature_selection import (
    SelectKBest,
    SelectPercentile,
    VarianceThreshold,
    f_classif,
    f_regression,
    mutual_info_regression,
    r_regression,
)
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.linear_model import LinearRegression, Ridge, RidgeClassifier
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    RobustScaler,
    SplineTransformer,
    StandardScaler,
)

import onefit
from helpers import STRICT, optional
from onefit.errors import OneFitError, RefitError, TrainingSetError
from onefit.routes.encoded import EncodedEngine

pl = optional("polars")
FEW = {"n_folds": 3, "n_repeats": 1, "random_state": 0}
N_ROWS = 44
INDICATORS = {"sparse_output": False, "handle_unknown": "ignore"}


def named(value):
    """How a case is called, the same in every process."""
    return re.sub(r" at 0x\w+|\s+", "", repr(value))[:80]


def numbers():
    """Columns of different sizes, one that is constant in some training sets, and two that are nearly the same."""
    rng = np.random.default_rng(3)
    shapes = {"a": (1, 0), "b": (10, 100), "c": (0.1, -3), "d": (5, 0)}
    table = pd.DataFrame({name: rng.normal(size=N_ROWS) * by + at for name, (by, at) in shapes.items()})
    table["k"] = 0.0
    table.loc[5, "k"] = 1.0
    table["f"] = table["a"] + 0.1 * rng.normal(size=N_ROWS)
    return table


def target():
    rng = np.random.default_rng(4)
    table = numbers()
    return (table["a"] + 0.2 * table["d"]).to_numpy() + rng.normal(size=N_ROWS)


def gaps():
    """Numbers with missing values, and a column that some training sets lack altogether."""
    rng = np.random.default_rng(5)
    table = numbers().mask(rng.random((N_ROWS, 6)) < 0.2)
    table["rare"] = np.nan
    table.loc[[3, 7], "rare"] = [1.0, 2.0]
    return table


def texts(missing=None, dtype=object):
    rng = np.random.default_rng(6)
    table = {
        "s": rng.choice(list("pqr"), N_ROWS),
        "t": rng.choice(list("uvwxyz"), N_ROWS, p=[0.4, 0.3, 0.2, 0.05, 0.03, 0.02]),
    }
    columns = {name: values.astype(object) for name, values in table.items()}
    if missing is not None:
        for values in columns.values():
            values[rng.random(N_ROWS) < 0.2] = None if missing is NONE else missing
    return pd.DataFrame({name: pd.Series(values, dtype=dtype) for name, values in columns.items()})


NONE = object()


def mixed():
    return pd.concat([numbers(), texts()], axis=1)


def figures(model, X, y, route="auto", **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return onefit.nested_cv(model, X, y, route=route, **{**FEW, **options})


def assert_same(model, X, y=None, **options):
    """The gram route serves, and its figures are those of refits."""
    y = target() if y is None else y
    fast, slow = (figures(model, X, y, route, **options) for route in ("auto", "refit"))
    assert fast.route == "gram", fast.route_reason
    for name in ("cv_estimate", "raw_estimate", "standard_error"):
        np.testing.assert_allclose(getattr(fast, name), getattr(slow, name), rtol=STRICT)


def union(*steps, **options):
    return FeatureUnion([(str(number), step) for number, step in enumerate(steps)], **options)


def prepared(**options):
    names = list(numbers())
    parts = [("levels", OneHotEncoder(**INDICATORS), ["s", "t"]), ("numbers", StandardScaler(), names)]
    return ColumnTransformer(parts, **options)


# PCA and TruncatedSVD

ROTATIONS = [
    *(PCA(number, whiten=whiten) for number in (1, 3, 0.8, None) for whiten in (False, True)),
    PCA(2, svd_solver="full"),
    PCA(2, svd_solver="covariance_eigh"),
    TruncatedSVD(3, algorithm="arpack"),
    make_pipeline(PCA(3), StandardScaler()),
    make_pipeline(PCA(4), PCA(2)),
    make_pipeline(VarianceThreshold(), PCA(0.9)),
    union(PCA(2), SelectKBest(f_regression, k=2), StandardScaler()),
]


@pytest.mark.sweep(2)
@pytest.mark.parametrize("step", ROTATIONS, ids=named)
@pytest.mark.parametrize("last", [Ridge(), LinearRegression(), Ridge(fit_intercept=False)], ids=named)
def test_directions_are_those_of_each_training_set(step, last):
    assert_same(make_pipeline(StandardScaler(), step, last), numbers())


@pytest.mark.parametrize("step", [PCA(3), TruncatedSVD(2, algorithm="arpack")], ids=named)
def test_directions_of_columns_as_they_came_and_of_levels(step):
    assert_same(make_pipeline(step, Ridge()), numbers())
    assert_same(make_pipeline(prepared(), step, Ridge()), mixed())
    assert_same(make_pipeline(prepared(), step, Ridge()), mixed(), sample_weight=np.arange(N_ROWS) % 3 / 2)


def test_a_direction_that_is_not_determined_is_left_to_the_step(monkeypatch):
    asked = spied(monkeypatch)
    X = np.vstack([np.eye(4), -np.eye(4)] * 6)  # all directions have the same variance
    y = X @ [1.0, 2.0, 3.0, 4.0] + np.random.default_rng(0).normal(size=len(X))
    folds = np.repeat(np.arange(6), 8)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fast, slow = (
            onefit.nested_cv(make_pipeline(PCA(2), Ridge()), X, y, folds=folds, route=route)
            for route in ("auto", "refit")
        )
    assert fast.route == "gram"
    assert len(asked) == 6 + 15
    np.testing.assert_allclose(fast.cv_estimate, slow.cv_estimate, rtol=STRICT)


def spied(monkeypatch):
    """The training sets that are left to the steps themselves."""
    asked, of_rows = [], EncodedEngine.sets

    def sets(engine, *arguments):
        found = of_rows(engine, *arguments)
        from_rows = found._part_from_rows
        found._part_from_rows = lambda at, out: (asked.append(tuple(out)), from_rows(at, out))[1]
        return found

    monkeypatch.setattr(EncodedEngine, "sets", sets)
    return asked


def test_what_is_clear_is_not_left_to_the_steps(monkeypatch):
    asked = spied(monkeypatch)
    columns = numbers().drop(columns="k")
    for step in (PCA(2), SelectKBest(f_regression, k=2), VarianceThreshold(0.5)):
        assert_same(make_pipeline(StandardScaler() if isinstance(step, PCA) else "passthrough", step, Ridge()), columns)
    assert not asked


# Selection

SCORES = [f_regression, r_regression, f_classif]


@pytest.mark.parametrize("score", SCORES, ids=lambda score: score.__name__)
@pytest.mark.parametrize("number", [1, 3, "all", 50])
def test_the_best_columns_of_each_training_set(score, number):
    y = np.round(target()) if score is f_classif else target()
    assert_same(make_pipeline(StandardScaler(), SelectKBest(score, k=number), Ridge()), numbers(), y)


@pytest.mark.sweep(2)
@pytest.mark.parametrize("score", SCORES, ids=lambda score: score.__name__)
@pytest.mark.parametrize("share", [20, 34, 50, 62.5, 100])
def test_a_percentage_of_the_columns_of_each_training_set(score, share):
    y = np.round(target()) if score is f_classif else target()
    assert_same(make_pipeline(prepared(), SelectPercentile(score, percentile=share), Ridge()), mixed(), y)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_columns_that_tell_classes_apart(n_classes):
    y = np.array(["low", "mid", "top"])[np.digitize(target(), [0.0] if n_classes == 2 else [-0.7, 0.7])]
    for step in (SelectKBest(k=3), SelectPercentile(percentile=40)):
        assert_same(make_pipeline(prepared(), step, RidgeClassifier()), mixed(), y)


def test_columns_of_the_same_score_are_chosen_as_scikit_learn_does(monkeypatch):
    asked = spied(monkeypatch)
    columns = numbers()[["b", "a"]].assign(again=lambda table: table["a"], other=lambda table: -2 * table["a"])
    for number in (1, 2):
        for step in (SelectKBest(f_regression, k=number), SelectPercentile(f_regression, percentile=25 * number)):
            assert_same(make_pipeline(step, Ridge()), columns)
    assert len(asked) == 4 * (3 + 3)


def test_a_column_that_is_constant_in_a_training_set_is_scored_by_scikit_learn():
    columns = numbers()[["a", "b", "k"]].assign(ones=lambda table: 1.0 + table["k"], zeros=0.0)
    for number in (1, 2, 3, 4):
        assert_same(make_pipeline(SelectKBest(f_regression, k=number), Ridge()), columns)


@pytest.mark.parametrize("threshold", [0.0, 0.03, 2.0])
def test_columns_that_vary_enough_in_each_training_set(threshold):
    assert_same(make_pipeline(VarianceThreshold(threshold), Ridge()), numbers())
    assert_same(make_pipeline(prepared(), VarianceThreshold(threshold / 3), Ridge()), mixed())


# Missing values

STRATEGIES = ["mean", "median", "most_frequent", "constant"]


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("options", [{}, {"add_indicator": True}, {"keep_empty_features": True}], ids=named)
def test_numbers_are_filled_in_even_where_a_training_set_has_none(strategy, options):
    assert_same(make_pipeline(SimpleImputer(strategy=strategy, **options), StandardScaler(), Ridge()), gaps())


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_number_may_stand_for_a_missing_one(strategy):
    whole = np.round(numbers()[["a", "d", "f"]]).astype(int)
    step = SimpleImputer(missing_values=-1, strategy=strategy, add_indicator=True)
    assert_same(make_pipeline(step, MinMaxScaler(), Ridge()), whole)


@pytest.mark.parametrize("fill", [7, 2.5, True])
def test_numbers_are_filled_in_by_a_number(fill):
    assert_same(make_pipeline(SimpleImputer(strategy="constant", fill_value=fill), Ridge()), gaps())


@pytest.mark.sweep(2)
@pytest.mark.parametrize(
    ("missing", "dtype", "value"),
    [
        (np.nan, object, np.nan),
        (np.nan, "str", np.nan),
        (np.nan, "category", np.nan),
        (np.nan, object, pd.NA),
        (pd.NA, object, pd.NA),
        (pd.NA, "string", pd.NA),
        (NONE, object, None),
        (NONE, object, pd.NA),
        ("p", object, "p"),
    ],
)
@pytest.mark.parametrize(
    "options", [{"strategy": "most_frequent"}, {"strategy": "constant"}, {"strategy": "constant", "fill_value": "w"}]
)
def test_levels_are_filled_in_whatever_a_missing_one_is(missing, dtype, value, options):
    step = SimpleImputer(missing_values=value, **options)
    assert_same(make_pipeline(step, OneHotEncoder(**INDICATORS), Ridge()), texts(missing, dtype))


def test_none_is_a_level_where_nan_is_what_is_missing():
    step = SimpleImputer(strategy="constant")
    assert_same(make_pipeline(step, OneHotEncoder(**INDICATORS), Ridge()), texts(NONE))
    mode = make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder(**INDICATORS), Ridge())
    with suppress(RefitError):  # which says as much: scikit-learn 1.6 cannot count None among texts
        assert figures(mode, texts(NONE), target()).route == "refit"


def test_levels_that_a_training_set_lacks_altogether():
    table = texts(np.nan).assign(u=pd.Series([np.nan] * N_ROWS, dtype=object))
    table.loc[[2, 9], "u"] = ["g", "h"]
    for strategy in ("most_frequent", "constant"):
        assert_same(make_pipeline(SimpleImputer(strategy=strategy), OneHotEncoder(**INDICATORS), Ridge()), table)


@pytest.mark.parametrize("options", [{}, {"features": "all"}, {"error_on_new": False}], ids=named)
def test_missing_values_are_flagged(options):
    table = gaps().drop(columns="rare")
    assert_same(make_pipeline(union(SimpleImputer(), MissingIndicator(**options)), Ridge()), table)
    chosen = SelectPercentile(f_regression, percentile=60)
    assert_same(make_pipeline(union(SimpleImputer(), MissingIndicator(**options)), chosen, Ridge()), table)


def test_a_flag_that_a_training_set_does_not_know_is_an_error_or_nothing():
    table = numbers()
    table.loc[3, "a"] = np.nan
    table.loc[::2, "b"] = np.nan
    strict = make_pipeline(union(SimpleImputer(), MissingIndicator()), Ridge())
    with pytest.raises(TrainingSetError, match="column 'a' has missing values where it is predicted"):
        figures(strict, table, target())
    with pytest.raises(RefitError):
        figures(strict, table, target(), "refit")
    assert_same(make_pipeline(union(SimpleImputer(), MissingIndicator(error_on_new=False)), Ridge()), table)


def test_nullable_types_and_booleans():
    rng = np.random.default_rng(1)
    table = pd.DataFrame(
        {
            "i": pd.array(rng.integers(0, 4, N_ROWS), dtype="Int64"),
            "x": pd.array(rng.normal(size=N_ROWS), dtype="Float64"),
        }
    )
    table.loc[4, "i"] = pd.NA
    table.loc[9, "x"] = pd.NA
    assert_same(make_pipeline(SimpleImputer(), StandardScaler(), Ridge()), table)
    assert_same(make_pipeline(OneHotEncoder(**INDICATORS), Ridge()), table[["i"]])
    assert_same(make_pipeline(SimpleImputer(), MaxAbsScaler(), PCA(2), Ridge()), numbers() > 0)


def test_a_level_that_is_not_there_stays_away_when_others_are_moved():
    levels = make_pipeline(OneHotEncoder(**INDICATORS), MinMaxScaler((-1, 2)))
    for last in (Ridge(fit_intercept=False), make_pipeline(TruncatedSVD(2, algorithm="arpack"), Ridge())):
        assert_same(make_pipeline(levels, last) if isinstance(last, Ridge) else make_pipeline(levels, *last), texts())


# Functions


def centred(X):
    return X - X.mean(axis=0)


def centred_if_few(X):
    return centred(X) if len(X) < 12 else X


@pytest.mark.parametrize("function", [None, np.log1p, np.square, lambda X: 2 * X, centred_if_few], ids=named)
@pytest.mark.parametrize("as_frame", [True, False])
def test_a_function_of_rows_is_fixed_and_others_are_found_out(function, as_frame):
    X = numbers().abs()
    assert_same(
        make_pipeline(FunctionTransformer(function), StandardScaler(), PCA(2), Ridge()), X if as_frame else X.to_numpy()
    )


def test_a_function_may_make_columns_of_a_frame():
    made = FunctionTransformer(lambda table: table.assign(u=table["s"].str.upper(), ab=table["a"] * table["b"]))
    after = make_column_transformer((OneHotEncoder(**INDICATORS), ["s", "u"]), (RobustScaler(), ["a", "ab"]))
    assert_same(make_pipeline(made, after, Ridge()), mixed())


def test_tables_that_functions_make_are_not_taken_for_each_other():
    parts = [
        make_pipeline(FunctionTransformer(by), StandardScaler(), PCA(1))
        for by in (np.log1p, np.sqrt, np.square, np.exp2)
    ]
    assert_same(make_pipeline(union(*parts), Ridge()), numbers()[["a", "d", "f"]].abs())


@pytest.mark.parametrize("step", [PolynomialFeatures(2), Normalizer()], ids=named)
def test_what_learns_nothing_may_stand_first(step):
    assert_same(
        make_pipeline(step, StandardScaler(), SelectKBest(f_regression, k=2), Ridge()), numbers()[["a", "d", "f"]]
    )


# Columns


@pytest.mark.parametrize(
    "chosen",
    [
        ["a", "c"],
        [0, 2],
        [-8, -6],
        slice(0, 3),
        slice("a", "c"),
        [True, False, True, *[False] * 5],
        np.array([True, False, True, *[False] * 5]),
        make_column_selector(dtype_include="number"),
        make_column_selector(pattern="^[ab]$"),
        lambda X: list(X.columns[:2]),
        lambda X: [name for name in X.select_dtypes("number") if X[name].nunique() > 1],  # not the same everywhere
        [],
    ],
    ids=named,
)
def test_columns_are_found_as_scikit_learn_finds_them(chosen):
    step = ColumnTransformer([("some", MinMaxScaler(), chosen), ("levels", OneHotEncoder(**INDICATORS), ["s"])])
    assert_same(make_pipeline(step, Ridge()), mixed())


@pytest.mark.parametrize(
    "step",
    [
        prepared(transformer_weights={"levels": 2.0, "numbers": 0.1}),
        prepared(verbose_feature_names_out=False).set_output(transform="pandas"),
        ColumnTransformer([("levels", OneHotEncoder(**INDICATORS), ["s", "t"])], remainder=RobustScaler()),
        ColumnTransformer([("levels", OneHotEncoder(**INDICATORS), ["s", "t"])], remainder="passthrough"),
        ColumnTransformer([("levels", OneHotEncoder(), ["s"])], remainder="drop", sparse_threshold=0),
        ColumnTransformer([("no", "drop", ["s", "t"]), ("yes", "passthrough", ["a", "b"])], remainder=PCA(1)),
        ColumnTransformer(
            [
                ("inner", prepared(), list(mixed())),
                ("more", OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1), ["t"]),
            ]
        ),
        make_pipeline("passthrough", prepared(), union("passthrough", PCA(2), "drop", transformer_weights={"1": 3.0})),
    ],
    ids=named,
)
def test_steps_side_by_side(step):
    assert_same(make_pipeline(step, Ridge()), mixed())


def test_frames_of_polars():
    frame = pl.DataFrame({name: list(column) for name, column in mixed().items()})
    assert_same(make_pipeline(prepared(), SelectKBest(f_regression, k=4), Ridge()), frame)
    made = make_column_transformer((FunctionTransformer(lambda table: table * 2), ["a"]), (PCA(1), ["b", "c"]))
    assert_same(make_pipeline(made, Ridge()), frame)
    holes = frame.with_columns(pl.when(pl.int_range(pl.len()) % 7 == 0).then(None).otherwise(pl.col("s")).alias("s"))
    mode = make_pipeline(SimpleImputer(strategy="most_frequent", missing_values=None), OneHotEncoder(**INDICATORS))
    assert_same(make_pipeline(make_column_transformer((mode, ["s"]), (StandardScaler(), ["a"])), Ridge()), holes)


def test_categories_and_booleans():
    table = mixed()
    table["s"] = table["s"].astype("category")
    table["t"] = pd.Categorical(table["t"], categories=list("zyxwvu"), ordered=True)
    table["yes"] = table["a"] > 0
    step = ColumnTransformer([("levels", OneHotEncoder(**INDICATORS), ["s", "t"])], remainder="passthrough")
    assert_same(make_pipeline(step, Ridge()), table)


# What goes by refits, and why


class Centred(TransformerMixin, BaseEstimator):
    """A transformer of one's own, which keeps state."""

    def fit(self, X, y=None):
        self.mean_ = np.asarray(X).mean(axis=0)
        return self

    def transform(self, X):
        return np.asarray(X) - self.mean_


class Scaler(StandardScaler):
    """A subclass may be anything."""


@pytest.mark.parametrize(
    ("steps", "reason"),
    [
        ([PCA(2, svd_solver="randomized", random_state=0)], "randomized"),
        ([PCA(2, svd_solver="arpack", random_state=0)], "arpack"),
        ([PCA("mle")], "mle"),
        ([TruncatedSVD(2, random_state=0)], "TruncatedSVD is not exact"),
        ([PCA(2), MinMaxScaler()], "MinMaxScaler needs extremes"),
        ([PCA(2), SelectKBest(f_regression, k=1)], "SelectKBest chooses among columns"),
        ([PCA(2), VarianceThreshold()], "VarianceThreshold chooses among columns"),
        ([SelectKBest(lambda X, y: f_regression(X, y), k=2)], "score of its own"),
        ([SelectKBest(f_classif, k=2), StandardScaler()], "target of"),
        ([FunctionTransformer(centred)], "something else of some rows"),
        ([StandardScaler(), FunctionTransformer(np.abs)], "FunctionTransformer stands behind"),
        ([StandardScaler(), PCA(2), PolynomialFeatures(2)], "PolynomialFeatures multiplies columns"),
        ([StandardScaler(), SimpleImputer()], "SimpleImputer stands behind"),
        ([SimpleImputer(strategy=np.max)], "strategy of its own"),
        ([union(StandardScaler(), PCA(1), transformer_weights={"0": -1.0})], "multiplies a part by -1.0"),
        ([MinMaxScaler(clip=True), PCA(2)], "clip"),
        ([Centred()], "Centred must be fitted anew"),
        ([Scaler(), PCA(2)], "Scaler, PCA must be fitted anew"),
        ([SplineTransformer()], "SplineTransformer must be fitted anew"),
    ],
    ids=named,
)
def test_what_is_not_the_refit_is_refitted_and_says_so(steps, reason):
    y = np.linspace(0, 1, 3 * N_ROWS) if "target of" in reason else target()
    X = numbers().drop(columns="k")
    X = pd.concat([X] * (len(y) // N_ROWS), ignore_index=True)
    result = figures(make_pipeline(*steps, Ridge()), X, y)
    assert result.route == "refit"
    assert reason in result.route_reason


def test_a_large_table_for_which_pca_takes_a_randomized_solver_is_refitted():
    X = np.random.default_rng(0).normal(size=(510, 60))
    result = figures(make_pipeline(StandardScaler(), PCA(3, random_state=0), Ridge()), X, X[:, 0], n_folds=3)
    assert result.route == "refit"
    assert "randomized solver" in result.route_reason
    assert_same(make_pipeline(StandardScaler(), PCA(3, svd_solver="full"), Ridge()), X, X @ np.arange(60), n_folds=3)


class Shorter(TransformerMixin, BaseEstimator):
    """A transformer that loses a row, and says that it learns nothing."""

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return np.asarray(X)[1:]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        return tags


def failing(X):
    raise ZeroDivisionError("not today")


@pytest.mark.parametrize(
    "steps",
    [
        [VarianceThreshold(1e9)],
        [SelectKBest(f_regression, k=0)],
        [PCA(50)],
        [Shorter(), PCA(1)],
        [FunctionTransformer(failing), PCA(1)],
        [FunctionTransformer(lambda X: X[1:]), PCA(1)],
        [ColumnTransformer([("x", StandardScaler(), failing)])],
        [ColumnTransformer([("x", StandardScaler(), "a")])],
        [ColumnTransformer([("x", StandardScaler(), ["absent"])])],
        [ColumnTransformer([("x", "drop", ["a"])])],
        [SimpleImputer(strategy="nonsense")],
        [SimpleImputer(strategy="constant", fill_value="text")],
        [make_column_transformer((OneHotEncoder(handle_unknown="ignore"), ["k"])).set_output(transform="pandas")],
        [OrdinalEncoder()],
    ],
    ids=named,
)
def test_where_a_refit_fails_so_does_the_fast_route(steps):
    model = make_pipeline(*steps, Ridge())
    errors = []
    for route in ("auto", "refit"):
        with pytest.raises(OneFitError) as caught:
            figures(model, numbers(), target(), route)
        errors.append(caught.value)
    assert isinstance(errors[0], TrainingSetError | RefitError)
    assert "held out" in str(errors[0])


def test_the_last_place_cannot_be_dropped():
    with pytest.raises(OneFitError, match="not an estimator"):
        figures(Pipeline([("scale", StandardScaler()), ("last", "drop")]), numbers(), target())


def test_a_score_of_mutual_information_is_refitted():
    result = figures(make_pipeline(SelectKBest(mutual_info_regression, k=2), Ridge()), numbers(), target())
    assert "f_regression, r_regression and f_classif are known" in result.route_reason
