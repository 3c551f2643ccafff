"""What a source of rows must offer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from ..typing import AnyArray, Data, IntArray

__all__ = ["BLOCK_BYTES", "Source"]

BLOCK_BYTES = 16 * 2**20
"""About what a block of rows takes."""


class Source(Protocol):
    """The rows of X."""

    @property
    def n_rows(self) -> int:
        """How many there are."""

    def blocks(self) -> Iterator[AnyArray]:
        """All rows in order, some at a time, as arrays: what is done by blocks needs no second copy of X."""

    def take(self, rows: IntArray) -> Data:
        """Some rows in the container that X has, as an estimator is fitted to them."""

    def between(self, rows: IntArray, others: IntArray) -> AnyArray:
        """Entries of a matrix between rows, such as a kernel."""
