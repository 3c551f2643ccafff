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
from scipy.linalg import lapack

from ..learners.glm_families import Family
from ..linalg import compiled
from ..typing import BoolArray, FloatArray, IntArray

__all__ = [
    "Hessians",
    "Inverses",
    "Memory",
    "NewtonBatch",
    "NewtonSets",
    "Rows",
    "Solution",
    "dots",
    "in_predictors",
    "preconditioners",
]

CONVERGED = 2e-14
"""Change of the linear predictor, as a root mean square, that is left after the last step."""

MOST_STEPS = 30

MEMORY = 12
"""Steps that are remembered."""

WINDOW, SLOW, WILD = 4, 0.5, 20.0
"""A set that has not come closer by the factor SLOW in WINDOW steps, or is WILD times farther than at the start, is
left to Newton's own method."""

LEAST_PIVOT = 1e-10
"""Squared pivot of a Hessian with ones on its diagonal below which columns nearly depend on each other."""

MOST_BENT = 10.0
"""Times the diagonal of a Hessian: what changes it more is no small change."""

FEW = 32
"""Systems up to this size are inverted: products of all inverses at once take less than solving one by one."""

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
class Hessians:
    """Hessians of training sets at the start, without their penalties.

    Attributes
    ----------
    pieces : (M, d, d)
    made : (S, 3) or None, a piece, and two that are taken away from it or -1; None if the pieces are the Hessians
    bends : (M, d, d) or None, how Hessians change until the end for each piece that is taken away, as expected
    """

    pieces: FloatArray
    made: IntArray | None = None
    bends: FloatArray | None = None

    def whole(self, penalty: FloatArray) -> FloatArray:
        """The Hessians themselves (S, d, d), with penalties (S, p)."""
        found = self.pieces.copy()
        if self.made is not None:
            found = self.pieces[self.made[:, 0]]
            for less in self.made.T[1:]:
                found[less >= 0] -= self.pieces[less[less >= 0]]
        d, p = found.shape[1], penalty.shape[1]
        diagonal = np.arange(d)
        found[:, diagonal, diagonal] += penalty if d == p else np.tile(penalty, (1, d // p))
        return found

    def inverses(self, penalty: FloatArray) -> tuple[Inverses, BoolArray, BoolArray]:
        """Inverses, bent if that is definite, and which are definite, and bent."""
        start = self.whole(penalty)
        if self.bends is None:
            return *preconditioners(start), np.zeros(len(penalty), dtype=bool)
        ahead, is_bent = self.bent(start)
        found, is_definite = preconditioners(np.where(is_bent[:, None, None], ahead, start))
        if not is_definite[is_bent].all():
            is_bent &= is_definite
            found, is_definite = preconditioners(np.where(is_bent[:, None, None], ahead, start))
        return found, is_definite, is_bent

    def bent(self, start: FloatArray) -> tuple[FloatArray, BoolArray]:
        """Hessians at the end from those at the start, and where that can be told: its diagonal changes little."""
        assert self.made is not None
        assert self.bends is not None
        found = start.copy()
        for less in self.made.T[1:]:
            found[less >= 0] += self.bends[less[less >= 0]]
        before, after = (np.einsum("sii->si", each) for each in (start, found))
        is_told: BoolArray = ((MOST_BENT * after >= before) & (after <= MOST_BENT * before)).all(axis=1)
        return found, is_told

    def bend(self, step: FloatArray, some: IntArray) -> FloatArray:
        """Bends of some sets times vectors (S, d)."""
        assert self.made is not None
        assert self.bends is not None
        found = np.zeros_like(step)
        for less in self.made[some].T[1:]:
            at = less >= 0
            found[at] += np.matmul(self.bends[less[at]], step[at, :, None])[..., 0]
        return found


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
            change = np.sqrt(np.maximum(dots(step, descent), 0.0) / self.sets.curvature[active])
            if first is not None and not changes and is_bent.any():  # by the Hessian half way
                half = 0.5 * is_bent[active, None] * self.sets.hessians.bend(step, active)
                step = step + preconditioner.of(active).times(half)
            ratio = np.minimum(change / changes[-1], 1.0) if changes else np.ones(len(active))
            changes.append(change)
            theta[active] += step.reshape(-1, *theta.shape[1:])
            steps[active] += 1
            with np.errstate(invalid="ignore"):
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
        limits = (CONVERGED, WINDOW, SLOW, WILD, LEAST_PIVOT)
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


def dots(a: FloatArray, b: FloatArray) -> FloatArray:
    """Products (S,) of vectors (S, d)."""
    found: FloatArray = np.einsum("sd,sd->s", a, b)
    return found


class Memory:
    """Steps of training sets, and how their gradients changed."""

    def __init__(self) -> None:
        self._steps: list[FloatArray] = []
        self._changes: list[FloatArray] = []
        self._scales: list[FloatArray] = []
        self._last: tuple[FloatArray, FloatArray, BoolArray] | None = None

    def add(self, step: FloatArray, descent: FloatArray, forgets: BoolArray | None = None) -> None:
        """Remember a step, and minus the gradient before it, but for sets (S,) that forget it."""
        self._last = step, descent, np.zeros(len(step), dtype=bool) if forgets is None else forgets

    def keep(self, some: BoolArray) -> None:
        """Forget the training sets that left."""
        for each in (self._steps, self._changes, self._scales):
            each[:] = [table[some] for table in each]
        if self._last is not None:
            step, descent, forgets = self._last
            self._last = step[some], descent[some], forgets[some]

    def direction(self, descent: FloatArray, inverse: Inverses) -> FloatArray:
        """``M g`` (S, d), M the inverse Hessian after all updates (two-loop recursion)."""
        if self._last is not None:
            step, before, forgets = self._last
            change = before - descent
            along = dots(step, change)
            self._steps.append(step)
            self._changes.append(change)
            with np.errstate(divide="ignore", invalid="ignore"):
                self._scales.append(np.where((along > 0) & ~forgets, 1.0 / along, 0.0))
            for each in (self._steps, self._changes, self._scales):
                del each[:-MEMORY]
        history = list(zip(self._steps, self._changes, self._scales, strict=True))
        g, parts = descent.copy(), list[FloatArray]()
        for step, change, scale in reversed(history):
            part = (scale * dots(step, g))[:, None]
            g -= part * change
            parts.append(part)
        found = inverse.times(g)
        for (step, change, scale), part in zip(history, reversed(parts), strict=True):
            found += step * (part - (scale * dots(change, found))[:, None])
        return found


class Inverses:
    """Inverses of the Hessians at the start, as matrices (S, d, d) or factors."""

    def __init__(self, scale: FloatArray, inverses: FloatArray | None, factors: list[FloatArray]) -> None:
        self._scale, self._inverses, self._factors = scale, inverses, factors

    def of(self, some: IntArray) -> Inverses:
        """Those of some of the training sets."""
        if len(some) == len(self._scale):
            return self
        if self._inverses is not None:
            return Inverses(self._scale[some], self._inverses[some], [])
        return Inverses(self._scale[some], None, [self._factors[at] for at in some])

    def times(self, right: FloatArray) -> FloatArray:
        """Solutions (S, d)."""
        scaled = self._scale * right
        if self._inverses is not None:
            found = np.matmul(self._inverses, scaled[..., None])[..., 0]
        else:
            found = np.empty_like(scaled)
            for at, factor in enumerate(self._factors):
                found[at] = lapack.dpotrs(factor, scaled[at], lower=1)[0]
        return np.asarray(self._scale * found)


def preconditioners(hessians: FloatArray) -> tuple[Inverses, BoolArray]:
    """Inverses of Hessians (S, d, d), which are overwritten, and which of these are far enough from singular."""
    S, d, _ = hessians.shape
    at = np.arange(d)
    diagonal = hessians[:, at, at]
    with np.errstate(invalid="ignore", divide="ignore"):
        scale = np.where(diagonal > 0, 1.0 / np.sqrt(diagonal), 0.0)
    hessians *= scale[:, :, None]
    hessians *= scale[:, None]
    hessians[:, at, at] = 1.0  # a column that is zero has the coefficient zero
    failed = np.zeros(S, dtype=bool)
    for index, system in enumerate(hessians):  # in place: the transpose is in the order of LAPACK
        failed[index] = lapack.dpotrf(system.T, lower=1, clean=0, overwrite_a=1)[1] != 0
    is_definite = ~failed & (hessians[:, at, at].min(axis=1) ** 2 > LEAST_PIVOT)
    if d > FEW:
        return Inverses(scale, None, [system.T for system in hessians]), is_definite
    for one in np.flatnonzero(is_definite):
        lapack.dpotri(hessians[one].T, lower=1, overwrite_c=1)
    lower, upper = np.tril_indices(d, -1)
    hessians[:, lower, upper] = hessians[:, upper, lower]
    return Inverses(scale, hessians, []), is_definite
