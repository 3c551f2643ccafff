"""Pipelines whose design is ``B T_S`` on every training set S: features B that are fixed, and T_S from statistics of S.

A `Block` is what a step makes of the columns before it. Asked for some training sets it `learn`s from their
`SetStatistics` and returns `Features`: which columns of B each output is made of, and with which coefficients there.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

import numpy as np
from scipy import sparse

from ..checks import MOST_SIZE
from ..errors import RouteError
from ..linalg.columns import middle
from ..typing import AnyArray, BoolArray, FloatArray, IntArray

__all__ = [
    "Block",
    "Features",
    "FixedFeatures",
    "Moments",
    "Pattern",
    "SetFailure",
    "SetStatistics",
    "as_dense",
    "side_by_side",
]

MOST_DENSE_BYTES = 2**28
"""Fixed features of which a dense matrix would take more stay sparse."""

Matrix: TypeAlias = FloatArray | sparse.csr_matrix


def as_dense(rows: Matrix) -> FloatArray:
    """Rows as an array."""
    return np.asarray(rows.toarray() if sparse.issparse(rows) else rows)  # type: ignore[union-attr]


class SetFailure(Exception):
    """A training set, by its place in a batch, on which a refit of the pipeline would fail, and why."""

    def __init__(self, index: int, message: str) -> None:
        super().__init__(message)
        self.index = index


class FixedFeatures:
    """The columns of B, as steps ask for them: values about their middle, and indicators.

    A value that is missing is zero; an indicator of its own says where. What is asked for twice is there once.
    """

    def __init__(self, n: int) -> None:
        self.n = n
        self._parts: list[Matrix] = []
        self._places: dict[Hashable, IntArray] = {}
        self._centres: list[FloatArray] = []
        self.values: list[AnyArray] = []
        self.value_sources: list[int] = []

    @property
    def n_columns(self) -> int:
        """Number of columns so far."""
        return sum(part.shape[1] for part in self._parts)

    def value(self, key: Hashable, x: FloatArray) -> tuple[int, float]:
        """Where a column of numbers is, NaN where they are missing, and what was subtracted from it."""
        if (key, "value") not in self._places:
            seen = x[np.isfinite(x)]
            if np.abs(seen).max(initial=0.0) > MOST_SIZE or len(seen) < np.count_nonzero(~np.isnan(x)):
                raise RouteError("its columns hold numbers that are too large to be squared")
            centre = float(middle(seen[:, None])[0]) if len(seen) else 0.0
            self.value_sources.append(self.n_columns)
            self.values.append(x)
            self._centres.append(np.array([centre]))
            self._add((key, "value"), np.where(np.isnan(x), 0.0, x - centre)[:, None])
        at = int(self._places[key, "value"][0])
        return at, float(self._centres[self.value_sources.index(at)][0])

    def indicator(self, key: Hashable, mask: BoolArray) -> int:
        """Where the indicator of some rows is."""
        return int(self.levels((key, "indicator"), np.where(mask, 0, -1), 1)[0])

    def levels(self, key: Hashable, codes: IntArray, n_levels: int) -> IntArray:
        """Where the indicators of levels are, of rows that have the level ``codes`` (n,); -1 is none."""
        if (key, "levels") not in self._places:
            rows = np.flatnonzero(codes >= 0)
            entries = (np.ones(len(rows)), (rows, codes[rows]))
            self._add((key, "levels"), sparse.csr_matrix(entries, shape=(self.n, n_levels)))
        return self._places[key, "levels"]

    def _add(self, key: Hashable, columns: Matrix) -> None:
        first = self.n_columns
        self._places[key] = np.arange(first, first + columns.shape[1])
        self._parts.append(columns)

    @cached_property
    def matrix(self) -> Matrix:
        """B, dense unless that is large."""
        if 8 * self.n * self.n_columns <= MOST_DENSE_BYTES:
            return np.hstack([as_dense(part) for part in self._parts]) if self._parts else np.zeros((self.n, 0))
        return sparse.csr_matrix(sparse.hstack(self._parts, format="csr"))

    @property
    def centres(self) -> FloatArray:
        """What was subtracted from the columns of values, in the order of ``value_sources``."""
        return np.concatenate([np.zeros(0), *self._centres])

    @cached_property
    def is_value(self) -> BoolArray:
        """Which columns hold values: the others hold zeros and ones, whose sums are exact."""
        found: BoolArray = np.zeros(self.n_columns, dtype=bool)
        found[self.value_sources] = True
        return found


@dataclass(frozen=True)
class Pattern:
    """Which columns of B each output is made of: ``source`` (m,) for ``output`` (m,), ascending, each at least once."""

    source: IntArray
    output: IntArray
    n_outputs: int

    @cached_property
    def is_plain(self) -> bool:
        """Whether every output is made of one column."""
        return len(self.output) == self.n_outputs

    @cached_property
    def starts(self) -> IntArray:
        """Where the entries of each output begin."""
        return np.searchsorted(self.output, np.arange(self.n_outputs))

    def sums(self, entries: FloatArray, axis: int = -1) -> FloatArray:
        """Sums over the entries of each output."""
        return entries if self.is_plain else np.asarray(np.add.reduceat(entries, self.starts, axis=axis))

    @cached_property
    def pairs(self) -> tuple[IntArray, IntArray, IntArray]:
        """All pairs of entries of the same output, and where those of each output begin."""
        sizes = np.diff(np.append(self.starts, len(self.output)))
        first = np.repeat(np.arange(len(self.output)), np.repeat(sizes, sizes))
        counts = np.square(sizes)
        begins = np.concatenate([[0], np.cumsum(counts)[:-1]])
        within = np.arange(counts.sum()) - np.repeat(begins, counts)
        second = np.repeat(self.starts, counts) + within % np.repeat(sizes, counts)
        return first, second, begins

    @staticmethod
    def joined(patterns: Sequence[Pattern]) -> Pattern:
        """Patterns side by side."""
        firsts = np.cumsum([0, *(pattern.n_outputs for pattern in patterns)])
        outputs = [pattern.output + first for pattern, first in zip(patterns, firsts, strict=False)]
        return Pattern(
            np.concatenate([pattern.source for pattern in patterns]), np.concatenate(outputs), int(firsts[-1])
        )


@dataclass(frozen=True)
class Features:
    """Outputs of a step in some training sets: ``sum coef B_source + shift``.

    Attributes
    ----------
    pattern : Pattern
    coef : (S, m)
    shift : (S, p)
    present : (S, p), whether a training set has the output at all; where it has not, its coefficients are zero
    low, high : (S, p), extremes in the training set; where these are the same the output is constant
    closed : (p,), numbers of groups whose columns of B sum to one in every row of the training set; -1 for the others
    """

    pattern: Pattern
    coef: FloatArray
    shift: FloatArray
    present: BoolArray
    low: FloatArray
    high: FloatArray
    closed: IntArray

    def affine(self, subtract: FloatArray, by: FloatArray) -> Features:
        """``(x - subtract) by`` for factors (S, p) that are not negative."""
        ends = [(end - subtract) * by for end in (self.low, self.high)]
        coef = self.coef * by[:, self.pattern.output]
        return replace(self, coef=coef, shift=(self.shift - subtract) * by, low=ends[0], high=ends[1])

    def kept(self, present: BoolArray) -> Features:
        """The same without some outputs."""
        coef = np.where(present[:, self.pattern.output], self.coef, 0.0)
        return replace(self, coef=coef, shift=np.where(present, self.shift, 0.0), present=present)

    @property
    def varies(self) -> BoolArray:
        """Which outputs are there and not constant."""
        return self.present & (self.low < self.high)


def side_by_side(parts: Sequence[Features]) -> Features:
    """The outputs of several steps, one after the other."""
    closed, above = [], 0
    for part in parts:
        closed.append(np.where(part.closed >= 0, part.closed + above, -1))
        above += int(part.closed.max(initial=-1)) + 1
    names = ("coef", "shift", "present", "low", "high")
    tables = {name: np.concatenate([getattr(part, name) for part in parts], axis=1) for name in names}
    return Features(Pattern.joined([part.pattern for part in parts]), **tables, closed=np.concatenate(closed))


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
        first, second, begins = pattern.pairs
        products = self.products[:, pattern.source[first], pattern.source[second]]
        squares = np.add.reduceat(products * features.coef[:, first] * features.coef[:, second], begins, axis=1)
        return np.where(features.varies, np.maximum(squares, 0.0) / self.n[:, None], 0.0)

    def gram(self, features: Features) -> FloatArray:
        """Products (S, p, p) of outputs about their means; zero where they are constant."""
        pattern = features.pattern
        coef = features.coef * features.varies[:, pattern.output]
        at = pattern.source
        is_same = len(at) == self.products.shape[1] and bool((at == np.arange(len(at))).all())
        gram = (self.products if is_same else self.products[:, at[:, None], at]) * coef[:, :, None]
        gram *= coef[:, None]
        return pattern.sums(pattern.sums(gram), axis=1)


class SetStatistics(ABC):
    """What S training sets say of the columns of B, each row counted once."""

    moments: Moments

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


class Block(ABC):
    """What a step makes of the columns before it."""

    may_be_sparse: bool = False

    @abstractmethod
    def learn(self, sets: SetStatistics) -> Features:
        """Its outputs in some training sets."""
