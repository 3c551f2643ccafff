r"""REML and the unbiased risk of several penalties where the variance of the noise is known, as it is of counts.

With a variance of one (times the weights, which the rows have been multiplied by),

.. math::

    REML = \frac{RSS + b'Sb}{2} + \frac{n - k}{2}\log 2\pi + \log|N'N|^{1/2} + \frac{1}{2}\log|M|, \quad
    UBRE = \frac{RSS + 2\,edf}{n} - 1,

and their derivatives are those of their parts (`points`).
"""

from __future__ import annotations

import numpy as np

from ..typing import FloatArray
from .points import ROUNDING, GcvPoint, RemlPoint
from .reduced import Reduced

__all__ = ["KnownReml", "Ubre"]


class KnownReml(RemlPoint):
    """REML at a variance of one, summed over the outputs."""

    def __init__(self, problem: Reduced, rho: FloatArray) -> None:
        super().__init__(problem, rho)
        self.tolerance = max(self.tolerance, ROUNDING * float(self.penalized.sum()))

    def _values(self, penalized: FloatArray, log_det: FloatArray | float) -> FloatArray:
        D, Q = self.dimension, len(self.penalized)
        values: FloatArray = penalized.sum(axis=0) / 2 + Q * (
            D / 2 * np.log(2.0 * np.pi) + self.problem.constant + log_det / 2
        )
        return values

    def derivatives(self) -> tuple[FloatArray, FloatArray]:
        """Gradient and Hessian."""
        Q, total, a = len(self.penalized), self.problem.coordinates.of_term, self.a
        gradient = (total @ np.square(a)).sum(axis=1) / 2 - Q / 2 * (total @ self.LL.diagonal())
        blocks = total @ ((a @ a.T - Q / 2 * self.LL) * self.LL) @ total.T
        return gradient, blocks - np.diag(gradient)


class Ubre(GcvPoint):
    """The unbiased risk (Mallows' Cp) at a variance of one, summed over the outputs: mgcv's UBRE."""

    def __init__(self, problem: Reduced, rho: FloatArray) -> None:
        super().__init__(problem, rho)
        self.tolerance = ROUNDING * max(1.0, self.rss / problem.n)

    def _values(self, rss: FloatArray | float, left: FloatArray | float) -> FloatArray:
        Q = self.problem.z.shape[1]
        return np.asarray((rss - 2.0 * Q * left) / self.problem.n + Q)

    def derivatives(self) -> tuple[FloatArray, FloatArray]:
        """Gradient and Hessian."""
        n, Q = self.problem.n, self.problem.z.shape[1]
        left_1, left_2, rss_1, rss_2 = self.changes()
        return (rss_1 - 2.0 * Q * left_1) / n, (rss_2 - 2.0 * Q * left_2) / n

    def report(self) -> tuple[float, FloatArray, FloatArray]:
        """The criterion, its gradient and its Hessian."""
        return (self.value, *self.derivatives())
