"""Sums over rows: the same bits whatever repeats are computed together."""

import numpy as np
import pytest

from onefit.inference.chain import Chain
from onefit.inference.fold_errors import RowRoles, spread_of_losses
from onefit.inference.heldout import HeldOut


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    ("n", "n_values", "n_outputs"),
    [(50, 1, 1), (300, 9, 1), (4000, 1, 1), (8000, 1, 1), (9000, 1, 1), (9000, 2, 3), (30_000, 1, 3), (100_000, 1, 1)],
)
def test_repeats_have_the_bits_that_they_have_alone(n, n_values, n_outputs, weighted):
    """Beyond 8,192 numbers the order of a sum by einsum hangs on whether other repeats stand beside it."""
    rng = np.random.default_rng(n)
    losses = np.square(rng.standard_normal((4, n, n_values, n_outputs)))
    rows = RowRoles(rng.random(n) + 0.5 if weighted else None, None)
    chain = Chain(np.maximum(np.arange(n_values) - 1, 0))
    together = spread_of_losses(losses, rows, chain)
    alone = [spread_of_losses(losses[at : at + 1].copy(), rows, chain) for at in range(4)]
    for name, table in together.items():
        np.testing.assert_array_equal(table, np.concatenate([each[name] for each in alone]), err_msg=name)
    means = [HeldOut(each, each).cv_means(rows) for each in (losses, *(losses[at : at + 1].copy() for at in range(4)))]
    np.testing.assert_array_equal(means[0], np.concatenate(means[1:]))
