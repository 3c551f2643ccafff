"""The compiled kernel of the one-step route against its twin in NumPy, and against dense solutions of each pair."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LinearRegression, Ridge

from helpers import STRICT, data, least_squares, quiet_nested_cv, random_folds, random_weights, relative_gap
from onefit.errors import TrainingSetError
from onefit.linalg import compiled
from onefit.routes import engine, onestepengine

pytestmark = pytest.mark.skipif(not compiled.is_there(), reason="the kernel was not built")
CLOSE = 1e-12


def both(*args, **kwargs):
    """The result with the kernel and without it."""
    results = []
    for on in (True, False):
        with compiled.switched(on):
            results.append(quiet_nested_cv(*args, route="onestep", **kwargs))
    return results


def assert_agree(results, rtol=CLOSE):
    one, other = results
    for name in ("e_in", "e_out", "v_out"):
        assert relative_gap(getattr(one.fold_errors, name), getattr(other.fold_errors, name)) <= rtol, name
    np.testing.assert_allclose(one.mse, other.mse, rtol=10 * rtol)  # a sum of terms of both signs
    np.testing.assert_allclose(one.intervals.to_numpy(float), other.intervals.to_numpy(float), rtol=1e3 * rtol)


@settings(max_examples=60, deadline=None)
@given(
    n=st.integers(8, 70),
    p=st.integers(1, 90),
    n_folds=st.integers(3, 70),
    weighted=st.booleans(),
    n_outputs=st.sampled_from([None, 1, 3]),
    unscored=st.integers(0, 3),
    loss=st.sampled_from(["squared_error", "absolute_error"]),
    seed=st.integers(0, 99),
)
def test_kernel_equals_twin(n, p, n_folds, weighted, n_outputs, unscored, loss, seed):
    X, y = data(n, p, seed, n_outputs)
    folds = random_folds(n, min(n_folds, n - unscored), 2, seed, unscored)
    weights = random_weights(n, "positive", seed) if weighted else None
    assert_agree(both(Ridge(5.0), X, y, folds=folds, sample_weight=weights, loss=loss))


@pytest.mark.parametrize("loss", ["squared_error", "huber"])
@pytest.mark.parametrize("p", [6, 60])
def test_folds_of_very_different_sizes_agree(p, loss):
    X, y = data(50, p, 1)
    folds = np.repeat(np.arange(7), [1, 2, 3, 4, 10, 12, 18])[None]
    assert_agree(both(Ridge(3.0), X, y, folds=folds, loss=loss, sample_weight=random_weights(50, "positive")))


@pytest.mark.parametrize("loss", ["squared_error", "absolute_error"])
@pytest.mark.parametrize("n_outputs", [None, 2])
def test_an_operator_that_is_not_stored_gives_the_same(monkeypatch, loss, n_outputs):
    X, y = data(60, 5, 2, n_outputs)
    folds = random_folds(60, 17, 2, unscored=1)
    stored = both(Ridge(1.0), X, y, folds=folds, loss=loss)
    monkeypatch.setattr(onestepengine, "TABLE_BYTES", 0)
    monkeypatch.setattr(engine, "BLOCK_BYTES", 0)
    monkeypatch.setattr(onestepengine, "per_block", lambda each, budget=0.0: 3)  # several strips
    made = both(Ridge(1.0), X, y, folds=folds, loss=loss)
    assert_agree(made)
    assert_agree([stored[0], made[0]])


def test_kernel_ridge_agrees():
    X, y = data(40, 2, 3)
    assert_agree(both(KernelRidge(alpha=0.5, kernel="rbf"), X, y, n_folds=13, n_repeats=3, random_state=0))


@pytest.mark.parametrize("kind", ["zeros", "positive"])
def test_rows_of_no_weight_go_to_the_twin(kind, monkeypatch):
    X, y = data(40, 4, 4)
    used = []
    kernel = compiled.fold_pairs_moments
    monkeypatch.setattr(compiled, "fold_pairs_moments", lambda *a: used.append(1) or kernel(*a))
    assert_agree(both(Ridge(1.0), X, y, n_folds=8, n_repeats=1, random_state=0, sample_weight=random_weights(40, kind)))
    assert bool(used) == (kind == "positive")


@pytest.mark.parametrize("m", [1, 2, 3, 5, 8, 13])
@pytest.mark.parametrize("instructions", ["baseline", "AVX2", "AVX-512"])
def test_every_instruction_set_solves_each_pair(m, instructions):
    rng = np.random.default_rng(m)
    K, Q = 7, 2
    B = rng.standard_normal((K * m, 2 * K * m))
    M = B @ B.T / (2 * K * m) + np.eye(K * m)
    members = rng.permutation(K * m).reshape(1, K, m)
    diagonal = M[members[..., :, None], members[..., None, :]]
    right = rng.standard_normal((1, K, m, Q + 1))
    before = compiled.instructions()
    try:
        compiled._kernel.use(instructions)
        at_j, at_k, squares = compiled.fold_pairs(M, members, diagonal, right, members[:, 1 : K - 1], 1)
    finally:
        compiled._kernel.use(before)
    for j in range(1, K - 1):
        for k in range(j + 1, K):
            rows = members[0, [j, k]].ravel()
            answer = np.linalg.solve(M[np.ix_(rows, rows)], right[0, [j, k]].reshape(2 * m, Q + 1))
            found = np.concatenate([at_j[0, j - 1, k], at_k[0, j - 1, k]])
            np.testing.assert_allclose(found, answer[:, :-1], rtol=0, atol=CLOSE)
            np.testing.assert_allclose(squares[0, j - 1, k], np.square(answer[:, -1]).sum(), rtol=CLOSE)
        assert not squares[0, j - 1, : j + 1].any()


@pytest.mark.parametrize("loss", ["squared_error", "absolute_error"])
def test_pairs_that_nearly_lose_a_column_are_refitted(loss, monkeypatch):
    X, y = data(40, 3, 5)
    X[:, 2] = 1e-6 * X[:, 2]
    X[[3, 17], 2] = [1.0, 2.0]  # the column lives on two rows, in two folds
    folds = np.arange(40)[None] % 8
    refits = []
    original = engine.refit_residuals
    monkeypatch.setattr(engine, "refit_residuals", lambda *a: refits.append(a[-1]) or original(*a))
    one, other = both(LinearRegression(), X, y, folds=folds, loss=loss)
    assert refits.count((1, 3)) == 2  # once with the kernel and once without it
    assert len(refits) == 2
    with compiled.switched(True):
        real = quiet_nested_cv(least_squares(tol=0.0), X, y, folds=folds, loss=loss, route="refit")
    assert relative_gap(one.fold_errors.e_in, real.fold_errors.e_in) <= 1e-8  # the column is 1e-6 of its length there
    assert_agree([one, other], STRICT)


def test_a_pair_that_loses_a_column_is_an_error_with_its_folds():
    X, y = data(40, 3, 5)
    X[:, 2] = 0.0
    X[[3, 17], 2] = [1.0, 2.0]
    with compiled.switched(True), pytest.raises(TrainingSetError, match="folds 1 and 3 held out"):
        quiet_nested_cv(LinearRegression(), X, y, folds=np.arange(40)[None] % 8, route="onestep")


def test_indices_outside_the_operator_are_refused():
    M, members = np.eye(4), np.arange(6).reshape(1, 3, 2)
    with pytest.raises(ValueError, match="out of range"):
        compiled.fold_pairs(M, members, np.zeros((1, 3, 2, 2)), np.zeros((1, 3, 2, 2)), members[:, :2], 0)
