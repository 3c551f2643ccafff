"""Classes so rare that a metric is undefined on some fold or training set: all of them are named, before any fit."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..dropfolds import DropFolds
from ..errors import DataError
from ..folds import Folds
from ..metrics import Metric
from ..typing import BoolArray, IntArray
from ..validation import Problem

__all__ = ["check_rare_classes"]

LEAST_FOLDS = 3
"""Of which two are held out at once."""

MOST_NAMED = 8
"""Classes in a message."""


def check_rare_classes(metrics: Sequence[Metric], whole: Folds, problem: Problem, has_blocks: bool) -> None:
    """Refuse metrics that these folds, or the first of random ones, leave undefined for want of rows of a class.

    What only later partitions lack, as with groups, is found when it comes to them. Blocks of rows that follow one
    another cannot be stratified.
    """
    if problem.classes is None or isinstance(whole, DropFolds):
        return
    counts = _counts(whole, problem)
    strict = [metric for metric in metrics if getattr(metric, "needs_every_class", False) and not metric.is_extra]
    if strict and (lost := _lost_in_training(counts)).any():
        raise DataError(
            f"Without two folds a training set has no row of class {_listed(problem, lost)}: {strict[0].name}, a log "
            f"loss, would be infinite. Merge or leave out such classes, {_of_folds(problem, lost, has_blocks)}or use a "
            "score that bears it, such as accuracy."
        )
    ranks = [metric for metric in metrics if metric.family == "rank" and not metric.is_extra]
    if ranks and (absent := (counts[:, :-1] == 0).any(axis=(0, 1))).any():
        raise DataError(
            f"{ranks[0].name} is undefined where a fold has no row of class {_listed(problem, absent)}, and there are "
            f"{whole.n_folds} folds. Merge or leave out such classes, {_of_folds(problem, absent, has_blocks)}or use a "
            "score that bears it, such as accuracy."
        )


def _of_folds(problem: Problem, rare: BoolArray, has_blocks: bool) -> str:
    """Which folds would help; none if there are fewer rows than folds at the least."""
    assert problem.classes is not None
    if np.bincount(np.searchsorted(problem.classes, problem.labels))[rare].min() < LEAST_FOLDS:
        return ""
    if has_blocks:
        return "use fewer folds: longer gaps or fewer blocks, "
    kind = "StratifiedKFold" if problem.groups is None else "StratifiedGroupKFold"
    return f"use fewer folds, or stratified ones (cv={kind}(5, shuffle=True)), "


def _counts(whole: Folds, problem: Problem) -> IntArray:
    """Rows by repeat, fold and class; the last fold is for rows that are never scored."""
    assert problem.classes is not None
    labels = np.searchsorted(problem.classes, problem.labels)
    counts = np.zeros((whole.n_repeats, whole.n_folds + 1, len(problem.classes)), dtype=np.intp)
    for repeat, ids in enumerate(whole.ids):
        np.add.at(counts[repeat], (ids, labels), 1)
    return counts


def _lost_in_training(counts: IntArray) -> BoolArray:
    """Which classes two folds hold alone, so that the training set without them has none."""
    largest = np.sort(counts[:, :-1], axis=1)[:, -2:].sum(axis=1)
    lost: BoolArray = (largest == counts.sum(axis=1)).any(axis=0)
    return lost


def _listed(problem: Problem, chosen: BoolArray) -> str:
    """Names of classes, and how many rows each has."""
    assert problem.classes is not None
    counts = np.bincount(np.searchsorted(problem.classes, problem.labels), minlength=len(problem.classes))
    named = [f"{problem.classes[c]} ({counts[c]} row{'s' if counts[c] > 1 else ''})" for c in np.flatnonzero(chosen)]
    more = f" and {len(named) - MOST_NAMED} more" if len(named) > MOST_NAMED else ""
    return ", ".join(named[:MOST_NAMED]) + more
