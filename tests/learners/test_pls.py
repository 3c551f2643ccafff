"""PLSRegression equals refits at every number of components, from rows and from products of columns."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.signal import savgol_filter
from sklearn.compose import make_column_transformer
from sklearn.cross_decomposition import PLSRegression
from sklearn.decomposition import PCA
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

import onefit
from helpers import STRICT, quietly
from onefit.errors import OneFitError, TrainingSetError
from onefit.learners.pls import PLSLearner
from onefit.linalg import pls
from validation.spectra import components, fermentation

FOLDS = {"n_folds": 4, "n_repeats": 1, "random_state": 0}


def spectra(seed, n, p, Q=1, decay=0.9):
    """Smooth columns that are much alike, as those of a spectrum, and outputs."""
    rng = np.random.default_rng(seed)
    basis = np.cos(np.outer(np.arange(p), np.arange(1, p + 1)) * np.pi / p) * decay ** np.arange(p)
    scores = rng.normal(size=(n, p))
    X = scores @ basis.T + 5.0
    y = scores[:, :3] @ rng.normal(size=(3, Q)) + 0.3 * rng.normal(size=(n, Q))
    return X, y[:, 0] if Q == 1 else y


def check(model, X, y, counts=None):
    call, more = (onefit.nested_cv, {})
    if counts is not None:
        call, more = onefit.error_curve, {"param_name": "n_components", "param_range": counts}
    fast, slow = (quietly(call, model, X, y, **FOLDS, **more, route=route) for route in ("auto", "refit"))
    assert (fast.results[0] if counts is not None else fast).route == "gram"
    for name in ("estimate", "standard_error"):
        np.testing.assert_allclose(getattr(fast, name), getattr(slow, name), rtol=STRICT)
    return fast


@settings(max_examples=20)
@given(
    st.integers(0, 10**6),
    st.sampled_from([(30, 50), (40, 8), (60, 4)]),
    st.integers(1, 3),
    st.booleans(),
    st.sampled_from([0.95, 0.8]),
)
def test_a_curve_over_components_equals_refits(seed, shape, outputs, scale, decay):
    X, y = spectra(seed, *shape, outputs, decay)
    check(PLSRegression(scale=scale), X, y, [1, 2, 3])


@settings(max_examples=10)
@given(
    st.integers(0, 10**6),
    st.sampled_from([(100, 15), (30, 25)]),
    st.integers(1, 2),
    st.booleans(),
    st.sampled_from([0.0, 1.0, 3.0]),
)
def test_late_components_that_are_made_of_rounding_errors_but_do_not_matter_equal_refits(
    seed, shape, Q, scale, decades
):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=shape) * 10 ** -rng.uniform(0, decades, shape[1])
    y = X[:, :2] @ rng.normal(size=(2, Q)) / X[:, :2].std() + rng.normal(size=(shape[0], Q))
    check(PLSRegression(scale=scale), X, y[:, 0] if Q == 1 else y, [2, 7, 13])


@pytest.mark.parametrize("shape", [(400, 30), (60, 30)])  # products of columns, and rows
def test_twenty_components_of_unlike_columns_take_no_refits(shape, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=shape)
    by_rows = []
    monkeypatch.setattr(PLSLearner, "fit_rows", lambda *given: by_rows.append(given))
    curve = {"param_name": "n_components", "param_range": list(range(1, 21)), "random_state": 0}
    quietly(onefit.error_curve, PLSRegression(), X, X[:, 0] + rng.normal(size=len(X)), **curve, n_folds=4)
    assert not by_rows


def test_components_of_columns_that_are_used_up_are_not_known():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 6))
    X[:, 5] = X[:, 0] - X[:, 1]
    X, Y = X - X.mean(axis=0), rng.normal(size=(60, 2))
    Y -= Y.mean(axis=0)
    method = pls.PowerMethod(500, 1e-6)
    _, of_products = pls.from_products((X.T @ X)[None], (X.T @ Y)[None], np.square(Y).sum(axis=0)[None], 6, method)
    _, of_rows = pls.from_rows(X, Y, np.ones((1, 60), dtype=bool), np.ones((1, 6)), np.ones((1, 2)), 6, method)
    assert of_products[0].tolist() == of_rows[0].tolist() == [True] * 5 + [False]


def test_one_model_is_on_its_curve():
    X, y = spectra(1, 40, 60)
    curve = check(PLSRegression(), X, y, [1, 4, 7])
    alone = check(PLSRegression(4), X, y)
    np.testing.assert_allclose(curve.estimate[1], alone.estimate, rtol=1e-12)


def test_components_after_steps_that_learn():
    X, y = spectra(2, 60, 6)
    frame = pd.DataFrame(X, columns=list("abcdef")).assign(kind=np.arange(60) % 3)
    steps = make_column_transformer((OneHotEncoder(sparse_output=False), ["kind"]), (StandardScaler(), list("abcdef")))
    check(make_pipeline(steps, PLSRegression(3)), frame, y)


def test_a_search_inside_over_components():
    X, y = spectra(3, 60, 6)
    check(GridSearchCV(PLSRegression(), {"n_components": [1, 2, 4]}, cv=3), X, y)


def test_a_column_that_is_constant_in_a_training_set():
    X, y = spectra(4, 40, 30)
    X[:, 3] = 0.1
    X[1:, 5] = 7.0
    check(PLSRegression(2), X, y)


def test_components_beyond_the_rank_are_those_of_scikit_learn():
    X, y = spectra(5, 40, 3)
    X = np.hstack([X, X[:, :1] - X[:, 1:2]])
    with np.errstate(all="ignore"):
        fast, slow = (
            quietly(onefit.nested_cv, PLSRegression(3, scale=False), X, y, **FOLDS, route=route)
            for route in ("auto", "refit")
        )
    np.testing.assert_allclose(fast.estimate, slow.estimate, rtol=1e-6)


def test_more_components_than_a_training_set_has_are_an_error_that_says_so():
    X, y = spectra(6, 16, 40)
    with pytest.raises(TrainingSetError, match="n_components is 12, and the smallest training set"):
        onefit.nested_cv(PLSRegression(12), X, y, **FOLDS)
    curve = quietly(onefit.error_curve, PLSRegression(), X, y, param_name="n_components", param_range=[2, 12], **FOLDS)
    assert np.isnan(curve.estimate[1])
    assert "at most 8" in curve.reasons[1]


def test_components_are_whole_numbers_and_weights_are_not_taken():
    X, y = spectra(7, 30, 5)
    with pytest.raises(OneFitError, match="n_components"):
        onefit.error_curve(PLSRegression(), X, y, param_name="n_components", param_range=[1, 1.5], **FOLDS)
    with pytest.raises(OneFitError, match="weight"):
        onefit.nested_cv(PLSRegression(), X, y, sample_weight=np.ones(30) * np.arange(1, 31), **FOLDS)


def test_principal_components_regression_beside_it():
    X, y = spectra(8, 60, 20)
    model = make_pipeline(PCA(3, svd_solver="full"), LinearRegression())
    fast, slow = (quietly(onefit.nested_cv, model, X, y, **FOLDS, route=route) for route in ("auto", "refit"))
    assert fast.route == "gram"
    np.testing.assert_allclose(fast.standard_error, slow.standard_error, rtol=STRICT)


def bands_of_substances(seed=0, n=24, p=60):
    rng = np.random.default_rng(seed)
    waves = np.linspace(-1, 1, p)
    bands = np.exp(-np.square((waves[:, None] - np.array([-0.5, 0.0, 0.4])) / 0.2))
    content = rng.gamma(3.0, size=(n, 3))
    return content @ bands.T + 0.3 * rng.normal(size=(n, 1)) + 0.01 * rng.normal(size=(n, p)), content[:, 1]


def test_derivatives_of_spectra_that_round_otherwise_beside_other_rows_are_fixed_columns():
    X, y = bands_of_substances()
    X = np.asfortranarray(X)  # so that the filter goes through memory in another order for some rows
    derivative = partial(savgol_filter, window_length=7, polyorder=2, deriv=1, axis=1)
    model = make_pipeline(FunctionTransformer(derivative), PLSRegression(scale=False))
    path = {"param_name": "plsregression__n_components", "param_range": [1, 2, 4]}
    fast, slow = (quietly(onefit.error_curve, model, X, y, **path, **FOLDS, route=route) for route in ("auto", "refit"))
    assert {result.route for result in fast.results} == {"gram"}
    np.testing.assert_allclose(fast.estimate, slow.estimate, rtol=1e-8)
    np.testing.assert_allclose(fast.standard_error, slow.standard_error, rtol=1e-8)


def test_a_function_that_learns_from_its_rows_is_no_fixed_column():
    X, y = bands_of_substances()
    centred = FunctionTransformer(lambda X: X - 1e-9 * X.mean(axis=0))
    model = make_pipeline(centred, PLSRegression(scale=False))
    result = quietly(onefit.nested_cv, model, X, y, n_folds=3, n_repeats=1, random_state=0)
    assert result.route == "refit"
    assert "makes something else of some rows" in result.route_reason


def test_a_curve_has_the_root_mean_squared_error_of_prediction():
    X, y = bands_of_substances(1)
    groups = np.repeat(np.arange(8), 3)  # replicates of a sample
    path = {"param_name": "n_components", "param_range": [1, 2, 3], "simpler": "smaller"}
    keywords = {"n_folds": 4, "n_repeats": 2, "random_state": 0, "groups": groups}
    curve = quietly(onefit.error_curve, PLSRegression(), X, y, **path, **keywords)
    for at, result in enumerate(curve.results):
        np.testing.assert_allclose([part[at] for part in curve.rmse], list(result.rmse))
    assert curve.select("one_se") <= curve.select("min")
    other = quietly(onefit.error_curve, PLSRegression(), X, y, **path, **keywords, loss="absolute_error")
    assert other.rmse is None


def test_the_study_of_real_spectra_makes_no_refits():
    pytest.importorskip("chemotools")
    X, y = fermentation()
    assert X.shape == (21, 444)
    curve = quietly(components, X, y, n_folds=5, n_repeats=1, random_state=0)
    assert curve.results[0].route == "gram"
    assert curve.high[3] < curve.low[0] or curve.estimate[3] < curve.estimate[0] / 4


@pytest.mark.parametrize("last", ["sum of others", "in one row"])
def test_more_components_than_a_training_set_has_is_an_error_that_names_it(last):
    """What scikit-learn makes of rounding errors there is 1e28, and another number for columns in another order."""
    rng = np.random.default_rng(0)
    X, ids = rng.normal(size=(60, 5)), np.arange(60) % 5
    y = X[:, 0] + rng.normal(size=60)
    X[:, 4] = X[:, 0] + X[:, 1] if last == "sum of others" else np.arange(60) == 7
    named = "fold 2 held out" if last == "in one row" else "held out"
    with pytest.raises(TrainingSetError, match=f"{named}.*n_components is 5, and its columns have 4.*Take at most 4"):
        onefit.nested_cv(PLSRegression(5), X, y, folds=ids)
    path = {"param_name": "n_components", "param_range": [1, 4, 5], "folds": ids}
    curve = quietly(onefit.error_curve, PLSRegression(), X, y, **path)
    assert "Take at most 4" in curve.reasons[2]
    refits = [quietly(onefit.nested_cv, PLSRegression(count), X, y, folds=ids, route="refit") for count in (1, 4)]
    np.testing.assert_allclose(curve.estimate[:2], [each.estimate for each in refits], rtol=1e-9)
    exact = quietly(onefit.nested_cv, PLSRegression(5), X, X @ [1.0, 2.0, 0.0, 1.0, 0.0], folds=ids)
    assert exact.cv_estimate < 1e-20


@pytest.mark.parametrize("seed", [0, 2, 3])
def test_components_that_scikit_learn_cannot_fit_leave_the_others_of_a_curve(seed):
    """Without row 3 one column is left, whose second component scikit-learn may end with an error of its own."""
    rng = np.random.default_rng(seed)
    X, ids = rng.normal(size=(45, 2)), np.arange(45) % 4
    X[:, 0] = np.where(np.arange(45) == 3, 0.4, 0.0)
    y = 3 * X[:, 1] + rng.normal(size=45)
    model = PLSRegression(1, scale=False)
    path = {"param_name": "n_components", "param_range": [1, 2], "folds": ids}
    curve = quietly(onefit.error_curve, model, X, y, **path)
    refits = quietly(onefit.nested_cv, model, X, y, folds=ids, route="refit")
    np.testing.assert_allclose(curve.estimate[0], refits.estimate, rtol=1e-9)
    assert np.isnan(curve.estimate[1])
    assert "Take at most 1" in curve.reasons[1]


@pytest.mark.parametrize("n_repeats", [2, 3])
def test_bits_do_not_hang_on_which_repeats_share_a_product(n_repeats):
    rng = np.random.default_rng(3)
    X, noise = rng.standard_normal((25, 9)), rng.standard_normal((25, 2))
    y = X[:, :2] + noise
    one, two = (
        quietly(
            onefit.nested_cv, PLSRegression(n_components=4), X, y,
            n_folds=3, n_repeats=n_repeats, random_state=0, n_jobs=n_jobs,
        )
        for n_jobs in (1, 2)
    )  # fmt: skip
    assert one.route == two.route == "gram"
    for name in ("e_in", "e_out", "mse"):
        np.testing.assert_array_equal(getattr(one.fold_errors, name), getattr(two.fold_errors, name))
