"""The part of the pages on trust that is about scores: figures of ``python -m validation.scores``."""

from __future__ import annotations

import pandas as pd

__all__ = ["score_figure", "score_table"]

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
    values = sorted(rows[figure])
    if figure == "width":
        shown, unit = [f"{value:.2f}" for value in values], ""
    elif figure == "datasets":
        shown, unit = [f"{value:.0f}" for value in values], ""
    else:
        shown, unit = [f"{100 * value:.{1 if figure.endswith('_se') else 0}f}" for value in values], "%"
    return f"{shown[0]}{unit}" if shown[0] == shown[-1] else f"{shown[0]} to {shown[-1]}{unit}"
