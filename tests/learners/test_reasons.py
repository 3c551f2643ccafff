"""What the result says of its route is true: the obstacle is the real one, and a remedy has been seen to work."""

import re
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.decomposition import PCA
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import (
    HuberRegressor,
    Lasso,
    LinearRegression,
    MultiTaskElasticNetCV,
    MultiTaskLasso,
    Ridge,
    RidgeCV,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC, SVR

import onefit
from onefit.errors import DataError, RouteError, TrainingSetError
from onefit.inference.intervals import RULES
from onefit.learners import Refusal, Task, adapt
from onefit.metrics import find_loss
from onefit.validation import check_problem

FEW = {"n_folds": 4, "n_repeats": 1, "random_state": 0}


def data(n=40):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(n, 3))
    return X, X @ [1.0, 2.0, 0.5] + rng.normal(size=n)


@pytest.mark.parametrize("last", [SVR(), HuberRegressor(), SVC()], ids=repr)
def test_freezing_is_no_remedy_where_the_model_has_no_fast_route(last):
    X, y = data()
    y = (y > 0).astype(int) if isinstance(last, SVC) else np.abs(y)
    result = onefit.nested_cv(make_pipeline(StandardScaler(), last), X, y, **FEW)
    assert result.route == "refit"
    assert "freeze" not in result.route_reason
    assert type(last).__name__ in result.route_reason


@pytest.mark.parametrize("last", [Ridge(), KernelRidge(alpha=1.0, kernel="rbf")], ids=repr)
def test_where_freezing_is_recommended_it_takes_a_fast_route(last):
    X, y = data()
    pipeline = make_pipeline(PCA(2, svd_solver="randomized", random_state=0), last)
    result = onefit.nested_cv(pipeline, X, y, **FEW)
    assert result.route == "refit"
    assert "PCA must be fitted anew" in result.route_reason
    assert 'transformers="freeze"' in result.route_reason
    frozen = onefit.nested_cv(pipeline, X, y, transformers="freeze", **FEW)
    assert frozen.route != "refit"
    assert frozen.exactness == "given the transformers"


def test_an_option_that_stands_in_the_way_is_named_after_a_transformer_too():
    X, y = data()
    result = onefit.nested_cv(make_pipeline(PCA(2), Ridge(positive=True)), X, y, **FEW)
    assert result.route_reason == "positive=True makes the fit non-linear in y"


def test_weights_keep_no_scaler_from_the_fast_route():
    X, y = data()
    weights = np.linspace(0.5, 1.5, len(y))
    result = onefit.nested_cv(make_pipeline(StandardScaler(), Ridge()), X, y, sample_weight=weights, **FEW)
    assert result.route == "gram"


def test_the_reason_for_sparse_data_is_about_the_route_that_is_taken():
    X, y = data()
    result = onefit.nested_cv(Ridge(), sparse.csr_matrix(X), y, **FEW)
    assert result.route == "gram"
    assert result.route_reason.startswith("gram solves systems of 4 x 4 (columns)")
    assert "X stays sparse" in result.route_reason


def test_freezing_is_no_remedy_where_the_fit_is_not_unique():
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 3, size=(40, 2)).astype(float), rng.normal(size=40)
    pipeline = make_pipeline(KeepsState(), OneHotEncoder(sparse_output=False), LinearRegression())
    result = onefit.nested_cv(pipeline, X, y, **FEW)
    assert result.route_reason == "KeepsState, OneHotEncoder must be fitted anew in every training set"
    with pytest.raises(TrainingSetError):
        onefit.nested_cv(pipeline, X, y, transformers="freeze", **FEW)


@pytest.mark.parametrize("model", [MultiTaskLasso(0.1), MultiTaskElasticNetCV(cv=3)], ids=repr)
def test_a_penalty_on_all_outputs_together_has_a_reason_of_its_own_and_a_remedy_that_works(model):
    X, y = data()
    Y = np.column_stack([y, X[:, 0] - y])
    reason = "its penalty is on the coefficients of all outputs together.*Lasso and ElasticNet.*take one"
    assert re.search(
        f"{type(model).__name__} has no exact fast route: {reason}", onefit.plan_for(model, X, Y, **FEW).reason
    )
    result = onefit.nested_cv(make_pipeline(StandardScaler(), model), X, Y, **FEW)
    assert result.route == "refit"
    assert re.search(reason, result.route_reason)
    assert onefit.nested_cv(Lasso(0.1), X, Y, **FEW).route == "gram"


class KeepsState(TransformerMixin, BaseEstimator):
    """A transformer of which nothing is known."""

    def fit(self, X, y=None):
        self.n_ = len(X)
        return self

    def transform(self, X):
        return X


def test_looking_for_a_remedy_leaves_no_trace():
    X, y = data()
    pipeline = make_pipeline(Loud(), Ridge())
    np.random.seed(0)  # noqa: NPY002  (what transformers without a random_state draw from)
    expected = np.random.get_state()[1].tolist()  # noqa: NPY002
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        task = Task(check_problem([pipeline], X, y), find_loss(None), RULES["covariance"])
        found = adapt(pipeline, task)
    assert 'transformers="freeze"' in found.remedy
    assert np.random.get_state()[1].tolist() == expected  # noqa: NPY002


class Loud(TransformerMixin, BaseEstimator):
    """A transformer that warns and draws."""

    def fit(self, X, y=None):
        warnings.warn("loud", UserWarning, stacklevel=2)
        self.noise_ = np.random.random()  # noqa: NPY002
        return self

    def transform(self, X):
        return X + self.noise_


def test_a_remedy_is_not_tried_at_any_price():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(600, 400)), rng.normal(size=600)
    pipeline = make_pipeline(PCA(2), Ridge())
    task = Task(check_problem([pipeline], X, y), find_loss(None), RULES["covariance"])
    found = adapt(pipeline, task)
    assert isinstance(found, Refusal)
    assert "PCA must be fitted anew in every training set" in found.reason
    assert not found.remedy


@pytest.mark.parametrize(
    ("last", "message"),
    [
        (Ridge(alpha=-1), "alpha"),
        (Ridge(alpha=np.array([1.0, 2.0])), "one number or one an output"),
        (RidgeCV(alphas=[0.0, 1.0]), "holds a zero"),
    ],
    ids=repr,
)
def test_a_scaler_before_it_takes_nothing_from_the_errors_of_a_ridge(last, message):
    X, y = data()
    with pytest.raises(DataError, match=message):
        onefit.nested_cv(make_pipeline(StandardScaler(), last), X, y, **FEW)


def test_a_curve_of_a_scaled_ridge_refuses_names_and_negative_penalties():
    X, y = data()
    for values in ([-1.0, 1.0], ["a", "b"]):
        with pytest.raises(DataError):
            onefit.error_curve(
                make_pipeline(StandardScaler(), Ridge()), X, y, param_name="ridge__alpha", param_range=values, **FEW
            )


def test_the_one_step_route_says_that_scales_are_learned():
    X, y = data()
    with pytest.raises(RouteError, match="the columns are scaled anew in every training set"):
        onefit.nested_cv(make_pipeline(StandardScaler(), Ridge()), X, y, route="onestep")
