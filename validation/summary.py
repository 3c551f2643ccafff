"""Figures of all replications -> the rows of the study, with standard errors."""

from __future__ import annotations

import json
import platform
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import special

from .analyses import LEVEL, Figures
from .settings import SETTINGS, Setting

__all__ = ["COVERAGE", "KEY", "read", "summarize", "write"]

COVERAGE = "coverage.csv"
KEY = ["setting", "model", "loss", "target", "rule", "folds", "repeats"]
"""Columns that identify a row."""


def summarize(setting: Setting, figures: Figures) -> pd.DataFrame:
    """One row for each key of the setting."""
    rows = [_row(figures[:, at]) for at in range(figures.shape[1])]
    keys = [{"setting": setting.name, "title": setting.title, **key.fields()} for key in setting.rows()]
    return pd.DataFrame([{**key, **row} for key, row in zip(keys, rows, strict=True)])


def _row(figures: Figures) -> dict[str, Any]:
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
    means = {"width": width[there], "bias": estimate - truth, "true_error": truth}
    row: dict[str, Any] = {"replications": len(truth)}
    for name, values in {**shares, **means}.items():
        row[name], row[f"{name}_se"] = _mean(values.astype(float))
    row["oracle_width"] = 2 * float(special.ndtri(0.5 + LEVEL / 2)) * float(np.std(estimate - truth, ddof=1))
    return row


def _mean(values: npt.NDArray[np.float64]) -> tuple[float, float]:
    """Mean and its standard error."""
    if not len(values):
        return float("nan"), float("nan")
    error = float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else float("nan")
    return float(values.mean()), error


def write(table: pd.DataFrame, output: Path, command: str) -> None:
    """The table, and beside it how it was made."""
    output.mkdir(parents=True, exist_ok=True)
    table.to_csv(output / COVERAGE, index=False, float_format="%.5g", lineterminator="\n")
    counts = {str(name): int(rows["replications"].iloc[0]) for name, rows in table.groupby("setting", sort=False)}
    about = {
        "command": command,
        "confidence_level": LEVEL,
        "versions": {
            "python": platform.python_version(),
            **{name: version(name) for name in ("onefit", "numpy", "scipy", "scikit-learn")},
        },
        "settings": {name: _about(SETTINGS[name], counts[name]) for name in counts},
    }
    (output / "coverage.json").write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")


def _about(setting: Setting, replications: int) -> dict[str, Any]:
    return {
        "replications": replications,
        "data": {"maker": f"onefit.datasets.{setting.data.maker}", **dict(setting.data.arguments)},
        "analyses": [repr(analysis) for analysis in setting.analyses],
        "digest": setting.digest,
    }


def read(output: Path) -> pd.DataFrame:
    """The table as it was written."""
    return pd.read_csv(output / COVERAGE, dtype={"folds": str})
