"""What results must know of the rows of a table, beside their fold errors: sums, and the first rows themselves."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy import sparse

from ...inference.dependence import MOST
from ...inference.rowtotals import RowTotals
from ...spare import spare_table
from ...typing import FloatArray
from ..collect import Chunk

__all__ = ["RowSummary", "SummaryPlan"]


@dataclass(frozen=True)
class SummaryPlan:
    """What is summed.

    Attributes
    ----------
    n_values, n_outputs, n_losses : int
        Of all models, the last value being the best constant.
    n_repeats : int
    mean, total : array (Q,) and float
        Of y, less its middle, weighted; and the sum of the relative weights.
    scale : array (V, R)
        About what losses are: sums are taken in this unit.
    n_groups : int or None
    """

    n_values: int
    n_outputs: int
    n_losses: int
    n_repeats: int
    mean: FloatArray
    total: float
    scale: FloatArray
    n_groups: int | None

    def begin(self) -> RowSummary:
        """Of no rows."""
        shape = (self.n_values + 1, self.n_losses)
        groups = None if self.n_groups is None else np.zeros((self.n_groups, *shape))
        return RowSummary(self, np.zeros(shape), np.zeros((2, self.n_values, 3, self.n_losses)), groups)


@dataclass
class RowSummary:
    """Sums over rows of their mean losses over repeats: of each value, and of the mean of the other rows (last).

    Attributes
    ----------
    sums : (V + 1, R), weighted losses
    products : (2, V, 3, R), of losses in their unit with themselves, with those of the constant, and its own: the
        constant is the last value, or the mean of all other rows
    by_group : (G, V + 1, R) or None, weighted losses by groups
    first : list of (start, y, residuals, losses, weights) of the first rows, for whether they resemble each other
    """

    plan: SummaryPlan
    sums: FloatArray
    products: FloatArray
    by_group: FloatArray | None
    first: list[tuple[int, FloatArray, FloatArray, FloatArray, FloatArray | None]] = field(default_factory=list)

    def wants_residuals(self, chunk: Chunk) -> bool:
        """Of the first rows."""
        return chunk.start < MOST

    def put(self, chunk: Chunk, rows: RowTotals) -> None:
        """Take in a chunk, of which ``rows`` hold sums over the repeats."""
        plan, b = self.plan, len(chunk.y)
        V, R = plan.n_values, plan.n_losses
        if self.wants_residuals(chunk):
            self._keep(chunk, rows)
        w = None if chunk.weights is None else chunk.weights[:, None]
        others = plan.total - (1.0 if w is None else w)
        unit = spare_table(b, V + 1, R)  # losses over the scale
        np.multiply(rows.losses[:b], 1.0 / (plan.n_repeats * plan.scale[:-1]), out=unit[:, :-1])
        unit[:, -1] = 0.0
        if chunk.y.shape[1] == R:
            with np.errstate(divide="ignore", invalid="ignore"):
                unit[:, -1] = np.square((chunk.y - plan.mean) * (plan.total / others)) / plan.scale[-1]
        if w is not None:
            unit *= w[:, :, None]
        table = unit.reshape(b, -1)
        self.sums += plan.scale * (np.ones(b) @ table).reshape(V + 1, R)  # by BLAS: sums down columns are slow
        if chunk.groups is not None and self.by_group is not None:
            seen, places = np.unique(chunk.groups, return_inverse=True)
            members = sparse.csr_matrix((np.ones(b), places, np.arange(b + 1)), (b, len(seen))).T
            self.by_group[seen] += plan.scale * (members @ table).reshape(len(seen), V + 1, R)
            return
        for loss in range(R):
            own = unit[..., loss]
            gram = own.T @ own
            for at, constant in enumerate((-2, -1)):
                self.products[at, :, 0, loss] += np.diag(gram)[:-1]
                self.products[at, :, 1, loss] += gram[:-1, constant]
                self.products[at, :, 2, loss] += gram[constant, constant]

    def _keep(self, chunk: Chunk, rows: RowTotals) -> None:
        """Hold the first rows of the table themselves."""
        kept, repeats = slice(0, min(MOST - chunk.start, len(chunk.y))), self.plan.n_repeats
        weights = None if chunk.weights is None else chunk.weights[kept]
        means = rows.residuals[kept] / repeats, rows.losses[kept] / repeats
        self.first.append((chunk.start, chunk.observed[kept], *means, weights))

    def plus(self, other: RowSummary) -> RowSummary:
        """With those of later rows."""
        groups = None if self.by_group is None or other.by_group is None else self.by_group + other.by_group
        first = sorted([*self.first, *other.first], key=lambda one: one[0])
        return RowSummary(self.plan, self.sums + other.sums, self.products + other.products, groups, first)

    def variance_of_ratio(self, value: int, constant: int, n: float) -> FloatArray:
        """Variance (R,) of the mean of ``l_i / lbar - t_i / tbar`` over rows, or groups, see `figures.relative_loss`.

        ``constant`` 0 is the last value, 1 the mean of all other rows.
        """
        at = -2 if constant == 0 else -1
        with np.errstate(divide="ignore", invalid="ignore"):
            own, base = self.sums[value] / n, self.sums[at] / n
            if self.by_group is not None:
                gaps = self.by_group[:, value] / own - self.by_group[:, at] / base
                count = len(gaps)
                squares = np.einsum("gr,gr->r", gaps, gaps)
            else:
                unit_own, unit_base = own / self.plan.scale[value], base / self.plan.scale[at]
                mm, mt, tt = self.products[constant, value]
                count = int(n)
                squares = mm / unit_own**2 - 2 * mt / (unit_own * unit_base) + tt / unit_base**2
            found: FloatArray = count / (count - 1) * np.maximum(squares, 0.0) / n**2
        return found

    def first_rows(self) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray | None]:
        """Y, mean held-out residuals (n, V, Q), losses (n, V, R) and relative weights of the first rows."""
        _, y, residuals, losses, weights = zip(*self.first, strict=True)
        joined = None if weights[0] is None else np.concatenate(weights)
        return np.concatenate(y), np.concatenate(residuals), np.concatenate(losses), joined
