"""Ridge regressions in whole numbers, against fractions."""

from fractions import Fraction

import numpy as np
import pytest

from onefit.linalg.exactridge import predict_exactly


def by_fractions(X, y, w, lam, new):
    """Weighted ridge regression with an intercept by elimination of its normal equations, unpenalized in the last."""
    A = np.vectorize(Fraction)(np.c_[X, np.ones(len(X))])
    W = np.vectorize(Fraction)(w)
    p = A.shape[1]
    system = np.c_[A.T @ (W[:, None] * A), A.T @ (W * np.vectorize(Fraction)(y))]
    system[range(p - 1), range(p - 1)] += Fraction(lam)
    for at in range(p):  # positive definite: no pivots
        system[at] = system[at] / system[at, at]
        others = np.arange(p) != at
        system[others] -= np.multiply.outer(system[others, at], system[at])
    return (np.vectorize(Fraction)(np.c_[new, np.ones(len(new))]) @ system[:, -1]).astype(float)


@pytest.mark.parametrize(("n", "p"), [(5, 9), (7, 3), (1, 2)])
@pytest.mark.parametrize("lam", [1e-25, 4.7e-7, 3e9])
def test_predictions_are_those_of_fractions_to_the_last_bit(n, p, lam):
    rng = np.random.default_rng(n)
    X = rng.normal(size=(n + 3, p)) * 10.0 ** rng.uniform(-12, 20, p)
    X[:, 0] = 3 * X[:, -1]
    y, w = rng.normal(size=(n, 2)), 10.0 ** rng.uniform(-10, 3, n)
    found = predict_exactly(X[:n], y, w, lam, True, X[n:])
    for output in range(2):
        np.testing.assert_array_equal(found[:, output], by_fractions(X[:n], y[:, output], w, lam, X[n:]))


def test_without_an_intercept_a_shift_of_y_is_seen():
    X, w = np.array([[2.0], [1.0]]), np.array([1.0, 0.5])
    found = predict_exactly(X, np.array([[1.0], [4.0]]), w, 0.25, False, np.array([[3.0], [0.0]]))
    np.testing.assert_array_equal(found[:, 0], [3 * (2 + 2) / (4 + 0.5 + 0.25), 0.0])
