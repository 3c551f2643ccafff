"""How good the choice of a route is for a sparse design."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.linear_model import Ridge

import onefit
from onefit.learners import SparseSmoother
from onefit.routes.costs import Shape
from onefit.routes.plan import offers_of
from onefit.routes.sparsecosts import gram_terms, refit_terms, solver_of, steps_of
from onefit.validation import check_problem

from .planning import fit_terms
from .table import plain

__all__ = [
    "OTHERS",
    "QUICK",
    "SHAPES",
    "SparseCase",
    "SparseCell",
    "calibrate_sparse",
    "measure_sparse",
    "sparse_report",
]

BAR = 1.5
JUDGED = 0.02
"""Seconds of the choice from which it is judged: below, calls and checks are most of the time."""

MOST_SECONDS = 4.0
"""A way that should take longer, by its operations, is not run: the others are below a second or two."""

LEAST = {
    "GRAM": {
        "call": 5e6,
        "products": 0.5,
        "cubes": 0.03,
        "rotations": 0.1,
        "factorizations": 0.007,
        "losses": 0.5,
        "criteria": 8.0,
    },
    "REFIT": {"fits": 5e5, "entries": 2.0, "steps": 1e4, "products": 0.3, "vectors": 0.5},
}
"""Nanoseconds that no unit takes less than, as small measurements of their own say."""

BUDGET = 0.6
MOST_ROUNDS = 5
HEAD = ("n", "p", "entries %", "K", "L", "values", "gram", "refit", "dense", "auto", "took", "time / best", "")


@dataclass(frozen=True)
class SparseCase:
    """Texts: n of them, p words, about ``words`` different ones in each; Ridge at V penalties, K folds, L repeats."""

    n: int
    p: int
    words: float
    n_folds: int = 10
    n_repeats: int = 1
    n_values: int = 1

    @cached_property
    def data(self) -> tuple[Any, Any]:
        """Counts of words of Zipf's frequencies, weighted by their rarity, in rows of length one; and y."""
        rng = np.random.default_rng(0)
        often = 1.0 / (np.arange(self.p) + 5.0)
        often /= often.sum()
        few, many = 0.1, 1e7
        while many > 1.001 * few:  # words in a text, of which so many are different
            middle = np.sqrt(few * many)
            few, many = (middle, many) if -np.expm1(-middle * often).sum() < self.words else (few, middle)
        rows = np.repeat(np.arange(self.n), rng.poisson(few, size=self.n))
        entries = (np.ones(len(rows)), (rows, rng.choice(self.p, size=len(rows), p=often)))
        X = sparse.csr_matrix(sparse.coo_matrix(entries, shape=(self.n, self.p)))
        X.data *= 1.0 + np.log((1 + self.n) / (1 + np.bincount(X.indices, minlength=self.p)))[X.indices]
        length = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
        X = sparse.csr_matrix(sparse.diags(1.0 / np.where(length > 0, length, 1.0)) @ X)
        return X, 2.0 * X @ rng.standard_normal(self.p) + rng.standard_normal(self.n)

    @property
    def penalties(self) -> Any:
        """One, or a path."""
        return np.ones(1) if self.n_values == 1 else np.logspace(-1, 1, self.n_values)

    @property
    def steps(self) -> float:
        """Steps of a fit, over the penalties."""
        problem = check_problem([Ridge()], *self.data, None, None)
        solvers = [solver_of(Ridge(alpha)) for alpha in self.penalties]
        return float(np.mean([steps_of(solver, problem, 10_000) for solver in solvers if solver is not None]))

    def run(self, X: Any, route: str) -> Any:
        """The result of onefit on a design."""
        keywords = {"n_folds": self.n_folds, "n_repeats": self.n_repeats, "route": route, "random_state": 0}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if self.n_values == 1:
                return onefit.nested_cv(Ridge(1.0), X, self.data[1], **keywords)
            path = {"param_name": "alpha", "param_range": self.penalties}
            return onefit.error_curve(Ridge(), X, self.data[1], **path, **keywords)

    def ways(self) -> dict[str, Callable[[], Any]]:
        """What can be run in a few seconds."""
        X, p, fits = self.data[0], self.p, self.n_repeats * self.n_values * self.n_folds * (self.n_folds + 1) / 2
        criteria = 16e-9 * p**3 if self.n_values > 1 else 0.0
        ways: dict[str, Callable[[], Any]] = {
            "auto": lambda: self.run(X, "auto"),
            "refit": lambda: self.run(X, "refit"),
        }
        if 3e-11 * fits * p**3 + criteria < MOST_SECONDS:
            ways["gram"] = lambda: self.run(X, "gram")
        if 8 * self.n * p <= 2**28 and 5e-10 * self.n * p * min(self.n, p) + criteria < MOST_SECONDS:
            ways["dense"] = lambda: self.run(X.toarray(), "auto")
        return ways


SHAPES = (
    SparseCase(500, 20, 4, n_repeats=5),
    SparseCase(500, 200, 10, n_repeats=2),
    SparseCase(500, 1000, 20),
    SparseCase(500, 3000, 60),
    SparseCase(500, 3000, 6, n_repeats=5),
    SparseCase(1000, 100, 20, n_repeats=5),
    SparseCase(1000, 1000, 10),
    SparseCase(1000, 2000, 100),
    SparseCase(2000, 50, 10, n_repeats=5),
    SparseCase(2000, 200, 4, n_values=5),
    SparseCase(2000, 500, 100),
    SparseCase(2000, 1000, 4),
    SparseCase(5000, 300, 15, n_values=5),
    SparseCase(5000, 1000, 50),
    SparseCase(5000, 3000, 10),
    SparseCase(10000, 200, 40),
    SparseCase(10000, 500, 10, n_folds=5, n_repeats=2),
    SparseCase(20000, 300, 10),
    SparseCase(20000, 1000, 50),
    SparseCase(20000, 3000, 60),
)
OTHERS = (
    SparseCase(300, 20, 5),
    SparseCase(300, 2000, 30, n_repeats=2),
    SparseCase(700, 60, 6, n_repeats=10),
    SparseCase(700, 600, 12),
    SparseCase(1000, 300, 3),
    SparseCase(1500, 30, 3, n_values=5),
    SparseCase(1500, 150, 30, n_folds=5),
    SparseCase(2500, 80, 8, n_values=20),
    SparseCase(3000, 150, 8, n_folds=30),
    SparseCase(3000, 600, 60, n_folds=5),
    SparseCase(3000, 3000, 40, n_folds=5),
    SparseCase(4000, 300, 6, n_repeats=3),
    SparseCase(4000, 400, 20, n_values=3),
    SparseCase(4000, 900, 8, n_folds=5),
    SparseCase(8000, 40, 4, n_repeats=3),
    SparseCase(8000, 150, 15, n_folds=20),
    SparseCase(8000, 700, 20),
    SparseCase(15000, 80, 10, n_values=5),
    SparseCase(15000, 400, 30),
    SparseCase(20000, 20, 4, n_repeats=3),
    SparseCase(20000, 60, 6, n_repeats=5),
    SparseCase(20000, 150, 25, n_values=3),
    SparseCase(20000, 700, 10, n_folds=5),
    SparseCase(20000, 2000, 30, n_folds=5),
)
"""Shapes that the costs are fitted to: the choice is judged on `SHAPES`."""

QUICK = (SparseCase(60, 5, 2, n_folds=4), SparseCase(40, 60, 4, n_folds=4), SparseCase(50, 6, 2, n_folds=3, n_values=2))


@dataclass(frozen=True)
class SparseCell:
    """Seconds of each way, and the route that onefit took by itself."""

    case: SparseCase
    seconds: dict[str, float]
    took: str

    @property
    def ratio(self) -> float:
        """Time of the choice, all that led to it included, over the best."""
        return self.seconds["auto"] / min(self.seconds.values())

    @property
    def is_judged(self) -> bool:
        """Whether it takes long enough for the choice to matter."""
        return self.seconds["auto"] >= JUDGED

    def line(self) -> list[str]:
        """Cells of the table."""
        case, X = self.case, self.case.data[0]
        sizes = (case.n, case.p, f"{100 * X.nnz / X.shape[0] / X.shape[1]:.2g}")
        times = [f"{1e3 * self.seconds[way]:.3g}" if way in self.seconds else "-" for way in HEAD[6:10]]
        verdict = ("pass" if self.ratio <= BAR else "FAIL") if self.is_judged else "short"
        counts = (case.n_folds, case.n_repeats, case.n_values)
        return [*map(str, (*sizes, *counts)), *times, self.took, f"{self.ratio:.2f}", verdict]


def measure_sparse(case: SparseCase, budget: float = BUDGET) -> SparseCell:
    """Every way in turn, until the budget is spent; of each the shortest time."""
    seconds, took, spent, rounds = dict[str, float](), "", 0.0, 0
    ways = case.ways()
    while rounds == 0 or (rounds < MOST_ROUNDS and spent < budget * len(ways)):
        for way, run in ways.items():
            start = time.process_time()
            result = run()
            each = time.process_time() - start
            seconds[way], spent = min(each, seconds.get(way, np.inf)), spent + each
            if way == "auto":
                took = (result.results[0] if hasattr(result, "results") else result).route
        rounds += 1
    return SparseCell(case, seconds, took)


def sparse_report(quick: bool) -> tuple[list[dict[str, Any]], str]:
    """What came out as a record; the table, and the worst choice."""
    shapes: Sequence[SparseCase] = QUICK if quick else SHAPES
    QUICK[0].run(QUICK[0].data[0], "auto")  # what a first call imports and compiles
    cells = [measure_sparse(case, 0.0 if quick else BUDGET) for case in shapes]
    judged = [cell for cell in cells if cell.is_judged]
    worst = max((cell.ratio for cell in judged), default=1.0)
    table = plain(HEAD, [cell.line() for cell in cells], ("took", ""))
    record = {"shapes": len(cells), "judged": len(judged), "worst": worst, "allowed": BAR}
    return [record], (
        f"{table}\n\nMilliseconds of the processor. {len(cells)} sparse shapes, {len(judged)} with at least "
        f"{1e3 * JUDGED:.0f} ms; the worst choice takes {worst:.2f} times the best, {BAR} are allowed: "
        f"{'pass' if worst <= BAR else 'FAIL'}."
    )


def calibrate_sparse(quick: bool) -> str:
    """The tables of `onefit.routes.sparsecosts` for this machine, in the units of `onefit.routes.costs`."""
    cells = [measure_sparse(case, 0.0 if quick else BUDGET) for case in (QUICK if quick else OTHERS)]
    factors, tables = [], {"GRAM": list[tuple[Any, float]](), "REFIT": list[tuple[Any, float]]()}
    for cell in cells:
        case, X = cell.case, cell.case.data[0]
        smoother = SparseSmoother(X, True, case.penalties[:, None])
        sizes = (case.n_folds, case.n_repeats, case.n_values, np.ceil(case.n / case.n_folds))
        shape = Shape(case.n, smoother.width, *sizes)
        tables["REFIT"].append((refit_terms(X, shape, 1, case.steps), cell.seconds["refit"]))
        if "gram" in cell.seconds and 2 * case.p <= case.n:  # else it may take a dense copy
            tables["GRAM"].append((gram_terms(smoother, shape, 1), cell.seconds["gram"]))
        if "dense" in cell.seconds and case.n_values == 1:
            factors.append(min(offer.seconds for offer in offers_of(shape).values()) / cell.seconds["dense"])
    unit = float(np.exp(np.mean(np.log(factors))))
    lines = [f"# times {unit:.2f}, by which the costs of dense designs are longer than the times of this machine"]
    for name, found in tables.items():
        costs, factor = fit_terms([terms for terms, _ in found], [seconds for _, seconds in found], LEAST[name])
        lines.append(f"{name}: Mapping[str, float] = {{  # {len(found)} shapes, within a factor of {factor:.1f}")
        lines += [f'    "{term}": {unit * cost:.3g},' for term, cost in costs.items()]
        lines.append("}")
    return "\n".join(lines)
