"""How good `onefit.plan` is, and what it rests on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress, product
from typing import Any

import numpy as np
from scipy.optimize import least_squares, nnls

import onefit
from onefit.linalg import compiled
from onefit.routes.costs import Shape
from onefit.routes.plan import work

from .cases import Case
from .measure import best_of, gemm_speed
from .ours import run, widths
from .table import plain

__all__ = ["Cell", "calibrate", "fit_costs", "fit_terms", "grid", "other_grid", "plan_report"]

ROUTES = ("gram", "onestep")
BAR = 1.5
OPERATIONS = {
    "decomposition": 4.0,
    "decompositions": 4.0,
    "gram matrices": 1.0,
    "streamed products": 1.0,
    "streamed predictions": 2.0,
    "factorizations": 1 / 3,
    "eigendecompositions": 15.0,
    "predictions": 2.0,
    "operators": 1.0,
    "products": 1.0,
    "eliminations": 7 / 3,
}
"""Floating point operations in one unit of the terms that are made of them."""

LEAST = 1e-3
"""A term that is never more than this part of the time is left out."""
MOST_SECONDS = 3.0
BUDGET = 0.1
FAR = 30.0
"""A route that should take this many times longer than the other is not run."""


@dataclass(frozen=True)
class Cell:
    """A shape with the measured seconds of the routes that were run, and the plan's choice."""

    case: Case
    seconds: dict[str, float]
    choice: str

    @property
    def ratio(self) -> float:
        """Time of the choice over the best."""
        return self.seconds[self.choice] / min(self.seconds.values())


def grid(quick: bool) -> Iterator[Case]:
    """Shapes: tall and wide, few folds and many, one value and a path."""
    if quick:
        yield from (Case(n, p, K, 1, V) for n, p, K, V in product((40, 80), (3, 60), (4, 10), (1, 3)))
        return
    for n, p, V in product((100, 400, 1600, 6400), (3, 10, 30, 100, 300), (1, 8, 50)):
        for K in sorted({5, 10, 30, 100, n // 5, n // 2}):
            if min(n // 2, 800) >= K and p * V <= 20_000:
                yield Case(n, p, K, 2 if n <= 400 else 1, V)
    for n, p, K, V in product((30_000, 90_000), (3, 10, 30, 100), (5, 20), (1, 8)):  # in passes over blocks of rows
        yield Case(n, p, K, 2, V)


def other_grid(quick: bool) -> Iterator[Case]:
    """Shapes between those of `grid`: the choice is judged where its costs were not fitted."""
    if quick:
        yield from (Case(n, p, K, 1, V) for n, p, K, V in product((30, 70), (4, 50), (5, 12), (1, 2)))
        return
    for n, p, V in product((150, 700, 2500), (5, 20, 60, 200), (1, 5, 30)):
        for K in sorted({5, 12, 50, n // 10, n // 4}):
            yield Case(n, p, K, 2 if n <= 200 else 1, V)


def cells(cases: Sequence[Case], everything: bool, budget: float, most: float = MOST_SECONDS) -> Iterator[Cell]:
    """Measure the cases that take less than ``most`` seconds; with ``everything`` both routes, however far apart."""
    for case in cases:
        plan = onefit.plan(*widths(case))
        best = min(plan.seconds.values())
        chosen = [r for r in ROUTES if plan.seconds[r] <= most and (everything or plan.seconds[r] <= FAR * best)]
        if plan.choice not in chosen:
            continue
        seconds = {route: _seconds(case, route, budget) for route in chosen}
        yield Cell(case, seconds, plan.choice)


def _seconds(case: Case, route: str, budget: float = BUDGET) -> float:
    """Shortest of a few runs."""
    return best_of(lambda: run(case, route), budget)[0]


def plan_report(quick: bool) -> tuple[list[dict[str, Any]], str]:
    """The other grid as a table, the worst choices first; and what came out as a record."""
    found = sorted(
        cells(list(other_grid(quick)), everything=False, budget=0.0 if quick else BUDGET), key=lambda cell: -cell.ratio
    )
    head = ("n", "p", "K", "L", "values", "gram ms", "onestep ms", "choice", "time / best")
    lines = []
    for cell in found if quick else found[:40]:
        case = cell.case
        times = [f"{1e3 * cell.seconds[route]:.3g}" if route in cell.seconds else "-" for route in ROUTES]
        sizes = (case.n, case.p, case.n_folds, case.n_repeats, case.n_values)
        lines.append([*map(str, sizes), *times, cell.choice, f"{cell.ratio:.2f}"])
    both = [cell for cell in found if len(cell.seconds) == 2]
    outside = sum(cell.ratio > BAR for cell in both)
    record = {"shapes": len(found), "both": len(both), "worst": found[0].ratio, "allowed": BAR, "outside": outside}
    return [record], (
        f"{plain(head, lines, ('choice',))}\n\n{len(found)} shapes, {len(both)} with both routes run (else the other "
        f"should be {FAR:.0f} times slower than the choice or take more than {MOST_SECONDS:.0f} s); the worst choice "
        f"takes {found[0].ratio:.2f} times the best, {outside} are above {BAR}: {'FAIL' if outside else 'pass'}."
    )


def fit_costs(found: Sequence[Cell], route: str, gemm: float = np.inf) -> tuple[dict[str, float], float]:
    """Nanoseconds a unit of each term of a route's work, and the largest factor between fit and measurement.

    No term costs less than its operations at the speed ``gemm`` of a matrix product.
    """
    used = [cell for cell in found if route in cell.seconds]
    terms = [work(Shape(*widths(c.case), np.ceil(c.case.n / c.case.n_folds)))[route] for c in used]
    names = {name for each in terms for name in each}
    least = {name: 1e9 / gemm * OPERATIONS.get(name.partition(",")[0], 0.0) for name in names}
    return fit_terms(terms, [cell.seconds[route] for cell in used], least)


def fit_terms(
    terms: Sequence[Mapping[str, float]], measured: Sequence[float], bounds: Mapping[str, float]
) -> tuple[dict[str, float], float]:
    """Nanoseconds a unit of each term, and the largest factor between fit and measured seconds.

    Least squares of the logarithms, which count twice as long and half as long alike, and a single disturbed run
    little; from non-negative least squares of relative errors. No term costs less than its entry of ``bounds``, if it
    has one, so that sizes beyond the grid are not taken for free.
    """
    names = list(dict.fromkeys(name for each in terms for name in each))
    seconds = np.array(measured)
    amounts = np.array([[each.get(name, 0.0) for name in names] for each in terms]) / seconds[:, None]
    seen = amounts.max(axis=0) > 0
    amounts, names = amounts[:, seen], list(compress(names, seen))
    amounts /= (sizes := amounts.max(axis=0))
    least = 1e-9 * np.array([bounds.get(name, 0.0) for name in names]) * sizes
    start = np.maximum(nnls(amounts, np.ones(len(seconds)))[0], least) + 1e-12
    costs = least_squares(
        lambda trial: np.log(amounts @ trial), start, bounds=(least, np.inf), loss="soft_l1", f_scale=0.3, xtol=1e-12
    ).x
    costs[(costs <= LEAST) & (least == 0)] = 0.0
    fitted = amounts @ costs
    chosen = {name: 1e9 * cost for name, cost in zip(names, costs / sizes, strict=True) if cost > 0}
    return chosen, float(np.max(np.maximum(fitted, 1 / fitted)))


def calibrate(quick: bool) -> str:
    """The table of `onefit.routes.costs.NANOSECONDS` for this machine, with the kernels and without."""
    lines, gemm = [], gemm_speed(200 if quick else 1500)
    for is_on in (True, False):
        with compiled.switched(is_on):
            found = list(cells(list(grid(quick)), everything=True, budget=0.0 if quick else BUDGET, most=1.0))
            lines.append(f"    {is_on}: {{")
            for route in ROUTES:
                costs, factor = fit_costs(found, route, gemm)
                lines.append(f'        "{route}": {{  # {len(found)} shapes, within a factor of {factor:.1f}')
                lines += [f'            "{name}": {cost:.3g},' for name, cost in costs.items()]
                lines.append("        },")
            lines.append("    },")
    return "\n".join(lines)
