"""The lasso or elastic net of one training set from its rows, by active sets in extended precision.

With ``l2 > 0`` it has one solution, however much columns depend on each other; but along directions that the rows
hardly see, the penalties decide, which may be far below the rounding errors of products of columns. Each face is
solved by the factor of these products in double precision, and refined with slopes of the rows in extended precision,
to whose last digits the conditions of a minimum hold in the end.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from ..typing import BoolArray, FloatArray, IntArray
from .lasso import go_towards

__all__ = ["can_be_solved", "solve"]

Extended = NDArray[np.longdouble]

MOST_STEPS = 30
CONVERGED = 1e-11
"""Steps of a refinement that has come to its end, relative to the coefficients."""

KNOWN = 1e-8
"""Largest error, relative to the coefficients, that rounding errors of slopes may leave: that of all nets."""

MOST_ENTRIES = 4_000_000
"""Entries of a design that are copied in extended precision, at sixteen bytes each."""


def can_be_solved(X: FloatArray) -> bool:
    """Whether memory does not speak against it."""
    return X.size <= MOST_ENTRIES


def solve(
    X: Extended, y: Extended, penalties: tuple[float, float], positive: bool, start: FloatArray
) -> Extended | None:
    """Minimise ``|y - Xb|^2/2 + l1 |b| + l2 b'b/2``, from a guess.

    Parameters
    ----------
    X : (n, p); columns of zeros get no coefficient
    y : (n,)
    penalties : l1 and l2
    positive : bool
        Whether coefficients may not be negative.
    start : (p,)

    Returns
    -------
    (p,), or None if there may be other solutions, as far as the last digits of extended precision tell.
    """
    length = np.sqrt(np.square(X).sum(axis=0))
    seen = length > 0
    b = np.zeros(len(length), dtype=np.longdouble)
    with np.errstate(over="ignore", invalid="ignore"):  # of a guess that is none
        found = _Net(X[:, seen] / length[seen], y, length[seen], penalties, positive).fit(start[seen] * length[seen])
    if found is None:
        return None
    b[seen] = found / length[seen]
    return b


class _Net:
    """Columns of length one, with the penalties that these have."""

    def __init__(
        self, X: Extended, y: Extended, length: Extended, penalties: tuple[float, float], positive: bool
    ) -> None:
        self.X, self.y, self.positive = X, y, positive
        self.l1, self.l2 = penalties[0] / length, penalties[1] / np.square(length)
        rounded = X.astype(np.float64)
        self.held = rounded.T @ rounded + np.diag(self.l2.astype(np.float64))

    def fit(self, x: Extended) -> Extended | None:
        """The solution, or None."""
        x = np.where(np.isfinite(x), np.maximum(x, 0.0) if self.positive else x, 0.0)
        sign, barred = np.sign(x), np.zeros(len(x), dtype=bool)
        entering = -1
        for _ in range(20 * len(x) + 100):
            active: IntArray = np.flatnonzero(sign)
            goal = self._minimum(active, sign[active], x[active])
            if goal is None:
                return None
            leaves = go_towards(goal, x, sign, active)
            if leaves >= 0:
                sign[leaves] = 0.0
                barred[leaves] |= leaves == entering  # it entered by rounding errors
                entering = -1
                continue
            slope = self.X.T @ (self.y - self.X @ x) - self.l2 * x
            over = (slope if self.positive else np.abs(slope)) - self.l1
            over[active] = 0.0
            outside = (sign == 0) & ~barred
            noise = self._noise(x)
            if not (over[outside] > noise).any():
                return x if self._is_known(x, (sign != 0) | (over >= -100.0 * noise), noise) else None
            entering = int(np.where(outside, over, -np.inf).argmax())
            sign[entering] = np.sign(slope[entering])
        return None

    def _minimum(self, active: IntArray, sign: Extended, x: Extended) -> Extended | None:
        """Coefficients of some columns where the slopes of their signs vanish; None if refinement does not converge."""
        if not len(active):
            return x
        try:
            factor = cho_factor(self.held[np.ix_(active, active)], lower=True)
        except np.linalg.LinAlgError:
            return None
        X, l1, l2 = self.X[:, active], self.l1[active] * sign, self.l2[active]
        last = np.inf
        for _ in range(MOST_STEPS):
            step = cho_solve(factor, (X.T @ (self.y - X @ x) - l2 * x - l1).astype(np.float64))
            size = float(np.abs(step).max())
            if not size < last / 2:
                break
            x, last = x + step, size
        return x if last <= CONVERGED * float(np.abs(x).max()) else None

    def _noise(self, x: Extended) -> float:
        """Rounding errors of a slope: those of residuals, whose terms these are."""
        terms = np.sqrt(np.square(self.y).sum()) + np.abs(x).sum()
        return float(np.finfo(np.longdouble).eps * terms)

    def _is_known(self, x: Extended, part: BoolArray, noise: float) -> bool:
        """Whether slopes that are zero but for rounding errors determine coefficients."""
        if not part.any():
            return True
        least = float(np.linalg.eigvalsh(self.held[np.ix_(part, part)])[0])
        return noise <= KNOWN * least * float(np.abs(x).max())
