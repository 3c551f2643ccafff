"""The answer in sentences."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd

from ..display.estimators import short_name
from ..display.html import at, span
from ..display.numbers import interval_text, number_text, percent
from ..display.style import loss_label
from ..display.verdicts import article, baseline_text, superlative
from ..results.curve import ErrorCurve
from ..results.nested import NestedCVResult
from .subject import Subject, of_output

__all__ = ["answer", "caveats", "loss_text", "remarks", "title_of", "told_apart"]

MOST_NAMES = 3  # of models in a sentence


def loss_text(loss: str, estimate: float, low: float, high: float) -> tuple[str, str, str]:
    """An error and its ends as text: a percentage for zero-one loss."""
    if loss == "zero_one":
        texts = interval_text(100 * estimate, 100 * low, 100 * high, decimals=1)
        return tuple(text if text == "–" else f"{text}%" for text in texts)  # type: ignore[return-value]
    return interval_text(estimate, low, high)


def capital(text: str) -> str:
    """With a large first letter, the others as they are: AUC stays AUC."""
    return text[:1].upper() + text[1:]


def title_of(loss: str) -> str:
    """Name of the loss as a heading."""
    return capital(loss_label(loss))


def answer(subject: Subject, output: int) -> str:
    """The answer in one sentence."""
    if subject.result is not None:
        return f"Expect {_expected(subject.result, output)}."
    if subject.curve is not None:
        value = number_text(subject.curve.values[subject.position(output)])
        return f"At {short_name(subject.curve.param_name)} = {value}, expect {_expected(subject.main(output), output)}."
    best, n_models = subject.best_model(output), 0 if subject.comparison is None else len(subject.comparison.results)
    expected = _expected(subject.main(output), output)
    equal = _equals(subject, output)
    doubt = f", but is not told apart from {_listed(equal)}" if equal else ""
    what = superlative(subject.loss, subject.greater_is_better)
    return f"Of {n_models} models, {best} has the {what}{doubt}: expect {expected}."


def _expected(result: NestedCVResult, output: int) -> str:
    """The error with its interval, and R2 with its own."""
    figures = [at(part, output) for part in (result.estimate, *result.interval)]
    estimate, low, high = loss_text(result.loss, *figures)
    name = loss_label(result.loss)
    if result.loss == "zero_one":
        start = f"about {estimate} of predictions to be wrong"
    else:
        start = f"{article(name)} {name} of about {estimate}"
    if math.isnan(figures[1]):
        return f"{start}; the rule “{result.rule}” gives no interval here"
    text = f"{start}, {percent(result.confidence_level)} interval {low} to {high}"
    if result.r2 is not None:
        estimate, low, high = interval_text(*(at(part, output) for part in result.r2))
        text += f"; R² {estimate} ({low} to {high})"
    return text


def caveats(subject: Subject, output: int) -> list[tuple[str, str]]:
    """What weakens the answer, each with a title: these count among the things to look at."""
    result, found = subject.main(output), []
    if result.r2 is not None and at(result.r2.low, output) <= 0:
        text = "The interval of R² reaches zero: these data do not show that the model predicts better than the mean."
        found.append(("R²", text))
    text = "The {} was chosen on the same rows that gave the interval, which therefore covers less often than it says. "
    if subject.result is not None:
        return found
    if subject.curve is not None:
        remedy = "A model that is tuned inside every training set, as RidgeCV and LassoCV are, has an honest one."
        return [*found, ("Choice of the value", text.format("value") + remedy)]
    remedy = "Rows that had no part in the choice give an honest one."
    return [*found, ("Choice of the model", text.format("best model") + remedy)]


def remarks(subject: Subject, output: int) -> list[str]:
    """What to read with the answer."""
    said = [subject.request.chosen] if subject.request.chosen not in ("", subject.rule) else []
    beside = baseline_text(subject.main(output), output)
    said += [f"{beside[0].upper()}{beside[1:]}."] if beside else []
    if subject.result is None and subject.curve is not None:
        said.append(_flatness(subject.curve, output))
    if subject.comparison is not None:
        said.append(_contest(subject, output))
    return [*said, *(text for _, text in caveats(subject, output))]


def _flatness(curve: ErrorCurve, output: int) -> str:
    """How many values the data cannot tell from the best."""
    same = curve.indistinguishable()
    same = same[output] if curve.output_names else same
    if len(same) <= 1:
        return "All other values on the curve predict worse."
    return f"These data cannot tell apart {len(same)} of the {len(curve.values)} values{span(same)}."


def told_apart(row: pd.Series[float]) -> bool:
    """Whether the interval of a paired difference leaves out zero; one that is missing tells nothing."""
    return bool(row["low"] > 0 or row["high"] < 0)


def _equals(subject: Subject, output: int) -> list[str]:
    """Models that the paired differences do not tell from the best."""
    comparison = subject.comparison
    assert comparison is not None
    table: Any = of_output(comparison.differences, comparison.output_names, output)
    best = subject.best_model(output)
    return [
        str(second if first == best else first)
        for (first, second), row in table.iterrows()
        if best in (first, second) and not told_apart(row)
    ]


def _listed(names: list[str]) -> str:
    return " or ".join(names) if len(names) <= MOST_NAMES else f"{len(names)} others"


def _contest(subject: Subject, output: int) -> str:
    """Whether the best model can be told from the others."""
    best, equal = subject.best_model(output), _equals(subject, output)
    if not equal:
        return f"The paired differences tell {best} from every other model."
    return f"The paired differences do not tell {best} from {' or '.join(equal)}."
