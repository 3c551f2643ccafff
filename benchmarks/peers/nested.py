"""Nested cross-validation of least squares: beside the R package of Bates, Hastie and Tibshirani.

The one peer that leaves out pairs of folds, too, by refits. It draws its own partitions; R's script hands them over, so
that both have the same, and the mean of the losses with pairs out and the inflation of the interval must agree.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from sklearn.linear_model import LinearRegression

import onefit

from ..measure import best_of
from .line import N_FOLDS, PeerLine, agree, fold_ids, similar_columns
from .rscript import run_r

__all__ = ["peers"]

REPEATS = 10
AGREED = 1e-9
"""Relative, of both figures."""


def peers(quick: bool, budget: float) -> Iterator[Callable[[], PeerLine]]:
    """One size; n is a multiple of ten, as the package leaves the rows beyond it in no fold."""
    n, p = (60, 2) if quick else (500, 20)
    yield partial(_nestedcv, *similar_columns(n, p), budget)


def _nestedcv(X: Any, y: Any, budget: float) -> PeerLine:
    found = run_r("nestedcv", X, y, fold_ids(len(y)), budget, [N_FOLDS, REPEATS])
    folds = found.values[2:].astype(int).reshape(REPEATS, -1) - 1

    def run() -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # so many repeats are meant here
            return onefit.nested_cv(LinearRegression(), X, y, interval="bates", folds=folds, progress=False)

    ours, result = best_of(run, budget)
    agree(found.peer, found.values[:2], np.array([result.raw_estimate, result.inflation]), AGREED)
    question = f"Nested cross-validation of least squares, {REPEATS} repeats, {len(y):,} x {X.shape[1]}"
    return PeerLine(question, f"{found.peer} (Bates), .lm.fit", "the interval of Bates et al.", found.seconds / ours)
