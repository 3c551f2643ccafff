"""What a route is: it says what a job would cost it, and begins it; nothing else of it is known to anybody.

A route is asked for an `Offer` with the learners, the task and the plan of folds, and answers with seconds and a
reason, or with a `Refusal`. The cheapest offer wins (see `choice`). What was begun is a `Computation`, whose `Outcome`
holds the tables of fold errors, and, as data, which parameter values could not be fitted.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple, Protocol, TypeAlias

import numpy as np
from joblib import effective_n_jobs

from ..errors import OneFitError
from ..folds import Folds, FoldSource
from ..inference.chain import Chain, ascending
from ..inference.fold_errors import FoldErrors, HeldOut, PairErrors, SingleErrors
from ..inference.montecarlo import FAST, Stopping
from ..inference.rowtotals import RowTotals
from ..learners import Learner, Refusal, Task
from ..typing import FloatArray
from ..validation import Problem
from ..vocabulary import MAX_FITS
from .checkpoint import Checkpoint
from .responses import Responses, of_scores

__all__ = [
    "CannotStream",
    "Computation",
    "Engine",
    "FoldPlan",
    "Offer",
    "Outcome",
    "Partitions",
    "Route",
    "Run",
    "Ticks",
    "Units",
    "Workers",
    "ignore",
]

LIKELY_REPEATS = 5
"""What "auto" is taken for before it is known."""


@dataclass(frozen=True)
class Offer:
    """What a route would take: seconds on the machine that it was calibrated on, infinite if it cannot tell.

    ``reason`` says why the route serves, and ``systems`` what it solves, for people. ``settle`` is for what takes time
    to find out and only matters if the offer is the cheapest: it makes the learner that is computed, or says why there
    is none. If that is another one than was asked about, routes are asked again. ``handicap`` is the factor by which it
    must be faster than others. ``leave`` says why another route should serve, if there is one, though this one could.
    """

    seconds: float
    reason: str
    systems: str = ""
    settle: Callable[[], Learner | Refusal] | None = None
    handicap: float = 1.0
    leave: Callable[[], Refusal | None] | None = None


@dataclass(frozen=True)
class FoldPlan:
    """The folds that a route is asked about.

    Attributes
    ----------
    n_folds : int
    n_repeats : int or None
        None is "auto".
    units : int
        Rows, or groups: what cannot be split between folds.
    largest_fold, smallest_training_set : int
        Rows of the largest fold, and with the two largest folds out.
    is_single_rows : bool
        Whether every row is a fold of its own, in the one partition that there is.
    is_trial : bool
        Whether "auto" asks if a fold a unit would be fast enough to be the default.
    is_default : bool
        Whether "auto" has settled for fewer folds than units.
    given : Folds or None
        The first repeat of folds that are given; None if they are drawn.
    """

    n_folds: int
    n_repeats: int | None
    units: int
    largest_fold: int
    smallest_training_set: int
    is_single_rows: bool = False
    is_trial: bool = False
    is_default: bool = False
    given: Folds | None = field(default=None, compare=False, repr=False)

    @property
    def likely_repeats(self) -> int:
        """How many repeats to reckon with."""
        return self.n_repeats or LIKELY_REPEATS

    @property
    def n_sets(self) -> int:
        """Training sets of a repeat, without each fold and each two: what refits would fit."""
        return self.n_folds * (self.n_folds + 1) // 2

    @classmethod
    def trial(cls, problem: Problem) -> FoldPlan:
        """A fold for every row or group, if that is fast."""
        counts = np.ones(problem.n, dtype=np.intp) if problem.groups is None else np.bincount(problem.groups)
        two = int(np.sort(counts)[-2:].sum())
        single = problem.groups is None
        return cls(len(counts), 1, len(counts), int(counts.max()), problem.n - two, single, is_trial=True)


@dataclass(frozen=True)
class Partitions:
    """Where the folds come from; ``n_repeats`` None is "auto". ``bias`` are further ones for the bias correction.

    ``checkpoint`` is where refits keep the repeats that are complete.
    """

    source: FoldSource
    n_repeats: int | None
    bias: tuple[FoldSource, int] | None = None
    max_fits: int = MAX_FITS
    checkpoint: Checkpoint | None = None

    def stopping(self, is_refitted: bool) -> Stopping:
        """When "auto" stops, if a model is refitted or none is."""
        return Stopping.of_refits(self.source.n_folds, self.max_fits) if is_refitted else FAST


@dataclass(frozen=True)
class Workers:
    """Jobs as joblib counts them."""

    n_jobs: int | None = None

    @property
    def n_threads(self) -> int:
        """Threads of the fast routes."""
        return int(effective_n_jobs(1 if self.n_jobs is None else self.n_jobs))


@dataclass(frozen=True)
class Units:
    """What a job counts.

    Attributes
    ----------
    total : int
    name : str
        In the plural.
    each : int
        How many make one of that name.
    is_most : bool
        Whether fewer may do.
    at_once : int
        How many are under way at a time.
    planned : float
        Seconds that one of that name will take by the plan; zero if that is not known.
    """

    total: int
    name: str = "steps"
    each: int = 1
    is_most: bool = False
    at_once: int = 1
    planned: float = 0.0


class Ticks(Protocol):
    """Counts what is done."""

    def advance(self, units: int) -> None:
        """Count so many more; may raise to end a thread that nobody waits for any more."""

    def stop(self) -> None:
        """Let threads that still count end."""


class Remark(NamedTuple):
    """A sentence on how something was computed, what to do, and the value that it is about; None if all are."""

    message: str
    remedy: str = ""
    value: int | None = None


@dataclass(frozen=True)
class Outcome:
    """What was computed.

    Attributes
    ----------
    errors : FoldErrors
    totals : RowTotals
    bias_cv : (V, R) or None
        Mean cross-validation error over the partitions of the bias correction.
    failures : mapping of int to OneFitError
        By place on the axis of values, why one could not be fitted; its columns in the tables mean nothing.
    notes : tuple of str
        What happened on the way.
    remarks : tuple of Remark
        How it was computed, where that is worth a sentence.
    """

    errors: FoldErrors
    totals: RowTotals
    bias_cv: FloatArray | None = None
    failures: Mapping[int, OneFitError] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    remarks: tuple[Remark, ...] = ()


class Computation(Protocol):
    """A job that can run: decompositions are made."""

    @property
    def units(self) -> Units:
        """What it counts."""

    def run(self) -> Outcome:
        """Compute."""


class Route(ABC):
    """A way to the fold errors."""

    name: ClassVar[str]
    """What ``result.route`` says."""

    serves_together: ClassVar[bool] = False
    """Whether it takes all models of a comparison in one pass, and only so."""

    @abstractmethod
    def offer(self, learners: Sequence[Learner], task: Task, plan: FoldPlan) -> Offer | Refusal:
        """What it would cost, or why it cannot serve."""

    @abstractmethod
    def begin(
        self, learners: Sequence[Learner], task: Task, partitions: Partitions, workers: Workers, ticks: Ticks
    ) -> Computation:
        """Make what does not depend on the folds."""

    def leave_one_out(self, learner: Learner, task: Task) -> FloatArray | Refusal:
        """Mean of the weighted squared residuals of each row without itself, (V, Q), as a score of all rows."""
        return Refusal("this route does not leave single rows out by itself")


class CannotStream(Exception):
    """Passes over blocks of rows would not do: too few rows, or too few digits."""


Run: TypeAlias = Callable[..., Iterable[Any]]
"""A map, by threads or not."""


def ignore(units: int) -> None:
    """Count nothing."""


class Engine(ABC):
    """Held-out losses of one learner for a block of partitions.

    Arrays carry an axis of parameter values V and one of outputs.

    Attributes
    ----------
    n_values : int
    units : str
        Name of what is counted, in the plural.
    tick : function
        Counts units as they are done.
    counts_sets : bool
        Whether it is training sets that are counted: for a single repeat, if the engine goes through them.
    is_refitted : bool
        Whether it fits estimators: in workers of its own, and so slowly that complete repeats are kept when the user
        stops it.
    can_stream : bool
        Whether it has not yet found that it cannot go over the rows in blocks.
    """

    n_values: int
    tick: Callable[[int], None]
    counts_sets = False
    can_stream = False
    goes_through_sets: ClassVar[bool] = False
    is_refitted: ClassVar[bool] = False

    @property
    @abstractmethod
    def units(self) -> str:
        """Name of what is counted, in the plural."""

    @abstractmethod
    def n_units(self, n_folds: int, n_repeats: int, with_pairs: bool) -> int:
        """How many there are in so many repeats."""

    @abstractmethod
    def singles(self, folds: Folds) -> HeldOut:
        """Each row's residual and loss with its own fold out: K training sets a repeat."""

    @abstractmethod
    def pairs(self, folds: Folds) -> PairErrors[HeldOut]:
        """The same, and the losses of each fold with it and another out: K(K+1)/2 training sets a repeat."""

    def responses(self, folds: Folds, learner: Learner, task: Task) -> Responses:
        """What the learner would say to every fold with it, and with it and another, out: for metrics of that."""
        return of_scores(self.pairs(folds), folds, learner, task)

    def streams(self, n_folds: int) -> bool:
        """Whether it goes over the rows in blocks, for many repeats at once."""
        return False

    def repeats_at_once(self, n_folds: int) -> int:
        """If it streams, how many repeats share a pass over the rows."""
        return 1

    def stream(self, folds: Folds, run: Run) -> PairErrors[SingleErrors]:
        """The same as `pairs` if it streams: in passes over the rows in blocks, without tables of all of them."""
        raise CannotStream

    def stream_singles(self, folds: Folds, run: Run) -> SingleErrors:
        """The same as `singles`."""
        raise CannotStream

    def make_chain(self, errors: FloatArray) -> Chain:
        """How the values are paired with each other, given their errors."""
        return ascending(errors)

    def remarks(self, first: Folds) -> tuple[Remark, ...]:
        """Sentences on how it has computed so far, for people; ``first`` is the first repeat."""
        return ()

    def at_work(self) -> AbstractContextManager[None]:
        """While it computes: what is kept from one call to the next."""
        return nullcontext()

    def look_ahead(self, source: FoldSource, start: int, goal: int) -> None:  # noqa: B027  (most need not know)
        """Hear which repeats it will be asked for, one by one."""
