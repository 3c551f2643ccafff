"""``onefit demo``: how well ridge regression predicts the progression of diabetes."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.linear_model import Ridge

import onefit

from ..errors import OneFitError
from ..files import check_writable
from .answering import check_outputs
from .showing import show_result

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["REPORT", "run_demo"]

REPORT = "onefit-demo.html"
ALPHA, FOLDS, REPEATS, SEED = 0.1, 10, 200, 0
VALUES = (-4, 1, 30)
"""Exponents of ten at the ends of the curve, and the number of its values."""

PYTHON = f"""import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.linear_model import Ridge

import onefit

X, y = load_diabetes(return_X_y=True, as_frame=True)
result = onefit.nested_cv(Ridge(alpha={ALPHA}), X, y, n_folds={FOLDS}, n_repeats={REPEATS}, random_state={SEED})
print(result.summary())

curve = onefit.error_curve(
    Ridge(),
    X,
    y,
    param_name="alpha",
    param_range=np.logspace({VALUES[0]}, {VALUES[1]}, {VALUES[2]}),
    n_folds={FOLDS},
    n_repeats={REPEATS},
    random_state={SEED},
)
print(curve)
"""


def run_demo(output: Path, force: bool, quiet: bool, command: str) -> None:
    """Nested cross-validation on scikit-learn's diabetes data: the answer, and a report with the picture."""
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OneFitError(f"The folder {str(output)!r} cannot be made: {error.strerror}; give another.") from error
    path = check_writable(output / REPORT, force)
    check_outputs(path, None, force)
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    # The columns of these data have unit length, so that alpha=0.1 shrinks mildly. Ten folds rather than leave two
    # out, and 200 repeats, so that every rule applies and none is an accident of the partitions.
    common: dict[str, Any] = {"n_folds": FOLDS, "n_repeats": REPEATS, "random_state": SEED}
    common["progress"] = False if quiet else None
    result = onefit.nested_cv(Ridge(alpha=ALPHA), X, y, **common)
    alphas = np.logspace(*VALUES)
    curve = onefit.error_curve(Ridge(), X, y, param_name="alpha", param_range=alphas, **common)

    n, p = X.shape
    print(f"Ridge(alpha={ALPHA}) on scikit-learn's diabetes data: {n} patients, {p} measurements each\n")
    show_result(result)
    print(f"\n{onefit.plan(n, p + 1, result.n_folds, result.n_repeats)}")
    print(f"\n{people(result, float(y.std(ddof=0)))}\n")
    _write(path, X, y, result, curve, command, force)
    print(f"Wrote {path}: open it in a browser")
    sys.stdout.flush()


def people(result: onefit.NestedCVResult, spread: float) -> str:
    """One sentence, in the units of y."""
    values = (result.estimate, *result.interval)
    error, low, high = (math.sqrt(max(0.0, float(value))) for value in values)
    return (
        f"For a new patient, expect the predicted disease progression to be off by about {error:.0f} points "
        f"(root mean squared error; {100 * result.confidence_level:g}% interval {low:.0f} to {high:.0f}), "
        f"where always predicting the mean is off by about {spread:.0f}."
    )


def _write(
    path: Path,
    X: pd.DataFrame,
    y: pd.Series[float],
    result: onefit.NestedCVResult,
    curve: onefit.ErrorCurve,
    command: str,
    force: bool,
) -> None:
    from ..report import Request, write_report

    request = Request(
        title="How well can the progression of diabetes be predicted?",
        data="the diabetes data of scikit-learn",
        n_rows=X.shape[0],
        n_columns=X.shape[1],
        target="disease progression after a year",
        model=f"ridge regression, alpha = {ALPHA}",
        details={"in plain words": people(result, float(y.std(ddof=0)))},
        command=command,
        python=PYTHON,
        seed=SEED,
    )
    fitted = Ridge(alpha=ALPHA).fit(X, y)
    write_report(path, request, result=result, curve=curve, fitted=fitted, y=y, force=force)
