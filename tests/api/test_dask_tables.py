"""Nested cross-validation of Dask arrays and DataFrames: the figures of the same rows in memory, on every scheduler."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression, PoissonRegressor, Ridge

import onefit
from onefit.errors import DataError
from onefit.sources import scan

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")

SIZES = (1, 0, 700, 3, 0, 41, 1_255)
N = sum(SIZES)
NAMES = ["size", "age", "rooms"]
FEW = {"n_folds": 5, "n_repeats": 2, "random_state": 0, "progress": False}


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(3)
    X = pd.DataFrame(rng.normal([1, 2, 3], size=(N, 3)), columns=NAMES)
    X["price"] = X["size"] - X["age"] + rng.standard_normal(N)
    X["city"] = rng.integers(40, size=N)
    X["weight"] = rng.uniform(0.5, 2, size=N)
    return X


def parted(frame):
    """A Dask DataFrame with partitions of very different sizes, some of them empty."""
    ends = np.cumsum(SIZES)
    parts = [frame.iloc[end - size : end] for size, end in zip(SIZES, ends, strict=True)]
    return dd.from_delayed([dask.delayed(part) for part in parts], meta=frame.iloc[:0], verify_meta=False)


def assert_close(found, expected):
    assert found.estimate == pytest.approx(expected.estimate, rel=1e-9)
    assert found.interval == pytest.approx(expected.interval, rel=1e-9)
    assert found.cv_estimate == pytest.approx(expected.cv_estimate, rel=1e-9)


def test_a_frame_has_the_figures_of_its_rows_in_memory(frame):
    some = frame[[*NAMES, "price"]]
    found = onefit.nested_cv(Ridge(), parted(some), "price", **FEW)
    here = onefit.nested_cv(Ridge(), scan(some), "price", **FEW)
    assert_close(found, here)
    assert found.route == "gram"


def test_models_that_iterate_have_the_figures_of_the_rows_in_memory(frame):
    counts = np.random.default_rng(1).poisson(np.exp(0.3 * frame["size"])).astype(float)
    some = frame[NAMES].assign(count=counts)
    found = onefit.nested_cv(PoissonRegressor(alpha=0.1), parted(some), "count", **FEW)
    assert_close(found, onefit.nested_cv(PoissonRegressor(alpha=0.1), scan(some), "count", **FEW))
    assert found.route == "newton"


def test_arrays_of_known_and_unknown_chunks_have_the_same_figures(frame):
    X, y = frame[NAMES].to_numpy(), frame["price"].to_numpy()
    array, target = da.from_array(X, chunks=(SIZES, 2)), da.from_array(y, chunks=100)
    here = onefit.nested_cv(Ridge(), scan(X), y, **FEW)
    assert_close(onefit.nested_cv(Ridge(), array, target, **FEW), here)
    assert_close(onefit.nested_cv(Ridge(), array, y, **FEW), here)
    unknown = array[array[:, 0] > -np.inf]
    assert_close(onefit.nested_cv(Ridge(), unknown, target.rechunk((SIZES,))[array[:, 0] > -np.inf], **FEW), here)
    assert_close(onefit.nested_cv(Ridge(), unknown, y, **FEW), here)


def test_folds_that_are_given_have_the_figures_of_the_rows_in_memory(frame):
    """The same partition in memory, by the route that rows in memory take: not the same code."""
    ids = np.random.default_rng(0).integers(5, size=(2, N))
    some = {"folds": ids, "random_state": 0, "progress": False}
    X, y = frame[NAMES], frame["price"]
    found = onefit.nested_cv(Ridge(), parted(frame[[*NAMES, "price"]]), "price", **some)
    assert_close(found, onefit.nested_cv(Ridge(), X, y, **some))


def test_groups_and_weights_are_named(frame):
    named = {"groups": "city", "sample_weight": "weight", **FEW}
    found = onefit.nested_cv(Ridge(), parted(frame), "price", **named)
    assert_close(found, onefit.nested_cv(Ridge(), scan(frame), "price", **named))
    series = {"groups": parted(frame)["city"], "sample_weight": parted(frame)["weight"], **FEW}
    again = onefit.nested_cv(Ridge(), parted(frame[NAMES]), parted(frame)["price"], **series)
    assert_close(again, found)


def test_curves_and_comparisons(frame):
    some = parted(frame[[*NAMES, "price"]])
    curve = onefit.error_curve(Ridge(), some, "price", param_name="alpha", param_range=[0.1, 1.0, 10.0], **FEW)
    here = onefit.error_curve(
        Ridge(), scan(frame[[*NAMES, "price"]]), "price", param_name="alpha", param_range=[0.1, 1.0, 10.0], **FEW
    )
    for found, expected in zip(curve.results, here.results, strict=True):
        assert_close(found, expected)
    models = {"ridge": Ridge(1000.0), "ols": LinearRegression()}
    found = onefit.compare(models, some, "price", **FEW).to_frame()
    expected = onefit.compare(models, scan(frame[[*NAMES, "price"]]), "price", **FEW).to_frame()
    assert found["low"].to_numpy() == pytest.approx(expected["low"].to_numpy(), rel=1e-8)


def test_what_is_missing_is_named_by_column_and_row(frame):
    broken = frame[[*NAMES, "price"]].copy()
    broken.iloc[720, 1] = np.nan
    with pytest.raises(DataError, match=r"Column 'age' is missing .*row 720"):
        onefit.nested_cv(Ridge(), parted(broken), "price", **FEW)
    with pytest.raises(DataError, match=r"'prise' is no column of the Dask DataFrame.*did you mean 'price'"):
        onefit.nested_cv(Ridge(), parted(broken), "prise", **FEW)


def test_chunks_that_change_between_the_passes_are_named(frame):
    some = frame[[*NAMES, "price"]]
    looked = []

    def part(at):
        looked.append(at)
        return some if len(looked) < 3 else some.iloc[:-1]

    changing = dd.from_delayed([dask.delayed(part, pure=False)(at) for at in range(1)], meta=some, verify_meta=False)
    with dask.config.set(scheduler="sync"), pytest.raises(DataError, match=r"chunk 0 of .* rows and now has"):
        onefit.nested_cv(Ridge(), changing, "price", **FEW)


# ------------------------------------------------------------------------------------------- on a cluster


@pytest.mark.cluster
def test_a_cluster_gives_the_digits_of_threads(cluster, frame, tmp_path):
    some = frame[[*NAMES, "price"]]
    for at, part in enumerate(np.array_split(np.arange(N), 5)):
        some.iloc[part].to_parquet(tmp_path / f"part-{at}.parquet", row_group_size=100)
    table = scan(tmp_path)
    here = onefit.nested_cv(Ridge(), table, "price", **FEW)
    there = onefit.nested_cv(Ridge(), table.on_dask(), "price", **FEW)
    assert there.estimate == here.estimate
    assert there.interval == here.interval
    collected = onefit.nested_cv(Ridge(), dd.read_parquet(tmp_path), "price", **FEW)
    assert_close(collected, here)
    with dask.config.set(scheduler="threads"):
        threads = onefit.nested_cv(Ridge(), parted(some), "price", **FEW)
    workers = onefit.nested_cv(Ridge(), parted(some), "price", **FEW)
    assert workers.estimate == threads.estimate
    assert workers.interval == threads.interval


@pytest.mark.cluster
def test_a_worker_killed_in_the_second_pass_changes_no_digit(cluster, frame, tmp_path):
    some = frame[[*NAMES, "price"]]
    table = scan(parted(some))
    with dask.config.set(scheduler="threads"):
        here = onefit.nested_cv(Ridge(), table, "price", **FEW)
    runner = KillsInTheSecondPass(table.runner, str(tmp_path / "killed"))
    there = onefit.nested_cv(Ridge(), replace(table, runner=runner), "price", **FEW)
    assert (tmp_path / "killed").exists()
    assert there.estimate == here.estimate
    assert there.interval == here.interval
    cluster.wait_for_workers(2)


class KillsInTheSecondPass:
    """A runner whose tasks that score end their worker, once."""

    reads_ahead = False

    def __init__(self, inner, flag):
        self.inner, self.flag = inner, flag

    def sum(self, task, *arguments):
        scores = type(task).__name__ == "ScoreTask"
        return self.inner.sum(Kills(task, self.flag) if scores else task, *arguments)

    def some(self, *arguments):
        return self.inner.some(*arguments)


class Kills:
    def __init__(self, inner, flag):
        self.inner, self.flag = inner, flag

    def __call__(self, piece):
        import os
        import signal

        if not os.path.exists(self.flag):
            with open(self.flag, "w"):
                pass
            os.kill(os.getpid(), signal.SIGKILL)
        return self.inner(piece)
