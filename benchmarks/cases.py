"""The shapes that are timed, and their data."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

__all__ = ["CURVES", "LEAVE_TWO_OUT", "OURS", "PAPER", "QUICK", "SCALED", "SECTIONS", "TALL", "TUNED", "Case", "alphas"]


def alphas(n_values: int) -> NDArray[np.float64]:
    """Values of the penalty: one, or a path over six powers of ten."""
    return np.ones(1) if n_values == 1 else np.logspace(-2, 4, n_values)


@dataclass(frozen=True)
class Case:
    """One question: n rows, p columns, K folds, L repeats, and a number of penalties.

    K = n leaves two rows out, once. A tuned case chooses among its penalties in every training set, and a scaled one
    standardizes its columns there.
    """

    n: int
    p: int
    n_folds: int
    n_repeats: int = 1
    n_values: int = 1
    tuned: bool = False
    scaled: bool = False

    @cached_property
    def X(self) -> NDArray[np.float64]:
        """Gaussian columns that are not centred, so that a wrong intercept shows."""
        X = np.random.default_rng(self.n + self.p).standard_normal((self.n, self.p))
        X += 1.0
        return X

    @cached_property
    def y(self) -> NDArray[np.float64]:
        """A tenth of the columns count; unit noise."""
        signal = self.X[:, : max(1, self.p // 10)].sum(axis=1)
        return signal + np.random.default_rng(1).standard_normal(self.n)

    @cached_property
    def folds(self) -> NDArray[np.intp]:
        """Random partitions, (repeats, rows); each row its own fold if two are left out."""
        if self.leaves_two_out:
            return np.arange(self.n)[None]
        dealt = np.tile(np.arange(self.n) % self.n_folds, (self.n_repeats, 1))
        return np.random.default_rng(2).permuted(dealt, axis=1)

    @property
    def leaves_two_out(self) -> bool:
        """Whether a fold is a row."""
        return self.n_folds == self.n

    @property
    def alphas(self) -> NDArray[np.float64]:
        """Values of the penalty."""
        return alphas(self.n_values)

    @property
    def checked(self) -> int:
        """Number of the value at which methods are compared."""
        return self.n_values // 2

    def estimator(self, last: Any) -> Any:
        """A ridge regression as the case has it: behind a scaler, if its columns are scaled."""
        return make_pipeline(StandardScaler(), last) if self.scaled else last

    def with_repeats(self, n_repeats: int) -> Case:
        """The same shape with other repeats."""
        return replace(self, n_repeats=n_repeats)


def _paper() -> Iterable[Case]:
    """The paper's Figures 1 and 2: folds of five rows."""
    for n in (100, 200, 400, 800, 1600, 3200):
        for p in (5, 10, 20, 40):
            yield Case(n, p, n // 5, 10 if n <= 800 else 2)


PAPER = tuple(_paper())
OURS = (
    Case(500, 20, 10, 200),
    Case(500, 20, 100, 10),
    Case(500, 200, 50, 10),
    Case(200, 300, 10, 20),
    Case(300, 500, 10, 20),
    Case(2000, 20, 10, 50),
    Case(2000, 200, 10, 20),
    Case(2000, 200, 400, 1),
    Case(10_000, 50, 10, 10),
    Case(10_000, 500, 10, 2),
    Case(100_000, 20, 10, 5),
    Case(100_000, 100, 10, 2),
    Case(100_000, 500, 10, 1),
)
CURVES = (
    Case(500, 20, 10, 50, 50),
    Case(1000, 40, 10, 200, 50),
    Case(1000, 40, 200, 2, 50),
    Case(500, 200, 50, 2, 50),
    Case(200, 500, 10, 10, 50),
    Case(2000, 200, 10, 5, 50),
    Case(10_000, 50, 10, 5, 50),
    Case(10_000, 500, 10, 1, 50),
    Case(100_000, 50, 10, 1, 50),
)
LEAVE_TWO_OUT = (Case(500, 20, 500), Case(2000, 20, 2000), Case(5000, 20, 5000), Case(2000, 40, 2000, 1, 50))
TUNED = (Case(500, 20, 10, 3, 20, tuned=True), Case(2000, 50, 10, 2, 50, tuned=True))
SCALED = tuple(
    Case(n, p, 10, 2, *values, scaled=True)
    for n, p in ((200, 400), (300, 2000), (100, 5000))
    for values in ((1,), (20, True), (20,))
)
TALL = tuple(Case(200_000, 30, 10, 2, n_values, scaled=True) for n_values in (1, 20))
SECTIONS = {
    "nested_cv, the paper's shapes (K = n/5)": PAPER,
    "nested_cv, ours": OURS,
    "error_curve": CURVES,
    "leave two out (K = n)": LEAVE_TWO_OUT,
    "tuned in every training set": TUNED,
    "wide, scaled in every training set (one value, tuned, curve)": SCALED,
    "tall, scaled in every training set (one value, curve)": TALL,
}
QUICK = {
    "nested_cv, the paper's shapes (K = n/5)": (Case(100, 5, 20, 2), Case(200, 20, 40, 2)),
    "nested_cv, ours": (Case(500, 20, 10, 20), Case(60, 90, 10, 2)),
    "error_curve": (Case(200, 10, 10, 4, 10),),
    "leave two out (K = n)": (Case(120, 5, 120), Case(120, 5, 120, 1, 6)),
    "tuned in every training set": (Case(80, 4, 5, 1, 6, tuned=True),),
    "wide, scaled in every training set (one value, tuned, curve)": (
        Case(30, 50, 5, scaled=True),
        Case(30, 50, 5, 1, 6, tuned=True, scaled=True),
        Case(30, 50, 5, 1, 6, scaled=True),
    ),
    "tall, scaled in every training set (one value, curve)": (Case(300, 4, 5, scaled=True),),
}
