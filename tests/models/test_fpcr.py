"""FPCR against R (case D: section 5 of the paper), every column, and what its components promise."""

from __future__ import annotations

import functools
import json

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.decomposition import PCA

import onefit
import reference
from helpers import (
    DATA,
    FAST_ROUTES,
    FOLD_ERRORS,
    ROUTES,
    STRICT,
    assert_same_results,
    quiet_nested_cv,
    quietly,
    random_folds,
    random_weights,
    relative_gap,
)
from onefit import FPCR, PenalizedRegression
from onefit.errors import DataError
from onefit.models.functional import make_curves

CONFIGS = range(4)  # noise variance 0.1 and 0.01, 5 and 10 components
SOME = (0, 6, 12, 18, 24, 29)  # lambdas with fold errors of every kind
HONEST_ROUTES = ("gram", "refit")


@functools.cache
def csv(name):
    """A file of case D; fold ids run from zero."""
    if name == "y":
        return np.loadtxt(DATA / "D_y.csv", delimiter=",", skiprows=1)
    if name.endswith("folds"):
        return np.loadtxt(DATA / f"D_{name}.csv", delimiter=",", dtype=int) - 1
    return np.loadtxt(DATA / f"D_{name}.csv", delimiter=",")


@functools.cache
def configs():
    return json.loads((DATA / "D_results.json").read_text())["configs"]


class Case:
    """One noise variance and one number of components."""

    def __init__(self, index):
        config = configs()[index]
        self.p, self.rows, self.config = config["p"], config["rows"], config
        self.X, self.y = csv("Xraw"), csv("y")[:, ["v0.1", "v0.01"].index(config["y"])]
        self.lams = np.array([row["lambda"] for row in self.rows])

    @property
    def centred(self):
        return self.X - self.X.mean(axis=0), self.y - self.y.mean()

    def model(self, lam, **parameters):
        return FPCR(n_components=self.p, lam=lam, **parameters)

    def signs(self, model):
        """Signs (p,) that turn the components into R's."""
        return np.sign((model.components_ * self.config["Vp"]).sum(axis=0))

    def column(self, name):
        return np.array([row[name] for row in self.rows])


@pytest.fixture(params=CONFIGS, ids=lambda i: f"config{i}")
def case(request):
    return Case(request.param)


# -------------------------------------------------------------------------------------------------- the fit, by R


def test_components_penalty_and_proportion_of_variance_equal_the_oracle(case):
    model = case.model(1e-5).fit(case.X, case.y)
    V = model.components_ * case.signs(model)
    np.testing.assert_allclose(V, case.config["Vp"], rtol=0, atol=1e-12)
    np.testing.assert_allclose(
        V.T @ csv("S") @ V, case.config["W"], rtol=0, atol=1e-10 * np.abs(case.config["W"]).max()
    )
    np.testing.assert_allclose(model.explained_variance_ratio_.sum(), case.config["pve"], rtol=1e-12)


def test_fit_and_scores_equal_the_oracle_at_every_lambda(case):
    models = [case.model(lam).fit(case.X, case.y) for lam in case.lams]
    for model, coef in zip(models, case.column("coef"), strict=True):
        np.testing.assert_allclose(model.coef_ * case.signs(model), coef, rtol=0, atol=1e-10 * np.abs(coef).max())
    np.testing.assert_allclose([m.edf_ for m in models], case.column("edf_with_intercept"), rtol=1e-11)
    for name in ("gcv", "loo"):
        expected = case.column(f"{name}_with_intercept")
        np.testing.assert_allclose([m.scores_[name] for m in models], expected, rtol=1e-11)


@pytest.mark.parametrize("kind", ["FPCR", "PenalizedRegression"])
def test_without_intercept_centred_data_give_the_papers_scores_at_every_lambda(case, kind):
    X, y = case.centred
    V, W = np.array(case.config["Vp"]), np.array(case.config["W"])
    for lam, row in zip(case.lams, case.rows, strict=True):
        if kind == "FPCR":
            model = case.model(lam, fit_intercept=False).fit(X, y)
            coef = model.coef_ * case.signs(model)
        else:
            model = PenalizedRegression((W + W.T) / 2, lam, fit_intercept=False).fit(X @ csv("B") @ V / 100, y)
            coef = model.coef_
        np.testing.assert_allclose(coef, row["coef"], rtol=0, atol=1e-9 * np.abs(row["coef"]).max())
        actual = [model.edf_, model.scores_["gcv"], model.scores_["loo"]]
        np.testing.assert_allclose(actual, [row["edf"], row["gcv"], row["loo"]], rtol=1e-10)


def test_reml_is_the_papers_criterion_plus_the_constants_that_it_drops(case):
    """Theirs is ``(log|V| + log(1'V^-1 1) + (n-1) log(y'V^-1 y))/2``; the factor is one, the rest free of lambda."""
    n = len(case.y)
    ours = [case.model(lam).fit(case.X, case.y).scores_["reml"] for lam in case.lams]
    dropped = (n - 1) / 2 * (1 + np.log(2 * np.pi / (n - 1)))
    np.testing.assert_allclose(ours, case.column("neg_reml") + dropped, rtol=1e-11)


def test_selected_penalties_equal_the_oracle(case):
    selected = case.config["selected_continuous"]
    for criterion, name in (("gcv", "gcv_with_intercept"), ("reml", "reml")):
        np.testing.assert_allclose(case.model(criterion).fit(case.X, case.y).lam_, selected[name], rtol=1e-6)
    centred = case.model("gcv", fit_intercept=False).fit(*case.centred)
    np.testing.assert_allclose(centred.lam_, selected["gcv"], rtol=1e-6)


def test_best_of_the_grid_equals_the_oracle(case):
    models = [case.model(lam).fit(case.X, case.y) for lam in case.lams]
    without = [case.model(lam, fit_intercept=False).fit(*case.centred) for lam in case.lams]
    selected = case.config["selected_grid"]
    for name in ("gcv", "loo"):
        assert case.lams[np.argmin([m.scores_[name] for m in models])] == selected[f"{name}_with_intercept"]
        assert case.lams[np.argmin([m.scores_[name] for m in without])] == selected[name]
    assert case.lams[np.argmin([m.scores_["reml"] for m in models])] == selected["reml"]


def test_true_error_is_noise_plus_intercept_plus_what_the_coefficient_function_misses(case):
    t = np.arange(1, 101) / 100
    Sigma = np.exp(-np.abs(t[:, None] - t) / 2)
    for lam, row in zip(case.lams, case.rows, strict=True):
        model = case.model(lam).fit(case.X, case.y)
        missed = (model.coefficient_function() - np.sin(2 * np.pi * t)) / 100
        error = case.config["noise_var"] + model.intercept_**2 + missed @ Sigma @ missed
        np.testing.assert_allclose(error, row["true_gen_error"], rtol=1e-11)


# --------------------------------------------------------------------------------- nested cross-validation, by R


def assert_equals(result, expected, names=(*FOLD_ERRORS, "mse"), rules=("bates", "paper")):
    """Fold errors of the first repeats and the intervals."""
    for name in names:
        found = getattr(result.fold_errors, name)
        gap = relative_gap(found, expected[f"rep_{name}"][: len(found)])
        assert gap <= STRICT, f"{name} on route {result.route!r}: {gap:.2e}"
    for rule in rules:
        values = [expected[rule][key] for key in ("err_hat", "ci_lo", "ci_hi")]
        found = result.intervals.loc[rule, ["estimate", "low", "high"]].to_numpy(float)
        np.testing.assert_allclose(found, np.array(values, float), rtol=STRICT, err_msg=rule)


def folds(n_repeats=None):
    return {"folds": csv("folds")[:n_repeats], "bias_folds": csv("bias_folds"), "confidence_level": 0.9}


@pytest.mark.parametrize("route", FAST_ROUTES)
def test_error_curve_equals_the_oracle_at_every_lambda(case, route):
    curve = quietly(
        onefit.error_curve,
        case.model(1.0),
        case.X,
        case.y,
        param_name="lam",
        param_range=case.lams,
        route=route,
        **folds(),
    )
    assert len(curve.results) == 30
    for result, row in zip(curve.results, case.rows, strict=True):
        assert_equals(result, row["ncv_intercept"])
        assert result.exactness == "given the transformers"
    for name in ("gcv", "loo"):
        np.testing.assert_allclose(curve.scores[name], case.column(f"{name}_with_intercept"), rtol=1e-10)
    steps = np.diff(case.column("neg_reml"))
    np.testing.assert_allclose(np.diff(curve.scores["reml"]), steps, rtol=0, atol=1e-9 * np.abs(steps).max())


@pytest.mark.parametrize("position", SOME)
@pytest.mark.parametrize("route", FAST_ROUTES)
def test_nested_cv_with_an_intercept_equals_the_oracle(case, route, position):
    result = quiet_nested_cv(case.model(case.lams[position]), case.X, case.y, route=route, **folds())
    assert_equals(result, case.rows[position]["ncv_intercept"])


@pytest.mark.sweep(2)
@pytest.mark.parametrize("position", [0, 12, 29])
def test_real_refits_with_an_intercept_equal_the_oracle(case, position):
    result = quiet_nested_cv(
        case.model(case.lams[position]), case.X, case.y, route="refit", folds=csv("folds")[:1], confidence_level=0.9
    )
    assert_equals(result, case.rows[position]["ncv_intercept"], rules=())


@pytest.mark.sweep(2)
@pytest.mark.parametrize(
    ("version", "parameters", "route"),
    [
        ("ncv_centred", {"fit_intercept": False}, "gram"),
        ("ncv_centred", {"fit_intercept": False}, "onestep"),
        ("ncv_honest", {"components": "refit"}, "gram"),
    ],
)
def test_curves_of_data_centred_once_and_of_components_found_anew_equal_the_oracle(case, version, parameters, route):
    X, y = case.centred if version == "ncv_centred" else (case.X, case.y)
    model, path = case.model(1.0, **parameters), {"param_name": "lam", "param_range": case.lams}
    curve = quietly(onefit.error_curve, model, X, y, route=route, **path, **folds())
    for position, result in enumerate(curve.results):
        names = (*FOLD_ERRORS, "mse") if position in SOME else ("mse",)
        assert_equals(result, case.rows[position][version], names)
    if version == "ncv_centred":
        point = [result.intervals.loc["paper", "estimate"] for result in curve.results]
        assert case.lams[np.argmin(point)] == case.config["selected_grid"]["ncv_centred"]


@pytest.mark.sweep(2)
@pytest.mark.parametrize("position", [0, 12, 29])
@pytest.mark.parametrize("route", HONEST_ROUTES)
def test_components_found_anew_in_every_training_set_equal_the_oracle(case, route, position):
    model = case.model(case.lams[position], components="refit")
    result = quiet_nested_cv(model, case.X, case.y, route=route, folds=csv("folds")[:1], confidence_level=0.9)
    assert_equals(result, case.rows[position]["ncv_honest"], rules=())
    assert result.exactness == "exact"


# ----------------------------------------------------------------------------------------------- the components


def data(n, N, seed=0):
    rng = np.random.default_rng(seed)
    X = 1 + np.cumsum(rng.standard_normal((n, N)), axis=1) / np.sqrt(N)
    return X, 2 + X[:, N // 2] + 0.1 * rng.standard_normal(n)


@pytest.mark.parametrize("n_components", [1, 7, 0.5, 0.9, 0.99, 0.9999])
@pytest.mark.parametrize("shape", [(60, 30), (15, 30)])
def test_components_are_those_of_a_principal_component_analysis_of_the_design(shape, n_components):
    X, y = data(*shape)
    model = FPCR(n_basis=20, n_components=n_components).fit(X, y)
    pca = PCA(n_components, svd_solver="full").fit(make_curves(30, 20, None, None, None).design(X))
    assert model.n_components_ == pca.n_components_ == len(model.coef_)
    np.testing.assert_allclose(np.abs(model.components_.T), np.abs(pca.components_), rtol=0, atol=1e-10)
    np.testing.assert_allclose(model.explained_variance_ratio_, pca.explained_variance_ratio_, rtol=1e-9)
    largest = np.abs(model.components_).argmax(axis=0)
    assert (model.components_[largest, range(model.n_components_)] > 0).all()


@pytest.mark.parametrize(("n", "N", "rank"), [(8, 30, 7), (40, 6, 6), (3, 1, 1)])
def test_more_components_than_directions_are_the_rank(n, N, rank):
    model = FPCR(n_components=25).fit(*data(n, N))
    assert model.n_components_ == rank
    assert model.components_.shape == (model.n_basis_, rank)


@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_rank_does_not_count_rounding_errors_of_a_common_curve(offset):
    X, y = data(40, 30)
    two = X[:, :2] @ np.vstack([np.linspace(0, 1, 30), np.linspace(0, 1, 30) ** 2])
    assert FPCR(n_components=20).fit(two + offset * np.cos(np.arange(30)), y).n_components_ == 2


def test_all_components_are_signal_regression():
    X, y = data(60, 30)
    full, signal = FPCR(n_basis=12, n_components=12, lam=1e-4), onefit.SignalRegression(n_basis=12, lam=1e-4)
    np.testing.assert_allclose(full.fit(X, y).predict(X), signal.fit(X, y).predict(X), rtol=1e-10)
    np.testing.assert_allclose(full.coefficient_function(), signal.coefficient_function(), rtol=1e-9)
    np.testing.assert_allclose(full.edf_, signal.edf_, rtol=1e-10)
    np.testing.assert_allclose(full.scores_["reml"], signal.scores_["reml"], rtol=1e-10)


def test_fixed_refit_and_the_same_loadings_fit_alike():
    X, y = data(40, 30)
    fixed = FPCR(n_components=4).fit(X, y)
    for components in ("refit", fixed.components_):
        other = FPCR(n_components=4, components=components).fit(X, y)
        np.testing.assert_allclose(other.coef_, fixed.coef_, rtol=1e-10)
        np.testing.assert_allclose(other.explained_variance_ratio_, fixed.explained_variance_ratio_, rtol=1e-10)
        assert other.n_components_ == 4


def test_loadings_of_ones_own_are_used_as_they_are():
    X, y = data(40, 30)
    V = np.random.default_rng(0).standard_normal((10, 3))
    made = make_curves(30, 10, None, None, None)
    model = FPCR(n_basis=10, components=V, lam=1e-3).fit(X, y)
    S = V.T @ made.basis.root.T @ made.basis.root @ V
    by_hand = PenalizedRegression((S + S.T) / 2, 1e-3).fit(made.design(X) @ V, y)
    np.testing.assert_allclose(model.coef_, by_hand.coef_, rtol=1e-10)
    np.testing.assert_array_equal(model.components_, V)


def test_freezing_fixes_the_components_once():
    X, y = data(40, 30)
    frozen = FPCR(n_components=4)._freeze(X, None)
    np.testing.assert_array_equal(frozen.components, FPCR(n_components=4).fit(X, y).components_)
    assert frozen._freeze(X[:20], None) is frozen
    honest = FPCR(components="refit")
    assert honest._freeze(X, None) is honest


def test_weights_are_repeated_rows_for_the_components_too():
    X, y = data(40, 30)
    counts = np.random.default_rng(1).integers(0, 4, 40)
    weighted = FPCR(n_components=5).fit(X, y, sample_weight=counts)
    repeated = FPCR(n_components=5).fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    np.testing.assert_allclose(weighted.components_, repeated.components_, rtol=0, atol=1e-11)
    np.testing.assert_allclose(weighted.explained_variance_ratio_, repeated.explained_variance_ratio_, rtol=1e-11)
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), rtol=1e-10)


@pytest.mark.sweep(5)
@pytest.mark.parametrize("components", ["fixed", "refit"])
@pytest.mark.parametrize("weights", ["none", "positive", "zeros"])
@pytest.mark.parametrize("parameters", [{}, {"lam": "gcv"}, {"n_components": 0.95}, {"fit_intercept": False}])
def test_all_routes_agree(parameters, weights, components):
    X, y = data(40, 30)
    model = FPCR(**{"n_basis": 12, "n_components": 5, "components": components} | parameters)
    options = {"folds": random_folds(40, 4, 1), "sample_weight": random_weights(40, weights)}
    routes = ("auto", "refit") if "lam" in parameters or components == "refit" else ROUTES
    results = [quiet_nested_cv(model, X, y, route=route, **options) for route in routes]
    assert results[0].route == "gram"
    for result in results[1:]:
        assert_same_results(results[0], result)


@given(
    n=st.integers(10, 40),
    N=st.integers(5, 40),
    M=st.integers(4, 20),
    p=st.integers(1, 12),
    lam=st.sampled_from([0.0, 1e-8, 1e-4, 1.0]),
    weights=st.sampled_from(["none", "positive", "zeros"]),
    fit_intercept=st.booleans(),
    seed=st.integers(0, 1000),
)
def test_predictions_equal_a_dense_solve_in_the_leading_singular_vectors(n, N, M, p, lam, weights, fit_intercept, seed):
    X, y = data(n, N, seed)
    weights = random_weights(n, weights, seed)
    made = make_curves(N, M, None, None, None)
    D = X @ made.basis.inside(made.grid) / N
    w = np.ones(n) if weights is None else weights
    _, s, Vt = np.linalg.svd(np.sqrt(w)[:, None] * (D - w @ D / w.sum()))
    s = np.append(s, 0.0)
    p = min(p, (s > 1e-10 * s[0]).sum())
    assume(p < (w > 0).sum() - 1)
    assume(s[p - 1] - s[p] > 1e-3 * s[p - 1] and s[p - 1] > 1e-5 * s[0])  # else the subspace is not determined
    V = Vt[:p].T
    model = FPCR(n_basis=M, n_components=int(p), lam=lam, fit_intercept=fit_intercept).fit(X, y, sample_weight=weights)
    rows = np.arange(n)
    expected = reference.refit_predictions(D @ V, y, rows, rows, lam, made.basis.root @ V, fit_intercept, weights)
    assert relative_gap(model.predict(X), expected) <= STRICT


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_components": 0}, "integer of at least 1"),
        ({"n_components": 1.0}, "strictly between 0 and 1"),
        ({"n_components": True}, "integer of at least 1"),
        ({"n_components": "all"}, "integer of at least 1"),
        ({"components": "free"}, "choose one of 'fixed', 'refit'"),
        ({"components": np.ones((5, 2))}, "one row for each of the 12 B-splines"),
        ({"components": np.ones(12)}, "one row for each of the 12 B-splines"),
        ({"components": np.zeros((12, 2))}, "column of zeros"),
        ({"components": [["a"]]}, "matrix of loadings"),
    ],
)
def test_wrong_parameters_are_refused_with_a_remedy(parameters, message):
    with pytest.raises(DataError, match=message):
        FPCR(**{"n_basis": 12} | parameters).fit(*data(30, 20))


def test_equal_curves_have_no_components():
    X = np.tile(np.random.default_rng(0).uniform(size=20), (10, 1))
    with pytest.raises(DataError, match="All curves are the same"):
        FPCR().fit(X, np.arange(10.0))


@pytest.mark.parametrize("offset", [0.0, 1e3, 1e6])
@pytest.mark.parametrize("lam", [0.0, 1e-5, "reml"])
def test_routes_agree_on_curves_of_low_rank_with_a_common_offset(offset, lam):
    rng = np.random.default_rng(7)
    t = np.linspace(0, 1, 100)
    Z = rng.standard_normal((60, 5))
    X = Z @ np.array([np.sin(2 * np.pi * j * t) for j in range(1, 6)]) + offset
    y = Z[:, 0] + 0.5 * Z[:, 1] + 0.1 * rng.standard_normal(60)
    model = FPCR(n_components=10, components="refit", lam=lam)
    fast, slow = (
        quiet_nested_cv(model, X, y, n_folds=5, n_repeats=1, random_state=0, route=route) for route in ("gram", "refit")
    )
    np.testing.assert_allclose(fast.raw_estimate, slow.raw_estimate, rtol=1e-9)


def test_a_training_set_of_equal_curves_is_refused_and_named():
    rng = np.random.default_rng(0)
    X = np.tile(rng.standard_normal(50).cumsum(), (12, 1))
    X[:2] += rng.standard_normal((2, 50))
    with pytest.raises(onefit.errors.TrainingSetError, match="held out: all curves of the training set are the same"):
        onefit.nested_cv(
            FPCR(n_components=3, lam="reml", components="refit"), X, rng.standard_normal(12), n_folds=6, n_repeats=2
        )
