"""What onefit says to a trial."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd

import onefit
from onefit.errors import OneFitError
from onefit.linalg import compiled

from ..figures import Figures
from ..library import Answer, is_ours, tables_of, warned, where
from .contract import Trial

__all__ = ["TOLD", "ask_trial", "figures_of", "keywords_of"]

TOLD = ", of which many solutions are told"
"""Of a route, for a lasso."""


def ask_trial(trial: Trial, n_jobs: int = 1) -> Answer:
    """Run onefit and note everything that it does."""
    with warnings.catch_warnings(record=True) as caught, compiled.switched(trial.is_compiled):
        warnings.simplefilter("always")
        count = len(trial.candidates(tight=False))
        try:
            results, refusals = _results(trial, n_jobs)
            figures = [None if result is None else figures_of(result) for result in results]
            routes = ["" if result is None else result.route + _told_of(result) for result in results]
            answer = Answer(figures, refusals, routes)
        except OneFitError as error:
            answer = Answer([None] * count, [f"{type(error).__name__}: {error}"] * count, [""] * count)
        except Exception as error:
            return Answer([], [], [], [where(error)])
    if "refit" not in answer.routes and not any(why.startswith("RefitError") for why in answer.refusals):
        answer.leaks += [warned(each) for each in caught if not is_ours(each)]
    return answer


def _told_of(result: Any) -> str:
    return TOLD if any("the lasso has many solutions" in finding.message for finding in result.findings) else ""


def keywords_of(trial: Trial, weights: Any) -> dict[str, Any]:
    """The keywords of the call."""
    keywords: dict[str, Any] = {"groups": trial.groups, "sample_weight": weights, "progress": False}
    keywords |= {"scoring": list(trial.scoring)} if trial.scoring else {"loss": trial.asked.loss}
    keywords |= {"cv": trial.folds} if trial.how == "drops" else {"folds": trial.folds}
    return keywords | {"route": trial.route}


def _results(trial: Trial, n_jobs: int) -> tuple[list[Any], list[str]]:
    """A result for each candidate, or None and why."""
    asked, keywords = trial.asked, keywords_of(trial, trial.weights) | {"n_jobs": n_jobs}
    if trial.how == "tables":
        return [_streamed(trial, n_jobs)], [""]
    if trial.is_curve and asked.path is not None:
        name, values = asked.path
        curve = onefit.error_curve(asked.estimator, asked.X, asked.y, param_name=name, param_range=values, **keywords)
        return list(curve.results), list(curve.reasons)
    return [onefit.nested_cv(asked.estimator, asked.X, asked.y, **keywords)], [""]


def _streamed(trial: Trial, n_jobs: int) -> Any:
    """The same from a table that is read in pieces; its folds are dealt by number."""
    import pyarrow as pa

    asked = trial.asked
    frame = asked.X.copy() if isinstance(asked.X, pd.DataFrame) else pd.DataFrame(asked.X).add_prefix("x")
    frame["y"] = asked.y
    roles = {}
    if trial.weights is not None:
        frame["w"], roles["sample_weight"] = trial.weights, "w"
    pieces = pa.Table.from_pandas(frame, preserve_index=False).to_batches(max_chunksize=7)
    table = onefit.scan(pa.Table.from_batches(pieces))
    L, K = len(trial.folds), int(trial.folds.max()) + 1
    return onefit.nested_cv(
        asked.estimator,
        table,
        "y",
        loss=asked.loss,
        n_folds=K,
        n_repeats=L,
        random_state=3,
        n_jobs=n_jobs,
        progress=False,
        **roles,
    )


def figures_of(result: Any) -> Figures:
    """The figures of a result, with outputs as the last axis."""
    rows = []
    if result.row_value == "loss" and not result.heldout.empty:
        is_number = np.asarray(result.heldout["prediction"]).dtype.kind == "f"
        rows = ["loss", "prediction"] if is_number else ["loss"]
    tables = tables_of(result, rows)
    tables["metrics"] = result.metrics.to_numpy(dtype=float).T.reshape(-1, 1)
    return Figures(tables)
