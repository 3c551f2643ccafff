"""How much of the half-width is an accident of the partitions, by rule and number of repeats.

Beside it, how often the paper's rule has no interval, and how often the automatic number of repeats ends too early.
"""

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
from .before import BEFORE

__all__ = ["MONTECARLO", "PARTITIONS", "happens", "montecarlo", "needed", "partitions", "report"]

MONTECARLO, PARTITIONS = "montecarlo.csv", "partitions.csv"
NO_INTERVAL, EARLY_END = "no interval of paper", "auto stops early with bates"
N, P, FOLDS = 100, 20, 10
REPEATS = (1, 2, 5, 10, 20, 50, 100, 200, 500)
SETS, SEEDS = 8, 20
QUICK_REPEATS, QUICK_SETS, QUICK_SEEDS = (1, 2, 4), 2, 3
TARGET = 0.05
SETTLED = 50  # repeats from which the error of every rule falls with their root
MANY_SETS, AUTO_SETS = 500, 100
EARLY = 50  # an automatic end before that is one by accident where some 600 are needed
RULES = tuple(rule for rule in ALL_RULES if rule not in ("naive", BEFORE))
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


def needed(table: pd.DataFrame, rule: str, target: float = TARGET) -> tuple[float, float]:
    """Repeats at which the relative error of a rule reaches the target, and their standard error.

    The error falls with the root of the repeats: a line of slope -1/2 on the log scales through all numbers from 50 on.
    They share data sets, so that their errors are taken to go together, and do not average out.
    """
    usable = (table["rule"] == rule) & (table["no_interval"] < 0.01) & (table["repeats"] >= SETTLED)
    rows = table[usable]
    if rows.empty:
        return float("nan"), float("nan")
    error = rows["relative_error"].to_numpy(float)
    level = np.mean(np.log(error) + np.log(rows["repeats"].to_numpy(float)) / 2)
    repeats = float(np.exp(2 * level)) / target**2
    return repeats, 2 * repeats * float(np.mean(rows["relative_error_se"].to_numpy(float) / error))


def partitions(jobs: int, quick: bool = False) -> pd.DataFrame:
    """Shares of data sets, one seed each: the paper's MSE is negative; bates with automatic repeats ends early."""
    sets = QUICK_SETS if quick else MANY_SETS
    tasks = [(NO_INTERVAL, N, repeats, sets) for repeats in (1, 10, 50)]
    tasks += [(EARLY_END, n, EARLY, sets if quick else AUTO_SETS) for n in (100, 400)]
    found = joblib.Parallel(n_jobs=jobs)(
        joblib.delayed(happens)(*task[:3], data_set) for task in tasks for data_set in range(task[3])
    )
    rows, at = [], 0
    for event, n, repeats, count in tasks:
        share = float(np.mean(found[at : at + count]))
        at += count
        se = float(np.sqrt(share * (1 - share) / count))
        rows.append({"event": event, "n": n, "repeats": repeats, "data_sets": count, "share": share, "share_se": se})
    return pd.DataFrame(rows)


def happens(event: str, n: int, repeats: int, data_set: int) -> bool:
    """Whether it does on one data set; the seeds of data and folds are independent."""
    data, folds = np.random.SeedSequence((FOLDS, n, repeats, data_set)).spawn(2)
    simulation = make_linear(n, P, beta=0.0, random_state=np.random.default_rng(data))
    auto = event == EARLY_END
    with threadpool_limits(limits=1), warnings.catch_warnings():
        warnings.simplefilter("ignore", OneFitWarning)
        result = onefit.nested_cv(
            LinearRegression(),
            simulation.X,
            simulation.y,
            n_folds=FOLDS,
            n_repeats="auto" if auto else repeats,
            interval="bates" if auto else "covariance",
            random_state=np.random.default_rng(folds),
        )
    if auto:
        return bool(result.n_repeats < repeats)
    return bool(result.intervals["low"].isna()["paper"])


def report(table: pd.DataFrame, shares: pd.DataFrame, path: Path | None) -> str:
    """Repeats that each rule needs, and the shares, in words."""
    figures = ", ".join("{} {:.0f} ({:.0f})".format(rule, *needed(table, rule)) for rule in RULES)
    end = f"; {path} is written" if path else ""
    events = "; ".join(
        "{event}, n = {n}, {repeats} repeats: {share:.3f} ({share_se:.3f})".format(
            **{str(name): value for name, value in row.items()}
        )
        for row in shares.to_dict("records")
    )
    target = f"{100 * TARGET:g}%"
    return f"Repeats for a relative error of the half-width of {target} (standard error): {figures}{end}.\n{events}."
