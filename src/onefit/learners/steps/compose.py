"""ColumnTransformer, FeatureUnion and Pipeline: steps side by side and one after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.utils._indexing import _get_column_indices

from ...errors import RouteError
from ..encoding import Block, Features, FixedFeatures, SetStatistics, side_by_side
from .categories import Categories
from .table import RawTable, as_block

__all__ = ["chain", "columns", "union"]

Table = RawTable | Categories | Block
Encode = Callable[[Any, Table, FixedFeatures], Table]


class _SideBySide(Block):
    """Blocks whose outputs stand next to each other."""

    def __init__(self, blocks: Sequence[Block], may_be_sparse: bool) -> None:
        self._blocks, self.may_be_sparse = list(blocks), may_be_sparse

    def learn(self, sets: SetStatistics) -> Features:
        """The outputs of all."""
        return side_by_side([block.learn(sets) for block in self._blocks])


def chain(step: Pipeline, table: Table, fixed: FixedFeatures, encode: Encode) -> Table:
    """Steps one after the other."""
    for _, each in step.steps:
        if each is not None and each != "passthrough":
            table = encode(each, table, fixed)
    return table


def union(step: FeatureUnion, table: Table, fixed: FixedFeatures, encode: Encode) -> Block:
    """FeatureUnion."""
    if step.transformer_weights:
        raise RouteError("FeatureUnion weighs its parts")
    kept = [each for _, each in step.transformer_list if not _is(each, "drop")]
    parts = [table if _is(each, "passthrough") else encode(each, table, fixed) for each in kept]
    return _joined(parts, fixed, is_sparse=None)


def columns(step: ColumnTransformer, table: Table, fixed: FixedFeatures, encode: Encode) -> Block:
    """ColumnTransformer."""
    if not isinstance(table, RawTable):
        raise RouteError("ColumnTransformer stands behind another step that learns")
    if step.transformer_weights:
        raise RouteError("ColumnTransformer weighs its parts")
    parts = []
    for each, some in _parts(step, table):
        if len(some) and not _is(each, "drop"):
            taken = table.select(some)
            parts.append(taken if _is(each, "passthrough") else encode(each, taken, fixed))
    return _joined(parts, fixed, is_sparse=step.sparse_threshold > 0)


def _joined(parts: Sequence[Table], fixed: FixedFeatures, is_sparse: bool | None) -> Block:
    """Parts side by side; ``is_sparse`` says whether a sparse part may make all of it sparse, None that it does."""
    blocks = [as_block(part, fixed) for part in parts if not isinstance(part, Categories)]
    if len(blocks) < len(parts):
        raise RouteError("levels of text are left as they are")
    if not blocks:
        raise RouteError("its steps leave no columns")
    return _SideBySide(blocks, is_sparse is not False and any(block.may_be_sparse for block in blocks))


def _parts(step: ColumnTransformer, table: RawTable) -> Iterator[tuple[Any, list[int]]]:
    """Transformers with the places of their columns, those of the remainder last."""
    X, left = table.X, set(range(table.n_columns))
    for _, each, spec in step.transformers:
        chosen = spec(X) if callable(spec) else spec
        some = _places(X, chosen)
        left -= set(some)
        yield each, some
    yield step.remainder, sorted(left)


def _places(X: Any, chosen: Any) -> list[int]:
    """Columns by name, position, slice or mask, as scikit-learn reads them."""
    try:
        return [int(at) for at in np.atleast_1d(_get_column_indices(X, chosen))]
    except (TypeError, ValueError, KeyError) as error:
        raise RouteError(f"columns of a ColumnTransformer cannot be found: {error}") from error


def _is(step: object, word: str) -> bool:
    return isinstance(step, str) and step == word
