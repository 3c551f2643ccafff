"""scoring=, cv= and columns by name: scikit-learn's numbers on the same folds, whichever route computes them."""

import json
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.compose import TransformedTargetRegressor
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge, RidgeClassifier, RidgeCV
from sklearn.metrics import brier_score_loss, fbeta_score, get_scorer, make_scorer, mean_squared_error
from sklearn.model_selection import KFold, PredefinedSplit, StratifiedKFold, cross_validate
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import onefit
from onefit.errors import DataError, FoldError, IntervalError, OneFitError

pytestmark = pytest.mark.filterwarnings("ignore::onefit.errors.OneFitWarning")  # small tables, few repeats

REGRESSION = [
    "r2",
    "explained_variance",
    "neg_root_mean_squared_error",
    "neg_mean_absolute_error",
    "neg_mean_squared_error",
]
BINARY = ["roc_auc", "neg_log_loss", "neg_brier_score", "accuracy", "balanced_accuracy", "f1", "average_precision"]


def numbers(n=60, p=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    return X, X @ np.arange(1.0, p + 1) + rng.normal(size=n)


def classes(n=120):
    X, y = load_breast_cancer(return_X_y=True)
    pick = np.random.default_rng(1).permutation(len(y))[:n]
    return X[pick, :4], y[pick]


def stratified(y, K=4):
    """Ids of folds that hold all classes."""
    ids = np.empty(len(y), dtype=int)
    for fold, (_, test) in enumerate(StratifiedKFold(K, shuffle=True, random_state=0).split(y[:, None], y)):
        ids[test] = fold
    return ids


@pytest.mark.parametrize("route", ["gram", "onestep", "refit"])
@pytest.mark.parametrize("name", REGRESSION)
def test_fold_scores_of_regression_are_scikit_learns_on_every_route(route, name):
    X, y = numbers()
    ids = np.arange(60) % 5
    result = onefit.nested_cv(
        Ridge(), X, y, scoring=[name, "r2" if name != "r2" else "explained_variance"], folds=ids, route=route
    )
    expected = cross_validate(Ridge(), X, y, scoring=name, cv=PredefinedSplit(ids))["test_score"]
    np.testing.assert_allclose(result.cv_estimate, expected.mean(), rtol=1e-12)
    np.testing.assert_allclose(result.fold_errors.e_out[0], expected, rtol=1e-11)
    assert result.greater_is_better
    assert result.metrics.loc[name, "low"] < result.metrics.loc[name, "high"]


@pytest.mark.parametrize("name", BINARY)
def test_fold_scores_of_classifiers_are_scikit_learns(name):
    X, y = classes()
    ids = stratified(y)
    model = make_pipeline(StandardScaler(), LogisticRegression())
    result = onefit.nested_cv(model, X, y, scoring=[name], folds=ids, route="refit")
    expected = cross_validate(model, X, y, scoring=name, cv=PredefinedSplit(ids))["test_score"]
    sizes = np.bincount(ids)
    np.testing.assert_allclose(result.cv_estimate, expected @ sizes / sizes.sum(), rtol=1e-12)


@pytest.mark.parametrize("model", [RidgeClassifier(), make_pipeline(StandardScaler(), RidgeClassifier(0.3))])
def test_decisions_of_fast_routes_are_those_of_refits(model):
    X, y = classes()
    names = ["roc_auc", "accuracy", "f1", "balanced_accuracy", "average_precision"]
    fast, slow = (
        onefit.nested_cv(model, X, y, scoring=names, n_folds=5, n_repeats=2, random_state=0, route=route)
        for route in ("auto", "refit")
    )
    assert fast.route == "gram"
    pd.testing.assert_frame_equal(fast.metrics, slow.metrics, rtol=1e-9)
    np.testing.assert_allclose(fast.heldout["influence"], slow.heldout["influence"], atol=1e-12)


@pytest.mark.parametrize(
    "model", [Ridge(), RidgeCV(), TransformedTargetRegressor(Ridge(), func=np.arcsinh, inverse_func=np.sinh)]
)
def test_metrics_of_regression_agree_over_routes_weights_and_jobs(model):
    X, y = numbers(70)
    keywords = {"scoring": ["r2", "neg_mean_absolute_error"], "n_folds": 6, "n_repeats": 3, "random_state": 1}
    if not isinstance(model, TransformedTargetRegressor):
        keywords["sample_weight"] = np.random.default_rng(2).uniform(0.2, 3, 70)
    fast, two, slow = (
        onefit.nested_cv(model, X, y, **keywords, **how) for how in ({}, {"n_jobs": 2}, {"route": "refit"})
    )
    assert fast.route != "refit"
    pd.testing.assert_frame_equal(fast.metrics, two.metrics, rtol=0, atol=0)
    pd.testing.assert_frame_equal(fast.metrics, slow.metrics, rtol=1e-9)


def test_one_mean_of_losses_is_the_loss_with_another_sign():
    X, y = numbers()
    loss = onefit.nested_cv(Ridge(), X, y)
    score = onefit.nested_cv(Ridge(), X, y, scoring="neg_mean_squared_error")
    assert (score.estimate, score.interval) == (-loss.estimate, (-loss.interval[1], -loss.interval[0]))
    assert (score.route, score.n_folds, score.rmse) == (loss.route, loss.n_folds, loss.rmse)
    assert score.bias == -loss.bias


def test_several_means_are_the_same_as_one_by_one():
    X, y = numbers()
    both = onefit.nested_cv(
        Ridge(),
        X,
        y,
        scoring=["neg_mean_squared_error", "neg_mean_absolute_error"],
        n_folds=5,
        random_state=0,
        n_repeats=3,
    )
    for name in both.metrics.index:
        alone = onefit.nested_cv(Ridge(), X, y, scoring=name, n_folds=5, random_state=0, n_repeats=3)
        np.testing.assert_allclose(
            both.metrics.loc[name, ["estimate", "low", "high"]], [alone.estimate, *alone.interval], rtol=1e-10
        )
    np.testing.assert_allclose(
        both.intervals.loc["bates", "high"],
        onefit.nested_cv(
            Ridge(), X, y, scoring="neg_mean_squared_error", n_folds=5, random_state=0, n_repeats=3
        ).intervals.loc["bates", "high"],
        rtol=1e-10,
    )


def test_root_of_a_mean_is_the_root_of_its_interval():
    X, y = numbers()
    mse = onefit.nested_cv(Ridge(), X, y, n_folds=5, random_state=0, n_repeats=20)
    root = onefit.nested_cv(
        Ridge(), X, y, scoring="neg_root_mean_squared_error", n_folds=5, random_state=0, n_repeats=20
    )
    np.testing.assert_allclose(-root.estimate, mse.rmse.estimate, rtol=2e-3)
    np.testing.assert_allclose(sorted(-np.array(root.interval)), mse.rmse[1:], rtol=2e-2)


def test_differences_of_auc_are_paired_and_zero_between_equal_models():
    X, y = classes(200)
    models = {"all": RidgeClassifier(), "same": RidgeClassifier(), "heavy": RidgeClassifier(1e6)}
    found = onefit.compare(models, X, y, scoring="roc_auc", n_folds=5, n_repeats=3, random_state=0)
    assert found.greater_is_better
    equal = found.differences.loc[("all", "same")]
    assert equal[["estimate", "low", "high"]].abs().max() < 1e-12
    first, second = found.differences.index[-1]
    gap = found.models.loc[first, "estimate"] - found.models.loc[second, "estimate"]
    assert abs(found.differences.loc[(first, second), "estimate"] - gap) < 0.02
    assert found.models["estimate"].is_monotonic_decreasing


def test_a_curve_of_scores_has_its_best_value_at_the_largest():
    X, y = numbers(80)
    grid = np.logspace(-3, 4, 8)
    score, loss = (
        onefit.error_curve(
            Ridge(), X, y, param_name="alpha", param_range=grid, n_folds=8, n_repeats=3, random_state=0, **what
        )
        for what in ({"scoring": "r2"}, {})
    )
    assert score.best == np.argmax(score.estimate)
    assert score.select("one_se") >= score.select("min")
    np.testing.assert_array_equal(score.indistinguishable(), loss.indistinguishable())
    assert (score.difference.estimate <= 1e-12).all()


def test_probabilities_by_class_are_kept_and_sum_to_one():
    X, y = load_iris(return_X_y=True)
    result = onefit.nested_cv(
        LogisticRegression(max_iter=500),
        X,
        y,
        scoring=["neg_log_loss", "roc_auc_ovr", "roc_auc_ovo"],
        n_folds=3,
        n_repeats=1,
        random_state=0,
    )
    shares = result.heldout[[f"probability_{label}" for label in (0, 1, 2)]]
    np.testing.assert_allclose(shares.sum(axis=1), 1.0, rtol=1e-12)
    assert (result.heldout["prediction"] == y).mean() > 0.9
    assert list(result.metrics.index) == ["neg_log_loss", "roc_auc_ovr", "roc_auc_ovo"]


def test_a_class_that_a_training_set_lacks_is_refused_to_the_log_loss_by_name():
    X = np.random.default_rng(0).normal(size=(40, 2))
    y = np.repeat(["a", "b", "c"], [19, 19, 2])
    ids = np.arange(40) % 4
    ids[38:] = 3
    with pytest.raises(OneFitError, match=r"no row of class c.*log loss.*Merge"):
        onefit.nested_cv(KNeighborsClassifier(), X, y, scoring="neg_log_loss", folds=ids)
    result = onefit.nested_cv(KNeighborsClassifier(), X, y, scoring=["neg_brier_score", "accuracy"], folds=ids)
    assert np.isfinite(result.estimate)


def test_a_callable_of_the_estimator_is_computed_by_refits():
    X, y = numbers()

    def minus_error(estimator, X, y):
        return -mean_squared_error(y, estimator.predict(X))

    result = onefit.nested_cv(Ridge(), X, y, scoring=minus_error, n_folds=5, n_repeats=2, random_state=0)
    known = onefit.nested_cv(Ridge(), X, y, scoring="neg_mean_squared_error", n_folds=5, n_repeats=2, random_state=0)
    assert (result.route, "needs fitted estimators" in result.route_reason) == ("refit", True)
    np.testing.assert_allclose(result.cv_estimate, known.cv_estimate, rtol=1e-12)
    np.testing.assert_allclose(result.estimate, known.estimate, rtol=0.05)


def test_scorers_with_options_are_scikit_learns():
    X, y = classes()
    ids = stratified(y)
    scoring = {
        "f2": make_scorer(fbeta_score, beta=2),
        "brier": make_scorer(brier_score_loss, greater_is_better=False, response_method="predict_proba"),
    }
    model = RandomForestClassifier(10, random_state=0)
    result = onefit.nested_cv(model, X, y, scoring=scoring, folds=ids)
    expected = cross_validate(model, X, y, scoring=scoring, cv=PredefinedSplit(ids))
    sizes = np.bincount(ids)
    np.testing.assert_allclose(result.cv_estimate, expected["test_f2"] @ sizes / sizes.sum(), rtol=1e-12)
    assert list(result.metrics.index) == ["f2", "brier"]


def test_folds_for_ranks_leave_two_rows_of_every_class_in_each():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], [90, 10])
    result = onefit.nested_cv(
        RidgeClassifier(), rng.normal(size=(100, 2)) + y[:, None], y, scoring="roc_auc", random_state=0
    )
    assert result.n_folds == 5


def test_means_and_functions_of_them_leave_two_rows_out_by_default_and_ranks_do_not():
    X, y = numbers()
    assert onefit.nested_cv(Ridge(), X, y, scoring=["r2", "neg_mean_absolute_error"]).n_folds == 60
    X, y = classes(60)
    with pytest.raises(FoldError, match="not defined on folds of one row"):
        onefit.nested_cv(RidgeClassifier(), X, y, scoring="roc_auc", n_folds=60)


@pytest.mark.parametrize(
    ("keywords", "error", "match"),
    [
        ({"scoring": "r2", "loss": "squared_error"}, DataError, "not both"),
        ({"scoring": mean_squared_error}, DataError, "neg_mean_squared_error"),
        ({"scoring": "no such thing"}, DataError, "scoring"),
        ({"scoring": []}, DataError, "empty"),
        ({"scoring": "roc_auc"}, DataError, "predicts numbers"),
        ({"scoring": "neg_median_absolute_error"}, DataError, "no interval"),
        ({"loss": "mae"}, DataError, "absolute_error"),
        ({"scoring": "r2", "interval": "bates", "n_folds": 5}, IntervalError, "loss of every row"),
        ({"scoring": "r2", "bias_folds": 3}, DataError, "bias_folds"),
        ({"cv": 2}, FoldError, "at least 3"),
        ({"cv": 5, "n_folds": 5}, FoldError, "two ways"),
        ({"cv": KFold(5), "folds": np.arange(60) % 5}, FoldError, "two ways"),
        ({"cv": "five"}, FoldError, "number of folds"),
        ({"cv": [(np.arange(5), np.arange(5, 10))]}, FoldError, "at least 3"),
    ],
)
def test_what_cannot_be_used_is_refused_with_a_remedy(keywords, error, match):
    X, y = numbers()
    with pytest.raises(error, match=match):
        onefit.nested_cv(Ridge(), X, y, **keywords)


def test_a_metric_of_probabilities_needs_a_classifier_that_has_them():
    X, y = classes()
    for model in (RidgeClassifier(), SVC()):
        with pytest.raises(DataError, match=r"predict_proba.*does not have"):
            onefit.nested_cv(model, X, y, scoring="neg_log_loss")


def test_cv_takes_what_scikit_learn_takes():
    X, y = numbers()
    ids = np.arange(60) % 6
    splits = [(np.flatnonzero(ids != fold), np.flatnonzero(ids == fold)) for fold in range(6)]
    given = onefit.nested_cv(Ridge(), X, y, folds=ids)
    for cv in (splits, PredefinedSplit(ids), iter(splits)):
        assert onefit.nested_cv(Ridge(), X, y, cv=cv).estimate == given.estimate
    assert onefit.nested_cv(Ridge(), X, y, cv=6, n_repeats=1, random_state=0).n_folds == 6


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_columns_may_be_named(make):
    X, y = numbers()
    groups, weights = np.arange(60) // 3, np.linspace(1, 2, 60)
    table = make({"a": X[:, 0], "b": X[:, 1], "price": y, "city": groups, "w": weights})
    named = onefit.nested_cv(
        LinearRegression(), table, "price", groups="city", sample_weight="w", n_folds=5, n_repeats=2, random_state=0
    )
    given = onefit.nested_cv(
        LinearRegression(), X[:, :2], y, groups=groups, sample_weight=weights, n_folds=5, n_repeats=2, random_state=0
    )
    assert (named.estimate, named.interval) == (given.estimate, given.interval)
    assert named.baseline.estimate == given.baseline.estimate
    curve = onefit.error_curve(
        Ridge(),
        table,
        "price",
        groups="city",
        sample_weight="w",
        param_name="alpha",
        param_range=[1.0, 10.0],
        n_folds=5,
        n_repeats=2,
        random_state=0,
    )
    assert curve.refit().n_features_in_ == 2
    with pytest.raises(DataError, match="did you mean 'price'"):
        onefit.nested_cv(LinearRegression(), table, "prise")
    with pytest.raises(DataError, match="no named columns"):
        onefit.nested_cv(LinearRegression(), X, "price")


def test_the_best_constant_is_on_the_same_folds_and_skill_is_one_minus_the_ratio():
    X, y = numbers(90)
    result = onefit.nested_cv(Ridge(), X, y, n_folds=6, n_repeats=3, random_state=0)
    base = result.baseline
    assert (base.n_folds, base.n_repeats) == (6, 3)
    np.testing.assert_allclose(result.skill.estimate, 1 - result.estimate / base.estimate, rtol=1e-12)
    assert 0 < result.skill.low < result.skill.estimate < result.skill.high < 1
    assert "skill" in result.summary()
    noise = onefit.nested_cv(
        Ridge(), np.random.default_rng(5).normal(size=(90, 3)), y, n_folds=6, n_repeats=3, random_state=0
    )
    assert noise.skill.low < 0
    assert "not shown to be better" in noise.summary()


@pytest.mark.parametrize(
    ("loss", "constant"), [("absolute_error", np.median), ("pinball", np.median), ("squared_error", np.mean)]
)
@pytest.mark.parametrize("K", [5, 40])
def test_the_constant_suits_the_loss(loss, constant, K):
    X, y = numbers(40)
    base = onefit.nested_cv(Ridge(), X, y, loss=loss, n_folds=K, n_repeats=1, random_state=0).baseline
    folds = onefit.folds.RandomFolds(40, K, 0).block(0, 1).ids[0]
    expected = [constant(y[folds != folds[i]]) for i in range(40)]
    np.testing.assert_allclose(base.heldout["prediction"], expected, rtol=1e-12)


@pytest.mark.parametrize(
    "scoring", ["f1", "jaccard", "precision", ["f1", "neg_log_loss"], {"own": "f1", "b": "recall"}]
)
@pytest.mark.parametrize("weights", [None, np.linspace(1, 3, 90)])
def test_the_best_constant_of_a_score_of_one_class_may_be_the_rarer_one(scoring, weights):
    X, y = np.random.default_rng(0).normal(size=(90, 2)), np.arange(90) % 5 < 2  # 40% are true
    settings = {"scoring": scoring, "n_folds": 5, "n_repeats": 2, "random_state": 0, "sample_weight": weights}
    result = onefit.nested_cv(LogisticRegression(), X, y, **settings)
    score = get_scorer({"own": "f1"}.get(result.loss, result.loss))._score_func
    expected = score(y, np.ones(90, dtype=bool), sample_weight=weights)
    np.testing.assert_allclose(result.baseline.estimate, expected, rtol=1e-2)
    assert result.baseline.heldout["prediction"].all()
    assert f"the best constant has {result.baseline.estimate:.4g}" in result.summary()
    assert np.isfinite(result.skill.estimate)
    assert "better than it" not in result.summary().replace("not shown to be better than it", "")


def test_of_recall_a_constant_leaves_nothing_to_save():
    X, y = classes()
    result = onefit.nested_cv(RidgeClassifier(), X, y, scoring="recall", n_folds=4, n_repeats=1, random_state=0)
    assert np.isnan(result.skill.estimate)
    assert result.baseline.cv_estimate == 1.0
    assert "skill" not in result.summary()


@pytest.mark.parametrize("folds", [{"n_folds": 5, "n_repeats": 2}, {"n_folds": "n"}])
def test_a_class_that_is_given_needs_no_refits(folds):
    X, y = classes()
    own = DummyClassifier(strategy="constant", constant=y[0])
    for settings in ({"scoring": "balanced_accuracy"}, {"loss": "zero_one"}):
        fast, slow = (
            onefit.nested_cv(own, X, y, route=route, random_state=0, **folds, **settings) for route in ("auto", "refit")
        )
        assert fast.route == "gram"
        np.testing.assert_allclose(fast.fold_errors.e_in, slow.fold_errors.e_in, rtol=1e-12)
        np.testing.assert_allclose(fast.estimate, slow.estimate, rtol=1e-12)


@pytest.mark.parametrize("seed", [20, 285])
def test_a_model_that_predicts_what_the_constant_does_is_neither_better_nor_worse(seed):
    X, y = np.random.default_rng(seed).normal(size=(60, 2)), np.arange(60) % 10 < 2
    X[:, 0] += y * 0.5
    result = onefit.nested_cv(RidgeClassifier(30), X, y, n_folds=5, n_repeats=1, random_state=0)
    assert (result.heldout["loss"] == result.baseline.heldout["loss"]).all()
    assert result.estimate != result.baseline.estimate  # with two folds out a row is predicted otherwise
    assert result.skill.low <= 0 <= result.skill.high
    assert "not shown to be better than it" in result.summary()


@pytest.mark.parametrize("scoring", ["roc_auc", "neg_log_loss"])
def test_folds_are_no_remedy_for_classes_of_two_rows(scoring):
    X, y = np.random.default_rng(0).normal(size=(60, 2)), np.arange(60) < 2
    with pytest.raises(DataError, match=r"\(2 rows\)") as caught:
        onefit.nested_cv(LogisticRegression(), X, y, scoring=scoring)
    assert "use fewer folds" not in str(caught.value)
    y[2] = True
    with pytest.raises(DataError, match=r"use fewer folds, or stratified ones \(cv=StratifiedKFold"):
        onefit.nested_cv(LogisticRegression(), X, y, scoring=scoring, folds=np.arange(60) // 6)


def test_with_groups_the_splitter_that_is_named_keeps_them():
    rng = np.random.default_rng(0)
    groups = np.arange(240) // 4
    X, y = rng.normal(size=(240, 2)), groups % 6 == 0
    for seed in (0, 1):  # a later partition lacks a class, and the first one
        with pytest.raises(DataError, match=r"StratifiedGroupKFold\(5, shuffle=True\)"):
            onefit.nested_cv(
                LogisticRegression(), X, y, scoring="roc_auc", groups=groups, n_folds=4, n_repeats=20, random_state=seed
            )


def test_of_auc_there_is_a_baseline_and_no_skill():
    X, y = classes()
    result = onefit.nested_cv(RidgeClassifier(), X, y, scoring="roc_auc", n_folds=4, n_repeats=1, random_state=0)
    assert abs(result.baseline.estimate - 0.5) < 1e-12
    assert np.isnan(result.skill.estimate)


def test_results_of_metrics_are_pickled_and_become_json_and_latex():
    X, y = classes()
    result = onefit.nested_cv(
        RidgeClassifier(), X, y, scoring={"area": "roc_auc", "f_1": "f1"}, n_folds=4, n_repeats=2, random_state=0
    )
    again = pickle.loads(pickle.dumps(result))
    pd.testing.assert_frame_equal(again.metrics, result.metrics)
    assert again.baseline.estimate == result.baseline.estimate
    assert json.loads(json.dumps(result.to_dict(), allow_nan=False))["metrics"][0]["metric"] == "area"
    assert "area & $0." in result.to_latex()
    assert r"\toprule" in result.to_latex()
    assert "4 folds and 2 repeats" in result.methods()
    assert {"sampling_variance", "sampling_variance_is_floored"} <= set(result.to_frame())
    assert not [column for column in result.to_frame() if "mse" in column]


def test_recalibration_is_that_of_a_logistic_regression_on_held_out_logits():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(200, 3))
    y = (rng.random(200) < 1 / (1 + np.exp(-X[:, 0]))).astype(int)
    result = onefit.nested_cv(
        GaussianNB(), X, y, scoring="neg_log_loss", n_folds=5, n_repeats=1, random_state=0, route="refit"
    )
    chance = result.heldout["probability_1"].to_numpy()
    z = np.log(chance / (1 - chance))[:, None]
    fit = LogisticRegression(C=np.inf, tol=1e-12).fit(z, y)
    single = result.calibration["estimate"]
    # the estimate is extrapolated to all rows; by how much follows from the changes, which are small
    np.testing.assert_allclose(single["calibration_slope"], fit.coef_[0, 0], atol=0.1)
    np.testing.assert_allclose(single["calibration_intercept"], fit.intercept_[0], atol=0.1)
    assert result.calibration.loc["calibration_slope", "low"] < 1 < result.calibration.loc["calibration_slope", "high"]
    assert "calibration" in result.to_dict()
    heavy = onefit.nested_cv(
        LogisticRegression(C=1e-3), X, y, scoring="neg_log_loss", n_folds=5, n_repeats=1, random_state=0
    )
    assert heavy.calibration.loc["calibration_slope", "low"] > 1  # shrunken predictions are not extreme enough


def test_probabilities_that_cannot_be_recalibrated_have_all_other_figures():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(30, 2)) - 9, rng.normal(size=(30, 2)) + 9])  # separated: no slope exists
    result = onefit.nested_cv(
        LogisticRegression(), X, np.repeat([0, 1], 30), scoring=["neg_log_loss", "accuracy"], n_folds=4, n_repeats=2,
        random_state=0,
    )  # fmt: skip
    assert result.calibration["estimate"].isna().all()
    assert np.isfinite(result.metrics.to_numpy()).all()
    assert 0.65 < -result.baseline.estimate < 0.72  # a constant has no slope either
    assert "calibration" not in result.summary()


@pytest.mark.parametrize(
    "model", [RidgeClassifier(), LogisticRegression(), GaussianNB()], ids=lambda m: type(m).__name__
)
@pytest.mark.parametrize("name", ["roc_auc", "average_precision"])
def test_scores_that_are_equal_stay_equal_on_fast_routes(model, name):
    """Rounding errors of a score depend on the row's own class, by which equal ones would be told apart."""
    rng = np.random.default_rng(5)
    X = rng.integers(0, 3, size=(60, 1)).astype(float)
    y = (X[:, 0] + rng.normal(size=60) > 1).astype(int)
    fast, slow = (
        onefit.nested_cv(model, X, y, scoring=name, n_folds=4, n_repeats=2, random_state=0, route=route)
        for route in ("auto", "refit")
    )
    assert fast.route != "refit"
    np.testing.assert_allclose(fast.estimate, slow.estimate, rtol=1e-6)
    if isinstance(model, GaussianNB):
        return  # it has no variance to divide by
    nothing = onefit.nested_cv(model, np.ones((60, 1)), y, scoring="roc_auc", n_folds=4, n_repeats=1, random_state=0)
    assert abs(nothing.estimate - 0.5) < 1e-9


def test_other_rules_serve_a_first_metric_of_row_losses_beside_what_has_none():
    X, y = classes()
    keywords = {"interval": "bates", "n_folds": 4, "n_repeats": 2, "random_state": 0}
    brier = onefit.nested_cv(GaussianNB(), X, y, loss="brier", **keywords)
    assert brier.interval == tuple(brier.intervals.loc["bates", ["low", "high"]])
    mixed = onefit.nested_cv(Ridge(), *numbers(), scoring=["neg_mean_absolute_error", "r2"], **keywords)
    assert np.isfinite(mixed.metrics.to_numpy()).all()


def test_a_scorer_of_all_outputs_together_is_refused():
    X, y = numbers()
    with pytest.raises(DataError, match="one number for all 2 columns"):
        onefit.nested_cv(Ridge(), X, np.c_[y, y], scoring=lambda e, X, y: 0.0, n_folds=4)


def test_a_value_that_fails_keeps_the_others_in_every_repeat():
    X, y = classes()
    curve = onefit.error_curve(
        SVC(probability=True, random_state=0), X, y, param_name="C", param_range=[-1.0, 1.0], simpler="smaller",
        scoring="neg_log_loss", n_folds=3, n_repeats=2, random_state=0,
    )  # fmt: skip
    assert np.isnan(curve.estimate[0])
    assert np.isfinite(curve.estimate[1])


def test_folds_of_one_row_have_no_r2_of_their_own():
    X, y = numbers(30)
    assert np.isfinite(
        onefit.nested_cv(Ridge(), X, y, scoring="r2", n_folds=20, n_repeats=2, random_state=0).cv_estimate
    )


def test_all_metrics_of_models_and_values_stand_side_by_side():
    X, y = classes(150)
    settings = {"scoring": ["roc_auc", "neg_log_loss"], "n_folds": 5, "n_repeats": 2, "random_state": 0}
    models = {"weak": LogisticRegression(C=1e-3), "strong": LogisticRegression()}
    found = onefit.compare(models, X, y, **settings)
    assert found.metrics.index.names == ["model", "metric"]
    alone = onefit.nested_cv(models["strong"], X, y, **settings)
    pd.testing.assert_frame_equal(found.metrics.loc["strong"], alone.metrics, rtol=1e-6, check_index_type=False)
    curve = onefit.error_curve(LogisticRegression(), X, y, param_name="C", param_range=[1e-3, 1.0], **settings)
    assert curve.metrics.index.names == ["C", "metric"]
    pd.testing.assert_frame_equal(curve.metrics.loc[1.0], alone.metrics, rtol=1e-6, check_index_type=False)


def test_whoever_asks_for_ranks_gets_calibration_and_pictures_if_there_are_probabilities():
    X, y = classes(150)
    settings = {"scoring": "roc_auc", "n_folds": 5, "n_repeats": 2, "random_state": 0}
    result = onefit.nested_cv(LogisticRegression(), X, y, **settings)
    both = onefit.nested_cv(LogisticRegression(), X, y, **settings | {"scoring": ["roc_auc", "neg_log_loss"]})
    assert list(result.metrics.index) == ["roc_auc"]
    pd.testing.assert_frame_equal(result.calibration, both.calibration)
    assert result.route == "newton"
    assert "AUC" in result.plot(kind="roc").get_title(loc="left")
    without = onefit.nested_cv(RidgeClassifier(), X, y, **settings)
    assert without.calibration is None
    with pytest.raises(DataError, match="predict_proba"):
        without.plot(kind="roc")


def weighted_median(y, w):
    """The least value at which half of the weight is reached."""
    order = np.argsort(y)
    return y[order][np.searchsorted(np.cumsum(w[order]), w.sum() / 2)]


@pytest.mark.parametrize("name", ["neg_mean_squared_log_error", "neg_root_mean_squared_log_error"])
def test_the_best_constant_of_logarithms_takes_weights(name):
    X, y = numbers(41)
    y, ids, w = np.exp(y / 3), np.arange(41) % 5, 1.0 + np.arange(41) % 3
    result = onefit.nested_cv(Ridge(1e4), X, y, scoring=name, folds=ids, sample_weight=w)
    expected = [np.expm1(np.average(np.log1p(y[ids != k]), weights=w[ids != k])) for k in ids]
    np.testing.assert_allclose(result.baseline.heldout["prediction"], expected, rtol=1e-12)
    assert np.isfinite(result.skill.estimate)


@pytest.mark.parametrize(
    ("name", "constant"),
    [
        ("neg_mean_absolute_percentage_error", lambda y: weighted_median(y, 1 / y)),
        ("neg_mean_squared_log_error", lambda y: np.expm1(np.log1p(y).mean())),
        ("neg_root_mean_squared_log_error", lambda y: np.expm1(np.log1p(y).mean())),
        ("d2_absolute_error_score", np.median),
        ("neg_mean_absolute_error", np.median),
        ("r2", np.mean),
    ],
)
def test_the_constant_suits_the_score_whatever_it_is_called_and_stands_beside(name, constant):
    X, y = numbers(41)
    y, ids = np.exp(y / 3), np.arange(41) % 5
    for scoring in (name, {"mine": name, "other": "r2"}):
        base = onefit.nested_cv(Ridge(1e4), X, y, scoring=scoring, folds=ids).baseline
        expected = [constant(y[ids != ids[i]]) for i in range(41)]
        np.testing.assert_allclose(base.heldout["prediction"], expected, rtol=1e-12)
