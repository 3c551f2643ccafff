"""Estimators that tune their penalty are tuned inside every training set, exactly as they would tune themselves."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from flint import fmpq, fmpq_mat
from scipy import sparse
from sklearn.linear_model import Ridge, RidgeClassifierCV, RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

import onefit
import reference
from helpers import (
    FOLD_ERRORS,
    assert_same_results,
    badly_scaled,
    data,
    quiet_nested_cv,
    random_folds,
    random_groups,
    random_weights,
    relative_gap,
    warned_nested_cv,
)
from onefit import PenalizedRegression
from onefit.criteria import sets
from onefit.routes import tuned
from onefit.vocabulary import CRITERIA

ALPHAS = np.logspace(-3, 4, 15)
TOLERANCE = 1e-9
SHAPES = [(50, 6), (41, 28), (30, 30), (30, 50), (40, 1)]
shapes = pytest.mark.parametrize("shape", SHAPES, ids=str)
kinds = pytest.mark.parametrize("kind", ["none", "positive", "zeros"])
criteria = pytest.mark.parametrize("criterion", CRITERIA)
intercepts = pytest.mark.parametrize("fit_intercept", [True, False])


def noisy(n, p, seed, n_outputs=None):
    """Data in which the best penalty is neither zero nor infinite and differs between training sets."""
    X, y = data(n, p, seed, n_outputs)
    return X, y + 2 * np.random.default_rng(seed + 100).standard_normal(y.shape)


def assert_equals_refits(estimator, X, y, rtol=TOLERANCE, **settings):
    """Fast route and real refits agree in all fold errors; returns the fast result."""
    settings = {"n_folds": 5, "n_repeats": 2, "random_state": 0, **settings}
    fast = quiet_nested_cv(estimator, X, y, **settings)
    slow = quiet_nested_cv(estimator, X, y, **settings, route="refit")
    assert (fast.route, slow.route) == ("gram", "refit")
    for name in FOLD_ERRORS:
        gap = relative_gap(getattr(fast.fold_errors, name), getattr(slow.fold_errors, name))
        assert gap <= rtol, f"{name}: {gap:.2e}"
    return fast


def alphas_chosen(estimator, X, y, folds):
    """What the estimator itself chooses in every training set."""
    return [estimator.fit(X[train], y[train]).alpha_ for _, train in reference.training_sets(folds)]


# --------------------------------------------------------------------------------------- RidgeCV


@pytest.mark.sweep(4)
@shapes
@kinds
@intercepts
def test_ridge_cv_equals_its_refits(shape, kind, fit_intercept):
    X, y = noisy(*shape, seed=1)
    weights = random_weights(shape[0], kind, seed=1)
    assert_equals_refits(RidgeCV(ALPHAS, fit_intercept=fit_intercept), X, y, sample_weight=weights)


def test_the_training_sets_of_these_tests_choose_different_penalties():
    X, y = noisy(50, 6, seed=1)
    assert len(set(alphas_chosen(RidgeCV(ALPHAS), X, y, random_folds(50, 5)[0]))) > 2


@pytest.mark.parametrize("gcv_mode", [None, "svd", "eigen"])
def test_ridge_cv_in_every_mode(gcv_mode):
    assert_equals_refits(RidgeCV(ALPHAS, gcv_mode=gcv_mode), *noisy(40, 8, seed=2))


@pytest.mark.sweep(2)
@kinds
@pytest.mark.parametrize("alpha_per_target", [False, True])
@pytest.mark.parametrize("shape", [(50, 6), (30, 40)], ids=str)
def test_ridge_cv_with_several_outputs(shape, alpha_per_target, kind):
    X, Y = noisy(*shape, seed=3, n_outputs=3)
    Y[:, 1] = 10 * np.random.default_rng(0).standard_normal(shape[0])  # an output that wants another penalty
    weights = random_weights(shape[0], kind, seed=3)
    assert_equals_refits(RidgeCV(ALPHAS, alpha_per_target=alpha_per_target), X, Y, sample_weight=weights)


def test_a_penalty_for_each_output_is_another_model():
    X, Y = noisy(50, 6, seed=3, n_outputs=3)
    models = (RidgeCV(ALPHAS, alpha_per_target=each) for each in (False, True))
    one, each = (quiet_nested_cv(model, X, Y, n_folds=5, random_state=0) for model in models)
    assert np.abs(np.asarray(one.estimate) - np.asarray(each.estimate)).max() > 1e-6


def test_outputs_are_tuned_a_few_at_a_time_and_have_the_figures_of_refits(monkeypatch):
    X, Y = noisy(50, 6, seed=3, n_outputs=5)
    Y[:, 1] = 10 * np.random.default_rng(0).standard_normal(50)
    weights = random_weights(50, "zeros", seed=3)
    model = RidgeCV(ALPHAS, alpha_per_target=True)
    together = quiet_nested_cv(model, X, Y, n_folds=5, n_repeats=2, random_state=0, sample_weight=weights)
    monkeypatch.setattr(tuned, "OUTPUTS_AT_ONCE", 2)
    monkeypatch.setattr(sets, "OUTPUTS_BYTES", 1)
    assert_equals_refits(model, X, Y, sample_weight=weights)
    keywords = {"n_folds": 5, "n_repeats": 2, "random_state": 0, "sample_weight": weights}
    apart, on_two = (quiet_nested_cv(model, X, Y, n_jobs=n_jobs, **keywords) for n_jobs in (1, 2))
    np.testing.assert_allclose(apart.fold_errors.e_out, together.fold_errors.e_out, rtol=1e-11)
    assert np.array_equal(apart.heldout, on_two.heldout, equal_nan=True)
    assert np.array_equal(apart.fold_errors.e_out, on_two.fold_errors.e_out)


def test_a_penalty_for_each_of_many_outputs_takes_less_memory_than_their_rows_at_all_penalties():
    n, n_outputs, alphas = 100, 2000, np.logspace(-2, 4, 50)
    X, Y = noisy(n, 20, seed=3, n_outputs=n_outputs)
    model = RidgeCV(alphas, alpha_per_target=True)
    tracemalloc.start()
    try:
        result = quiet_nested_cv(model, X, Y, n_folds=3, n_repeats=1, random_state=0)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert result.route == "gram"
    assert peak < 0.6 * 8 * n * n_outputs * len(alphas)  # 48 MB, 30 times those of y


def test_one_alpha_is_ridge():
    X, y = noisy(40, 5, seed=4)
    settings = {"n_folds": 5, "n_repeats": 2, "random_state": 0}
    for alphas in (3.0, [3.0], [3.0, 3.0]):
        tuned = quiet_nested_cv(RidgeCV(alphas), X, y, **settings)
        assert_same_results(tuned, quiet_nested_cv(PenalizedRegression(lam=3.0), X, y, **settings))


def test_the_first_of_tied_alphas_wins():
    X, _ = noisy(40, 5, seed=5)
    y = np.full(40, 2.0)  # every alpha predicts it without error
    y[0] = 2.0 + 1e-9
    result = quiet_nested_cv(RidgeCV([7.0, 7.0, 7.0 * (1 + 1e-15)]), X, y, n_folds=5, n_repeats=1, random_state=0)
    expected = quiet_nested_cv(PenalizedRegression(lam=7.0), X, y, n_folds=5, n_repeats=1, random_state=0)
    assert relative_gap(result.fold_errors.e_out, expected.fold_errors.e_out) < 1e-6


def test_unsorted_alphas():
    assert_equals_refits(RidgeCV([10.0, 0.1, 1000.0, 1.0]), *noisy(40, 5, seed=6))


@pytest.mark.parametrize("shape", [(50, 6), (30, 40)], ids=str)
def test_sparse_designs(shape):
    X, y = noisy(*shape, seed=7)
    assert_equals_refits(RidgeCV(ALPHAS), sparse.csr_matrix(X * (np.abs(X) > 0.8)), y)


# ------------------------------------------------------------------------------------ classifiers


@pytest.mark.sweep(4)
@kinds
@pytest.mark.parametrize("n_classes", [2, 3, 4])
@pytest.mark.parametrize("shape", [(80, 6), (40, 50)], ids=str)
def test_ridge_classifier_cv_equals_its_refits(shape, n_classes, kind):
    X, y = noisy(*shape, seed=8)
    labels = np.array(list("dacb"))[np.argsort(np.argsort(y)) * n_classes // len(y)]
    weights = random_weights(shape[0], kind, seed=8)
    assert_equals_refits(RidgeClassifierCV(ALPHAS), X, labels, sample_weight=weights)


# ------------------------------------------------------------------------------------- our own models


@pytest.mark.sweep(4)
@shapes
@kinds
@criteria
def test_own_models_equal_their_refits(shape, kind, criterion):
    X, y = noisy(*shape, seed=9)
    weights = random_weights(shape[0], kind, seed=9)
    assert_equals_refits(PenalizedRegression(lam=criterion), X, y, sample_weight=weights)


@criteria
@intercepts
def test_a_penalty_with_a_null_space(criterion, fit_intercept):
    X, y = noisy(50, 9, seed=10)
    D = np.diff(np.eye(9), n=2, axis=0)
    assert_equals_refits(PenalizedRegression(D.T @ D, criterion, fit_intercept), X, y)


@criteria
def test_own_models_with_several_outputs(criterion):
    assert_equals_refits(PenalizedRegression(lam=criterion), *noisy(40, 6, seed=11, n_outputs=2))


@pytest.mark.sweep(2)
@criteria
@pytest.mark.parametrize("seed", range(4))
def test_a_smooth_curve_with_an_inner_minimum(criterion, seed):
    rng = np.random.default_rng(seed)
    x = np.sort(rng.uniform(size=60))
    X = np.maximum(0.0, 1 - np.abs(x[:, None] * 11 - np.arange(12)))  # hat functions
    D = np.diff(np.eye(12), n=2, axis=0)
    y = np.sin(6 * x) + 0.3 * rng.standard_normal(60)
    model = PenalizedRegression(D.T @ D, criterion, fit_intercept=False)
    assert 3 < model.fit(X, y).edf_ < 11
    assert_equals_refits(model, X, y)


# ------------------------------------------------------------------------------- folds, groups, two out


@pytest.mark.parametrize("estimator", [RidgeCV(ALPHAS), *(PenalizedRegression(lam=c) for c in CRITERIA)], ids=str)
def test_groups_uneven_folds_and_rows_never_scored(estimator):
    X, y = noisy(45, 5, seed=12)
    assert_equals_refits(estimator, X, y, groups=random_groups(45, 12))
    assert_equals_refits(estimator, X, y, groups=random_groups(45, 12), n_folds="n", n_repeats=1)
    rng = np.random.default_rng(0)
    folds = np.array([rng.permutation(np.repeat([-1, 0, 1, 2, 3], [4, 20, 10, 6, 5])) for _ in range(2)])
    assert_equals_refits(estimator, X, y, folds=folds, n_folds="auto", n_repeats="auto")


@pytest.mark.parametrize("estimator", [RidgeCV(ALPHAS), *(PenalizedRegression(lam=c) for c in CRITERIA)], ids=str)
@pytest.mark.parametrize("shape", [(25, 4), (15, 20)], ids=str)
def test_leave_two_out(estimator, shape):
    X, y = noisy(*shape, seed=13)
    fast = assert_equals_refits(estimator, X, y, n_folds="n", n_repeats=1)
    assert fast.n_folds == shape[0]


def test_automatic_folds_leave_two_out_of_few_rows_and_say_so_otherwise():
    X, y = noisy(120, 3, seed=14)
    assert quiet_nested_cv(PenalizedRegression(lam="gcv"), X, y).n_folds == 120
    assert quiet_nested_cv(RidgeCV(ALPHAS), X[:40], y[:40]).n_folds == 40
    by_rows = quiet_nested_cv(RidgeCV(ALPHAS), X, y)
    assert by_rows.n_folds == 10
    assert "up to 100 rows" in by_rows.route_reason
    assert quiet_nested_cv(RidgeCV(ALPHAS), X[:40], y[:40], interval="bates").n_folds == 10


# -------------------------------------------------------------------------------------- hard numerics


@criteria
def test_columns_in_very_different_units(criterion):
    X, y = noisy(50, 6, seed=15)
    assert_equals_refits(PenalizedRegression(lam=criterion), badly_scaled(X, 0), y)


@pytest.mark.parametrize("estimator", [RidgeCV(ALPHAS), *(PenalizedRegression(lam=c) for c in CRITERIA)], ids=str)
@pytest.mark.parametrize("distance", [0.0, 1e-7])
def test_columns_that_are_nearly_the_same(estimator, distance):
    X, y = noisy(50, 6, seed=16)
    X[:, 1] = X[:, 0] + distance * X[:, 2]
    assert_equals_refits(estimator, X, y)


@pytest.mark.parametrize("estimator", [RidgeCV(ALPHAS), *(PenalizedRegression(lam=c) for c in CRITERIA)], ids=str)
def test_a_penalized_dummy_column_that_lives_in_one_fold(estimator):
    X, y = noisy(40, 5, seed=17)
    folds = random_folds(40, 5)
    X[:, 4] = np.where((folds[0] == 2) & (np.arange(40) % 2 == 0), 1.0, 0.0)
    assert_equals_refits(estimator, X, y, folds=folds, n_folds="auto", n_repeats="auto")


def test_a_free_column_that_lives_in_one_fold_is_an_error_that_says_where():
    X, y = noisy(40, 5, seed=18)
    folds = random_folds(40, 5)
    X[:, 4] = np.where(folds[0] == 2, 1.0, 0.0)
    S = np.diag([1.0, 1.0, 1.0, 1.0, 0.0])
    with pytest.raises(onefit.errors.OneFitError, match=r"fold 2 held out"):
        onefit.nested_cv(PenalizedRegression(S, "gcv"), X, y, folds=folds)


@criteria
def test_an_offset_costs_no_more_than_its_digits(criterion):
    X, y = noisy(50, 5, seed=19)
    assert_equals_refits(PenalizedRegression(lam=criterion), X + 1e5, y + 1e5, rtol=1e-8)


def test_small_alphas_where_scikit_learn_itself_cannot_be_asked():
    """Alphas of 1e-12 with p > n: the literal choice by stacked fits in extended precision."""
    X, y = noisy(16, 20, seed=20)
    alphas = np.array([1e-12, 1e-6, 1e-3])
    folds = random_folds(16, 4)
    result = quiet_nested_cv(RidgeCV(alphas), X, y, folds=folds)

    def predict(train, test):
        def heldout(lam, i):
            return y[i] - reference.refit_predictions(X, y, train[train != i], [i], lam)[0]

        best = alphas[np.argmin([sum(heldout(lam, i) ** 2 for i in train) for lam in alphas])]
        return reference.refit_predictions(X, y, train, test, best)

    for fold in range(4):
        test, train = np.flatnonzero(folds[0] == fold), np.flatnonzero(folds[0] != fold)
        expected = np.mean((y[test] - predict(train, test)) ** 2)
        np.testing.assert_allclose(result.fold_errors.e_out[0, fold], expected, rtol=1e-7)


# ------------------------------------------------------------------------------------ who takes the route


@pytest.mark.parametrize(
    ("estimator", "reason"),
    [
        (RidgeCV(ALPHAS, scoring="neg_mean_absolute_error"), "cv or scoring"),
        (RidgeClassifierCV(ALPHAS, class_weight="balanced"), "class_weight"),
        (make_pipeline(StandardScaler(), RidgeCV(ALPHAS, scoring="r2")), "cv or scoring"),
    ],
    ids=str,
)
def test_what_is_tuned_otherwise_is_refitted(estimator, reason):
    X, y = noisy(30, 3, seed=21)
    result = quiet_nested_cv(estimator, X, (y > np.median(y)).astype(int), n_folds=3, n_repeats=1)
    assert result.route == "refit"
    assert reason in result.route_reason


def test_pipelines_end_in_tuned_estimators():
    X, y = noisy(40, 3, seed=22)
    assert_equals_refits(make_pipeline(PolynomialFeatures(2), RidgeCV(ALPHAS)), X, y)
    frozen = quiet_nested_cv(
        make_pipeline(StandardScaler(), RidgeCV(ALPHAS)), X, y, transformers="freeze", n_folds=5, n_repeats=1
    )
    assert (frozen.route, frozen.exactness) == ("gram", "given the transformers")


def test_a_subclass_is_refitted():
    class Mine(RidgeCV):
        pass

    X, y = noisy(30, 3, seed=23)
    assert quiet_nested_cv(Mine(ALPHAS), X, y, n_folds=3, n_repeats=1).route == "refit"


def test_the_one_step_route_says_why_it_cannot():
    X, y = noisy(30, 3, seed=24)
    with pytest.raises(onefit.errors.RouteError, match="tunes its penalty"):
        onefit.nested_cv(RidgeCV(ALPHAS), X, y, route="onestep")


@pytest.mark.parametrize("alphas", [[], [0.0, 1.0], [-1.0], [np.inf], [[1.0, 2.0]], ["a"]], ids=str)
def test_alphas_that_cannot_be_used(alphas):
    X, y = noisy(30, 3, seed=25)
    with pytest.raises(ValueError, match="alphas"):
        onefit.nested_cv(RidgeCV(alphas), X, y)


def test_progress_reaches_its_end_and_the_estimator_is_not_touched():
    X, y = noisy(40, 3, seed=26)
    seen, estimator = [], RidgeCV(ALPHAS)
    quiet_nested_cv(estimator, X, y, n_folds=5, n_repeats=3, progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (3, 3)
    assert not hasattr(estimator, "alpha_")


def test_an_interval_comes_out_as_for_any_estimator():
    X, y = noisy(60, 5, seed=27)
    result, _ = warned_nested_cv(PenalizedRegression(lam="reml"), X, y, random_state=0)
    low, high = result.interval
    assert 0 < low < result.estimate < high
    rules = quiet_nested_cv(
        RidgeCV(ALPHAS), X, y, n_folds=5, n_repeats=3, bias_folds=2, interval="bates", random_state=0
    )
    assert np.isfinite(rules.intervals.drop(index="paper").to_numpy()).all()


@pytest.mark.parametrize(("seed", "fold"), [(62, 2), (112, 2), (113, 0)])
def test_a_row_that_alone_sees_a_column_has_its_leave_one_out_beside_columns_in_other_units(seed, fold):
    """A penalty of 1e-8 of its square: directions of small columns have too few digits for what is left of the row."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(21, 5)) * [3e3, 560.0, 5e-3, 1e-4, 1.0] + [0.0, 9.08e6, 4.81e4, 7e-4, 0.0]
    X[:, 4] = np.where(np.arange(21) == 10, 279.0, 0.0)
    X = np.column_stack([X, X[:, 0] + 1e-5 * rng.normal(size=21)])
    weights = 10 ** rng.uniform(0.5, 3.0, 21)
    weights[10] = 1038.0
    y, folds, alphas = 2 * rng.normal(size=21), np.repeat(np.arange(3), 7), [1.78, 30.0, 814.7]

    def predicted(alpha, rows, new):
        fit = Ridge(alpha, solver="svd").fit(X[rows], y[rows], sample_weight=weights[rows])
        return fit.predict(X[new])

    train, held_out = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
    errors = [
        sum(weights[i] * (y[i] - predicted(alpha, train[train != i], [i])[0]) ** 2 for i in train) for alpha in alphas
    ]
    result = quiet_nested_cv(RidgeCV(alphas), X, y, folds=folds, sample_weight=weights)
    expected = predicted(alphas[int(np.argmin(errors))], train, held_out)
    np.testing.assert_allclose(result.heldout["prediction"].to_numpy()[held_out], expected, rtol=1e-7)


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_columns_that_live_in_one_row_together_leave_leave_one_out_its_digits(fit_intercept):
    """Without row 3 no row tells the two large columns of row 5 apart; their difference is seen by row 3 alone."""
    rng = np.random.default_rng(6)
    X = rng.normal(size=(30, 6)) * [4e9, 1e6, 1e3, 1.0, 1e-2, 3e-3]
    rare = np.zeros((30, 2))
    rare[[5, 5, 3], [0, 1, 1]] = 2e8, 4e6, 4.5e7
    X, alphas = np.hstack([X, rare]), [3e-7, 2.0, 1e8]
    y, folds = X @ (1.0 / np.abs(X).max(axis=0)) + rng.normal(size=30), np.repeat(np.arange(3), 10)

    def predicted(alpha, rows, new):
        """In whole numbers."""
        Z = np.hstack([X, np.full((30, 1), float(fit_intercept))])
        train, other = (
            fmpq_mat(len(some), 9, [fmpq(*v.as_integer_ratio()) for v in Z[some].ravel()]) for some in (rows, new)
        )
        S = train.transpose() * train
        for j in range(9):  # a constant that is not there has coefficient zero
            S[j, j] += fmpq(*alpha.as_integer_ratio()) if j < 8 else 1 - fit_intercept
        right = fmpq_mat(len(rows), 1, [fmpq(*v.as_integer_ratio()) for v in y[rows]])
        fitted = other * S.solve(train.transpose() * right)
        return np.array([int(v.p) / int(v.q) for v in fitted.entries()])

    train, held_out = np.flatnonzero(folds != 2), np.flatnonzero(folds == 2)
    errors = [sum((y[i] - predicted(a, train[train != i], [i])[0]) ** 2 for i in train) for a in alphas]
    result = quiet_nested_cv(RidgeCV(alphas, fit_intercept=fit_intercept), X, y, folds=folds)
    expected = predicted(alphas[int(np.argmin(errors))], train, held_out)
    np.testing.assert_allclose(result.heldout["prediction"].to_numpy()[held_out], expected, rtol=1e-7)


@pytest.mark.parametrize("offset", [0.0, 100.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_training_sets_of_two_rows_get_the_first_penalty_as_each_row_is_predicted_by_the_other_whatever_it_is(
    offset, weighted
):
    """Of 50 such data sets, 36 had another one with the other rows' rounding errors (fuzz case 540012256)."""
    rng = np.random.default_rng(0)
    for seed in range(50):
        X, y = noisy(6, 3, seed)
        ids = np.repeat(np.arange(3), 2)
        weights = rng.uniform(1, 2, 6) if weighted else None
        given = {"folds": ids[None], "sample_weight": weights, "progress": False}
        searched, _ = warned_nested_cv(RidgeCV([0.5, 5.0, 50.0]), X + offset, y, **given)
        fixed, _ = warned_nested_cv(Ridge(0.5), X + offset, y, **given)
        np.testing.assert_allclose(searched.fold_errors.e_in, fixed.fold_errors.e_in, rtol=TOLERANCE)
