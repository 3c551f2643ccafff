"""Searches inside every training set, beside refits of the same search."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.linear_model import Ridge, RidgeCV
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

__all__ = ["QUICK_SEARCHES", "SEARCHES", "SearchCase"]

ALPHAS = np.logspace(-2, 4, 20)


@dataclass(frozen=True)
class SearchCase:
    """A search among 20 penalties by five folds, its rows and columns, and the bar."""

    name: str
    search: Any
    n: int
    width: int
    bar: float

    @property
    def label(self) -> str:
        """What is searched, for people."""
        return f"{self.name} of {len(ALPHAS)} alphas, cv=5, {self.n:,} rows, {self.width} columns"

    def data(self) -> tuple[pd.DataFrame, Any]:
        """Columns of which all matter a little."""
        rng = np.random.default_rng(0)
        X = rng.normal(size=(self.n, self.width))
        return pd.DataFrame(X), X @ rng.normal(size=self.width) / 10 + rng.normal(size=self.n)

    def pipeline(self, is_sparse: bool) -> Any:
        """The search; nothing in it is sparse."""
        return self.search


GRID = GridSearchCV(make_pipeline(StandardScaler(), Ridge()), {"ridge__alpha": ALPHAS}, cv=5)
SEARCHES = (
    SearchCase("GridSearchCV over scaling and Ridge", GRID, 1000, 20, 100),
    SearchCase("RidgeCV", RidgeCV(ALPHAS, cv=5), 1000, 20, 100),
)
QUICK_SEARCHES = (SearchCase("GridSearchCV over scaling and Ridge", GRID, 40, 2, 1),)
