"""Outputs of steps in training sets, made of the columns of fixed features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ..typing import BoolArray, FloatArray, IntArray
from .fixedfeatures import Matrix, as_dense

__all__ = ["Features", "Pattern", "side_by_side"]

MOST_ENTRIES = 4
"""Columns of B an output up to which these are picked; beyond, matrices are multiplied."""


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
    def is_wide(self) -> bool:
        """Whether outputs are made of so many columns that a matrix says it better."""
        return len(self.output) > MOST_ENTRIES * self.n_outputs

    @cached_property
    def _cells(self) -> tuple[IntArray, IntArray, IntArray, IntArray]:
        """The order of entries by source and output, where each such pair begins, and the pairs."""
        order = np.lexsort((self.output, self.source))
        pairs = np.stack([self.source[order], self.output[order]])
        is_new = np.append(True, (np.diff(pairs, axis=1) != 0).any(axis=0)) if len(order) else np.zeros(0, dtype=bool)
        starts = np.flatnonzero(is_new)
        return order, starts, pairs[0, starts], pairs[1, starts]

    def matrices(self, coef: FloatArray, q: int) -> FloatArray:
        """T (S, q, p) of coefficients (S, m), for B of q columns."""
        order, starts, sources, outputs = self._cells
        found = np.zeros((len(coef), q, self.n_outputs))
        if len(order):
            found[:, sources, outputs] = np.add.reduceat(coef[:, order], starts, axis=1)
        return found

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
        shift = np.where(self.present, (self.shift - subtract) * by, 0.0)  # what is not there stays zero
        return replace(self, coef=coef, shift=shift, low=ends[0], high=ends[1])

    def kept(self, present: BoolArray) -> Features:
        """The same without some outputs."""
        coef = np.where(present[:, self.pattern.output], self.coef, 0.0)
        return replace(self, coef=coef, shift=np.where(present, self.shift, 0.0), present=present)

    def chosen(self, present: BoolArray) -> Features:
        """The same with some outputs only: levels do not sum to one any more."""
        return replace(self.kept(present), closed=np.full_like(self.closed, -1))

    @property
    def varies(self) -> BoolArray:
        """Which outputs are there and not constant."""
        return self.present & (self.low < self.high)

    @property
    def is_zero(self) -> BoolArray:
        """Which outputs are zero in every row."""
        found: BoolArray = (self.low == 0) & (self.high == 0)
        return found

    def products_with(self, products: FloatArray) -> FloatArray:
        """Products (S, p, Q) of outputs from those (S, q, Q) of columns of B; zero where they are constant."""
        pattern = self.pattern
        coef = self.coef * self.varies[:, pattern.output]
        if pattern.is_wide:
            wide: FloatArray = pattern.matrices(coef, products.shape[1]).swapaxes(1, 2) @ products
            return wide
        return pattern.sums(coef[:, :, None] * products[:, pattern.source], axis=1)

    def to_fixed(self, beta: FloatArray, q: int) -> FloatArray:
        """Coefficients (S, V, q, Q) of the columns of B from those of outputs (S, V, p, Q)."""
        pattern = self.pattern
        if pattern.is_wide:
            wide: FloatArray = pattern.matrices(self.coef, q)[:, None] @ beta
            return wide
        entries = self.coef[:, None, :, None] * beta[:, :, pattern.output]
        found = np.zeros((*beta.shape[:2], q, beta.shape[3]))
        order = np.argsort(pattern.source, kind="stable")
        sources, starts = np.unique(pattern.source[order], return_index=True)
        found[:, :, sources] = np.add.reduceat(entries[:, :, order], starts, axis=2)
        return found

    def in_rows(self, index: int, B: Matrix) -> FloatArray:
        """Outputs (n, p) of one training set in some rows of B."""
        pattern, coef = self.pattern, self.coef[index]
        if pattern.is_wide:
            wide: FloatArray = B @ pattern.matrices(coef[None], B.shape[1])[0] + self.shift[index]
            return wide
        outputs: FloatArray = pattern.sums(as_dense(B[:, pattern.source]) * coef) + self.shift[index]
        return outputs


def side_by_side(parts: Sequence[Features]) -> Features:
    """The outputs of several steps, one after the other."""
    closed, above = [], 0
    for part in parts:
        closed.append(np.where(part.closed >= 0, part.closed + above, -1))
        above += int(part.closed.max(initial=-1)) + 1
    names = ("coef", "shift", "present", "low", "high")
    tables = {name: np.concatenate([getattr(part, name) for part in parts], axis=1) for name in names}
    return Features(Pattern.joined([part.pattern for part in parts]), **tables, closed=np.concatenate(closed))
