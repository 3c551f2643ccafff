"""What is given for each row: observed values or classes, weights and groups, checked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from .checks import check_range_of, plain_text
from .containers import column_names, read_array, to_float
from .errors import DataError
from .frames import row_names
from .typing import AnyArray, ArrayLike, FloatArray, IntArray, Shaped

__all__ = ["check_group_sizes", "check_groups", "check_labels", "check_order", "check_weights", "check_y"]


def check_order(**named: object) -> None:
    """Refuse values with the index of X in another order: rows are taken by their place, as scikit-learn does.

    If X has no index, it is that of the first of the others that has one.
    """
    indices = {what: index for what, values in named.items() if (index := row_names(values)) is not None}
    for what, mine in list(indices.items())[1:]:
        first, rows = next(iter(indices.items()))
        if len(mine) == len(rows) and not mine.equals(rows) and _are_permuted(mine, rows):
            raise DataError(
                f"{what} has the index of {first} in another order, and rows are taken by their place; give "
                f"{what}.loc[{first}.index], or {what}.to_numpy() if the places are right."
            )


def _are_permuted(mine: pd.Index[Any], rows: pd.Index[Any]) -> bool:
    """Whether two indices hold the same labels, each once; pandas compares some of different kinds by an error."""
    try:
        if mine.nlevels != rows.nlevels or not rows.isin(mine[:1]).any():  # which takes a tenth of the time
            return False
        return mine.is_unique and rows.is_unique and bool(mine.isin(rows).all())
    except (TypeError, ValueError, NotImplementedError):  # periods with text, or labels that have no hash
        return False


def check_y(y: ArrayLike | Shaped | None) -> tuple[FloatArray, tuple[str, ...] | None]:
    """Y as (n, outputs) float64, with a name for each output if y has columns."""
    if y is None:
        raise DataError("y is None: the error of a prediction needs observed values.")
    array = read_array(y, "y")
    if array.ndim not in (1, 2) or array.size == 0:
        raise DataError(f"y has shape {array.shape}; it must be a vector, or a table with one column for each output.")
    names = None
    if array.ndim == 2:
        names = column_names(y) or tuple(str(q) for q in range(array.shape[1]))
    values = to_float(y, "y", names)
    if not np.isfinite(values).all():
        count = int((~np.isfinite(values)).any(axis=-1).sum() if values.ndim == 2 else (~np.isfinite(values)).sum())
        raise DataError(f"y is missing or infinite in {count} row(s); drop or impute them first.")
    table = values.reshape(values.shape[0], -1)
    for at in range(table.shape[1]):
        check_range_of(f"y[{names[at]}]" if names else "y", table[:, at])
    return table, names


def check_labels(y: ArrayLike | Shaped | None) -> tuple[AnyArray, AnyArray, IntArray]:
    """Class labels as given, the distinct ones in sorted order, and the number of each row's class."""
    if y is None:
        raise DataError("y is None: the error of a prediction needs observed classes.")
    labels = read_array(y, "y")
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
        raise DataError(f"y has only one class, {plain_text(classes[0])}; there is nothing to tell apart.")
    if labels.dtype.kind == "f" and not np.array_equal(labels, np.round(labels)):
        raise DataError("y holds fractions, and the estimator is a classifier; use a regressor, or round y to classes.")
    return labels, classes, codes


def check_weights(sample_weight: ArrayLike | None, n: int) -> FloatArray | None:
    """Sample weights, or None if there are none."""
    if sample_weight is None:
        return None
    weights = read_array(sample_weight, "sample_weight")
    if weights.shape != (n,):
        raise DataError(f"sample_weight has shape {weights.shape}; it must hold one number for each of the {n} rows.")
    weights = to_float(weights, "sample_weight", None)
    if not np.isfinite(weights).all() or (weights < 0).any():
        raise DataError("sample_weight must be finite and not negative in every row.")
    if (weights > 0).sum() < 3:
        raise DataError("Fewer than 3 rows have a positive sample_weight; there is nothing to fit.")
    return weights


def check_groups(groups: ArrayLike | None, n: int) -> IntArray | None:
    """Group of each row, numbered 0, 1, ... in sorted order."""
    if groups is None:
        return None
    names = read_array(groups, "groups")
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
    check_group_sizes(distinct, counts, n)
    return ids.astype(np.intp)


def check_group_sizes(names: Sequence[Any] | AnyArray, counts: IntArray, n: int) -> None:
    """Refuse groups, of so many of n rows each, that are too few, or of which one holds most rows."""
    if len(names) < 3:
        raise DataError(
            f"There are only {len(names)} group(s); nested cross-validation leaves two out and needs at least 3."
        )
    largest = int(counts.argmax())
    if counts[largest] > n / 2:
        raise DataError(
            f"Group {names[largest]} holds {counts[largest]} of the {n} rows: without it the training sets are less "
            "than half of the data, and say little about a fit on all of it. Split the group, or leave it out."
        )
