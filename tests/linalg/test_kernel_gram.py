"""The compiled kernels of the gram route against their twins in NumPy, on every instruction set of the machine."""

from __future__ import annotations

import os
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LinearRegression, Ridge
from threadpoolctl import threadpool_info, threadpool_limits

import onefit
from helpers import FOLD_ERRORS, data, quiet_nested_cv, quietly, random_folds, random_weights
from onefit.inference.chain import ascending
from onefit.inference.fold_errors import moments
from onefit.inference.row_sums import RowSums
from onefit.linalg import compiled
from onefit.linalg.downdate import Downdate
from onefit.linalg.reinsch import DenseBasis, Reinsch
from onefit.routes.threads import threads

pytestmark = pytest.mark.skipif(not compiled.is_there(), reason="the compiled kernels were not built")
INSTRUCTIONS = ("baseline", "AVX2", "AVX-512")


@pytest.fixture(params=INSTRUCTIONS, autouse=True)
def instructions(request):
    """Every test runs with each instruction set, or the next best that there is."""
    from onefit.linalg import _kernel

    _kernel.use(request.param)
    yield
    _kernel.use(compiled.SETTINGS[os.environ.get("ONEFIT_KERNEL", "on").lower()])


def problem(seed, L, K, d, V, Q, m=6):
    """Downdated systems of a random design, at V penalties."""
    rng = np.random.default_rng(seed)
    Z = rng.standard_normal((L, K, m, d))
    gram = np.einsum("lkmd,lkme->lkde", Z, Z)
    # above the trace, so that every system is positive definite
    x, s = rng.uniform(1.1, 3.0, d) * gram.sum(axis=1).trace(axis1=1, axis2=2).max(), rng.uniform(0.0, 1.0, d)
    downdate = Downdate(Reinsch(DenseBasis(np.zeros((1, d))), x, s), np.logspace(-2, 4, V))
    sets = np.array([(j, k) for j in range(K) for k in (-1, *range(j + 1, K))])
    return downdate, gram, rng.standard_normal((L, K, d, V, Q)), sets


@settings(max_examples=40)
@given(
    seed=st.integers(0, 10_000),
    L=st.integers(1, 4),
    K=st.integers(2, 6),
    d=st.integers(1, 23),
    V=st.integers(1, 19),
    Q=st.integers(1, 3),
)
def test_systems_equal_the_twin(seed, L, K, d, V, Q):
    downdate, grams, right, sets = problem(seed, L, K, d, V, Q)
    with compiled.switched(True):
        change, squares = downdate.solve(grams, right, sets)
    with compiled.switched(False):
        expected, expected_squares = downdate.solve(grams, right, sets)
    np.testing.assert_allclose(change, expected, rtol=1e-11, atol=1e-13 * np.abs(expected).max())
    np.testing.assert_allclose(squares, expected_squares, rtol=1e-11)


def test_a_system_that_is_not_positive_definite_is_doubtful_and_leaves_the_others_alone():
    downdate, grams, right, sets = problem(0, 3, 4, 9, 5, 1)
    expected, _ = downdate.solve(grams, right, sets)
    grams[1, 2] *= 1e6
    change, squares = downdate.solve(grams, right, sets)
    hit = (sets == 2).any(axis=1)
    assert not np.isfinite(squares[1, hit]).any()
    assert np.isfinite(squares[1, ~hit]).all()
    np.testing.assert_array_equal(change[0], expected[0])
    np.testing.assert_array_equal(change[1, ~hit], expected[1, ~hit])


def test_directions_that_nothing_holds_are_held_at_zero():
    x, s = np.array([2.0, 0.0, 3.0]), np.zeros(3)
    downdate = Downdate(Reinsch(DenseBasis(np.zeros((1, 3))), x, s), np.array([1.0]))
    grams = np.zeros((1, 2, 3, 3))
    grams[0, 0, 0, 0] = 1.0
    change, squares = downdate.solve(grams, np.ones((1, 2, 3, 1, 1)), np.array([(0, 1)]))
    np.testing.assert_allclose(change[0, 0, :, 0, 0], [2.0, 0.0, 2.0 / 3.0], atol=1e-15)
    assert np.isfinite(squares).all()


@settings(max_examples=40)
@given(
    seed=st.integers(0, 10_000), F=st.integers(1, 5), m=st.integers(1, 9), others=st.integers(1, 9), C=st.integers(1, 9)
)
def test_moments_equal_the_twin(seed, F, m, others, C):
    rng = np.random.default_rng(seed)
    u, r, weights = rng.standard_normal((F, m, others, C)), rng.standard_normal((F, m, C)), rng.uniform(0, 2, (F, m))
    sizes = rng.integers(1, m + 1, F)
    mean, scatter = compiled.moments(u, r, weights, sizes)
    losses = weights[:, :, None, None] * np.square(u + r[:, :, None])
    present = (np.arange(m) < sizes[:, None])[:, :, None]
    expected = moments(losses.reshape(F, m, others * C), present)
    np.testing.assert_allclose(mean.reshape(F, -1), expected[0], rtol=1e-12)
    np.testing.assert_allclose(scatter.reshape(F, -1), expected[1], rtol=1e-11, atol=1e-13)


@settings(max_examples=20)
@given(
    seed=st.integers(0, 10_000),
    n=st.integers(24, 60),
    p=st.integers(1, 12),
    K=st.integers(3, 7),
    weighted=st.sampled_from(["none", "positive", "zeros"]),
    outputs=st.sampled_from([None, 1, 2]),
    n_values=st.sampled_from([2, 3, 9]),
    n_jobs=st.sampled_from([1, 2]),
)
def test_nested_cv_is_the_same_with_and_without_the_kernel(seed, n, p, K, weighted, outputs, n_values, n_jobs):
    X, y = data(n, p, seed, outputs)
    arguments = {
        "folds": random_folds(n, K, 5, seed),
        "sample_weight": random_weights(n, weighted, seed),
        "route": "gram",
        "param_name": "alpha",
        "param_range": np.logspace(-1, 3, n_values),
    }
    with compiled.switched(True):
        fast = quietly(onefit.error_curve, Ridge(), X, y, n_jobs=n_jobs, **arguments)
    with compiled.switched(False):
        slow = quietly(onefit.error_curve, Ridge(), X, y, **arguments)
    for own, expected in zip(fast.results, slow.results, strict=True):
        for name in FOLD_ERRORS:
            np.testing.assert_allclose(
                getattr(own.fold_errors, name), getattr(expected.fold_errors, name), rtol=1e-11, atol=1e-13
            )


def test_unknown_sizes_are_refused_before_anything_is_read():
    from onefit.linalg import _kernel

    with pytest.raises(ValueError, match="grams has 8 bytes and should have 32"):
        _kernel.gram(*(np.zeros(1),) * 7, 1, 1, 2, 1, 1, 1)


def test_threads_change_nothing():
    X, y = data(120, 6, seed=1)
    one, two = (quiet_nested_cv(Ridge(1.0), X, y, n_folds=6, n_repeats=23, random_state=0, n_jobs=j) for j in (1, 2))
    for name in FOLD_ERRORS:
        np.testing.assert_array_equal(getattr(one.fold_errors, name), getattr(two.fold_errors, name))
    assert one.interval == two.interval


@settings(max_examples=40)
@given(
    seed=st.integers(0, 10_000),
    K=st.integers(1, 4),
    m=st.integers(1, 150),
    d=st.integers(1, 12),
    V=st.integers(1, 60),
    weighted=st.booleans(),
)
def test_scores_of_rows_equal_the_twin(seed, K, m, d, V, weighted):
    rng = np.random.default_rng(seed)
    n = K * m + 3  # some rows are in no fold
    rows, maps, shift = rng.standard_normal((n, d)), rng.standard_normal((K, d, V)), rng.random((K, 1))
    middle = d * rng.random((V, 1)) * rng.integers(0, 2, (V, 1))  # some are zero
    weights = rng.random(n) + 0.1 if weighted else None
    sizes = rng.integers(0, m + 1, K)
    members = rng.permutation(n)[: K * m].reshape(K, m)
    ids = np.full(n, -1)
    for fold in range(K):
        ids[members[fold, : sizes[fold]]] = fold
    chain = ascending(rng.standard_normal(V))
    found, expected = (RowSums(chain, shift, middle, None) for _ in range(2))
    totals = np.ones((2, n, V))  # they are added to
    ones = np.ones(n) if weights is None else weights
    for _ in range(2):
        sums, about = (*totals, found.products, found.thirds.sums), found.thirds.about[..., 0]
        compiled.score(rows, maps, weights, shift[:, 0], about, ids, chain.parents, sums)
    wanted, largest = np.ones((2, n, V)), np.zeros((4, 4, V, 1))
    for fold in range(K):
        own = members[fold, : sizes[fold]]
        u = rows[own] @ maps[fold]
        wanted[:, own] += 2 * np.stack([u, np.square(u)])
        weighed, w = ones[own, None] * np.square(u), None if weights is None else weights[own]
        for _ in range(2):
            space = np.empty((2, max(1, len(own)), V + 2))
            expected.add(weighed[..., None], [(fold, slice(None))], w, None, space)
        scale, scaled = about
        T = scale * weighed + ones[own, None] * scaled  # as large as if nothing cancelled
        largest[..., 0] += [[2 * (ones[own, None] ** a * T**b).sum(axis=0) for b in range(4)] for a in range(4)]
    np.testing.assert_allclose(totals, wanted, rtol=1e-11, atol=1e-11)
    size = np.sqrt(np.einsum("krii->kri", expected.products))
    scale = 1e-12 * (1 + size[..., :, None] * size[..., None, :])
    assert (np.abs(found.products - expected.products) <= scale).all()
    assert (np.abs(found.thirds.sums - expected.thirds.sums) <= 1e-13 * largest).all()
    assert (found.thirds.sums[0, 0] == 2 * sizes.sum()).all()


@settings(max_examples=40)
@given(
    seed=st.integers(0, 10_000),
    L=st.integers(1, 3),
    K=st.integers(2, 6),
    m=st.integers(1, 9),
    d=st.integers(1, 12),
    C=st.integers(1, 14),
)
def test_predictions_of_pairs_equal_the_twin(seed, L, K, m, d, C):
    rng = np.random.default_rng(seed)
    sets = np.array([(j, k) for j in range(K) for k in range(j + 1, K)])[:: rng.integers(1, 3)]
    Z, r = rng.standard_normal((L, K, m, d)), rng.standard_normal((L, K, m, C))
    change, weights = rng.standard_normal((L, len(sets), d, C)), rng.uniform(0, 2, (L, K, m))
    sizes = rng.integers(1, m + 1, (L, K))
    mean, scatter = np.full((2, L, K, K, C), np.nan)
    compiled.predict(Z, r, change, weights, sizes, sets, (mean, scatter))
    expected = np.full((2, L, K, K, C), np.nan)
    for s, pair in enumerate(sets):
        for j, k in (pair, pair[::-1]):
            for repeat in range(L):
                rows = slice(sizes[repeat, j])
                u = r[repeat, j, rows] + Z[repeat, j, rows] @ change[repeat, s]
                losses = weights[repeat, j, rows, None] * np.square(u)
                expected[0, repeat, j, k] = losses.mean(axis=0)
                expected[1, repeat, j, k] = np.square(losses - losses.mean(axis=0)).sum(axis=0)
    np.testing.assert_allclose(mean, expected[0], rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(scatter, expected[1], rtol=1e-10, atol=1e-11)


def rows_of_folds(seed, L, K, m, d, C):
    """A table of rows, the last of which is padding, and folds that are made of some of them."""
    rng = np.random.default_rng(seed)
    n = K * m
    Z, r, weights = rng.standard_normal((n + 1, d)), rng.standard_normal((n + 1, C)), rng.uniform(0.1, 2, n + 1)
    Z[-1], r[-1] = np.nan, np.nan  # what is padding is not read, or it would be seen
    sizes = rng.integers(0, m + 1, (L, K))
    members = np.stack([rng.permutation(n).reshape(K, m) for _ in range(L)])
    members[np.arange(m) >= sizes[..., None]] = n
    return Z, r, weights, members, sizes


@settings(max_examples=60)
@given(
    seed=st.integers(0, 10_000),
    L=st.integers(1, 3),
    K=st.integers(2, 4),
    m=st.sampled_from([1, 2, 7, 8, 9, 63, 64, 65, 130]),
    d=st.integers(1, 30),
    C=st.integers(1, 30),
)
def test_statistics_and_residuals_of_folds_equal_the_twin(seed, L, K, m, d, C):
    """Folds that fill registers and chunks of rows, and those that do not; empty ones, too."""
    Z, r, weights, members, sizes = rows_of_folds(seed, L, K, m, d, C)
    change = np.random.default_rng(seed).standard_normal((L, K, d, C))
    grams, right = compiled.collect(Z, r, weights, members, sizes)
    u = compiled.residuals(Z, r, change, members, sizes)
    for at in np.ndindex(L, K):
        rows = members[at][: sizes[at]]
        weighted = weights[rows, None] * Z[rows]
        bound = 4e-16 * (sizes[at] + 4)  # of a sum of so many products, relative to that of their sizes
        scale = np.abs(weighted).T @ np.abs(np.hstack([Z[rows], r[rows]]))
        assert (np.abs(grams[at] - weighted.T @ Z[rows]) <= bound * scale[:, :d]).all()
        assert (np.abs(right[at] - weighted.T @ r[rows]) <= bound * scale[:, d:]).all()
        np.testing.assert_array_equal(grams[at], grams[at].T)
        sums = np.abs(r[rows]) + np.abs(Z[rows]) @ np.abs(change[at])
        assert (np.abs(u[at][: sizes[at]] - r[rows] - Z[rows] @ change[at]) <= 4e-16 * (d + 4) * sums).all()
        assert (u[at][sizes[at] :] == 0).all()


@settings(max_examples=40)
@given(
    seed=st.integers(0, 10_000),
    L=st.integers(1, 3),
    K=st.integers(2, 12),
    m=st.integers(1, 20),
    d=st.integers(1, 12),
    C=st.integers(1, 14),
)
def test_predictions_of_rows_where_they_are_equal_those_fold_by_fold(seed, L, K, m, d, C):
    Z, r, weights, members, sizes = rows_of_folds(seed, L, K, m, d, C)
    sets = np.array([(j, k) for j in range(K) for k in range(j + 1, K)])
    change = np.random.default_rng(seed).standard_normal((L, len(sets), d, C))
    one, other = np.full((2, 2, L, K, K, C), np.nan)
    compiled.predict(Z[members], r[members], change, weights[members], sizes, sets, tuple(one))
    compiled.predict(Z, r, change, weights, sizes, sets, tuple(other), members)
    np.testing.assert_array_equal(one, other)


def test_which_folds_and_repeats_are_together_changes_no_bit():
    Z, r, weights, members, sizes = rows_of_folds(0, 4, 10, 20, 11, 3)
    sets = np.array([(j, k) for j in range(10) for k in range(j + 1, 10)])
    grams, right = compiled.collect(Z, r, weights, members, sizes)
    ones = np.full((1, 11), 1e4)
    change, squares = compiled.systems(grams, right[..., None, :], ones, ones, sets)
    for repeat in range(4):
        one = slice(repeat, repeat + 1)
        np.testing.assert_array_equal(compiled.collect(Z, r, weights, members[one], sizes[one])[0], grams[one])
        alone = compiled.systems(grams[one], right[one][..., None, :], ones, ones, sets[7:])
        np.testing.assert_array_equal(alone[0], change[one, 7:])
        np.testing.assert_array_equal(alone[1], squares[one, 7:])


@pytest.mark.sweep(3)
@pytest.mark.parametrize("route", ["gram", "onestep"])
@pytest.mark.parametrize("on", [True, False])
def test_training_sets_that_are_refitted_give_each_row_its_own_residual(route, on):
    """Near-singular without row 0, in random folds and with weights: rows in another order would not go unnoticed."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 3))
    X[:, 2] *= 1e-3
    X[0, 2] = 10.0
    y, weights = rng.standard_normal(60), rng.uniform(0.2, 3.0, 60)
    arguments = {"n_folds": 6, "n_repeats": 5, "random_state": 0, "sample_weight": weights}
    with compiled.switched(on):
        fast = quiet_nested_cv(LinearRegression(), X, y, route=route, **arguments)
    slow = quiet_nested_cv(LinearRegression(), X, y, route="refit", **arguments)
    np.testing.assert_allclose(fast.heldout["prediction"], slow.heldout["prediction"], rtol=1e-7)
    np.testing.assert_allclose(fast.raw_estimate, slow.raw_estimate, rtol=1e-8)


@cache
def leverages_of_one(seed):
    """Three rows of leverage one but for rounding, a model, and its refits, which are those of all instructions."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((30, 4))
    X[:3] *= 10 ** rng.uniform(6, 9, (3, 1))
    y = rng.standard_normal(30)
    model = onefit.PenalizedRegression(lam=1e-3, fit_intercept=False)  # refits by QR: Ridge is not accurate here
    return model, X, y, quiet_nested_cv(model, X, y, folds=np.arange(30)[None], route="refit")


@pytest.mark.parametrize("on", [True, False])
@pytest.mark.parametrize("seed", [4, pytest.param(10, marks=pytest.mark.slow), 17])
def test_pairs_whose_leverages_round_to_one_are_refitted(seed, on):
    model, X, y, slow = leverages_of_one(seed)
    with compiled.switched(on):
        fast = quiet_nested_cv(model, X, y, n_folds="n", route="onestep")
    np.testing.assert_allclose(fast.fold_errors.e_in, slow.fold_errors.e_in, rtol=1e-6)


def test_indices_out_of_range_are_refused():
    downdate, grams, right, sets = problem(0, 1, 3, 4, 1, 1)
    with pytest.raises(ValueError, match="sets holds a number that is out of range"):
        downdate.solve(grams, right, sets + 50_000_000)
    with pytest.raises(ValueError, match="sizes holds a number"):
        compiled.moments(np.zeros((1, 2, 1, 1)), np.zeros((1, 2, 1)), np.zeros((1, 2)), np.array([3]))


def test_blas_gets_its_threads_back_when_calls_overlap():
    def threads_of_blas():
        return [each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"]

    with threadpool_limits(2, user_api="blas"):  # more than the one that the tests have
        before = threads_of_blas()
        with threads(2), threads(2):
            assert set(threads_of_blas()) == {1}
        first, second = threads(2), threads(2)
        first.__enter__()
        second.__enter__()
        first.__exit__(None, None, None)
        assert set(threads_of_blas()) == {1}
        second.__exit__(None, None, None)
        assert threads_of_blas() == before


def test_an_error_in_one_thread_stops_the_others():
    X, y = data(400, 3, seed=2)

    def report(done, total):
        calls.append(done)
        raise KeyboardInterrupt

    calls = []
    with pytest.raises(KeyboardInterrupt):
        onefit.nested_cv(Ridge(1.0), X, y, n_folds="n", n_jobs=2, progress=report)
    assert len(calls) <= 2
