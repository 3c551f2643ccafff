"""SplineRegression: against mgcv, as a scikit-learn estimator, and on every route."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import onefit
from helpers import (
    DATA,
    FAST_ROUTES,
    FOLD_ERRORS,
    ROUTES,
    STRICT,
    quiet_nested_cv,
    quietly,
    random_folds,
    random_weights,
)
from onefit import SplineRegression
from onefit.errors import DataError, ExtrapolationWarning, RankWarning
from onefit.models.basis import BASES

CASES = ("C1_cr_sim", "C3_cr_mcycle")
cases = pytest.mark.parametrize("case", CASES)
kinds = pytest.mark.parametrize("kind", BASES)
criteria = pytest.mark.parametrize("criterion", ["gcv", "loo", "reml"])


def mgcv(case):
    """x as a column, y, and mgcv's numbers."""
    x, y = np.loadtxt(DATA / f"{case}_data.csv", delimiter=",", skiprows=1).T
    return x[:, None], y, json.loads((DATA / f"{case}_results.json").read_text())


def curve_data(n=60, p=1, seed=0, n_outputs=None):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.0, 2.0, (n, p))
    shape = (n,) if n_outputs is None else (n, n_outputs)
    signal = np.sin(3 * X).sum(axis=1)
    return X, (signal if n_outputs is None else signal[:, None]) + 0.3 * rng.standard_normal(shape)


# ------------------------------------------------------------------------------------------- mgcv


@cases
def test_coefficients_fitted_values_edf_scale_and_scores_equal_mgcv_on_its_grid(case):
    x, y, expected = mgcv(case)
    assert len(expected["grid"]) == 21
    for row in expected["grid"]:
        model = SplineRegression(20, "cr", row["sp"] / expected["S_scale"]).fit(x, y)
        size = np.abs(row["coef"]).max()
        np.testing.assert_allclose(model.intercept_, row["coef"][0], rtol=1e-10)
        np.testing.assert_allclose(model.coef_, row["coef"][1:], rtol=1e-9, atol=1e-9 * size)
        np.testing.assert_allclose(model.predict(x), row["fitted"], rtol=1e-9, atol=1e-9 * np.abs(y).max())
        np.testing.assert_allclose(model.edf_, row["edf"], rtol=1e-11)
        np.testing.assert_allclose(model.scale_, row["scale"], rtol=1e-10)
        for score in ("reml", "gcv", "loo"):
            np.testing.assert_allclose(model.scores_[score], row[score], rtol=1e-11)


@cases
@pytest.mark.parametrize("criterion", ["gcv", "reml"])
def test_the_chosen_smoothness_is_mgcv_s(case, criterion):
    x, y, expected = mgcv(case)
    model = SplineRegression(20, "cr", criterion).fit(x, y)
    np.testing.assert_allclose(model.lam_ * expected["S_scale"], expected[f"sp_{criterion}_own"], rtol=1e-6)
    np.testing.assert_allclose(model.edf_, expected[f"edf_{criterion}"], rtol=1e-6)
    assert model.lam_range_[0] < model.lam_ < model.lam_range_[1]


@pytest.mark.sweep(5)
@cases
@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("position", range(5))
def test_nested_cross_validation_equals_brute_force_refits_in_r(case, route, position):
    x, y, expected = mgcv(case)
    folds, bias_folds = (
        np.loadtxt(DATA / f"{case}_{kind}.csv", delimiter=",", dtype=int) - 1 for kind in ("folds", "bias_folds")
    )
    row = expected["ncv"][position]
    if route == "refit":
        folds, row = folds[:1], row | {"reps": row["reps"][:1]}
    model = SplineRegression(20, "cr", row["sp"] / expected["S_scale"])
    result = quiet_nested_cv(model, x, y, folds=folds, bias_folds=bias_folds, confidence_level=0.9, route=route)
    for name in (*FOLD_ERRORS, "mse"):
        theirs = np.array([each[name] for each in row["reps"]], float)
        np.testing.assert_allclose(getattr(result.fold_errors, name), theirs, rtol=STRICT)
    if route != "refit":
        for rule in ("bates", "paper"):
            own = result.intervals.loc[rule, ["estimate", "low", "high"]].to_numpy(float)
            np.testing.assert_allclose(own, [row[rule][key] for key in ("err_hat", "ci_lo", "ci_hi")], rtol=STRICT)
    assert result.exactness == "given the transformers"


# ----------------------------------------------------------------------------------- the estimator


@parametrize_with_checks([SplineRegression(), SplineRegression(basis="tp", lam=1.0)])  # bases differ in knots and none
@pytest.mark.filterwarnings("ignore::onefit.errors.OneFitWarning")
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def dense_fit(model, X, y, weights):
    """Coefficients and their covariance without the scale, by normal equations in the model's own design."""
    D = np.hstack([np.ones((len(X), 1)), *(smooth(X[:, j]) for j, smooth in enumerate(model.smooths_))])
    power = 3.0 if X.shape[1] > 1 and model.basis != "ps" else 0.0
    S = np.zeros((D.shape[1],) * 2)
    done = 1
    for smooth in model.smooths_:
        part = slice(done, done + smooth.size)
        S[part, part] = smooth.span**power * smooth.root.T @ smooth.root
        done += smooth.size
    V = np.linalg.inv(D.T @ (weights[:, None] * D) + model.lam_ * S)
    return D, V @ (D.T @ (weights[:, None] * y.reshape(len(y), -1))), V


@kinds
@pytest.mark.parametrize("p", [1, 3])
@pytest.mark.parametrize("n_outputs", [None, 2])
def test_fit_covariance_and_standard_deviations_equal_the_dense_formulas(kind, p, n_outputs):
    X, y = curve_data(80, p, seed=1, n_outputs=n_outputs)
    weights = random_weights(80, "positive", seed=1)
    model = SplineRegression(7, kind, "gcv").fit(X, y, sample_weight=weights)
    D, b, V = dense_fit(model, X, y, weights)
    mean, std = model.predict(X, return_std=True)
    np.testing.assert_allclose(mean.reshape(80, -1), D @ b, rtol=1e-8, atol=1e-9)
    edf = np.trace(V @ (D.T @ (weights[:, None] * D)))
    np.testing.assert_allclose(model.edf_, edf, rtol=1e-8)
    scale = (weights @ np.square(y.reshape(80, -1) - D @ b)) / (80 - edf)
    np.testing.assert_allclose(np.ravel(model.scale_), scale, rtol=1e-8)
    expected = np.sqrt(np.einsum("ij,jk,ik->i", D, V, D)[:, None] * scale)
    np.testing.assert_allclose(std.reshape(80, -1), expected, rtol=1e-7)
    assert std.shape == mean.shape == y.shape
    covariance = np.multiply.outer(scale, V) if n_outputs else scale[0] * V
    np.testing.assert_allclose(model.covariance_, covariance, rtol=1e-6, atol=1e-9 * np.abs(covariance).max())


def test_bands_cover_the_truth_across_the_curve():
    """Nychka (1988): 95% bands cover about 95% of the points of the curve, on average."""
    rng = np.random.default_rng(2)
    x = np.linspace(0, 1, 100)[:, None]
    truth = np.sin(2 * np.pi * x[:, 0])
    covered = []
    for _ in range(200):
        mean, std = (
            SplineRegression(lam="reml").fit(x, truth + 0.3 * rng.standard_normal(100)).predict(x, return_std=True)
        )
        covered.append(np.mean(np.abs(mean - truth) < 1.96 * std))
    assert 0.93 < np.mean(covered) < 0.97


@kinds
def test_shifting_and_scaling_x_and_y_changes_nothing_but_units(kind):
    X, y = curve_data(seed=3)
    one = SplineRegression(8, kind).fit(X, y)
    other = SplineRegression(8, kind).fit(1e3 * X + 5e4, 1e-3 * y + 1)
    np.testing.assert_allclose(other.predict(1e3 * X + 5e4), 1e-3 * one.predict(X) + 1, rtol=1e-9)
    np.testing.assert_allclose(other.edf_, one.edf_, rtol=1e-7)


def test_a_straight_line_takes_an_infinite_penalty_and_says_so():
    x = np.linspace(0, 1, 50)[:, None]
    rng = np.random.default_rng(4)
    design = SplineRegression(20).fit(x, rng.standard_normal(50)).smooths_[0](x[:, 0])
    noise = rng.standard_normal(50)
    columns = np.column_stack([np.ones(50), design])
    noise -= columns @ np.linalg.lstsq(columns, noise, rcond=None)[0]  # nothing that the spline could follow
    for criterion in ("gcv", "reml"):
        model = SplineRegression(20, lam=criterion).fit(x, 2 * x[:, 0] + noise)
        assert model.lam_ == model.lam_range_[1]
        np.testing.assert_allclose(model.edf_, 2.0, atol=1e-6)
        np.testing.assert_allclose(
            model.predict(x), LinearRegression().fit(x, 2 * x[:, 0] + noise).predict(x), atol=1e-6
        )


def test_noise_free_wiggles_take_next_to_no_penalty():
    x = np.linspace(0, 1, 50)[:, None]
    y = SplineRegression(12).fit(x, np.zeros(50)).smooths_[0](x[:, 0]) @ np.random.default_rng(5).standard_normal(11)
    model = SplineRegression(12, lam="reml").fit(x, y)
    np.testing.assert_allclose(model.predict(x), y, atol=1e-6)
    assert model.edf_ > 11.99


def test_frames_names_clone_grid_search_and_pipelines():
    X, y = curve_data(60, 2, seed=6)
    frame = pd.DataFrame(X, columns=["age", "dose"])
    model = clone(SplineRegression(6, "ps", 0.5)).fit(frame, y)
    assert list(model.feature_names_in_) == ["age", "dose"]
    np.testing.assert_allclose(model.predict(frame), SplineRegression(6, "ps", 0.5).fit(X, y).predict(X))
    search = GridSearchCV(SplineRegression(6), {"lam": [1e-3, 1e3], "basis": ["cr", "tp"]}, cv=3)
    assert quietly(search.fit, frame, y).best_params_["lam"] == 1e-3
    assert make_pipeline(StandardScaler(), SplineRegression(6)).fit(frame, y).predict(frame).shape == (60,)


def test_values_outside_the_knots_are_continued_as_lines_with_a_warning():
    X, y = curve_data(seed=7)
    model = SplineRegression(8).fit(pd.DataFrame(X, columns=["time"]), y)
    t = pd.DataFrame({"time": [3.0, 4.0, 5.0]})
    with pytest.warns(ExtrapolationWarning, match=r"time lie outside the knots of the spline"):
        beyond = model.predict(t)
    np.testing.assert_allclose(np.diff(beyond, 2), 0.0, atol=1e-10)


def test_given_knots_are_used():
    X, y = curve_data(seed=8)
    knots = np.array([-1.0, 0.0, 0.5, 1.0, 2.0])
    model = SplineRegression(knots=knots, lam=0.1).fit(X, y)
    np.testing.assert_array_equal(model.knots_[0], knots)
    assert model.coef_.shape == (4,)
    two = SplineRegression(knots=[knots, None], lam=0.1).fit(np.hstack([X, X**2]), y)
    assert len(two.knots_[1]) == 20
    with pytest.raises(DataError, match="2 entries for 1 columns"):
        SplineRegression(knots=[knots, knots]).fit(X, y)


# ---------------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"basis": "cubic"}, "choose one of 'cr', 'ps', 'bs', 'tp'"),
        ({"n_basis": 2}, "at least 3"),
        ({"n_basis": 7.5}, "integer"),
        ({"lam": -1.0}, "lam"),
        ({"lam": "aic"}, "choose one of"),
        ({"lam": None}, "or one of 'gcv', 'loo', 'reml'"),
        ({"knots": "quantile"}, "refit"),
    ],
)
def test_bad_parameters_are_refused(parameters, message):
    X, y = curve_data()
    for run in (lambda m: m.fit(X, y), lambda m: onefit.nested_cv(m, X, y)):
        with pytest.raises(ValueError, match=message):
            run(SplineRegression(**parameters))


def test_a_constant_column_is_an_error_alone_and_nothing_beside_others():
    X, y = curve_data(seed=9)
    with pytest.raises(DataError, match="constant"):
        SplineRegression().fit(np.ones((60, 1)), y)
    both = SplineRegression(lam=0.1).fit(np.hstack([X, np.ones((60, 1))]), y)
    alone = SplineRegression(lam=0.1 * np.ptp(X) ** 3).fit(X, y)
    np.testing.assert_allclose(both.predict(np.hstack([X, np.ones((60, 1))])), alone.predict(X), rtol=1e-9)


@kinds
def test_two_distinct_values_are_a_line_and_three_a_curve(kind):
    rng = np.random.default_rng(10)
    for distinct in (2, 3):
        X = rng.integers(0, distinct, (30, 1)).astype(float)
        y = rng.standard_normal(30)
        means = [y[X[:, 0] == value].mean() for value in range(distinct)]
        fitted = SplineRegression(basis=kind, lam=0.0).fit(X, y).predict(np.arange(distinct, dtype=float)[:, None])
        np.testing.assert_allclose(fitted, means, rtol=1e-10)


def test_more_columns_than_rows_take_the_smallest_lines_and_warn():
    X, y = curve_data(12, 20, seed=11)
    with pytest.warns(RankWarning, match=r"9 of the 20 unpenalized"):
        model = SplineRegression(4, lam=1.0).fit(X, y)
    np.testing.assert_allclose(model.predict(X), y, atol=1e-9)
    with pytest.raises(onefit.errors.TrainingSetError, match="refit"):
        onefit.nested_cv(SplineRegression(4, lam=1.0), X, y, n_folds=3, n_repeats=1)


def test_nan_is_refused():
    X, y = curve_data()
    X[3] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        SplineRegression().fit(X, y)


@kinds
def test_values_that_differ_by_rounding_errors_are_one_value(kind):
    k = np.arange(1, 11)
    x = np.concatenate([k / 10, 0.1 * k, np.cumsum(np.full(10, 0.1))])
    assert len(np.unique(x)) == 16
    y = np.sin(4 * x) + 0.05 * np.random.default_rng(0).standard_normal(30)
    model = SplineRegression(basis=kind).fit(x[:, None], y)
    t = np.linspace(0.1, 1.0, 200)
    assert np.abs(model.predict(t[:, None]) - np.sin(4 * t)).max() < 0.1
    assert model.coef_.shape == (9,)


@pytest.mark.parametrize("gap", [1e-10, 2e-9, 1e-8, 1e-6])
@kinds
def test_values_that_nearly_coincide_leave_a_smooth_curve(kind, gap):
    rng = np.random.default_rng(17)
    u = rng.uniform(size=30)
    x = np.concatenate([u, u + gap])
    y = np.sin(4 * x) + 0.05 * rng.standard_normal(60)
    t = np.linspace(u.min(), u.max(), 99)
    assert np.abs(SplineRegression(basis=kind).fit(x[:, None], y).predict(t[:, None]) - np.sin(4 * t)).max() < 0.15


@kinds
def test_large_offsets_of_x_are_harmless(kind):
    rng = np.random.default_rng(18)
    x = np.sort(rng.uniform(0, 300, 200))
    y = np.sin(x / 40) + 0.1 * rng.standard_normal(200)
    near, far = (SplineRegression(12, kind).fit(X[:, None], y).predict(X[:, None]) for X in (x, 1.7e9 + x))
    np.testing.assert_allclose(far, near, atol=1e-5)  # x itself is rounded to 2e-7


def test_p_splines_of_a_column_with_three_values_have_no_units():
    rng = np.random.default_rng(19)
    X = np.column_stack([rng.uniform(size=100), rng.integers(0, 3, 100)])
    y = np.sin(6 * X[:, 0]) + X[:, 1] + 0.2 * rng.standard_normal(100)
    one, other = (SplineRegression(basis="ps").fit(X * [1, unit], y).edf_ for unit in (1.0, 1e4))
    np.testing.assert_allclose(one, other, rtol=1e-7)


@pytest.mark.parametrize("size", [1e10, 1e20])
@pytest.mark.parametrize(
    "model", [SplineRegression(), SplineRegression(lam=0.01), onefit.PenalizedRegression(lam="reml")]
)
def test_rows_of_weight_zero_may_be_anywhere(model, size):
    X, y = curve_data(seed=20)
    wild, weights = X.copy(), np.ones(60)
    wild[:10], weights[:10] = size, 0.0
    one = clone(model).fit(wild, y, sample_weight=weights)
    other = clone(model).fit(X[10:], y[10:])
    for own, expected in zip(one.predict(X[10:], return_std=True), other.predict(X[10:], return_std=True), strict=True):
        np.testing.assert_allclose(own, expected, rtol=1e-10)
    folds = random_folds(60, 5, seed=20)
    fast, slow = (
        quiet_nested_cv(model, wild, y, folds=folds, sample_weight=weights, route=route) for route in ("gram", "refit")
    )
    np.testing.assert_allclose(fast.raw_estimate, slow.raw_estimate, rtol=1e-9)


def test_no_penalty_and_more_functions_than_rows_take_the_smallest_fit_and_warn():
    X, y = curve_data(30, seed=21)
    with pytest.warns(RankWarning):
        model = SplineRegression(lam=0, knots=np.linspace(-1, 2, 60)).fit(X, y)
    np.testing.assert_allclose(model.predict(X), y, atol=1e-8)
    assert model.lam_ == 0.0


@pytest.mark.parametrize("lam", [1e-20, 1e-40, 1e-100])
def test_tiny_penalties_are_no_penalty(lam):
    X, y = curve_data(seed=22)
    none = SplineRegression(lam=0).fit(X, y).predict(X)
    np.testing.assert_allclose(SplineRegression(lam=lam).fit(X, y).predict(X), none, atol=1e-9)


def test_knots_that_do_not_span_the_data_are_pointed_out():
    X, y = curve_data(seed=23)
    with pytest.warns(ExtrapolationWarning, match="column 0"):
        SplineRegression(knots=[-0.5, 0.0, 0.5, 1.0]).fit(X, y)


def test_text_is_refused_with_a_remedy():
    frame = pd.DataFrame({"dose": [1.0, 2.0, 3.0], "sex": ["f", "m", "f"]})
    with pytest.raises(DataError, match="AdditiveModel takes categories"):
        SplineRegression().fit(frame, [1.0, 2.0, 3.0])


def test_criteria_are_no_points_of_a_curve():
    X, y = curve_data()
    with pytest.raises(DataError, match="compare"):
        onefit.error_curve(SplineRegression(), X, y, param_name="lam", param_range=["gcv", "reml"])


def test_held_out_rows_outside_the_knots_are_no_news_in_cross_validation():
    X, y = curve_data(seed=24)
    search = GridSearchCV(SplineRegression(6), {"lam": [0.1, 1.0]}, cv=3)
    onefit.nested_cv(search, X, y, n_folds=3, n_repeats=1, random_state=0)  # a warning would be an error here


# -------------------------------------------------------------------------------------- the routes


@settings(max_examples=15)
@given(
    seed=st.integers(0, 10_000),
    n=st.integers(25, 60),
    p=st.integers(1, 3),
    K=st.integers(3, 7),
    kind=st.sampled_from(BASES),
    n_basis=st.integers(3, 8),
    power=st.floats(-4, 4),
    weighted=st.sampled_from(["none", "positive", "zeros"]),
    outputs=st.sampled_from([None, 2]),
)
def test_every_route_gives_the_same_numbers(seed, n, p, K, kind, n_basis, power, weighted, outputs):
    X, y = curve_data(n, p, seed, outputs)
    model = SplineRegression(n_basis, kind, 10.0**power)
    arguments = {"folds": random_folds(n, K, seed=seed), "sample_weight": random_weights(n, weighted, seed)}
    expected = quiet_nested_cv(model, X, y, route="refit", **arguments)
    for route in FAST_ROUTES:
        result = quiet_nested_cv(model, X, y, route=route, **arguments)
        for name in FOLD_ERRORS:
            np.testing.assert_allclose(
                getattr(result.fold_errors, name), getattr(expected.fold_errors, name), rtol=STRICT, atol=1e-12
            )


@pytest.mark.sweep(3)
@kinds
@criteria
@pytest.mark.parametrize("weighted", ["none", "positive"])
def test_smoothness_is_chosen_anew_in_every_training_set(kind, criterion, weighted):
    X, y = curve_data(70, seed=12)
    model = SplineRegression(9, kind, criterion)
    arguments = {"folds": random_folds(70, 5, seed=12), "sample_weight": random_weights(70, weighted, 12)}
    fast, slow = (quiet_nested_cv(model, X, y, route=route, **arguments) for route in ("gram", "refit"))
    for name in FOLD_ERRORS:
        np.testing.assert_allclose(getattr(fast.fold_errors, name), getattr(slow.fold_errors, name), rtol=1e-8)


def test_curve_over_the_penalty_equals_single_runs_and_refits_the_model_as_it_was_given():
    X, y = curve_data(seed=13)
    lams = np.logspace(-4, 2, 7)
    curve = quietly(onefit.error_curve, SplineRegression(8), X, y, param_name="lam", param_range=lams, random_state=0)
    single = quiet_nested_cv(SplineRegression(8, lam=lams[2]), X, y, random_state=0)
    np.testing.assert_allclose(curve.estimate[2], single.estimate, rtol=1e-9)
    model = curve.refit("min")
    assert model.knots is None
    assert model.lam_ in lams
    by_size = quietly(
        onefit.error_curve,
        SplineRegression(lam="gcv"),
        X,
        y,
        param_name="n_basis",
        param_range=[4, 8],
        n_folds=5,
        n_repeats=1,
    )
    assert by_size.results[0].route != "refit"  # each number of functions is a model of its own
    assert by_size.results[0].exactness == "given the transformers"


def test_spline_and_ridge_are_compared_on_the_same_folds():
    X, y = curve_data(80, 2, seed=14)
    table = quietly(
        onefit.compare, {"ridge": Ridge(1.0), "spline": SplineRegression()}, X, y, n_folds=5, random_state=0
    )
    frame = table.to_frame()
    assert frame.shape[0] >= 1
    assert "spline" in str(frame.index.tolist() + frame.columns.tolist()) + frame.to_string()


def test_exactness_says_where_the_knots_come_from():
    X, y = curve_data(seed=15)
    run = {"n_folds": 5, "n_repeats": 1, "random_state": 0}
    knots = np.linspace(-1.0, 2.0, 6)
    for route in ("auto", "refit"):
        assert (
            quiet_nested_cv(SplineRegression(lam=1.0), X, y, route=route, **run).exactness == "given the transformers"
        )
        assert quiet_nested_cv(SplineRegression(lam=1.0, knots=knots), X, y, route=route, **run).exactness == "exact"
    anew = quiet_nested_cv(SplineRegression(lam=1.0, knots="refit"), X, y, **run)
    assert (anew.route, anew.exactness) == ("refit", "exact")
    assert "anew" in anew.route_reason
    given = quiet_nested_cv(SplineRegression(lam=1.0), X, y, **run)
    assert given.estimate != anew.estimate
    np.testing.assert_allclose(given.estimate, anew.estimate, rtol=0.05)  # the choice of knots is no selection by y


@pytest.mark.parametrize("transformer", [FunctionTransformer(np.exp), StandardScaler()])
def test_pipelines_give_the_same_numbers_on_every_route_they_can_take(transformer):
    X, y = curve_data(seed=16)
    model = make_pipeline(transformer, SplineRegression(8, lam=0.3))
    run = {"n_folds": 5, "n_repeats": 1, "random_state": 0}
    auto, refit = (quiet_nested_cv(model, X, y, route=route, **run) for route in ("auto", "refit"))
    np.testing.assert_allclose(auto.estimate, refit.estimate, rtol=STRICT)
    is_stateless = isinstance(transformer, FunctionTransformer)
    assert auto.route == ("gram" if is_stateless else "refit")
    assert auto.exactness == refit.exactness == ("given the transformers" if is_stateless else "exact")


# ------------------------------------------------------------------------------------------------------- pictures


def drawn(ax):
    """The line, the ends of the band and the points of an axes."""
    band = ax.collections[-1].get_paths()[0].vertices
    points = ax.collections[0].get_offsets() if len(ax.collections) > 1 else None
    return ax.lines[0].get_xydata(), band, points


def test_the_plot_shows_the_curve_that_predict_gives_its_band_and_the_data():
    X, y = curve_data(seed=20)
    model = SplineRegression(8).fit(X, y)
    ax = model.plot(X=X, y=y, confidence_level=0.9)
    line, band, points = drawn(ax)
    mean, std = model.predict(line[:, :1], return_std=True)
    np.testing.assert_allclose(line[:, 1], mean, rtol=STRICT)
    np.testing.assert_allclose(line[[0, -1], 0], [X.min(), X.max()])
    z = 1.6448536269514722
    middle = line[100]
    ends = np.sort(band[np.isclose(band[:, 0], middle[0], rtol=0, atol=1e-12), 1])
    np.testing.assert_allclose(ends, [mean[100] - z * std[100], mean[100] + z * std[100]], rtol=STRICT)
    np.testing.assert_allclose(points, np.column_stack([X[:, 0], y]), rtol=STRICT)
    assert ax.get_xlabel() == "column 0"
    assert model.plot(ax) is ax


def test_the_plot_of_several_columns_has_a_part_for_each_and_they_sum_to_the_prediction():
    X, y = curve_data(p=3, seed=21)
    X[:, 1] = 5.0
    table = pd.DataFrame(X, columns=["age", "constant", "dose"])
    model = SplineRegression(8).fit(table, y)
    axes = model.plot(X=table, y=y)
    assert [ax.get_xlabel() for ax in axes] == ["age", "dose"]
    assert axes[0].get_ylabel() == "part of age"
    parts = [np.interp(X[:, j], *drawn(ax)[0].T) for j, ax in zip((0, 2), axes, strict=True)]
    np.testing.assert_allclose(model.intercept_ + sum(parts), model.predict(table), atol=1e-3 * np.ptp(y))
    residuals = y - model.predict(table)
    for j, ax in zip((0, 2), axes, strict=True):
        others = table.copy()
        np.testing.assert_allclose(drawn(ax)[2][:, 0], others.iloc[:, j])
    shown = [drawn(ax)[2][:, 1] for ax in axes]
    np.testing.assert_allclose(shown[0] + shown[1], model.predict(table) - model.intercept_ + 2 * residuals, rtol=1e-9)


def test_the_plot_takes_one_output_and_refuses_what_it_cannot_draw():
    X, y = curve_data(seed=22, n_outputs=2)
    model = SplineRegression(8).fit(X, y)
    line = drawn(model.plot(output=1))[0]
    np.testing.assert_allclose(line[:, 1], model.predict(line[:, :1])[:, 1], rtol=STRICT)
    with pytest.raises(DataError, match="both X and y"):
        model.plot(X=X)
    with pytest.raises(DataError, match="output"):
        model.plot(output=2)
    with pytest.raises(DataError, match="fitted to another number"):
        model.plot(X=X, y=y[:, 0])
    several = SplineRegression(8).fit(np.column_stack([X, X[::-1]]), y)
    with pytest.raises(onefit.errors.OneFitError, match="needs as many axes"):
        several.plot(model.plot())
