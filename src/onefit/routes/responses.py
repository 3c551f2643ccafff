"""Held-out responses of every fold, with itself and with each second fold out: what metrics are computed from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ..dropfolds import DropFolds
from ..folds import Folds
from ..inference.fold_errors import Failure, HeldOut, PairErrors
from ..learners import Learner, Task
from ..metrics import Repeat
from ..metrics.scored import with_ties
from ..typing import AnyArray, BoolArray, FloatArray, IntArray
from ..validation import Problem

__all__ = ["Responses", "classes_left", "joined", "of_scores", "repeats_of", "unseen_classes", "without_unseen"]

ByFold = list[AnyArray]
"""An array (K, m_j, V, ...) for each fold j: the first axis is the second fold that is out."""


@dataclass
class Responses:
    """Of the values of one engine, or of several side by side: by repeat and kind an array for each fold."""

    tables: list[dict[str, ByFold]]
    failures: list[Failure] = field(default_factory=list)


def joined(parts: Sequence[Responses]) -> Responses:
    """Those of several engines, one after the other on the axis of values."""
    if len(parts) == 1:
        return parts[0]
    tables, failures, start = [], list[Failure](), 0
    for part in parts:
        failures += [failure._replace(value=start + failure.value) for failure in part.failures]
        start += next(iter(part.tables[0].values()))[0].shape[2]
    for same in zip(*(part.tables for part in parts), strict=True):
        tables.append(
            {
                kind: [np.concatenate(each, axis=2) for each in zip(*(table[kind] for table in same), strict=True)]
                for kind in same[0]
            }
        )
    return Responses(tables, failures)


def of_scores(pairs: PairErrors[HeldOut], folds: Folds, learner: Learner, task: Task) -> Responses:
    """What a learner says to the scores that a fast route has kept in the place of means of losses."""
    kinds = task.responses if task.problem.classes is not None else frozenset({"residual"})
    tables = []
    for repeat in range(folds.n_repeats):
        by_kind: dict[str, ByFold] = {kind: [] for kind in kinds}
        unseen = unseen_classes(folds, repeat, task.problem)
        for fold, (rows, residuals) in enumerate(_kept_residuals(pairs, folds, repeat, task.problem.n_outputs)):
            for kind in kinds:
                found = _response(kind, task, learner, rows, residuals)
                by_kind[kind].append(found if unseen is None else without_unseen(found, kind, unseen[fold]))
        tables.append(by_kind)
    return Responses(tables, pairs.single.failures)


def classes_left(folds: Folds, repeat: int, problem: Problem) -> tuple[IntArray, IntArray]:
    """Rows of each class in the folds, (K, C), and in the training sets without two of them, (K, K, C)."""
    assert problem.classes is not None
    labels, C, K = np.searchsorted(problem.classes, problem.labels), len(problem.classes), folds.n_folds
    counts = np.zeros((K + 1, C), dtype=np.intp)
    np.add.at(counts, (folds.ids[repeat], labels), 1)  # the last one is for rows that are never scored
    if not isinstance(folds, DropFolds):
        left = counts.sum(axis=0) - counts[:-1, None] - np.where(np.eye(K)[..., None], 0, counts[:-1])
        return counts[:-1], left
    left = np.empty((K, K, C), dtype=np.intp)
    for j, k in np.ndindex(K, K):
        out = (j, k) if folds.has_pairs else (j,)
        left[j, k] = np.bincount(labels[folds.training_rows(repeat, *out)], minlength=C)
    return counts[:-1], left


def unseen_classes(folds: Folds, repeat: int, problem: Problem) -> BoolArray | None:
    """Which of three or more classes each training set lacks, (K, K, C); None if none lacks any."""
    if problem.classes is None or len(problem.classes) == 2:
        return None
    unseen: BoolArray = classes_left(folds, repeat, problem)[1] == 0
    return unseen if unseen.any() else None


def without_unseen(found: AnyArray, kind: str, unseen: BoolArray) -> AnyArray:
    """Scores (K, m, V, C) in which a class that the training set lacks comes last, as in `Questions`."""
    if kind not in ("scores", "decision_function") or found.shape[-1] != unseen.shape[-1]:
        return found
    return np.where(unseen[:, None, None], np.finfo(np.float64).min, found)


def _kept_residuals(
    pairs: PairErrors[HeldOut], folds: Folds, repeat: int, Q: int
) -> Iterator[tuple[AnyArray, FloatArray]]:
    """By fold, its rows and their residuals (K, m_j, V, Q); without pairs all are those with the fold alone out."""
    K, has_pairs = folds.n_folds, not isinstance(folds, DropFolds) or folds.has_pairs
    for fold in range(K):
        size = int(folds.sizes[repeat, fold])
        kept = pairs.mean[repeat, fold]  # (K, V, width * Q)
        if not has_pairs:
            kept = np.repeat(kept[fold : fold + 1], K, axis=0)
        table = kept.reshape(K, kept.shape[1], -1, Q)[:, :, :size]
        yield folds.members[repeat, fold, :size], np.moveaxis(table, 2, 1)


def _response(kind: str, task: Task, learner: Learner, rows: IntArray, residuals: FloatArray) -> AnyArray:
    """One kind of response of a fold's rows."""
    if kind == "residual":
        return residuals
    classes = task.loss.classes
    assert classes is not None
    y = task.problem.y[rows]
    scores = y[:, None] - residuals
    if kind == "predict":
        return classes.decide(scores)
    if kind in task.ranked:  # what was subtracted from codes is rounded by them, and so differs between classes
        ranks, same = kind == "scores" and "decision_function" in learner.responses, task.problem.equal_rows
        scores = with_ties(scores, y, ranks=ranks, same=None if same is None else same[rows])
    if kind == "scores":
        kind = "decision_function" if "decision_function" in learner.responses else "predict_proba"
        found = learner.respond(kind, scores)
        return found[..., 1:] if kind == "predict_proba" and found.shape[-1] == 2 else found
    return learner.respond(kind, scores)


def repeats_of(
    responses: Responses, folds: Folds, problem: Problem, weights: FloatArray | None, values: Sequence[int]
) -> Iterator[Repeat]:
    """The repeats of a block as metrics see them, at some of the values; ``weights`` are relative to their mean."""
    observed: AnyArray = problem.y
    if problem.classes is not None:
        observed = np.searchsorted(problem.classes, problem.labels)
    every = next(iter(responses.tables[0].values()))[0].shape[2]
    for repeat, table in enumerate(responses.tables):
        some: Mapping[str, ByFold] = table
        if len(values) < every:
            some = {kind: [part[:, :, list(values)] for part in parts] for kind, parts in table.items()}
        rows = [folds.members[repeat, fold, : folds.sizes[repeat, fold]] for fold in range(folds.n_folds)]
        number, has_blocks = folds.first + repeat, isinstance(folds, DropFolds)
        yield Repeat(observed, problem.classes, weights, rows, some, number, problem.groups, has_blocks)
