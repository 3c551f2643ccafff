"""The part of the pages on trust that is about scores: figures of ``python -m validation.scores`` and ``.ranks``."""

from __future__ import annotations

import pandas as pd

__all__ = ["rank_figure", "score_figure", "score_table"]

NAMES = {
    "roc_auc": "AUC",
    "neg_log_loss": "log loss",
    "neg_brier_score": "Brier score",
    "balanced_accuracy": "balanced accuracy",
    "f1": "F1",
    "average_precision": "average precision",
    "all - half": "difference of AUC, all columns and half of them",
    "half - half": "difference of AUC, two equal models",
    "forest - logistic": "difference of AUC, forest and logistic",
    "r2": "R²",
    "neg_root_mean_squared_error": "root mean squared error",
}
MODELS = {"logistic": "logistic", "pair": "logistic", "forest": "forest", "ridge": "ridge"}
OTHERS = ("naive", "bootstrap", "delong")
FACTOR = "root b"
"""What onefit does, among the rules of the study of ranks."""


def score_table(table: pd.DataFrame) -> str:
    """Coverage of each rule, a line for each score, model and share of positives."""
    head = ["score", "model", "positives", "data sets", "onefit", "width", "naive", "bootstrap", "DeLong"]
    lines = [" | ".join(head), " | ".join(["---"] * 3 + ["---:"] * 6)]
    for metric, name in NAMES.items():
        for (model, share), part in table[table["metric"] == metric].groupby(["model", "share"], sort=False):
            by_rule = part.set_index("rule")
            ours = by_rule.loc["onefit"]
            others = [f"{by_rule.loc[rule, 'coverage']:.3f}" if rule in by_rule.index else "" for rule in OTHERS]
            positives = f"{100 * share:.0f}%" if share else ""
            figures = [f"{ours['coverage']:.3f} ({1000 * ours['coverage_se']:.0f})", f"{ours['width']:.2f}"]
            count = str(int(ours["datasets"]))
            lines.append(" | ".join([name, MODELS[str(model)], positives, count, *figures, *others]))
    return "\n".join(f"| {line} |" for line in lines)


def score_figure(text: str, table: pd.DataFrame) -> str:
    """Coverage in percent of onefit's rows that are asked for, a range of several; or of another rule, or column."""
    pairs = (part.partition("=") for part in text.split(";") if part.strip())
    asked = {"rule": "onefit", **{name.strip(): value.strip() for name, _, value in pairs}}
    figure, rows = asked.pop("figure", "coverage"), table
    for name, value in asked.items():
        rows = rows[rows[name].astype(str).isin(value.split("|"))]
    if rows.empty:
        raise ValueError(f"no row of the study of scores is asked for by {text!r}; correct the template.")
    if figure == "largest_se":
        return f"{100 * rows['coverage_se'].max():.1f}%"
    values = sorted(rows[figure])
    if figure == "width":
        shown, unit = [f"{value:.2f}" for value in values], ""
    elif figure == "datasets":
        shown, unit = [f"{value:.0f}" for value in values], ""
    else:
        shown, unit = [f"{100 * value:.{1 if figure.endswith('_se') else 0}f}" for value in values], "%"
    return f"{shown[0]}{unit}" if shown[0] == shown[-1] else f"{shown[0]} to {shown[-1]}{unit}"


def rank_figure(text: str, table: pd.DataFrame) -> str:
    """Of the study of ranks: ``kind`` one model or difference, ``folds``; range of coverages, or another ``figure=``.

    ``mean`` is the mean coverage, ``width`` the range of mean widths by kind and folds.
    """
    asked = {
        name.strip(): value.strip() for name, _, value in (part.partition("=") for part in text.split(";") if part)
    }
    figure = asked.pop("figure", "coverage")
    rows = table[table["rule"] == FACTOR]
    is_difference = rows["figure"].str.contains(" - ")
    rows = rows.assign(kind=is_difference.map({True: "difference", False: "one model"}))
    for name, value in asked.items():
        rows = rows[rows[name].astype(str) == value]
    if rows.empty:
        raise ValueError(f"no row of the study of ranks is asked for by {text!r}; correct the template.")
    if figure in ("seed", "datasets"):
        return f"{rows[figure].iloc[0]:{',' if figure == 'datasets' else ''}}"
    if figure == "settings":
        return str(len(rows[["folds", "positives", "negatives", "signal"]].drop_duplicates()))
    if figure == "mean":
        return f"{100 * rows['coverage'].mean():.0f}%"
    if figure == "width":
        means = rows.groupby(["kind", "folds"])["width"].mean()
        return f"{means.min():.2f} to {means.max():.2f}"
    if figure == "largest_se":
        return f"{100 * rows['coverage_se'].max():.0f}%"
    return f"{100 * rows['coverage'].min():.0f} to {100 * rows['coverage'].max():.0f}%"
