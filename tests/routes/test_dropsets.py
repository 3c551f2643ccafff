"""Folds with drop sets: every route gives what refits without the neighbourhoods give."""

from __future__ import annotations

from itertools import combinations

import joblib
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import TransformedTargetRegressor, make_column_transformer
from sklearn.cross_decomposition import PLSRegression
from sklearn.ensemble import RandomForestRegressor
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import (
    BayesianRidge,
    HuberRegressor,
    Lasso,
    LinearRegression,
    Ridge,
    RidgeClassifier,
    RidgeCV,
)
from sklearn.model_selection import GridSearchCV, TimeSeriesSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import onefit
from helpers import quiet_nested_cv

N = 90
RNG = np.random.default_rng(5)
NOISE = np.convolve(RNG.normal(size=N + 5), 0.7 ** np.arange(6), mode="valid")
X = RNG.normal(size=(N, 4))
Y = X.sum(axis=1) + NOISE
WIDE = RNG.normal(size=(N, 120))
WEIGHTS = np.where(np.arange(N) == 7, 0.0, RNG.uniform(0.5, 2.0, N))
TABLE = pd.DataFrame(X, columns=list("abcd")).assign(g=RNG.choice(["x", "y", "z"], N))
SPARSE = sparse.csr_matrix(np.where(np.abs(X) > 0.7, X, 0.0))
ORDER = RNG.permutation(N)
STEPS = make_column_transformer(
    (OneHotEncoder(sparse_output=False, drop="first"), ["g"]), (StandardScaler(), list("abcd"))
)
SEARCH = GridSearchCV(make_pipeline(StandardScaler(), Ridge()), {"ridge__alpha": [0.1, 10.0, 1000.0]}, cv=3)

FAST = {
    "least squares": (LinearRegression(), X, Y, {}, "gram"),
    "weights": (Ridge(2.0), X, Y, {"sample_weight": WEIGHTS}, "gram"),
    "outputs": (Ridge(1.0), X, np.column_stack([Y, Y**2]), {}, "gram"),
    "absolute error": (Ridge(1.0), X, Y, {"loss": "absolute_error"}, "gram"),
    "more columns than rows": (Ridge(2.0), WIDE, Y, {}, "onestep"),
    "kernel, weights": (KernelRidge(kernel="rbf", gamma=0.1), X, Y, {"sample_weight": WEIGHTS}, "onestep"),
    "tuned": (RidgeCV(np.logspace(-2, 3, 5)), X, Y, {}, "gram"),
    "tuned by gcv": (onefit.PenalizedRegression(lam="gcv"), X, Y, {}, "gram"),
    "scaled": (make_pipeline(StandardScaler(), Ridge(3.0)), X, Y, {}, "gram"),
    "encoded": (make_pipeline(STEPS, Ridge(1.0)), TABLE, Y, {"sample_weight": WEIGHTS}, "gram"),
    "lasso": (Lasso(0.1, tol=1e-13, max_iter=100_000), X, Y, {}, "gram"),
    "latent variables": (PLSRegression(2), X, Y, {}, "gram"),
    "evidence": (BayesianRidge(tol=1e-12, max_iter=10_000), X, Y, {}, "gram"),
    "searched": (SEARCH, X, Y, {}, "gram"),
    "classes": (RidgeClassifier(), X, np.where(Y > 0, "up", "down"), {}, "gram"),
    "target": (TransformedTargetRegressor(Ridge(), func=np.arcsinh, inverse_func=np.sinh), X, Y, {}, "gram"),
    "spline": (onefit.SplineRegression(n_basis=8, lam=1.0), X[:, :1], Y, {}, "gram"),
}
FOLDS = {
    "buffers": onefit.TimeBlocks(6, buffer=4),
    "wide buffers, shuffled rows": onefit.TimeBlocks(5, buffer=12, order=ORDER),
    "window": onefit.RollingOrigin(7, window=40, step=9),
}


def figures(result):
    table = result.heldout["loss"].to_numpy(float)
    return [result.estimate, *result.interval, result.raw_estimate, result.fold_errors.e_in, table]


@pytest.mark.sweep(2)
@pytest.mark.parametrize("folds", FOLDS)
@pytest.mark.parametrize("name", FAST)
def test_fast_routes_give_what_refits_give(name, folds):
    model, table, y, keywords, route = FAST[name]
    fast = quiet_nested_cv(model, table, y, cv=FOLDS[folds], **keywords)
    slow = quiet_nested_cv(model, table, y, cv=FOLDS[folds], route="refit", **keywords)
    assert (fast.route, slow.route) == (route, "refit")
    for mine, other in zip(figures(fast), figures(slow), strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-9, atol=1e-12)


def test_a_sparse_design_is_served():
    fast = quiet_nested_cv(Ridge(1.0), SPARSE, Y, cv=FOLDS["buffers"], route="gram")
    dense = quiet_nested_cv(Ridge(1.0), SPARSE.toarray(), Y, cv=FOLDS["buffers"], route="refit")
    assert fast.route == "gram"
    assert fast.interval == pytest.approx(dense.interval, rel=1e-9)


@pytest.mark.parametrize("model", [Ridge(1.0), HuberRegressor()])
def test_tables_are_those_of_fits_without_both_neighbourhoods(model):
    """Written out with scikit-learn alone: block j by the fit without N_j, and without N_j and N_k."""
    K, b = 6, 4
    block = np.arange(N) * K // N
    drops = [np.arange(max(0, 15 * j - b), min(N, 15 * j + 15 + b)) for j in range(K)]

    def loss(j, *out):
        train = np.setdiff1d(np.arange(N), np.concatenate([drops[k] for k in out]))
        predicted = clone(model).fit(X[train], Y[train]).predict(X[block == j])
        return np.square(Y[block == j] - predicted).mean()

    own = np.array([loss(j, j) for j in range(K)])
    pairs = {(j, k): (loss(j, j, k), loss(k, j, k)) for j, k in combinations(range(K), 2)}
    raw = np.mean([value for both in pairs.values() for value in both])
    result = quiet_nested_cv(model, X, Y, cv=onefit.TimeBlocks(K, buffer=b))
    np.testing.assert_allclose(result.fold_errors.e_out[0], own, rtol=1e-9)
    assert result.cv_estimate == pytest.approx(own.mean(), rel=1e-9)
    assert result.raw_estimate == pytest.approx(raw, rel=1e-9)
    left = np.mean([N - len(np.union1d(drops[j], drops[k])) for j, k in pairs])
    log_centre = np.log(own.mean()) - left / N * (np.log(raw) - np.log(own.mean()))
    assert result.estimate == pytest.approx(np.exp(log_centre), rel=1e-9)


def test_a_buffer_of_zero_is_the_partition():
    ids = np.arange(N) * 6 // N
    blocks = quiet_nested_cv(Ridge(), X, Y, cv=onefit.TimeBlocks(6, buffer=0))
    plain = quiet_nested_cv(Ridge(), X, Y, folds=ids)
    np.testing.assert_array_equal(blocks.fold_errors.e_out, plain.fold_errors.e_out)
    assert blocks.estimate == pytest.approx(plain.estimate, rel=1e-12)
    assert blocks.dependence is not None
    assert plain.dependence is None


def test_time_series_split_is_what_cross_val_predict_would_score():
    splitter = TimeSeriesSplit(4, gap=3)
    result = quiet_nested_cv(Ridge(), X, Y, cv=splitter)
    splits = splitter.split(X)
    errors = [np.square(Y[test] - Ridge().fit(X[train], Y[train]).predict(X[test])) for train, test in splits]
    assert result.route == "gram"
    assert result.dependence.kind == "ahead"
    assert result.estimate == pytest.approx(np.concatenate(errors).mean(), rel=1e-10)
    assert result.heldout["loss"].notna().sum() == sum(map(len, errors))


def test_lists_of_splits_and_of_neighbourhoods_mean_the_same():
    block, rows = np.arange(N) * 6 // N, np.arange(N)
    pairs = [(np.flatnonzero(np.abs(rows - 15 * j - 7) < 11), rows[block == j]) for j in range(6)]
    splits = [(np.setdiff1d(rows, drop), score) for drop, score in pairs]
    first = quiet_nested_cv(Ridge(), X, Y, cv=onefit.Neighbourhoods(pairs))
    second = quiet_nested_cv(Ridge(), X, Y, cv=splits)
    assert first.interval == second.interval
    assert first.dependence.kind == "given"


def test_a_forest_is_refitted_without_the_neighbourhoods_and_says_why():
    forest = RandomForestRegressor(3, random_state=0)
    result = quiet_nested_cv(forest, X, Y, cv=onefit.TimeBlocks(5, buffer=3))
    assert result.route == "refit"
    train = np.arange(21, N)
    predicted = clone(forest).fit(X[train], Y[train]).predict(X[:18])
    assert result.fold_errors.e_out[0, 0] == pytest.approx(np.square(Y[:18] - predicted).mean(), rel=1e-12)


def test_jobs_change_no_bit():
    with joblib.parallel_config(backend="threading"):
        one, two = (quiet_nested_cv(HuberRegressor(), X, Y, cv=onefit.TimeBlocks(4), n_jobs=jobs) for jobs in (1, 2))
    assert one.interval == two.interval
    assert one.dependence == two.dependence


def test_a_training_set_that_lacks_a_column_is_named():
    design = np.column_stack([X, np.arange(N) < 20])
    with pytest.raises(onefit.errors.TrainingSetError, match="fold"):
        quiet_nested_cv(LinearRegression(), design, Y, cv=onefit.TimeBlocks(4, buffer=5))


def test_a_checkpoint_knows_the_buffers(tmp_path):
    forest, path = RandomForestRegressor(2, random_state=0), tmp_path / "kept"
    first = quiet_nested_cv(forest, X, Y, cv=onefit.TimeBlocks(4, buffer=3), checkpoint=path)
    again = quiet_nested_cv(forest, X, Y, cv=onefit.TimeBlocks(4, buffer=3), checkpoint=path)
    assert again.interval == first.interval
    with pytest.raises(onefit.errors.OneFitError, match="checkpoint"):
        quiet_nested_cv(forest, X, Y, cv=onefit.TimeBlocks(4, buffer=5), checkpoint=path)
