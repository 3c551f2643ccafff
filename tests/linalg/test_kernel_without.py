"""Products of training sets about their means are those of their rows; the kernel and its NumPy twin find the same."""

import numpy as np
import pytest

from onefit.linalg import compiled
from onefit.routes.products import Products

KERNELS = [
    pytest.param(on, id="kernel" if on else "numpy") for on in ((True, False) if compiled.is_there() else (False,))
]
INSTRUCTIONS = ("baseline", "AVX2", "AVX-512")


def of(B, y):
    return Products(B.T @ B, B.T @ y)


@pytest.mark.parametrize("on", KERNELS)
@pytest.mark.parametrize("most", INSTRUCTIONS)
@pytest.mark.parametrize("n_columns", [0, 1, 3, 8, 17])
@pytest.mark.parametrize("n_out", [1, 2, 3])
def test_moments_without_some_folds_are_those_of_the_other_rows(on, most, n_columns, n_out):
    rng = np.random.default_rng(7 * n_columns + n_out)
    B = np.hstack([rng.normal(size=(60, n_columns)) + 3.0, np.ones((60, 1))])
    y, ids = rng.normal(size=(60, 2)), np.arange(60) % 5
    folds = [of(B[ids == j], y[ids == j]) for j in range(5)]
    by_folds = Products(np.stack([each.gram for each in folds]), np.stack([each.right for each in folds]))
    out = np.array([np.roll(np.arange(5), k)[:n_out] for k in range(5)])
    compiled.use(most)
    try:
        with compiled.switched(on):
            moments, right, y_mean = of(B, y).moments_without(by_folds, out)
    finally:
        compiled.use(compiled.SETTING)
    for at, gone in enumerate(out):
        rows = ~np.isin(ids, gone)
        Z, target = B[rows, :-1], y[rows]
        about = Z - Z.mean(axis=0)
        assert moments.n[at] == rows.sum()
        assert np.allclose(moments.mean[at], Z.mean(axis=0), rtol=1e-12)
        assert np.allclose(moments.products[at], about.T @ about, atol=1e-10)
        assert np.allclose(right[at], about.T @ target, atol=1e-10)
        assert np.allclose(y_mean[at], target.mean(axis=0), rtol=1e-11)


@pytest.mark.skipif(not compiled.is_there(), reason="there are no compiled kernels")
@pytest.mark.parametrize("most", INSTRUCTIONS)
@pytest.mark.parametrize("q", [0, 1, 5, 16, 19])
def test_rows_and_columns_are_scaled(most, q):
    rng = np.random.default_rng(q)
    products, by = rng.normal(size=(3, q, q)), rng.normal(size=(3, q))
    compiled.use(most)
    try:
        found = compiled.scale(products, by)
    finally:
        compiled.use(compiled.SETTING)
    assert np.allclose(found, products * by[:, :, None] * by[:, None], rtol=1e-15)
