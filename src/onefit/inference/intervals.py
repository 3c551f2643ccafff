"""Fold errors -> intervals, a rule a function; no route knows of them.

Every rule takes the tables of fold errors (see `FoldErrors`) and returns arrays (V, Q).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import special

from ..typing import BoolArray, FloatArray, IntArray
from .ends import ends_of_mean, wilson
from .fold_errors import FoldErrors

__all__ = [
    "FEW_GROUPS",
    "MOST_SCATTERED",
    "RULES",
    "RULE_VERSION",
    "TOO_WIDE",
    "Context",
    "Interval",
    "Rule",
    "cv_estimate",
    "extrapolated",
    "least_share",
    "paired",
    "raw_estimate",
    "where_no_row_speaks",
    "within_reach",
]

RULE_VERSION = 4
"""Of the covariance rule, the default: 1 is that of onefit 0.1, without size correction, Hall's and Wilson's ends; in 2
ranks had the size correction of losses; in 3 recalls and their means had no least variance."""

FEW_GROUPS = 20
"""With fewer groups the variance between them is too uncertain for the whole size correction."""

ROUNDING = 4 * float(np.finfo(np.float64).eps)
"""What a row may add to the rounding errors of a share of rows."""

MOST_SCATTERED = 100_000
"""Rows up to which the rules that need every row's losses with each pair of folds out are computed unasked."""

REACH = 2.0
"""Factor up to which ``raw`` may be apart from ``cv`` for a line through both, on the log scale, to be a guide."""

TOO_WIDE = "The standard error exceeds the estimated error, so the interval is on the plain scale, cut at 0."
"""A reason whose cause is to be found in the losses of the rows."""


@dataclass(frozen=True)
class Interval:
    """An interval for the generalization error by one rule, arrays (V, Q)."""

    estimate: FloatArray
    low: FloatArray
    high: FloatArray
    standard_error: FloatArray
    mse: FloatArray
    is_floored: BoolArray
    inflation: FloatArray
    reason: str = ""
    remedy: str = ""
    affected: BoolArray | None = None

    def cause_at(self, value: int) -> tuple[str, str]:
        """Why the interval at one value is missing or not the usual one, and what to do; empty if it is neither."""
        is_affected = self.affected is None or bool(self.affected[value].any())
        return (self.reason, self.remedy) if is_affected else ("", "")

    def reason_at(self, value: int) -> str:
        """The same in one text."""
        return " ".join(self.cause_at(value)).strip()


@dataclass(frozen=True)
class Context:
    """What a rule may need beside the tables."""

    confidence_level: float
    scale: str
    bias_cv: FloatArray | None = None
    with_skewness: bool = True

    @property
    def z(self) -> float:
        """Two-sided normal quantile."""
        return float(special.ndtri(0.5 + self.confidence_level / 2))


@dataclass(frozen=True)
class Rule:
    """An interval rule: its function, and by repeat the mean squared error behind its half-width and what bounds it.

    ``repeat_floor`` is the least that matters; ``repeat_bounds`` are where the rule cuts the mean over repeats.
    """

    name: str
    compute: Callable[[FoldErrors, Context], Interval]
    repeat_mse: Callable[[FoldErrors, str], FloatArray]
    repeat_centre: Callable[[FoldErrors, str], FloatArray]
    repeat_floor: Callable[[FoldErrors, str], FloatArray] = lambda errors, scale: errors.row_variance
    repeat_bounds: Callable[[FoldErrors], tuple[FloatArray, FloatArray]] | None = None
    needs_v_out: bool = False
    needs_pair_scatter: bool = False


def bias_factor(K: int) -> float:
    """``1 + (K - 2)/K``: from training sets of (K-2)/K and (K-1)/K of the rows to all of them."""
    return 1.0 + (K - 2) / K


def _pair_sd(errors: FoldErrors) -> FloatArray:
    """Standard deviation of all pair-held-out losses, pooled over repeats."""
    count = errors.sizes.sum(axis=1) * (errors.n_folds - 1.0)
    raw = _pooled(errors.raw, count)
    between = (count[:, None, None] * np.square(errors.raw - raw)).sum(axis=0)
    deviation: FloatArray = np.sqrt((errors.pair_scatter.sum(axis=0) + between) / (count.sum() - 1))
    return deviation


def _pooled(by_repeat: FloatArray, count: FloatArray) -> FloatArray:
    """Mean over repeats, each weighted by the number of losses in it."""
    mean: FloatArray = (count[:, None, None] * by_repeat).sum(axis=0) / count.sum()
    return mean


def raw_estimate(errors: FoldErrors) -> FloatArray:
    """Mean of all pair-held-out losses."""
    return _pooled(errors.raw, errors.sizes.sum(axis=1) * 1.0)


def cv_estimate(errors: FoldErrors) -> FloatArray:
    """Row mean of the single-held-out losses."""
    return _pooled(errors.cv, errors.sizes.sum(axis=1) * 1.0)


def _symmetric(estimate: FloatArray, half: FloatArray, se: FloatArray, mse: FloatArray, **rest: object) -> Interval:
    ones = np.ones_like(estimate)
    facts: dict[str, object] = {"is_floored": np.zeros(estimate.shape, dtype=bool), "inflation": ones, **rest}
    return Interval(estimate, estimate - half, estimate + half, se, mse, **facts)  # type: ignore[arg-type]


def paper(errors: FoldErrors, context: Context) -> Interval:
    """Cao and Stringer: ``estimate +- z sqrt(mse)``; no interval where mse is negative."""
    K, raw = errors.n_folds, raw_estimate(errors)
    cv = cv_estimate(errors) if context.bias_cv is None else context.bias_cv
    estimate = raw - bias_factor(K) * (raw - cv)
    mse = errors.mse.mean(axis=0)
    se = np.sqrt(np.where(mse >= 0, mse, np.nan))
    inflation = _ratio(se, np.sqrt(errors.row_variance.mean(axis=0)))
    rest: dict[str, object] = {"inflation": inflation, "affected": mse < 0}
    if (mse < 0).any():
        least = f"{np.nanmin(mse):.3g}"
        rest["reason"] = (
            f"The paper's estimate of the mean squared error is negative ({least}), so it gives no interval."
        )
        rest["remedy"] = "More repeats make this rarer, and the covariance rule does not have it."
    return _symmetric(estimate, context.z * se, se, mse, **rest)


def bates(errors: FoldErrors, context: Context) -> Interval:
    """Bates, Hastie, Tibshirani, as in their R package; its n counts rows that are never scored, too."""
    K, n, raw = errors.n_folds, errors.n_rows, raw_estimate(errors)
    cv = cv_estimate(errors) if context.bias_cv is None else context.bias_cv
    estimate = raw - (1 + ((K - 2) / K) ** 1.5) * (raw - cv)
    mse = errors.mse.mean(axis=0)
    sd = _pair_sd(errors)
    n_sub = n * (K - 1) // K
    unclipped = _ratio(np.sqrt(np.maximum(mse, 0.0)), sd / np.sqrt(n_sub))
    inflation = np.clip(unclipped, 1.0, np.sqrt(K))
    se = sd / np.sqrt(n) * inflation
    return _symmetric(estimate, context.z * se, se, mse, is_floored=unclipped < 1, inflation=inflation)


def mlr3(errors: FoldErrors, context: Context) -> Interval:
    """The variant of the R package mlr3inferr."""
    K, raw = errors.n_folds, raw_estimate(errors)
    estimate = raw - bias_factor(K) * (raw - cv_estimate(errors))
    mse = errors.mse.mean(axis=0)
    floor = _pair_sd(errors) / np.sqrt(errors.n_scored)
    unclipped = np.sqrt(np.maximum((K - 1) / K * mse, 0.0))
    se = np.clip(unclipped, floor, np.sqrt(K) * floor)
    return _symmetric(estimate, context.z * se, se, mse, is_floored=unclipped < floor, inflation=_ratio(se, floor))


def naive(errors: FoldErrors, context: Context) -> Interval:
    """One cross-validation, its losses taken as independent: covers too rarely."""
    se = np.sqrt(errors.row_variance[0])
    return _symmetric(errors.cv[0], context.z * se, se, np.square(se))


def corrected_t(errors: FoldErrors, context: Context) -> Interval:
    """Nadeau and Bengio's corrected resampled t, its variance averaged over repeats."""
    K = errors.n_folds
    estimate = errors.e_out.mean(axis=(0, 1))
    variance = errors.e_out.var(axis=1, ddof=1).mean(axis=0)
    mse = variance * _nadeau_bengio(errors)
    se = np.sqrt(mse)
    t = special.stdtrit(K - 1, 0.5 + context.confidence_level / 2)
    inflation = _ratio(se, np.sqrt(errors.row_variance.mean(axis=0)))
    return _symmetric(estimate, t * se, se, mse, inflation=inflation)


def _nadeau_bengio(errors: FoldErrors) -> float:
    """``1/K + n_test/n_train``."""
    n_test = float(errors.sizes.mean())
    return 1 / errors.n_folds + n_test / (errors.n_rows - n_test)


def covariance(errors: FoldErrors, context: Context) -> Interval:
    """Ours: the variance of the losses plus their covariance through shared training rows.

    ``mse = v/n + f C + MC`` with ``C = K^-2 sum_{j != k} B_jk B_kj / (1 - 1/(K-1))^2``, f of `size_factor` and MC the
    variance of the centre over the partitions drawn; ``v/n + f C`` is floored at v/n. The interval is Wilson's for
    zeros and ones; else at each end the wider of that on the scale of the loss, logarithmic for losses that cannot be
    negative, and Hall's, which minds their skewness.
    """
    scale, units = context.scale, errors.n_units
    estimate = covariance_centre(raw_estimate(errors), cv_estimate(errors), errors, scale)
    floor = _sampling(errors, estimate, scale).mean(axis=0)
    shared = size_factor(errors) * errors.covariance.mean(axis=0)
    drawn = monte_carlo_variance(_covariance_centres(errors, scale))
    s = np.sqrt(floor + np.maximum(shared, 0.0) + drawn)
    df = np.full(estimate.shape, units - 1.0)
    if scale == "log":
        df = np.minimum(df, np.maximum(3.0, np.square(_ratio(estimate, np.sqrt(floor)))))
    t = special.stdtrit(df, 0.5 + context.confidence_level / 2)
    too_wide = (s > estimate) if scale == "log" else np.zeros(estimate.shape, dtype=bool)
    reason = TOO_WIDE if too_wide.any() else ""
    if scale == "logit":
        low, high = where_no_row_speaks(*wilson(estimate, s, t), errors)
    else:
        skewness = errors.skewness.mean(axis=0) if context.with_skewness else None
        low, high = ends_of_mean(estimate, s, t, skewness, scale)
    mse, inflation = floor + shared + drawn, _ratio(s, np.sqrt(floor))
    return Interval(estimate, low, high, s, mse, shared < 0, inflation, reason, affected=too_wide)


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


def monte_carlo_variance(centres: FloatArray) -> FloatArray:
    """Variance of the mean over repeats of the centre (L, ...) that comes from the partitions drawn; zero of one."""
    count = len(centres)
    if count == 1:
        return np.zeros(centres.shape[1:])
    variance: FloatArray = centres.var(axis=0, ddof=1) / count
    return variance


def _sampling(errors: FoldErrors, centre: FloatArray, scale: str) -> FloatArray:
    """v/n by repeat, (L, V, Q); for zeros and ones at least the binomial one."""
    sampling = errors.sampling(centre)
    if scale == "logit":
        sampling = np.maximum(sampling, centre * (1 - centre) / errors.n_scored)
    if scale == "unit":
        sampling = np.maximum(sampling, least_share(errors.n_scored, scale) / errors.n_scored)
    return sampling


def least_share(n: int, scale: str) -> float:
    """How near a figure in [0, 1] comes to either end, where no row speaks against that end.

    Half a row for shares of rows; for others, which may be shares of pairs of rows, half a pair of two equal classes.
    """
    return 1 / (2 * n) if scale == "logit" else 2 / n**2


def covariance_centre(raw: FloatArray, cv: FloatArray, errors: FoldErrors, scale: str) -> FloatArray:
    """Error at n training rows from that at n - 2m (``raw``) and n - m (``cv``), extrapolated on the loss's scale."""
    return extrapolated(raw, cv, bias_factor(errors.n_folds), errors.n_scored, scale)


def extrapolated(raw: FloatArray, cv: FloatArray, f: float, n_scored: int, scale: str) -> FloatArray:
    """``raw - f (raw - cv)`` on the loss's scale; on the log scale ``raw`` counts as far as it is `within_reach`."""
    if scale == "identity":
        return raw - f * (raw - cv)
    if scale in ("logit", "unit", "shares"):
        least = least_share(n_scored, scale)
        raw, cv = (special.logit(np.clip(e, least, 1 - least)) for e in (raw, cv))
        share: FloatArray = special.expit(raw - f * (raw - cv))
        return share
    raw = within_reach(raw, cv)
    with np.errstate(divide="ignore", invalid="ignore"):
        centre = np.exp(np.log(raw) - f * (np.log(raw) - np.log(cv)))
    return np.where((raw > 0) & (cv > 0), centre, 0.0)


def within_reach(raw: FloatArray, cv: FloatArray) -> FloatArray:
    """``raw``, or ``cv (raw/cv)^(1/x)`` where the larger of the two is ``1 + x`` times the smaller and x exceeds one.

    Where a second fold that is out makes the error explode, that says nothing of what more rows would do, and the
    centre goes back to ``cv``, the further they are apart.
    """
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        distance = np.log(raw) - np.log(cv)
        beyond = np.abs(distance) > np.log(REACH)
        nearer = cv * np.exp((REACH - 1) * distance / np.expm1(np.abs(distance)))
    return np.where(beyond & (raw > 0) & (cv > 0), nearer, raw)


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
    facts: dict[str, object] = {"is_floored": shared < 0, "inflation": _ratio(s, np.sqrt(floor))}
    return _symmetric(estimate, half, s, floor + shared + drawn, **facts)


def _ratio(numerator: FloatArray, denominator: FloatArray) -> FloatArray:
    """Quotient that is one where both are zero (a perfect fit has nothing to inflate)."""
    safe = np.where(denominator > 0, denominator, 1.0)
    quotient: FloatArray = np.where(denominator > 0, numerator / safe, np.where(numerator > 0, np.inf, 1.0))
    return quotient


def _pair_bounds(errors: FoldErrors, n: float) -> tuple[FloatArray, FloatArray]:
    """Variance over n of the pair-held-out losses by repeat, and K times that, (L, V, Q)."""
    count = errors.sizes.sum(axis=1) * (errors.n_folds - 1.0)
    least: FloatArray = errors.pair_scatter / (count - 1)[:, None, None] / n
    return least, errors.n_folds * least


def _bates_bounds(errors: FoldErrors) -> tuple[FloatArray, FloatArray]:
    return _pair_bounds(errors, errors.n_rows * (errors.n_folds - 1) // errors.n_folds)


def _mlr3_bounds(errors: FoldErrors) -> tuple[FloatArray, FloatArray]:
    return _pair_bounds(errors, errors.n_scored * (errors.n_folds - 1) / errors.n_folds)


def _linear_centre(errors: FoldErrors, scale: str) -> FloatArray:
    return covariance_centre(errors.raw, errors.cv, errors, "identity")


def _covariance_centres(errors: FoldErrors, scale: str) -> FloatArray:
    return covariance_centre(errors.raw, errors.cv, errors, scale)


def _covariance_floor(errors: FoldErrors, scale: str) -> FloatArray:
    """By repeat; what the partitions add to the centre's variance is known of all repeats together."""
    centre = covariance_centre(raw_estimate(errors), cv_estimate(errors), errors, scale)
    return _sampling(errors, centre, scale) + monte_carlo_variance(_covariance_centres(errors, scale))


def _covariance_mse(errors: FoldErrors, scale: str) -> FloatArray:
    return _covariance_floor(errors, scale) + size_factor(errors) * errors.covariance


RULES = {
    rule.name: rule
    for rule in (
        Rule("covariance", covariance, _covariance_mse, _covariance_centres, _covariance_floor),
        Rule(
            "bates",
            bates,
            lambda e, _: e.mse,
            _linear_centre,
            repeat_bounds=_bates_bounds,
            needs_v_out=True,
            needs_pair_scatter=True,
        ),
        Rule("paper", paper, lambda e, _: e.mse, _linear_centre, needs_v_out=True),
        Rule(
            "mlr3",
            mlr3,
            lambda e, _: e.mse,
            _linear_centre,
            repeat_bounds=_mlr3_bounds,
            needs_v_out=True,
            needs_pair_scatter=True,
        ),
        Rule("naive", naive, lambda e, _: e.row_variance, lambda e, _: e.cv),
        Rule(
            "corrected_t",
            corrected_t,
            lambda e, _: e.e_out.var(axis=1, ddof=1) * _nadeau_bengio(e),
            lambda e, _: e.cv,
        ),
    )
}
