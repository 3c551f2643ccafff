"""Numbers as people write them: thousands separators, and no more digits than the interval bears."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from ..typing import AnyArray, ArrayLike

__all__ = [
    "ABSENT_TEXT",
    "Digits",
    "column_texts",
    "digits_for",
    "interval_text",
    "number_text",
    "percent",
    "seems_zero",
]

ABSENT_TEXT = "–"
PLAIN_SIZES = (1e-4, 1e9)  # numbers outside are written with a power of ten
MOST_DECIMALS = 10
MOST_DIGITS = 15  # that a float holds
FEW_DIGITS = 4
ROUNDING = 1e-12  # of the upper end: what is smaller may be zero
SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclass(frozen=True)
class Digits:
    """How a set of numbers is written: with so many decimals, or with a power of ten if ``decimals`` is None.

    Examples
    --------
    >>> from onefit.display.numbers import Digits
    >>> digits = Digits.of([3214.6, 2874.4, 3597.1], spread=361.0)
    >>> digits.text(3214.6), digits.text(-12345.678)
    ('3,215', '−12,346')
    """

    decimals: int | None

    @classmethod
    def of(cls, values: Iterable[float], spread: float = math.nan) -> Digits:
        """Two digits of the spread, a half-width or standard error; without one, four digits of the largest value."""
        sizes = [abs(value) for value in values if math.isfinite(value)]
        size = max(sizes, default=0.0)
        is_offset = size < 10.0**MOST_DIGITS and 0 < spread < size / 10 ** (FEW_DIGITS - 1)
        if size and not (PLAIN_SIZES[0] <= size < PLAIN_SIZES[1] or (size >= PLAIN_SIZES[1] and is_offset)):
            return cls(None)
        if not (math.isfinite(spread) and spread > 0):
            spread = size / 100
        return cls(0 if spread == 0 else min(MOST_DECIMALS, max(0, 1 - math.floor(math.log10(spread)))))

    def text(self, value: float) -> str:
        """The number; a dash if it is missing."""
        if math.isnan(value):
            return ABSENT_TEXT
        if math.isinf(value):
            return "∞" if value > 0 else "−∞"
        if self.decimals is None:
            return _with_power(value)
        text = f"{value:,.{self.decimals}f}"
        return text.lstrip("-") if float(text.replace(",", "")) == 0 else text.replace("-", "−")


def digits_for(values: ArrayLike) -> int:
    """Significant digits that tell numbers apart: four, and more if they lie close together far from zero.

    Examples
    --------
    >>> from onefit.display.numbers import digits_for
    >>> digits_for([3.0, 250.0]), digits_for([1700000012.3, 1700000055.1])
    (4, 11)
    """
    values = np.asarray(values, dtype=float)
    finite = values[np.isfinite(values)]
    size, extent = (float(np.abs(finite).max()), float(np.ptp(finite))) if len(finite) else (0.0, 0.0)
    if not 0 < extent < size:
        return FEW_DIGITS
    return min(MOST_DIGITS, FEW_DIGITS + math.floor(math.log10(size / extent)))


def column_texts(values: AnyArray) -> list[str]:
    """Numbers below each other with the same digits; anything else as it is.

    Examples
    --------
    >>> import numpy as np
    >>> from onefit.display.numbers import column_texts
    >>> column_texts(np.array([12.5, 0.25])), column_texts(np.array([1700000012.3, 1700000055.1]))
    (['12.50', '0.25'], ['1,700,000,012.3', '1,700,000,055.1'])
    """
    if not np.issubdtype(np.asarray(values).dtype, np.floating):
        return [number_text(value) for value in values]
    finite = values[np.isfinite(values)]
    if (finite == np.round(finite)).all() and (np.abs(finite) < PLAIN_SIZES[1]).all():
        digits = Digits(0)
    else:
        size = float(np.abs(finite).max(initial=0.0))
        digits = Digits.of(map(float, values), size / 10.0 ** (digits_for(values) - 2))
    return [digits.text(float(value)) for value in values]


def number_text(value: object, digits: int = FEW_DIGITS) -> str:
    """One number on its own, to so many significant digits; anything else as it is.

    Examples
    --------
    >>> from onefit.display.numbers import number_text
    >>> number_text(12345.6), number_text(0.48213), number_text(2.5e-7), number_text("rbf")
    ('12,346', '0.4821', '2.5 × 10⁻⁷', 'rbf')
    """
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | float | np.number):
        return str(value)
    if isinstance(value, int | np.integer):
        return f"{int(value):,}".replace("-", "−")
    size = abs(float(value))
    if not math.isfinite(size):
        return Digits(0).text(float(value))
    if size and not PLAIN_SIZES[0] <= size < max(PLAIN_SIZES[1], 10.0**digits):
        return _with_power(float(value), digits)
    decimals = max(0, digits - 1 - math.floor(math.log10(size))) if size >= 1000 else 0
    text = f"{float(value):,.{decimals}f}" if size >= 1000 else f"{float(value):.{digits}g}"
    return text.replace("-", "−")


def interval_text(estimate: float, low: float, high: float, *, decimals: int | None = None) -> tuple[str, str, str]:
    """Estimate and ends with the digits that the half-width bears, or with so many decimals.

    An estimate that is not zero, of what cannot be negative, is not written as zero however wide the interval.

    Examples
    --------
    >>> from onefit.display.numbers import interval_text
    >>> interval_text(3214.6, 2874.4, 3597.1)
    ('3,215', '2,874', '3,597')
    >>> interval_text(0.4821, 0.4234, 0.5413, decimals=2)
    ('0.48', '0.42', '0.54')
    """
    values = [estimate, low, high]
    digits = Digits.of(values, (high - low) / 2) if decimals is None else Digits(decimals)
    is_small = decimals is None and seems_zero(estimate, low, high, digits)
    text = number_text(estimate, 2) if is_small else digits.text(estimate)
    return text, digits.text(low), digits.text(high)


def seems_zero(estimate: float, low: float, high: float, digits: Digits) -> bool:
    """Whether an estimate of what is never negative would be written as zero, and is more than a rounding error."""
    return low >= 0 and estimate > ROUNDING * high and digits.text(estimate) == digits.text(0.0)


def percent(share: float) -> str:
    """A share as a percentage.

    Examples
    --------
    >>> from onefit.display.numbers import percent
    >>> percent(0.95), percent(0.0213), percent(0.00001)
    ('95%', '2.1%', 'less than 0.1%')
    """
    if math.isnan(share):
        return ABSENT_TEXT
    if 0 < share < 0.001:
        return "less than 0.1%"
    return f"{100 * share:.3g}%" if share >= 0.1 else f"{100 * share:.2g}%"


def _with_power(value: float, digits: int = FEW_DIGITS) -> str:
    """A number of that many digits times a power of ten."""
    mantissa, exponent = f"{value:.{digits - 1}e}".split("e")
    shown = mantissa.rstrip("0").rstrip(".").replace("-", "−")
    if not int(exponent):
        return shown
    return f"{shown} × 10{str(int(exponent)).translate(SUPERSCRIPTS)}" if float(mantissa) else "0"
