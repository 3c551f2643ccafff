"""Whether a few rows, or groups, carry the variance of losses that cannot be negative."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from ..typing import BoolArray, FloatArray
from .chain import Chain
from .fold_errors import FoldErrors, HeldOut, RowRoles

__all__ = ["UnitSizes", "have_heavy_tails", "heavy_tailed"]

LEAST_SKEWNESS, LEAST_OF_GROUPS = 0.2, 0.1
"""Of the mean of rows, and of groups; below it, enough of them share the variance for the interval to hold."""

MILD = 4.2
"""Mean square over squared mean of rows' squared errors up to which the interval was seen to hold."""

MOST_ABSOLUTE = 2.3
"""The same of absolute errors, that of Gaussian ones being 1.57."""


class UnitSizes(NamedTuple):
    """Sizes of the units, weights of rows or sums of them over groups, as far as tails ask for them.

    Attributes
    ----------
    effective, of_squares : float
        How many units of one size say as much as these, and as units of the squares of these sizes.
    spread : float
        Mean square of the relative weights of rows.
    n_units : int
    has_groups : bool
    """

    effective: float
    of_squares: float
    spread: float
    n_units: int
    has_groups: bool

    @classmethod
    def of(cls, rows: RowRoles, n_rows: int) -> UnitSizes:
        """From weights and groups of all rows."""
        weights = np.ones(n_rows) if rows.weights is None else rows.weights
        return cls.of_sizes(rows.totals(weights), float(np.square(weights).mean()), rows.groups is not None)

    @classmethod
    def of_sizes(cls, sizes: FloatArray, spread: float, has_groups: bool) -> UnitSizes:
        """From the sizes of all units."""
        effective, of_squares = _effective_number(sizes), _effective_number(np.square(sizes))
        return cls(effective, of_squares, spread, len(sizes), has_groups)


def heavy_tailed(errors: FoldErrors, units: UnitSizes, loss: str) -> BoolArray:
    """Whether a few units carry the variance, (V, Q), from the tables of fold errors.

    Mean square over squared mean, of the losses of rows and of groups, is compared with what Gaussian noise has: for
    squared error it is the kurtosis of the residuals, 3 and a sampling error. That alone would warn of exponential
    noise whatever the number of rows, though the interval covers when they are many; so the mean must be skewed, too.
    Both are calibrated by ``python -m validation.warnings``.
    """
    with np.errstate(over="ignore", invalid="ignore"):  # values that could not be fitted
        centre = errors.cv.mean(axis=0)
        tables = {"row_variance": errors.row_variance, "sampling": errors.sampling(centre), "skewness": errors.skewness}
        means = {name: table.mean(axis=0) for name, table in tables.items()}
        return _carried_by_few(centre, means, units, errors.n_scored / errors.n_rows, errors.n_scored, loss)


def have_heavy_tails(losses: FloatArray, rows: RowRoles, loss: str) -> BoolArray:
    """The same of losses (n, Q) themselves; (Q,)."""
    table = losses[None, :, None]
    held_out = HeldOut(table, table)
    centre = held_out.cv_means(rows)
    found = held_out.spread(rows, Chain(np.zeros(1, dtype=np.intp)))
    sampling = found["total"] - 2 * centre * found["cross"] + np.square(centre) * found["weight"][:, None, None]
    means = {name: found[name][0] for name in ("row_variance", "skewness")} | {"sampling": sampling[0]}
    n_scored = int(np.isfinite(losses[:, 0]).sum())
    units = UnitSizes.of(rows, len(losses))
    heavy: BoolArray = _carried_by_few(centre[0], means, units, n_scored / len(losses), n_scored, loss)[0]
    return heavy


def _carried_by_few(
    centre: FloatArray, means: Mapping[str, FloatArray], units: UnitSizes, share: float, n_scored: int, loss: str
) -> BoolArray:
    safe = np.where(centre > 0, centre, np.inf)
    of_units = np.square(np.sqrt(means["sampling"]) / safe)
    relative = 1 + share * units.effective * of_units
    heavy: BoolArray = relative > _most_relative(share * units.of_squares, loss)
    if not units.has_groups:
        heavy &= (relative > MILD) | (loss == "absolute_error")
        return heavy & (np.abs(means["skewness"]) > LEAST_SKEWNESS)
    # the losses of their rows may have tails that the sums of few groups do not show; they count as so many independent
    # rows as have the variance between groups
    spread = units.spread
    of_rows = np.square(np.sqrt(means["row_variance"]) / safe)
    independent = n_scored * of_rows / np.where(of_units > 0, of_units, np.inf)
    limit = _most_relative(np.clip(independent, share * units.n_units, n_scored), loss)
    heavy |= 1 + (n_scored * of_rows - (spread - 1)) / spread > limit
    return heavy & (np.abs(means["skewness"]) > LEAST_OF_GROUPS)


def _most_relative(n_units: FloatArray | float, loss: str) -> FloatArray | float:
    """Mean square over squared mean that Gaussian noise seldom exceeds."""
    return MOST_ABSOLUTE if loss == "absolute_error" else 3 + 11 / np.sqrt(n_units + 15)


def _effective_number(sizes: FloatArray) -> float:
    """How many units of one size say as much as units of these: ``(sum s)^2 / sum s^2`` (Kish)."""
    return float(sizes.sum() ** 2 / (sizes @ sizes))
