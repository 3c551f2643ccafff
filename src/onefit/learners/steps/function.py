"""FunctionTransformer: fixed columns where its function makes the same of some rows as of all."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import _safe_indexing

from ...errors import RouteError
from ...typing import IntArray
from ..encoding import Block
from ..fixedfeatures import FixedFeatures
from ..transformed import is_stateless
from .categories import Categories
from .table import RawTable

__all__ = ["function"]

TRIALS = 3

ROUNDING = 32 * np.finfo(np.float64).eps
"""Part of the largest number in a row, given or made, by which numbers may differ that are the same."""


def function(step: FunctionTransformer, table: RawTable | Categories | Block, fixed: FixedFeatures) -> RawTable:
    """FunctionTransformer: what a function makes of all rows, which every training set and fold must confirm."""
    if not isinstance(table, RawTable):
        raise RouteError("FunctionTransformer stands behind another step that learns")
    X = table.X
    made = _made(step, X)
    found = RawTable.of(made, fixed.n)
    if is_stateless(step):
        return found

    def is_same(rows: IntArray) -> bool:
        try:
            given = _safe_indexing(X, rows)
            return _equal(_made(step, given), _safe_indexing(made, rows), given)
        except (RouteError, ValueError, TypeError):
            return False

    halves = np.random.default_rng(0).permuted(np.tile(np.arange(fixed.n), (TRIALS, 1)), axis=1)[:, : fixed.n // 2]
    if not all(is_same(np.sort(rows)) for rows in halves):
        raise RouteError("the function of FunctionTransformer makes something else of some rows than of all")
    fixed.require(is_same, of_held_out=True)
    return found


def _made(step: FunctionTransformer, X: Any) -> Any:
    try:
        return clone(step).fit_transform(X)
    except Exception as error:
        raise RouteError(f"the function of FunctionTransformer failed: {type(error).__name__}: {error}") from error


def _equal(some: Any, others: Any, given: Any) -> bool:
    """Whether two tables of the same kind, made of a given one, hold the same; missing values are the same, too."""
    if hasattr(some, "equals"):  # frames
        return type(some) is type(others) and bool(some.equals(others))
    if some.shape != others.shape:
        return False
    one, other = np.asarray(some), np.asarray(others)
    kinds = {table.dtype for table in (one, other, np.asarray(given))}
    if kinds == {np.dtype(np.float64)} and np.isfinite(one).all():
        # filters of spectra round otherwise if there are other rows beside them
        sizes = [np.abs(table).max(axis=1, initial=0.0, keepdims=True) for table in (one, np.asarray(given))]
        return bool((np.abs(one - other) <= ROUNDING * np.maximum(*sizes)).all())
    return pd.DataFrame(one).equals(pd.DataFrame(other))
