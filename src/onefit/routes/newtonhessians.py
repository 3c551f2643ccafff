"""Hessians of many training sets at the start: what makes them up, their inverses, and what steps teach (BFGS)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack

from ..linalg.columns import EPS
from ..typing import BoolArray, FloatArray, IntArray

__all__ = ["LEAST_PIVOT", "NOISE", "Hessians", "Inverses", "Memory", "change_by", "dots", "preconditioners"]

LEAST_PIVOT = 1e-10
"""Squared pivot of a Hessian with ones on its diagonal below which columns nearly depend on each other."""

MOST_BENT = 10.0
"""Times the diagonal of a Hessian: what changes it more is no small change."""

FEW = 32
"""Systems up to this size are inverted: products of all inverses at once take less than solving one by one."""

HELD = 1e-6
"""Penalties above this part of the diagonal of a Hessian keep it far from singular."""

LEAST_LEFT = 1e-10
"""Part of the diagonal of a Hessian, with the penalty, that must be left: of less, rounding errors make steps so small
that they look like those of a fit that has converged."""

AT_ONCE = 2**20
"""Numbers of Hessians that are made at a time, only to look at them."""

MEMORY = 12
"""Steps that are remembered."""

NOISE = 2.0**-46
"""Part of the summands of a product that is left to rounding errors."""


@dataclass(frozen=True)
class Hessians:
    """Hessians of training sets at the start, without their penalties.

    Attributes
    ----------
    pieces : (M, d, d)
    made : (S, 3) or None, a piece, and two that are taken away from it or -1; None if the pieces are the Hessians
    bends : (M, d, d) or None, how Hessians change until the end for each piece that is taken away, as expected
    before : (M, d) or None, diagonals of what pieces were taken away from
    """

    pieces: FloatArray
    made: IntArray | None = None
    bends: FloatArray | None = None
    before: FloatArray | None = None

    def of(self, some: IntArray) -> Hessians:
        """Those of some of the training sets, as they start."""
        return Hessians(self.pieces[some]) if self.made is None else Hessians(self.pieces, self.made[some])

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

    def are_definite(self, penalty: FloatArray) -> BoolArray:
        """Where those of the start are surely far from singular (S,).

        What is bent may be so although they are not, and rounding errors of rows that are taken away look like pivots.
        """
        found = np.ones(len(penalty), dtype=bool)
        d, p = self.pieces.shape[1], penalty.shape[1]
        own, of_all = self._diagonals()
        if of_all is None:
            return found
        held = np.tile(penalty, (1, d // p))
        weak = np.flatnonzero((held <= HELD * own).sum(axis=1) > d // p)  # an intercept alone is no matter
        step = max(1, AT_ONCE // d**2)
        for start in range(0, len(weak), step):
            some = weak[start : start + step]
            hessians = self.of(some).whole(penalty[some])
            _, found[some] = _factored(hessians)
            with np.errstate(divide="ignore", invalid="ignore"):
                lost = 100 * d * EPS * (of_all[some] / (own + held)[some]).max(axis=1)
            for at in np.flatnonzero(found[some]):  # one over the norm of the inverse
                found[some[at]] = lapack.dpocon(hessians[at].T, 1.0, uplo="L")[0] > lost[at]
        return found

    def _diagonals(self) -> tuple[FloatArray, FloatArray | None]:
        """Those of the Hessians (S, d), and of what pieces were taken away from."""
        own = np.einsum("mii->mi", self.pieces)
        if self.made is None:
            return own, self.before
        of_all = own[self.made[:, 0]]
        left = of_all.copy()
        for less in self.made.T[1:]:
            left[less >= 0] -= own[less[less >= 0]]
        return left, of_all

    def keep_digits(self, penalty: FloatArray) -> BoolArray:
        """Where enough is left (S,) of the diagonals for their rounding errors to be no matter."""
        own, of_all = self._diagonals()
        if of_all is None:
            return np.ones(len(penalty), dtype=bool)
        d, p = self.pieces.shape[1], penalty.shape[1]
        return np.asarray((own + np.tile(penalty, (1, d // p)) >= LEAST_LEFT * of_all).all(axis=1))

    def traces(self, penalty: FloatArray, other: FloatArray, some: slice) -> FloatArray:
        """Traces of the inverses of some times other matrices, one or for each; infinite where there is no inverse."""
        each = np.arange(len(penalty))[some]
        hessians = self.of(each).whole(penalty[some])
        scale, is_definite = _factored(hessians)
        scaled, found = scale[:, :, None] * other * scale[:, None], np.full(len(scale), np.inf)
        for at in np.flatnonzero(is_definite):
            found[at] = lapack.dpotrs(hessians[at].T, scaled[at], lower=1)[0].trace()
        return found

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


def _factored(hessians: FloatArray) -> tuple[FloatArray, BoolArray]:
    """Scales (S, d) of Hessians, which become their factors, and which of these are far enough from singular."""
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
    return scale, ~failed & (hessians[:, at, at].min(axis=1) ** 2 > LEAST_PIVOT)


def preconditioners(hessians: FloatArray) -> tuple[Inverses, BoolArray]:
    """Inverses of Hessians (S, d, d), which are overwritten, and which of these are far enough from singular."""
    d = hessians.shape[1]
    scale, is_definite = _factored(hessians)
    if d > FEW:
        return Inverses(scale, None, [system.T for system in hessians]), is_definite
    for one in np.flatnonzero(is_definite):
        lapack.dpotri(hessians[one].T, lower=1, overwrite_c=1)
    lower, upper = np.tril_indices(d, -1)
    hessians[:, lower, upper] = hessians[:, upper, lower]
    return Inverses(scale, hessians, []), is_definite


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


def change_by(step: FloatArray, descent: FloatArray, curvature: FloatArray) -> FloatArray:
    """Changes (S,) of the linear predictors by steps (S, d), at least those that rounding errors make.

    NaN where a step goes uphill by more than these: steps of the past have led astray, and nothing has converged.
    """
    squares, noise = dots(step, descent), NOISE * dots(np.abs(step), np.abs(descent))
    return np.sqrt(np.where(squares >= -noise, np.maximum(squares, noise), np.nan) / curvature)


def dots(a: FloatArray, b: FloatArray) -> FloatArray:
    """Products (S,) of vectors (S, d)."""
    found: FloatArray = np.einsum("sd,sd->s", a, b)
    return found
