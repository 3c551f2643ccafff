"""The parts of the report for one output: texts, charts and tables, in the order in which they are read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..display.estimators import short_name
from ..display.html import at, selections, span
from ..display.numbers import number_text, percent
from ..display.style import loss_label
from ..display.verdicts import rule_reasons
from ..results.curve import ErrorCurve, spans_decades
from ..results.nested import NestedCVResult
from ..results.pictured import probabilities_of
from ..results.placed import placed
from ..typing import AnyArray, FloatArray
from ..vocabulary import SELECTION_WORDS
from . import tables
from .charts import MINUS, Figure, forest, predictions
from .checks import Check, checks
from .curve_chart import CurveData, curve_chart
from .place_charts import place_chart
from .probability_charts import calibration_chart, roc_chart
from .subject import Subject, of_output
from .tables import ReportTable
from .words import title_of

__all__ = ["Chart", "Section", "sections"]


@dataclass(frozen=True)
class Chart:
    """A figure, its name in the page, and what it shows for those who cannot see it."""

    name: str
    figure: Figure
    label: str


@dataclass(frozen=True)
class Section:
    """A heading with paragraphs, charts, checks and tables; ``folded`` tables open on demand."""

    name: str
    title: str
    paragraphs: Sequence[str] = ()
    charts: Sequence[Chart] = ()
    checks: Sequence[Check] = ()
    tables: Sequence[ReportTable] = ()
    folded: Sequence[ReportTable] = ()


def sections(subject: Subject, output: int) -> list[Section]:
    """The sections, the one that answers the question first."""
    found = [_rules(subject, output)]
    if subject.curve is not None:
        found.insert(0 if subject.result is None else 1, _curve(subject, subject.curve, output))
    if subject.comparison is not None:
        found.insert(
            0 if subject.result is None and subject.curve is None else len(found), _comparison(subject, output)
        )
    return [*found, *_scores(subject, output), *_order(subject, output), _diagnostics(subject, output)]


def _order(subject: Subject, output: int) -> list[Section]:
    """Losses along time or on the map, if the folds are for rows that follow one another."""
    result = subject.main(output)
    found = placed(result, subject.losses(output))
    if found is None or result.dependence is None:
        return []
    label = loss_label(subject.loss) if subject.has_losses(output) else "influence of a row"
    if found.is_map:
        title, words = "On the map", "Points in colour are the tenth of the largest held-out losses; rings are one "
        words += "block and, in colour, what is dropped with it."
    else:
        title, words = "Along time", "Points are held-out losses of rows, lines the means of blocks."
        words += " Upright lines bound one block and what is dropped with it." if found.buffer > 0 else ""
    texts = [f"Meant is {result.dependence.meaning}: {found.line}.", words]
    return [Section("order", title, texts, [Chart(f"chart-order-{output}", place_chart(found, label), words)])]


def _scores(subject: Subject, output: int) -> list[Section]:
    """All metrics, and pictures of held-out probabilities; none if there is but one metric of predictions."""
    result = subject.main(output)
    calibration, found = tables.calibration(subject, output), probabilities_of(result)
    if len(result.metrics) <= subject.n_outputs and calibration is None:
        return []
    shown = [tables.metrics(subject, output), *([] if calibration is None else [calibration])]
    texts = [f"Of the held-out predictions{whose}." for whose in [_whose(subject, output)] if whose]
    charts = []
    if found is not None:
        level = percent(found.level)
        texts.append(
            "A slope below one means probabilities that are too extreme, an intercept below zero ones that are too "
            f"large for {found.label}. Points are shares of rows in bins of the mean held-out probability, with "
            f"Wilson's {level} bars. The band of the ROC curve holds the fitted models fixed and resamples "
            f"{'rows' if found.groups is None else 'groups'}; the interval of the AUC counts both."
        )
        reliable = calibration_chart(found.bins(), found.line(), found.label)
        charts = [
            Chart(
                f"chart-calibration-{output}", reliable, f"Observed shares of {found.label} by held-out probability."
            ),
            Chart(f"chart-roc-{output}", roc_chart(found.roc(), found.label), f"ROC curve with its {level} band."),
        ]
    return [Section("scores", "Scores and probabilities", texts, charts, tables=shown)]


def _rules(subject: Subject, output: int) -> Section:
    """The interval of every rule, side by side."""
    result = subject.main(output)
    table = of_output(result.intervals, result.output_names, output)
    whose = _whose(subject, output)
    chart = forest(
        [str(name) for name in table.index],
        *(table[key].to_numpy(float) for key in ("estimate", "low", "high")),
        emphasised=np.asarray(table.index == result.rule),
        loss=result.loss,
        title=title_of(result.loss),
    )
    texts = [
        f"The same held-out errors{whose}, read by six rules. The answer above is that of “{result.rule}”.",
        *rule_reasons(result.intervals, result.rule),  # of which the diagnostics speak
    ]
    level = percent(result.confidence_level)
    label = f"{title_of(result.loss)} with its {level} interval by each rule; the table below has the numbers."
    charts = [Chart(f"chart-rules-{output}", chart, label)]
    return Section("rules", "The interval by rule", texts, charts, tables=[tables.rules(subject, output)])


def _whose(subject: Subject, output: int) -> str:
    """Which of several results is meant."""
    if subject.result is not None:
        return ""
    if subject.curve is not None:
        value = number_text(subject.curve.values[subject.position(output)])
        return f" at {short_name(subject.curve.param_name)} = {value}"
    return f" of {subject.best_model(output)}"


def _curve(subject: Subject, curve: ErrorCurve, output: int) -> Section:
    """The error along a parameter, what is selected, and what cannot be told apart."""
    same = curve.indistinguishable()
    same = same[output] if curve.output_names else same
    position = subject.position(output)
    name = short_name(curve.param_name)
    chosen = f"{name} = {number_text(curve.values[position])}"
    edf = (
        ""
        if curve.edf is None
        else f" with {number_text(at(curve.edf[position], output), 3)} effective degrees of freedom"
    )
    would = "chooses" if subject.follows_curve else "would choose"
    texts = [
        f"The rule “{subject.rule}” ({SELECTION_WORDS[subject.rule]}) {would} {chosen}{edf}.",
        f"These data cannot tell apart {len(same)} of the {len(curve.values)} values{span(same)}: the interval of "
        "their paired difference from the best one reaches zero (lower panel). The best one was itself chosen on these "
        "rows, so read the set as “no evidence against these”.",
    ]
    failed = sum(bool(reason) for reason in curve.reasons)
    if failed:
        texts.append(
            f"{failed} of {len(curve.values)} values could not be fitted; the table of all values has the reasons."
        )
    numeric = np.issubdtype(np.asarray(curve.values).dtype, np.number)
    figure = curve_chart(_curve_data(curve, same, output), log=bool(numeric and spans_decades(curve.values)))
    label = (
        f"Above, {loss_label(curve.loss)} along {name} with its {percent(curve.confidence_level)} band; "
        "below, the paired difference from the best value. The table of all values has the numbers."
    )
    return Section(
        "curve",
        f"The {'score' if curve.greater_is_better else 'error'} along {name}",
        texts,
        [Chart(f"chart-curve-{output}", figure, label)],
        tables=[tables.selected(curve, position if subject.follows_curve else -1, output)],
        folded=[tables.curve_values(curve, output)],
    )


def _curve_data(curve: ErrorCurve, same: AnyArray | list[AnyArray], output: int) -> CurveData:
    """Arrays of one output."""

    def column(array: FloatArray) -> FloatArray:
        return np.asarray(array, dtype=float).reshape(len(array), -1)[:, output]

    return CurveData(
        list(curve.values),
        (column(curve.estimate), column(curve.low), column(curve.high)),
        (column(curve.difference.estimate), column(curve.difference.low), column(curve.difference.high)),
        None if curve.edf is None else column(curve.edf),
        np.array([any(each is value or each == value for value in same) for each in curve.values], dtype=bool),
        selections(curve, output),
        short_name(curve.param_name),
        curve.loss,
        curve.greater_is_better,
    )


def _comparison(subject: Subject, output: int) -> Section:
    """The models, and their paired differences."""
    comparison = subject.comparison
    assert comparison is not None
    models = of_output(comparison.models, comparison.output_names, output)
    pairs = of_output(comparison.differences, comparison.output_names, output)
    keys = ("estimate", "low", "high")
    level = percent(comparison.confidence_level)
    error = forest(
        [str(name) for name in models.index],
        *(models[key].to_numpy(float) for key in keys),
        emphasised=np.asarray(models.index == subject.best_model(output)),
        loss=comparison.loss,
        title=title_of(comparison.loss),
    )
    apart = ((pairs["low"] > 0) | (pairs["high"] < 0)).to_numpy()
    change = forest(
        [f"{first}{MINUS}{second}" for first, second in pairs.index],
        *(pairs[key].to_numpy(float) for key in keys),
        emphasised=apart,
        loss=comparison.loss,
        title="difference",
        zero=True,
    )
    texts = [
        "All models were held to the same rows and folds. Whether two of them differ is a question about their paired "
        "differences, in whose intervals what both models share cancels: models with overlapping intervals may "
        "well differ. Pairs in colour do.",
        *_other_folds(subject),
    ]
    charts = [
        Chart(f"chart-models-{output}", error, f"{title_of(comparison.loss)} of each model with its {level} interval."),
        Chart(f"chart-pairs-{output}", change, f"Paired differences between the models with their {level} intervals."),
    ]
    both = [tables.models(subject, output), tables.differences(subject, output)]
    return Section("comparison", "The models compared", texts, charts, tables=both)


def _other_folds(subject: Subject) -> list[str]:
    """Why the figures of a model are not those of the answer, where these were computed with other folds or repeats."""
    comparison, own = subject.comparison, subject.result
    first = None if comparison is None else next(iter(comparison.results.values()))
    if own is None or first is None or (own.n_folds, own.n_repeats) == (first.n_folds, first.n_repeats):
        return []
    return [
        f"They were compared with {_folds(first)}, and the answer above is of {_folds(own)}, so that figures of the "
        "same model may differ a little."
    ]


def _folds(result: NestedCVResult) -> str:
    return f"{result.n_folds:,} folds and {result.n_repeats:,} repeat{'s' if result.n_repeats > 1 else ''}"


def _diagnostics(subject: Subject, output: int) -> Section:
    """Checks, the rows with the largest losses, and predictions against what was observed."""
    losses, found = subject.losses(output), checks(subject, output)
    texts = [f"Of the held-out errors{whose}." for whose in [_whose(subject, output)] if whose]
    observed, charts = subject.observed(output), []
    confusion = tables.confusion(subject, output)
    if observed is not None and np.issubdtype(observed.dtype, np.number) and not subject.has_classes(output):
        loss = loss_label(subject.loss)
        if not subject.has_losses(output):
            loss, losses = "absolute error", np.abs(observed.astype(float) - subject.predicted(output))
        names = {"loss": loss, "target": f"observed {_target(subject, output)}".strip()}
        rows = [f"row {label}" for label in subject.main(output).heldout.index]
        figure = predictions(rows, observed.astype(float), subject.predicted(output), losses, names)
        charts.append(
            Chart(f"chart-rows-{output}", figure, "Observed values against held-out predictions; the line is equality.")
        )
    kept = [] if confusion is None else [confusion]
    if subject.loss != "zero_one" and subject.has_losses(output):
        kept.append(tables.influential(subject, output))
    return Section("diagnostics", "Diagnostics", texts, charts, found, kept)


def _target(subject: Subject, output: int) -> str:
    return subject.request.target if subject.output_names is None else subject.output_names[output]
