"""Seconds of every way on a shape, and the check that all give the same numbers."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

import onefit
from benchmarks.measure import difference_of
from benchmarks.sweep import Sample, sample
from onefit.errors import OneFitWarning

from .peers import PEERS
from .shapes import Shape, System

__all__ = ["MANY", "ROUTES", "TOLERANCE", "Settings", "agreed", "measure", "proportional", "quietly", "typical"]

TOLERANCE = 1e-9
ROUTES = ("gram", "onestep")
MANY = 10
"""Repeats of a run in which the fixed cost of a call counts little."""
MOST_RUNS = 15
MOST_SECONDS = 4.0
"""A route that should take longer, by `onefit.plan`, is not run."""


@dataclass(frozen=True)
class Settings:
    """Whether grids are small, and how many seconds each way may take on each shape."""

    quick: bool = False
    budget: float = 0.4


def quietly(function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """Call a function of onefit without its warnings: one repeat is what is meant here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OneFitWarning)
        return function(*arguments, **options)


def typical(call: Callable[[], Any], budget: float) -> tuple[float, Any]:
    """Median seconds of the processor of some runs (one to fifteen, about ``budget`` seconds), and what they return."""
    call()  # pays for memory that the others find there
    spent: list[float] = []
    while not spent or (len(spent) < MOST_RUNS and sum(spent) < budget):
        start = time.process_time()
        result = call()
        spent.append(time.process_time() - start)
    return float(np.median(spent)), result


def proportional(found: Sample, n_repeats: int = 1) -> float:
    """Seconds of whole repeats, prepared once, from a sample of training sets; medians, as other processes disturb."""
    K = found.n_folds
    singles, pairs = float(np.median(found.singles)), float(np.median(found.pairs))
    return found.preparation + n_repeats * (K * singles + K * (K - 1) / 2 * pairs)


def agreed(name: str, difference: float) -> float:
    """The largest relative difference, or an error if two ways do not compute the same thing."""
    if not difference <= TOLERANCE:
        raise AssertionError(f"{name} differs from onefit by {difference:.1e}, more than {TOLERANCE:.0e}")
    return difference


def compare_peer(
    name: str, system: System, ids: NDArray[np.intp], expected: tuple[Any, Any], budget: float
) -> tuple[Sample, float]:
    """A sample of a peer's training sets, and its difference from onefit's e_in and e_out of that partition."""
    found = sample(lambda: PEERS[name](system), ids, budget)
    return found, agreed(name, difference_of(found, expected))


@cache
def measure(shape: Shape, settings: Settings) -> dict[str, Any]:
    """A row of a figure: seconds for one repeat by every way. What was sampled is said beside it."""
    shape = replace(shape)  # a copy, whose data go with it
    row, result, differences = _ours(shape, settings.budget)
    expected = result.fold_errors.e_in, result.fold_errors.e_out
    for name in PEERS:
        found, difference = compare_peer(name, shape.system, shape.folds()[0], expected, settings.budget)
        row[f"{name}_s"] = proportional(found)
        row[f"{name}_sampled"] = min(shape.training_sets, len(found.singles) + len(found.pairs))
        differences.append(difference)
    return row | {"difference": max(differences)}


def _ours(shape: Shape, budget: float) -> tuple[dict[str, Any], Any, list[float]]:
    """Seconds of onefit: whole calls of `nested_cv`, all intervals included."""

    def run(route: str = "auto", **options: Any) -> Any:
        options = options or {"folds": shape.folds()}
        return quietly(onefit.nested_cv, shape.estimator, shape.X, shape.y, route=route, **options)

    plan = onefit.plan(shape.n, shape.p, shape.n_folds)
    sizes = {"n": shape.n, "p": shape.p, "K": shape.n_folds, "training_sets": shape.training_sets}
    auto, result = typical(run, budget)
    seconds: dict[str, float] = {"auto_s": auto}
    differences = []
    for route in ROUTES:
        seconds[f"{route}_s"] = np.nan
        if plan.seconds[route] <= MOST_SECONDS:
            seconds[f"{route}_s"], other = typical(partial(run, route), budget)
            differences.append(agreed(route, _between(other, result)))
    many = shape.folds(MANY)
    seconds["many_s"] = typical(lambda: run(folds=many), budget)[0] / MANY
    seconds["leave_two_s"] = typical(lambda: run(n_folds="n"), budget)[0]
    return sizes | seconds | {"auto_route": result.route, "plan": plan.choice}, result, differences


def _between(one: Any, other: Any) -> float:
    """Largest relative difference of two results' fold errors."""
    gaps = [
        np.abs(getattr(one.fold_errors, name) / getattr(other.fold_errors, name) - 1.0).max()
        for name in ("e_in", "e_out")
    ]
    return float(max(gaps))
