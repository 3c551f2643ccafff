"""GCV, leave-one-out and REML: against mgcv, against real refits, and against the formulas written out."""

from __future__ import annotations

import json

import numpy as np
import pytest
from sklearn.linear_model import Ridge, RidgeCV
from sklearn.utils.estimator_checks import parametrize_with_checks

import reference
from helpers import DATA, data, random_weights
from onefit import PenalizedRegression
from onefit.criteria import SetRows, Spectrum, criterion_values, edf, loo_on_grid, search, spectrum_of_rows
from onefit.learners import DesignSmoother, KernelSmoother, SparseSmoother
from onefit.linalg.columns import columns_of
from onefit.vocabulary import CRITERIA

SHAPES = [(30, 5), (30, 29), (20, 35)]
cases = pytest.mark.parametrize("case", ["C1_cr_sim", "C3_cr_mcycle"])
kinds = pytest.mark.parametrize("kind", ["none", "positive", "zeros"])


def mgcv(case):
    """Design with its intercept column, penalty, y, and mgcv's numbers."""
    X, S = (np.loadtxt(DATA / f"{case}_{part}.csv", delimiter=",") for part in "XS")
    y = np.loadtxt(DATA / f"{case}_data.csv", delimiter=",", skiprows=1)[:, 1]
    return X, (S + S.T) / 2, y, json.loads((DATA / f"{case}_results.json").read_text())


def smoother(X, lams, weights=None, fit_intercept=True, penalty=None):
    return DesignSmoother(X, penalty, fit_intercept, np.reshape(lams, (len(lams), -1)), weights)


def criteria_of(model, y):
    """The criteria of a smoother by name, and its degrees of freedom."""
    scores = model.criteria(y)
    return {**scores.tables, "edf": scores.edf}


def scores_of(X, y, lams, weights=None, **parameters):
    table = criteria_of(smoother(X, lams, weights, **parameters), y.reshape(len(y), -1))
    return {name: values[:, 0] if y.ndim == 1 else values for name, values in table.items()}


# ------------------------------------------------------------------------------------------ mgcv


@cases
@pytest.mark.parametrize("score", ["gcv", "reml", "loo", "edf"])
def test_scores_equal_mgcv(case, score):
    X, S, y, expected = mgcv(case)
    lams = np.array([[row["sp"]] for row in expected["grid"]])
    actual = criteria_of(DesignSmoother(X, S, False, lams), y[:, None])[score][:, 0]
    np.testing.assert_allclose(actual, [row[score] for row in expected["grid"]], rtol=1e-11)


@cases
@pytest.mark.parametrize("criterion", ["gcv", "reml"])
def test_the_chosen_penalty_is_mgcv_s(case, criterion):
    X, S, y, expected = mgcv(case)
    model = PenalizedRegression(S, criterion, fit_intercept=False).fit(X, y)
    np.testing.assert_allclose(model.lam_, expected[f"sp_{criterion}_own"], rtol=1e-6)  # theirs is good to 1e-7


@cases
def test_an_intercept_beside_the_design_is_the_same_model(case):
    X, S, y, expected = mgcv(case)
    lams = [row["sp"] for row in expected["grid"]]
    actual = scores_of(X[:, 1:], y, lams, penalty=S[1:, 1:])
    for score in CRITERIA:
        np.testing.assert_allclose(actual[score], [row[score] for row in expected["grid"]], rtol=1e-10)


# ------------------------------------------------------------------------------- real refits, formulas


@pytest.mark.sweep(4)
@kinds
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_leave_one_out_equals_real_refits(shape, fit_intercept, kind):
    X, y = data(*shape, seed=1)
    n, weights = shape[0], random_weights(shape[0], kind, seed=1)
    w = np.ones(n) if weights is None else weights
    lams = [1e-3, 1.0, 100.0]
    actual = scores_of(X, y, lams, weights, fit_intercept=fit_intercept)["loo"]
    for lam, value in zip(lams, actual, strict=True):
        refit = reference.refitter(X, y, lam, None, fit_intercept, weights)
        heldout = np.array([y[i] - refit(np.delete(np.arange(n), i), [i])[0] for i in range(n)])
        np.testing.assert_allclose(value, np.mean(w * heldout**2), rtol=1e-9)


@kinds
@pytest.mark.parametrize("shape", SHAPES)
def test_loo_is_minus_the_score_of_ridge_cv(shape, kind):
    X, y = data(*shape, seed=2)
    weights = random_weights(shape[0], kind, seed=2)
    for alpha in (0.1, 30.0):
        theirs = RidgeCV([alpha]).fit(X, y, sample_weight=weights)
        np.testing.assert_allclose(scores_of(X, y, [alpha], weights)["loo"][0], -theirs.best_score_, rtol=1e-10)


@kinds
@pytest.mark.parametrize("shape", SHAPES)
def test_gcv_edf_and_reml_equal_their_formulas(shape, kind):
    X, y = data(*shape, seed=3)
    weights = random_weights(shape[0], kind, seed=3)
    lams = [1e-2, 1.0, 1e3]
    actual = scores_of(X, y, lams, weights)
    keep = np.ones(len(y), bool) if weights is None else weights > 0
    w = np.ones(keep.sum()) if weights is None else weights[keep]
    E, z, n = X[keep], y[keep], int(keep.sum())
    for at, lam in enumerate(lams):
        V = np.diag(1 / w) + E @ E.T / lam  # covariance of y over phi, with the coefficients integrated out
        N = np.ones((n, 1))
        inverse = np.linalg.inv(V)
        projection = inverse - inverse @ N @ np.linalg.inv(N.T @ inverse @ N) @ N.T @ inverse
        phi = z @ projection @ z / (n - 1)
        log_det = np.linalg.slogdet(V)[1] + np.linalg.slogdet(N.T @ inverse @ N)[1]
        expected = ((n - 1) * (1 + np.log(2 * np.pi * phi)) + log_det) / 2
        np.testing.assert_allclose(actual["reml"][at], expected, rtol=1e-10)
        A = projection / w[:, None]  # residual operator
        np.testing.assert_allclose(actual["edf"][at], n - np.trace(A), rtol=1e-9)
        rss = w @ np.square(A @ z)
        np.testing.assert_allclose(actual["gcv"][at], n * rss / np.trace(A) ** 2, rtol=1e-9)


# ---------------------------------------------------------------------------------- what cannot be


def test_gcv_is_infinite_where_the_fit_interpolates():
    X, y = data(20, 35, seed=5)
    gcv = scores_of(X, y, [1e-12, 1e-8, 1e-2])["gcv"]
    assert np.isinf(gcv[0])
    assert np.isfinite(gcv[2])
    model = PenalizedRegression(lam="gcv").fit(X, y)
    assert len(y) - model.edf_ > 1e-8 * len(y)


def test_leave_one_out_keeps_its_digits_near_interpolation():
    X, y = data(20, 35, seed=6)
    actual = scores_of(X, y, [1e-10])["loo"][0]
    refit = reference.refitter(X, y, 1e-10)
    heldout = [y[i] - refit(np.delete(np.arange(20), i), [i])[0] for i in range(20)]
    np.testing.assert_allclose(actual, np.mean(np.square(heldout)), rtol=1e-8)


def test_columns_in_small_units_keep_their_digits():
    X, y = data(30, 5, seed=6)
    X = X * [1e-6, 1e6, 1.0, 1e-3, 1e3]
    actual = scores_of(X, y, [1e-11, 1e-5])["loo"]
    for lam, value in zip([1e-11, 1e-5], actual, strict=True):
        refit = reference.refitter(X, y, lam)
        heldout = [y[i] - refit(np.delete(np.arange(30), i), [i])[0] for i in range(30)]
        np.testing.assert_allclose(value, np.mean(np.square(heldout)), rtol=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_small_eigenvalues_are_as_accurate_as_large_ones(seed):
    X, y = data(30, 8, seed=seed)
    units = np.sort(10 ** np.random.default_rng(seed).uniform(-6, 6, 8))
    one, other = (spectrum_of_rows(columns_of(Z, None, True), y[:, None]).spectrum.mu for Z in (X, X * units))
    assert abs(np.log(other).sum() - np.log(one).sum() - 2 * np.log(units).sum()) < 1e-12


def test_reml_without_a_penalty_is_infinite_and_of_a_kernel_has_no_meaning():
    X, y = data(20, 3, seed=7)
    assert np.isinf(scores_of(X, y, [0.0])["reml"][0])
    features = KernelSmoother(X @ X.T, np.array([[0.5], [2.0]]), y[:, None])
    kernel = criteria_of(features, y[:, None])
    assert "reml" not in kernel
    assert "no unit" in features.criteria(y[:, None]).reasons["reml"]
    ridge = scores_of(X, y, [0.5, 2.0], fit_intercept=False)
    for score in ("loo", "gcv", "edf"):
        np.testing.assert_allclose(kernel[score][:, 0], ridge[score], rtol=1e-9)


def test_a_sparse_design_has_the_scores_of_the_dense_one():
    from scipy import sparse

    X, y = data(30, 6, seed=8)
    X = X * (np.abs(X) > 1)
    lams = np.array([[0.1], [10.0]])
    expected = scores_of(X, y, lams[:, 0])
    actual = criteria_of(SparseSmoother(sparse.csr_matrix(X), True, lams), y[:, None])
    for score, values in actual.items():
        np.testing.assert_allclose(values[:, 0], expected[score], rtol=1e-10)


def test_each_output_has_its_scores_at_its_own_penalty():
    X, Y = data(30, 5, seed=9, n_outputs=2)
    both = criteria_of(smoother(X, [[0.1, 5.0], [1.0, 50.0]]), Y)
    for output, lams in enumerate(([0.1, 1.0], [5.0, 50.0])):
        alone = scores_of(X, Y[:, output], lams)
        for score, values in both.items():
            np.testing.assert_allclose(values[:, output], alone[score], rtol=1e-10)


# ------------------------------------------------------------------------------------- the search


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("shape", SHAPES)
def test_no_other_penalty_has_a_smaller_score(shape, criterion):
    X, y = data(*shape, seed=10)
    spectrum = spectrum_of_rows(columns_of(X, None, True), y[:, None]).spectrum
    lam = search(spectrum, criterion)[0]
    everywhere = lam * np.logspace(-6, 6, 2001)[None]
    values = criterion_values(spectrum, everywhere, criterion)[0, :, 0]
    best = criterion_values(spectrum, np.array([[lam]]), criterion)[0, 0, 0]
    assert best <= values.min() + 1e-10 * abs(best)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_the_slope_vanishes_at_an_inner_minimum(criterion):
    X, S, y, _ = mgcv("C3_cr_mcycle")
    spectrum = spectrum_of_rows(columns_of(X, S, False), y[:, None]).spectrum
    lam, step = search(spectrum, criterion)[0], 1e-3
    at = criterion_values(spectrum, lam * np.exp(step * np.arange(-2, 3))[None], criterion)[0, :, 0]
    slope, curvature = (at[3] - at[1]) / (2 * step), (at[3] - 2 * at[2] + at[1]) / step**2
    third = (at[4] - 2 * at[3] + 2 * at[1] - at[0]) / (2 * step**3)
    assert curvature > 0
    assert abs(slope - third * step**2 / 6) / curvature < 1e-7  # distance to the minimum in log lam


@pytest.mark.parametrize("criterion", CRITERIA)
def test_the_answer_does_not_depend_on_units(criterion):
    X, y = data(40, 6, seed=11)
    lam = PenalizedRegression(lam=criterion).fit(X, y).lam_
    scaled = PenalizedRegression(lam=criterion).fit(1e3 * X, 1e-4 * y).lam_
    np.testing.assert_allclose(scaled, 1e6 * lam, rtol=1e-8)
    penalized = PenalizedRegression(100.0 * np.eye(6), criterion).fit(X, y).lam_
    np.testing.assert_allclose(penalized, lam / 100, rtol=1e-8)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_columns_that_explain_nothing_are_shrunk_to_nothing(criterion):
    X, y = data(40, 3, seed=12)
    centred = X - X.mean(axis=0)
    y = y - centred @ np.linalg.lstsq(centred, y - y.mean(), rcond=None)[0]
    model = PenalizedRegression(lam=criterion).fit(X, y)
    np.testing.assert_allclose(model.edf_, 1.0, atol=1e-7)
    np.testing.assert_allclose(model.predict(X), y.mean(), atol=1e-7)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_an_exact_relation_is_not_shrunk(criterion):
    X, _ = data(40, 3, seed=13)
    y = 1 + X @ [1.0, -2.0, 3.0]
    np.testing.assert_allclose(PenalizedRegression(lam=criterion).fit(X, y).predict(X), y, rtol=1e-7)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_a_constant_y_is_predicted(criterion):
    X, _ = data(15, 3, seed=14)
    np.testing.assert_allclose(PenalizedRegression(lam=criterion).fit(X, np.full(15, 2.5)).predict(X), 2.5, rtol=1e-12)


def test_batches_of_problems_give_what_each_gives_alone():
    alone = [
        spectrum_of_rows(columns_of(X, None, True), y[:, None]).spectrum
        for X, y in (data(30, 5, seed=seed) for seed in range(4))
    ]
    names = ("mu", "gamma", "rest", "spare", "n", "n_rows", "constant")
    together = Spectrum(**{name: np.concatenate([getattr(each, name) for each in alone]) for name in names})
    for criterion in ("gcv", "reml"):
        expected = [search(each, criterion)[0] for each in alone]
        np.testing.assert_allclose(search(together, criterion), expected, rtol=1e-10)
    lams = np.array([[0.1, 1.0]] * 4)
    np.testing.assert_allclose(edf(together, lams), np.concatenate([edf(e, lams[:1]) for e in alone]), rtol=1e-13)


@pytest.mark.parametrize("n_outputs", [1, 3])
def test_leave_one_out_of_rows_that_are_not_held_is_that_of_rows_that_are(n_outputs):
    X, Y = data(25, 4, seed=15, n_outputs=n_outputs)
    is_out = np.zeros((6, 25), dtype=bool)
    is_out[np.arange(6)[:, None], np.arange(12).reshape(6, 2)] = True
    alone = [spectrum_of_rows(columns_of(X[~out], None, False), Y[~out]) for out in is_out]
    names = ("mu", "gamma", "rest", "spare", "n", "n_rows", "constant")
    together = Spectrum(**{name: np.concatenate([getattr(each.spectrum, name) for each in alone]) for name in names})
    back = np.stack([(each.V / np.sqrt(each.spectrum.mu[0])).T for each in alone])
    rows = SetRows(back, X, Y, together.gamma, is_out)
    lams = np.repeat([[0.1, 3.0, 50.0]], 6, axis=0)
    values, least = loo_on_grid(together, rows, lams)
    expected = [criterion_values(each.spectrum, lams[:1], "loo")[0] for each in alone]
    np.testing.assert_allclose(values, expected, rtol=1e-12)
    np.testing.assert_allclose(least, [each.spectrum.rows.a0.min() for each in alone], rtol=1e-12)


# ------------------------------------------------------------------------------------ the estimator


def expected_failures(estimator):
    """A weight says how precise a row is, not how often it was seen: leaving it out leaves all of it out."""
    return {"check_sample_weight_equivalence_on_dense_data": "the criteria count rows, whatever their weights"}


@parametrize_with_checks(
    [PenalizedRegression(lam=criterion) for criterion in CRITERIA], expected_failed_checks=expected_failures
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_scores_of_a_fit_are_those_at_its_penalty(criterion):
    X, y = data(40, 5, seed=15)
    model = PenalizedRegression(lam=criterion).fit(X, y)
    expected = scores_of(X, y, [model.lam_])
    for score in CRITERIA:
        np.testing.assert_allclose(model.scores_[score], expected[score][0], rtol=1e-10)
    same = PenalizedRegression(lam=model.lam_).fit(X, y)
    assert same.scores_ == model.scores_
    np.testing.assert_allclose(model.coef_, Ridge(model.lam_).fit(X, y).coef_, rtol=1e-9)


def test_one_penalty_serves_all_outputs():
    X, Y = data(40, 5, seed=16, n_outputs=3)
    model = PenalizedRegression(lam="gcv").fit(X, Y)
    spectrum = spectrum_of_rows(columns_of(X, None, True), Y - Y.mean(axis=0)).spectrum
    grid = model.lam_ * np.exp(np.linspace(-1, 1, 201))[None]
    totals = criterion_values(spectrum, grid, "gcv")[0].sum(axis=1)
    assert totals.argmin() == 100
    assert model.scores_["gcv"].shape == (3,)


def test_rows_without_weight_change_nothing_in_the_fit():
    X, y = data(40, 5, seed=17)
    weights = random_weights(40, "zeros", seed=17)
    for criterion in CRITERIA:
        model = PenalizedRegression(lam=criterion).fit(X, y, sample_weight=weights)
        kept = weights > 0
        alone = PenalizedRegression(lam=criterion).fit(X[kept], y[kept], sample_weight=weights[kept])
        np.testing.assert_allclose(model.coef_, alone.coef_, rtol=1e-8, atol=1e-12)


def test_an_unknown_criterion_is_refused():
    X, y = data(20, 3, seed=18)
    with pytest.raises(ValueError, match="choose one of 'gcv', 'loo', 'reml'"):
        PenalizedRegression(lam="aic").fit(X, y)
