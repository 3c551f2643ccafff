"""Answers as JSON and as a report."""

from __future__ import annotations

import json
import platform
from importlib.metadata import version

import numpy as np

from ..display.estimators import last_step
from ..files import write_whole
from ..results.comparison import Comparison
from ..results.curve import ErrorCurve
from ..results.nested import plain
from ..vocabulary import SELECTION_WORDS
from .answering import Answer
from .options import STANDARD_INPUT

__all__ = ["SCHEMA", "json_text", "write_report_of"]

SCHEMA = 1
"""Raised when a name in the JSON goes or changes its meaning; new names do not raise it."""

LIBRARIES = ("onefit", "numpy", "scipy", "scikit-learn", "pandas")


def json_text(answer: Answer, command: str) -> str:
    """The whole answer as JSON; what is not a number is null."""
    ask, prepared = answer.ask, answer.prepared
    request = {
        "data": ask.source.name,
        "rows": len(prepared.X),
        "target": ask.roles.target,
        "columns": [column.name for column in prepared.columns],
        "categories": {name: list(levels) for name, levels in prepared.categories.items()},
        "groups": ask.roles.groups,
        "weights": ask.roles.weights,
        "impute": ask.roles.impute,
        "models": {recipe.name: recipe.code for recipe in answer.recipes},
        "scoring": list(ask.scoring) or None,
        "seed": ask.seed,
        "command_line": command,
    }
    document = {
        "schema": SCHEMA,
        "command": ask.command,
        "request": request,
        "versions": {"python": platform.python_version(), **{name: version(name) for name in LIBRARIES}},
        "notes": answer.notes,
        "warnings": answer.warnings,
        "interrupted": answer.was_interrupted,
        "result": None if answer.result is None else answer.result.to_dict(),
        "curve": None if answer.curve is None else _curve(answer.curve),
        "comparison": None if answer.comparison is None else _comparison(answer.comparison),
        "python": answer.python,
    }
    text = json.dumps(plain(document), indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    # bytes of a file name that are no UTF-8 become \udcff, which JSON reads as Python does
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _curve(curve: ErrorCurve) -> dict[str, object]:
    selected = {}
    for rule in SELECTION_WORDS:
        if rule in ("min", "one_se") or not curve.scores[rule].isna().all():
            selected[rule] = curve.select(rule)
    names = ("param_name", "values", "estimate", "low", "high", "standard_error", "edf", "reasons", "simpler")
    found = {name: getattr(curve, name) for name in (*names, "confidence_level", "loss", "greater_is_better")}
    difference = {name: getattr(curve.difference, name) for name in ("estimate", "low", "high", "standard_error", "df")}
    best = curve.results[int(curve.best)]
    assert best is not None
    scores = {name: curve.scores[name].to_numpy(float) for name in curve.scores}
    return {
        **found,
        "difference": difference,
        "scores": scores,
        "selected": selected,
        "indistinguishable": curve.indistinguishable(),
        "metrics": best.to_dict()["metrics"],  # this and the next ones are those of the best value
        "calibration": best.to_dict()["calibration"],
        "findings": best.to_dict()["findings"],
    }


def _comparison(comparison: Comparison) -> dict[str, object]:
    return {
        "models": comparison.models.reset_index().to_dict(orient="records"),
        "differences": comparison.differences.reset_index().to_dict(orient="records"),
        "results": {name: result.to_dict() for name, result in comparison.results.items()},
        "reasons": comparison.reasons,
        "confidence_level": comparison.confidence_level,
        "loss": comparison.loss,
        "greater_is_better": comparison.greater_is_better,
    }


def write_report_of(answer: Answer, command: str) -> None:
    """The report, if it was asked for."""
    ask = answer.ask
    if ask.report is None:
        return
    from ..report import Request, write_report

    details = {"models" if len(answer.recipes) > 1 else "model in Python": "; ".join(r.code for r in answer.recipes)}
    given = {
        "groups": ask.roles.groups,
        "weights": ask.roles.weights,
        "loss": ask.loss,
        "scores": ", ".join(ask.scoring) or None,
    }
    details |= {name: value for name, value in given.items() if value is not None}
    request = Request(
        title=f"How well can {ask.roles.target} be predicted?",
        data=ask.source.name,
        n_rows=len(answer.prepared.X),
        n_columns=len(answer.prepared.columns),
        target=ask.roles.target,
        model=", ".join(recipe.name for recipe in answer.recipes),
        details=details,
        command=command,
        python=answer.python,
        notes=(*answer.notes, *answer.warnings),
        seed=ask.seed,
        chosen=_chosen(answer),
    )
    write_report(
        ask.report,
        request,
        result=answer.result,
        curve=answer.curve,
        comparison=answer.comparison,
        fitted=answer.fitted,
        y=None if answer.prepared.is_streamed else answer.prepared.y,
        force=ask.force,
    )


def _chosen(answer: Answer) -> str:
    """How the penalty of a tuned model comes about."""
    last = last_step(answer.fitted)
    is_ridge_cv = hasattr(last, "alpha_") and not hasattr(last, "alphas_")  # LassoCV has both, and folds of its own
    criterion = "loo" if is_ridge_cv else getattr(last, "lam", None)
    if answer.result is None or not isinstance(criterion, str):
        return ""
    found = last.alpha_ if is_ridge_cv else last.lam_
    chosen = ", ".join(f"{value:.4g}" for value in np.atleast_1d(found))
    words = {str(name): words for name, words in SELECTION_WORDS.items()}.get(criterion, criterion)
    return f"The penalty is chosen by {words}, anew in every training set; on all rows it is {chosen}."


def write_json(answer: Answer, command: str) -> None:
    """The JSON, if it was asked for; "-" is standard output."""
    if answer.ask.json == STANDARD_INPUT:
        print(json_text(answer, command), end="")
    elif answer.ask.json is not None:
        write_whole(answer.ask.json, json_text(answer, command), answer.ask.force)
