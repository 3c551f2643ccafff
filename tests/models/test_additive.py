"""AdditiveModel: fits against dense algebra, terms, frames, and every route to nested cross-validation."""

from __future__ import annotations

import datetime
import json
import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import linalg, optimize
from scipy.interpolate import CubicSpline
from sklearn.base import clone
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import onefit
from helpers import DATA, STRICT, assert_same_results, optional, quiet_nested_cv, quietly, random_weights
from onefit import AdditiveModel, SplineRegression, factor, linear, smooth
from onefit.errors import (
    DataError,
    ExtrapolationWarning,
    OneFitError,
    RankWarning,
    RouteError,
    SmoothnessWarning,
    TrainingSetError,
)

pa, pl, plt = optional("pyarrow"), optional("polars"), optional("matplotlib.pyplot")

SETTINGS = {"n_folds": 5, "n_repeats": 1, "random_state": 3}
FIXED = [0.02, 3.0]
CRITERIA = {"reml": 2, "gcv": 3}
"""Places of the criteria in `dense_fit`."""


def sample(n=120, seed=0, n_outputs=None):
    """Two columns on different scales, and a sum of functions of them."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.uniform(0, 1, n), rng.normal(50, 20, n)])
    mean = np.sin(6 * X[:, 0]) + np.cos(X[:, 1] / 25)
    if n_outputs is None:
        return X, 4 + mean + rng.normal(0, 0.4, n)
    return X, 4 + np.outer(mean, 1 + np.arange(n_outputs)) + rng.normal(0, 0.4, (n, n_outputs))


def frame(n=150, seed=0):
    """Two columns of numbers, texts, ordered categories and truth values."""
    X, y = sample(n, seed)
    rng = np.random.default_rng(seed + 100)
    group, dose = rng.choice(["a", "b", "c"], n), rng.choice(["none", "low", "high"], n)
    table = pd.DataFrame({"x": X[:, 0], "z": X[:, 1], "group": group})
    table["dose"] = pd.Categorical(dose, ["none", "low", "high", "unused"])
    table["old"] = rng.random(n) < 0.4
    return table, y + (group == "b") - 2.0 * (group == "c") + 0.5 * (dose == "high") + table["old"].to_numpy()


def dense(X, n_basis=10, weights=None):
    """Design with its intercept, and the penalty of each column over the unit interval, written out."""
    blocks, penalties = [np.ones((len(X), 1))], []
    for x in X.T:
        u = (x - x.min()) / np.ptp(x)
        knots = np.quantile(np.unique(u), np.linspace(0, 1, n_basis))
        spline = CubicSpline(knots, np.eye(n_basis), bc_type="natural")
        # second derivatives are linear between knots: two Gauss points integrate their squares
        middle, half = (knots[1:] + knots[:-1]) / 2, np.diff(knots) / 2
        gauss = np.concatenate([middle - half / np.sqrt(3), middle + half / np.sqrt(3)])
        second = np.sqrt(np.tile(half, 2))[:, None] * spline(gauss, 2)
        B = spline(u)
        Z = linalg.null_space((np.ones(len(x)) if weights is None else weights)[None] @ B)
        blocks.append(B @ Z)
        penalties.append(Z.T @ second.T @ second @ Z)
    zeros = [np.zeros((1, 1)), *(np.zeros_like(S) for S in penalties)]
    wide = []
    for t, S in enumerate(penalties):
        wide.append(linalg.block_diag(*[S if s == t + 1 else other for s, other in enumerate(zeros)]))
    return np.hstack(blocks), wide


def dense_fit(design, penalties, y, lams, weights=None):
    """Fitted values, degrees of freedom, REML and GCV by determinants and inverses; analytic in the penalties."""
    n, w = len(y), np.ones(len(y)) if weights is None else weights
    S = sum(lam * each for lam, each in zip(lams, penalties, strict=True))
    G = design.T @ (w[:, None] * design)
    inverse = np.linalg.inv(G + S)
    b = inverse @ design.T @ (w * y)
    rss = (w * (y - design @ b) ** 2).sum()
    k, log_det_penalty = len(G), 0.0
    for lam, each in zip(lams, penalties, strict=True):
        r = np.linalg.matrix_rank(each, hermitian=True)
        k -= r
        log_det_penalty += r * np.log(lam) + np.log(np.sort(np.linalg.eigvalsh(each))[len(G) - r :]).sum()
    phi = (rss + b @ S @ b) / (n - k)
    sign, log_det = np.linalg.slogdet(G + S)
    reml = (n - k) / 2 * (1 + np.log(2 * np.pi * phi)) + (np.log(sign) + log_det - log_det_penalty) / 2
    edf = np.trace(inverse @ G)
    return design @ b, edf, reml - np.log(w).sum() / 2, n * rss / (n - edf) ** 2


def best_of_many_starts(value, n_terms, seed=0):
    """The least value of a function of log lam that scipy finds from many places, with derivatives by complex steps."""

    def slopes(rho):
        return np.array([value(rho + 1e-30j * unit).imag / 1e-30 for unit in np.eye(n_terms)])

    starts = np.random.default_rng(seed).uniform(-10, 3, (12, n_terms))
    box = [(-14, 8)] * n_terms
    runs = [optimize.minimize(value, start, jac=slopes, method="L-BFGS-B", bounds=box) for start in starts]
    best = min(runs, key=lambda run: run.fun)
    root = optimize.root(slopes, best.x, tol=1e-13)  # the last digits
    assert np.abs(root.x - best.x).max() < 1e-2
    return root.x, value(root.x)


@pytest.mark.filterwarnings(
    "ignore::onefit.errors.RankWarning",
    "ignore::onefit.errors.ExtrapolationWarning",
    "ignore::onefit.errors.SmoothnessWarning",
)
@parametrize_with_checks([AdditiveModel(), AdditiveModel(lam=1.0, n_basis=5, basis="ps")])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


# ------------------------------------------------------------------------------------------------------------ the fit


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("lam", ["reml", "gcv", FIXED])
def test_fit_equals_dense_algebra_at_its_penalties(lam, weighted):
    X, y = sample()
    weights = random_weights(len(y), "positive") if weighted else None
    model = AdditiveModel(lam=lam).fit(X, y, weights)
    fitted, edf, reml, gcv = dense_fit(*dense(X, weights=weights), y, model.lam_, weights)
    np.testing.assert_allclose(model.predict(X), fitted, rtol=0, atol=1e-9)
    np.testing.assert_allclose(model.edf_, edf, rtol=1e-9)
    np.testing.assert_allclose(model.scores_["reml"], reml, rtol=1e-9)
    np.testing.assert_allclose(model.scores_["gcv"], gcv, rtol=1e-9)
    w = np.ones(len(y)) if weights is None else weights
    np.testing.assert_allclose(model.scale_, (w * (y - fitted) ** 2).sum() / (len(y) - edf), rtol=1e-9)


@pytest.mark.parametrize("lam", CRITERIA)
@pytest.mark.parametrize("seed", range(3))
def test_chosen_penalties_are_the_best_that_scipy_finds_from_many_starts(lam, seed):
    X, y = sample(seed=seed)
    design, penalties = dense(X)
    rho, least = best_of_many_starts(lambda rho: dense_fit(design, penalties, y, np.exp(rho))[CRITERIA[lam]], 2)
    model = AdditiveModel(lam=lam).fit(X, y)
    assert model.lam_at_end_ == ["", ""]
    np.testing.assert_allclose(model.scores_[lam], least, rtol=1e-11)
    np.testing.assert_allclose(np.log(model.lam_), rho, rtol=0, atol=1e-8)
    np.testing.assert_allclose(model.predict(X), dense_fit(design, penalties, y, np.exp(rho))[0], rtol=0, atol=1e-9)


@pytest.mark.parametrize("lam", ["reml", "gcv"])
@pytest.mark.parametrize("own", [0.0, 1e-3, 10.0])
def test_a_penalty_of_ones_own_stays_and_the_others_are_best_given_it(lam, own):
    X, y = sample()
    design, penalties = dense(X)
    model = AdditiveModel(terms=[smooth(0, lam=own), 1], lam=lam).fit(X, y)
    assert model.lam_[0] == own
    if own == 0.0:  # no prior on its coefficients at all
        rho, _ = best_of_many_starts(lambda rho: dense_fit(design, penalties[1:], y, np.exp(rho))[CRITERIA[lam]], 1)
    else:
        rho, _ = best_of_many_starts(lambda rho: dense_fit(design, penalties, y, [own, *np.exp(rho)])[CRITERIA[lam]], 1)
    np.testing.assert_allclose(np.log(model.lam_[1]), rho[0], rtol=0, atol=1e-7)


def test_a_penalty_that_is_best_without_end_stops_at_the_end_of_its_axis():
    X, _ = sample()
    design = dense(X)[0]
    rng = np.random.default_rng(1)
    noise = rng.standard_normal(len(X))
    noise -= design[:, 10:] @ np.linalg.lstsq(design[:, 10:], noise, rcond=None)[0]  # nothing for the second term
    model = AdditiveModel().fit(X, np.sin(6 * X[:, 0]) + X[:, 1] / 20 + noise)
    assert model.lam_at_end_[1] == "most"
    np.testing.assert_allclose(model.edf_by_term_["s(x1)"], 1.0, atol=1e-6)


def crowded(seed, n=20):
    """More functions than rows: GCV is often lowest where the fit interpolates."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 4))
    return X, X.sum(axis=1) + 0.1 * rng.normal(size=n)


@pytest.mark.parametrize("seed", [0, 3, 4, 10])
def test_gcv_smooths_where_functions_outnumber_rows_and_all_routes_agree(seed):
    X, y = crowded(seed)
    model = AdditiveModel(lam="gcv").fit(X, y)
    assert 5 - 1e-6 < model.edf_ < 18
    fast, slow = (quiet_nested_cv(model, X, y, **SETTINGS, route=route) for route in ("auto", "refit"))
    assert_same_results(fast, slow, 1e-7)


def test_gcv_without_a_minimum_warns():
    X, y = crowded(47)
    with pytest.warns(SmoothnessWarning, match='no clear minimum for 36 functions in 20 rows.*lam="reml"') as caught:
        model = AdditiveModel(lam="gcv").fit(X, y)
    assert caught[0].filename == __file__
    assert 20 - model.edf_ > 1
    AdditiveModel(lam="reml").fit(X, y)


@pytest.mark.parametrize("lam", ["reml", "gcv"])
@pytest.mark.parametrize("seed", range(4))
def test_one_row_more_than_free_directions_gives_the_line(lam, seed):
    rng = np.random.default_rng(seed)
    x, y = rng.uniform(size=(9, 1)), rng.standard_normal(9)
    model = AdditiveModel(lam=lam).fit(x[:3], y[:3])
    assert model.lam_at_end_ == ["most"]
    np.testing.assert_allclose(model.predict(x[:3]), LinearRegression().fit(x[:3], y[:3]).predict(x[:3]), atol=1e-6)
    settings = {"n_folds": 3, "n_repeats": 2, "random_state": seed}
    fast, slow = (quiet_nested_cv(AdditiveModel(lam=lam), x, y, **settings, route=route) for route in ("auto", "refit"))
    assert_same_results(fast, slow, 1e-7)


def test_leave_one_out_score_equals_refits():
    X, y = sample(40)
    knots = [np.quantile(np.unique(x), np.linspace(0, 1, 6)) for x in X.T]
    model = AdditiveModel([smooth(j, knots=k) for j, k in enumerate(knots)], lam=FIXED).fit(X, y)
    heldout = []
    for i in range(len(y)):
        rest = np.arange(len(y)) != i
        heldout.append(y[i] - quietly(clone(model).fit(X[rest], y[rest]).predict, X[[i]])[0])
    np.testing.assert_allclose(model.scores_["loo"], np.mean(np.square(heldout)), rtol=1e-9)


def test_degrees_of_freedom_of_the_terms_and_the_intercept_sum_to_the_trace_of_the_hat_matrix():
    X, y = frame()
    model = AdditiveModel().fit(X, y)
    assert list(model.edf_by_term_) == model.term_names_ == ["s(x)", "s(z)", "group", "dose", "old"]
    np.testing.assert_allclose(1 + sum(model.edf_by_term_.values()), model.edf_, rtol=1e-9)
    fixed = clone(model).set_params(lam=model.lam_)
    hat = [fixed.fit(X, unit).predict(X)[i] for i, unit in enumerate(np.eye(len(y)))]
    np.testing.assert_allclose(model.edf_, sum(hat), rtol=1e-9)
    np.testing.assert_allclose([model.edf_by_term_[name] for name in ("group", "dose", "old")], [2, 2, 1], rtol=1e-9)


def test_intervals_of_the_mean_equal_the_bayesian_covariance():
    X, y = sample()
    model = AdditiveModel(lam=FIXED).fit(X, y)
    design, penalties = dense(X)
    V = np.linalg.inv(design.T @ design + sum(lam * S for lam, S in zip(FIXED, penalties, strict=True)))
    _, std = model.predict(X, return_std=True)
    np.testing.assert_allclose(std, np.sqrt(model.scale_ * np.einsum("ij,jk,ik->i", design, V, design)), rtol=1e-9)
    np.testing.assert_allclose(np.trace(model.covariance_), model.scale_ * np.trace(V), rtol=1e-9)


@pytest.mark.parametrize("basis", ["cr", "bs", "tp", "ps"])
@pytest.mark.parametrize("lam", ["reml", "gcv"])
def test_one_smooth_term_is_a_spline_regression(basis, lam):
    X, y = sample()
    x = X[:, 1:]
    ours, theirs = AdditiveModel(lam=lam, basis=basis).fit(x, y), SplineRegression(10, basis, lam).fit(x, y)
    np.testing.assert_allclose(ours.predict(x), theirs.predict(x), rtol=1e-9)
    span = 1.0 if basis == "ps" else np.ptp(x) ** 3
    np.testing.assert_allclose(ours.lam_[0] * span, theirs.lam_, rtol=1e-7)
    np.testing.assert_allclose(ours.scores_[lam], theirs.scores_[lam], rtol=1e-11)
    np.testing.assert_allclose(ours.edf_, theirs.edf_, rtol=1e-8)


@pytest.mark.parametrize("basis", ["cr", "bs", "tp", "ps"])
def test_one_number_for_all_terms_is_a_spline_regression_in_all_columns(basis):
    X, y = sample()
    ours, theirs = AdditiveModel(lam=0.3, basis=basis).fit(X, y), SplineRegression(10, basis, 0.3).fit(X, y)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-10)
    for name, score in ours.scores_.items():
        np.testing.assert_allclose(score, theirs.scores_[name], rtol=1e-9)


def test_units_of_a_column_do_not_matter():
    X, y = sample()
    one, other = AdditiveModel().fit(X, y), AdditiveModel().fit(X * [1e4, 1e-3] + [-7, 3], y * 1e3)
    np.testing.assert_allclose(other.lam_, one.lam_, rtol=1e-6)
    np.testing.assert_allclose(other.edf_by_term_["s(x0)"], one.edf_by_term_["s(x0)"], rtol=1e-8)


def test_lines_alone_are_least_squares():
    X, y = sample()
    ours, theirs = AdditiveModel([linear(0), linear(1)]).fit(X, y), LinearRegression().fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-10)
    np.testing.assert_allclose(ours.intercept_, y.mean(), rtol=1e-12)  # lines are centred
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-12)
    assert ours.lam_.shape == (0,)
    np.testing.assert_allclose(ours.edf_, 3, rtol=1e-12)


def test_a_factor_is_least_squares_on_indicators():
    X, y = frame()
    model = AdditiveModel([linear("x"), factor("dose"), factor("group", levels=["b", "a", "c"])]).fit(X, y)
    indicators = [X["dose"] == "low", X["dose"] == "high", X["group"] == "a", X["group"] == "c"]
    design = np.column_stack([X["x"], *indicators]).astype(float)
    theirs = LinearRegression().fit(design, y)
    np.testing.assert_allclose(model.coef_, theirs.coef_, rtol=1e-9)
    np.testing.assert_allclose(model.intercept_, theirs.intercept_ + theirs.coef_[0] * X["x"].mean(), rtol=1e-10)


@pytest.mark.parametrize("lam", ["reml", FIXED])
def test_rows_without_weight_are_no_rows(lam):
    X, y = sample()
    weights = random_weights(len(y), "zeros")
    heavy = weights > 0
    all_rows, some = (
        AdditiveModel(lam=lam).fit(X, y, weights),
        AdditiveModel(lam=lam).fit(X[heavy], y[heavy], weights[heavy]),
    )
    np.testing.assert_allclose(all_rows.lam_, some.lam_, rtol=1e-8)
    np.testing.assert_allclose(all_rows.predict(X[heavy]), some.predict(X[heavy]), rtol=1e-9)


def test_whole_weights_are_repeated_rows():
    X, y = sample(60)
    counts = np.random.default_rng(0).integers(1, 4, len(y))
    terms = [smooth(j, knots=np.linspace(x.min(), x.max(), 7)) for j, x in enumerate(X.T)]
    weighted = AdditiveModel(terms, FIXED).fit(X, y, counts)
    repeated = AdditiveModel(terms, FIXED).fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), rtol=1e-10)
    np.testing.assert_allclose(weighted.edf_by_term_["s(x1)"], repeated.edf_by_term_["s(x1)"], rtol=1e-9)


def test_several_outputs_share_penalties_that_are_best_for_their_sum():
    X, Y = sample(n_outputs=3)
    model = AdditiveModel().fit(X, Y)
    assert (model.coef_.shape, model.intercept_.shape, model.scale_.shape) == ((3, 18), (3,), (3,))
    assert model.scores_["reml"].shape == (3,)
    design, penalties = dense(X)
    rho, least = best_of_many_starts(lambda rho: sum(dense_fit(design, penalties, y, np.exp(rho))[2] for y in Y.T), 2)
    np.testing.assert_allclose(np.log(model.lam_), rho, rtol=0, atol=1e-8)
    np.testing.assert_allclose(model.scores_["reml"].sum(), least, rtol=1e-11)
    mean, std = model.predict(X, return_std=True)
    for q, y in enumerate(Y.T):
        one = AdditiveModel(lam=model.lam_).fit(X, y)
        np.testing.assert_allclose(mean[:, q], one.predict(X), rtol=1e-9)
        np.testing.assert_allclose(std[:, q], one.predict(X, return_std=True)[1], rtol=1e-9)


@pytest.mark.parametrize("case", ["C1_cr_sim", "C3_cr_mcycle"])
def test_one_term_equals_mgcv(case):
    S = np.loadtxt(DATA / f"{case}_S.csv", delimiter=",")
    x, y = np.loadtxt(DATA / f"{case}_data.csv", delimiter=",", skiprows=1).T
    theirs = json.loads((DATA / f"{case}_results.json").read_text())
    model = AdditiveModel(n_basis=theirs["p"]).fit(x[:, None], y)
    # their penalty is ours but for a factor
    root = model._parts[0].root
    ratio = np.trace(S) / np.square(root).sum()
    np.testing.assert_allclose(ratio * root.T @ root, S[1:, 1:], rtol=0, atol=1e-9 * np.abs(S).max())
    np.testing.assert_allclose(model.lam_[0] / ratio, theirs["sp_reml_own"], rtol=1e-6)  # theirs is good to 1e-7
    gcv = AdditiveModel(n_basis=theirs["p"], lam="gcv").fit(x[:, None], y)
    np.testing.assert_allclose(gcv.lam_[0] / ratio, theirs["sp_gcv_own"], rtol=1e-6)
    for row in theirs["grid"]:
        ours = AdditiveModel(n_basis=theirs["p"], lam=row["sp"] * ratio).fit(x[:, None], y)
        found = [ours.scores_["reml"], ours.scores_["gcv"], ours.scores_["loo"], ours.edf_]
        np.testing.assert_allclose(found, [row[name] for name in ("reml", "gcv", "loo", "edf")], rtol=1e-9)


# -------------------------------------------------------------------------------------------------- terms and effects


def test_effects_and_the_intercept_sum_to_the_prediction():
    X, y = frame()
    model = AdditiveModel().fit(X, y)
    effects = model.effects(X)
    assert list(effects.columns) == ["term", "x", "effect", "low", "high"]
    total = sum(part["effect"].to_numpy() for _, part in effects.groupby("term"))
    np.testing.assert_allclose(total + model.intercept_, model.predict(X), rtol=1e-12)
    for name in ("s(x)", "s(z)"):
        assert abs(effects.loc[effects["term"] == name, "effect"].sum()) < 1e-9
    Y = np.column_stack([y, 2 * y])
    two = AdditiveModel(lam=model.lam_).fit(X, Y).effects(X)
    assert list(two.columns) == ["term", "output", "x", "effect", "low", "high"]
    second = two[two["output"] == 1].reset_index(drop=True)
    np.testing.assert_allclose(second["effect"].to_numpy(), 2 * effects["effect"].to_numpy(), rtol=0, atol=1e-9)


def test_effects_are_shown_over_the_range_of_each_column_and_at_each_level():
    X, y = frame()
    effects = AdditiveModel().fit(X, y).effects(confidence_level=0.9)
    by_term = dict(list(effects.groupby("term", sort=False)))
    assert [len(part) for part in by_term.values()] == [100, 100, 3, 3, 2]
    assert (by_term["s(z)"]["x"].min(), by_term["s(z)"]["x"].max()) == (X["z"].min(), X["z"].max())
    assert by_term["dose"]["x"].tolist() == ["none", "low", "high"]
    assert by_term["old"]["x"].tolist() == [False, True]
    assert by_term["dose"].iloc[0][["effect", "low", "high"]].tolist() == [0, 0, 0]
    narrow = quietly(AdditiveModel([smooth("x", knots=[0.2, 0.4, 0.8])]).fit, X, y)
    assert len(narrow.effects()) == 100  # nobody asked for these values, so no warning


def test_intervals_of_effects_equal_the_bayesian_covariance():
    X, y = sample()
    model = AdditiveModel(lam=FIXED).fit(X, y)
    design, penalties = dense(X)
    V = np.linalg.inv(design.T @ design + sum(lam * S for lam, S in zip(FIXED, penalties, strict=True)))
    own = np.where(np.arange(19) >= 10, design, 0.0)
    half = 1.6448536269514722 * np.sqrt(model.scale_ * np.einsum("ij,jk,ik->i", own, V, own))
    effects = model.effects(X, confidence_level=0.9).query("term == 's(x1)'")
    np.testing.assert_allclose(effects["high"] - effects["effect"], half, rtol=1e-9)
    np.testing.assert_allclose(effects["effect"] - effects["low"], half, rtol=1e-9)


def test_bands_cover_the_true_functions_at_about_their_level():
    covered = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        X = rng.uniform(0, 1, (150, 2))
        truth = np.column_stack([np.sin(6 * X[:, 0]), 3 * (X[:, 1] - 0.5) ** 2])
        effects = AdditiveModel().fit(X, truth.sum(axis=1) + rng.normal(0, 0.5, 150)).effects(X)
        centred = (truth - truth.mean(axis=0)).T.ravel()
        covered.append(((effects["low"] <= centred) & (centred <= effects["high"])).mean())
    assert 0.91 < np.mean(covered) < 0.985  # 0.95 over the points; a few percent from the choice of penalties


def test_columns_with_few_values():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 2, 60), rng.integers(0, 4, 60), np.full(60, 7.0)])
    y = X.sum(axis=1) + rng.standard_normal(60)
    model = AdditiveModel().fit(X, y)
    assert model.term_names_ == ["s(x0)", "s(x1)"]
    assert model.coef_.shape == (1 + 3,)
    assert model.lam_[0] == 0.0
    assert model.lam_at_end_[0] == ""
    indicators = np.column_stack([X[:, 0], *(X[:, 1] == level for level in (1, 2, 3))])
    free = AdditiveModel(lam=0.0).fit(X, y)
    np.testing.assert_allclose(free.predict(X), LinearRegression().fit(indicators, y).predict(indicators), rtol=1e-10)
    assert free.scores_["reml"] == np.inf


def test_columns_that_depend_on_others_warn_and_keep_their_curves():
    X, y = sample()
    both = np.column_stack([X[:, 0], X[:, 1], 3 - X[:, 0]])
    with pytest.warns(RankWarning, match="1 of the 3 unpenalized"):
        model = AdditiveModel().fit(both, y)
    np.testing.assert_allclose(model.predict(both), AdditiveModel().fit(X, y).predict(X), atol=0.05)
    assert model.edf_ > 8
    onehot = np.column_stack([X, pd.get_dummies(np.arange(len(y)) % 3)]).astype(float)
    with pytest.warns(RankWarning):
        model = AdditiveModel().fit(onehot, y)
    codes = pd.DataFrame(X).assign(level=pd.Categorical(np.arange(len(y)) % 3))
    codes.columns = ["x", "z", "level"]
    np.testing.assert_allclose(model.predict(onehot), AdditiveModel().fit(codes, y).predict(codes), rtol=1e-7)


@pytest.mark.parametrize("kind", ["polars", "pyarrow", "positions", "object array"])
def test_other_containers_give_the_numbers_of_pandas(kind):
    X, y = frame()
    expected = AdditiveModel([smooth("x"), "z", factor("group"), factor("old")]).fit(X, y).predict(X)
    terms = [smooth("x"), "z", factor("group"), factor("old")]
    if kind == "polars":
        X = pl.DataFrame({name: X[name].tolist() for name in X.columns})
    elif kind == "pyarrow":
        X = pa.table({name: X[name].tolist() for name in X.columns})
    elif kind == "positions":
        terms = [0, smooth(1), factor(2), factor(4)]
    else:
        X, terms = X.to_numpy(dtype=object), [0, smooth(1), factor(2), factor(4)]
    model = AdditiveModel(terms).fit(X, y)
    np.testing.assert_allclose(model.predict(X), expected, rtol=1e-10)
    assert model.n_features_in_ == 5
    assert hasattr(model, "feature_names_in_") == (kind != "object array")


def test_default_terms_of_polars_are_those_of_pandas():
    X, y = frame()
    columns = {name: X[name].tolist() for name in X.columns}
    table = pl.DataFrame(columns).with_columns(pl.col("dose").cast(pl.Enum(["none", "low", "high"])))
    ours, theirs = AdditiveModel().fit(table, y), AdditiveModel().fit(X, y)
    assert ours.term_names_ == theirs.term_names_
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-9, atol=1e-12)


def test_only_the_columns_of_the_terms_are_read():
    X, y = frame()
    holes = X.assign(z=np.nan, group=None)
    model = AdditiveModel(["x"]).fit(holes, y)
    np.testing.assert_allclose(model.predict(holes), AdditiveModel().fit(X[["x"]], y).predict(X[["x"]]), rtol=1e-12)
    result = quiet_nested_cv(AdditiveModel(["x"]), holes, y, **SETTINGS)
    assert_same_results(result, quiet_nested_cv(AdditiveModel(), X[["x"]], y, **SETTINGS), 1e-9)


def test_predictions_outside_the_knots_are_straight_and_warn():
    X, y = sample()
    model = AdditiveModel([0, linear(1)]).fit(X, y)
    far = np.column_stack([X[:, 0].max() + np.arange(1.0, 4.0), np.full(3, 50.0)])
    with pytest.warns(ExtrapolationWarning, match="column 'x0'") as caught:
        values = model.predict(far)
    assert caught[0].filename == __file__
    np.testing.assert_allclose(np.diff(values, 2), 0, atol=1e-9)
    with pytest.warns(ExtrapolationWarning, match="column 'x0'") as caught:
        effects = model.effects(far)
    assert caught[0].filename == __file__
    np.testing.assert_allclose(effects["effect"][:3] + effects["effect"].iloc[3] + model.intercept_, values, rtol=1e-12)


def test_columns_of_a_frame_go_by_its_own_names_and_integers_are_positions():
    X, y = sample()
    table = pd.DataFrame(X, columns=[7, 1])
    model = AdditiveModel().fit(table, y)
    assert model.term_names_ == ["s(7)", "s(1)"]
    np.testing.assert_array_equal(model.predict(table), AdditiveModel().fit(X, y).predict(X))
    assert AdditiveModel([smooth(1), linear(0)]).fit(table, y).term_names_ == ["s(1)", "7"]
    with pytest.raises(DataError, match=r"no column 7: an integer is a position, and these are 0 to 1 of 7, 1\."):
        AdditiveModel([smooth(7)]).fit(table, y)
    with pytest.raises(DataError, match=r"no column 'a'; it has 7, 1\."):
        AdditiveModel(["a"]).fit(table, y)


def test_numbers_as_text_and_identifiers_are_no_factors_unless_someone_says_so():
    X, y = frame()
    for texts in (X["x"].map(str), X["z"].round().map(str), X["x"].astype(object)):
        with pytest.raises(DataError, match=r"'bmi' holds numbers as text; .*to_numeric.*factor\('bmi'\)"):
            AdditiveModel().fit(X[["x"]].assign(bmi=texts), y)
    name = [f"p{i}" for i in range(len(y))]
    with pytest.raises(DataError, match=r"'name' has 150 levels in 150 rows.*drop it, or .*factor\('name'\)"):
        AdditiveModel().fit(X.assign(name=name), y)
    few = np.arange(len(y)) % 3
    as_text = X[["x"]].assign(code=few.astype(str))
    for table, terms in ((as_text, ["x", factor("code")]), (as_text.assign(code=pd.Categorical(few)), None)):
        model = AdditiveModel(terms).fit(table, y)
        assert model.edf_by_term_["code"] == pytest.approx(2, rel=1e-9)


ERRORS = {
    "unknown column": (lambda: AdditiveModel(["nothing"]), "no column 'nothing'; it has 'x', 'z'"),
    "unknown position": (
        lambda: AdditiveModel([9]),
        "no column 9: an integer is a position.*0 to 4 of 'x', 'z', 'group'",
    ),
    "twice": (lambda: AdditiveModel(["x", smooth("x", n_basis=5)]), "Column 'x' has two terms"),
    "line and curve": (lambda: AdditiveModel(["x", linear(0)]), "Column 'x' has two terms"),
    "loo": (lambda: AdditiveModel(lam="loo"), 'use "gcv"'),
    "no penalty": (lambda: AdditiveModel(lam=None), 'must be "reml" or "gcv", a number.*or a list'),
    "criterion": (lambda: AdditiveModel(lam="aic"), "choose one of"),
    "negative": (lambda: AdditiveModel(lam=-1.0), "not negative"),
    "too few": (lambda: AdditiveModel(lam=[1.0]), "1 entries, and there are 2 smooth terms"),
    "no terms": (lambda: AdditiveModel([]), "must be a list of terms"),
    "not a list": (lambda: AdditiveModel("x"), "must be a list of terms"),
    "not a term": (lambda: AdditiveModel([1.5]), "name of a column, or its position"),
    "text": (lambda: AdditiveModel(["group"]), "use factor"),
    "basis": (lambda: AdditiveModel(basis="xx"), "choose one of"),
    "n_basis": (lambda: AdditiveModel(n_basis=2), "at least 3"),
    "levels": (lambda: AdditiveModel([factor("group", levels=["a", "b"])]), "holds 'c', which is not among its levels"),
}


@pytest.mark.parametrize("case", ERRORS)
def test_errors_state_cause_and_remedy(case):
    make, message = ERRORS[case]
    X, y = frame()
    with pytest.raises(DataError, match=message):
        make().fit(X, y)


@pytest.mark.parametrize("term", [smooth("c"), linear("c"), factor("c")])
def test_a_term_in_a_constant_column_is_refused(term):
    X, y = frame()
    with pytest.raises(DataError, match=r"'c' is constant.*remove its term"):
        AdditiveModel(["x", term]).fit(X.assign(c=1.0), y)
    with pytest.raises(DataError, match="Every column of X is constant"):
        AdditiveModel().fit(X[["x"]] * 0, y)


def test_terms_refuse_what_no_data_can_mend():
    for bad in (None, True, 1.5):
        with pytest.raises(DataError, match="name of a column"):
            smooth(bad)
    with pytest.raises(DataError, match="increase"):
        smooth("x", knots=[0, 2, 1])
    with pytest.raises(DataError, match="not negative"):
        smooth("x", lam=-1)
    with pytest.raises(DataError, match="all different"):
        factor("x", levels=["a", "a"])
    with pytest.raises(DataError, match="at least two"):
        factor("x", levels="a")
    with pytest.raises(DataError, match="X has no column names"):
        AdditiveModel(["x"]).fit(*sample())


def test_data_that_cannot_be_used_are_named():
    X, y = frame()
    with pytest.raises(DataError, match=r"'x' is missing or infinite .* in 1 row"):
        AdditiveModel().fit(X.assign(x=X["x"].where(X.index > 0)), y)
    with pytest.raises(DataError, match=r"'group' is missing .* in 2 row"):
        AdditiveModel().fit(X.assign(group=X["group"].where(X.index > 1, None)), y)
    with pytest.raises(DataError, match="'day' holds dates"):
        AdditiveModel().fit(X.assign(day=pd.Timestamp("2026-01-01")), y)
    for day in (pd.Timestamp("2026-01-01"), pd.Timedelta(days=3), datetime.date(2026, 1, 1)):
        with pytest.raises(DataError, match="'day' holds dates; turn them into numbers"):
            AdditiveModel(["day"]).fit(X.assign(day=day), y)
    mixed = X.assign(group=[1, *X["group"][1:]])
    with pytest.raises(DataError, match="mixes types"):
        AdditiveModel().fit(mixed, y)
    with pytest.raises(ValueError, match=r"(?i)sample weights"):
        AdditiveModel().fit(X, y, np.zeros(len(y)))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        AdditiveModel().fit(X, y[:-1])


def test_new_rows_are_checked_as_scikit_learn_does():
    X, y = frame()
    model = AdditiveModel().fit(X, y)
    with pytest.raises(DataError, match="'group' holds 'd', which is not among its levels 'a', 'b', 'c'"):
        model.predict(X.assign(group="d"))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(X.rename(columns={"x": "w"}))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(X[["x", "z"]])
    with pytest.raises(DataError, match="confidence_level"):
        model.effects(confidence_level=95)


def test_clone_pickle_grid_search_and_pipelines():
    X, y = frame()
    model = AdditiveModel([smooth("x", knots=[0, 0.2, 0.5, 1]), factor("group")], lam=0.1)
    assert clone(model).get_params()["terms"] == model.terms
    fitted = pickle.loads(pickle.dumps(model.fit(X, y)))
    np.testing.assert_array_equal(fitted.predict(X), model.predict(X))
    search = GridSearchCV(model, {"lam": [1e-4, 1e4]}, cv=3)
    assert quietly(search.fit, X, y).best_params_ == {"lam": 1e-4}
    numbers = X[["x", "z"]]
    scaled = make_pipeline(StandardScaler(), AdditiveModel()).fit(numbers, y)
    np.testing.assert_allclose(scaled.predict(numbers), AdditiveModel().fit(numbers, y).predict(numbers), rtol=1e-8)


# -------------------------------------------------------------------------------------------------------------- plots


def test_each_term_has_a_panel_with_its_degrees_of_freedom():
    X, y = frame()
    model = AdditiveModel(["x", linear("z"), factor("dose")]).fit(X, y)
    axes = model.plot_terms(confidence_level=0.9)
    edf = model.edf_by_term_["s(x)"]
    assert [ax.get_ylabel() for ax in axes] == [f"s(x, {edf:.1f})", "effect of z", "effect of dose"]
    assert [ax.get_xlabel() for ax in axes] == ["x", "z", "dose"]
    assert [label.get_text() for label in axes[2].get_xticklabels()] == ["none", "low", "high"]
    line = max(axes[0].lines, key=lambda each: len(each.get_xdata()))
    effects = model.effects(confidence_level=0.9)
    np.testing.assert_array_equal(line.get_ydata(), effects.loc[effects["term"] == "s(x)", "effect"])
    given = model.plot_terms(axes=axes)
    assert given[0] is axes[0]
    with pytest.raises(OneFitError, match="3 parts"):
        model.plot_terms(axes=axes[:2])
    plt.close("all")


def test_long_names_of_levels_are_cut():
    X, y = frame()
    X["group"] = X["group"].map({"a": "a", "b": "a name of 16 let", "c": "a name that goes on and on and on"})
    axes = AdditiveModel([factor("group")]).fit(X, y).plot_terms()
    names = [label.get_text() for label in axes[0].get_xticklabels()]
    assert names == ["a", "a name of 16 let", "a name that goe…"]
    plt.close("all")


def test_the_rug_keeps_at_most_a_thousand_values_with_the_ends():
    X, y = sample(3000)
    model = AdditiveModel([0], lam=1.0).fit(X, y)
    rug = model._parts[0].rug
    assert len(rug) == 1000
    assert (rug[0], rug[-1]) == (X[:, 0].min(), X[:, 0].max())
    with pytest.raises(DataError, match="output"):
        model.plot_terms(output=1)


# ------------------------------------------------------------------------------------------------------------- routes


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("lam", [0.5, FIXED, [0.0, 1.0]])
def test_all_routes_agree_with_given_penalties(lam, weighted):
    X, y = frame()
    weights = random_weights(len(y), "positive") if weighted else None
    expected = quiet_nested_cv(AdditiveModel(lam=lam), X, y, sample_weight=weights, **SETTINGS, route="refit")
    for route in ("gram", "onestep"):
        result = quiet_nested_cv(AdditiveModel(lam=lam), X, y, sample_weight=weights, **SETTINGS, route=route)
        assert result.route == route
        assert result.exactness == expected.exactness == "given the transformers"
        assert_same_results(result, expected, STRICT)


@pytest.mark.sweep(2)
@pytest.mark.parametrize("kind", ["none", "positive", "zeros"])
@pytest.mark.parametrize("lam", ["reml", "gcv"])
def test_penalties_chosen_in_every_training_set_agree_with_refits(lam, kind):
    X, y = frame()
    weights = random_weights(len(y), kind)
    model = AdditiveModel(lam=lam)
    fast = quiet_nested_cv(model, X, y, sample_weight=weights, **SETTINGS)
    slow = quiet_nested_cv(model, X, y, sample_weight=weights, **SETTINGS, route="refit")
    assert (fast.route, slow.route) == ("gram", "refit")
    assert "chosen jointly in every training set" in fast.route_reason
    assert_same_results(fast, slow, 1e-8)


@pytest.mark.parametrize("lam", ["reml", "gcv"])
def test_penalties_chosen_beside_a_fixed_one_agree_with_refits(lam):
    X, y = frame(100)
    model = AdditiveModel([smooth("x", lam=0.1), "z", factor("group")], lam=lam)
    fast, slow = (quiet_nested_cv(model, X, y, **SETTINGS, route=route) for route in ("gram", "refit"))
    assert_same_results(fast, slow, 1e-7)


def test_several_outputs_agree_with_refits():
    X, Y = sample(100, n_outputs=2)
    fast, slow = (quiet_nested_cv(AdditiveModel(), X, Y, **SETTINGS, route=route) for route in ("auto", "refit"))
    assert fast.route == "gram"
    assert_same_results(fast, slow, 1e-8)


def test_knots_and_levels_in_the_terms_make_every_route_exact():
    X, y = frame()
    terms = [smooth("x", knots=np.linspace(0, 1, 6)), linear("z"), factor("group", levels=["a", "b", "c"])]
    fast, slow = (quiet_nested_cv(AdditiveModel(terms), X, y, **SETTINGS, route=route) for route in ("gram", "refit"))
    assert fast.exactness == slow.exactness == "exact"
    assert_same_results(fast, slow, 1e-8)


def test_freezing_keeps_the_knots_and_levels_of_all_rows():
    X, y = frame()
    frozen = AdditiveModel()._freeze(X, None)
    assert frozen._freeze(X[:50], None) is frozen
    all_rows, some = AdditiveModel().fit(X, y), quietly(clone(frozen).fit, X[:50], y[:50])
    for one, other in zip(all_rows._parts[:2], some._parts[:2], strict=True):
        np.testing.assert_array_equal(one.curve.basis.knots, other.curve.basis.knots)
    assert some._parts[3].levels == ("none", "low", "high")


def test_a_path_of_common_penalties_agrees_with_refits():
    X, y = frame()
    values = [0.01, 1.0, 100.0]
    settings = {"param_name": "lam", "param_range": values, **SETTINGS}
    fast, slow = (quietly(onefit.error_curve, AdditiveModel(), X, y, **settings, route=r) for r in ("gram", "refit"))
    for one, other in zip(fast.results, slow.results, strict=True):
        assert_same_results(one, other, STRICT)
    for at, lam in enumerate(values):
        scores = AdditiveModel(lam=lam).fit(X, y).scores_
        for name in ("gcv", "loo", "reml"):
            np.testing.assert_allclose(fast.scores[name].iloc[at], scores[name], rtol=1e-9)


def test_a_penalty_of_ones_own_does_not_move_along_a_path():
    X, _ = frame()
    with pytest.raises(RouteError, match="lam of its own"):
        AdditiveModel([smooth("x", lam=1.0), "z"])._make_smoother(X, None, np.ones((2, 1)))


@pytest.mark.parametrize("terms", [[smooth("x", lam=1.0), smooth("z", lam=0.1)], [linear("x"), factor("group")]])
def test_a_path_that_moves_no_term_is_refused(terms):
    X, y = frame()
    with pytest.raises(DataError, match=r"lam changes nothing here.*Leave lam out of smooth"):
        onefit.error_curve(AdditiveModel(terms), X, y, param_name="lam", param_range=[0.1, 1.0], **SETTINGS)


def with_rare_level(count, n=80):
    X, y = frame(n)
    return X.assign(group=["D"] * count + X["group"].tolist()[count:]), y


@pytest.mark.parametrize("lam", ["reml", 1.0])
def test_a_level_that_training_sets_lack_is_named(lam):
    X, y = with_rare_level(1)
    with pytest.raises(DataError, match=r"level 'D' of column 'group' has 1 row\(s\); merge it with another level or"):
        quiet_nested_cv(AdditiveModel(lam=lam), X, y, **SETTINGS)
    levels = factor("group", levels=["D", "a", "b", "c", "empty"])
    with pytest.raises(DataError, match=r"level 'empty' of column 'group' has 0 row\(s\)"):
        quiet_nested_cv(AdditiveModel(["x", levels], lam=lam), X, y, **SETTINGS)
    assert np.isfinite(quiet_nested_cv(AdditiveModel(lam=lam), X, y, **SETTINGS, route="refit").estimate)


def test_a_rare_level_that_some_training_sets_lack_is_named():
    X, y = with_rare_level(2)
    with pytest.raises(TrainingSetError, match=r"level 'D' of column 'group' has 2 row\(s\); merge it"):
        quiet_nested_cv(AdditiveModel(), X, y, **SETTINGS)


def test_a_model_of_lines_and_factors_needs_no_choice():
    X, y = frame()
    model = AdditiveModel([linear("x"), factor("group", levels=["a", "b", "c"])])
    result = quiet_nested_cv(model, X, y, **SETTINGS)
    design = np.column_stack([X["x"], X["group"] == "b", X["group"] == "c"]).astype(float)
    assert_same_results(result, quiet_nested_cv(LinearRegression(), design, y, **SETTINGS), STRICT)


def test_leaving_two_rows_out_agrees_with_refits():
    X, y = sample(20)
    terms = [smooth(j, knots=np.quantile(x, [0, 0.3, 0.7, 1])) for j, x in enumerate(X.T)]
    settings = {"n_folds": 20, "n_repeats": 1, "random_state": 0}
    fast, slow = (quiet_nested_cv(AdditiveModel(terms), X, y, **settings, route=route) for route in ("auto", "refit"))
    assert fast.route == "gram"
    assert_same_results(fast, slow, 1e-7)


def test_a_path_that_cannot_move_all_terms_is_a_model_at_each_value():
    rng = np.random.default_rng(33)
    X = rng.uniform(size=(60, 2))
    y = np.sin(6 * X[:, 0]) + X[:, 1] + 0.2 * rng.standard_normal(60)
    model = onefit.AdditiveModel(terms=[onefit.smooth(0, lam=1e-3), onefit.smooth(1)])
    curve = quietly(
        onefit.error_curve,
        model,
        X,
        y,
        param_name="lam",
        param_range=[0.01, 1.0],
        n_folds=4,
        n_repeats=1,
        random_state=0,
    )
    assert curve.results[0].route == "gram"  # each value is a model of its own
    alone = quiet_nested_cv(model.set_params(lam=1.0), X, y, n_folds=4, n_repeats=1, random_state=0)
    np.testing.assert_allclose(curve.estimate[1], alone.estimate, rtol=1e-9)


# ------------------------------------------------------------------------------------------------------- summary


def test_a_rare_level_is_named_with_given_penalties_too():
    X, y = with_rare_level(2)
    with pytest.raises(TrainingSetError, match=r"level 'D' of column 'group' has 2 row\(s\); merge it") as caught:
        quiet_nested_cv(AdditiveModel(lam=1.0), X, y, **SETTINGS)
    assert caught.value.lam is None
    with pytest.raises(TrainingSetError, match=r"level 'D' of column 'group' has 2 row\(s\); merge it"):
        quietly(onefit.error_curve, AdditiveModel(), X, y, param_name="lam", param_range=[1.0, 2.0], **SETTINGS)


@pytest.mark.parametrize("kind", ["none", "zeros"])
def test_the_summary_has_what_can_be_computed_from_the_residuals(kind):
    X, y = frame()
    weights = random_weights(len(y), kind)
    terms = [smooth("x"), linear("z"), factor("dose")]
    model = AdditiveModel(terms).fit(X, y, sample_weight=weights)
    w = np.ones(len(y)) if weights is None else weights
    rss, centred = w @ (y - model.predict(X)) ** 2, y - np.average(y, weights=w)
    squares, n = w @ centred**2, int((w > 0).sum())
    lines = model.summary().splitlines()
    assert lines[0].split() == ["term", "edf", "lam", "over"]
    assert [line.split()[0] for line in lines[1:4]] == ["s(x)", "z", "dose"]
    assert lines[1].split()[1:3] == [f"{model.edf_by_term_['s(x)']:.2f}", f"{model.lam_[0]:.3g}"]
    assert lines[2].split()[1:3] == ["1.00", "-"]
    assert lines[3].endswith("'none', 'low', 'high'")
    assert lines[4].startswith(f"{n} rows, {model.edf_:.2f} degrees of freedom")
    adjusted = 1 - (rss / (n - model.edf_)) / (squares / (n - 1))
    expected = f"REML {model.scores_['reml']:.5g}, deviance explained {100 * (1 - rss / squares):.1f}%"
    assert lines[5] == f"scale {rss / (n - model.edf_):.4g}, {expected}, adjusted R2 {adjusted:.3f}"


def test_the_summary_of_one_term_has_mgcv_s_numbers():
    found = json.loads((DATA / "C3_cr_mcycle_results.json").read_text())
    x, y = np.loadtxt(DATA / "C3_cr_mcycle_data.csv", delimiter=",", skiprows=1).T
    last = AdditiveModel(n_basis=20).fit(x[:, None], y).summary().splitlines()[-2:]
    assert f"{found['edf_reml']:.2f} degrees of freedom" in last[0]
    assert f"REML {found['reml_at_opt']:.5g}," in last[1]


def test_the_summary_has_a_line_for_each_output_and_says_where_a_criterion_ended():
    X, y = sample(n_outputs=2)
    X[:, 1] = np.random.default_rng(1).permutation(X[:, 1])
    lines = AdditiveModel(lam="gcv").fit(X, y).summary().splitlines()
    assert [line.split(":")[0] for line in lines[-2:]] == ["output 0", "output 1"]
    assert "GCV" in lines[-1]
    y = np.sin(6 * X[:, 0]) + X[:, 1] + np.random.default_rng(2).normal(0, 0.1, len(X))
    model = AdditiveModel().fit(X, y)
    assert model.lam_at_end_ == ["", "most"]
    assert ["(most)" in line for line in model.summary().splitlines()] == [False, False, True, False, False]
    assert "y is constant" in AdditiveModel(lam=1.0).fit(X, np.ones(len(X))).summary()
