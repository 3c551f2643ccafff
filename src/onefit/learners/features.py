"""Fixed features B, and outputs of steps that are made of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

import numpy as np
from scipy import sparse

from ..checks import MOST_SIZE
from ..errors import RouteError
from ..linalg.columns import middle
from ..typing import AnyArray, BoolArray, FloatArray, IntArray

__all__ = ["Features", "FixedFeatures", "Matrix", "Pattern", "Recipe", "as_dense", "side_by_side"]

MOST_DENSE_BYTES = 2**28
"""Fixed features of which a dense matrix would take more stay sparse."""

Matrix: TypeAlias = FloatArray | sparse.csr_matrix
RowCheck: TypeAlias = Callable[[IntArray], bool]


@dataclass(frozen=True)
class Recipe:
    """How columns of B are made of one column of a table, in any rows.

    Attributes
    ----------
    kind : str
        "number", "value" (a number that may be missing), "missing" (an indicator), "levels", or "target".
    column : int
        Place of the column in the table.
    missing : object
        What stands for a missing value.
    levels : array or None
        In their order.
    fill : object
        What fills gaps of levels; None if they are a level themselves.
    has_mode : bool
        Whether gaps are filled by the most frequent level: then they have none here.
    """

    kind: str
    column: int = -1
    missing: object = np.nan
    levels: AnyArray | None = None
    fill: object = None
    has_mode: bool = False


MOST_ENTRIES = 4
"""Columns of B an output up to which these are picked; beyond, matrices are multiplied."""


def as_dense(rows: Matrix) -> FloatArray:
    """Rows as an array."""
    return np.asarray(rows.toarray() if sparse.issparse(rows) else rows)  # type: ignore[union-attr]


class FixedFeatures:
    """The columns of B, as steps ask for them: values about their middle, and indicators.

    A value that is missing is zero; an indicator of its own says where. What is asked for twice is there once. Steps
    that look at the target, as it was given, ask for columns of it. ``recipes`` say how each part is made of a column
    of the table in any other rows, None if that is not known.
    """

    def __init__(self, n: int, target: AnyArray) -> None:
        self.n, self.target = n, target
        self._parts: list[Matrix] = []
        self._n_columns = 0
        self._places: dict[Hashable, IntArray] = {}
        self._centres: list[float] = []
        self._products: set[int] = set()
        self.values: list[AnyArray] = []
        self.value_sources: list[int] = []
        self.recipes: list[Recipe | None] = []
        self._of_training: list[RowCheck] = []
        self._of_all: list[RowCheck] = []

    def require(self, check: RowCheck, *, of_held_out: bool) -> None:
        """Let a check of some rows hold for every training set, or for rows that are predicted, too."""
        (self._of_all if of_held_out else self._of_training).append(check)

    def are_fixed(self, train: IntArray, tests: Sequence[IntArray]) -> bool:
        """Whether what was found for all rows is what the steps find in a training set, and in what it predicts."""
        in_training = all(check(train) for check in (*self._of_training, *self._of_all))
        return in_training and all(check(rows) for check in self._of_all for rows in tests)

    @property
    def has_checks(self) -> bool:
        """Whether there is something that may not be the same in every training set."""
        return bool(self._of_training or self._of_all)

    @property
    def widths(self) -> list[int]:
        """Columns of each part."""
        return [int(part.shape[1]) for part in self._parts]

    @property
    def n_columns(self) -> int:
        """Number of columns so far."""
        return self._n_columns

    def all_values(
        self, keys: Sequence[Hashable], columns: Sequence[FloatArray], recipes: Sequence[Recipe | None]
    ) -> list[tuple[int, float]]:
        """Where each of some columns of numbers without gaps is, and what was subtracted from it."""
        centres = middle(np.column_stack(columns)).tolist() if columns else []
        return [self.value(*each) for each in zip(keys, columns, recipes, centres, strict=True)]

    def value(
        self, key: Hashable, x: FloatArray, recipe: Recipe | None = None, centre: float | None = None
    ) -> tuple[int, float]:
        """Where a column of numbers is, NaN where they are missing, and what was subtracted from it: its middle."""
        if (key, "value") not in self._places:
            seen = x[np.isfinite(x)]
            if np.abs(seen).max(initial=0.0) > MOST_SIZE or len(seen) < np.count_nonzero(~np.isnan(x)):
                raise RouteError("its columns hold numbers that are too large to be squared")
            if centre is None:
                centre = float(middle(seen[:, None])[0]) if len(seen) else 0.0
            self.value_sources.append(self.n_columns)
            self.values.append(x)
            self._centres.append(centre)
            self._add((key, "value"), np.where(np.isnan(x), 0.0, x - centre)[:, None], recipe)
        at = int(self._places[key, "value"][0])
        return at, self._centres[self.value_sources.index(at)]

    def centre_of_product(self, at: int) -> float:
        """What was subtracted from a product of columns; nothing from a column that is none."""
        return self._centres[self.value_sources.index(at)] if at in self._products else 0.0

    def product(self, sources: Sequence[int]) -> int | None:
        """Where the product of some columns of B is, about its middle; None if it is zero in every row."""
        powers = Counter(sources)
        values = set(self.value_sources)
        powers = Counter({at: power if at in values else 1 for at, power in powers.items()})  # ones stay ones
        if sum(powers.values()) == 1:
            return next(iter(powers))
        key = ("product", tuple(sorted(powers.elements())))
        if (key, "value") not in self._places:
            column: FloatArray = np.prod([self.column(at) ** power for at, power in sorted(powers.items())], axis=0)
            if not column.any():
                return None
            self._products.add(self.value(key, column)[0])
        return int(self._places[key, "value"][0])

    def column(self, at: int) -> FloatArray:
        """A column of B."""
        for part in self._parts:
            if at < part.shape[1]:
                return as_dense(part[:, [at]])[:, 0]
            at -= part.shape[1]
        raise IndexError(at)

    def indicator(self, key: Hashable, mask: BoolArray, recipe: Recipe | None = None) -> int:
        """Where the indicator of some rows is."""
        return int(self.levels((key, "indicator"), np.where(mask, 0, -1), 1, recipe)[0])

    def levels(self, key: Hashable, codes: IntArray, n_levels: int, recipe: Recipe | None = None) -> IntArray:
        """Where the indicators of levels are, of rows that have the level ``codes`` (n,); -1 is none."""
        if (key, "levels") not in self._places:
            rows = np.flatnonzero(codes >= 0)
            entries = (np.ones(len(rows)), (rows, codes[rows]))
            self._add((key, "levels"), sparse.csr_matrix(entries, shape=(self.n, n_levels)), recipe)
        return self._places[key, "levels"]

    def _add(self, key: Hashable, columns: Matrix, recipe: Recipe | None) -> None:
        self.recipes.append(recipe)
        first = self.n_columns
        self._places[key] = np.arange(first, first + columns.shape[1])
        self._parts.append(columns)
        self._n_columns += columns.shape[1]

    @cached_property
    def matrix(self) -> Matrix:
        """B, dense unless that is large and holds indicators."""
        is_small = 8 * self.n * self.n_columns <= MOST_DENSE_BYTES
        if is_small or not any(sparse.issparse(part) for part in self._parts):
            return np.hstack([as_dense(part) for part in self._parts]) if self._parts else np.zeros((self.n, 0))
        return sparse.csr_matrix(sparse.hstack(self._parts, format="csr"))

    @property
    def centres(self) -> FloatArray:
        """What was subtracted from the columns of values, in the order of ``value_sources``."""
        return np.array(self._centres, dtype=np.float64)

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
