"""Refits by scikit-learn itself: what the refit route must give, whatever its digits."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone

from .arrays import Arrays
from .figures import Figures, tabulate
from .library import estimators_of
from .models import Model
from .problems import Problem

__all__ = ["refit_figures"]


def refit_figures(problem: Problem, arrays: Arrays, model: Model, candidate: int) -> Figures | str:
    """The figures of a loop over training sets, or why it fails."""
    estimator = estimators_of(problem, arrays)[candidate]
    X = sparse.csr_matrix(arrays.X) if problem.is_sparse else arrays.X

    def residuals(repeat: int, out: tuple[int, ...]) -> dict[int, list[Any]]:
        held = np.isin(arrays.folds[repeat], out)
        train, test = np.flatnonzero(~held), np.flatnonzero(held)
        extra = {} if arrays.weights is None else {"sample_weight": arrays.weights[train]}
        if problem.kernel == "precomputed":
            fitted = clone(estimator).fit(X[np.ix_(train, train)], arrays.y[train], **extra)
            values = fitted.predict(X[np.ix_(test, train)])
        else:
            values = clone(estimator).fit(X[train], arrays.y[train], **extra).predict(X[test])
        if problem.model == "classifier":  # a prediction that is right leaves nothing, one that is wrong turns the code
            right = values == arrays.y[test]
            return {int(i): _turned(model, int(i), bool(ok)) for i, ok in zip(test, right, strict=True)}
        u = model.Y[test] - np.asarray(values, dtype=float).reshape(len(test), -1)
        return {int(i): row for i, row in zip(test, u.tolist(), strict=True)}

    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return tabulate(model, arrays.folds, residuals, 0.0, float)
        except Exception as error:
            return f"{type(error).__name__}: {error}"


def _turned(model: Model, row: int, is_right: bool) -> list[float]:
    codes = model.Y[row].tolist()
    return [0.0] * len(codes) if is_right else [2.0 * code for code in codes]
