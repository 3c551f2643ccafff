"""The numbered formulas of docs/theory: against refits, symbolic algebra, or all data sets of a small population."""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import linalg, special, stats
from sklearn.linear_model import Ridge

import onefit
from helpers import (
    data,
    optional,
    quiet_nested_cv,
    quietly,
)
from onefit.criteria import criterion_values, spectrum_of_rows
from onefit.inference.foldcovariance import covariance_terms
from onefit.inference.intervals import Context, covariance, covariance_centre
from onefit.inference.montecarlo import is_precise
from onefit.linalg.columns import Penalty, columns_of
from onefit.linalg.dual import dual_of
from onefit.linalg.reinsch import demmler_reinsch
from reference import quartic

sympy = optional("sympy")

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs" / "theory").glob("*.md"))
CLOSE = {"rtol": 1e-10, "atol": 1e-11}


# ------------------------------------------------------------------------------------ the pages themselves


def test_every_numbered_formula_has_a_test_and_every_pointer_leads_to_one():
    own = {name.split("_")[1].upper() for name in globals() if re.match(r"test_[a-z]\d+_", name)}
    text = "\n".join(page.read_text() for page in PAGES)
    labels = re.findall(r"\*\*\(([DISN]\d+)\)\*\*", text)
    assert len(labels) == len(set(labels)), "a number is used twice"
    pointers = re.findall(r"`tests/(\w+\.py)::(\w+)`", text)
    for file, name in pointers:
        assert f"def {name}(" in (ROOT / "tests" / file).read_text(), (file, name)
    elsewhere = {"I1", "I14", "N1", "N2", "N3", "N4", "N5", "N6", "N7"}  # the pages point to other files
    assert set(labels) == own | elsewhere


# ---------------------------------------------------------------------------------------------- downdating


class Fit:
    """A weighted fit with an intercept column and a penalty that leaves it free, and one of its training sets."""

    def __init__(self, n=17, p=4, lam=0.7, out=(2, 3, 9, 11, 16), seed=0):
        rng = np.random.default_rng(seed)
        X, self.y = data(n, p, seed)
        self.X = np.hstack([np.ones((n, 1)), X])
        self.w = rng.uniform(0.5, 2.0, n)
        root = rng.standard_normal((p, p))
        self.S0 = linalg.block_diag(0.0, root.T @ root)
        self.lam, self.S = lam, lam * self.S0
        self.J = np.array(out)
        self.T = np.setdiff1d(np.arange(n), self.J)
        self.root = np.sqrt(self.w)
        self.Xw, self.yw = self.root[:, None] * self.X, self.root * self.y
        self.A = np.eye(n) - self.Xw @ np.linalg.solve(self.Xw.T @ self.Xw + self.S, self.Xw.T)
        self.r = self.A @ self.yw
        self.uw = np.linalg.solve(self.A[np.ix_(self.J, self.J)], self.r[self.J])

    def refit(self, rows):
        """Coefficients of a stacked least squares fit to some rows."""
        factor = linalg.cholesky(self.S[1:, 1:])
        stacked = np.vstack([self.Xw[rows], np.hstack([np.zeros((len(factor), 1)), factor])])
        return np.linalg.lstsq(stacked, np.append(self.yw[rows], np.zeros(len(factor))), rcond=None)[0]

    def block(self, rows, columns):
        return self.A[np.ix_(rows, columns)]


@pytest.fixture
def fit():
    return Fit()


def test_d1_residual_operator_gives_the_residuals_of_a_fit(fit):
    everyone = np.arange(len(fit.y))
    np.testing.assert_allclose(fit.r, fit.yw - fit.Xw @ fit.refit(everyone), **CLOSE)
    eigenvalues = np.linalg.eigvalsh(fit.A)
    assert eigenvalues.min() > -1e-12
    assert eigenvalues.max() < 1 + 1e-12


def test_d1_centring_once_on_all_rows_is_another_answer_than_the_intercept_column(fit):
    X, y, out, keep = fit.X[:, 1:], fit.y, fit.J, fit.T
    Xc, yc, S = X - X.mean(axis=0), y - y.mean(), fit.S[1:, 1:]
    centred = yc[out] - Xc[out] @ np.linalg.solve(Xc[keep].T @ Xc[keep] + S, Xc[keep].T @ yc[keep])
    column = y[out] - fit.X[out] @ np.linalg.solve(fit.X[keep].T @ fit.X[keep] + fit.S, fit.X[keep].T @ y[keep])
    assert np.abs(centred - column).max() > 1e-3


def test_d2_held_out_residuals(fit):
    u = fit.y[fit.J] - fit.X[fit.J] @ fit.refit(fit.T)
    np.testing.assert_allclose(fit.uw / fit.root[fit.J], u, **CLOSE)


def test_d3_residuals_of_the_training_set(fit):
    expected = fit.yw[fit.T] - fit.Xw[fit.T] @ fit.refit(fit.T)
    np.testing.assert_allclose(fit.r[fit.T] - fit.block(fit.T, fit.J) @ fit.uw, expected, **CLOSE)


def training_operator(fit, rows):
    Xw = fit.Xw[rows]
    return np.eye(len(rows)) - Xw @ np.linalg.solve(Xw.T @ Xw + fit.S, Xw.T)


def test_d4_schur_complement(fit):
    T, J = fit.T, fit.J
    schur = fit.block(T, T) - fit.block(T, J) @ np.linalg.solve(fit.block(J, J), fit.block(J, T))
    np.testing.assert_allclose(schur, training_operator(fit, T), **CLOSE)


def test_d4_singular_when_a_column_lives_in_the_held_out_rows():
    fit = Fit()
    dummy = np.zeros(len(fit.y))
    dummy[fit.J[:2]] = 1.0
    X = np.hstack([fit.X, dummy[:, None]])
    A = np.eye(len(X)) - X @ np.linalg.solve(X.T @ X + linalg.block_diag(fit.S, 0.0), X.T)
    assert np.linalg.eigvalsh(A[np.ix_(fit.J, fit.J)])[0] < 1e-12


def test_d5_woodbury_form_of_the_inverse(fit):
    XJ, XT = fit.Xw[fit.J], fit.Xw[fit.T]
    expected = np.eye(len(fit.J)) + XJ @ np.linalg.solve(XT.T @ XT + fit.S, XJ.T)
    np.testing.assert_allclose(np.linalg.inv(fit.block(fit.J, fit.J)), expected, **CLOSE)


def deleted_rss(fit):
    A2 = fit.A @ fit.A
    return fit.r @ fit.r - 2 * fit.uw @ (fit.A @ fit.r)[fit.J] + fit.uw @ A2[np.ix_(fit.J, fit.J)] @ fit.uw


def deleted_trace(fit):
    A2 = fit.A @ fit.A
    return np.trace(fit.A) - np.trace(np.linalg.solve(fit.block(fit.J, fit.J), A2[np.ix_(fit.J, fit.J)]))


def test_d6_residual_sum_of_squares_of_the_training_set(fit):
    residuals = fit.yw[fit.T] - fit.Xw[fit.T] @ fit.refit(fit.T)
    np.testing.assert_allclose(deleted_rss(fit), residuals @ residuals, **CLOSE)


def test_d7_trace_of_the_training_set(fit):
    np.testing.assert_allclose(deleted_trace(fit), np.trace(training_operator(fit, fit.T)), **CLOSE)


def test_d8_leave_one_out_inside_the_training_set(fit):
    for i in fit.T:
        Ai = fit.A[i, fit.J]
        found = (fit.r[i] - Ai @ fit.uw) / (fit.A[i, i] - Ai @ np.linalg.solve(fit.block(fit.J, fit.J), Ai))
        expected = fit.y[i] - fit.X[i] @ fit.refit(np.setdiff1d(fit.T, i))
        np.testing.assert_allclose(found / fit.root[i], expected, **CLOSE)


def test_d9_block_elimination_of_two_folds(fit):
    j, k = fit.J[:3], fit.J[3:]
    v_j, C = (np.linalg.solve(fit.block(j, j), right) for right in (fit.r[j], fit.block(j, k)))
    v_k2 = np.linalg.solve(fit.block(k, k) - fit.block(k, j) @ C, fit.r[k] - fit.block(k, j) @ v_j)
    np.testing.assert_allclose(np.append(v_j - C @ v_k2, v_k2), fit.uw, **CLOSE)


def test_d10_leave_two_rows_out(fit):
    A, r = fit.A, fit.r
    for i, j in [(0, 1), (5, 12), (16, 3)]:
        found = (A[j, j] * r[i] - A[i, j] * r[j]) / (A[i, i] * A[j, j] - A[i, j] ** 2)
        expected = fit.y[i] - fit.X[i] @ fit.refit(np.setdiff1d(np.arange(len(r)), [i, j]))
        np.testing.assert_allclose(found / fit.root[i], expected, **CLOSE)


def off_diagonal(table):
    return np.where(np.eye(len(table), dtype=bool), 0.0, table)


def centred(D):
    """Centred within columns over the other rows; zero on the diagonal."""
    return off_diagonal(D - off_diagonal(D).sum(axis=0) / (len(D) - 1))


def test_d11_streamed_sums_give_the_products_of_centred_changes():
    D = off_diagonal(np.random.default_rng(0).standard_normal((7, 7)))
    B, c, R = centred(D), D.sum(axis=0) / 6, D.sum(axis=1)
    expected = (D * D.T).sum() - 2 * c @ R + c.sum() ** 2 - c @ c
    np.testing.assert_allclose((B * B.T).sum(), expected, **CLOSE)


@pytest.mark.parametrize("p", [3, 25])
def test_d12_dual_operator_and_its_form_for_an_intercept(p):
    E, y = data(12, p, seed=1)
    lam, J, T = 0.3, np.array([1, 4, 5]), np.array([0, 2, 3, 6, 7, 8, 9, 10, 11])
    dual = dual_of(columns_of(E, Penalty.identity(p), fit_intercept=True))
    Q = dual.matrix(lam) / dual.unit(lam)
    C, one = np.linalg.inv(E @ E.T + lam * np.eye(12)), np.ones(12)
    np.testing.assert_allclose(Q, C - np.outer(C @ one, C @ one) / (one @ C @ one), **CLOSE)
    X, S = np.hstack([one[:, None], E]), linalg.block_diag(0.0, lam * np.eye(p))
    np.testing.assert_allclose(lam * Q, np.eye(12) - X @ np.linalg.solve(X.T @ X + S, X.T), **CLOSE)
    u = np.linalg.solve(Q[np.ix_(J, J)], (Q @ y)[J])
    np.testing.assert_allclose(u, y[J] - Ridge(lam, tol=1e-14).fit(E[T], y[T]).predict(E[J]), **CLOSE)


def orthogonal_basis(fit):
    """Z = XV with V'(X'WX + S)V = I."""
    R = linalg.cholesky(fit.Xw.T @ fit.Xw + fit.S)
    return fit.X @ np.linalg.inv(R)


def test_d13_downdated_gram_system_and_its_eigenvalues(fit):
    Z, J = orthogonal_basis(fit), fit.J
    ZJ, W = Z[J], np.diag(fit.w[J])
    residual = fit.r[J] / fit.root[J]
    G = ZJ.T @ W @ ZJ
    d = np.linalg.solve(np.eye(len(G)) - G, ZJ.T @ W @ residual)
    np.testing.assert_allclose(residual + ZJ @ d, fit.uw / fit.root[J], **CLOSE)
    below = [np.sort(e[e < 1 - 1e-9]) for e in map(np.linalg.eigvalsh, (np.eye(len(G)) - G, fit.block(J, J)))]
    np.testing.assert_allclose(*below, **CLOSE)


def test_d14_triangular_form(fit):
    Q, R = np.linalg.qr(fit.Xw)
    L = np.linalg.cholesky(np.eye(len(R)) - Q[fit.J].T @ Q[fit.J])
    thin, triangle = Q[fit.T] @ np.linalg.inv(L).T, L.T @ R
    np.testing.assert_allclose(thin @ triangle, fit.Xw[fit.T], **CLOSE)
    np.testing.assert_allclose(thin.T @ thin, np.eye(len(R)), **CLOSE)
    np.testing.assert_allclose(triangle, np.triu(triangle), **CLOSE)


@pytest.mark.parametrize("lam", [0.01, 1.0, 50.0])
def test_d15_one_basis_serves_every_penalty(lam):
    fit = Fit(lam=lam)
    columns = columns_of(fit.X[:, 1:], Penalty.of_matrix(fit.S0[1:, 1:]), fit_intercept=True)
    reinsch = demmler_reinsch(columns, [0.01, 1.0, 50.0], fit.w)
    Z, D = reinsch.basis.take(np.arange(len(fit.y))), reinsch.x + lam * reinsch.s
    np.testing.assert_allclose(Z.T @ (fit.w[:, None] * Z), np.diag(reinsch.x), **CLOSE)
    residual = fit.y - Z @ ((Z.T @ (fit.w * fit.y)) / D)
    np.testing.assert_allclose(residual, fit.r / fit.root, **CLOSE)
    ZJ, W = Z[fit.J], np.diag(fit.w[fit.J])
    d = np.linalg.solve(np.diag(D) - ZJ.T @ W @ ZJ, ZJ.T @ W @ residual[fit.J])
    np.testing.assert_allclose(residual[fit.J] + ZJ @ d, fit.uw / fit.root[fit.J], **CLOSE)


@pytest.mark.parametrize("lam", [0.01, 1.0, 50.0])
def test_d18_any_pilot_serves(lam):
    fit = Fit(lam=lam)
    columns = columns_of(fit.X[:, 1:], Penalty.of_matrix(fit.S0[1:, 1:]), fit_intercept=True)
    reinsch = demmler_reinsch(columns, [0.01, 1.0, 50.0], fit.w)
    Z, D = reinsch.basis.take(np.arange(len(fit.y))), reinsch.x + lam * reinsch.s
    pilot = np.random.default_rng(0).standard_normal(len(D))
    r = fit.y - Z @ pilot
    G, g = (Z[fit.J].T @ (fit.w[fit.J, None] * each[fit.J]) for each in (Z, r[:, None]))
    right = Z.T @ (fit.w * r) - lam * reinsch.s * pilot - g[:, 0]
    e = np.linalg.solve(np.diag(D) - G, right)
    u = r[fit.J] - Z[fit.J] @ e
    np.testing.assert_allclose(u, fit.uw / fit.root[fit.J], **CLOSE)
    squares = r[fit.J] @ (fit.w[fit.J] * r[fit.J]) - 2 * e @ g[:, 0] + e @ G @ e
    np.testing.assert_allclose(squares, np.square(fit.uw).sum(), **CLOSE)


def flop_counts(n, p, K):
    """f1 and f2 of the paper's appendix B."""

    def formula(held):
        return 2 * p**2 * held + 2 * p * held**2 + held**3 / sympy.Integer(3) + 5 * held**2

    def refit(held):
        return 2 * p**2 * (n - held) + p**3 / sympy.Integer(3) + 5 * p**2 + 2 * p * n + held

    return tuple(of(2 * n / K) * K * (K - 1) / 2 + of(n / K) * K for of in (formula, refit))


def test_d16_quartic_is_the_difference_of_the_two_counts():
    n, p, K = sympy.symbols("n p K", positive=True)
    f1, f2 = flop_counts(n, p, K)
    assert sympy.expand(6 * K**2 * (f2 - f1) - quartic(n, p, K)) == 0


def test_gram_route_needs_fewer_operations_than_both_ways_of_the_paper_up_to_two_folds_of_columns():
    for n, K in [(60, 4), (60, 10), (400, 5), (400, 20), (400, 200), (4000, 10), (4000, 100)]:
        for p in {1, 2, n // (2 * K) + 1, n // K, 2 * n // K}:
            assert onefit.plan(n, p, K).flops["gram"] < min(flop_counts(n, p, K)), (n, p, K)
    assert onefit.plan(4000, 4000, 100).flops["gram"] > flop_counts(4000, 4000, 100)[0]  # but not for p near n


def test_d17_quartic_has_one_root_above_one_if_there_are_no_more_columns_than_rows():
    n, p, K = sympy.symbols("n p K", positive=True)
    f = quartic(n, p, K)
    at_one = -2 * (n**3 - p**3) - 30 * (n**2 - p**2) - 12 * p * n * (n - 1) - 6 * n * (2 * p**2 - 1)
    assert sympy.expand(f.subs(K, 1) - at_one) == 0
    for rows, columns in [(3, 1), (10, 10), (100, 5), (100, 99), (400, 40), (1000, 1000)]:
        polynomial = sympy.Poly(quartic(rows, columns, K), K)
        assert polynomial.eval(1) < 0 < polynomial.eval(0)
        assert polynomial.count_roots(1, sympy.oo) == 1


# ----------------------------------------------------------------------------------------------- intervals


class Population:
    """All data sets of n rows drawn from three points, and ridge regression through the origin: exact expectations.

    Arrays have the data sets along their first axis: losses ``single`` (., K, m) and ``pair`` (., K, K, m) of fold j
    without k, and true errors ``R1`` (., K) and ``R2`` (., K, K).
    """

    points = np.array([[1.0, 0.4], [-2.0, 1.5], [0.5, -1.0]])
    chances = np.array([0.5, 0.2, 0.3])

    def __init__(self, K, m, lam=0.3, is_stratified=False, is_frozen=False):
        self.K, self.m, self.n = K, m, K * m
        drawn = np.array(list(product(range(3), repeat=self.n)))
        self.probability = self.chances[drawn].prod(axis=1)
        if is_stratified:  # sorted by point and dealt: the partition depends on the rows
            drawn = np.sort(drawn, axis=1).reshape(-1, m, K).swapaxes(1, 2).reshape(-1, self.n)
        x, y = self.points[drawn].reshape(-1, K, m, 2).transpose(3, 0, 1, 2)
        xx, xy = (x * x).sum(axis=2), (x * y).sum(axis=2)
        if is_frozen:  # the columns are scaled once: the learner depends on rows that are held out
            lam = lam * np.square(x).mean(axis=(1, 2))
        keep = 1.0 - np.eye(K)
        both = np.clip(keep[:, None] + keep[None] - 1, 0, 1)  # (K, K, folds): neither j nor k

        def slope(sets):
            over = np.tensordot(xx, sets, (1, -1))
            return np.tensordot(xy, sets, (1, -1)) / (over + np.reshape(lam, (-1,) + (1,) * (over.ndim - 1)))

        b1, b2 = slope(keep), slope(both)
        self.single = np.square(y - x * b1[..., None])
        self.pair = np.square(y[:, :, None] - x[:, :, None] * b2[..., None])
        px, py = self.points.T
        self.R1, self.R2 = (np.square(py - px * b[..., None]) @ self.chances for b in (b1, b2))

    def mean(self, values):
        return np.tensordot(self.probability, values, (0, 0))

    @property
    def xi(self):
        """By rows, (., K, m)."""
        return self.single - self.R1[..., None]

    @property
    def changes(self):
        """D and the change rho of the true error, (., K, K)."""
        own = np.eye(self.K, dtype=bool)
        D = self.single.mean(axis=2)[:, :, None] - self.pair.mean(axis=3)
        rho = self.R1[:, :, None] - self.R2
        return tuple(np.where(own, 0.0, table) for table in (D, rho))


SMALL = [(3, 2), (4, 1), (5, 1)]


@pytest.mark.parametrize(("K", "m"), [(3, 2), (4, 2)])
def test_i2_mean_squared_error_of_nested_cross_validation_is_unbiased(K, m):
    all_data = Population(K, m)
    e_out, v_out = all_data.single.mean(axis=2), all_data.single.var(axis=2, ddof=1)
    pair = all_data.pair.mean(axis=3)
    e_in = np.stack([np.delete(pair[:, :, j], j, axis=1).mean(axis=1) for j in range(K)], axis=1)
    left = all_data.mean(np.square(e_in - e_out) - v_out / m)
    np.testing.assert_allclose(left, all_data.mean(np.square(e_in - all_data.R1)), **CLOSE)


def test_i3_extrapolation_is_exact_if_the_error_is_linear_in_one_over_the_rows():
    a, b, n, K = sympy.symbols("a b n K", positive=True)
    raw, cv = a + b * K / (n * (K - 2)), a + b * K / (n * (K - 1))
    assert sympy.simplify(raw - (1 + (K - 2) / K) * (raw - cv) - (a + b / n)) == 0


@pytest.mark.parametrize(("K", "m"), SMALL)
def test_i4_distance_of_cross_validation_from_the_error_of_its_models(K, m):
    all_data = Population(K, m)
    xi = all_data.xi.mean(axis=2)
    left = all_data.mean(np.square(all_data.single.mean(axis=(1, 2)) - all_data.R1.mean(axis=1)))
    covariances = all_data.mean(xi[:, :, None] * xi[:, None]) * (1 - np.eye(K))
    right = all_data.mean(np.square(all_data.xi)).mean() / all_data.n + covariances.sum() / K**2
    np.testing.assert_allclose(left, right, **CLOSE)


@pytest.mark.parametrize(("K", "m"), SMALL)
def test_i5_covariance_is_the_mean_product_of_changes(K, m):
    all_data = Population(K, m)
    xi = all_data.xi.mean(axis=2)
    D, rho = all_data.changes
    delta = D - rho
    left, right = all_data.mean(xi[:, :, None] * xi[:, None]), all_data.mean(delta * delta.swapaxes(1, 2))
    others = ~np.eye(K, dtype=bool)
    assert np.abs(left[others]).min() > 1e-4  # there is something to be estimated
    np.testing.assert_allclose(left[others], right[others], **CLOSE)


@pytest.mark.parametrize("broken", ["is_stratified", "is_frozen"])
def test_i5_fails_if_the_partition_or_the_learner_depends_on_rows_that_are_held_out(broken):
    all_data = Population(3, 2, **{broken: True})
    xi = all_data.xi.mean(axis=2)
    D, rho = all_data.changes
    left, right = all_data.mean(xi[:, :, None] * xi[:, None]), all_data.mean((D - rho) * (D - rho).swapaxes(1, 2))
    others = ~np.eye(3, dtype=bool)
    assert abs(left[others].mean() / right[others].mean() - 1) > 0.1  # exact numbers: nothing is sampled here


def random_tables(K, seed):
    """Changes delta, and true errors R_j and R_jk = R_kj."""
    rng = np.random.default_rng(seed)
    R2 = rng.standard_normal((K, K))
    return off_diagonal(rng.standard_normal((K, K))), rng.standard_normal(K), R2 + R2.T


@pytest.mark.parametrize("K", [3, 4, 9])
def test_i6_centred_changes_in_terms_of_what_is_wanted(K):
    delta, R1, R2 = random_tables(K, K)
    rho = off_diagonal(R1[:, None] - R2)
    others = (delta.sum(axis=0) - delta) / (K - 1)
    expected = off_diagonal((1 - 1 / (K - 1)) * delta - others) + centred(rho)
    np.testing.assert_allclose(centred(delta + rho), expected, **CLOSE)


@pytest.mark.parametrize("K", [3, 4, 9])
def test_i7_interaction_of_the_true_error_is_never_negative(K):
    _, R1, R2 = random_tables(K, K)
    iota = centred(off_diagonal(R1[:, None] - R2))
    R2 = off_diagonal(R2)
    mu = R2.sum() / (K * (K - 1))
    alpha = (R2.sum(axis=0) - (K - 1) * mu) / (K - 2)
    gamma = off_diagonal(R2 - mu - alpha[:, None] - alpha)
    np.testing.assert_allclose(gamma.sum(axis=0), 0, atol=1e-12)
    s = R1 - alpha
    expected = np.square(gamma).sum() + (1 - 1 / (K - 1) ** 2) * np.square(s - s.mean()).sum()
    np.testing.assert_allclose((iota * iota.T).sum(), expected, **CLOSE)


def test_i9_covariance_term_of_unequal_folds_and_of_equal_ones():
    sizes = np.array([3, 5, 4, 8])
    omega = sizes / sizes.sum()
    D = off_diagonal(np.random.default_rng(1).standard_normal((4, 4)))
    chain = onefit.inference.chain.ascending(np.zeros(1))
    total = 0.0
    B = off_diagonal(D - (omega[:, None] * D).sum(axis=0) / (1 - omega))
    for j, k in product(range(4), repeat=2):
        if j != k:
            shrunk = (1 - omega[j] / (1 - omega[k])) * (1 - omega[k] / (1 - omega[j]))
            total += omega[j] * omega[k] * B[j, k] * B[k, j] / shrunk
    found = covariance_terms(D[None, :, :, None], omega[None], chain)[0]
    np.testing.assert_allclose(found[0, 0], total, **CLOSE)
    equal = covariance_terms(D[None, :, :, None], np.full((1, 4), 0.25), chain)[0]
    np.testing.assert_allclose(equal[0, 0], (centred(D) * centred(D).T).sum() / 16 / (1 - 1 / 3) ** 2, **CLOSE)


@pytest.mark.parametrize(("K", "m"), SMALL)
def test_i8_mean_of_the_variance_of_the_losses(K, m):
    all_data = Population(K, m)
    n, xi, R1, R2 = all_data.n, all_data.xi, all_data.R1, all_data.R2
    v = all_data.single.reshape(len(xi), n).var(axis=1, ddof=1)
    bracket = (
        all_data.mean(np.square(R1[:, 0] - R1[:, 1])) / 2
        - all_data.mean(xi[:, 0, 0] * xi[:, 1, 0])
        - 2 * all_data.mean(xi[:, 0, 0] * (R1[:, 1] - R2[:, 0, 1]))
    )
    expected = all_data.mean(np.square(xi[:, 0, 0])) + (n - m) / (n - 1) * bracket
    np.testing.assert_allclose(all_data.mean(v), expected, **CLOSE)


def least_squares(n, p, K, rng):
    """Errors e and true errors R of fold j without k, (K, K), and that of all rows; no signal, so R is 1 + |b|^2."""
    X, y = rng.standard_normal((K, n // K, p)), rng.standard_normal((K, n // K))
    G, g = X.swapaxes(1, 2) @ X, (X.swapaxes(1, 2) @ y[..., None])[..., 0]
    left = 1.0 - np.maximum(np.eye(K)[:, None], np.eye(K)[None])  # (K, K, folds), the diagonal leaves out one
    b = np.linalg.solve(np.tensordot(left, G, 1), np.tensordot(left, g, 1)[..., None])[..., 0]
    e = np.square(y[:, None] - np.einsum("jmp,jkp->jkm", X, b)).mean(axis=2)
    return e, 1 + np.square(b).sum(axis=2), 1 + np.square(np.linalg.solve(G.sum(axis=0), g.sum(axis=0))).sum()


def least_squares_of_rows(n, p, rng):
    """The same for folds of one row, by (D2) and systems of two rows: fast enough for many rows."""
    X, y = rng.standard_normal((n, p)), rng.standard_normal(n)
    Z = X @ np.linalg.inv(X.T @ X)
    b = Z.T @ y
    A, C, r, c = np.eye(n) - Z @ X.T, Z @ Z.T, y - X @ b, Z @ b
    a, d, across = np.diag(A), np.diag(C), off_diagonal(A)
    u = (a * r[:, None] - across * r) / (np.outer(a, a) - across**2)  # residual of j without j and k
    np.fill_diagonal(u, r / a)
    v = off_diagonal(u.T)
    moved = d[:, None] * u**2 + d * v**2 + 2 * C * u * v - 2 * (c[:, None] * u + c * v)
    return u**2, 1 + b @ b + moved, 1 + b @ b


def changes(table):
    """By how much the presence of k changes what fold j has."""
    return np.diag(table)[:, None] - table


def excess_of(e, R):
    """What (I9) adds to the wanted sum of products, in the three parts of the page; and that sum."""
    D, rho, K = changes(e), changes(R), len(e)
    delta, iota, factor = D - rho, centred(rho), 1 / (K * (1 - 1 / (K - 1))) ** 2
    B, own = centred(D), centred(delta)
    wanted = (delta * delta.T).sum() / K**2
    parts = factor * np.array([(iota * iota.T).sum(), (own * own.T).sum(), 2 * (own * iota.T).sum()])
    parts[1] -= wanted
    np.testing.assert_allclose(factor * (B * B.T).sum() - wanted, parts.sum(), **CLOSE)
    return *parts, wanted


def test_excess_of_the_covariance_term_is_positive_and_shrinks_with_the_folds():
    n, p, count = 40, 8, 300
    excess = []
    for K in (5, 10, 20, 40):
        rng = np.random.default_rng(K)
        parts = [excess_of(*least_squares(n, p, K, rng)[:2]) for _ in range(count)]
        mean, error = np.mean(parts, axis=0), np.std(parts, axis=0) / np.sqrt(count)
        assert (mean[:3] > 2 * error[:3]).all(), K
        excess.append(mean[:3].sum() / mean[3])
    assert (np.diff(excess) < 0).all()


def test_least_squares_without_two_rows_equals_refits():
    fast, slow = (
        least_squares_of_rows(12, 4, np.random.default_rng(0)),
        least_squares(12, 4, 12, np.random.default_rng(0)),
    )
    for found, expected in zip(fast, slow, strict=True):
        np.testing.assert_allclose(found, expected, **CLOSE)


@pytest.mark.parametrize(("share", "expected"), [(5, (0.144, 0.067, 0.032)), (2, (0.25, 0.11, 0.053))])
def test_excess_of_leave_two_out_halves_when_the_rows_double(share, expected):
    excess, errors = [], []
    for n in (40, 80, 160):
        rng = np.random.default_rng(n)
        parts = np.array([excess_of(*least_squares_of_rows(n, n // share, rng)[:2]) for _ in range(300)])
        added, wanted = parts[:, :3].sum(axis=1), parts[:, 3]
        excess.append(added.mean() / wanted.mean())
        errors.append(np.std(added - excess[-1] * wanted) / wanted.mean() / np.sqrt(len(parts)))
    np.testing.assert_array_less(np.abs(excess - np.array(expected)), 4 * np.array(errors) + 0.0005)  # as printed
    first, second = 1 - 2 * np.array(excess[1:]) / excess[:-1]
    # of the order 1/n: what halving misses is of the order 1/n^2, and shrinks as well
    assert 0 < second < first
    assert second < 0.1


def distances(n, p, K, make=least_squares, count=400):
    """Standard deviations of cv - Rbar, Rbar - R, cv - R and c - R, c being the centre of (I3); least squares."""
    rng, rows = np.random.default_rng(n + K), []
    for _ in range(count):
        e, R, whole = make(n, p, K, rng)
        cv, mean, raw = np.diag(e).mean(), np.diag(R).mean(), off_diagonal(e).sum() / (K * (K - 1))
        rows.append([cv - mean, mean - whole, cv - whole, raw - (1 + (K - 2) / K) * (raw - cv) - whole])
    return np.std(rows, axis=0)


def test_distance_of_fold_models_from_the_model_of_all_rows_is_of_smaller_order_only_for_few_columns_or_many_folds():
    def moved(n, p, K, make=least_squares):
        noise, moved, *_ = distances(n, p, K, make)
        return moved / noise

    # p = n/5 and ten folds: the same order, whatever n
    assert moved(160, 32, 10) == pytest.approx(moved(40, 8, 10), rel=0.25)
    # p fixed: a ratio of the order n^(-1/2), so four times the rows should halve it
    assert moved(160, 4, 10) < 0.6 * moved(40, 4, 10)
    # every row a fold: of the order 1/n, so four times the rows should quarter it
    by_row = {"make": lambda n, p, K, rng: least_squares_of_rows(n, p, rng)}
    assert moved(160, 32, 160, **by_row) < 0.4 * moved(40, 8, 40, **by_row)


@pytest.mark.parametrize(("K", "printed"), [(10, (0.03, 0.00)), (5, (0.08, 0.02))])
def test_extrapolated_centre_follows_the_model_of_all_rows_better_than_cross_validation_does(K, printed):
    noise, _, cv, c = distances(100, 20, K, count=1000)
    np.testing.assert_allclose([cv / noise - 1, c / noise - 1], printed, atol=0.01)
    assert c < (cv + noise) / 2


@pytest.mark.parametrize(("scale", "h", "inverse"), [("log", np.log, np.exp), ("logit", special.logit, special.expit)])
def test_i10_centre_is_extrapolated_on_the_scale(scale, h, inverse):
    K, raw, cv = 7, np.array([[0.31]]), np.array([[0.29]])
    errors = SimpleNamespace(n_folds=K, n_scored=50)
    expected = inverse(h(raw) - (1 + (K - 2) / K) * (h(raw) - h(cv)))
    np.testing.assert_allclose(covariance_centre(raw, cv, errors, scale), expected, **CLOSE)


@pytest.mark.parametrize(("power", "wider"), [(1, "log"), (4, "Hall")])
@pytest.mark.parametrize("K", [6, "n"])
def test_i10_and_i11_give_the_interval_of_a_result(K, power, wider):
    X, y = data(36, 3, seed=5)
    result = quiet_nested_cv(Ridge(1.0), X, y**power, n_folds=K, n_repeats=1, random_state=0, confidence_level=0.9)
    folds, c, s = result.n_folds, result.estimate, result.standard_error
    factor = 1 + (folds - 2) / folds
    np.testing.assert_allclose(c, result.raw_estimate * (result.cv_estimate / result.raw_estimate) ** factor, **CLOSE)
    floor = (s / result.inflation) ** 2
    np.testing.assert_allclose(s**2, max(result.mse, floor), **CLOSE)
    t, kappa = stats.t.ppf(0.95, min(35, max(3, c**2 / floor))), stats.skew(result.heldout["loss"]) / 6
    on_scale = c * np.exp([-t * s / c, t * s / c])
    # Hall's polynomial takes the skewness out of a studentized mean: its ends are where it is +-t
    roots = (np.roots([kappa**2 / 27, kappa / 3, 1, kappa / 6 - x]) for x in (t, -t))
    hall = [c - s * each.real[np.abs(each.imag).argmin()] for each in roots]
    assert (hall[1] > on_scale[1]) == (wider == "Hall")
    expected = max(0, min(on_scale[0], hall[0])), max(on_scale[1], hall[1])
    np.testing.assert_allclose(result.interval, expected, rtol=1e-7)


def product_of(a, b):
    """The matrix of the quadratic form a'u b'u."""
    return (np.outer(a, b) + np.outer(b, a)) / 2


def first_order(K, weight):
    """Variance of the centre's distance, and the covariance term, of losses ``weight A'A - 2 u_j'A`` of K folds.

    Quadratic forms in the mean scores u of the folds, as matrices; in units of p sigma^4 / n^2.
    """
    u, everyone = np.eye(K), np.ones(K)

    def loss(j, A):
        return weight * product_of(A, A) - 2 * product_of(u[j], A)

    def fitted_without(*out):
        return (everyone - u[list(out)].sum(axis=0)) / (K - len(out))

    def change(j, k):
        A = fitted_without(j, k)
        D = loss(j, fitted_without(j)) - loss(j, A)
        if weight == 1:  # (I16)
            of_both = -2 / (K - 1) * product_of(u[j] - A, u[k] - A)
            np.testing.assert_allclose(D, of_both + product_of(u[k] - A, u[k] - A) / (K - 1) ** 2, **CLOSE)
        return D

    def centred_change(j, k):
        return change(j, k) - sum(change(i, k) for i in range(K) if i != k) / (K - 1)

    def variance(M, N):
        return 2 * np.trace(M @ N) * K**2

    pairs = [(j, k) for j in range(K) for k in range(K) if j != k]
    term = (K - 1) / K * variance(centred_change(0, 1), centred_change(1, 0)) / (1 - 1 / (K - 1)) ** 2
    cv = sum(loss(j, fitted_without(j)) for j in range(K)) / K
    raw = sum(loss(j, fitted_without(j, k)) for j, k in pairs) / len(pairs)
    distance = raw - (1 + (K - 2) / K) * (raw - cv) - weight * product_of(everyone / K, everyone / K)
    return variance(distance, distance), term


@pytest.mark.parametrize(("K", "supplied", "asked"), [(5, 14.10, 0.355), (10, 7.01, 0.634), (20, 5.21, 0.808)])
def test_i16_least_squares_asks_for_the_size_correction_to_first_order(K, supplied, asked):
    distance, term = first_order(K, weight=1)
    assert distance == pytest.approx(8 * K / (K - 1))
    assert term == pytest.approx(supplied, abs=0.005)
    assert 4 * K / (K - 1) / term == pytest.approx(asked, abs=0.0005)
    assert 4 * K / (K - 1) / term == pytest.approx((1 - 2 / K) ** 2, abs=0.0065)


@pytest.mark.parametrize(("K", "asked"), [(5, 0.226), (10, 0.514), (20, 0.729), (50, 0.885)])
def test_i16_the_difference_from_a_slightly_shrunk_fit_asks_for_the_correction_of_differences(K, asked):
    distance, term = first_order(K, weight=2)
    assert distance == pytest.approx(8 * K / (K - 1))
    assert 4 * K / (K - 1) / term == pytest.approx(asked, abs=0.0005)
    assert 4 * K / (K - 1) / term == pytest.approx(((1 - 1 / K) * (1 - 2 / K)) ** 2, abs=0.005)


def directions_without_a_signal(K):
    """Variance of the centre, and the covariance term, of losses ``-u_j'A sqrt(N)`` of K folds; v/n is 1.

    N is the share of rows that A is fitted to: what is left of ``-u_j'A / |A|`` for many columns without a signal.
    """
    u, everyone = np.eye(K), np.ones(K)

    def loss(j, *out):
        kept = K - len(out)
        return -product_of(u[j], (everyone - u[list(out)].sum(axis=0)) / kept) * np.sqrt(kept / K)

    def change(j, k):
        return loss(j, j) - loss(j, j, k)

    def centred_change(j, k):
        return change(j, k) - sum(change(i, k) for i in range(K) if i != k) / (K - 1)

    def variance(M, N):
        return 2 * np.trace(M @ N) * K**2

    pairs = [(j, k) for j in range(K) for k in range(K) if j != k]
    term = (K - 1) / K * variance(centred_change(0, 1), centred_change(1, 0)) / (1 - 1 / (K - 1)) ** 2
    cv = sum(loss(j, j) for j in range(K)) / K
    raw = sum(loss(j, j, k) for j, k in pairs) / len(pairs)
    centre = raw - (1 + (K - 2) / K) * (raw - cv)
    return variance(centre, centre), term


@pytest.mark.parametrize(("K", "asked"), [(5, 1.078), (10, 1.067), (20, 1.042), (50, 1.019)])
def test_i17_ranks_without_a_signal_ask_for_all_of_the_covariance_term(K, asked):
    """The true area is one half whatever the fit, so that the centre's variance is its distance; v/n has 1 of it."""
    distance, term = directions_without_a_signal(K)
    assert (distance - 1) / term == pytest.approx(asked, abs=0.0005)


def test_i17_ranks_of_many_columns_are_the_quadratic_forms():
    """Folds of 400 columns without a signal, drawn: variance and covariance term of ``-u_j'A / |A|`` themselves."""
    K, p, rng = 5, 400, np.random.default_rng(0)
    u = np.sqrt(K) * rng.standard_normal((2000, K, p))
    total = u.sum(axis=1)

    def losses(*out):
        A = total - sum(u[:, j] for j in set(out))
        return -np.einsum("dp,dp->d", u[:, out[0]], A) / np.linalg.norm(A, axis=1)

    table = np.array([[losses(j, k) for k in range(K)] for j in range(K)])  # (K, K, D)
    own = np.einsum("jjd->jd", table)
    change = own[:, None] - table
    centred = change - change.sum(axis=0) / (K - 1)
    centred[np.arange(K), np.arange(K)] = 0.0
    terms = np.einsum("jkd,kjd->d", centred, centred) / K**2 / (1 - 1 / (K - 1)) ** 2
    cv, raw = own.mean(axis=0), (table.sum(axis=(0, 1)) - own.sum(axis=0)) / (K * (K - 1))
    centre = raw - (1 + (K - 2) / K) * (raw - cv)
    distance, term = directions_without_a_signal(K)
    assert centre.var() == pytest.approx(distance, rel=4 * np.sqrt(2 / 2000))
    assert terms.mean() == pytest.approx(term, abs=4 * terms.std() / np.sqrt(2000))


def fold_errors_of(raw, cv, sampling, term, n):
    """What the covariance rule reads, for one repeat."""
    table = np.array([[[term]]])
    return SimpleNamespace(
        raw=np.array([[[raw]]]),
        cv=np.array([[[cv]]]),
        sizes=np.array([[n // 5] * 5]),
        n_folds=5,
        n_scored=n,
        n_units=n,
        n_rows=n,
        n_groups=None,
        is_ranked=False,
        skewness=np.zeros_like(table),
        covariance=table,
        sampling=lambda centre: np.full_like(table, sampling),
    )


def test_i11_leaves_the_scale_if_the_standard_error_exceeds_the_centre():
    interval = covariance(fold_errors_of(0.05, 0.05, 0.01, 0.09 / 0.36, 50), Context(0.9, "log"))
    half = stats.t.ppf(0.95, 3) * np.sqrt(0.1)
    np.testing.assert_allclose([interval.low, interval.high], [[[0.0]], [[0.05 + half]]], **CLOSE)


def test_i11_zero_one_loss_has_at_least_the_binomial_variance_and_wilsons_ends():
    """With it alone they are the textbook's, with a quantile of Student's distribution."""
    interval = covariance(fold_errors_of(0.0, 0.0, 0.0, 0.0, 50), Context(0.9, "logit"))
    np.testing.assert_allclose(interval.estimate, 0.01, **CLOSE)
    np.testing.assert_allclose(interval.standard_error, np.sqrt(0.01 * 0.99 / 50), **CLOSE)
    ends, t = np.array([interval.low.item(), interval.high.item()]), stats.t.ppf(0.95, 49)
    np.testing.assert_allclose((ends[1] - 0.01) ** 2, t**2 * ends[1] * (1 - ends[1]) / 50, rtol=1e-9)
    assert ends[0] == 0 < 0.01 < ends[1] < 1  # no row is wrong, so that nothing speaks against zero


def test_i12_paired_difference_is_the_covariance_rule_on_differences_of_losses():
    X, y = data(24, 3, seed=8)
    folds = np.arange(24) % 6
    models = [Ridge(0.5), Ridge(20.0)]

    def loss(model, rows, out):
        train = ~np.isin(folds, out)
        return np.square(y[rows] - model.fit(X[train], y[train]).predict(X[rows]))

    table = np.zeros((6, 6))
    singles = np.zeros(24)
    for j, k in product(range(6), repeat=2):
        rows = np.flatnonzero(folds == j)
        difference = loss(models[0], rows, [j, k]) - loss(models[1], rows, [j, k])
        table[j, k] = difference.mean()
        if j == k:
            singles[rows] = difference
    B = centred(np.diag(table)[:, None] - table)
    raw, cv = off_diagonal(table).sum() / 30, singles.mean()
    floor = singles.var(ddof=1) / 24
    mse = floor + ((1 - 1 / 6) * (1 - 2 / 6)) ** 2 * (B * B.T).sum() / 36 / (1 - 1 / 5) ** 2
    centre = raw - (1 + 4 / 6) * (raw - cv)
    half = stats.t.ppf(0.975, 23) * np.sqrt(max(mse, floor))
    compared = quietly(onefit.compare, {"a": models[0], "b": models[1]}, X, y, folds=folds[None]).to_frame()
    row = compared.iloc[0]
    sign = 1 if compared.index[0][0] == "a" else -1
    found = np.sort([sign * row["low"], sign * row["high"]])
    np.testing.assert_allclose([sign * row["estimate"], *found], [centre, centre - half, centre + half], **CLOSE)


@pytest.mark.parametrize("K", [5, "n"])
def test_i13_interval_of_r_squared(K):
    X, y = data(30, 3, seed=2)
    result = quiet_nested_cv(Ridge(1.0), X, y, n_folds=K, n_repeats=4, random_state=1)
    losses, n = result.heldout["loss"].to_numpy(), 30
    base = np.square((y - y.mean()) * n / (n - 1))
    ratio, c, s2 = result.estimate / base.mean(), result.estimate, result.standard_error**2
    spread = np.square(losses / losses.mean() - base / base.mean()).sum() / (n * (n - 1))
    step = stats.t.ppf(0.975, n - 1) * np.sqrt(spread + (s2 - s2 / result.inflation**2) / c**2)
    expected = (1 - ratio, 1 - ratio * np.exp(step), 1 - ratio * np.exp(-step))
    np.testing.assert_allclose(result.r2, expected, **CLOSE)


@pytest.mark.parametrize("which", ["half-width", "centre"])
@pytest.mark.parametrize(("nudge", "settled"), [(0.999, True), (1.001, False)])
def test_i15_stopping_rule_turns_at_its_bounds(which, nudge, settled):
    L = 6
    spread = np.random.default_rng(0).standard_normal((L, 1, 1))
    spread = (spread - spread.mean()) / spread.std(ddof=1)
    kappa = np.sqrt((L - 1) / stats.chi2.ppf(0.25, L - 1))
    mse = 1.0 + (nudge * 0.05 * 2 * np.sqrt(L) / kappa if which == "half-width" else 0.0) * spread
    centre = (nudge * 0.10 * 1.645 * np.sqrt(L) / kappa if which == "centre" else 0.0) * spread
    errors = SimpleNamespace(raw=centre, n_repeats=L, n_folds=5, n_units=50, n_scored=50, n_rows=50)
    rule = SimpleNamespace(
        name="of any kind",
        repeat_mse=lambda e, scale: mse,
        repeat_centre=lambda e, scale: centre,
        repeat_floor=lambda e, scale: np.full((L, 1, 1), 0.5),
        repeat_bounds=None,
    )
    assert is_precise(errors, rule, "log") is settled


# ----------------------------------------------------------------------------------------------- selection


def spectrum(fit, rows):
    """Of the training set on some rows."""
    penalty = Penalty.of_matrix(fit.S0[1:, 1:])
    columns = columns_of(fit.X[:, 1:], penalty, fit_intercept=True).rows(rows).weighted(fit.root[rows])
    return spectrum_of_rows(columns, fit.yw[rows, None]).spectrum


def test_s1_sums_of_squares_and_degrees_of_freedom_from_the_spectrum(fit):
    found = spectrum(fit, fit.T)
    f, gamma = fit.lam / (found.mu[0] + fit.lam), found.gamma[0, :, 0]
    A, y, beta = training_operator(fit, fit.T), fit.yw[fit.T], fit.refit(fit.T)
    rss = np.square(y - fit.Xw[fit.T] @ beta).sum()
    np.testing.assert_allclose(found.rest[0, 0] + (f**2 * gamma**2).sum(), rss, **CLOSE)
    np.testing.assert_allclose(found.rest[0, 0] + (f * gamma**2).sum(), rss + beta @ fit.S @ beta, **CLOSE)
    np.testing.assert_allclose(found.spare[0] + f.sum(), np.trace(A), **CLOSE)


def test_s2_criteria_of_a_training_set(fit):
    found, lams = spectrum(fit, fit.T), np.array([[fit.lam]])
    A, n = training_operator(fit, fit.T), len(fit.T)
    r = A @ fit.yw[fit.T]
    expected = {"gcv": n * r @ r / np.trace(A) ** 2, "loo": np.square(r / np.diag(A)).mean()}
    for criterion, value in expected.items():
        np.testing.assert_allclose(criterion_values(found, lams, criterion)[0, 0, 0], value, **CLOSE)


def test_s3_gcv_of_a_training_set_from_the_operator_of_all_rows(fit):
    A = training_operator(fit, fit.T)
    r, n = A @ fit.yw[fit.T], len(fit.T)
    np.testing.assert_allclose(n * deleted_rss(fit) / deleted_trace(fit) ** 2, n * r @ r / np.trace(A) ** 2, **CLOSE)


def test_s4_basis_of_a_training_set_for_all_penalties(fit):
    tau = 0.7
    columns = columns_of(fit.X[:, 1:], Penalty.of_matrix(fit.S0[1:, 1:]), fit_intercept=True)
    reinsch = demmler_reinsch(columns, [tau / 2, tau * 2], fit.w)
    Zw = fit.root[:, None] * reinsch.basis.take(np.arange(len(fit.y)))
    np.testing.assert_allclose(Zw.T @ Zw + tau * np.diag(reinsch.s), np.eye(len(reinsch.s)), **CLOSE)
    L = np.linalg.cholesky(np.eye(len(reinsch.s)) - Zw[fit.J].T @ Zw[fit.J])
    theta, U = np.linalg.eigh(np.linalg.inv(L) @ np.diag(reinsch.s) @ np.linalg.inv(L).T)
    V = np.linalg.inv(L).T @ U
    np.testing.assert_allclose(V.T @ Zw[fit.T].T @ Zw[fit.T] @ V, np.diag(1 - tau * theta), **CLOSE)
    np.testing.assert_allclose(V.T @ np.diag(reinsch.s) @ V, np.diag(theta), **CLOSE)
    mu = (1 - tau * theta[1:]) / theta[1:]  # the first is the free column's
    np.testing.assert_allclose(np.sort(mu), np.sort(spectrum(fit, fit.T).mu[0]), **CLOSE)
