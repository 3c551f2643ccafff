"""What a result says of rows that follow one another."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge, RidgeClassifier

import onefit
from helpers import quiet_nested_cv
from onefit.arrangement import Line
from onefit.inference.longrun import by_cosines
from onefit.results.placed import placed

N = 120
RNG = np.random.default_rng(3)
X = RNG.normal(size=(N, 3))
SMOOTH = np.convolve(RNG.normal(size=N + 5), np.ones(6) / np.sqrt(6), mode="valid")
Y = X.sum(axis=1) + SMOOTH


def messages(result):
    return [finding.text for finding in result.findings if finding.kind == "dependence"]


def test_the_result_says_which_error_it_means_and_how_far_rows_depend():
    result = quiet_nested_cv(LinearRegression(), X, Y, cv=onefit.TimeBlocks())
    found = result.dependence
    assert found.kind == "elsewhere"
    assert found.meaning == onefit.TimeBlocks().meaning
    assert 0.5 < found.correlation < 0.95
    assert found.buffer == min(np.ceil(np.log(0.3) / np.log(found.correlation)), (N / 4 - N / 10) // 2)
    assert found.effective_rows < N / 2
    assert found.training_rows < N - N / 10
    assert found.meaning in result.summary()
    assert np.isnan(result.intervals.loc["bates", "low"])
    assert "independent" in result.intervals.attrs["reasons"]["bates"]
    assert pickle.loads(pickle.dumps(result)).dependence == found
    assert json.loads(json.dumps(result.to_dict(), allow_nan=False))["dependence"]["buffer"] == found.buffer
    assert result.monte_carlo_error == 0
    assert result.rmse.low == pytest.approx(np.sqrt(result.interval[0]))
    assert result.r2.low < result.r2.estimate < result.r2.high
    assert quiet_nested_cv(LinearRegression(), X, Y).dependence is None


def test_random_folds_point_to_blocks_of_time():
    (text,) = messages(quiet_nested_cv(LinearRegression(), X, Y))
    assert "TimeBlocks" in text


def test_a_correlation_that_is_too_long_caps_the_buffer_and_says_so():
    walk = np.cumsum(RNG.normal(size=N))
    result = quiet_nested_cv(LinearRegression(), X, X.sum(axis=1) + walk, cv=onefit.TimeBlocks())
    assert result.dependence.buffer == 9  # (120/4 - 120/10) / 2
    text = " ".join(messages(result))
    assert "the most that leaves enough rows" in text
    assert "independent rows: the interval may cover less often" in text


def test_a_trend_is_told_from_correlation():
    trend = np.linspace(0, 10, N) + RNG.normal(size=N)
    assert any(
        "straight line in time" in text for text in messages(quiet_nested_cv(Ridge(), X, trend, cv=onefit.TimeBlocks()))
    )
    assert not any("straight line" in text for text in messages(quiet_nested_cv(Ridge(), X, Y, cv=onefit.TimeBlocks())))


def test_a_smooth_function_of_time_wants_shorter_blocks():
    time = np.arange(N) / N
    y = np.sin(6 * time) + 0.3 * RNG.normal(size=N)
    model = onefit.SplineRegression(n_basis=8, lam=1e-3)
    few = quiet_nested_cv(model, time[:, None], y, cv=onefit.TimeBlocks())
    many = quiet_nested_cv(model, time[:, None], y, cv=onefit.TimeBlocks(20))
    assert any("n_blocks=20" in text for text in messages(few))
    assert not any("n_blocks=20" in text for text in messages(many))


def test_few_rows_and_short_blocks_are_told():
    y = X.sum(axis=1) + RNG.normal(size=N)
    for rows, blocks, is_told in ((120, 10, False), (60, 6, True), (120, 30, True)):
        result = quiet_nested_cv(Ridge(), X[:rows], y[:rows], cv=onefit.TimeBlocks(blocks))
        assert any(f"{rows} rows in {blocks} blocks are few" in text for text in messages(result)) == is_told


def test_independent_rows_need_no_buffer_and_no_words():
    result = quiet_nested_cv(LinearRegression(), X, X.sum(axis=1) + RNG.normal(size=N), cv=onefit.TimeBlocks())
    assert result.dependence.buffer == 0
    assert messages(result) == []


def test_several_outputs_have_a_correlation_each():
    both = np.column_stack([Y, X.sum(axis=1) + RNG.normal(size=N)])
    found = quiet_nested_cv(Ridge(), X, both, cv=onefit.TimeBlocks()).dependence
    assert found.correlation.shape == found.effective_rows.shape == (2,)
    assert found.correlation[0] > found.correlation[1]


def test_plan_for_knows_the_folds():
    plan = onefit.plan_for(Ridge(), X, Y, cv=onefit.TimeBlocks())
    assert (plan.choice, plan.n_folds, plan.n_repeats) == ("gram", 10, 1)


def test_the_baseline_is_on_the_same_folds_and_the_skill_has_the_long_run_variance():
    cv = onefit.TimeBlocks(6, buffer=5)
    result = quiet_nested_cv(LinearRegression(), X, Y, cv=cv)
    base = result.baseline
    constant = quiet_nested_cv(DummyRegressor(), X, Y, cv=cv, route="refit")
    assert base.interval == pytest.approx(constant.interval, rel=1e-9)
    assert base.dependence.buffer == 5
    skill = result.skill
    assert skill.estimate == pytest.approx(1 - result.estimate / base.estimate, rel=1e-9)
    assert skill.low < skill.estimate < skill.high
    table = pd.DataFrame(X, columns=list("abc")).assign(when=np.arange(N))
    named = quiet_nested_cv(LinearRegression(), table, Y, cv=onefit.TimeBlocks(order="when"))
    assert named.baseline.n_folds == 10


@pytest.mark.parametrize("cv", [onefit.TimeBlocks(6, buffer=4), onefit.RollingOrigin(8)])
def test_metrics_are_those_of_refits_and_means_of_losses_those_of_losses(cv):
    names = ["neg_mean_squared_error", "neg_mean_absolute_error", "r2"]
    fast = quiet_nested_cv(Ridge(), X, Y, cv=cv, scoring=names)
    slow = quiet_nested_cv(Ridge(), X, Y, cv=cv, scoring=names, route="refit")
    np.testing.assert_allclose(fast.metrics.to_numpy(float), slow.metrics.to_numpy(float), rtol=1e-9)
    plain = quiet_nested_cv(Ridge(), X, Y, cv=cv)
    low, high = plain.interval
    assert fast.metrics.loc[names[0], ["low", "high"]].tolist() == pytest.approx([-high, -low], rel=1e-9)
    absolute = quiet_nested_cv(Ridge(), X, Y, cv=cv, loss="absolute_error")
    assert fast.metrics.loc[names[1], "standard_error"] == pytest.approx(absolute.standard_error, rel=1e-9)


def test_probabilities_have_a_log_loss_in_blocks_of_time():
    labels = np.where(Y > 0, "up", "down")
    cv = onefit.TimeBlocks(5)
    result = quiet_nested_cv(LogisticRegression(), X, labels, cv=cv, scoring=["neg_log_loss", "accuracy"])
    assert result.dependence.buffer > 0
    assert result.route == "newton"
    assert result.interval[0] < result.estimate < result.interval[1] < 0


def test_areas_under_the_curve_are_those_of_blocks_and_count_every_comparison_once():
    """Forecasts have no covariance term, so that their standard error is that of the long-run variance alone."""
    labels, cv = np.where(Y > 0, 1, 0), onefit.RollingOrigin(20)
    result = quiet_nested_cv(RidgeClassifier(), X, labels, cv=cv, scoring="roc_auc")
    splits = list(cv.split(X))
    values, influence = [], np.zeros(N)
    wrong, rows = np.zeros(N), np.concatenate([test for _, test in splits])
    for train, test in splits:
        score = RidgeClassifier().fit(X[train], labels[train]).decision_function(X[test])
        up = labels[test] == 1
        wrong[test[up]] = [(score[~up] > each).mean() for each in score[up]]
        wrong[test[~up]] = [(score[up] < each).mean() for each in score[~up]]
        values.append(wrong[test[up]].mean())
    assert result.estimate == pytest.approx(1 - np.mean(values), rel=1e-9)
    for side in (0, 1):
        own = rows[labels[rows] == side]
        freedom = np.sqrt(len(own) / (len(own) - 1) * (len(rows) - 1) / len(rows))
        influence[own] = len(rows) / len(own) * freedom * (wrong[own] - wrong[own].mean())
    influence -= influence[rows].mean()
    for _, test in splits:
        influence[test] -= influence[test].mean() / 2
    variance = by_cosines(influence[rows], Line.as_they_come(len(rows)), np.arange(len(rows)))
    assert result.standard_error == pytest.approx(np.sqrt(variance), rel=1e-9)


def test_areas_in_blocks_are_those_of_refits_and_perfect_ones_have_an_interval():
    labels, cv = np.where(Y > 0, 1, 0), onefit.TimeBlocks(5, buffer=2)
    names = ["roc_auc", "average_precision"]
    fast = quiet_nested_cv(RidgeClassifier(), X, labels, cv=cv, scoring=names)
    slow = quiet_nested_cv(RidgeClassifier(), X, labels, cv=cv, scoring=names, route="refit")
    np.testing.assert_allclose(fast.metrics.to_numpy(float), slow.metrics.to_numpy(float), rtol=1e-9)
    perfect = quiet_nested_cv(RidgeClassifier(), X[:, :1], np.where(X[:, 0] > 0, 1, 0), cv=cv, scoring="roc_auc")
    assert 0.95 < perfect.interval[0] < perfect.interval[1] <= 1
    twice = np.vstack([X, X]), np.concatenate([labels, labels])
    with pytest.raises(onefit.errors.IntervalError, match="left out by chance"):
        quiet_nested_cv(RidgeClassifier(), *twice, cv=cv, scoring="average_precision")


def test_losses_are_drawn_along_time_and_on_the_map():
    pytest.importorskip("matplotlib")
    result = quiet_nested_cv(Ridge(), X, Y, cv=onefit.TimeBlocks(6, buffer=4))
    found = placed(result, result.heldout["loss"].to_numpy())
    assert found.means()[2] == pytest.approx((40, 59, result.fold_errors.e_out[0, 2].item()))
    assert found.spans() == ((56.0, 83.0), (60.0, 79.0))
    assert np.flatnonzero(found.beside).tolist() == [56, 57, 58, 59, 80, 81, 82, 83]
    ax = result.plot(kind="dependence")
    assert ax.get_xlabel() == "steps of time"
    assert len(ax.lines) == 1 + 6
    places = RNG.uniform(size=(N, 2))
    both = np.column_stack([Y, Y])
    one, two = quiet_nested_cv(Ridge(), X, both, cv=onefit.SpaceBlocks(4, buffer=0.1, coords=places)).plot(
        kind="dependence"
    )
    assert one.get_title(loc="left") == two.get_title(loc="left")
    assert "effective rows" in one.get_title(loc="left")
    with pytest.raises(onefit.errors.DataError, match="rows that follow one another"):
        quiet_nested_cv(Ridge(), X, Y).plot(kind="dependence")
