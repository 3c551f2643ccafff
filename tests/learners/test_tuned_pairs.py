"""What GCV and REML choose without each pair of rows follows from the fit to all rows, and equals refits."""

from __future__ import annotations

import numpy as np
import pytest

from helpers import FOLD_ERRORS, quiet_nested_cv, random_weights, relative_gap
from onefit import PenalizedRegression, SplineRegression
from onefit.criteria import pairs as module
from onefit.criteria import spectrum_of_rows
from onefit.criteria.pairs import PAIR_CRITERIA, PairSearch
from onefit.linalg.columns import columns_of
from onefit.routes import tuned

TOLERANCE = 1e-9
criteria = pytest.mark.parametrize("criterion", PAIR_CRITERIA)


def problem(n, p, seed, signal=0.3, n_outputs=None):
    """Data of a penalty that is neither zero nor infinite, if there is a signal."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    shape = (n,) if n_outputs is None else (n, n_outputs)
    return X, signal * X @ rng.standard_normal((p, *shape[1:])) + rng.standard_normal(shape)


class Watched:
    """Which pairs were found by `PairSearch`, with what, and how many were decomposed instead."""

    def __init__(self, monkeypatch):
        self.found, self.by_sets = {}, 0
        residuals, by_sets = PairSearch.residuals, tuned._Sets._by_sets

        def watched_residuals(search, i, j):
            u, is_sure = residuals(search, i, j)
            self.found |= {(int(a), int(b)): each for a, b, each, sure in zip(i, j, u, is_sure, strict=True) if sure}
            return u, is_sure

        def watched_sets(sets, out):
            self.by_sets += len(out) if out.shape[1] == 2 else 0
            return by_sets(sets, out)

        monkeypatch.setattr(PairSearch, "residuals", watched_residuals)
        monkeypatch.setattr(tuned._Sets, "_by_sets", watched_sets)

    def largest_gap(self, model, X, y, weights=None, count=40, seed=0):
        """Largest difference from refits of some pairs, relative to what the fit leaves of y."""
        rng, everyone, gaps = np.random.default_rng(seed), list(self.found), []
        for at in rng.choice(len(everyone), min(count, len(everyone)), replace=False):
            out = list(everyone[at])
            rows = np.setdiff1d(np.arange(len(y)), out)
            model.fit(X[rows], y[rows], sample_weight=None if weights is None else weights[rows])
            expected = (y[out] - model.predict(X[out])).reshape(2, -1)
            root = np.ones(2) if weights is None else np.sqrt(weights[out])
            typical = np.sqrt(np.mean(np.square(y[rows] - model.predict(X[rows]))))
            gaps.append(np.abs(self.found[tuple(out)] / root[:, None] - expected).max() / typical)
        return max(gaps)


@pytest.mark.sweep(3)
@criteria
@pytest.mark.parametrize("kind", ["none", "positive"])
@pytest.mark.parametrize(
    "case", [(60, 4, 0.3, None), (90, 20, 0.3, None), (70, 5, 0.0, None), (60, 6, 0.3, 3)], ids=str
)
def test_pairs_of_rows_equal_refits(case, kind, criterion, monkeypatch):
    n, p, signal, n_outputs = case
    X, y = problem(n, p, 1, signal, n_outputs)
    weights, watched, model = random_weights(n, kind, seed=1), Watched(monkeypatch), PenalizedRegression(lam=criterion)
    result = quiet_nested_cv(model, X, y, sample_weight=weights)
    assert result.n_folds == n
    assert len(watched.found) > 0.9 * n * (n - 1) / 2  # not one by one
    assert watched.largest_gap(model, X, y, weights) < TOLERANCE


@criteria
@pytest.mark.slow
def test_curves_equal_their_refits_in_all_fold_errors(criterion):
    rng = np.random.default_rng(2)
    x = np.sort(rng.random(40))[:, None]
    y = np.sin(6 * x[:, 0]) + 0.3 * rng.standard_normal(40)
    knots = np.linspace(-0.1, 1.1, 9)
    model = SplineRegression(knots=knots, lam=criterion)
    fast, slow = (quiet_nested_cv(model, x, y, n_folds="n", route=route) for route in ("gram", "refit"))
    for name in FOLD_ERRORS:
        assert relative_gap(getattr(fast.fold_errors, name), getattr(slow.fold_errors, name)) < TOLERANCE


@criteria
def test_many_rows_by_default(criterion, monkeypatch):
    X, y = problem(420, 3, seed=3)
    watched, model = Watched(monkeypatch), PenalizedRegression(lam=criterion)
    result = quiet_nested_cv(model, X, y)
    assert result.n_folds == 420
    assert "2 x 2" in result.route_reason
    assert watched.by_sets == 0
    assert watched.largest_gap(model, X, y, count=12) < TOLERANCE


@pytest.mark.parametrize(
    ("n", "p", "lam", "told"),
    [(2001, 2, "gcv", "2,000 rows"), (1990, 40, "reml", "2,000 rows"), (301, 2, "loo", "100 rows")],
)
def test_where_the_default_ends(n, p, lam, told):
    X, y = problem(n, p, seed=4)
    result = quiet_nested_cv(PenalizedRegression(lam=lam), X, y, n_repeats=2)
    assert result.n_folds == 10
    assert told in result.route_reason


def test_the_last_number_of_rows_is_within(monkeypatch):
    monkeypatch.setattr("onefit.routes.trainingsets.MOST_STREAMED", 50)
    X, y = problem(51, 2, seed=4)
    assert quiet_nested_cv(PenalizedRegression(lam="gcv"), X[:50], y[:50]).n_folds == 50
    assert quiet_nested_cv(PenalizedRegression(lam="gcv"), X, y, n_repeats=2).n_folds == 10


@criteria
def test_a_pair_that_would_lose_digits_is_decomposed(criterion, monkeypatch):
    n = 24
    X, y = problem(n, 3, seed=5)
    X = np.hstack([X, np.zeros((n, 1))])
    X[7, 3], y[9:11] = 1e4, (1e5, -1e5)  # a row that alone sees a column, and two that are nearly all of the residuals
    watched = Watched(monkeypatch)
    model = PenalizedRegression(lam=criterion)
    fast = quiet_nested_cv(model, X, y, n_folds="n")
    assert (9, 10) not in watched.found
    assert not any(7 in pair for pair in watched.found)
    assert watched.by_sets == n
    slow = quiet_nested_cv(model, X, y, n_folds="n", route="refit")
    assert relative_gap(fast.fold_errors.e_in, slow.fold_errors.e_in) < TOLERANCE


@criteria
def test_a_flat_criterion_keeps_the_digits_of_residuals_far_smaller_than_those_of_rows_left_out(criterion):
    """Squares of residuals are a difference of others a hundred million times as large: 0.3% off, without a word."""
    X, y = problem(24, 3, seed=5)
    X = np.hstack([X, np.zeros((24, 1))])
    X[7, 3], y[9:11] = 1e4, (1e5, -1e5)
    ids = np.minimum(np.arange(24), np.arange(24) - (np.arange(24) > 9))  # the two outliers share a fold
    fast, slow = (
        quiet_nested_cv(PenalizedRegression(lam=criterion), X, y, folds=ids, route=route).heldout["prediction"][9:11]
        for route in ("auto", "refit")
    )
    np.testing.assert_allclose(fast, slow, rtol=1e-9)


def test_minima_of_nearly_the_same_value_are_contested():
    deep = np.array([5.0, 3.0, 4.0, 3.01, 3.5, 6.0])
    far = np.array([3.4, 3.0, 3.4, 9.0, 8.9, 9.0])
    values = np.stack([deep, far, np.sort(deep)])
    assert module._is_contested(values, values.argmin(axis=1)).tolist() == [True, False, False]


@criteria
def test_two_minima_equal_refits(criterion, monkeypatch):
    """Strong columns with noise and weak ones with a signal: the criterion has a minimum for each in some pairs."""
    rng = np.random.default_rng(6)
    X = rng.standard_normal((60, 12)) * np.repeat([30.0, 0.03], 6)
    y = X[:, 6:] @ rng.standard_normal(6) * 12 + 0.02 * X[:, 0] + rng.standard_normal(60)
    watched, model = Watched(monkeypatch), PenalizedRegression(lam=criterion)
    quiet_nested_cv(model, X, y, n_folds="n")
    assert watched.found
    assert watched.largest_gap(model, X, y, count=120) < TOLERANCE


@criteria
@pytest.mark.parametrize("signal", [0.0, 0.3])
def test_how_pairs_are_batched_changes_nothing(criterion, signal, monkeypatch):
    X, y = problem(90, 4, 7, signal)
    one = quiet_nested_cv(PenalizedRegression(lam=criterion), X, y)
    monkeypatch.setattr(module, "AXIS_CHUNK", 16)
    monkeypatch.setattr(module, "CHUNK", 100)
    other = quiet_nested_cv(PenalizedRegression(lam=criterion), X, y, n_jobs=2)
    assert relative_gap(other.fold_errors.e_in, one.fold_errors.e_in) < 1e-13


def test_slopes_of_pairs_are_derivatives():
    X, y = problem(40, 3, seed=8)
    for criterion in PAIR_CRITERIA:
        search = _search_of(X, y, criterion)
        i, j = np.array([0, 3]), np.array([5, 39])
        pairs, step = module._Pairs(search, i, j), 1e-4
        for rho in (-1.0, 2.0, 6.0):
            at = np.full(2, rho)
            numeric = (_value_of(pairs, at + step) - _value_of(pairs, at - step)) / (2 * step)
            slope = pairs.slopes(at)[0] * _factor_of(pairs, at)
            np.testing.assert_allclose(slope, numeric, rtol=1e-6)


def _search_of(X, y, criterion):
    """As the engine of the route makes it, without an intercept."""
    fit = spectrum_of_rows(columns_of(X, None, False), y[:, None])
    return PairSearch(fit.spectrum, np.zeros((len(y), 0)), criterion)


def _value_of(pairs, rho):
    (terms,), f = pairs.terms(rho, with_slopes=False)
    totals, _ = pairs.of.totals(f)
    if pairs.of.criterion == "gcv":
        return module.gcv_of(terms, totals)[2]
    return module.reml_of(terms, totals, np.log(f).sum(axis=-1), pairs.of._dimension)[1]


def _factor_of(pairs, rho):
    """What the slope of a criterion is divided by."""
    if pairs.of.criterion == "reml":
        return 0.5
    (terms,), f = pairs.terms(rho, with_slopes=False)
    _, left, _ = module.gcv_of(terms, pairs.of.totals(f)[0])
    return 1.0 / np.square(left)
