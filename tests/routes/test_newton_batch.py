"""Training sets that are iterated together: what is called converged has no gradient, wherever it began."""

import numpy as np
import pytest

from onefit.learners.glm_families import Poisson
from onefit.linalg import compiled
from onefit.routes.newtonbatch import NewtonBatch, NewtonSets, Rows
from onefit.routes.newtonhessians import NOISE, Hessians, change_by


def wild_starts(n_starts):
    """A small Poisson regression that begins far away, where the Hessian of its fit overshoots; and its gradient."""
    rng = np.random.default_rng(0)
    B = rng.normal(size=(16, 6))
    y = rng.poisson(0.7, size=(1, 16)).astype(float)
    penalty = np.full((n_starts, 6), 0.1)
    start = rng.normal(size=(n_starts, 1, 6)) * rng.uniform(0.1, 8.0, size=(n_starts, 1, 1))
    H = B.T @ B
    sets = NewtonSets(
        np.ones((1, n_starts)), None, penalty, Hessians(np.repeat(H[None], n_starts, axis=0)), np.full(n_starts, 16.0)
    )
    batch = NewtonBatch(Rows(B, y, None, Poisson()), np.zeros(16, dtype=np.int64), sets)

    def gradient(theta):
        return B.T @ (y[0] - np.exp(B @ theta)) - 0.1 * theta

    return batch, start, gradient


@pytest.mark.parametrize("kernel", [True, False], ids=["kernel", "numpy"])
def test_nothing_has_converged_that_has_a_gradient(kernel):
    """Steps that earlier ones have led uphill were taken for steps of length zero; what overflows leaves in silence."""
    batch, start, gradient = wild_starts(4000)
    with compiled.switched(kernel):
        solution = batch.solve(start)
        left = np.array([np.abs(gradient(theta[0])).max() for theta in solution.theta[solution.is_converged]])
    assert solution.is_converged.sum() > 100
    assert left.max() < 1e-10


def test_a_step_uphill_has_no_length_and_one_that_cancels_that_of_its_rounding_errors():
    """What iterations on tables go by, too."""
    step = np.array([[2.0, 0.0], [-2.0, 0.0], [1e40, -1e40], [0.0, 0.0]])
    descent = np.array([[2.0, 1.0], [2.0, 1.0], [1e40, 1e40], [0.0, 0.0]])
    expected = [2.0, np.nan, np.sqrt(2 * NOISE) * 1e40, 0.0]
    np.testing.assert_allclose(change_by(step, descent, np.ones(4)), expected, rtol=1e-12)
