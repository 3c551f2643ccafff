"""Folds of streamed rows: bijections, even sizes, the same for any block, and nothing that a shuffle would not show."""

import numpy as np
import pytest

from onefit.dealing import DealtClasses, DealtGroups, DealtRows, KeyedOrder, deal_groups
from onefit.errors import FoldError
from onefit.folds import RandomFolds

SIZES = [0, 1, 2, 3, 4, 5, 7, 12, 99, 100, 101, 1023, 1024, 9_999, 10_001, 65_537, 200_003]


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("repeat", [0, 3])
def test_places_are_a_bijection_of_the_row_numbers(n, repeat):
    places = KeyedOrder(n, (5, 0, repeat)).places(0, n)
    assert np.array_equal(np.sort(places), np.arange(n))


@pytest.mark.parametrize("n", [2**32 - 1, 2**32, 2**32 + 1, 10**11, 2**62])
def test_places_of_many_rows_are_in_range_and_differ(n):
    order = KeyedOrder(n, (5, 0, 0))
    for start in (0, n // 3, n - 40_000):
        places = order.places(start, start + 40_000)
        assert places.min() >= 0
        assert places.max() < n
        assert np.unique(places).size == 40_000


def test_rows_just_below_and_above_32_bits_spread_over_the_whole_range():
    for n in (2**32, 2**32 + 1):
        places = KeyedOrder(n, (1, 0, 0)).places(0, 100_000) / n
        assert abs(places.mean() - 0.5) < 4 / np.sqrt(12 * 100_000)


@pytest.mark.parametrize("n", [10, 1_000, 70_001])
@pytest.mark.parametrize("step", [1, 7, 4_096, 40_000])
def test_folds_do_not_depend_on_blocks(n, step):
    if n // step > 20_000:
        pytest.skip("the same as with fewer rows")
    rows = DealtRows(n, 5, entropy=3)
    whole = rows.ids(0, n, repeat=2)
    starts = range(0, n, step) if n // step < 1_000 else range(0, n, n // 50)
    for start in starts:
        stop = min(n, start + step)
        assert np.array_equal(rows.ids(start, stop, repeat=2), whole[start:stop])


def test_places_of_chosen_rows_are_those_of_the_block():
    order = KeyedOrder(5_000, (1, 2, 3))
    numbers = np.array([4_999, 0, 17, 2_500])
    assert np.array_equal(order.places_of(numbers), order.places(0, 5_000)[numbers])


@pytest.mark.parametrize("n", [10, 103, 20_001])
@pytest.mark.parametrize("n_folds", [3, 4, 10])
def test_sizes_are_even_and_as_said(n, n_folds):
    rows = DealtRows(n, n_folds, entropy=0)
    counts = np.bincount(rows.ids(0, n, repeat=1), minlength=n_folds)
    assert np.array_equal(counts, rows.sizes())
    assert np.ptp(counts) <= 1


def test_seeds_streams_and_repeats_give_other_folds():
    ids = {
        (entropy, stream, repeat): tuple(DealtRows(60, 5, entropy, stream).ids(0, 60, repeat))
        for entropy in (0, 1, 2**100)
        for stream in (0, 1)
        for repeat in (0, 1)
    }
    assert len(set(ids.values())) == len(ids)


@pytest.mark.parametrize(("n", "n_folds"), [(7, 3), (12, 3), (50, 5), (1_000, 10), (30_000, 10)])
def test_pairs_of_rows_share_a_fold_as_often_as_in_a_shuffle(n, n_folds):
    """Neighbours, and rows a network's width apart, which share a half: the weak spots of a Feistel network."""
    repeats = 1_500
    width = KeyedOrder(n, (0,)).width
    rows = DealtRows(n, n_folds, entropy=11)
    ids = np.stack([rows.ids(0, min(n, 600), repeat) for repeat in range(repeats)])
    pairs = [(i, i + step) for step in {1, 2, width} for i in range(12) if i + step < ids.shape[1]]
    sizes = rows.sizes()
    chance = (sizes * (sizes - 1)).sum() / (n * (n - 1))
    z = [(np.mean(ids[:, i] == ids[:, j]) - chance) / np.sqrt(chance * (1 - chance) / repeats) for i, j in pairs]
    assert np.max(np.abs(z)) < 4.5
    assert np.sqrt(np.mean(np.square(z))) < 1.6


def test_all_orders_of_four_rows_are_equally_frequent():
    """Chi-square of 24 orders, 23 degrees of freedom: above 60 with a chance of 4e-5."""
    draws = 4_800
    orders = [tuple(KeyedOrder(4, (2, 0, repeat)).places(0, 4)) for repeat in range(draws)]
    counts = np.array(list({order: orders.count(order) for order in set(orders)}.values()))
    assert len(counts) == 24
    assert ((counts - draws / 24) ** 2).sum() / (draws / 24) < 60


def test_a_stretch_of_rows_has_folds_as_if_drawn_without_replacement():
    """Means over stretches of 2,000 of 100,000 rows vary as a shuffle's, so that sorted tables are dealt evenly."""
    n, width, n_folds = 100_000, 2_000, 10
    ids = np.stack([DealtRows(n, n_folds, entropy=1).ids(0, n, repeat) for repeat in range(8)])
    counts = np.stack([(ids == fold).reshape(8, n // width, width).sum(axis=2) for fold in range(n_folds)])
    variance = width / n_folds * (1 - 1 / n_folds) * (n - width) / (n - 1)
    ratio = ((counts - width / n_folds) ** 2).mean() / variance
    assert abs(ratio - 1) < 5 * np.sqrt(2 / (counts.size * 0.9))


def class_blocks(classes, step):
    """Blocks of rows, each with the rows of each class before it."""
    for start in range(0, len(classes), step):
        yield classes[start : start + step], np.bincount(classes[:start], minlength=classes.max() + 1)


@pytest.mark.parametrize("step", [1, 13, 1_000])
def test_classes_are_spread_evenly_whatever_the_blocks(step):
    rng = np.random.default_rng(0)
    classes = rng.choice(4, size=997, p=[0.6, 0.3, 0.09, 0.01])
    counts = np.bincount(classes)
    dealt = DealtClasses(tuple(counts.tolist()), 5, entropy=4)
    whole = dealt.ids(classes, np.zeros(4, dtype=int), repeat=1)
    parts = [dealt.ids(block, before, repeat=1) for block, before in class_blocks(classes, step)]
    assert np.array_equal(np.concatenate(parts), whole)
    assert np.array_equal(np.bincount(whole, minlength=5), dealt.sizes(1))
    assert np.ptp(dealt.sizes(1)) <= 1
    for c in range(4):
        assert np.ptp(np.bincount(whole[classes == c], minlength=5)) <= 1


def test_the_same_rows_of_two_classes_are_dealt_apart():
    dealt = DealtClasses((500, 500), 5, entropy=0)
    ids = dealt.ids(np.repeat([0, 1], 500), [0, 0], repeat=0)
    assert 60 < (ids[:500] == ids[500:]).sum() < 140  # 100 by chance, standard deviation 9


@pytest.mark.parametrize("n_folds", [3, 7, 40])
def test_groups_are_dealt_as_in_memory(n_folds):
    rng = np.random.default_rng(1)
    groups = np.unique(rng.zipf(1.5, size=3_000), return_inverse=True)[1]
    counts = np.bincount(groups)
    dealt = DealtGroups(tuple(counts.tolist()), n_folds, entropy=9, stream=2)
    memory = RandomFolds(len(groups), n_folds, entropy=9, stream=2, groups=groups).block(0, 3)
    for repeat in range(3):
        assert np.array_equal(dealt.ids(groups, repeat), memory.ids[repeat])
        assert np.array_equal(dealt.sizes(repeat), memory.sizes[repeat])


def test_as_many_folds_as_groups_are_the_groups_themselves():
    dealt = DealtGroups((3, 1, 2), 3, entropy=0)
    assert dealt.folds_of(5).tolist() == [0, 1, 2]


def test_groups_go_to_the_fold_with_the_fewest_rows():
    sizes = np.random.default_rng(2).integers(1, 50, size=200)
    filled = np.zeros(6)
    fold_of = np.empty(200, dtype=int)
    for group in np.random.default_rng(3).permutation(200):
        fold_of[group] = filled.argmin()
        filled[fold_of[group]] += sizes[group]
    assert np.array_equal(deal_groups(sizes, 6, np.random.default_rng(3)), fold_of)


def test_too_few_groups_are_refused():
    with pytest.raises(FoldError, match="2 groups cannot make 3 folds"):
        DealtGroups((5, 5), 3, entropy=0).folds_of(0)


def test_rows_that_are_not_there_are_refused():
    with pytest.raises(FoldError, match="changed between passes"):
        DealtRows(100, 5, entropy=0).ids(90, 101, repeat=0)
    with pytest.raises(FoldError, match="changed between passes"):
        KeyedOrder(100, (0,)).places_of(np.array([3, 100]))
    with pytest.raises(FoldError, match="rows can be dealt"):
        KeyedOrder(2**63, (0,))
