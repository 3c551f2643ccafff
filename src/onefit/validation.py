"""Raw X and y -> `Problem`: checked arrays, original containers, names of columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.base import is_classifier
from sklearn.utils import get_tags

from .checks import MOST_SIZE, check_estimator, check_range_of
from .errors import DataError
from .frames import as_array, find_frame, for_estimators, in_double, in_few_blocks, is_frame
from .metrics.losses import Classes
from .sources import MemorySource, Source
from .typing import AnyArray, ArrayLike, Data, Estimator, FloatArray, IntArray, Shaped

__all__ = ["Problem", "check_columns", "check_problem", "numeric_matrix"]


@dataclass(frozen=True)
class Problem:
    """Checked data: what the routes compute with.

    ``X`` keeps its container (array, frame, sparse matrix), because an estimator that is refitted may need its column
    names; `numeric_matrix` turns it into the float64 array of the fast routes. A vector of objects, such as texts, is
    as it was given. ``groups`` are numbered in sorted order. For classifiers ``labels`` are the classes as given and
    ``y`` their codes of -1 and 1.
    """

    X: Any
    y: FloatArray
    output_names: tuple[str, ...] | None
    feature_names: tuple[str, ...] | None
    weights: FloatArray | None = None
    groups: IntArray | None = None
    labels: Any = None
    classes: Any = None

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.y.shape[0])

    @property
    def n_outputs(self) -> int:
        """Number of columns of y."""
        return int(self.y.shape[1])

    @property
    def target(self) -> AnyArray:
        """Y as it was given, for estimators that are refitted."""
        if self.labels is not None:
            return np.asarray(self.labels)
        return self.y[:, 0] if self.output_names is None else self.y

    @cached_property
    def source(self) -> Source:
        """The rows of X, so that some of them come fast."""
        return MemorySource(in_few_blocks(self.X))

    @cached_property
    def _matrix(self) -> FloatArray:
        if not _is_table(self.X):
            raise DataError(
                f"X is a vector of {type(next(iter(self.X))).__name__}, and columns of numbers are needed; let the "
                "first step of a pipeline make them, such as TfidfVectorizer for texts or DictVectorizer for dicts."
            )
        array = np.ascontiguousarray(_to_float(self.X, "X", self.feature_names))
        _refuse_missing(array, self.feature_names)
        largest = np.maximum(array.max(axis=0, initial=0.0), -array.min(axis=0, initial=0.0))
        check_columns(largest, self.feature_names)
        return array


def check_problem(
    estimators: Sequence[Estimator],
    X: Data,
    y: ArrayLike | Shaped | None,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
) -> Problem:
    """Check the data once for all estimators, which must be regressors, or all classifiers; keep names of columns."""
    for estimator in estimators:
        check_estimator(estimator)
    if len({is_classifier(estimator) for estimator in estimators}) > 1:
        raise DataError("Some estimators are classifiers and some are not; their losses cannot be compared.")
    X = _as_container(X)
    n = MemorySource(X).n_rows
    labels = classes = output_names = None
    if is_classifier(estimators[0]):
        labels, classes, codes = _check_labels(y)
        y_array = Classes(classes).encode(codes)
    else:
        y_array, output_names = _check_y(y)
    if n != y_array.shape[0]:
        raise DataError(
            f"X has {n} rows and y has {y_array.shape[0]}: they must describe the same observations, row by row."
        )
    if n < 3:
        raise DataError(f"There are only {n} rows; nested cross-validation needs at least 3 (three folds of one row).")
    feature_names = None
    if _is_table(X):
        feature_names = _column_names(X)
        _check_finite(X, feature_names, may_be_missing=all(map(_judges_itself, estimators)))
        X = _in_double(X)
    weights, group_ids = _check_weights(sample_weight, n), _check_groups(groups, n)
    return Problem(X, y_array, output_names, feature_names, weights, group_ids, labels, classes)


def numeric_matrix(problem: Problem) -> FloatArray:
    """X as a finite float64 array, for the routes that compute from the design itself; made once for all models."""
    return problem._matrix


def check_columns(largest: FloatArray, names: Sequence[str] | None) -> None:
    """Refuse columns, of these largest absolute values, whose powers leave the range of double precision."""
    for at in map(int, np.flatnonzero(largest > MOST_SIZE)):
        check_range_of(f"Column {at if names is None else names[at]} of X", largest[at])


def _as_array(values: object, what: str) -> AnyArray:
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


def _as_container(X: Any) -> Any:
    """Keep frames, matrices and vectors of objects as they are; make an array of anything else; refuse other shapes."""
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
        X = _as_array(X, "X")  # a matrix or a masked array as a plain one
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


def _is_table(X: Data) -> bool:
    """Whether what `_as_container` let pass has columns; else it is a vector of objects."""
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
    try:
        _to_float(array, "X", None)
    except DataError:
        return bool(array.size)
    return False


def _check_y(y: ArrayLike | Shaped | None) -> tuple[FloatArray, tuple[str, ...] | None]:
    """Y as (n, outputs) float64, with a name for each output if y has columns."""
    if y is None:
        raise DataError("y is None: the error of a prediction needs observed values.")
    array = _as_array(y, "y")
    if array.ndim not in (1, 2) or array.size == 0:
        raise DataError(f"y has shape {array.shape}; it must be a vector, or a table with one column for each output.")
    names = None
    if array.ndim == 2:
        names = _column_names(y) or tuple(str(q) for q in range(array.shape[1]))
    values = _to_float(y, "y", names)
    if not np.isfinite(values).all():
        count = int((~np.isfinite(values)).any(axis=-1).sum() if values.ndim == 2 else (~np.isfinite(values)).sum())
        raise DataError(f"y is missing or infinite in {count} row(s); drop or impute them first.")
    table = values.reshape(values.shape[0], -1)
    for at in range(table.shape[1]):
        check_range_of(f"y[{names[at]}]" if names else "y", table[:, at])
    return table, names


def _check_labels(y: ArrayLike | Shaped | None) -> tuple[AnyArray, AnyArray, IntArray]:
    """Class labels as given, the distinct ones in sorted order, and the number of each row's class."""
    if y is None:
        raise DataError("y is None: the error of a prediction needs observed classes.")
    labels = _as_array(y, "y")
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.ndim != 1 or labels.size == 0:
        raise DataError(f"y has shape {labels.shape}; a classifier's y must be a vector with one class for each row.")
    missing = pd.isna(labels)
    if missing.any():
        raise DataError(f"y is missing in {int(missing.sum())} row(s); drop them first.")
    try:
        classes, codes = np.unique(labels, return_inverse=True)
    except TypeError as error:
        raise DataError("y mixes types that cannot be sorted; give all classes as text or all as numbers.") from error
    if len(classes) < 2:
        raise DataError(f"y has only one class, {classes[0]!r}; there is nothing to tell apart.")
    if labels.dtype.kind == "f" and not np.array_equal(labels, np.round(labels)):
        raise DataError("y holds fractions, and the estimator is a classifier; use a regressor, or round y to classes.")
    return labels, classes, codes


def _check_weights(sample_weight: ArrayLike | None, n: int) -> FloatArray | None:
    """Sample weights, or None if there are none."""
    if sample_weight is None:
        return None
    weights = _as_array(sample_weight, "sample_weight")
    if weights.shape != (n,):
        raise DataError(f"sample_weight has shape {weights.shape}; it must hold one number for each of the {n} rows.")
    weights = _to_float(weights, "sample_weight", None)
    if not np.isfinite(weights).all() or (weights < 0).any():
        raise DataError("sample_weight must be finite and not negative in every row.")
    if (weights > 0).sum() < 3:
        raise DataError("Fewer than 3 rows have a positive sample_weight; there is nothing to fit.")
    return weights


def _check_groups(groups: ArrayLike | None, n: int) -> IntArray | None:
    """Group of each row, numbered 0, 1, ... in sorted order."""
    if groups is None:
        return None
    names = _as_array(groups, "groups")
    if names.shape != (n,):
        raise DataError(f"groups has shape {names.shape}; it must name a group for each of the {n} rows.")
    missing = pd.isna(names)
    if missing.any():
        raise DataError(
            f"groups is missing in {int(missing.sum())} row(s); give rows that belong to no group a name of their own."
        )
    try:
        distinct, ids, counts = np.unique(names, return_inverse=True, return_counts=True)
    except TypeError as error:
        raise DataError(
            "groups mixes types that cannot be sorted; name all groups by text or all by numbers."
        ) from error
    if len(distinct) < 3:
        raise DataError(
            f"There are only {len(distinct)} group(s); nested cross-validation leaves two out and needs at least 3."
        )
    largest = int(counts.argmax())
    if counts[largest] > n / 2:
        raise DataError(
            f"Group {distinct[largest]} holds {counts[largest]} of the {n} rows: without it the training sets are "
            "less than half of the data, and say little about a fit on all of it. Split the group, or leave it out."
        )
    return ids.astype(np.intp)


def _to_float(values: ArrayLike | Shaped, what: str, names: tuple[str, ...] | None) -> FloatArray:
    """Float64 array of a container, or an error that names the column that is not numeric."""
    array = as_array(values, what)
    if array.dtype.kind in "fiub":
        return array.astype(np.float64, copy=False)
    if array.dtype.kind == "c":
        raise DataError(f"{what} is complex; only real numbers can be used.")
    if array.dtype.kind == "O" and not any(isinstance(v, str) for v in array.ravel()):
        try:
            return np.where(pd.isna(array), np.nan, array).astype(np.float64)
        except (TypeError, ValueError):
            pass
    where = _first_text_column(array, names)
    raise DataError(
        f"{what} holds values that are not numbers{where}. Encode text and dates as numbers first "
        "(for X, for example in a pipeline with OneHotEncoder, which before Ridge takes no refits)."
    )


def _first_text_column(array: AnyArray, names: tuple[str, ...] | None) -> str:
    if array.ndim != 2:
        return f" (dtype {array.dtype})"
    for column in range(array.shape[1]):
        try:
            array[:, column].astype(np.float64)
        except (TypeError, ValueError):
            name = names[column] if names else column
            return f" (first in column {name!r})"
    return f" (dtype {array.dtype})"


def _column_names(X: object) -> tuple[str, ...] | None:
    frame = find_frame(X)
    return None if frame is None else tuple(map(str, frame.names))


def _check_finite(X: Any, names: tuple[str, ...] | None, may_be_missing: bool) -> None:
    """Refuse NaN and infinities, unless they are for the estimators to judge."""
    if sparse.issparse(X):
        if not np.isfinite(X.data).all():
            raise DataError("X holds NaN or infinite values; drop or impute them first.")
        return
    array = as_array(X)
    if array.dtype.kind == "O":
        try:
            array = _to_float(array, "X", names)
        except DataError:
            return  # text: only an estimator that encodes it can say whether it is in order
    if array.dtype.kind == "f" and not may_be_missing:
        _refuse_missing(array, names)


def _refuse_missing(array: FloatArray, names: tuple[str, ...] | None) -> None:
    if all(np.isfinite(block).all() for block in MemorySource(array).blocks()):
        return
    column = int(np.flatnonzero(~np.isfinite(array).all(axis=0))[0])
    count = int((~np.isfinite(array[:, column])).sum())
    raise DataError(
        f"X holds NaN or infinite values, {count} of them in column {names[column] if names else column!r}. Drop these "
        "rows, or impute inside a pipeline (the imputer is then fitted anew in every training set)."
    )


def _judges_itself(estimator: Any) -> bool:
    """Whether missing values are the estimator's own affair: it takes them, or has parts that may impute them."""
    try:
        allows = bool(get_tags(estimator).input_tags.allow_nan)
        parts = estimator.get_params(deep=False).values()
    except (AttributeError, TypeError):
        return True  # not a scikit-learn estimator
    return allows or any(hasattr(part, "fit") or isinstance(part, list) for part in parts)


def _in_double(X: Any) -> Any:
    """Single precision to double, so that refits compute in the same precision as the fast routes."""
    if isinstance(X, np.ndarray) or sparse.issparse(X):
        return X.astype(np.float64) if X.dtype.kind == "f" and X.dtype != np.float64 else X
    return in_double(X) if is_frame(X) else X
