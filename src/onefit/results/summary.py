"""Results as text: the answer, how it was computed and what was found, with the digits that intervals bear."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ..display.estimators import short_name
from ..display.html import at, interval_rows, selections, span
from ..display.method import method_line
from ..display.numbers import ABSENT_TEXT, Digits, interval_text, number_text
from ..display.style import loss_label
from ..display.verdicts import baseline_text, better_of, calibration_text, other_metrics, rule_reasons
from ..typing import FloatArray
from ..vocabulary import RULE_WORDS

__all__ = ["comparison_text", "curve_line", "curve_text", "summary_text"]

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
        lines += ["", _rules_text(result), *rule_reasons(result.intervals, result.rule)]
    return "\n".join(lines)


def _rules_text(result: Any) -> str:
    """The interval of every rule; figures of an output below each other have the same digits."""
    table, n_outputs = result.intervals, len(result.output_names or ("",))
    shown = table.astype(object)
    for q in range(n_outputs):
        figures = table.iloc[q::n_outputs]
        half = (figures["high"] - figures["low"]).median() / 2
        digits = Digits.of(figures[["estimate", "low", "high"]].to_numpy().ravel(), half)
        shown.iloc[q::n_outputs] = [[digits.text(value) for value in row] for row in figures.to_numpy(float)]
    shown["what it is"] = [RULE_WORDS[key[0] if isinstance(key, tuple) else key] for key in table.index]
    return str(shown.to_string()).replace("−", "-").replace(ABSENT_TEXT, "-")


def comparison_text(comparison: Any) -> str:
    """The models from the best one, their paired differences with what these tell, and how they were computed."""
    models, pairs = comparison.models, comparison.differences
    routes = [*models["route"]]
    rows = [[*figures, route] for figures, route in zip(interval_rows(models), routes, strict=True)]
    lines = [f"{loss_label(comparison.loss)} with {100 * comparison.confidence_level:g}% intervals"]
    lines += _aligned([["model", "estimate", "low", "high", "route"], *rows])
    rows = []
    for figures, (key, row) in zip(interval_rows(pairs), pairs.iterrows(), strict=True):
        names = dict(zip(pairs.index.names, key, strict=True))
        better = better_of(names["first"], names["second"], row["low"], row["high"], comparison.greater_is_better)
        rows.append([*figures, "not told apart" if better is None else f"{better} predicts better"])
    if rows:
        lines += ["", "paired differences (first minus second)"]
        lines += _aligned([["", "estimate", "low", "high", ""], *rows])
    lines += [f"\n{name} could not be fitted: {reason}" for name, reason in comparison.reasons.items()]
    return "\n".join(lines).replace("−", "-")


def curve_text(curve: Any) -> str:
    """The best value with its error, what cannot be told from it, and the simplest within a standard error."""
    level, same = f"{100 * curve.confidence_level:g}%", curve.indistinguishable()
    lines = list[str]()
    for q, output in enumerate((curve.output_names or ("",))[:MOST_SHOWN]):
        chosen = {rule: position for position, rules in selections(curve, q).items() for rule in rules}
        best, simple = chosen["min"], chosen["one_se"]
        estimate, low, high = interval_text(*(at(part[best], q) for part in (curve.estimate, curve.low, curve.high)))
        inside = same[q] if curve.output_names else same
        lines += [
            f"{output + ': ' if output else ''}{loss_label(curve.loss)} {estimate}, {level} interval {low} to {high}, "
            f"at {short_name(curve.param_name)} {number_text(curve.values[best])}",
            f"  {len(inside)} of {len(curve.values)} values{span(inside)} cannot be told from the best",
            f"  the simplest within one standard error is {number_text(curve.values[simple])}",
        ]
    if len(curve.output_names or ()) > MOST_SHOWN:
        lines.append(f"and {len(curve.output_names) - MOST_SHOWN:,} outputs more: to_frame() has a row for each")
    lines.append(method_line(next(result for result in curve.results if result is not None)))
    lines.append("note: The value was chosen on the same rows, so its interval covers less often than it says.")
    return "\n".join(lines).replace("−", "-")


def curve_line(curve: Any) -> str:
    """What a curve is of, and what was selected, in one line."""
    low, high = (_short(value) for value in (curve.values[0], curve.values[-1]))
    rules = ", ".join(f"{rule} {_short(curve.select(rule))}" for rule in ("min", "one_se"))
    failed = sum(bool(reason) for reason in curve.reasons)
    note = f"; {failed} could not be fitted, see reasons" if failed else ""
    return (
        f"<ErrorCurve of {curve.param_name}, {len(curve.values)} values from {low} to {high}; {rules} "
        f"(simpler is {curve.simpler}){note}>"
    )


def _short(value: object) -> str:
    """A number to four digits, anything else as it is."""
    if not isinstance(value, float | np.floating):
        return str(value)
    text = number_text(value)
    return f"{value:.4g}" if "×" in text else text.replace("−", "-")


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows of text below each other: names and last column to the left, figures to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    padded = [
        [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:-1], widths[1:-1], strict=True))]
        for row in rows
    ]
    return ["  ".join([*cells, row[-1]]).rstrip() for cells, row in zip(padded, rows, strict=True)]


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
