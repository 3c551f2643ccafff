"""Fold errors -> intervals, a rule a function; no route knows of them.

Every rule takes the tables of fold errors (see `FoldErrors`) and returns arrays (V, Q). The covariance rule, the
default, is in `covariancerule`, what it is centred at in `centres`; here are the others and the table of all. What the
rest of the package needs of any of them is had from here.
"""

from __future__ import annotations

import numpy as np
from scipy import special

from ..typing import FloatArray
from .centres import (
    bias_factor,
    covariance_centre,
    cv_estimate,
    extrapolated,
    least_share,
    pooled,
    raw_estimate,
    within_reach,
)
from .covariancerule import (
    FEW_GROUPS,
    TOO_WIDE,
    TOO_WIDE_REASONS,
    covariance,
    covariance_centres,
    covariance_floor,
    covariance_mse,
    paired,
    where_no_row_speaks,
)
from .fold_errors import FoldErrors
from .rules import Context, Interval, Rule, ratio, symmetric

__all__ = [
    "FEW_GROUPS",
    "MOST_SCATTERED",
    "RULES",
    "RULE_VERSION",
    "TOO_WIDE",
    "TOO_WIDE_REASONS",
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


MOST_SCATTERED = 100_000
"""Rows up to which the rules that need every row's losses with each pair of folds out are computed unasked."""


def _pair_sd(errors: FoldErrors) -> FloatArray:
    """Standard deviation of all pair-held-out losses, pooled over repeats."""
    count = errors.sizes.sum(axis=1) * (errors.n_folds - 1.0)
    raw = pooled(errors.raw, count)
    between = (count[:, None, None] * np.square(errors.raw - raw)).sum(axis=0)
    deviation: FloatArray = np.sqrt((errors.pair_scatter.sum(axis=0) + between) / (count.sum() - 1))
    return deviation


def paper(errors: FoldErrors, context: Context) -> Interval:
    """Cao and Stringer: ``estimate +- z sqrt(mse)``; no interval where mse is negative."""
    K, raw = errors.n_folds, raw_estimate(errors)
    cv = cv_estimate(errors) if context.bias_cv is None else context.bias_cv
    estimate = raw - bias_factor(K) * (raw - cv)
    mse = errors.mse.mean(axis=0)
    se = np.sqrt(np.where(mse >= 0, mse, np.nan))
    inflation = ratio(se, np.sqrt(errors.row_variance.mean(axis=0)))
    rest: dict[str, object] = {"inflation": inflation, "affected": mse < 0}
    if (mse < 0).any():
        least = _plain(float(np.nanmin(mse)))
        rest["reason"] = (
            f"The paper's estimate of the sampling variance is negative ({least}), so it gives no interval."
        )
        rest["remedy"] = "More repeats make this rarer, and the covariance rule does not have it."
    return symmetric(estimate, context.z * se, se, mse, **rest)


def _plain(value: float) -> str:
    """Three digits, and none of a power of ten where people write none."""
    return f"{float(f'{value:.3g}'):,.0f}" if 1e3 <= abs(value) < 1e9 else f"{value:.3g}"


def bates(errors: FoldErrors, context: Context) -> Interval:
    """Bates, Hastie, Tibshirani, as in their R package; its n counts rows that are never scored, too."""
    K, n, raw = errors.n_folds, errors.n_rows, raw_estimate(errors)
    cv = cv_estimate(errors) if context.bias_cv is None else context.bias_cv
    estimate = raw - (1 + ((K - 2) / K) ** 1.5) * (raw - cv)
    mse = errors.mse.mean(axis=0)
    sd = _pair_sd(errors)
    n_sub = n * (K - 1) // K
    unclipped = ratio(np.sqrt(np.maximum(mse, 0.0)), sd / np.sqrt(n_sub))
    inflation = np.clip(unclipped, 1.0, np.sqrt(K))
    se = sd / np.sqrt(n) * inflation
    return symmetric(estimate, context.z * se, se, mse, is_floored=unclipped < 1, inflation=inflation)


def mlr3(errors: FoldErrors, context: Context) -> Interval:
    """The variant of the R package mlr3inferr."""
    K, raw = errors.n_folds, raw_estimate(errors)
    estimate = raw - bias_factor(K) * (raw - cv_estimate(errors))
    mse = errors.mse.mean(axis=0)
    floor = _pair_sd(errors) / np.sqrt(errors.n_scored)
    unclipped = np.sqrt(np.maximum((K - 1) / K * mse, 0.0))
    se = np.clip(unclipped, floor, np.sqrt(K) * floor)
    return symmetric(estimate, context.z * se, se, mse, is_floored=unclipped < floor, inflation=ratio(se, floor))


def naive(errors: FoldErrors, context: Context) -> Interval:
    """One cross-validation, its losses taken as independent: covers too rarely."""
    se = np.sqrt(errors.row_variance[0])
    return symmetric(errors.cv[0], context.z * se, se, np.square(se))


def corrected_t(errors: FoldErrors, context: Context) -> Interval:
    """Nadeau and Bengio's corrected resampled t, its variance averaged over repeats."""
    K = errors.n_folds
    estimate = errors.e_out.mean(axis=(0, 1))
    variance = errors.e_out.var(axis=1, ddof=1).mean(axis=0)
    mse = variance * _nadeau_bengio(errors)
    se = np.sqrt(mse)
    t = special.stdtrit(K - 1, 0.5 + context.confidence_level / 2)
    inflation = ratio(se, np.sqrt(errors.row_variance.mean(axis=0)))
    return symmetric(estimate, t * se, se, mse, inflation=inflation)


def _nadeau_bengio(errors: FoldErrors) -> float:
    """``1/K + n_test/n_train``."""
    n_test = float(errors.sizes.mean())
    return 1 / errors.n_folds + n_test / (errors.n_rows - n_test)


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


RULES = {
    rule.name: rule
    for rule in (
        Rule("covariance", covariance, covariance_mse, covariance_centres, covariance_floor),
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
