"""Seconds of every method on a case, and the check that they give the same numbers."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from sklearn.linear_model import Ridge, RidgeCV
from sklearn.model_selection import GridSearchCV

import onefit
from onefit.linalg import compiled

from .cases import Case
from .literal import literal
from .ours import errors_of, flops, run, serves, widths
from .refits import normal_equations, scikit_learn, searched
from .sweep import Sample, sample

__all__ = ["TOLERANCE", "Timing", "best_of", "gemm_speed", "measure", "time_onefit", "time_peer"]

TOLERANCE = 1e-8
MOST_RUNS = 20
MOST_SECONDS = 6.0
"""A route that would take longer for one repeat is not run, by its own estimate."""

SLOWER = 5.0
"""What onefit without its kernels may be slower by, to tell how many repeats it has time for."""

LARGEST_HAT = 5000
"""Rows up to which the literal formula, which holds H, is run."""

T = TypeVar("T")


@dataclass(frozen=True)
class Timing:
    """Seconds of a method for the whole case, and the largest relative difference of its errors from onefit's."""

    seconds: float
    difference: float | None = None


def best_of(call: Callable[[], T], budget: float, clock: Callable[[], float] = time.process_time) -> tuple[float, T]:
    """Shortest time of the runs that fit in about ``budget`` seconds (at least one), and what they return.

    The first run pays for memory that the others find there, so a second one may take four times the budget.
    """
    best, spent, runs = np.inf, 0.0, 0
    while runs == 0 or (runs < MOST_RUNS and spent < (4 * budget if runs == 1 else budget)):
        start = clock()
        result = call()
        seconds = clock() - start
        best, spent, runs = min(best, seconds), spent + seconds, runs + 1
    return best, result


def gemm_speed(size: int = 1500, budget: float = 1.0) -> float:
    """Operations a second of a large matrix product."""
    A = np.random.default_rng(0).standard_normal((size, size))
    return 2 * size**3 / best_of(lambda: A @ A, budget)[0]


def time_onefit(case: Case, route: str, budget: float) -> tuple[Timing, Any] | None:
    """A route of onefit on all repeats, or by proportion if they would take too long; None if even one would."""
    repeats = case.n_repeats
    if route != "auto":
        each = onefit.plan(*widths(case.with_repeats(1))).seconds[route]
        if each > MOST_SECONDS:
            return None
        repeats = max(1, min(repeats, int(MOST_SECONDS / each)))
    fewer = case if repeats == case.n_repeats else case.with_repeats(repeats)
    seconds, result = best_of(lambda: run(fewer, route), budget)
    return Timing(seconds * case.n_repeats / repeats), result


def difference_of(found: Sample, expected: tuple[Any, Any]) -> float:
    """Largest relative difference of the fold errors that a sample has."""
    pairs = [(found.e_in, expected[0][0]), (found.e_out, expected[1][0])]
    return max(abs(value / theirs[j] - 1.0) for ours, theirs in pairs for j, value in ours.items())


def agreed(name: str, difference: float) -> float:
    """The difference, or an error if it says that two methods do not compute the same thing."""
    if not difference <= TOLERANCE:
        raise AssertionError(f"{name} differs from onefit by {difference:.1e}, more than {TOLERANCE:.0e}")
    return difference


def time_peer(name: str, prepare: Any, case: Case, expected: tuple[Any, Any] | None, budget: float) -> Timing:
    """A loop over training sets, sampled and by proportion; ``expected`` None if its numbers are others'."""
    found = sample(lambda: prepare(case), case.folds[0], budget)
    seconds = found.seconds(case.n_repeats, 1 if case.tuned else case.n_values)
    return Timing(seconds, None if expected is None else agreed(name, difference_of(found, expected)))


def time_search(case: Case, curve: Any, budget: float) -> Timing:
    """GridSearchCV over the folds of a repeat: the curve of e_out, without pairs of folds and without intervals."""
    ids = case.folds[0]
    splits = [(np.flatnonzero(ids != j), np.flatnonzero(ids == j)) for j in range(case.n_folds)]
    few = np.unique([0, case.checked])

    def search() -> Any:
        grid = {"alpha": case.alphas[few]}
        model = GridSearchCV(Ridge(), grid, cv=splits, scoring="neg_mean_squared_error", refit=False)
        return model.fit(case.X, case.y)

    seconds, found = best_of(search, budget)
    theirs = errors_of(case, curve)[1][0].mean()
    difference = abs(-found.cv_results_["mean_test_score"][-1] / theirs - 1.0)
    return Timing(seconds / len(few) * case.n_values * case.n_repeats, agreed("GridSearchCV", float(difference)))


def time_loo(case: Case, result: Any, budget: float) -> Timing:
    """RidgeCV: the leave-one-out curve, without pairs of rows and without intervals."""

    def fit() -> Any:
        return RidgeCV(alphas=case.alphas, store_cv_results=True).fit(case.X, case.y)

    seconds, found = best_of(fit, budget)
    theirs = errors_of(case, result)[1][0].mean()
    difference = abs(found.cv_results_[:, case.checked].mean() / theirs - 1.0)
    return Timing(seconds, agreed("RidgeCV", float(difference)))


def _between(found: Any, expected: Any) -> float:
    """Largest relative difference over the first repeats, which both have."""
    return max(
        float(np.abs(ours / theirs[: len(ours)] - 1.0).max()) for ours, theirs in zip(found, expected, strict=True)
    )


def _time_twin(case: Case, route: str, seconds: float, expected: Any, budget: float) -> Timing:
    """The route without compiled kernels, on fewer repeats and by proportion if they would take long."""
    repeats = int(np.clip(MOST_SECONDS * case.n_repeats / (SLOWER * seconds), 1, case.n_repeats))
    fewer = case if repeats == case.n_repeats else case.with_repeats(repeats)
    with compiled.switched(False):
        spent, result = best_of(lambda: run(fewer, route), budget)
    difference = agreed("the twin", _between(errors_of(case, result), expected))
    return Timing(spent * case.n_repeats / repeats, difference)


def measure(case: Case, budget: float, gemm: float) -> tuple[str, dict[str, Timing]]:
    """The route that onefit takes by itself, and the timings by name."""
    first = time_onefit(case, "auto", budget)
    assert first is not None
    timing, result = first
    expected = errors_of(case, result)
    one = result.results[0] if hasattr(result, "results") else result
    found = {"onefit": timing}
    for route in ("gram", "onestep"):
        if route == one.route and serves(case, route):
            found[route] = timing
            continue
        timed = time_onefit(case, route, budget) if serves(case, route) else None
        if timed is not None:
            found[route] = Timing(timed[0].seconds, agreed(route, _between(errors_of(case, timed[1]), expected)))
    found["twin"] = _time_twin(case, one.route, timing.seconds, expected, budget)
    found["scikit-learn"] = time_peer("scikit-learn", scikit_learn, case, expected, budget)
    if case.scaled:
        return one.route, found
    if case.tuned:
        found["search"] = time_peer("GridSearchCV", searched, case, None, budget)
    else:
        found["NumPy"] = time_peer("NumPy", normal_equations, case, expected, budget)
        if case.n <= LARGEST_HAT:
            found["Proposition 1"] = time_peer("Proposition 1", literal, case, expected, budget)
        if case.leaves_two_out:
            found["search"] = time_loo(case, result, budget)
        elif case.n_values > 1:
            found["search"] = time_search(case, result, 0.0)
        count = flops(case, one.route)
        if count is not None:
            found["gemm"] = Timing(count / gemm)
    return one.route, found
