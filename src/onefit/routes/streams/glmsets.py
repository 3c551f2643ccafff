"""Training sets of a generalized linear model on a table, all repeats and values at once, as its passes see them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations

import numpy as np

from ...errors import TrainingSetError
from ...folds import Folds
from ...learners.glm_families import Family
from ...linalg.batched import inverse_roots
from ...typing import BoolArray, FloatArray, IntArray
from ..newtonparts import feature_maps, shifted_columns
from ..solve import Doubtful, TrainingSets
from .glm import GLMModel
from .glmpasses import FoldTables, SetSums, SetTask
from .learning import FoldFeatures
from .newtonsteps import Sums
from .rows import RowReader

__all__ = ["FREE", "GLMSets", "IteratedSets", "in_design", "penalized", "refuse_classes"]

NEARLY_NOTHING = 1e-10
"""Added to systems of columns of length one, of which some may depend on others: what they solve is a beginning."""

NO_CLASS = (
    "{where}: the training set has no row of class {label} that has a weight. Use folds that hold all classes, or "
    "leave the rarest class out."
)

FREE = (
    "{where}: the training set does not determine the coefficients, which no penalty holds. Drop columns that are "
    'linear combinations of others (OneHotEncoder(drop="first")), or give the model a penalty.'
)


@dataclass
class GLMSets(TrainingSets):
    """Coefficients of all training sets; ``pairs`` (L, K, K, p, V, Q) with two folds out, one of them each row's own.

    ``family`` tells predictions from linear predictors; None for classes, whose scores these are.
    """

    pairs: FloatArray = field(default_factory=lambda: np.zeros(0))
    family: Family | None = None

    @cached_property
    def pair_residuals(self) -> FloatArray:
        """As in `TrainingSets`."""
        L, K, _, p, V, Q = self.pairs.shape
        found = np.empty((L, K, p + Q, K, V, Q))
        found[:, :, :p] = -self.pairs.transpose(0, 1, 3, 2, 4, 5)
        found[:, :, p:] = np.eye(Q)[:, None, None]
        return found.reshape(L, K, p + Q, -1)


def in_design(theta: FloatArray, maps: FloatArray | None) -> FloatArray:
    """Coefficients (S, c, q) of the design from those of fits (S, c, p); ``maps`` (q, p), or one a fit."""
    return theta if maps is None else np.asarray(np.matmul(theta, maps.swapaxes(-1, -2)))


def in_columns(hessians: FloatArray, maps: FloatArray) -> FloatArray:
    """Hessians (..., c, p, c, p) of fits from those (..., c, q, c, q) of the design; ``maps`` are (..., q, p)."""
    blocks = np.matmul(maps.swapaxes(-1, -2)[..., None, None, :, :], hessians.swapaxes(-3, -2))
    return np.asarray(np.matmul(blocks, maps[..., None, None, :, :]).swapaxes(-3, -2))


def _newton_step(hessians: FloatArray, right: FloatArray) -> FloatArray:
    """Solutions (S, c, p) of systems (S, c p, c p); zero for columns that are zero."""
    d = np.einsum("sii->si", hessians)
    D = inverse_roots(d)
    scaled = hessians * D[:, :, None] * D[:, None]
    at = np.arange(d.shape[1])
    scaled[:, at, at] = 1.0 + NEARLY_NOTHING
    found = np.linalg.solve(scaled, (D * right.reshape(d.shape))[..., None])[..., 0]
    return np.asarray((D * found).reshape(right.shape))


def penalized(
    found: tuple[float, FloatArray, FloatArray, float], penalty: FloatArray, theta: FloatArray, maps: FloatArray | None
) -> Sums:
    """Objective, descent, Hessian and curvature of the design's columns in those of a fit, with its penalty (p,)."""
    (objective, descent, hessian, curvature), (c, p) = found, theta.shape
    if maps is not None:
        descent, hessian = descent @ maps, in_columns(hessian, maps)
    H = np.array(hessian).reshape(c * p, c * p)
    H[np.arange(c * p), np.arange(c * p)] += np.tile(penalty, c)
    objective += 0.5 * float((penalty * np.square(theta)).sum())
    return Sums(objective, descent - penalty * theta, H, curvature)


def refuse_classes(model: GLMModel, reader: RowReader, sums: FloatArray, where: Sequence[str]) -> None:
    """Refuse training sets, with these sums of weights (S, C), that lack a class."""
    if not model.glm.has_classes or (sums > 0).all():
        return
    index, label = np.argwhere(sums <= 0)[0]
    assert reader.target.classes is not None
    raise TrainingSetError(NO_CLASS.format(where=where[index], label=reader.target.classes.labels[label]))


class IteratedSets:
    """All training sets: by repeat, value, and folds that are out, in this order on one axis.

    Attributes
    ----------
    start : (S, c, p), coefficients to begin with
    first : (S, c, p) or None, minus the gradient there, if sums over folds tell it
    hessians : (S, c p, c p), at the pilot
    curvature : (S,)
    doubtful : list of Doubtful
        Training sets in which what steps learn has lost its digits.
    """

    def __init__(
        self,
        model: GLMModel,
        reader: RowReader,
        folds: Folds,
        tables: FoldTables,
        gamma: FloatArray,
        features: FoldFeatures | None,
    ) -> None:
        self.model, self.reader, self.folds = model, reader, folds
        self.L, self.K = len(reader.repeats), reader.deal.n_folds
        self.out = [(j,) for j in range(self.K)] + list(combinations(range(self.K), 2))
        stays: BoolArray = np.ones((len(self.out), self.K), dtype=bool)
        for index, each in enumerate(self.out):
            stays[index, list(each)] = False
        self.doubtful: list[Doubtful] = []
        sums = np.einsum("sk,lkc->lsc", stays, tables.weights)
        for repeat, own in enumerate(sums):
            refuse_classes(model, reader, own, [folds.words(repeat, each) for each in self.out])
        factors = np.stack([model.factors(own) for own in sums])  # (L, S1, G)
        weight = (sums * factors if model.glm.is_balanced else sums).sum(axis=2)
        self._cells = (stays[None, :, :, None] * factors[:, :, None]).reshape(self.L, len(self.out), -1)
        self._shifted = shifted_columns(model.glm, None)[None]
        self._maps = None if features is None else self._learn(features)
        width = gamma.shape[2] if self._maps is None else self._maps.shape[-1]
        values = range(model.n_values)
        penalty = [[model.penalty(value, own, width) for value in values] for own in weight]
        self.penalty = np.array(penalty).reshape(-1, width)
        self._begin(tables, gamma, width)

    def _learn(self, features: FoldFeatures) -> FloatArray:
        """What steps make of the columns in every training set, (L, S1, q, p)."""
        glm, found, shifted = self.model.glm, list[FloatArray](), list[BoolArray]()
        for repeat in range(self.L):
            for size in (1, 2):
                out = np.array([each for each in self.out if len(each) == size], dtype=np.intp)
                learned, is_sound = features.learn(glm.encoding.block, repeat, out, features.moments(repeat, out))
                found.append(feature_maps(learned, glm.fixed.n_columns, glm.fit_intercept))
                shifted.append(shifted_columns(glm, learned))
                values = tuple(range(self.model.n_values))
                self.doubtful += [Doubtful(repeat, tuple(out[at].tolist()), values) for at in np.flatnonzero(~is_sound)]
        maps = np.concatenate(found)
        self._shifted = np.concatenate(shifted).reshape(self.L, len(self.out), -1)
        return maps.reshape(self.L, len(self.out), *maps.shape[1:])

    def _begin(self, tables: FoldTables, gamma: FloatArray, width: int) -> None:
        """Hessians and first gradients at the pilot, from those of the folds that stay.

        Where steps learn, the columns of a training set do not reach the pilot: it begins where its own objective would
        be least if it were a parabola about the pilot, ``(M'HM + P)^-1 M'(H gamma + r)``.
        """
        L, V, S1, c = self.L, self.model.n_values, len(self.out), self.model.n_predictors
        size = c * width
        hessians, curvature = np.empty((L, V, S1, size, size)), np.empty((L, V, S1))
        first, right = np.empty((L, V, S1, *gamma.shape[1:])), np.empty((L, V, S1, c, width))
        for repeat in range(L):
            cells = self._cells[repeat]
            maps = None if self._maps is None else self._maps[repeat]
            for value in range(V):
                at = repeat, value
                H = np.tensordot(cells, tables.hessian[value, repeat].reshape(-1, *tables.hessian.shape[4:]), 1)
                curvature[at] = cells @ tables.curvature[value, repeat].ravel()
                first[at] = np.tensordot(cells, tables.descent[value, repeat].reshape(-1, *gamma.shape[1:]), 1)
                if maps is not None:
                    right[at] = np.matmul(first[at] + np.tensordot(H, gamma[value], 2), maps)
                    H = in_columns(H, maps)
                hessians[at] = H.reshape(S1, size, size)
        self.hessians, self.curvature = hessians.reshape(-1, size, size), curvature.ravel()
        diagonal = np.arange(size)
        self.hessians[:, diagonal, diagonal] += np.tile(self.penalty, (1, c))
        self.first: FloatArray | None = None
        unseen = (np.einsum("sii->si", self.hessians) == 0).reshape(-1, c, width)
        self._refuse_shifted(unseen.all(axis=1))
        if self._maps is None:
            start = np.tile(np.repeat(gamma, S1, axis=0), (L, 1, 1))
            self.start = np.where(unseen, 0.0, start)  # where solvers begin, and stay
            self.first = first.reshape(self.start.shape) - self._held(self.start)
        else:
            self.start = _newton_step(self.hessians, right.reshape(-1, c, width))

    def _refuse_shifted(self, unseen: BoolArray) -> None:
        """Refuse columns (S, p) that no penalty holds, which are constant in a training set only, and not zero there.

        A solver takes any mixture of such a column and the intercept.
        """
        if not self.model.glm.fit_intercept or not unseen.any():
            return
        each = unseen.reshape(self.L, self.model.n_values, len(self.out), -1)
        each = each & ~each.all(axis=(0, 2), keepdims=True)  # where all rows are the same, no prediction depends on it
        each &= self._shifted[:, None]
        if each.any():
            index = int(np.argmax(each.reshape(unseen.shape).any(axis=1)))
            raise TrainingSetError(FREE.format(where=self.words(index)))

    def _held(self, theta: FloatArray, some: IntArray | slice = slice(None)) -> FloatArray:
        """What the penalty asks for."""
        return np.asarray(self.penalty[some][:, None] * theta)

    def _places(self, some: IntArray) -> tuple[IntArray, IntArray]:
        """Repeats, and numbers of the folds that are out."""
        S1 = len(self.out)
        return some // (self.model.n_values * S1), some % S1

    def maps(self, some: IntArray) -> FloatArray | None:
        """Columns of the fits of some training sets, (S, q, p); None if they are those of the design."""
        return None if self._maps is None else self._maps[self._places(some)]

    def words(self, index: int) -> str:
        """Which training set it is."""
        repeat, place = self._places(np.array([index]))
        return self.folds.words(int(repeat[0]), self.out[int(place[0])])

    def task(self, some: IntArray, theta: FloatArray, with_hessians: bool = False) -> SetTask:
        """The pass that some training sets need, at their coefficients."""
        repeats, places = self._places(some)
        factors = tuple(
            np.ascontiguousarray(self._cells[repeat][places[repeats == repeat]].T) for repeat in range(self.L)
        )
        return SetTask(self.model.seen_by(self.reader), in_design(theta, self.maps(some)), factors, with_hessians)

    def descent(self, some: IntArray, theta: FloatArray, found: SetSums) -> FloatArray:
        """Minus the gradients (S, c, p)."""
        maps = self.maps(some)
        descent = found.descent if maps is None else np.matmul(found.descent, maps)
        return np.asarray(descent - self._held(theta, some))

    def sums(self, index: int, theta: FloatArray, found: SetSums, at: int) -> Sums:
        """What Newton's method must know of one training set."""
        assert found.objective is not None
        assert found.hessian is not None
        assert found.curvature is not None
        maps = self.maps(np.array([index]))
        own = float(found.objective[at]), found.descent[at], found.hessian[at], float(found.curvature[at])
        return penalized(own, self.penalty[index], theta, None if maps is None else maps[0])

    def coefficients(self, theta: FloatArray) -> GLMSets:
        """In the form of other models, from (S, c, p)."""
        family, V, S1, K = self.model.glm.family, self.model.n_values, len(self.out), self.K
        gamma = in_design(theta, self.maps(np.arange(len(theta))))
        columns = np.tensordot(gamma, family.basis, (1, 1)).reshape(self.L, V, S1, -1, len(family.basis))
        columns = columns.transpose(0, 2, 3, 1, 4)  # (L, S1, q, V, Q)
        pairs = np.empty((self.L, K, K, *columns.shape[2:]))
        for index, each in enumerate(self.out):
            pairs[:, each[0], each[-1]] = pairs[:, each[-1], each[0]] = columns[:, index]
        nothing = np.zeros((0, 0))
        link = None if self.model.glm.has_classes else family
        return GLMSets(columns[:, :K], None, self.doubtful, nothing, nothing, None, pairs, link)
