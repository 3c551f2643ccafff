"""One row that weighs far more than the others: what is exact, refitted, or refused."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.impute import SimpleImputer
from sklearn.linear_model import (
    ElasticNet,
    Lasso,
    LinearRegression,
    LogisticRegression,
    PoissonRegressor,
    Ridge,
    RidgeCV,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

import onefit
from helpers import quiet_nested_cv, quietly, relative_gap
from onefit.errors import RouteError
from onefit.linalg.exactridge import predict_exactly
from onefit.linalg.penalty import as_penalty

ASKED = {"n_folds": 5, "n_repeats": 1, "random_state": 0}
TIGHT = {"tol": 1e-12, "max_iter": 10_000}
BY_STATISTICS = [
    Ridge(),
    make_pipeline(StandardScaler(), Ridge()),
    make_pipeline(SimpleImputer(), RidgeCV()),
    make_pipeline(MinMaxScaler(), LinearRegression()),
    Lasso(0.1, **TIGHT),
    make_pipeline(StandardScaler(), ElasticNet(0.1, **TIGHT)),
    GaussianNB(),
    make_pipeline(SimpleImputer(), MinMaxScaler(), GaussianNB()),
]


def problem(estimator, ratio):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 4))
    y = X @ [1, -1, 0.5, 0.7] + rng.normal(size=60)
    last = estimator[-1] if hasattr(estimator, "steps") else estimator
    return X, (y > 0) * 1 if isinstance(last, GaussianNB) else y, np.r_[ratio, np.ones(59)]


@pytest.mark.parametrize("estimator", BY_STATISTICS, ids=str)
def test_ratio_up_to_the_bound_gives_what_refits_give(estimator):
    X, y, weights = problem(estimator, 9e11)
    fast, slow = (
        quiet_nested_cv(estimator, X, y, sample_weight=weights, route=route, **ASKED) for route in ("auto", "refit")
    )
    assert fast.route == "gram"
    np.testing.assert_allclose(fast.fold_errors.e_in, slow.fold_errors.e_in, rtol=1e-9)


@pytest.mark.parametrize("ratio", [2e12, 1e16, 1e17, 1e40])
@pytest.mark.parametrize("estimator", BY_STATISTICS, ids=str)
def test_ratio_beyond_the_bound_is_refitted_and_said_so_or_refused_by_its_number(estimator, ratio):
    X, y, weights = problem(estimator, ratio)
    result = quiet_nested_cv(estimator, X, y, sample_weight=weights, **ASKED)
    assert result.route == "refit"
    assert f"the largest sample_weight is {ratio:.2g} times" in result.route_reason
    with pytest.raises(RouteError, match="the largest sample_weight is"):
        quiet_nested_cv(estimator, X, y, sample_weight=weights, route="gram", **ASKED)


def test_scaler_before_a_logistic_regression_says_nothing_of_zero_divisors():
    X, y, weights = problem(Ridge(), 1e18)
    y, model = (y > 0) * 1, make_pipeline(StandardScaler(), LogisticRegression(solver="newton-cholesky", **TIGHT))
    ids = np.arange(60) % 5
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        result = quiet_nested_cv(model, X, y, sample_weight=weights, folds=ids[None], loss="log_loss")
    assert result.route == "newton"
    without = ids == 0  # where the heavy row is held out, refits are to be trusted
    fitted = model.fit(X[~without], y[~without])
    found = result.heldout["probability_1"].to_numpy(float)[without]
    np.testing.assert_allclose(found, fitted.predict_proba(X[without])[:, 1], rtol=1e-8)


@pytest.mark.parametrize(
    "estimator",
    [
        Ridge(),
        make_pipeline(StandardScaler(), Ridge()),
        make_pipeline(MinMaxScaler(), Ridge()),
        Lasso(0.1),
        PoissonRegressor(),
    ],
    ids=str,
)
def test_table_refuses_a_ratio_that_its_sums_do_not_tell_by_its_number(estimator, tmp_path):
    pytest.importorskip("pyarrow")
    rng = np.random.default_rng(3)
    table = pd.DataFrame(rng.normal(size=(6000, 3)), columns=list("abc"))
    table["y"] = rng.poisson(np.exp(table["a"])) + 1.0
    table["w"] = np.where(np.arange(6000) == 5000, 1e16, 1.0)
    table.to_parquet(tmp_path / "rows.parquet", row_group_size=1000)
    with pytest.raises(RouteError, match=r"the largest sample_weight is 1e\+16 times.*table\.sample"):
        onefit.nested_cv(estimator, onefit.scan(tmp_path / "rows.parquet"), "y", sample_weight="w", **ASKED)


@pytest.mark.parametrize("seed", range(6))
def test_values_of_a_curve_keep_the_digits_of_light_rows_whatever_other_penalties_there_are(seed):
    """Values shared a basis about the middle of eight decades: losses were 1e-6 of the largest off (case 550002039)."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(13, 6)) + np.array([0.0, 1e5, 0.0, 0.0, 0.0, 1e3])
    y, weights = 8e11 + 1e6 * rng.normal(size=13), 10.0 ** rng.uniform(-14.5, -2.6, 13)
    ids, alphas = np.array([2, 5, 5, 5, 5, 1, 0, 5, 4, 0, 5, 0, 3]), [1.4e-7, 2.8e-3, 1.6, 2.3, 17.6]
    path = {"param_name": "alpha", "param_range": alphas, "sample_weight": weights, "folds": ids[None], "route": "gram"}
    curve = quietly(onefit.error_curve, Ridge(fit_intercept=False), X, y, **path)
    maps = as_penalty(None, 6)
    for alpha, result in zip(alphas, curve.results, strict=True):
        exact = np.empty(13)
        for fold in range(6):
            rows, out = ids != fold, ids == fold
            exact[out] = predict_exactly(X[rows], maps, y[rows][:, None], weights[rows], alpha, False, X[out])[:, 0]
        assert relative_gap((y - result.heldout["prediction"]) ** 2, (y - exact) ** 2) < 1e-8
