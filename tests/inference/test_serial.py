"""The rule for rows that follow one another: long-run variances by their definitions, and the interval by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge, RidgeClassifier
from sklearn.model_selection import TimeSeriesSplit

import onefit
from helpers import quiet_nested_cv, quietly
from onefit.arrangement import Line, Plane
from onefit.inference.correlation import Decay, decay_of, trend_share
from onefit.inference.longrun import by_cosines, by_decay, independent, n_cosines

RNG = np.random.default_rng(8)


def autoregression(n, rho, seed=0):
    noise = np.random.default_rng(seed).normal(size=n) * np.sqrt(1 - rho**2)
    series = np.empty(n)
    series[0] = noise[0] / np.sqrt(1 - rho**2)
    for t in range(1, n):
        series[t] = rho * series[t - 1] + noise[t]
    return series


def test_cosines_are_those_of_the_definition():
    n = 70
    z = RNG.normal(size=(n, 2, 1))
    t, nu = np.arange(1, n + 1), round(0.4 * n ** (2 / 3))
    sums = [np.sqrt(2 / n) * np.cos(np.pi * k * (t - 0.5) / n) @ z[:, :, 0] for k in range(1, nu + 1)]
    expected = np.square(sums).mean(axis=0) / n
    rows = RNG.permutation(n)
    line = Line(np.argsort(rows).astype(float))
    found = by_cosines(z, Line.as_they_come(n), np.arange(n))
    np.testing.assert_allclose(found[:, 0], expected, rtol=1e-12)
    np.testing.assert_allclose(by_cosines(z[np.argsort(rows)], line, np.arange(n)), found, rtol=1e-12)


def test_of_independent_rows_all_variances_are_the_usual_one():
    n, runs = 100, 400
    z = RNG.normal(size=(n, runs, 1))
    for arrangement in (Line.as_they_come(n), Plane.of(RNG.uniform(size=(n, 2)))):
        cosines = by_cosines(z - z.mean(axis=0), arrangement, np.arange(n))
        usual = independent(z - z.mean(axis=0), arrangement, np.arange(n))
        np.testing.assert_allclose(usual[:, 0], z.var(axis=0, ddof=1)[:, 0] / n, rtol=1e-12)
        assert cosines.mean() * n == pytest.approx(1.0, abs=0.06)  # a mean of 400 chi-squared with 9 or more degrees


def test_cosines_know_the_variance_of_the_mean_of_a_correlated_series():
    n, rho = 400, 0.5
    series = np.stack([autoregression(n, rho, seed) for seed in range(300)], axis=1)[:, :, None]
    true = series.mean(axis=0).var()
    found = by_cosines(series - series.mean(axis=0), Line.as_they_come(n), np.arange(n)).mean()
    assert found / true == pytest.approx(1.0, abs=0.2)
    assert independent(series - series.mean(axis=0), Line.as_they_come(n), np.arange(n)).mean() / true < 0.5


def test_the_correlation_is_found_whatever_the_order_and_the_gaps():
    n = 2000
    series = autoregression(n, 0.8)
    found = decay_of(series, Line.as_they_come(n))
    assert found.rho == pytest.approx(0.8, abs=0.04)
    k = np.arange(1, n // 5 + 1)
    r = np.array([n / (n - lag) * (series[lag:] @ series[:-lag]) for lag in k]) / (series @ series)
    grid = found.rho + np.array([-1e-4, 0, 1e-4])
    misses = [((n - k) * np.square(r - rho**k)).sum() for rho in grid]
    assert np.argmin(misses) == 1
    kept = np.sort(RNG.choice(n, 1500, replace=False))
    assert decay_of(series[kept], Line.of(kept * 3.0)).rho == pytest.approx(0.8, abs=0.06)
    assert decay_of(RNG.normal(size=n), Line.as_they_come(n)).rho < 0.1
    assert decay_of(np.zeros(50), Line.as_they_come(50)).rho == 0.0


def test_the_range_of_a_map_is_found():
    side = 30
    points = np.stack(np.divmod(np.arange(side**2), side), axis=1).astype(float)
    covariance = np.exp(-np.linalg.norm(points[:, None] - points, axis=2) / 2.0)
    fields = np.linalg.cholesky(covariance) @ RNG.normal(size=(side**2, 8))
    plane = Plane.of(points)
    ranges = [decay_of(field, plane).range * plane.step for field in fields.T]
    assert np.mean(ranges) == pytest.approx(2.0, rel=0.3)
    assert decay_of(RNG.normal(size=side**2), Plane.of(points)).rho < 0.15


def test_a_decay_widens_the_variance_as_squares_of_such_residuals_do():
    z = RNG.normal(size=(60, 1, 1))
    z -= z.mean(axis=0)
    rows = np.arange(60)
    plain = independent(z, Line.as_they_come(60), rows)
    assert by_decay(z, Line.as_they_come(60), rows, [[Decay(0.6)]]) / plain == pytest.approx(1.36 / 0.64)
    plane = Plane(RNG.uniform(0, 8, size=(60, 2)))
    distance = np.linalg.norm(plane.points[:, None] - plane.points, axis=2)
    expected = np.exp(-2 * distance / Decay(0.6).range).sum() / 60
    assert (by_decay(z, plane, rows, [[Decay(0.6)]]) / independent(z, plane, rows)).item() == pytest.approx(expected)


def test_trends_are_told_from_correlation():
    line = Line.as_they_come(200)
    assert trend_share(np.arange(200.0) + RNG.normal(size=200), line) > 0.95
    assert trend_share(autoregression(200, 0.8), line) < 0.5


N = 150
X = RNG.normal(size=(N, 4))
Y = X.sum(axis=1) + autoregression(N, 0.7, 5)


def test_the_interval_is_the_written_rule():
    result = quiet_nested_cv(LinearRegression(), X, Y, cv=onefit.TimeBlocks(6, buffer=4), confidence_level=0.9)
    losses, rho = result.heldout["loss"].to_numpy(), result.dependence.correlation
    t, nu = np.arange(N) + 0.5, n_cosines(N)
    sums = [np.cos(np.pi * k * t / N) @ (losses - losses.mean()) for k in range(1, nu + 1)]
    cosines = 2 * np.square(sums).mean() / N**2
    variance = max(cosines, losses.var(ddof=1) / N * (1 + rho**2) / (1 - rho**2))
    C = result.mse - variance
    s = np.sqrt(variance + max(C, 0.0))
    assert result.standard_error == pytest.approx(s, rel=1e-9)
    half = stats.t.ppf(0.95, max(3, (result.estimate / s) ** 2)) * s / result.estimate
    assert result.interval == pytest.approx((result.estimate * np.exp(-half), result.estimate * np.exp(half)), rel=1e-9)
    assert result.dependence.effective_rows == pytest.approx(losses.var(ddof=1) / variance, rel=1e-9)
    shared = quiet_nested_cv(LinearRegression(), X, Y, folds=np.arange(N) * 6 // N)  # the same term without buffers
    assert abs(C) < 5 * shared.mse


def test_other_losses_go_by_cosines_alone():
    result = quiet_nested_cv(Ridge(), X, Y, cv=onefit.RollingOrigin(5), loss="absolute_error")
    losses = result.heldout["loss"].dropna().to_numpy()
    n = len(losses)
    sums = [np.cos(np.pi * k * (np.arange(n) + 0.5) / n) @ (losses - losses.mean()) for k in range(1, n_cosines(n) + 1)]
    assert result.standard_error == pytest.approx(np.sqrt(2 * np.square(sums).mean()) / n, rel=1e-9)
    assert result.estimate == pytest.approx(losses.mean(), rel=1e-12)  # forecasts are not extrapolated


def test_shares_of_classes_stay_between_zero_and_one():
    result = quiet_nested_cv(RidgeClassifier(), X, np.where(Y > 0, 1, 0), cv=onefit.TimeBlocks())
    low, high = result.interval
    assert 0 <= low < result.estimate < high <= 1
    perfect = quiet_nested_cv(RidgeClassifier(), X, np.where(X[:, 0] > 0, 1, 0), cv=onefit.TimeBlocks(buffer=2))
    assert perfect.interval[0] >= 0


def test_probabilities_that_are_all_the_same_have_no_slope_and_an_interval():
    y = np.resize(["ash", "elm", "elm", "ash"], 32)
    model = LogisticRegression(class_weight="balanced")
    result = quiet_nested_cv(model, np.ones((32, 1)), y, cv=TimeSeriesSplit(5, gap=2), loss="brier")
    assert result.estimate == pytest.approx(0.25)
    assert result.interval[0] < 0.25 < result.interval[1]
    assert np.isnan(result.calibration.loc["calibration_slope", "estimate"])


def test_differences_are_paired_and_have_the_long_run_variance_of_the_differences():
    models = {"ridge": Ridge(50.0), "ols": LinearRegression()}
    found = quietly(onefit.compare, models, X, Y, cv=onefit.RollingOrigin(5), confidence_level=0.9)
    ridge, ols = (found.results[name].heldout["loss"].dropna().to_numpy() for name in models)
    first, _ = found.to_frame().index[0]
    d = (ridge - ols) * (1 if first == "ridge" else -1)
    n = len(d)
    sums = [np.cos(np.pi * k * (np.arange(n) + 0.5) / n) @ (d - d.mean()) for k in range(1, n_cosines(n) + 1)]
    s = np.sqrt(2 * np.square(sums).mean()) / n
    row = found.to_frame().iloc[0]
    half = stats.t.ppf(0.95, n_cosines(n)) * s
    assert (row["estimate"], row["low"], row["high"]) == pytest.approx((d.mean(), d.mean() - half, d.mean() + half))


def test_a_curve_has_the_intervals_of_single_values_but_for_the_common_buffer():
    cv = onefit.TimeBlocks(6, buffer=5)
    curve = quietly(onefit.error_curve, Ridge(), X, Y, param_name="alpha", param_range=[1.0, 10.0, 100.0], cv=cv)
    for value, result in zip(curve.values, curve.results, strict=True):
        single = quiet_nested_cv(Ridge(value), X, Y, cv=cv)
        assert result.interval == pytest.approx(single.interval, rel=1e-9)
    models = {str(alpha): Ridge(alpha) for alpha in curve.values}
    compared = quietly(onefit.compare, models, X, Y, cv=cv).to_frame()
    best = str(curve.values[curve.best])
    assert curve.difference.high[2] == pytest.approx(-compared.loc[(best, "100.0"), "low"], rel=1e-9)


def test_weights_count_in_the_long_run_variance():
    weights = np.where(np.arange(N) < 75, 1.0, 2.0)
    model, cv = LinearRegression(), onefit.TimeBlocks(6, buffer=3)
    doubled = quiet_nested_cv(model, X, Y, cv=cv, sample_weight=weights)
    same = quiet_nested_cv(model, X, Y, cv=cv, sample_weight=3 * weights)
    plain = quiet_nested_cv(model, X, Y, cv=cv)
    assert doubled.standard_error == pytest.approx(same.standard_error, rel=1e-9)
    assert doubled.standard_error != pytest.approx(plain.standard_error, rel=1e-3)


@pytest.mark.parametrize("n", [100, 200])
def test_coverage_elsewhere_is_near_ninety_percent(n):
    """40 series each: 36 are expected, and fewer than 29 have a chance of 1e-3."""
    covered = 0
    for seed in range(40):
        columns = np.stack([autoregression(n, 0.8, 1000 * seed + j) for j in range(5)], axis=1)
        y = columns.sum(axis=1) + autoregression(n, 0.8, 1000 * seed + 99)
        fitted = LinearRegression().fit(columns, y)
        truth = 1 + np.square(fitted.coef_ - 1).sum() + fitted.intercept_**2
        result = quiet_nested_cv(LinearRegression(), columns, y, cv=onefit.TimeBlocks(), confidence_level=0.9)
        covered += result.interval[0] <= truth <= result.interval[1]
    assert covered >= 29
