"""``onefit demo``: the everyday case, a table with text and gaps, a pipeline, and a forest beside it."""

from __future__ import annotations

import io
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import onefit

from ..display.numbers import interval_text
from ..errors import OneFitError
from ..files import check_writable, write_whole
from .answering import check_outputs
from .showing import show_comparison, show_result
from .telling import CommandBar

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["REPORT", "TABLE", "run_demo"]

REPORT, TABLE = "onefit-demo.html", "onefit-demo.csv"
FOLDS, REPEATS, SEED = 5, 2, 0
"""Of the comparison: 30 fits of the forest, some seconds."""

MODELS = """import numpy as np
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import onefit

houses = onefit.datasets.make_houses()
X, y = houses.drop(columns="price"), houses["price"]
numbers, words = ["area", "rooms", "plot", "built"], ["district", "heating", "garden"]


def prepared():
    fill = SimpleImputer(strategy="most_frequent")
    levels = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    return make_column_transformer(
        (make_pipeline(SimpleImputer(strategy="median"), StandardScaler()), numbers),
        (make_pipeline(fill, levels), words),
    )


ridge = make_pipeline(prepared(), RidgeCV(alphas=np.logspace(-2, 4, 25)))
forest = make_pipeline(prepared(), RandomForestRegressor(60, random_state=0))
"""

PYTHON = f"""{MODELS}
result = onefit.nested_cv(ridge, X, y, random_state={SEED})
print(result.summary())

comparison = onefit.compare(
    {{"ridge": ridge, "forest": forest}}, X, y, n_folds={FOLDS}, n_repeats={REPEATS}, random_state={SEED}
)
print(comparison)
"""


def run_demo(output: Path, force: bool, quiet: bool, command: str) -> None:
    """How well a pipeline predicts the prices of simulated houses, and whether a forest is better; with a report."""
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OneFitError(f"The folder {str(output)!r} cannot be made: {error.strerror}; give another.") from error
    try:
        report, table = (check_writable(output / name, force) for name in (REPORT, TABLE))
    except OneFitError as error:
        raise OneFitError(str(error).replace("give another name", "give another folder by --output DIR")) from error
    check_outputs(report, None, force)
    made: dict[str, Any] = {}
    exec(MODELS, made)  # what is shown is what is run
    houses, X, y = made["houses"], made["X"], made["y"]
    _introduce(houses)
    start = time.perf_counter()
    result = _watched(quiet, onefit.nested_cv, made["ridge"], X, y, random_state=SEED)
    seconds = time.perf_counter() - start
    show_result(result)
    print(f"\n{_cost(onefit.plan_for(made['ridge'], X, y, random_state=SEED), result, seconds)}", flush=True)
    models = {"ridge": made["ridge"], "forest": made["forest"]}
    print(
        f"\nIs a random forest better? It has no shortcut and is refitted: {FOLDS} folds for both, to save time, so\n"
        "the figures of ridge are not quite those above.\n",
        flush=True,
    )
    folds = {"n_folds": FOLDS, "n_repeats": REPEATS, "random_state": SEED}
    comparison = _watched(quiet, onefit.compare, models, X, y, **folds)
    show_comparison(comparison)
    print(f"\n{people(result)}\n")
    write_whole(table, _csv(houses), force)
    _write_report(report, X, y, result, comparison, made["ridge"], command, force)
    print(f"Wrote {report}: open it in a browser")
    print(f"Wrote {table}: try onefit run {table} --target price --impute")
    sys.stdout.flush()


def _introduce(houses: pd.DataFrame) -> None:
    """What is predicted from what."""
    gaps = int(houses.isna().any(axis=1).sum())
    print(
        f"{len(houses)} simulated houses: area, rooms, plot, built, district, heating, garden; {gaps} rows have gaps.\n"
        "How well does ridge regression predict the price, gaps filled, text coded, numbers scaled and the penalty\n"
        "chosen anew in every training set?\n",
        flush=True,
    )


def _watched(quiet: bool, function: Any, *arguments: Any, **keywords: Any) -> Any:
    """Call the library, with a bar unless it is unwanted."""
    if quiet:
        return function(*arguments, progress=False, **keywords)
    with CommandBar().at_work() as bar:
        return function(*arguments, progress=bar, **keywords)


def _cost(plan: onefit.Plan, result: onefit.NestedCVResult, seconds: float) -> str:
    """What it took, and what refits would have."""
    K, L = result.n_folds, result.n_repeats
    took = f"That took {seconds:.2g} s, and refits would be {L * K * (K + 1) // 2:,} fits"
    if "refit" not in plan.seconds:
        return f"{took}."
    return f"{took}, about {L / plan.n_repeats * plan.seconds['refit']:.2g} s by one that was timed."


def people(result: onefit.NestedCVResult) -> str:
    """One sentence, in the units of the price."""
    assert result.rmse is not None
    error, low, high = interval_text(*(float(value) for value in result.rmse))
    assert result.baseline.rmse is not None
    return (
        f"For a new house, expect the predicted price to be off by about {error} thousand (root mean squared error; "
        f"{100 * result.confidence_level:g}% interval {low} to {high}), where always predicting the mean is off by "
        f"about {float(result.baseline.rmse.estimate):.0f}."
    )


def _csv(houses: pd.DataFrame) -> str:
    stream = io.StringIO()
    houses.to_csv(stream, index=False)
    return stream.getvalue()


def _write_report(
    path: Path,
    X: pd.DataFrame,
    y: pd.Series[float],
    result: onefit.NestedCVResult,
    comparison: onefit.Comparison,
    ridge: Any,
    command: str,
    force: bool,
) -> None:
    from ..report import Request, write_report

    request = Request(
        title="How well can the prices of houses be predicted?",
        data="onefit.datasets.make_houses()",
        n_rows=X.shape[0],
        n_columns=X.shape[1],
        target="price",
        model="ridge regression after imputation, coding and scaling",
        details={"in plain words": people(result)},
        command=command,
        python=PYTHON,
        seed=SEED,
    )
    fitted = ridge.fit(X, y)
    write_report(path, request, result=result, comparison=comparison, fitted=fitted, y=y, force=force)
