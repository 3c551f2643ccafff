"""Which route: every one that may serve is asked, and the cheapest offer wins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite

import numpy as np

from ..errors import FoldError, RouteError
from ..learners import Learner, RefitLearner, Refusal, Task, is_near_interpolation
from .classes import ClassesRoute
from .constant import ConstantRoute
from .contract import FoldPlan, Offer, Route
from .costs import ratio_text
from .encoded import EncodedRoute
from .gram import GramRoute
from .learned import LearnedRoute
from .leavetwo import LeaveTwoOutRoute
from .neighbours import NeighboursRoute
from .newton import NewtonRoute
from .newtonsearched import NewtonSearchRoute
from .onestep import OneStepRoute
from .process import ProcessRoute
from .refit import RefitRoute
from .repeats import RepeatedRoute, SideBySide
from .searched import SearchedRoute
from .tuned import TunedRoute

__all__ = ["ROUTES", "Bid", "automatic_folds", "choose_routes", "explain", "few_folds", "usual_folds"]

ROUTES: tuple[Route, ...] = (
    LeaveTwoOutRoute(),
    GramRoute(),
    OneStepRoute(),
    ProcessRoute(),
    TunedRoute(),
    LearnedRoute(),
    EncodedRoute(),
    SearchedRoute(),
    ConstantRoute(),
    NewtonRoute(),
    NewtonSearchRoute(),
    NeighboursRoute(),
    ClassesRoute(),
    RefitRoute(),
)
"""All routes; of equal offers the first wins."""

DEFAULT_FOLDS, REFIT_FOLDS, MANY_FOLDS = 10, 5, 20
"""Where a fold for every row is too much: on fast routes, for refits of enough rows, and near interpolation."""

ENOUGH_ROWS = 100
"""From here on a model that is fitted to three fifths of the rows tells enough of one that is fitted to all."""

MOST_FOLDS = 2048
"""The tables of pairs of folds are K x K; beyond this they would not be small."""

MOST_SCORES = 10_000_000
"""Scores of rows with each other row out, up to which folds of single rows are the default for metrics of them."""

Candidate = Sequence[Learner]
"""The learners of a model, any of which will do."""


@dataclass(frozen=True)
class Bid:
    """A route that would compute a learner, and why it is this one."""

    route: Route
    learner: Learner
    seconds: float
    reason: str


def automatic_folds(candidates: Sequence[Candidate], task: Task, asked: str) -> int:
    """A fold for each row or group where that is fast for all models and the task can do with it; else a few."""
    plan = FoldPlan.trial(task.problem)
    n_values = sum(candidate[0].n_values for candidate in candidates)
    is_possible = not task.needs & {"fold variance", "bias folds"} and _may_be_single_rows(task, plan, n_values)
    if is_possible and (
        _together(candidates, task, plan, asked)
        or all(isinstance(_bid(candidate, task, plan, asked), Bid) for candidate in candidates)
    ):
        return plan.units
    return few_folds([candidate[0] for candidate in candidates], task)


def few_folds(learners: Sequence[Learner], task: Task) -> int:
    """Where a fold for each row or group is too much for these models: those of the one that takes the fewest."""
    K = min(usual_folds(learner, task.problem.n) for learner in learners)
    K = _more_near_interpolation(learners, task.problem.n, K)
    return max(3, min(K, FoldPlan.trial(task.problem).units, _most_folds_of_classes(task)))


def _may_be_single_rows(task: Task, plan: FoldPlan, n_values: int) -> bool:
    """Whether folds of single rows serve all metrics: only means and functions of them, and tables that are small."""
    if not task.metrics:
        return True
    asked = [metric for metric in task.metrics if not metric.is_extra]
    is_small = plan.units <= MOST_FOLDS and plan.units**2 * n_values * task.problem.n_outputs <= MOST_SCORES
    return is_small and all(metric.family in ("mean", "function") for metric in asked)


def _most_folds_of_classes(task: Task) -> int:
    """Folds that leave two rows of every class in each, if a metric compares rows of different classes."""
    if task.problem.classes is None or not any(metric.family == "rank" for metric in task.metrics):
        return MOST_FOLDS
    counts = np.unique(task.problem.labels, return_counts=True)[1]
    return int(counts.min()) // 2


def usual_folds(learner: Learner, n: int) -> int:
    """How many folds n rows take if nothing is known of them: few for refits, as a repeat of K takes K(K+1)/2 fits."""
    return REFIT_FOLDS if isinstance(learner, RefitLearner) and n >= ENOUGH_ROWS else DEFAULT_FOLDS


def _more_near_interpolation(learners: Sequence[Learner], n: int, K: int) -> int:
    """Few folds, as a repeat of K takes K(K+1)/2 fits; more if a model would nearly interpolate the training sets."""
    return MANY_FOLDS if any(is_near_interpolation(n, K, learner.n_unpenalized) for learner in learners) else K


def choose_routes(
    candidates: Sequence[Candidate], task: Task, plan: FoldPlan, asked: str, names: Sequence[str] = ()
) -> tuple[Route, tuple[Bid, ...]]:
    """The route that computes all models, and how each of them came to it; errors call them by their names."""
    together = _together(candidates, task, plan, asked)
    if plan.n_folds > MOST_FOLDS:
        if together:
            return together[0].route, together
        raise FoldError(
            f"{plan.n_folds} folds would need tables of {plan.n_folds}^2 pairs; use at most {MOST_FOLDS} folds. "
            '(Only n_folds="n", with a dense X and a linear smoother, does without them.)'
        )
    alone = [_bid(candidate, task, plan, asked) for candidate in candidates]
    bids = tuple(bid for bid in alone if isinstance(bid, Bid))
    refused = [bid for bid in alone if isinstance(bid, Refusal)]
    if together and (refused or sum(bid.seconds for bid in together) <= sum(bid.seconds for bid in bids)):
        return together[0].route, together
    if refused:
        remedy = refused[0].remedy or 'leave the choice to route="auto", or use route="refit"'
        error = RouteError(
            f'route="{asked}" cannot serve this estimator: {refused[0].reason}. {remedy[0].upper()}{remedy[1:]}.'
        )
        raise error.named(names[alone.index(refused[0])] if names else "")
    if len(bids) == 1:
        return bids[0].route, bids
    return SideBySide([bid.route for bid in bids if isinstance(bid.route, RepeatedRoute)]), bids


def _together(candidates: Sequence[Candidate], task: Task, plan: FoldPlan, asked: str) -> tuple[Bid, ...]:
    """Bids for all models of a route that takes them in one pass; none if there is no such route."""
    learners = [candidate[0] for candidate in candidates]
    for route in _asked_for(asked):
        offer = route.offer(learners, task, plan) if route.serves_together else Refusal("")
        if isinstance(offer, Offer):
            each = offer.seconds / len(learners)
            return tuple(Bid(route, learner, each, offer.reason) for learner in learners)
    return ()


def _bid(candidate: Candidate, task: Task, plan: FoldPlan, asked: str) -> Bid | Refusal:
    """The cheapest route for a model, or why there is none."""
    offers: dict[tuple[Route, Learner], Offer] = {}
    refusals: dict[str, Refusal] = {}
    for learner in candidate:
        for route in _asked_for(asked):
            if route.serves_together:
                continue
            answer = route.offer([learner], task, plan)
            if isinstance(answer, Offer):
                offers[route, learner] = answer
            elif not isinstance(learner, RefitLearner) and (answer.remedy or route.name not in refusals):
                refusals[route.name] = answer  # of several routes of a name, that of the one that knows a remedy
    late: Refusal | None = None
    while offers:
        (route, learner), offer = min(offers.items(), key=lambda item: item[1].seconds * item[1].handicap)
        is_last = isinstance(learner, RefitLearner) and len(offers) == 1  # whatever it takes
        found = _settled(offer, learner, is_last, len(offers) > 1)
        if isinstance(found, Refusal):
            refusals[route.name] = late = found
            del offers[route, learner]
            continue
        if found is not learner:
            bid = _bid([found if each is learner else each for each in candidate], task, plan, asked)
            is_copy = isinstance(bid, Bid) and asked == "auto" and bid.learner is found and route.name != "refit"
            return replace(bid, reason=f"{bid.reason[:-1]}; X is small enough to be made dense.") if is_copy else bid
        reason = "asked for"
        if asked == "auto":
            by_name = {each.name: made for (each, _), made in offers.items() if isfinite(made.seconds)}
            reason = explain(route.name, by_name, refusals) if offer.systems and not is_last else offer.reason
            reason = str(late or learner.refusal) if isinstance(learner, RefitLearner) and is_last else reason
        return Bid(route, learner, offer.seconds, reason)
    refitted = [learner for learner in candidate if isinstance(learner, RefitLearner)]
    if len(refitted) == len(candidate) and asked not in ("auto", "refit"):
        return Refusal(str(refitted[0].refusal))
    return late or next(iter(refusals.values()), Refusal("no route serves it"))


def _settled(offer: Offer, learner: Learner, is_last: bool, has_rivals: bool) -> Learner | Refusal:
    """What is computed if the offer is taken, or why it is not."""
    if is_last:
        return learner
    refusal = offer.leave() if offer.leave is not None and has_rivals else None
    return refusal or (learner if offer.settle is None else offer.settle())


def _asked_for(asked: str) -> list[Route]:
    return [route for route in ROUTES if asked in ("auto", route.name)]


def explain(choice: str, offers: Mapping[str, Offer], refusals: Mapping[str, Refusal] | None = None) -> str:
    """Why the cheapest of some offers is taken, in one sentence."""
    own = offers[choice]
    others = sorted((name for name in offers if name != choice), key=lambda name: offers[name].seconds)
    text = f"{choice} {'takes' if choice == 'refit' else 'solves systems of'} {own.systems}"
    if others:
        other = offers[others[0]]
        ratio = ratio_text(other.seconds / own.seconds)
        text += f" and should be {ratio} times faster than {others[0]} with {other.systems}"
    for name, refusal in (refusals or {}).items():
        if name not in offers and refusal.remedy:  # an obstacle of this design, not of another kind of model
            text += f"; {name} cannot serve: {refusal.reason}"
    return f"{text}; {own.reason}."
