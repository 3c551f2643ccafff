"""Statistics of folds from sparse products, against the rows of the basis."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from onefit.linalg import sparse as module
from onefit.linalg.columns import columns_of
from onefit.linalg.precondition import precondition, rotate
from onefit.linalg.reinsch import SHARP
from onefit.linalg.sparse import Density, SparseBasis, first_basis, sparse_reinsch

EPS = np.finfo(float).eps


def problem(n, p, density, seed=0):
    """Sparse rows with an intercept, roots of weights of which some are zero, and fold ids of which some are none."""
    rng = np.random.default_rng(seed)
    X = np.where(rng.random((n, p)) < density, rng.standard_normal((n, p)) + 1, 0.0)
    X[:, -1] = 1.0
    root = np.where(rng.random(n) < 0.1, 0.0, rng.uniform(0.5, 2.0, n))
    return sparse.csr_matrix(X), root, rng.integers(-1, 4, size=n)


def of_rows(basis, ids, root, values):
    """Gram matrices and products of the folds, from dense rows."""
    Z = basis.X.toarray() @ basis.T
    folds = [ids == fold for fold in range(4)]
    grams = np.stack([(root[f, None] * Z[f]).T @ (root[f, None] * Z[f]) for f in folds])
    return Z, grams, np.stack([Z[f].T @ values[f] for f in folds])


@pytest.mark.parametrize(
    ("n", "p", "density", "way"),
    [(4000, 8, 0.1, "products"), (3000, 30, 0.6, "products"), (60, 40, 0.1, "rows"), (1500, 300, 0.5, "rows")],
)
@pytest.mark.parametrize("is_weighted", [False, True], ids=["plain", "weighted"])
def test_statistics_of_folds_are_those_of_their_rows(n, p, density, way, is_weighted):
    X, root, ids = problem(n, p, density)
    root = root if is_weighted else np.ones(n)
    penalized = np.append(np.ones(p - 1), 0.0)
    first = first_basis(X, penalized, [2.0], np.square(root))
    basis = SparseBasis(X, first.T, first.is_sharp)
    costs = Density.of(X[ids == 0]).fold_gram(basis.width)
    assert first.is_sharp
    assert min(costs, key=costs.get) == way  # so both are seen
    values = np.random.default_rng(1).standard_normal((n, 3))
    Z, grams, products = of_rows(basis, ids, root, values)
    np.testing.assert_allclose(basis.fold_grams(ids, 4, root if is_weighted else None), grams, atol=1e-13)
    np.testing.assert_allclose(basis.fold_products(ids, 4, values), products, atol=1e-12 * np.abs(products).max())
    rows = np.array([[0, 5, n], [7, 2, n]])  # row n is padding
    coefficients = np.random.default_rng(2).standard_normal((2, p, 3))
    expected = np.vstack([Z, np.zeros(p)])[rows]
    np.testing.assert_allclose(basis.predict(rows, coefficients), expected @ coefficients, atol=1e-12)
    np.testing.assert_allclose(basis.take(rows), expected, atol=1e-13)


def test_every_way_to_a_gram_matrix_gives_the_same():
    for n, p, density in [(5000, 300, 0.005), (5000, 300, 0.05), (2000, 100, 0.9)]:  # sparse, mixed, dense
        X = sparse.random(n, p, density=density, random_state=0, format="csr")
        costs = Density.of(X).gram
        expected = X.toarray().T @ X.toarray()
        np.testing.assert_allclose(module._gram(X), expected, rtol=1e-12, atol=1e-13 * n)
        assert min(costs, key=costs.get) == {0.005: "sparse", 0.05: "mixed", 0.9: "dense"}[density]


@pytest.mark.parametrize("gap", [1e-2, 1e-4])
def test_columns_that_are_nearly_dependent_take_a_second_factor_and_the_rows(gap):
    X, _, ids = problem(4000, 6, 0.3)
    X = X.toarray()
    X[:, 1] = X[:, 0] + gap * X[:, 1]
    X = sparse.csr_matrix(X * 10.0 ** np.arange(-6, 6, 2))  # scales alone do no harm: the Gram matrix is scaled
    first = first_basis(X, np.ones(6), [0.0], None)
    assert first.is_sound
    assert not first.is_sharp
    basis = sparse_reinsch(X, np.zeros(6), [0.0], None).basis
    Z = basis.take(np.arange(4000))
    np.testing.assert_allclose(Z.T @ Z, np.eye(6), atol=10 * EPS / gap)  # the condition number, and not its square
    for each in (SparseBasis(X, basis.T if hasattr(basis, "T") else first.T), SparseBasis(X, first.T, is_sharp=True)):
        rows = each.take(np.arange(4000))
        expected = np.stack([rows[ids == fold].T @ rows[ids == fold] for fold in range(4)])
        np.testing.assert_allclose(each.fold_grams(ids, 4), expected, atol=10 * EPS / gap)


def test_a_gram_matrix_that_lost_digits_is_noticed_by_its_products_with_a_few_vectors():
    X, _, ids = problem(4000, 6, 0.3)
    X = X.toarray()
    X[:, 1] = X[:, 0] + 1e-4 * X[:, 1]
    part = sparse.csr_matrix(X)[ids == 0]
    T = first_basis(part, np.ones(6), [0.0], None).T
    lost, kept = T.T @ (module._gram(part) @ T), module._gram_of_rows(part, T)
    assert module.deviation(part, T, lost) > 10 * module.SHARP * np.sqrt(6)
    assert module.deviation(part, T, kept) < 0.01 * module.deviation(part, T, lost)


def test_badly_scaled_columns_stay_sharp():
    X, _, ids = problem(4000, 8, 0.3)
    scaled = sparse.csr_matrix(X.toarray() * 10.0 ** np.linspace(-6, 6, 8))
    assert first_basis(scaled, np.ones(8), [0.0], None).is_sharp
    plain, other = (SparseBasis(S, first_basis(S, np.ones(8), [0.0], None).T, True) for S in (X, scaled))
    np.testing.assert_allclose(plain.fold_grams(ids, 4), other.fold_grams(ids, 4), atol=1e-13)


def off_diagonal(X, T, found, lam):
    """How far data and penalty are from diagonal in the basis ``X T``, in extended precision."""
    Z, T, g = X.astype(np.longdouble) @ T, T.astype(np.longdouble), found.scale(lam)
    return np.abs((g * (Z.T @ Z + lam * T.T @ T)).T * g - np.eye(len(g))).max()


def test_far_above_the_middle_of_the_penalties_a_basis_loses_a_root_of_the_ratio_only(monkeypatch):
    lam, tau, bases = 0.1, 1e-5, []
    wide = np.random.default_rng(3).standard_normal((60, 100))
    monkeypatch.setattr(module, "_basis", lambda X, T, is_sharp: bases.append(T))
    found = sparse_reinsch(sparse.csr_matrix(wide), np.ones(100), [tau**2 / lam, lam], None)
    assert off_diagonal(wide, bases[0], found, lam) < 10 * EPS * np.sqrt(lam / tau)


@pytest.mark.parametrize("least", [-3, -4, -6, -10])
@pytest.mark.parametrize(("tau", "lam"), [(1e-6, 1e4), (1e-4, 1e4), (1e-5, 0.1), (1.0, 1e2), (1.0, 1e4)])
def test_so_does_one_of_columns_over_many_decades(least, tau, lam, monkeypatch):
    """They are told apart as often as it takes: once is not enough where the spectrum has no gap."""
    bound, bases = max(10 * EPS * np.sqrt(lam / tau), SHARP * np.sqrt(40)), []
    uneven = np.random.default_rng(3).standard_normal((400, 40)) * np.logspace(least, 2, 40)
    turned = rotate(uneven.T @ uneven, np.eye(40), tau, 0, lam)
    assert off_diagonal(uneven, turned.B, turned, lam) < bound
    coordinates = precondition(columns_of(uneven, None, False), np.ones((400, 1)), 1.0, tau, tau)
    Z = uneven @ coordinates.T
    turned = rotate(Z.T @ Z, coordinates.root_penalty, tau, 0, lam)
    assert off_diagonal(uneven, coordinates.T @ turned.B, turned, lam) < bound
    monkeypatch.setattr(module, "_basis", lambda X, T, is_sharp: bases.append(T))
    found = sparse_reinsch(sparse.csr_matrix(uneven), np.ones(40), [tau**2 / lam, lam], None)
    assert off_diagonal(uneven, bases[0], found, lam) < bound
