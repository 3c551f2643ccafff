"""Tables of Dask: chunks of every size, and passes whose bits do not depend on who computes them."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest

import onefit
from onefit.errors import ClusterError, DataError
from onefit.sources import LocalRunner, Piece, pieces_of
from onefit.sources.daskparts import beside_dask, is_dask
from onefit.sources.daskrunner import DaskRunner

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")

SIZES = (1, 0, 700, 3, 0, 41, 255)
N = sum(SIZES)


@dataclass(frozen=True)
class Sums:
    """Sums over a piece that round: their order can be told from the last bits."""

    columns: tuple[str, ...]

    def __call__(self, piece: Piece):
        found = np.zeros(len(self.columns))
        for fragment in piece.fragments:
            for block in fragment.blocks(self.columns):
                found += np.exp(block.numbers(self.columns)).sum(axis=0)
        return found


def add_in_place(a, b):
    """As sums may be made: the first part is written to."""
    a += b
    return a


def rows(seed=0):
    return np.random.default_rng(seed).standard_normal((N, 3)) * 10


def alone(table):
    """A piece for each fragment."""
    return pieces_of(table.fragments, [None] * len(table.fragments))


def ignore(count):
    return None


def unknown(X):
    """The same array, of which Dask does not know the sizes of the chunks."""
    return X[X[:, 0] > -np.inf]


def frame_of(X):
    """A Dask DataFrame with partitions of these sizes, of which some are empty."""
    names = [f"x{at}" for at in range(X.shape[1])]
    ends = np.cumsum(SIZES)
    parts = [pd.DataFrame(X[end - size : end], columns=names) for size, end in zip(SIZES, ends, strict=True)]
    return dd.from_delayed([dask.delayed(part) for part in parts], meta=parts[0].iloc[:0], verify_meta=False)


def tables(X):
    """Kinds of tables of Dask over the same rows."""
    array = da.from_array(X, chunks=(SIZES, X.shape[1]))
    return {
        "array": onefit.scan(array),
        "columns apart": onefit.scan(array.rechunk({1: 1})),
        "unknown sizes": onefit.scan(unknown(array)),
        "frame": onefit.scan(frame_of(X)),
    }


@pytest.mark.parametrize("kind", tables(rows()))
@pytest.mark.parametrize("scheduler", ["sync", "threads"])
def test_passes_of_dask_have_the_bits_of_passes_here(kind, scheduler):
    X = rows()
    table = tables(X)[kind]
    pieces, task = alone(table), Sums(table.columns)
    here = LocalRunner(1).sum(task, pieces, add_in_place, ignore)
    done = []
    with dask.config.set(scheduler=scheduler):
        there = table.runner.sum(task, pieces, add_in_place, done.append)
    assert there.tobytes() == here.tobytes()
    assert here == pytest.approx(np.exp(X).sum(axis=0))
    assert sum(done) == len(SIZES)


@pytest.mark.parametrize("kind", tables(rows()))
def test_tables_of_dask_know_their_rows_and_columns(kind):
    X = rows()
    table = tables(X)[kind]
    assert table.counts().tolist() == list(SIZES)
    assert len(table) == N
    assert {column.kind for column in table.fields} == {"number"}
    assert np.array_equal(table.head(5).to_numpy(), X[:5])
    drawn = table.sample(50, random_state=1)
    assert np.array_equal(drawn.to_numpy(), X[drawn.index])


def test_columns_that_are_not_asked_for_are_not_made():
    frame = frame_of(rows())
    table = onefit.scan(frame, columns=["x2"])
    assert table.columns == ("x2",)
    (first,) = dask.compute(table.fragments[2].parts[0])
    assert list(first.columns) == ["x2"]


def test_text_and_truth_keep_their_kinds():
    frame = pd.DataFrame({"city": ["a", "b", None], "sold": [True, False, True], "size": [1.0, 2.0, 3.0]})
    table = onefit.scan(dd.from_pandas(frame, npartitions=2))
    assert [column.kind for column in table.fields] == ["text", "truth", "number"]
    assert table.head(2)["city"].tolist() == ["a", "b"]


@pytest.mark.parametrize("vector", ["the same chunks", "other chunks", "a column", "unknown sizes"])
def test_vectors_of_dask_stand_beside_the_rows_they_belong_to(vector):
    X = rows()
    array = da.from_array(X, chunks=(SIZES, 3))
    y = {
        "the same chunks": array[:, 0],
        "other chunks": array[:, 0].rechunk(100),
        "a column": array[:, :1],
        "unknown sizes": unknown(array)[:, 0],
    }[vector]
    table = beside_dask(onefit.scan(array), "__y__", y)
    found = np.concatenate([block.numbers(["__y__", "0"]) for block in table.blocks()])
    assert np.array_equal(found[:, 0], X[:, 0])
    assert np.array_equal(found[:, 1], X[:, 0])


def test_series_stand_beside_their_frame():
    X = rows()
    frame = frame_of(X)
    table = beside_dask(onefit.scan(frame[["x1", "x2"]]), "__y__", frame["x0"])
    assert np.array_equal(np.concatenate([block.numbers(["__y__"]) for block in table.blocks()])[:, 0], X[:, 0])


def test_vectors_in_memory_go_with_the_chunks():
    X = rows()
    table = onefit.scan(unknown(da.from_array(X, chunks=(SIZES, 3)))).with_vectors(target=np.arange(N))
    found = table.runner.sum(Sums(("0",)), alone(table), add_in_place, ignore)
    assert found[0] == pytest.approx(np.exp(X[:, 0]).sum())
    targets = table.runner.some(Targets(), alone(table))
    assert np.array_equal(np.concatenate(list(targets)), np.arange(N))


@dataclass(frozen=True)
class Targets:
    def __call__(self, piece):
        blocks = [block.values("target") for each in piece.fragments for block in each.blocks(("0", "target"))]
        return np.concatenate([np.empty(0), *blocks])


class Fails:
    def __call__(self, piece):
        if piece.place == 2:
            raise DataError("Column 'a' is missing in row 3.")
        return np.zeros(1)


@pytest.mark.parametrize("scheduler", ["sync", "threads"])
def test_errors_of_tasks_are_raised_as_they_are(scheduler):
    table = tables(rows())["array"]
    with dask.config.set(scheduler=scheduler), pytest.raises(DataError, match="Column 'a' is missing in row 3"):
        table.runner.sum(Fails(), alone(table), add_in_place, ignore)


class Memory:
    """What a pass has kept."""

    def __init__(self):
        self.nodes, self.saves = {}, 0

    def load(self):
        return dict(self.nodes)

    def save(self, nodes):
        self.nodes, self.saves = dict(nodes), self.saves + 1


def test_a_pass_goes_on_from_what_was_kept():
    table = tables(rows())["array"]
    pieces, task, keep = alone(table), Sums(table.columns), Memory()
    here = LocalRunner(1).sum(task, pieces, lambda a, b: a + b, ignore)
    stopped = []

    def stop(count):
        stopped.append(count)
        if sum(stopped) == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), dask.config.set(scheduler="sync"):
        table.runner.sum(task, pieces, lambda a, b: a + b, stop, keep)
    done = []
    with dask.config.set(scheduler="sync"):
        again = table.runner.sum(task, pieces, lambda a, b: a + b, done.append, keep)
    assert again.tobytes() == here.tobytes()
    assert done[0] == 4
    assert sum(done) == len(SIZES)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: da.from_array(np.zeros((10, 2), dtype=object), chunks=5), "must hold numbers"),
        (lambda: da.zeros(10), r"1 dimension\(s\)"),
        (lambda: da.zeros((0, 2)), "has no rows"),
        (lambda: da.zeros((3, 0)), "0 columns"),
        (lambda: dd.from_pandas(pd.DataFrame({"a": [1.0]}), npartitions=1)["a"], r"1 dimension\(s\)"),
    ],
)
def test_what_is_no_table_is_refused(make, message):
    with pytest.raises(DataError, match=message):
        onefit.scan(make())


def test_vectors_that_do_not_fit_are_refused():
    array = da.from_array(rows(), chunks=(SIZES, 3))
    with pytest.raises(DataError, match="chunks of different rows"):
        beside_dask(onefit.scan(array), "__y__", array[:-1, 0])
    with pytest.raises(DataError, match="give a vector"):
        beside_dask(onefit.scan(array), "__y__", array)
    with pytest.raises(DataError, match="name a column of the table"):
        beside_dask(onefit.scan(rows()), "__y__", array[:, 0])
    shorter = beside_dask(onefit.scan(unknown(array)), "__y__", array[array[:, 0] > 0][:, 0])
    with pytest.raises(DataError, match="rows in chunk"):
        list(shorter.blocks())


def test_a_chunk_without_a_promised_column_is_named():
    good = pd.DataFrame({"a": [1.0], "b": [2.0]})
    frame = dd.from_delayed([dask.delayed(good), dask.delayed(good[["a"]])], meta=good.iloc[:0], verify_meta=False)
    with pytest.raises(DataError, match=r"chunk 1 of the Dask DataFrame.*no column 'b'"):
        list(onefit.scan(frame).blocks(["a", "b"]))


def test_only_collections_of_dask_are_taken_for_them():
    assert is_dask(da.zeros((2, 2)))
    assert is_dask(dd.from_pandas(pd.DataFrame({"a": [1]}), npartitions=1))
    assert not is_dask(np.zeros((2, 2)))
    assert not is_dask(pd.DataFrame({"a": [1]}))
    assert not is_dask(dask.delayed(1))


# ------------------------------------------------------------------------------------------- on a cluster


@pytest.mark.cluster
@pytest.mark.parametrize("kind", tables(rows()))
def test_a_cluster_gives_the_bits_of_passes_here(cluster, kind):
    table = tables(rows())[kind]
    pieces, task, done = alone(table), Sums(table.columns), []
    here = LocalRunner(1).sum(task, pieces, add_in_place, ignore)
    there = table.runner.sum(task, pieces, add_in_place, done.append)
    assert there.tobytes() == here.tobytes()
    assert sum(done) == len(SIZES)


@pytest.mark.cluster
def test_processes_give_the_bits_of_passes_here():
    table = tables(rows())["array"]
    pieces, task = alone(table), Sums(table.columns)
    here = LocalRunner(1).sum(task, pieces, add_in_place, ignore)
    with dask.config.set(scheduler="processes", num_workers=2):
        there = table.runner.sum(task, pieces, add_in_place, ignore)
    assert there.tobytes() == here.tobytes()


@dataclass(frozen=True)
class KillsAWorker:
    """Ends the process that has the fourth piece, once, when others are done."""

    inner: Sums
    flag: str

    def __call__(self, piece):
        import os
        import signal
        import time

        if piece.place == 3 and not os.path.exists(self.flag):
            time.sleep(0.5)
            with open(self.flag, "w"):
                pass
            os.kill(os.getpid(), signal.SIGKILL)
        return self.inner(piece)


@pytest.mark.cluster
def test_a_worker_killed_in_the_middle_changes_no_bit(cluster, tmp_path):
    table = tables(rows())["unknown sizes"]
    pieces, task = alone(table), Sums(table.columns)
    here = LocalRunner(1).sum(task, pieces, add_in_place, ignore)
    there = table.runner.sum(KillsAWorker(task, str(tmp_path / "killed")), pieces, add_in_place, ignore)
    assert (tmp_path / "killed").exists()
    assert there.tobytes() == here.tobytes()
    cluster.wait_for_workers(2)


@dataclass(frozen=True)
class Slow:
    folder: str

    def __call__(self, piece):
        import time
        from pathlib import Path

        (Path(self.folder) / str(piece.place)).touch()
        time.sleep(0.2)
        return np.zeros(1)


@pytest.mark.cluster
def test_an_interruption_cancels_what_is_under_way(cluster, tmp_path):
    import time

    table = onefit.scan(da.zeros((100, 1), chunks=(1, 1)))

    def interrupt(count):
        if count:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        table.runner.sum(Slow(str(tmp_path)), alone(table), add_in_place, interrupt)
    time.sleep(1.0)
    begun = len(list(tmp_path.iterdir()))
    time.sleep(1.0)
    assert len(list(tmp_path.iterdir())) == begun < 100


CLUSTER = """
import time
from distributed import LocalCluster
if __name__ == "__main__":
    cluster = LocalCluster(n_workers=1, threads_per_worker=1, processes=False, protocol="tcp", dashboard_address=":0")
    print(cluster.scheduler_address, flush=True)
    time.sleep(100)
"""


@pytest.mark.cluster
def test_a_lost_scheduler_is_a_clear_error(tmp_path):
    import os
    import subprocess
    import sys

    import distributed

    table = onefit.scan(da.zeros((40, 1), chunks=(1, 1)))
    script = tmp_path / "cluster.py"
    script.write_text(CLUSTER)
    paths = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    process = subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True, env=paths)
    client = None
    try:
        client = distributed.Client(process.stdout.readline().strip(), set_as_default=False)
        with pytest.raises(ClusterError, match=r"scheduler at tcp://\S+ was lost.*Connect to a new one"):
            DaskRunner(client).sum(
                Slow(str(tmp_path)), alone(table), add_in_place, lambda count: count and process.kill()
            )
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
        if client is not None:
            client.close(timeout=1)
