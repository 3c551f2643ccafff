"""Blocks of time with buffers, beside plain folds of the same rows: ``python -m benchmarks --series``."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy import signal
from sklearn.linear_model import Ridge
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import onefit
from onefit.typing import Estimator, FloatArray

from .bars import Bar
from .measure import best_of

__all__ = ["series_bars"]

MOST, BUFFER = 3.0, 20
"""Times that plain folds take, and steps of a buffer that is given."""


@dataclass(frozen=True)
class Series:
    """Ridge regression on n rows and p columns, with errors that remember."""

    n: int
    p: int
    n_folds: int = 10

    @cached_property
    def X(self) -> FloatArray:
        """Independent columns."""
        return np.random.default_rng(0).normal(size=(self.n, self.p))

    @cached_property
    def y(self) -> FloatArray:
        """Errors are an autoregression at .8."""
        noise = np.random.default_rng(1).normal(size=self.n)
        return np.asarray(self.X.sum(axis=1) + signal.lfilter([1.0], [1.0, -0.8], noise))

    @property
    def label(self) -> str:
        """For the table."""
        return f"n={self.n} p={self.p} K={self.n_folds}"

    def run(self, model: Estimator, cv: object) -> onefit.NestedCVResult:
        """By some folds."""
        return onefit.nested_cv(model, self.X, self.y, cv=cv, progress=False)

    def blocks(self, buffer: float | str) -> onefit.TimeBlocks:
        """Of time."""
        return onefit.TimeBlocks(self.n_folds, buffer=buffer)  # type: ignore[arg-type]


def series_bars(quick: bool, budget: float) -> list[Bar]:
    """All of them."""
    case = Series(300, 4, 5) if quick else Series(10_000, 20)
    found = [*_times(case, budget), *_memory(Series(3000, 4, 5) if quick else Series(200_000, 20))]
    return [replace(bar, counts=not quick) for bar in found]


def _times(case: Series, budget: float) -> Iterator[Bar]:
    """The whole of `nested_cv`, turn by turn, as the machine may not be quiet."""
    models = {"Ridge": Ridge(1.0), "StandardScaler, Ridge": make_pipeline(StandardScaler(), Ridge(1.0))}
    ways: dict[str, object] = {"the buffer from a pilot": case.blocks("auto"), "a given buffer": case.blocks(BUFFER)}
    plain_folds = KFold(case.n_folds)
    for name, model in models.items():
        for way, cv in ways.items():
            rounds = [
                [best_of(lambda cv=each, model=model: case.run(model, cv), budget / 3)[0] for each in (plain_folds, cv)]
                for _ in range(3)
            ]
            plain, blocks = np.min(rounds, axis=0)
            label = f"TimeBlocks, {name}, {case.label}, {way}: time over plain folds"
            yield Bar(label, float(blocks / plain), MOST, at_least=False)


def _memory(case: Series) -> Iterator[Bar]:
    """Buffers copy no rows: what blocks take beside the data hardly depends on them."""
    without, having = (_peak(case, buffer) for buffer in (1, case.n // 20))
    share = (having - without) / case.X.nbytes
    label = f"TimeBlocks, Ridge, {case.label}: memory that a buffer of {case.n // 20} steps takes, over that of X"
    yield Bar(label, share, 0.25, at_least=False)


def _peak(case: Series, buffer: float) -> float:
    """Most bytes that NumPy had at one time, beside the data."""
    assert case.X.size + case.y.size
    tracemalloc.start()
    case.run(Ridge(1.0), case.blocks(buffer))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return float(peak)
