"""How much of an interval is an accident of the partitions drawn, and when to stop drawing."""

from __future__ import annotations

import numpy as np
from scipy import special

from ..typing import BoolArray, FloatArray
from .fold_errors import FoldErrors
from .intervals import Rule

__all__ = ["HALF_WIDTH_TARGET", "MOST_REPEATS", "SCHEDULE", "half_width_error", "is_precise"]

MOST_REPEATS = 200
SCHEDULE = (2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40, 50, 65, 80, 100, 125, 150, 175, MOST_REPEATS)
"""Numbers of repeats at which ``n_repeats="auto"`` looks: fixed, so that blocks cannot change the answer."""

HALF_WIDTH_TARGET = 0.05
CENTRE_TARGET = 0.10


def half_width_error(errors: FoldErrors, rule: Rule, scale: str) -> FloatArray:
    """Relative Monte Carlo error of the half-width, (V, Q): se(mean mse) / (2 max(mse, v/n))."""
    shape = errors.raw.shape[1:]
    if errors.n_folds == errors.n_units and errors.n_scored == errors.n_rows:
        return np.zeros(shape)  # every row, or group, is a fold: there is only one partition
    if errors.n_repeats == 1:
        return np.full(shape, np.nan)
    by_repeat = rule.repeat_mse(errors, scale)
    used = 1 if rule.name == "naive" else errors.n_repeats
    level = np.maximum(by_repeat.mean(axis=0), rule.repeat_floor(errors, scale).mean(axis=0))
    relative = by_repeat / np.where(level > 0, level, 1.0)  # first: its variance has eighth powers of y
    return np.where(level > 0, relative.std(axis=0, ddof=1) / (2 * np.sqrt(used)), 0.0)


def is_precise(errors: FoldErrors, rule: Rule, scale: str, kept: BoolArray | None = None) -> bool:
    """Whether the half-width's error is below 5% and the centre's below a tenth of the half-width, at values ``kept``.

    Both standard errors are themselves estimated from few repeats, and stopping at the first small one would
    pick the accidents; so each is raised to the upper end of a one-sided 75% interval.
    """
    if rule.name == "naive":
        return True  # it uses the first repeat whatever the others say
    df = errors.n_repeats - 1
    caution = np.sqrt(df / special.chdtri(df, 0.75))
    half_width = half_width_error(errors, rule, scale)
    centres = rule.repeat_centre(errors, scale)
    centre_se = centres.std(axis=0, ddof=1) / np.sqrt(errors.n_repeats)
    mse, floor = (of(errors, scale).mean(axis=0) for of in (rule.repeat_mse, rule.repeat_floor))
    s = np.sqrt(np.maximum(mse, floor))
    settled: BoolArray = (caution * half_width < HALF_WIDTH_TARGET) & (caution * centre_se <= CENTRE_TARGET * 1.645 * s)
    return bool((settled if kept is None else settled[kept]).all())
