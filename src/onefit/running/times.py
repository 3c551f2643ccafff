"""The column of X that rows are ordered by: read before anything else is made of X, and left out if it holds dates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sklearn.compose import ColumnTransformer
from sklearn.preprocessing import FunctionTransformer

from ..errors import DataError
from ..frames import find_frame
from ..neighbourhoods import Gaps, Neighbourhoods, RollingOrigin, TimeBlocks
from ..rowplaces import column_of
from ..typing import Data, Estimator

__all__ = ["read_times"]

PLAIN = ("sklearn.", "onefit.")
"""Packages whose estimators take numbers and text, and no dates."""


def read_times(X: Data, folds: Any, estimators: Sequence[Estimator]) -> tuple[Data, Any]:
    """X and the folds, which hold the times that they named; dates are left out of X if no model could take them."""
    if not isinstance(folds, TimeBlocks | Gaps | RollingOrigin | Neighbourhoods) or not isinstance(folds.order, str):
        return X, folds
    name = folds.order
    read = replace(folds, order=column_of(name, X, "order"))
    frame = find_frame(X)
    assert frame is not None
    place = list(map(str, frame.names)).index(name)
    if not frame.is_date(place) or any(_may_take_dates(estimator) for estimator in estimators):
        return X, read
    if len(frame.names) == 1:
        raise DataError(f"X has no columns beside {name!r}, which holds dates: give it a column of numbers.")
    return frame.table.drop(frame.table.columns[place]).to_native(), read


def _may_take_dates(estimator: Estimator) -> bool:
    """Whether a model has a part that chooses its columns, or that is not known."""
    parts = [estimator, *(estimator.get_params().values() if hasattr(estimator, "get_params") else ())]
    fitted = [part for part in parts if hasattr(part, "fit")]
    is_plain = [hasattr(part, "get_params") and type(part).__module__.startswith(PLAIN) for part in fitted]
    chooses = [isinstance(part, ColumnTransformer | FunctionTransformer) for part in fitted]
    return not all(is_plain) or any(chooses)
