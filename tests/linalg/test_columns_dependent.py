"""Ridge regressions on columns that depend on each other, in units far apart, against fractions."""

from fractions import Fraction

import numpy as np
import pytest

from fractional import solved
from onefit.linalg.columns import norms
from onefit.linalg.stacked import _ridge


def exact_ridge(E, y, lam):
    """``E'(EE' + lam I)^-1 y`` in fractions."""
    E, y = np.vectorize(Fraction)(E), np.vectorize(Fraction)(y)
    system = np.c_[E @ E.T, y]
    system[np.diag_indices(len(y))] += Fraction(lam)
    return (E.T @ solved(system)).astype(float)


@pytest.mark.parametrize("seed", range(40))
def test_a_column_that_larger_ones_make_up_has_the_coefficient_of_an_exact_fit(seed):
    """It was a product of numbers that nearly cancel: half of itself off where a third column is far smaller."""
    rng = np.random.default_rng(seed)
    rank, n, r = (int(rng.integers(1, 4)), *rng.integers(3, 6, size=2))
    E = (rng.integers(-3, 4, (n, rank)) @ rng.integers(-3, 4, (rank, r))) * 2.0 ** rng.integers(-20, 130, size=r)
    y, lam, size = rng.normal(size=n), float(2.0 ** rng.integers(-60, 10)), norms(E)
    share = size * exact_ridge(E, y, lam)  # of the predictions at these rows
    found = size * _ridge(E, y[:, None], lam)[:, 0]
    np.testing.assert_allclose(found, share, rtol=0, atol=1e-12 * np.abs(share).max())
