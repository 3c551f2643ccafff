"""Which way is better, in words: summary, notebook, report, plots and command line say the same."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pandas as pd

from ..errors import OneFitError
from .numbers import interval_text, number_text
from .shown import ShownResult
from .style import loss_label

__all__ = [
    "article",
    "baseline_text",
    "better_of",
    "calibration_text",
    "favours",
    "other_metrics",
    "rule_reasons",
    "superlative",
]


def article(name: str) -> str:
    """The indefinite article of a metric's name."""
    return "an" if name[0].lower() in "aeiou" or name[:2] in ("F1", "R²", "R2") else "a"


def better_of(first: str, second: str, low: float, high: float, greater_is_better: bool) -> str | None:
    """The better of two by the interval of "first minus second"; None if it does not tell."""
    if low > 0:
        return first if greater_is_better else second
    if high < 0:
        return second if greater_is_better else first
    return None


def favours(greater_is_better: bool) -> str:
    """Which differences favour the first of two."""
    return f"{'positive' if greater_is_better else 'negative'} favours the first"


def superlative(loss: str, greater_is_better: bool) -> str:
    """What the best one has: the smallest error, or the largest score."""
    return f"largest {loss_label(loss)}" if greater_is_better else "smallest error"


def other_metrics(result: ShownResult, output: int) -> list[tuple[str, tuple[str, str, str]]]:
    """Name, and estimate with both ends, of every metric beside the first."""
    table = result.metrics
    if result.output_names is not None:
        table = pd.DataFrame(table.xs(result.output_names[output], level="output"))
    return _texts(table.iloc[1:])


def calibration_text(result: ShownResult) -> list[tuple[str, tuple[str, str, str]]]:
    """Name, and estimate with both ends, of slope and intercept, if there are probabilities of two classes."""
    return [] if result.calibration is None else _texts(result.calibration.dropna(subset="estimate"))


def _texts(table: pd.DataFrame) -> list[tuple[str, tuple[str, str, str]]]:
    return [
        (loss_label(str(name)), interval_text(row["estimate"], row["low"], row["high"]))
        for name, row in table.iterrows()
    ]


def rule_reasons(intervals: pd.DataFrame, chosen: str = "") -> list[str]:
    """Which rules have no interval and why, those with the same reason together; of ``chosen`` findings speak."""
    alike: dict[str, list[str]] = {}
    for rule, reason in intervals.attrs.get("reasons", {}).items():
        if rule != chosen:
            alike.setdefault(reason, []).append(str(rule))
    return [f"{', '.join(rules)}: {reason}" for reason, rules in alike.items()]


def baseline_text(result: ShownResult, output: int = 0) -> str:
    """What the best constant prediction has, and whether the model is shown to be better; empty if that is unknown."""
    if result.standard is None and "baseline" not in result.__dict__:
        return ""  # it was pickled before anybody asked
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what there is to say of the rows is said of the model
        try:
            base = float(np.atleast_1d(result.baseline.estimate)[output])
        except OneFitError:  # a metric may be undefined for a constant
            return ""
        skill, low, high = (float(np.atleast_1d(part)[output]) for part in result.skill)
    start = f"the best constant has {number_text(base)}"
    worth, least, most = interval_text(skill, low, high)
    if not math.isnan(skill) and (math.isnan(low) or math.isnan(high)):
        return f"{start}; skill {worth}"
    if not math.isnan(skill):
        verdict = "better than it" if low > 0 else ("worse than it" if high < 0 else "not shown to be better than it")
        return f"{start}; skill {worth} ({least} to {most}): {verdict}"
    ends = [float(np.atleast_1d(end)[output]) for end in result.interval]
    if math.isnan(base) or any(map(math.isnan, ends)):
        return start
    worst, best = ends if result.greater_is_better else ends[::-1]
    sign = 1 if result.greater_is_better else -1
    if sign * worst > sign * base:
        return f"{start}: the whole interval is better"
    return f"{start}: the whole interval is worse" if sign * best < sign * base else f"{start}: within the interval"
