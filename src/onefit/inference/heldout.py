"""Held-out losses of a block of repeats: what routes compute.

Shapes: repeats L, folds K, rows n, parameter values V, outputs Q; the last two axes are always there.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Generic, NamedTuple, Protocol, TypeVar

import numpy as np

from ..errors import OneFitError
from ..folds import Folds
from ..typing import BoolArray, FloatArray
from .chain import Chain
from .rowroles import RowRoles
from .rowspread import spread_of_losses
from .rowtotals import RowTotals

__all__ = ["Failure", "HeldOut", "PairErrors", "SingleErrors", "empty_pairs", "moments"]


class Failure(NamedTuple):
    """A value that could not be fitted in a repeat with some folds out."""

    repeat: int
    out: tuple[int, ...]
    value: int
    error: OneFitError
    is_of_bias: bool = False

    @property
    def order(self) -> tuple[bool, int, int, tuple[int, ...], int]:
        """Which is told before others, whichever thread found it; partitions of the bias come after the repeats."""
        return self.is_of_bias, self.repeat, len(self.out), self.out, self.value


@dataclass(frozen=True)
class HeldOut:
    """Residual (L, n, V, Q) and loss (L, n, V, R) of every row when its own fold is out; NaN for rows never scored.

    R is Q, or 1 if the outputs are the scores of classes. Where a value could not be fitted the tables hold numbers
    that mean nothing, but spoil no other value, and ``failures`` say so. Both may be parts of one table, ``both``.
    """

    residuals: FloatArray
    losses: FloatArray
    failures: list[Failure] = field(default_factory=list)
    both: FloatArray | None = None

    @classmethod
    def empty(cls, folds: Folds, n_values: int, n_outputs: int, n_losses: int) -> HeldOut:
        """Tables to be filled."""
        shape = (folds.n_repeats, folds.n, n_values)
        if n_outputs == 1:
            return cls(np.full((*shape, n_outputs), np.nan), np.full((*shape, n_losses), np.nan))
        # of many outputs they are large: one value's lie together, and a single repeat's become the sums over repeats
        both = np.full((folds.n_repeats, n_values, folds.n, n_outputs + n_losses), np.nan).swapaxes(1, 2)
        return cls(both[..., :n_outputs], both[..., n_outputs:], both=both)

    def blank(self, repeat: int, value: int) -> None:
        """Put zeros where a value has no numbers."""
        for table in (self.residuals, self.losses):
            cell = table[repeat, :, value]
            cell[~np.isnan(cell)] = 0.0

    def cv_means(self, rows: RowRoles) -> FloatArray:
        """Row-mean cross-validation error of each repeat, (L, V, R)."""
        weighed = rows.weigh(self.losses)
        means: FloatArray = weighed.mean(axis=1)
        if np.isnan(means).any():
            missing = np.isnan(weighed)
            with np.errstate(invalid="ignore"):  # a metric that does not exist has no mean
                means = np.where(missing, 0.0, weighed).sum(axis=1) / (~missing).sum(axis=1)
        return means

    def spread(self, rows: RowRoles, chain: Chain) -> dict[str, FloatArray]:
        """``row_variance`` and the other tables of `FoldErrors` that are sums over rows."""
        tables = spread_of_losses(self.losses, rows, chain)
        if rows.groups is None:  # then the spread between units is that of rows
            return {"row_variance": tables["total"], **tables}
        scored = (~np.isnan(self.losses[:, :, 0, 0])).sum(axis=1)[:, None, None]
        return {"row_variance": _variance(rows.weigh(self.losses)) / scored, **tables}

    def add_to(self, totals: RowTotals) -> None:
        """Add each row's residuals and losses, repeat by repeat: so sums do not depend on the size of the blocks."""
        missing = np.isnan(self.losses[:, :, 0, 0])
        if totals.is_only and self.both is not None:
            totals.both, totals.count = self.both[0], (~missing[0]).astype(np.float64)
            return
        for sums, tables in ((totals.residuals, self.residuals), (totals.losses, self.losses)):  # views
            is_first = not totals.count.any()
            for table in np.where(missing[..., None, None], 0.0, tables) if missing.any() else tables:
                if is_first:  # to add to zeros would touch their memory twice
                    sums[:] = table
                else:
                    sums += table
                is_first = False
        totals.count += (~missing).sum(axis=0)


class SingleErrors(Protocol):
    """What is known of the rows of a block of repeats, each with its own fold out: tables, or a pass over the rows."""

    @property
    def failures(self) -> list[Failure]:
        """Values that could not be fitted."""

    def blank(self, repeat: int, value: int) -> None:
        """Put zeros where a value has no numbers."""

    def cv_means(self, rows: RowRoles) -> FloatArray:
        """Row-mean cross-validation error of each repeat, (L, V, R)."""

    def spread(self, rows: RowRoles, chain: Chain) -> dict[str, FloatArray]:
        """``row_variance`` and the other tables of `FoldErrors` that are sums over rows."""

    def add_to(self, totals: RowTotals) -> None:
        """Add each row's residuals and losses."""


S = TypeVar("S", bound=SingleErrors, covariant=True)


@dataclass(frozen=True)
class PairErrors(Generic[S]):
    """What a route computes for a block of repeats.

    ``mean[l, j, k]`` is the mean (weighted) loss on fold j when folds j and k are out, ``mean[l, j, j]`` when j alone
    is; ``scatter`` is the sum of squares about that mean. Both (L, K, K, V, R).
    """

    single: S
    mean: FloatArray
    scatter: FloatArray


def empty_pairs(
    folds: Folds, n_values: int, n_outputs: int, n_losses: int, n_moments: int | None = None
) -> PairErrors[HeldOut]:
    """Tables to be filled; those of pairs may hold other numbers than one a loss."""
    shape = (folds.n_repeats, folds.n_folds, folds.n_folds, n_values, n_losses if n_moments is None else n_moments)
    single = HeldOut.empty(folds, n_values, n_outputs, n_losses)
    return PairErrors(single, np.full(shape, np.nan), np.full(shape, np.nan))


def moments(losses: FloatArray, present: BoolArray) -> tuple[FloatArray, FloatArray]:
    """Mean and sum of squares about it over axis -2, the rows of a fold, with the padding left out.

    ``present`` is (..., rows, 1) and broadcasts against ``losses`` (..., rows, columns).
    """
    if present.all():
        mean: FloatArray = losses.mean(axis=-2)
        deviation = losses - mean[..., None, :]
    else:
        mean = np.where(present, losses, 0.0).sum(axis=-2) / present.sum(axis=-2)
        deviation = np.where(present, losses - mean[..., None, :], 0.0)
    return mean, np.einsum("...mq,...mq->...q", deviation, deviation)


def _variance(losses: FloatArray) -> FloatArray:
    """Over the rows (L, n, V, R) that have a loss; NaN without a word where a metric exists for none of them."""
    there = ~np.isnan(losses)
    count = there.sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.where(there, losses, 0.0).sum(axis=1) / count
        apart = np.where(there, losses - mean[:, None], 0.0)
        found: FloatArray = np.where(count > 1, np.square(apart).sum(axis=1) / (count - 1), np.nan)
    return found
