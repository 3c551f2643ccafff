"""The motorcycle data as published, and simulations whose true error is checked by formula and by counting."""

from __future__ import annotations

import pickle
import tomllib
import warnings
from fnmatch import fnmatch
from importlib import resources
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import integrate, interpolate, special, stats
from scipy.linalg import toeplitz
from sklearn.base import clone
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import RandomForestRegressor
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge, RidgeClassifier
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, SplineTransformer, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeRegressor

from helpers import DATA
from onefit.datasets import (
    Simulation,
    load_motorcycle,
    make_grouped,
    make_houses,
    make_linear,
    make_logistic,
    make_signal,
    make_sine,
)
from onefit.errors import DataError, OneFitWarning

ROOT = Path(__file__).resolve().parents[2]
EXACT = 1e-12
QUADRATURE = 1e-10
MAKERS = {
    "sine": make_sine,
    "signal": lambda **kwargs: make_signal(**{"n_points": 12, **kwargs}),
    "linear": lambda **kwargs: make_linear(**{"p": 6, **kwargs}),
    "logistic": lambda **kwargs: make_logistic(**{"p": 6, **kwargs}),
    "grouped": make_grouped,
}
REGRESSIONS = ("signal", "linear", "grouped")
every = pytest.mark.parametrize("name", MAKERS)
NOISE_KINDS = ("normal", "t5", "t3", "exponential", "heteroscedastic")


class Predictor:
    """A prediction rule given as a function of the rows; it notes the shapes that it was asked for."""

    def __init__(self, function, knots=None):
        self.function, self.shapes = function, []
        if knots is not None:
            self.knots_ = [np.asarray(knots)]

    def predict(self, X):
        self.shapes.append(X.shape)
        return self.function(X)


def simulated(name, **kwargs):
    return MAKERS[name](**{"random_state": 3, **kwargs})


def fitted_to(simulation, model):
    return model.fit(simulation.X, simulation.y)


# The motorcycle data


def test_motorcycle_data_are_those_that_mgcv_was_given():
    X, y = load_motorcycle(return_X_y=True)
    published = np.loadtxt(DATA / "C3_cr_mcycle_data.csv", delimiter=",", skiprows=1)
    np.testing.assert_array_equal(np.column_stack([X, y]), published)
    assert (X.shape, y.shape, X.dtype, y.dtype) == ((133, 1), (133,), np.float64, np.float64)
    assert (len(np.unique(X)), X.min(), X.max(), y.min(), y.max()) == (94, 2.4, 57.6, -134.0, 75.0)


def test_motorcycle_bunch_follows_scikit_learn():
    bunch = load_motorcycle()
    assert (bunch.feature_names, bunch.target_names, bunch.frame) == (["times"], ["accel"], None)
    assert isinstance(bunch.data, np.ndarray)
    assert "Silverman" in bunch.DESCR
    framed = load_motorcycle(as_frame=True)
    pd.testing.assert_frame_equal(framed.frame, pd.concat([framed.data, framed.target], axis=1))
    assert list(framed.frame) == ["times", "accel"]
    X, y = load_motorcycle(return_X_y=True, as_frame=True)
    pd.testing.assert_frame_equal(X, framed.data)
    pd.testing.assert_series_equal(y, framed.target)
    np.testing.assert_array_equal(X.to_numpy(), bunch.data)
    np.testing.assert_array_equal(y.to_numpy(), bunch.target)


def test_motorcycle_data_can_be_written_to_without_harm():
    X, y = load_motorcycle(return_X_y=True)
    X[:], y[:] = 0, 0
    assert load_motorcycle().data.min() == 2.4


def test_every_csv_file_is_package_data():
    folder = resources.files("onefit.datasets") / "data"
    files = [file.name for file in folder.iterdir()]
    assert files == ["motorcycle.csv"]
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    patterns = settings["tool"]["setuptools"]["package-data"]["onefit"]
    assert all(any(fnmatch(f"datasets/data/{name}", pattern) for pattern in patterns) for name in files)


# Randomness


@every
def test_simulation_and_its_fresh_rows_follow_from_the_seed(name):
    one, same, other = simulated(name), simulated(name), simulated(name, random_state=4)
    for first, second in ((one.X, same.X), (one.y, same.y), *zip(one.sample(7), same.sample(7), strict=True)):
        np.testing.assert_array_equal(first, second)
    assert not np.isclose(one.X, other.X).any()


@every
def test_fresh_rows_are_new_at_every_call_unless_a_seed_says_otherwise(name):
    simulation = simulated(name)
    n = len(simulation.y)
    first, second = simulation.sample(n)[0], simulation.sample(n)[0]
    assert not np.isin(first, simulation.X).any()
    assert not np.isin(second, first).any()
    np.testing.assert_array_equal(simulation.sample(n, random_state=1)[0], simulation.sample(n, random_state=1)[0])


def test_random_state_may_be_none_or_a_generator():
    assert make_sine().X[0, 0] != make_sine().X[0, 0]
    one, same = (make_sine(random_state=np.random.default_rng(8)) for _ in range(2))
    np.testing.assert_array_equal(one.X, same.X)
    rng = np.random.default_rng(8)
    assert make_sine(random_state=rng).X[0, 0] != make_sine(random_state=rng).X[0, 0]
    np.testing.assert_array_equal(make_sine(random_state=np.int64(5)).X, make_sine(random_state=5).X)
    with pytest.raises(DataError, match="random_state"):
        make_sine(random_state=1.5)


@every
def test_global_numpy_seed_is_neither_used_nor_moved(name):
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    simulated(name).sample(5)
    np.testing.assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002


@every
def test_a_pickled_simulation_goes_on_as_the_first(name):
    simulation = simulated(name)
    copy = pickle.loads(pickle.dumps(simulation))
    np.testing.assert_array_equal(copy.sample(5)[1], simulation.sample(5)[1])


# What is drawn


@every
def test_description_says_that_the_data_are_simulated(name):
    simulation = simulated(name)
    assert isinstance(simulation, Simulation)
    assert simulation.DESCR.startswith("Simulated")
    assert simulation.DESCR in repr(simulation)
    with pytest.raises(AttributeError):
        simulation.X = None


@pytest.mark.parametrize("kind", NOISE_KINDS)
def test_noise_has_the_distribution_that_its_kind_names(kind):
    X, y = make_linear(n=2, p=3, noise=0.5, noise_kind=kind, random_state=0).sample(20_000)
    noise = y - X @ np.ones(3)
    if kind == "heteroscedastic":
        noise = noise / np.sqrt((1 + X[:, 0] ** 2) / 2)
    law = {
        "t5": stats.t(5, scale=0.5 * np.sqrt(3 / 5)),
        "t3": stats.t(3, scale=0.5 / np.sqrt(3)),
        "exponential": stats.expon(loc=-0.5, scale=0.5),
    }.get(kind, stats.norm(scale=0.5))
    assert law.std() == pytest.approx(0.5, rel=1e-14)
    assert stats.kstest(noise, law.cdf).pvalue > 1e-3


def test_sine_is_sorted_uniform_with_normal_noise():
    simulation = make_sine(n=20_000, noise=0.3, random_state=0)
    x = simulation.X[:, 0]
    assert simulation.X.shape == (20_000, 1)
    assert (np.diff(x) >= 0).all()
    assert stats.kstest(x, stats.uniform.cdf).pvalue > 1e-3
    assert stats.kstest(simulation.y - np.sin(2 * np.pi * x), stats.norm(scale=0.3).cdf).pvalue > 1e-3


def test_curves_have_the_covariance_of_the_paper():
    N = 5
    sigma = toeplitz(np.exp(-np.arange(N) / N / 2))
    X, y = make_signal(n_points=N, noise=0.1, random_state=0).sample(200_000)
    standard_error = np.sqrt((1 + sigma**2) / len(X))
    assert (np.abs(X.T @ X / len(X) - sigma) < 4.5 * standard_error).all()
    noise = y - X @ np.sin(2 * np.pi * np.arange(1, N + 1) / N) / N
    assert stats.kstest(noise, stats.norm(scale=0.1).cdf).pvalue > 1e-3


def test_classes_have_the_logistic_probabilities():
    simulation = make_logistic(p=5, beta=[1.0, -2.0, 0.0, 0.0, 0.5], random_state=0)
    X, y = simulation.sample(100_000)
    probability = special.expit(X @ [1.0, -2.0, 0.0, 0.0, 0.5])
    np.testing.assert_allclose(simulation.mean(X), probability, rtol=1e-13)
    assert set(np.unique(y)) == {0, 1}
    by_size = np.argsort(probability)
    for rows in np.array_split(by_size, 10):
        standard_error = np.sqrt((probability[rows] * (1 - probability[rows])).sum())
        assert abs(y[rows].sum() - probability[rows].sum()) < 4.5 * standard_error


def test_rows_of_a_group_share_an_effect():
    simulation = make_grouped(n_groups=20_000, group_size=3, p=2, group_sd=1.5, noise=0.5, random_state=0)
    np.testing.assert_array_equal(simulation.groups, np.repeat(np.arange(20_000), 3))
    effects = (simulation.y - simulation.mean(simulation.X)).reshape(-1, 3)
    expected = 1.5**2 * np.ones((3, 3)) + 0.5**2 * np.eye(3)
    standard_error = np.sqrt((expected[0, 0] ** 2 + expected**2) / len(effects))
    assert (np.abs(effects.T @ effects / len(effects) - expected) < 4.5 * standard_error).all()


def test_a_number_for_beta_stands_for_the_first_four_coefficients():
    simulation = make_linear(p=6, beta=2.5, random_state=0)
    np.testing.assert_array_equal(simulation.mean(np.eye(6)), [2.5, 2.5, 2.5, 2.5, 0, 0])
    np.testing.assert_array_equal(make_linear(p=2, beta=2.5).mean(np.eye(2)), [2.5, 2.5])
    np.testing.assert_array_equal(make_linear(p=3, beta=[1, 0, 2]).mean(np.eye(3)), [1, 0, 2])


# The true error, counted


COUNTED = {
    "sine, line": ("sine", {}, LinearRegression()),
    "sine, spline": ("sine", {}, make_pipeline(SplineTransformer(8), Ridge(0.1))),
    "sine, tree": ("sine", {}, DecisionTreeRegressor(max_depth=4)),
    "signal, ridge": ("signal", {"n_points": 50}, Ridge(5.0)),
    "linear": ("linear", {"n": 40, "p": 20}, LinearRegression()),
    "linear, t5": ("linear", {"n": 40, "noise_kind": "t5"}, Ridge(3.0)),
    "linear, exponential": ("linear", {"n": 40, "noise_kind": "exponential"}, Ridge(3.0)),
    "linear, heteroscedastic": ("linear", {"n": 40, "noise_kind": "heteroscedastic"}, Ridge(3.0)),
    "linear, scaled": ("linear", {"n": 20}, make_pipeline(StandardScaler(), Ridge(9.0))),
    "logistic": ("logistic", {}, LogisticRegression()),
    "logistic, ridge": ("logistic", {"n": 30, "beta": 0.4}, RidgeClassifier()),
    "grouped": ("grouped", {"n_groups": 6}, LinearRegression()),
}


@pytest.mark.parametrize("case", COUNTED)
def test_true_error_is_the_mean_loss_over_fresh_rows(case):
    name, settings, model = COUNTED[case]
    simulation = simulated(name, **settings)
    model = fitted_to(simulation, clone(model))
    X, y = simulation.sample(200_000)
    loss = (model.predict(X) != y) * 1.0 if name == "logistic" else (model.predict(X) - y) ** 2
    independent = loss.reshape(-1, 4).mean(axis=1) if name == "grouped" else loss
    standard_error = independent.std() / np.sqrt(len(independent))
    assert abs(loss.mean() - simulation.true_error(model)) < 4 * standard_error


# The true error, by other formulas


@pytest.mark.parametrize("knots", [None, [0.1, 0.55], [-1.0, 0.0, 0.3, 1.0, 2.0]], ids=["none", "inside", "beyond"])
def test_sine_error_of_a_line_is_the_closed_form(knots):
    a, b = 0.8, -1.7
    line = Predictor(lambda X: a + b * X[:, 0], knots)
    expected = 0.3**2 + 0.5 + a**2 + a * b + b**2 / 3 + b / np.pi
    assert make_sine(noise=0.3).true_error(line) == pytest.approx(expected, abs=EXACT)


def test_sine_error_of_the_sine_is_the_noise():
    truth = Predictor(lambda X: np.sin(2 * np.pi * X))  # a column of predictions will do
    assert make_sine(noise=0.3).true_error(truth) == pytest.approx(0.09, abs=1e-15)
    assert make_sine(noise=0.3).best_error == 0.3**2


@pytest.mark.parametrize("tells_knots", [True, False])
@pytest.mark.parametrize("degree", [1, 2, 3])
def test_sine_error_of_a_spline_agrees_with_scipy_quadrature(degree, tells_knots):
    simulation = make_sine(random_state=1)
    knots = np.sort(np.random.default_rng(degree).uniform(size=9))
    spline = interpolate.make_lsq_spline(
        simulation.X[:, 0], simulation.y, np.r_[[0] * (degree + 1), knots, [1] * (degree + 1)], k=degree
    )
    model = Predictor(lambda X: spline(X[:, 0]), knots if tells_knots else None)
    pieces = np.r_[0, knots, 1]
    distance = sum(
        integrate.quad(lambda x: (spline(x) - np.sin(2 * np.pi * x)) ** 2, low, high, epsabs=1e-13, epsrel=1e-13)[0]
        for low, high in pairwise(pieces)
    )
    assert simulation.true_error(model) == pytest.approx(0.04 + distance, abs=EXACT)


def sine_error_of_steps(edges, values):
    """Integral of (sin(2 pi x) - c)^2 over each step, in closed form."""
    low, high = edges[:-1], edges[1:]
    squares = (high - low) / 2 - (np.sin(4 * np.pi * high) - np.sin(4 * np.pi * low)) / (8 * np.pi)
    products = (np.cos(2 * np.pi * low) - np.cos(2 * np.pi * high)) / (2 * np.pi)
    return (squares - 2 * values * products + values**2 * (high - low)).sum()


@pytest.mark.parametrize("k", [1, 5])
def test_sine_error_of_nearest_neighbours_is_the_closed_form_of_its_steps(k):
    simulation = make_sine(n=60, random_state=2)
    x, y = simulation.X[:, 0], simulation.y
    model = fitted_to(simulation, KNeighborsRegressor(k, algorithm="brute"))
    edges = np.r_[0, (x[:-k] + x[k:]) / 2, 1]
    means = np.lib.stride_tricks.sliding_window_view(y, k).mean(axis=1)
    expected = 0.04 + sine_error_of_steps(edges, means)
    assert simulation.true_error(model) == pytest.approx(expected, abs=QUADRATURE)


def test_sine_error_of_a_forest_keeps_six_digits_within_its_budget():
    simulation = make_sine(n=400, random_state=2)
    model = fitted_to(simulation, RandomForestRegressor(10, random_state=0))
    edges = np.unique(np.r_[0, np.concatenate([t.tree_.threshold[t.tree_.feature == 0] for t in model.estimators_]), 1])
    values = model.predict(((edges[:-1] + edges[1:]) / 2)[:, None])
    asked = Predictor(model.predict)
    expected = 0.04 + sine_error_of_steps(edges, values)
    assert simulation.true_error(asked) == pytest.approx(expected, rel=1e-6)
    assert sum(rows for rows, _ in asked.shapes) < 2**22


def test_sine_error_of_pure_noise_ends():
    rng = np.random.default_rng(0)
    asked = Predictor(lambda X: rng.standard_normal(len(X)))
    assert make_sine(noise=0.0).true_error(asked) == pytest.approx(1.5, abs=0.05)
    assert sum(rows for rows, _ in asked.shapes) < 2**23


@pytest.mark.parametrize("n_points", [2, 30, 100])
def test_signal_error_is_the_quadratic_form_in_the_covariance_matrix(n_points):
    simulation = make_signal(n_points=n_points, noise=0.2, random_state=0)
    model = fitted_to(simulation, Ridge(0.5))
    t = np.arange(1, n_points + 1) / n_points
    sigma = np.exp(-np.abs(t[:, None] - t) / 2)
    d = model.coef_ - np.sin(2 * np.pi * t) / n_points
    expected = 0.04 + model.intercept_**2 + d @ sigma @ d
    assert simulation.true_error(model) == pytest.approx(expected, rel=EXACT)


def test_signal_error_of_a_projected_fit_is_that_of_its_coefficients():
    simulation = make_signal(random_state=0)
    basis = np.vander(np.arange(1, 101) / 100, 6)
    inner = LinearRegression().fit(simulation.X @ basis, simulation.y)
    direct = Predictor(lambda X: X @ (basis @ inner.coef_) + inner.intercept_)
    error = simulation.true_error(Predictor(lambda X: inner.predict(X @ basis)))
    assert error == pytest.approx(simulation.true_error(direct), rel=EXACT)


@pytest.mark.parametrize("kind", NOISE_KINDS)
def test_linear_error_is_noise_plus_squared_distance_of_coefficients(kind):
    beta = np.array([1.0, -2.0, 0.0, 3.0])
    simulation = make_linear(n=30, p=4, noise=0.7, beta=beta, noise_kind=kind, random_state=1)
    model = fitted_to(simulation, Ridge(2.0))
    expected = 0.49 + model.intercept_**2 + ((model.coef_ - beta) ** 2).sum()
    assert simulation.true_error(model) == pytest.approx(expected, rel=EXACT)
    assert simulation.best_error == pytest.approx(0.49, rel=1e-15)


def test_linear_error_of_least_squares_does_not_depend_on_beta():
    errors = []
    for beta in (0.0, 1.0, 50.0):
        simulation = make_linear(n=40, p=20, beta=beta, random_state=5)
        errors.append(simulation.true_error(fitted_to(simulation, LinearRegression())))
    np.testing.assert_allclose(errors, errors[0], rtol=1e-11)


def test_linear_error_of_a_linear_kernel_is_that_of_its_ridge_twin():
    simulation = make_linear(n=50, p=8, random_state=2)
    kernel = fitted_to(simulation, KernelRidge(alpha=2.0, kernel="linear"))
    ridge = fitted_to(simulation, Ridge(2.0, fit_intercept=False))
    assert simulation.true_error(kernel) == pytest.approx(simulation.true_error(ridge), rel=1e-11)


def test_grouped_error_is_that_of_a_new_group():
    simulation = make_grouped(n_groups=10, group_size=5, p=3, group_sd=2.0, noise=0.5, beta=[1, 2, 3], random_state=1)
    model = fitted_to(simulation, LinearRegression())
    expected = 4.25 + model.intercept_**2 + ((model.coef_ - [1, 2, 3]) ** 2).sum()
    assert simulation.true_error(model) == pytest.approx(expected, rel=EXACT)
    assert simulation.best_error == 4.25


def zero_one_error_by_score(beta, a, w):
    """Error of ``a + X w > 0``, integrated over the score rather than over the log odds."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(180)
    s, size = np.linalg.norm(beta), np.linalg.norm(w)
    rho = w @ beta / size

    def wrong(v, positive):
        p_class = special.expit(rho * v + np.sqrt(max(s**2 - rho**2, 0)) * nodes) @ weights / weights.sum()
        return stats.norm.pdf(v) * (1 - p_class if positive else p_class)

    cut = -a / size
    precision = {"epsabs": 1e-13, "epsrel": 1e-13, "limit": 500}
    above = integrate.quad(wrong, cut, max(cut, 0) + 12, args=(True,), **precision)[0]
    return above + integrate.quad(wrong, min(cut, 0) - 12, cut, args=(False,), **precision)[0]


@pytest.mark.parametrize("constant", [0.0, 0.8, -3.0])
@pytest.mark.parametrize("size", [0.01, 1.0, 100.0])
def test_logistic_error_agrees_with_the_integral_over_the_score(constant, size):
    rng = np.random.default_rng(6)
    beta, w = rng.standard_normal(7) / 2, size * rng.standard_normal(7)
    model = Predictor(lambda X: (X @ w + constant * size > 0).astype(int))
    model.coef_, model.intercept_ = w[None, :], np.array([constant * size])
    error = make_logistic(p=7, beta=beta).true_error(model)
    assert error == pytest.approx(zero_one_error_by_score(beta, constant * size, w), abs=QUADRATURE)


@pytest.mark.parametrize("strength", [0.5, 1.0, 8.0])
def test_logistic_best_error_is_that_of_the_true_score(strength):
    def wrong(z):
        return 2 * stats.norm.pdf(z) * special.expit(-strength * z)

    expected = integrate.quad(wrong, 0, 12, epsabs=1e-14, epsrel=1e-13)[0]
    simulation = make_logistic(p=3, beta=[strength, 0, 0])
    assert simulation.best_error == pytest.approx(expected, abs=QUADRATURE)
    reverse = Predictor(lambda X: X[:, 0] < 0)
    reverse.coef_, reverse.intercept_ = np.array([-1.0, 0, 0]), 0.0
    assert simulation.true_error(reverse) == pytest.approx(1 - expected, abs=QUADRATURE)


def test_logistic_error_is_a_half_without_signal_or_without_a_rule():
    simulation = make_logistic(p=4, beta=0.0, random_state=0)
    assert simulation.true_error(fitted_to(simulation, LogisticRegression())) == pytest.approx(0.5, abs=EXACT)
    for constant in (0.0, 2.0, -2.0):
        model = Predictor(lambda X, c=constant: np.full(len(X), c > 0))
        model.coef_, model.intercept_ = np.zeros((1, 4)), constant
        assert make_logistic(p=4).true_error(model) == pytest.approx(0.5, abs=EXACT)


def test_logistic_error_reads_the_score_of_a_pipeline():
    simulation = make_logistic(n=60, p=5, random_state=1)
    pipeline = fitted_to(simulation, make_pipeline(StandardScaler(), LogisticRegression()))
    scaler, last = pipeline[0], pipeline[1]
    w = last.coef_[0] / scaler.scale_
    expected = zero_one_error_by_score(np.array([1.0, 1, 1, 1, 0]), last.intercept_[0] - w @ scaler.mean_, w)
    assert simulation.true_error(pipeline) == pytest.approx(expected, abs=QUADRATURE)


# Limits


@pytest.mark.parametrize("name", ["sine", *REGRESSIONS])
def test_rows_beyond_the_data_give_no_warning_of_ours(name):
    def warns(X):
        warnings.warn("beyond the data", OneFitWarning, stacklevel=1)
        return np.zeros(len(X))

    simulation = simulated(name)
    assert simulation.true_error(Predictor(warns)) == simulation.true_error(Predictor(lambda X: np.zeros(len(X))))


@pytest.mark.parametrize("name", [*REGRESSIONS, "logistic"])
def test_predictions_are_asked_in_blocks(name):
    p = 5000
    simulation = simulated(name, **{"n_points" if name == "signal" else "p": p})
    model = Predictor(lambda X: X[:, 0] > 0) if name == "logistic" else Predictor(lambda X: X[:, 0])
    model.coef_, model.intercept_ = np.eye(1, p), 0.0
    simulation.true_error(model)
    assert max(rows * columns for rows, columns in model.shapes) <= 2**21


@pytest.mark.parametrize("name", REGRESSIONS)
@pytest.mark.parametrize(
    "model",
    [KNeighborsRegressor(), DecisionTreeRegressor(), make_pipeline(PolynomialFeatures(2), Ridge())],
    ids=["neighbours", "tree", "quadratic"],
)
def test_model_that_is_not_linear_is_refused_and_sent_to_sample(name, model):
    simulation = simulated(name)
    with pytest.raises(DataError, match=r"not a linear function.*simulation\.sample"):
        simulation.true_error(fitted_to(simulation, clone(model)))


@pytest.mark.parametrize("name", REGRESSIONS)
def test_constant_is_a_linear_model(name):
    simulation = simulated(name)
    model = DummyRegressor(strategy="constant", constant=2.0).fit(simulation.X, simulation.y)
    zero = DummyRegressor(strategy="constant", constant=0.0).fit(simulation.X, simulation.y)
    assert simulation.true_error(model) - simulation.true_error(zero) == pytest.approx(4.0, rel=EXACT)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (SVC(), "not a linear function"),
        (GaussianNB(), "neither decision_function nor coef_"),
        (DummyClassifier(), "neither decision_function nor coef_"),
        (FixedThresholdClassifier(LogisticRegression(), threshold=0.9), r"neither|does not predict class 1"),
        (LinearRegression(), "does not predict class 1"),
    ],
    ids=["svc", "bayes", "dummy", "threshold", "regression"],
)
def test_classifier_that_is_not_linear_is_refused_and_sent_to_sample(model, message):
    simulation = simulated("logistic")
    with pytest.raises(DataError, match=rf"({message}).*simulation\.sample"):
        simulation.true_error(fitted_to(simulation, model))


@every
def test_what_cannot_predict_is_refused(name):
    for thing in (None, 3.0, Ridge, StandardScaler()):
        with pytest.raises(DataError, match="has no predict"):
            simulated(name).true_error(thing)


@pytest.mark.parametrize("name", ["sine", *REGRESSIONS])
@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda X: np.zeros((len(X), 2)), "one number a row"),
        (lambda X: np.full(len(X), np.nan), "missing or infinite"),
        (lambda X: np.full(len(X), "high"), "not numbers"),
    ],
    ids=["outputs", "nan", "text"],
)
def test_predictions_that_have_no_squared_error_are_refused(name, function, message):
    with pytest.raises(DataError, match=message):
        simulated(name).true_error(Predictor(function))


@pytest.mark.parametrize(
    ("make", "settings", "message"),
    [
        (make_sine, {"n": 1}, "n=1"),
        (make_sine, {"n": 10.0}, "n=10.0"),
        (make_sine, {"noise": -0.1}, "noise=-0.1"),
        (make_sine, {"noise": np.nan}, "noise=nan"),
        (make_sine, {"noise": "loud"}, "noise='loud'"),
        (make_sine, {"random_state": -1}, "random_state=-1"),
        (make_signal, {"n": 1}, "n=1"),
        (make_signal, {"n_points": 1}, "n_points=1"),
        (make_signal, {"noise": np.inf}, "noise=inf"),
        (make_linear, {"n": 1}, "n=1"),
        (make_linear, {"p": 0}, "p=0"),
        (make_linear, {"noise": -1}, "noise=-1"),
        (make_linear, {"beta": [1, 2]}, "20 columns"),
        (make_linear, {"beta": np.inf}, "beta=inf"),
        (make_linear, {"beta": "big"}, "beta='big'"),
        (make_linear, {"noise_kind": "cauchy"}, "noise_kind='cauchy'.*'t3'"),
        (make_logistic, {"n": 1}, "n=1"),
        (make_logistic, {"p": 0}, "p=0"),
        (make_logistic, {"beta": [np.nan] * 20}, "finite"),
        (make_grouped, {"n_groups": 1}, "n_groups=1"),
        (make_grouped, {"group_size": 0}, "group_size=0"),
        (make_grouped, {"p": 0}, "p=0"),
        (make_grouped, {"group_sd": -1.0}, "group_sd=-1.0"),
        (make_grouped, {"noise": True}, "noise=True"),
    ],
)
def test_arguments_that_make_no_sense_are_refused(make, settings, message):
    with pytest.raises(DataError, match=message):
        make(**settings)


def test_sample_and_mean_check_what_they_are_given():
    simulation = make_linear(p=3)
    with pytest.raises(DataError, match="n=0"):
        simulation.sample(0)
    with pytest.raises(DataError, match=r"table of 3 column"):
        simulation.mean(np.zeros((2, 4)))


def test_houses_are_the_same_for_a_seed_and_have_the_gaps_that_they_say():
    many = make_houses(20_000, random_state=1)
    pd.testing.assert_frame_equal(many.iloc[:0], make_houses().iloc[:0])
    pd.testing.assert_frame_equal(make_houses(), make_houses(300, random_state=0))
    shares = many.isna().mean()
    assert shares[shares > 0].round(2).to_dict() == {"plot": 0.05, "built": 0.12, "heating": 0.08}
    north, centre = (many.loc[many["district"] == name] for name in ("north", "centre"))
    assert abs((centre["price"].mean() - north["price"].mean()) / 90 - 1) < 0.1
    with pytest.raises(DataError, match="random_state='x' must be"):
        make_houses(random_state="x")
