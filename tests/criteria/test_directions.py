"""Directions of columns that depend on each other: rounding errors along a free one are none (fuzz case 520015123)."""

import numpy as np
import pytest

from onefit.criteria import criterion_values, spectrum_of_rows
from onefit.linalg.columns import columns_of


def design(seed):
    """Columns in different units, constants and offsets among them, sums of others, and weights over eight decades."""
    rng = np.random.default_rng(seed)
    sizes = 10.0 ** rng.uniform(-6, 6, 20)
    X = rng.normal(size=(38, 20)) * sizes
    X[:, :4] = sizes[:4]
    X[:, 4:] += sizes[4:] * rng.uniform(0, 1, 16) * rng.integers(0, 2, 16)
    for _ in range(7):
        X = np.c_[X, X[:, rng.integers(X.shape[1])] + X[:, rng.integers(X.shape[1])]]
    return X, 10.0 ** rng.uniform(-9, -1, 38), rng.normal(size=(38, 1))


def left_out(X, w, y, lam):
    """The mean of ``w_i loo_i^2``, by a stacked QR of the other rows."""
    total = 0.0
    for row in range(len(X)):
        rest = np.arange(len(X)) != row
        centre = np.average(X[rest], axis=0, weights=w[rest])
        A = np.r_[np.sqrt(w[rest, None]) * (X[rest] - centre), np.sqrt(lam) * np.eye(X.shape[1])]
        mean = np.average(y[rest], axis=0, weights=w[rest])
        right = np.r_[np.sqrt(w[rest, None]) * (y[rest] - mean), np.zeros((X.shape[1], 1))]
        Q, R = np.linalg.qr(A)
        error = y[row] - mean - (X[row] - centre) @ np.linalg.solve(R, Q.T @ right)
        total += w[row] * float(error[0]) ** 2
    return total / len(X)


@pytest.mark.parametrize("seed", [5, 7, 13, 21, 28, 31, 42, 47, 51, 59])
def test_leave_one_out_of_columns_that_depend_on_each_other(seed):
    X, w, y = design(seed)
    columns = columns_of(X, None, True)
    columns = columns.moved(columns.middles()).weighted(np.sqrt(w))
    spectrum = spectrum_of_rows(columns, np.sqrt(w)[:, None] * y, smallest=1e-15).spectrum
    free = np.sqrt(w / w.sum())
    assert np.abs(free @ spectrum.rows.U[0]).max() < 1e-3
    lams = np.array([1e-3, 1.0])
    found = criterion_values(spectrum, lams[None], "loo")[0, :, 0]
    np.testing.assert_allclose(found, [left_out(X, w, y, lam) for lam in lams], rtol=1e-6)
