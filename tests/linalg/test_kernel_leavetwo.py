"""The compiled kernel for leaving two rows out against its twin in NumPy, and against 2 x 2 systems pair by pair."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LinearRegression, Ridge

import onefit
from helpers import data, quiet_nested_cv, quietly, random_weights, relative_gap
from onefit.errors import TrainingSetError
from onefit.inference.chain import outward
from onefit.linalg import compiled
from onefit.routes import engine

pytestmark = pytest.mark.skipif(not compiled.is_there(), reason="the kernel was not built")
CLOSE = 1e-12
LAMS = np.array([0.5, 2.0, 8.0, 40.0, 100.0])


def both(function, *args, **kwargs):
    """The result with the kernel and without it."""
    results = []
    for on in (True, False):
        with compiled.switched(on):
            results.append(quietly(function, *args, n_folds="n", **kwargs))
    return results


def assert_agree(one, other):
    for name in ("e_in", "e_out"):
        assert relative_gap(getattr(one.fold_errors, name), getattr(other.fold_errors, name)) <= CLOSE, name
    np.testing.assert_allclose(one.mse, other.mse, rtol=10 * CLOSE)  # a sum of terms of both signs
    np.testing.assert_allclose(one.interval, other.interval, rtol=10 * CLOSE)


@settings(max_examples=60, deadline=None)
@given(
    n=st.integers(5, 200),
    p=st.integers(1, 60),
    weighted=st.booleans(),
    n_outputs=st.sampled_from([None, 1, 3]),
    loss=st.sampled_from(["squared_error", "absolute_error", "huber"]),
    seed=st.integers(0, 99),
)
def test_kernel_equals_twin(n, p, weighted, n_outputs, loss, seed):
    X, y = data(n, p, seed, n_outputs)
    weights = random_weights(n, "positive", seed) if weighted else None
    assert_agree(*both(onefit.nested_cv, Ridge(5.0), X, y, sample_weight=weights, loss=loss))


@settings(max_examples=30, deadline=None)
@given(
    n=st.integers(6, 150),
    p=st.integers(1, 40),
    weighted=st.booleans(),
    n_outputs=st.sampled_from([None, 2]),
    loss=st.sampled_from(["squared_error", "absolute_error"]),
    seed=st.integers(0, 99),
)
def test_curve_and_its_paired_differences_equal_the_twin(n, p, weighted, n_outputs, loss, seed):
    X, y = data(n, p, seed, n_outputs)
    weights = random_weights(n, "positive", seed) if weighted else None
    path = {"param_name": "alpha", "param_range": LAMS}
    one, other = both(onefit.error_curve, Ridge(), X, y, sample_weight=weights, loss=loss, **path)
    np.testing.assert_allclose(one.estimate, other.estimate, rtol=10 * CLOSE)
    np.testing.assert_allclose(one.standard_error, other.standard_error, rtol=10 * CLOSE)
    size = np.abs(np.asarray(other.estimate)).max()
    for name in ("estimate", "low", "high"):
        gap = np.asarray(getattr(one.difference, name)) - np.asarray(getattr(other.difference, name))
        assert np.nanmax(np.abs(gap)) <= 1e-9 * size, name


def test_values_with_bases_of_their_own_agree():
    X, y = data(90, 5, 3)
    models = {"ridge": Ridge(2.0), "least squares": LinearRegression(), "kernel": KernelRidge(kernel="rbf")}
    one, other = both(onefit.compare, models, X, y)
    np.testing.assert_allclose(one.to_frame().to_numpy(float), other.to_frame().to_numpy(float), rtol=1e-10)


@pytest.mark.parametrize("on_diagonal", [True, False])
@pytest.mark.parametrize("absolute", [True, False])
@pytest.mark.parametrize("instructions", ["baseline", "AVX2", "AVX-512"])
def test_sums_of_a_tile_equal_those_of_its_pairs(instructions, absolute, on_diagonal):
    rng = np.random.default_rng(0)
    V, height = 3, 13
    width = height if on_diagonal else 10
    A, least = 0.3 * rng.standard_normal((V, height, width)), np.full(V, 1e-5)
    of_i, of_j = rng.uniform(1.0, 2.0, (4, V, height)), rng.uniform(1.0, 2.0, (4, V, width))
    of_j = of_i if on_diagonal else of_j
    chain = outward(np.array([2.0, 1.0, 3.0]))
    rows_i, columns_i, rows_j, columns_j = (
        np.zeros((V, height)),
        np.zeros((V, height)),
        np.zeros((V, width)),
        np.zeros((V, width)),
    )
    changes_i, changes_j = np.zeros((2, V, height, width))
    for v, i, j in np.ndindex(V, height, width):
        if not on_diagonal or j > i:
            (a_i, r_i, g_i, l_i), (a_j, r_j, g_j, l_j) = of_i[:, v, i], of_j[:, v, j]
            x = np.linalg.solve([[a_i, A[v, i, j]], [A[v, i, j], a_j]], [r_i, r_j])
            loss_i, loss_j = np.array([g_i, g_j]) * (np.abs(x) if absolute else x**2)
            changes_i[v, i, j], changes_j[v, i, j] = l_i - loss_i, l_j - loss_j
            rows_i[v, i] += l_i - loss_i
            rows_j[v, j] += l_j - loss_j
            columns_i[v, i] += loss_j
            columns_j[v, j] += loss_i
    before = compiled.instructions()
    try:
        compiled._kernel.use(instructions)
        found_j = np.empty_like(A)
        sums = compiled.row_pairs(A, of_i, of_j, least, chain.order, chain.parents, found_j, on_diagonal, absolute)
    finally:
        compiled._kernel.use(before)
    np.testing.assert_allclose(sums[0], [rows_i, columns_i], rtol=CLOSE, atol=CLOSE)
    np.testing.assert_allclose(sums[1], [rows_j, columns_j], rtol=CLOSE, atol=CLOSE)
    np.testing.assert_allclose(sums[2], (changes_i * changes_j).sum(axis=(1, 2)), rtol=CLOSE)
    np.testing.assert_allclose(A, chain.increments(changes_i, axis=0), rtol=0, atol=CLOSE)
    np.testing.assert_allclose(found_j, chain.increments(changes_j, axis=0), rtol=0, atol=CLOSE)


@pytest.mark.parametrize("place", [(2, 7), (12, 1), (0, 0)])
def test_a_doubtful_pair_anywhere_in_a_tile_is_found(place):
    A, ones = np.full((1, 13, 11), 0.1), np.ones((4, 1, 13))
    A[0][place] = 1.0 - 1e-6  # the smaller eigenvalue is 1e-6
    order = np.zeros(1, dtype=np.intp)
    fine = compiled.row_pairs(np.full_like(A, 0.1), ones, ones[..., :11], [1e-5], order, order, A, False, False)
    assert fine is not None
    assert compiled.row_pairs(A, ones, ones[..., :11], [1e-5], order, order, A, False, False) is None


def test_a_pair_that_is_not_a_number_is_doubtful():
    A, ones, order = np.full((1, 3, 3), np.nan), np.ones((4, 1, 3)), np.zeros(1, dtype=np.intp)
    assert compiled.row_pairs(A, ones, ones, [1e-5], order, order, A, False, False) is None


def curve(X, y, **kwargs):
    return onefit.error_curve(
        onefit.PenalizedRegression(), X, y, param_name="lam", param_range=[0.0, 1.0], **kwargs
    ).results[0]


def least_squares(X, y, **kwargs):
    return onefit.nested_cv(LinearRegression(), X, y, **kwargs)


@pytest.mark.parametrize("function", [least_squares, curve])
def test_pairs_that_nearly_lose_a_column_are_refitted(function, monkeypatch):
    X, y = data(40, 3, 5)
    X[:, 2] = 1e-6 * X[:, 2]
    X[[3, 17], 2] = [1.0, 2.0]  # the column lives on two rows
    refits = []
    original = engine.refit_residuals
    monkeypatch.setattr(engine, "refit_residuals", lambda *a: refits.append(a[-1]) or original(*a))
    results = both(function, X, y)
    assert refits.count((3, 17)) == 2  # with the kernel and without it
    assert set(refits) == {(3, 17), (17, 3)}
    assert_agree(*results)


def test_a_pair_that_loses_a_column_is_an_error():
    X, y = data(40, 3, 5)
    X[:, 2] = 0.0
    X[[3, 17], 2] = [1.0, 2.0]
    with compiled.switched(True), pytest.raises(TrainingSetError, match="folds 3 and 17 held out"):
        quiet_nested_cv(LinearRegression(), X, y, n_folds="n")


def test_rows_of_no_weight_and_other_losses_go_to_the_twin(monkeypatch):
    X, y = data(30, 4, 4)
    monkeypatch.setattr(compiled, "row_pairs", None)  # a call would be an error
    with compiled.switched(True):
        quiet_nested_cv(Ridge(1.0), X, y, n_folds="n", sample_weight=random_weights(30, "zeros"))
        quiet_nested_cv(Ridge(1.0), X, y, n_folds="n", loss="huber")
