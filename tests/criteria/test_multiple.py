"""Several penalties chosen jointly: against the dense formulas, one penalty, other optimizers, and themselves."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from math import log

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import optimize

from helpers import random_weights
from onefit.criteria import criterion_values, multiple, points, search, spectrum_of_rows
from onefit.criteria.multiple import (
    JOINT_CRITERIA,
    choose_jointly,
    coefficients_at,
    coordinates_of,
    criterion,
    statistics_of_rows,
)
from onefit.criteria.points import GRID, GcvPoint, GuardedGcv, RemlPoint
from onefit.criteria.reduced import reduce
from onefit.errors import DataError, TrainingSetError
from onefit.linalg.columns import columns_of

kinds = pytest.mark.parametrize("kind", JOINT_CRITERIA)
SHAPES = [(120, 6, 3), (30, 9, 3), (20, 8, 4)]  # rows, columns of a term, terms: the last is wider than tall
shapes = pytest.mark.parametrize("shape", SHAPES)


def additive(n, c, T, seed, n_outputs=1, noise=0.3):
    """Design with an intercept and a free column, roots of second differences, and y."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, (n, T))
    knots = np.linspace(-1, 1, c)
    bumps = np.exp(-np.square((x[:, :, None] - knots) * c / 3))  # (n, T, c)
    blocks = bumps - bumps.mean(axis=0)
    design = np.hstack([np.ones((n, 1)), blocks.reshape(n, T * c), rng.standard_normal((n, 1))])
    roots = []
    for t in range(T):
        root = np.zeros((c - 2, T * c + 2))
        root[:, 1 + t * c : 1 + (t + 1) * c] = np.diff(np.eye(c), 2, axis=0)
        roots.append(root)
    y = np.sin(4 * x[:, :1]) + (x[:, 1:2] if T > 1 else 0) + np.exp(-8 * np.square(x[:, -1:]))
    return design, tuple(roots), y + noise * rng.standard_normal((n, n_outputs))


def ridge_terms(n, sizes, seed, n_outputs=1):
    """Design with an intercept and one identity penalty a group of columns."""
    rng = np.random.default_rng(seed)
    d = 1 + sum(sizes)
    design = np.hstack([np.ones((n, 1)), rng.standard_normal((n, d - 1))])
    ends = 1 + np.cumsum([0, *sizes])
    roots = tuple(np.eye(d)[a:b] for a, b in pairwise(ends))
    coefficients = np.hstack([[1.0], *(rng.standard_normal(s) * 0.7**t for t, s in enumerate(sizes))])
    return design, roots, (design @ coefficients)[:, None] + rng.standard_normal((n, n_outputs))


def dense(design, roots, y, lams, weights=None):
    """REML, GCV and the fit, from matrices of the rows and the normal equations."""
    n, d = design.shape
    w = np.ones(n) if weights is None else weights
    S = sum(lam * root.T @ root for lam, root in zip(lams, roots, strict=True))
    gram = (design.T * w) @ design
    inverse = np.linalg.inv(gram + S)
    b = inverse @ (design.T * w) @ y
    rss = w @ np.square(y - design @ b)
    Mp = d - sum(map(len, roots))
    log_det_S = sum(np.linalg.slogdet(lam * root @ root.T)[1] for lam, root in zip(lams, roots, strict=True))
    log_det = np.linalg.slogdet(gram + S)[1] - log_det_S - np.log(w).sum()
    phi = (rss + np.einsum("dq,de,eq->q", b, S, b)) / (n - Mp)
    reml = (n - Mp) / 2 * (1 + np.log(2 * np.pi * phi)) + log_det / 2
    return {"reml": reml, "gcv": n * rss / (n - np.trace(inverse @ gram)) ** 2, "b": b}


def weighted(design, y, weights):
    root = np.sqrt(weights)
    return statistics_of_rows(root[:, None] * design, root[:, None] * y)


def value_at(statistics, roots, lams, kind):
    return criterion(statistics, roots, np.log(lams), kind)[0]


def grid_of(statistics, roots, seed, size=5, spread=2.0):
    """Places around the chosen penalties."""
    rng = np.random.default_rng(seed)
    centre = np.log(choose_jointly(statistics, roots, "reml").lams)
    centre = np.minimum(centre, np.log(1e3) + centre.min())
    return centre + spread * rng.standard_normal((size, len(roots)))


# ------------------------------------------------------------------------------------- the dense formulas


@shapes
@pytest.mark.parametrize("is_weighted", [False, True])
def test_fits_and_criteria_equal_the_dense_formulas(shape, is_weighted):
    design, roots, y = additive(*shape, seed=1, n_outputs=2)
    weights = random_weights(len(y), "positive", seed=1) if is_weighted else np.ones(len(y))
    statistics = weighted(design, y, weights)
    for rho in grid_of(statistics, roots, seed=1):
        expected = dense(design, roots, y, np.exp(rho), weights)
        size = np.abs(expected["b"]).max()
        found = coefficients_at(statistics, roots, np.exp(rho))
        np.testing.assert_allclose(found, expected["b"], rtol=1e-8, atol=1e-9 * size)
        expected["reml"] += np.log(weights).sum() / 2  # a constant
        for kind in JOINT_CRITERIA:
            value = criterion(statistics, roots, rho, kind)[0]
            np.testing.assert_allclose(value, expected[kind].sum(), rtol=1e-8)


def test_fit_is_that_of_the_stacked_least_squares_problem():
    design, roots, y = additive(60, 8, 3, seed=2)
    lams = np.array([1e-6, 1.0, 1e7])
    stack = np.vstack([design, *(np.sqrt(lam) * root for lam, root in zip(lams, roots, strict=True))])
    right = np.vstack([y, np.zeros((len(stack) - len(y), 1))])
    expected = np.linalg.lstsq(stack, right, rcond=None)[0]
    found = coefficients_at(statistics_of_rows(design, y), roots, lams)
    np.testing.assert_allclose(design @ found, design @ expected, atol=1e-10)


def exact_inverse(matrix):
    """Inverse and determinant in rational numbers, by elimination without pivoting: the matrix is positive definite."""
    d = len(matrix)
    rows = [[*row, *(Fraction(int(i == j)) for j in range(d))] for i, row in enumerate(matrix)]
    determinant = Fraction(1)
    for i in range(d):
        determinant *= rows[i][i]
        rows[i] = [value / rows[i][i] for value in rows[i]]
        for j in range(d):
            if j != i and rows[j][i]:
                rows[j] = [value - rows[j][i] * pivot for value, pivot in zip(rows[j], rows[i], strict=True)]
    return np.array([row[d:] for row in rows]), determinant


@kinds
@pytest.mark.parametrize("powers", [(0, 0, 0), (-30, 24, 0), (24, 0, -30), (-30, -24, -28), (24, 26, 20)])
def test_digits_survive_extreme_penalties(powers, kind):
    rng = np.random.default_rng(30)
    design = np.hstack([np.ones((14, 1)), rng.integers(-9, 10, (14, 9))])
    y, roots = rng.integers(-20, 21, (14, 1)).astype(float), tuple(np.eye(10)[a : a + 3] for a in (1, 4, 7))
    exact, target = (np.vectorize(lambda value: Fraction(int(value)), otypes=[object])(part) for part in (design, y))
    lams = [Fraction(2) ** power for power in powers]
    S = np.diag([Fraction(0), *(lam for lam in lams for _ in range(3))])
    inverse, determinant = exact_inverse((exact.T @ exact + S).tolist())
    b = inverse @ exact.T @ target
    rss = ((target - exact @ b) ** 2).sum()
    if kind == "gcv":
        expected = float(14 * rss / (14 - (inverse @ exact.T @ exact).trace()) ** 2)
    else:
        phi = float((rss + (b.T @ S @ b).item()) / 13)
        ratio = determinant / (lams[0] * lams[1] * lams[2]) ** 3
        expected = (13 * (1 + np.log(2 * np.pi * phi)) + log(ratio.numerator) - log(ratio.denominator)) / 2
    statistics, rho = statistics_of_rows(design, y), np.log(2.0) * np.array(powers)
    np.testing.assert_allclose(criterion(statistics, roots, rho, kind)[0], expected, rtol=1e-12)
    np.testing.assert_allclose(coefficients_at(statistics, roots, np.exp2(powers)), b.astype(float), rtol=1e-9)


# -------------------------------------------------------------------------------------------- derivatives


def complex_criterion(design, roots, y, rho, kind):
    """The criterion of complex ``rho``: analytic, so that an imaginary step gives derivatives without cancellation."""
    n, d = design.shape
    S = sum(np.exp(r) * root.T @ root for r, root in zip(rho, roots, strict=True))
    gram = design.T @ design
    b = np.linalg.solve(gram + S, design.T @ y + 0j)
    residuals = y - design @ b
    rss = (residuals * residuals).sum(axis=0)
    if kind == "gcv":
        return (n * rss / (n - np.trace(np.linalg.solve(gram + S, gram + 0j))) ** 2).sum()
    Mp = d - sum(map(len, roots))
    phi = (rss + (b * (S @ b)).sum(axis=0)) / (n - Mp)
    sign, log_det = np.linalg.slogdet(gram + S)
    log_det = log_det + np.log(sign) - sum(r * len(root) for r, root in zip(rho, roots, strict=True))
    return ((n - Mp) / 2 * (1 + np.log(2 * np.pi * phi)) + log_det / 2).sum()


@kinds
@pytest.mark.parametrize("sizes", [(4,), (3, 5), (2, 4, 3)])
@pytest.mark.parametrize("n_outputs", [1, 2])
def test_gradient_equals_complex_differences(sizes, n_outputs, kind):
    design, roots, y = ridge_terms(30, sizes, seed=4, n_outputs=n_outputs)
    statistics = statistics_of_rows(design, y)
    for rho in np.random.default_rng(4).uniform(-1, 5, (4, len(sizes))):
        gradient = criterion(statistics, roots, rho, kind)[1]
        steps = 1e-30j * np.eye(len(sizes))
        expected = [complex_criterion(design, roots, y, rho + step, kind).imag / 1e-30 for step in steps]
        np.testing.assert_allclose(gradient, expected, rtol=1e-10, atol=1e-12 * np.abs(expected).max())


@kinds
@pytest.mark.parametrize("sizes", [(4,), (3, 5), (2, 4, 3)])
@pytest.mark.parametrize("n_outputs", [1, 2])
def test_hessian_equals_extrapolated_differences_of_the_gradient(sizes, n_outputs, kind):
    design, roots, y = ridge_terms(30, sizes, seed=5, n_outputs=n_outputs)
    statistics = statistics_of_rows(design, y)

    def difference(rho, step):
        return (
            criterion(statistics, roots, rho + step, kind)[1] - criterion(statistics, roots, rho - step, kind)[1]
        ) / 2

    for rho in np.random.default_rng(5).uniform(-1, 5, (3, len(sizes))):
        hessian = criterion(statistics, roots, rho, kind)[2]
        for t, axis in enumerate(np.eye(len(sizes))):
            h, (one, two, four) = 1e-2, (difference(rho, m * 1e-2 * axis) for m in (1, 2, 4))
            expected = (64 * one / 1 - 20 * two / 2 + four / 4) / 45 / h  # error of order h^6
            np.testing.assert_allclose(hessian[t], expected, atol=1e-9 * np.abs(hessian).max())


@kinds
@shapes
def test_derivatives_of_smooth_terms_are_those_of_the_value(shape, kind):
    design, roots, y = additive(*shape, seed=6)
    statistics = statistics_of_rows(design, y)
    rho, h = grid_of(statistics, roots, seed=6, spread=1.0)[0], 2e-2

    def along(axis, part):
        return np.array([criterion(statistics, roots, rho + m * h * axis, kind)[part] for m in (-4, -2, -1, 1, 2, 4)])

    weights = np.array([-1 / 8, 20 / 4, -64 / 2, 64 / 2, -20 / 4, 1 / 8]) / 45 / h
    _, gradient, hessian = criterion(statistics, roots, rho, kind)
    for t, axis in enumerate(np.eye(len(roots))):
        assert abs(weights @ along(axis, 0) - gradient[t]) < 1e-9 * max(1.0, np.abs(gradient).max())
        np.testing.assert_allclose(weights @ along(axis, 1), hessian[t], atol=1e-8 * np.abs(hessian).max())


# ------------------------------------------------------------------------------------------- one penalty


@pytest.mark.parametrize(("kind", "n"), [("reml", 8), ("reml", 12), ("reml", 60), ("gcv", 12), ("gcv", 60)])
@pytest.mark.parametrize("seed", range(5))
def test_one_penalty_is_that_of_the_single_search(n, seed, kind):
    design, roots, y = ridge_terms(n, (9,), seed=seed, n_outputs=1 + seed % 2)
    weights = random_weights(n, "positive", seed=seed)
    statistics = weighted(design, y, weights)
    choice = choose_jointly(statistics, roots, kind)
    root = np.sqrt(weights)
    spectrum = spectrum_of_rows(columns_of(design[:, 1:], None, True).weighted(root), root[:, None] * y).spectrum
    lam = search(spectrum, kind)
    np.testing.assert_allclose(choice.lams, lam, rtol=1e-8)
    value = value_at(statistics, roots, choice.lams, kind)
    np.testing.assert_allclose(value, criterion_values(spectrum, lam[None], kind).sum(), rtol=1e-11)
    assert choice.converged


@kinds
def test_one_smooth_penalty_is_that_of_the_single_search(kind):
    design, roots, y = additive(50, 12, 1, seed=7)
    statistics = statistics_of_rows(design, y)
    choice = choose_jointly(statistics, roots, kind)
    penalty = roots[0].T @ roots[0]
    spectrum = spectrum_of_rows(columns_of(design, penalty, False), y).spectrum
    lam = search(spectrum, kind)
    np.testing.assert_allclose(choice.lams, lam, rtol=1e-8)
    value = value_at(statistics, roots, choice.lams, kind)
    np.testing.assert_allclose(value, criterion_values(spectrum, lam[None], kind)[0, 0, 0], rtol=1e-11)


# ----------------------------------------------------------------------------------------- the optimum


def best_of_many(statistics, roots, kind, centre, seed, n_starts=20):
    """The lowest value that a quasi-Newton method of others finds from many places."""
    rng, values = np.random.default_rng(seed), []
    box = list(zip(centre - 12, centre + 12, strict=True))
    for start in rng.uniform(centre - 8, centre + 8, (n_starts, len(roots))):
        found = optimize.minimize(
            lambda rho: criterion(statistics, roots, rho, kind)[:2], start, jac=True, bounds=box, method="L-BFGS-B"
        )
        values.append(found.fun)
    return min(values)


@kinds
@pytest.mark.parametrize("seed", range(4))
def test_no_other_optimizer_finds_a_lower_value(seed, kind):
    design, roots, y = additive(100, 7, 3, seed=seed)
    statistics = statistics_of_rows(design, y)
    choice = choose_jointly(statistics, roots, kind)
    assert choice.converged
    best = best_of_many(statistics, roots, kind, np.zeros(3), seed)
    assert value_at(statistics, roots, choice.lams, kind) <= best + 1e-9 * abs(best)


@kinds
@pytest.mark.parametrize("seed", range(4))
def test_gradient_vanishes_at_an_inner_minimum_and_the_hessian_is_positive(seed, kind):
    design, roots, y = ridge_terms(80, (4, 6, 5), seed=seed)
    statistics = statistics_of_rows(design, y)
    choice = choose_jointly(statistics, roots, kind)
    assert choice.at_end == ("", "", "")
    _, gradient, hessian = criterion(statistics, roots, np.log(choice.lams), kind)
    assert np.linalg.eigvalsh(hessian).min() > 0
    assert np.abs(np.linalg.solve(hessian, gradient)).max() < 1e-10  # distance to the minimum in log lam


@kinds
@pytest.mark.parametrize("seed", range(4))
def test_rounding_errors_do_not_change_the_choice(seed, kind):
    design, roots, y = additive(70, 8, 3, seed=seed)
    rng = np.random.default_rng(seed)
    order, rotation = rng.permutation(70), np.linalg.qr(rng.standard_normal((70, 70)))[0]
    one = choose_jointly(statistics_of_rows(design, y), roots, kind)
    for A, b in ((design[order], y[order]), (rotation @ design, rotation @ y)):
        other = choose_jointly(statistics_of_rows(A, b), roots, kind)
        assert other.at_end == one.at_end
        np.testing.assert_allclose(other.lams, one.lams, rtol=1e-9)
    statistics = statistics_of_rows(design, y)
    turn = np.linalg.qr(rng.standard_normal((len(statistics.R),) * 2))[0]
    turned = replace(statistics, R=turn @ statistics.R, z=turn @ statistics.z)
    np.testing.assert_allclose(choose_jointly(turned, roots, kind).lams, one.lams, rtol=1e-9)


@kinds
def test_one_choice_serves_all_outputs(kind):
    design, roots, y = ridge_terms(60, (4, 5), seed=8, n_outputs=3)
    statistics = statistics_of_rows(design, y)
    choice = choose_jointly(statistics, roots, kind)
    alone = [statistics_of_rows(design, y[:, [q]]) for q in range(3)]

    def total(rho):
        return sum(criterion(each, roots, rho, kind)[0] for each in alone)

    rho = np.log(choice.lams)
    value = value_at(statistics, roots, choice.lams, kind)
    np.testing.assert_allclose(value, total(rho), rtol=1e-12)
    for axis in np.eye(2):
        assert value < min(total(rho + 0.01 * axis), total(rho - 0.01 * axis))


@kinds
@pytest.mark.parametrize("given", [1e-7, 0.3, 1e9])
def test_penalties_that_are_given_stay_and_the_others_are_best_beside_them(given, kind):
    design, roots, y = additive(100, 7, 3, seed=9)
    statistics = statistics_of_rows(design, y)
    choice = choose_jointly(statistics, roots, kind, np.array([np.nan, given, np.nan]))
    assert choice.lams[1] == given
    assert choice.at_end[1] == ""
    open_ones = np.array([True, False, True])

    def value(rho):
        found, gradient, _ = criterion(statistics, roots, np.insert(rho, 1, np.log(given)), kind)
        return found, gradient[open_ones]

    starts = np.random.default_rng(9).uniform(-8, 8, (10, 2))
    runs = [optimize.minimize(value, each, jac=True, bounds=[(-12, 12)] * 2, method="L-BFGS-B") for each in starts]
    best = min(run.fun for run in runs)
    assert value_at(statistics, roots, choice.lams, kind) <= best + 1e-9 * abs(best)


@kinds
def test_coordinates_serve_in_place_of_the_roots(kind):
    design, roots, y = additive(60, 6, 2, seed=10)
    statistics, coordinates = statistics_of_rows(design, y), coordinates_of(roots, design.shape[1])
    one, other = choose_jointly(statistics, roots, kind), choose_jointly(statistics, coordinates, kind)
    np.testing.assert_array_equal(one.lams, other.lams)
    np.testing.assert_array_equal(*(coefficients_at(statistics, each, one.lams) for each in (roots, coordinates)))


# ------------------------------------------------------------------------------------ units and the ends


@kinds
def test_the_fit_does_not_depend_on_units(kind):
    design, roots, y = additive(60, 7, 3, seed=11)
    choice = choose_jointly(statistics_of_rows(design, y), roots, kind)
    here = coefficients_at(statistics_of_rows(design, y), roots, choice.lams)
    units = np.repeat([1.0, 1e3, 1.0, 1.0, 1.0], [1, 7, 7, 7, 1])
    scaled = (roots[0], roots[1], 1e4 * roots[2])
    statistics = statistics_of_rows(design * units, 1e-3 * y)
    other = choose_jointly(statistics, scaled, kind)
    assert other.at_end == choice.at_end
    np.testing.assert_allclose(other.lams, choice.lams * [1e6, 1.0, 1e-8], rtol=1e-8)
    there = coefficients_at(statistics, scaled, other.lams)
    np.testing.assert_allclose(1e3 * (design * units) @ there, design @ here, atol=1e-9)


def orthogonal_terms(signal, seed=12, n=80):
    """A free column, a penalized term, and one with a linear part (free) and a wiggly part orthogonal to all others.

    Without ``signal``, y is orthogonal to the wiggly part: no finite penalty is best for it, whatever the other one is.
    """
    rng = np.random.default_rng(seed)
    others = np.hstack([np.ones((n, 1)), rng.standard_normal((n, 6))])
    basis = np.linalg.qr(np.hstack([others, rng.standard_normal((n, 4))]))[0][:, 7:]
    wiggly = basis @ rng.standard_normal((4, 4))
    y = others @ rng.standard_normal((7, 1)) + rng.standard_normal((n, 1))
    y = y - basis @ (basis.T @ y) + signal * wiggly @ rng.standard_normal((4, 1))
    mix = rng.standard_normal((5, 5))  # coefficients in which linear and wiggly part are not apart
    design = np.hstack([others[:, :6], np.hstack([others[:, 6:], wiggly]) @ mix])
    roots = np.eye(11)[1:6], np.hstack([np.zeros((4, 6)), mix[1:]])
    return design, roots, y


@kinds
def test_a_term_without_signal_is_shrunk_to_its_null_space_exactly_at_the_end(kind):
    design, roots, y = orthogonal_terms(signal=0.0)
    statistics = statistics_of_rows(design, y)
    choice = choose_jointly(statistics, roots, kind)
    assert choice.at_end == ("", "most")
    assert choice.converged
    np.testing.assert_allclose(roots[1] @ coefficients_at(statistics, roots, choice.lams), 0, atol=1e-12)
    np.testing.assert_allclose(choice.lams[1], 1e8 * term_eigenvalues(design, roots, 1).sum(), rtol=1e-11)


def term_eigenvalues(design, roots, t):
    """Eigenvalues of a term's Gram matrix against its penalty, free directions of all terms projected out."""
    both = np.linalg.pinv(np.vstack(roots))
    first = sum(map(len, roots[:t]))
    null = np.linalg.svd(np.vstack(roots))[2][sum(map(len, roots)) :].T
    N, E = design @ null, design @ both[:, first : first + len(roots[t])]
    return np.square(np.linalg.svd(E - N @ np.linalg.lstsq(N, E, rcond=None)[0])[1])


@kinds
def test_a_term_with_signal_has_a_finite_penalty(kind):
    design, roots, y = orthogonal_terms(signal=3.0)
    statistics = statistics_of_rows(design, y)
    choice = choose_jointly(statistics, roots, kind)
    assert choice.at_end == ("", "")
    mu = term_eigenvalues(design, roots, 1)
    assert (mu / (mu + choice.lams[1])).sum() > 0.5


def test_the_end_of_the_axis_is_that_of_the_single_search():
    design, roots, y = ridge_terms(40, (4,), seed=13)
    y = y - design[:, 1:] @ np.linalg.lstsq(design, y, rcond=None)[0][1:]
    spectrum = spectrum_of_rows(columns_of(design[:, 1:], None, True), y).spectrum
    for kind in JOINT_CRITERIA:
        choice = choose_jointly(statistics_of_rows(design, y), roots, kind)
        assert choice.at_end == ("most",)
        np.testing.assert_allclose(choice.lams, 1e8 * spectrum.mu.sum(), rtol=1e-12)
        np.testing.assert_allclose(choice.lams, search(spectrum, kind), rtol=1e-12)


@kinds
def test_an_exact_relation_is_not_shrunk(kind):
    design, roots, _ = ridge_terms(40, (3, 4), seed=14)
    y = design @ np.arange(1.0, 9.0)[:, None]
    statistics = statistics_of_rows(design, y)
    found = coefficients_at(statistics, roots, choose_jointly(statistics, roots, kind).lams)
    np.testing.assert_allclose(design @ found, y, rtol=1e-7)


@kinds
@pytest.mark.parametrize("level", [0.0, 2.5])
def test_a_constant_y_is_predicted(level, kind):
    design, roots, _ = ridge_terms(15, (3, 4), seed=15)
    y = np.full((15, 1), level)
    statistics = statistics_of_rows(design, y)
    choice = choose_jointly(statistics, roots, kind)
    found = coefficients_at(statistics, roots, choice.lams)
    np.testing.assert_allclose(design @ found, y, rtol=1e-11, atol=1e-14)
    if level == 0:
        assert choice.at_end == ("most", "most")


def test_a_term_that_no_row_sees_is_penalized_most_and_its_coefficients_vanish():
    design, roots, y = ridge_terms(30, (3, 4), seed=16)
    design[:, 4:] = 0
    statistics = statistics_of_rows(design, y)
    for kind in JOINT_CRITERIA:
        choice = choose_jointly(statistics, roots, kind)
        assert choice.at_end[1] == "most"
        np.testing.assert_allclose(coefficients_at(statistics, roots, choice.lams)[4:], 0, atol=1e-15)


def test_without_penalties_there_is_nothing_to_choose():
    design, _, y = ridge_terms(30, (3, 4), seed=17)
    statistics = statistics_of_rows(design, y)
    rss = np.linalg.lstsq(design, y, rcond=None)[1].sum()
    choice = choose_jointly(statistics, (), "gcv")
    assert choice.lams.shape == (0,)
    np.testing.assert_allclose(value_at(statistics, (), choice.lams, "gcv"), 30 * rss / 22**2, rtol=1e-12)
    found = coefficients_at(statistics, (), choice.lams)
    np.testing.assert_allclose(found, np.linalg.lstsq(design, y, rcond=None)[0], rtol=1e-10)


# --------------------------------------------------------------------------------------- more columns than rows


@kinds
@pytest.mark.parametrize("is_padded", [False, True])
def test_more_columns_than_rows(is_padded, kind):
    design, roots, y = ridge_terms(15, (8, 12), seed=18)
    statistics = statistics_of_rows(design, y)
    assert statistics.R.shape == (15, 21)
    if is_padded:
        pad = np.zeros((6, 21))
        statistics = replace(statistics, R=np.vstack([statistics.R, pad]), z=np.vstack([statistics.z, pad[:, :1]]))
    choice = choose_jointly(statistics, roots, kind)
    lams = choice.lams
    V = np.eye(15) + sum(design @ root.T @ root @ design.T / lam for lam, root in zip(lams, roots, strict=True))
    inverse, ones = np.linalg.inv(V), np.ones((15, 1))
    A = inverse - inverse @ ones @ ones.T @ inverse / inverse.sum()
    phi = (y.T @ A @ y).item() / 14
    reml = (14 * (1 + np.log(2 * np.pi * phi)) + np.linalg.slogdet(V)[1] + np.log(inverse.sum())) / 2
    expected = {"reml": reml, "gcv": 15 * np.square(A @ y).sum() / np.trace(A) ** 2}[kind]
    np.testing.assert_allclose(value_at(statistics, roots, lams, kind), expected, rtol=1e-9)
    np.testing.assert_allclose(y - design @ coefficients_at(statistics, roots, lams), A @ y, atol=1e-9)


def test_gcv_is_infinite_where_the_fit_interpolates():
    design, roots, y = ridge_terms(15, (8, 12), seed=19)
    statistics = statistics_of_rows(design, y)
    value, gradient, hessian = criterion(statistics, roots, np.log([1e-12, 1e-12]), "gcv")
    assert np.isinf(value)
    assert np.isnan(gradient).all()
    assert np.isnan(hessian).all()


def left_over(design, roots, lams):
    """``n - edf`` by the covariance of y, whatever the number of columns."""
    n = len(design)
    V = np.eye(n) + sum(design @ root.T @ root @ design.T / lam for lam, root in zip(lams, roots, strict=True))
    inverse, ones = np.linalg.inv(V), np.ones((n, 1))
    return np.trace(inverse - inverse @ ones @ ones.T @ inverse / inverse.sum())


@pytest.mark.parametrize("seed", range(12))
def test_gcv_chooses_a_minimum_of_its_own_away_from_interpolation_or_says_so(seed):
    design, roots, y = ridge_terms(15, (8, 12), seed=seed)
    statistics = statistics_of_rows(design, y)
    choice = choose_jointly(statistics, roots, "gcv")
    assert choice.converged == (left_over(design, roots, choice.lams) >= 1.5)
    if not choice.converged:
        assert left_over(design, roots, choice.lams) > 0.5
        return
    inner = np.array(choice.at_end) == ""
    _, gradient, hessian = criterion(statistics, roots, np.log(choice.lams), "gcv")
    if inner.any():
        hessian = hessian[inner][:, inner]
        assert np.linalg.eigvalsh(hessian).min() > 0
        assert np.abs(np.linalg.solve(hessian, gradient[inner])).max() < 1e-7


def test_both_answers_of_gcv_near_interpolation_occur():
    found = set()
    for seed in range(12):
        design, roots, y = ridge_terms(15, (8, 12), seed=seed)
        found.add(choose_jointly(statistics_of_rows(design, y), roots, "gcv").converged)
    assert found == {True, False}


def test_the_guard_of_gcv_begins_at_a_tenth_of_the_rows_and_its_derivatives_are_those_of_the_value():
    design, roots, y = ridge_terms(15, (8, 12), seed=19)
    problem = reduce(statistics_of_rows(design, y), roots)
    is_guarded = set()
    for shift in np.linspace(-10, 2, 13):
        rho, h = np.array([0.3, 0.0]) + shift, 1e-2
        plain, guarded = GcvPoint(problem, rho), GuardedGcv(problem, rho)
        is_guarded.add(guarded.is_guarded)
        assert guarded.is_guarded == (plain.left < 1.5)
        expected = plain.value + 10 * np.log(max(1.5 / plain.left, 1.0)) ** 3
        np.testing.assert_allclose(guarded.value, expected, rtol=1e-13)
        gradient, hessian = guarded.derivatives()
        for t, axis in enumerate(np.eye(2)):
            around = [GuardedGcv(problem, rho + m * h * axis) for m in (-4, -2, -1, 1, 2, 4)]
            if len({each.is_guarded for each in around}) == 2:
                continue  # the third derivative jumps here
            weights = np.array([-1 / 8, 20 / 4, -64 / 2, 64 / 2, -20 / 4, 1 / 8]) / 45 / h
            slope = weights @ [each.value for each in around]
            np.testing.assert_allclose(slope, gradient[t], atol=1e-8 * max(1.0, np.abs(gradient).max()))
            curvature = weights @ [each.derivatives()[0] for each in around]
            np.testing.assert_allclose(curvature, hessian[t], atol=1e-8 * max(1.0, np.abs(hessian).max()))
    assert is_guarded == {True, False}


@kinds
@pytest.mark.parametrize("seed", range(10))
def test_with_one_row_more_than_free_directions_nothing_decides_and_the_most_penalized_wins(seed, kind):
    design, roots, y = additive(5, 6, 1, seed=seed)  # the intercept, a free column, and a line
    statistics = statistics_of_rows(design[:4], y[:4])
    values = [criterion(statistics, roots, np.array([rho]), kind)[0] for rho in (-3.0, 0.0, 4.0)]
    np.testing.assert_allclose(values, values[0], rtol=1e-9)
    choice = choose_jointly(statistics, roots, kind)
    assert choice.at_end == ("most",)
    assert choice.converged


def test_no_degrees_of_freedom_at_all_give_the_most_penalized_answer():
    design, roots, y = ridge_terms(1, (3, 2), seed=20)
    for kind in JOINT_CRITERIA:
        assert choose_jointly(statistics_of_rows(design, y), roots, kind).at_end == ("most", "most")


# -------------------------------------------------------------------------------------------------- errors


def test_errors_name_cause_and_remedy():
    design, roots, y = ridge_terms(20, (3, 4), seed=21)
    statistics = statistics_of_rows(design, y)
    with pytest.raises(DataError, match=r"'aic'.*choose 'gcv' or 'reml'"):
        choose_jointly(statistics, roots, "aic")
    with pytest.raises(DataError, match=r"Penalty 1 shares columns.*columns of its own"):
        choose_jointly(statistics, (roots[0], np.eye(8)[3:6]), "reml")
    with pytest.raises(DataError, match=r"root 0 are linearly dependent.*full row rank"):
        choose_jointly(statistics, (np.vstack([roots[0], roots[0][:1]]),), "reml")
    doubled = np.hstack([design, design[:, :1]])
    wider = tuple(np.hstack([root, np.zeros((len(root), 1))]) for root in roots)
    with pytest.raises(TrainingSetError, match=r"do not determine the 2 unpenalized directions.*use more rows"):
        choose_jointly(statistics_of_rows(doubled, y), wider, "reml")
    wide, wide_roots, short = ridge_terms(5, (3, 4), seed=21)
    with pytest.raises(TrainingSetError, match=r"without a penalty; use a positive one"):
        coefficients_at(statistics_of_rows(wide, short), wide_roots, np.zeros(2))


# ---------------------------------------------------------------------------------------------- properties


@given(
    n=st.integers(6, 60),
    sizes=st.lists(st.integers(1, 7), min_size=1, max_size=4),
    seed=st.integers(0, 2**32 - 1),
    n_outputs=st.integers(1, 2),
    kind=st.sampled_from(JOINT_CRITERIA),
)
def test_no_single_penalty_could_do_better(n, sizes, seed, n_outputs, kind):
    assume(kind == "reml" or n - 1 - sum(sizes) >= n / 10)  # GCV without its guard
    design, roots, y = ridge_terms(n, sizes, seed, n_outputs)
    statistics = statistics_of_rows(design, y)
    choice = choose_jointly(statistics, roots, kind)
    value = value_at(statistics, roots, choice.lams, kind)
    assert np.isfinite(choice.lams).all()
    assert all(choice.lams > 0)
    rho = np.log(choice.lams)
    for t, axis in enumerate(np.eye(len(sizes))):
        low, high = {"most": (-5, 0), "least": (0, 5)}.get(choice.at_end[t], (-5, 5))
        shifts = np.linspace(low, high, 11)
        values = [criterion(statistics, roots, rho + shift * axis, kind)[0] for shift in shifts]
        assert value <= min(values) + 1e-9 * max(n, abs(value))


@given(seed=st.integers(0, 2**32 - 1), kind=st.sampled_from(JOINT_CRITERIA), order=st.permutations(range(3)))
def test_the_order_of_the_terms_does_not_matter_to_the_value_at_given_penalties(seed, kind, order):
    design, roots, y = ridge_terms(25, (2, 3, 4), seed)
    statistics = statistics_of_rows(design, y)
    rho = np.random.default_rng(seed).uniform(-2, 6, 3)
    value, gradient, hessian = criterion(statistics, roots, rho, kind)
    other = criterion(statistics, tuple(roots[t] for t in order), rho[order], kind)
    np.testing.assert_allclose(other[0], value, rtol=1e-12)
    np.testing.assert_allclose(other[1], gradient[order], atol=1e-11 * np.abs(gradient).max())
    np.testing.assert_allclose(other[2], hessian[np.ix_(order, order)], atol=1e-11 * np.abs(hessian).max())


@pytest.mark.parametrize("point", [RemlPoint, GcvPoint, GuardedGcv])
@pytest.mark.parametrize("seed", range(4))
def test_a_penalty_moved_alone_gives_what_a_new_decomposition_gives(point, seed):
    rng = np.random.default_rng(seed)
    design, y = rng.standard_normal((60, 13)), rng.standard_normal((60, 2))
    eye = np.eye(13)
    problem = reduce(statistics_of_rows(design, y), (eye[1:5], eye[5:9], eye[9:13]))
    at = point(problem, rng.uniform(-3, 3, 3))
    for term, place in ((0, 25), (2, 0), (1, 17), (0, 12)):
        rho = at.rho.copy()
        rho[term] = GRID[place]
        at, expected = at.shifted(term, place), point(problem, rho)
        np.testing.assert_array_equal(at.rho, expected.rho)
        np.testing.assert_allclose(at.value, expected.value, rtol=1e-10)
        for one, other in zip(at.derivatives(), expected.derivatives(), strict=True):
            np.testing.assert_allclose(one, other, atol=1e-8)
        for axis in range(3):
            np.testing.assert_allclose(at.along(axis), expected.along(axis), rtol=1e-9)


def test_a_search_ends_after_so_many_decompositions(monkeypatch):
    rng = np.random.default_rng(0)
    design, y = rng.standard_normal((80, 13)), rng.standard_normal((80, 1))
    eye, made = np.eye(13), []
    monkeypatch.setattr(multiple, "MANY_POINTS", 5)
    monkeypatch.setattr(multiple, "FEW_POINTS", 5)
    original = RemlPoint.__init__
    monkeypatch.setattr(RemlPoint, "__init__", lambda self, *args: (made.append(1), original(self, *args))[1])
    monkeypatch.setattr(multiple, "_step", lambda gradient, hessian: 1e-3 * gradient)  # uphill: no step is of use
    choice = choose_jointly(statistics_of_rows(design, y + 5 * design[:, 5:6]), (eye[1:5], eye[5:9], eye[9:13]), "reml")
    assert len(made) <= 5 + 2 * multiple.MOST_ROUNDS
    assert np.isfinite(choice.lams).all()


@kinds
def test_a_search_decomposes_at_no_more_points_than_it_may(kind, monkeypatch):
    """One fit took 40 s. The bound is set so low here that the search must end at it."""
    made = []
    decompose = points.Point.moved

    def counted(self, rho):
        made.append(self)
        return decompose(self, rho)

    design, roots, y = additive(60, 8, 5, seed=3, noise=3.0)
    statistics = statistics_of_rows(design, y)
    monkeypatch.setattr(points.Point, "moved", counted)
    free = choose_jointly(statistics, roots, kind)
    needed = len(made)
    assert free.converged
    for name in ("FEW_POINTS", "MANY_POINTS"):
        monkeypatch.setattr(multiple, name, 3)
    made.clear()
    choose_jointly(statistics, roots, kind)
    assert len(made) <= 4 < needed  # the scan that begins it, then three
