"""What the result says of its route is true: the obstacle is the real one, and a remedy has been seen to work."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.decomposition import PCA
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LassoCV, LogisticRegression, PoissonRegressor, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR

import onefit

FEW = {"n_folds": 4, "n_repeats": 1, "random_state": 0}


def data(n=40):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(n, 3))
    return X, X @ [1.0, 2.0, 0.5] + rng.normal(size=n)


@pytest.mark.parametrize("last", [SVR(), LassoCV(cv=3), PoissonRegressor(), LogisticRegression()], ids=repr)
def test_freezing_is_no_remedy_where_the_model_has_no_fast_route(last):
    X, y = data()
    y = (y > 0).astype(int) if isinstance(last, LogisticRegression) else np.abs(y)
    result = onefit.nested_cv(make_pipeline(StandardScaler(), last), X, y, **FEW)
    assert result.route == "refit"
    assert "freeze" not in result.route_reason
    assert type(last).__name__ in result.route_reason


@pytest.mark.parametrize("last", [Ridge(), KernelRidge(alpha=1.0, kernel="rbf")], ids=repr)
def test_where_freezing_is_recommended_it_takes_a_fast_route(last):
    X, y = data()
    pipeline = make_pipeline(PCA(2), last)
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


def test_weights_are_named_where_they_keep_a_scaler_from_the_fast_route():
    X, y = data()
    weights = np.linspace(0.5, 1.5, len(y))
    result = onefit.nested_cv(make_pipeline(StandardScaler(), Ridge()), X, y, sample_weight=weights, **FEW)
    assert result.route == "refit"
    assert "sample_weight" in result.route_reason


def test_the_reason_for_sparse_data_is_about_the_route_that_is_taken():
    X, y = data()
    result = onefit.nested_cv(Ridge(), sparse.csr_matrix(X), y, **FEW)
    assert result.route == "gram"
    assert result.route_reason.startswith("gram solves systems of 4 x 4 (columns)")
    assert "onestep cannot serve: X is sparse" in result.route_reason
