"""Which column a training set has lost, in the words of the table: a level, say, all of whose rows are held out."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy import linalg, sparse

from ..frames import as_array
from ..typing import AnyArray, BoolArray, FloatArray, IntArray
from ..validation import Problem

__all__ = ["explain_lost_columns"]

MOST_CELLS = 2e7
"""Of X, up to which columns are looked at: it is one sentence of a message."""

MOST_NAMED = 5
DEPENDENT = 1e-9
"""Of the largest singular value of columns of one length."""

OTHERWISE = (
    'Let OneHotEncoder(handle_unknown="ignore") make the columns inside a pipeline, or use route="refit": the '
    "estimator's own (minimum-norm) answer then stands."
)


def explain_lost_columns(problem: Problem, held_out: Sequence[int], fit_intercept: bool) -> str:
    """Column, level and rows that a fit without some rows lacks, and what helps; empty if none is found."""
    X = problem.X
    if len(getattr(X, "shape", ())) != 2 or math.prod(X.shape) > MOST_CELLS:
        return ""
    table = X.toarray() if sparse.issparse(X) else as_array(X)
    is_out = np.zeros(len(table), dtype=bool) if problem.weights is None else problem.weights == 0
    is_out[held_out] = True
    for j in range(table.shape[1]):
        name = repr(problem.feature_names[j]) if problem.feature_names else str(j)
        if found := _lost_level(table[:, j], is_out, name, fit_intercept):
            return found
    return _dependence(table, is_out, problem.feature_names, fit_intercept)


def _lost_level(column: AnyArray, is_out: BoolArray, name: str, fit_intercept: bool) -> str:
    """What there is to say of a column that does not vary in the training rows, or of a level that they lack."""
    seen, held = pd.unique(column[~is_out]), column[is_out]
    is_new = ~pd.Series(held).isin(seen).to_numpy()
    is_text = any(isinstance(value, str) for value in seen)
    is_lost = is_text or (len(seen) == 1 and (fit_intercept or seen[0] == 0))
    if not is_lost or not is_new.any():
        return ""
    value = held[is_new][0]
    rows = np.flatnonzero(is_out)[is_new & (held == value)]
    shown = repr(value) if isinstance(value, str) else f"{value:g}"
    where = f"Level {shown} of column {name}" if is_text else f"Value {shown} of column {name}"
    always = "" if is_text else f", which is {seen[0]:g} in all others that are fitted"
    return f"{where} is in {_rows(rows)} only{always}. {_remedies(len(rows))}"


def _dependence(table: AnyArray, is_out: BoolArray, names: Sequence[str] | None, fit_intercept: bool) -> str:
    """What there is to say of columns that only together do not vary, as dummies whose reference level is lacking."""
    try:
        numbers: FloatArray = table.astype(np.float64)
    except (TypeError, ValueError):
        return ""
    if fit_intercept:
        numbers = numbers - numbers[~is_out].mean(axis=0)
    inside = numbers[~is_out]
    size = np.sqrt(np.square(inside).sum(axis=0))
    if not (size > 0).all() or len(inside) < len(size):
        return ""
    _, s, V = linalg.svd(inside / size, full_matrices=False, check_finite=False)
    if s[-1] > DEPENDENT * s[0]:
        return ""
    direction = V[-1] / size
    change = np.abs(numbers @ direction)
    rows = np.flatnonzero(is_out & (change > math.sqrt(DEPENDENT) * change.max()))
    columns = np.flatnonzero(np.abs(direction * size) > math.sqrt(DEPENDENT))
    if not len(rows):
        return ""
    shown = [repr(names[j]) if names else str(j) for j in columns[:MOST_NAMED]]
    more = ", ..." if len(columns) > MOST_NAMED else ""
    return (
        f"Columns {', '.join(shown)}{more} determine each other but for {_rows(rows)}: perhaps these are all that "
        f"there is of a level without a column of its own. {_remedies(len(rows))}"
    )


def _rows(rows: IntArray) -> str:
    """Places of some rows, counted from zero."""
    shown = ", ".join(map(str, rows[:MOST_NAMED]))
    return f"row{'s' if len(rows) > 1 else ''} {shown}{', ...' if len(rows) > MOST_NAMED else ''}"


def _remedies(n_rows: int) -> str:
    """What helps if so many rows are all that a column has: any two folds may hold two of them."""
    spread = "" if n_rows < 3 else 'choose folds that spread these rows over three or more (n_folds="n" does), '
    return f"Merge this level with another one, {spread}or use a penalty, such as Ridge. {OTHERWISE}"
