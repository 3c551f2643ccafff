"""Folds for rows that follow one another, in time or in space: what is given as ``cv=``.

Each says which error it means: on a stretch elsewhere, in gaps, or ahead. How long a buffer must be is found from the
data (`onefit.running.dependent`), unless it is given.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from .arrangement import Arrangement, Line, Plane
from .errors import DataError, FoldError
from .rowplaces import is_number, read_coords, read_line
from .rowsplitters import Buffer, BufferedBlocks, Pairs, RowSplitter, check_buffer, check_count
from .typing import ArrayLike, Data, IntArray

__all__ = ["Gaps", "Neighbourhoods", "RollingOrigin", "SpaceBlocks", "TimeBlocks"]

MOST_GAPS = 50

ELSEWHERE_IN_TIME = "the error on a new stretch of time, so far from these rows that they tell nothing of it"
ELSEWHERE_IN_SPACE = "the error at new places, so far from these rows that they tell nothing of them"
IN_GAPS = "the error inside gaps of {length:g} steps, with rows on both sides of them"
AHEAD = "the mean error of forecasts {horizon} step{s} ahead from origins like these; not that of the next one"
GIVEN = "the error of the scored rows without what is dropped with them, at this number of rows"


@dataclass(frozen=True, eq=False)
class TimeBlocks(BufferedBlocks):
    """Blocks of consecutive rows, each scored without itself and a buffer on both sides.

    What is estimated is the error on a new stretch of time, independent of these rows.

    Parameters
    ----------
    n_blocks : int, default=10
        Models with a smooth function of time want 20.
    buffer : number or "auto", default="auto"
        Steps of time that are left out beside a block; a step is the usual distance of neighbouring times. "auto" is
        how long held-out residuals of a pilot take to forget 70% of what they were.
    order : str or array-like of shape (n,), default=None
        Times, numbers or dates, or the name of a column of X, which stays there if it holds numbers; dates stay if the
        model may choose them, by a ColumnTransformer or FunctionTransformer. None takes rows as they come.

    Examples
    --------
    >>> import numpy as np
    >>> import onefit
    >>> from sklearn.linear_model import LinearRegression
    >>> rng = np.random.default_rng(0)
    >>> noise = np.convolve(rng.normal(size=205), 0.7 ** np.arange(6), mode="valid")
    >>> X = rng.normal(size=(200, 3))
    >>> result = onefit.nested_cv(LinearRegression(), X, X @ [1.0, 2.0, 3.0] + noise, cv=onefit.TimeBlocks())
    >>> result.n_folds, bool(result.dependence.effective_rows < 200)
    (10, True)
    """

    n_blocks: int = 10
    buffer: Buffer = "auto"
    order: str | ArrayLike | None = None

    def __post_init__(self) -> None:
        check_count("n_blocks", self.n_blocks, 3)
        check_buffer(self.buffer)

    @property
    def meaning(self) -> str:
        """Which error is estimated, in words."""
        return ELSEWHERE_IN_TIME

    def arrange(self, X: Data, n: int) -> Arrangement:
        """Times of the rows."""
        return read_line(self.order, X, n)


@dataclass(frozen=True, eq=False)
class SpaceBlocks(BufferedBlocks):
    """Blocks of a map, each scored without itself and a buffer around it.

    What is estimated is the error at new places, independent of these.

    Parameters
    ----------
    n_blocks : int, default=16
    buffer : number or "auto", default="auto"
        Distance that is left out around a block, in the unit of the coordinates (kilometres for longitudes and
        latitudes). "auto" is 2.3 times the range over which held-out residuals of a pilot resemble each other.
    coords : list of two column names, or array-like of shape (n, 2)
        Columns of X, which stay there, or coordinates. Columns whose names say longitude and latitude ("lon", "lng",
        "longitude"; "lat", "latitude") are taken for degrees, and distances are in kilometres.

    Examples
    --------
    >>> import numpy as np
    >>> import onefit
    >>> from sklearn.linear_model import LinearRegression
    >>> rng = np.random.default_rng(0)
    >>> places, X = rng.uniform(size=(300, 2)), rng.normal(size=(300, 2))
    >>> y = X.sum(axis=1) + rng.normal(size=300)
    >>> onefit.nested_cv(LinearRegression(), X, y, cv=onefit.SpaceBlocks(coords=places)).n_folds
    16
    """

    n_blocks: int = 16
    buffer: Buffer = "auto"
    coords: Sequence[str] | ArrayLike | None = None

    def __post_init__(self) -> None:
        check_count("n_blocks", self.n_blocks, 3)
        check_buffer(self.buffer)
        if self.coords is None:
            raise DataError(
                'coords is missing: give two columns of X, such as coords=["lon", "lat"], or an array (n, 2).'
            )

    @property
    def meaning(self) -> str:
        """Which error is estimated, in words."""
        return ELSEWHERE_IN_SPACE

    def arrange(self, X: Data, n: int) -> Arrangement:
        """Points of the rows."""
        assert self.coords is not None
        return Plane.of(read_coords(self.coords, X, n))


@dataclass(frozen=True, eq=False)
class Gaps(RowSplitter):
    """Stretches of a given length, each scored from the rows on both sides of it.

    What is estimated is the error inside gaps of that length, as in filling in.

    Parameters
    ----------
    length : number
        Of a gap, in steps of time.
    order : str or array-like of shape (n,), default=None
        As in `TimeBlocks`.

    Notes
    -----
    With more than 50 gaps, several of them, far from each other, are left out together.

    Examples
    --------
    >>> import onefit
    >>> onefit.Gaps(5).meaning
    'the error inside gaps of 5 steps, with rows on both sides of them'
    """

    length: float
    order: str | ArrayLike | None = None

    def __post_init__(self) -> None:
        if not is_number(self.length) or not 1 <= self.length < np.inf:
            raise FoldError(f"length={self.length!r} must be a number of steps of time, at least 1.")

    @property
    def meaning(self) -> str:
        """Which error is estimated, in words."""
        return IN_GAPS.format(length=float(self.length))

    def arrange(self, X: Data, n: int) -> Arrangement:
        """Times of the rows."""
        return read_line(self.order, X, n)

    def pairs_of(self, arrangement: Arrangement, n: int) -> Pairs:
        """Stretches of the length; if they are many, every so many of them together."""
        assert isinstance(arrangement, Line)
        stretch = np.floor(arrangement.times / float(self.length) + 1e-9).astype(np.intp)
        _, gap = np.unique(stretch, return_inverse=True)
        count = int(gap.max()) + 1
        if count < 3:
            raise FoldError(
                f"Gaps(length={self.length:g}) cuts {arrangement.n_places} times into {count}; use a smaller length."
            )
        fold = (gap % min(count, MOST_GAPS))[arrangement.places]
        return [(rows, rows) for rows in (np.flatnonzero(fold == each) for each in range(int(fold.max()) + 1))]


@dataclass(frozen=True, eq=False)
class RollingOrigin(RowSplitter):
    """Forecasts: each stretch of the horizon is scored by a fit to what came before it.

    What is estimated is the mean error of forecasts so far ahead, from origins like these.

    Parameters
    ----------
    horizon : int
        Times that are forecast from each origin.
    first : int, default=None
        Times before the first origin; None is a third of all, or the window.
    step : int, default=None
        Times from one origin to the next, at least the horizon; None is the horizon.
    window : int, default=None
        Times that a fit sees, the last ones before the origin; None is all of them.
    order : str or array-like of shape (n,), default=None
        As in `TimeBlocks`.

    Examples
    --------
    >>> import onefit
    >>> onefit.RollingOrigin(12).meaning
    'the mean error of forecasts 12 steps ahead from origins like these; not that of the next one'
    """

    horizon: int
    first: int | None = None
    step: int | None = None
    window: int | None = None
    order: str | ArrayLike | None = None

    def __post_init__(self) -> None:
        check_count("horizon", self.horizon, 1)
        for name in ("first", "step", "window"):
            if getattr(self, name) is not None:
                check_count(name, getattr(self, name), 1)
        if self.step is not None and self.step < self.horizon:
            raise FoldError(
                f"step={self.step} is less than horizon={self.horizon}: rows would be forecast several times, and are "
                "to be scored once. Use a step of at least the horizon."
            )

    @property
    def meaning(self) -> str:
        """Which error is estimated, in words."""
        return AHEAD.format(horizon=self.horizon, s="" if self.horizon == 1 else "s")

    def arrange(self, X: Data, n: int) -> Arrangement:
        """Times of the rows."""
        return read_line(self.order, X, n)

    def pairs_of(self, arrangement: Arrangement, n: int) -> Pairs:
        """What is dropped and what is scored from each origin."""
        line = arrangement
        assert isinstance(line, Line)
        T = line.n_places
        step = self.step or self.horizon
        first = self.first or self.window or max(2, -(-T // 3))
        origins = range(first, T - self.horizon + 1, step)
        if len(origins) < 3:
            raise FoldError(
                f"RollingOrigin(horizon={self.horizon}) has {len(origins)} origin(s) after the first {first} of {T} "
                "times; at least 3 are needed. Use a smaller horizon, first or window."
            )
        found = []
        for origin in origins:
            low = 0 if self.window is None else max(0, origin - self.window)
            trained = (line.places >= low) & (line.places < origin)
            scored = (line.places >= origin) & (line.places < origin + self.horizon)
            found.append((np.flatnonzero(~trained), np.flatnonzero(scored)))
        return found


@dataclass(frozen=True, eq=False)
class Neighbourhoods(RowSplitter):
    """Folds as lists of rows: what is dropped, and what of it is scored.

    Parameters
    ----------
    pairs : list of (drop, score)
        Row numbers of each fold; what is scored must be dropped, and every row is scored at most once.
    order : str or array-like of shape (n,), default=None
        As in `TimeBlocks`: along which losses may resemble each other.

    Examples
    --------
    >>> import numpy as np
    >>> import onefit
    >>> rows = np.arange(60)
    >>> pairs = [(rows[max(0, i - 3) : i + 13], rows[i : i + 10]) for i in range(0, 60, 10)]
    >>> len(onefit.Neighbourhoods(pairs).pairs)
    6
    """

    pairs: Iterable[tuple[ArrayLike, ArrayLike]] = field(repr=False)
    order: str | ArrayLike | None = None

    def __post_init__(self) -> None:
        try:
            pairs = [(np.asarray(drop), np.asarray(score)) for drop, score in self.pairs]
        except (TypeError, ValueError) as error:
            raise FoldError(f"pairs must be a list of (drop, score), each a list of row numbers: {error}.") from error
        object.__setattr__(self, "pairs", pairs)

    @property
    def meaning(self) -> str:
        """Which error is estimated, in words."""
        return GIVEN

    def arrange(self, X: Data, n: int) -> Arrangement:
        """Times of the rows."""
        return read_line(self.order, X, n)

    def pairs_of(self, arrangement: Arrangement, n: int) -> Pairs:
        """Rows that are dropped and scored, checked."""
        return [(_as_rows(drop, n, fold), _as_rows(score, n, fold)) for fold, (drop, score) in enumerate(self.pairs)]


Kind = TimeBlocks | SpaceBlocks | Gaps | RollingOrigin | Neighbourhoods


def _as_rows(rows: ArrayLike, n: int, fold: int) -> IntArray:
    array = np.asarray(rows)
    if array.dtype == bool and array.shape == (n,):
        return np.flatnonzero(array)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise FoldError(f"Neighbourhoods holds in fold {fold} something else than a list of row numbers.")
    if array.size and not (array.min() >= 0 and array.max() < n):
        raise FoldError(f"Neighbourhoods holds in fold {fold} rows {array.min()} to {array.max()}; there are {n} rows.")
    return np.unique(array).astype(np.intp)
