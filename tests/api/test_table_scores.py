"""Metrics on tables: the figures of the same folds in memory, from passes over the rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression, PoissonRegressor, Ridge, RidgeClassifier
from sklearn.metrics import fbeta_score, get_scorer_names, make_scorer

import onefit
from onefit.dealing import DealtClasses, DealtRows
from onefit.errors import DataError, OneFitError, RouteError

pytest.importorskip("pyarrow")
pytestmark = pytest.mark.filterwarnings(
    "ignore::onefit.errors.MonteCarloWarning", "ignore::onefit.errors.HeavyTailWarning"
)

N, K, L, SEED = 800, 4, 2, 5
NAMES = ["a", "b", "c"]
ASKED = {"n_folds": K, "n_repeats": L, "random_state": SEED}
FIGURES = ("estimate", "interval", "standard_error", "mse", "cv_estimate", "raw_estimate", "bias")


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(N, 3)), columns=NAMES)
    eta = frame["a"] - 0.5 * frame["b"]
    frame["y"] = 1e3 + eta + rng.normal(size=N)
    frame["count"] = rng.poisson(np.exp(0.5 * eta)).astype(float)
    frame["two"] = np.where(rng.random(N) < 1 / (1 + np.exp(-eta - 1.0)), "yes", "no")
    frame["three"] = np.array(["low", "mid", "top"])[np.digitize(eta + rng.logistic(size=N), [-1.0, 1.0])]
    frame["w"] = rng.integers(0, 3, N) * rng.uniform(0.5, 2.0, N)
    frame["g"] = rng.integers(0, 25, N)
    return frame


def ids(y):
    if y.dtype == float:
        dealt = DealtRows(N, K, SEED)
        return np.stack([dealt.ids(0, N, repeat) for repeat in range(L)])
    names, codes, counts = np.unique(y.astype(str), return_inverse=True, return_counts=True)
    classes = DealtClasses(tuple(counts.tolist()), K, SEED)
    return np.stack([classes.ids(codes, np.zeros(len(names)), repeat) for repeat in range(L)])


def check(estimator, frame, y, asked, has_baseline=True, **roles):
    table = onefit.scan(frame[[*NAMES, y, *roles.values()]])
    given = {role: frame[name] for role, name in roles.items()}
    if "groups" in roles:
        folds = (frame["g"].to_numpy()[None] + np.arange(L)[:, None]) % K
        streamed = onefit.nested_cv(estimator, table, y, **asked, folds=folds, **roles)
    else:
        folds = ids(frame[y])
        streamed = onefit.nested_cv(estimator, table, y, **asked, **ASKED, **roles)
    memory = onefit.nested_cv(estimator, frame[NAMES], frame[y], **asked, folds=folds, **given)
    for name in FIGURES:
        np.testing.assert_allclose(getattr(streamed, name), getattr(memory, name), rtol=1e-9, err_msg=name)
    np.testing.assert_allclose(streamed.metrics, memory.metrics, rtol=1e-9)
    kept = ["covariance", "paper", "naive", "corrected_t"]
    np.testing.assert_allclose(streamed.intervals.loc[kept], memory.intervals.loc[kept], rtol=1e-8)
    np.testing.assert_allclose(streamed.fold_errors.e_out, memory.fold_errors.e_out, rtol=1e-9)
    if has_baseline:
        np.testing.assert_allclose(streamed.skill, memory.skill, rtol=1e-8)
        np.testing.assert_allclose(streamed.baseline.interval, memory.baseline.interval, rtol=1e-8)
    assert (streamed.loss, streamed.greater_is_better) == (memory.loss, memory.greater_is_better)
    return streamed, memory


ROLES = [{}, {"sample_weight": "w"}, {"groups": "g"}, {"groups": "g", "sample_weight": "w"}]


@pytest.mark.parametrize("roles", [ROLES[0], ROLES[3]], ids=str)
def test_numbers(roles, frame):
    check(Ridge(), frame, "y", {"scoring": "r2"}, **roles)
    several = ["neg_root_mean_squared_error", "neg_mean_absolute_error", "r2"]
    check(LinearRegression(), frame, "y", {"scoring": several}, **roles)
    check(Ridge(), frame, "y", {"scoring": ["neg_mean_squared_error", "neg_mean_absolute_error"]}, **roles)
    check(PoissonRegressor(), frame, "count", {"scoring": "r2"}, **roles)


@pytest.mark.parametrize(("y", "roles"), [("two", ROLES[0]), ("two", ROLES[3]), ("three", ROLES[1])], ids=str)
def test_classes(roles, y, frame):
    f1 = make_scorer(fbeta_score, beta=2.0, average="macro")
    scoring = {"accuracy": "accuracy", "f": f1, "balanced": "balanced_accuracy", "mcc": "matthews_corrcoef"}
    check(RidgeClassifier(), frame, y, {"scoring": scoring}, **roles)
    chances = ["neg_log_loss", "neg_brier_score", "accuracy", "d2_log_loss_score", "top_k_accuracy"]
    known = [name for name in chances if name in get_scorer_names()]  # older versions have no name for d2
    check(LogisticRegression(), frame, y, {"scoring": known if y == "three" else known[:-1]}, **roles)
    check(LogisticRegression(), frame, y, {"loss": "log_loss"}, **roles)
    check(LogisticRegression(), frame, y, {"loss": "brier"}, **roles)


@pytest.mark.parametrize("score", ["f1", "recall", "balanced_accuracy"])
def test_the_best_class_of_two_for_a_function_of_counts_is_not_taken_to_be_the_most_frequent_one(score, frame):
    """In memory each of the two is tried; a table, which would have to read its rows again, says so."""
    coded = frame.assign(two=(frame["two"] == "no").astype(int))  # the rarer one, for which recall is asked
    streamed, memory = check(LogisticRegression(), coded, "two", {"scoring": score}, has_baseline=False)
    assert memory.baseline.estimate > (0.99 if score == "recall" else 0.4)
    for name in ("baseline", "skill"):
        with pytest.raises(OneFitError, match="one of two classes"):
            getattr(streamed, name)
    assert streamed.summary()


def test_deviances_and_rules_that_need_pairs(frame):
    check(PoissonRegressor(), frame, "count", {"scoring": ["neg_mean_poisson_deviance", "r2"]})
    check(PoissonRegressor(), frame, "count", {"scoring": ["neg_mean_squared_error", "r2"], "interval": "mlr3"})


def test_curves_and_comparisons(frame):
    table, folds = onefit.scan(frame[[*NAMES, "two"]]), ids(frame["two"])
    path = {"param_name": "C", "param_range": [0.01, 1.0, 100.0], "scoring": ["neg_log_loss", "balanced_accuracy"]}
    streamed = onefit.error_curve(LogisticRegression(), table, "two", **path, **ASKED)
    memory = onefit.error_curve(LogisticRegression(), frame[NAMES], frame["two"], **path, folds=folds)
    for name in ("estimate", "low", "high", "standard_error"):
        np.testing.assert_allclose(getattr(streamed, name), getattr(memory, name), rtol=1e-9)
    np.testing.assert_allclose(streamed.difference.standard_error, memory.difference.standard_error, rtol=1e-7)
    models = {"logistic": LogisticRegression(), "ridge": RidgeClassifier()}
    scoring = ["balanced_accuracy", "accuracy"]
    streamed = onefit.compare(models, table, "two", scoring=scoring, **ASKED)
    memory = onefit.compare(models, frame[NAMES], frame["two"], scoring=scoring, folds=folds)
    columns = ["estimate", "low", "high", "standard_error"]
    np.testing.assert_allclose(streamed.differences[columns], memory.differences[columns], rtol=1e-7)


@pytest.mark.parametrize("roles", [ROLES[0], ROLES[3]], ids=str)
def test_ranks_and_whatever_needs_all_scores_at_once(roles, frame, monkeypatch):
    monkeypatch.setattr("onefit.sources.streams.ROWS_OF_A_PIECE", 100)
    monkeypatch.setattr("onefit.sources.memoryparts.ROWS_OF_A_FRAGMENT", 90)
    asked = {"scoring": ["roc_auc", "neg_log_loss"]}
    streamed, memory = check(LogisticRegression(), frame, "two", asked, False, **roles)
    np.testing.assert_allclose(streamed.calibration, memory.calibration, rtol=1e-8)
    check(RidgeClassifier(), frame, "two", {"scoring": ["accuracy", "roc_auc"]}, False, **roles)
    check(LogisticRegression(), frame, "three", {"scoring": "roc_auc_ovr"}, False, **roles)
    streamed, _ = check(Ridge(), frame, "y", {"scoring": ["explained_variance", "r2"]}, **roles)


def test_what_passes_do_not_give_is_refused_with_the_remedy(frame, monkeypatch):
    table = onefit.scan(frame[[*NAMES, "two"]])
    numbers = onefit.scan(frame[[*NAMES, "y"]])
    monkeypatch.setattr("onefit.routes.streams.keeping.MOST_KEPT", 8 * N * L * K * 2 - 1)
    for scoring in ("roc_auc", ["accuracy", "roc_auc"]):
        with pytest.raises(DataError, match=r"roc_auc need all held-out scores.*table\.sample"):
            onefit.nested_cv(LogisticRegression(), table, "two", scoring=scoring, **ASKED)
    with pytest.raises((DataError, RouteError), match=r"table\.sample"):
        onefit.nested_cv(Ridge(), numbers, "y", scoring=lambda model, X, y: 0.0, **ASKED)
    with pytest.raises(DataError, match="predict_proba"):
        onefit.nested_cv(RidgeClassifier(), table, "two", scoring="neg_log_loss", **ASKED)
