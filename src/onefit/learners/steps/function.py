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
from ..features import FixedFeatures
from ..transformed import is_stateless
from .categories import Categories
from .table import RawTable

__all__ = ["function"]

TRIALS = 3


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
            return _equal(_made(step, _safe_indexing(X, rows)), _safe_indexing(made, rows))
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


def _equal(some: Any, others: Any) -> bool:
    """Whether two tables of the same kind hold the same, missing values being the same, too."""
    if hasattr(some, "equals"):  # frames
        return type(some) is type(others) and bool(some.equals(others))
    return some.shape == others.shape and pd.DataFrame(np.asarray(some)).equals(pd.DataFrame(np.asarray(others)))
