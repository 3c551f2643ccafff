"""How skewed a mean of losses is: from tables of all rows, and from sums over rows that come in blocks.

Of units (rows, or groups) with ``z_i = w_i (l_i - c)`` and c such that they sum to zero, it is
``sum z^3 / (sum z^2)^(3/2)``: the skewness of the units over the root of their number, between -1 and 1.
"""

from __future__ import annotations

import numpy as np

from ..typing import FloatArray

__all__ = ["ThirdSums", "skewness_of_mean"]

EXPONENTS = (-1022, 1022)
"""Powers of two that are normal numbers, as are their inverses."""


def skewness_of_mean(units: FloatArray) -> FloatArray:
    """Of units (L, G, V, R) that sum to zero; zero where all are zero, and where they are not finite."""
    with np.errstate(invalid="ignore"):  # a value whose losses overflow is dropped later
        peak = np.abs(units).max(axis=1, keepdims=True)
        z = units / np.where(peak > 0, peak, 1.0)  # first: third powers overflow where squares do not
        squares = np.square(z)
        return _ratio(np.einsum("lgvr,lgvr->lvr", squares, z), squares.sum(axis=1))


class ThirdSums:
    """Sums over the rows of one repeat of ``w^a T^b``, a + b up to 3, with ``T = w (l - middle) scale``.

    ``middle`` (V, R) is near the mean of the losses, so that nothing cancels, and ``scale`` a power of two that takes
    it to about one: third powers overflow where squares do not.
    """

    def __init__(self, middle: FloatArray) -> None:
        scale = np.ldexp(1.0, -np.clip(np.frexp(middle)[1], *EXPONENTS))
        self.about = np.stack([scale, scale * middle])
        self.sums = np.zeros((4, 4, *middle.shape))

    def add(
        self, output: int, losses: FloatArray, weights: FloatArray | None, space: tuple[FloatArray, FloatArray]
    ) -> None:
        """Take in the weighted losses (b, V) of some rows; ``space``, two tables like these, is to compute in."""
        scale, middle = self.about[..., output]
        about, power = space
        np.multiply(losses, scale, out=about)
        about -= middle if weights is None else weights[:, None] * middle
        powers_of_weights = np.ones((len(losses), 1)) if weights is None else np.vander(weights, 4, increasing=True)
        self.sums[:, 0, :, output] += powers_of_weights.sum(axis=0)[:, None]
        power[:] = about
        for order in (1, 2, 3):
            self.sums[: 4 - order, order, :, output] += powers_of_weights[:, : 4 - order].T @ power
            power *= about

    def merge(self, other: ThirdSums) -> None:
        """Add another part."""
        self.sums += other.sums

    def skewness(self) -> FloatArray:
        """The skewness of the mean of all rows, (V, R)."""
        S = self.sums
        with np.errstate(invalid="ignore", divide="ignore"):
            c = S[0, 1] / S[1, 0]
            second = S[0, 2] - 2 * c * S[1, 1] + c**2 * S[2, 0]
            third = S[0, 3] - 3 * c * S[1, 2] + 3 * c**2 * S[2, 1] - c**3 * S[3, 0]
            return _ratio(third, second)


def _ratio(third: FloatArray, second: FloatArray) -> FloatArray:
    """``third / second^(3/2)`` within its bounds, which rounding errors may leave; zero where it means nothing."""
    ratio = third / np.where(second > 0, second, np.inf) ** 1.5
    bounded: FloatArray = np.clip(np.where(np.isfinite(ratio), ratio, 0.0), -1.0, 1.0)
    return bounded
