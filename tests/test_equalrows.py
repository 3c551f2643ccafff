"""Which rows are the same in all columns."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from onefit.equalrows import equal_rows


@pytest.mark.parametrize("levels", [2, 3, 50])
@pytest.mark.parametrize("dtype", [float, np.float32, int, bool])
@pytest.mark.parametrize("as_frame", [False, True])
def test_rows_are_the_same_where_all_columns_are(levels, dtype, as_frame):
    X = np.random.default_rng(0).integers(0, levels, size=(500, 4)).astype(dtype)
    seen = {}
    expected = [seen.setdefault(tuple(row), place) for place, row in enumerate(X.tolist())]
    np.testing.assert_array_equal(equal_rows(pd.DataFrame(X) if as_frame else X), expected)


def test_columns_are_told_apart_and_blocks_have_the_same_hashes(monkeypatch):
    X = np.array([[0.0, 1.0], [1.0, 0.0], [np.nan, 0.0], [0.0, 1.0], [np.nan, 0.0]])
    np.testing.assert_array_equal(equal_rows(X), [0, 1, 2, 0, 2])
    monkeypatch.setattr("onefit.equalrows.MOST_CELLS", 2)
    np.testing.assert_array_equal(equal_rows(X), [0, 1, 2, 0, 2])


@pytest.mark.parametrize("kind", ["csr", "csc", "coo"])
def test_rows_of_a_sparse_matrix_are_the_same_whatever_zeros_it_holds(kind):
    X = np.random.default_rng(0).integers(0, 2, size=(300, 5)) * np.arange(1.0, 6.0)
    X[:20] = 0.0
    table = sparse.coo_array(X).asformat(kind)
    np.testing.assert_array_equal(equal_rows(table), equal_rows(X))
    table = table.tocsr()
    table.data[::3] = 0.0
    np.testing.assert_array_equal(equal_rows(table), equal_rows(table.toarray()))
    parts = sparse.csr_array((np.ones(4), [0, 0, 1, 0], [0, 2, 4, 4]), shape=(3, 2))
    np.testing.assert_array_equal(equal_rows(parts), [0, 1, 2])


def test_text_has_hashes_and_what_has_none_is_not_known():
    frame = pd.DataFrame({"street": ["a", "b", "a"], "size": [1.0, 1.0, 1.0]})
    np.testing.assert_array_equal(equal_rows(frame), [0, 1, 0])
    assert equal_rows(pd.DataFrame({"list": [[1], [2]]})) is None
    assert equal_rows(sparse.eye_array(3, dtype=complex).tocsr()) is None


@pytest.mark.parametrize("values", [[None, np.nan, "a"], [1, "1", "a"], ["nan", np.nan, None], [pd.NA, None, np.nan]])
@pytest.mark.parametrize("dtype", ["object", "category"])
def test_values_that_pandas_takes_for_one_another_are_told_apart(values, dtype):
    """Where an encoder does."""
    column = pd.Series([*values, *values], dtype=object)
    expected = [0, 1, 2]
    if dtype == "category":  # which has one missing value
        missing = pd.isna(values)
        column, expected = column.astype(dtype), np.where(missing, missing.argmax(), expected).tolist()
    frame = pd.DataFrame({"a": column, "b": 1.0})
    np.testing.assert_array_equal(equal_rows(frame), [*expected, *expected])
    frame.columns = ["a", "a"]
    np.testing.assert_array_equal(equal_rows(frame), [*expected, *expected])


def test_numbers_of_several_types_are_the_same_and_long_doubles_are_not_known():
    frame = pd.DataFrame({"a": pd.Series([1, 1.0, np.float64("nan"), float("nan"), 2], dtype=object)})
    np.testing.assert_array_equal(equal_rows(frame), [0, 0, 2, 2, 4])
    assert equal_rows(pd.DataFrame(np.ones((2, 1), dtype=np.longdouble))) is None
