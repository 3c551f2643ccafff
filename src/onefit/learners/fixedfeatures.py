"""Fixed features B: the columns that steps ask for, the same for every training set."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
from scipy import sparse

from ..checks import LEAST_SQUARED, MOST_SIZE
from ..errors import RouteError
from ..linalg.columns import middle
from ..typing import AnyArray, BoolArray, FloatArray, IntArray

__all__ = ["FixedFeatures", "Matrix", "Recipe", "as_dense"]

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


PRODUCT = "a product of its columns"


def _check_squares(size: float, name: str, *, may_be_zero: bool = True) -> None:
    """Refuse a column that varies by so little that its squares vanish: it would be taken for constant."""
    if size < LEAST_SQUARED and (size > 0 or not may_be_zero):
        raise RouteError(f"{name} varies by {size:.1g} at most, too little to be squared; rescale it")


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
        self,
        keys: Sequence[Hashable],
        columns: Sequence[FloatArray],
        recipes: Sequence[Recipe | None],
        names: Sequence[str],
    ) -> list[tuple[int, float]]:
        """Where each of some columns of numbers without gaps is, and what was subtracted from it."""
        centres = middle(np.column_stack(columns)).tolist() if columns else []
        return [self.value(*each) for each in zip(keys, columns, recipes, names, centres, strict=True)]

    def value(
        self, key: Hashable, x: FloatArray, recipe: Recipe | None, name: str, centre: float | None = None
    ) -> tuple[int, float]:
        """Where a column of numbers is, NaN where they are missing, and what was subtracted from it: its middle.

        Refused are columns whose squares are no numbers, or none that have their digits: ``name`` says to people which.
        """
        if (key, "value") not in self._places:
            seen = x[np.isfinite(x)]
            if np.abs(seen).max(initial=0.0) > MOST_SIZE or len(seen) < np.count_nonzero(~np.isnan(x)):
                raise RouteError(f"{name} holds numbers that are too large to be squared; rescale it")
            if centre is None:
                centre = float(middle(seen[:, None])[0]) if len(seen) else 0.0
            moved = np.where(np.isnan(x), 0.0, x - centre)
            _check_squares(float(np.abs(moved).max(initial=0.0)), name)
            self.value_sources.append(self.n_columns)
            self.values.append(x)
            self._centres.append(centre)
            self._add((key, "value"), moved[:, None], recipe)
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
            factors = [(self.column(at), power) for at, power in sorted(powers.items())]
            with np.errstate(over="ignore", invalid="ignore"):
                column: FloatArray = np.prod([factor**power for factor, power in factors], axis=0)
            if not column.any() and not np.all([factor != 0 for factor, _ in factors], axis=0).any():
                return None
            if not np.isfinite(column).all():
                raise RouteError("a product of its columns holds numbers that are too large; rescale them")
            _check_squares(float(np.abs(column).max()), PRODUCT, may_be_zero=False)
            self._products.add(self.value(key, column, None, PRODUCT)[0])
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
