"""The figures of the design, measured before by other code, beside those of this study."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from .summary import KEY

__all__ = ["compare", "differences", "known", "listing", "report"]

REFERENCE = Path(__file__).with_name("reference.csv")
LIMIT = 3.0
INDEPENDENT = "yes"
"""In column ``stated``: the setting is the design's; elsewhere it says what the design leaves open."""


def known() -> pd.DataFrame:
    """The figures of the design: each is one (``low`` = ``high``), or the range that is stated there."""
    return pd.read_csv(REFERENCE, dtype={"folds": str}, keep_default_na=False, na_values={"se": [""]})


def compare(table: pd.DataFrame) -> pd.DataFrame:
    """Both figures, and their distance in combined standard errors, for every figure that has a reference.

    The design states no standard errors of the widths: theirs are taken to be as large as ours. What its rounding, or
    its range, leaves open is no distance.
    """
    rows = known().merge(_with_relative_widths(table), on=KEY, suffixes=("_design", ""))
    rows["value"] = [row[row["quantity"]] for _, row in rows.iterrows()]
    ours = np.array([row[f"{row['quantity']}_se"] for _, row in rows.iterrows()], dtype=float)
    low, high = rows["low"] - rows["rounding"], rows["high"] + rows["rounding"]
    gap = np.maximum(rows["value"] - high, 0) - np.maximum(low - rows["value"], 0)
    rows["z"] = gap / np.hypot(ours, rows["se"].fillna(pd.Series(ours, index=rows.index)))
    return rows[[*KEY, "title", "quantity", "value", "low", "high", "z", "stated", "why"]]


def _with_relative_widths(table: pd.DataFrame) -> pd.DataFrame:
    """Width of a difference relative to the mean width of the two errors, which are rows of the same setting."""
    width = {(row["setting"], row["model"]): row["width"] for _, row in table.iterrows() if row["folds"] == "n"}

    def relative(row: pd.Series) -> float:
        first, minus, second = row["model"].partition(" minus ")
        family = first.partition(", ")[0]
        pair = [width.get((row["setting"], name), np.nan) for name in (first, f"{family}, {second}")]
        return float(row["width"] / np.mean(pair)) if minus else np.nan

    values = table.apply(relative, axis=1) if len(table) else np.nan
    return table.assign(relative_width=values, relative_width_se=values * table["width_se"] / table["width"])


def differences(table: pd.DataFrame) -> pd.DataFrame:
    """Figures that are off by more than three combined standard errors."""
    both = compare(table)
    return both[both["z"].abs() > LIMIT]


def _figures(both: pd.DataFrame) -> str:
    rows = both.drop_duplicates(KEY)
    same = rows["stated"] == INDEPENDENT
    return (
        f"{len(both)} figures of {len(rows)} rows have a reference in {REFERENCE.name}, {int(same.sum())} of the "
        f"rows with the design's own setting"
    )


def _line(row: pd.Series) -> str:
    """A difference in words and figures."""
    design = f"{row['low']:.3g}" if row["low"] == row["high"] else f"{row['low']:.3g} to {row['high']:.3g}"
    where = f"{row['model']}, {row['rule']}, K = {row['folds']}, {row['repeats']} repeats"
    what = {"width": "mean width", "normal_width": "oracle width", "relative_width": "relative width"}
    name = what.get(row["quantity"], row["quantity"])
    return f"{row['setting']}, {where}: {name} {row['value']:.3g} against {design} ({row['z']:+.1f} se)"


def report(table: pd.DataFrame) -> str:
    """What is compared, and what is off, in words and figures."""
    off = differences(table)
    head = f"{_figures(compare(table))}; {len(off)} differ by more than three standard errors."
    return "\n".join([head, *(f"  {_line(row)}: {row['why'] or 'not explained'}" for _, row in off.iterrows())])


def listing(table: pd.DataFrame) -> str:
    """The same for the page: a list by reason."""
    off = differences(table)
    head = f"{_figures(compare(table))}. {len(off)} differ by more than three combined standard errors"
    if off.empty:
        return f"{head}."
    parts = [f"{head}:", ""]
    for why, rows in off.groupby("why", sort=False):
        text = str(why) or "not explained"
        parts.append(f"- {text[0].upper()}{text[1:]}:")
        parts += [f"  - {_line(row)}" for _, row in rows.iterrows()]
    return "\n".join(parts)
