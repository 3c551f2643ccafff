"""What a route may know of a model, and how a model says it.

A `Learner` is a model as a route sees it, on one axis of parameter values. Its kinds let a route do different things:

- `Smoother`, linear in y: the gram, one-step and leave-two-out routes take rows out of one decomposition;
- `TunedLearner`, a smoother whose penalty is chosen anew in every training set;
- `StatisticsLearner`, whatever is learned from the statistics of a training set without its rows;
- `EncodedLearner`, a linear fit to what steps learn from the statistics of a training set;
- `GLMLearner`, a generalized linear model: the newton route iterates all training sets at once;
- `SearchedLearner`, a search among such fits by splits of each training set;
- `RefitLearner`, an estimator that is fitted again and again.

An estimator of another package joins by one method, ``__onefit_learner__(task, path)``, which returns a learner, or a
`Refusal` that says why refits are all there is.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import Protocol, Self, TypeGuard

import numpy as np

from ..checks import check_penalty_value
from ..errors import DataError
from ..inference.intervals import Rule
from ..metrics import Loss, Metric
from ..sources import Source
from ..typing import Estimator, FloatArray
from ..validation import Problem
from ..vocabulary import EXACT, FROZEN, Transformers

__all__ = ["Learner", "Path", "Refusal", "Scores", "Task", "joins"]


RANKING = frozenset({"rank", "pooled"})
"""Families of metrics that may depend on ties."""


@dataclass(frozen=True)
class Task:
    """What is to be computed.

    Attributes
    ----------
    problem : Problem
        The checked data.
    loss : Loss
    rule : Rule
        The interval rule that was asked for, which says when repeats suffice.
    transformers : {"refit", "freeze"}
        Whether what precedes a fit is learned anew in every training set, or once from all rows.
    needs : frozenset of str
        What the caller cannot do without: "fold variance" (losses within folds of several rows), "pair scatter" (the
        spread of the losses with each pair of folds out), "bias folds" (further partitions), "refits" (the answer is to
        be a `RefitLearner`).
    metrics : tuple of Metric
        What is computed from tables of held-out scores, if it is not the mean of the losses; `loss` then keeps them.
    """

    problem: Problem
    loss: Loss
    rule: Rule
    transformers: Transformers = "refit"
    needs: frozenset[str] = frozenset()
    metrics: tuple[Metric, ...] = ()

    @property
    def source(self) -> Source:
        """Where the rows of X are read."""
        return self.problem.source

    @property
    def responses(self) -> frozenset[str]:
        """Kinds of response that the metrics need."""
        return frozenset(metric.response for metric in self.metrics)

    @property
    def ranked(self) -> frozenset[str]:
        """Those of scores and probabilities whose order, and ties, may count."""
        scores = self.responses & {"scores", "decision_function"}
        chances = {each.response for each in self.metrics if each.family in RANKING and not each.is_extra}
        return scores | (chances & {"predict_proba"})


@dataclass(frozen=True)
class Path:
    """A parameter and the values that it takes on."""

    name: str
    values: tuple[object, ...]

    def penalties(self) -> FloatArray:
        """The values as penalties, (V, 1)."""
        if any(isinstance(value, str) for value in self.values):
            raise DataError(
                f"{self.name} is to be {', '.join(map(repr, self.values))}, and names make no curve of penalties; give "
                "numbers, or set models with different criteria against each other by compare({...})."
            )
        return np.array([[check_penalty_value(self.name, value)] for value in self.values])


@dataclass(frozen=True)
class Refusal:
    """Why something cannot be done, in words that follow "because"; and what would help, if that is known to work."""

    reason: str
    remedy: str = ""

    def __str__(self) -> str:
        return f"{self.reason}; {self.remedy}" if self.remedy else self.reason


@dataclass(frozen=True)
class Scores:
    """Criteria of a model on all rows, to be minimized.

    Attributes
    ----------
    tables : mapping of (V, Q)
        By name: "gcv", "loo", "reml", as far as there are any.
    edf : (V, Q) or None
        Effective degrees of freedom.
    reasons : mapping of str
        By name, why a criterion is not there. One that is in neither mapping may be computed by whoever can.
    """

    tables: Mapping[str, FloatArray]
    edf: FloatArray | None = None
    reasons: Mapping[str, str] = field(default_factory=dict)


class Learner(ABC):
    """A model as a route sees it, at V values of a parameter.

    Attributes
    ----------
    hint : str
        What may be wrong if a training set does not determine the fit.
    responses : frozenset of str
        Methods of a classifier whose answers `respond` can give.
    """

    hint: str = ""
    responses: frozenset[str] = frozenset({"predict", "decision_function"})
    _exactness: str = EXACT
    _task_of_fit: Callable[[Task], Task] | None = None
    _caution: Callable[[], tuple[str, str]] | None = None

    @property
    def exactness(self) -> str:
        """Whether it is what refits of the estimator give, or something before the fit is taken from all rows."""
        return self._exactness

    def with_caution(self, caution: Callable[[], tuple[str, str]]) -> Self:
        """The same learner, which can say where refits by scikit-learn differ from it by design."""
        other = copy(self)
        other._caution = caution
        return other

    def caution(self) -> tuple[str, str]:
        """Where refits differ from what it fits, and what to do; both empty if they do not."""
        return ("", "") if self._caution is None else self._caution()

    @property
    @abstractmethod
    def n_values(self) -> int:
        """Number of parameter values V."""

    @abstractmethod
    def at(self, values: Sequence[int]) -> Self:
        """The same learner at some of its values, given by their places."""

    @property
    def n_unpenalized(self) -> int:
        """Columns that no penalty holds, at the value where they are most, of models that are refitted or iterated."""
        return 0

    def check_fits(self, smallest_training_set: int) -> dict[int, str]:
        """Say which values no training set of this size can determine, and why; raise if it is all of them."""
        return {}

    def fault(self, n: int) -> str:
        """What is wrong with a learner that somebody made for n rows; empty if nothing is."""
        return ""

    def scores(self, task: Task) -> Scores | Refusal:
        """Criteria of the fit on all rows."""
        return Refusal("they are known of linear smoothers only")

    def respond(self, kind: str, scores: FloatArray) -> FloatArray:
        """What a classifier's method of this name gives, from held-out scores (..., Q) as the routes compute them.

        Those of a linear classifier are its decisions. Probabilities have a column a class, (..., C).
        """
        if kind != "decision_function":
            raise NotImplementedError(kind)
        return scores

    def with_target(self, task_of_fit: Callable[[Task], Task]) -> Self:
        """The same learner, made for the task that a function makes of one: with another target and loss."""
        other = copy(self)
        other._task_of_fit = task_of_fit
        return other

    @property
    def has_own_target(self) -> bool:
        """Whether it is fitted to something else than y."""
        return self._task_of_fit is not None

    def own_task(self, task: Task) -> Task:
        """The task that it was made for."""
        return task if self._task_of_fit is None else self._task_of_fit(task)

    def given_transformers(self) -> Self:
        """The same learner, marked as one whose transformers were fitted on all rows."""
        marked = copy(self)
        marked._exactness = FROZEN
        return marked


class Joins(Estimator, Protocol):
    """An estimator that says itself how routes can see it."""

    def __onefit_learner__(self, task: Task, path: Path | None = None) -> Learner | Refusal:
        """A learner at the values of ``path``, or of the estimator as it is; or why there is none."""


def joins(estimator: object) -> TypeGuard[Joins]:
    """Whether the estimator's own class says how routes can see it.

    What a class inherits does not count: a subclass may fit or predict otherwise, and nobody would notice.
    """
    return "__onefit_learner__" in vars(type(estimator))
