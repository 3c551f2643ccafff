"""Scores of one training set by the estimator itself, where a fast route cannot vouch for its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import get_tags

from ..errors import RefitError
from ..folds import Folds
from ..learners import ClassLearner, Task
from ..learners.refitted import weight_name
from ..typing import AnyArray, Estimator, FloatArray, IntArray
from .engine import FailureLog

__all__ = ["residuals_by_estimator", "scores_by_estimator"]


def scores_by_estimator(
    estimator: Estimator,
    task: Task,
    folds: Folds,
    repeat: int,
    out: Sequence[int],
    scores_of: Callable[[Any, Any], FloatArray],
    settle: Callable[[Any, Any, AnyArray, FloatArray | None], None] | None = None,
) -> list[FloatArray]:
    """Scores (rows, Q) of the folds that one training set leaves out, from a fit to its rows, as a refit makes it.

    ``settle`` mends what rounding left in the fit, given its rows.
    """
    train = folds.training_rows(repeat, *out)
    tests = [np.flatnonzero(folds.ids[repeat] == fold) for fold in out]
    weights, target = task.problem.weights, task.problem.target
    is_pairwise = get_tags(estimator).input_tags.pairwise

    def take(rows: IntArray) -> Any:
        return task.source.between(rows, train) if is_pairwise else task.source.take(rows)

    try:
        fitted = clone(estimator)
        extra = {} if weights is None else {weight_name(estimator): weights[train]}
        X = take(train)
        fitted.fit(X, target[train], **extra)
        if settle is not None:
            settle(fitted, X, target[train], None if weights is None else weights[train])
        found = [scores_of(fitted, take(test)) for test in tests]
    except Exception as error:
        where = f"repeat {folds.first + repeat} with fold(s) {', '.join(map(str, out))} held out"
        cause = " ".join(f"{type(error).__name__}: {error}".split())
        name = type(estimator).__name__
        raise RefitError(f"{name} failed in {where} ({len(train)} training rows): {cause}") from error
    if not all(np.isfinite(scores).all() for scores in found):
        raise RefitError(
            f"{type(estimator).__name__} predicts NaN or infinite values in repeat {folds.first + repeat}."
        )
    return found


def residuals_by_estimator(
    learner: ClassLearner,
    task: Task,
    folds: Folds,
    repeat: int,
    out: Sequence[int],
    members: IntArray,
    log: FailureLog,
) -> FloatArray:
    """Residuals (t, m, V, Q) of the rows ``members`` (t, m) of the folds that one training set leaves out.

    Zeros, and a note in the log, for a value that fails.
    """
    y = task.problem.y
    residuals = np.zeros((*members.shape, learner.n_values, y.shape[1]))
    for value in range(learner.n_values):
        try:
            whole = learner.whole(value)
            scores = scores_by_estimator(whole, task, folds, repeat, out, learner.scores_of, learner.settle)
        except RefitError as error:
            log.add(error, folds.first + repeat, tuple(out), value)
            continue
        for place, found in enumerate(scores):
            rows = members[place, : len(found)]
            residuals[place, : len(found), value] = y[rows] - found
    return residuals
