"""The part of docs/trust.md that is about rows that follow one another: figures of ``python -m validation.serial``."""

from __future__ import annotations

from fnmatch import fnmatch

import pandas as pd

__all__ = ["ranks_table", "serial_figure", "serial_table"]

METHODS = {
    ("elsewhere", "TimeBlocks|SpaceBlocks"): "blocks",
    ("elsewhere", "random folds"): "random folds",
    ("elsewhere", "TimeSeriesSplit, s/sqrt(5)"): "TimeSeriesSplit",
    ("elsewhere", "means of 10 blocks, t"): "block means",
    ("gaps", "Gaps"): "gaps",
    ("ahead", "RollingOrigin"): "ahead",
    ("difference", "TimeBlocks"): "difference",
}


def serial_figure(text: str, table: pd.DataFrame) -> str:
    """Coverage in percent of the rows that are asked for, or another column by ``figure=``; a range of several.

    ``figure=mean`` is the mean coverage, ``largest_se`` the largest standard error.
    """
    pairs = (part.partition("=") for part in text.split(";") if part.strip())
    asked = {name.strip(): value.strip() for name, _, value in pairs}
    figure = asked.pop("figure", "coverage")
    rows = table
    for name, value in asked.items():
        choices = value.split("|")
        rows = rows[[any(fnmatch(str(each), choice) for choice in choices) for each in rows[name]]]
    if rows.empty:
        raise ValueError(f"no row of the study of series is asked for by {text!r}; correct the template.")
    if figure == "mean":
        return f"{100 * rows['coverage'].mean():.0f}%"
    if figure == "largest_se":
        return f"{100 * rows['coverage_se'].max():.0f}%"
    values = sorted(rows[figure])
    if figure == "datasets":
        shown = [f"{value:.0f}" for value in values]
    elif figure == "width":
        shown = [f"{value:.2f}" for value in values]
    else:
        shown = [f"{100 * value:.0f}" for value in values]
    unit = "" if figure in ("datasets", "width") else "%"
    return f"{shown[0]}{unit}" if shown[0] == shown[-1] else f"{shown[0]} to {shown[-1]}{unit}"


def serial_table(table: pd.DataFrame) -> str:
    """Coverage by method, and width and bias of the blocks, a line for each setting, model and number of rows."""
    names = list(METHODS.values())
    head = ["errors / columns", "model", "rows", *names, "width", "bias", "data sets"]
    lines = [" | ".join(head), " | ".join(["---"] * len(head))]
    for (setting, model, n), part in table.groupby(["setting", "model", "n"], sort=False):
        cells = []
        for target, methods in METHODS:
            found = part[(part["target"] == target) & part["method"].isin(methods.split("|"))]
            cells.append("" if found.empty else f"{100 * found['coverage'].iloc[0]:.0f}%")
        blocks = part[part["method"].isin(["TimeBlocks", "SpaceBlocks"]) & (part["target"] == "elsewhere")].iloc[0]
        more = [f"{blocks['width']:.2f}", f"{100 * blocks['bias']:+.0f}%", str(int(blocks["datasets"]))]
        lines.append(" | ".join([str(setting), str(model), str(n), *cells, *more]))
    return "\n".join(f"| {line} |" for line in lines)


def ranks_table(table: pd.DataFrame) -> str:
    """Coverage of areas under the ROC curve by blocks and by random folds, a line for each setting."""
    head = [
        "errors / columns",
        "rows",
        "blocks",
        "covered",
        "width",
        "by random folds",
        "data sets",
        "a block lacks a class",
    ]
    lines = [" | ".join(head), " | ".join(["---"] * len(head))]
    for row in table.to_dict(orient="records"):
        shares = [f"{100 * row[name]:.0f}%" for name in ("blocks_coverage", "random_coverage")]
        counts = [str(row[name]) for name in ("datasets", "undefined")]
        cells = [row["setting"], row["n"], row["n_blocks"], shares[0], f"{row['blocks_width']:.2f}", shares[1], *counts]
        lines.append(" | ".join(map(str, cells)))
    return "\n".join(f"| {line} |" for line in lines)
