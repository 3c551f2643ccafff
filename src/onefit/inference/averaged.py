"""Fold errors of some of the figures; those of ranks, whose row values are averaged over repeats; least variances."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np

from ..typing import FloatArray
from .fold_errors import FoldErrors, RowRoles, less_noise, spread_of_losses

__all__ = ["figures_of", "with_averaged_rows", "with_least_moments", "without_noise"]

NO_FIGURES = ("sizes", "n_rows", "n_groups", "weight", "chain", "shares", "is_ranked")
"""Fields of the tables that have no axis of figures."""


def figures_of(errors: FoldErrors, columns: slice) -> FoldErrors:
    """The tables of some figures."""
    tables = {
        field.name: getattr(errors, field.name)[..., columns]
        for field in fields(FoldErrors)
        if field.name not in NO_FIGURES and getattr(errors, field.name) is not None
    }
    return replace(errors, **tables)


def without_noise(errors: FoldErrors) -> FoldErrors:
    """Tables of ranks: the sampling variance of each repeat less what comparisons within folds add to it."""
    return replace(errors if errors.noise is None else _less(errors, errors.noise), is_ranked=True)


def with_averaged_rows(errors: FoldErrors, influence: FloatArray, rows: RowRoles) -> FoldErrors:
    """Tables of ranks: the sampling variance from the rows' values (n, V, R) averaged over repeats, the same for each.

    A row is compared with the few others of its fold, and each repeat with others; the average over L repeats has an
    L-th of the excess that ``noise`` is for one. With groups nothing is taken off, as rows of a group may be compared.
    """
    if errors.noise is None:
        return replace(errors, is_ranked=True)
    L = errors.n_repeats
    found = spread_of_losses(influence[None], rows, errors.chain)
    repeated = {name: np.repeat(table, L, axis=0) for name, table in found.items()}
    averaged = replace(errors, **repeated, row_variance=repeated["total"], is_ranked=True)  # type: ignore[arg-type]
    noise = np.repeat(errors.noise.mean(axis=0, keepdims=True) / L, L, axis=0)
    return replace(averaged, noise=None) if rows.groups is not None else _less(averaged, noise)


def with_least_moments(errors: FoldErrors, variance: FloatArray, skewness: FloatArray) -> FoldErrors:
    """Tables whose sampling variance is at least so large, with its skewness; both (L, V, R), NaN where not given."""
    given = np.isfinite(variance)
    more = np.where(given, np.maximum(variance - errors.sampling(errors.cv), 0.0), 0.0)
    skewed = np.where(given, skewness, errors.skewness)
    return replace(errors, total=errors.total + more, skewness=skewed)


def _less(errors: FoldErrors, noise: FloatArray) -> FoldErrors:
    """Take the noise (L, V, V, R) off the variances of the figures; `FoldErrors.paired` takes it off differences."""
    own = np.einsum("lvvr->lvr", noise)
    total = less_noise(errors.total, own)
    return replace(errors, total=total, row_variance=np.where(own > 0, total, errors.row_variance), noise=noise)
