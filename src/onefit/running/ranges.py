"""Values of a parameter, as they are given for a curve."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from ..checks import check_estimator, no_parameter
from ..errors import DataError
from ..typing import AnyArray, Estimator

__all__ = ["as_values", "check_range"]


def check_range(estimator: Estimator, param_name: str, param_range: Iterable[object]) -> list[object]:
    """The values as a list, checked against the estimator."""
    check_estimator(estimator)
    known = estimator.get_params() if hasattr(estimator, "get_params") else {}
    if not isinstance(param_name, str) or param_name not in known:
        raise DataError(no_parameter(estimator, param_name))
    try:
        values = list(param_range)
    except TypeError as error:
        raise DataError(f"param_range={param_range!r} must be a list or an array of values.") from error
    if len(values) < 2:
        raise DataError(
            f"param_range holds {len(values)} value(s), which make no curve; give at least two, or use nested_cv."
        )
    if any(isinstance(value, list | tuple | np.ndarray) for value in values):
        raise DataError("param_range must hold single values, not lists of them.")
    array = as_values(values)
    if array.dtype.kind in "fiu":
        steps = np.diff(array.astype(float))
        if not np.isfinite(array.astype(float)).all() or not ((steps > 0).all() or (steps < 0).all()):
            raise DataError("param_range must be finite and sorted, without equal values; use np.sort(param_range).")
        return list(array.tolist())
    if len({repr(value) for value in values}) < len(values):
        raise DataError("param_range holds the same value more than once.")
    return values


def as_values(values: Sequence[object]) -> AnyArray:
    """Parameter values as an array; of objects, if numbers and names are mixed, so that they stay what they are."""
    if all(isinstance(value, float | int | np.number) and not isinstance(value, bool) for value in values):
        return np.asarray(values)
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array
