"""What steps learn in training sets of a table: from differences of sums over the rows of its folds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import RouteError, TrainingSetError
from ...folds import Folds
from ...learners import Features, FixedFeatures, Moments, SetFailure, SetStatistics
from ...typing import AnyArray, BoolArray, FloatArray, IntArray
from ..collect import FoldStatistics
from ..features import have_lost_digits
from ..products import Products
from .models import IN_MEMORY

__all__ = ["FoldFeatures", "StreamedStatistics"]

Ends = tuple[FloatArray, FloatArray]


class StreamedStatistics(SetStatistics):
    """What training sets of one repeat say, by differences; of what takes rows, why there is nothing."""

    def __init__(self, moments: Moments, held: FloatArray, ends: Callable[[IntArray], Ends]) -> None:
        super().__init__(moments)
        self._held, self._ends = held, ends

    def held_out(self, sources: IntArray) -> FloatArray:
        """Counts in the folds that are out."""
        return self._held[:, sources]

    def extremes(self, sources: IntArray) -> Ends:
        """Over the folds that stay."""
        return self._ends(np.asarray(sources))

    def tally(self, codes: IntArray, n_codes: int) -> FloatArray:
        """Not from sums."""
        raise RouteError(f"the most frequent number of a column is not known from sums over rows; {IN_MEMORY}")

    def quantiles(self, values: AnyArray, probabilities: Sequence[float]) -> FloatArray:
        """Not from sums."""
        raise RouteError(f"medians and quantiles of a column are not known from sums over rows; {IN_MEMORY}")


@dataclass(frozen=True)
class FoldFeatures:
    """Sums over the rows of the folds, each row counted once, in which steps learn.

    Attributes
    ----------
    fixed : FixedFeatures
    total : Products
        Of all rows.
    by_fold : list of Products
        Of the folds of each repeat.
    extremes : tuple of arrays (L, K, r) or None
        Least and largest values of the columns that hold values.
    folds : Folds
    """

    fixed: FixedFeatures
    total: Products
    by_fold: list[Products]
    extremes: Ends | None
    folds: Folds

    @classmethod
    def of(cls, fixed: FixedFeatures, statistics: FoldStatistics, folds: Folds) -> FoldFeatures:
        """Where only the features matter, and not what they say of y."""
        plain = statistics if statistics.plain is None else statistics.plain
        d = fixed.n_columns + 1
        by_fold = [Products(each[:, :d, :d], each[:, :d, d:]) for each in plain.products]
        return cls(fixed, Products(plain.total[:d, :d], plain.total[:d, d:]), by_fold, statistics.extremes, folds)

    def moments(self, repeat: int, out: IntArray) -> Moments:
        """Of the training sets without some folds (S, t); with none of them, of all rows."""
        if out.shape[1]:
            return self.total.moments_without(self.by_fold[repeat], out)[0]
        return Products(self.total.gram[None].copy(), self.total.right[None].copy()).about_means()[0]

    def learn(
        self, block: Any, repeat: int, out: IntArray, moments: Moments, heavy: tuple[Moments, FloatArray] | None = None
    ) -> tuple[Features, BoolArray]:
        """What steps make of the columns in training sets, and which of these have all their digits.

        ``heavy`` are moments with weights, and weighted squares of the columns in all rows.
        """
        held = self.by_fold[repeat].gram[:, -1][out].sum(axis=1)
        statistics = StreamedStatistics(moments, held, lambda sources: self._ends(repeat, out, sources))
        try:
            features: Features = block.learn(statistics)
        except SetFailure as failure:
            where = self.folds.words(repeat, tuple(out[failure.index].tolist())) if out.shape[1] else "All rows"
            raise TrainingSetError(f"{where}: {failure}") from None
        weighted, squares = (moments, None) if heavy is None else heavy
        lost = have_lost_digits(self.fixed, statistics, weighted, np.diag(self.total.gram)[:-1], squares)
        return features, ~(statistics.in_doubt | lost)

    def _ends(self, repeat: int, out: IntArray, sources: IntArray) -> Ends:
        assert self.extremes is not None
        at = np.searchsorted(self.fixed.value_sources, sources)
        low, high = (end[repeat][:, at] for end in self.extremes)
        stays: BoolArray = np.ones((len(out), len(low)), dtype=bool)
        stays[np.arange(len(out))[:, None], out] = False
        return (
            np.where(stays[:, :, None], low, np.inf).min(axis=1),
            np.where(stays[:, :, None], high, -np.inf).max(axis=1),
        )
