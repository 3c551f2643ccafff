"""Drop sets and score sets: folds whose training sets leave out more than what is scored.

Fold j is scored by the fit without the rows N_j, which hold the score set I_j and whatever is too close to it; for a
pair of folds the fit lacks both N_j and N_k. A partition is the case N_j = I_j. So is everything that scikit-learn's
splitters say: N_j are the rows that the split does not train on.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import cast

import numpy as np

from .errors import FoldError
from .folds import ExplicitFolds, Folds
from .typing import BoolArray, IntArray, Splitter
from .validation import Problem

__all__ = ["DropFolds", "DropSets", "NamedFolds", "as_source", "drop_sets", "is_complement", "splits_of"]

PACKED = 64
"""Folds whose memberships fit into one number."""


@dataclass(frozen=True)
class NamedFolds(Folds):
    """Folds that are parts of others, which errors are to name."""

    owner: DropFolds | None = None

    def words(self, repeat: int, out: Sequence[int]) -> str:
        """The folds that are scored without these parts, for people."""
        assert self.owner is not None
        return self.owner.words(repeat, self.owner.folds_without(out))


@dataclass(frozen=True)
class DropFolds(Folds):
    """One repeat of folds with drop sets: ``drops[j]`` are the rows that no fit sees when fold j is scored.

    Without ``has_pairs`` nothing is fitted without two folds: where all that is trained on comes before what is scored,
    a later fold is out already.
    """

    drops: tuple[IntArray, ...] = ()
    has_pairs: bool = True

    def training_rows(self, repeat: int, *out: int) -> IntArray:
        """Rows of the training set when the folds ``out`` are held out, each with its neighbourhood."""
        stays = np.ones(self.n, dtype=bool)
        for fold in out:
            stays[self.drops[fold]] = False
        return np.flatnonzero(stays)

    def part(self, start: int, stop: int) -> DropFolds:
        """There is one repeat."""
        return self

    @cached_property
    def dropped(self) -> BoolArray:
        """Whether a fit of a fold lacks a row, (folds, rows)."""
        dropped = np.zeros((self.n_folds, self.n), dtype=bool)
        for fold, rows in enumerate(self.drops):
            dropped[fold, rows] = True
        return dropped

    @cached_property
    def parts(self) -> NamedFolds:
        """The coarsest partition of which every drop set and every score set is a union; -1 for rows never dropped.

        Statistics are kept by parts: a buffer is part of several drop sets and is looked at once.
        """
        is_dropped = self.dropped.any(axis=0)
        signature = self._signatures[:, is_dropped]
        _, codes = np.unique(signature, axis=1, return_inverse=True) if len(signature) > 1 else _codes(signature[0])
        ids = np.full((1, self.n), -1, dtype=np.intp)
        ids[0, is_dropped] = np.ravel(codes)
        return NamedFolds(ids, int(ids.max()) + 1, self.first, owner=self)

    @cached_property
    def _signatures(self) -> IntArray:
        """In which drop sets a row is, and which fold scores it, as numbers: equal for rows of one part."""
        words = -(-self.n_folds // PACKED)
        bits = np.zeros((words, self.n), dtype=np.uint64)
        for fold, rows in enumerate(self.drops):
            bits[fold // PACKED, rows] |= np.uint64(1) << np.uint64(fold % PACKED)
        # what is dropped by the same folds may be scored by different ones, or by none
        table = np.vstack([bits.view(np.int64), self.ids[:1]])
        return table if len(table) > 2 else _paired(table)

    @cached_property
    def parts_dropped(self) -> BoolArray:
        """Which parts the fit of a fold lacks, (folds, parts)."""
        first = self.parts.members[0, :, 0]
        return self.dropped[:, first]

    def parts_out(self, *out: int) -> IntArray:
        """The parts that the fit without some folds lacks."""
        return np.flatnonzero(self.parts_dropped[list(out)].any(axis=0))

    def folds_without(self, parts: Sequence[int]) -> list[int]:
        """The one or two folds whose fit lacks just these parts."""
        wanted = np.zeros(self.parts.n_folds, dtype=bool)
        wanted[list(parts)] = True
        inside = np.flatnonzero(~(self.parts_dropped & ~wanted).any(axis=1))
        for j in inside:
            if np.array_equal(self.parts_dropped[j], wanted):
                return [int(j)]
        for at, j in enumerate(inside):
            for k in inside[at + 1 :]:
                if np.array_equal(self.parts_dropped[j] | self.parts_dropped[k], wanted):
                    return [int(j), int(k)]
        return []

    @cached_property
    def training_sizes(self) -> tuple[float, float]:
        """Mean number of training rows with one neighbourhood out, and with two."""
        each = self.parts.sizes[0].astype(float)
        out = self.parts_dropped.astype(float)
        alone = out @ each
        both = (out * each) @ out.T
        pairs = np.triu_indices(self.n_folds, 1)
        unions = (alone[:, None] + alone[None] - both)[pairs]
        return self.n - float(alone.mean()), self.n - float(unions.mean())

    @cached_property
    def smallest_training_set(self) -> int:
        """Rows of the smallest training set, of a pair if there are pairs."""
        if not self.has_pairs:
            return self.n - max(len(drop) for drop in self.drops)
        each = self.parts.sizes[0].astype(float)
        out = self.parts_dropped.astype(float)
        alone = out @ each
        unions = alone[:, None] + alone[None] - (out * each) @ out.T
        return self.n - round(float(unions[np.triu_indices(self.n_folds, 1)].max()))


def _codes(values: IntArray) -> tuple[IntArray, IntArray]:
    distinct, codes = np.unique(values, return_inverse=True)
    return distinct, codes


def _paired(table: IntArray) -> IntArray:
    """Two rows of numbers as one, equal where both are."""
    first, second = (np.unique(row, return_inverse=True)[1] for row in table)
    return np.asarray(first * (int(second.max()) + 1) + second, dtype=np.intp)[None]


@dataclass(frozen=True)
class DropSets:
    """The one repeat of folds with drop sets, as the routes ask for it."""

    whole: DropFolds

    @property
    def n(self) -> int:
        """Number of rows."""
        return self.whole.n

    @property
    def n_folds(self) -> int:
        """Number of folds."""
        return self.whole.n_folds

    @property
    def n_repeats(self) -> int:
        """One."""
        return 1

    @property
    def is_exhaustive(self) -> bool:
        """Whether every row is a fold of its own and nothing else is dropped with it."""
        return False

    def block(self, start: int, stop: int) -> DropFolds:
        """The repeat."""
        return self.whole


def drop_sets(
    n: int, pairs: Sequence[tuple[IntArray, IntArray]], name: str = "folds", has_pairs: bool = True
) -> DropSets:
    """From (drop, score) rows of each fold; what is scored must be dropped, and no row is scored twice."""
    if len(pairs) < 3:
        raise FoldError(f"{name} has {len(pairs)} fold(s); nested cross-validation removes two and needs at least 3.")
    ids = np.full((1, n), -1, dtype=np.intp)
    drops = []
    for fold, (drop, score) in enumerate(pairs):
        if not len(score):
            raise FoldError(f"{name} scores no row in fold {fold}; leave the fold out.")
        is_dropped = np.zeros(n, dtype=bool)
        is_dropped[drop] = True
        if not is_dropped[score].all():
            row = int(score[~is_dropped[score]][0])
            raise FoldError(f"{name} trains on row {row} in fold {fold}, where it is scored; drop it there.")
        if is_dropped.all():
            raise FoldError(f"{name} leaves no row to train on in fold {fold}; use smaller blocks or buffers.")
        if (ids[0, score] >= 0).any():
            row = int(score[ids[0, score] >= 0][0])
            raise FoldError(
                f"{name} scores row {row} in fold {int(ids[0, row])} and again in fold {fold}: test sets that overlap "
                "are no folds. Let every row be scored once."
            )
        ids[0, score] = fold
        drops.append(np.flatnonzero(is_dropped))
    return DropSets(DropFolds(ids, len(pairs), drops=tuple(drops), has_pairs=has_pairs))


def as_source(found: DropSets) -> DropSets | ExplicitFolds:
    """The folds as a partition if nothing is dropped but what is scored: every route serves that."""
    whole = found.whole
    if all(len(drop) == size for drop, size in zip(whole.drops, whole.sizes[0], strict=True)):
        return ExplicitFolds(whole.ids, whole.n_folds)
    return found


def splits_of(folds: object, problem: Problem) -> list[tuple[IntArray, IntArray]] | None:
    """Training and test rows of a splitter; None if it is none."""
    if not hasattr(folds, "split"):
        return None
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*groups parameter is ignored")  # we check them ourselves
            made = list(cast(Splitter, folds).split(problem.X, problem.target, problem.groups))
    except Exception as error:
        raise FoldError(f"{type(folds).__name__} cannot split these rows: {error}") from error
    return [(_rows_of(train, problem.n), _rows_of(test, problem.n)) for train, test in made]


def _rows_of(rows: object, n: int) -> IntArray:
    """Row numbers, checked; truth values are taken as a mask."""
    array = np.asarray(rows)
    if array.dtype == bool and array.shape == (n,):
        return np.flatnonzero(array)
    if array.ndim != 1 or array.dtype.kind not in "iu" or not array.size or array.min() < 0 or array.max() >= n:
        raise FoldError(f"cv holds (train, test) with something else than row numbers from 0 to {n - 1}.")
    return array.astype(np.intp)


def is_complement(train: IntArray, test: IntArray, n: int) -> bool:
    """Whether a split trains on all rows that it does not test."""
    seen = np.zeros(n, dtype=np.intp)
    seen[train] += 1
    seen[test] += 1
    return len(train) + len(test) == n and bool((seen == 1).all())
