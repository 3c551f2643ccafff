"""What a job would cost, before it is run."""

from __future__ import annotations

import pickle
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestRegressor
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF
from sklearn.linear_model import Lasso, LassoCV, LogisticRegression, Ridge, RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeRegressor

import onefit
from helpers import data, quietly
from onefit.errors import OneFitError
from onefit.routes import measured, newtonsets
from onefit.routes.newtonalone import LoneSets
from onefit.running.progress import Bar, about_text


def table(n=60, n_numbers=2):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(n, n_numbers)), columns=[f"x{j}" for j in range(n_numbers)])
    X["town"] = rng.choice(list("abcd"), n)
    return X, X["x0"] + (X["town"] == "a") + rng.normal(size=n)


def encoded(last, n_numbers=2):
    encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    numbers = [f"x{j}" for j in range(n_numbers)]
    return make_pipeline(make_column_transformer((StandardScaler(), numbers), (encoder, ["town"])), last)


class Counted(RegressorMixin, BaseEstimator):
    """Predicts the mean, and counts how often all objects of the class were fitted."""

    fits = 0

    def fit(self, X, y):
        type(self).fits += 1
        self.mean_ = float(np.mean(y))
        return self

    def predict(self, X):
        return np.full(len(X), self.mean_)


MODELS = {
    "encoded": encoded(Ridge()),
    "encoded and tuned": encoded(RidgeCV([0.1, 1.0])),
    "refitted": encoded(DecisionTreeRegressor(max_depth=3, random_state=0)),
}


@pytest.mark.sweep(2)
@pytest.mark.parametrize("keywords", [{}, {"n_folds": 6, "n_repeats": 3}, {"transformers": "freeze", "n_folds": 5}])
@pytest.mark.parametrize("name", MODELS)
def test_the_plan_is_what_nested_cv_does(name, keywords):
    X, y = table()
    plan = onefit.plan_for(MODELS[name], X, y, **keywords)
    result = quietly(onefit.nested_cv, MODELS[name], X, y, random_state=0, **keywords)
    assert (plan.choice, plan.n_folds) == (result.route, result.n_folds)
    assert result.route_reason.startswith(plan.reason)
    if "n_repeats" in keywords:
        assert (plan.n_repeats, plan.is_automatic) == (3, False)
    assert (plan.n, plan.p, plan.n_values) == (60, 3, 1)
    assert plan.n_fits == plan.n_repeats * plan.n_folds * (plan.n_folds + 1) // 2


def test_leave_two_out_is_planned_too():
    X, y = table()
    plan = onefit.plan_for(Ridge(), X[["x0", "x1"]], y)
    assert (plan.choice, plan.n_folds, plan.n_repeats, plan.is_automatic) == ("onestep", 60, 1, False)
    assert plan.n_fits == 60 * 61 // 2


def test_a_refit_costs_as_many_fits_as_there_are_training_sets_and_few_are_made():
    X, y = table()
    Counted.fits = 0
    plan = onefit.plan_for(Counted(), X, y, n_folds=5, n_repeats=4)
    assert Counted.fits == 2  # of which the first one is not counted
    assert plan.n_fits == 60
    assert set(plan.seconds) == {"refit"}
    assert plan.seconds["refit"] > 0
    assert onefit.plan_for(Counted(), X, y, n_folds=5, max_fits=45).n_repeats == 3


def test_a_model_that_cannot_be_fitted_has_no_seconds():
    X, y = table()
    plan = onefit.plan_for(encoded(Counted()).set_params(columntransformer__remainder=3), X, y)
    assert plan.choice == "refit"
    assert dict(plan.seconds) == {}
    assert str(plan).splitlines()[1].split() == ["->", "refit", f"{plan.n_fits}", "fits"]


def test_keywords_are_checked_as_nested_cv_checks_them():
    X, y = table()
    with pytest.raises(TypeError, match="nfolds"):
        onefit.plan_for(Ridge(), X, y, nfolds=3)
    with pytest.raises(OneFitError, match="n_folds"):
        onefit.plan_for(encoded(Ridge()), X, y, n_folds=2)
    with pytest.raises(OneFitError, match="cannot serve"):
        onefit.plan_for(encoded(Ridge()), X, y, route="onestep")


def test_nothing_is_left_of_the_fit_that_is_timed():
    X, y = table()
    np.random.seed(3)  # noqa: NPY002
    model = encoded(RandomForestRegressor(3))
    onefit.plan_for(model, X, y)
    after = np.random.random()  # noqa: NPY002
    np.random.seed(3)  # noqa: NPY002
    assert after == np.random.random()  # noqa: NPY002
    assert not hasattr(model[-1], "estimators_")


def test_a_plan_of_a_job_is_shown_and_pickled():
    X, y = table()
    plan = onefit.plan_for(encoded(Ridge()), X, y, n_folds=10)
    first, chosen, refits, most, reason = str(plan).splitlines()
    assert first == "n=60 rows, p=3 columns, K=10 folds, L=about 5 repeats:"
    assert chosen.startswith(" -> gram     about ")
    assert refits.startswith("    refit    about ")
    assert refits.endswith("275 fits")
    assert most.startswith("repeats go on until the Monte Carlo error is small: at most 200, about ")
    assert reason == plan.reason
    assert "refits would be 55 fits a repeat" in plan.reason
    assert "gram (taken)" in plan._repr_html_()
    assert pickle.loads(pickle.dumps(plan)) == plan


def test_more_features_than_rows_are_refitted_with_that_reason():
    X, y = table(30, 210)
    model = encoded(Ridge(), 210)
    plan = onefit.plan_for(model, X, y)
    assert plan.choice == "refit"
    assert plan.reason.startswith("the steps make 214 features of 30 rows, too many")
    with pytest.raises(OneFitError, match="too many for their Gram matrices"):
        onefit.nested_cv(model, X, y, route="gram")


# seconds of one thread, as `python -m benchmarks --plan-models` has measured them
MEASURED = {
    "a path of a lasso": (LassoCV(), (200, 100), 5, 0.15),
    "a search of a lasso in few columns": (LassoCV(), (1000, 50), 5, 0.05),
    "a lasso": (Lasso(alpha=0.05), (1000, 200), 10, 0.04),
    "a spline": (onefit.SplineRegression(), (300, 1), 10, 0.016),
    "an additive model of one term": (onefit.AdditiveModel([onefit.smooth(0)], lam="gcv"), (500, 1), 10, 0.1),
    "an additive model of six": (onefit.AdditiveModel([onefit.smooth(j) for j in range(6)]), (2000, 6), 10, 0.18),
    "a Gaussian process": (
        GaussianProcessRegressor(RBF(5.0), alpha=1.0, optimizer=None, normalize_y=True),
        (600, 5),
        10,
        0.09,
    ),
    "a penalty by leave-one-out": (RidgeCV([0.1, 1.0, 10.0]), (500, 20), 10, 0.014),
}


@pytest.mark.parametrize("name", MEASURED)
def test_the_seconds_of_a_plan_are_within_a_factor_of_three_of_what_was_measured(name):
    model, (n, width), n_folds, measured = MEASURED[name]
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, width)) + 0.5 * rng.normal(size=(n, 1))
    y = X[:, :8].sum(axis=1) + 3.0 * rng.normal(size=n)
    plan = onefit.plan_for(model, X, y / y.std(), n_folds=n_folds, n_repeats=1)
    assert 1 / 3 <= plan.seconds[plan.choice] / measured <= 3


def test_an_additive_model_of_more_rows_takes_longer():
    rng = np.random.default_rng(0)
    seconds = []
    for n in (500, 100_000):
        X = rng.uniform(size=(n, 2))
        plan = onefit.plan_for(onefit.AdditiveModel([onefit.smooth(0), onefit.smooth(1)]), X, X.sum(axis=1), n_folds=5)
        seconds.append(plan.seconds["gram"])
    assert seconds[1] > 3 * seconds[0]


def test_training_sets_in_which_scikit_learn_searches_by_itself_are_counted():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = X[:, 0] + rng.normal(size=60)
    alone, twice = (
        onefit.plan_for(LassoCV(), columns, y, n_folds=5, n_repeats=1, route="gram").seconds["gram"]
        for columns in (X, np.hstack([X, X[:, :1]]))
    )
    assert twice > 2 * alone


def test_a_plan_says_what_repeats_may_come_to():
    X, y = data(60, 3, seed=0)
    automatic = onefit.plan_for(Ridge(), X, y, n_folds=5, route="gram", random_state=0)
    asked = onefit.plan_for(Ridge(), X, y, n_folds=5, n_repeats=7, random_state=0)
    refits = onefit.plan_for(Ridge(), X, y, n_folds=5, route="refit", max_fits=60, random_state=0)
    assert (automatic.n_repeats, automatic.most_repeats) == (5, 200)
    assert (asked.n_repeats, asked.most_repeats) == (7, 7)
    assert (refits.n_repeats, refits.most_repeats) == (4, 4)
    most = f"at most 200, about {40 * automatic.seconds['gram']:.2g} s"
    assert most in str(automatic)
    assert most in automatic._repr_html_()
    assert "at most" not in str(asked) + str(refits)


def test_the_words_before_a_job_have_the_likely_and_the_most_repeats(capsys):
    X, y = data(60, 3, seed=0)
    words = []

    class Told(Bar):
        def plan(self, text, is_long=False):
            words.append(text)

    quietly(
        onefit.nested_cv,
        Ridge(),
        X,
        y,
        n_folds=5,
        route="gram",
        random_state=0,
        progress=Told(sys.stderr, is_asked_for=False),
    )
    assert words == ["5 folds, about 5 repeats (at most 200), by gram: less than a second"]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (5400, "90 min"),
        (36_000, "10.0 h"),
        (864_000, "10 days"),
        (3.2e8, "10 years"),
        (1e20, "more than a thousand years"),
    ],
)
def test_times_have_units_that_one_believes(seconds, text):
    assert about_text(seconds).removeprefix("about ") == text


def test_the_most_repeats_of_a_plan_without_data_are_those_that_it_was_asked_for():
    assert onefit.plan(1000, 20, 10, n_repeats=7).most_repeats == 7


@pytest.mark.parametrize("C", [10, 100])
def test_training_sets_that_need_newton_steps_of_their_own_are_in_the_plan(C, monkeypatch):
    """Told in units of one such fit: their number is that of the job, which is most of what it does."""
    X, y = load_breast_cancer(return_X_y=True)
    model = make_pipeline(StandardScaler(), LogisticRegression(C=C, max_iter=5000))
    settings = {"n_folds": 10, "n_repeats": 20, "random_state": 0}
    monkeypatch.setattr(newtonsets._Sets, "seconds_alone", lambda *_: 1.0)
    planned = onefit.plan_for(model, X, y, **settings).seconds["newton"]
    fitted, alone = [], LoneSets.alone
    monkeypatch.setattr(LoneSets, "alone", lambda *args: fitted.append(1) or alone(*args))
    quietly(onefit.nested_cv, model, X, y, progress=False, **settings)
    assert len(fitted) > 100
    assert planned == pytest.approx(len(fitted), rel=0.5)


def test_what_metrics_take_of_each_repeat_and_value_is_in_the_plan(monkeypatch):
    X, y = load_breast_cancer(return_X_y=True)
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=5000))
    clock = iter(range(100))  # a second passes whenever it is looked at
    monkeypatch.setattr(measured, "perf_counter", lambda: next(clock))
    of_loss, of_ranks = (
        onefit.plan_for(model, X, y, n_folds=5, n_repeats=3, random_state=0, **asked).seconds["newton"]
        for asked in ({}, {"scoring": "roc_auc"})
    )
    assert of_ranks - of_loss == pytest.approx(3.0)
