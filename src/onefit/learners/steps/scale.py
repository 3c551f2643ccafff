"""Scalers: a shift and a factor for each column, from its mean and deviation, its extremes or its quantiles."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import special
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler

from ...errors import RouteError
from ...linalg.columns import EPS
from ...typing import FloatArray
from ..encoding import Block, BlockAfter
from ..features import Features
from ..fixedfeatures import FixedFeatures
from ..setstatistics import SetStatistics
from .table import RawTable, Values, as_block

__all__ = ["max_abs", "min_max", "robust", "standard"]


class _Scaled(BlockAfter):
    """A scaler with its options, and the columns before it."""

    def __init__(self, scaler: Any, inner: Block) -> None:
        super().__init__(inner)
        self.scaler = scaler


class _Standard(_Scaled):
    def learn(self, sets: SetStatistics) -> Features:
        """About the mean, over the deviation; a constant column keeps its unit."""
        found = self.inner.learn(sets)
        mean, variance = sets.moments.means(found), sets.moments.variances(found)
        # the extremes are those of rows: a mean that was subtracted from that of more rows leaves rounding errors
        mean = np.where(found.low == found.high, found.low, mean)
        n = sets.n[:, None]
        # scikit-learn's bound, below which a column is constant up to rounding
        is_constant = variance <= n * EPS * variance + np.square(n * mean * EPS)
        deviation = np.where(is_constant, 1.0, np.sqrt(variance))
        return found.affine(
            mean if self.scaler.with_mean else np.zeros_like(mean),
            1.0 / deviation if self.scaler.with_std else np.ones_like(mean),
        )


class _MinMax(_Scaled):
    def learn(self, sets: SetStatistics) -> Features:
        """From the extremes to the ends of ``feature_range``."""
        found = self.inner.learn(sets)
        low, high = self.scaler.feature_range
        by = (high - low) / _unless_zero(np.where(found.present, found.high - found.low, 0.0))
        return found.affine(np.where(found.present, found.low, 0.0) - low / by, by)


class _MaxAbs(_Scaled):
    def learn(self, sets: SetStatistics) -> Features:
        """Over the largest absolute value."""
        found = self.inner.learn(sets)
        largest = np.where(found.present, np.maximum(np.abs(found.low), np.abs(found.high)), 0.0)
        return found.affine(np.zeros_like(largest), 1.0 / _unless_zero(largest))


class _Robust(_Scaled):
    """Quantiles need the rows of a column, so that it serves columns as they came only."""

    inner: Values

    def learn(self, sets: SetStatistics) -> Features:
        """About the median, over a range of quantiles."""
        found, scaler = self.inner.learn(sets), self.scaler
        shape = found.shift.shape
        centre, spread = np.zeros(shape), np.ones(shape)
        low, high = scaler.quantile_range
        for at, values in enumerate(self.inner.columns):
            quantiles = sets.quantiles(values, (0.5, low / 100, high / 100))
            centre[:, at], spread[:, at] = quantiles[:, 0], quantiles[:, 2] - quantiles[:, 1]
        spread = _unless_zero(spread)
        if scaler.unit_variance:
            spread = spread / (special.ndtri(high / 100) - special.ndtri(low / 100))
        return found.affine(
            centre if scaler.with_centering else np.zeros(shape),
            1.0 / spread if scaler.with_scaling else np.ones(shape),
        )


def _unless_zero(scale: FloatArray) -> FloatArray:
    """Scikit-learn's rule: what is zero up to rounding is no unit."""
    return np.where(scale < 10 * EPS, 1.0, scale)


def standard(step: StandardScaler, table: RawTable | Block, fixed: FixedFeatures) -> Block:
    """StandardScaler."""
    inner = as_block(table, fixed)
    if inner.may_be_sparse and step.with_mean:
        raise RouteError("StandardScaler may get a sparse matrix, which it does not centre")
    return _Standard(step, inner)


def _with_extremes(step: Any, table: RawTable | Block, fixed: FixedFeatures) -> Block:
    """Columns of which extremes are known."""
    inner = as_block(table, fixed)
    if inner.is_rotated:
        raise RouteError(f"{type(step).__name__} needs extremes of columns that another step has mixed")
    return inner


def min_max(step: MinMaxScaler, table: RawTable | Block, fixed: FixedFeatures) -> Block:
    """MinMaxScaler."""
    inner = _with_extremes(step, table, fixed)
    if step.clip:
        raise RouteError("MinMaxScaler(clip=True) is not linear in its columns")
    if inner.may_be_sparse:
        raise RouteError("MinMaxScaler may get a sparse matrix, which it does not take")
    return _MinMax(step, inner)


def max_abs(step: MaxAbsScaler, table: RawTable | Block, fixed: FixedFeatures) -> Block:
    """MaxAbsScaler."""
    if getattr(step, "clip", False):
        raise RouteError("MaxAbsScaler(clip=True) is not linear in its columns")
    return _MaxAbs(step, _with_extremes(step, table, fixed))


def robust(step: RobustScaler, table: RawTable | Block, fixed: FixedFeatures) -> Block:
    """RobustScaler."""
    inner = as_block(table, fixed)
    if not isinstance(inner, Values):
        raise RouteError("RobustScaler needs quantiles of what another step has made")
    return _Robust(step, inner)
