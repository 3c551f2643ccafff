"""Generalized linear models on tables: figures of the same folds in memory, from passes over the rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import (
    GammaRegressor,
    LogisticRegression,
    PoissonRegressor,
    RidgeClassifier,
    TweedieRegressor,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, RobustScaler, StandardScaler

import onefit
from helpers import sklearn_before
from onefit.dealing import DealtClasses, DealtGroups, DealtRows
from onefit.errors import DataError, RouteError, TrainingSetError
from onefit.routes.streams import glmfit
from onefit.sources import table as sources_table

pytest.importorskip("pyarrow")
pytestmark = pytest.mark.filterwarnings(
    "ignore::onefit.errors.MonteCarloWarning", "ignore::onefit.errors.HeavyTailWarning"
)

N, P, K, L, SEED = 900, 4, 4, 2, 3
NAMES = [f"x{at}" for at in range(P)]
FIGURES = ("estimate", "interval", "standard_error", "mse", "cv_estimate", "raw_estimate")
ASKED = {"n_folds": K, "n_repeats": L, "random_state": SEED}


@pytest.fixture(scope="module")
def frame():
    """Columns with offsets of 1e8 and scales from 1e-3 to 1e3, levels, gaps, weights with zeros, groups."""
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(N, P))
    eta = Z @ [0.5, -0.3, 0.2, 0.4]
    frame = pd.DataFrame(Z * [1.0, 1e3, 1e-3, 1.0] + [0.0, 1e8, 0.0, -5.0], columns=NAMES)
    frame["count"] = rng.poisson(np.exp(eta)).astype(float)
    frame["size"] = rng.gamma(2.0, np.exp(eta))
    frame["two"] = np.where(rng.random(N) < 1 / (1 + np.exp(-eta - 0.5)), "yes", "no")
    frame["three"] = np.array(["low", "mid", "top"])[np.digitize(eta + rng.logistic(size=N), [-1.0, 1.0])]
    frame["w"] = rng.integers(0, 4, N) * rng.uniform(0.5, 2.0, N)
    frame["g"] = rng.integers(0, 25, N)
    frame["city"] = rng.choice(["x", "y", "z"], N, p=[0.5, 0.3, 0.2])
    frame["gap"] = np.where(rng.random(N) < 0.1, np.nan, Z[:, 0])
    return frame


def folds_of(frame, y, groups=None):
    if groups is not None:
        dealt = DealtGroups(tuple(np.bincount(frame[groups]).tolist()), K, SEED)
        return np.stack([dealt.ids(frame[groups].to_numpy(), repeat) for repeat in range(L)])
    if frame[y].dtype == float:
        dealt = DealtRows(N, K, SEED)
        return np.stack([dealt.ids(0, N, repeat) for repeat in range(L)])
    names, codes, counts = np.unique(frame[y].astype(str), return_inverse=True, return_counts=True)
    classes = DealtClasses(tuple(counts.tolist()), K, SEED)
    return np.stack([classes.ids(codes, np.zeros(len(names)), repeat) for repeat in range(L)])


def check(estimator, frame, y, columns=NAMES, source=None, rtol=1e-9, loss=None, **roles):
    table = onefit.scan(frame[[*columns, y, *roles.values()]]) if source is None else source
    streamed = onefit.nested_cv(estimator, table, y, loss=loss, **ASKED, **roles)
    given = {role: frame[name] for role, name in roles.items()}
    folds = folds_of(frame, y, roles.get("groups"))
    memory = onefit.nested_cv(estimator, frame[columns], frame[y], loss=loss, folds=folds, **given)
    for name in FIGURES:
        np.testing.assert_allclose(getattr(streamed, name), getattr(memory, name), rtol=rtol, err_msg=name)
    assert (streamed.route, streamed.exactness) == (memory.route, memory.exactness) == ("newton", "converged")
    return streamed


@pytest.mark.parametrize(
    ("estimator", "y", "loss"),
    [
        (PoissonRegressor(alpha=0.1), "count", "poisson_deviance"),
        (GammaRegressor(alpha=0.0), "size", None),
        (TweedieRegressor(power=1.5, alpha=1e-3), "count", "absolute_error"),
        (TweedieRegressor(power=0, alpha=0.1), "size", None),
        (PoissonRegressor(alpha=0.1, fit_intercept=False), "count", None),
        (LogisticRegression(C=0.5), "two", None),
        (LogisticRegression(C=np.inf), "two", None),
        (LogisticRegression(class_weight={"yes": 2.0, "no": 1.0}), "two", None),
        (LogisticRegression(), "three", None),
    ],
    ids=lambda each: repr(each)[:60],
)
def test_figures_are_those_of_the_same_folds_in_memory(estimator, y, loss, frame):
    columns = NAMES if getattr(estimator, "fit_intercept", True) else ["x0", "x2", "x3"]
    check(estimator, frame, y, columns, loss=loss)


@pytest.mark.parametrize("roles", [{"sample_weight": "w"}, {"groups": "g"}, {"groups": "g", "sample_weight": "w"}])
def test_weights_with_zeros_and_groups(roles, frame):
    check(PoissonRegressor(alpha=0.1), frame, "count", **roles)
    if "sample_weight" not in roles or not sklearn_before("1.7"):  # where weights do not count, it is refused
        check(LogisticRegression(class_weight="balanced"), frame, "three", **roles)


def encoded(last):
    dummies = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    imputed = make_pipeline(SimpleImputer(add_indicator=True), StandardScaler())
    steps = make_column_transformer((StandardScaler(), ["x1", "x2"]), (imputed, ["gap"]), (dummies, ["city"]))
    return make_pipeline(steps, last)


@pytest.mark.parametrize("roles", [{}, {"sample_weight": "w"}], ids=["", "weighted"])
def test_steps_learn_anew_in_every_training_set(roles, frame):
    columns = ["x1", "x2", "gap", "city"]
    check(encoded(PoissonRegressor(alpha=0.01)), frame, "count", columns, **roles)
    check(encoded(LogisticRegression()), frame, "three", columns, **roles)
    plain = make_pipeline(StandardScaler(), LogisticRegression(fit_intercept=False))
    check(plain, frame, "two", ["x1", "x2"], **roles)


def test_blocks_of_a_row_and_files_without_rows(frame, tmp_path, monkeypatch):
    """However the rows are read, the figures are the same, and the same to the bit for any number of threads."""
    monkeypatch.setattr("onefit.sources.streams.ROWS_OF_A_PIECE", 20)
    some = frame[60:96]
    monkeypatch.setattr("onefit.sources.memoryparts.ROWS_AT_ONCE", 1)
    for part, (low, high) in enumerate([(0, 0), (0, 1), (1, 18), (18, 18), (18, 36), (36, 36)]):
        some[low:high][[*NAMES, "count"]].to_parquet(tmp_path / f"{part}.parquet", row_group_size=7)
    model, asked = PoissonRegressor(alpha=0.1), {**ASKED, "n_folds": 3}
    single = onefit.nested_cv(model, onefit.scan(some[[*NAMES, "count"]]), "count", **asked)
    one = onefit.nested_cv(model, onefit.scan(tmp_path), "count", **asked)
    three = onefit.nested_cv(model, onefit.scan(tmp_path), "count", n_jobs=3, **asked)
    assert (one.interval, one.mse) == (three.interval, three.mse)
    np.testing.assert_allclose(one.interval, single.interval, rtol=1e-10)
    scaled = make_pipeline(StandardScaler(), model)
    one = onefit.nested_cv(scaled, onefit.scan(tmp_path), "count", **asked)
    single = onefit.nested_cv(scaled, onefit.scan(some[[*NAMES, "count"]]), "count", **asked)
    np.testing.assert_allclose(one.interval, single.interval, rtol=1e-10)


def test_curves_and_comparisons_are_those_of_memory(frame):
    path = {"param_name": "C", "param_range": [0.01, 1.0, 100.0]}
    table = onefit.scan(frame[[*NAMES, "two"]])
    folds = folds_of(frame, "two")
    streamed = onefit.error_curve(LogisticRegression(), table, "two", **path, **ASKED)
    memory = onefit.error_curve(LogisticRegression(), frame[NAMES], frame["two"], **path, folds=folds)
    for name in ("estimate", "low", "high", "standard_error"):
        np.testing.assert_allclose(getattr(streamed, name), getattr(memory, name), rtol=1e-9)
    assert streamed.best == memory.best
    models = {"logistic": LogisticRegression(), "ridge": RidgeClassifier()}
    streamed = onefit.compare(models, table, "two", **ASKED)
    memory = onefit.compare(models, frame[NAMES], frame["two"], folds=folds)
    columns = ["estimate", "low", "high", "standard_error"]
    np.testing.assert_allclose(streamed.differences[columns], memory.differences[columns], rtol=1e-9)
    assert set(streamed.models["route"]) == {"newton", "gram"}


def test_training_sets_that_are_far_from_the_pilot_have_newtons_own_method(frame, monkeypatch):
    rng = np.random.default_rng(1)
    small = frame[:60].assign(two=np.where(rng.random(60) < 0.5, "yes", "no"))
    small.loc[small.index[:6], "x0"] *= 40.0
    alone = []
    method = glmfit.GLMPasses._alone
    monkeypatch.setattr(glmfit.GLMPasses, "_alone", lambda *args: (alone.append(len(args[2])), method(*args)))
    monkeypatch.setattr(glmfit, "SLOW", 1e-4)
    monkeypatch.setattr(glmfit, "WINDOW", 1)
    table = onefit.scan(small[[*NAMES, "two"]])
    streamed = onefit.nested_cv(LogisticRegression(C=100.0), table, "two", **ASKED)
    names, codes, counts = np.unique(small["two"], return_inverse=True, return_counts=True)
    dealt = DealtClasses(tuple(counts.tolist()), K, SEED)
    folds = np.stack([dealt.ids(codes, np.zeros(len(names)), repeat) for repeat in range(L)])
    memory = onefit.nested_cv(LogisticRegression(C=100.0), small[NAMES], small["two"], folds=folds)
    np.testing.assert_allclose(streamed.interval, memory.interval, rtol=1e-9)
    assert sum(alone) > 0


def test_a_fit_that_was_stopped_goes_on_from_finished_passes(frame, tmp_path, monkeypatch):
    frame[[*NAMES, "count"]].to_parquet(tmp_path / "all.parquet", row_group_size=250)
    table, path, read = onefit.scan(tmp_path / "all.parquet"), tmp_path / "kept", []
    plain = onefit.nested_cv(PoissonRegressor(alpha=0.1), table, "count", **ASKED)

    def stopped_at(count):
        def counted(fragment, columns, rows):
            read.append(fragment)
            if len(read) == count:
                raise KeyboardInterrupt
            return sources_table.check_rows(fragment, columns, rows)

        return counted

    for stop in (4, None):
        monkeypatch.setattr("onefit.routes.streams.rows.check_rows", stopped_at(stop))
        try:
            found = onefit.nested_cv(PoissonRegressor(alpha=0.1), table, "count", checkpoint=path, **ASKED)
        except KeyboardInterrupt:
            read.clear()
    monkeypatch.setattr("onefit.routes.streams.rows.check_rows", stopped_at(None))
    whole = len(read)
    read.clear()
    onefit.nested_cv(PoissonRegressor(alpha=0.1), table, "count", **ASKED)
    assert whole == len(read) - 3
    assert (found.interval, found.mse) == (plain.interval, plain.mse)


def test_passes_bytes_and_time_are_said_before_it_starts(frame, monkeypatch, capsys):
    table = onefit.scan(frame[[*NAMES, "count"]])
    plan = onefit.plan_for(PoissonRegressor(), table, "count", n_repeats=2)
    assert plan.choice == "newton"
    assert plan.seconds["newton"] > 0
    assert "about 8 passes over the rows, at most 42, of 1 MB each" in str(plan)
    monkeypatch.setattr("onefit.running.job.LONG", 0.0)
    onefit.nested_cv(PoissonRegressor(), table, "count", progress=True, **ASKED)
    first = capsys.readouterr().err.splitlines()[0]
    assert first == (
        "onefit: 4 folds, 2 repeats, by newton, about 8 passes over the rows, at most 42, of 1 MB each: less than a "
        "second"
    )


def test_what_cannot_be_fitted_is_refused_with_the_remedy(frame, monkeypatch):
    def refused(error, match, estimator, table, y, **options):
        with pytest.raises(error, match=match):
            onefit.nested_cv(estimator, onefit.scan(table), y, **ASKED, **options)

    numbers = frame[[*NAMES, "count", "two"]]
    wrong = numbers.assign(count=frame["count"].where(frame.index != 700, -1.0)).drop(columns="two")
    refused(DataError, "'count' is -1 in row 700", PoissonRegressor(), wrong, "count")
    apart = numbers[NAMES].assign(two=np.where(frame["x0"] > 0, "yes", "no"))
    refused(TrainingSetError, "no maximum.*penalty", LogisticRegression(C=np.inf), apart, "two")
    twice = numbers[NAMES].assign(x9=frame["x0"], two=frame["two"])
    refused(TrainingSetError, "does not determine", LogisticRegression(C=np.inf), twice, "two")
    rare = numbers[NAMES].assign(y=np.where(frame.index < 2, "rare", frame["two"]), w=(frame.index > 1) * 1.0)
    refused(TrainingSetError, "no row of class rare", LogisticRegression(), rare, "y", sample_weight="w")
    robust = make_pipeline(RobustScaler(), LogisticRegression())
    refused(RouteError, r"table\.sample", robust, numbers[[*NAMES, "two"]], "two")
    lasso = LogisticRegression(solver="saga", **({"penalty": "l1"} if sklearn_before("1.8") else {"l1_ratio": 1}))
    refused(RouteError, r"corners.*table\.sample", lasso, numbers.drop(columns="count"), "two")
    monkeypatch.setattr(glmfit, "MOST_PASSES", 3)
    refused(TrainingSetError, "after 3 passes", PoissonRegressor(alpha=0.1), numbers.drop(columns="two"), "count")
