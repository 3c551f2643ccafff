r"""Many training sets of a generalized linear model at once: quasi-Newton steps in two matrix products an iteration.

With H_S the Hessian of a training set at the weights of the fit to all rows, factored once, the step is
``H_S^-1 g_S``, improved by the changes of the gradients that were seen before (BFGS): the rate is that of Newton's
method in the directions where the weights have changed, and no Hessian is made anew. All training sets are columns of
the same two products, ``B gamma`` and ``B' r``. Sets that have converged leave the batch.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from ..learners.glm_families import Family
from ..linalg import compiled
from ..typing import BoolArray, FloatArray, IntArray
from .newtonhessians import LEAST_PIVOT, NOISE, Hessians, Memory, change_by

__all__ = ["NewtonBatch", "NewtonSets", "Rows", "Solution", "in_predictors"]

CONVERGED = 2e-14
"""Change of the linear predictor, as a root mean square, that is left after the last step."""

MOST_STEPS = 30

WINDOW, SLOW, WILD = 4, 0.5, 20.0
"""A set that has not come closer by the factor SLOW in WINDOW steps, or is WILD times farther than at the start, is
left to Newton's own method."""

CHUNK = 2**17
"""Linear predictors that are held at a time: about what the caches hold."""


@dataclass(frozen=True)
class Rows:
    """What all training sets share: the design (n, q), y (P, n), and the weights (n,) or None."""

    design: FloatArray | sparse.csr_matrix
    y: FloatArray
    weights: FloatArray | None
    family: Family

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.design.shape[0])


@dataclass(frozen=True)
class Solution:
    """Coefficients (S, c, p) of the training sets, which of them have converged, and the iterations of each, (S,)."""

    theta: FloatArray
    is_converged: BoolArray
    n_steps: IntArray


@dataclass(frozen=True)
class NewtonSets:
    """Some training sets, each at some values of the penalty: S = V T of them, value by value.

    Attributes
    ----------
    factors : (cells, T), weights of the rows of a cell, zero where a training set leaves its fold out
    maps : (T, q, p) or None, columns of the fits from those of the design; None if they are the same
    penalty : (S, p)
    hessians : Hessians
        (S, c p, c p)
    curvature : (S,), sums of the curvatures of the rows
    """

    factors: FloatArray
    maps: FloatArray | None
    penalty: FloatArray
    hessians: Hessians
    curvature: FloatArray


class NewtonBatch:
    """Training sets that are iterated together.

    Parameters
    ----------
    rows : Rows
    cells : array (n,)
        What tells the weights of a row in the training sets: its fold, and its class if classes are weighed.
    sets : NewtonSets
    """

    def __init__(self, rows: Rows, cells: IntArray, sets: NewtonSets) -> None:
        self.rows, self.cells, self.sets = rows, cells, sets

    @np.errstate(over="ignore", invalid="ignore")  # a fit that overshoots leaves the batch
    def solve(self, start: FloatArray, first: FloatArray | None = None) -> Solution:
        """From coefficients (S, c, p), where minus the gradient is ``first`` if that is known."""
        rows = self.rows
        if compiled.is_on() and rows.family.kernel is not None and not sparse.issparse(rows.design):
            return self._solve_compiled(start, first, rows.family.kernel)
        preconditioner, is_definite, is_bent = self.sets.hessians.inverses(self.sets.penalty)
        S = len(start)
        theta, done, steps = start.copy(), np.zeros(S, dtype=bool), np.zeros(S, dtype=np.intp)
        active = np.flatnonzero(is_definite)
        memory = Memory()
        changes: list[FloatArray] = []
        view = self._view(active)
        for _ in range(MOST_STEPS):
            if not len(active):
                break
            if first is not None and not changes:
                descent = first[active].reshape(len(active), -1)
            else:
                descent = view.descent(theta[active]).reshape(len(active), -1)
            step = memory.direction(descent, preconditioner.of(active))
            change = change_by(step, descent, self.sets.curvature[active])
            if first is not None and not changes and is_bent.any():  # by the Hessian half way
                half = 0.5 * is_bent[active, None] * self.sets.hessians.bend(step, active)
                step = step + preconditioner.of(active).times(half)
            ratio = np.minimum(change / changes[-1], 1.0) if changes else np.ones(len(active))
            changes.append(change)
            theta[active] += step.reshape(-1, *theta.shape[1:])
            steps[active] += 1
            is_done = change * ratio <= CONVERGED
            stays = ~is_done & np.isfinite(change) & (change <= WILD * changes[0])
            if len(changes) > WINDOW:
                stays &= change <= SLOW * changes[-1 - WINDOW]
            done[active[is_done]] = True
            # along a long first step the Hessian half way is not that at the end
            memory.add(step, descent, is_bent[active] if first is not None and len(changes) == 1 else None)
            if not stays.all():
                active = active[stays]
                changes = [each[stays] for each in changes]
                memory.keep(stays)
                view = self._view(active)
        return Solution(theta, done, steps)

    def _solve_compiled(self, start: FloatArray, first: FloatArray | None, family: tuple[int, float]) -> Solution:
        """The same by the kernel, a training set in each lane."""
        rows, sets, theta = self.rows, self.sets, np.array(start, dtype=np.float64, order="C")
        weights = np.ones(rows.n) if rows.weights is None else rows.weights
        H = sets.hessians
        tables = (sets.factors, sets.maps, sets.penalty, H.pieces, sets.curvature, rows.family.basis, first, H.bends)
        limits = (CONVERGED, WINDOW, SLOW, WILD, LEAST_PIVOT, NOISE)
        converged, steps = compiled.newton(
            rows.design, rows.y, weights, self.cells, tables, H.made, theta, family, limits
        )
        return Solution(theta, converged > 0, steps)

    def _view(self, active: IntArray) -> _View:
        sets, at = self.sets, active % self.sets.factors.shape[1]
        maps = None if sets.maps is None else sets.maps[at]
        return _View(self.rows, self.cells, np.ascontiguousarray(sets.factors[:, at]), maps, sets.penalty[active])


class _View:
    """The training sets that have not converged yet."""

    def __init__(
        self, rows: Rows, cells: IntArray, factors: FloatArray, maps: FloatArray | None, penalty: FloatArray
    ) -> None:
        self.rows, self.cells, self.factors, self.maps, self.penalty = rows, cells, factors, maps, penalty
        P = len(rows.family.basis)
        self._step = max(64, CHUNK // max(1, P * factors.shape[1]))
        self._kept = self._weights(slice(0, rows.n)) if self._step >= rows.n else None

    def _weights(self, part: slice) -> FloatArray:
        """Weights (m, S) of some rows in the training sets."""
        found = self.factors[self.cells[part]]
        if self.rows.weights is not None:
            found *= self.rows.weights[part, None]
        return found

    def descent(self, theta: FloatArray) -> FloatArray:
        """Minus the gradient (S, c, p) at coefficients of the same shape."""
        rows, family = self.rows, self.rows.family
        gamma = theta if self.maps is None else np.matmul(theta, self.maps.swapaxes(1, 2))
        columns = in_predictors(family, gamma)
        found = np.zeros(columns.shape)
        for start in range(0, rows.n, self._step):
            part = slice(start, start + self._step)
            B = rows.design[part]
            residual = family.residual(_times(B, columns), rows.y[:, part, None])
            residual *= self._weights(part) if self._kept is None else self._kept
            found += _times(B.T, residual)
        if len(found) == 1:
            descent = found.transpose(2, 0, 1)
        else:
            descent = np.tensordot(found, family.basis, (0, 0)).transpose(1, 2, 0)  # (S, c, q)
        if self.maps is not None:
            descent = np.matmul(descent, self.maps)
        return np.asarray(descent - self.penalty[:, None] * theta)


def in_predictors(family: Family, gamma: FloatArray) -> FloatArray:
    """Coefficients (P, q, S) of all linear predictors from (S, c, q)."""
    if len(family.basis) == 1:
        return np.ascontiguousarray(gamma[:, 0].T)[None]
    return np.ascontiguousarray(np.tensordot(family.basis, gamma, (1, 1)).swapaxes(1, 2))


def _times(B: FloatArray | sparse.csr_matrix, columns: FloatArray) -> FloatArray:
    """``B columns[a]`` for each a."""
    if sparse.issparse(B):
        return np.stack([B @ each for each in columns])
    return np.asarray(np.matmul(B, columns))
