"""Learners and routes: estimators of others join by one method, every route is asked, and the cheapest offer wins."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.linear_model import Lasso, LinearRegression, Ridge, RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import onefit
from helpers import assert_same_results, quiet_nested_cv, quietly
from onefit import PenalizedRegression, SplineRegression
from onefit.errors import DataError, RouteError
from onefit.inference.intervals import RULES
from onefit.learners import (
    Coefficients,
    DesignSmoother,
    Learner,
    Path,
    RefitLearner,
    Refusal,
    StatisticsLearner,
    Task,
    adapt,
)
from onefit.metrics import find_loss
from onefit.routes import ROUTES, FoldPlan, Offer, automatic_folds, choose_routes
from onefit.validation import check_problem, numeric_matrix


class Shrunk(RegressorMixin, BaseEstimator):
    """Ridge regression without an intercept, of another package."""

    def __init__(self, lam=1.0, says="learner"):
        self.lam, self.says = lam, says

    def fit(self, X, y, sample_weight=None):
        w = np.ones(len(X)) if sample_weight is None else sample_weight
        self.coef_ = np.linalg.solve((X.T * w) @ X + self.lam * np.eye(X.shape[1]), (X.T * w) @ y)
        return self

    def predict(self, X):
        return X @ self.coef_

    def __onefit_learner__(self, task, path=None):
        if self.says != "learner":
            X, one = numeric_matrix(task.problem), np.ones((1, 1))
            return {
                "refusal": lambda: Refusal("it does not want to"),
                "no reason": lambda: Refusal(" "),
                "nonsense": lambda: 5,
                "two values": lambda: DesignSmoother(X, None, False, np.ones((2, 1))),
                "few rows": lambda: DesignSmoother(X[:20], None, False, one),
                "many rows": lambda: DesignSmoother(np.vstack([X, X]), None, False, one),
                "short weights": lambda: DesignSmoother(X, None, False, one, np.ones(len(X))[:7]),
                "missing": lambda: DesignSmoother(np.where(X > 1, np.nan, X), None, False, one),
                "negative": lambda: DesignSmoother(X, None, False, -one),
                "no estimator": lambda: RefitLearner([]),
            }[self.says]()
        if path is not None and path.name != "lam":
            return Refusal(f"{path.name} is no penalty")
        lams = np.array([[self.lam]]) if path is None else path.penalties()
        return DesignSmoother(numeric_matrix(task.problem), None, False, lams, task.problem.weights)


class Inherits(Shrunk):
    def predict(self, X):
        return 2 * super().predict(X)


def data(n=36, p=3, seed=1):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    return X, X @ np.ones(p) + rng.normal(size=n)


def task_of(estimator, X, y, **options):
    problem = check_problem([estimator], X, y)
    return Task(problem, find_loss(None), RULES["covariance"], **options)


@pytest.mark.parametrize("route", ["gram", "onestep"])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_foreign_estimator_joins_the_fast_routes(route, weighted):
    X, y = data()
    options = {"n_folds": 5, "n_repeats": 3, "random_state": 0}
    if weighted:
        options["sample_weight"] = np.random.default_rng(0).uniform(0.5, 2.0, len(y))
    fast = onefit.nested_cv(Shrunk(0.5), X, y, route=route, **options)
    slow = onefit.nested_cv(Shrunk(0.5), X, y, route="refit", **options)
    assert (fast.route, slow.route) == (route, "refit")
    assert_same_results(fast, slow)


def test_a_foreign_path_leaves_two_out_like_our_own():
    X, y = data()
    ours = onefit.error_curve(
        PenalizedRegression(fit_intercept=False), X, y, param_name="lam", param_range=[0.1, 1.0, 10.0]
    )
    theirs = onefit.error_curve(Shrunk(), X, y, param_name="lam", param_range=[0.1, 1.0, 10.0])
    np.testing.assert_allclose(theirs.estimate, ours.estimate, rtol=1e-12)
    np.testing.assert_allclose(theirs.scores["gcv"], ours.scores["gcv"], rtol=1e-12)
    assert {result.route for result in theirs.results} == {"onestep"}


def test_what_joins_may_stand_behind_a_stateless_step_and_is_refused_behind_others():
    X, y = data()
    options = {"n_folds": 5, "n_repeats": 1, "random_state": 0}
    result = onefit.nested_cv(make_pipeline(StandardScaler(), Shrunk()), X, y, **options)
    assert result.route == "refit"  # its design may be anything, so that scales are not a matter of its penalty
    assert "StandardScaler must be fitted anew" in result.route_reason


def test_a_refusal_is_the_reason_that_people_read():
    X, y = data()
    result = onefit.nested_cv(Shrunk(says="refusal"), X, y, n_folds=4, n_repeats=1)
    assert (result.route, result.route_reason) == ("refit", "it does not want to")
    with pytest.raises(RouteError, match="it does not want to"):
        onefit.nested_cv(Shrunk(says="refusal"), X, y, route="gram")


@pytest.mark.parametrize("route", ["auto", "gram", "refit"])
@pytest.mark.parametrize(
    ("says", "message"),
    [
        ("nonsense", "must return a Learner, or a Refusal with a reason"),
        ("no reason", "must return a Learner, or a Refusal with a reason"),
        ("two values", "2 values for 1"),
        ("few rows", "of 20 rows for 36"),
        ("many rows", "of 72 rows for 36"),
        ("short weights", "weights of shape"),
        ("missing", "NaN or infinite values in its columns"),
        ("no estimator", "0 values for 1"),
    ],
)
def test_an_answer_that_cannot_be_used_is_an_error_that_names_its_author(says, message, route):
    X, y = data()
    with pytest.raises(DataError, match=message) as caught:
        onefit.nested_cv(Shrunk(says=says), X, y, route=route)
    assert "Shrunk.__onefit_learner__" in str(caught.value)


def test_a_smoother_has_no_negative_penalties():
    X, y = data()
    with pytest.raises(DataError, match="finite and not negative"):
        onefit.nested_cv(Shrunk(says="negative"), X, y)


def test_what_a_class_inherits_does_not_count():
    X, y = data()
    result = onefit.nested_cv(Inherits(), X, y, n_folds=4, n_repeats=1)
    assert result.route == "refit"
    assert "Inherits only inherits __onefit_learner__" in result.route_reason


def test_our_own_models_join_by_the_same_method_and_no_other():
    import onefit.models as models

    hooks = {
        name
        for model in (getattr(models, each) for each in models.__all__)
        for base in model.__mro__
        for name in vars(base)
        if "onefit" in name
    }
    assert hooks == {"__onefit_learner__"}
    assert all("__onefit_learner__" in vars(getattr(models, each)) for each in models.__all__)


def test_refits_take_what_a_model_takes_from_all_rows_as_given():
    X = np.sort(np.random.default_rng(0).uniform(size=(40, 1)), axis=0)
    y = np.sin(5 * X[:, 0])
    task = task_of(SplineRegression(), X, y, needs=frozenset({"refits"}))
    found = SplineRegression().__onefit_learner__(task, None)
    assert isinstance(found, RefitLearner)
    assert found.exactness == "given the transformers"
    assert found.estimators[0].knots is not None


def test_every_route_answers_with_an_offer_or_a_refusal_that_says_why():
    X, y = data()
    plan = FoldPlan(5, 2, 36, 8, 20)
    for estimator in (Ridge(), RidgeCV(), make_pipeline(StandardScaler(), Ridge())):
        task = task_of(estimator, X, y)
        learner = adapt(estimator, task)
        assert isinstance(learner, Learner)
        answers = [route.offer([learner], task, plan) for route in ROUTES]
        assert all(isinstance(answer, Offer | Refusal) and answer.reason for answer in answers)
        assert any(isinstance(answer, Offer) and answer.seconds > 0 for answer in answers)


def test_the_cheapest_offer_wins(monkeypatch):
    X, y = data()
    task, plan = task_of(Ridge(), X, y), FoldPlan(5, 2, 36, 8, 20)
    candidate = [adapt(Ridge(), task), RefitLearner([Ridge()])]
    prices = dict.fromkeys({route.name for route in ROUTES}, 4.0) | {"gram": 2.0, "onestep": 1.0, "refit": 3.0}
    for route in ROUTES:
        offer = lambda learners, task, plan, name=route.name: Offer(prices[name], "cheap")  # noqa: E731
        if not route.serves_together:
            monkeypatch.setattr(type(route), "offer", staticmethod(offer), raising=True)
    for cheapest in ("onestep", "gram", "refit"):
        prices[cheapest] = 0.1
        route, (bid,) = choose_routes([candidate], task, plan, "auto")
        assert (route.name, bid.reason) == (cheapest, "cheap")
        prices[cheapest] = 9.0


def test_one_pass_of_leave_two_out_serves_all_models_of_a_comparison():
    X, y = data()
    task, plan = task_of(Ridge(), X, y), FoldPlan(36, 1, 36, 1, 34, is_single_rows=True)
    candidates = [[adapt(model, task)] for model in (Ridge(), LinearRegression())]
    route, bids = choose_routes(candidates, task, plan, "auto")
    assert route.serves_together
    assert {bid.route for bid in bids} == {route}
    mixed = [*candidates, [RefitLearner([Lasso()])]]
    route, bids = choose_routes(mixed, task, plan, "auto")
    assert not route.serves_together
    assert [bid.route.name for bid in bids][2] == "refit"


@pytest.mark.parametrize(
    ("model", "needs", "expected"),
    [
        (Ridge(), frozenset(), 36),
        (Ridge(), frozenset({"fold variance"}), 10),
        (Ridge(), frozenset({"bias folds"}), 10),
        (RidgeCV(), frozenset(), 36),
        (Lasso(), frozenset(), 10),
    ],
    ids=repr,
)
def test_a_fold_for_each_row_where_an_offer_and_the_task_allow(model, needs, expected):
    X, y = data()
    task = task_of(model, X, y, needs=needs)
    found = adapt(model, task)
    candidate = [found] if isinstance(found, Learner) else [RefitLearner([model], found)]
    assert automatic_folds([candidate], task, "auto") == expected


def test_a_path_knows_penalties_from_names():
    assert Path("alpha", (1.0, 2)).penalties().tolist() == [[1.0], [2.0]]
    with pytest.raises(DataError, match="names make no curve"):
        Path("lam", ("gcv", 1.0)).penalties()


def test_a_foreign_estimator_with_weights_too_far_apart_is_refitted_like_our_own():
    X, y = data()
    weights = np.ones(len(y))
    weights[0] = 1e20
    result = quiet_nested_cv(Shrunk(), X, y, n_folds=4, n_repeats=1, sample_weight=weights)
    assert result.route == "refit"
    assert "sample_weight" in result.route_reason


def test_marks_and_values_of_a_refit_learner_survive_each_other():
    learner = RefitLearner([Ridge(1.0), Ridge(2.0)])
    assert learner.exactness == "exact"
    marked = learner.given_transformers()
    assert marked.exactness == marked.at([1]).exactness == "given the transformers"
    assert [each.alpha for each in marked.at([1]).estimators] == [2.0]
    assert learner.exactness == "exact"


class FromFactors(StatisticsLearner):
    """Least squares on the first columns, from triangular factors; there is no smoother behind it."""

    reason = "columns are taken one by one"
    n_values = 2

    def __init__(self, X, weights):
        self.X, self.weights, self.fit_intercept, self.width = X, weights, False, X.shape[1]

    def at(self, values):
        return self

    def fit(self, statistics):
        B, _, d = statistics.R.shape
        found = np.zeros((B, 2, d, statistics.z.shape[2]))
        for value, first in enumerate((1, d)):
            found[:, value, :first] = np.linalg.solve(statistics.R[:, :first, :first], statistics.z[:, :first])
        return Coefficients(found)


class FirstColumns(RegressorMixin, BaseEstimator):
    """Least squares on the first column, or on all."""

    def __init__(self, which="all"):
        self.which = which

    def fit(self, X, y, sample_weight=None):
        root = np.ones(len(y)) if sample_weight is None else np.sqrt(sample_weight)
        first = 1 if self.which == "one" else X.shape[1]
        self.coef_ = np.zeros(X.shape[1])
        self.coef_[:first] = np.linalg.lstsq(root[:, None] * X[:, :first], root * y, rcond=None)[0]
        return self

    def predict(self, X):
        return X @ self.coef_

    def __onefit_learner__(self, task, path=None):
        if path is None or path.values != ("one", "all"):
            return Refusal("it is for curves from one column to all")
        return FromFactors(numeric_matrix(task.problem), task.problem.weights)


@pytest.mark.parametrize("weighted", [False, True])
def test_a_foreign_learner_of_statistics_needs_no_smoother(weighted):
    X, y = data()
    options = {"param_name": "which", "param_range": ["one", "all"], "n_folds": 5, "n_repeats": 2, "random_state": 0}
    if weighted:
        options["sample_weight"] = np.where(np.arange(len(y)) % 5 == 0, 0.0, np.linspace(1, 2, len(y)))
    fast = quietly(onefit.error_curve, FirstColumns(), X, y, **options)
    slow = quietly(onefit.error_curve, FirstColumns(), X, y, route="refit", **options)
    assert [each.route for each in fast.results] == ["gram", "gram"]
    assert [each.route for each in slow.results] == ["refit", "refit"]
    for name in ("estimate", "low", "high"):
        np.testing.assert_allclose(getattr(fast, name), getattr(slow, name), rtol=1e-10)
        np.testing.assert_allclose(getattr(fast.difference, name), getattr(slow.difference, name), rtol=1e-8)
