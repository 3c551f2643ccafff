"""The area under the ROC curve of a logistic regression, with an interval: beside R's glm and cvAUC.

The interval of cvAUC is that of the mean over the folds from influence curves, which takes the fits as given.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression

import onefit

from ..measure import best_of
from .line import PeerLine, agree, fold_ids
from .rscript import run_r

__all__ = ["peers"]

AGREED = 1e-6
"""Relative, of the mean over the folds."""


def peers(quick: bool, budget: float) -> Iterator[Callable[[], PeerLine]]:
    """One size."""
    n, p = (80, 2) if quick else (1000, 20)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, p))
    y = (X[:, :2].sum(axis=1) + 2 * rng.normal(size=n) > 1).astype(float)
    yield partial(_cvauc, X, y, budget)


def _cvauc(X: Any, y: Any, budget: float) -> PeerLine:
    ids = fold_ids(len(y))
    found = run_r("cvAUC", X, y, ids, budget, [])
    model = LogisticRegression(C=np.inf, tol=1e-10, max_iter=1000)

    def run() -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return onefit.nested_cv(model, X, y.astype(int), scoring="roc_auc", folds=ids[None], progress=False)

    ours, result = best_of(run, budget)
    agree(found.peer, found.values, np.array([result.cv_estimate]), AGREED)
    question = f"AUC of a logistic regression with an interval, {len(y):,} x {X.shape[1]}"
    gives = "the mean over the folds, an interval that takes the fits as given"
    return PeerLine(question, f"{found.peer}, ci.cvAUC of glm", gives, found.seconds / ours)
