"""Results as small HTML tables for notebooks: plain text in, escaped; no library is needed and nothing is loaded.

Colours are the notebook's own, so that the tables are readable on light and dark pages.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np
import pandas as pd

from ..errors import DataError
from ..running.progress import about_text, fine_time_text
from ..typing import AnyArray, FloatArray
from ..vocabulary import SelectionName
from .estimators import short_name
from .method import method_line
from .numbers import interval_text, number_text, percent
from .shown import ShownComparison, ShownCurve, ShownPlan, ShownResult
from .style import loss_label
from .verdicts import baseline_text, calibration_text, favours, other_metrics

__all__ = ["at", "comparison_html", "curve_html", "interval_rows", "plan_html", "result_html", "selections"]

CELL = "padding:.2em .8em;text-align:right;font-variant-numeric:tabular-nums"
NAME = "padding:.2em .8em .2em 0;text-align:left;font-weight:600"
SMALL = "margin:.4em 0 0;font-size:.9em;opacity:.8"
MOST_ROWS = 60  # of a table; what a notebook shows without scrolling for long
RULE_ORDER: tuple[SelectionName, ...] = ("min", "one_se", "gcv", "loo", "reml", "kfold")


def result_html(result: ShownResult) -> str:
    """Table of a `NestedCVResult`: the error, its root and R2 with their intervals, for each output."""
    names = result.output_names or ("",)
    rows: list[Sequence[str]] = []
    for q, name in enumerate(names):
        rows += [[f"{name}: {title}" if name else title, *texts] for title, texts in figures(result, q)]
    rows += [[title, *texts] for title, texts in calibration_text(result)]
    beside = [f"{name}: {text}" if name else text for q, name in enumerate(names) if (text := baseline_text(result, q))]
    level = percent(result.confidence_level)
    notes = [*beside, method_line(result), *(finding.text for finding in result.findings)]
    return _block(
        "Generalization score" if result.greater_is_better else "Generalization error",
        ["", "estimate", f"{level} from", "to"],
        rows,
        notes,
    )


def curve_html(curve: ShownCurve) -> str:
    """Table of an `ErrorCurve`: what each rule selects, and what the data cannot tell from the best value."""
    ends = " to ".join(number_text(value) for value in (curve.values[0], curve.values[-1]))
    rows: list[Sequence[str]] = []
    notes: list[str] = []
    same = curve.indistinguishable()
    for q, name in enumerate(curve.output_names or ("",)):
        label = f"{name}: " if name else ""
        for position, rules in selections(curve, q).items():
            error = [at(part[position], q) for part in (curve.estimate, curve.low, curve.high)]
            edf = "" if curve.edf is None else number_text(at(curve.edf[position], q), 3)
            value = number_text(curve.values[position])
            rows.append([label + ", ".join(rules), value, *interval_text(*error), edf])
        inside = same[q] if curve.output_names else same
        notes.append(
            f"{label}{len(inside)} of {len(curve.values)} values cannot be told from the best one{span(inside)}"
        )
    failed = sum(bool(reason) for reason in curve.reasons)
    notes.append(f"{failed} values could not be fitted, see reasons" if failed else "")
    title = f"{loss_label(curve.loss).capitalize()} along {curve.param_name}, {len(curve.values)} values from {ends}"
    level = percent(curve.confidence_level)
    columns = ["rule", short_name(curve.param_name), loss_label(curve.loss), f"{level} from", "to", "edf"]
    if curve.edf is None:
        columns, rows = columns[:-1], [row[:-1] for row in rows]
    return _block(title, columns, rows, notes)


def plan_html(plan: ShownPlan) -> str:
    """Table of a `Plan`: what each route would cost."""
    rows = [
        [
            f"{route} (taken)" if route == plan.choice else route,
            f"{plan.flops[route]:.3g}" if route in plan.flops else "",
            about_text(plan.seconds[route], fine_time_text) if route in plan.seconds else "",
        ]
        for route in dict.fromkeys([*plan.flops, plan.choice, *plan.seconds])
    ]
    title = f"{plan.n:,} rows, {plan.p:,} columns, {plan.n_folds:,} folds, {plan.repeats_text()}"
    return _block(title, ["route", "flops", "time"], rows, [*plan.notes(), plan.reason])


def comparison_html(comparison: ShownComparison) -> str:
    """Tables of a `Comparison`: the models, and their paired differences."""
    level = percent(comparison.confidence_level)
    columns = ["", "estimate", f"{level} from", "to"]
    models = _block(
        f"{loss_label(comparison.loss).capitalize()} by model", columns, interval_rows(comparison.models), []
    )
    notes = [f"first minus second on the same rows: {favours(comparison.greater_is_better)}"]
    notes += [f"{name} could not be fitted: {reason}" for name, reason in comparison.reasons.items()]
    return models + _block("Paired differences", columns, interval_rows(comparison.differences), notes)


def selections(curve: ShownCurve, output: int = 0) -> dict[int, list[SelectionName]]:
    """Selected positions of an `ErrorCurve` with the rules that select them; scores that do not apply are left out."""
    found: dict[int, list[SelectionName]] = {}
    for rule in RULE_ORDER:
        try:
            value = curve.select(rule)
        except DataError:
            continue
        value = value[output] if curve.output_names else value
        position = next(i for i, each in enumerate(curve.values) if each is value or each == value)
        found.setdefault(position, []).append(rule)
    return found


def figures(result: ShownResult, output: int) -> list[tuple[str, tuple[str, str, str]]]:
    """The error of an output, and its root and R2 if the result has them, with their intervals as text."""
    low, high = result.interval
    shown = [(loss_label(result.loss), interval_text(*(at(part, output) for part in (result.estimate, low, high))))]
    if result.rmse is not None:
        shown.append(("root mean squared error", interval_text(*(at(part, output) for part in result.rmse))))
    if result.r2 is not None:
        shown.append(("R²", interval_text(*(at(part, output) for part in result.r2))))
    return [*shown, *other_metrics(result, output)]


def span(values: AnyArray | list[AnyArray]) -> str:
    """The first and last of a set of numbers, or the names in it, in brackets."""
    if len(values) == 0:
        return ""
    if np.issubdtype(np.asarray(values).dtype, np.number):
        ends = dict.fromkeys(number_text(value) for value in (np.min(values), np.max(values)))
        return f" ({' to '.join(ends)})"
    return f" ({', '.join(map(str, values))})"


def at(value: float | FloatArray, output: int) -> float:
    """The figure of one output as a float."""
    return float(np.atleast_1d(value)[output])


def interval_rows(table: pd.DataFrame) -> list[Sequence[str]]:
    """Label, estimate and ends of each row of a DataFrame of intervals."""
    names = [" − ".join(_pair(key, [str(level) for level in table.index.names])) for key in table.index]
    ends = zip(table["estimate"], table["low"], table["high"], strict=True)
    return [[name, *interval_text(*map(float, each))] for name, each in zip(names, ends, strict=True)]


def _pair(key: object, levels: Sequence[str]) -> list[str]:
    """Parts of a row's label, the output, if there is one, in front."""
    parts = dict(zip(levels, key if isinstance(key, tuple) else (key,), strict=True))
    output = parts.pop("output", None)
    names = [str(part) for part in parts.values()]
    return names if output is None else [f"{output}: {names[0]}", *names[1:]]


def _block(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], notes: Sequence[str]) -> str:
    """A table with its title above and notes below, everything escaped."""
    head = "".join(f'<th scope="col" style="{CELL}">{escape(name)}</th>' for name in columns)
    body = "".join(
        f'<tr><th scope="row" style="{NAME}">{escape(row[0])}</th>'
        + "".join(f'<td style="{CELL}">{escape(cell)}</td>' for cell in row[1:])
        + "</tr>"
        for row in rows[:MOST_ROWS]
    )
    left = len(rows) - MOST_ROWS
    more = [f"{left} more rows: see to_frame()"] if left > 0 else []
    below = "".join(f'<p style="{SMALL}">{escape(note)}</p>' for note in [*more, *notes] if note)
    caption = f'<caption style="text-align:left;font-weight:600;padding:.2em 0">{escape(title)}</caption>'
    return f"<div><table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{below}</div>"
