"""Ridge regressions in as many digits as it takes, against fractions."""

from fractions import Fraction

import numpy as np
import pytest

from fractional import solved
from onefit.linalg.columns import Penalty
from onefit.linalg.exactridge import predict_exactly


def plain(p):
    return Penalty(None, np.zeros((p, 0)))


def by_fractions(X, y, w, lam, new):
    """Weighted ridge regression with an intercept by elimination of its normal equations, unpenalized in the last."""
    A = np.vectorize(Fraction)(np.c_[X, np.ones(len(X))])
    W = np.vectorize(Fraction)(w)
    p = A.shape[1]
    system = np.c_[A.T @ (W[:, None] * A), A.T @ (W * np.vectorize(Fraction)(y))]
    system[range(p - 1), range(p - 1)] += Fraction(lam)
    return (np.vectorize(Fraction)(np.c_[new, np.ones(len(new))]) @ solved(system)).astype(float)


@pytest.mark.parametrize(("n", "p"), [(5, 9), (7, 3), (1, 2)])
@pytest.mark.parametrize("lam", [1e-25, 4.7e-7, 3e9])
def test_predictions_are_those_of_fractions_to_the_last_bit(n, p, lam):
    rng = np.random.default_rng(n)
    X = rng.normal(size=(n + 3, p)) * 10.0 ** rng.uniform(-12, 20, p)
    X[:, 0] = 3 * X[:, -1]
    y, w = rng.normal(size=(n, 2)), 10.0 ** rng.uniform(-10, 3, n)
    found = predict_exactly(X[:n], plain(p), y, w, lam, True, X[n:])
    for output in range(2):
        np.testing.assert_array_equal(found[:, output], by_fractions(X[:n], y[:, output], w, lam, X[n:]))


def test_without_an_intercept_a_shift_of_y_is_seen():
    X, w = np.array([[2.0], [1.0]]), np.array([1.0, 0.5])
    found = predict_exactly(X, plain(1), np.array([[1.0], [4.0]]), w, 0.25, False, np.array([[3.0], [0.0]]))
    np.testing.assert_array_equal(found[:, 0], [3 * (2 + 2) / (4 + 0.5 + 0.25), 0.0])


def test_columns_that_are_mixed_and_free_ones_are_those_of_the_maps():
    """As columns of their own, with a penalty so small that the free ones have none beside it."""
    rng = np.random.default_rng(3)
    X, y, w = rng.normal(size=(9, 4)), rng.normal(size=(6, 1)), rng.random(6) + 0.1
    maps = Penalty(rng.normal(size=(4, 3)), rng.normal(size=(4, 1)))
    found = predict_exactly(X[:6], maps, y, w, 0.3, True, X[6:])
    A = np.c_[X @ maps.penalized, X @ maps.free, np.ones(9)]
    gram = A[:6].T @ (w[:, None] * A[:6]) + np.diag([0.3, 0.3, 0.3, 0.0, 0.0])
    expected = A[6:] @ np.linalg.solve(gram, A[:6].T @ (w[:, None] * y))
    np.testing.assert_allclose(found, expected, rtol=1e-10)


def test_what_is_beyond_the_largest_double_is_infinite():
    X, new = np.array([[1e-200], [2e-200]]), np.array([[1e300], [-1e300]])
    found = predict_exactly(X, plain(1), np.array([[1.0], [2.0]]), np.ones(2), 1e-300, False, new)
    assert found[:, 0].tolist() == [np.inf, -np.inf]


def test_columns_over_sixty_decades_take_more_digits():
    """A hundred of them lose the small column, and three hundred keep it."""
    X, y = np.array([[1e30, 0.0], [1e30, 1e-30], [0.0, 3e-30]]), np.array([[1.0], [2.0], [0.0]])
    new, lam = np.array([[1e30, 0.0], [0.0, 1e-30]]), 1e-61
    found = predict_exactly(X, plain(2), y, np.ones(3), lam, False, new)
    np.testing.assert_array_equal(found[:, 0], by_fractions_through_zero(X, y[:, 0], lam, new))


def by_fractions_through_zero(X, y, lam, new):
    A, p = np.vectorize(Fraction)(X), X.shape[1]
    system = np.c_[A.T @ A + np.diag([Fraction(lam)] * p), A.T @ np.vectorize(Fraction)(y)]
    return (np.vectorize(Fraction)(new) @ solved(system)).astype(float)


def test_a_prediction_of_zero_is_found_to_be_zero():
    """Of rows that cancel: no digit of it is the same with more digits."""
    X = np.array([[1.0, 1 / 3], [1.0, -1 / 3], [0.1, 0.7]])
    found = predict_exactly(X[:2], plain(2), np.array([[1.0], [1.0]]), np.ones(2), 1e-9, False, np.array([[0.0, 0.7]]))
    assert abs(found[0, 0]) < 1e-30


@pytest.mark.parametrize("column", [1.0, 0.1])
def test_free_columns_that_depend_on_each_other_are_refused(column):
    """A constant beside the intercept, at values that no decimal number of few digits is."""
    rng = np.random.default_rng(0)
    maps = Penalty(np.array([[1.0], [0.0]]), np.array([[0.0], [1.0]]))
    X = np.c_[rng.normal(size=5), np.full(5, column)]
    with pytest.raises(ZeroDivisionError):
        predict_exactly(X, maps, rng.normal(size=(5, 1)), rng.random(5), 0.3, True, X)
