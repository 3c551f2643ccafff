"""What each route would cost, of a design or of a job, and the paper's break-even number of folds."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from ..checks import check_integer
from ..display.html import plan_html
from ..learners import GLMLearner, RefitLearner, SearchedLearner
from ..routes import explain
from ..routes.costs import Shape
from ..routes.measured import time_scores
from ..routes.newton import NewtonRoute, first_steps
from ..routes.plan import flops_of, offers_of
from ..routes.refit import time_one_fit
from ..routes.searched import SearchedRoute, share_asked
from ..running.job import Job
from ..running.progress import about_text, fine_time_text
from ..typing import Estimator
from ..vocabulary import CONVERGED

__all__ = ["Plan", "breakeven_folds", "plan", "plan_of"]

MOST_PLANNED = 10**15
"""Of rows, columns, repeats and values: beyond it there is no such table, and powers of sizes overflow."""

MOST_COUNTED = 2.0
"""Seconds of a repeat up to which iterations are counted."""

SETS_COUNTED = 100
"""Training sets whose iterations are counted, about: that one in ten is fitted by itself, few would not tell."""


@dataclass(frozen=True)
class Plan:
    """What each route would cost, and the one that `nested_cv` would take.

    Attributes
    ----------
    n, p, n_folds, n_repeats, n_values : int
        The question.
    flops : mapping
        Floating point operations of "gram", "onestep" and "refit"; empty in a plan of `plan_for`.
    seconds : mapping
        Estimated seconds of the fast routes "gram" and "onestep", on one thread of the machine that they were
        calibrated on. Elsewhere they tell the routes apart, no more. `plan_for` has those of the route that would be
        taken, and of "refit" by one fit that it has timed on this machine, one after the other.
    choice : str
        The fast route with the fewest seconds; of `plan_for` the route that would be taken.
    reason : str
        Why, in one sentence.
    n_fits : int
        How many fits refits would be, in these folds, repeats and values.
    is_automatic : bool
        Whether ``n_repeats`` is what ``n_repeats="auto"`` is reckoned to take: 5 repeats, or for refits at most those
        that ``max_fits`` allows.
    most_repeats : int
        Repeats at the latest: with "auto" they go on until the Monte Carlo error is small.
    iterations : float or None
        Of the route "newton" in a plan of `plan_for`: how many each training set takes on average, counted in the
        folds of the first repeat; None for other routes, and where counting would take seconds.
    """

    n: int
    p: int
    n_folds: int
    n_repeats: int
    n_values: int
    flops: Mapping[str, float]
    seconds: Mapping[str, float]
    choice: str
    reason: str
    n_fits: int = 0
    is_automatic: bool = False
    iterations: float | None = None
    most_repeats: int = 0

    def __getstate__(self) -> dict[str, object]:
        return {**vars(self), "flops": dict(self.flops), "seconds": dict(self.seconds)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        views = {name: MappingProxyType(state[name]) for name in ("flops", "seconds")}  # which cannot be pickled
        self.__dict__.update(state, **views)

    def __str__(self) -> str:
        sizes = f"n={self.n:,} rows, p={self.p:,} columns, K={self.n_folds:,} folds"
        lines = [f"{sizes}, L={self.repeats_text()}:"]
        for route in dict.fromkeys([*self.flops, self.choice, *self.seconds]):
            what = [f"{self.flops[route]:10.3g} flops"] if route in self.flops else []
            what += [about_text(self.seconds[route], fine_time_text)] if route in self.seconds else []
            what += [f"{self.n_fits:,} fits"] if route == "refit" and not self.flops else []
            lines.append(f" {'->' if route == self.choice else '  '} {route:<8} {', '.join(what)}".rstrip())
        return "\n".join([*lines, *self.notes(), self.reason])

    def repeats_text(self) -> str:
        """How many repeats, and whether that is a guess."""
        return f"{'about ' if self.is_automatic else ''}{self.n_repeats:,} repeat{'s' if self.n_repeats > 1 else ''}"

    def notes(self) -> list[str]:
        """What repeats and iterations may come to."""
        found = []
        if self.most_repeats > self.n_repeats:
            share, seconds = self.most_repeats / self.n_repeats, self.seconds.get(self.choice)
            time = "" if seconds is None else f", {about_text(share * seconds, fine_time_text)}"
            found.append(f"repeats go on until the Monte Carlo error is small: at most {self.most_repeats:,}{time}")
        if self.iterations is not None:
            found.append(f"about {self.iterations:.1f} iterations a training set, counted without each fold")
        return found

    def _repr_html_(self) -> str:
        return plan_html(self)


def plan(n: int, p: int, n_folds: int, n_repeats: int = 1, n_values: int = 1) -> Plan:
    """Count the floating point operations of each route, estimate its time, and choose.

    Parameters
    ----------
    n, p : int
        Rows, and columns of the design with the intercept.
    n_folds, n_repeats, n_values : int
        Folds K, repeats L and parameter values.

    Returns
    -------
    Plan

    Notes
    -----
    With m = n/K rows a fold and q = min(p, n) columns after rotation, the operations are

    - gram: ``4 n q^2`` for the decomposition; a repeat ``2 n q^2`` for the folds' Gram matrices and, for each value,
      ``q^3 / 3`` for each of K(K+1)/2 systems and ``2 n K q`` for the predictions; for many values one
      eigendecomposition of a system, ``15 q^3``, serves all;
    - onestep: for each value ``2 n^2 q`` for the residual operator; a repeat and value ``7/3 m^3`` for each pair of
      folds and ``m^3 / 3`` for each fold;
    - refit: ``n p^2 + p^3 / 3`` for each of K(K+1)/2 training sets, values and repeats.

    Operations differ in speed: a large matrix product runs ten times faster than a factorization of a small system, and
    small systems are mostly overhead. So the choice goes by seconds: the amounts of work that grow differently with
    n, p, K, L and the number of values (systems, predictions, losses, tables of pairs of folds, gathered blocks; see
    `onefit.routes.plan.work`), times what one unit of each was measured to cost, with the compiled kernels or without
    them. ``python -m benchmarks --plan`` shows how good that is.

    Examples
    --------
    >>> import onefit
    >>> onefit.plan(500, 20, 10).choice
    'gram'
    >>> onefit.plan(200, 300, 10).choice
    'onestep'
    """
    n = check_integer("n", n, 3, MOST_PLANNED)
    p = check_integer("p", p, 1, MOST_PLANNED)
    K = check_integer("n_folds", n_folds, 3, n)
    L = check_integer("n_repeats", n_repeats, 1, MOST_PLANNED)
    shape = Shape(n, p, K, L, check_integer("n_values", n_values, 1, MOST_PLANNED), n / K)
    offers, flops = offers_of(shape), flops_of(shape)
    choice = min(offers, key=lambda name: offers[name].seconds)
    seconds = {name: offer.seconds for name, offer in offers.items()}
    reason = explain(choice, offers)
    fits = shape.V * L * K * (K + 1) // 2
    views = MappingProxyType(flops), MappingProxyType(seconds)
    return Plan(n, p, K, L, shape.V, *views, choice, reason, fits, most_repeats=L)


def plan_of(job: Job, estimator: Estimator) -> Plan:
    """What a job of one estimator would cost."""
    if job.is_streamed:
        return _plan_of_table(job)
    (bid,), problem, K = job.bids, job.problem, job.partitions.source.n_folds
    L = job.likely_repeats
    fits, V = L * K * (K + 1) // 2, bid.learner.n_values
    seconds = {} if isinstance(bid.learner, RefitLearner) else {bid.route.name: bid.seconds + _seconds_asked(job, fits)}
    one_fit = time_one_fit(job.task, estimator)
    if one_fit is not None:
        seconds["refit"] = one_fit * fits
    p = problem.X.shape[1] if len(getattr(problem.X, "shape", ())) == 2 else 1
    none, known = MappingProxyType[str, float]({}), MappingProxyType(seconds)
    is_automatic, (counted, alone) = job.n_repeats is None, _first_steps(job)
    if bid.route.name in seconds:
        scored = time_scores(job.task, bid.learner, job.partitions.source.block(0, 1))
        seconds[bid.route.name] += L * (alone + scored)
    most = job.most_repeats
    return Plan(problem.n, p, K, L, V, none, known, bid.route.name, bid.reason, fits, is_automatic, counted, most)


def _seconds_asked(job: Job, fits: int) -> float:
    """What scikit-learn takes in the training sets of a search in which it is asked, by some of them and one fit."""
    (bid,), source = job.bids, job.partitions.source
    if not isinstance(bid.learner, SearchedLearner) or not isinstance(bid.route, SearchedRoute):
        return 0.0
    if bid.learner.exactness != CONVERGED or bid.seconds / fits > MOST_COUNTED:
        return 0.0
    share = share_asked(bid.learner, job.task, source.block(0, 1))
    each = time_one_fit(bid.learner.task, bid.learner.estimator) if share else None
    return share * fits * (each or 0.0)


def _first_steps(job: Job) -> tuple[float | None, float]:
    """How many iterations a training set takes, and seconds a repeat of those that are fitted by themselves.

    That is found out if the route iterates, and it takes little to count.
    """
    (bid,), source = job.bids, job.partitions.source
    if not isinstance(bid.learner, GLMLearner) or not isinstance(bid.route, NewtonRoute):
        return None, 0.0
    each, repeats = bid.seconds / job.likely_repeats, min(job.likely_repeats, max(1, SETS_COUNTED // source.n_folds))
    if each > MOST_COUNTED:
        return None, 0.0
    folds = source.block(0, repeats if repeats * each <= MOST_COUNTED else 1)
    return first_steps(bid.learner, bid.learner.own_task(job.task), folds)


def _plan_of_table(job: Job) -> Plan:
    """What passes over a table would cost; where there are two, reading the rows is not counted."""
    bid, source = job.bids[0], job.partitions.source
    L, V, p = job.likely_repeats, bid.learner.n_values, job.problem.X.shape[1]
    shape = Shape(source.n, p, source.n_folds, L, V, source.n / source.n_folds)
    fits = L * source.n_folds * (source.n_folds + 1) // 2 * V
    name, rest = bid.route.name, (fits, job.n_repeats is None, None, job.most_repeats)
    if bid.seconds:  # it iterates, and reading the rows is counted
        none, known = MappingProxyType[str, float]({}), MappingProxyType({name: bid.seconds})
        return Plan(source.n, p, source.n_folds, L, V, none, known, name, bid.reason, *rest)
    seconds = MappingProxyType({"gram": offers_of(shape)["gram"].seconds})
    flops = MappingProxyType({"gram": flops_of(shape)["gram"]})
    return Plan(source.n, p, source.n_folds, L, V, flops, seconds, name, bid.reason, *rest)


def breakeven_folds(n: int, p: int) -> float | None:
    """Number of folds from which the paper's one-step formula needs fewer operations than refitting.

    This is K* of the paper's Proposition 2, which compares the literal formula with refits that recompute X'X each
    time. `plan` compares the routes as onefit computes them.

    Parameters
    ----------
    n, p : int
        Rows and columns.

    Returns
    -------
    float or None
        The smallest root in [2, n] of the paper's quartic; None if the formula always wins there, infinity if it
        never does.

    Examples
    --------
    >>> import onefit
    >>> round(onefit.breakeven_folds(1000, 10), 2)
    30.23
    """
    n = check_integer("n", n, 3)
    p = check_integer("p", p, 1)
    exact = [  # highest power first
        6 * p**2 * n + p**3 + 15 * p**2 + 6 * p * n,
        -18 * p**2 * n + p**3 + 15 * p**2 + 6 * n + 6 * p * n,
        -24 * p * n**2 - 60 * n**2,
        -8 * n**3 + 12 * p * n**2 + 30 * n**2,
        6 * n**3,
    ]
    coefficients = np.array(exact, dtype=float)
    roots = np.roots(coefficients)
    real = np.sort(roots.real[np.abs(roots.imag) <= 1e-9 * np.abs(roots)])
    inside = real[(real >= 2) & (real <= n)]
    if len(inside):
        return float(inside[0])
    return None if np.polyval(coefficients, float(n)) > 0 else math.inf
