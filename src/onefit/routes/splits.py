"""Splits of training sets by scikit-learn's own splitters: their rows, and what steps learn from them."""

from __future__ import annotations

from abc import ABC
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..learners import Moments, SearchedGLM, SearchedLearner, SetFailure
from ..typing import BoolArray, FloatArray, IntArray
from .features import FeaturesEngine, FeatureSets
from .products import Products
from .rowsets import Ends, MaskedStatistics

__all__ = ["SplitSets", "Splits", "SplitsEngine"]


@dataclass(frozen=True)
class Splits:
    """All F splits of some training sets, one after the other.

    Attributes
    ----------
    owner : (F,), whose splits they are
    inside, scored : (F, n), rows that are fitted and scored
    members, sizes : (F, m) and (F,), those that are scored, padded by the row n
    """

    owner: IntArray
    inside: BoolArray
    scored: BoolArray
    members: IntArray
    sizes: IntArray

    @property
    def present(self) -> BoolArray:
        """Which members are rows, (F, m)."""
        present: BoolArray = np.arange(self.members.shape[1]) < self.sizes[:, None]
        return present


class SplitsEngine(FeaturesEngine, ABC):
    """An engine whose learner splits every training set."""

    learner: SearchedLearner | SearchedGLM

    @cached_property
    def ends(self) -> Ends:
        """The order of all rows in the columns of values."""
        return Ends(self.fixed)


class SplitSets(FeatureSets, ABC):
    """The training sets of some partitions, and their splits."""

    engine: SplitsEngine

    def splits(self, out: IntArray) -> Splits:
        """The splits of some training sets, by scikit-learn's own splitter on the order of their rows."""
        n, parts = self.folds.n, list(self._parts(out))
        inside, scored = np.zeros((2, len(parts), n), dtype=bool)
        sizes = np.array([len(test) for _, _, test in parts])
        members = np.full((len(parts), sizes.max()), n)
        for at, (_, train, test) in enumerate(parts):
            inside[at, train] = scored[at, test] = True
            members[at, : len(test)] = test
        return Splits(np.array([owner for owner, _, _ in parts]), inside, scored, members, sizes)

    def _parts(self, out: IntArray) -> Iterator[tuple[int, IntArray, IntArray]]:
        """The number of each training set, rows that are fitted, and rows that are scored."""
        for index, held in enumerate(out):
            repeat, folds = self.place(held)
            rows = self.folds.training_rows(repeat, *folds)
            try:
                splits = self.engine.learner.splits(rows)
            except ValueError as error:
                raise SetFailure(index, str(error)) from error
            for train, test in splits:
                yield index, rows[train], rows[test]

    def products(self, out: IntArray, splits: Splits, weights: FloatArray | None) -> Products:
        """Products of what is fitted in each split, then of the training sets."""
        engine = self.engine
        whole = engine.plain.without(self.plain, out)
        is_rest = (splits.inside.sum(axis=1) + splits.sizes == whole.gram[splits.owner, -1, -1]).all()
        if weights is not None:
            whole = engine.weighted.without(self.weighted, out)
        if is_rest:
            scored = engine.by_folds(splits.members, splits.sizes, weights)
            fitted = Products(whole.gram[splits.owner] - scored.gram, whole.right[splits.owner] - scored.right)
        else:
            each = [engine.products(np.flatnonzero(rows), weights) for rows in splits.inside]
            fitted = Products(np.stack([one.gram for one in each]), np.stack([one.right for one in each]))
        return Products(np.concatenate([fitted.gram, whole.gram]), np.concatenate([fitted.right, whole.right]))

    def statistics(
        self, out: IntArray, splits: Splits, moments: Moments
    ) -> tuple[MaskedStatistics, BoolArray, IntArray]:
        """Statistics of what is fitted in each split, then of the training sets; their rows, and whose they are."""
        engine, F, is_out = self.engine, len(splits.owner), self.is_out(out)
        B = engine.rows[: self.folds.n, :-1]
        masks = np.vstack([splits.inside, ~is_out])
        whole = MaskedStatistics(engine.ends, B, ~is_out, is_out, moments.part(slice(F, None)))
        owner = np.append(splits.owner, np.arange(len(out)))
        predicted = np.vstack([splits.scored, is_out])
        return MaskedStatistics(engine.ends, B, masks, predicted, moments, (whole, owner)), masks, owner
