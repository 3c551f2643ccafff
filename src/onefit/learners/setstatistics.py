"""What training sets say of fixed features, from which steps learn."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..linalg import compiled
from ..linalg.batched import inverse_roots
from ..typing import AnyArray, BoolArray, FloatArray, IntArray
from .features import Features

__all__ = ["Moments", "SetFailure", "SetStatistics"]


class SetFailure(Exception):
    """A training set, by its place in a batch, on which a refit of the pipeline would fail, and why."""

    def __init__(self, index: int, message: str) -> None:
        super().__init__(message)
        self.index = index


@dataclass(frozen=True)
class Moments:
    """Of S training sets: sums of weights (S,), means (S, q) of the columns of B, and products (S, q, q) about them."""

    n: FloatArray
    mean: FloatArray
    products: FloatArray

    def part(self, sets: slice) -> Moments:
        """Those of some of the training sets."""
        return Moments(self.n[sets], self.mean[sets], self.products[sets])

    def means(self, features: Features) -> FloatArray:
        """Means of outputs, (S, p)."""
        pattern = features.pattern
        means: FloatArray = pattern.sums(features.coef * self.mean[:, pattern.source]) + features.shift
        return means

    def variances(self, features: Features) -> FloatArray:
        """Variances of outputs, (S, p); zero where they are constant."""
        pattern = features.pattern
        if pattern.is_wide:
            T = pattern.matrices(features.coef, self.products.shape[1])
            squares = np.einsum("sqp,sqp->sp", T, self.products @ T)
            return np.where(features.varies, np.maximum(squares, 0.0) / self.n[:, None], 0.0)
        first, second, begins = pattern.pairs
        products = self.products[:, pattern.source[first], pattern.source[second]]
        squares = np.add.reduceat(products * features.coef[:, first] * features.coef[:, second], begins, axis=1)
        return np.where(features.varies, np.maximum(squares, 0.0) / self.n[:, None], 0.0)

    def correlations(self, features: Features) -> tuple[FloatArray, FloatArray] | None:
        """Correlations (S, p, p) of outputs, zero where they are constant, and their squares (S, p) about their means.

        None if outputs are made of several columns: of single ones correlations do not depend on the coefficients.
        """
        pattern = features.pattern
        if not pattern.is_plain or (features.coef < 0).any():
            return None
        at = pattern.source
        squares = np.einsum("sqq->sq", self.products)[:, at]
        by = inverse_roots(np.where(features.varies, squares, 0.0))
        is_same = len(at) == self.products.shape[1] and bool((at == np.arange(len(at))).all())
        squared = np.where(features.varies, squares * np.square(features.coef), 0.0)
        if is_same and compiled.is_on():
            return compiled.scale(self.products, by), squared
        found = np.empty((len(by), len(at), len(at)))
        for own, products, each in zip(found, self.products, by, strict=True):  # one by one they stay in the cache
            np.multiply(products if is_same else products[at[:, None], at], each[:, None], out=own)
            own *= each
        return found, squared

    def gram(self, features: Features) -> FloatArray:
        """Products (S, p, p) of outputs about their means; zero where they are constant."""
        pattern = features.pattern
        coef = features.coef * features.varies[:, pattern.output]
        if pattern.is_wide:
            T = pattern.matrices(coef, self.products.shape[1])
            wide: FloatArray = T.swapaxes(1, 2) @ (self.products @ T)
            return wide
        at = pattern.source
        is_same = len(at) == self.products.shape[1] and bool((at == np.arange(len(at))).all())
        gram = np.empty((len(coef), pattern.n_outputs, pattern.n_outputs))
        # one by one: of entries there may be several an output, and their square of products
        for own, products, by in zip(gram, self.products, coef, strict=True):
            entries = (products if is_same else products[at[:, None], at]) * by[:, None]
            entries *= by
            own[:] = pattern.sums(pattern.sums(entries), axis=0)
        return gram


class SetStatistics(ABC):
    """What S training sets say of the columns of B, each row counted once."""

    def __init__(self, moments: Moments) -> None:
        self.moments = moments
        self.in_doubt: BoolArray = np.zeros(len(moments.n), dtype=bool)

    def doubt(self, some: BoolArray | np.bool_) -> None:
        """Leave some training sets (S,) to the steps themselves: what they would do is within rounding, or rare."""
        self.in_doubt |= some

    @property
    def n(self) -> FloatArray:
        """Rows, (S,)."""
        return self.moments.n

    def whole(self) -> tuple[SetStatistics, IntArray]:
        """Statistics of the training sets that these are parts of, and of which each is one; themselves, if of none."""
        return self, np.arange(len(self.n))

    def counts(self, sources: IntArray) -> FloatArray:
        """How often indicators are one, (S, k): whole numbers."""
        return np.rint(self.moments.mean[:, sources] * self.n[:, None])

    @abstractmethod
    def held_out(self, sources: IntArray) -> FloatArray:
        """The same in the rows that are predicted, (S, k)."""

    @abstractmethod
    def tally(self, codes: IntArray, n_codes: int) -> FloatArray:
        """How often each of some codes (n,) is there, (S, n_codes), of columns that are not in B; -1 is none."""

    @abstractmethod
    def extremes(self, sources: IntArray) -> tuple[FloatArray, FloatArray]:
        """Least and largest values of columns of values, (S, k), as they were; infinite if all are missing."""

    @abstractmethod
    def quantiles(self, values: AnyArray, probabilities: Sequence[float]) -> FloatArray:
        """Quantiles (S, k) of a column of numbers (n,), interpolated; NaN if all are missing."""
