"""Repeated partitions of the rows into folds, each repeat from a seed of its own.

Repeat ``l`` of a run with seed ``s`` is the same partition whatever the number of repeats, jobs or blocks.
"""

from __future__ import annotations

import reprlib
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, cast

import numpy as np
from sklearn.model_selection import PredefinedSplit

from .dealing import deal_groups
from .errors import DataError, FoldError
from .typing import AnyArray, ArrayLike, BoolArray, Data, IntArray, Seed, Splitter

__all__ = [
    "ExplicitFolds",
    "FoldSource",
    "Folds",
    "RandomFolds",
    "as_folds",
    "entropy_of",
    "explicit_folds",
    "is_single",
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


def is_single(value: ArrayLike) -> bool:
    """Whether it is no list or array; what is made of unequal lists is no table, but a list."""
    try:
        return bool(np.ndim(value) == 0)
    except ValueError:
        return False


@dataclass(frozen=True)
class GivenSplits:
    """Pairs of training and test rows, as a splitter."""

    splits: tuple[tuple[IntArray, IntArray], ...]

    def split(self, X: Any, y: Any, groups: Any, /) -> Iterator[tuple[IntArray, IntArray]]:
        """The pairs that were given."""
        return iter(self.splits)


def as_folds(cv: object) -> Splitter:
    """A splitter of scikit-learn as it is, or one of the pairs of training and test rows that were given."""
    if isinstance(cv, type) and hasattr(cv, "split"):
        raise FoldError(f"cv={cv.__name__} is a class; give one of its kind, as cv={cv.__name__}().")
    if hasattr(cv, "split") and not isinstance(cv, str | bytes):
        return cast(Splitter, cv)
    wrong = FoldError(
        f"cv={reprlib.repr(cv)} is none of: a number of folds, a splitter of scikit-learn, or a list of (training "
        "rows, test rows). Ids of folds are given by folds=."
    )
    if not isinstance(cv, Iterable) or isinstance(cv, str | bytes):
        raise wrong
    try:
        pairs = [(np.asarray(train), np.asarray(test)) for train, test in cv]
    except (TypeError, ValueError):
        raise wrong from None
    if not pairs or any(rows.dtype.kind not in "iu" or rows.ndim != 1 for pair in pairs for rows in pair):
        raise wrong
    return GivenSplits(tuple((train.astype(np.intp), test.astype(np.intp)) for train, test in pairs))


def explicit_folds(
    folds: ArrayLike | Splitter,
    n: int,
    X: Data | None = None,
    y: AnyArray | None = None,
    groups: IntArray | None = None,
    name: str = "folds",
) -> ExplicitFolds:
    """Fold ids from an array (repeats, n), a vector (n,), or a scikit-learn splitter."""
    if hasattr(folds, "split"):
        ids = _ids_of_splitter(cast(Splitter, folds), n, X, y, groups)
    else:
        ids = _ids_of_array(folds, n, name)
    n_folds = int(ids.max()) + 1
    if n_folds < 3:
        raise FoldError(f"{name} has {n_folds} fold(s); nested cross-validation removes two and needs at least 3.")
    explicit = ExplicitFolds(ids, n_folds)
    if not explicit.sizes.all():
        repeat, missing = np.argwhere(explicit.sizes == 0)[0]
        raise FoldError(
            f"{name} has no row with id {missing} in repeat {repeat}; every repeat must use all ids 0 to {n_folds - 1}."
        )
    if groups is None:
        return explicit
    for repeat, row in enumerate(ids):
        if not np.array_equal(row, _first_of_group(row, groups)):
            group = groups[np.flatnonzero(row != _first_of_group(row, groups))[0]]
            raise FoldError(
                f"{name} splits group number {group} (in sorted order) in repeat {repeat}: rows of a group must share "
                "a fold, or the held-out error is too good."
            )
    return explicit


def _first_of_group(ids: IntArray, groups: IntArray) -> IntArray:
    """For each row the fold of its group's first row."""
    first = np.unique(groups, return_index=True)[1]
    return ids[first][groups]


def _ids_of_array(folds: ArrayLike, n: int, name: str) -> IntArray:
    try:
        array = np.asarray(folds)
    except ValueError as error:
        raise FoldError(
            f"{name} is not a table of fold ids ({error}); give an array (n_repeats, {n}), not training and test rows."
        ) from error
    if array.ndim == 0 and array.dtype.kind in "iu" and name == "folds":
        raise FoldError(
            f"folds={array} is a number, and folds= takes the folds themselves; give n_folds={array} or cv={array}."
        )
    if array.ndim == 1:
        array = array[None, :]
    if array.ndim != 2 or array.shape[0] == 0 or array.shape[1] != n:
        raise FoldError(f"{name} has shape {array.shape}; it must be an array (n_repeats, {n}) of fold ids.")
    if array.dtype.kind not in "iu":
        with np.errstate(invalid="ignore"):
            whole = array.astype(np.intp) if array.dtype.kind in "fb" else None
        if whole is None or array.dtype.kind == "b" or not np.array_equal(whole, array):
            raise FoldError(f"{name} must hold integers: ids 0 to K-1, and -1 for rows that are never scored.")
        array = whole
    ids = array.astype(np.intp)
    if ids.min() < -1:
        raise FoldError(f"{name} holds the id {ids.min()}; ids run from 0 to K-1, -1 marks rows never scored.")
    if ids.max() < 0:
        raise FoldError(f"{name} scores no row at all: every id is -1.")
    if ids.max() >= n:
        raise FoldError(f"{name} holds the id {ids.max()}, and there are {n} rows; ids run from 0 to K-1.")
    return ids


def _ids_of_splitter(
    splitter: Splitter, n: int, X: Data | None, y: AnyArray | None, groups: IntArray | None
) -> IntArray:
    """Chain a splitter's test sets into partitions; each must be complete before the next begins."""
    repeats: list[IntArray] = []
    current = np.full(n, -1, dtype=np.intp)
    fold = 0
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*groups parameter is ignored")  # we check them ourselves
            splits = [(np.asarray(train), np.asarray(test)) for train, test in splitter.split(X, y, groups)]
    except Exception as error:
        raise FoldError(f"{type(splitter).__name__} cannot split these rows: {error}") from error
    for train, test in splits:
        if test.min(initial=0) < 0 or max(test.max(initial=0), train.max(initial=0)) >= n:
            raise FoldError(f"{type(splitter).__name__} names rows beyond the {n} that there are.")
        if (current[test] >= 0).any():
            raise FoldError(
                f"The test sets of {type(splitter).__name__} overlap before they cover every row; nested "
                "cross-validation needs partitions (KFold, RepeatedKFold)."
            )
        if len(train) + len(test) != n or np.isin(test, train).any():
            raise FoldError(
                f"A training set of {type(splitter).__name__} is not all rows outside its test set; nested "
                "cross-validation needs partitions (KFold, RepeatedKFold)."
            )
        current[test] = fold
        fold += 1
        if (current >= 0).all():
            repeats.append(current)
            current = np.full(n, -1, dtype=np.intp)
            fold = 0
    if fold and not repeats and isinstance(splitter, PredefinedSplit | GivenSplits):
        return current[None]  # rows that are in no test set are meant to be trained on always
    if fold or not repeats:
        raise FoldError(
            f"The test sets of {type(splitter).__name__} do not cover every row; nested cross-validation needs "
            "partitions (KFold, RepeatedKFold)."
        )
    if len({int(r.max()) for r in repeats}) > 1:
        raise FoldError(f"{type(splitter).__name__} gives repeats with different numbers of folds.")
    return np.stack(repeats)
