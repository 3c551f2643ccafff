"""Many outputs beside himalaya, which is made for them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from sklearn.linear_model import Ridge
from sklearn.model_selection import PredefinedSplit

from ..measure import best_of
from .line import PeerLine, Question, agree, library

__all__ = ["peers"]

GIVES = "the best penalty of every output and its error with each fold out, no intervals"
AGREED = 1e-8


def peers(quick: bool, budget: float) -> Iterator[Callable[[], PeerLine]]:
    """Tall, as voxels of scans are predicted."""
    n, p, outputs, values = (40, 5, 6, 3) if quick else (500, 200, 1000, 20)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, p))
    Y = X @ rng.normal(size=(p, outputs)) / np.sqrt(p) + rng.normal(size=(n, outputs))
    name = f"Ridge, {outputs:,} outputs, {values} penalties, {n} x {p}"
    yield partial(_himalaya, Question(name, Ridge(), "alpha", np.logspace(-1, 4, values), X, Y), budget)


def _himalaya(question: Question, budget: float) -> PeerLine:
    module, peer = library("himalaya", "himalaya.ridge")
    folds = PredefinedSplit(question.ids)

    def call() -> Any:
        return module.solve_ridge_cv_svd(question.X, question.y, question.values, fit_intercept=True, cv=folds)

    ours, curve = best_of(question.run, budget)
    theirs, (penalties, _, scores, _) = best_of(call, budget)
    every = np.array([result.fold_errors.e_out[0].mean(axis=0) for result in curve.results])
    chosen = np.abs(np.log(question.values)[:, None] - np.log(penalties)).argmin(axis=0)
    agree(peer, -np.ravel(scores), every[chosen, np.arange(every.shape[1])], AGREED)
    return PeerLine(question.name, f"{peer}, solve_ridge_cv_svd", GIVES, theirs / ours)
