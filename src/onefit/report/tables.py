"""Tables of the report: cells as text, numbers written for people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ..display.estimators import short_name
from ..display.html import at, figures, selections
from ..display.numbers import Digits, column_texts, interval_text, number_text, percent
from ..display.style import loss_label
from ..display.verdicts import baseline_text, better_of, favours
from ..results.curve import ErrorCurve
from ..vocabulary import RULE_WORDS, SELECTION_WORDS
from .charts import MINUS
from .checks import largest_losses
from .subject import Subject, of_output
from .words import loss_text, title_of

__all__ = [
    "ReportTable",
    "calibration",
    "confusion",
    "curve_values",
    "differences",
    "influential",
    "metrics",
    "models",
    "outputs",
    "rules",
    "selected",
]

MOST_CLASSES = 12
MOST_SHORT = 24
"""Letters of words that stay on one line, such as "cannot be told apart"."""


@dataclass(frozen=True)
class Row:
    """Cells of a row, the first of which is its header; ``strong`` for the one that was chosen."""

    cells: Sequence[str]
    strong: bool = False


@dataclass(frozen=True)
class ReportTable:
    """A table: caption, column headers, rows, and the columns that hold words rather than numbers."""

    caption: str
    columns: Sequence[str]
    rows: Sequence[Row]
    words: frozenset[int] = frozenset()

    def is_long(self, column: int) -> bool:
        """Whether words of a column are sentences, which need room to be broken into lines."""
        return any(len(row.cells[column]) > MOST_SHORT for row in self.rows)


def rules(subject: Subject, output: int) -> ReportTable:
    """The interval of every rule."""
    result = subject.main(output)
    table = of_output(result.intervals, result.output_names, output)
    level = percent(result.confidence_level)
    half = float(np.nanmedian((table["high"] - table["low"]) / 2)) if table["high"].notna().any() else np.nan
    digits = Digits.of(table[["estimate", "low", "high"]].to_numpy().ravel(), half)
    rows = []
    for name, row in table.iterrows():
        error = [_error_text(result.loss, row[key], digits) for key in ("estimate", "low", "high", "standard_error")]
        rows.append(Row([str(name), *error, RULE_WORDS.get(str(name), "")], name == result.rule))
    columns = ["rule", "estimate", f"{level} from", "to", "standard error", "what it is"]
    return ReportTable(f"{title_of(result.loss)} by interval rule", columns, rows, frozenset({5}))


def _error_text(loss: str, value: float, digits: Digits) -> str:
    """An error with the digits of its table; a percentage for zero-one loss."""
    return loss_text(loss, value, value, value)[0] if loss == "zero_one" else digits.text(float(value))


def metrics(subject: Subject, output: int) -> ReportTable:
    """Every metric that was asked for, beside what the best constant has."""
    result = subject.main(output)
    table = of_output(result.metrics, result.output_names, output)
    base = _constant(subject, output)
    rows = [
        Row([loss_label(str(name)), *_with_error(row), number_text(base.get(str(name), np.nan))], at == 0)
        for at, (name, row) in enumerate(table.iterrows())
    ]
    level = percent(result.confidence_level)
    columns = ["metric", "estimate", f"{level} from", "to", "standard error", "best constant"]
    return ReportTable("Metrics from the same fits, as scikit-learn signs them", columns, rows)


def _constant(subject: Subject, output: int) -> dict[str, float]:
    """Estimates of the best constant by metric; empty where there is none."""
    result = subject.main(output)
    if not baseline_text(result, output):
        return {}
    table = of_output(result.baseline.metrics, result.output_names, output)
    return {str(name): float(value) for name, value in table["estimate"].items()}


def _with_error(row: Any) -> list[str]:
    """Estimate, both ends and standard error as text."""
    error = float(row["standard_error"])
    return [*interval_text(row["estimate"], row["low"], row["high"]), number_text(error, 2)]


def calibration(subject: Subject, output: int) -> ReportTable | None:
    """Slope and intercept of the recalibration of held-out probabilities, or the coverage of bands."""
    result = subject.main(output)
    if result.calibration is None:
        return None
    ideal = {"calibration_slope": "1", "calibration_intercept": "0"}
    ideal |= {name: name.removeprefix("band_") + "%" for name in map(str, result.calibration.index) if "band_" in name}
    rows = [
        Row([loss_label(str(name)), *_with_error(row), ideal.get(str(name), "")])
        for name, row in result.calibration.iterrows()
    ]
    level = percent(result.confidence_level)
    columns = ["", "estimate", f"{level} from", "to", "standard error", "ideal"]
    is_of_bands = "band_95" in result.calibration.index
    title = "Observed values inside bands" if is_of_bands else "Logistic recalibration of the held-out probabilities"
    return ReportTable(title, columns, rows)


def outputs(subject: Subject) -> ReportTable:
    """The answer for each output."""
    rows, titles = [], [title for title, _ in figures(subject.main(0), 0)]
    for q, name in enumerate(subject.output_names or ()):
        shown = [text for _, text in figures(subject.main(q), q)]
        rows.append(Row([name, *(f"{estimate} ({low} to {high})" for estimate, low, high in shown)]))
    level = percent(subject.confidence_level)
    return ReportTable(f"Every output, with {level} intervals", ["output", *titles], rows)


def selected(curve: ErrorCurve, chosen: int, output: int) -> ReportTable:
    """What each rule selects on the curve."""
    rows = []
    for position, names in selections(curve, output).items():
        rows += [
            Row([name, *_value_cells(curve, position, output), SELECTION_WORDS[name]], position == chosen)
            for name in names
        ]
    columns = ["rule", *_value_columns(curve), "what it is"]
    return ReportTable(
        f"Selected values of {short_name(curve.param_name)}", columns, rows, frozenset({len(columns) - 1})
    )


def _value_columns(curve: ErrorCurve) -> list[str]:
    edf = [] if curve.edf is None else ["edf"]
    return [short_name(curve.param_name), *edf, f"{title_of(curve.loss).lower()}", "difference from the best"]


def _value_cells(curve: ErrorCurve, position: int, output: int) -> list[str]:
    """Value, edf, error and paired difference at a position of the curve."""
    ends = [at(part[position], output) for part in (curve.estimate, curve.low, curve.high)]
    paired = [at(getattr(curve.difference, key)[position], output) for key in ("estimate", "low", "high")]
    edf = [] if curve.edf is None else [number_text(at(curve.edf[position], output), 3)]
    error, difference = (_with_ends(loss_text(curve.loss, *each)) for each in (ends, paired))
    is_best = position == int(np.atleast_1d(curve.best)[output])
    return [number_text(curve.values[position]), *edf, error, "best" if is_best else difference]


def _with_ends(texts: Sequence[str]) -> str:
    estimate, low, high = texts
    return estimate if low == "–" else f"{estimate} ({low} to {high})"


def curve_values(curve: ErrorCurve, output: int) -> ReportTable:
    """Every value of the curve with its scores, or the reason why it could not be fitted."""
    frame = of_output(curve.to_frame(), curve.output_names, output).reset_index(drop=True)
    scores = [name for name in ("gcv", "loo", "reml", "kfold") if not frame[name].isna().all()]
    same = curve.indistinguishable()
    same = same[output] if curve.output_names else same
    rows = []
    for position, reason in enumerate(curve.reasons):
        cells = _value_cells(curve, position, output)
        cells += [number_text(float(frame[name][position]), 5) for name in scores]
        inside = any(each is value or each == value for value in same for each in [curve.values[position]])
        rows.append(Row([*cells, reason or ("too close to call" if inside else "worse than the best")]))
    columns = [*_value_columns(curve), *scores, "verdict"]
    caption = f"All {len(rows)} values of {short_name(curve.param_name)}"
    return ReportTable(caption, columns, rows, frozenset({len(columns) - 1}))


def models(subject: Subject, output: int) -> ReportTable:
    """The models of a comparison."""
    comparison = subject.comparison
    assert comparison is not None
    best, rows = subject.best_model(output), []
    for name, result in comparison.results.items():
        shown = [f"{e} ({a} to {b})" for _, (e, a, b) in figures(result, output)[1:]]
        error = loss_text(result.loss, *(at(part, output) for part in (result.estimate, *result.interval)))
        rows.append(Row([name, _with_ends(error), *shown, result.route], name == best))
    titles = [title for title, _ in figures(comparison.results[best], output)[1:]]
    columns = ["model", title_of(comparison.loss).lower(), *titles, "route"]
    return ReportTable(
        f"Models, with {percent(comparison.confidence_level)} intervals", columns, rows, frozenset({len(columns) - 1})
    )


def differences(subject: Subject, output: int) -> ReportTable:
    """The paired differences of a comparison."""
    comparison = subject.comparison
    assert comparison is not None
    level, rows = percent(comparison.confidence_level), []
    table: Any = of_output(comparison.differences, comparison.output_names, output)
    for (first, second), row in table.iterrows():
        texts = loss_text(comparison.loss, row["estimate"], row["low"], row["high"])
        better = better_of(first, second, row["low"], row["high"], comparison.greater_is_better)
        verdict = "cannot be told apart" if better is None else f"{better} is better"
        rows.append(Row([f"{first}{MINUS}{second}", *texts, verdict]))
    columns = ["first − second", "difference", f"{level} from", "to", "verdict"]
    caption = f"Paired differences on the same rows; {favours(comparison.greater_is_better)}"
    return ReportTable(caption, columns, rows, frozenset({4}))


def influential(subject: Subject, output: int) -> ReportTable:
    """Rows with the largest held-out losses."""
    losses, predicted, observed = subject.losses(output), subject.predicted(output), subject.observed(output)
    order, shares = largest_losses(losses)
    labels = subject.main(output).heldout.index
    numbers = [column_texts(part[order]) for part in (observed, predicted, losses) if part is not None]
    rows = [
        Row([str(labels[row]), *cells, f"{100 * share:.1f}%"])
        for row, *cells, share in zip(order, *numbers, shares, strict=True)
    ]
    target = [] if observed is None else [subject.request.target or "observed"]
    columns = ["row", *target, "held-out prediction", "loss", "share of the total"]
    return ReportTable(f"Rows with the largest held-out losses; {subject.row_names}", columns, rows)


def confusion(subject: Subject, output: int) -> ReportTable | None:
    """Observed classes by those predicted most often, if they are few and y was given."""
    observed = subject.observed(output)
    if observed is None or not subject.has_classes(output):
        return None
    counts = pd.crosstab(pd.Series(observed, name="observed"), pd.Series(subject.predicted(output), name="predicted"))
    if max(counts.shape) > MOST_CLASSES:
        return None
    rows = [
        Row([str(name), *(f"{count:,}" for count in row)])
        for name, row in zip(counts.index, counts.to_numpy(), strict=True)
    ]
    columns = ["observed", *(f"predicted {name}" for name in counts.columns)]
    return ReportTable("Observed classes by those predicted without the row", columns, rows)
