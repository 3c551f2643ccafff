"""Refinement in extended precision, from starts that are off, against fractions."""

from fractions import Fraction

import numpy as np
import pytest

from fractional import solved
from onefit.linalg.columns import EPS, Penalty, columns_of
from onefit.linalg.refined import ExactRows, refine

pytestmark = pytest.mark.skipif(
    np.finfo(np.longdouble).eps == np.finfo(np.float64).eps, reason="long double is double here"
)


def exact_coefficients(X, y, w, alpha):
    """Weighted ridge regression without an intercept, as fractions: X'(XX' + alpha / w)^-1 y."""
    X, y = np.vectorize(Fraction)(X), np.vectorize(Fraction)(y)
    system = np.c_[X @ X.T, y]
    n = len(y)
    system[range(n), range(n)] += [Fraction(alpha) / Fraction(each) for each in w]
    return X.T @ solved(system)


@pytest.mark.parametrize("seed", range(8))
def test_a_refinement_that_ends_above_the_last_bit_of_double_precision_counts(seed):
    """Its steps shrink from 1e-6 of the fit to 1e-14, no further; the start was taken instead, 1e-6 off.

    They end at the digits of extended precision times the square of the condition. So the start is at least as far off
    as those of double precision: one that is nearer may be as good as the end.
    """
    rng = np.random.default_rng(seed)
    n, p = 8, 12
    X, y = rng.normal(size=(n, p)) * 10.0 ** rng.uniform(-6, 6, size=p), rng.normal(size=n)
    X[:, -3:] = X[:, :3] * 10.0 ** rng.uniform(-4, 4, size=3)
    w = 10.0 ** rng.uniform(-10, 0, size=n)
    root, penalty = np.sqrt(w), Penalty(None, np.zeros((p, 0)))
    exact = exact_coefficients(X, y, w, 1e-4).astype(float)[:, None]
    columns = columns_of(X, penalty, False).weighted(root)
    stacked = np.vstack([root[:, None] * X, 1e-2 * np.eye(p)])
    condition = np.linalg.cond(stacked / np.linalg.norm(stacked, axis=0))
    off = max(1e-6, EPS * condition**2)
    start = exact * (1 + off * rng.normal(size=exact.shape))
    found, is_better = refine(ExactRows.of(X, None, penalty, None), root, columns, y[:, None], 1e-4, start)
    found = found.astype(float)
    assert is_better
    assert np.abs(X @ (found - exact)).max() <= 1e-2 * np.abs(X @ (start - exact)).max()  # as far as the worst can go


@pytest.mark.parametrize("seed", range(4))
def test_a_penalty_that_is_tiny_costs_no_digits(seed):
    """Residuals that were known to double precision moved the first step by 1e-4 of the fit; the start was taken."""
    rng = np.random.default_rng(seed)
    n, p, alpha = 7, 12, 2.0**-88
    X, y, penalty = rng.normal(size=(n, p)), rng.normal(size=n), Penalty(None, np.zeros((p, 0)))
    exact = exact_coefficients(X, y, np.ones(n), alpha)
    start = exact.astype(float)[:, None]
    rows = ExactRows.of(X, None, penalty, None)
    found = refine(rows, np.ones(n), columns_of(X, penalty, False), y[:, None], alpha, start)[0][:, 0]
    above = found.astype(float)
    off = np.array([Fraction(each) for each in above]) + [Fraction(float(each)) for each in found - above] - exact
    assert np.abs(off.astype(float)).max() <= 1e-2 * EPS * np.abs(start).max()  # the start is half a last bit off


def test_a_column_that_is_zero_in_these_rows_keeps_a_coefficient_of_zero():
    """Other rows may see it, however large: steps left 1e-36 there, where other rows had 1e44."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6, 4)) * [1e43, 1e50, 1e46, 0.0]
    y, penalty = rng.normal(size=(6, 1)), Penalty(None, np.zeros((4, 0)))
    columns = columns_of(X, penalty, False)
    start = np.vstack([np.linalg.lstsq(X[:, :3] / [1e43, 1e50, 1e46], y)[0] / [[1e43], [1e50], [1e46]], [[0.0]]])
    found, _ = refine(ExactRows.of(X, None, penalty, None), np.ones(6), columns, y, 1.8, start)
    assert found[3, 0] == 0.0
    np.testing.assert_allclose((X @ found).astype(float), X @ start, rtol=1e-12, atol=1e-12)
