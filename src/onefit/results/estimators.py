"""The models of the training sets, fitted when they are asked for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, overload

import numpy as np
from sklearn.base import clone

from ..errors import DataError
from ..folds import Folds, FoldSource
from ..learners import Task
from ..learners.adapt import frozen
from ..learners.refitted import fit_parameters
from ..routes.fitting import rows_of
from ..running.job import Job
from ..running.streaming import TableRoute
from ..typing import Estimator, IntArray

__all__ = ["FoldEstimators", "estimators_of"]


@dataclass(frozen=True, eq=False, repr=False)
class FoldEstimators(Sequence[Any]):
    """The model without each fold of each repeat, in the order of the folds, repeat after repeat.

    A model is fitted when it is asked for, and not kept: there are as many as repeats times folds, and together they
    could take more memory than the data. It is the one whose predictions ``result.heldout`` averages, whichever route
    computed these.

    Attributes
    ----------
    n_repeats, n_folds : int

    Examples
    --------
    >>> import onefit
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import Ridge
    >>> X, y = load_diabetes(return_X_y=True)
    >>> result = onefit.nested_cv(Ridge(0.1), X, y, n_folds=5, n_repeats=2, random_state=0, return_estimators=True)
    >>> len(result.estimators), result.estimators[0].coef_.shape, len(result.estimators.test_rows(0))
    (10, (10,), 89)
    """

    estimator: Estimator
    task: Task
    source: FoldSource
    n_repeats: int

    @property
    def n_folds(self) -> int:
        """Folds of a repeat."""
        return self.source.n_folds

    def __len__(self) -> int:
        return self.n_repeats * self.n_folds

    def __repr__(self) -> str:
        return f"<{len(self)} models, {self.n_repeats} times {self.n_folds} folds, fitted when they are asked for>"

    @overload
    def __getitem__(self, place: int) -> Any: ...

    @overload
    def __getitem__(self, place: slice) -> list[Any]: ...

    def __getitem__(self, place: int | slice) -> Any:
        if isinstance(place, slice):
            return [self[at] for at in range(*place.indices(len(self)))]
        folds, repeat, fold = self._at(place)
        return self._fitted(folds.training_rows(repeat, fold))

    def __iter__(self) -> Iterator[Any]:
        return (self[place] for place in range(len(self)))

    def training_rows(self, place: int) -> IntArray:
        """Rows that a model is fitted to."""
        folds, repeat, fold = self._at(place)
        return folds.training_rows(repeat, fold)

    def test_rows(self, place: int) -> IntArray:
        """Rows of the fold that it predicts."""
        folds, repeat, fold = self._at(place)
        return np.flatnonzero(folds.ids[repeat] == fold)

    def of_repeats(self, n_repeats: int) -> FoldEstimators:
        """Those of so many repeats."""
        return replace(self, n_repeats=n_repeats)

    def _at(self, place: int) -> tuple[Folds, int, int]:
        """The repeat of a place as a block of its own, and the fold."""
        if not -len(self) <= place < len(self):
            raise IndexError(f"there are {len(self)} models")
        repeat, fold = divmod(place % len(self), self.n_folds)
        return self.source.block(repeat, repeat + 1), 0, fold

    def _fitted(self, rows: IntArray) -> Any:
        problem = self.task.problem
        given = fit_parameters(self.estimator, problem.weights, problem.groups)
        extra = {name: values[rows] for name, values in given.items()}
        X = rows_of(self.estimator, self.task.source, rows, rows)
        return clone(self.estimator, safe=False).fit(X, problem.target[rows], **extra)


def estimators_of(job: Job, estimator: Estimator) -> FoldEstimators:
    """The models of a job, of one repeat until it is known how many there are."""
    if job.task.transformers == "freeze":
        raise DataError(
            'return_estimators=True fits what comes before the model in every training set, and transformers="freeze" '
            "does not; leave one of them out."
        )
    if isinstance(job.route, TableRoute):
        raise DataError(
            "return_estimators=True needs rows in memory, and these stay where they are; leave it out, or take some of "
            "them: table.sample(n, random_state)."
        )
    return FoldEstimators(frozen(estimator, job.task)[0], job.task, job.partitions.source, 1)
