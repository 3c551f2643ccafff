"""Folds of rows that are read in blocks: the fold of a row follows from its number alone, wherever it is read.

Rows are dealt by a keyed bijection of their numbers: row i goes to fold pi(i) mod K, so the sizes of folds differ by at
most one, and a row's fold is the same for any size of block, on any worker, when it is read again. Groups and classes
are dealt from counts that a first pass over the rows has made.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from math import isqrt
from typing import TypeAlias

import numpy as np

from .errors import FoldError
from .linalg import compiled
from .typing import AnyArray, IntArray

__all__ = ["DealtClasses", "DealtGroups", "DealtRows", "KeyedOrder", "deal_groups"]

ROUNDS, ROUNDS_OF_FEW, FEW = 6, 12, 10_000
"""Rounds of the network, and rounds for few rows: with four pairs of few rows meet unevenly."""

AT_ONCE = 2**15
"""Rows whose places are computed at once: what the caches hold."""

RoundKey: TypeAlias = tuple[int, int]
"""What a half is multiplied by, and what is added, before it is squared."""

MOST_ROWS = 2**62
"""Rows beyond which places would not fit into 64 bits."""


@dataclass(frozen=True)
class KeyedOrder:
    """A bijection pi of the numbers 0 to n - 1 that looks random and is computed for any of them alone.

    Notes
    -----
    A Feistel network on pairs: a number is written as ``left * width + right``, and rounds add in turn to one half a
    hash of the other, ``left += F(right) mod height``, ``right += G(left) mod width``. Each round can be undone, so the
    network is a bijection of 0 to height * width - 1, whatever F and G are. Places at or beyond n are sent through the
    network again (cycle walking), which keeps it a bijection of 0 to n - 1; height * width exceeds n by less than the
    width, so that few are.

    Examples
    --------
    >>> from onefit.dealing import KeyedOrder
    >>> sorted(KeyedOrder(7, key=(0, 0)).places(0, 7).tolist())
    [0, 1, 2, 3, 4, 5, 6]
    """

    n: int
    key: tuple[int, ...]

    def __post_init__(self) -> None:
        if not 0 <= self.n <= MOST_ROWS:
            raise FoldError(f"There are {self.n} rows; rows can be dealt into folds from 0 up to {MOST_ROWS} of them.")

    @cached_property
    def width(self) -> int:
        """Values of the right half: the smallest number whose square is at least n."""
        return isqrt(max(self.n, 1) - 1) + 1

    @cached_property
    def height(self) -> int:
        """Values of the left half."""
        return max(1, -(-self.n // self.width))

    def places(self, start: int, stop: int) -> IntArray:
        """Places pi of the numbers ``start`` to ``stop - 1``."""
        return self.folds(start, stop, max(self.n, 1))

    def folds(self, start: int, stop: int, n_folds: int) -> IntArray:
        """Places of these numbers modulo a number of folds."""
        if not 0 <= start <= stop <= self.n:
            raise FoldError(f"Rows {start} to {stop} were asked for of {self.n}: has the table changed between passes?")
        if compiled.is_on() and self.n:
            return compiled.deal(self._keys, start, stop, self.n, (self.width, self.height), n_folds)
        return _modulo(self._in_parts(np.arange(start, stop, dtype=np.int64)), n_folds)

    def places_of(self, numbers: AnyArray) -> IntArray:
        """Places pi of these numbers."""
        numbers = np.asarray(numbers, dtype=np.int64)
        if len(numbers) and not (numbers.min() >= 0 and numbers.max() < self.n):
            raise FoldError(
                f"Row {numbers.min() if numbers.min() < 0 else numbers.max()} was asked for of {self.n}: has the table "
                "changed between passes?"
            )
        return self._in_parts(numbers)

    def _in_parts(self, numbers: AnyArray) -> IntArray:
        """Places pi of these numbers, a part at a time that stays in the cache."""
        places, keys = np.empty(len(numbers), dtype=np.intp), self._keys
        for first in range(0, len(numbers), AT_ONCE):
            part = self._sent(numbers[first : first + AT_ONCE].astype(self._word), keys)
            beyond = np.flatnonzero(part >= self.n) if self.height * self.width > self.n else ()
            while len(beyond):
                part[beyond] = self._sent(part[beyond], keys)
                beyond = beyond[part[beyond] >= self.n]
            places[first : first + AT_ONCE] = part
        return places

    @property
    def _keys(self) -> tuple[RoundKey, ...]:
        """Of all rounds."""
        return _round_keys(self.key, 32 if self._word is np.uint32 else 64, ROUNDS if self.n > FEW else ROUNDS_OF_FEW)

    @property
    def _word(self) -> type[np.uint32] | type[np.uint64]:
        """Integers in which the rounds are computed: a half takes half of their bits."""
        return np.uint32 if self.n <= 2**32 else np.uint64

    def _sent(self, numbers: AnyArray, keys: Sequence[RoundKey]) -> AnyArray:
        """The numbers after all rounds of the network, once."""
        left = numbers // self.width  # NumPy vectorizes the division by a scalar, not its remainder
        right = numbers - left * self.width
        spare = np.empty_like(left)
        for place, key in enumerate(keys):
            half, other, size = (left, right, self.height) if place % 2 == 0 else (right, left, self.width)
            _mix(other, key, size, spare)
            half += spare
            np.subtract(half, size, out=spare)
            np.minimum(half, spare, out=half)  # below zero is far above without sign: the remainder
        left *= self.width
        left += right
        return left


def _mix(half: AnyArray, key: RoundKey, size: int, out: AnyArray) -> None:
    """A random function of one half, with values 0 to size - 1: the upper bits of a square, scaled."""
    factor, added = key
    bits = 4 * out.itemsize
    np.multiply(half, factor, out=out)
    out += added
    out *= out
    out >>= bits
    out *= size
    out >>= bits


@lru_cache(maxsize=256)  # repeats of a job come in turn for every block
def _round_keys(key: tuple[int, ...], bits: int, rounds: int) -> tuple[RoundKey, ...]:
    """A factor, which is odd, and a summand for each round."""
    entropy, *path = key
    drawn = np.random.SeedSequence(entropy, spawn_key=tuple(path)).generate_state(
        2 * rounds, np.uint32 if bits == 32 else np.uint64
    )
    return tuple((int(factor) | 1, int(added)) for factor, added in drawn.reshape(rounds, 2))


@dataclass(frozen=True)
class DealtRows:
    """Folds of ``n`` rows, each by its number; sizes differ by at most one.

    ``stream`` keeps jobs with the same seed apart, as in `onefit.folds.RandomFolds`.

    Examples
    --------
    >>> import numpy as np
    >>> from onefit.dealing import DealtRows
    >>> rows = DealtRows(n=10, n_folds=4, entropy=0)
    >>> np.bincount(rows.ids(0, 10, repeat=0)).tolist()
    [3, 3, 2, 2]
    >>> bool(np.array_equal(rows.ids(0, 10, repeat=0)[6:], rows.ids(6, 10, repeat=0)))
    True
    """

    n: int
    n_folds: int
    entropy: int
    stream: int = 0

    def ids(self, start: int, stop: int, repeat: int) -> IntArray:
        """Folds of rows ``start`` to ``stop - 1`` in a repeat."""
        return self._order(repeat).folds(start, stop, self.n_folds)

    def sizes(self) -> IntArray:
        """Rows in each fold, the same in all repeats."""
        return _even_sizes(self.n, self.n_folds)

    def _order(self, repeat: int) -> KeyedOrder:
        return KeyedOrder(self.n, (self.entropy, self.stream, repeat))


@dataclass(frozen=True, eq=False)
class DealtClasses:
    """Folds in which every class is spread evenly, dealt from the number of rows of each class.

    ``counts[c]`` are the rows of class c in the whole table. Within a class rows are dealt by their number among its
    rows, one class after the other, so the sizes of folds differ by at most one in every class, and all in all.

    Examples
    --------
    >>> import numpy as np
    >>> from onefit.dealing import DealtClasses
    >>> classes = np.array([0, 1, 1, 0, 1, 1, 1, 0])
    >>> dealt = DealtClasses(counts=(3, 5), n_folds=4, entropy=0)
    >>> np.bincount(dealt.ids(classes, before=[0, 0], repeat=0)).tolist()
    [2, 2, 2, 2]
    """

    counts: Sequence[int] | IntArray
    n_folds: int
    entropy: int
    stream: int = 0

    def ids(self, classes: IntArray, before: Sequence[int] | IntArray, repeat: int) -> IntArray:
        """Folds of a block of rows in a repeat.

        ``classes`` are the classes of its rows as numbers, ``before`` the rows of each class before the block.
        """
        first = np.concatenate([[0], np.cumsum(self.counts)])
        turn = np.random.default_rng(np.random.SeedSequence(self.entropy, spawn_key=(self.stream, repeat)))
        fold_of = turn.permutation(self.n_folds)  # else fold 0 would have one more of every class
        order = np.argsort(classes, kind="stable")
        present, starts = np.unique(classes[order], return_index=True)
        ids = np.empty(len(classes), dtype=np.intp)
        for c, rows in zip(present.tolist(), np.split(order, starts[1:]), strict=True):
            pi = KeyedOrder(int(self.counts[c]), (self.entropy, self.stream, repeat, 1 + c))
            start = int(before[c])
            ids[rows] = fold_of[_modulo(pi.places(start, start + len(rows)) + first[c], self.n_folds)]
        return ids

    def sizes(self, repeat: int) -> IntArray:
        """Rows in each fold in a repeat."""
        turn = np.random.default_rng(np.random.SeedSequence(self.entropy, spawn_key=(self.stream, repeat)))
        sizes = np.empty(self.n_folds, dtype=np.intp)
        sizes[turn.permutation(self.n_folds)] = _even_sizes(int(np.sum(self.counts)), self.n_folds)
        return sizes


@dataclass(frozen=True, eq=False)
class DealtGroups:
    """Folds of whole groups, dealt from their sizes, as `onefit.folds.RandomFolds` deals them in memory.

    ``counts[g]`` are the rows of group g, groups in sorted order.

    Examples
    --------
    >>> import numpy as np
    >>> from onefit.dealing import DealtGroups
    >>> dealt = DealtGroups(counts=(4, 2, 3, 3), n_folds=3, entropy=0)
    >>> np.unique(dealt.ids(np.array([0, 2, 2, 1, 0]), repeat=0)[[0, 4]]).size
    1
    """

    counts: Sequence[int] | IntArray
    n_folds: int
    entropy: int
    stream: int = 0
    _dealt: dict[int, IntArray] = field(default_factory=dict, repr=False)

    def ids(self, groups: IntArray, repeat: int) -> IntArray:
        """Folds of rows in these groups, given as numbers, in a repeat."""
        return self.folds_of(repeat)[groups]

    def folds_of(self, repeat: int) -> IntArray:
        """The fold of each group in a repeat; kept, since every block asks for it."""
        if repeat not in self._dealt:
            rng = np.random.default_rng(np.random.SeedSequence(self.entropy, spawn_key=(self.stream, repeat)))
            self._dealt[repeat] = deal_groups(np.asarray(self.counts, dtype=np.intp), self.n_folds, rng)
        return self._dealt[repeat]

    def sizes(self, repeat: int) -> IntArray:
        """Rows in each fold in a repeat."""
        sizes = np.zeros(self.n_folds, dtype=np.intp)
        np.add.at(sizes, self.folds_of(repeat), self.counts)
        return sizes


def deal_groups(sizes: IntArray, n_folds: int, rng: np.random.Generator) -> IntArray:
    """The fold of each group: groups in random order, each to the fold with the fewest rows so far."""
    if len(sizes) < n_folds:
        raise FoldError(f"{len(sizes)} groups cannot make {n_folds} folds; at most one fold for each group.")
    fold_of = np.empty(len(sizes), dtype=np.intp)
    if n_folds == len(sizes):
        fold_of[:] = np.arange(n_folds)
        return fold_of
    filled = [(0, fold) for fold in range(n_folds)]  # a heap: of folds that are equally full the first
    rows = sizes.tolist()
    for group in rng.permutation(len(sizes)).tolist():
        has, fold = filled[0]
        heapq.heapreplace(filled, (has + rows[group], fold))
        fold_of[group] = fold
    return fold_of


def _even_sizes(n: int, n_folds: int) -> IntArray:
    """Sizes of folds to which n rows are dealt in turn."""
    return n // n_folds + (np.arange(n_folds) < n % n_folds)


def _modulo(numbers: IntArray, divisor: int) -> IntArray:
    """Remainders; NumPy vectorizes the division by a scalar, not its remainder."""
    return numbers - numbers // divisor * divisor
