"""Data frames of every library that narwhals knows (pandas, polars, pyarrow, ...): what onefit asks of them.

Estimators get the frame itself, or rows of it; all else reads its columns here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeGuard

import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt

from .checks import did_you_mean
from .errors import DataError
from .typing import AnyArray, Data

if TYPE_CHECKING:
    import pandas as pd
    from narwhals.stable.v2.dtypes import DType

__all__ = [
    "Frame",
    "as_array",
    "find_frame",
    "for_estimators",
    "in_double",
    "in_few_blocks",
    "is_frame",
    "row_names",
    "split_columns",
]


@dataclass(frozen=True)
class Frame:
    """A table whose columns have names and types of their own.

    Attributes
    ----------
    table : narwhals.DataFrame
        Named by position where two columns share a name, as pandas allows.
    names : tuple
        As the frame has them: pandas takes any object for a name.
    """

    table: nw.DataFrame[Any]
    names: tuple[Hashable, ...]

    def column(self, j: int) -> nw.Series[Any]:
        """A column by its position."""
        return self.table.get_column(self._labels[j])

    @cached_property
    def _labels(self) -> list[str]:
        return self.table.columns  # a list is made of them whenever they are asked for

    def objects(self, j: int) -> npt.NDArray[np.object_]:
        """A column as Python's own objects: dates stay dates."""
        return _objects(self.column(j))

    def is_number(self, j: int) -> bool:
        """Whether a column holds numbers by its type; truth values are none."""
        column = self.column(j)
        if column.dtype == nw.Unknown:  # sparse or complex columns of pandas, half precision
            return column.to_numpy().dtype.kind in "fiuc"
        return column.dtype.is_numeric()

    def is_date(self, j: int) -> bool:
        """Whether a column holds dates, times or durations by its type."""
        return self.column(j).dtype.is_temporal()

    def is_category(self, j: int) -> bool:
        """Whether a column holds categories by its type."""
        return self.column(j).dtype in (nw.Categorical, nw.Enum)

    def categories(self, j: int) -> list[Hashable] | None:
        """Categories of a column in their order, if that is the user's; polars numbers a Categorical as values come."""
        column = self.column(j)
        if column.dtype == nw.Enum or (column.dtype == nw.Categorical and column.implementation.is_pandas_like()):
            return list(column.cat.get_categories().to_list())
        return None

    def to_numpy(self) -> AnyArray:
        """All columns as an array; of objects if one of them holds neither numbers nor truth values."""
        if all(_is_plain(dtype) for dtype in self.table.schema.dtypes()):
            return self.table.to_numpy()
        return np.column_stack([_values(column) for column in self.table.iter_columns()])


def is_frame(X: object) -> bool:
    """Whether X is a data frame in memory."""
    return not isinstance(X, np.ndarray) and bool(nw.dependencies.is_into_dataframe(X))


def find_frame(X: Any, what: str = "X") -> Frame | None:
    """The frame that X is, or None; what would have to be read first is refused."""
    if isinstance(X, np.ndarray | list | tuple):
        return None  # at once: to look for the library of a frame takes longer than many a job
    if not is_frame(X):
        if isinstance(nw.from_native(X, pass_through=True), nw.LazyFrame):
            raise DataError(f"{what} is a lazy frame; pass {what}.collect(), or {what}.compute() for Dask.")
        return None
    if _is_pandas(X):
        names = tuple(X.columns)
        if len(set(names)) < len(names):
            X = X.set_axis(range(len(names)), axis=1)
        return Frame(nw.from_native(X, eager_only=True), names)
    _refuse_twice(getattr(X, "column_names", ()), what)
    table = nw.from_native(X, eager_only=True)
    return Frame(table, tuple(table.columns))


def split_columns(X: Any, **roles: Any) -> tuple[Any, dict[str, Any]]:
    """Take the columns that are named by roles (y, groups, ...) out of a frame; what is no name stays as it is.

    ``y`` may be a list of names, of several outputs.
    """
    named = {
        role: name if isinstance(name, str) else list(map(str, name))
        for role, name in roles.items()
        if isinstance(name, str) or (role == "y" and _are_names(name, X))
    }
    if not named:
        return X, roles
    frame = find_frame(X)
    for role, name in named.items():
        if frame is None:
            raise DataError(f"{role}={name!r} is a name, and X has no named columns; give {role} itself.")
        for each in [name] if isinstance(name, str) else name:
            if isinstance(name, list) and name.count(each) > 1:
                raise DataError(f"{role}={name!r} has {each!r} twice; name every output once.")
            if each not in frame.names:
                meant = did_you_mean(each, map(str, frame.names))
                raise DataError(f"{role}={each!r} is no column of X{meant and f'; {meant}'}")
    assert frame is not None
    _refuse_twice(frame.names, "X")  # pandas allows it, and columns then have no names to be taken out by
    taken = {
        role: (frame.table.get_column(name) if isinstance(name, str) else frame.table.select(name)).to_native()
        for role, name in named.items()
    }
    out = dict.fromkeys(each for name in named.values() for each in ([name] if isinstance(name, str) else name))
    if not len(frame.names) > len(out):
        raise DataError("X has no columns beside those that are named for other roles.")
    return frame.table.drop(*out).to_native(), {**roles, **taken}


def _are_names(y: Any, X: Any) -> bool:
    """Whether these are texts that are columns of a frame, and not the classes of its rows."""
    is_array = isinstance(y, np.ndarray) and y.ndim == 1 and y.dtype.kind in "OU"
    if not (isinstance(y, list | tuple) or is_array or nw.dependencies.is_pandas_index(y)) or not len(y):
        return False
    if not all(isinstance(each, str) for each in y) or (frame := find_frame(X)) is None:
        return False
    if len(y) == len(frame.table):
        return len(set(y)) == len(y) and set(y) <= set(frame.names)
    return len(y) <= len(frame.names) and (len(set(y)) == len(y) or set(y) <= set(frame.names))


def as_array(values: object, what: str = "X") -> AnyArray:
    """An array of a frame, or of anything that NumPy takes."""
    frame = find_frame(values, what)
    return np.asarray(values) if frame is None else frame.to_numpy()


def in_double(X: Data) -> Data:
    """A frame with its columns of single precision in double, else itself."""
    frame = find_frame(X)
    assert frame is not None
    single = [j for j, dtype in enumerate(frame.table.schema.dtypes()) if _is_single(dtype, frame, j)]
    if not single:
        return X
    table = frame.table.with_columns(*[frame.column(j).cast(nw.Float64) for j in single]).to_native()
    double: Data = table.set_axis(X.columns, axis=1) if _is_pandas(X) else table
    return double


def for_estimators(X: Data) -> Data:
    """A frame that scikit-learn's own steps take: one of pandas or polars as it is, any other as one of pandas."""
    if not is_frame(X) or _is_pandas(X) or nw.dependencies.is_polars_dataframe(X):
        return X
    frame = find_frame(X)
    assert frame is not None
    return frame.table.to_pandas()


def in_few_blocks(X: Data) -> Data:
    """A table whose rows can be taken quickly: a frame of pandas may hold every column by itself."""
    return X.copy() if is_frame(X) and _is_pandas(X) else X


def row_names(X: Any) -> pd.Index[Any] | None:
    """The index of a frame or Series of pandas; None for all else."""
    return X.index if _is_pandas(X) or nw.dependencies.is_pandas_like_series(X) else None


def _is_pandas(X: object) -> TypeGuard[pd.DataFrame]:
    return bool(nw.dependencies.is_pandas_like_dataframe(X))


def _is_single(dtype: DType, frame: Frame, j: int) -> bool:
    """Whether a column is of single or half precision; older versions of narwhals do not know the latter."""
    if dtype == nw.Unknown:
        known = frame.column(j).to_numpy().dtype
        return bool(known.kind == "f" and known.itemsize < 8)
    return str(dtype) in ("Float16", "Float32")


def _objects(column: Any) -> npt.NDArray[np.object_]:
    values = column.to_list()
    return np.fromiter(values, dtype=object, count=len(values))


def _values(column: Any) -> AnyArray:
    """Numbers and truth values of a column as NumPy has them, all else as objects."""
    array = column.to_numpy()
    return array if array.ndim == 1 and array.dtype.kind in "fiubc" else _objects(column)


def _is_plain(dtype: DType) -> bool:
    """Whether NumPy has numbers or truth values of a type; decimals would be objects."""
    return dtype == nw.Boolean or (dtype.is_numeric() and not dtype.is_decimal())


def _refuse_twice(names: Sequence[Hashable], what: str) -> None:
    counts = Counter(names)
    if len(counts) < len(names):
        name = counts.most_common(1)[0][0]
        raise DataError(f"Two columns of {what} are named {name!r}; give each a name of its own.")
