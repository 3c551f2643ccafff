"""Held-out losses -> intervals and paired differences: onefit's own functions, on tables that are exact."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from onefit.folds import Folds
from onefit.inference.chain import ascending
from onefit.inference.fold_errors import FoldErrors, HeldOut, PairErrors, RowRoles, summarize
from onefit.inference.intervals import RULES, Context, paired

from .models import Model

__all__ = ["ENDS", "Differences", "PairTables", "exact_differences"]

LEVEL, SCALES = 0.95, {"zero_one": "logit"}
ENDS = ("estimate", "low", "high", "standard_error")


@dataclass(frozen=True)
class Differences:
    """Between the candidates ``first`` and ``second``, each (D, R): estimate, ends and standard error, (4, D, R)."""

    first: np.ndarray
    second: np.ndarray
    values: np.ndarray


class PairTables:
    """Losses of rows (L, n, R), and means and scatter of the weighted losses of folds (L, K, K, R)."""

    def __init__(self, folds: np.ndarray, n_folds: int, n_losses: int) -> None:
        self.folds, L, n = folds, *folds.shape
        self.losses = np.full((L, n, n_losses), np.nan)
        self.mean, self.scatter = np.full((2, L, n_folds, n_folds, n_losses), np.nan)

    def add(self, repeat: int, fold: int, other: int, mean: Any, variance: Any, count: int) -> None:
        """Losses of a fold with it and another, or it alone, out."""
        self.mean[repeat, fold, other] = mean
        self.scatter[repeat, fold, other] = 0.0 if count == 1 else np.multiply(variance, count - 1)

    def interval(self, model: Model) -> tuple[np.ndarray, float]:
        """Both ends (2, R), and how near the standard error is to where the scale of the interval changes."""
        scale = SCALES.get(getattr(model, "scale", model.loss), "log")
        with np.errstate(all="ignore"):
            found = RULES["covariance"].compute(_fold_errors([self], model), Context(LEVEL, scale))
            ratio = found.standard_error[0] / found.estimate[0]
        is_near = np.abs(np.where(np.isfinite(ratio), ratio, 1.0) - 1.0)
        return np.stack([found.low[0], found.high[0]]), float(is_near.min())


def exact_differences(tables: Sequence[PairTables], model: Model, asked: Differences) -> np.ndarray:
    """The differences that were asked for, (4, D, R)."""
    found = np.empty(asked.values.shape)
    with np.errstate(all="ignore"):
        errors = _fold_errors(tables, model)
        for output in range(found.shape[2]):
            each = paired(errors, asked.first[:, output], asked.second[:, output], LEVEL, SCALES.get(model.loss, "log"))
            found[:, :, output] = [getattr(each, name)[:, output] for name in ENDS]
    return found


def _fold_errors(tables: Sequence[PairTables], model: Model) -> FoldErrors:
    """Of several candidates, side by side."""
    losses = np.stack([table.losses for table in tables], axis=2)
    mean, scatter = (np.stack([getattr(table, name) for table in tables], axis=3) for name in ("mean", "scatter"))
    folds = Folds(tables[0].folds, mean.shape[1])
    chain = ascending(np.nanmean(losses, axis=(0, 1, 3)))
    relative = None
    if model.weights is not None:
        relative = model.weights / np.average(model.weights, weights=(tables[0].folds >= 0).sum(axis=0))
    return summarize(PairErrors(HeldOut(losses, losses), mean, scatter), folds, RowRoles(relative, model.groups), chain)
