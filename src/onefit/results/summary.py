"""A result as text: the answer, how it was computed and what was found."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ..display.method import method_line
from ..display.numbers import ABSENT_TEXT, interval_text
from ..display.style import loss_label
from ..display.verdicts import baseline_text, calibration_text, other_metrics, rule_reasons
from ..typing import FloatArray
from ..vocabulary import RULE_WORDS

__all__ = ["summary_text"]

MOST_SHOWN = 20
"""Outputs that a summary lists; there may be thousands."""

ABSENT = "not available"


def summary_text(result: Any, rules: bool) -> str:
    """The summary of a result, with the interval of every rule if they are asked for."""
    level = f"{100 * result.confidence_level:g}%"
    lines = list[str]()
    names = result.output_names or ("",)
    for q, name in enumerate(names[:MOST_SHOWN]):
        estimate, low, high = _figures((result.estimate, *result.interval), q)
        label = f"{name}: " if name else ""
        ends = low if low == high == ABSENT else f"{low} to {high}"
        lines.append(f"{label}{loss_label(result.loss)} {estimate}, {level} interval {ends}")
        for title, figure in (("root mean squared error", result.rmse), ("R2", result.r2)):
            if figure is not None:
                lines.append(f"  {title} {_with_ends(*_figures(figure, q))}")
        lines += _indented(other_metrics(result, q))
        lines += [f"  {text}" for text in [baseline_text(result, q).replace("−", "-")] if text]
    if len(names) > MOST_SHOWN:
        lines.append(f"and {len(names) - MOST_SHOWN:,} outputs more: to_frame() has a row for each")
    lines += _indented(calibration_text(result))
    lines.append(method_line(result))
    lines += [f"note: {finding.text}" for finding in result.findings]
    if rules:
        words = [RULE_WORDS[key[0] if isinstance(key, tuple) else key] for key in result.intervals.index]
        table = result.intervals.assign(**{"what it is": words}).to_string(na_rep="-", float_format="{:.4g}".format)
        lines += ["", table, *rule_reasons(result.intervals, result.rule)]
    return "\n".join(lines)


def _figures(values: Iterable[float | FloatArray], output: int) -> list[str]:
    """Estimate and ends with the digits that they have everywhere, with a minus sign as keyboards have it."""
    texts = interval_text(*(float(np.atleast_1d(value)[output]) for value in values))
    return [ABSENT if text == ABSENT_TEXT else text.replace("−", "-") for text in texts]


def _indented(figures: list[tuple[str, tuple[str, str, str]]]) -> list[str]:
    """A line each, with the minus sign of the other figures."""
    return [f"  {name} {_with_ends(*texts)}".replace("−", "-") for name, texts in figures]


def _with_ends(estimate: str, low: str, high: str) -> str:
    """A figure and its interval; of what is not available that is said once."""
    if low != high or low not in (ABSENT, "–"):
        return f"{estimate} ({low} to {high})"
    return ABSENT if estimate == low else f"{estimate} (no interval)"
