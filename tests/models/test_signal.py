"""SignalRegression: splines, quadrature, fits, the coefficient function, and its face to scikit-learn."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import reference
from helpers import (
    DATA,
    FAST_ROUTES,
    FOLD_ERRORS,
    ROUTES,
    STRICT,
    Absent,
    assert_fold_errors,
    assert_same_results,
    optional,
    quiet_nested_cv,
    random_folds,
    random_weights,
    relative_gap,
    tolerance,
)
from onefit import FPCR, SignalRegression
from onefit.datasets import make_signal
from onefit.display import plot_function
from onefit.errors import DataError, RankWarning
from onefit.models.functional import make_curves

plt = optional("matplotlib.pyplot")


LONG = np.longdouble


@pytest.fixture(autouse=True)
def close_figures():
    yield
    if not isinstance(plt, Absent):
        plt.close("all")


def cox_de_boor(knots, degree, t):
    """B-splines (len(t), M) by the recursion of their definition, in extended precision."""
    knots, t = np.asarray(knots, LONG), np.asarray(t, LONG)
    last = np.flatnonzero(np.diff(knots) > 0)[-1]
    values = ((knots[:-1] <= t[:, None]) & (t[:, None] < knots[1:])).astype(LONG)
    values[t == knots[-1]] = np.arange(len(knots) - 1) == last  # the domain is closed on the right
    for k in range(1, degree + 1):
        left, right = knots[k:-1] - knots[: -k - 1], knots[k + 1 :] - knots[1:-k]
        up = (t[:, None] - knots[: -k - 1]) / np.where(left > 0, left, 1) * (left > 0)
        down = (knots[k + 1 :] - t[:, None]) / np.where(right > 0, right, 1) * (right > 0)
        values = up * values[:, :-1] + down * values[:, 1:]
    return values


def second_derivative(knots, t):
    """Second derivatives (len(t), M) of cubic B-splines from those of degree one, in extended precision."""
    values = cox_de_boor(knots, 1, t)
    for k in (2, 3):
        span = np.asarray(knots, LONG)[k:] - np.asarray(knots, LONG)[:-k]
        scaled = k * values / np.where(span > 0, span, 1) * (span > 0)
        values = scaled[:, :-1] - scaled[:, 1:]
    return values


def literal(N, M, low=0, high=1):
    """The paper's design map (N, M) and a root of its penalty, written out."""
    inner = low + (high - low) * np.arange(M - 2, dtype=LONG) / (M - 3)
    knots = np.concatenate([[low] * 3, inner, [high] * 3])
    t = low + (high - low) * np.arange(1, N + 1, dtype=LONG) / N
    # b'' is linear between knots: two Gauss points integrate its square
    middle, half = (inner[1:] + inner[:-1]) / 2, (inner[1:] - inner[:-1]) / 2
    gauss = np.concatenate([middle - half / np.sqrt(LONG(3)), middle + half / np.sqrt(LONG(3))])
    root = np.sqrt(np.concatenate([half, half]))[:, None] * second_derivative(knots, gauss)
    return cox_de_boor(knots, 3, t) * LONG(high - low) / N, root


def curves(n, N, seed=0):
    """Random walks, and a response that depends on where they were."""
    rng = np.random.default_rng(seed)
    X = 1 + np.cumsum(rng.standard_normal((n, N)), axis=1) / np.sqrt(N)
    t = np.arange(1, N + 1) / N
    return X, 2 + X @ np.sin(2 * np.pi * t) / N + 0.1 * rng.standard_normal(n)


@pytest.mark.filterwarnings("ignore::onefit.errors.RankWarning")
@parametrize_with_checks(
    [SignalRegression(), FPCR(), SignalRegression(fit_intercept=False), FPCR(components="refit", n_components=30)]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


# ------------------------------------------------------------------------------------------ splines and quadrature


def test_splines_and_penalty_of_the_default_grid_equal_those_of_r():
    B, S = (np.loadtxt(DATA / f"D_{name}.csv", delimiter=",") for name in "BS")
    made = make_curves(100, 40, None, None, None)
    np.testing.assert_allclose(made.basis.inside(made.grid), B, rtol=0, atol=1e-14)
    np.testing.assert_allclose(made.basis.root.T @ made.basis.root, S, rtol=0, atol=1e-13 * np.abs(S).max())


@pytest.mark.parametrize(("N", "M", "low", "high"), [(100, 40, 0, 1), (30, 30, 0, 1), (17, 5, -3, 24), (4, 4, 0, 1)])
def test_design_and_penalty_equal_the_definition_in_extended_precision(N, M, low, high):
    X, _ = curves(12, N)
    weighted, root = literal(N, M, low, high)
    design = SignalRegression(n_basis=M, domain=(low, high))._make_design(X, None)
    np.testing.assert_allclose(design.X, (X.astype(LONG) @ weighted).astype(float), rtol=1e-13, atol=1e-14)
    made = make_curves(N, M, None, None, (low, high))
    S = (root.T @ root).astype(float)
    np.testing.assert_allclose(made.basis.root.T @ made.basis.root, S, rtol=0, atol=1e-12 * np.abs(S).max())


def test_penalty_is_the_integral_of_the_squared_second_derivative():
    X, y = curves(60, 50)
    model = SignalRegression(n_basis=9, lam=1e-4).fit(X, y)
    rough = 0.0
    for low, high in itertools.pairwise(np.linspace(0, 1, 7)):  # a cubic between knots, known from four values
        t = np.linspace(low, high, 4)
        second = np.polynomial.Polynomial.fit(t, model.coefficient_function(t), 3).deriv(2)
        integral = (second * second).integ()
        rough += integral(high) - integral(low)
    root = make_curves(50, 9, None, None, None).basis.root
    np.testing.assert_allclose(np.square(root @ model.coef_).sum(), rough, rtol=1e-9)


def test_no_grid_is_the_papers_grid_written_out():
    X, y = curves(40, 25)
    t = np.arange(1, 26) / 25
    by_hand = SignalRegression(grid=t, quadrature=np.full(25, 1 / 25), domain=(0, 1)).fit(X, y)
    model = SignalRegression().fit(X, y)
    np.testing.assert_allclose(model.predict(X), by_hand.predict(X), rtol=1e-12)
    np.testing.assert_array_equal(model.grid_, t)
    assert model.n_basis_ == 25


def test_a_given_grid_takes_the_trapezoidal_rule_between_its_ends():
    t = np.array([1.0, 2.0, 4.0, 5.0, 9.0, 10.0])
    made = make_curves(6, 4, t, None, None)
    X = np.random.default_rng(0).standard_normal((3, 6))
    by_rule = np.stack([integrate.trapezoid(X * made.basis.inside(t)[:, m], t, axis=1) for m in range(4)], axis=1)
    np.testing.assert_allclose(made.design(X), by_rule, rtol=1e-13, atol=1e-14)
    assert (made.basis.low, made.basis.high) == (1.0, 10.0)


def test_refining_the_grid_converges_to_the_integral_at_the_rate_of_the_rule():
    rng = np.random.default_rng(3)
    a, b, phase = rng.standard_normal(5), rng.uniform(1, 3, 5), rng.uniform(0, 6, 5)
    basis = make_curves(200, 7, None, None, (0, 2)).basis
    exact = np.array(
        [
            [
                integrate.quad(
                    lambda t, i=i, m=m: a[i] * np.sin(b[i] * t + phase[i]) * basis.inside(np.array([t]))[0, m],
                    0,
                    2,
                    points=basis.knots[1:-1],
                    epsabs=1e-13,
                )[0]
                for m in range(7)
            ]
            for i in range(5)
        ]
    )
    gaps = []
    for N in (101, 201, 401, 801):
        t = np.linspace(0, 2, N)
        made = make_curves(N, 7, t, None, None)
        gaps.append(np.abs(made.design(a[:, None] * np.sin(np.outer(b, t) + phase[:, None])) - exact).max())
    np.testing.assert_allclose(np.divide(gaps[:-1], gaps[1:]), 4.0, rtol=0.02)  # second order
    assert gaps[-1] < 1e-5


@pytest.mark.parametrize("L", [0.01, 60.0])
def test_units_of_t_change_nothing(L):
    """With s = L t, omega(s) = omega(t)/L, and its roughness would be L^-5 times as large."""
    X, y = curves(40, 30)
    unit = SignalRegression(n_basis=12, lam=1e-4).fit(X, y)
    scaled = SignalRegression(n_basis=12, lam=1e-4, domain=(0, L)).fit(X, y)
    np.testing.assert_allclose(scaled.predict(X), unit.predict(X), rtol=1e-9)
    np.testing.assert_allclose(scaled.coefficient_function() * L, unit.coefficient_function(), rtol=1e-9)
    np.testing.assert_allclose(scaled.edf_, unit.edf_, rtol=1e-9)


# --------------------------------------------------------------------------------------------------------- the fit


@given(
    n=st.integers(12, 40),
    N=st.integers(4, 60),
    M=st.integers(4, 25),
    lam=st.sampled_from([1e-8, 1e-5, 1e-2, 10.0]),
    weights=st.sampled_from(["none", "positive", "zeros"]),
    fit_intercept=st.booleans(),
    seed=st.integers(0, 1000),
)
def test_predictions_equal_a_dense_solve_in_extended_precision(n, N, M, lam, weights, fit_intercept, seed):
    X, y = curves(n, N, seed)
    weights = random_weights(n, weights, seed)
    D, root = literal(N, min(M, N))
    D = X.astype(LONG) @ D
    model = SignalRegression(n_basis=M, lam=lam, fit_intercept=fit_intercept).fit(X, y, sample_weight=weights)
    rows = np.arange(n)
    expected = reference.refit_predictions(D, y, rows, rows, lam, root, fit_intercept, weights)
    top, bottom = reference.stacked(D, lam, root, fit_intercept, dtype=float)
    if weights is not None:
        top = np.sqrt(weights)[:, None] * top
    A = np.vstack([top, bottom])
    lost = 1e3 * np.finfo(float).eps * np.linalg.cond(A / np.linalg.norm(A, axis=0))
    assert relative_gap(model.predict(X), expected) <= max(STRICT, lost)


def test_predictions_are_the_intercept_and_the_quadrature_of_curve_times_coefficient_function():
    X, y = curves(40, 30)
    t = np.sort(np.random.default_rng(1).uniform(0, 5, 30))
    w = np.random.default_rng(2).uniform(0.1, 1, 30)
    model = SignalRegression(n_basis=10, lam=1e-3, grid=t, quadrature=w).fit(X, y)
    np.testing.assert_allclose(model.predict(X), model.intercept_ + X @ (w * model.coefficient_function()), rtol=1e-11)


def test_predictions_are_linear_in_the_curves():
    X, y = curves(40, 30)
    for model in (SignalRegression().fit(X, y), FPCR().fit(X, y)):
        first, second = X[:5], X[5:10]
        mixed = model.predict(2 * first - 3 * second) - model.intercept_
        parts = 2 * (model.predict(first) - model.intercept_) - 3 * (model.predict(second) - model.intercept_)
        np.testing.assert_allclose(mixed, parts, rtol=0, atol=1e-11)


def test_a_criterion_beats_its_neighbours():
    X, y = curves(80, 40)
    for criterion in ("gcv", "loo", "reml"):
        model = SignalRegression(n_basis=15, lam=criterion).fit(X, y)
        around = [SignalRegression(n_basis=15, lam=f * model.lam_).fit(X, y).scores_[criterion] for f in (0.9, 1, 1.1)]
        assert around[1] < min(around[0], around[2])
        np.testing.assert_allclose(model.scores_[criterion], around[1], rtol=1e-10)


def test_sample_weights_are_repeated_rows():
    X, y = curves(30, 20)
    counts = np.random.default_rng(0).integers(0, 4, 30)
    weighted = SignalRegression(n_basis=8).fit(X, y, sample_weight=counts)
    repeated = SignalRegression(n_basis=8).fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=0, atol=1e-9 * np.abs(repeated.coef_).max())


@pytest.mark.parametrize("N", [1, 2, 3, 4, 5, 10])
def test_few_columns_get_as_many_splines_and_without_penalty_least_squares(N):
    rng = np.random.default_rng(N)
    X = rng.standard_normal((30, N))
    y = rng.standard_normal(30)
    model = SignalRegression(lam=0.0).fit(X, y)
    assert model.n_basis_ == N
    ones = np.column_stack([np.ones(30), X])
    np.testing.assert_allclose(model.predict(X), ones @ np.linalg.lstsq(ones, y)[0], rtol=0, atol=1e-9)


def test_curves_that_do_not_determine_a_straight_line_warn_and_take_the_smallest():
    X = np.outer(np.random.default_rng(0).standard_normal(20), np.ones(10))
    y = 3 * X[:, 0] + 1
    with pytest.warns(RankWarning):
        model = SignalRegression().fit(X, y)
    np.testing.assert_allclose(model.predict(X), y, rtol=1e-9, atol=1e-9)


def test_two_outputs_are_two_fits():
    X, y = curves(40, 30)
    Y = np.column_stack([y, np.cos(y)])
    both = SignalRegression(lam=1e-4).fit(X, Y)
    omega, std = both.coefficient_function([0.1, 0.5, 0.9], return_std=True)
    assert omega.shape == std.shape == (3, 2)
    for q in range(2):
        one = SignalRegression(lam=1e-4).fit(X, Y[:, q])
        np.testing.assert_allclose(both.predict(X)[:, q], one.predict(X), rtol=1e-10)
        mean, spread = one.coefficient_function([0.1, 0.5, 0.9], return_std=True)
        np.testing.assert_allclose(omega[:, q], mean, rtol=1e-10)
        np.testing.assert_allclose(std[:, q], spread, rtol=1e-10)


# --------------------------------------------------------------------------------------- the coefficient function


@pytest.mark.parametrize("model", [SignalRegression(n_basis=12, lam=1e-4), FPCR(n_basis=12, n_components=6, lam=1e-4)])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_standard_deviation_is_that_of_the_posterior_with_the_penalty_as_prior(model, fit_intercept):
    X, y = curves(50, 30)
    model = clone(model).set_params(fit_intercept=fit_intercept).fit(X, y)
    t = np.linspace(0, 1, 7)
    basis = make_curves(30, 12, None, None, None).basis
    V = getattr(model, "components_", np.eye(12))
    D = make_curves(30, 12, None, None, None).design(X) @ V
    root, F = 1e-2 * basis.root @ V, basis.inside(t) @ V
    if fit_intercept:
        D, F = np.column_stack([np.ones(50), D]), np.column_stack([np.zeros(7), F])
        root = np.column_stack([np.zeros(len(root)), root])
    half = np.linalg.inv(np.linalg.qr(np.vstack([D, root]), mode="r"))
    inverse = half @ half.T
    edf = np.square(D @ half).sum()
    residuals = y - D @ inverse @ D.T @ y
    covariance = residuals @ residuals / (50 - edf) * inverse
    np.testing.assert_allclose(model.edf_, edf, rtol=1e-11)
    _, std = model.coefficient_function(t, return_std=True)
    np.testing.assert_allclose(std, np.sqrt(np.diag(F @ covariance @ F.T)), rtol=1e-9)
    np.testing.assert_allclose(model.covariance_, covariance, rtol=0, atol=1e-10 * np.abs(covariance).max())


def test_band_covers_the_true_function_about_as_often_as_it_says():
    t = np.arange(1, 101) / 100
    covered = []
    for seed in range(30):
        sim = make_signal(200, random_state=seed)
        omega, std = SignalRegression(lam="reml").fit(sim.X, sim.y).coefficient_function(return_std=True)
        covered.append(np.abs(omega - np.sin(2 * np.pi * t)) <= 1.96 * std)
    assert 0.88 < np.mean(covered) < 0.99  # 30 curves: about 0.02 of standard error


@pytest.mark.parametrize("t", [[-0.01], [0.5, 1.001], [np.nan], [[0.5]], "middle"])
def test_points_outside_the_domain_are_refused(t):
    model = SignalRegression().fit(*curves(30, 20))
    with pytest.raises(DataError, match="t must be a list"):
        model.coefficient_function(t)


def test_plot_shows_the_function_its_band_and_zero():
    X, y = curves(60, 40)
    model = SignalRegression(lam="reml", domain=(0, 24)).fit(X, y)
    _, given = plt.subplots()
    ax = model.plot_coefficient(ax=given, confidence_level=0.9)
    assert ax is given
    zero, line = ax.lines
    assert set(zero.get_ydata()) == {0.0}
    t = line.get_xdata()
    assert (t[0], t[-1]) == (0.0, 24.0)
    omega, std = model.coefficient_function(t, return_std=True)
    np.testing.assert_allclose(line.get_ydata(), omega, rtol=1e-12)
    drawn = ax.collections[0].get_paths()[0].vertices
    z = stats.norm.ppf(0.95)
    np.testing.assert_allclose(drawn[:, 1].max(), (omega + z * std).max(), rtol=1e-9)
    np.testing.assert_allclose(drawn[:, 1].min(), (omega - z * std).min(), rtol=1e-9)
    assert "90%" in ax.get_title(loc="left")


def test_plot_takes_one_output_and_makes_its_own_axes():
    X, y = curves(40, 30)
    model = FPCR(lam=1e-4).fit(X, np.column_stack([y, -y]))
    first, second = (model.plot_coefficient(output=q).lines[1].get_ydata() for q in (0, 1))
    np.testing.assert_allclose(first, -second, rtol=1e-9)
    with pytest.raises(DataError, match="output=2"):
        model.plot_coefficient(output=2)
    with pytest.raises(DataError, match="confidence_level"):
        model.plot_coefficient(confidence_level=95)


def test_plot_of_a_function_without_a_band_has_a_legend_if_it_has_a_name():
    ax = plot_function([0, 1], [1, 2], label="f", xlabel="x", ylabel="f(x)")
    assert not ax.collections
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["f"]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("x", "f(x)")


# ---------------------------------------------------------------------------------------------- wrong parameters


EVEN = np.arange(20.0)


@pytest.mark.parametrize("kind", [SignalRegression, FPCR])
@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"grid": EVEN[::-1]}, "sort the columns of X by the grid"),
        ({"grid": np.append(EVEN[:-1], 18.0)}, "repeats the point 18; average"),
        ({"grid": np.append(EVEN[:-1], np.inf)}, "NaN or infinite"),
        ({"grid": EVEN[:-1]}, "X has 20 columns; give one number for each"),
        ({"grid": ["a"] * 20}, "list of numbers"),
        ({"grid": 3.0}, "X has 20 columns"),
        ({"quadrature": np.ones(19)}, "X has 20 columns"),
        ({"quadrature": -np.ones(20)}, "must be positive"),
        ({"quadrature": np.full(20, np.nan)}, "NaN or infinite"),
        ({"grid": EVEN, "domain": (0, 18)}, "widen the domain"),
        ({"domain": (1, 1)}, "low < high"),
        ({"domain": (0, np.inf)}, "low < high"),
        ({"domain": 5}, "two finite numbers"),
        ({"domain": "all"}, "two numbers"),
        ({"n_basis": 3}, "at least 4"),
        ({"n_basis": 10.0}, "must be an integer"),
        ({"lam": -1.0}, "not negative"),
        ({"lam": "aic"}, "choose one of"),
    ],
)
def test_wrong_parameters_are_refused_with_a_remedy(kind, parameters, message):
    X, y = curves(30, 20)
    with pytest.raises(DataError, match=message):
        kind(**parameters).fit(X, y)


def test_a_grid_of_one_point_needs_domain_and_quadrature():
    X, y = curves(10, 1)
    with pytest.raises(DataError, match="domain"):
        SignalRegression(grid=[0.5]).fit(X, y)
    with pytest.raises(DataError, match="quadrature"):
        SignalRegression(grid=[0.5], domain=(0, 1)).fit(X, y)
    model = SignalRegression(grid=[0.5], domain=(0, 1), quadrature=[2.0]).fit(X, y)
    np.testing.assert_allclose(model.coef_[0] * 2.0, np.polyfit(X[:, 0], y, 1)[0], rtol=1e-9)


# ----------------------------------------------------------------------------------- scikit-learn and nested_cv


def test_frames_pipelines_grid_search_and_clone():
    X, y = curves(40, 20)
    frame = pd.DataFrame(X, columns=[f"t{j}" for j in range(20)])
    for kind in (SignalRegression, FPCR):
        model = kind(lam=1e-4).fit(frame, y)
        assert list(model.feature_names_in_) == list(frame.columns)
        # columns of a frame lie one after another, rows of an array: sums may differ in their last bits
        assert relative_gap(model.predict(frame), kind(lam=1e-4).fit(X, y).predict(X)) <= STRICT
        grid = np.linspace(0, 2, 20)
        copy = clone(kind(grid=grid, lam="gcv"))
        np.testing.assert_array_equal(copy.grid, grid)
        search = GridSearchCV(make_pipeline(StandardScaler(), kind()), {f"{kind.__name__.lower()}__lam": [1e-6, 1e-2]})
        assert search.fit(frame, y).predict(frame).shape == (40,)


@pytest.mark.parametrize("weights", ["none", "zeros"])
@pytest.mark.parametrize("route", FAST_ROUTES)
def test_nested_cv_equals_refits_in_extended_precision(route, weights):
    X, y = curves(40, 30)
    folds = random_folds(40, 5, 2)
    weights = random_weights(40, weights)
    D, root = literal(30, 12)
    D = X.astype(LONG) @ D
    result = quiet_nested_cv(
        SignalRegression(n_basis=12, lam=1e-4), X, y, folds=folds, sample_weight=weights, route=route
    )
    refit = reference.refitter(D, y, 1e-4, root, weights=weights)
    losses = reference.fold_losses(y, folds, refit, weights=weights)
    assert result.exactness == "exact"
    assert_fold_errors(result, losses, tolerance(D.astype(float), folds, 1e-4, root.astype(float), weights=weights))


@pytest.mark.parametrize("lam", [1e-5, "reml", "gcv"])
def test_all_routes_agree(lam):
    X, y = curves(40, 30)
    model = SignalRegression(n_basis=12, lam=lam)
    routes = ROUTES if lam == 1e-5 else ("auto", "refit")
    results = [quiet_nested_cv(model, X, y, folds=random_folds(40, 4, 1), route=route) for route in routes]
    for result in results[1:]:
        for name in FOLD_ERRORS:
            gap = relative_gap(getattr(results[0].fold_errors, name), getattr(result.fold_errors, name))
            assert gap <= STRICT, f"{name} on route {result.route!r}: {gap:.2e}"
        # an end of an interval that is zero but for a few digits is compared with the others
        assert relative_gap(results[0].intervals.to_numpy(), result.intervals.to_numpy()) <= STRICT


def test_a_stateless_step_before_it_keeps_the_fast_route():
    X, y = curves(40, 30)
    model = make_pipeline(FunctionTransformer(np.exp), SignalRegression(lam=1e-5))
    result = quiet_nested_cv(model, X, y, folds=random_folds(40, 4, 1))
    direct = quiet_nested_cv(SignalRegression(lam=1e-5), np.exp(X), y, folds=random_folds(40, 4, 1))
    assert result.route != "refit"
    assert_same_results(result, direct)
