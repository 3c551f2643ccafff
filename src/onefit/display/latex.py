"""Tables of results as they stand in a paper: LaTeX tabulars with the rules of booktabs."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from .estimators import short_name
from .html import at
from .numbers import SUPERSCRIPTS, number_text
from .printed import printed_interval, printed_label, printed_metrics, printed_rows
from .shown import ShownComparison, ShownCurve, ShownResult

__all__ = ["comparison_latex", "curve_latex", "result_latex"]

SPECIAL = {character: f"\\{character}" for character in "&%$#_{}"}
SPECIAL |= {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
SPECIAL |= {"²": "$^2$", "−": "$-$"}
"""Characters that LaTeX would take for commands, or does not know."""

KEYS = ("estimate", "low", "high")
PLAIN_DIGITS = {chr(small): chr(large) for large, small in SUPERSCRIPTS.items()}


def result_latex(result: ShownResult) -> str:
    """All metrics with their intervals."""
    rows = [[_escaped(name), *_cells(texts)] for name, texts in printed_metrics(result.metrics)]
    return _tabular(["metric", "estimate", _interval(result.confidence_level)], rows)


def comparison_latex(comparison: ShownComparison) -> str:
    """The models, or each of their metrics, and below them the paired differences."""
    several = any(len(result.metrics.index.unique("metric")) > 1 for result in comparison.results.values())
    models = (
        [
            [_escaped(f"{name}, {metric}"), *_cells(texts)]
            for name, result in comparison.results.items()
            for metric, texts in printed_metrics(result.metrics)
        ]
        if several
        else [[_escaped(row[0]), *_cells(row[1:])] for row in printed_rows(comparison.models, comparison.loss)]
    )
    pairs = [[_escaped(row[0]), *_cells(row[1:])] for row in printed_rows(comparison.differences, comparison.loss)]
    label = _escaped(printed_label(comparison.loss))
    heading = f"\\multicolumn{{3}}{{l}}{{paired difference of {label}, first minus second}}"
    level = _interval(comparison.confidence_level)
    return _tabular(["model", "estimate" if several else label, level], models, [heading], pairs)


def curve_latex(curve: ShownCurve) -> str:
    """Each value with its error and its paired difference from the best one; a dash where it cannot be fitted."""
    outputs = curve.output_names or ("",)
    rows = []
    for q, output in enumerate(outputs):
        best = int(np.atleast_1d(curve.best)[q])
        for v, value in enumerate(curve.values):
            both = [
                _cells(printed_interval(curve.loss, *(at(getattr(part, key)[v], q) for key in KEYS)))
                for part in (curve, curve.difference)
            ]
            shown = number_text(value)
            label = _math(shown) if isinstance(value, int | float | np.number) else _escaped(shown)
            rows.append(
                [*([_escaped(output)] if output else []), label, *both[0], *(["best", ""] if v == best else both[1])]
            )
    level = _interval(curve.confidence_level)
    columns = [_escaped(short_name(curve.param_name)), _escaped(printed_label(curve.loss)), level, "difference", level]
    return _tabular(["output", *columns] if curve.output_names else columns, rows)


def _tabular(columns: Sequence[str], *blocks: Sequence[Sequence[str] | str]) -> str:
    """Blocks of rows below a heading, a line between them; a cell that spans all columns stands alone in its row."""
    n_labels = len(columns) - (len(columns) - 1) // 2 * 2
    lines = [f"\\begin{{tabular}}{{{'l' * n_labels}{'r' * (len(columns) - n_labels)}}}", "\\toprule"]
    for block in ([columns], *blocks):
        lines += [f"{row if isinstance(row, str) else ' & '.join(row)} \\\\" for row in block]
        lines.append("\\midrule")
    return "\n".join([*lines[:-1], "\\bottomrule", "\\end{tabular}"])


def _interval(level: float) -> str:
    return f"{100 * level:g}\\% interval"


def _cells(texts: Sequence[str]) -> list[str]:
    """An estimate, and its interval; one dash for an interval that is not there."""
    estimate, low, high = map(_math, texts)
    return [estimate, "--" if low == high == "--" else f"{low} to {high}"]


def _escaped(text: str) -> str:
    """Text without what LaTeX would take for commands."""
    return "".join(SPECIAL.get(character, character) for character in text)


def _math(number: str) -> str:
    """A number with signs and powers that LaTeX knows; a dash if it is missing."""
    if number == "–":
        return "--"
    plain = number.replace("−", "-").replace(",", "{,}").replace("∞", "\\infty").replace("×", "\\times")
    power = re.sub(
        f"10([{''.join(PLAIN_DIGITS)}]+)",
        lambda found: "10^{" + "".join(PLAIN_DIGITS[small] for small in found[1]) + "}",
        plain,
    )
    return f"${power}$"
