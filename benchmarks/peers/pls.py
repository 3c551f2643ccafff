"""Partial least squares beside ikpls, whose fast cross-validation works with sums as onefit does, and R's pls.

In the tall case five components take almost all of the columns' covariance with y; from about eight on the digits of
what is left are not certain enough for onefit, which then refits from the rows.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
from sklearn.cross_decomposition import PLSRegression

from onefit.typing import FloatArray

from ..measure import best_of
from .line import PeerLine, Question, library, similar_columns
from .rscript import run_r

__all__ = ["peers"]

GIVES = "errors with each fold out, no intervals"
AGREED = 1e-9


def peers(quick: bool, budget: float) -> Iterator[Callable[[], PeerLine]]:
    """Wide as spectra are, and tall."""
    for n, p, components in ((40, 12, 3),) if quick else ((200, 400, 20), (10_000, 50, 5), (10_000, 50, 8)):
        name, data = f"PLS, 1 to {components} components, {n:,} x {p}", similar_columns(n, p)
        values = list(range(1, components + 1))
        yield partial(_ikpls, Question(name, PLSRegression(), "n_components", values, *data), budget)
        # In R columns are scaled once, outside the folds, or not at all.
        plain = PLSRegression(scale=False)
        yield partial(_r, Question(f"{name}, not scaled", plain, "n_components", values, *data), budget)


def _ikpls(question: Question, budget: float) -> PeerLine:
    module, peer = library("ikpls", "ikpls.fast_cross_validation.numpy")
    n, p = question.X.shape
    model = module.PLS(algorithm=2 if n > p else 1, ddof=1)

    def errors(y: FloatArray, predicted: FloatArray) -> FloatArray:
        return np.asarray(((y - predicted) ** 2).mean(axis=(1, 2)))

    def call() -> FloatArray:
        with contextlib.redirect_stdout(io.StringIO()):
            found = model.cross_validate(
                question.X, question.y, len(question.values), question.ids, errors, n_jobs=1, verbose=0
            )
        return np.array([found[fold] for fold in sorted(found)]).T

    return question.beside(peer, GIVES, lambda: best_of(call, budget), budget, AGREED)


def _r(question: Question, budget: float) -> PeerLine:
    found = run_r("pls", question.X, question.y, question.ids, budget, [len(question.values)])
    return question.beside(found.peer, GIVES, lambda: (found.seconds, found.values), budget, AGREED)
