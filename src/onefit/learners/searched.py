"""Estimators that search among candidates inside every training set, by splits of its own rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from ..metrics.losses import Classes
from ..typing import BoolArray, FloatArray, IntArray
from ..vocabulary import CONVERGED, EXACT
from .encoded import EncodedLearner
from .encoding import Block, BlockAfter
from .features import Features
from .fixedfeatures import FixedFeatures
from .innersearch import InnerSearch
from .setstatistics import SetStatistics

__all__ = ["Held", "InnerScore", "SearchedLearner"]

CLOSE = 1e-9
"""Candidates whose scores differ by less, relative to the best, are told apart by scikit-learn itself."""

LOST = 1e-8
"""Part of an output's variance, of a training set, below which that of a part of it is rounding errors, if any."""


def _mean_squares(u: FloatArray, w: FloatArray) -> FloatArray:
    return np.asarray(np.einsum("fmvq,fmvq,fm->fvq", u, u, w))


def _mean_sizes(u: FloatArray, w: FloatArray) -> FloatArray:
    return np.asarray(np.einsum("fmvq,fm->fvq", np.abs(u), w))


ERRORS: dict[str, Callable[[FloatArray, FloatArray], FloatArray]] = {
    "neg_mean_squared_error": _mean_squares,
    "neg_root_mean_squared_error": lambda u, w: np.sqrt(_mean_squares(u, w)),
    "neg_mean_absolute_error": _mean_sizes,
}
"""Of residuals (F, m, V, Q), zero for padding, and weights (F, m) of a sum of one: errors (F, V, Q)."""


@dataclass(frozen=True)
class InnerScore:
    """A score of scikit-learn by its name: "r2", "accuracy" or one of `ERRORS`; ``classes`` if they are predicted.

    ``is_weighted`` says whether rows count by their weights.
    """

    name: str
    classes: Classes | None
    is_weighted: bool = False

    def of(
        self, y: FloatArray, u: FloatArray, present: BoolArray, weights: FloatArray | None = None
    ) -> tuple[FloatArray, BoolArray]:
        """Scores (F, V) of residuals u (F, m, V, Q) of y (F, m, Q), and which are sure to be scikit-learn's, (F,).

        ``weights`` (F, m) are those of the rows; all count the same if they are None.
        """
        w = present.astype(np.float64) if weights is None or not self.is_weighted else np.where(present, weights, 0.0)
        total = w.sum(axis=1, keepdims=True)
        certain: BoolArray = total[:, 0] > 0  # scikit-learn says what comes of rows without weight
        w = w / np.where(total > 0, total, 1.0)
        if self.classes is not None:
            scores, is_clear = self._accuracy(self.classes, y, u, present, w)
            return scores, certain & is_clear
        if self.name != "r2":
            return -ERRORS[self.name](u, w).mean(axis=2), certain
        there = present[:, :, None]
        mean = np.einsum("fmq,fm->fq", np.where(there, y, 0.0), w)[:, None]
        spread = np.einsum("fmq,fm->fq", np.square(np.where(there, y - mean, 0.0)), w)
        squares = np.einsum("fmq,fm->fq", np.square(np.where(there, y, 0.0)), w)
        few = present.sum(axis=1) < 2
        certain &= (spread > np.finfo(float).eps * squares).all(axis=1) | few
        with np.errstate(divide="ignore", invalid="ignore"):
            scores = 1.0 - _mean_squares(u, w) / spread[:, None]
        return np.where(few[:, None], np.nan, scores.mean(axis=2)), certain

    def _accuracy(
        self, classes: Classes, y: FloatArray, u: FloatArray, present: BoolArray, w: FloatArray
    ) -> tuple[FloatArray, BoolArray]:
        """Shares of right decisions; these are sure if none is a close one."""
        found = y[:, :, None] - u
        if found.shape[3] == 1:
            margin = np.abs(found[..., 0])
        else:
            second, first = np.moveaxis(np.partition(found, -2, axis=-1)[..., -2:], -1, 0)
            margin = first - second
        is_right = (classes.decide(found) == classes.decide(y)[:, :, None]) & present[:, :, None]
        is_close = (margin <= CLOSE) & present[:, :, None]
        shares = is_right.sum(axis=1) / present.sum(axis=1)[:, None]
        if self.is_weighted:
            shares = np.einsum("fmv,fm->fv", is_right, w)
        return shares, np.logical_not(is_close.any(axis=(1, 2)))

    def best(self, scores: FloatArray) -> IntArray:
        """Candidates that may be the best by scores (V, splits), in their order; one unless some are too close."""
        means = np.average(scores, axis=1)
        if np.isnan(means).all():
            return np.zeros(1, dtype=np.intp)
        means = np.where(np.isnan(means), -np.inf, means)
        best = int(means.argmax())
        if self.classes is not None and not self.is_weighted:
            return np.array([best])  # shares are exact, and so are their ties
        scale = max(abs(float(means[best])), 1.0 if self.name == "r2" else 0.0)
        return np.flatnonzero(means >= means[best] - CLOSE * scale)


class SearchedLearner(InnerSearch[EncodedLearner, InnerScore]):
    """A search among candidates, each a linear fit to what its steps learn.

    Parameters
    ----------
    groups : sequence of EncodedLearner
        Candidates that differ in a penalty alone, at several values; all of the same fixed features.
    places : sequence of pairs of int
        The candidates in the order of the search: which group, which value.
    splitter : splitter of scikit-learn
    score : InnerScore
    estimator : estimator
        The search itself, for training sets in which candidates are too close to each other.
    task : Task
        What it was made for.
    """

    @property
    def exactness(self) -> str:
        """That of its candidates."""
        is_converged = any(group.exactness == CONVERGED for group in self.groups)
        return CONVERGED if is_converged and self._exactness == EXACT else self._exactness

    @property
    def reason(self) -> str:
        """Why the gram route, for people."""
        return (
            f"{len(self.places)} candidates are searched inside every training set from statistics of its "
            f"{self.n_splits} splits"
        )


class Held(BlockAfter):
    """What steps before a search make of the columns: learned from a training set, and kept in all parts of it."""

    def __init__(self, inner: Block, fixed: FixedFeatures) -> None:
        super().__init__(inner)
        self.fixed = fixed

    def learn(self, sets: SetStatistics) -> Features:
        """The outputs of the whole training sets, with the extremes of the parts."""
        whole, owner = sets.whole()
        learned = self.inner.learn(whole)
        sets.doubt(whole.in_doubt[owner])
        tables = ("coef", "shift", "present", "low", "high")
        found = replace(learned, **{name: getattr(learned, name)[owner] for name in tables})
        pattern, (low, high) = found.pattern, self._ends(sets)
        there = found.coef != 0
        constant = pattern.sums((there & (low < high)[:, pattern.source]).astype(np.float64)) == 0
        # an output of one column has its extremes; of one of several it is known whether all of them are constant
        ends = [found.coef * end[:, pattern.source] for end in (low, high)]
        if pattern.is_plain:
            return replace(found, low=ends[0] + found.shift, high=ends[1] + found.shift)
        found = replace(found, high=np.where(constant, found.low, found.high))
        least = LOST * whole.moments.variances(learned)[owner]
        sets.doubt((found.varies & (sets.moments.variances(found) <= least)).any(axis=1))
        return found

    def _ends(self, sets: SetStatistics) -> tuple[FloatArray, FloatArray]:
        """Least and largest entries of the columns of B, (S, q)."""
        indicators = np.flatnonzero(~self.fixed.is_value)
        low, high = np.empty((2, len(sets.n), self.fixed.n_columns))
        counts = sets.counts(indicators)
        low[:, indicators], high[:, indicators] = counts == sets.n[:, None], counts > 0
        values = np.array(self.fixed.value_sources, dtype=np.intp)
        ends = sets.extremes(values)
        low[:, values], high[:, values] = (end - self.fixed.centres for end in ends)
        return low, high
