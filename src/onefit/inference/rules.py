"""What an interval rule is, what it may need, and what comes out of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import special

from ..typing import BoolArray, FloatArray
from .fold_errors import FoldErrors

__all__ = ["Context", "Interval", "Rule", "ratio", "symmetric"]


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


def symmetric(estimate: FloatArray, half: FloatArray, se: FloatArray, mse: FloatArray, **rest: object) -> Interval:
    """``estimate +- half``, with nothing floored or inflated if the rest does not say so."""
    ones = np.ones_like(estimate)
    facts: dict[str, object] = {"is_floored": np.zeros(estimate.shape, dtype=bool), "inflation": ones, **rest}
    return Interval(estimate, estimate - half, estimate + half, se, mse, **facts)  # type: ignore[arg-type]


def ratio(numerator: FloatArray, denominator: FloatArray) -> FloatArray:
    """Quotient that is one where both are zero (a perfect fit has nothing to inflate)."""
    safe = np.where(denominator > 0, denominator, 1.0)
    quotient: FloatArray = np.where(denominator > 0, numerator / safe, np.where(numerator > 0, np.inf, 1.0))
    return quotient
