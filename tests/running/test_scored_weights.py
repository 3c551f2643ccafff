"""Weights count relative to the rows that are scored: the error of a model is a weighted mean of its losses."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import Lasso, LinearRegression, LogisticRegression, Ridge
from sklearn.metrics import get_scorer
from sklearn.model_selection import PredefinedSplit, TimeSeriesSplit

import onefit
from onefit.errors import OneFitError


def data(n=72, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 2))
    ids = rng.permutation(np.arange(n) % 4) - 1
    return X, X[:, 0] + rng.standard_normal(n), ids, np.where(ids < 0, 30.0, rng.uniform(0.5, 2, n))


def scores(estimator, X, y, splits, weights, names):
    """Of each fold, its sum of weights and rows, and scikit-learn's scores."""
    found = []
    for train, test in splits:
        model = clone(estimator).fit(X[train], y[train], sample_weight=weights[train])
        each = [get_scorer(name)(model, X[test], y[test], sample_weight=weights[test]) for name in names]
        found.append((weights[test].sum(), each))
    return [np.average([each[m] for _, each in found], weights=[w for w, _ in found]) for m in range(len(names))]


@pytest.mark.parametrize("route", ["auto", "refit"])
@pytest.mark.parametrize("estimator", [LinearRegression(), Ridge(3.0), Lasso(0.01, tol=1e-12, max_iter=10**5)])
def test_rows_that_are_never_scored_move_no_figure_by_their_weight(estimator, route):
    X, y, ids, weights = data()
    names = ["neg_mean_squared_error", "neg_mean_absolute_error", "r2"]
    expected = scores(estimator, X, y, PredefinedSplit(ids).split(), weights, names)
    for name, value in zip(names, expected, strict=True):
        result = onefit.nested_cv(estimator, X, y, folds=ids, sample_weight=weights, scoring=name, route=route)
        assert result.cv_estimate == pytest.approx(value, rel=1e-9)
    low, high = result.interval
    assert low < expected[-1] < high  # of R2: it ended far above the figure itself


def test_accuracy_stays_a_share():
    X, y, ids, weights = data()
    names = ["accuracy", "neg_log_loss", "balanced_accuracy"]
    model = LogisticRegression(tol=1e-12, max_iter=1000, solver="newton-cholesky")
    for light in (weights, 1 / weights):
        expected = scores(model, X, y > 0, PredefinedSplit(ids).split(), light, names)
        result = onefit.nested_cv(model, X, y > 0, folds=ids, sample_weight=light, scoring=names)
        assert result.cv_estimate == pytest.approx(expected[0], rel=1e-9)
        for name, value in zip(names, expected, strict=True):
            low, high = result.metrics.loc[name, ["low", "high"]]
            assert low < value < high


@pytest.mark.parametrize("route", ["auto", "refit"])
def test_first_rows_of_a_time_series_are_never_scored(route):
    X, y, _, _ = data()
    weights = np.where(np.arange(len(y)) < 18, 50.0, 1.0 + np.arange(len(y)) % 2)
    expected = scores(Ridge(), X, y, TimeSeriesSplit(3).split(X), weights, ["neg_mean_squared_error"])
    result = onefit.nested_cv(Ridge(), X, y, cv=TimeSeriesSplit(3), sample_weight=weights, route=route)
    assert result.cv_estimate == pytest.approx(-expected[0], rel=1e-9)


@pytest.mark.filterwarnings("ignore::onefit.errors.OneFitWarning")
def test_partitions_that_score_different_rows_have_the_mean_over_all_of_them():
    X, y, ids, weights = data()
    folds = np.stack([ids, np.roll(np.where(np.arange(len(ids)) % 5, ids, -1), 7)])
    expected, mass = 0.0, 0.0
    for each in folds:
        scored = weights[each >= 0].sum()
        one = scores(Ridge(), X, y, PredefinedSplit(each).split(), weights, ["neg_mean_squared_error"])[0]
        expected, mass = expected - scored * one, mass + scored
    for route in ("auto", "refit"):
        result = onefit.nested_cv(Ridge(), X, y, folds=folds, sample_weight=weights, route=route)
        assert result.cv_estimate == pytest.approx(expected / mass, rel=1e-9)


def test_the_unit_of_weights_does_not_matter():
    X, y, ids, weights = data()
    results = [onefit.nested_cv(Ridge(0.0), X, y, folds=ids, sample_weight=weights * unit) for unit in (1, 1e-3)]
    assert results[0].estimate == pytest.approx(results[1].estimate, rel=1e-9)
    assert results[0].baseline.estimate == pytest.approx(results[1].baseline.estimate, rel=1e-9)


def test_scored_rows_that_all_have_weight_zero_are_refused():
    X, y, ids, _ = data()
    with pytest.raises(OneFitError, match="that are scored have a sample_weight of zero"):
        onefit.nested_cv(Ridge(), X, y, folds=ids, sample_weight=np.where(ids < 0, 1.0, 0.0))


@pytest.mark.filterwarnings("ignore::onefit.errors.OneFitWarning")
@pytest.mark.parametrize("route", ["auto", "refit"])
@pytest.mark.parametrize("light", [False, True])
def test_folds_of_the_bias_have_weights_relative_to_the_rows_that_they_score(route, light):
    X, y, ids, weights = data()
    weights = 1 / weights if light else weights
    bias = np.random.default_rng(1).permutation(np.arange(len(y)) % 3)  # all rows
    cv = -scores(Ridge(), X, y, PredefinedSplit(bias).split(), weights, ["neg_mean_squared_error"])[0]
    result = onefit.nested_cv(
        Ridge(), X, y, folds=ids, bias_folds=bias, interval="paper", sample_weight=weights, route=route
    )
    raw = result.raw_estimate
    assert result.estimate == pytest.approx(raw - (1 + 1 / 3) * (raw - cv), rel=1e-9)
