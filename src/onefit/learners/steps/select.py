"""VarianceThreshold, SelectKBest and SelectPercentile: columns kept for their variance, or for what they say of y."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.feature_selection import (
    SelectKBest,
    SelectPercentile,
    VarianceThreshold,
    f_classif,
    f_regression,
    r_regression,
)

from ...errors import RouteError
from ...linalg import batched
from ...typing import FloatArray, IntArray
from ..encoding import Block, BlockAfter
from ..features import Features
from ..fixedfeatures import FixedFeatures, Recipe
from ..setstatistics import SetStatistics
from .table import RawTable, as_block

__all__ = ["above_variance", "best", "percentile"]

NEAR, SMALL = 1e-9, 1e-13
"""Scores that differ by less, relative and absolute, are left to scikit-learn to order."""

MOST_CLASSES = 100


class _AboveVariance(BlockAfter):
    """Columns whose variance is above a threshold."""

    def __init__(self, inner: Block, threshold: float) -> None:
        super().__init__(inner)
        self.threshold, self.made_of = threshold, None

    def learn(self, sets: SetStatistics) -> Features:
        """Columns that vary enough."""
        found, threshold = self.inner.learn(sets), self.threshold
        variance = sets.moments.variances(found)
        sets.doubt((found.present & (np.abs(variance - threshold) < NEAR * threshold)).any(axis=1))
        kept = found.varies & (variance > threshold)
        sets.doubt(~kept.any(axis=1))  # an error, which it says itself
        return found.chosen(kept)


class _Best(BlockAfter):
    """Columns with the largest scores."""

    def __init__(self, inner: Block, step: SelectKBest | SelectPercentile, fixed: FixedFeatures) -> None:
        super().__init__(inner)
        self.step, self.made_of = step, None
        self.score = _score(step, fixed)

    def learn(self, sets: SetStatistics) -> Features:
        """The best of the columns that the training set has; where it is not clear which, the step says it itself."""
        found = self.inner.learn(sets)
        n_columns = found.present.sum(axis=1)
        number = self._number(n_columns, sets)
        if (number == n_columns).all():
            return found
        scores = self.score(found, sets)
        # what is constant, but not zero, has a score of rounding errors
        sets.doubt((found.present & ~found.varies & ~found.is_zero).any(axis=1))
        scores = np.where(found.present, scores, -np.inf)
        order = np.argsort(scores, axis=1, kind="stable")
        S, p = scores.shape
        ordered = np.take_along_axis(scores, order, axis=1)
        cut = p - number
        last, following = (ordered[np.arange(S), np.clip(at, 0, p - 1)] for at in (cut, cut - 1))
        is_near = last - following <= NEAR * np.abs(last) + SMALL
        sets.doubt((number == 0) | ((number < n_columns) & is_near))
        place = np.argsort(order, axis=1)
        return found.chosen(found.present & (place >= cut[:, None]))

    @abstractmethod
    def _number(self, n_columns: IntArray, sets: SetStatistics) -> IntArray:
        """How many columns are kept of those that there are, (S,)."""


class _KBest(_Best):
    """SelectKBest."""

    @property
    def n_most(self) -> int:
        """K, or all."""
        most = self.inner.n_most
        return most if self.step.k == "all" else min(int(self.step.k), most)

    def _number(self, n_columns: IntArray, sets: SetStatistics) -> IntArray:
        """K, or all."""
        return n_columns if self.step.k == "all" else np.asarray(np.minimum(self.step.k, n_columns))


class _Percentile(_Best):
    """SelectPercentile."""

    @property
    def n_most(self) -> int:
        """A share of those before it."""
        return int(np.ceil(self.inner.n_most * self.step.percentile / 100))

    def _number(self, n_columns: IntArray, sets: SetStatistics) -> IntArray:
        """Those above a quantile of the scores; one that is at it counts as far as the percentage goes."""
        share = self.step.percentile
        if share in (0, 100):
            return n_columns * int(share == 100)
        place = (100 - share) / 100 * (n_columns - 1)
        whole = np.rint(place)
        is_at = np.abs(place - whole) < NEAR * n_columns
        above = n_columns - 1 - np.where(is_at, whole, np.floor(place)).astype(np.intp)
        at = np.minimum(1, np.maximum((n_columns * share / 100).astype(np.intp) - above, 0))
        sets.doubt(is_at & (place != whole))
        return np.asarray(above + np.where(is_at, at, 0))


def _score(
    step: SelectKBest | SelectPercentile, fixed: FixedFeatures
) -> Callable[[Features, SetStatistics], FloatArray]:
    """Scores (S, p) of columns, in the order of scikit-learn's; zero where they are constant."""
    name, y = type(step).__name__, np.asarray(fixed.target)
    if y.ndim != 1:
        raise RouteError(f"{name} meets a target of several columns")
    if step.score_func is f_classif:
        return _between_classes(y, fixed)
    if step.score_func not in (f_regression, r_regression):
        raise RouteError(f"{name} has a score of its own; f_regression, r_regression and f_classif are known")
    if y.dtype.kind not in "fiub":
        raise RouteError(f"{name} meets a target that holds no numbers")
    source, _ = fixed.value("target", y.astype(np.float64), Recipe("target"), "y")
    is_squared = step.score_func is f_regression

    def correlation(found: Features, sets: SetStatistics) -> FloatArray:
        products = sets.moments.products
        with_y = found.products_with(products[:, :, source, None])[:, :, 0]
        # roots one by one: the product of the squares of a small column and a small y may vanish
        by = batched.inverse_roots(sets.moments.variances(found) * sets.n[:, None])
        r = with_y * by * batched.inverse_roots(products[:, source, source, None])
        sets.doubt(products[:, source, source] <= 0)
        return np.square(r) if is_squared else r

    return correlation


def _between_classes(y: Any, fixed: FixedFeatures) -> Callable[[Features, SetStatistics], FloatArray]:
    """The part of the variance between classes, which orders columns as the F statistic does."""
    classes, codes = np.unique(y, return_inverse=True)
    if len(classes) > MOST_CLASSES:
        raise RouteError(f"f_classif meets a target of {len(classes)} values")
    sources = fixed.levels("target", codes.astype(np.intp), len(classes))

    def part(found: Features, sets: SetStatistics) -> FloatArray:
        counts = sets.counts(sources)
        sets.doubt((counts > 0).sum(axis=1) < 2)
        sums = found.products_with(sets.moments.products[:, :, sources])
        between = (np.square(sums) / np.where(counts > 0, counts, np.inf)[:, None]).sum(axis=2)
        total = sets.moments.variances(found) * sets.n[:, None]
        return np.asarray(between / np.where(total > 0, total, 1.0))

    return part


def _told_apart(step: Any, table: RawTable | Block, fixed: FixedFeatures) -> Block:
    """Columns each of which is known by itself."""
    inner = as_block(table, fixed)
    if inner.is_rotated:
        raise RouteError(f"{type(step).__name__} chooses among columns that another step has mixed")
    return inner


def above_variance(step: VarianceThreshold, table: RawTable | Block, fixed: FixedFeatures) -> Block:
    """VarianceThreshold."""
    return _AboveVariance(_told_apart(step, table, fixed), float(step.threshold))


def best(step: SelectKBest, table: RawTable | Block, fixed: FixedFeatures) -> Block:
    """SelectKBest."""
    return _KBest(_told_apart(step, table, fixed), step, fixed)


def percentile(step: SelectPercentile, table: RawTable | Block, fixed: FixedFeatures) -> Block:
    """SelectPercentile."""
    return _Percentile(_told_apart(step, table, fixed), step, fixed)
