"""What goes into passes over a table, and what comes out of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from ...folds import Folds
from ...inference.chain import Chain
from ...inference.fold_errors import Failure, RowRoles
from ...inference.rowtotals import RowTotals
from ...inference.tails import UnitSizes
from ...linalg.columns import Columns
from ...typing import FloatArray, IntArray
from ..contract import Outcome
from .rows import RowReader
from .summary import RowSummary

__all__ = ["Held", "Sample", "StreamedFolds", "StreamedOutcome"]


@dataclass(frozen=True)
class Sample:
    """Some rows of a table: columns of each design, y less its middle, and weights."""

    designs: tuple[Columns, ...]
    y: FloatArray
    weights: FloatArray | None

    def root(self) -> FloatArray:
        """Roots of the weights."""
        return np.ones(len(self.y)) if self.weights is None else np.sqrt(self.weights)


@dataclass(frozen=True)
class StreamedOutcome(Outcome):
    """What was computed of a table; its totals are of no rows, ``row_values`` (n, V, R) of all if they were kept."""

    summary: RowSummary | None = None
    units: UnitSizes | None = None
    row_values: FloatArray | None = None
    row_roles: RowRoles | None = None
    criteria: Mapping[str, FloatArray] | None = None


@dataclass(frozen=True)
class StreamedFolds(Folds):
    """Sizes of the folds of some repeats; nobody has the ids of all rows."""

    n_rows: int = 0

    @property
    def n_repeats(self) -> int:
        """Number of partitions."""
        return len(self.sizes)

    @property
    def n(self) -> int:
        """Number of rows."""
        return self.n_rows

    def seeing(self, sizes: IntArray) -> StreamedFolds:
        """Those of so many rows (L, K), of which others do not count."""
        found = replace(self, n_rows=int(sizes[0].sum()))
        found.__dict__["sizes"] = sizes
        return found

    @classmethod
    def of(cls, reader: RowReader, n_rows: int) -> StreamedFolds:
        """Those of a reader's repeats."""
        found = cls(np.zeros((0, 0), dtype=np.intp), reader.deal.n_folds, reader.repeats[0], n_rows=n_rows)
        found.__dict__["sizes"] = np.stack([reader.deal.sizes(repeat) for repeat in reader.repeats])
        return found


class Held:
    """Errors of single folds, as `summarize` asks for them."""

    def __init__(self, spread: dict[str, FloatArray]) -> None:
        self._spread = spread
        self.failures: list[Failure] = []

    def spread(self, rows: RowRoles, chain: Chain) -> dict[str, FloatArray]:
        """As they were found."""
        return self._spread

    def blank(self, repeat: int, value: int) -> None:
        """Not there."""
        raise NotImplementedError

    def cv_means(self, rows: RowRoles) -> FloatArray:
        """Not there."""
        raise NotImplementedError

    def add_to(self, totals: RowTotals) -> None:
        """Not there."""
        raise NotImplementedError
