"""Random partitions: reproducible, prefix-stable, evenly dealt; repeats by the stopping rule."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.neighbors import KNeighborsRegressor

import onefit
from helpers import FOLD_ERRORS, ROUTES, assert_same_results, quiet_nested_cv, warned_nested_cv
from onefit.errors import FoldError
from onefit.folds import Folds, RandomFolds, entropy_of
from onefit.givenfolds import explicit_folds


def test_same_seed_gives_the_same_partitions_on_every_route(regression):
    results = [
        quiet_nested_cv(Ridge(), *regression, n_folds=7, n_repeats=3, random_state=5, route=route) for route in ROUTES
    ]
    for result in results[:-1]:
        assert_same_results(result, results[-1])


@pytest.mark.parametrize("estimator", [Ridge(), KNeighborsRegressor(3)], ids=["fast", "refit"])
def test_number_of_jobs_changes_nothing(estimator, regression):
    settings = {"n_folds": 5, "n_repeats": 3, "random_state": 5}
    one, two = (quiet_nested_cv(estimator, *regression, **settings, n_jobs=n_jobs) for n_jobs in (1, 2))
    for name in FOLD_ERRORS:
        np.testing.assert_array_equal(getattr(one.fold_errors, name), getattr(two.fold_errors, name))
    assert one.interval == two.interval


@pytest.mark.parametrize("route", ROUTES)
def test_longer_run_begins_with_the_shorter_one(route, regression):
    short, long = (
        quiet_nested_cv(Ridge(), *regression, n_folds=6, n_repeats=n, random_state=1, route=route) for n in (2, 5)
    )
    for name in (*FOLD_ERRORS, "mse"):
        expected, actual = getattr(short.fold_errors, name), getattr(long.fold_errors, name)[:2]
        np.testing.assert_allclose(actual, expected, rtol=1e-12)


def test_repeats_and_seeds_differ(regression):
    one, other = (quiet_nested_cv(Ridge(), *regression, n_folds=5, n_repeats=2, random_state=s) for s in (0, 1))
    assert not np.isclose(one.fold_errors.e_out, other.fold_errors.e_out).any()
    assert not np.isclose(one.fold_errors.e_out[0], one.fold_errors.e_out[1]).any()


def test_no_seed_draws_anew(regression):
    one, other = (quiet_nested_cv(Ridge(), *regression, n_folds=5, n_repeats=2) for _ in range(2))
    assert one.estimate != other.estimate


def test_global_numpy_seed_is_neither_used_nor_moved(regression):
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    quiet_nested_cv(Ridge(), *regression, n_folds=5, n_repeats=2, random_state=0)
    np.testing.assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002


@given(st.integers(6, 30), st.data())
def test_rows_are_dealt_evenly_and_all_scored(n, data):
    """A constant column predicts the training mean, so equal predictions are rows of one fold."""
    n_folds = data.draw(st.integers(3, n // 2))
    X, y = np.ones((n, 1)), np.random.default_rng(n).standard_normal(n)
    settings = {"n_folds": n_folds, "n_repeats": 1, "random_state": n, "route": "refit"}
    result = quiet_nested_cv(LinearRegression(), X, y, **settings)
    assert result.heldout["loss"].notna().all()
    assert result.fold_errors.e_out.shape == (1, n_folds)
    prediction = result.heldout["prediction"].to_numpy()
    _, sizes = np.unique(prediction.round(10), return_counts=True)
    assert len(sizes) == n_folds
    assert sizes.max() - sizes.min() <= 1


# --------------------------------------------------------------------------------------------- repeats


@pytest.mark.parametrize("seed", range(4))
def test_automatic_repeats_stop_when_the_half_width_is_known(seed):
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((50, 10)), rng.standard_normal(50)
    result = quiet_nested_cv(LinearRegression(), X, y, n_folds=10, random_state=seed)
    assert 2 <= result.n_repeats <= 200
    assert len(result.fold_errors.e_in) == result.n_repeats
    assert result.monte_carlo_error < 0.05 or result.n_repeats == 200


def test_automatic_repeats_begin_as_a_fixed_number_of_them_does(regression):
    auto = quiet_nested_cv(Ridge(), *regression, n_folds=5, random_state=3)
    fixed = quiet_nested_cv(Ridge(), *regression, n_folds=5, n_repeats=auto.n_repeats, random_state=3)
    assert_same_results(auto, fixed)


def noisy_half_width():
    rng = np.random.default_rng(6)
    return rng.standard_normal((30, 12)), rng.standard_normal(30)


def test_few_repeats_warn_when_the_half_width_is_noisy():
    X, y = noisy_half_width()
    for seed in range(30):
        settings = {"n_folds": 4, "n_repeats": 2, "random_state": seed}
        if quiet_nested_cv(LinearRegression(), X, y, **settings).monte_carlo_error > 0.15:
            break
    else:
        pytest.fail("no seed with a noisy half-width")
    _, warned = warned_nested_cv(LinearRegression(), X, y, **settings)
    assert "n_repeats" in warned[onefit.errors.MonteCarloWarning]


def test_many_repeats_do_not_warn(regression):
    result, warned = warned_nested_cv(Ridge(), *regression, n_folds=10, n_repeats=40, random_state=0)
    assert result.monte_carlo_error < 0.1
    assert onefit.errors.MonteCarloWarning not in warned


@pytest.mark.parametrize(("n", "n_folds"), [(12, 4), (53, 5), (10, 4), (7, 3)])
def test_members_and_slots_are_those_of_the_ids(n, n_folds):
    """Routes read the rows of a fold from its members and from the ids: in the same, rising order."""
    folds = RandomFolds(n, n_folds, 123).block(3, 9)
    again = Folds(folds.ids, n_folds)
    np.testing.assert_array_equal(folds.members, again.members)
    np.testing.assert_array_equal(folds.slots, again.slots)
    np.testing.assert_array_equal(folds.present, folds.members < n)
    found = np.take_along_axis(folds.members.reshape(6, -1), folds.slots, axis=1)
    np.testing.assert_array_equal(found, np.broadcast_to(np.arange(n), (6, n)))
    for name in ("members", "slots", "sizes", "present"):
        np.testing.assert_array_equal(getattr(folds.part(2, 4), name), getattr(folds, name)[2:4])


def test_without_a_seed_the_operating_system_gives_one():
    first, second = entropy_of(None), entropy_of(None)  # the tests' own series of seeds is not asked here
    assert first != second
    assert first.bit_length() > 64


@pytest.mark.parametrize("sizes", [(4, 4, 4), (5, 3, 4), (4, 4, 1)], ids=["equal", "unequal", "far apart"])
@pytest.mark.parametrize("unscored", [0, 3])
def test_members_of_folds_are_their_rows_in_order(sizes, unscored):
    rng = np.random.default_rng(0)
    row = np.repeat([0, 1, 2, -1], [*sizes, unscored])
    ids = np.stack([rng.permutation(row) for _ in range(4)])
    for folds in (Folds(ids, 3), explicit_folds(ids, len(row)).block(0, 4)):
        for repeat, fold in np.ndindex(4, 3):
            rows = np.flatnonzero(ids[repeat] == fold)
            assert folds.sizes[repeat, fold] == len(rows)
            np.testing.assert_array_equal(folds.members[repeat, fold, : len(rows)], rows)
            assert (folds.members[repeat, fold, len(rows) :] == len(row)).all()


def test_more_folds_than_sixteen_bits_can_number():
    ids = np.random.default_rng(0).permutation(2**15 + 1)[None]
    np.testing.assert_array_equal(Folds(ids, ids.size).members[0, :, 0], np.argsort(ids[0]))


def test_the_first_fold_that_has_no_row_is_named():
    ids = np.array([[0, 1, 2, 3], [0, 1, 2, 3], [0, 3, 3, 1], [0, 0, 0, 0]])
    with pytest.raises(FoldError, match="folds has no row with id 2 in repeat 2; every repeat must use all ids 0 to 3"):
        explicit_folds(ids, 4)
