"""Nearest neighbours from one list a row: what refits of scikit-learn's own objects give, ties and short lists too."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.metrics import pairwise_distances
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

import onefit
from helpers import assert_same_results, quietly, random_folds, random_groups
from onefit.errors import DataError, RefitError, RouteError, TrainingSetError
from onefit.learners import Learner, NeighbourLearner, Refusal, Task, adapt
from onefit.routes import byestimator
from onefit.routes.neighbours import _Sets

METRICS = ["euclidean", "manhattan", "chebyshev", "canberra", "braycurtis", "cosine", "sqeuclidean", "hamming"]


def both(estimator, X, y, **keywords):
    """The same job by lists of neighbours and by refits."""
    fast = quietly(onefit.nested_cv, estimator, X, y, route="neighbours", **keywords)
    return fast, quietly(onefit.nested_cv, estimator, X, y, route="refit", **keywords)


def assert_refits(estimator, X, y, **keywords):
    fast, refitted = both(estimator, X, y, **keywords)
    assert fast.route == "neighbours"
    assert_same_results(fast, refitted)


@st.composite
def problems(draw):
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    n, p = draw(st.integers(9, 40)), draw(st.sampled_from([1, 2, 3, 17]))
    X = rng.normal(size=(n, p)) * 10.0 ** rng.integers(-2, 3, p) + rng.integers(-5, 5, p)
    kind = draw(st.sampled_from(["plain", "plain", "whole", "copies"]))
    if kind == "whole":
        X = np.round(rng.normal(size=(n, p)) * 2)
    if kind == "copies":
        X[rng.integers(0, n, n // 3)] = X[rng.integers(0, n, n // 3)]
    classes = draw(st.sampled_from([0, 2, 3]))
    y = rng.normal(size=n) + X[:, 0] / np.abs(X[:, 0]).max(initial=1.0)
    if classes:
        y = rng.integers(0, classes, n)
    K = draw(st.sampled_from([3, 4, min(n, 8)]))
    # any row may be in any fold, so that folds have any sizes and a training set may lack a class
    folds = np.vstack([rng.permutation(np.r_[np.arange(K), rng.integers(0, K, n - K)]) for _ in range(2)])
    return X, y, classes, folds


@given(
    problems(),
    st.integers(1, 6),
    st.sampled_from(["uniform", "distance"]),
    st.sampled_from(["auto", "brute"]),
    st.sampled_from([1, 1.5, 2, np.inf]),
)
def test_it_is_what_refits_give(problem, k, weights, algorithm, p):
    X, y, classes, folds = problem
    kind = KNeighborsClassifier if classes else KNeighborsRegressor
    estimator = kind(k, weights=weights, algorithm=algorithm, p=p)
    sizes = np.sort(np.array([np.bincount(each) for each in folds]), axis=1)
    if k > len(X) - sizes[:, -2:].sum(axis=1).max():
        with pytest.raises(TrainingSetError, match="fewer than n_neighbors"):
            quietly(onefit.nested_cv, estimator, X, y, folds=folds, route="neighbours")
        return
    try:
        fast = quietly(onefit.nested_cv, estimator, X, y, folds=folds, route="neighbours")
    except RouteError as error:
        assert "equally far" in str(error)  # noqa: PT017  (only some problems are refused)
        return
    slow = quietly(onefit.nested_cv, estimator, X, y, folds=folds, route="refit")
    for name in ("e_in", "e_out"):
        figures = [getattr(result.fold_errors, name) for result in (fast, slow)]
        np.testing.assert_allclose(*figures, rtol=1e-9, atol=1e-12, err_msg=name)
    held_out = [result.heldout.to_numpy(float) for result in (fast, slow)]
    np.testing.assert_allclose(*held_out, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(fast.interval, slow.interval, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("metric", METRICS)
def test_every_metric_is_scikit_learns(metric):
    rng = np.random.default_rng(1)
    X = np.abs(rng.normal(size=(40, 4)))
    X = np.round(X) if metric == "hamming" else X
    y = X[:, 0] + rng.normal(size=40)
    if metric != "hamming":
        assert_refits(KNeighborsRegressor(3, metric=metric), X, y, n_folds=5, n_repeats=2, random_state=0)
    else:  # ties everywhere
        result = quietly(onefit.nested_cv, KNeighborsRegressor(3, metric=metric), X, y, n_folds=5, n_repeats=2)
        assert result.route == "refit"
        assert "equally far" in result.route_reason


@pytest.mark.parametrize("count", [1, 8])
@pytest.mark.parametrize("weights", ["uniform", "distance"])
def test_rows_that_have_no_correlation_are_left_to_scikit_learn(count, weights):
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(60, 3)), rng.normal(size=60)
    X[:count] = 1.0  # distances of these are NaN, in whatever order
    estimator = KNeighborsRegressor(metric="correlation", weights=weights)
    both = []
    for route in ("auto", "refit"):
        try:
            both.append(quietly(onefit.nested_cv, estimator, X, y, n_folds=5, n_repeats=2, random_state=0, route=route))
        except RefitError as error:
            both.append(str(error))
    if weights == "distance":
        assert all("predicts NaN" in str(each) for each in both)
    else:
        assert_same_results(*both)


def test_distances_may_be_given():
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(40, 3)), rng.normal(size=40)
    D = pairwise_distances(X)
    folds = random_folds(40, 5, 2)
    fast, refitted = both(KNeighborsRegressor(4, metric="precomputed", weights="distance"), D, y, folds=folds)
    assert_same_results(fast, refitted)
    assert_same_results(fast, quietly(onefit.nested_cv, KNeighborsRegressor(4, weights="distance"), X, y, folds=folds))


def test_sparse_rows_and_frames_and_several_outputs():
    rng = np.random.default_rng(3)
    X = sparse.random(60, 30, 0.3, random_state=0, format="csr")
    assert_refits(KNeighborsRegressor(3), X, rng.normal(size=(60, 2)), n_folds=5, n_repeats=2, random_state=0)
    frame = pd.DataFrame(rng.normal(size=(60, 2)), columns=["a", "b"])
    y = pd.Series(np.where(frame["a"] > 0, 7, 3))
    assert_refits(KNeighborsClassifier(3), frame, y, n_folds=5, n_repeats=2, random_state=0)


def test_two_rows_and_two_groups_out():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(24, 2))
    y = X[:, 0] + rng.normal(size=24)
    assert_refits(KNeighborsRegressor(4), X, y, n_folds="n")
    groups = random_groups(24, 8)
    X = X + 30 * groups[:, None]  # the nearest rows are those of its own group, which are never in the training set
    assert_refits(KNeighborsRegressor(4), X, y, n_folds="n", groups=groups)


def test_lists_that_are_too_short_become_longer(monkeypatch):
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(80, 2)), rng.normal(size=80)
    folds = np.argsort(np.argsort(X[:, 0]))[None] * 5 // 80  # neighbours share their folds
    expected = quietly(onefit.nested_cv, KNeighborsRegressor(3), X, y, folds=folds, route="refit")
    assert_same_results(quietly(onefit.nested_cv, KNeighborsRegressor(3), X, y, folds=folds), expected)
    monkeypatch.setattr(_Sets, "_length", 5)
    assert_same_results(quietly(onefit.nested_cv, KNeighborsRegressor(3), X, y, folds=folds), expected)


def test_a_curve_over_neighbours_is_one_pass_and_equals_refits():
    rng = np.random.default_rng(6)
    X, y = rng.normal(size=(50, 2)), rng.integers(0, 3, 50)
    keywords = {"param_name": "n_neighbors", "param_range": [1, 2, 5, 9, 60], "simpler": "larger", "random_state": 0}
    keywords |= {"n_folds": 5, "n_repeats": 3}
    for weights in ("uniform", "distance"):
        curves = [
            quietly(onefit.error_curve, KNeighborsClassifier(weights=weights), X, y, route=route, **keywords)
            for route in ("neighbours", "refit")
        ]
        for fast, refitted in zip(curves[0].results[:-1], curves[1].results[:-1], strict=True):
            assert_same_results(fast, refitted)
        assert curves[0].results[-1] is None  # more neighbours than rows
        assert curves[1].results[-1] is None


def test_a_tie_is_broken_by_scikit_learn_and_only_there(monkeypatch):
    rng = np.random.default_rng(7)
    X, y = rng.normal(size=(200, 2)), rng.normal(size=200)
    X[1], X[2] = X[0] + [1e-3, 0], X[0] - [1e-3, 0]  # as far from row 0, one on each side
    X[0] = (X[1] + X[2]) / 2
    calls = []
    original = byestimator.clone
    monkeypatch.setattr(byestimator, "clone", lambda estimator: (calls.append(1), original(estimator))[1])
    folds = random_folds(200, 10)
    fast, refitted = both(KNeighborsRegressor(1), X, y, folds=folds)
    assert_same_results(fast, refitted)
    assert 0 < len(calls) <= 10  # the fold of row 0, alone and with each other


def test_bits_do_not_depend_on_jobs():
    rng = np.random.default_rng(8)
    X, y = np.round(rng.normal(size=(150, 3)), 2), rng.normal(size=150)
    keywords = {"n_folds": 6, "n_repeats": 9, "random_state": 0, "route": "neighbours"}
    one, four = (onefit.nested_cv(KNeighborsRegressor(3), X, y, n_jobs=jobs, **keywords) for jobs in (1, 4))
    assert one.estimate == four.estimate
    assert one.interval == four.interval


@pytest.mark.parametrize(
    ("estimator", "reason"),
    [
        (KNeighborsRegressor(weights=lambda d: 1 / (1 + d)), "weights is a function"),
        (KNeighborsRegressor(metric=lambda a, b: np.abs(a - b).sum()), "its metric is a function"),
        (KNeighborsRegressor(metric="nan_euclidean"), "missing values"),
        (make_pipeline(StandardScaler(), KNeighborsRegressor()), "distances between rows change"),
        (GridSearchCV(KNeighborsRegressor(), {"n_neighbors": [1, 2]}), ""),
    ],
)
def test_what_changes_the_order_of_neighbours_is_refitted_with_a_reason(estimator, reason):
    rng = np.random.default_rng(9)
    X, y = rng.normal(size=(30, 2)), rng.normal(size=30)
    result = quietly(onefit.nested_cv, estimator, X, y, n_folds=3, n_repeats=1)
    assert result.route == "refit"
    assert reason in result.route_reason


def test_fixed_transformers_may_stand_before_it():
    rng = np.random.default_rng(10)
    X, y = np.exp(rng.normal(size=(60, 2))), rng.normal(size=60)
    assert_refits(
        make_pipeline(FunctionTransformer(np.log), KNeighborsRegressor(3)), X, y, folds=random_folds(60, 5, 2)
    )


def test_more_neighbours_than_rows_is_an_error_that_says_so(monkeypatch):
    rng = np.random.default_rng(11)
    X, y = rng.normal(size=(20, 2)), rng.normal(size=20)
    with pytest.raises(TrainingSetError, match="has 12 rows, fewer than n_neighbors=13"):
        onefit.nested_cv(KNeighborsRegressor(13), X, y, n_folds=5)
    monkeypatch.setattr(NeighbourLearner, "check_fits", lambda learner, smallest: {})  # as if folds were even
    with pytest.raises(TrainingSetError, match="In repeat 0 with folds 0 and 1 held out, the training set has 12 rows"):
        onefit.nested_cv(KNeighborsRegressor(13), X, y, n_folds=5)


def test_a_metric_that_is_estimated_is_refused():
    X, y = np.random.default_rng(14).normal(size=(20, 2)), np.arange(20.0)
    task = Task(onefit.validation.check_problem([KNeighborsRegressor()], X, y), onefit.metrics.find_loss(None), None)
    found = adapt(KNeighborsRegressor(metric="seuclidean"), task)
    assert isinstance(found, Refusal)
    assert "estimated from every training set" in found.reason
    assert isinstance(adapt(KNeighborsRegressor(metric="seuclidean", metric_params={"V": [1, 2]}), task), Learner)


def test_weights_and_wrong_parameters_are_refused_as_refits_refuse_them():
    rng = np.random.default_rng(12)
    X, y = rng.normal(size=(20, 2)), rng.normal(size=20)
    with pytest.raises(DataError, match="takes no sample_weight"):
        onefit.nested_cv(KNeighborsRegressor(3), X, y, sample_weight=np.ones(20))
    with pytest.raises(DataError, match="n_neighbors"):
        onefit.nested_cv(KNeighborsRegressor(0), X, y)


@pytest.mark.parametrize("classes", [2, 3])
def test_votes_are_the_probabilities_of_a_refit(classes):
    rng = np.random.default_rng(13)
    X, y = rng.normal(size=(60, 2)), rng.integers(0, classes, 60)
    problem = onefit.validation.check_problem([KNeighborsClassifier()], X, y)
    loss = onefit.metrics.find_loss(None, problem.classes)
    for weights in ("uniform", "distance"):
        estimator = KNeighborsClassifier(4, weights=weights)
        learner = adapt(estimator, Task(problem, loss, None))
        assert isinstance(learner, NeighbourLearner)
        fitted = estimator.fit(X[:40], y[:40])
        distance, nearest = fitted.kneighbors(X[40:])
        means, _ = learner.means(nearest, distance)
        expected = fitted.predict_proba(X[40:])
        np.testing.assert_allclose(learner.respond("predict_proba", means[:, 0]), expected, atol=1e-12)
        np.testing.assert_allclose(learner.scores_of(fitted, X[40:]), means[:, 0], atol=1e-12)
