"""What may be given as a table or a vector -> containers and arrays that can be computed with, or an error."""

from __future__ import annotations

import reprlib
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from .errors import DataError
from .frames import as_array, find_frame, for_estimators
from .typing import AnyArray, ArrayLike, Data, FloatArray, Shaped

__all__ = ["MOST_NAMED", "as_container", "as_numbers", "column_names", "is_table", "read_array", "to_float"]

MOST_NAMED = 8
"""Columns in a message."""

REMEDY = {
    "X": "Encode text and dates as numbers first, for example in a pipeline with OneHotEncoder, which before Ridge "
    "takes no refits.",
    "y": "If these are classes, give a classifier, such as LogisticRegression(); if they are numbers that were read "
    "as text, pd.to_numeric(y).",
    "sample_weight": "Give a number for each row.",
}
"""What helps against values that are not numbers."""


def read_array(values: object, what: str) -> AnyArray:
    """An array of whatever is given; masked entries are missing."""
    if isinstance(values, np.ma.MaskedArray) and np.ma.getmaskarray(values).any():
        count = int(np.ma.getmaskarray(values).sum())
        raise DataError(
            f"{what} is masked in {count} place(s); drop these rows, or fill them in by {what}.filled(...)."
        )
    try:
        array = as_array(values, what)
    except (TypeError, ValueError) as error:
        raise DataError(f"{what} cannot be read as an array: {error}. Give it one value for each row.") from error
    if array.dtype.kind == "V":
        raise DataError(f"{what} holds records (dtype {array.dtype}), not single values; give one of their fields.")
    return array


def as_container(X: Any) -> Any:
    """Keep frames, matrices and vectors of objects as they are; make an array of anything else; refuse other shapes."""
    if X is None:
        raise DataError("X is None: it must be a table of rows and columns.")
    if sparse.issparse(X):
        X = X.tocsr()  # the only sparse format whose rows can be taken
    if _is_list_of_objects(X):
        return X
    if find_frame(X) is not None:
        X = for_estimators(X)
    elif not isinstance(getattr(X, "shape", None), tuple):
        try:
            X = np.asarray(X)
        except (TypeError, ValueError) as error:
            raise DataError(
                f"X cannot be read as a table: {error}. Give every row the same number of columns."
            ) from error
    if isinstance(X, np.ndarray):
        X = read_array(X, "X")  # a matrix or a masked array as a plain one
    if len(X.shape) == 1 and _holds_objects(X):
        return X
    if len(X.shape) != 2:
        raise DataError(
            f"X has {len(X.shape)} dimension(s); it must be a table of rows and columns. "
            "A single feature goes in as X.reshape(-1, 1), or to_frame() for a Series."
        )
    if X.shape[0] == 0 or X.shape[1] == 0:
        raise DataError(f"X is empty: its shape is {tuple(X.shape)}.")
    return X


def is_table(X: Data) -> bool:
    """Whether what `as_container` let pass has columns; else it is a vector of objects."""
    return hasattr(X, "shape") and len(X.shape) == 2


def _is_list_of_objects(X: Data) -> bool:
    """Whether it is a list of texts or mappings, which an array of fixed width would only make larger."""
    if not isinstance(X, list | tuple):
        return False
    first = next((each for each in X if each is not None), None)
    return isinstance(first, str | bytes | Mapping)


def _holds_objects(X: Shaped) -> bool:
    """Whether a vector holds something else than numbers and dates: the estimator may know how to read it."""
    array = np.asarray(X)
    if array.dtype.kind != "O":
        return array.dtype.kind in "UST"
    return bool(array.size) and as_numbers(array, "X") is None


def to_float(values: ArrayLike | Shaped, what: str, names: tuple[str, ...] | None) -> FloatArray:
    """Float64 array of a container, or an error that names the columns that are not numeric."""
    array = as_array(values, what)
    numbers = as_numbers(array, what)
    if numbers is not None:
        return numbers
    raise DataError(f"{what} holds values that are not numbers{_text_columns(array, names)}. {REMEDY.get(what, '')}")


def as_numbers(array: AnyArray, what: str) -> FloatArray | None:
    """Float64 array; None if there are other values than numbers."""
    if array.dtype.kind in "fiub":
        return array.astype(np.float64, copy=False)
    if array.dtype.kind == "c":
        raise DataError(f"{what} is complex; only real numbers can be used.")
    if array.dtype.kind == "O" and not any(isinstance(v, str) for v in array.ravel()):
        try:
            return np.where(pd.isna(array), np.nan, array).astype(np.float64)
        except OverflowError as error:
            raise DataError(f"{what} holds whole numbers beyond double precision; change its units.") from error
        except (TypeError, ValueError):
            pass
    return None


def _text_columns(array: AnyArray, names: tuple[str, ...] | None) -> str:
    """Which columns cannot be read as numbers."""
    if array.ndim != 2:
        text = next((str(value) for value in array.ravel() if isinstance(value, str)), None)
        return f" (dtype {array.dtype})" if text is None else f" (such as {reprlib.repr(text)})"
    found = []
    for column in range(array.shape[1]):
        try:
            array[:, column].astype(np.float64)
        except (TypeError, ValueError):
            found.append(repr(names[column] if names else column))
    if not found:
        return f" (dtype {array.dtype})"
    more = f" and {len(found) - MOST_NAMED} more" if len(found) > MOST_NAMED else ""
    return f" (in column{'s' if len(found) > 1 else ''} {', '.join(found[:MOST_NAMED])}{more})"


def column_names(X: object) -> tuple[str, ...] | None:
    """Names of the columns, if it is a frame."""
    frame = find_frame(X)
    return None if frame is None else tuple(map(str, frame.names))
