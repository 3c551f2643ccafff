"""Folds for rows that follow one another, as people give them: orders, coordinates, and what is refused."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pandas as pd
import polars
import pytest
from sklearn.linear_model import Ridge
from sklearn.model_selection import KFold, PredefinedSplit, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.svm import SVR

import onefit
from helpers import quiet_nested_cv
from onefit.arrangement import Line, Plane
from onefit.errors import DataError, FoldError, IntervalError, OneFitError
from onefit.rowplaces import read_coords

N = 80
RNG = np.random.default_rng(2)
X = RNG.normal(size=(N, 3))
Y = X.sum(axis=1) + RNG.normal(size=N)
PLACES = RNG.uniform(size=(N, 2))


def interval(cv, table=X, **keywords):
    return quiet_nested_cv(Ridge(), table, Y, cv=cv, **keywords).interval


def test_an_order_may_be_a_column_an_array_or_dates_and_rows_may_be_shuffled():
    time = pd.date_range("2020-01-01", periods=N, freq="D")
    expected = interval(onefit.TimeBlocks(buffer=3))
    assert interval(onefit.TimeBlocks(buffer=3, order=np.arange(N) * 7.5)) == pytest.approx(expected, rel=1e-12)
    for order in (time, pd.Series(time), time.to_period("D"), list(time)):
        assert interval(onefit.TimeBlocks(buffer=3, order=order)) == pytest.approx(expected, rel=1e-12)
    shuffled = RNG.permutation(N)
    result = quiet_nested_cv(Ridge(), X[shuffled], Y[shuffled], cv=onefit.TimeBlocks(buffer=3, order=time[shuffled]))
    assert result.interval == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("library", [pd.DataFrame, polars.DataFrame])
def test_a_column_is_named_and_stays_a_column(library):
    table = library({"a": X[:, 0], "b": X[:, 1], "when": np.arange(N) * 2.0})
    named = interval(onefit.TimeBlocks(buffer=2, order="when"), table)
    assert named == interval(onefit.TimeBlocks(buffer=2, order=np.arange(N)), table)


def test_rows_of_one_time_stay_together():
    order = np.repeat(np.arange(N // 4), 4)
    line = Line.of(order.astype(float))
    blocks = line.blocks(5)
    assert line.n_places == N // 4
    assert all(len(set(blocks[order == time])) == 1 for time in order)
    assert np.bincount(blocks).tolist() == [16] * 5
    near = line.near(blocks == 2, 1)
    assert np.array_equal(np.unique(order[near]), np.arange(7, 13))


def test_a_buffer_goes_by_time_and_not_by_rows():
    time = np.concatenate([np.arange(40.0), np.arange(100.0, 140.0)])
    line = Line.of(time)
    assert line.near(line.time >= 100, 5).sum() == 40
    assert line.near(line.time >= 100, 61).sum() == 41


def test_gaps_and_origins_are_stretches_of_time():
    line = Line.as_they_come(20)
    (drop, score), *rest = onefit.RollingOrigin(4, first=8).pairs_of(line, 20)
    assert drop.tolist() == list(range(8, 20))
    assert score.tolist() == [8, 9, 10, 11]
    assert len(rest) == 2
    (drop, score), *rest = onefit.RollingOrigin(2, window=5, step=6).pairs_of(line, 20)
    assert drop.tolist() == list(range(5, 20))
    assert rest[0][0].tolist() == [*range(6), *range(11, 20)]
    result = quiet_nested_cv(Ridge(), X, Y, cv=onefit.Gaps(10))
    assert result.n_folds == 8
    assert quiet_nested_cv(Ridge(), X, Y, cv=onefit.Gaps(1)).n_folds == 50


def test_blocks_of_a_map_are_compact_and_of_one_size():
    plane = Plane.of(RNG.uniform(size=(640, 2)))
    blocks = plane.blocks(16)
    assert np.ptp(np.bincount(blocks)) <= 1
    spread = np.mean([np.ptp(plane.points[blocks == block], axis=0).max() for block in range(16)])
    assert spread < np.ptp(plane.points, axis=0).max() * 0.35
    near = plane.near(blocks == 3, 2.0)
    distance = np.linalg.norm(plane.points[:, None] - plane.points[blocks == 3], axis=2).min(axis=1)
    assert np.array_equal(near, distance <= 2.0)
    most = plane.most_distance(blocks)
    assert max(plane.near(blocks == block, most).mean() for block in range(16)) <= 0.25


def test_longitudes_and_latitudes_are_kilometres():
    table = pd.DataFrame({"a": X[:, 0], "lon": 10 + PLACES[:, 0], "lat": 60 + PLACES[:, 1]})
    degree = 6371.0088 * np.pi / 180
    flat = degree * np.column_stack([table["lon"] * np.cos(np.radians(table["lat"].median())), table["lat"]])
    named = quiet_nested_cv(Ridge(), table, Y, cv=onefit.SpaceBlocks(9, buffer=10.0, coords=["lon", "lat"]))
    given = quiet_nested_cv(Ridge(), table, Y, cv=onefit.SpaceBlocks(9, buffer=10.0, coords=flat))
    assert named.interval == pytest.approx(given.interval, rel=1e-9)
    assert named.dependence.buffer == 10.0


def test_the_date_line_is_no_border_and_names_may_come_in_either_order():
    table = pd.DataFrame({"a": X[:, 0], "lon": 10 + PLACES[:, 0], "lat": PLACES[:, 1] - 20})
    across = table.assign(lon=(table["lon"] + 169.5 + 180) % 360 - 180)
    assert across["lon"].min() < -179
    assert across["lon"].max() > 179
    expected = read_coords(table[["lon", "lat"]], table, N)
    for columns in (["lon", "lat"], ["lat", "lon"]):
        found = read_coords(across[columns], across, N)
        np.testing.assert_allclose(found - found[0], expected - expected[0], atol=1e-9)


def test_dates_are_an_order_and_no_predictor_unless_a_model_may_choose_them():
    dates = pd.date_range("2020-01-31", periods=N, freq=pd.offsets.MonthEnd())
    table = pd.DataFrame(X, columns=list("abc")).assign(when=dates)
    named = interval(onefit.TimeBlocks(buffer=3, order="when"), table)
    assert named == interval(onefit.TimeBlocks(buffer=3, order=dates), table[list("abc")])
    for other in (pd.Series(dates).dt.tz_localize("Europe/Berlin"), [Decimal(at) for at in range(N)]):
        assert interval(onefit.TimeBlocks(buffer=3, order=other)) == pytest.approx(named, rel=1e-12)

    def month(frame):
        return frame.assign(when=frame["when"].dt.month)

    seen = make_pipeline(FunctionTransformer(month), Ridge())
    given = quiet_nested_cv(seen, table, Y, cv=onefit.TimeBlocks(buffer=3, order="when"))
    expected = interval(onefit.TimeBlocks(buffer=3), month(table))
    assert given.interval == pytest.approx(expected, rel=1e-9)
    curve = onefit.error_curve(
        Ridge(), table.assign(y=Y), "y", param_name="alpha", param_range=[1.0, 2.0],
        cv=onefit.TimeBlocks(8, buffer=3, order="when"), progress=False,
    )  # fmt: skip
    assert curve.results[0].n_folds == 8
    with pytest.raises(DataError, match="did you mean 'when'"):
        interval(onefit.TimeBlocks(order="whn"), table)
    with pytest.raises(DataError, match="no columns beside 'when'"):
        interval(onefit.TimeBlocks(order="when"), table[["when"]])


def test_rows_that_a_splitter_never_tests_are_always_trained_on():
    ids = np.where(np.arange(N) < 20, -1, np.arange(N) % 6)
    expected = quiet_nested_cv(Ridge(), X, Y, folds=ids)
    assert interval(PredefinedSplit(ids)) == expected.interval


def test_the_fits_of_a_pilot_are_counted_before_those_of_the_job():
    seen = []
    quiet_nested_cv(SVR(), X, Y, cv=onefit.TimeBlocks(5), progress=lambda done, total: seen.append((done, total)))
    assert seen == [(done, 10 + 15) for done in (*range(11), *range(10, 26))]


def test_an_int_is_a_number_of_folds_and_a_partition_is_one():
    expected = quiet_nested_cv(Ridge(), X, Y, n_folds=5, n_repeats=3, random_state=1)
    assert interval(5, n_repeats=3, random_state=1) == expected.interval
    splits = list(KFold(5).split(X))
    assert interval(splits) == interval(KFold(5)) == quiet_nested_cv(Ridge(), X, Y, folds=KFold(5)).interval


def test_they_are_splitters_of_scikit_learn_too():
    cv = onefit.TimeBlocks(5, buffer=3)
    splits = list(cv.split(X))
    assert cv.get_n_splits(X) == len(splits) == 5
    train, test = splits[1]
    assert test.tolist() == list(range(16, 32))
    assert train.tolist() == [*range(13), *range(35, N)]
    means = -cross_val_score(Ridge(), X, Y, cv=cv, scoring="neg_mean_squared_error")
    np.testing.assert_allclose(quiet_nested_cv(Ridge(), X, Y, cv=cv).fold_errors.e_out[0], means, rtol=1e-9)
    with pytest.raises(FoldError, match="found by nested_cv"):
        next(onefit.TimeBlocks().split(X))


BAD = {
    "missing time": (
        lambda: onefit.TimeBlocks(order=np.where(np.arange(N) == 3, np.nan, np.arange(N))),
        "missing in 1",
    ),
    "text": (lambda: onefit.TimeBlocks(order=[f"day {i}" for i in range(N)]), "to_datetime"),
    "one time": (lambda: onefit.TimeBlocks(order=np.ones(N)), "one time only"),
    "short order": (lambda: onefit.TimeBlocks(order=np.arange(N - 1)), "one time for each"),
    "no names": (lambda: onefit.TimeBlocks(order="when"), "X has no names"),
    "few rows": (lambda: onefit.TimeBlocks(40), "give n_blocks=26 or less"),
    "rows for three": (lambda: onefit.TimeBlocks(4, order=np.arange(N) // 8), "give n_blocks=3\\.$"),
    "two times": (lambda: onefit.TimeBlocks(order=np.arange(N) % 2), "even three blocks need 9"),
    "one point": (lambda: onefit.SpaceBlocks(coords=np.ones((N, 2))), "distinct point"),
    "coordinates": (lambda: onefit.SpaceBlocks(coords=PLACES[:, :1]), "two coordinates"),
    "no coordinates": (lambda: onefit.SpaceBlocks(), "coords is missing"),
    "missing place": (
        lambda: onefit.SpaceBlocks(coords=np.where(PLACES > 0.99, np.nan, PLACES)),
        "missing or infinite",
    ),
    "a class": (lambda: onefit.TimeBlocks, "TimeBlocks is a class"),
    "one time holds most rows": (lambda: onefit.TimeBlocks(order=np.maximum(np.arange(N), 50)), "holds 51 of the 80"),
    "latitudes": (lambda: onefit.SpaceBlocks(coords=pd.DataFrame({"lon": X[:, 0], "lat": 100 * X[:, 1]})), "beyond 90"),
    "large buffer": (lambda: onefit.TimeBlocks(buffer=N), "no row to train on"),
    "buffers of two": (lambda: onefit.TimeBlocks(4, buffer=30), "none are left to train on"),
    "negative buffer": (lambda: onefit.TimeBlocks(buffer=-1), "not negative"),
    "two blocks": (lambda: onefit.TimeBlocks(2), "at least 3"),
    "half a block": (lambda: onefit.TimeBlocks(2.5), "integer"),
    "long gaps": (lambda: onefit.Gaps(N), "smaller length"),
    "no gap": (lambda: onefit.Gaps(0), "at least 1"),
    "long horizon": (lambda: onefit.RollingOrigin(30), "at least 3 are needed"),
    "short step": (lambda: onefit.RollingOrigin(5, step=2), "at least the horizon"),
    "pairs": (lambda: onefit.Neighbourhoods([1, 2, 3]), "drop, score"),
    "rows": (lambda: onefit.Neighbourhoods([([0, 1], [0]), ([2, 3], [2]), ([4, N], [4])]), f"there are {N} rows"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_has_a_cause_and_a_remedy(name):
    make, words = BAD[name]
    with pytest.raises(OneFitError, match=words):
        interval(make())


@pytest.mark.parametrize(
    ("keywords", "error", "words"),
    [
        ({"interval": "bates"}, IntervalError, "takes rows for independent"),
        ({"groups": np.arange(N) // 4}, DataError, "leave groups out"),
        ({"n_folds": 7}, FoldError, "n_folds"),
        ({"n_repeats": 3}, FoldError, "one repeat"),
        ({"bias_folds": 3}, FoldError, "bias_folds"),
        ({"folds": np.arange(N) % 5}, FoldError, "leave one of them out|one of them"),
    ],
)
def test_keywords_that_make_no_sense_beside_them_are_refused(keywords, error, words):
    with pytest.raises(error, match=words):
        interval(onefit.TimeBlocks(), **keywords)


def test_a_frame_in_the_place_of_the_count_of_blocks_is_told_where_it_belongs():
    with pytest.raises(
        FoldError, match=r"must be an integer of at least 3; times go by order=, places by coords=\.$"
    ) as told:
        onefit.SpaceBlocks(np.zeros((500, 2)))
    assert len(str(told.value)) < 200
