"""The fit of a generalized linear model to all rows, from which its training sets start."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from ..errors import TrainingSetError
from ..folds import Folds
from ..learners import Features, GLMLearner, NoFiniteFit, NotSettled, SetFailure, fit_newton
from ..linalg import compiled
from ..linalg.weights import is_uneven
from ..metrics.losses import Loss
from ..typing import BoolArray, FloatArray, IntArray
from ..validation import Problem
from .contract import Remark
from .features import FeaturesEngine
from .newtonbatch import NewtonSets, Rows, Solution
from .newtonhessians import Hessians
from .newtonparts import (
    NO_MEAN,
    ONE_WEIGHED,
    class_factors,
    dense,
    feature_maps,
    mapped,
    penalties_of,
    why_no_fit,
)
from .newtonreach import Reach, are_usual
from .newtonthird import Third, third_derivatives
from .products import Products
from .rowsets import Ends, MaskedStatistics

__all__ = ["Full", "FullEngine"]

WEAK = 1e-5
"""Penalties above this part of the diagonal of a Hessian hold all directions, in any training set."""

REACH = 1.0
"""Change of a linear predictor up to which its third derivative tells how the Hessian changes."""


@dataclass(frozen=True)
class Full:
    """The fit to all rows at a value.

    Attributes
    ----------
    gamma : (c, q), coefficients of the design
    curvature : (c, c, n), weighted second derivatives of the rows' losses
    hessians : (G, c q, c q), their sums over the rows of each group of classes that has weights of its own
    descents : (n, c q), minus the gradients of the weighted losses of the rows; None if columns are learned
    """

    gamma: FloatArray
    curvature: FloatArray
    hessians: FloatArray
    descents: FloatArray | None

    @cached_property
    def trace(self) -> FloatArray:
        """Sums (n,) of the curvatures of the predictors of each row."""
        found: FloatArray = np.einsum("aan->n", self.curvature)
        return found

    @cached_property
    def by_row(self) -> FloatArray:
        """The trace and, if no columns are learned, minus the gradients of the rows: (n, 1) or (n, 1 + c q)."""
        return np.column_stack([self.trace] if self.descents is None else [self.trace, self.descents])


class FullEngine(FeaturesEngine, ABC):
    r"""Fits all rows, and has what that says to the training sets.

    Notes
    -----
    The Hessian of a training set at the curvatures of the fit to all rows is that of all rows less those of the folds
    that are out. It only directs the steps: gradients are sums over the rows themselves, so that nothing is lost by
    differences. Pairs of folds start at ``gamma_j + gamma_k - gamma``.
    """

    def __init__(self, problem: Problem, learner: GLMLearner, loss: Loss) -> None:
        super().__init__(problem, learner, loss.of_predictions(), learner.n_values)
        self.learner = learner
        self.observed = problem.y
        self.y = (
            np.zeros_like(problem.y) if self.loss.is_of_predictions else problem.y
        )  # what predictions are taken from
        self.by_newton: list[int] = []  # values of training sets that were fitted by themselves; appending is atomic
        self.n_fits: list[int] = []
        self.n_steps: list[int] = []
        self._weak: dict[int, bool] = {}
        self.is_uneven = is_uneven(learner.row_weights)
        self._reaches: dict[int, Reach] = {}
        self._aheads: dict[int, tuple[Third, FloatArray] | None] = {}
        B = self.rows[: problem.n]
        if not learner.has_steps and not learner.fit_intercept:
            B = B[:, :-1] + learner.fixed.centres
        self.design: FloatArray | sparse.csr_matrix = B if sparse.issparse(B) else np.ascontiguousarray(B)
        weights = learner.row_weights
        self.shared = Rows(self.design, learner.y, None if (weights == 1).all() else weights, learner.family)
        self.classes = learner.classes_of_rows
        self.full = self._fit_all()

    @property
    def iterations(self) -> int:
        """Steps of all training sets together, so far."""
        return sum(self.n_steps)

    def remarks(self, first: Folds) -> tuple[Remark, ...]:
        """How many training sets were fitted by themselves."""
        if not self.by_newton:
            return ()
        by_themselves, fits = len(self.by_newton), sum(self.n_fits)
        message = (
            f"All fits are iterated until their gradients vanish; {by_themselves:,} of {fits:,} needed Newton steps of "
            "their own (few rows a column, a weak penalty, or classes that are nearly told apart)."
        )
        return (Remark(message),)

    @cached_property
    def weighed(self) -> IntArray:
        """Number of each row's class if these have weights that change with the training set, else zero."""
        return self.classes if self.learner.is_balanced else np.zeros(len(self.classes), dtype=np.intp)

    @property
    def n_weighed(self) -> int:
        """How many such numbers there are."""
        return self.learner.n_weighed

    def factors(self, sums: FloatArray, present: BoolArray) -> FloatArray:
        """Factors (S, G) of the weights of classes in training sets with these sums of weights, and classes."""
        return class_factors(self.learner, sums, present)

    def penalties(self, value: int, weight: FloatArray, width: int) -> FloatArray:
        """Of the columns, (S, p), in training sets with these sums of weights."""
        return penalties_of(self.learner, value, weight, width)

    def is_weak(self, value: int) -> bool:
        """Whether the penalty at a value may leave the Hessian of a training set nearly singular."""
        if value not in self._weak:
            full, learner = self.full[value], self.learner
            penalty = self.penalties(value, learner.row_weights.sum(keepdims=True), full.gamma.shape[1])
            size = np.einsum("gii->i", full.hessians).reshape(full.gamma.shape)
            is_free = int(learner.fit_intercept)
            self._weak[value] = not learner.has_steps and bool(((penalty <= WEAK * size).sum(axis=1) > is_free).any())
        return self._weak[value]

    def leaves_free(self, value: int, unseen: BoolArray) -> BoolArray:
        """Training sets (S,) in which a column (S, p) that is zero in all rows has no penalty: any coefficient fits."""
        return np.asarray((unseen & (self.penalties(value, np.ones(1), unseen.shape[1]) == 0)).any(axis=1))

    def as_sets(
        self,
        value: int,
        weight: FloatArray,
        factors: FloatArray,
        of_classes: FloatArray,
        H: FloatArray,
        maps: FloatArray | None,
    ) -> NewtonSets:
        """Training sets at a value, with sums of weights (S,), factors of rows (n, S) and of classes (S, G).

        H are their Hessians in the columns of the design.
        """
        width = self.design.shape[1] if maps is None else maps.shape[2]
        penalty, before = self.penalties(value, weight, width), self.before(value, of_classes, maps)
        hessians = Hessians(mapped(H, maps), before=before)
        return NewtonSets(factors, maps, penalty, hessians, self.full[value].trace @ factors)

    def before(self, value: int, of_classes: FloatArray, maps: FloatArray | None) -> FloatArray:
        """Diagonals (S, c p) of what Hessians of training sets, with factors (S, G) of classes, are taken away from."""
        found: FloatArray = np.einsum("sg,gii->si", of_classes, self.full[value].hessians)
        if maps is None:
            return found
        each = found.reshape(len(maps), -1, maps.shape[1])
        return np.asarray(np.matmul(each, np.square(maps)).reshape(len(maps), -1))

    def are_right(self, solution: Solution, sets: NewtonSets, values: Sequence[int]) -> BoolArray:
        """Which training sets (S,), value by value, have surely converged in all rows, light as they may be."""
        found = solution.is_converged & sets.hessians.keep_digits(sets.penalty)
        if self.is_uneven and found.any():
            found &= are_usual([self._reach(value) for value in values], sets)
        return found

    def _reach(self, value: int) -> Reach:
        """That of all rows at a value."""
        if value not in self._reaches:
            weights, maps, full = self.learner.row_weights, self.maps_of_all, self.full[value]
            sums = np.bincount(self.weighed, weights, minlength=self.n_weighed)[None].astype(np.float64)
            factors, width = self.factors(sums, sums > 0), (self.design if maps is None else maps).shape[1]
            penalty = np.diag(self.penalties(value, np.sum(factors * sums, axis=1), width)[0])
            if maps is not None:
                inverse = np.linalg.pinv(maps)
                penalty = inverse.T @ penalty @ inverse
            B = np.einsum("g,gij->ij", factors[0], full.hessians) + np.kron(np.eye(len(full.gamma)), penalty)
            self._reaches[value] = Reach.of(B, self.learner.family.basis, self.design)
        return self._reaches[value]

    def maps_of(self, features: Features) -> FloatArray:
        """Columns of fits (S, q, p) from those of the design; an intercept is the last and absorbs all shifts."""
        return feature_maps(features, self.fixed.n_columns, self.learner.fit_intercept)

    def bends(self, value: int, descents: FloatArray, folds: FloatArray) -> FloatArray | None:
        """How Hessians change (K, c q, c q) when a fold is left out; None if that is not known.

        From minus the gradients (K, c q) of the folds and their Hessians. Where a fold moves a linear predictor too far
        for derivatives to tell, nothing changes.
        """
        ahead = self._ahead(value)
        if ahead is None:
            return None
        third, inverse = ahead
        delta = -descents @ inverse
        delta += np.matmul(folds, delta[:, :, None])[..., 0] @ inverse  # the fold's part of the Hessian, once
        with np.errstate(invalid="ignore"):
            reach = np.abs(delta.reshape(-1, self.design.shape[1]) @ self.design.T)
            delta[~(reach.reshape(len(delta), -1).max(axis=1) <= REACH)] = 0.0
        return third.along((1.0 - 2.0 / len(delta)) * delta)

    def _ahead(self, value: int) -> tuple[Third, FloatArray] | None:
        """Third derivatives of the fit to all rows, and the inverse of its Hessian; None if they are not taken."""
        if value not in self._aheads:
            learner, full = self.learner, self.full[value]
            third = None
            if full.descents is not None and self.n_weighed == 1 and isinstance(self.design, np.ndarray):
                third = third_derivatives(self.design, learner.y, learner.row_weights, learner.family, full.gamma)
            self._aheads[value] = None
            if third is not None:
                penalty = self.penalties(value, np.array([learner.row_weights.sum()]), full.gamma.shape[1])[0]
                with suppress(np.linalg.LinAlgError):
                    H = full.hessians[0] + np.diag(np.tile(penalty, len(full.gamma)))
                    self._aheads[value] = third, np.linalg.inv(H)
        return self._aheads[value]

    def _fit_all(self) -> list[Full]:
        """Fits to all rows, along the path of penalties."""
        learner, family = self.learner, self.learner.family
        maps = self.maps_of_all
        Z = dense(self.design if maps is None else self.design @ maps)
        sums = np.bincount(self.weighed, learner.row_weights, minlength=self.n_weighed)[None].astype(np.float64)
        weights = learner.row_weights * self.factors(sums, sums > 0)[0, self.weighed]
        found: dict[int, Full] = {}
        theta = None
        for value in map(int, np.argsort(-learner.lams, kind="stable")):  # the stiffest first
            penalty = self.penalties(value, np.array([weights.sum()]), Z.shape[1])[0]
            if theta is None and learner.fit_intercept:
                theta = np.zeros((family.basis.shape[1], Z.shape[1]))
                theta[:, -1] = family.start(learner.y, weights)
            try:
                theta = fit_newton(Z, learner.y, weights, penalty, family, theta).theta
            except NoFiniteFit as failure:
                if learner.has_classes and len(np.unique(self.classes[weights > 0])) < 2:
                    raise TrainingSetError(f"In the fit to all rows {ONE_WEIGHED}") from None
                if learner.fit_intercept and family.has_no_mean(learner.y, weights):
                    raise TrainingSetError(f"In the fit to all rows {NO_MEAN}") from None
                why, remedy = why_no_fit(learner, value, isinstance(failure, NotSettled))
                error = TrainingSetError(f"In the fit to all rows {why}.")
                error.remedy = remedy
                raise error from None
            eta = family.basis @ (theta @ Z.T)
            curvature = learner.row_weights * family.curvature(eta, learner.y)
            hessians = self.hessians(curvature, np.arange(learner.n)[None], np.array([learner.n]))[0]
            descents = None
            if maps is None:
                residual = family.basis.T @ (learner.row_weights * family.residual(eta, learner.y))
                descents = (residual.T[:, :, None] * Z[:, None]).reshape(learner.n, -1)
            found[value] = Full(theta if maps is None else theta @ maps.T, curvature, hessians, descents)
        return [found[value] for value in range(learner.n_values)]

    @cached_property
    def maps_of_all(self) -> FloatArray | None:
        """Columns of the fit to all rows from those of the design, (q, p); None if they are the same."""
        if not self.learner.has_steps:
            return None
        n = self.learner.n
        everything = np.ones((1, n), dtype=bool)
        moments, _, _ = Products(self.plain.gram[None].copy(), self.plain.right[None].copy()).about_means()
        statistics = MaskedStatistics(
            Ends(self.fixed), self.rows[:n, :-1], everything, np.zeros_like(everything), moments
        )
        try:
            learned = self.learner.encoding.block.learn(statistics)
        except SetFailure as failure:
            raise TrainingSetError(f"The steps fail on all rows: {failure}.") from None
        return np.asarray(self.maps_of(learned)[0])

    def hessians(self, curvature: FloatArray, members: IntArray, sizes: IntArray) -> FloatArray:
        """Hessians (F, G, c q, c q) of some sets of rows (F, m), of which the first ``sizes`` are there."""
        c, q = len(curvature), self.design.shape[1]
        if c > 1 and self.n_weighed == 1 and isinstance(self.design, np.ndarray) and len(sizes) > 1:
            return self._hessians_of_folds(curvature, members)[:, None]
        found = np.empty((len(sizes), self.n_weighed, c, q, c, q))
        for group in range(self.n_weighed):
            own = curvature if self.n_weighed == 1 else np.where(self.weighed == group, curvature, 0.0)
            for a in range(c):
                for b in range(a, c):
                    block = self._grams(own[a, b], members, sizes)
                    found[:, group, a, :, b] = block
                    found[:, group, b, :, a] = block  # symmetric in itself
        return found.reshape(len(sizes), self.n_weighed, c * q, c * q)

    def _hessians_of_folds(self, curvature: FloatArray, members: IntArray) -> FloatArray:
        """The same (F, c q, c q) of several predictors, fold by fold: all blocks in one product with its rows."""
        c, q, (F, m) = len(curvature), self.design.shape[1], members.shape
        first, second = np.triu_indices(c)
        weights = np.zeros((self.learner.n + 1, len(first)))
        weights[:-1] = curvature[first, second].T
        found = np.empty((F, c, q, c, q))
        for own, rows in zip(found, members, strict=True):
            B = self.padded[rows]
            heavy = (B[:, None] * weights[rows, :, None]).reshape(m, -1)
            blocks = (B.T @ heavy).reshape(q, -1, q)
            own[first, :, second] = own[second, :, first] = blocks.swapaxes(0, 1)
        return found.reshape(F, c * q, c * q)

    def _grams(self, weights: FloatArray, members: IntArray, sizes: IntArray) -> FloatArray:
        """Weighted products of the columns (F, q, q)."""
        B = self.design
        if not sparse.issparse(B) and compiled.collects(B.shape[1]):
            return compiled.collect(self.padded, self._nothing, np.append(weights, 0.0), members, sizes)[0]
        each = []
        for some, size in zip(members, sizes, strict=True):
            part, own = B[some[:size]], weights[some[:size]]
            gram = part.T @ (part.multiply(own[:, None]) if sparse.issparse(part) else own[:, None] * part)
            each.append(gram.toarray() if sparse.issparse(gram) else gram)
        return np.stack(each)

    @cached_property
    def padded(self) -> FloatArray:
        """The design with a row of zeros, which folds are padded with."""
        return np.vstack([self.design, np.zeros(self.design.shape[1])])

    @cached_property
    def _nothing(self) -> FloatArray:
        return np.zeros((len(self.padded), 1))
