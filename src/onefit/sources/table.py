"""A table whose rows stay where they are."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import DataError, how_to_install
from ..typing import AnyArray, FloatArray, IntArray, Seed
from .daskrunner import DaskRunner
from .streams import Block, Fragment, PassRunner, Piece

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Beside", "Column", "Table", "check_rows"]


@dataclass(frozen=True)
class Column:
    """A column's name, its type in the words of where it comes from, and what that means.

    ``kind`` is "number", "truth", "text", "date" or "other".
    """

    name: str
    type: str
    kind: str


@dataclass(frozen=True, repr=False)
class Table:
    """Rows that stay on disk, or on a cluster's workers, and are read when they are needed.

    It is made by `scan`, and taken by `nested_cv`, `error_curve`, `compare` and `plan_for` in the place of X; y, groups
    and weights are then named.

    Attributes
    ----------
    fragments : tuple of Fragment
        The parts that are read by themselves, in the order of the rows.
    fields : tuple of Column
    source : str
        Where it comes from, for people.
    runner : PassRunner or None
        Where passes over the rows are computed; None is in threads of this process.

    Examples
    --------
    >>> import onefit, pandas as pd
    >>> table = onefit.scan(pd.DataFrame({"size": [1.0, 2.0, 3.0], "city": ["a", "b", "a"]}))
    >>> table.n_rows, table.columns
    (3, ('size', 'city'))
    >>> table.head(2)
       size city
    0   1.0    a
    1   2.0    b
    """

    fragments: tuple[Fragment, ...]
    fields: tuple[Column, ...]
    source: str
    runner: PassRunner | None = field(default=None, repr=False)

    def __repr__(self) -> str:
        rows = "rows that are not counted" if self.n_rows is None else f"{self.n_rows:,} rows"
        return f"<Table of {self.source}: {rows}, {len(self.fields)} columns, {len(self.fragments)} fragments>"

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(each.name for each in self.fields)

    @property
    def schema(self) -> dict[str, str]:
        """Type of each column by its name."""
        return {each.name: each.type for each in self.fields}

    @cached_property
    def _by_name(self) -> Mapping[str, Column]:
        return {each.name: each for each in self.fields}

    def column(self, name: str, role: str = "column") -> Column:
        """What is known of a column; an error that names the nearest one if it is not there."""
        if name in self._by_name:
            return self._by_name[name]
        near = difflib.get_close_matches(name, self.columns, 1)
        hint = f"did you mean {near[0]!r}?" if near else f"it has {', '.join(map(repr, self.columns[:8]))}."
        raise DataError(f"{role}={name!r} is no column of {self.source}; {hint}")

    @property
    def n_rows(self) -> int | None:
        """Number of rows; None if they must be counted first, as in CSV files."""
        counts = [fragment.n_rows for fragment in self.fragments]
        return None if None in counts else sum(count for count in counts if count is not None)

    def __len__(self) -> int:
        return int(self.counts().sum())

    def counts(self) -> IntArray:
        """Rows of each fragment; those that are not known are counted, which reads them."""
        if self.n_rows is None and self.runner is not None:
            alone = [Piece(place, (each,), None) for place, each in enumerate(self.fragments)]
            return np.array(list(self.runner.some(_Count(self.columns[:1]), alone)), dtype=np.intp)
        return np.array([_count(each, self.columns[:1]) for each in self.fragments], dtype=np.intp)

    def select(self, columns: Sequence[str]) -> Table:
        """The same table with some of its columns only."""
        return replace(self, fields=tuple(self.column(name, "columns") for name in columns))

    def blocks(self, columns: Sequence[str] | None = None) -> Iterator[Block]:
        """All rows in order, some at a time."""
        names = self.columns if columns is None else tuple(columns)
        for fragment in self.fragments:
            yield from fragment.blocks(names)

    def head(self, n: int = 5) -> pd.DataFrame:
        """The first rows as a frame."""
        parts: list[dict[str, AnyArray]] = []
        left = n
        for block in self.blocks():
            parts.append({name: block.values(name)[:left] for name in self.columns})
            left -= block.n_rows
            if left <= 0:
                break
        return self._frame(parts)

    def sample(self, n: int, random_state: Seed = None) -> pd.DataFrame:
        """Rows drawn at random without replacement, as a frame in their order: for what needs rows in memory.

        Parameters
        ----------
        n : int
            How many; all of them if there are fewer.
        random_state : int, Generator, RandomState or None, default=None

        Returns
        -------
        DataFrame
            Its index holds the numbers of the rows.

        Examples
        --------
        >>> import onefit, pandas as pd
        >>> table = onefit.scan(pd.DataFrame({"size": range(1000)}))
        >>> table.sample(3, random_state=0).index.tolist()
        [511, 636, 848]
        """
        if not isinstance(n, int | np.integer) or isinstance(n, bool) or n < 1:
            raise DataError(f"n={n!r} must be a whole number of rows, at least 1.")
        counts = self.counts()
        total = int(counts.sum())
        drawn = np.sort(_generator(random_state).choice(total, min(int(n), total), replace=False))
        parts, first = list[dict[str, AnyArray]](), 0
        for fragment, count in zip(self.fragments, counts, strict=True):
            if np.searchsorted(drawn, first) != np.searchsorted(drawn, first + count):
                at = first
                for block in check_rows(fragment, self.columns, int(count)):
                    low, high = np.searchsorted(drawn, [at, at + block.n_rows])
                    places = drawn[low:high] - at
                    if len(places):
                        parts.append({name: block.values(name)[places] for name in self.columns})
                    at += block.n_rows
            first += int(count)
        return self._frame(parts).set_axis(drawn, axis=0)

    def _frame(self, parts: Sequence[Mapping[str, AnyArray]]) -> pd.DataFrame:
        import pandas as pd

        columns = {name: [part[name] for part in parts] for name in self.columns}
        return pd.DataFrame({name: np.concatenate(each) if each else [] for name, each in columns.items()})

    def with_vectors(self, **vectors: AnyArray) -> Table:
        """The same table with further columns, of values in memory, one for each row."""
        counts = self.counts()
        ends = np.cumsum(counts)
        for name, values in vectors.items():
            if np.shape(values) != (int(counts.sum()),):
                raise DataError(
                    f"{name.strip('_')} has shape {np.shape(values)}, and {self.source} has {int(counts.sum())} rows; "
                    f"give one value for each row, or name a column."
                )
        parts = [
            Beside(fragment, {name: values[end - count : end] for name, values in vectors.items()})
            for fragment, count, end in zip(self.fragments, counts, ends, strict=True)
        ]
        kinds = {name: _kind_of(values) for name, values in vectors.items()}
        fields = [Column(name, str(values.dtype), kinds[name]) for name, values in vectors.items()]
        return replace(self, fragments=tuple(parts), fields=(*self.fields, *fields))

    def on_dask(self, client: Any = None) -> Table:
        """The same table, whose passes are computed by Dask: files are read by the workers, which must see them.

        Parameters
        ----------
        client : distributed.Client, default=None
            Of a cluster; None is whatever scheduler of Dask is active when a pass begins.

        Returns
        -------
        Table
        """
        try:
            import dask  # noqa: F401
        except ImportError as error:
            raise DataError(f"Passes on Dask need it, and it is not installed: {how_to_install('dask')}.") from error
        return replace(self, runner=DaskRunner(client))

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns; rows that are not known are counted."""
        return len(self), len(self.fields)


def check_rows(fragment: Fragment, columns: Sequence[str], count: int) -> Iterator[Block]:
    """The blocks of a fragment that had so many rows when it was looked at before."""
    found = 0
    for block in fragment.blocks(columns):
        found += block.n_rows
        if found > count:
            break
        yield block
    if found != count:
        raise DataError(
            f"{fragment.name} had {count} rows and now has {'more' if found > count else found}: it was changed "
            "between two passes. Start again when nobody writes to it any more."
        )


@dataclass(frozen=True)
class _Count:
    """Rows of a piece."""

    columns: tuple[str, ...]

    def __call__(self, piece: Piece) -> int:
        return sum(_count(fragment, self.columns) for fragment in piece.fragments)


def _count(fragment: Fragment, columns: Sequence[str]) -> int:
    """Rows of a fragment, by reading it if there is no other way."""
    known = fragment.n_rows
    return sum(block.n_rows for block in fragment.blocks(columns)) if known is None else known


def _generator(random_state: Any) -> np.random.Generator:
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31 - 1))
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError) as error:
        raise DataError(
            f"random_state={random_state!r} must be None, a non-negative integer, or a NumPy generator."
        ) from error


def _kind_of(values: AnyArray) -> str:
    return {"f": "number", "i": "number", "u": "number", "b": "truth", "M": "date", "m": "date"}.get(
        values.dtype.kind, "text"
    )


@dataclass(frozen=True)
class Beside:
    """A fragment with further columns from memory."""

    fragment: Fragment
    vectors: Mapping[str, AnyArray]

    @property
    def name(self) -> str:
        """Of the fragment."""
        return self.fragment.name

    @property
    def n_rows(self) -> int | None:
        """Of the fragment."""
        return self.fragment.n_rows

    def blocks(self, columns: Sequence[str]) -> Iterator[Block]:
        """Of the fragment, with the columns beside them."""
        inner = [name for name in columns if name not in self.vectors]
        count, at = len(next(iter(self.vectors.values()))), 0
        for block in check_rows(self.fragment, inner, count):
            some = slice(at, at + block.n_rows)
            yield _BlockBeside(block, {name: values[some] for name, values in self.vectors.items()})
            at += block.n_rows


@dataclass(frozen=True)
class _BlockBeside:
    block: Block
    vectors: Mapping[str, AnyArray]

    @property
    def n_rows(self) -> int:
        return self.block.n_rows

    def numbers(self, names: Sequence[str]) -> FloatArray:
        inner = [name for name in names if name not in self.vectors]
        if len(inner) == len(names):
            return self.block.numbers(names)
        found = np.empty((self.n_rows, len(names)))
        others = self.block.numbers(inner) if inner else found
        for at, name in enumerate(names):
            if name in self.vectors:
                try:
                    found[:, at] = self.vectors[name]
                except (TypeError, ValueError) as error:
                    raise DataError(f"{name} holds values that are not numbers; encode them first.") from error
            else:
                found[:, at] = others[:, inner.index(name)]
        return found

    def values(self, name: str) -> AnyArray:
        return self.vectors[name] if name in self.vectors else self.block.values(name)
