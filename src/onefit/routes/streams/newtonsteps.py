"""Newton's method with halving for some problems at once, whose sums come from passes over the rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from ...learners.glm_fit import CERTIFIED, DEPENDENT, ENOUGH
from ...typing import FloatArray

__all__ = ["NewtonState", "Sums"]

MOST_HALVINGS = 40
SLACK = 1e-12
"""Rounding errors of an objective, relative to it."""


@dataclass(frozen=True)
class Sums:
    """Of one problem at some coefficients (c, p), with its penalty: objective, descent (c, p), hessian (c p, c p).

    ``curvature`` is the sum of the curvatures of its rows.
    """

    objective: float
    descent: FloatArray
    hessian: FloatArray
    curvature: float


class NewtonState:
    """One problem: where it is, and where it wants to be told the sums next (``trial``).

    Attributes
    ----------
    trial : array (c, p)
    change : float
        Change of the linear predictor that the last gradient asks for, as a root mean square over the rows.
    is_free : bool
        Whether the last Hessian left directions undetermined.
    """

    def __init__(self, start: FloatArray) -> None:
        self.trial = start
        self.change, self.is_free, self.is_lost = np.inf, False, False
        self._theta, self._objective = start, np.inf
        self._step, self._promised, self._halvings = np.zeros_like(start), 0.0, 0

    @property
    def is_done(self) -> bool:
        """Whether the next step gives all digits: it has been made."""
        return self.change <= CERTIFIED

    @property
    def is_halved(self) -> bool:
        """Whether the last trial was no good."""
        return self._halvings > 0

    def tell(self, sums: Sums) -> None:
        """Take in what was found at the trial."""
        enough = self._objective - ENOUGH * self._promised + SLACK * (1.0 + abs(self._objective))
        is_first = not np.isfinite(self._objective)
        if not np.isfinite(sums.objective) or not (is_first or sums.objective <= enough):
            self._halve(is_first)
            return
        self._theta, self._objective, self._halvings = self.trial, sums.objective, 0
        if not np.isfinite(sums.hessian).all() or not sums.curvature > 0:
            self.is_lost = True
            return
        self._step, self.change, self.is_free = _step(sums)
        self._promised = float((sums.descent * self._step).sum())
        self.trial = self._theta + self._step

    def _halve(self, is_first: bool) -> None:
        self._halvings += 1
        if self._halvings > MOST_HALVINGS:
            self.is_lost = True
        if is_first:  # there is nothing to go back to but zero
            self.trial = self.trial / 2.0
            return
        self._step, self._promised = self._step / 2.0, self._promised / 2.0
        self.trial = self._theta + self._step


def _step(sums: Sums) -> tuple[FloatArray, float, bool]:
    """The step, how far it goes, and whether there are directions that the Hessian does not know."""
    g, d = sums.descent.ravel(), np.diag(sums.hessian)
    kept = np.flatnonzero(d > 0)  # a column of zeros stays where it is
    D = 1.0 / np.sqrt(d[kept])
    values, vectors = linalg.eigh(D[:, None] * sums.hessian[np.ix_(kept, kept)] * D, check_finite=False)
    is_known = values > DEPENDENT * len(values)
    along = vectors[:, is_known].T @ (D * g[kept])
    step = np.zeros_like(g)
    step[kept] = D * (vectors[:, is_known] @ (along / values[is_known]))
    change = float(np.sqrt(np.sum(np.square(along) / values[is_known]) / sums.curvature))
    return step.reshape(sums.descent.shape), change, not bool(is_known.all())
