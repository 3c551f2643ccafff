"""Folds as users give them: tables of ids, splitters of scikit-learn, pairs of training and test rows."""

from __future__ import annotations

import reprlib
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from sklearn.model_selection import PredefinedSplit

from .errors import COMING_FROM, FoldError
from .folds import ExplicitFolds
from .typing import AnyArray, ArrayLike, Data, IntArray, Splitter

__all__ = ["GivenSplits", "as_folds", "explicit_folds", "is_single"]


def is_single(value: ArrayLike) -> bool:
    """Whether it is no list or array; what is made of unequal lists is no table, but a list."""
    try:
        return bool(np.ndim(value) == 0)
    except ValueError:
        return False


@dataclass(frozen=True)
class GivenSplits:
    """Pairs of training and test rows, as a splitter."""

    splits: tuple[tuple[IntArray, IntArray], ...]

    def split(self, X: Any, y: Any, groups: Any, /) -> Iterator[tuple[IntArray, IntArray]]:
        """The pairs that were given."""
        return iter(self.splits)


def as_folds(cv: object) -> Splitter:
    """A splitter of scikit-learn as it is, or one of the pairs of training and test rows that were given."""
    if isinstance(cv, type) and hasattr(cv, "split"):
        raise FoldError(f"cv={cv.__name__} is a class; give one of its kind, as cv={cv.__name__}().")
    if hasattr(cv, "split") and not isinstance(cv, str | bytes):
        return cast(Splitter, cv)
    wrong = FoldError(
        f"cv={reprlib.repr(cv)} is none of: a number of folds, a splitter of scikit-learn, or a list of (training "
        "rows, test rows). Ids of folds are given by folds=."
    )
    if not isinstance(cv, Iterable) or isinstance(cv, str | bytes):
        raise wrong
    try:
        pairs = [(np.asarray(train), np.asarray(test)) for train, test in cv]
    except (TypeError, ValueError):
        raise wrong from None
    if not pairs or any(rows.dtype.kind not in "iu" or rows.ndim != 1 for pair in pairs for rows in pair):
        raise wrong
    return GivenSplits(tuple((train.astype(np.intp), test.astype(np.intp)) for train, test in pairs))


def explicit_folds(
    folds: ArrayLike | Splitter,
    n: int,
    X: Data | None = None,
    y: AnyArray | None = None,
    groups: IntArray | None = None,
    name: str = "folds",
) -> ExplicitFolds:
    """Fold ids from an array (repeats, n), a vector (n,), or a scikit-learn splitter."""
    if hasattr(folds, "split"):
        ids = _ids_of_splitter(cast(Splitter, folds), n, X, y, groups)
    else:
        ids = _ids_of_array(folds, n, name)
    n_folds = int(ids.max()) + 1
    if n_folds < 3:
        raise FoldError(f"{name} has {n_folds} fold(s); nested cross-validation removes two and needs at least 3.")
    explicit = ExplicitFolds(ids, n_folds)
    if not explicit.sizes.all():
        repeat, missing = np.argwhere(explicit.sizes == 0)[0]
        raise FoldError(
            f"{name} has no row with id {missing} in repeat {repeat}; every repeat must use all ids 0 to {n_folds - 1}."
        )
    if groups is None:
        return explicit
    for repeat, row in enumerate(ids):
        if not np.array_equal(row, _first_of_group(row, groups)):
            group = groups[np.flatnonzero(row != _first_of_group(row, groups))[0]]
            raise FoldError(
                f"{name} splits group number {group} (in sorted order) in repeat {repeat}: rows of a group must share "
                "a fold, or the held-out error is too good."
            )
    return explicit


def _first_of_group(ids: IntArray, groups: IntArray) -> IntArray:
    """For each row the fold of its group's first row."""
    first = np.unique(groups, return_index=True)[1]
    return ids[first][groups]


def _ids_of_array(folds: ArrayLike, n: int, name: str) -> IntArray:
    try:
        array = np.asarray(folds)
    except ValueError as error:
        raise FoldError(
            f"{name} is not a table of fold ids ({error}); give an array (n_repeats, {n}), not training and test rows."
        ) from error
    if array.ndim == 0 and array.dtype.kind in "iu" and name == "folds":
        raise FoldError(
            f"folds={array} is a number, and folds= takes the folds themselves; give n_folds={array} or cv={array}. "
            f"{COMING_FROM}"
        )
    if array.ndim == 1:
        array = array[None, :]
    if array.ndim != 2 or array.shape[0] == 0 or array.shape[1] != n:
        raise FoldError(f"{name} has shape {array.shape}; it must be an array (n_repeats, {n}) of fold ids.")
    if array.dtype.kind not in "iu":
        with np.errstate(invalid="ignore"):
            whole = array.astype(np.intp) if array.dtype.kind in "fb" else None
        if whole is None or array.dtype.kind == "b" or not np.array_equal(whole, array):
            raise FoldError(f"{name} must hold integers: ids 0 to K-1, and -1 for rows that are never scored.")
        array = whole
    ids = array.astype(np.intp)
    if ids.min() < -1:
        raise FoldError(f"{name} holds the id {ids.min()}; ids run from 0 to K-1, -1 marks rows never scored.")
    if ids.max() < 0:
        raise FoldError(f"{name} scores no row at all: every id is -1.")
    if ids.max() >= n:
        raise FoldError(f"{name} holds the id {ids.max()}, and there are {n} rows; ids run from 0 to K-1.")
    return ids


def _ids_of_splitter(
    splitter: Splitter, n: int, X: Data | None, y: AnyArray | None, groups: IntArray | None
) -> IntArray:
    """Chain a splitter's test sets into partitions; each must be complete before the next begins."""
    repeats: list[IntArray] = []
    current = np.full(n, -1, dtype=np.intp)
    fold = 0
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*groups parameter is ignored")  # we check them ourselves
            splits = [(np.asarray(train), np.asarray(test)) for train, test in splitter.split(X, y, groups)]
    except Exception as error:
        raise FoldError(f"{type(splitter).__name__} cannot split these rows: {error}") from error
    for train, test in splits:
        if test.min(initial=0) < 0 or max(test.max(initial=0), train.max(initial=0)) >= n:
            raise FoldError(f"{type(splitter).__name__} names rows beyond the {n} that there are.")
        if (current[test] >= 0).any():
            raise FoldError(
                f"The test sets of {type(splitter).__name__} overlap before they cover every row; nested "
                "cross-validation needs partitions (KFold, RepeatedKFold)."
            )
        if len(train) + len(test) != n or np.isin(test, train).any():
            raise FoldError(
                f"A training set of {type(splitter).__name__} is not all rows outside its test set; nested "
                "cross-validation needs partitions (KFold, RepeatedKFold)."
            )
        current[test] = fold
        fold += 1
        if (current >= 0).all():
            repeats.append(current)
            current = np.full(n, -1, dtype=np.intp)
            fold = 0
    if fold and not repeats and isinstance(splitter, PredefinedSplit | GivenSplits):
        return current[None]  # rows that are in no test set are meant to be trained on always
    if fold or not repeats:
        raise FoldError(
            f"The test sets of {type(splitter).__name__} do not cover every row; nested cross-validation needs "
            "partitions (KFold, RepeatedKFold)."
        )
    if len({int(r.max()) for r in repeats}) > 1:
        raise FoldError(f"{type(splitter).__name__} gives repeats with different numbers of folds.")
    return np.stack(repeats)
