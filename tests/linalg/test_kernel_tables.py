"""Kernels for rows that are read: columns as rows, folds of row numbers, and products by folds, held to NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from onefit.dealing import DealtRows, KeyedOrder
from onefit.linalg import compiled

pytestmark = pytest.mark.skipif(not compiled.is_there(), reason="there are no compiled kernels")


@pytest.fixture(params=["baseline", "AVX2", "AVX-512"])
def instructions(request):
    before = compiled.instructions()
    compiled.use(request.param)
    yield
    compiled.use(before or "on")


@pytest.mark.parametrize("n", [1, 2, 7, 10_001, 123_457, 2**32, 2**32 + 1, 2**40 + 3, 2**62])
def test_folds_are_those_of_the_network_in_numpy_to_the_last_row(instructions, n):
    order = KeyedOrder(n, (5, 0, 1))
    for start in {0, n // 2, max(0, n - 700)}:
        stop = min(n, start + 700)
        for n_folds in (1, 3, 20):
            dealt = order.folds(start, stop, n_folds)
            with compiled.switched(False):
                np.testing.assert_array_equal(dealt, order.folds(start, stop, n_folds))
        places = order.places(start, stop)
        with compiled.switched(False):
            np.testing.assert_array_equal(places, order.places(start, stop))


def test_even_sizes_whatever_the_blocks(instructions):
    dealt = DealtRows(n=1000, n_folds=7, entropy=3)
    parts = [dealt.ids(start, min(1000, start + 77), repeat=2) for start in range(0, 1000, 77)]
    np.testing.assert_array_equal(np.concatenate(parts), dealt.ids(0, 1000, repeat=2))
    np.testing.assert_array_equal(np.bincount(np.concatenate(parts)), dealt.sizes())


@pytest.mark.parametrize("width", [0, 1, 3, 8, 13])
@pytest.mark.parametrize("count", [0, 1, 7, 64, 139])
def test_columns_become_rows(instructions, count, width):
    columns = list(np.random.default_rng(0).normal(size=(width, 150)))
    rows = np.full((count, width), np.nan)
    compiled.interleave(columns, 5, rows)
    np.testing.assert_array_equal(rows, np.reshape(columns, (width, 150)).T[5 : 5 + count])


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf, 2e9, -2e9])
def test_a_number_that_is_too_large_is_seen_wherever_it_is(instructions, wrong):
    values = np.full(19, -1e9)
    assert not compiled.exceeds(values, 1e9)
    for at in range(len(values)):
        values[at] = wrong
        assert compiled.exceeds(values, 1e9)
        values[at] = 0.0


@pytest.mark.parametrize("d", [1, 2, 9, 30])
def test_products_of_the_rows_of_folds(instructions, d):
    rng = np.random.default_rng(d)
    rows, ids, products = rng.normal(size=(400, d)), rng.integers(-1, 4, size=(2, 400)), np.ones((2, 5, d, d))
    compiled.gather(rows, ids, products)
    for repeat, fold in np.ndindex(2, 5):
        own = rows[ids[repeat] == fold]
        np.testing.assert_allclose(np.triu(products[repeat, fold]), np.triu(1.0 + own.T @ own), rtol=1e-11, atol=1e-11)
        np.testing.assert_array_equal(np.tril(products[repeat, fold], -1), np.tril(np.ones((d, d)), -1))


@pytest.mark.parametrize(("r", "k"), [(0, 1), (3, 0), (8, 1), (30, 9)])
def test_rows_in_coordinates_and_residuals_of_the_pilot(instructions, r, k):
    rng = np.random.default_rng(r)
    E, N, y = rng.normal(size=(21, r)), rng.normal(size=(21, k)), rng.normal(size=(21, 1))
    scale, pilot, rows = rng.normal(size=r + k), rng.normal(size=(r + k, 1)), np.empty((21, r + k + 1))
    compiled.project(E, N, y, scale, pilot, rows)
    both = np.hstack([E, N])
    np.testing.assert_array_equal(rows[:, :-1], both * scale)
    np.testing.assert_allclose(rows[:, -1:], y - both @ pilot, rtol=1e-13, atol=1e-13)
