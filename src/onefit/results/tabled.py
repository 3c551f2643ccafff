"""Figures -> tables that people read: metrics, rules, held-out rows, models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from ..inference.intervals import RULES, Interval
from ..metrics import Shown
from ..metrics.losses import Classes
from ..running.job import Job
from ..typing import FloatArray
from .figured import Figures, HeldOutRows

__all__ = ["COLUMNS", "heldout_table", "interval_table", "metric_table", "signed", "table_of"]

COLUMNS = ("estimate", "low", "high", "standard_error")
"""Of every table of figures."""


def metric_table(figures: Sequence[Figures], output_names: tuple[str, ...] | None, value: int) -> pd.DataFrame:
    """One row a metric (and output): estimate, low, high, standard_error."""
    names = [each.asked.name for each in figures]
    columns = [np.concatenate([each.shown(key)[value] for each in figures]) for key in COLUMNS]
    return table_of(names, columns, output_names, ["metric"])


def interval_table(figures: Figures, output_names: tuple[str, ...] | None, value: int) -> pd.DataFrame:
    """One row a rule (and output); NaN where the rule does not apply to these folds."""
    by_rule = figures.by_rule
    n_outputs = 1 if output_names is None else len(output_names)
    missing = np.full((len(COLUMNS), n_outputs), np.nan)
    rows = [
        np.stack([figures.shown(column, by_rule[name])[value] for column in COLUMNS]) if name in by_rule else missing
        for name in RULES
    ]
    values = np.stack(rows).transpose(0, 2, 1).reshape(-1, len(COLUMNS))
    index: pd.Index[Any] = pd.Index(list(RULES), name="rule")
    if output_names is not None:
        index = pd.MultiIndex.from_product([list(RULES), list(output_names)], names=["rule", "output"])
    table = pd.DataFrame(values, index=index, columns=list(COLUMNS))
    reasons = {name: figures.obstacles.get(name) or by_rule[name].reason_at(value) for name in RULES}
    table.attrs["reasons"] = {name: reason for name, reason in reasons.items() if reason}
    return table


def heldout_table(job: Job, figures: Figures, rows: HeldOutRows, value: int) -> pd.DataFrame:
    """Mean held-out prediction and loss of each row; of classes, the one predicted most often, and probabilities.

    Of numbers their standard deviations, if a metric has asked for them.
    """
    problem = job.problem
    if job.is_streamed:  # rows are not kept
        return pd.DataFrame({"prediction": np.zeros(0), "loss": np.zeros(0)})
    Q, losses = problem.n_outputs, figures.losses[:, value]
    row_value = "loss" if figures.asked.has_row_losses else "influence"
    if job.loss.classes is not None:
        return _heldout_classes(job.loss.classes, problem.y, rows.kept[:, value], losses[:, 0], rows.names, row_value)
    has_std = rows.kept.shape[-1] > Q
    columns: pd.Index[Any] = pd.Index(["prediction", row_value, *(["std"] if has_std else [])])
    if problem.output_names is not None:
        columns = pd.MultiIndex.from_product([list(columns), list(problem.output_names)])
    both = rows.both[:, value]
    if both.shape[1] > Q + losses.shape[1]:
        both = np.hstack([both[:, :Q], losses, rows.kept[:, value, Q:]])
    return pd.DataFrame(np.asfortranarray(both), index=rows.names, columns=columns, copy=False)


def _heldout_classes(
    classes: Classes,
    y: FloatArray,
    kept: FloatArray,
    loss: FloatArray,
    index: pd.Index[Any] | None,
    row_value: str,
) -> pd.DataFrame:
    """The same of classes: ``kept`` are scores (n, Q) and the probabilities behind them, if there are any."""
    Q = y.shape[1]
    voted = pd.Series(classes.labels[classes.decide(kept[:, :Q])], index=index)
    frame = pd.DataFrame({"prediction": voted.where(np.isfinite(loss)), row_value: loss}, index=index)
    for label, column in zip(classes.labels, kept[:, Q:].T, strict=False):
        frame[f"probability_{label}"] = column
    if kept.shape[-1] > Q:
        frame["observed"] = classes.labels[classes.decide(y)]
    return frame


def table_of(
    labels: Sequence[str | tuple[str, str]],
    figures: Sequence[FloatArray],
    outputs: tuple[str, ...] | None,
    names: list[str],
) -> pd.DataFrame:
    """Figures (rows, outputs) by label, and by output if y has columns."""
    keys = [label if isinstance(label, tuple) else (label,) for label in labels]
    if outputs is not None:
        keys = [(*key, output) for key in keys for output in outputs]
        names = [*names, "output"]
    values = np.stack([figure.ravel() for figure in figures], axis=1)
    index = (
        pd.MultiIndex.from_tuples(keys, names=names)
        if len(names) > 1
        else pd.Index([k[0] for k in keys], name=names[0])
    )
    return pd.DataFrame(values, index=index, columns=list(COLUMNS))


def signed(key: str, difference: Interval, shown: Shown) -> FloatArray:
    """A difference of figures as people know them."""
    if key == "standard_error" or not shown.greater_is_better:
        return np.asarray(getattr(difference, key))
    other = {"low": "high", "high": "low"}.get(key, key)
    return -np.asarray(getattr(difference, other))
