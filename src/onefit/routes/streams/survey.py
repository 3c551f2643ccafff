"""A first look at a table: how many rows it has, some of them, and what else must be known before the passes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from ...errors import DataError
from ...sources import Block, Fragment, Keep, PassRunner, Piece, Table, check_rows, pieces_of
from ...typing import AnyArray, IntArray

__all__ = ["ColumnFacts", "Survey", "SurveyPlan", "survey", "with_facts"]

ENOUGH, ROWS_OF_A_BLOCK, FEW_OF_A_BLOCK = 4096, 512, 64
"""Rows of a piece that are enough, rows that are drawn of each block until there are so many, and afterwards."""

MOST_DRAWN = 2**15
"""Rows that are kept of all that were drawn, or up to twice as many, however many pieces there are."""

FRAGMENTS = 32
"""Fragments, at equal distances, of which the first block is looked at if nothing else must be known."""

MOST_LEVELS = 10_000
"""Distinct values of a column up to which they are noted."""

FEW = 200
"""Fractions most of which differ among so many rows are no levels."""

SEED = 20261118

_RowName: TypeAlias = Callable[[int], str]
"""What errors call a row, of its number in a block."""


@dataclass(frozen=True)
class SurveyPlan:
    """What to look for.

    Attributes
    ----------
    columns : tuple of str
        Of which rows are drawn.
    counted : tuple of str
        Columns whose values are counted: groups, classes.
    described : tuple of str
        Columns whose levels, extremes and missing values are noted.
    """

    columns: tuple[str, ...]
    counted: tuple[str, ...] = ()
    described: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """All columns that are read."""
        return tuple(dict.fromkeys([*self.columns, *self.counted, *self.described]))


@dataclass(frozen=True)
class ColumnFacts:
    """What a column holds: its levels (None if too many), extremes of numbers, and whether some are missing."""

    levels: frozenset[Any] | None = frozenset()
    low: float = np.inf
    high: float = -np.inf
    has_missing: bool = False

    @classmethod
    def of(cls, values: AnyArray) -> ColumnFacts:
        """Of some rows."""
        missing = pd.isna(values)
        seen = values[~missing]
        ends = _ends(seen) if values.dtype.kind in "fiu" else (np.inf, -np.inf)
        if values.dtype.kind == "f" and len(pd.unique(pd.Series(seen[:FEW]))) > FEW // 2:
            return cls(None, *ends, bool(missing.any()))
        levels = pd.unique(pd.Series(seen)).tolist() if len(seen) else []
        return cls(frozenset(levels) if len(levels) <= MOST_LEVELS else None, *ends, bool(missing.any()))

    def plus(self, other: ColumnFacts) -> ColumnFacts:
        """With other rows."""
        levels = None if self.levels is None or other.levels is None else self.levels | other.levels
        if levels is not None and len(levels) > MOST_LEVELS:
            levels = None
        ends = min(self.low, other.low), max(self.high, other.high)
        return ColumnFacts(levels, *ends, self.has_missing or other.has_missing)


def _ends(seen: AnyArray) -> tuple[float, float]:
    return (float(seen.min()), float(seen.max())) if len(seen) else (np.inf, -np.inf)


@dataclass
class Survey:
    """What was found.

    Attributes
    ----------
    rows : list of int
        Of each fragment.
    by_fragment : list of dicts
        The counts of each fragment.
    drawn : dict of lists of arrays
        Values of the rows that were drawn, by columns.
    keys : list of arrays
        A random number for each of these: where there are too many, those with the smallest ones are kept.
    counts : dict of dicts
        By column, how often it has each value.
    facts : dict of ColumnFacts
    """

    rows: list[int] = field(default_factory=list)
    by_fragment: list[dict[str, dict[Any, int]]] = field(default_factory=list)
    drawn: dict[str, list[AnyArray]] = field(default_factory=dict)
    counts: dict[str, dict[Any, int]] = field(default_factory=dict)
    facts: dict[str, ColumnFacts] = field(default_factory=dict)
    keys: list[AnyArray] = field(default_factory=list)

    def take(self, block: Block, plan: SurveyPlan, rng: np.random.Generator, most: int, row: _RowName) -> None:
        """Look at a block, of which at most so many rows are drawn; ``row`` names one for errors."""
        n = block.n_rows
        if not n:
            return
        values = {name: block.values(name) for name in plan.names}
        some = np.sort(rng.choice(n, min(n, most), replace=False))
        self.keys.append(rng.random(len(some)))
        for name in plan.columns:
            self.drawn.setdefault(name, []).append(values[name][some])
        for name in plan.counted:
            own = self.counts.setdefault(name, {})
            _refuse_missing(values[name], name, row)
            found = pd.Series(values[name]).value_counts(sort=False)
            for value, count in zip(found.index.tolist(), found.tolist(), strict=True):
                own[value] = own.get(value, 0) + count
        for name in plan.described:
            facts = ColumnFacts.of(values[name])
            self.facts[name] = self.facts[name].plus(facts) if name in self.facts else facts

    @property
    def n_drawn(self) -> int:
        """Rows that were drawn."""
        return sum(map(len, self.keys))

    def plus(self, other: Survey) -> Survey:
        """With later fragments."""
        drawn = {
            name: [*self.drawn.get(name, []), *other.drawn.get(name, [])] for name in {**self.drawn, **other.drawn}
        }
        counts = {name: dict(each) for name, each in self.counts.items()}
        for name, each in other.counts.items():
            own = counts.setdefault(name, {})
            for value, count in each.items():
                own[value] = own.get(value, 0) + count
        facts = dict(self.facts)
        for name, fact in other.facts.items():
            facts[name] = facts[name].plus(fact) if name in facts else fact
        keys = [*self.keys, *other.keys]
        rows, by_fragment = [*self.rows, *other.rows], [*self.by_fragment, *other.by_fragment]
        return Survey(rows, by_fragment, drawn, counts, facts, keys)._thinned()

    def _thinned(self) -> Survey:
        """The same with not too many rows."""
        if self.n_drawn <= 2 * MOST_DRAWN:
            return self
        keys = np.concatenate(self.keys)
        kept = np.sort(np.argsort(keys, kind="stable")[:MOST_DRAWN])
        drawn = {name: [np.concatenate(parts)[kept]] for name, parts in self.drawn.items()}
        return replace(self, drawn=drawn, keys=[keys[kept]])

    def frame(self, columns: Sequence[str], n: int) -> pd.DataFrame:
        """About so many of the rows that were drawn."""
        parts = {name: np.concatenate(self.drawn[name]) for name in columns}
        total = len(next(iter(parts.values()))) if parts else 0
        rng = np.random.default_rng(SEED)
        some = np.sort(rng.choice(total, min(n, total), replace=False))
        return pd.DataFrame({name: values[some] for name, values in parts.items()})

    def counted(self, name: str) -> tuple[AnyArray, IntArray]:
        """Distinct values of a column in sorted order, and how often each is there."""
        found = self.counts[name]
        try:
            order = sorted(found)
        except TypeError as error:
            raise DataError(f"Column {name!r} mixes types that cannot be sorted; give all values one type.") from error
        return np.array(order), np.array([found[value] for value in order], dtype=np.intp)


def _refuse_missing(values: AnyArray, name: str, row: _RowName) -> None:
    missing = pd.isna(values)
    if missing.any():
        raise DataError(
            f"Column {name!r} is missing in {row(int(np.argmax(missing)))}; leave such rows out when the table is "
            "written, or give them a name of their own."
        )
    if values.dtype.kind == "f" and np.abs(values).max(initial=0.0) > 2**53:
        raise DataError(f"Column {name!r} holds whole numbers beyond 2^53, which doubles do not tell apart.")


@dataclass(frozen=True)
class _Look:
    """The survey of a piece."""

    plan: SurveyPlan

    def __call__(self, piece: Piece) -> Survey:
        found, first = Survey(), piece.first
        rng = np.random.default_rng(np.random.SeedSequence(SEED, spawn_key=(piece.place,)))
        for fragment in piece.fragments:
            own, names, known = Survey(rows=[0]), self.plan.names, fragment.n_rows
            blocks = fragment.blocks(names) if known is None else check_rows(fragment, names, known)
            for block in blocks:
                most = ROWS_OF_A_BLOCK if found.n_drawn + own.n_drawn < ENOUGH else FEW_OF_A_BLOCK
                own.take(block, self.plan, rng, most, partial(_name, first, own.rows[0], fragment.name))
                own.rows[0] += block.n_rows
            first = None if first is None else first + own.rows[0]
            own.by_fragment = [own.counts]
            found = found.plus(own)
        return found


@dataclass(frozen=True)
class _Glance:
    """The first rows of a fragment, as many blocks as it takes to see some rows."""

    plan: SurveyPlan

    def __call__(self, piece: Piece) -> Survey:
        found = Survey()
        rng = np.random.default_rng(np.random.SeedSequence(SEED, spawn_key=(piece.place,)))
        for block in piece.fragments[0].blocks(self.plan.names):
            found.take(block, self.plan, rng, ROWS_OF_A_BLOCK, str)
            if found.n_drawn >= ENOUGH:
                break
        return found


def _name(first: int | None, before: int, fragment: str, at: int) -> str:
    """A row for people: its number in the table, or, if that is not known yet, in its fragment."""
    return f"row {before + at} of {fragment}" if first is None else f"row {first + before + at}, the first such row"


@dataclass(frozen=True)
class Counted:
    """A fragment whose rows have been counted."""

    fragment: Fragment
    n_rows: int

    @property
    def name(self) -> str:
        """Of the fragment."""
        return self.fragment.name

    def blocks(self, columns: Sequence[str]) -> Any:
        """Of the fragment."""
        return self.fragment.blocks(columns)


def survey(table: Table, plan: SurveyPlan, runner: PassRunner, keep: Keep | None = None) -> tuple[Table, Survey]:
    """Look at all rows if that must be, else at some; the table then knows how many it has.

    What a pass over all rows has found of finished pieces is kept in ``keep``.
    """
    counts = [fragment.n_rows for fragment in table.fragments]
    pieces = pieces_of(table.fragments, counts)
    if plan.counted or plan.described or None in counts:
        found = runner.sum(_Look(plan), pieces, Survey.plus, lambda _: None, keep)
        if not sum(found.rows):
            raise DataError(f"{table.source} has no rows.")
        pairs = zip(table.fragments, found.rows, strict=True)
        known = tuple(each if each.n_rows is not None else Counted(each, count) for each, count in pairs)
        return replace(table, fragments=known), found
    ends = np.cumsum([count or 0 for count in counts])
    count, found = FRAGMENTS, Survey()
    while True:
        places = np.unique(np.searchsorted(ends, np.linspace(0, ends[-1] - 1, count), side="right"))
        some = [Piece(at, (table.fragments[place],), None) for at, place in enumerate(places)]
        found = reduce(Survey.plus, runner.some(_Glance(plan), some), Survey())
        if found.n_drawn >= min(ends[-1], ENOUGH) or count > len(counts):
            return table, found
        count *= 8  # fragments of a few rows


def with_facts(frame: pd.DataFrame, facts: Mapping[str, ColumnFacts]) -> pd.DataFrame:
    """Rows that were drawn, and more in which every level, extreme and gap of every column is there at least once.

    Steps look at columns one by one, so that such rows need not exist.
    """
    needed = {name: _to_show(each) for name, each in facts.items()}
    more = max(map(len, needed.values()), default=0)
    extra = frame.iloc[np.resize(np.arange(len(frame)), more)]
    whole = pd.concat([frame, extra], ignore_index=True)
    for name, values in needed.items():
        if values:
            column = whole[name].astype(object).to_numpy(copy=True)
            column[len(frame) : len(frame) + len(values)] = np.array([*values, None], dtype=object)[:-1]
            whole[name] = pd.Series(column).infer_objects()
    return whole


def _to_show(facts: ColumnFacts) -> list[Any]:
    values: list[Any] = sorted(facts.levels, key=str) if facts.levels is not None else []
    if facts.levels is None:
        values += [end for end in (facts.low, facts.high) if np.isfinite(end)]
    return [*values, np.nan] if facts.has_missing else values
