"""Columns in proportion to each other are one column, of any size that numbers have."""

import numpy as np
import pytest

from onefit.linalg.rowspace import joined


@pytest.mark.parametrize("scale", [1e-300, 1e-200, 1.0, 1e200, 1e300])
def test_joined_columns_make_up_the_design_whatever_their_sizes(scale):
    """Squares of sizes left nothing of small columns, and were infinite for large ones."""
    E = np.random.default_rng(0).normal(size=(10, 4))
    E[:, 2] = -1e-8 * E[:, 1]
    E[:, 3] *= scale
    one = joined(E)
    spread = one.spread(np.eye(len(one.size)))
    assert one.design.shape == (10, 3)
    np.testing.assert_allclose(one.design @ spread.T, E, rtol=1e-12)
    np.testing.assert_allclose(spread.T @ spread, np.eye(3), atol=1e-14)
