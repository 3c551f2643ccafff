"""The figures of the design, measured before by other code, beside those of this study."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from .summary import KEY

__all__ = ["compare", "differences", "report"]

REFERENCE = Path(__file__).with_name("reference.csv")
LIMIT = 3.0
ROUNDING = 0.005  # widths were noted to two decimals


def compare(table: pd.DataFrame) -> pd.DataFrame:
    """Both figures, and their difference in combined standard errors, for every row that has a reference.

    The design states no standard errors of the widths: theirs are taken to be as large as ours, and rounding is allowed
    for.
    """
    known = pd.read_csv(REFERENCE, dtype={"folds": str})
    both = known.merge(table, on=KEY, suffixes=("_design", ""))
    both["coverage_z"] = (both["coverage"] - both["coverage_design"]) / np.hypot(both["coverage_se"], both["se"])
    gap = both["width"] - both["width_design"]
    beyond = np.sign(gap) * np.maximum(gap.abs() - ROUNDING, 0)
    both["width_z"] = beyond / (np.sqrt(2) * both["width_se"])
    shown = ["coverage", "coverage_design", "coverage_z", "width", "width_design", "width_z", "stated"]
    return both[KEY + shown]


def differences(table: pd.DataFrame) -> pd.DataFrame:
    """Rows that are off by more than three combined standard errors."""
    both = compare(table)
    return both[(both["coverage_z"].abs() > LIMIT) | (both["width_z"].abs() > LIMIT)]


def report(table: pd.DataFrame) -> str:
    """What is compared, and what is off, in words and figures."""
    both, off = compare(table), differences(table)
    head = (
        f"{len(both)} rows have a reference in {REFERENCE.name}; {len(off)} differ by more than three standard errors."
    )
    if not len(off):
        return head
    lines = [
        f"  {row.setting}, {row.model}, {row.loss}, {row.rule}, K = {row.folds}, {row.repeats} repeats: "
        f"coverage {row.coverage:.3f} against {row.coverage_design:.3f} ({row.coverage_z:+.1f} se), "
        f"width {row.width:.3g} against {row.width_design:.3g} ({row.width_z:+.1f} se)"
        for row in off.itertuples()
    ]
    return "\n".join([head, *lines])
