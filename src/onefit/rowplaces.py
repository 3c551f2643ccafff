"""Times and places of rows as people give them: columns by name, numbers, dates, longitudes and latitudes."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd

from .arrangement import Line
from .checks import did_you_mean
from .errors import DataError
from .frames import as_array, find_frame
from .typing import AnyArray, ArrayLike, Data, FloatArray

__all__ = ["column_of", "is_number", "read_coords", "read_line"]


def is_number(value: object) -> bool:
    """Whether it is a number, and no truth value."""
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def read_line(order: str | ArrayLike | None, X: Data, n: int) -> Line:
    """Rows in the order of their times, or as they come."""
    if order is None:
        return Line.as_they_come(n)
    values = column_of(order, X, "order") if isinstance(order, str) else as_array(order, "order")
    values = np.asarray(values)
    if values.shape != (n,):
        raise DataError(f"order has shape {values.shape}; it must hold one time for each of the {n} rows.")
    return Line.of(_as_times(values))


def _as_times(values: AnyArray) -> FloatArray:
    """Times as numbers."""
    if pd.isna(values).any():
        raise DataError(
            f"order is missing in {int(pd.isna(values).sum())} row(s): it is not known where they belong. Drop them."
        )
    if values.dtype.kind == "O":
        values = _from_objects(values)
    if values.dtype.kind in "Mm":
        whole = values.astype("datetime64[ns]" if values.dtype.kind == "M" else "timedelta64[ns]").astype(np.int64)
        since: FloatArray = (whole - whole.min()).astype(np.float64)
        return since
    if values.dtype.kind not in "fiub":
        raise DataError(
            "order holds text, whose order may not be that of time; give numbers, or dates by pandas.to_datetime."
        )
    times: FloatArray = values.astype(np.float64)
    if not np.isfinite(times).all():
        raise DataError("order holds infinite times; give every row a time of its own.")
    return times


def _from_objects(values: AnyArray) -> AnyArray:
    """Dates, periods and numbers that a frame holds as objects."""
    first = values[0]
    if isinstance(first, pd.Period):
        return np.asarray(pd.PeriodIndex(values).to_timestamp().to_numpy())
    if isinstance(first, str):
        return values.astype(str)
    try:
        if is_number(first) or isinstance(first, Decimal):
            return values.astype(np.float64)
        # by way of UTC: local times come twice when clocks are put back, and are objects to NumPy
        return np.asarray(pd.to_datetime(values, utc=True).tz_localize(None).to_numpy())
    except (TypeError, ValueError) as error:
        raise DataError(f"order cannot be read as times: {error}. Give numbers or dates.") from error


def column_of(name: str, X: Data, what: str) -> AnyArray:
    """A column of X by its name."""
    frame = find_frame(X)
    if frame is None:
        raise DataError(f"{what}={name!r} names a column, and X has no names; give a frame, or the values themselves.")
    names = list(map(str, frame.names))
    if name not in names:
        raise DataError(f"{what}={name!r} is no column of X; {did_you_mean(name, names) or _listed(names)}")
    return np.asarray(frame.column(names.index(name)).to_numpy())


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    return f"it has {', '.join(names[:MOST_NAMES])}{more}."


MOST_NAMES = 20
LONGITUDES, LATITUDES = ("lon", "lng", "long", "longitude"), ("lat", "latitude")
KILOMETRES_A_DEGREE = 6371.0088 * np.pi / 180


def read_coords(coords: Any, X: Data, n: int) -> FloatArray:
    """Coordinates (n, 2); those whose names say longitude and latitude in kilometres about the middle latitude."""
    is_named = isinstance(coords, list | tuple) and all(isinstance(name, str) for name in coords)
    if isinstance(coords, str) or (is_named and len(coords) != 2):
        raise DataError(f"coords={coords!r} must name two columns of X.")
    if is_named:
        values = np.column_stack([column_of(name, X, "coords") for name in coords])
        names = tuple(map(str, coords))
    else:
        frame = find_frame(coords, "coords")
        values = as_array(coords, "coords")
        names = () if frame is None else tuple(map(str, frame.names))
    if values.shape != (n, 2):
        raise DataError(f"coords has shape {values.shape}; it must hold two coordinates for each of the {n} rows.")
    try:
        points: FloatArray = values.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"coords holds something else than numbers: {error}.") from error
    if not np.isfinite(points).all():
        raise DataError(
            f"coords is missing or infinite in {int((~np.isfinite(points)).any(axis=1).sum())} row(s); drop them."
        )
    return _in_kilometres(points, names)


def _in_kilometres(points: FloatArray, names: tuple[str, ...]) -> FloatArray:
    """Degrees as kilometres, if the names say that they are such, in either order; else as they are."""
    words = [name.lower() for name in names]
    places = [next((at for at, word in enumerate(words) if word in known), -1) for known in (LONGITUDES, LATITUDES)]
    if sorted(places) != [0, 1]:
        return points
    longitude, latitude = points[:, places[0]], points[:, places[1]]
    if np.abs(latitude).max() > 90 or np.ptp(longitude) > 360:
        raise DataError(
            f"coords are named {names[0]!r} and {names[1]!r}, and hold latitudes beyond 90 or longitudes that span "
            "more than 360 degrees. If they are no degrees, give them as an array, without names."
        )
    shrunk = np.cos(np.radians(np.median(latitude)))
    return KILOMETRES_A_DEGREE * np.column_stack([_unrolled(longitude) * shrunk, latitude])


def _unrolled(longitude: FloatArray) -> FloatArray:
    """Longitudes from the far side of their widest gap on: places on both sides of the date line are neighbours."""
    around = np.unique(longitude % 360)
    gaps = np.diff(around, append=around[0] + 360)
    start = around[(int(np.argmax(gaps)) + 1) % len(around)]
    turned: FloatArray = start + (longitude - start) % 360
    return turned
