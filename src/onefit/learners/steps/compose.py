"""ColumnTransformer, FeatureUnion and Pipeline: steps side by side and one after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.utils import _safe_indexing
from sklearn.utils._indexing import _get_column_indices

from ...errors import RouteError
from ...typing import IntArray
from ..encoding import Block, BlockAfter
from ..features import Features, Pattern, side_by_side
from ..fixedfeatures import FixedFeatures
from ..setstatistics import SetStatistics
from .categories import Categories
from .table import RawTable, as_block

__all__ = ["chain", "columns", "union"]

Table = RawTable | Categories | Block
Encode = Callable[[Any, Table, FixedFeatures], Table]


class _SideBySide(Block):
    """Blocks whose outputs stand next to each other."""

    def __init__(self, blocks: Sequence[Block], may_be_sparse: bool) -> None:
        self._blocks, self.may_be_sparse = list(blocks), may_be_sparse
        self.n_outputs = sum(block.n_outputs for block in blocks)
        self.is_rotated = any(block.is_rotated for block in blocks)
        self.has_closed = any(block.has_closed for block in blocks)
        self.lacks_signs = any(block.lacks_signs for block in blocks)
        patterns = [block.made_of for block in blocks]
        known = [pattern for pattern in patterns if pattern is not None]
        self.made_of = Pattern.joined(known) if len(known) == len(patterns) else None

    @property
    def n_most(self) -> int:
        """Those of all."""
        return sum(block.n_most for block in self._blocks)

    def learn(self, sets: SetStatistics) -> Features:
        """The outputs of all."""
        return side_by_side([block.learn(sets) for block in self._blocks])


class _Weighted(BlockAfter):
    """Outputs times a factor."""

    def __init__(self, inner: Block, factor: float) -> None:
        super().__init__(inner)
        self._factor = factor

    def learn(self, sets: SetStatistics) -> Features:
        """The outputs, multiplied."""
        found = self.inner.learn(sets)
        return found.affine(np.zeros_like(found.shift), np.full_like(found.shift, self._factor))


def chain(step: Pipeline, table: Table, fixed: FixedFeatures, encode: Encode) -> Table:
    """Steps one after the other."""
    for _, each in step.steps:
        if each is not None and each != "passthrough":
            table = encode(each, table, fixed)
    return table


def union(step: FeatureUnion, table: Table, fixed: FixedFeatures, encode: Encode) -> Block:
    """FeatureUnion."""
    kept = [(name, each) for name, each in step.transformer_list if not _is(each, "drop")]
    parts = [(name, table if _is(each, "passthrough") else encode(each, table, fixed)) for name, each in kept]
    return _joined(step, parts, fixed, sparse_below=np.inf)


def columns(step: ColumnTransformer, table: Table, fixed: FixedFeatures, encode: Encode) -> Block:
    """ColumnTransformer."""
    if not isinstance(table, RawTable):
        raise RouteError("ColumnTransformer stands behind another step that learns")
    parts = []
    for name, each, some in _parts(step, table, fixed):
        if len(some) and not _is(each, "drop"):
            taken = table.select(some)
            parts.append((name, taken if _is(each, "passthrough") else encode(each, taken, fixed)))
    return _joined(step, parts, fixed, sparse_below=float(step.sparse_threshold))


def _joined(
    step: ColumnTransformer | FeatureUnion, parts: list[tuple[str, Table]], fixed: FixedFeatures, sparse_below: float
) -> Block:
    """Parts by their names side by side; below a density, ``sparse_below``, a sparse part makes all of it sparse."""
    weights, blocks = step.transformer_weights or {}, []
    for name, part in parts:
        if isinstance(part, Categories):
            raise RouteError("levels of text are left as they are")
        block, factor = as_block(part, fixed), weights.get(name)
        if factor is not None and not factor > 0:
            raise RouteError(f"{type(step).__name__} multiplies a part by {factor!r}")
        blocks.append(block if factor is None else _Weighted(block, float(factor)))
    if not blocks:
        raise RouteError("its steps leave no columns")
    has_sparse = any(block.may_be_sparse for block in blocks)
    return _SideBySide(blocks, has_sparse and _least_density(blocks) < sparse_below)


def _least_density(blocks: Sequence[Block]) -> float:
    """The least part of their outputs that scikit-learn may count as stored in a training set.

    Dense outputs count in full. Those that may be missing there add nothing, and sparse ones are as wide as can be.
    """
    stored = sum(block.n_stored for block in blocks if block.may_be_sparse)
    width = sum(block.n_outputs for block in blocks if block.may_be_sparse)
    full = sum(block.n_outputs for block in blocks if not block.may_be_sparse and block.made_of is not None)
    return (stored + full) / max(width + full, 1)


def _parts(step: ColumnTransformer, table: RawTable, fixed: FixedFeatures) -> Iterator[tuple[str, Any, list[int]]]:
    """Transformers by their names, with the places of their columns, those of the remainder last."""
    X, left = table.X, set(range(table.n_columns))
    for name, each, spec in step.transformers:
        some = _places(X, spec)
        if callable(spec) and type(spec) is not make_column_selector:  # which goes by names and types alone
            fixed.require(partial(_chooses, X, spec, some), of_held_out=False)
        left -= set(some)
        yield name, each, some
    yield "remainder", step.remainder, sorted(left)


def _chooses(X: Any, spec: Any, some: list[int], rows: IntArray) -> bool:
    """Whether a function chooses the same columns in some rows."""
    try:
        return _places(_safe_indexing(X, rows), spec) == some
    except RouteError:
        return False


def _places(X: Any, spec: Any) -> list[int]:
    """Columns by name, position, slice, mask or function, as scikit-learn reads them."""
    try:
        chosen = spec(X) if callable(spec) else spec
        if np.ndim(chosen) == 0 and not isinstance(chosen, slice):
            raise ValueError(f"{chosen!r} is one column, not a list of columns")
        return [int(at) for at in _get_column_indices(X, chosen)]
    except Exception as error:
        raise RouteError(f"columns of a ColumnTransformer cannot be found: {error}") from error


def _is(step: object, word: str) -> bool:
    return isinstance(step, str) and step == word
