"""Several penalties in one fit: put together at given strengths, or chosen jointly, also in every training set."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from scipy import linalg, optimize

from ..criteria.multiple import choose, criterion
from ..criteria.reduced import Roots, Statistics, coordinates_of, fit_at, reduce, statistics_of_rows
from ..criteria.single import AXIS, TIED
from ..learners import GramLearner, Smoother, TrainingStatistics
from ..linalg.columns import Penalty, norms
from ..typing import FloatArray, IntArray

__all__ = ["AdditiveLearner", "choose_from_rows", "joint_penalty"]

MOST_POLISHING = 10
SOME_STEPS = 20
"""How much longer a choice takes if some of the penalties are fixed."""


def joint_penalty(roots: Sequence[FloatArray], lams: FloatArray) -> Penalty:
    """``sum_t lam_t S_t`` with ``S_t = root_t'root_t``, each on columns of its own, side by side.

    Each root is decomposed by itself: however different the strengths are, no term drowns in the errors of another.
    """
    maps = [Penalty.of_root(root) for root in roots]
    penalized, free = [], []
    for lam, each in zip(lams, maps, strict=True):
        assert each.penalized is not None
        if lam > 0:
            penalized.append(each.penalized / np.sqrt(lam))
            free.append(each.free)
        else:
            penalized.append(each.penalized[:, :0])
            free.append(np.hstack([each.penalized, each.free]))
    return Penalty(linalg.block_diag(*penalized), linalg.block_diag(*free))


def _penalized(roots: Sequence[FloatArray], lams: FloatArray) -> IntArray:
    """Places of the terms that have a penalty, or will have one where ``lams`` is NaN."""
    return np.array([t for t, root in enumerate(roots) if len(root) and lams[t] != 0], dtype=np.intp)


def _choose(statistics: Statistics, roots: Roots, lams: FloatArray, kind: str) -> tuple[FloatArray, list[str]]:
    """Fill in the penalties that are NaN, and say which are at an end of their axis ("most" or "least" penalized)."""
    if not np.isnan(lams).any():
        return lams, [""] * len(lams)
    if not np.isnan(lams).all():
        return _choose_some(statistics, roots, lams, kind)
    choice = choose(statistics, roots, kind)
    return choice.lams, list(choice.at_end)


class _Some:
    """A criterion as a function of some of the penalties, ``log lam``, the others fixed."""

    def __init__(self, statistics: Statistics, roots: Roots, fixed: FloatArray, kind: str) -> None:
        self.statistics, self.roots, self.fixed, self.kind = statistics, roots, fixed, kind
        self.open = np.isnan(fixed)
        problem = reduce(statistics, roots)
        self.high, self.low = (
            np.log(problem.lams(np.full(len(fixed), np.log(10.0) * decade)))[self.open] for decade in AXIS
        )

    def lams(self, at: FloatArray) -> FloatArray:
        """All penalties."""
        lams = self.fixed.copy()
        lams[self.open] = np.exp(at)
        return lams

    def __call__(self, at: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        """REML, or the logarithm of GCV, which has no units; gradient and Hessian."""
        value, gradient, hessian = criterion(self.statistics, self.roots, np.log(self.lams(at)), self.kind)
        gradient, hessian = gradient[self.open], hessian[self.open][:, self.open]
        if self.kind == "reml":
            return value, gradient, hessian
        if not np.isfinite(value):
            return np.inf, np.zeros(len(at)), np.zeros((len(at), len(at)))
        slope = gradient / value
        return float(np.log(value)), slope, hessian / value - np.outer(slope, slope)

    def minimize(self, start: FloatArray) -> FloatArray:
        """The minimum near a start: a descent in the box, then Newton's steps for the last digits."""
        found = optimize.minimize(
            lambda at: self(at)[:2],
            start,
            jac=True,
            method="L-BFGS-B",
            bounds=list(zip(self.low, self.high, strict=True)),
        )
        at = np.asarray(found.x)
        for _ in range(MOST_POLISHING):
            inside = (at > self.low) & (at < self.high)
            _, gradient, hessian = self(at)
            if not inside.any() or linalg.eigvalsh(hessian[inside][:, inside])[0] <= 0:
                break
            step = np.zeros(len(at))
            step[inside] = -linalg.solve(hessian[inside][:, inside], gradient[inside], assume_a="sym")
            if np.abs(step).max() > 1.0:
                break
            at = np.clip(at + step, self.low, self.high)
        return at

    def most_penalized(self, at: FloatArray) -> FloatArray:
        """Each penalty at the upper end if that is as good."""
        for t in range(len(at)):
            moved = at.copy()
            moved[t] = self.high[t]
            value = self(at)[0]
            if self(moved)[0] <= value + TIED * max(abs(value), 1.0):
                at = moved
        return at


def _choose_some(statistics: Statistics, roots: Roots, fixed: FloatArray, kind: str) -> tuple[FloatArray, list[str]]:
    """The penalties that are NaN, the others fixed: the best of descents from several places."""
    some = _Some(statistics, roots, fixed, kind)
    starts = [np.log(choose(statistics, roots, kind).lams)[some.open]]
    starts += [some.high + part * (some.low - some.high) for part in (0.1, 0.4)]
    best = some.most_penalized(min((some.minimize(start) for start in starts), key=lambda at: some(at)[0]))
    at_end = np.full(len(fixed), "", dtype=object)
    at_end[some.open] = np.where(best >= some.high, "most", np.where(best <= some.low, "least", ""))
    return some.lams(best), list(at_end)


def choose_from_rows(
    columns: FloatArray, y: FloatArray, weights: FloatArray, roots: Sequence[FloatArray], lams: FloatArray, kind: str
) -> tuple[FloatArray, list[str]]:
    """Fill in the penalties that are NaN for columns (n, p), whether or not the rows determine the fit.

    Of the free columns only their span matters, so an orthonormal basis of what the rows see takes their place. Returns
    the penalties, and for each "most" or "least" if it is at that end of its axis.
    """
    used = _penalized(roots, lams)
    maps = [Penalty.of_root(roots[t] if t in used else roots[t][:0]) for t in range(len(roots))]
    heavy = weights > 0
    root, mass = np.sqrt(weights[heavy])[:, None], weights[heavy]
    columns = columns[heavy] - np.average(columns[heavy], axis=0, weights=mass)
    free = columns @ linalg.block_diag(*(each.free for each in maps))
    span = _span(root * np.hstack([np.ones((len(columns), 1)), free]))
    penalized = [each.penalized for each in maps if each.penalized is not None]
    E = root * (columns @ linalg.block_diag(*penalized))
    ends = np.cumsum([span.shape[1], *(penalized[t].shape[1] for t in used)])
    eye = np.eye(ends[-1])
    centred = root * (y[heavy] - np.average(y[heavy], axis=0, weights=mass))
    statistics = statistics_of_rows(np.hstack([span, E]), centred)
    filled, at_end = lams.copy(), [""] * len(lams)
    filled[used], ends_of_used = _choose(statistics, tuple(eye[a:b] for a, b in pairwise(ends)), lams[used], kind)
    for t, end in zip(used, ends_of_used, strict=True):
        at_end[t] = end
    return filled, at_end


def _span(N: FloatArray) -> FloatArray:
    """Orthonormal basis of the span of columns, whatever their scales."""
    length = norms(N)
    U, s, _ = linalg.svd(N / np.where(length > 0, length, 1.0), full_matrices=False)
    basis: FloatArray = U[:, s > 10 * max(N.shape) * np.finfo(float).eps * s[0]]
    return basis


class AdditiveLearner(GramLearner):
    """A model with several penalties that are chosen anew in every training set, from its statistics.

    Parameters
    ----------
    smoother : Smoother
        The model on all rows, for its scores and weights.
    columns : array (n, p)
        The columns of all terms.
    roots : list of (r_t, p_t)
        Root of the penalty on the columns of each term, one after the other.
    lams : array (T,)
        Penalties; NaN for those to be chosen, zero for terms without one.
    kind : {"reml", "gcv"}
    """

    reason = "the penalties are chosen jointly in every training set, from its triangular factor"

    def __init__(
        self, smoother: Smoother, columns: FloatArray, roots: Sequence[FloatArray], lams: FloatArray, kind: str
    ) -> None:
        self.smoother, self.kind = smoother, kind
        self.X = np.hstack([np.ones((len(columns), 1)), columns - columns.mean(axis=0)])
        used, d = _penalized(roots, lams), self.X.shape[1]
        ends = np.cumsum([1, *(root.shape[1] for root in roots)])
        wide = [np.zeros((len(roots[t]), d)) for t in used]
        for t, root in zip(used, wide, strict=True):
            root[:, ends[t] : ends[t + 1]] = roots[t]
        # measured against an eigendecomposition of this size: about 1200/d and at least 10
        self.steps = max(10, 1200 // d) * (1 if np.isnan(lams[used]).all() else SOME_STEPS)
        self.lams, self._coordinates = lams[used], coordinates_of(tuple(wide), d)

    def coefficients(self, statistics: TrainingStatistics) -> FloatArray:
        """Coefficients (B, 1, 1 + p, Q) of the constant and the columns."""
        B, _, d = statistics.R.shape
        found = np.zeros((B, 1, d, statistics.z.shape[2]))
        for b in range(B):
            one = Statistics(statistics.R[b], statistics.z[b], statistics.rest[b], int(statistics.n[b]))
            lams, _ = _choose(one, self._coordinates, self.lams, self.kind)
            found[b, 0] = fit_at(one, self._coordinates, lams).coefficients
        return found
