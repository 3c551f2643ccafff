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


def test_answers_whose_squares_overflow_are_doubtful_without_a_warning():
    """Penalties of 1e97 beside 1e-15 on one curve made such (fuzz case 410006359)."""
    answers = np.array([[1e200, 0.0], [1e-3, 1e-3]])
    np.testing.assert_array_equal(batched.suspects(answers), [True, False])
    np.testing.assert_array_equal(batched.suspects(answers, 1e-210), [False, False])
    found = batched.doubtful(np.array([np.inf, np.nan, 1.0]), 1e-200)
    np.testing.assert_array_equal(found, [True, True, False])
