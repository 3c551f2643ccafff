"""The covariance rule of onefit 0.1, for comparison: no size correction, no Monte Carlo variance, no skewness."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from scipy import special

from onefit.inference.fold_errors import FoldErrors
from onefit.inference.intervals import RULES, Context, Interval, Rule, cv_estimate, raw_estimate
from onefit.typing import FloatArray

__all__ = ["BEFORE", "before", "with_rule_before"]

BEFORE = "before"


def before(errors: FoldErrors, context: Context) -> Interval:
    """``mse = v/n + C`` on the log or logit scale, with ``max(3, c^2 / (v/n))`` degrees of freedom."""
    scale, n = context.scale, errors.n_scored
    raw, cv = (_to_scale(e, scale, n) for e in (raw_estimate(errors), cv_estimate(errors)))
    centre = _from_scale(raw - (2 - 2 / errors.n_folds) * (raw - cv), scale)
    floor = errors.sampling(centre).mean(axis=0)
    if scale == "logit":
        floor = np.maximum(floor, centre * (1 - centre) / n)
    mse = floor + errors.covariance.mean(axis=0)
    s = np.sqrt(np.maximum(mse, floor))
    df = np.maximum(3.0, np.square(centre) / np.maximum(floor, np.finfo(float).tiny))
    half = special.stdtrit(df, 0.5 + context.confidence_level / 2) * s
    bound = 1.0 if scale == "logit" else np.inf
    step = half / (centre * (1 - centre) if scale == "logit" else centre)
    middle = _to_scale(centre, scale, n)
    is_plain = s > np.minimum(centre, bound - centre)
    low = np.where(is_plain, np.maximum(centre - half, 0.0), _from_scale(middle - step, scale))
    high = np.where(is_plain, np.minimum(centre + half, bound), _from_scale(middle + step, scale))
    return Interval(centre, low, high, s, mse, mse < floor, s / np.sqrt(floor))


def _to_scale(values: FloatArray, scale: str, n: int) -> FloatArray:
    least = 1 / (2 * n)
    found: FloatArray = special.logit(np.clip(values, least, 1 - least)) if scale == "logit" else np.log(values)
    return found


def _from_scale(values: FloatArray, scale: str) -> FloatArray:
    found: FloatArray = special.expit(values) if scale == "logit" else np.exp(values)
    return found


@contextmanager
def with_rule_before() -> Iterator[None]:
    """Let every result have a row of that rule in its table of intervals, from the same fold errors."""
    nothing = RULES["covariance"]
    RULES[BEFORE] = Rule(BEFORE, before, nothing.repeat_mse, nothing.repeat_centre)
    try:
        yield
    finally:
        del RULES[BEFORE]
