"""Rows come in order and in blocks, or some by themselves, whatever holds them."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from onefit.sources import MemorySource, contract, memory

X = np.arange(24.0).reshape(8, 3)
TABLES = {
    "array": X,
    "frame": pd.DataFrame(X, columns=list("abc"), index=range(10, 18)),
    "sparse": sparse.csr_matrix(X),
}


@pytest.mark.parametrize("kind", TABLES)
@pytest.mark.parametrize("block", [1, 3 * 8 * 3, 2**20])
def test_blocks_are_all_rows_in_order(monkeypatch, kind, block):
    monkeypatch.setattr(memory, "BLOCK_BYTES", block)
    blocks = list(MemorySource(TABLES[kind]).blocks())
    assert np.array_equal(np.vstack(blocks), X)
    assert max(map(len, blocks)) == {1: 1, 72: 3, 2**20: 8}[block]


def test_blocks_of_an_array_are_views():
    assert all(np.shares_memory(block, X) for block in MemorySource(X).blocks())
    assert contract.BLOCK_BYTES >= 2**20


@pytest.mark.parametrize("kind", TABLES)
def test_rows_are_taken_in_their_own_container(kind):
    source = MemorySource(TABLES[kind])
    some = source.take(np.array([5, 0]))
    assert type(some) is type(TABLES[kind])
    dense = some.toarray() if kind == "sparse" else np.asarray(some)
    assert np.array_equal(dense, X[[5, 0]])
    assert source.n_rows == 8


def test_objects_in_a_list_are_rows():
    source = MemorySource(["a", "b", "c"])
    assert source.n_rows == 3
    assert source.take(np.array([2, 1])) == ["c", "b"]
    assert [list(block) for block in source.blocks()] == [["a", "b", "c"]]


def test_a_kernel_is_taken_between_rows():
    K = X @ X.T
    assert np.array_equal(MemorySource(K).between(np.array([1, 2]), np.array([0, 3, 4])), K[[1, 2]][:, [0, 3, 4]])
