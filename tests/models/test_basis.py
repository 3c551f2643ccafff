"""Bases and their penalties: against mgcv, against numerical integrals, and as properties."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.interpolate import make_smoothing_spline

from helpers import DATA
from onefit import SplineRegression
from onefit.errors import DataError
from onefit.models.basis import BASES, make_basis, place_knots
from onefit.models.smooth import make_smooth

kinds = pytest.mark.parametrize("kind", BASES)
cases = pytest.mark.parametrize("case", ["C1_cr_sim", "C3_cr_mcycle"])


def values(n=60, seed=0):
    return np.sort(np.random.default_rng(seed).uniform(-2.0, 5.0, n))


def roughness(basis, b):
    """Integral of the squared second derivative of the function with coefficients b, by adaptive quadrature."""
    breaks = np.unique(np.concatenate([basis.knots, [basis.low, basis.high]]))
    breaks = breaks[(breaks >= basis.low) & (breaks <= basis.high)]
    pieces = itertools.pairwise(breaks)
    return sum(quad(lambda t: (basis.inside(np.array([t]), 2) @ b)[0] ** 2, low, high)[0] for low, high in pieces)


@cases
def test_cubic_regression_splines_have_mgcv_s_knots_columns_and_penalty(case):
    expected = json.loads((DATA / f"{case}_results.json").read_text())
    x = np.loadtxt(DATA / f"{case}_data.csv", delimiter=",", skiprows=1)[:, 0]
    X, S = (np.loadtxt(DATA / f"{case}_{part}.csv", delimiter=",") for part in "XS")
    smooth = make_smooth("cr", x, 20, None, "x")
    np.testing.assert_allclose(smooth.basis.knots, expected["knots"], rtol=1e-13)
    np.testing.assert_allclose(smooth(x), X[:, 1:], atol=1e-13)
    own = smooth.root.T @ smooth.root / expected["S_scale"]
    np.testing.assert_allclose(own, S[1:, 1:], atol=1e-13 * np.abs(S).max())


@pytest.mark.parametrize("kind", ["cr", "bs", "tp"])
def test_penalty_is_the_integrated_squared_second_derivative(kind):
    basis = make_basis(kind, values(25), 9)
    for b in np.random.default_rng(1).standard_normal((3, basis.size)):
        np.testing.assert_allclose(np.square(basis.root @ b).sum(), roughness(basis, b), rtol=1e-9)


def test_penalty_of_p_splines_is_on_second_differences():
    basis = make_basis("ps", values(), 12)
    b = np.random.default_rng(2).standard_normal(12)
    np.testing.assert_allclose(np.square(basis.root @ b).sum(), np.square(np.diff(b, 2)).sum(), rtol=1e-13)
    np.testing.assert_allclose(np.diff(basis.full), np.diff(basis.full)[0], rtol=1e-12)


@kinds
def test_bases_hold_straight_lines_and_do_not_penalize_them(kind):
    x = values()
    basis = make_basis(kind, x, 12)
    assert basis.root.shape == (10, 12)
    lines = np.column_stack([np.ones_like(x), x])
    b, *_ = np.linalg.lstsq(basis(x), lines, rcond=None)
    np.testing.assert_allclose(basis(x) @ b, lines, atol=1e-10)
    assert np.abs(basis.root @ b).max() <= 1e-8 * np.abs(basis.root).max()


@kinds
def test_outside_the_knots_the_functions_are_straight_lines_that_join_smoothly(kind):
    basis = make_basis(kind, values(), 9)
    for end, step in ((basis.low, -1e-6), (basis.high, 1e-6)):
        far = basis(end + step * np.array([0.0, 1e6, 2e6, 3e6]))
        assert np.abs(np.diff(far, 2, axis=0)).max() <= 1e-11 * np.abs(far).max()
        inside, outside = (basis(np.array([end, end + s])) for s in (-step, step))
        slopes = [(part[1] - part[0]) / s for part, s in ((inside, -step), (outside, step))]
        np.testing.assert_allclose(*slopes, atol=1e-4 * np.abs(slopes).max())


@kinds
def test_knots_and_basis_objects_give_the_same_basis_again(kind):
    x = values()
    basis = make_basis(kind, x, 9)
    again = make_basis(kind, x[::3], 9, basis.knots)
    np.testing.assert_allclose(again(x), basis(x), atol=1e-13)
    assert make_basis(kind, x[::3], 9, basis) is basis


def test_quantile_knots_are_those_of_the_distinct_values():
    x = np.array([0.0, 0.0, 0.0, 1.0, 2.0, 10.0])
    np.testing.assert_allclose(place_knots(x, 3), [0.0, 1.5, 10.0])


def test_the_full_thin_plate_basis_is_the_smoothing_spline():
    rng = np.random.default_rng(3)
    x = values(40)
    y = np.sin(x) + 0.3 * rng.standard_normal(40)
    ours = SplineRegression(n_basis=40, basis="tp", lam=0.7).fit(x[:, None], y).predict(x[:, None])
    np.testing.assert_allclose(ours, make_smoothing_spline(x, y, lam=0.7)(x), atol=1e-9)


def test_a_knot_at_every_value_is_the_smoothing_spline_too():
    rng = np.random.default_rng(4)
    x = values(40)
    y = np.sin(x) + 0.3 * rng.standard_normal(40)
    ours = SplineRegression(n_basis=40, basis="cr", lam=0.7).fit(x[:, None], y)
    theirs = make_smoothing_spline(x, y, lam=0.7)
    t = np.linspace(x[0], x[-1], 200)
    np.testing.assert_allclose(ours.predict(t[:, None]), theirs(t), atol=1e-9)


def test_the_thin_plate_eigenvectors_do_not_depend_on_the_method():
    x = values(500, seed=5)
    sparse_way, dense_way = make_basis("tp", x, 12), make_basis("tp", x, 12)
    assert len(x) > 300  # the Lanczos way
    np.testing.assert_array_equal(sparse_way(x), dense_way(x))
    E = np.abs(x[:, None] - x) ** 3
    d, U = np.linalg.eigh(E)
    leading = U[:, np.argsort(-np.abs(d))[:12]]
    T = np.column_stack([np.ones_like(x), x])
    # functions of the basis, without their lines, are E times the leading vectors that are orthogonal to lines
    inner = leading @ np.linalg.svd((leading.T @ T).T)[2][2:].T
    span = np.linalg.qr(np.column_stack([E @ inner, T]))[0]
    inside = sparse_way(x)
    np.testing.assert_allclose(span @ (span.T @ inside), inside, atol=1e-9 * np.abs(inside).max())


@kinds
@given(seed=st.integers(0, 10_000), n_distinct=st.integers(2, 12), n_basis=st.integers(3, 15))
def test_bases_shrink_to_the_distinct_values(kind, seed, n_distinct, n_basis):
    rng = np.random.default_rng(seed)
    distinct = np.cumsum(rng.uniform(0.1, 1.0, n_distinct))
    x = np.concatenate([distinct, rng.choice(distinct, 10)])
    basis = make_basis(kind, x, n_basis)
    assert basis.size == min(n_basis, n_distinct)
    assert np.linalg.matrix_rank(basis(distinct)) == basis.size


@pytest.mark.parametrize(
    ("knots", "message"),
    [([0.0], "at least two"), ([0.0, 2.0, 1.0], "increase"), ([0.0, np.nan, 1.0], "finite"), ("abc", "numbers")],
)
def test_bad_knots_are_refused(knots, message):
    with pytest.raises(DataError, match=message):
        make_smooth("cr", values(), 5, knots, "x")


def test_uneven_knots_of_p_splines_are_refused():
    with pytest.raises(DataError, match="evenly"):
        make_smooth("ps", values(), 5, [0.0, 1.0, 3.0, 4.0], "x")
