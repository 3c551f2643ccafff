"""Passes over a table for generalized linear models: losses, gradients and curvatures, by folds or by training sets."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ...errors import DataError
from ...learners.glm_families import Family
from ...linalg.columns import Columns
from ...sources import Piece
from ...typing import FloatArray, IntArray
from ..collect import FoldOrder
from ..newtonbatch import in_predictors
from ..threads import threads
from .rows import ReadRows, RowReader

__all__ = ["FoldTables", "FoldTask", "GLMRows", "SetSums", "SetTask", "add_folds", "add_sets", "refuse_faults"]

CHUNK = 2**18
"""Linear predictors that are held at a time."""


class _Block(NamedTuple):
    """Some rows: columns (b, q), y (P, b), weights (b,), classes (b,), and folds (L, b)."""

    design: FloatArray
    y: FloatArray
    weights: FloatArray
    classes: IntArray
    ids: IntArray


def refuse_faults(family: Family, y: FloatArray, name: str, first: int) -> None:
    """Refuse rows whose y the loss is not made for; ``first`` is the number of the first one in the table."""
    bad = family.fault(y)
    if bad.any():
        row = int(np.argmax(bad))
        raise DataError(
            f"Column {name!r} is {y[row]:g} in row {first + row}, out of the valid range of the loss "
            f"'{family.loss_name}'. Leave such rows out when the table is written, or choose another model."
        )


@dataclass(frozen=True)
class GLMRows:
    """How a model sees the rows.

    Attributes
    ----------
    reader : RowReader
    design : function of ReadRows
    family : Family
    n_classes : int
        One if it is no classifier.
    class_weights : array (C,) or None
        Factors of the weights of the classes.
    is_balanced : bool
        Whether classes have weights that change with the training set.
    """

    reader: RowReader
    design: Callable[[ReadRows], Columns]
    family: Family
    n_classes: int
    class_weights: FloatArray | None
    is_balanced: bool

    @property
    def n_groups(self) -> int:
        """Classes whose sums are kept apart."""
        return self.n_classes if self.is_balanced else 1

    def blocks(self, piece: Piece) -> Iterator[_Block]:
        """The rows of a piece."""
        for rows in self.reader.rows(piece):
            columns = self.design(rows)
            design = np.hstack([columns.E, columns.N]) if columns.E.shape[1] else columns.N
            y = np.ascontiguousarray(rows.observed.T)
            if self.n_classes == 1:
                refuse_faults(self.family, rows.observed[:, 0], self.reader.target.names[0], rows.start)
            classes = np.zeros(len(design), dtype=np.intp)
            if self.n_classes > 1:
                classes = (y[0] > 0).astype(np.intp) if len(y) == 1 else y.argmax(axis=0)
            weights = np.ones(len(design)) if rows.weights is None else rows.weights
            if self.class_weights is not None:
                weights = weights * self.class_weights[classes]
            yield _Block(design, y, weights, classes, rows.ids)

    def groups(self, block: _Block) -> IntArray:
        """Of the rows of a block."""
        return block.classes if self.is_balanced else np.zeros_like(block.classes)


# ------------------------------------------------------------------------------ by folds


@dataclass(frozen=True)
class FoldTables:
    """Sums at one vector of coefficients a value, over the rows of each fold of each repeat, and of each class.

    ``objective`` (V, L, K, G), ``descent`` (V, L, K, G, c, q), minus the gradient, ``hessian``
    (V, L, K, G, c, q, c, q), and ``curvature`` (V, L, K, G) the trace of the second derivatives in the predictors;
    ``counts`` and ``weights`` (L, K, C) of the rows of each class.
    """

    objective: FloatArray
    descent: FloatArray
    hessian: FloatArray
    curvature: FloatArray
    counts: FloatArray
    weights: FloatArray


def add_folds(one: FoldTables, other: FoldTables) -> FoldTables:
    """Of earlier and later rows."""
    np.add(one.hessian, other.hessian, out=one.hessian)  # large, and of nobody else
    return FoldTables(
        one.objective + other.objective,
        one.descent + other.descent,
        one.hessian,
        one.curvature + other.curvature,
        one.counts + other.counts,
        one.weights + other.weights,
    )


@dataclass(frozen=True)
class FoldTask:
    """Sums over the rows of a piece at coefficients ``gamma`` (V, c, q) of the design."""

    rows: GLMRows
    gamma: FloatArray

    def __call__(self, piece: Piece) -> FoldTables:
        """By folds."""
        rows, (V, c, q) = self.rows, self.gamma.shape
        L, K, G, C = len(rows.reader.repeats), rows.reader.deal.n_folds, rows.n_groups, rows.n_classes
        cells = (V, L, K, G)
        found = FoldTables(
            np.zeros(cells), np.zeros((*cells, c, q)), np.zeros((*cells, c, q, c, q)), np.zeros(cells),
            *np.zeros((2, L, K, C)),
        )  # fmt: skip
        with threads(1), np.errstate(over="ignore", invalid="ignore"):
            for block in rows.blocks(piece):
                orders = [FoldOrder.of(ids * G + rows.groups(block), K * G) for ids in block.ids]
                for repeat, ids in enumerate(block.ids):
                    for table, weights in ((found.counts, None), (found.weights, block.weights)):
                        sums = np.bincount(ids * C + block.classes, weights, minlength=K * C)
                        table[repeat] += sums.reshape(K, C)
                for value in range(V):
                    self._add(found, value, block, orders)
        return found

    def _add(self, found: FoldTables, value: int, block: _Block, orders: list[FoldOrder]) -> None:
        """Sums at one value."""
        family, gamma, G = self.rows.family, self.gamma[value], self.rows.n_groups
        eta = family.basis @ (gamma @ block.design.T)
        losses = block.weights * family.loss(eta, block.y)
        curvature = block.weights * family.curvature(eta, block.y)  # (c, c, b)
        residual = block.weights * (family.basis.T @ family.residual(eta, block.y))
        trace = np.einsum("aab->b", curvature)
        c = len(gamma)
        for repeat, order in enumerate(orders):
            B = block.design[order.order]
            for cell, part in order.parts():
                at, some, own = (value, repeat, cell // G, cell % G), order.order[part], B[part]
                found.objective[at] += losses[some].sum()
                found.curvature[at] += trace[some].sum()
                found.descent[at] += residual[:, some] @ own
                H = found.hessian[at]
                for a in range(c):
                    for b in range(a, c):
                        gram = own.T @ (curvature[a, b, some][:, None] * own)
                        H[a, :, b] += gram
                        if b > a:
                            H[b, :, a] += gram  # symmetric in itself


# ------------------------------------------------------------------------------ by training sets


@dataclass(frozen=True)
class SetSums:
    """Sums over the rows of training sets, each at its own coefficients, as in `FoldTables`; some only if asked for."""

    descent: FloatArray
    objective: FloatArray | None = None
    hessian: FloatArray | None = None
    curvature: FloatArray | None = None


def add_sets(one: SetSums, other: SetSums) -> SetSums:
    """Of earlier and later rows."""
    if one.hessian is None or other.hessian is None:
        return SetSums(one.descent + other.descent)
    assert one.objective is not None and other.objective is not None  # noqa: PT018
    assert one.curvature is not None and other.curvature is not None  # noqa: PT018
    return SetSums(
        one.descent + other.descent,
        one.objective + other.objective,
        np.add(one.hessian, other.hessian, out=one.hessian),
        one.curvature + other.curvature,
    )


@dataclass(frozen=True)
class SetTask:
    """Sums over the rows of a piece for training sets at their own coefficients.

    Attributes
    ----------
    rows : GLMRows
    gamma : array (S, c, q)
        Of the design; training sets are in the order of their repeats.
    factors : tuple of arrays (K G, S_l)
        By repeat, what the rows of a fold, and class, count in each of its training sets: zero if the fold is out.
    with_hessians : bool
        Whether second derivatives and objectives are asked for, too.
    """

    rows: GLMRows
    gamma: FloatArray
    factors: tuple[FloatArray, ...]
    with_hessians: bool = False

    def __call__(self, piece: Piece) -> SetSums:
        """By training sets."""
        rows, (S, c, q) = self.rows, self.gamma.shape
        columns = in_predictors(rows.family, self.gamma)  # (P, q, S)
        step = max(64, CHUNK // max(1, len(columns) * S))
        descents = np.zeros(columns.shape)
        found = SetSums(np.zeros((S, c, q)))
        if self.with_hessians:
            found = SetSums(np.zeros((S, c, q)), np.zeros(S), np.zeros((S, c, q, c, q)), np.zeros(S))
        with threads(1), np.errstate(over="ignore", invalid="ignore"):
            for block in rows.blocks(piece):
                cells = block.ids * rows.n_groups + rows.groups(block)
                for start in range(0, len(block.design), step):
                    part = slice(start, start + step)
                    weights = np.hstack([own[ids[part]] for own, ids in zip(self.factors, cells, strict=True)])
                    weights *= block.weights[part, None]
                    B, y = block.design[part], block.y[:, part, None]
                    eta = np.matmul(B, columns)
                    if self.with_hessians:
                        self._add_curvatures(found, B, block.y[:, part], eta, weights)
                    residual = rows.family.residual(eta, y)
                    residual *= weights
                    more = np.matmul(B.T, residual)
                    if not np.isfinite(more).all():  # rows that are out may be predicted to be infinite
                        residual[np.broadcast_to(weights == 0, residual.shape)] = 0.0
                        more = np.matmul(B.T, residual)
                    descents += more
        found.descent[:] = np.tensordot(descents, rows.family.basis, (0, 0)).transpose(1, 2, 0)
        return found

    def _add_curvatures(
        self, found: SetSums, B: FloatArray, y: FloatArray, eta: FloatArray, weights: FloatArray
    ) -> None:
        """Objectives and second derivatives, one training set after the other."""
        family, c = self.rows.family, self.gamma.shape[1]
        assert found.objective is not None
        assert found.hessian is not None
        assert found.curvature is not None
        for index in range(eta.shape[2]):
            inside = weights[:, index] > 0
            own, w, own_y = eta[:, inside, index], weights[inside, index], y[:, inside]
            Z, curvature = B[inside], w * family.curvature(own, own_y)
            found.objective[index] += w @ family.loss(own, own_y)
            found.curvature[index] += np.einsum("aab->", curvature)
            H = found.hessian[index]
            for a in range(c):
                for b in range(a, c):
                    gram = Z.T @ (curvature[a, b][:, None] * Z)
                    H[a, :, b] += gram
                    if b > a:
                        H[b, :, a] += gram
