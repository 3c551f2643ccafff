"""Rows along a line or in a plane: blocks of neighbours, and what lies within a distance of them.

Distances are in steps: the usual one between neighbouring times is one step, and in the plane the side of the square
that a row has on average. So a buffer of b steps holds b rows on each side of a block where times are regular.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.spatial import cKDTree

from .errors import DataError
from .typing import BoolArray, FloatArray, IntArray

__all__ = ["Arrangement", "Line", "Plane"]

TIE = 1e-6
"""Steps by which times may differ and be the same but for rounding."""

LARGEST_SHARE = 0.25
"""Of the rows that a block and its buffer may hold together."""


class Arrangement:
    """How rows lie to each other."""

    n_places: int
    """Distinct times, or points."""

    @property
    def places_of_rows(self) -> FloatArray:
        """Steps from the first time, (n,), or coordinates from the corner of the map in their unit, (n, 2)."""
        raise NotImplementedError

    def blocks(self, count: int) -> IntArray:
        """So many blocks of about the same number of rows: the block of each row."""
        raise NotImplementedError

    def near(self, rows: BoolArray, distance: float) -> BoolArray:
        """Rows within a distance of some, themselves among them."""
        raise NotImplementedError

    def most_distance(self, blocks: IntArray) -> float:
        """The widest buffer with which no block and its buffer hold more than a quarter of the rows."""
        raise NotImplementedError

    def drops(self, blocks: IntArray, distance: float) -> list[tuple[IntArray, IntArray]]:
        """What is dropped and what is scored of each block."""
        found = []
        for block in range(int(blocks.max()) + 1):
            inside: BoolArray = blocks == block
            found.append((np.flatnonzero(self.near(inside, distance)), np.flatnonzero(inside)))
        return found


@dataclass(frozen=True, eq=False)
class Line(Arrangement):
    """Rows in time.

    Attributes
    ----------
    time : (n,)
        In steps from the first.
    step : float
        Of the times as they were given.
    """

    time: FloatArray
    step: float = 1.0

    @classmethod
    def of(cls, values: FloatArray) -> Line:
        """From times in any unit."""
        distinct = np.unique(values)
        if len(distinct) < 2:
            raise DataError("order holds one time only: rows of one time do not follow one another. Leave order out.")
        step = float(np.median(np.diff(distinct)))
        return cls((values - distinct[0]) / step, step)

    @classmethod
    def as_they_come(cls, n: int) -> Line:
        """Rows in the order of the table."""
        return cls(np.arange(float(n)))

    @property
    def places_of_rows(self) -> FloatArray:
        """Steps from the first time."""
        return self.time

    @cached_property
    def places(self) -> IntArray:
        """Number of each row's time among the distinct ones."""
        distinct = np.sort(self.time)
        starts = np.concatenate([[True], np.diff(distinct) > TIE])
        first = distinct[starts]
        return np.searchsorted(first, self.time + TIE, side="right") - 1

    @cached_property
    def n_places(self) -> int:  # type: ignore[override]
        """Distinct times."""
        return int(self.places.max()) + 1

    @cached_property
    def times(self) -> FloatArray:
        """The distinct times."""
        times = np.empty(self.n_places)
        times[self.places] = self.time
        return times

    def blocks(self, count: int) -> IntArray:
        """Consecutive times; rows of one time are in one block."""
        rows_until = np.cumsum(np.bincount(self.places))
        middle = rows_until - np.bincount(self.places) / 2
        blocks_of_places = np.minimum((middle * count / rows_until[-1]).astype(np.intp), count - 1)
        present, renumbered = np.unique(blocks_of_places, return_inverse=True)
        if len(present) < count:
            raise DataError(
                f"One time holds {int(np.bincount(self.places).max())} of the {len(self.places)} rows, which stay "
                f"together, so that there are no {count} blocks of about the same size; use fewer blocks."
            )
        return np.asarray(renumbered, dtype=np.intp)[self.places]

    def near(self, rows: BoolArray, distance: float) -> BoolArray:
        """Rows between the first and the last of some, and a distance beyond."""
        inside = self.time[rows]
        near: BoolArray = (self.time >= inside.min() - distance - TIE) & (self.time <= inside.max() + distance + TIE)
        return near

    def most_distance(self, blocks: IntArray) -> float:
        """``(n/4 - n/K) / 2`` steps."""
        count = int(blocks.max()) + 1
        return max(0.0, float(np.floor(self.n_places * (LARGEST_SHARE - 1 / count) / 2)))


@dataclass(frozen=True, eq=False)
class Plane(Arrangement):
    """Rows on a map.

    Attributes
    ----------
    points : (n, 2)
        In steps: the side of the square that a row has on average.
    step : float
        Of the coordinates as they were given.
    """

    points: FloatArray
    step: float = 1.0

    @classmethod
    def of(cls, coords: FloatArray) -> Plane:
        """From coordinates in any unit, the same for both."""
        distinct = np.unique(coords, axis=0)
        extent = np.ptp(coords, axis=0)
        if len(distinct) < 3:
            raise DataError(
                f"coords holds {len(distinct)} distinct point(s): there is no distance to hold rows apart by. Leave "
                "cv out, or give groups= instead."
            )
        sides = np.where(extent > 0, extent, extent.max() / len(distinct))
        step = float(np.sqrt(sides.prod() / len(distinct)))
        return cls((coords - coords.min(axis=0)) / step, step)

    @cached_property
    def n_places(self) -> int:  # type: ignore[override]
        """Distinct points."""
        return len(np.unique(self.points, axis=0))

    @property
    def places_of_rows(self) -> FloatArray:
        """Coordinates from the corner of the map, in their unit."""
        return self.points * self.step

    @cached_property
    def tree(self) -> cKDTree:
        """For distances."""
        return cKDTree(self.points)

    def blocks(self, count: int) -> IntArray:
        """Rectangles, as square as they come: the longer side is cut where both parts have their share of the rows."""
        ids = np.zeros(len(self.points), dtype=np.intp)
        self._cut(np.arange(len(self.points)), 0, count, ids)
        if len(np.unique(ids)) < count:
            raise DataError(f"There are {self.n_places} distinct points and n_blocks={count}; use fewer blocks.")
        return ids

    def _cut(self, rows: IntArray, first: int, count: int, ids: IntArray) -> None:
        if count == 1:
            ids[rows] = first
            return
        points = self.points[rows]
        axis = int(np.argmax(np.ptp(points, axis=0)))
        left = count // 2
        values = points[:, axis]
        at = np.sort(values)[min(len(rows) - 1, round(len(rows) * left / count))]
        below: BoolArray = values < at  # rows of one point stay together
        if not below.any():
            below = values <= at
        self._cut(rows[below], first, left, ids)
        self._cut(rows[~below], first + left, count - left, ids)

    def near(self, rows: BoolArray, distance: float) -> BoolArray:
        """Rows within a distance of one of some."""
        if distance <= 0:
            return rows
        gap, _ = cKDTree(self.points[rows]).query(self.points, distance_upper_bound=distance * (1 + TIE))
        near: BoolArray = np.isfinite(gap)
        return near

    def most_distance(self, blocks: IntArray) -> float:
        """Found by halving: how many rows are near grows with the distance."""
        low, high = 0.0, float(np.ptp(self.points, axis=0).max())
        for _ in range(20):
            middle = (low + high) / 2
            is_small = self._largest_share(blocks, middle) <= LARGEST_SHARE
            low, high = (middle, high) if is_small else (low, middle)
        return low

    def _largest_share(self, blocks: IntArray, distance: float) -> float:
        shares: list[float] = [float(self.near(blocks == b, distance).mean()) for b in range(int(blocks.max()) + 1)]
        return max(shares)
