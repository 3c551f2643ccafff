"""Lists of facts: what was asked, how it was computed, the model on all rows, and the Python that repeats it."""

from __future__ import annotations

import platform
import textwrap
from datetime import datetime
from importlib.metadata import version
from typing import Any

import numpy as np

from ..config import LIBRARIES
from ..display.estimators import last_step, short_name
from ..display.html import at, figures
from ..display.numbers import column_texts, number_text, percent
from ..display.paper import references_of
from ..display.style import loss_label
from ..typing import AnyArray, Predictor
from ..vocabulary import CONVERGED, EXACT, LOSS_WORDS
from .subject import Subject
from .tables import ReportTable, Row
from .words import loss_text, title_of

__all__ = ["asked", "coefficients", "computed", "fitted_facts", "headline", "methods_text", "python_call", "tiles"]

MOST_COEFFICIENTS = 20
EXACTNESS_WORDS = {
    EXACT: "exact: the numbers are those of refitting the model in every training set",
    CONVERGED: "converged: the numbers are those of refits whose solver does not stop early",
}
"""The diagnostics say what any other one means."""
DATE = "%Y-%m-%d %H:%M %Z"

Facts = list[tuple[str, str]]


def asked(subject: Subject) -> Facts:
    """What was asked, empty lines left out."""
    request = subject.request
    facts = {
        "Data": request.data,
        "Rows": f"{request.n_rows or subject.n_rows:,}",
        "Columns": f"{request.n_columns:,}" if request.n_columns else "",
        "Target": request.target or ", ".join(subject.output_names or ()),
        "Model": request.model,
        "Score" if subject.greater_is_better else "Loss": loss_label(subject.loss),
    }
    details = {name[:1].upper() + name[1:]: str(text) for name, text in request.details.items()}
    return [(name, text) for name, text in {**facts, **details}.items() if text]


def headline(subject: Subject) -> str:
    """Model, target and data in one line, as far as they are known."""
    request = subject.request
    target = f"predicting {request.target}" if request.target else ""
    source = f"from {request.data}" if request.data else ""
    told = " ".join(part for part in (target, source) if part)
    size = f"{request.n_rows or subject.n_rows:,} rows"
    return " · ".join(part for part in (request.model, told, size) if part)


def tiles(subject: Subject) -> list[tuple[str, str, str]]:
    """The figures of the only output: name, estimate and interval."""
    result = subject.main(0)
    error = loss_text(result.loss, *(at(part, 0) for part in (result.estimate, *result.interval)))
    shown = [(title_of(result.loss), error), *figures(result, 0)[1:]]
    found = [(name[0].upper() + name[1:], each[0], _ends(each)) for name, each in shown]
    if subject.curve is not None and subject.follows_curve:
        curve, position = subject.curve, subject.position(0)
        edf = "" if curve.edf is None else f"edf {number_text(at(curve.edf[position], 0), 3)}"
        found.append((f"{short_name(curve.param_name)} by {subject.rule}", number_text(curve.values[position]), edf))
    return found


def _ends(texts: tuple[str, str, str]) -> str:
    return "no interval" if texts[1] == "–" else f"{texts[1]} to {texts[2]}"


def computed(subject: Subject) -> Facts:
    """How it was computed."""
    result = subject.main(0)
    everyone = result.n_folds == subject.n_rows
    folds = (
        f"{result.n_folds:,} (every row is a fold: two rows are left out at a time)"
        if everyone
        else f"{result.n_folds:,}"
    )
    seed = subject.request.seed
    versions = ", ".join(f"{name} {version(name)}" for name in ("onefit", *LIBRARIES))
    return [
        ("Interval rule", f"{result.rule}, {percent(result.confidence_level)} (version {result.rule_version})"),
        ("Folds", folds),
        ("Repeats", f"{result.n_repeats:,}"),
        ("Route", f"{result.route}: {result.route_reason}" if result.route_reason else result.route),
        ("Exactness", EXACTNESS_WORDS.get(result.exactness, result.exactness)),
        *_parameter(subject),
        *([("Seed", str(seed))] if seed is not None else []),
        ("Software", f"Python {platform.python_version()}, {versions}"),
        ("Date", datetime.now().astimezone().strftime(DATE).strip()),
    ]


def _parameter(subject: Subject) -> Facts:
    """The full name of the curve's parameter, which goes by its short one elsewhere."""
    name = "" if subject.curve is None else subject.curve.param_name
    return [("Parameter", f"{short_name(name)}, in full {name}")] if name != short_name(name) else []


def fitted_facts(fitted: Predictor) -> Facts:
    """Penalty and effective degrees of freedom of the model fitted on all rows, where it has them."""
    model = last_step(fitted)
    facts = [("Model", repr(fitted))]
    for name, attributes in (
        ("Penalty", ("lam_", "alpha_")),
        ("Effective degrees of freedom", ("edf_",)),
        ("Intercept", ("intercept_",)),
    ):
        value = next((getattr(model, each) for each in attributes if hasattr(model, each)), None)
        if value is not None and np.size(value) <= MOST_COEFFICIENTS:
            facts.append((name, ", ".join(number_text(float(each)) for each in np.ravel(value))))
    return facts


def coefficients(fitted: Predictor) -> ReportTable | None:
    """The largest coefficients by the names of their columns; None if the model has no such list."""
    coef = np.asarray(getattr(last_step(fitted), "coef_", np.empty((0, 0))))
    coef = coef[0] if coef.ndim == 2 and len(coef) == 1 else coef
    names = _names(fitted)
    if coef.ndim != 1 or names is None or len(names) != len(coef):
        return None
    order = np.argsort(-np.abs(coef), kind="stable")[:MOST_COEFFICIENTS]
    rows = [Row([str(names[i]), text]) for i, text in zip(order, column_texts(coef[order].astype(float)), strict=True)]
    inner = getattr(fitted, "regressor_", fitted)
    scaled = " of the columns as the last step sees them" if hasattr(inner, "steps") else ""
    scaled += ", for the target as transformed" if _transforms_target(fitted) else ""
    classes = list(getattr(last_step(fitted), "classes_", ()))
    scaled += f", above zero for {classes[1]}" if len(classes) == 2 else ""
    left = f", the {MOST_COEFFICIENTS} largest of {len(coef)}" if len(coef) > MOST_COEFFICIENTS else ""
    return ReportTable(f"Coefficients{scaled}{left}", ["column", "coefficient"], rows)


def _transforms_target(fitted: Predictor) -> bool:
    """Whether the model itself saw another target than the one given."""
    return any(hasattr(each, "regressor_") for each in (fitted, *(step for _, step in getattr(fitted, "steps", ()))))


def _names(fitted: Any) -> AnyArray | None:
    """Names of the columns that the model itself saw, or None."""
    fitted = getattr(fitted, "regressor_", fitted)
    if not hasattr(fitted, "steps"):
        return getattr(fitted, "feature_names_in_", None)
    last = fitted.steps[-1][1]
    if hasattr(getattr(last, "regressor_", last), "steps"):
        return None  # a pipeline at the end of a pipeline: the first one's names are not the model's
    try:
        names: AnyArray = fitted[:-1].get_feature_names_out()
    except (AttributeError, ValueError, NotImplementedError):
        return None  # a transformer that does not name its columns
    return _without_prefixes(names, [step for _, step in fitted.steps[:-1]])


def _without_prefixes(names: AnyArray, steps: list[Any]) -> AnyArray:
    """Names without those of the parts of a ColumnTransformer before them, if that leaves no two the same."""
    parts = [f"{part}__" for step in steps for part, *_ in getattr(step, "transformers_", ())]
    short = [next((name[len(part) :] for part in parts if name.startswith(part)), name) for name in map(str, names)]
    return np.array(short, dtype=object) if len(set(short)) == len(short) else names


def methods_text(subject: Subject) -> str:
    """The paragraphs for the methods of a paper, and what they cite."""
    paragraphs = [part.methods() for part in subject.parts]
    models = [] if subject.comparison is None else subject.comparison.results.values()
    return "\n".join(["\n\n".join(paragraphs), "", *references_of([subject.main(0), *models])])


def python_call(subject: Subject) -> str:
    """The script of the request, or else the call of the library that gives these numbers."""
    if subject.request.python:
        return subject.request.python
    result = subject.main(0)
    n_folds = '"n"' if result.n_folds == subject.n_rows else str(result.n_folds)
    loss = f'loss="{result.loss}"' if result.loss in LOSS_WORDS else f"loss={result.loss}"
    if result.greater_is_better:
        names = list(dict.fromkeys(str(key[0] if isinstance(key, tuple) else key) for key in result.metrics.index))
        loss = f"scoring={names!r}"
    seed = "" if subject.request.seed is None else f", random_state={subject.request.seed}"
    keywords = (
        f"n_folds={n_folds}, n_repeats={result.n_repeats}, {loss},\n"
        f'    confidence_level={result.confidence_level:g}, interval="{result.rule}"{seed},\n'
    )
    calls = []
    if subject.result is not None:
        calls.append(f"result = onefit.nested_cv(\n    estimator, X, y, {keywords})")
    if subject.curve is not None:
        curve = subject.curve
        values = [each.item() if isinstance(each, np.generic) else each for each in curve.values]
        calls.append(
            f"curve = onefit.error_curve(\n    estimator, X, y,\n"
            f"    param_name={curve.param_name!r}, simpler={curve.simpler!r},\n"
            f"    param_range=[\n{_wrapped(values)}\n    ],\n    {keywords})"
        )
    if subject.comparison is not None:
        calls.append(f"comparison = onefit.compare(\n    estimators, X, y, {keywords})")
    return "import onefit\n\n" + "\n".join(calls) + "\n"


def _wrapped(values: list[object]) -> str:
    """Values as Python, on lines that fit a page."""
    return textwrap.fill(", ".join(map(repr, values)), 88, initial_indent=" " * 8, subsequent_indent=" " * 8)
