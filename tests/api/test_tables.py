"""Tables whose rows stay on disk: the figures are those of the same folds in memory, whatever reads the rows."""

from __future__ import annotations

import importlib
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression, Ridge, RidgeClassifier, RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import onefit
from helpers import quietly
from onefit.dealing import DealtClasses, DealtGroups, DealtRows
from onefit.errors import DataError, FoldError, MonteCarloWarning, OneFitError, RouteError, TrainingSetError
from onefit.sources import table as sources_table

pytest.importorskip("pyarrow")

N, P, K, L, SEED = 2500, 5, 6, 2, 7
NAMES = [f"x{at}" for at in range(P)]
FIGURES = ("estimate", "interval", "standard_error", "mse", "cv_estimate", "raw_estimate")


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, P)) @ rng.normal(size=(P, P)) + 5 * rng.normal(size=P)
    frame = pd.DataFrame(X, columns=NAMES)
    frame["y"] = X @ rng.normal(size=P) + 3 * rng.normal(size=N) + 7
    frame["w"], frame["g"] = rng.uniform(0.1, 3, N), rng.integers(0, 40, N)
    return frame


@pytest.fixture(scope="module")
def table(frame, tmp_path_factory):
    """Parquet files of very different sizes, and one without rows."""
    folder = tmp_path_factory.mktemp("table")
    for part, (low, high) in enumerate([(0, 1), (1, 900), (900, 900), (900, 917), (917, N)]):
        frame[low:high].to_parquet(folder / f"part-{part}.parquet", row_group_size=300)
    return onefit.scan(folder)


def ids():
    dealt = DealtRows(N, K, SEED)
    return np.stack([dealt.ids(0, N, repeat) for repeat in range(L)])


def group_ids(groups):
    dealt = DealtGroups(tuple(np.bincount(groups).tolist()), K, SEED)
    return np.stack([dealt.ids(np.asarray(groups), repeat) for repeat in range(L)])


def check_same(streamed, memory, figures=FIGURES, rtol=1e-9):
    for name in figures:
        np.testing.assert_allclose(getattr(streamed, name), getattr(memory, name), rtol=rtol, err_msg=name)


ASKED = {"n_folds": K, "n_repeats": L, "random_state": SEED}


@pytest.mark.parametrize("loss", ["huber", "fourth power"])
def test_intervals_of_losses_in_other_units_than_y_have_all_digits(loss):
    """Third powers were taken about the root mean square: of a Huber loss and y of 1e-6 an end was 59% off."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = 1e-6 * (X[:, 0] + rng.standard_exponential(60))
    asked = onefit.losses.huber(1.35e-6) if loss == "huber" else onefit.losses.nonnegative(lambda a, b: (a - b) ** 4)
    table = onefit.scan(pd.DataFrame(X, columns=["a", "b"]).assign(y=y))
    found = quietly(onefit.nested_cv, Ridge(), table, "y", loss=asked, n_folds=5, n_repeats=2, random_state=3)
    deal = DealtRows(60, 5, 3)
    folds = np.stack([deal.ids(0, 60, repeat) for repeat in range(2)])
    expected = quietly(onefit.nested_cv, Ridge(), X, y, loss=asked, folds=folds)
    np.testing.assert_allclose(found.interval, expected.interval, rtol=1e-10)


@pytest.mark.parametrize("estimator", [Ridge(3.0), LinearRegression(), Ridge(2.0, fit_intercept=False)], ids=repr)
def test_figures_are_those_of_the_same_folds_in_memory(estimator, frame, table):
    streamed = onefit.nested_cv(estimator, table.select([*NAMES, "y"]), "y", **ASKED)
    memory = onefit.nested_cv(estimator, frame[NAMES], frame["y"], folds=ids())
    check_same(streamed, memory, (*FIGURES, "bias", "r2", "rmse", "skill"))
    check_same(streamed.baseline, memory.baseline)
    assert streamed.route == "gram"
    assert streamed.heldout.empty
    kept = ["covariance", "paper", "naive", "corrected_t"]
    np.testing.assert_allclose(streamed.intervals.loc[kept], memory.intervals.loc[kept], rtol=1e-9)
    assert streamed.intervals.loc[["bates", "mlr3"]].isna().all().all()
    assert "asked for" in streamed.intervals.attrs["reasons"]["bates"]
    assert "squared error" in repr(streamed)


@pytest.mark.parametrize("loss", ["squared_error", "absolute_error"])
@pytest.mark.parametrize("roles", [{}, {"sample_weight": "w"}, {"groups": "g"}, {"groups": "g", "sample_weight": "w"}])
def test_weights_and_groups_by_name(loss, roles, frame, table):
    streamed = onefit.nested_cv(Ridge(), table.select([*NAMES, "y", *roles.values()]), "y", loss=loss, **roles, **ASKED)
    given = {role: frame[name] for role, name in roles.items()}
    folds = group_ids(frame["g"]) if "groups" in roles else ids()
    memory = onefit.nested_cv(Ridge(), frame[NAMES], frame["y"], loss=loss, folds=folds, **given)
    check_same(streamed, memory, FIGURES if loss == "absolute_error" else (*FIGURES, "r2", "skill"))
    assert [each.kind for each in streamed.findings] == [each.kind for each in memory.findings]


def test_rules_that_need_pairs_of_folds_are_there_if_they_are_asked_for(frame, table):
    with pytest.warns(MonteCarloWarning):
        streamed = onefit.nested_cv(Ridge(), table.select([*NAMES, "y"]), "y", interval="mlr3", **ASKED)
    with pytest.warns(MonteCarloWarning):
        memory = onefit.nested_cv(Ridge(), frame[NAMES], frame["y"], interval="mlr3", folds=ids())
    np.testing.assert_allclose(streamed.intervals, memory.intervals, rtol=1e-9)


@pytest.mark.parametrize("loss", ["squared_error", "absolute_error"])
def test_curves_and_comparisons_are_those_of_memory(loss, frame, table):
    table = table.select([*NAMES, "y"])
    alphas = np.geomspace(1e-2, 1e5, 5)
    path = {"param_name": "alpha", "param_range": alphas, "loss": loss}
    streamed = onefit.error_curve(Ridge(), table, "y", **path, **ASKED)
    memory = onefit.error_curve(Ridge(), frame[NAMES], frame["y"], **path, folds=ids())
    check_same(streamed, memory, ("estimate", "low", "high", "standard_error"))
    check_same(streamed.difference, memory.difference, ("estimate", "standard_error"), 1e-8)
    assert streamed.best == memory.best
    np.testing.assert_allclose(streamed.scores["gcv"], memory.scores["gcv"], rtol=1e-9)
    np.testing.assert_allclose(streamed.edf, memory.edf, rtol=1e-9)
    assert "memory" in streamed.scores.attrs["reasons"]["reml"]
    models = {"none": LinearRegression(), "much": Ridge(3000.0), "little": Ridge(30.0, fit_intercept=False)}
    streamed = onefit.compare(models, table, "y", loss=loss, **ASKED)
    memory = onefit.compare(models, frame[NAMES], frame["y"], loss=loss, folds=ids())
    columns = ["estimate", "low", "high", "standard_error"]
    np.testing.assert_allclose(streamed.models[columns], memory.models[columns], rtol=1e-9)
    np.testing.assert_allclose(streamed.differences[columns], memory.differences[columns], rtol=1e-7)
    assert list(streamed.models.index) == list(memory.models.index)


@pytest.mark.parametrize("criterion", ["gcv", "reml"])
@pytest.mark.parametrize("weights", [{}, {"sample_weight": "w"}], ids=str)
def test_penalties_are_chosen_in_every_training_set_as_in_memory(criterion, weights, frame, table):
    estimator = onefit.PenalizedRegression(lam=criterion)
    frame = frame.assign(w=frame["w"] * (frame.index % 3 > 0), y=frame["y"] - 0.9 * frame["y"] * (frame.index % 2))
    table = onefit.scan(frame)
    streamed = onefit.nested_cv(estimator, table.select([*NAMES, "y", *weights.values()]), "y", **weights, **ASKED)
    given = {role: frame[name] for role, name in weights.items()}
    check_same(streamed, onefit.nested_cv(estimator, frame[NAMES], frame["y"], folds=ids(), **given), rtol=1e-8)
    if not weights:
        scaled, table = make_pipeline(StandardScaler(), estimator), table.select([*NAMES, "y"])
        memory = onefit.nested_cv(scaled, frame[NAMES], frame["y"], folds=ids())
        check_same(onefit.nested_cv(scaled, table, "y", **ASKED), memory, rtol=1e-8)
        with pytest.raises(RouteError, match="GCV or REML"):
            onefit.nested_cv(RidgeCV(), table, "y")


def test_paths_of_penalties_far_apart_are_one_curve(frame, table):
    path = {"param_name": "alpha", "param_range": [0.0, 1e-8, 1.0, 1e4]}
    streamed = onefit.error_curve(Ridge(), table.select([*NAMES, "y"]), "y", **path, **ASKED)
    memory = onefit.error_curve(Ridge(), frame[NAMES], frame["y"], **path, folds=ids())
    check_same(streamed, memory, ("estimate", "low", "high", "standard_error"))


@pytest.mark.parametrize("ends", [[0.5], [-0.5, 1.0]], ids=["two classes", "three classes"])
@pytest.mark.parametrize("roles", [{}, {"groups": "g"}, {"sample_weight": "w"}], ids=str)
def test_classes_are_dealt_evenly_and_told_apart_as_in_memory(ends, roles, frame, tmp_path):
    score = (frame["y"] - frame["y"].mean()) / frame["y"].std()
    frame = frame.assign(y=np.array(["low", "mid", "top"])[np.digitize(score, ends)])
    for part in range(3):
        frame[900 * part : 900 * (part + 1)].to_parquet(tmp_path / f"{part}.parquet", row_group_size=400)
    names, codes, counts = np.unique(frame["y"], return_inverse=True, return_counts=True)
    dealt = DealtClasses(tuple(counts.tolist()), K, SEED)
    folds = np.stack([dealt.ids(codes, np.zeros(len(names)), repeat) for repeat in range(L)])
    if "groups" in roles:
        folds = group_ids(frame["g"])
    table = onefit.scan(tmp_path, columns=[*NAMES, "y", *roles.values()])
    for estimator in (RidgeClassifier(), make_pipeline(StandardScaler(), RidgeClassifier())):
        streamed = onefit.nested_cv(estimator, table, "y", **roles, **ASKED)
        given = {role: frame[name] for role, name in roles.items()}
        memory = onefit.nested_cv(estimator, frame[NAMES], frame["y"], folds=folds, **given)
        check_same(streamed, memory)


def test_bits_do_not_depend_on_threads_and_hardly_on_how_rows_are_read(frame, table, monkeypatch, tmp_path):
    monkeypatch.setattr("onefit.sources.streams.ROWS_OF_A_PIECE", 100)
    table = table.select([*NAMES, "y"])
    one = onefit.nested_cv(Ridge(), table, "y", **ASKED)
    three = onefit.nested_cv(Ridge(), table, "y", n_jobs=3, **ASKED)
    assert (one.estimate, one.interval, one.mse) == (three.estimate, three.interval, three.mse)
    frame.to_csv(tmp_path / "all.csv", index=False)
    read = [onefit.scan(frame), onefit.scan(tmp_path / "all.csv"), onefit.scan(frame[[*NAMES, "y"]].to_numpy())]
    for other in read:
        columns, y = ([*NAMES, "y"], "y") if "y" in other.columns else (other.columns, "5")
        check_same(onefit.nested_cv(Ridge(), other.select(columns), y, **ASKED), one)


def test_vectors_in_memory_go_with_a_table(frame, table):
    streamed = onefit.nested_cv(Ridge(), table.select(NAMES), frame["y"], sample_weight=frame["w"], **ASKED)
    check_same(streamed, onefit.nested_cv(Ridge(), frame[NAMES], frame["y"], sample_weight=frame["w"], folds=ids()))
    given = onefit.nested_cv(Ridge(), table.select(NAMES), frame["y"], folds=ids())
    check_same(given, onefit.nested_cv(Ridge(), table.select([*NAMES, "y"]), "y", **ASKED))
    with pytest.raises(DataError, match="has 2500 rows"):
        onefit.nested_cv(Ridge(), table.select(NAMES), frame["y"][:-1])


def test_offsets_and_scales_keep_their_digits(frame):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(N, 4)) * [1e-6, 1.0, 1e6, 1.0] + [0.0, 1e8, -1e8, 3.0]
    X[:, 3] = X[:, 1] - 1e8 + 1e-4 * rng.normal(size=N)  # nearly the same as another
    y = 2e6 * X[:, 0] + (X[:, 1] - 1e8) + 1e-6 * (X[:, 2] + 1e8) + rng.normal(size=N)
    table = onefit.scan(pd.DataFrame(X, columns=list("abcd")).assign(y=y))
    for estimator in (LinearRegression(), Ridge(1e-6)):
        streamed = onefit.nested_cv(estimator, table, "y", **ASKED)
        check_same(streamed, onefit.nested_cv(estimator, X, y, folds=ids(), route="onestep"), rtol=1e-8)


@pytest.mark.parametrize(
    "estimator",
    [Ridge(1.0), Ridge(1.0, fit_intercept=False), onefit.PenalizedRegression(lam="gcv")],
    ids=["ridge", "without intercept", "tuned"],
)
def test_a_column_that_only_few_rows_outside_of_the_sample_have_counts(estimator, frame, monkeypatch):
    """Models are made of a sample, in whose rows with a weight the column does not vary."""
    monkeypatch.setattr("onefit.running.streamedmodels.SAMPLE_ROWS", 60)
    own = frame[["x0", "x1"]] - frame[["x0", "x1"]].mean()
    own["rare"] = np.where(np.arange(N) % 400 == 399, 1.0, 0.0)
    own["y"] = own["x0"] + 3 * own["rare"] + np.cos(np.arange(N))
    own["w"] = np.where(np.arange(N) % 10 == 0, 0.0, frame["w"])
    X = own[["x0", "x1", "rare"]]
    streamed = onefit.nested_cv(estimator, onefit.scan(own), "y", sample_weight="w", **ASKED)
    check_same(streamed, onefit.nested_cv(estimator, X, own["y"], sample_weight=own["w"], folds=ids()))


def test_rows_that_are_sorted_and_fits_that_are_nearly_perfect(frame):
    """What the first blocks do not show is found in the first pass, which is then made again."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(N, 3))
    X[: N // 2, 1] = 0.0
    X[: N - 100, 2] = 0.0
    X[N - 100 :, 2] *= 1e2
    y = X @ [1.0, 2.0, 3.0] + 1e-6 * rng.normal(size=N)
    table = onefit.scan(pd.DataFrame(X, columns=list("abc")).assign(y=y))
    streamed = onefit.nested_cv(LinearRegression(), table, "y", **ASKED)
    check_same(streamed, onefit.nested_cv(LinearRegression(), X, y, folds=ids()), rtol=1e-7)


def test_what_is_missing_is_named_by_column_and_first_row(frame, tmp_path):
    for column, at in (("x3", 1234), ("y", 77), ("x0", N - 1)):
        wrong = frame.copy()
        wrong.loc[[at, N - 1], column] = np.nan
        wrong.to_parquet(tmp_path / "wrong.parquet", row_group_size=200)
        with pytest.raises(DataError, match=f"Column '{column}' is missing .NaN. in row {at}, the first such row"):
            onefit.nested_cv(Ridge(), onefit.scan(tmp_path / "wrong.parquet"), "y", n_jobs=2)
    wrong = frame.assign(x1=frame["x1"].where(frame.index != 9, np.inf), w=-1.0)
    with pytest.raises(DataError, match="'x1' is infinite in row 9"):
        onefit.nested_cv(Ridge(), onefit.scan(wrong), "y")
    with pytest.raises(DataError, match=r"sample_weight, column 'w', is -1.0 in row 0"):
        onefit.nested_cv(Ridge(), onefit.scan(frame.assign(w=-1.0)), "y", sample_weight="w")


def test_a_file_that_changes_between_passes_is_named(frame, tmp_path, monkeypatch):
    frame.to_parquet(tmp_path / "all.parquet")
    table = onefit.scan(tmp_path / "all.parquet")
    reads = []

    def counted(fragment, columns, count):
        reads.append(fragment)
        if len(reads) == 2:
            (tmp_path / "all.parquet").unlink()
        return sources_table.check_rows(fragment, columns, count)

    monkeypatch.setattr("onefit.routes.streams.rows.check_rows", counted)
    with pytest.raises(DataError, match=r"all\.parquet.*is not there"):
        onefit.nested_cv(Ridge(), table, "y")


def refused(error, match, estimator, table, y="y", **options):
    with pytest.raises(error, match=match):
        onefit.nested_cv(estimator, table, y, **options)


def test_what_needs_rows_in_memory_is_refused_with_the_remedy(frame, table):
    refused(RouteError, r"table\.sample", RandomForestRegressor(), table)
    refused(RouteError, r"table\.sample", Ridge(), table, route="onestep")
    refused(RouteError, "freeze", make_pipeline(StandardScaler(), Ridge()), table, transformers="freeze")
    refused(FoldError, "single rows", Ridge(), table, n_folds="n")
    refused(FoldError, r"table\.sample", Ridge(), table, cv=onefit.TimeBlocks())
    refused(FoldError, r"table\.sample", Ridge(), table, bias_folds=3)
    refused(DataError, "did you mean 'x0'", Ridge(), table, "x00")
    refused(DataError, "no column", Ridge(), table, groups="city")
    refused(DataError, "in column 't'", Ridge(), onefit.scan(frame.assign(t="a")))
    refused(TrainingSetError, "not unique", LinearRegression(), onefit.scan(frame.assign(x9=frame["x0"])))
    refused(TrainingSetError, "too small|rows for", LinearRegression(), onefit.scan(frame[:9]))
    refused(DataError, "as large as", Ridge(), onefit.scan(frame.assign(x0=1e200)))
    refused(OneFitError, "n_folds", Ridge(), table, n_folds=2)
    refused(DataError, "only 2 group", Ridge(), onefit.scan(frame.assign(g=frame["g"] % 2)), groups="g")
    result = onefit.nested_cv(Ridge(), table, "y", loss="absolute_error", **ASKED)
    with pytest.raises(OneFitError, match=r"table\.sample"):
        _ = result.baseline


def test_a_pass_that_was_stopped_goes_on_from_finished_pieces(frame, tmp_path, monkeypatch):
    monkeypatch.setattr("onefit.sources.streams.ROWS_OF_A_PIECE", 100)
    monkeypatch.setattr(importlib.import_module("onefit.sources.scan"), "ROWS_OF_A_PIECE", 100)
    frame[[*NAMES, "y"]].to_parquet(tmp_path / "all.parquet", row_group_size=250)
    table, path = onefit.scan(tmp_path / "all.parquet"), tmp_path / "kept"
    assert len(table.fragments) == 10
    plain = onefit.nested_cv(Ridge(), table, "y", **ASKED)
    read = []

    def stopped_at(count):
        def counted(fragment, columns, rows):
            read.append(fragment)
            if len(read) == count:
                raise KeyboardInterrupt
            return sources_table.check_rows(fragment, columns, rows)

        return counted

    for stop in (5, 12, None):
        read.clear()
        monkeypatch.setattr("onefit.routes.streams.rows.check_rows", stopped_at(stop))
        if stop is not None:
            with pytest.raises(KeyboardInterrupt):
                onefit.nested_cv(Ridge(), table, "y", checkpoint=path, **ASKED)
    result = onefit.nested_cv(Ridge(), table, "y", checkpoint=path, **ASKED)
    assert (result.estimate, result.interval, result.mse) == (plain.estimate, plain.interval, plain.mse)
    assert len(read) == 20 - 4 - 11
    read.clear()
    onefit.nested_cv(Ridge(), table, "y", checkpoint=path, **ASKED)
    assert not read
    with pytest.raises(DataError, match="of another job"):
        onefit.nested_cv(Ridge(2.0), table, "y", checkpoint=path, **ASKED)
    with pytest.raises(DataError, match="random_state"):
        onefit.nested_cv(Ridge(), table, "y", checkpoint=path)


def test_a_plan_of_a_table_counts_its_rows(table):
    plan = onefit.plan_for(Ridge(), table.select([*NAMES, "y"]), "y", n_folds=K, n_repeats=3)
    assert (plan.n, plan.p, plan.n_folds, plan.choice) == (N, P, K, "gram")
    assert "read twice" in str(plan)


def test_a_column_in_tiny_units_beside_none_warns_of_nothing():
    """Its coordinates look like a matrix that is close to singular (fuzz case 431001426)."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=49) * 1e-40, "y": rng.normal(size=49)})
    settings = {"n_folds": 5, "n_repeats": 2, "random_state": 0, "progress": False}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = onefit.nested_cv(LinearRegression(), onefit.scan(frame), "y", **settings)
    larger = onefit.nested_cv(LinearRegression(), onefit.scan(frame.assign(x=frame["x"] * 2.0**130)), "y", **settings)
    np.testing.assert_allclose(found.interval, larger.interval, rtol=1e-12)
