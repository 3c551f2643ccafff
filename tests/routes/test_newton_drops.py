"""Generalized linear models where more is left out than is scored, and how many iterations they take."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, PoissonRegressor, Ridge, TweedieRegressor
from sklearn.model_selection import GridSearchCV, TimeSeriesSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import onefit
from helpers import quiet_nested_cv

TIGHT = {"tol": 1e-10, "max_iter": 10_000, "solver": "newton-cholesky"}


def series(n=160, p=3):
    """Columns that wander, and classes and counts that follow them."""
    rng = np.random.default_rng(0)
    X = 0.3 * np.cumsum(rng.standard_normal((n, p)), axis=0)
    eta = 0.5 * X[:, 0] - 0.4 * X[:, 1]
    eta -= eta.mean()
    classes = (rng.random(n) < 1 / (1 + np.exp(-eta))).astype(int)
    return X, classes, rng.poisson(np.exp(np.clip(eta / 2, -2, 2)))


MODELS = {
    "logistic": (LogisticRegression(**TIGHT), "log_loss"),
    "balanced": (LogisticRegression(class_weight="balanced", **TIGHT), "brier"),
    "scaled poisson": (make_pipeline(StandardScaler(), PoissonRegressor(alpha=0.01, **TIGHT)), "poisson_deviance"),
    "search": (
        GridSearchCV(PoissonRegressor(**TIGHT), {"alpha": [1e-3, 0.1, 10.0]}, cv=3),
        "poisson_deviance",
    ),
    "spline": (onefit.SplineRegression(6, lam=10.0, family="poisson"), "poisson_deviance"),
}


@pytest.mark.parametrize("name", MODELS)
def test_blocks_with_buffers_are_those_of_refits(name):
    model, loss = MODELS[name]
    X, classes, counts = series()
    y = counts if "deviance" in loss else classes
    keywords = {"cv": onefit.TimeBlocks(5, buffer=6), "loss": loss}
    fast, slow = (quiet_nested_cv(model, X, y, route=route, **keywords) for route in ("auto", "refit"))
    assert fast.route == "newton"
    assert fast.estimate == pytest.approx(slow.estimate, rel=1e-8)
    assert fast.interval == pytest.approx(slow.interval, rel=1e-7)


def test_forecasts_are_those_of_refits():
    X, _, counts = series()
    model = PoissonRegressor(alpha=0.1, **TIGHT)
    keywords = {"cv": TimeSeriesSplit(4, gap=3), "loss": "poisson_deviance"}
    fast, slow = (quiet_nested_cv(model, X, counts, route=route, **keywords) for route in ("auto", "refit"))
    assert fast.route == "newton"
    assert fast.estimate == pytest.approx(slow.estimate, rel=1e-8)


def test_forecasts_of_classes_are_fitted_without_one_fold_alone_on_every_route():
    """Scores kept of pairs were taken, though nothing is fitted without two folds where the past predicts."""
    X, classes, _ = series()
    keywords = {"cv": TimeSeriesSplit(4, gap=3), "loss": "log_loss"}
    model = LogisticRegression(**TIGHT)
    fast, slow = (quiet_nested_cv(model, X, classes, route=route, **keywords) for route in ("auto", "refit"))
    assert fast.route == "newton"
    assert fast.fold_errors.e_in == pytest.approx(slow.fold_errors.e_in, rel=1e-8)
    assert fast.raw_estimate == pytest.approx(slow.raw_estimate, rel=1e-8)


@pytest.mark.parametrize("route", ["newton", "refit"])
def test_a_class_that_blocks_and_their_buffers_hold_alone_is_refused_on_every_route(route):
    """A fast fit without the class had a log loss of 10 where a refit has none."""
    X, classes, _ = series(60)
    classes[[0, 12, 16, 50]] = 2  # in the first block, its buffer, and the last block: none is left without both
    with pytest.raises(onefit.errors.OneFitError, match="no row of class 2"):
        quiet_nested_cv(
            LogisticRegression(), X, classes, cv=onefit.TimeBlocks(5, buffer=6), loss="log_loss", route=route
        )


def test_rows_that_are_never_scored_have_no_loss():
    """Their predictions are nobody's, and a deviance has no meaning for some of what stands in their place."""
    X, _, counts = series()
    folds = np.where(np.arange(len(counts)) % 7 == 0, -1, np.arange(len(counts)) % 4)
    keywords = {"folds": folds, "loss": "poisson_deviance"}
    model = PoissonRegressor(alpha=0.1, **TIGHT)
    fast, slow = (quiet_nested_cv(model, X, counts, route=route, **keywords) for route in ("newton", "refit"))
    assert fast.estimate == pytest.approx(slow.estimate, rel=1e-9)


def test_folds_of_different_sizes_have_deviances_of_their_own_rows():
    """What pads the smaller folds is not taken for predictions."""
    X, _, counts = series(163)
    counts[0], counts[-1] = 0, 40
    keywords = {"n_folds": 5, "n_repeats": 2, "random_state": 0, "loss": "poisson_deviance"}
    model = PoissonRegressor(alpha=0.1, **TIGHT)
    fast, slow = (quiet_nested_cv(model, X, counts, route=route, **keywords) for route in ("newton", "refit"))
    assert fast.estimate == pytest.approx(slow.estimate, rel=1e-9)


def test_plans_count_iterations():
    X, classes, counts = series()
    plan = onefit.plan_for(LogisticRegression(), X, classes, n_folds=5, n_repeats=2)
    assert plan.choice == "newton"
    assert 2 < plan.iterations < 20
    assert f"about {plan.iterations:.1f} iterations a training set" in str(plan)
    assert onefit.plan_for(Ridge(), X, counts, n_folds=5, n_repeats=2).iterations is None
    # a normal loss is quadratic: one step, and one that finds it has arrived
    assert onefit.plan_for(TweedieRegressor(power=0), X, counts, n_folds=5, n_repeats=2).iterations <= 2
