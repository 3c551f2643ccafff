"""`scan`: every kind of file gives the rows that were written, in order; what cannot be read is named."""

from __future__ import annotations

import os
import pickle
import threading
import time

import numpy as np
import pandas as pd
import pytest

import onefit
from onefit.errors import DataError
from onefit.sources import LocalRunner, Piece, TreeSum, pieces_of, read_ahead

pytest.importorskip("pyarrow")


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    n = 700
    return pd.DataFrame(
        {
            "a": rng.normal(size=n),
            "b": rng.integers(0, 9, n),
            "t": rng.choice(["x", "y", "z"], n),
            "yes": rng.random(n) < 0.5,
            "row": np.arange(n),
        }
    )


def written(frame, kind, folder):
    """A table in one of the forms that scan reads."""
    if kind == "parquet":
        frame.to_parquet(folder / "all.parquet", row_group_size=90)
        return folder / "all.parquet"
    if kind == "glob":
        for at, start in enumerate(range(0, len(frame), 123)):
            frame[start : start + 123].to_parquet(folder / f"part-{at}.parquet")
        return str(folder / "part-*.parquet")
    if kind == "directory":
        (folder / "inner").mkdir()
        frame[:300].to_parquet(folder / "a.parquet")
        frame[300:].to_parquet(folder / "inner" / "b.parquet")
        (folder / "_SUCCESS").write_text("")
        return folder
    if kind == "feather":
        frame.to_feather(folder / "all.feather", chunksize=100)
        return folder / "all.feather"
    if kind == "csv":
        frame.to_csv(folder / "all.csv", index=False)
        return folder / "all.csv"
    if kind == "packed csv":
        frame.to_csv(folder / "all.csv.gz", index=False, sep=";")
        return folder / "all.csv.gz"
    return pytest.importorskip("polars").from_pandas(frame) if kind == "polars" else frame


KINDS = ["parquet", "glob", "directory", "feather", "csv", "packed csv", "pandas", "polars"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_table_has_the_rows_that_were_written(frame, kind, tmp_path):
    table = onefit.scan(written(frame, kind, tmp_path))
    assert len(table) == table.shape[0] == len(frame)
    assert table.columns == tuple(frame.columns)
    assert "5 columns" in repr(table)
    blocks = list(pickle.loads(pickle.dumps(table)).blocks())
    assert np.array_equal(np.vstack([each.numbers(["b", "a", "yes"]) for each in blocks]), frame[["b", "a", "yes"]])
    assert np.concatenate([each.values("t") for each in blocks]).tolist() == frame["t"].tolist()
    assert table.head(3)["t"].tolist() == frame["t"][:3].tolist()
    drawn = table.sample(50, random_state=1)
    assert drawn.index.tolist() == drawn["row"].astype(int).tolist()
    assert len(set(drawn.index)) == 50


def test_folders_name_columns(frame, tmp_path):
    for year, part in frame.groupby(frame["row"] // 400):
        (tmp_path / f"year={2020 + year}" / "city=a%20b").mkdir(parents=True)
        part.to_parquet(tmp_path / f"year={2020 + year}" / "city=a%20b" / "part.parquet")
    table = onefit.scan(tmp_path, columns=["year", "a", "city"])
    assert table.schema == {"year": "int64", "a": "double", "city": "string"}
    found = table.sample(700)
    assert found["year"].value_counts().to_dict() == {2020: 400, 2021: 300}
    assert set(found["city"]) == {"a b"}


def test_an_index_without_a_name_is_no_column(frame, tmp_path):
    some = frame[frame["row"] % 3 > 0]
    some.to_parquet(tmp_path / "some.parquet")
    table = onefit.scan(tmp_path / "some.parquet")
    assert table.columns == tuple(frame.columns)
    assert table.head(4)["row"].tolist() == [1, 2, 4, 5]


def test_a_memory_map_is_read_by_blocks(tmp_path):
    values = np.random.default_rng(0).normal(size=(1000, 3))
    values.tofile(tmp_path / "x")
    table = onefit.scan(np.memmap(tmp_path / "x", dtype=np.float64, shape=(1000, 3)))
    assert table.columns == ("0", "1", "2")
    assert np.array_equal(np.vstack([block.numbers(["2", "0"]) for block in table.blocks()]), values[:, [2, 0]])


def test_files_of_another_file_system_are_read(frame):
    memory = pytest.importorskip("fsspec").filesystem("memory")
    with memory.open("/tables/part.parquet", "wb") as file:
        frame.to_parquet(file)
    table = onefit.scan("memory://tables/*.parquet", storage_options={})
    assert table.sample(700)["t"].tolist() == frame["t"].tolist()


def refused(source, *words, **options):
    with pytest.raises(DataError) as error:
        list(onefit.scan(source, **options).blocks())
    for word in words:
        assert word in str(error.value)


def test_what_cannot_be_read_is_named(frame, tmp_path):
    refused(tmp_path / "none.parquet", "none.parquet", "check the name")
    refused(tmp_path, "holds no Parquet")
    (tmp_path / "cut.parquet").write_bytes(written(frame, "parquet", tmp_path).read_bytes()[:-100])
    refused(tmp_path / "cut.parquet", "cut.parquet", "cut off")
    os.unlink(tmp_path / "cut.parquet")
    frame.drop(columns="b").to_parquet(tmp_path / "less.parquet")
    refused(tmp_path, "less.parquet", "no column 'b'")
    os.unlink(tmp_path / "less.parquet")
    frame.assign(a="text").to_parquet(tmp_path / "other.parquet")
    refused(tmp_path, "other.parquet", "'a'", "double")
    refused(3, "source is a int")
    refused([], "empty list")
    refused(frame[:0], "no rows")
    frame[:0].to_parquet(tmp_path / "none.parquet")
    refused(tmp_path / "none.parquet", "no rows")
    refused(tmp_path / "all.parquet", "'c'", columns=["c"])


def test_text_among_numbers_of_a_csv_file_is_named(tmp_path):
    lines = ["a,b", *(f"{at},1" for at in range(700_000)), "oops,1"]
    (tmp_path / "late.csv").write_text("\n".join(lines))
    refused(tmp_path / "late.csv", "late.csv", "oops")


def test_a_file_that_changes_or_vanishes_is_named(frame, tmp_path):
    path = written(frame, "parquet", tmp_path)
    table = onefit.scan(path)
    time.sleep(0.01)
    frame[:100].to_parquet(path)
    with pytest.raises(DataError, match=r"all\.parquet.*was changed"):
        table.head()
    path.unlink()
    with pytest.raises(DataError, match=r"all\.parquet.*is not there"):
        table.head()


@pytest.mark.parametrize("n", [1, 2, 3, 7, 8, 13])
def test_sums_have_one_order_whatever_comes_first(n):
    rng = np.random.default_rng(n)
    found = set()
    for _ in range(5):
        tree = TreeSum(n, lambda a, b: f"({a}{b})")
        for place in rng.permutation(n):
            assert place in tree.missing()
            tree.put(int(place), str(place % 10))
        found.add(tree.total)
    assert len(found) == 1
    assert found.pop().replace("(", "").replace(")", "") == "".join(str(at % 10) for at in range(n))


def test_threads_give_what_one_gives_and_errors_are_raised(frame):
    table = onefit.scan(frame)
    pieces = [Piece(at, table.fragments, 0) for at in range(9)]
    for n_threads in (1, 3):
        runner = LocalRunner(n_threads)
        ticks = []
        assert runner.sum(lambda piece: [piece.place], pieces, list.__add__, ticks.append) == list(range(9))
        assert sum(ticks) == 9
        with pytest.raises(ZeroDivisionError):
            runner.sum(lambda piece: 1 // (piece.place - 4), pieces, int.__add__, lambda _: None)


def test_consecutive_fragments_are_one_piece_until_they_are_large():
    table = onefit.scan(np.zeros((2**18 * 2 + 5, 1)))
    pieces = pieces_of(table.fragments, table.counts().tolist())
    assert [piece.first for piece in pieces] == [0, 2**18, 2**19]
    assert [piece.first for piece in pieces_of(table.fragments, [None, 5, 5])] == [0, None]


def test_what_is_read_ahead_is_the_same_and_its_errors_are_raised():
    def items():
        yield from range(5)
        raise KeyError("end")

    found = []
    with pytest.raises(KeyError, match="end"):
        found.extend(read_ahead(items()))
    before = threading.active_count()
    ahead = read_ahead(iter(range(1000)))
    assert next(ahead) == 0
    ahead.close()
    assert threading.active_count() == before
