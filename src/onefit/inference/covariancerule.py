"""The covariance rule, for one model and for differences between two."""

from __future__ import annotations

import numpy as np
from scipy import special

from ..typing import FloatArray, IntArray
from .centres import covariance_centre, cv_estimate, least_share, monte_carlo_variance, raw_estimate, within_reach
from .ends import ends_of_mean, wilson
from .fold_errors import FoldErrors
from .rules import Context, Interval, ratio, symmetric

__all__ = [
    "FEW_GROUPS",
    "TOO_WIDE",
    "TOO_WIDE_REASONS",
    "covariance",
    "covariance_centres",
    "covariance_floor",
    "covariance_mse",
    "moved_by_skewness",
    "paired",
    "size_factor",
    "where_no_row_speaks",
]

FEW_GROUPS = 20
"""With fewer groups the variance between them is too uncertain for the whole size correction."""


ROUNDING = 4 * float(np.finfo(np.float64).eps)
"""What a row may add to the rounding errors of a share of rows."""


TOO_WIDE = "The standard error exceeds the estimated error, so the interval is on the plain scale, cut at 0."
"""A reason whose cause is to be found in the losses of the rows."""

TOO_WIDE_SKEWED = (
    f"{TOO_WIDE[:-1]}; if the losses are skewed to the right, its upper end is Hall's, which lies further out."
)
TOO_WIDE_REASONS = TOO_WIDE, TOO_WIDE_SKEWED
"""The same of intervals without and with the ends of Hall."""


def covariance(errors: FoldErrors, context: Context) -> Interval:
    """Ours: the variance of the losses plus their covariance through shared training rows.

    ``mse = v/n + f C + MC`` with ``C = K^-2 sum_{j != k} B_jk B_kj / (1 - 1/(K-1))^2``, f of `size_factor` and MC the
    variance of the centre over the partitions drawn; ``v/n + f C`` is floored at v/n. The interval is Wilson's for
    zeros and ones; else at each end the wider of that on the scale of the loss, logarithmic for losses that cannot be
    negative, and Hall's, which minds their skewness.
    """
    scale = context.scale
    estimate, floor, shared, drawn = parts = _parts(errors, scale)
    s, t = _error_and_quantile(parts, errors.n_units, context)
    too_wide = (s > estimate) if scale == "log" else np.zeros(estimate.shape, dtype=bool)
    too_wide_reason = TOO_WIDE_SKEWED if context.with_skewness else TOO_WIDE
    reason = too_wide_reason if too_wide.any() else ""
    if scale == "logit":
        low, high = where_no_row_speaks(*wilson(estimate, s, t), errors)
    else:
        skewness = errors.skewness.mean(axis=0) if context.with_skewness else None
        low, high = ends_of_mean(estimate, s, t, skewness, scale)
    mse, inflation = floor + shared + drawn, ratio(s, np.sqrt(floor))
    return Interval(estimate, low, high, s, mse, shared < 0, inflation, reason, affected=too_wide)


def _parts(errors: FoldErrors, scale: str) -> tuple[FloatArray, ...]:
    """The estimate, and what makes its variance: v/n, what folds share, and the partitions drawn."""
    estimate = covariance_centre(raw_estimate(errors), cv_estimate(errors), errors, scale)
    floor = _sampling(errors, estimate, scale).mean(axis=0)
    shared = size_factor(errors) * errors.covariance.mean(axis=0)
    return estimate, floor, shared, monte_carlo_variance(covariance_centres(errors, scale))


def _error_and_quantile(parts: tuple[FloatArray, ...], n_units: int, context: Context) -> tuple[FloatArray, FloatArray]:
    """The standard error, and the quantile of t that goes with it."""
    estimate, floor, shared, drawn = parts
    s = np.sqrt(floor + np.maximum(shared, 0.0) + drawn)
    df = np.full(estimate.shape, n_units - 1.0)
    if context.scale == "log":
        df = np.minimum(df, np.maximum(3.0, np.square(ratio(estimate, np.sqrt(floor)))))
    return s, special.stdtrit(df, 0.5 + context.confidence_level / 2)


def moved_by_skewness(errors: FoldErrors, context: Context, change: FloatArray) -> FloatArray:
    """How much the half-width changes, relative to itself, if the skewness of the losses is another by ``change``.

    Hall's ends have a cube root in them: near a skewness of one over the quantile a little more doubles them.
    """
    if context.scale == "logit" or not context.with_skewness:
        return np.zeros(change.shape)
    parts, skewness = _parts(errors, context.scale), errors.skewness.mean(axis=0)
    s, t = _error_and_quantile(parts, errors.n_units, context)

    def half_width(skewness: FloatArray) -> FloatArray:
        low, high = ends_of_mean(parts[0], s, t, np.clip(skewness, -1.0, 1.0), context.scale)
        return high - low

    own = half_width(skewness)
    moved = np.maximum(*(np.abs(half_width(skewness + step) - own) for step in (-change, change)))
    return np.where(own > 0, moved / np.where(own > 0, own, 1.0), 0.0)


def where_no_row_speaks(low: FloatArray, high: FloatArray, errors: FoldErrors) -> tuple[FloatArray, FloatArray]:
    """Ends of shares: the estimate is held off zero and one, but nothing speaks against either where no row does."""
    observed, none = cv_estimate(errors), ROUNDING * errors.n_scored
    return np.where(observed <= none, 0.0, low), np.where(observed >= 1 - none, 1.0, high)


def size_factor(errors: FoldErrors, is_difference: bool = False) -> float:
    """What is left of the covariance term when the excess that folds of many rows put into it is taken off.

    With folds of m rows among n, ``b = 1 - 2m/n`` and ``a = 1 - m/n``: b^2 for one model, (ab)^2 for differences, and
    their roots with few groups. Ranks, which fits to fewer rows change less, have the root of b, of differences too.
    Where every row, or group, is a fold there is no excess.
    """
    if errors.n_folds == errors.n_units:
        return 1.0
    share = float(errors.sizes.mean()) / errors.n_rows
    if errors.is_ranked:
        return float(np.sqrt(1 - 2 * share))
    root = (1 - 2 * share) * (1 - share if is_difference else 1.0)
    return root if errors.n_groups is not None and errors.n_groups < FEW_GROUPS else root**2


def _sampling(errors: FoldErrors, centre: FloatArray, scale: str) -> FloatArray:
    """v/n by repeat, (L, V, Q); for zeros and ones at least the binomial one."""
    sampling = errors.sampling(centre)
    if scale == "logit":
        sampling = np.maximum(sampling, centre * (1 - centre) / errors.n_scored)
    if scale == "unit":
        sampling = np.maximum(sampling, least_share(errors.n_scored, scale) / errors.n_scored)
    return sampling


def paired(errors: FoldErrors, first: IntArray, second: IntArray, confidence_level: float, scale: str) -> Interval:
    """Differences of error between values ``first`` and ``second``, each (D,), by the covariance rule; arrays (D, Q).

    The losses are subtracted row by row and fold by fold, so what both values share cancels. ``scale`` is that of the
    loss: on the log scale the error of each value counts as far as it is `within_reach`.
    """
    cv = cv_estimate(errors)
    raw, by_repeat = raw_estimate(errors), errors.raw
    if scale == "log":
        raw, by_repeat = within_reach(raw, cv), within_reach(by_repeat, errors.cv)
    estimate = covariance_centre(raw[first] - raw[second], cv[first] - cv[second], errors, "identity")
    raws, cvs = (table[:, first] - table[:, second] for table in (by_repeat, errors.cv))
    drawn = monte_carlo_variance(covariance_centre(raws, cvs, errors, "identity"))
    sampling, covariance = errors.paired(first, second, estimate)
    floor = sampling.mean(axis=0)
    shared = size_factor(errors, is_difference=True) * covariance.mean(axis=0)
    s = np.sqrt(floor + np.maximum(shared, 0.0) + drawn)
    half = special.stdtrit(errors.n_units - 1.0, 0.5 + confidence_level / 2) * s
    facts: dict[str, object] = {"is_floored": shared < 0, "inflation": ratio(s, np.sqrt(floor))}
    return symmetric(estimate, half, s, floor + shared + drawn, **facts)


def covariance_centres(errors: FoldErrors, scale: str) -> FloatArray:
    """The centre by repeat."""
    return covariance_centre(errors.raw, errors.cv, errors, scale)


def covariance_floor(errors: FoldErrors, scale: str) -> FloatArray:
    """By repeat; what the partitions add to the centre's variance is known of all repeats together."""
    centre = covariance_centre(raw_estimate(errors), cv_estimate(errors), errors, scale)
    return _sampling(errors, centre, scale) + monte_carlo_variance(covariance_centres(errors, scale))


def covariance_mse(errors: FoldErrors, scale: str) -> FloatArray:
    """The mean squared error by repeat."""
    return covariance_floor(errors, scale) + size_factor(errors) * errors.covariance
