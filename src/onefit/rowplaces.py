"""Times and places of rows as people give them: columns by name, numbers, dates, longitudes and latitudes."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np
import pandas as pd

from .arrangement import Line
from .errors import DataError
from .frames import as_array, find_frame
from .typing import AnyArray, ArrayLike, Data, FloatArray

__all__ = ["is_number", "read_coords", "read_line"]


def is_number(value: object) -> bool:
    """Whether it is a number, and no truth value."""
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def read_line(order: str | ArrayLike | None, X: Data, n: int) -> Line:
    """Rows in the order of their times, or as they come."""
    if order is None:
        return Line.as_they_come(n)
    values = _column(order, X, "order") if isinstance(order, str) else as_array(order, "order")
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
        return values.astype(np.float64) if is_number(first) else np.asarray(pd.to_datetime(values).to_numpy())
    except (TypeError, ValueError) as error:
        raise DataError(f"order cannot be read as times: {error}. Give numbers or dates.") from error


def _column(name: str, X: Data, what: str) -> AnyArray:
    """A column of X by its name."""
    frame = find_frame(X)
    if frame is None:
        raise DataError(f"{what}={name!r} names a column, and X has no names; give a frame, or the values themselves.")
    names = list(map(str, frame.names))
    if name not in names:
        raise DataError(f"{what}={name!r} is no column of X; it has {', '.join(names)}.")
    return np.asarray(frame.column(names.index(name)).to_numpy())


LONGITUDES, LATITUDES = ("lon", "lng", "long", "longitude"), ("lat", "latitude")
KILOMETRES_A_DEGREE = 6371.0088 * np.pi / 180


def read_coords(coords: Any, X: Data, n: int) -> FloatArray:
    """Coordinates (n, 2); those whose names say longitude and latitude in kilometres about the middle latitude."""
    is_named = isinstance(coords, list | tuple) and all(isinstance(name, str) for name in coords)
    if isinstance(coords, str) or (is_named and len(coords) != 2):
        raise DataError(f"coords={coords!r} must name two columns of X.")
    if is_named:
        values = np.column_stack([_column(name, X, "coords") for name in coords])
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
    if len(names) == 2 and names[0].lower() in LONGITUDES and names[1].lower() in LATITUDES:
        shrunk = np.cos(np.radians(np.median(points[:, 1])))
        points = KILOMETRES_A_DEGREE * points * np.array([shrunk, 1.0])
    return points
