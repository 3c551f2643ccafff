"""The shapes that are timed, and their data."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

__all__ = ["CASES", "Case"]


@dataclass(frozen=True)
class Case:
    """One shape: n rows, p columns, K folds, L repeats, of which a refit loop runs ``refit_repeats``."""

    n: int
    p: int
    n_folds: int
    n_repeats: int
    refit_repeats: int
    lam: float = 1.0

    @cached_property
    def X(self) -> NDArray[np.float64]:
        """Gaussian columns that are not centred, so that a wrong intercept shows."""
        return 1.0 + np.random.default_rng(self.n + self.p).standard_normal((self.n, self.p))

    @cached_property
    def y(self) -> NDArray[np.float64]:
        """A tenth of the columns count; unit noise."""
        signal = self.X[:, : max(1, self.p // 10)].sum(axis=1)
        return signal + np.random.default_rng(1).standard_normal(self.n)

    @cached_property
    def folds(self) -> NDArray[np.intp]:
        """Random partitions, (repeats, rows)."""
        dealt = np.tile(np.arange(self.n) % self.n_folds, (self.n_repeats, 1))
        return np.random.default_rng(2).permuted(dealt, axis=1)

    def quick(self) -> Case:
        """The same shape with a tenth of the repeats and one refitted."""
        return Case(self.n, self.p, self.n_folds, max(2, self.n_repeats // 10), 1, self.lam)


CASES = (
    Case(n=500, p=20, n_folds=10, n_repeats=200, refit_repeats=20),
    Case(n=2000, p=20, n_folds=10, n_repeats=20, refit_repeats=5),
    Case(n=500, p=20, n_folds=100, n_repeats=10, refit_repeats=1),
    Case(n=500, p=200, n_folds=50, n_repeats=10, refit_repeats=1),
    Case(n=200, p=300, n_folds=10, n_repeats=20, refit_repeats=5),
)
