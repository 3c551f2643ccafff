"""What folds for rows that follow one another share: the face of a splitter, blocks with buffers, and checks."""

from __future__ import annotations

import reprlib
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, Literal

import numpy as np

from .arrangement import Arrangement, Line, Plane
from .errors import FoldError
from .rowplaces import is_number
from .typing import Data, IntArray

__all__ = ["FEWEST_IN_A_BLOCK", "Buffer", "BufferedBlocks", "Pairs", "RowSplitter", "check_buffer", "check_count"]

Buffer = float | Literal["auto"]

FEWEST_IN_A_BLOCK = 3

Pairs = list[tuple[IntArray, IntArray]]
"""What is dropped and what is scored in each fold."""


class RowSplitter(ABC):
    """A splitter as scikit-learn knows them, too."""

    @abstractmethod
    def arrange(self, X: Data, n: int) -> Arrangement:
        """How the rows lie to each other."""

    @abstractmethod
    def pairs_of(self, arrangement: Arrangement, n: int) -> Pairs:
        """What is dropped and what is scored in each fold."""

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[tuple[IntArray, IntArray]]:
        """Training and test rows of each fold, as scikit-learn's functions take them.

        Parameters
        ----------
        X : table of n rows
        y, groups : ignored
        """
        n = X.shape[0] if hasattr(X, "shape") else len(X)
        for drop, score in self.pairs_of(self.arrange(X, n), n):
            yield np.setdiff1d(np.arange(n), drop), score

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return how many folds there are of these rows."""
        return sum(1 for _ in self.split(X))


class BufferedBlocks(RowSplitter):
    """Blocks with buffers."""

    n_blocks: int
    buffer: Buffer

    def pairs_of(self, arrangement: Arrangement, n: int) -> Pairs:
        """With the buffer that was given."""
        if isinstance(self.buffer, str):
            raise FoldError(
                'buffer="auto" is found by nested_cv, from the residuals of a model; give a number, such as '
                "result.dependence.buffer."
            )
        unit = arrangement.step if isinstance(arrangement, Plane) else 1.0
        return self.pairs_within(arrangement, float(self.buffer) / unit)

    def pairs_within(self, arrangement: Arrangement, distance: float) -> Pairs:
        """With a buffer of so many steps."""
        return arrangement.drops(self.blocks(arrangement), distance)

    def blocks(self, arrangement: Arrangement) -> IntArray:
        """The block of each row."""
        if arrangement.n_places < FEWEST_IN_A_BLOCK * self.n_blocks:
            what = "times" if isinstance(arrangement, Line) else "points"
            most = arrangement.n_places // FEWEST_IN_A_BLOCK
            remedy = f"give n_blocks={most}" if most >= 3 else f"even three blocks need {3 * FEWEST_IN_A_BLOCK}"
            remedy += " or less" if most > 3 else ""
            raise FoldError(
                f"{type(self).__name__}(n_blocks={self.n_blocks}) needs at least {FEWEST_IN_A_BLOCK * self.n_blocks} "
                f"distinct {what}, and there are {arrangement.n_places}: {remedy}."
            )
        return arrangement.blocks(self.n_blocks)


def check_count(name: str, value: object, least: int) -> None:
    """Refuse what is no number of rows, times or blocks."""
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < least:
        hint = "; times go by order=, places by coords=" if np.ndim(value) else ""  # type: ignore[arg-type]
        raise FoldError(f"{name}={reprlib.repr(value)} must be an integer of at least {least}{hint}.")


def check_buffer(buffer: object) -> None:
    """Refuse what is no length of a buffer."""
    is_auto = isinstance(buffer, str) and buffer == "auto"
    if not is_auto and not (is_number(buffer) and 0 <= buffer < np.inf):  # type: ignore[operator]
        raise FoldError(f'buffer={buffer!r} must be a number of steps that is not negative, or "auto".')
