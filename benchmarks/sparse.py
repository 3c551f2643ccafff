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

from .table import plain

__all__ = ["QUICK", "SHAPES", "SparseCase", "SparseCell", "measure_sparse", "sparse_report"]

BAR = 1.5
JUDGED = 0.02
"""Seconds of the choice from which it is judged: below, calls and checks are most of the time."""

MOST_SECONDS = 4.0
"""A way that should take longer, by its operations, is not run: the others are below a second or two."""

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

    def run(self, X: Any, route: str) -> Any:
        """The result of onefit on a design."""
        keywords = {"n_folds": self.n_folds, "n_repeats": self.n_repeats, "route": route, "random_state": 0}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if self.n_values == 1:
                return onefit.nested_cv(Ridge(1.0), X, self.data[1], **keywords)
            values = np.logspace(-1, 1, self.n_values)
            return onefit.error_curve(Ridge(), X, self.data[1], param_name="alpha", param_range=values, **keywords)

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


def sparse_report(quick: bool) -> str:
    """The table, and the worst choice."""
    shapes: Sequence[SparseCase] = QUICK if quick else SHAPES
    QUICK[0].run(QUICK[0].data[0], "auto")  # what a first call imports and compiles
    cells = [measure_sparse(case, 0.0 if quick else BUDGET) for case in shapes]
    judged = [cell for cell in cells if cell.is_judged]
    worst = max((cell.ratio for cell in judged), default=1.0)
    table = plain(HEAD, [cell.line() for cell in cells], ("took", ""))
    return (
        f"{table}\n\nMilliseconds of the processor. {len(cells)} sparse shapes, {len(judged)} with at least "
        f"{1e3 * JUDGED:.0f} ms; the worst choice takes {worst:.2f} times the best, {BAR} are allowed: "
        f"{'pass' if worst <= BAR else 'FAIL'}."
    )
