"""Figures as papers print them: a Brier score of 0.045 where scikit-learn, so that greater is better, has -0.045."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from .html import interval_rows
from .numbers import interval_text
from .style import loss_label

__all__ = ["printed_interval", "printed_label", "printed_metrics", "printed_rows"]

NEGATIVE = " (negative)"
"""How the labels of scores end that are losses with their sign turned; names that users give say nothing of signs."""


def printed_label(metric: str) -> str:
    """Name of a metric, without the sign that it has in scikit-learn."""
    return loss_label(metric).removesuffix(NEGATIVE)


def printed_interval(metric: str, estimate: float, low: float, high: float) -> tuple[str, str, str]:
    """A figure of a metric, or a difference of two, and its ends."""
    is_turned = loss_label(metric).endswith(NEGATIVE)
    return interval_text(*((-estimate, -high, -low) if is_turned else (estimate, low, high)))


def printed_metrics(table: pd.DataFrame) -> list[tuple[str, tuple[str, str, str]]]:
    """Name, and estimate with both ends, of each row of a table of metrics; outputs keep the names they were given."""
    texts = []
    for key, row in table.iterrows():
        metric, *output = key if isinstance(key, tuple) else (key,)
        name = " of ".join([printed_label(str(metric)), *map(str, output)])
        texts.append((name, printed_interval(str(metric), row["estimate"], row["low"], row["high"])))
    return texts


def printed_rows(table: pd.DataFrame, metric: str) -> list[Sequence[str]]:
    """Label, estimate and ends of each row of a table of models, or of their differences, by one metric."""
    if not loss_label(metric).endswith(NEGATIVE):
        return interval_rows(table)
    return interval_rows(table.assign(estimate=-table["estimate"], low=-table["high"], high=-table["low"]))
