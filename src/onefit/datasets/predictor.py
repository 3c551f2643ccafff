"""What a fitted model predicts, asked in blocks of rows, and the linear function that it is."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np

from ..errors import DataError, OneFitWarning
from ..typing import ArrayLike, FloatArray, Predictor

__all__ = ["REMEDY", "evaluate", "linear_map", "prediction_function"]

BLOCK_ENTRIES = 2**21
BLOCK_ROWS = 2**12
LINEARITY = 1e-8
REMEDY = "Estimate its error on fresh rows instead: X, y = simulation.sample(100_000)."


def prediction_function(fitted: Predictor) -> Callable[[FloatArray], ArrayLike]:
    """Return ``fitted.predict``, if there is one."""
    predict = getattr(fitted, "predict", None)
    if isinstance(fitted, type) or not callable(predict):
        raise DataError(f"{fitted!r} has no predict: true_error needs a fitted model, such as Ridge().fit(X, y).")
    return predict  # type: ignore[no-any-return]


def evaluate(function: Callable[[FloatArray], ArrayLike], X: FloatArray) -> FloatArray:
    """Values of a model's function at rows X, one a row, a block of rows at a time."""
    block = max(1, min(BLOCK_ROWS, BLOCK_ENTRIES // X.shape[1]))
    return np.concatenate([_values(function, X[start : start + block]) for start in range(0, len(X), block)])


def _values(function: Callable[[FloatArray], ArrayLike], X: FloatArray) -> FloatArray:
    """Finite values, one a row."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OneFitWarning)  # that a row is beyond the data is our doing, not the user's
        given = function(X)
    try:
        values = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"The model's predictions are not numbers ({error}); fit it to the simulation's y.") from error
    if values.size != len(X):
        raise DataError(
            f"The model gave predictions of shape {values.shape} for {len(X)} rows; true_error needs one number a row, "
            "from a model fitted to one output."
        )
    if not np.isfinite(values).all():
        raise DataError("The model's predictions are missing or infinite, so its error is not defined; fit it anew.")
    return values.ravel()


def linear_map(function: Callable[[FloatArray], ArrayLike], check_at: FloatArray) -> tuple[float, FloatArray]:
    """Constant and coefficients of a linear function of the rows, from its values at zero and at unit rows.

    It is refused if it is not that linear function at the rows ``check_at``.
    """
    p = check_at.shape[1]
    constant = float(evaluate(function, np.zeros((1, p)))[0])
    block = max(1, min(BLOCK_ROWS, BLOCK_ENTRIES // p))
    values = [_values(function, np.eye(min(block, p - start), p, k=start)) for start in range(0, p, block)]
    coefficients: FloatArray = np.concatenate(values) - constant
    size = np.abs(constant) + np.abs(check_at) @ np.abs(coefficients)
    gap = np.abs(evaluate(function, check_at) - constant - check_at @ coefficients)
    if (gap > LINEARITY * np.maximum(size, np.finfo(float).tiny)).any():
        raise DataError(
            "The model is not a linear function of the columns (or it computes in single precision), and the exact "
            f"error is known only for those. {REMEDY}"
        )
    return constant, coefficients
