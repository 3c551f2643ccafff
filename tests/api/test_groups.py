"""Groups stay together, and the interval counts groups rather than rows."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from sklearn.linear_model import LinearRegression, Ridge, RidgeClassifier
from sklearn.model_selection import GroupKFold, KFold, RepeatedKFold, ShuffleSplit, StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsRegressor

import onefit
import reference
from helpers import (
    ROUTES,
    STRICT,
    assert_equals_reference,
    assert_row,
    assert_same_results,
    data,
    quiet_nested_cv,
    random_folds,
    random_groups,
    random_weights,
)
from onefit.errors import OneFitError
from onefit.folds import RandomFolds

every = pytest.mark.parametrize("route", ROUTES)


def grouped_folds(groups, n_folds, n_repeats=1, seed=0):
    """Random partitions that keep groups together, in another way than onefit's."""
    distinct, ids = np.unique(groups, return_inverse=True)
    return random_folds(len(distinct), n_folds, n_repeats, seed)[:, ids]


def training_rows_seen(X, y, groups, **kwargs):
    """Row numbers of every training set that a refitted learner gets; the rows carry their numbers in column 0."""
    seen = []

    class Spy(KNeighborsRegressor):
        def fit(self, X, y):
            seen.append(X[:, 0].astype(int))
            return super().fit(X, y)

    numbered = np.column_stack([np.arange(len(X)), X])
    quiet_nested_cv(Spy(1), numbered, y, groups=groups, **kwargs)
    return seen


# --------------------------------------------------------------------------------------------- the folds


@given(st.integers(8, 60), st.integers(3, 20), st.integers(3, 8), st.integers(0, 2**32 - 1))
def test_random_folds_never_split_a_group_and_use_every_fold(n, n_groups, n_folds, seed):
    n_groups = min(n_groups, n)
    n_folds = min(n_folds, n_groups)
    groups = random_groups(n, n_groups, seed)
    folds = RandomFolds(n, n_folds, seed, groups=groups).block(0, 3)
    assert (folds.sizes > 0).all()
    for row in folds.ids:
        assert all(len(set(row[groups == g])) == 1 for g in range(n_groups))


@pytest.mark.parametrize("n_folds", [4, "n"])
def test_no_training_set_has_a_part_of_a_group(n_folds):
    X, y = data(30, 2, 1)
    groups = random_groups(30, 8)
    sets = training_rows_seen(X, y, groups, n_folds=n_folds, n_repeats=2, random_state=0)
    K = 8 if n_folds == "n" else n_folds
    assert len(sets) == K * (K + 1) // 2 * (1 if n_folds == "n" else 2)
    for rows in sets:
        assert not set(groups[rows]) & set(groups[np.setdiff1d(np.arange(30), rows)])


def test_folds_of_groups_are_reproducible_and_differ_between_repeats():
    X, y = data(60, 3, 2)
    groups = random_groups(60, 20)
    shared = {"n_folds": 5, "groups": groups}
    one, same, other = (
        quiet_nested_cv(Ridge(), X, y, n_repeats=L, random_state=s, **shared).fold_errors.e_out
        for L, s in ((3, 0), (5, 0), (3, 1))
    )
    np.testing.assert_allclose(one, same[:3], rtol=1e-12)
    assert not np.allclose(one, other)
    assert not np.allclose(one[0], one[1])


# -------------------------------------------------------------------------------- against real refits


@pytest.mark.sweep(2)
@every
@pytest.mark.parametrize("weights", ["none", "zeros"])
@pytest.mark.parametrize("p", [3, 40])
def test_cluster_robust_interval_equals_the_literal_loop(p, weights, route):
    X, y = data(36, p, 3)
    groups, w = random_groups(36, 11), random_weights(36, weights)
    folds = grouped_folds(groups, 5, 3)
    result = quiet_nested_cv(Ridge(0.9), X, y, folds=folds, groups=groups, sample_weight=w, route=route)
    losses = reference.fold_losses(y, folds, reference.refitter(X, y, 0.9, weights=w), weights=w, groups=groups)
    assert_equals_reference(result, losses)
    for rule in set(reference.RULES) - {"covariance"}:
        assert_row(result, rule, reference.RULES[rule](losses, 0.95), 10 * STRICT)


def test_variance_between_groups_is_that_of_the_formula():
    """G/(G-1) sum_g (sum_{i in g} (l_i - lbar))^2 / n^2, as DESIGN has it."""
    X, y = data(40, 2, 4)
    groups = random_groups(40, 9)
    result = quiet_nested_cv(LinearRegression(), X, y, n_folds="n", groups=groups)
    loss = result.heldout["loss"].to_numpy()
    total = 0.0
    for g in range(9):
        inside = 0.0
        for i in range(40):
            inside += loss[i] - loss.mean() if groups[i] == g else 0.0
        total += inside**2
    floor = 9 / 8 * total / 40**2
    np.testing.assert_allclose(result.inflation, result.standard_error / np.sqrt(floor), rtol=STRICT)


@every
@pytest.mark.parametrize("unscored", [0, 2])
def test_identity_scale_has_one_degree_of_freedom_less_than_there_are_groups(unscored, route):
    """Groups that are never scored are none of them."""
    X, y = data(36, 3, 5)
    groups = random_groups(36, 10)
    by_group = random_folds(10, 4, seed=5, unscored=unscored)
    folds = by_group[:, groups]

    def difference(y, prediction):
        return (y - prediction) ** 2 - y**2

    result = quiet_nested_cv(Ridge(1.0), X, y, folds=folds, groups=groups, loss=difference, route=route)
    half = stats.t.ppf(0.975, 10 - unscored - 1) * result.standard_error
    # one end is Student's, the other is that of Hall, who minds the skewness
    gaps = np.array([result.estimate - result.interval[0], result.interval[1] - result.estimate]) / half
    np.testing.assert_allclose(gaps.min(), 1.0, rtol=STRICT)
    assert gaps.max() > 1.01
    losses = reference.fold_losses(y, folds, reference.refitter(X, y, 1.0), difference, groups=groups)
    assert_row(result, "covariance", reference.covariance(losses, 0.95), 10 * STRICT)


@pytest.mark.parametrize("n_folds", [5, "n"])
def test_routes_agree_on_random_folds_of_groups(n_folds):
    X, y = data(40, 4, 6)
    groups = random_groups(40, 12)
    results = [
        quiet_nested_cv(Ridge(0.5), X, y, groups=groups, n_folds=n_folds, n_repeats=3, random_state=1, route=route)
        for route in ROUTES
    ]
    for result in results[:-1]:
        assert_same_results(result, results[-1])


@pytest.mark.parametrize("n_folds", [5, "n"])
def test_a_group_a_row_is_no_group(n_folds):
    X, y = data(30, 3, 7)
    folds = random_folds(30, 30 if n_folds == "n" else 5, 1)
    plain = quiet_nested_cv(Ridge(1.0), X, y, folds=folds)
    assert_same_results(quiet_nested_cv(Ridge(1.0), X, y, folds=folds, groups=np.arange(30)[::-1]), plain)


@pytest.mark.parametrize("as_groups", [list, pd.Series, pd.Categorical, lambda g: np.array(g, dtype=object)])
def test_names_of_groups_do_not_matter(as_groups):
    X, y = data(30, 3, 8)
    ids = random_groups(30, 8)
    named = as_groups([f"patient {g}" for g in ids])
    one, other = (quiet_nested_cv(Ridge(1.0), X, y, n_folds="n", groups=g) for g in (ids, named))
    assert_same_results(one, other)


def test_groups_with_a_common_effect_get_a_wider_interval():
    rng = np.random.default_rng(9)
    groups = np.repeat(np.arange(30), 4)
    X = rng.standard_normal((120, 3))
    y = X[:, 0] + 2 * rng.standard_normal(30)[groups] + rng.standard_normal(120)
    with_groups, without = (quiet_nested_cv(Ridge(1.0), X, y, n_folds="n", groups=g) for g in (groups, None))
    assert with_groups.standard_error > 1.3 * without.standard_error


# ----------------------------------------------------------------------------------------- splitters


def ids_of(splitter, K, *args):
    tests = [test for _, test in splitter.split(*args)]
    ids = np.empty((len(tests) // K, len(args[0])), dtype=int)
    for number, test in enumerate(tests):
        ids[number // K, test] = number % K
    return ids


@pytest.mark.parametrize(
    ("splitter", "grouped"),
    [
        (GroupKFold(4), True),
        (KFold(4, shuffle=True, random_state=0), False),
        (RepeatedKFold(n_splits=4, n_repeats=3, random_state=0), False),
    ],
    ids=["GroupKFold", "KFold", "RepeatedKFold"],
)
def test_splitter_is_the_folds_of_its_test_sets(splitter, grouped):
    X, y = data(30, 3, 10)
    groups = random_groups(30, 9) if grouped else None
    ids = ids_of(splitter, 4, X, y, groups)
    one, other = (quiet_nested_cv(Ridge(1.0), X, y, folds=f, groups=groups) for f in (splitter, ids))
    assert_same_results(one, other)
    assert (one.n_folds, one.n_repeats) == (4, len(ids))


def test_stratified_splitter_sees_the_classes():
    X, y = data(30, 3, 11)
    labels = np.where(y > np.median(y), "high", "low")
    splitter = StratifiedKFold(5, shuffle=True, random_state=0)
    ids = ids_of(splitter, 5, X, labels)
    one, other = (quiet_nested_cv(RidgeClassifier(), X, labels, folds=f) for f in (splitter, ids))
    assert_same_results_of_classes(one, other)


def assert_same_results_of_classes(one, other):
    np.testing.assert_array_equal(one.fold_errors.e_in, other.fold_errors.e_in)
    assert one.interval == other.interval
    assert (one.heldout["prediction"] == other.heldout["prediction"]).all()


# ---------------------------------------------------------------------------------------------- errors


N = 30
X, Y = data(N, 3, 12)
GOOD = random_groups(N, 10)


def refused(match, groups, **kwargs):
    with pytest.raises(OneFitError, match=f"(?is){match}") as caught:
        quiet_nested_cv(Ridge(1.0), X, Y, groups=groups, **kwargs)
    return str(caught.value)


@every
@pytest.mark.parametrize("n_groups", [1, 2])
def test_fewer_than_three_groups_are_refused(n_groups, route):
    refused(rf"\b{n_groups} group.*3", np.arange(N) % n_groups, route=route)


def test_group_of_more_than_half_the_rows_is_refused_by_name():
    groups = np.array([f"g{i % 5}" for i in range(N)], dtype=object)
    groups[:16] = "giant"
    message = refused("giant", groups)
    assert "30 rows" in message
    groups[0] = "g0"
    quiet_nested_cv(Ridge(1.0), X, Y, groups=groups)  # exactly half is allowed


@pytest.mark.parametrize("missing", [np.nan, None, pd.NA])
def test_missing_groups_are_refused_with_their_number(missing):
    groups = GOOD.astype(object)
    groups[[3, 8]] = missing
    refused("groups.*missing in 2 row", groups)


def test_groups_of_another_length_are_refused():
    refused("groups.*30 rows", GOOD[:-1])
    refused("groups.*30 rows", GOOD[:, None])


def test_groups_of_mixed_types_are_refused():
    groups = GOOD.astype(object)
    groups[0] = "text"
    refused("groups.*sorted", groups)


def test_folds_that_split_a_group_are_refused():
    folds = grouped_folds(GOOD, 4, 2)
    inside = np.flatnonzero(GOOD[0] == GOOD)
    assert len(inside) > 1
    folds[1, inside[0]] = (folds[1, inside[0]] + 1) % 4
    refused(r"folds.*splits group.*repeat 1", GOOD, folds=folds)
    refused("splits group", GOOD, folds=KFold(5))
    folds[1, inside[0]] = -1
    refused("splits group", GOOD, folds=folds)


def test_bias_folds_that_split_a_group_are_refused():
    refused("bias_folds.*splits", GOOD, folds=grouped_folds(GOOD, 4), bias_folds=random_folds(N, 4))


@every
def test_more_folds_than_groups_are_refused(route):
    refused("n_folds=11.*10.*groups", GOOD, n_folds=11, route=route)


def test_splitter_that_does_not_partition_is_refused():
    refused("partition", GOOD, folds=ShuffleSplit(4, random_state=0))


def test_groups_are_not_modified():
    groups = GOOD.copy()
    quiet_nested_cv(Ridge(1.0), X, Y, groups=groups, n_folds=4, n_repeats=2)
    np.testing.assert_array_equal(groups, GOOD)


def test_a_calibration_that_does_not_exist_is_nan_without_a_warning():
    """Of classes that are told apart without error; its variance over rows has no rows."""
    y = np.repeat([0, 1], 30)
    X = 100.0 * y[:, None] + np.random.default_rng(0).normal(size=(60, 1))
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        found = onefit.nested_cv(
            GaussianNB(), X, y, groups=np.arange(60) // 2, loss="log_loss", n_folds=4, n_repeats=2, random_state=0
        )
    assert found.calibration["estimate"].isna().any()
