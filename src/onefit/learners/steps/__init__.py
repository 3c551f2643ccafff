"""Steps before a fit whose outputs are linear in fixed features; one file a family, one row of `STEPS` each.

A maker gets the step, the columns before it (a `RawTable` if nothing was learned yet) and the `FixedFeatures` to which
it adds what it needs, and returns a `Block`. Where the step, or one of its options, is not linear in fixed features, it
raises RouteError with the reason, and the pipeline is refitted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    RobustScaler,
    StandardScaler,
)

from ...errors import RouteError
from ..encoding import Block, FixedFeatures
from ..transformed import is_stateless
from .compose import Table, chain, columns, union
from .encode import one_hot, ordinal
from .impute import impute
from .scale import max_abs, min_max, robust, standard
from .table import RawTable, as_block

__all__ = ["STEPS", "encode_steps"]

STEPS: dict[type, Callable[[Any, Any, FixedFeatures], Table]] = {
    StandardScaler: standard,
    MinMaxScaler: min_max,
    MaxAbsScaler: max_abs,
    RobustScaler: robust,
    SimpleImputer: impute,
    OneHotEncoder: one_hot,
    OrdinalEncoder: ordinal,
}

COMPOSED: dict[type, Callable[..., Table]] = {ColumnTransformer: columns, FeatureUnion: union, Pipeline: chain}
"""Steps that are made of others."""


def encode_steps(steps: Sequence[Any], X: Any, fixed: FixedFeatures) -> Block:
    """The columns that a fit gets after some steps; raises RouteError if they are not linear in fixed features."""
    table: Table = RawTable.of(X)
    for step in steps:
        table = _encode(step, table, fixed)
    if isinstance(table, RawTable | Block):
        return as_block(table, fixed)
    raise RouteError("levels of text reach the fit")


def _encode(step: Any, table: Table, fixed: FixedFeatures) -> Table:
    """The columns after one step."""
    name = type(step).__name__
    if type(step) in COMPOSED:
        return COMPOSED[type(step)](step, table, fixed, _encode)
    if type(step) in STEPS:
        return STEPS[type(step)](step, table, fixed)
    if is_stateless(step) and isinstance(table, RawTable):
        return RawTable.of(clone(step).fit_transform(table.X))
    if is_stateless(step):
        raise RouteError(f"{name} stands behind another step that learns")
    raise RouteError(f"{name} must be fitted anew in every training set")
