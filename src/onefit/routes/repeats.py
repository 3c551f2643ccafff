"""Routes whose work is the same in every repeat."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

from ..learners import Learner, Refusal, Smoother, StatisticsLearner, Task, TunedLearner
from .collected import first_errors
from .contract import Computation, Engine, FoldPlan, Partitions, Route, Ticks, Workers
from .costs import Shape
from .repeating import OVERFLOW, RepeatedComputation

__all__ = ["OVERFLOW", "RepeatedRoute", "SideBySide", "first_errors", "not_a_smoother", "shape_of"]


def not_a_smoother(learner: Learner) -> Refusal:
    """Why a route for linear smoothers cannot serve."""
    remedy = 'use route="gram" or "auto"'
    if isinstance(learner, TunedLearner):
        return Refusal("it tunes its penalty in every training set, and the residual operator changes with it", remedy)
    if isinstance(learner, StatisticsLearner):
        return Refusal(f"{learner.reason}, and the residual operator changes with it", remedy)
    return Refusal("it is no linear smoother")


def shape_of(smoother: Smoother, plan: FoldPlan, n_outputs: int = 1) -> Shape:
    """The sizes that costs are counted from."""
    K, L, m = plan.n_folds, plan.likely_repeats, float(plan.largest_fold)
    return Shape(smoother.n, smoother.width, K, L, smoother.n_values, m, n_outputs)


class RepeatedRoute(Route):
    """A route whose work is the same in every repeat."""

    @abstractmethod
    def engine(self, learner: Learner, task: Task, workers: Workers) -> Engine:
        """What computes the held-out losses of a block of repeats."""

    def begin(
        self, learners: Sequence[Learner], task: Task, partitions: Partitions, workers: Workers, ticks: Ticks
    ) -> Computation:
        """Make the engines."""
        engines = [self.engine(learner, learner.own_task(task), workers) for learner in learners]
        return RepeatedComputation(engines, learners, task, partitions, workers, ticks)


class SideBySide(Route):
    """A route for each model, on the same folds; pairing by rows and folds then comes from the tables themselves."""

    name = "mixed"

    def __init__(self, routes: Sequence[RepeatedRoute]) -> None:
        self.routes = routes

    def offer(self, learners: Sequence[Learner], task: Task, plan: FoldPlan) -> Refusal:
        """It is what is left when every model has chosen."""
        return Refusal("it is made of the offers of others")

    def begin(
        self, learners: Sequence[Learner], task: Task, partitions: Partitions, workers: Workers, ticks: Ticks
    ) -> Computation:
        """Make the engines of all."""
        both = zip(self.routes, learners, strict=True)
        engines = [route.engine(learner, learner.own_task(task), workers) for route, learner in both]
        return RepeatedComputation(engines, learners, task, partitions, workers, ticks)
