"""Proposition 2's quartic and the plan of routes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import onefit
from helpers import FAST_ROUTES, ROUTES
from onefit.errors import OneFitError
from onefit.linalg import compiled
from onefit.routes.costs import NANOSECONDS, Shape
from onefit.routes.plan import work


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
def test_choice_is_the_fast_route_of_fewer_seconds(n, p, data):
    n_folds = data.draw(st.integers(3, min(n, 500)))
    plan = onefit.plan(n, p, n_folds, n_repeats=data.draw(st.integers(1, 50)), n_values=data.draw(st.integers(1, 50)))
    assert set(plan.flops) >= set(ROUTES)
    assert all(np.isfinite(plan.flops[route]) and plan.flops[route] > 0 for route in ROUTES)
    assert set(plan.seconds) == set(FAST_ROUTES)
    assert all(np.isfinite(plan.seconds[route]) and plan.seconds[route] > 0 for route in FAST_ROUTES)
    assert plan.choice == min(FAST_ROUTES, key=plan.seconds.__getitem__)
    assert isinstance(plan.reason, str)
    assert plan.choice in plan.reason


@pytest.mark.parametrize(
    ("n", "p", "n_folds", "choice"),
    [(2000, 20, 10, "gram"), (500, 20, 10, "gram"), (500, 200, 50, "onestep"), (200, 300, 10, "onestep")],
)
def test_choice_at_the_measured_crossovers(n, p, n_folds, choice):
    assert onefit.plan(n, p, n_folds).choice == choice


@pytest.mark.parametrize("is_on", [True, False])
def test_choice_at_the_measured_crossovers_holds_with_the_kernel_and_without(is_on):
    with compiled.switched(is_on):
        assert onefit.plan(2000, 20, 10).choice == "gram"
        assert onefit.plan(500, 200, 50).choice == onefit.plan(200, 300, 10).choice == "onestep"


def test_flops_are_those_of_the_notes():
    n, p, K, L, V = 600, 7, 20, 3, 2
    m, systems, pairs = n // K, K * (K + 1) // 2, K * (K - 1) // 2
    flops = onefit.plan(n, p, K, L, V).flops
    assert flops["gram"] == pytest.approx(
        4 * n * p**2 + L * (2 * n * p**2 + V * (systems * p**3 / 3 + 2 * n * K * p)), rel=1e-14
    )
    assert flops["onestep"] == pytest.approx(V * (2 * n**2 * p + L * (pairs * 7 * m**3 + K * m**3) / 3), rel=1e-14)
    assert flops["refit"] == pytest.approx(L * V * systems * (n * p**2 + p**3 / 3), rel=1e-14)


@pytest.mark.parametrize(("n", "predictions"), [(100_000, 11), (1_000_000, 1)], ids=["pairs from rows", "single folds"])
def test_flops_over_blocks_of_rows_are_those_that_are_done(n, predictions):
    p, K, L, V = 21, 10, 3, 2
    each = 2 * n * p**2 + V * (K * (K + 1) // 2 * p**3 / 3 + 2 * n * predictions * p)
    assert onefit.plan(n, p, K, L, V).flops["gram"] == pytest.approx(2 * n * p**2 + L * each, rel=1e-14)


@pytest.mark.parametrize("is_on", [True, False])
def test_every_cost_is_of_a_term_of_the_work(is_on):
    with compiled.switched(is_on):
        shapes = (
            Shape(400, 30, 20, 2, 3, 20.0),
            Shape(4000, 300, 4, 2, 60, 1000.0),
            Shape(90_000, 30, 4, 2, 1, 22_500.0),
            Shape(400, 30, 20, 2, 3, 20.0, Q=5),
        )
        works = [work(shape) for shape in shapes]
    for route, costs in NANOSECONDS[is_on].items():
        assert set(costs) <= {term for each in works for term in each[route]}
        assert all(cost > 0 for cost in costs.values())


@pytest.mark.parametrize("is_on", [True, False])
@given(st.integers(10, 3000), st.integers(1, 500), st.integers(1, 60), st.integers(1, 9), st.data())
def test_seconds_grow_with_repeats_and_values(is_on, n, p, L, V, data):
    K = data.draw(st.integers(3, min(n, 400)))
    with compiled.switched(is_on):
        base, more = onefit.plan(n, p, K, L, V).seconds, onefit.plan(n, p, K, 2 * L, V + 1).seconds
    assert all(more[route] > base[route] for route in FAST_ROUTES)


def test_plan_as_text_marks_the_choice_and_shows_flops_and_seconds():
    plan = onefit.plan(500, 20, 10, n_repeats=5)
    marked = [line for line in str(plan).splitlines() if line.startswith(" ->")]
    assert len(marked) == 1
    assert f"{plan.flops['gram']:.3g} flops, about {plan.seconds['gram']:.2g} s" in marked[0]


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
