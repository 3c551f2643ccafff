"""PolynomialFeatures behind steps that learn: polynomials in fixed features, in which the columns before it are linear.

With columns ``z_j = sum_k c_k B_k + t_j`` in a training set, a product of some of them is a sum over the choices of one
term of each: products of coefficients, which the training set decides, times products of columns of B, which are fixed.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.preprocessing import PolynomialFeatures

from ...errors import RouteError
from ...typing import FloatArray, IntArray
from ..encoding import Block
from ..features import Features, Pattern
from ..fixedfeatures import FixedFeatures
from ..setstatistics import SetStatistics
from .table import RawTable, as_block

__all__ = ["polynomial"]

MOST_OUTPUTS = 1000
MOST_BYTES = 2**30
"""Of the products of columns."""

Term = tuple[int, ...]
"""One term of each factor: an entry of the pattern, or a shift, which come after the entries."""


class _Sums(NamedTuple):
    """Terms (T, d) that are multiplied, and where the sums begin of those that belong together, in this order."""

    terms: IntArray
    starts: IntArray

    def of(self, table: FloatArray) -> FloatArray:
        """Sums (S, m) of products of columns of a table (S, k)."""
        if not len(self.starts):
            return np.zeros((len(table), 0))
        return np.asarray(np.add.reduceat(table[:, self.terms].prod(axis=2), self.starts, axis=1))


class _Polynomial(Block):
    """Products of the columns before it."""

    is_rotated = True

    def __init__(self, step: PolynomialFeatures, inner: Block, made_of: Pattern, fixed: FixedFeatures) -> None:
        self.inner, self._made_of = inner, made_of
        self._powers: IntArray = clone(step).fit(np.zeros((1, made_of.n_outputs))).powers_.astype(np.intp)
        self.n_outputs = len(self._powers)
        if self.n_outputs > MOST_OUTPUTS or 8 * fixed.n * self.n_outputs > MOST_BYTES:
            raise RouteError(f"PolynomialFeatures makes {self.n_outputs:,} columns of {fixed.n:,} rows")
        self._expand(fixed)

    def _expand(self, fixed: FixedFeatures) -> None:
        """Collect the terms of all outputs by the column of B that they belong to; those of none are constants."""
        n_entries, ones = len(self._made_of.source), len(self._made_of.source) + self._made_of.n_outputs
        degree = int(self._powers.sum(axis=1).max(initial=1)) or 1
        found: list[tuple[int, int, Term]] = []
        constants: list[tuple[int, Term]] = []
        for output in range(self.n_outputs):
            for term in self._terms(output):
                sources = self._made_of.source[[at for at in term if at < n_entries]]
                padded = (*term, *[ones] * (degree - len(term)))
                if not len(sources):
                    constants.append((output, padded))
                elif (at := fixed.product(sources.tolist())) is not None:
                    found.append((output, at, padded))
            found.append((output, int(self._made_of.source[0]), (ones + 1,) * degree))  # zero: each output has an entry
        found.sort()
        outputs, sources = (np.array([each[at] for each in found], dtype=np.intp) for at in (0, 1))
        starts = np.flatnonzero(np.append(True, (np.diff(outputs) != 0) | (np.diff(sources) != 0)))
        self._sums = _Sums(np.array([term for *_, term in found], dtype=np.intp), starts)
        self._pattern = Pattern(sources[starts], outputs[starts], self.n_outputs)
        self._centres = np.array([fixed.centre_of_product(source) for source in self._pattern.source])
        self._is_constant = np.array([output for output, _ in constants], dtype=np.intp)
        firsts = np.flatnonzero(np.append(True, np.diff(self._is_constant) != 0))[: len(constants)]
        terms = np.array([term for _, term in constants], dtype=np.intp).reshape(-1, degree)
        self._constants, self._is_constant = _Sums(terms, firsts), self._is_constant[firsts]

    def _terms(self, output: int) -> Iterator[Term]:
        """Choices of one term of each factor of an output."""
        pattern, n_entries = self._made_of, len(self._made_of.source)
        factors = np.repeat(np.arange(pattern.n_outputs), self._powers[output])
        choices = [[*np.flatnonzero(pattern.output == factor).tolist(), n_entries + int(factor)] for factor in factors]
        return product(*choices)

    def learn(self, sets: SetStatistics) -> Features:
        """Sums over all choices of the products of what was learned before."""
        found = self.inner.learn(sets)
        S = len(sets.n)
        table = np.hstack([found.coef, found.shift, np.ones((S, 1)), np.zeros((S, 1))])
        coef = self._sums.of(table)
        shift = np.zeros((S, self.n_outputs))
        shift[:, self._is_constant] = self._constants.of(table)
        shift += self._pattern.sums(coef * self._centres)
        low, high = self._ends(found)
        there = np.ones((S, self.n_outputs), dtype=bool)
        return Features(self._pattern, coef, shift, there, low, high, np.full(self.n_outputs, -1, dtype=np.intp))

    def _ends(self, found: Features) -> tuple[FloatArray, FloatArray]:
        """Extremes (S, p) as far as constants go: of outputs whose factors are, or one of whose factors is zero."""
        is_constant, is_used = found.low == found.high, self._powers > 0
        is_zero = ((found.is_zero[:, None] & is_used).any(axis=2)) & is_used.any(axis=1)
        constant = (is_constant[:, None] | ~is_used).all(axis=2)
        values = np.where(is_constant, found.low, 1.0)[:, None] ** self._powers
        value = np.where(is_zero, 0.0, values.prod(axis=2))
        is_single = self._powers.sum(axis=1) == 1
        ends = [np.full(constant.shape, end) for end in (-np.inf, np.inf)]
        for end, own in zip(ends, (found.low, found.high), strict=True):
            end[:, is_single] = own[:, self._powers[is_single].argmax(axis=1)]
            np.copyto(end, value, where=constant | is_zero)
        return ends[0], ends[1]


def polynomial(step: PolynomialFeatures, table: RawTable | Block, fixed: FixedFeatures) -> RawTable | Block:
    """PolynomialFeatures: of columns as they came it learns nothing."""
    if isinstance(table, RawTable):
        return table.through(step)
    inner = as_block(table, fixed)
    if inner.may_be_sparse or inner.made_of is None:
        raise RouteError("PolynomialFeatures multiplies columns that are not the same in every training set")
    return _Polynomial(step, inner, inner.made_of, fixed)
