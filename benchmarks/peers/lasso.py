"""A path of lassos beside celer, skglm, scikit-learn's LassoCV and R's glmnet, each at its own tolerance.

Descents stop early, so their errors agree with onefit's, which are solved to the end, only when they are asked for more
digits: that run is checked, the one at the default tolerance is timed.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from sklearn.linear_model import Lasso, LassoCV
from sklearn.model_selection import PredefinedSplit

from onefit.typing import FloatArray

from ..measure import best_of
from .line import PeerLine, Question, library, similar_columns
from .rscript import run_r

__all__ = ["peers"]

GIVES = "errors with each fold out, no intervals"
AGREED = 1e-6
"""Relative; celer ends at 5e-8 whatever it is asked for."""

Path = Callable[[FloatArray, FloatArray, FloatArray], FloatArray]
"""Coefficients (columns, penalties) of a path through the origin."""


def peers(quick: bool, budget: float) -> Iterator[Callable[[], PeerLine]]:
    """Tall, and wide."""
    for n, p, least, values in ((60, 8, 0.1, 4),) if quick else ((1000, 50, 0.01, 50), (200, 1000, 0.2, 50)):
        alphas = np.geomspace(2.0 if p > n else 1.0, least, values)
        name = f"Lasso, {values} penalties, {n:,} x {p:,}"
        question = Question(name, Lasso(), "alpha", alphas, *similar_columns(n, p))
        for peer in (_scikit_learn, _celer, _skglm, _glmnet):
            yield partial(peer, question, budget)


def _scikit_learn(question: Question, budget: float) -> PeerLine:
    _, peer = library("scikit-learn", "sklearn")

    def call(**keywords: Any) -> FloatArray:
        model = LassoCV(alphas=question.values, cv=PredefinedSplit(question.ids), **keywords)
        return np.asarray(model.fit(question.X, question.y).mse_path_)

    return _line(question, f"LassoCV of {peer}", call, {"tol": 1e-12, "max_iter": 200_000}, budget)


def _celer(question: Question, budget: float) -> PeerLine:
    """By its function: its LassoCV is broken by scikit-learn 1.9."""
    module, peer = library("celer", "celer")

    def call(tol: float = 1e-4) -> FloatArray:
        def path(X: FloatArray, y: FloatArray, alphas: FloatArray) -> FloatArray:
            return np.asarray(module.celer_path(X, y, pb="lasso", alphas=alphas, tol=tol)[1])

        return _folds(question, path)

    return _line(question, f"{peer}, celer_path", call, {"tol": 1e-14}, budget)


def _skglm(question: Question, budget: float) -> PeerLine:
    module, peer = library("skglm", "skglm")

    def call(tol: float = 1e-4) -> FloatArray:
        model = module.Lasso(fit_intercept=False, tol=tol)
        return _folds(question, lambda X, y, alphas: np.asarray(model.path(X, y, alphas)[1]))

    call()  # what is compiled at its first call is not timed
    return _line(question, f"{peer}, Lasso.path", call, {"tol": 1e-12}, budget)


def _glmnet(question: Question, budget: float) -> PeerLine:
    data = (question.X, question.y, question.ids, budget)
    timed = run_r("glmnet", *data, [1e-7, *question.values])
    tight = run_r("glmnet", *data[:3], 0.0, [1e-15, *question.values])
    return question.beside(f"{timed.peer}, cv.glmnet", GIVES, lambda: (timed.seconds, tight.values), budget, AGREED)


def _folds(question: Question, path: Path) -> FloatArray:
    """Errors (penalties, folds) of paths whose intercepts are the means of each training set."""
    X, y, ids = question.X, question.y, question.ids
    found = []
    for fold in range(ids.max() + 1):
        train, out = ids != fold, ids == fold
        centre, level = X[train].mean(axis=0), y[train].mean()
        coefficients = path(np.asfortranarray(X[train] - centre), y[train] - level, question.values)
        residuals = (y[out] - level)[:, None] - (X[out] - centre) @ coefficients
        found.append((residuals**2).mean(axis=0))
    return np.array(found).T


def _line(
    question: Question, peer: str, call: Callable[..., FloatArray], tight: dict[str, Any], budget: float
) -> PeerLine:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        seconds, _ = best_of(call, budget)
        checked = call(**tight)
    return question.beside(peer, GIVES, lambda: (seconds, checked), budget, AGREED)
