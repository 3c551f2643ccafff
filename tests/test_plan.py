"""Proposition 2's quartic and the plan of routes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import onefit
from helpers import FAST_ROUTES, ROUTES
from onefit.errors import OneFitError


def quartic(n, p):
    """Proposition 2: one-step costs less than refitting where this is positive."""
    return np.polynomial.Polynomial(
        [
            6 * n**3,
            -8 * n**3 + 12 * p * n**2 + 30 * n**2,
            -24 * p * n**2 - 60 * n**2,
            -18 * p**2 * n + p**3 + 15 * p**2 + 6 * n + 6 * p * n,
            6 * p**2 * n + p**3 + 15 * p**2 + 6 * p * n,
        ]
    )


@given(st.integers(10, 5000), st.integers(1, 300))
def test_breakeven_is_a_sign_change_of_the_quartic_and_the_first(n, p):
    f = quartic(float(n), float(p))
    root = onefit.breakeven_folds(n, p)
    grid = np.linspace(2, n, 20_001)
    if root is None:
        assert (f(grid) > 0).all()
        return
    if root == np.inf:  # one-step never wins
        assert (f(grid) < 0).all()
        return
    assert 2 <= root <= n
    size = np.polynomial.Polynomial(np.abs(f.coef))(root)
    assert abs(f(root)) <= 1e-9 * size
    before = f(grid[grid < root * (1 - 1e-6)])
    assert (np.sign(before) == np.sign(f(2.0))).all()


@pytest.mark.parametrize("n", [1000, 2000, 4000])
@pytest.mark.parametrize("p", [10, 20, 50])
def test_one_step_needs_fewer_operations_above_the_breakeven_of_the_papers_figure(n, p):
    root = onefit.breakeven_folds(n, p)
    f = quartic(float(n), float(p))
    assert 2 < root < n
    assert f(root * 0.99) < 0 < f(root * 1.01)
    assert f(float(n)) > 0


def test_no_breakeven_when_one_step_always_wins():
    always = [(n, p) for n in (20, 50, 100) for p in (1, 50, 400) if (quartic(n, p)(np.linspace(2, n, 4001)) > 0).all()]
    assert always
    for n, p in always:
        assert onefit.breakeven_folds(n, p) is None


@given(st.integers(20, 5000), st.integers(1, 3000), st.data())
def test_choice_is_the_cheaper_fast_route(n, p, data):
    n_folds = data.draw(st.integers(3, min(n, 500)))
    plan = onefit.plan(n, p, n_folds, n_repeats=data.draw(st.integers(1, 50)), n_values=data.draw(st.integers(1, 50)))
    assert set(plan.flops) >= set(ROUTES)
    assert all(np.isfinite(plan.flops[route]) and plan.flops[route] > 0 for route in ROUTES)
    assert plan.choice == min(FAST_ROUTES, key=plan.flops.__getitem__)
    assert isinstance(plan.reason, str)
    assert plan.choice in plan.reason


@pytest.mark.parametrize(
    ("n", "p", "n_folds", "choice"),
    [(2000, 20, 10, "gram"), (500, 20, 10, "gram"), (500, 200, 50, "onestep"), (200, 300, 10, "onestep")],
)
def test_choice_at_the_measured_crossovers(n, p, n_folds, choice):
    assert onefit.plan(n, p, n_folds).choice == choice


def test_flops_grow_with_repeats_and_values():
    base = onefit.plan(400, 10, 10).flops
    for more in (onefit.plan(400, 10, 10, n_repeats=7).flops, onefit.plan(400, 10, 10, n_values=7).flops):
        assert all(more[route] > base[route] for route in ROUTES)
        assert more["refit"] == pytest.approx(7 * base["refit"])


@pytest.mark.parametrize("arguments", [(0, 3, 5), (20, 0, 5), (20, 3, 2), (20, 3, 21), (20, 3, 5, 0), (20, 3, 5, 1, 0)])
def test_impossible_sizes_are_refused(arguments):
    with pytest.raises(OneFitError):
        onefit.plan(*arguments)


@pytest.mark.parametrize(("n", "p"), [(0, 1), (10, 0), (-5, 3)])
def test_breakeven_of_impossible_sizes_is_refused(n, p):
    with pytest.raises(OneFitError):
        onefit.breakeven_folds(n, p)
