"""Seconds, megabytes, and the check that all methods give the same numbers."""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from .cases import Case
from .methods import PEERS, ROUTES, Peer, run_onefit
from .sweep import Errors

__all__ = [
    "TOLERANCE",
    "Measurement",
    "Row",
    "agreed_difference",
    "best_of",
    "compare_case",
    "largest_difference",
    "measure_onefit",
    "measure_peer",
    "peak_megabytes",
]

TOLERANCE = 1e-8
MOST_RUNS = 20


T = TypeVar("T")


@dataclass(frozen=True)
class Measurement:
    """A method on a case: milliseconds a repeat, the errors it found, megabytes at its peak if measured."""

    name: str
    milliseconds: float
    errors: Errors
    megabytes: float | None = None


@dataclass(frozen=True)
class Row:
    """One line of the table: a measurement beside onefit's.

    ``ratios`` holds its time over that of each route of onefit, ``difference`` the largest relative
    difference of e_in and e_out from onefit's automatic route.
    """

    case: Case
    method: Measurement
    ratios: dict[str, float]
    difference: float


def best_of(call: Callable[[], T], budget: float) -> tuple[float, T]:
    """Shortest time of the runs that fit in about ``budget`` seconds (at least one), and what they return."""
    best, spent, runs = np.inf, 0.0, 0
    while runs == 0 or (spent < budget and runs < MOST_RUNS):
        start = time.perf_counter()
        result = call()
        seconds = time.perf_counter() - start
        best, spent, runs = min(best, seconds), spent + seconds, runs + 1
    return best, result


def peak_megabytes(call: Callable[[], object]) -> float:
    """Most memory that Python and NumPy held at once for ``call``, beyond what was there before."""
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1] / 1e6
    finally:
        tracemalloc.stop()


def largest_difference(found: Errors, expected: Errors) -> float:
    """Largest relative difference over the repeats that ``found`` has, the first of those expected."""
    differences = []
    for ours, theirs in zip(found, expected, strict=True):
        if ours.shape[1:] != theirs.shape[1:]:
            raise ValueError(f"shapes {ours.shape} and {theirs.shape} do not match")
        differences.append(np.max(np.abs(ours / theirs[: len(ours)] - 1.0)))
    return float(np.max(differences))


def agreed_difference(name: str, found: Errors, expected: Errors) -> float:
    """`largest_difference`, or an error when it says that two methods do not compute the same thing."""
    difference = largest_difference(found, expected)
    if not difference <= TOLERANCE:
        raise AssertionError(f"{name} differs from onefit by {difference:.1e}, more than {TOLERANCE:.0e}")
    return difference


def measure_onefit(case: Case, route: str, budget: float) -> Measurement:
    """A route of onefit, memory included."""
    seconds, result = best_of(lambda: run_onefit(case, route), budget)
    name = f"onefit {route}" if route == result.route else f"onefit {route}: {result.route}"
    errors = (result.fold_errors.e_in, result.fold_errors.e_out)
    megabytes = peak_megabytes(lambda: run_onefit(case, route))
    return Measurement(name, 1e3 * seconds / case.n_repeats, errors, megabytes)


def measure_peer(case: Case, peer: Peer, budget: float) -> Measurement:
    """A peer, on the repeats that it runs."""
    seconds, errors = best_of(lambda: peer.run(case), budget)
    return Measurement(peer.name, 1e3 * seconds / len(peer.folds(case)), errors)


def compare_case(case: Case, budget: float) -> list[Row]:
    """Rows of every method on one case; raises when two methods disagree."""
    ours = {route: measure_onefit(case, route, budget) for route in ROUTES}
    peers = [measure_peer(case, peer, budget) for peer in PEERS]
    return [
        Row(
            case,
            method,
            ratios={route: method.milliseconds / ours[route].milliseconds for route in ROUTES},
            difference=agreed_difference(method.name, method.errors, ours["auto"].errors),
        )
        for method in [*peers, *ours.values()]
    ]
