"""Figures of all replications -> the rows of the study, with standard errors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import special

from .analyses import Figures, Key
from .settings import SETTINGS, Setting

__all__ = ["COVERAGE", "FACTS", "KEY", "merge", "read", "summarize", "write"]

COVERAGE, FACTS = "coverage.csv", "coverage.json"
KEY = ["setting", "model", "loss", "target", "rule", "folds", "repeats"]
"""Columns that identify a row."""
Vector = npt.NDArray[np.float64]


def summarize(setting: Setting, figures: Figures) -> pd.DataFrame:
    """One row for each key of the setting."""
    keys = setting.rows()
    rows = [_row(figures[:, at], _has_variance(setting, key), setting.level) for at, key in enumerate(keys)]
    named = {"setting": setting.name, "title": setting.title, "level": setting.level}
    return pd.DataFrame([{**named, **key.fields(), **row} for key, row in zip(keys, rows, strict=True)])


def _has_variance(setting: Setting, key: Key) -> bool:
    """Whether the loss has a variance: the square of t noise with 3 degrees of freedom has none."""
    return not (key.loss == "squared_error" and setting.data.facts().get("noise_kind") == "t3")


def _row(figures: Figures, has_variance: bool, level: float) -> dict[str, Any]:
    """Coverage and the rest from (replications, 4); no interval counts as a miss, and is counted on its own, too."""
    truth, estimate, low, high = figures.T
    mean_error = truth.mean()
    width, there = high - low, np.isfinite(high - low)
    shares = {
        "coverage": (low <= truth) & (truth <= high),
        "coverage_mean": (low <= mean_error) & (mean_error <= high),
        "miss_above": low > truth,
        "miss_below": high < truth,
        "no_interval": ~there,
    }
    unknown = np.empty(0)  # means that do not settle, however many data sets there are
    means = {
        "width": width[there] if has_variance else unknown,
        "bias": estimate - truth if has_variance else unknown,
        "true_error": truth,
    }
    row: dict[str, Any] = {"replications": len(truth)}
    for name, values in {**shares, **means}.items():
        row[name], row[f"{name}_se"] = _mean(values.astype(float))
    row["median_width"], row["median_width_se"] = _quantile(width[there], 0.5)
    row["largest_width"] = float(width[there].max()) if there.any() else float("nan")
    row["oracle_width"], row["oracle_width_se"] = _between_quantiles(estimate - truth, level)
    row["normal_width"], row["normal_width_se"] = _normal_width(means["bias"], level)
    row["estimate_sd"] = float(estimate.std(ddof=1)) if len(estimate) > 1 else float("nan")
    return row


def _mean(values: Vector) -> tuple[float, float]:
    """Mean and its standard error."""
    if not len(values):
        return float("nan"), float("nan")
    error = float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else float("nan")
    return float(values.mean()), error


def _quantile(values: Vector, share: float) -> tuple[float, float]:
    """A quantile, and its standard error: half the distance of those that are a standard error of the share apart."""
    if not len(values):
        return float("nan"), float("nan")
    step = np.sqrt(share * (1 - share) / len(values))
    low, middle, high = np.quantile(values, np.clip([share - step, share, share + step], 0, 1))
    return float(middle), float(high - low) / 2


def _between_quantiles(deviations: Vector, level: float) -> tuple[float, float]:
    """Width between the quantiles that leave out as much as the intervals may; they are hardly correlated."""
    tail = (1 - level) / 2
    (low, low_se), (high, high_se) = _quantile(deviations, tail), _quantile(deviations, 1 - tail)
    shared = 2 * tail / (1 - tail) * low_se * high_se
    return high - low, float(np.sqrt(low_se**2 + high_se**2 - shared))


def _normal_width(deviations: Vector, level: float) -> tuple[float, float]:
    """The same from their standard deviation, as if they were normal: the design's oracle width."""
    if len(deviations) < 2:
        return float("nan"), float("nan")
    factor, spread = 2 * float(special.ndtri(0.5 + level / 2)), float(deviations.std(ddof=1))
    squares = np.square(deviations - deviations.mean())
    return factor * spread, factor * float(squares.std(ddof=1)) / np.sqrt(len(squares)) / (2 * spread)


def write(table: pd.DataFrame, output: Path, facts: dict[str, Any]) -> None:
    """The table, and beside it how each setting was made."""
    output.mkdir(parents=True, exist_ok=True)
    table.to_csv(output / COVERAGE, index=False, float_format="%.5g", lineterminator="\n")
    text = json.dumps({"settings": facts}, indent=1)
    (output / FACTS).write_text(text + "\n", encoding="utf-8")


def merge(table: pd.DataFrame, facts: dict[str, Any], output: Path) -> tuple[pd.DataFrame, dict[str, Any]]:
    """The new rows and facts, and those of other settings that are there already, in the order of the settings."""
    known, about = read(output)
    kept = known[~known["setting"].isin(set(table["setting"])) & known["setting"].isin(set(SETTINGS))]
    both = pd.concat([table, kept], ignore_index=True) if len(kept) else table
    order = both["setting"].map({name: at for at, name in enumerate(SETTINGS)})
    rows = both.loc[order.sort_values(kind="stable").index]
    every = {**about, **facts}
    return rows, {name: every[name] for name in SETTINGS if name in every and name in set(rows["setting"])}


def read(output: Path) -> tuple[pd.DataFrame, dict[str, Any]]:
    """The table as it was written, and how each setting was made; both empty if there is none."""
    if not (output / COVERAGE).exists():
        return pd.DataFrame(columns=KEY), {}
    about = json.loads((output / FACTS).read_text(encoding="utf-8"))
    return pd.read_csv(output / COVERAGE, dtype={"folds": str}), about["settings"]
