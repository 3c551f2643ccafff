"""Results on standard output, what goes with them on standard error; plain where it is not a terminal."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, SupportsFloat, cast

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ..display.estimators import short_name
from ..display.method import method_line
from ..display.numbers import Digits, number_text, seems_zero
from ..display.style import loss_label
from ..display.verdicts import article, baseline_text, better_of, rule_reasons, superlative
from ..vocabulary import RULE_WORDS
from .texts import as_options, clean

if TYPE_CHECKING:
    import pandas as pd

    from ..results.comparison import Comparison
    from ..results.curve import ErrorCurve
    from ..results.nested import NestedCVResult
    from ..typing import AnyArray
    from .answering import Answer

__all__ = ["sentence", "show_answer", "show_comparison", "show_result"]

PLAIN_WIDTH, WIDE = 160, 130
"""Columns where there is no terminal, and those from which a table has room for words beside its figures."""

LOWERED = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")
SMALL = 1e-7
"""From which values of a parameter are written without a power of ten."""

ABSENT = "-"
"""For a rule that does not apply."""


class _Console(Console):
    """A console that leaves it to the command what happens when nobody reads any more."""

    def on_broken_pipe(self) -> None:
        """Go on as Python does, and not to exit code 1."""
        raise BrokenPipeError


def _console() -> Console:
    is_terminal = sys.stdout.isatty()
    return _Console(
        file=sys.stdout,
        width=None if is_terminal else PLAIN_WIDTH,
        highlight=False,
        markup=False,
        emoji=False,
        force_terminal=is_terminal,
    )


def numbers(estimate: SupportsFloat, low: SupportsFloat, high: SupportsFloat) -> list[str]:
    """An estimate and its ends, with as many decimals as their spread bears."""
    floats = [float(value) for value in (estimate, low, high)]
    finite = [value for value in floats if math.isfinite(value)]
    spread = (max(finite) - min(finite)) / 2 if finite else math.nan
    digits = Digits.of(finite, spread)
    texts = [_number(value, digits.decimals) for value in floats]
    return [f"{floats[0]:.2g}", *texts[1:]] if seems_zero(floats[0], floats[1], floats[2], digits) else texts


def _number(value: float, decimals: int | None) -> str:
    if not math.isfinite(value):
        return ABSENT if math.isnan(value) else str(value)
    return f"{value:.4g}" if decimals is None else f"{round(value, decimals) + 0.0:,.{decimals}f}"  # never -0


def _error(error: float, beside: Sequence[str]) -> str:
    """A standard error to four digits, with a power of ten if the figures beside it have one."""
    return _number(error, None if any("e" in text for text in beside) else Digits.of([error]).decimals)


def _errors(errors: Iterable[float], beside: Sequence[str]) -> list[str]:
    """Standard errors of a column with the same decimals, or a power of ten as the figures beside them."""
    values = [float(error) for error in errors]
    decimals = None if any("e" in text for text in beside) else Digits.of(values).decimals
    return [_number(value, decimals) for value in values]


def _typed(text: str) -> str:
    """A text as it is typed on any keyboard, since not every terminal has minus signs and raised digits."""
    text = re.sub("([0-9.]+) × 10([⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)", lambda m: f"{m[1]}e{int(m[2].translate(LOWERED)):+03d}", text)
    return text.replace("−", "-")


def sentence(result: NestedCVResult) -> str:
    """The answer: "Expect a squared error of about 3,215, 95% interval 2,874 to 3,597; R2 0.48 (0.42 to 0.54)"."""
    estimate, low, high = numbers(result.estimate, *result.interval)
    name = loss_label(result.loss)
    text = f"Expect {article(name)} {name} of about {estimate}, {_level(result)} interval {low} to {high}"
    if result.r2 is not None:
        estimate, low, high = numbers(*result.r2)
        text += f"; R2 {estimate} ({low} to {high})"
    return text


def _level(result: NestedCVResult) -> str:
    return f"{100 * result.confidence_level:g}%"


def show_answer(answer: Answer) -> None:
    """Everything that was found, but for what was warned of."""
    console = _console()
    if answer.result is not None:
        _show_result(console, answer.result, answer.warnings)
    if answer.curve is not None:
        _show_curve(console, answer.curve, answer.warnings, is_whole=answer.result is None)
    if answer.comparison is not None:
        _show_comparison(console, answer.comparison, answer.warnings)


def show_result(result: NestedCVResult) -> None:
    """The answer, the interval of every rule, and how it was computed."""
    _show_result(_console(), result, [])


def show_comparison(comparison: Comparison) -> None:
    """Which model is best, and the paired differences."""
    _show_comparison(_console(), comparison, [])


def _show_result(console: Console, result: NestedCVResult, warned: Sequence[str]) -> None:
    console.print(Text(sentence(result), style="bold"), soft_wrap=True)
    if result.rmse is not None:
        estimate, low, high = numbers(*result.rmse)
        console.print(f"Root mean squared error {estimate} ({low} to {high})", soft_wrap=True)
    _show_beside(console, result)
    _show_metrics(console, result)
    console.print()
    _show_rules(console, result)
    _show_method(console, result, warned)


def _show_rules(console: Console, result: NestedCVResult) -> None:
    """The interval of every rule with what the rule is, beside it where there is room, and why it has none."""
    is_wide = console.width >= WIDE
    table = _table("rule", "estimate", "low", "high", "standard error", *([""] if is_wide else []))
    shown = [_rule_figures(result, row) for _, row in result.intervals.iterrows()]
    errors = _errors(result.intervals["standard_error"], [text for figures in shown for text in figures])
    for rule, figures, error in zip(result.intervals.index, shown, errors, strict=True):
        mark = f"{rule} *" if rule == result.rule else str(rule)
        words = [RULE_WORDS[str(rule)]] if is_wide else []
        table.add_row(mark, *figures, error, *words)
    console.print(table)
    if not is_wide:
        console.print("; ".join(f"{rule}: {words}" for rule, words in RULE_WORDS.items()), style="dim")
    for line in rule_reasons(result.intervals, result.rule):  # of that one findings speak
        console.print(f"{ABSENT} for {clean(as_options(line))}", soft_wrap=True)


def _rule_figures(result: NestedCVResult, row: pd.Series[float]) -> list[str]:
    """Figures of a rule; without an interval, to say how many digits to write, as those of the rule that was chosen."""
    if math.isfinite(row["low"]) or math.isfinite(row["high"]):
        return numbers(row["estimate"], row["low"], row["high"])
    low, high = map(float, result.interval)
    spread = (high - low) / 2
    return [_number(float(row["estimate"]), Digits.of([float(row["estimate"])], spread).decimals), ABSENT, ABSENT]


def _show_beside(console: Console, result: NestedCVResult) -> None:
    """The best constant, and whether the model beats it."""
    text = baseline_text(result)
    if text:
        console.print(_typed(text[0].upper() + text[1:]), soft_wrap=True)


def _show_metrics(console: Console, result: NestedCVResult) -> None:
    """All metrics, if several were asked for, and the calibration of probabilities."""
    tables = [result.metrics if len(result.metrics) > 1 else None, result.calibration]
    for title, frame in zip(("metric", "calibration"), tables, strict=True):
        if frame is None:
            continue
        console.print()
        table = _table(title, "estimate", "low", "high", "standard error")
        for name, row in frame.iterrows():
            error = float(row["standard_error"])
            figures = numbers(row["estimate"], row["low"], row["high"])
            label = str(name).removeprefix("calibration_")
            table.add_row(clean(label), *figures, _error(error, figures))
        console.print(table)


def _show_method(console: Console, result: NestedCVResult, warned: Sequence[str], whose: str = "") -> None:
    """How it was computed, and what was found that no warning has said; ``whose`` it is, of several."""
    console.print()
    console.print(f"{whose}{method_line(result)}", soft_wrap=True)
    console.print(f"Why this route: {clean(as_options(result.route_reason))}", soft_wrap=True)
    for finding in result.findings:
        if finding.text not in warned:
            console.print(f"Note: {clean(as_options(finding.text))}", soft_wrap=True)


def _show_curve(console: Console, curve: ErrorCurve, warned: Sequence[str], is_whole: bool) -> None:
    if not is_whole:
        console.print()
    best = curve.results[int(curve.best)]
    assert best is not None
    name = short_name(curve.param_name)
    where = f"{name} = {_value(curve.select('min'))}"
    text = sentence(best)
    console.print(Text(f"At {where}, {text[0].lower()}{text[1:]}", style="bold"), soft_wrap=True)
    _show_beside(console, best)
    simple, same = _value(curve.select("one_se")), curve.indistinguishable()
    console.print(f"The simplest value within one standard error is {simple}; {_same(curve, same)}", soft_wrap=True)
    console.print(
        "The value was chosen on the same rows, so its interval covers less often than it says.", soft_wrap=True
    )
    if not is_whole:
        return
    console.print()
    table = _table(name, "estimate", "low", "high", "from the best", "low", "high")
    difference = curve.difference
    for v, value in enumerate(_values(curve.values)):
        own = numbers(curve.estimate[v], curve.low[v], curve.high[v])
        paired = numbers(difference.estimate[v], difference.low[v], difference.high[v])
        table.add_row(value, *own, *paired)
    console.print(table)
    for value, reason in zip(curve.values, curve.reasons, strict=True):
        if reason:
            console.print(f"{_value(value)} cannot be fitted: {clean(as_options(reason))}", soft_wrap=True)
    if len(best.metrics) > 1 or best.calibration is not None:
        _show_metrics(console, best)
    _show_method(console, best, warned)


def _same(curve: ErrorCurve, same: AnyArray | list[AnyArray]) -> str:
    if len(same) <= 1:
        return "every other value predicts worse."
    values = [_value(value) for value in same]
    span = f"{values[0]} to {values[-1]}" if len(values) > 3 else ", ".join(values)
    return f"{len(same)} of {len(curve.values)} values ({span}) cannot be told from the best."


def _show_comparison(console: Console, comparison: Comparison, warned: Sequence[str]) -> None:
    models = comparison.models
    best = str(models.index[0])
    text = sentence(comparison.results[best])
    console.print(Text(f"{_verdict(comparison)}: {text[0].lower()}{text[1:]}", style="bold"), soft_wrap=True)
    _show_beside(console, comparison.results[best])
    console.print(
        "The best was chosen on the same rows, so its interval covers less often than it says.", soft_wrap=True
    )
    console.print()
    table = _table("model", "estimate", "low", "high", "route")
    for name, row in models.iterrows():
        table.add_row(clean(name), *numbers(row["estimate"], row["low"], row["high"]), str(row["route"]))
    console.print(table)
    console.print()
    table = _table("paired difference", "estimate", "low", "high", "")
    for pair, row in comparison.differences.iterrows():
        first, second = cast("tuple[str, str]", pair)
        figures = numbers(row["estimate"], row["low"], row["high"])
        better = better_of(first, second, row["low"], row["high"], comparison.greater_is_better)
        verdict = "not told apart" if better is None else f"{better} predicts better"
        table.add_row(clean(f"{first} - {second}"), *figures, clean(verdict))
    console.print(table)
    if len(comparison.results[best].metrics) > 1:
        console.print()
        _show_all_metrics(console, comparison)
    _show_method(console, comparison.results[best], warned, f"{clean(best)}: ")


def _show_all_metrics(console: Console, comparison: Comparison) -> None:
    """Every metric of every model."""
    table = _table("model", "metric", "estimate", "low", "high")
    for model, result in comparison.results.items():
        for name, row in result.metrics.iterrows():
            table.add_row(clean(model), str(name), *numbers(row["estimate"], row["low"], row["high"]))
    console.print(table)


def _verdict(comparison: Comparison) -> str:
    """Which model is best, and from which it is not told apart."""
    best, same = str(comparison.models.index[0]), []
    for pair, row in comparison.differences.iterrows():
        first, second = cast("tuple[str, str]", pair)
        if best in (first, second) and not (row["low"] > 0 or row["high"] < 0):
            same.append(second if first == best else first)
    if not same:
        return clean(f"{best} predicts best")
    what = superlative(comparison.loss, comparison.greater_is_better)
    return clean(f"{best} has the {what}, but is not told apart from {' and '.join(same)}")


def _table(*headers: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for at, header in enumerate(headers):
        table.add_column(clean(header), justify="left" if at == 0 or not header else "right", overflow="fold")
    return table


def _value(value: object) -> str:
    """A value of a parameter: a number to four digits."""
    if not isinstance(value, float | np.floating):
        return clean(value)
    number = float(value)
    if SMALL <= abs(number) < 1:
        return np.format_float_positional(number, precision=4, unique=False, fractional=False, trim="-")
    return _typed(number_text(value))


def _values(values: Iterable[object]) -> list[str]:
    """Values of a parameter below each other: numbers all with a power of ten, or none."""
    shown = [(value, _value(value)) for value in values]
    if not any("e" in text for value, text in shown if isinstance(value, float)):
        return [text for _, text in shown]
    return [f"{value:.3e}" if isinstance(value, float) else text for value, text in shown]
