"""How much of the half-width is an accident of the partitions, by rule and number of repeats."""

from __future__ import annotations

import warnings
from pathlib import Path

import joblib
import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.linear_model import LinearRegression
from threadpoolctl import threadpool_limits

import onefit
from onefit.datasets import make_linear
from onefit.errors import OneFitWarning

from .analyses import ALL_RULES, LEVEL

__all__ = ["MONTECARLO", "montecarlo", "needed", "report"]

MONTECARLO = "montecarlo.csv"
N, P, FOLDS = 100, 20, 10
REPEATS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
SETS, SEEDS = 12, 20
QUICK_REPEATS, QUICK_SETS, QUICK_SEEDS = (1, 2, 4), 2, 3
TARGET = 0.05
RULES = tuple(rule for rule in ALL_RULES if rule != "naive")
"""The naive rule uses one partition, whatever the number of repeats."""


def half_widths(data_set: int, repeats: int, seeds: int) -> npt.NDArray[np.float64]:
    """Half-widths (seeds, rules) on one data set with ``repeats`` partitions, drawn anew for each seed."""
    simulation = make_linear(N, P, beta=0.0, random_state=data_set)
    widths = []
    with threadpool_limits(limits=1), warnings.catch_warnings():
        warnings.simplefilter("ignore", OneFitWarning)
        for seed in range(seeds):
            result = onefit.nested_cv(
                LinearRegression(),
                simulation.X,
                simulation.y,
                n_folds=FOLDS,
                n_repeats=repeats,
                confidence_level=LEVEL,
                random_state=np.random.default_rng([data_set, repeats, seed]),
            )
            table = result.intervals.loc[list(RULES)]
            widths.append(((table["high"] - table["low"]) / 2).to_numpy(float))
    return np.stack(widths)


def montecarlo(jobs: int, quick: bool = False) -> pd.DataFrame:
    """By rule and number of repeats: root mean square over data sets of the relative deviation between seeds."""
    grid, sets, seeds = (QUICK_REPEATS, QUICK_SETS, QUICK_SEEDS) if quick else (REPEATS, SETS, SEEDS)
    tasks = [(data_set, repeats) for repeats in reversed(grid) for data_set in range(sets)]
    found = joblib.Parallel(n_jobs=jobs)(joblib.delayed(half_widths)(*task, seeds) for task in tasks)
    by_repeats = {
        repeats: np.stack([w for w, (_, r) in zip(found, tasks, strict=True) if r == repeats]) for repeats in grid
    }
    return pd.DataFrame(
        [_row(repeats, rule, by_repeats[repeats][..., at]) for at, rule in enumerate(RULES) for repeats in grid]
    )


def _row(repeats: int, rule: str, widths: npt.NDArray[np.float64]) -> dict[str, object]:
    """Figures of (data sets, seeds); the paper's rule has no interval where its MSE is negative."""
    there = np.isfinite(widths)
    usable = widths[there.sum(axis=1) >= 2]
    squares = np.nanvar(usable, axis=1, ddof=1) / np.nanmean(usable, axis=1) ** 2
    error = float(np.sqrt(squares.mean())) if len(squares) else float("nan")
    spread = float(squares.std(ddof=1) / np.sqrt(len(squares)) / (2 * error)) if len(squares) > 1 else float("nan")
    return {
        "rule": rule,
        "folds": FOLDS,
        "repeats": repeats,
        "data_sets": len(usable),
        "seeds": widths.shape[1],
        "relative_error": error,
        "relative_error_se": spread,
        "no_interval": float(1 - there.mean()),
    }


def needed(table: pd.DataFrame, rule: str, target: float = TARGET) -> float:
    """Repeats at which the relative error of a rule reaches the target, by its decay with the root of the repeats."""
    rows = table[(table["rule"] == rule) & (table["no_interval"] < 0.01)]
    if rows.empty:
        return float("nan")  # no number of repeats gave intervals for all data sets
    error, repeats = rows["relative_error"].to_numpy(float), rows["repeats"].to_numpy(float)
    nearest = int(np.abs(np.log(error / target)).argmin())
    return float(repeats[nearest] * (error[nearest] / target) ** 2)


def report(table: pd.DataFrame, path: Path | None) -> str:
    """Repeats that each rule needs, in words."""
    figures = ", ".join(f"{rule} {needed(table, rule):.0f}" for rule in RULES)
    end = f"; {path} is written" if path else ""
    return f"Repeats for a relative error of the half-width of {100 * TARGET:g}%: {figures}{end}."
