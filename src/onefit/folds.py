"""Repeated partitions of the rows into folds, each repeat from a seed of its own.

Repeat ``l`` of a run with seed ``s`` is the same partition whatever the number of repeats, jobs or blocks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from .dealing import deal_groups
from .errors import DataError
from .typing import BoolArray, IntArray, Seed

__all__ = [
    "ExplicitFolds",
    "FoldSource",
    "Folds",
    "RandomFolds",
    "entropy_of",
]

COUNTED_AT_ONCE = 2**18
"""Rows whose folds are counted at once, of as many repeats as have them: what the caches hold."""


@dataclass(frozen=True)
class Folds:
    """A block of repeats: ``ids[l, i]`` is the fold of row i in repeat ``first + l``, -1 if never scored.

    ``width`` is what folds are padded to, if it is more than the largest of them: sums over a fold are rounded by their
    length, so it must not depend on which repeats are in a block.
    """

    ids: IntArray
    n_folds: int
    first: int = 0
    width: int = 0

    @property
    def n_repeats(self) -> int:
        """Number of partitions in this block."""
        return int(self.ids.shape[0])

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.ids.shape[1])

    @cached_property
    def sizes(self) -> IntArray:
        """Rows in each fold, (repeats, folds)."""
        step = max(1, COUNTED_AT_ONCE // max(1, self.n))
        parts = [self._count(self.ids[first : first + step]) for first in range(0, self.n_repeats, step)]
        return np.concatenate(parts)

    def _count(self, ids: IntArray) -> IntArray:
        """Rows in each fold of some partitions."""
        shifted = ids + (1 + (self.n_folds + 1) * np.arange(len(ids))[:, None])
        counts = np.bincount(shifted.ravel(), minlength=len(ids) * (self.n_folds + 1))
        return counts.reshape(len(ids), self.n_folds + 1)[:, 1:]

    @cached_property
    def members(self) -> IntArray:
        """Row numbers of each fold in rising order, (repeats, folds, largest fold), padded with n."""
        # numbers of sixteen bits are sorted by counting
        short = self.ids.astype(np.int16) if self.n_folds <= np.iinfo(np.int16).max else self.ids
        order = np.argsort(short, axis=1, kind="stable")
        if self.present.all() and self.n_folds * self.present.shape[2] == self.n:
            return order.reshape(self.present.shape)
        ends = np.cumsum(self.sizes, axis=1) + (self.n - self.sizes.sum(axis=1, keepdims=True))
        position = (ends - self.sizes)[:, :, None] + np.arange(self.present.shape[2])
        rows = np.take_along_axis(order, np.minimum(position, self.n - 1).reshape(self.n_repeats, -1), axis=1)
        return np.where(self.present, rows.reshape(position.shape), self.n)

    @cached_property
    def present(self) -> BoolArray:
        """Which entries of `members` are rows rather than padding."""
        return np.arange(max(self.sizes.max(), self.width)) < self.sizes[:, :, None]

    def words(self, repeat: int, out: Sequence[int]) -> str:
        """A repeat of the block without some folds, for people; without any, the repeat alone."""
        held = " and ".join(map(str, out))
        return f"In repeat {self.first + repeat}" + (
            f" with fold{'s' if len(out) > 1 else ''} {held} held out" if out else ""
        )

    def training_rows(self, repeat: int, *out: int) -> IntArray:
        """Rows of the training set of one repeat of the block when the folds ``out`` are held out."""
        return np.flatnonzero(~np.isin(self.ids[repeat], out))

    @cached_property
    def slots(self) -> IntArray:
        """Where each row stands in the flattened folds of `members`, (repeats, rows); -1 if it is never scored."""
        slots = np.full((self.n_repeats, self.n + 1), -1)
        flat = self.members.reshape(self.n_repeats, -1)
        np.put_along_axis(slots, flat, np.arange(flat.shape[1])[None], axis=1)  # all padding goes to column n
        return slots[:, :-1]

    def part(self, start: int, stop: int) -> Folds:
        """Repeats ``start`` to ``stop`` of this block, with the same padding."""
        part = Folds(self.ids[start:stop], self.n_folds, self.first + start, self.width)
        for name in ("sizes", "members", "present", "slots"):
            part.__dict__[name] = getattr(self, name)[start:stop]  # what is known need not be computed again
        return part


class FoldSource(Protocol):
    """Where the routes get their partitions from, a block of repeats at a time."""

    @property
    def n(self) -> int:
        """Number of rows."""

    @property
    def n_folds(self) -> int:
        """Number of folds."""

    @property
    def is_exhaustive(self) -> bool:
        """Whether every unit is a fold of its own, so that there is only one partition."""

    def block(self, start: int, stop: int) -> Folds:
        """Repeats ``start`` to ``stop``."""


MANY_ROWS = 50_000
"""Rows from which the folds are read in blocks of rows."""


@dataclass(frozen=True)
class RandomFolds:
    """Random partitions into folds whose sizes differ by at most one row, or as little as the groups allow.

    ``groups`` are kept together; the classes in ``strata`` are spread evenly over the folds. With as many folds as
    units (rows, or groups) there is only one partition, in their order. Rows that are not ``scored`` get -1.

    Examples
    --------
    >>> from onefit.folds import RandomFolds
    >>> RandomFolds(n=10, n_folds=4, entropy=0).block(0, 2).sizes.tolist()
    [[3, 3, 2, 2], [3, 3, 2, 2]]
    """

    n: int
    n_folds: int
    entropy: int
    stream: int = 0
    groups: IntArray | None = None
    strata: IntArray | None = None
    scored: BoolArray | None = None

    @property
    def is_exhaustive(self) -> bool:
        """Whether every unit is a fold of its own."""
        units = self.n if self.groups is None else int(self.groups.max()) + 1
        return self.n_folds == units

    def block(self, start: int, stop: int) -> Folds:
        """Repeats ``start`` to ``stop``."""
        ids = np.empty((stop - start, self.n), dtype=np.intp)
        if self.is_exhaustive:
            ids[:] = np.arange(self.n) if self.groups is None else self.groups
            return Folds(ids, self.n_folds, start)
        is_plain = self.groups is None and self.strata is None and self.scored is None
        for repeat in range(start, stop):
            seed = np.random.SeedSequence(self.entropy, spawn_key=(self.stream, repeat))
            rng = np.random.default_rng(seed)
            ids[repeat - start] = rng.permutation(self.n) if is_plain else self._deal(rng)
        if is_plain:
            return self._dealt(ids, start)
        if self.scored is not None and not self.scored.all():
            ids[:, ~self.scored] = -1
        return Folds(ids, self.n_folds, start, self._width)

    @property
    def _width(self) -> int:
        """More than any fold of groups can hold, as each goes to the smallest; rows are dealt evenly by themselves."""
        return 0 if self.groups is None else self.n // self.n_folds + int(np.bincount(self.groups).max()) + 1

    def _dealt(self, order: IntArray, start: int) -> Folds:
        """Rows dealt out in turn, in these orders: it is known which are in a fold, and only they need be sorted."""
        L, n, K = len(order), self.n, self.n_folds
        ids = np.empty((L, n), dtype=np.intp)
        np.put_along_axis(ids, order, (np.arange(n) % K)[None], axis=1)
        if n > MANY_ROWS:  # they are not asked for all at once
            return Folds(ids, K, start)
        m = -(-n // K)
        members = np.full((L, m * K), n)  # padding is larger than all rows, and stays last
        members[:, :n] = order
        folds = Folds(ids, K, start)
        folds.__dict__["members"] = np.sort(members.reshape(L, m, K).swapaxes(1, 2), axis=2)
        return folds

    def _deal(self, rng: np.random.Generator) -> IntArray:
        """One partition."""
        if self.groups is not None:
            return self._deal_groups(rng)
        order = rng.permutation(self.n)
        if self.scored is not None:
            order = order[np.argsort(~self.scored[order], kind="stable")]  # dealt first, so that they are dealt evenly
        if self.strata is not None:
            order = order[np.argsort(self.strata[order], kind="stable")]
        ids = np.empty(self.n, dtype=np.intp)
        ids[order] = np.arange(self.n) % self.n_folds
        if self.strata is not None:
            ids = rng.permutation(self.n_folds)[ids]  # else fold 0 would begin every class
        return ids

    def _deal_groups(self, rng: np.random.Generator) -> IntArray:
        """Groups in random order, each to the fold with the fewest rows so far."""
        assert self.groups is not None
        return deal_groups(np.bincount(self.groups), self.n_folds, rng)[self.groups]


@dataclass(frozen=True)
class ExplicitFolds:
    """Partitions that the user gave."""

    ids: IntArray
    n_folds: int

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.ids.shape[1])

    @property
    def n_repeats(self) -> int:
        """Number of partitions that were given."""
        return int(self.ids.shape[0])

    @property
    def is_exhaustive(self) -> bool:
        """Whether every row is a fold of its own."""
        return self.n_folds == self.n

    def block(self, start: int, stop: int) -> Folds:
        """Repeats ``start`` to ``stop``."""
        folds = Folds(self.ids[start:stop], self.n_folds, start, self._width)
        folds.__dict__["sizes"] = self.sizes[start:stop]
        return folds

    @cached_property
    def sizes(self) -> IntArray:
        """Rows in each fold, (repeats, folds)."""
        return Folds(self.ids, self.n_folds).sizes

    @cached_property
    def _width(self) -> int:
        """The largest fold of all repeats; one more if some repeats have padding and others have none."""
        largest = int(self.sizes.max())
        is_full = (self.sizes == largest).all(axis=1)
        return largest + int(is_full.any() and not is_full.all())


def entropy_of(random_state: Seed) -> int:
    """One integer that seeds all repeats."""
    if random_state is None:
        return int(np.random.SeedSequence().entropy)  # type: ignore[arg-type]
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**63))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    if isinstance(random_state, int | np.integer) and not isinstance(random_state, bool) and random_state >= 0:
        return int(random_state)
    raise DataError(f"random_state={random_state!r} must be None, a non-negative integer, or a NumPy generator.")
