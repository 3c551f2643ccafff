"""Steps before a fit whose outputs are linear in fixed features; one file a family, one row of `STEPS` each.

A maker gets the step, the columns before it (a `RawTable` if nothing was learned yet) and the `FixedFeatures` to which
it adds what it needs, and returns a `Block`. Where the step, or one of its options, is not linear in fixed features, it
raises RouteError with the reason, and the pipeline is refitted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from scipy import sparse
from sklearn import get_config
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.feature_selection import SelectKBest, SelectPercentile, VarianceThreshold
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    RobustScaler,
    StandardScaler,
)

from ...errors import RouteError
from ...validation import Problem, numeric_matrix
from ..encoding import Block, Encoding
from ..fixedfeatures import FixedFeatures
from ..transformed import check_parameters, is_stateless
from .compose import Table, chain, columns, union
from .encode import one_hot, ordinal
from .function import function
from .impute import impute, missing
from .polynomial import polynomial
from .rotate import principal, truncated
from .scale import max_abs, min_max, robust, standard
from .select import above_variance, best, percentile
from .table import RawTable, as_block

__all__ = ["FITTED_ANEW", "STEPS", "encode_columns", "encode_steps"]

STEPS: dict[type, Callable[[Any, Any, FixedFeatures], Table]] = {
    StandardScaler: standard,
    MinMaxScaler: min_max,
    MaxAbsScaler: max_abs,
    RobustScaler: robust,
    SimpleImputer: impute,
    MissingIndicator: missing,
    OneHotEncoder: one_hot,
    OrdinalEncoder: ordinal,
    VarianceThreshold: above_variance,
    SelectKBest: best,
    SelectPercentile: percentile,
    PCA: principal,
    TruncatedSVD: truncated,
    FunctionTransformer: function,
    PolynomialFeatures: polynomial,
}

FITTED_ANEW = "must be fitted anew in every training set"

COMPOSED: dict[type, Callable[..., Table]] = {ColumnTransformer: columns, FeatureUnion: union, Pipeline: chain}
"""Steps that are made of others."""


def encode_steps(
    steps: Sequence[Any], problem: Problem, before: tuple[RawTable | Block, FixedFeatures] | None = None
) -> Encoding:
    """The columns that a fit gets after some steps; raises RouteError if they are not linear in fixed features.

    Several sequences of steps share their fixed features if these, and the columns ``before`` the steps, are given.
    """
    table: Table
    table, fixed = before or (RawTable.of(problem.X, problem.n), FixedFeatures(problem.n, problem.target))
    for step in steps:
        table = _encode(step, table, fixed)
    return Encoding(as_block(table, fixed), fixed, steps, problem.source, problem.target)


def encode_columns(problem: Problem) -> Encoding:
    """The columns of X as they are, for a fit that follows from the statistics of a training set."""
    if sparse.issparse(problem.X):
        raise RouteError(
            "X is sparse, and products of its columns, about their means, are not (sparse_output=False of "
            "OneHotEncoder, or X.toarray(), would do)"
        )
    return encode_steps([], replace(problem, X=numeric_matrix(problem)))


def _encode(step: Any, table: Table, fixed: FixedFeatures) -> Table:
    """The columns after one step."""
    name = type(step).__name__
    if type(step) in COMPOSED:
        found = COMPOSED[type(step)](step, table, fixed, _encode)
    elif type(step) in STEPS:
        check_parameters(step, RouteError)
        found = STEPS[type(step)](step, table, fixed)
    elif not is_stateless(step):
        raise RouteError(f"{name} {FITTED_ANEW}")
    elif isinstance(table, RawTable):
        found = table.through(step)
    else:
        raise RouteError(f"{name} stands behind another step that learns")
    if isinstance(found, Block) and found.may_be_sparse and _makes_frames(step):
        raise RouteError(f"{name} is to make a frame of what may be a sparse matrix")
    return found


def _makes_frames(step: Any) -> bool:
    """Whether ``set_output`` asks for frames, which hold no sparse matrices."""
    own = getattr(step, "_sklearn_output_config", {}).get("transform")
    return bool((own or get_config()["transform_output"]) != "default")
