"""The cross of everything: gram, one-step and refits give the same numbers."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LinearRegression, Ridge

import reference
from helpers import (
    FAST_ROUTES,
    assert_fold_errors,
    data,
    quiet_nested_cv,
    random_folds,
    random_groups,
    random_weights,
    relative_gap,
    tolerance,
)


def signed(y, prediction):
    return (y - prediction) ** 2 - 0.3 * prediction * y


@st.composite
def cases(draw):
    """Data, an estimator and the keywords of a call, with the fold ids that they imply."""
    n, seed = draw(st.integers(10, 22)), draw(st.integers(0, 2**32 - 1))
    lam = draw(st.sampled_from([0.0, 1e-6, 1e-2, 1.0, 1e3]))
    p = draw(st.integers(1, 3 if lam == 0 else 30))
    weights = random_weights(n, draw(st.sampled_from(["none", "positive", "zeros"])), seed)
    leave_two_out = draw(st.booleans())
    if draw(st.booleans()):
        n_groups = draw(st.integers(5, n // 2 + 2))
        groups = random_groups(n, n_groups, seed)
        if np.bincount(groups).max() > n / 2:
            groups = np.arange(n) % n_groups
        unscored = draw(st.sampled_from([0, 0, 1]))
        K = n_groups if leave_two_out else draw(st.integers(3, n_groups - unscored))
        folds = groups[None] if leave_two_out else random_folds(n_groups, K, 2, seed, unscored)[:, groups]
    else:
        groups, unscored = None, draw(st.sampled_from([0, 0, 2]))
        K = n if leave_two_out else draw(st.integers(3, n - unscored))
        folds = np.arange(n)[None] if leave_two_out else random_folds(n, K, 2, seed, unscored)
    return {
        "data": data(n, p, seed, draw(st.sampled_from([None, 2]))),
        "lam": lam,
        "fit_intercept": draw(st.booleans()),
        "folds": folds,
        "leave_two_out": leave_two_out,
        "weights": weights,
        "groups": groups,
        "loss": draw(st.sampled_from([*reference.LOSSES, signed])),
    }


def enough_rows(case):
    """Whether least squares has more rows of weight than columns in every training set."""
    X = case["data"][0]
    heavy = np.ones(len(X), bool) if case["weights"] is None else case["weights"] > 0
    least = min(heavy[train].sum() for row in case["folds"] for _, train in reference.training_sets(row))
    return least >= X.shape[1] + case["fit_intercept"] + (1 if case["lam"] == 0 else 0)


@given(cases())
def test_fast_routes_equal_refits_whatever_is_combined(case):
    (X, y), lam, w = case["data"], case["lam"], case["weights"]
    if lam == 0 and not enough_rows(case):
        lam = 1e-2
    if (
        w is not None
        and case["fit_intercept"]
        and not all(w[train].any() for row in case["folds"] for _, train in reference.training_sets(row))
    ):
        w = None  # nothing left to fit an intercept to
    estimator = (
        Ridge(lam, fit_intercept=case["fit_intercept"])
        if lam
        else LinearRegression(fit_intercept=case["fit_intercept"])
    )
    folds = {"n_folds": "n"} if case["leave_two_out"] else {"folds": case["folds"]}
    shared = {"loss": case["loss"], "groups": case["groups"], "sample_weight": w, **folds}
    results = [quiet_nested_cv(estimator, X, y, route=route, **shared) for route in FAST_ROUTES]
    rtol = tolerance(X, case["folds"], lam, None, case["fit_intercept"], w)
    for q in range(y.shape[1] if y.ndim == 2 else 1):
        target = y if y.ndim == 1 else y[:, q]
        predict = reference.refitter(X, target, lam, None, case["fit_intercept"], w)
        losses = reference.fold_losses(target, case["folds"], predict, case["loss"], w, case["groups"])
        mse, floor, drawn = reference.covariance_mse(losses)
        for result in results:
            assert_fold_errors(result, losses, rtol, output=None if y.ndim == 1 else q)
            # the mse is a sum of terms of both signs: relative to their size
            whole = mse + drawn
            assert relative_gap(np.atleast_1d(result.mse)[q], whole) <= 100 * rtol * max(1, floor / abs(whole))
            centre = np.atleast_1d(result.estimate)[q]
            spread = abs(losses.raw_estimate) + abs(losses.cv_estimate)
            assert abs(centre - reference.centre(losses)) <= 10 * rtol * spread
