"""REML and the unbiased risk at a known variance: against their definitions, and their derivatives and minima."""

import numpy as np
import pytest
from scipy import optimize

from onefit.criteria.multiple import choose_jointly, criterion, statistics_of_rows

KINDS = pytest.mark.parametrize("kind", ["known reml", "ubre"])


def problem(seed, n=60, n_outputs=1):
    """A constant and two ridge terms of four columns each."""
    rng = np.random.default_rng(seed)
    design = np.hstack([np.ones((n, 1)), rng.standard_normal((n, 8))])
    y = design @ rng.standard_normal((9, n_outputs)) + rng.standard_normal((n, n_outputs))
    return design, (np.eye(9)[1:5], np.eye(9)[5:]), y


def written_out(design, y, lams, kind):
    """The criterion from dense matrices: the likelihood of y with the unpenalized column integrated out."""
    n, Q = y.shape
    S = np.diag(np.repeat([0.0, *lams], [1, 4, 4]))
    both = design.T @ design + S
    b = np.linalg.solve(both, design.T @ y)
    rss = np.square(y - design @ b).sum()
    if kind == "ubre":
        return (rss + 2 * Q * np.trace(np.linalg.solve(both, design.T @ design))) / n - Q
    penalized = rss + np.trace(b.T @ S @ b)
    log_dets = np.linalg.slogdet(both)[1] - 4 * np.log(lams).sum()
    return penalized / 2 + Q * ((n - 1) / 2 * np.log(2 * np.pi) + log_dets / 2)


@KINDS
@pytest.mark.parametrize("n_outputs", [1, 2])
def test_values_and_derivatives_are_those_of_the_definition(kind, n_outputs):
    design, roots, y = problem(0, n_outputs=n_outputs)
    statistics, rho, h = statistics_of_rows(design, y), np.log([0.7, 20.0]), 1e-2
    value, gradient, hessian = criterion(statistics, roots, rho, kind)
    assert value == pytest.approx(written_out(design, y, np.exp(rho), kind), rel=1e-11)
    weights = np.array([1 / 12, -2 / 3, 2 / 3, -1 / 12]) / h
    for t, axis in enumerate(np.eye(2)):
        around = [criterion(statistics, roots, rho + m * h * axis, kind) for m in (-2, -1, 1, 2)]
        np.testing.assert_allclose(weights @ [each[0] for each in around], gradient[t], rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(weights @ [each[1] for each in around], hessian[t], rtol=1e-6, atol=1e-8)


@KINDS
@pytest.mark.parametrize("seed", range(4))
def test_the_minimum_is_that_of_another_optimizer(kind, seed):
    design, roots, y = problem(seed)
    choice = choose_jointly(statistics_of_rows(design, y), roots, kind)
    assert choice.converged
    found = written_out(design, y, choice.lams, kind)
    objective = lambda rho: written_out(design, y, np.exp(rho), kind)  # noqa: E731
    best = min(optimize.minimize(objective, start, method="Nelder-Mead").fun for start in ([0.0, 0.0], [3.0, -1.0]))
    assert found <= best + 1e-7


@KINDS
def test_pure_noise_is_smoothed_away(kind):
    """At a variance that is known to be one, values with a variance of a hundredth hold nothing but the constant."""
    design, roots, _ = problem(5)
    y = 0.1 * np.random.default_rng(0).standard_normal((60, 1))
    assert choose_jointly(statistics_of_rows(design, y), roots, kind).at_end == ("most", "most")
