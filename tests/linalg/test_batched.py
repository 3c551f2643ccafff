"""Many small systems in one call: what one of them is says nothing about the others."""

import numpy as np

from onefit.linalg import batched


def systems(n=5, d=4):
    A = np.random.default_rng(0).normal(size=(n, d, 2 * d))
    return A @ A.swapaxes(1, 2)


def test_a_singular_system_leaves_the_bits_of_the_others():
    whole = systems()
    broken = whole.copy()
    broken[2] = 0.0
    found = batched.inverses(broken)
    assert np.isnan(found[2]).all()
    others = [0, 1, 3, 4]
    np.testing.assert_array_equal(found[others], batched.inverses(whole)[others])


def test_inverses_are_inverses():
    whole = systems()
    np.testing.assert_allclose(batched.inverses(whole) @ whole, np.broadcast_to(np.eye(4), whole.shape), atol=1e-10)
