"""Raw X and y -> `Problem`: checked arrays, original containers, names of columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import is_classifier
from sklearn.utils import get_tags

from .checks import MOST_SIZE, check_estimator, check_range_of
from .containers import MOST_NAMED, as_container, as_numbers, column_names, is_table, to_float
from .copies import class_copy_of, copies_of
from .equalrows import equal_rows
from .errors import DataError
from .frames import as_array, in_double, in_few_blocks, is_frame
from .metrics.losses import Classes
from .rowvalues import check_groups, check_labels, check_order, check_weights, check_y
from .sources import MemorySource, Source
from .typing import AnyArray, ArrayLike, Data, Estimator, FloatArray, IntArray, Shaped

__all__ = ["Problem", "check_columns", "check_problem", "numeric_matrix"]


KNOWN = ("source", "equal_rows", "copies", "_matrix")
"""What has been found of a problem that has nothing to do with the folds."""


@dataclass(frozen=True)
class Problem:
    """Checked data: what the routes compute with.

    ``X`` keeps its container (array, frame, sparse matrix), because an estimator that is refitted may need its column
    names; `numeric_matrix` turns it into the float64 array of the fast routes. A vector of objects, such as texts, is
    as it was given. ``groups`` are numbered in sorted order. For classifiers ``labels`` are the classes as given and
    ``y`` their codes of -1 and 1. ``scored_share`` (n,) is in how many repeats a row is scored, if it is not in all
    of them.
    """

    X: Any
    y: FloatArray
    output_names: tuple[str, ...] | None
    feature_names: tuple[str, ...] | None
    weights: FloatArray | None = None
    groups: IntArray | None = None
    labels: Any = None
    classes: Any = None
    scored_share: FloatArray | None = None

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.y.shape[0])

    @property
    def n_outputs(self) -> int:
        """Number of columns of y."""
        return int(self.y.shape[1])

    @property
    def mean_weight(self) -> float:
        """Mean of the weights over all rows that are scored, of all repeats; one if there are no weights."""
        return 1.0 if self.weights is None else float(np.average(self.weights, weights=self.scored_share))

    @cached_property
    def relative_weights(self) -> FloatArray | None:
        """By how much the loss of each row counts, (n,): its weight over the mean weight."""
        return None if self.weights is None else self.weights / self.mean_weight

    def scored_by(self, ids: IntArray) -> Problem:
        """The same with weights relative to the rows that partitions score, (repeats, n) with -1 for others."""
        scored = ids >= 0
        if self.weights is None or scored.all():
            return self
        share = scored.sum(axis=0).astype(np.float64)
        if not (self.weights @ share) > 0:
            raise DataError("All rows that are scored have a sample_weight of zero; there is no error to be seen.")
        other = replace(self, scored_share=share)
        other.__dict__.update({name: self.__dict__[name] for name in KNOWN if name in self.__dict__})
        return other

    @property
    def target(self) -> AnyArray:
        """Y as it was given, for estimators that are refitted."""
        if self.labels is not None:
            return np.asarray(self.labels)
        return self.y[:, 0] if self.output_names is None else self.y

    @cached_property
    def source(self) -> Source:
        """The rows of X, so that some of them come fast."""
        return MemorySource(in_few_blocks(self.X))

    @cached_property
    def equal_rows(self) -> IntArray | None:
        """For each row the first one that is the same in all columns, (n,); None if that is not known."""
        return equal_rows(self.X)

    @cached_property
    def copies(self) -> IntArray:
        """For each output the first column of X that is its straight line, (Q,); -1 if none is."""
        return copies_of(self.X, self.y, self.weights)

    @cached_property
    def class_copy(self) -> int:
        """The first column of X that is the class in other words; -1 if none is."""
        return class_copy_of(self.X, np.searchsorted(self.classes, self.labels), self.weights)

    @cached_property
    def _matrix(self) -> FloatArray:
        if not is_table(self.X):
            raise DataError(
                f"X is a vector of {type(next(iter(self.X))).__name__}, and columns of numbers are needed; let the "
                "first step of a pipeline make them, such as TfidfVectorizer for texts or DictVectorizer for dicts."
            )
        array = np.ascontiguousarray(to_float(self.X, "X", self.feature_names))
        _refuse_missing(array, self.feature_names)
        largest = np.maximum(array.max(axis=0, initial=0.0), -array.min(axis=0, initial=0.0))
        check_columns(largest, self.feature_names)
        return array


def check_problem(
    estimators: Sequence[Estimator],
    X: Data,
    y: ArrayLike | Shaped | None,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
) -> Problem:
    """Check the data once for all estimators, which must be regressors, or all classifiers; keep names of columns."""
    for estimator in estimators:
        check_estimator(estimator)
    if len({is_classifier(estimator) for estimator in estimators}) > 1:
        raise DataError("Some estimators are classifiers and some are not; their losses cannot be compared.")
    check_order(X=X, y=y, groups=groups, sample_weight=sample_weight)
    X = as_container(X)
    n = MemorySource(X).n_rows
    labels = classes = output_names = None
    if is_classifier(estimators[0]):
        labels, classes, codes = check_labels(y)
        y_array = Classes(classes).encode(codes)
    else:
        y_array, output_names = check_y(y)
    if n != y_array.shape[0]:
        raise DataError(
            f"X has {n} rows and y has {y_array.shape[0]}: they must describe the same observations, row by row."
        )
    if n < 3:
        raise DataError(f"There are only {n} rows; nested cross-validation needs at least 3 (three folds of one row).")
    feature_names = None
    if is_table(X):
        feature_names = column_names(X)
        _check_finite(X, feature_names, may_be_missing=all(map(_judges_itself, estimators)))
        X = _in_double(X)
    weights, group_ids = check_weights(sample_weight, n), check_groups(groups, n)
    return Problem(X, y_array, output_names, feature_names, weights, group_ids, labels, classes)


def numeric_matrix(problem: Problem) -> FloatArray:
    """X as a finite float64 array, for the routes that compute from the design itself; made once for all models."""
    return problem._matrix


def check_columns(largest: FloatArray, names: Sequence[str] | None) -> None:
    """Refuse columns, of these largest absolute values, whose powers leave the range of double precision."""
    for at in map(int, np.flatnonzero(largest > MOST_SIZE)):
        check_range_of(f"Column {at if names is None else names[at]} of X", largest[at])


def _check_finite(X: Any, names: tuple[str, ...] | None, may_be_missing: bool) -> None:
    """Refuse NaN and infinities, unless they are for the estimators to judge."""
    if sparse.issparse(X):
        if not np.isfinite(X.data).all():
            raise DataError("X holds NaN or infinite values; drop or impute them first.")
        return
    array = as_array(X)
    if array.dtype.kind == "O":
        numbers = as_numbers(array, "X")
        if numbers is None:
            return  # text: only an estimator that encodes it can say whether it is in order
        array = numbers
    if array.dtype.kind == "f" and not may_be_missing:
        _refuse_missing(array, names)


def _refuse_missing(array: FloatArray, names: tuple[str, ...] | None) -> None:
    if all(np.isfinite(block).all() for block in MemorySource(array).blocks()):
        return
    counts = (~np.isfinite(array)).sum(axis=0)
    holed = [int(column) for column in np.flatnonzero(counts)]
    first, *others = [f"column {names[each] if names else each!r}" for each in holed[:MOST_NAMED]]
    more = [f"{counts[each]} in {name}" for each, name in zip(holed[1:], others, strict=False)]
    more += [f"some in {len(holed) - MOST_NAMED} more"] if len(holed) > MOST_NAMED else []
    raise DataError(
        f"X holds NaN or infinite values, {', '.join([f'{counts[holed[0]]} of them in {first}', *more])}. Drop these "
        "rows, or impute inside a pipeline (the imputer is then fitted anew in every training set)."
    )


def _judges_itself(estimator: Any) -> bool:
    """Whether missing values are the estimator's own affair: it takes them, or has parts that may impute them."""
    try:
        allows = bool(get_tags(estimator).input_tags.allow_nan)
        parts = estimator.get_params(deep=False).values()
    except (AttributeError, TypeError):
        return True  # not a scikit-learn estimator
    return allows or any(hasattr(part, "fit") or isinstance(part, list) for part in parts)


def _in_double(X: Any) -> Any:
    """Single precision to double, so that refits compute in the same precision as the fast routes."""
    if isinstance(X, np.ndarray) or sparse.issparse(X):
        return X.astype(np.float64) if X.dtype.kind == "f" and X.dtype != np.float64 else X
    return in_double(X) if is_frame(X) else X
