"""Remarks on lassos whose solutions predict held-out rows otherwise: training sets that were in doubt are looked at."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Lock

import numpy as np

from ..dropfolds import DropFolds
from ..folds import Folds
from ..learners import EncodedFamily, EncodedLearner
from ..learners.lasso import LassoLearner
from ..learners.refitted import weight_name
from ..learners.solutions import MANY_SOLUTIONS, can_be_looked_at, differ, fits_differ, is_sparsified
from ..learners.transformed import without_trace
from ..typing import Estimator, FloatArray, IntArray
from .contract import Remark
from .fitting import FitData

__all__ = ["DoubtfulSets", "looks_at", "of_learners", "of_refits"]

MOST_LOOKED_AT = 3
"""Training sets in doubt that are looked at."""

MOST_VALUES = 12
"""Of each of several models that are looked at, beside those sets."""

FITS_EACH = 30
"""Refits for each look at a training set beside them."""

Rows = tuple[IntArray, Sequence[IntArray]]
"""Those of a training set, and of the folds that it leaves out."""


class DoubtfulSets:
    """The first of the training sets that leave a fit in doubt, whoever comes to them first."""

    def __init__(self) -> None:
        self._found: dict[tuple[int, tuple[int, ...]], Rows] = {}
        self._lock = Lock()

    def note(self, repeat: int, folds: tuple[int, ...], rows: Rows) -> None:
        """One more."""
        with self._lock:
            self._found[repeat, folds] = rows
            if len(self._found) > MOST_LOOKED_AT:
                del self._found[max(self._found)]

    def rows(self) -> list[Rows]:
        """In order."""
        return [self._found[key] for key in sorted(self._found)]


def looks_at(folds: Folds, n_values: int) -> tuple[list[Rows], list[int]]:
    """Training sets of the first repeat, one or two, and values to look at in them: few beside all fits."""
    has_pairs = not isinstance(folds, DropFolds) or folds.has_pairs
    count = n_values * (folds.n_folds * (folds.n_folds + 1) // 2 if has_pairs else folds.n_folds)
    most = max(1, count // FITS_EACH)
    out = [(0, 1), (1, 2)] if has_pairs else [(0,), (1,)]
    some = out[: max(1, min(len(out), most // n_values))]
    values = _some(n_values, most)
    sets: list[Rows] = [
        (folds.training_rows(0, *held), [np.flatnonzero(folds.ids[0] == fold) for fold in held]) for held in some
    ]
    return sets, values


def _some(n_values: int, most: int) -> list[int]:
    """Places on an axis of values, all or the most that there may be, the ends among them if these are two or more."""
    return sorted({int(place) for place in np.linspace(0, n_values - 1, min(n_values, most))})


def of_refits(
    estimators: Sequence[Estimator], data: FitData, sets: Sequence[Rows], values: Sequence[int] | None = None
) -> tuple[Remark, ...]:
    """Those on estimators, one a value, in some training sets and, if given, of some values."""

    def differ_in(value: int, rows: Rows) -> bool:
        estimator, (train, tests) = estimators[value], rows
        if not is_sparsified(estimator) or data.target.dtype.kind not in "fiu":
            return False
        weights = data.parameters[value].get(weight_name(estimator)) if data.parameters[value] else None
        held = [data.source.take(each) for each in tests]
        given = None if weights is None else weights[train]
        return fits_differ(estimator, data.source.take(train), data.target[train], given, held)

    return _remarks(len(estimators), range(len(estimators)) if values is None else values, sets, differ_in)


def of_learners(
    parts: Sequence[EncodedLearner] | Sequence[EncodedFamily], y: FloatArray, sets: Sequence[Rows]
) -> tuple[Remark, ...]:
    """Those on learners, of some values of each."""
    places = [(part, value) for part in parts for value in range(part.n_values)]
    chosen = [at for at, (part, value) in enumerate(places) if value in _some(part.n_values, MOST_VALUES)]

    def differ_in(place: int, rows: Rows) -> bool:
        (part, value), (train, tests) = places[place], rows
        if not isinstance(part, LassoLearner) or part.l1_ratio < 1.0:
            return False
        if not can_be_looked_at(len(train), part.width):
            return False
        Z, *held = part.encoding.of_rows(train, tests)
        is_counted = np.isin(train, part.fitted_rows)
        train, alpha = train[is_counted], float(part.lams[value, 0])
        root = part.root_weights(train)
        return differ(Z[is_counted], y[train], root, alpha, np.vstack(held), part.fit_intercept, part.positive)

    return _remarks(len(places), chosen, sets, differ_in)


def _remarks(
    n_values: int, looked_at: Sequence[int], sets: Sequence[Rows], differ_in: Callable[[int, Rows], bool]
) -> tuple[Remark, ...]:
    """One for each value whose solutions differ in one of the sets; what goes wrong on the way is no finding.

    A value that is not looked at is taken to be as the nearest one that is.
    """
    found = set()
    for value in looked_at:
        try:
            with without_trace():
                is_found = any(differ_in(value, rows) for rows in sets)
        except Exception:  # whatever it is, nothing that figures depend on
            continue
        if is_found:
            found.add(value)
    nearest = (min(looked_at, key=lambda other: abs(other - value)) for value in range(n_values))
    return tuple(Remark(*MANY_SOLUTIONS, value) for value, near in enumerate(nearest) if near in found)
