"""Drop sets and score sets: parts, training sets, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from onefit.dropfolds import as_source, drop_sets, is_complement
from onefit.errors import FoldError
from onefit.folds import ExplicitFolds

ROWS = np.arange(40)
BLOCKS = [(ROWS[max(0, 10 * j - 3) : 10 * j + 13], ROWS[10 * j : 10 * j + 10]) for j in range(4)]


def test_every_drop_set_and_score_set_is_a_union_of_parts():
    folds = drop_sets(40, BLOCKS).whole
    parts = folds.parts.ids[0]
    assert folds.parts.n_folds == 10  # a middle and one or two edges of each block
    for fold, (drop, score) in enumerate(BLOCKS):
        for rows in (drop, score):
            inside = np.isin(parts, np.unique(parts[rows]))
            assert np.array_equal(np.flatnonzero(inside), rows)
        assert np.array_equal(folds.parts_out(fold), np.unique(parts[drop]))


@pytest.mark.parametrize("count", [4, 70])
def test_many_folds_have_parts_too(count):
    rng = np.random.default_rng(0)
    pairs = [(np.union1d(rng.choice(200, 20), [j]), np.array([j])) for j in range(count)]
    folds = drop_sets(200, pairs).whole
    signature = {}
    for row, part in enumerate(folds.parts.ids[0]):
        inside = tuple(j for j, (drop, _) in enumerate(pairs) if row in drop), row if row < count else -1
        assert signature.setdefault(part, inside) == inside or part == -1
    assert len(set(signature.values())) == len(signature)


def test_sizes_of_training_sets_are_those_of_the_rows_left():
    folds = drop_sets(40, BLOCKS).whole
    sizes = [len(folds.training_rows(0, j, k)) for j in range(4) for k in range(j + 1, 4)]
    assert folds.training_sizes == (np.mean([40 - len(drop) for drop, _ in BLOCKS]), np.mean(sizes))
    assert folds.smallest_training_set == min(sizes)
    assert np.array_equal(folds.training_rows(0, 0, 1), ROWS[23:])


def test_what_drops_what_it_scores_is_a_partition():
    plain = as_source(drop_sets(40, [(score, score) for _, score in BLOCKS]))
    assert isinstance(plain, ExplicitFolds)
    assert plain.ids[0].tolist() == (ROWS // 10).tolist()


@pytest.mark.parametrize(
    ("pairs", "words"),
    [
        (BLOCKS[:2], "at least 3"),
        ([*BLOCKS[:3], (ROWS[30:], ROWS[28:])], "trains on row 28"),
        ([*BLOCKS[:3], (ROWS[20:], ROWS[29:])], "scores row 29 in fold 2"),
        ([*BLOCKS[:3], (ROWS, ROWS[30:])], "no row to train on"),
        ([*BLOCKS[:3], (ROWS[30:], ROWS[:0])], "scores no row"),
    ],
)
def test_what_makes_no_sense_is_refused(pairs, words):
    with pytest.raises(FoldError, match=words):
        drop_sets(40, pairs)


def test_complements():
    assert is_complement(ROWS[10:], ROWS[:10], 40)
    assert not is_complement(ROWS[11:], ROWS[:10], 40)
    assert not is_complement(ROWS[9:], ROWS[:10], 40)
