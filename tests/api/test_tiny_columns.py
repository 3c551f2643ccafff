"""Columns that vary by so little that their squares vanish: refitted where that is possible, and else refused."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.decomposition import PCA
from sklearn.feature_selection import SelectKBest, VarianceThreshold, f_regression
from sklearn.impute import SimpleImputer
from sklearn.linear_model import ElasticNet, Lasso, LassoCV, LinearRegression, Ridge, RidgeCV
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

import onefit
from onefit.errors import OneFitError

KEYWORDS = {"n_folds": 5, "n_repeats": 1, "random_state": 0}
LASSO = Lasso(0.1, tol=1e-12)
SCALED = {
    "lasso": make_pipeline(StandardScaler(), LASSO),
    "elastic net": make_pipeline(StandardScaler(), ElasticNet(0.1, tol=1e-12)),
    "positive": make_pipeline(StandardScaler(), Lasso(0.1, tol=1e-12, positive=True)),
    "lasso cv": make_pipeline(StandardScaler(), LassoCV(tol=1e-10)),
    "imputed": make_pipeline(SimpleImputer(), StandardScaler(), Ridge()),
    "chosen": make_pipeline(VarianceThreshold(), StandardScaler(), Ridge()),
    "searched": GridSearchCV(make_pipeline(StandardScaler(), Ridge()), {"ridge__alpha": [0.1, 2.0]}),
    "products": make_pipeline(PolynomialFeatures(2), StandardScaler(), LASSO),
    "ridge": make_pipeline(StandardScaler(), Ridge()),
    "ridge cv": make_pipeline(StandardScaler(), RidgeCV()),
    "rotated": make_pipeline(StandardScaler(), PCA(2), Ridge()),
    "best": make_pipeline(SelectKBest(f_regression, k=2), LinearRegression()),
    "least squares": make_pipeline(VarianceThreshold(), LinearRegression()),
    "products behind": make_pipeline(StandardScaler(), PolynomialFeatures(2), Ridge()),
}
SIZES = {"one": [1, 1, 1, 1e-156], "one, subnormal": [1, 1, 1, 2.0**-536], "all": [1e-156] * 4, "smaller": [1e-160] * 4}


def data():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 4))
    return X, X @ [1, -1, 0.5, 0.7] + rng.normal(size=60)


def estimate(model, X, y=None, **keywords):
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        return onefit.nested_cv(model, X, y, **{**KEYWORDS, **keywords}).cv_estimate


@pytest.mark.parametrize("size", SIZES.values(), ids=SIZES)
@pytest.mark.parametrize("model", SCALED.values(), ids=SCALED)
def test_figures_are_those_of_refits_where_squares_of_columns_vanish(model, size):
    X, y = data()
    assert estimate(model, X * size, y) == pytest.approx(estimate(model, X * size, y, route="refit"), rel=1e-9)


@pytest.mark.parametrize("size", [1e-70, 1e-90, 1e-120])
def test_products_of_scaled_columns_do_not_depend_on_units(size):
    X, y = data()
    model = SCALED["products behind"]
    assert estimate(model, X * [1, 1, 1, size], y) == pytest.approx(estimate(model, X, y), rel=1e-9)


@pytest.mark.parametrize("size", [1e-60, 1e-120])
def test_scores_of_small_columns_and_a_small_y_order_them_as_refits_do(size):
    X, y = data()
    X, y = X * size, y * 1e-58
    model = make_pipeline(SelectKBest(f_regression, k=2), StandardScaler(), Ridge())
    result = onefit.nested_cv(model, X, y, **KEYWORDS)
    assert result.route == "gram"
    assert result.cv_estimate == pytest.approx(estimate(model, X, y, route="refit"), rel=1e-9)


def test_columns_that_are_small_but_keep_their_squares_take_no_refits():
    X, y = data()
    for name in ("lasso", "imputed", "ridge"):
        small = onefit.nested_cv(SCALED[name], X * [1, 1, 1, 1e-120], y, **KEYWORDS)
        assert small.route == "gram"
        assert small.cv_estimate == pytest.approx(estimate(SCALED[name], X, y), rel=1e-9)


@pytest.mark.parametrize("name", ["lasso", "imputed", "ridge", "searched", "products behind"])
def test_tables_and_the_fast_route_refuse_the_column_by_its_name(name):
    X, y = data()
    frame = pd.DataFrame(X * SIZES["one"], columns=list("abcd"))
    model = SCALED[name]
    with pytest.raises(OneFitError, match=r"column 'd' varies by 3e-156 at most, .*rescale it"):
        estimate(model, onefit.scan(frame.assign(y=y)), "y")
    with pytest.raises(OneFitError, match=r"column 'd' varies by 3e-156 at most, .*rescale it"):
        estimate(model, frame, y, route="gram")


@pytest.mark.parametrize("model", [LinearRegression(), make_pipeline(StandardScaler(), LinearRegression()), Ridge()])
def test_tables_refuse_columns_all_of_which_vanish(model):
    X, y = data()
    with pytest.raises(OneFitError, match="rescale it"):
        estimate(model, onefit.scan(pd.DataFrame(X * 1e-156, columns=list("abcd")).assign(y=y)), "y")


def test_columns_too_large_to_be_multiplied_are_refused_without_a_warning():
    X, y = data()
    with pytest.raises(OneFitError):
        estimate(make_pipeline(PolynomialFeatures(2), Ridge()), X * 1e160, y)


@pytest.mark.parametrize("number", [2, 0.9])
@pytest.mark.parametrize("exponent", [-530, -700, -1000])
def test_components_of_tiny_curves_are_those_of_ordinary_ones(number, exponent):
    X, y = data()
    curves = np.cumsum(X, axis=1)
    model = onefit.FPCR(n_components=number, lam=0.0)
    assert estimate(model, curves * 2.0**exponent, y) == pytest.approx(estimate(model, curves, y), rel=1e-9)


@pytest.mark.parametrize("value", [pd.NA, np.array([]), np.ones((2, 2)), pd.DataFrame(), "yes", None], ids=repr)
def test_return_estimators_is_true_or_false(value):
    X, y = data()
    with pytest.raises(OneFitError, match=r"return_estimators=.* must be True or False"):
        onefit.nested_cv(Ridge(), X, y, return_estimators=value, **KEYWORDS)
    with pytest.raises(OneFitError, match=r"return_estimators=.* must be True or False"):
        onefit.compare({"a": Ridge(), "b": Ridge(2)}, X, y, return_estimators=value, **KEYWORDS)


@pytest.mark.parametrize("last", [Ridge(), LASSO], ids=["ridge", "lasso"])
@pytest.mark.parametrize("value", [np.array([]), np.ones((2, 2)), pd.DataFrame(), pd.NA, None], ids=repr)
@pytest.mark.parametrize("name", ["with_mean", "with_std"])
def test_scalers_with_options_that_are_none_are_refused(name, value, last):
    X, y = data()
    with pytest.raises(OneFitError, match=f"The '{name}' parameter of StandardScaler must be"):
        onefit.nested_cv(make_pipeline(StandardScaler(**{name: value}), last), X, y, **KEYWORDS)


@pytest.mark.parametrize("place", ["n_basis", "lam"])
def test_models_that_cannot_be_copied_are_refused(place):
    X, y = data()
    model = onefit.SplineRegression(**{place: (each for each in range(3))})
    with pytest.raises(OneFitError, match="SplineRegression cannot be copied"):
        onefit.nested_cv(model, X[:, :1], y, **KEYWORDS)
    with pytest.raises(OneFitError, match="cannot be copied"):
        onefit.nested_cv(make_pipeline(StandardScaler(), model), X[:, :1], y, **KEYWORDS)
    with pytest.raises(OneFitError, match="cannot be copied"):
        onefit.error_curve(model, X[:, :1], y, param_name="n_basis", param_range=[5, 6], **KEYWORDS)


class Changing(Ridge):
    """An estimator whose constructor changes what it is given, which scikit-learn does not copy."""

    def __init__(self, alpha=1.0):
        super().__init__(alpha=[alpha])


def test_a_model_whose_constructor_changes_parameters_is_refused_by_curves():
    X, y = data()
    with pytest.raises(OneFitError, match=r"constructor .* modifies parameter alpha; let the constructor keep"):
        onefit.error_curve(Changing(), X, y, param_name="alpha", param_range=[1.0, 2.0], **KEYWORDS)
