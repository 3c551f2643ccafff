"""Neither the number of jobs, nor the size of blocks, nor the timing of threads changes a bit of an answer."""

import threading
import time

import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LinearRegression, Ridge, RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor

import onefit
from helpers import quietly
from onefit import PenalizedRegression
from onefit.linalg import compiled
from onefit.routes import engine
from onefit.routes.engine import SmootherEngine

ALL = load_diabetes(return_X_y=True)
X, Y = (each[:180] for each in ALL)
WIDE = np.random.default_rng(5).normal(size=(150, 200))
ALPHAS = {"param_name": "alpha", "param_range": np.logspace(-3, 1, 9)}
SCALED = {"param_name": "ridge__alpha", "param_range": np.logspace(-3, 3, 4)}
RIDGES = {"weak": Ridge(0.1), "none": LinearRegression(), "strong": Ridge(10.0)}
SOME = {"n_folds": 6, "n_repeats": 7, "random_state": 0}

GROUPS = np.random.default_rng(7).integers(0, 25, len(X))
UNEQUAL = np.stack([np.random.default_rng(seed).integers(0, 5, len(X)) for seed in range(8)] + [np.arange(len(X)) % 5])

RARE = np.random.default_rng(3).normal(size=(40, 6))
RARE[:, 5] = np.arange(40) < 3
"""A column that three rows see: if they are in one fold, or in two, training sets without it are refitted."""
APART = np.stack([np.arange(40) % 5, np.append([0, 0, 0], np.arange(37) % 5), np.arange(40)[::-1] % 5])

CASES = {
    "a repeat whose training sets are refitted": (
        onefit.error_curve,
        Ridge(),
        RARE,
        {"param_name": "alpha", "param_range": [1e-8, 1e-2], "folds": APART, "route": "gram"},
    ),
    "the same, absolute loss": (
        onefit.error_curve,
        Ridge(),
        RARE,
        {"param_name": "alpha", "param_range": [1e-8, 1e-2], "folds": APART, "route": "gram", "loss": "absolute_error"},
    ),
    "groups": (onefit.error_curve, Ridge(), X, ALPHAS | SOME | {"groups": GROUPS, "n_repeats": 12}),
    "given folds of unequal sizes": (
        onefit.error_curve,
        Ridge(),
        X,
        ALPHAS | {"folds": UNEQUAL[::-1], "route": "onestep"},
    ),
    "curve, gram": (onefit.error_curve, Ridge(), X, ALPHAS | SOME | {"route": "gram"}),
    "curve, onestep": (onefit.error_curve, Ridge(), X, ALPHAS | SOME | {"route": "onestep"}),
    "curve, leave two out": (onefit.error_curve, Ridge(), X, ALPHAS | {"n_folds": "n"}),
    "curve, absolute loss": (onefit.error_curve, Ridge(), X, ALPHAS | SOME | {"loss": "absolute_error"}),
    "curve, scaled": (onefit.error_curve, make_pipeline(StandardScaler(), Ridge()), X, SCALED | SOME),
    "comparison": (onefit.compare, RIDGES, X, SOME),
    "comparison, leave two out": (onefit.compare, RIDGES, X, {"n_folds": "n"}),
    "as many repeats as it takes": (onefit.nested_cv, Ridge(), X, {"n_folds": 10, "random_state": 0}),
    "tuned": (onefit.nested_cv, RidgeCV(np.logspace(-3, 3, 7)), X, SOME),
    "tuned by GCV": (onefit.nested_cv, PenalizedRegression(lam="gcv"), X, SOME),
    "tuned by leave-one-out": (onefit.nested_cv, PenalizedRegression(lam="loo"), X, SOME),
    "tuned, leave two out": (onefit.nested_cv, PenalizedRegression(lam="reml"), X, {"n_folds": "n"}),
    "kernel": (onefit.nested_cv, KernelRidge(kernel="rbf"), X, SOME),
    "wide": (onefit.nested_cv, Ridge(), WIDE, SOME),
    "refits": (
        onefit.error_curve,
        DecisionTreeRegressor(random_state=0),
        WIDE[:60, :3],
        {"param_name": "max_depth", "param_range": [1, 2], "n_folds": 3, "n_repeats": 3, "random_state": 0},
    ),
}
IN_THREADS = [name for name in CASES if name != "refits" and "leave two out" not in name]


def run(name, **more):
    function, model, design, settings = CASES[name]
    return quietly(function, model, design, Y[: len(design)], **settings, **more)


def figures(result):
    """Every number in a result, as arrays."""
    if isinstance(result, onefit.ErrorCurve):
        difference = result.difference
        own = [result.estimate, result.low, result.high, result.scores, result.best]
        own += [difference.estimate, difference.standard_error, difference.low, difference.high]
        parts = result.results
    elif isinstance(result, onefit.Comparison):
        own = [result.models.select_dtypes("number"), result.differences]
        parts = result.results.values()
    else:
        own, parts = [], [result]
    for part in parts:
        own += [part.estimate, part.interval, part.mse, part.monte_carlo_error, part.intervals, part.heldout]
        own += [part.fold_errors.e_in, part.fold_errors.e_out, part.fold_errors.v_out]
    return [np.asarray(each, dtype=float) for each in own]


def assert_same_bits(first, second):
    for one, other in zip(figures(first), figures(second), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("name", CASES)
def test_any_number_of_jobs_gives_the_same_bits(name):
    one = run(name, n_jobs=1)
    for n_jobs in (2, 3):
        assert_same_bits(one, run(name, n_jobs=n_jobs))


@pytest.mark.parametrize("name", IN_THREADS)
def test_any_size_of_blocks_gives_the_same_bits(name, monkeypatch):
    one = run(name, n_jobs=1)
    monkeypatch.setattr(engine.per_block, "__defaults__", (2**14,))
    monkeypatch.setattr("onefit.routes.repeating.TABLE_BYTES", 2**18)
    monkeypatch.setattr("onefit.routes.trainingsets.SMALL_BYTES", 2**14)
    monkeypatch.setattr("onefit.criteria.sets.CACHED_BYTES", 2**14)
    for n_jobs in (1, 2):
        assert_same_bits(one, run(name, n_jobs=n_jobs))


@pytest.mark.parametrize("name", IN_THREADS)
def test_a_late_first_block_changes_nothing(name, monkeypatch):
    """The first repeat says by which chain of values the others are read: they must wait for it, however long."""
    one = run(name, n_jobs=1)
    pairs, started = SmootherEngine.pairs, threading.Event()

    def late(self, folds):
        if not started.is_set():
            started.set()
            time.sleep(0.2)
        elif folds.first % 2:
            time.sleep(0.02)  # the blocks after it end in another order than they began
        return pairs(self, folds)

    monkeypatch.setattr(SmootherEngine, "pairs", late)
    assert_same_bits(one, run(name, n_jobs=2))


def test_a_singular_system_changes_no_bit_of_those_beside_it():
    """Without the kernel, many values are solved from one decomposition of each system, if it has one."""
    settings = {"param_name": "alpha", "param_range": np.logspace(-18, -16, 13), "folds": APART, "route": "gram"}
    with compiled.switched(False):
        one, two = (quietly(onefit.error_curve, Ridge(), RARE, Y[:40], n_jobs=n_jobs, **settings) for n_jobs in (1, 2))
    assert_same_bits(one, two)


def test_the_values_that_one_se_selects_do_not_depend_on_the_jobs():
    options = {"param_name": "alpha", "param_range": np.logspace(-3, 1, 41), "n_folds": 10, "n_repeats": 20}
    one, two = (
        quietly(onefit.error_curve, Ridge(), *ALL, random_state=0, n_jobs=n_jobs, **options) for n_jobs in (1, 2)
    )
    assert one.select("one_se") == two.select("one_se")
    np.testing.assert_array_equal(one.difference.standard_error, two.difference.standard_error)
