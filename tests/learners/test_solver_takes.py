"""What a solver, or a fit, does not take is refused by the fast routes as by refits."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import is_classifier
from sklearn.compose import ColumnTransformer, make_column_transformer
from sklearn.cross_decomposition import PLSRegression
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.linear_model import ARDRegression, BayesianRidge, Ridge, RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import onefit
from helpers import quiet_nested_cv
from onefit.errors import OneFitError

FOLDS = np.repeat(np.arange(5), 12)
TEXT = OneHotEncoder(handle_unknown="ignore")
DENSE_ONLY = [
    PLSRegression(1),
    BayesianRidge(),
    ARDRegression(),
    GaussianNB(),
    LinearDiscriminantAnalysis(),
    QuadraticDiscriminantAnalysis(reg_param=0.1),
    Ridge(solver="cholesky"),
    RidgeClassifier(solver="svd"),
]
dense_only = pytest.mark.parametrize("last", DENSE_ONLY, ids=lambda last: type(last).__name__)


def table(n=60):
    """A number and a text of four levels: a fit sees two numbers in five, a density of 0.4."""
    rng = np.random.default_rng(3)
    X = pd.DataFrame({"x": rng.normal(size=n), "level": np.resize(list("abcd"), n)})
    return X, X["x"].to_numpy() + rng.normal(size=n)


def target_of(last, y):
    return (y > 0).astype(int) if is_classifier(last) else y


def both(model, X, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [quiet_nested_cv(model, X, y, folds=FOLDS, route=route) for route in ("auto", "refit")]


def assert_refused(model, X, y, why="sparse_output=False"):
    for route, cause in (("auto", "(?i)sparse"), ("gram", why)):
        with pytest.raises(OneFitError, match=cause):
            quiet_nested_cv(model, X, y, folds=FOLDS, route=route)


@dense_only
def test_a_sparse_matrix_that_the_fit_does_not_take_is_refused(last):
    X, y = table()
    assert_refused(make_pipeline(TEXT, last), X[["level"]], target_of(last, y))
    columns = ColumnTransformer([("n", StandardScaler(), ["x"]), ("c", TEXT, ["level"])], sparse_threshold=0.41)
    assert_refused(make_pipeline(columns, last), X, target_of(last, y))


@dense_only
@pytest.mark.parametrize("threshold", [0.0, 0.3, 0.4])
def test_columns_that_are_dense_enough_in_every_training_set_take_the_fast_route(last, threshold):
    X, y = table()
    columns = ColumnTransformer([("n", StandardScaler(), ["x"]), ("c", TEXT, ["level"])], sparse_threshold=threshold)
    fast, slow = both(make_pipeline(columns, last), X, target_of(last, y))
    assert fast.route != "refit"
    np.testing.assert_allclose(fast.interval, slow.interval, rtol=1e-8)


def test_columns_that_are_sparse_in_some_training_sets_are_left_to_refits():
    """Four levels make it sparse, three dense: without the fold that holds the fourth."""
    X, y = table()
    X["level"] = np.where(FOLDS == 0, "d", np.resize(list("abc"), len(X)))
    columns = ColumnTransformer([("n", StandardScaler(), ["x"]), ("c", TEXT, ["level"])], sparse_threshold=0.45)
    with pytest.raises(OneFitError, match="Sparse data"):
        quiet_nested_cv(make_pipeline(columns, BayesianRidge()), X, y, folds=FOLDS)


def test_a_scaler_behind_columns_that_are_surely_dense_is_learned_from_statistics():
    X, y = table()
    columns = make_column_transformer((StandardScaler(), ["x"]), (TEXT, ["level"]))
    fast, slow = both(make_pipeline(columns, StandardScaler(), Ridge()), X, y)
    assert fast.route == "gram"
    np.testing.assert_allclose(fast.interval, slow.interval, rtol=1e-9)


@pytest.mark.parametrize("solver", ["svd", "cholesky", "saga"])
def test_a_solver_that_takes_no_sparse_x_is_refused(solver):
    X, y = table()
    levels = sparse.csr_matrix(TEXT.fit_transform(X[["level"]]))
    assert_refused(Ridge(solver=solver), levels, y, "does not take a sparse matrix")


@pytest.mark.parametrize("model", [Ridge(solver="lbfgs"), RidgeClassifier(solver="lbfgs")])
def test_a_solver_for_positive_coefficients_is_refused_without_them(model):
    X, y = table()
    for given in (model, make_pipeline(StandardScaler(), model)):
        with pytest.raises(OneFitError, match="lbfgs"):
            quiet_nested_cv(given, X[["x"]], target_of(model, y), folds=FOLDS)


def test_a_table_says_what_would_do(tmp_path):
    pytest.importorskip("pyarrow")
    X, y = table()
    X.assign(y=y).to_parquet(tmp_path / "rows.parquet")
    with pytest.raises(OneFitError, match="sparse_output=False"):
        onefit.nested_cv(
            make_pipeline(make_column_transformer((TEXT, ["level"])), PLSRegression(1)),
            onefit.scan(tmp_path / "rows.parquet"),
            "y",
            folds=FOLDS,
            progress=False,
        )
