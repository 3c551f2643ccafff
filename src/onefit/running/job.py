"""A job: checked data, partitions, the routes of its models; it runs, and says what it will take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ..errors import OneFitError, TrainingSetError
from ..inference.fold_errors import RowRoles
from ..inference.intervals import Rule
from ..inference.montecarlo import Stopping
from ..learners import Learner, RefitLearner, Task
from ..metrics import Asked, Loss
from ..routes import Bid, Computation, Outcome, Partitions, Route, Workers
from ..routes.contract import LIKELY_REPEATS
from ..routes.streams.compute import ROUNDS
from ..validation import Problem
from .dependent import Dependent
from .lostcolumns import explain_lost_columns
from .progress import LONG, Progress, about_text
from .settings import Settings

__all__ = ["Job", "with_hints"]


@dataclass(frozen=True)
class Job:
    """Checked data, partitions and the route, with the reason for it.

    Attributes
    ----------
    task : Task
    confidence_level : float
    partitions : Partitions
    route : Route
    workers : Workers
    bids : tuple of Bid
        The learner of each contender, its route and the reason for that.
    values : tuple of int
        Places of the values that are computed among those that were asked for.
    asked : tuple of Asked
        The figures that were asked for; the answer speaks of the first.
    failures : mapping of int to str
        Why others cannot be, by their places.
    has_default_folds : bool
        Whether ``n_folds="auto"`` settled for fewer than there are rows or groups.
    progress : Progress
    settings : Settings
        As they were given.
    entropy : int
        The seed of the partitions.
    dependent : Dependent or None
        How the folds came about, if they are for rows that follow one another.
    names : tuple of str
        Of the models, if there are several; by the places of their values.
    is_streamed : bool
        Whether the rows stay where they are: the problem then holds some of them.
    """

    task: Task
    asked: tuple[Asked, ...]
    confidence_level: float
    partitions: Partitions
    route: Route
    workers: Workers
    bids: tuple[Bid, ...]
    values: tuple[int, ...]
    failures: Mapping[int, str]
    has_default_folds: bool
    progress: Progress
    settings: Settings
    entropy: int
    dependent: Dependent | None = None
    names: tuple[str, ...] = ()
    is_streamed: bool = False

    @cached_property
    def computation(self) -> Computation:
        """What runs; decompositions are made when it is first asked for."""
        learners = [bid.learner for bid in self.bids]
        return self.route.begin(learners, self.task, self.partitions, self.workers, self.progress)

    @property
    def problem(self) -> Problem:
        """The checked data."""
        return self.task.problem

    @property
    def loss(self) -> Loss:
        """What is computed."""
        return self.task.loss

    @property
    def rule(self) -> Rule:
        """The interval rule that was asked for."""
        return self.task.rule

    @property
    def n_repeats(self) -> int | None:
        """Repeats asked for; None is "auto"."""
        return self.partitions.n_repeats

    @property
    def stopping(self) -> Stopping:
        """When "auto" stops."""
        return self.partitions.stopping(any(isinstance(bid.learner, RefitLearner) for bid in self.bids))

    @property
    def likely_repeats(self) -> int:
        """Repeats that the seconds of bids are for: those asked for, or what "auto" often takes."""
        if self.is_streamed or self.n_repeats is not None:
            return self.n_repeats or ROUNDS[0]
        is_refitted = any(isinstance(bid.learner, RefitLearner) for bid in self.bids)
        return self.stopping.most if is_refitted else LIKELY_REPEATS

    @property
    def most_repeats(self) -> int:
        """Repeats at the latest."""
        return self.n_repeats or (ROUNDS[-1] if self.is_streamed else self.stopping.most)

    @property
    def rows(self) -> RowRoles:
        """Weights and groups of the rows."""
        return RowRoles(self.problem.relative_weights, self.problem.groups)

    def bid_at(self, value: int) -> Bid:
        """The bid that a place on the axis of computed values belongs to."""
        return [bid for bid in self.bids for _ in range(bid.learner.n_values)][value]

    def run(self) -> Outcome:
        """Compute the fold errors."""
        self.progress.plan(self._plan_words(), self.is_streamed and sum(bid.seconds for bid in self.bids) > LONG)
        units = replace(self.computation.units, planned=self._seconds_of_repeat())
        # overflow is spoken of once, by the value that it is about
        with np.errstate(over="ignore", invalid="ignore"), self.progress.running(units):
            try:
                outcome = self.computation.run()
            except OneFitError as error:
                if isinstance(error, TrainingSetError):
                    with_hints(error, self.problem, [bid.learner for bid in self.bids])
                raise error.named(self._name_at(error.place)) from error.__cause__
            self.progress.was_interrupted = bool(outcome.notes)
        for place, failure in outcome.failures.items():
            if isinstance(failure, TrainingSetError):
                with_hints(failure, self.problem, [self.bid_at(place).learner])
        return outcome

    def _seconds_of_repeat(self) -> float:
        """What a repeat takes by the plan, if it is repeats that are counted; zero if nobody knows."""
        seconds = sum(bid.seconds for bid in self.bids) / self.likely_repeats
        is_known = self.computation.units.name == "repeats" and 0 < seconds < np.inf
        return seconds if is_known and not any(isinstance(bid.learner, RefitLearner) for bid in self.bids) else 0.0

    def _plan_words(self) -> str:
        """Folds, repeats, routes and the expected time, for people who wait."""
        K, likely, most = self.partitions.source.n_folds, self.likely_repeats, self.most_repeats
        at_most = "at most " if self.n_repeats is None else ""
        refitted = [bid for bid in self.bids if isinstance(bid.learner, RefitLearner)]
        asked = self.bids[:-1] if self.is_streamed else self.bids  # the last one there is the best constant
        routes = " and ".join(dict.fromkeys(bid.route.name for bid in asked))
        repeats = f"{at_most}{most} repeat{'s' if most > 1 else ''}"
        if likely < most:
            repeats = f"about {likely} repeats (at most {most})"
        words = f"{K:,} folds, {repeats}, by {routes}"
        if refitted:
            fits = sum(bid.learner.n_values for bid in refitted) * most * K * (K + 1) // 2
            if self.dependent is not None:  # neighbours of a fold may be out with it, and pairs need not be
                fits = self.computation.units.total
            why = "; ".join(dict.fromkeys(bid.reason for bid in refitted if bid.reason)) if len(self.bids) == 1 else ""
            return f"{words}: {at_most}{fits:,} fits, whose time the first ones will tell{why and f' ({why})'}"
        seconds = sum(bid.seconds for bid in self.bids)
        if self.is_streamed and seconds:
            words += ", " + next(bid.reason for bid in self.bids if bid.seconds).partition(": ")[2]
        if not 0 < seconds < np.inf:
            return words
        return f"{words}: {_time_words(seconds, seconds * most / likely)}"

    def _name_at(self, place: int | None) -> str:
        """The name of the model that a place on the axis of computed values belongs to; empty if it has none."""
        return self.names[self.values[place]] if self.names and place is not None else ""


def _time_words(seconds: float, most: float) -> str:
    """What is likely, and what it may come to."""
    if most < 1:
        return "less than a second"
    likely = "less than a second" if seconds < 1 else about_text(seconds)
    return likely if most == seconds else f"{likely}, {about_text(most).replace('about', 'at most')}"


def with_hints(error: TrainingSetError, problem: Problem, learners: Sequence[Learner]) -> TrainingSetError:
    """Let the message name the columns that are lost, and say what a model takes for the likely cause."""
    if error.held_out and error.lam == 0:
        has_intercept = all(getattr(learner, "fit_intercept", True) for learner in learners)
        error.remedy = explain_lost_columns(problem, error.held_out, has_intercept) or error.remedy
    hints = {learner.hint for learner in learners if learner.hint}
    error.remedy = " ".join([error.remedy, *sorted(hints)]).strip()
    return error
