"""Rows of no weight may see more of a coefficient than the rows of its fit: their predictions keep digits, too."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge

import onefit
from helpers import quiet_nested_cv, quietly, relative_gap
from onefit.linalg.exactridge import predict_exactly
from onefit.linalg.penalty import as_penalty

pytestmark = pytest.mark.skipif(
    np.finfo(np.longdouble).eps == np.finfo(np.float64).eps, reason="long double is double here"
)

SETTINGS = ({"route": "gram"}, {"route": "onestep"}, {"n_folds": "n"})


def assert_keeps_digits(X, y, w, lam, settings, rtol):
    """Held-out residuals of rows of no weight, beside fits in many digits; predictions are as large as y."""
    light, maps = w == 0, as_penalty(None, X.shape[1])
    ids = np.where(light, 0, 1) if "n_folds" in settings else np.arange(len(y)) % 4
    folds = {} if "n_folds" in settings else {"folds": ids[None]}
    result = quiet_nested_cv(Ridge(lam, fit_intercept=False), X, y, sample_weight=w, **settings, **folds)
    exact = np.empty(len(y))
    for fold in np.unique(ids[light]):
        rows, out = ~light & (ids != fold), light & (ids == fold)
        exact[out] = predict_exactly(X[rows], maps, y[rows][:, None], w[rows], lam, False, X[out])[:, 0]
    assert relative_gap((y - result.heldout["prediction"])[light], (y - exact)[light]) < rtol


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@pytest.mark.parametrize("p", [4, 20])
def test_residuals_that_are_small_beside_y(p, settings):
    """Predictions with 11 digits were residuals with 5: y and large columns are near 1e6 (fuzz case 190007790)."""
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(14, p)) + 10.0 ** rng.uniform(0, 6, size=p)) * 10.0 ** np.linspace(-5, 4, p)
    y, w = rng.normal(size=14) + 2e6, rng.uniform(0.5, 2.0, size=14)
    w[[1, 4, 5]] = 0.0
    assert_keeps_digits(X, y, w, 37.5, settings, 1e-8)


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@pytest.mark.parametrize("p", [4, 20, 24, 30])
def test_a_column_that_is_tiny_in_the_rows_of_the_fit_and_large_in_others(p, settings):
    """Its coefficient follows from the residuals, of which a fit that nearly interpolates leaves few digits."""
    rng = np.random.default_rng(0)
    X, w = rng.normal(size=(24, p)), rng.uniform(0.5, 2.0, size=24)
    w[:5] = 0.0
    X[:, 0] *= np.where(w > 0, 1e-6, 1e6)
    y = X[:, 1] + rng.normal(size=24) + 1e6
    X[:, 1] += 1e6
    assert_keeps_digits(X, y, w, 1e-6, settings, 2e-7)


def test_bits_do_not_hang_on_the_number_of_jobs():
    rng = np.random.default_rng(0)
    X, w = rng.normal(size=(24, 4)) * np.logspace(-3, 3, 4), np.where(np.arange(24) < 5, 0.0, 1.0)
    settings = {"n_folds": 4, "n_repeats": 4, "random_state": 0, "sample_weight": w, "route": "gram"}
    one, two = (
        quiet_nested_cv(onefit.PenalizedRegression(lam=0.1), X, X[:, 3] + 1, n_jobs=jobs, **settings) for jobs in (1, 2)
    )
    np.testing.assert_array_equal(one.heldout["prediction"], two.heldout["prediction"])


@pytest.mark.parametrize("route", ["gram", "onestep"])
def test_a_column_fifty_million_times_as_large_in_rows_without_weight(route):
    """Rounding errors that the fit does not notice were 1e-8 of their predictions: they come from refits."""
    rng = np.random.default_rng(393)
    n, p, lam, far = 19, 12, 4.8e-9, 1
    w, ids = np.where(np.arange(n) % 4 == 1, 0.0, rng.uniform(0.5, 2.0, size=n)), np.arange(n) // 4
    worst = []
    for _ in range(20):
        X, y, light = rng.normal(size=(n, p)), rng.normal(size=n), w == 0
        X[:, far] *= np.where(light, 5e5, 0.01)
        result = quiet_nested_cv(Ridge(lam), X, y, folds=ids[None], sample_weight=w, route=route)
        exact = np.empty(n)
        for fold in range(5):
            rows, out = ~light & (ids != fold), light & (ids == fold)
            exact[out] = predict_exactly(X[rows], as_penalty(None, p), y[rows][:, None], w[rows], lam, True, X[out])[
                :, 0
            ]
        worst.append(relative_gap(result.heldout["prediction"][light], exact[light]))
    assert max(worst) < 1e-11


def test_uneven_columns_that_fit_all_rows_one_step():
    """Sixteen columns for ten rows: prediction weights of the fit to all of them had five digits."""
    rng = np.random.default_rng(1)
    n, p, lam, light = 14, 16, 1.2e-11, np.arange(14) % 5 == 1
    X, y = rng.normal(size=(n, p)) * np.logspace(-2.3, 2.5, p), rng.normal(size=n)
    X[:, 4] *= np.where(light, 6.7e6, 3.8e-6)
    assert_keeps_digits(X, y, np.where(light, 0.0, 1.0), lam, {"route": "onestep"}, 1e-10)


def test_a_row_of_next_to_no_weight_where_many_penalties_share_a_basis():
    """The smallest of penalties over fifteen decades had 1e-5 of its prediction wrong (fuzz case 500017596)."""
    worst = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(10, 12)) * 2.0 ** rng.integers(-4, 5, size=12), rng.normal(size=10)
        w, ids = 10.0 ** rng.uniform(-6, -2, size=10), np.arange(10) % 8
        w[4] = 6e-12
        curve = quietly(
            onefit.error_curve,
            Ridge(),
            X,
            y,
            param_name="alpha",
            param_range=(3e-14, 1.6, 160.0),
            folds=ids[None],
            sample_weight=w,
            route="gram",
        )
        rows = ids != 4
        args = as_penalty(None, 12), y[rows][:, None], w[rows], 3e-14, True
        exact = predict_exactly(X[rows], *args, X[[4]])[0, 0]
        worst.append(abs(curve.results[0].heldout["prediction"][4] - exact) / np.abs(y).max())
    assert max(worst) < 1e-9
