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


def test_text_has_hashes_and_what_has_none_is_not_known():
    frame = pd.DataFrame({"street": ["a", "b", "a"], "size": [1.0, 1.0, 1.0]})
    np.testing.assert_array_equal(equal_rows(frame), [0, 1, 0])
    assert equal_rows(pd.DataFrame({"list": [[1], [2]]})) is None
    assert equal_rows(sparse.eye_array(3).tocsr()) is None
