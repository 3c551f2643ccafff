"""Held-out losses -> the interval of the default rule: onefit's own functions, on tables that are exact."""

from __future__ import annotations

from typing import Any

import numpy as np

from onefit.folds import Folds
from onefit.inference.chain import ascending
from onefit.inference.fold_errors import HeldOut, PairErrors, RowRoles, summarize
from onefit.inference.intervals import RULES, Context

from .models import Model

__all__ = ["PairTables"]

LEVEL, SCALES = 0.95, {"zero_one": "logit"}


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

    def interval(self, model: Model) -> tuple[dict[str, np.ndarray], float]:
        """Both ends, and how near the standard error is to where the scale of the interval changes."""
        ids = Folds(self.folds, self.mean.shape[1])
        single = HeldOut(self.losses[:, :, None], self.losses[:, :, None])
        pairs = PairErrors(single, self.mean[..., None, :], self.scatter[..., None, :])
        rows, scale = RowRoles.of(model.weights, model.groups), SCALES.get(model.loss, "log")
        with np.errstate(all="ignore"):
            errors = summarize(pairs, ids, rows, ascending(np.zeros(1)))
            found = RULES["covariance"].compute(errors, Context(LEVEL, scale))
            ratio = found.standard_error[0] / found.estimate[0]
        is_near = np.abs(np.where(np.isfinite(ratio), ratio, 1.0) - 1.0)
        return {"low": found.low[0], "high": found.high[0]}, float(is_near.min())
