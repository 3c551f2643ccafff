"""Lasso fits from Gram matrices satisfy the conditions of a minimum; the kernel and its NumPy twin find the same."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onefit.linalg import compiled, lasso

KERNELS = [
    pytest.param(on, id="kernel" if on else "numpy") for on in ((True, False) if compiled.is_there() else (False,))
]


def problem(seed, n, p, kind):
    """Columns of unlike lengths about their means, some spanned by others, and y."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) @ (np.eye(p) + 0.5 * rng.normal(size=(p, p)))
    if kind == "copies" and p > 1:
        X[:, 1] = -2.0 * X[:, 0]
    if kind == "spanned" and p > 3:
        X[:, 3] = X[:, 0] + X[:, 1] - X[:, 2]
    X *= 10.0 ** rng.uniform(-2, 2, p)
    y = X @ (rng.normal(size=p) * (rng.random(p) < 0.5) / np.abs(X).max(axis=0)) + rng.normal(size=n)
    return X - X.mean(axis=0), y - y.mean()


def gram(X, y):
    D = 1.0 / np.linalg.norm(X, axis=0)
    return (X.T @ X * D[:, None] * D)[None], (X.T @ y * D)[None, None], D[None]


def duality_gap(X, y, b, l1, l2):
    """Of ``|y - Xb|^2 / 2 + l1 |b| + l2 b'b / 2``, relative to the objective at zero."""
    rows = np.vstack([X, np.sqrt(l2) * np.eye(len(b))])
    r = np.append(y, np.zeros(len(b))) - rows @ b
    largest = np.abs(rows.T @ r).max()
    dual = r * min(1.0, l1 / largest)
    primal = r @ r / 2 + l1 * np.abs(b).sum()
    target = np.append(y, np.zeros(len(b)))
    return (primal - (target @ target - (target - dual) @ (target - dual)) / 2) / (y @ y / 2)


@given(
    st.integers(0, 10**6),
    st.integers(6, 40),
    st.integers(1, 25),
    st.sampled_from(["plain", "copies", "spanned"]),
    st.sampled_from([1.0, 0.5]),
    st.booleans(),
)
def test_a_path_has_no_duality_gap_and_the_twin_predicts_the_same(seed, n, p, kind, ratio, positive):
    X, y = problem(seed, n, p, kind)
    A, h, D = gram(X, y)
    strengths = np.abs(X.T @ y).max() / ratio * np.geomspace(1.0, 0.01, 8)[None]
    penalties = (ratio * strengths, (1 - ratio) * strengths)
    fitted = []
    for on in {compiled.is_there(), False}:
        with compiled.switched(on):
            beta, states = lasso.fit(A, h, D, penalties, positive)
        assert (states < lasso.FAILED).all()
        for b, l1, l2 in zip(beta[0, :, 0], penalties[0][0], penalties[1][0], strict=True):
            left = (X.T @ (y - X @ b) - l2 * b) * D[0]
            scale = np.abs(h).max()
            assert ((left if positive else np.abs(left)) <= l1 * D[0] + 1e-10 * scale).all()
            assert np.abs(left - np.sign(b) * l1 * D[0])[b != 0].max(initial=0.0) <= 1e-10 * scale
            assert not positive or (b >= 0).all()
            assert positive or abs(duality_gap(X, y, b, l1, l2)) < 1e-12
        fitted.append(X @ beta[0, :, 0].T)
    np.testing.assert_allclose(fitted[0], fitted[-1], atol=1e-10 * np.abs(y).max())


@pytest.mark.parametrize("on", KERNELS)
def test_columns_that_copy_each_other_are_doubtful_and_others_sure(on):
    X, _ = problem(3, 30, 5, "plain")
    X[:, 1] = -X[:, 0]  # the longer of two would be the only one
    y = X[:, 0]
    A, h, D = gram(X, y)
    penalties = (np.full((1, 1), 0.1 * np.abs(X.T @ y).max()), np.zeros((1, 1)))
    with compiled.switched(on):
        assert lasso.fit(A, h, D, penalties, False)[1] == lasso.DOUBTFUL
        held = (penalties[0], np.full((1, 1), np.square(1 / D).max()))
        assert lasso.fit(A, h, D, held, False)[1] == lasso.SURE


@pytest.mark.parametrize("on", KERNELS)
def test_a_column_without_length_takes_no_part(on):
    X, y = problem(4, 30, 4, "plain")
    A, h, D = gram(X, y)
    without = lasso.fit(A[:, 1:, 1:].copy(), h[..., 1:].copy(), D[:, 1:].copy(), (np.ones((1, 1)),) * 2, False)[0]
    A[:, 0], A[:, :, 0], h[..., 0], D[:, 0] = 0.0, 0.0, 0.0, 0.0
    A[:, 0, 0] = 1.0
    with compiled.switched(on):
        beta = lasso.fit(A, h, D, (np.ones((1, 1)),) * 2, False)[0]
    assert beta[0, 0, 0, 0] == 0
    np.testing.assert_allclose(beta[0, 0, 0, 1:], without[0, 0, 0], rtol=1e-10)
