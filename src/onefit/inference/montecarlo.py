"""How much of an interval is an accident of the partitions drawn, and when to stop drawing."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from ..typing import BoolArray, FloatArray
from .covariancerule import moved_by_skewness
from .fold_errors import FoldErrors
from .rules import Context, Rule

__all__ = ["FAST", "MOST_REPEATS", "SCHEDULE", "Stopping", "half_width_error", "is_precise"]

MOST_REPEATS = 200
SCHEDULE = (2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40, 50, 65, 80, 100, 125, 150, 175, MOST_REPEATS)
"""Numbers of repeats at which ``n_repeats="auto"`` looks: fixed, so that blocks cannot change the answer."""


@dataclass(frozen=True)
class Stopping:
    """When ``n_repeats="auto"`` stops.

    Attributes
    ----------
    half_width : float
        Relative Monte Carlo error of the half-width that suffices.
    centre : float
        Monte Carlo error of the centre that suffices, in half-widths.
    tolerated : float
        Error of the half-width up to which nothing is said: above it, other partitions would change the interval.
    max_fits, fits_a_repeat : int or None
        Refits allowed, and those of a repeat, of one model at one value; None if nothing is refitted.
    """

    half_width: float = 0.05
    centre: float = 0.10
    tolerated: float = 0.10
    max_fits: int | None = None
    fits_a_repeat: int | None = None

    @classmethod
    def of_refits(cls, n_folds: int, max_fits: int) -> Stopping:
        """For refits, whose price asks for less."""
        return cls(0.10, 0.15, 0.20, max_fits, n_folds * (n_folds + 1) // 2)

    @property
    def most(self) -> int:
        """Repeats at the latest."""
        if self.max_fits is None or self.fits_a_repeat is None:
            return MOST_REPEATS
        return min(MOST_REPEATS, max(1, self.max_fits // self.fits_a_repeat))

    @property
    def schedule(self) -> tuple[int, ...]:
        """Numbers of repeats at which to look."""
        return (*(count for count in SCHEDULE if count < self.most), self.most)

    def repeats_needed(self, error: float, n_repeats: int) -> int:
        """About how many repeats would suffice, if so many left this error: it falls with the root of their number."""
        return int(np.ceil(n_repeats * (error / self.half_width) ** 2))


FAST = Stopping()

NORMAL = special.ndtri((np.arange(50) + 0.5) / 50)
"""A sample of the normal distribution without accidents."""


LEVEL = 0.95
"""Of the interval whose half-width is to be precise: as many repeats are made whatever level is asked for."""

SKEWED = 0.05
"""Part of the half-width that it may change by with the skewness of the losses before that counts: mostly it is the
smaller part of what partitions do."""


def half_width_error(
    errors: FoldErrors, rule: Rule, context: Context, is_cut: bool = True, caution: float = 1.0
) -> FloatArray:
    """Relative Monte Carlo error of the half-width, (V, Q): se(mean mse) / (2 max(mse, v/n)), and that of the skewness.

    Where a rule cuts the mean squared error at bounds, that of what ``is_cut``: it hardly varies if the mean is far
    beyond. Standard errors count ``caution`` times.
    """
    scale = context.scale
    shape = errors.raw.shape[1:]
    if errors.n_folds == errors.n_units and errors.n_scored == errors.n_rows:
        return np.zeros(shape)  # every row, or group, is a fold: there is only one partition
    if errors.n_repeats == 1:
        return np.full(shape, np.nan)
    by_repeat = rule.repeat_mse(errors, scale)
    used = 1 if rule.name == "naive" else errors.n_repeats
    level = np.maximum(by_repeat.mean(axis=0), rule.repeat_floor(errors, scale).mean(axis=0))
    relative = by_repeat / np.where(level > 0, level, 1.0)  # first: its variance has eighth powers of y
    spread = _standard_error(relative, used)
    if is_cut and rule.repeat_bounds is not None:
        least, most = (bound / np.where(level > 0, level, 1.0) for bound in rule.repeat_bounds(errors))
        mean, bounds = relative.mean(axis=0), (least.mean(axis=0), most.mean(axis=0))
        others = np.clip(mean + spread * NORMAL[:, None, None], *bounds)  # what other partitions might give
        cut = np.clip(mean, *bounds)
        spread = np.hypot(others.std(axis=0), _standard_error(least, used)) / np.where(cut > 0, cut, 1.0)
    found: FloatArray = caution * np.where(level > 0, spread / 2, 0.0)
    if rule.name != "covariance":
        return found
    skewed = moved_by_skewness(errors, context, caution * _standard_error(errors.skewness, errors.n_repeats))
    return np.where(skewed > SKEWED, np.hypot(found, skewed), found)


def _standard_error(by_repeat: FloatArray, n_repeats: int) -> FloatArray:
    """Of the mean over so many repeats."""
    deviation: FloatArray = by_repeat.std(axis=0, ddof=1) / np.sqrt(n_repeats)
    return deviation


def is_precise(
    errors: FoldErrors, rule: Rule, scale: str, kept: BoolArray | None = None, stopping: Stopping = FAST
) -> bool:
    """Whether the Monte Carlo errors of half-width and centre are as small as they should be, at values ``kept``.

    Both standard errors are themselves estimated from few repeats, and stopping at the first small one would
    pick the accidents; so each is raised to the upper end of a one-sided 75% interval.
    """
    if rule.name == "naive":
        return True  # it uses the first repeat whatever the others say
    if errors.n_repeats == 1:
        return False
    df = errors.n_repeats - 1
    caution = np.sqrt(df / special.chdtri(df, 0.75))
    # before it is cut: two repeats may be far below a floor by accident, and would stop at once
    half_width = half_width_error(errors, rule, Context(LEVEL, scale), is_cut=False, caution=float(caution))
    centres = rule.repeat_centre(errors, scale)
    centre_se = centres.std(axis=0, ddof=1) / np.sqrt(errors.n_repeats)
    mse, floor = (of(errors, scale).mean(axis=0) for of in (rule.repeat_mse, rule.repeat_floor))
    s = np.sqrt(np.maximum(mse, floor))
    is_centred = caution * centre_se <= stopping.centre * 1.645 * s
    settled: BoolArray = (half_width < stopping.half_width) & is_centred
    return bool((settled if kept is None else settled[kept]).all())
