"""Rows that are not in memory: fragments that whoever computes reads by itself, and passes over all of them.

A `Fragment` is a part of a table that can be pickled and read anywhere: on a thread here, on a worker elsewhere. A pass
maps a function over `Piece`s, some consecutive fragments each, and adds up what it returns. Sums are made in the order
of a binary tree over the pieces, which depends on nothing but the table, so that neither the number of workers nor the
order in which they finish can change a bit of the answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from ..typing import AnyArray, FloatArray

__all__ = ["ROWS_OF_A_PIECE", "Block", "Fragment", "Keep", "PassRunner", "Piece", "TreeSum", "add_up", "pieces_of"]

ROWS_OF_A_PIECE = 2**18
"""Consecutive fragments are one piece until they have so many rows: sums of a piece take as long as the next read."""

T = TypeVar("T")


class Block(Protocol):
    """Consecutive rows of some columns."""

    @property
    def n_rows(self) -> int:
        """How many there are."""

    def numbers(self, names: Sequence[str]) -> FloatArray:
        """Columns (rows, names) in double precision, NaN where they are missing; a `DataError` if one is no number."""

    def values(self, name: str) -> AnyArray:
        """A column as scikit-learn would find it in a frame: numbers, truth values, or objects such as texts."""


class Fragment(Protocol):
    """A part of a table, in the order of its rows, which can be pickled."""

    @property
    def name(self) -> str:
        """What errors call it: a file, a chunk."""

    @property
    def n_rows(self) -> int | None:
        """How many rows it has; None if only a pass can tell."""

    def blocks(self, columns: Sequence[str]) -> Iterator[Block]:
        """Its rows in order, some at a time, and of its columns only those that are named.

        What is found at the first reading must be found at every other one: the same blocks, of the same rows. If that
        is not so, as the file has changed, or if it cannot be read, it raises a `DataError` that names the fragment.
        """


@dataclass(frozen=True)
class Piece:
    """What one task of a pass reads.

    Attributes
    ----------
    place : int
        Its number among the pieces of the pass.
    fragments : tuple of Fragment
    first : int or None
        Number of its first row in the table; None if that is not known yet.
    """

    place: int
    fragments: tuple[Fragment, ...]
    first: int | None


def pieces_of(fragments: Sequence[Fragment], counts: Sequence[int | None]) -> list[Piece]:
    """Consecutive fragments as pieces, given their numbers of rows; unknown ones are a piece each."""
    pieces: list[Piece] = []
    held: list[Fragment] = []
    first: int | None = 0
    rows = 0
    for fragment, count in zip(fragments, counts, strict=True):
        held.append(fragment)
        rows += count or 0
        if count is None or rows >= ROWS_OF_A_PIECE:
            pieces.append(Piece(len(pieces), tuple(held), first))
            first = None if first is None or count is None else first + rows
            held, rows = [], 0
    if held:
        pieces.append(Piece(len(pieces), tuple(held), first))
    return pieces


class TreeSum(Generic[T]):
    """The sum of n results that come in any order, always added in that of a binary tree.

    Leaves are the results by their places; the parent of nodes 2i and 2i + 1 of a level is node i of the next one, and
    a node without a sibling is its own parent. What is complete is added at once, so that hardly more than log2(n)
    results, and those that wait for a sibling, are held.

    Parameters
    ----------
    n : int
    add : function
        ``add(a, b)`` of the earlier and the later part; it may write into ``a``.

    Attributes
    ----------
    nodes : dict
        By level and number, sums of what is complete: all that it takes to go on later.

    Examples
    --------
    >>> from onefit.sources import TreeSum
    >>> tree = TreeSum(3, lambda a, b: f"({a}{b})")
    >>> for place in (2, 0, 1):
    ...     tree.put(place, "abc"[place])
    >>> tree.total
    '((ab)c)'
    """

    def __init__(self, n: int, add: Callable[[T, T], T]) -> None:
        self.n, self.add = n, add
        self.nodes: dict[tuple[int, int], T] = {}

    def _width(self, level: int) -> int:
        """Nodes of a level."""
        return int(-(-self.n // 2**level))

    def put(self, place: int, value: T) -> None:
        """Take in one result, and add up what has become complete."""
        level = 0
        while self._width(level) > 1:
            sibling = place ^ 1
            if sibling < self._width(level):
                if (level, sibling) not in self.nodes:
                    break
                other = self.nodes.pop((level, sibling))
                value = self.add(value, other) if place < sibling else self.add(other, value)
            level, place = level + 1, place // 2
        self.nodes[level, place] = value

    def missing(self) -> list[int]:
        """Places of results that are in no sum yet."""
        has: set[int] = set()
        for level, number in self.nodes:
            has.update(range(number * 2**level, min(self.n, (number + 1) * 2**level)))
        return [place for place in range(self.n) if place not in has]

    @property
    def total(self) -> T:
        """The sum, when all results are there."""
        (total,) = self.nodes.values()
        return total


class Keep(Protocol):
    """Keeps the sums of a pass that is under way, so that a later call can go on from them."""

    def load(self) -> dict[tuple[int, int], object]:
        """`TreeSum.nodes` of an earlier call; empty if there was none."""

    def save(self, nodes: dict[tuple[int, int], object]) -> None:
        """Keep these, now and then: it may do nothing if little time has passed."""


def add_up(
    found: Callable[[list[Piece]], Iterable[tuple[int, T]]],
    pieces: Sequence[Piece],
    add: Callable[[T, T], T],
    tick: Callable[[int], None],
    keep: Keep | None,
) -> T:
    """The sum over all pieces, made here, of places and results as ``found`` yields them; see `PassRunner.sum`."""
    tree: TreeSum[Any] = TreeSum(len(pieces), add)
    if keep is not None:
        tree.nodes = keep.load()
    todo = tree.missing()
    tick(len(pieces) - len(todo))
    for place, result in found([pieces[place] for place in todo]):
        tree.put(place, result)
        if keep is not None:
            keep.save(tree.nodes)
        tick(1)
    total: T = tree.total
    return total


class PassRunner(Protocol):
    """Where passes are computed: threads of this process, or the workers of a cluster."""

    @property
    def reads_ahead(self) -> bool:
        """Whether a thread beside each task reads its next rows: not where every task has a core of its own."""

    def sum(
        self,
        task: Callable[[Piece], T],
        pieces: Sequence[Piece],
        add: Callable[[T, T], T],
        tick: Callable[[int], None],
        keep: Keep | None = None,
    ) -> T:
        """Map a function over the pieces and add up the results, in the order of `TreeSum`.

        ``task`` and ``add`` can be pickled if the fragments can. ``tick`` counts pieces that are done, here, in this
        process; it raises to end a pass that nobody waits for any more. An error of a task is raised as it is, and what
        else is under way is cancelled. With ``keep``, what is kept there is not computed again.
        """

    def some(self, task: Callable[[Piece], T], pieces: Sequence[Piece]) -> Iterable[T]:
        """Map a function over a few pieces, in their order."""
