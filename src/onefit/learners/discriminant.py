"""scikit-learn's LinearDiscriminantAnalysis and QuadraticDiscriminantAnalysis from sums over classes."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
from scipy.special import expit
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis

from ..errors import RouteError
from ..linalg import batched
from ..typing import BoolArray, FloatArray, IntArray
from .classmoments import CONSTANT, ClassLearner, ClassMoments, have_digits, parameters_along, products
from .contract import Path, Task
from .covariances import inverse_roots, ledoit_wolf_shares
from .decisions import check_densities
from .encoding import Encoding
from .priors import class_priors, known_priors
from .refitted import weight_name

__all__ = [
    "LinearDiscriminantLearner",
    "QuadraticDiscriminantLearner",
    "encoded_linear_discriminant",
    "encoded_quadratic_discriminant",
    "linear_discriminant",
    "quadratic_discriminant",
]

Discriminant: TypeAlias = LinearDiscriminantAnalysis | QuadraticDiscriminantAnalysis

LEAST_SPREAD = 1e-7
"""Part of the largest eigenvalue between classes, below which scikit-learn itself says whether a direction counts."""

LARGEST_TOL = 3e-4
"""Singular values that scikit-learn's "svd" takes for zero are below this: what is trusted here has larger ones."""

LEAST_RATIO = 1e-12
"""Smallest over largest eigenvalue of a covariance, as it is, below which scikit-learn's solvers cut something off."""

FARTHEST = 1e5
"""Squared distance of the origin, in deviations, up to which it is part of scores as in the solvers "lsqr" and "eigen":
the error of their differences is 1e-11 or so there. Columns of years are usually nearer."""


class LinearDiscriminantLearner(ClassLearner):
    r"""Linear scores ``(x - o)'Sigma^-1 (m_c - o) - (m_c - o)'Sigma^-1 (m_c - o)/2 + log pi_c``.

    The origin o is the mean of the classes. It is zero in scikit-learn's solvers "lsqr" and "eigen", where an offset of
    a column costs digits; their scores differ from those here by what all classes have in common. A training set whose
    covariance is nearly singular is left to scikit-learn, whose solvers differ there, and may depend on the origin.
    """

    def __init__(self, estimators: Any, task: Task, before: Encoding | None = None) -> None:
        super().__init__(estimators, task, before)
        first = self.estimators[0]
        by_classes = first.solver != "svd" and (first.priors is not None or self._is_automatic)
        self.scatter = "classes" if by_classes else "pooled"
        asks_scores = not task.responses.isdisjoint(("decision_function", "scores"))
        self.keeps_common = asks_scores and first.solver != "svd" and self.n_classes > 2

    @property
    def drops_dependent(self) -> bool:
        """The solver "svd" finds the directions in which a training set varies."""
        return all(each.solver == "svd" for each in self.estimators)

    def of_two(self, scores: FloatArray) -> FloatArray:
        """One of them is one less the other, with what rounding leaves of it, in scikit-learn."""
        upper = expit(scores)
        return np.concatenate([1.0 - upper, upper], axis=-1)

    def may_have(self, n_outputs: int) -> bool:
        """At least as many as the components that are asked for."""
        return n_outputs >= max(1, *(each.n_components or 0 for each in self.estimators))

    @property
    def _is_automatic(self) -> bool:
        return any(isinstance(each.shrinkage, str) for each in self.estimators)

    def needs_more_rows(self, n_train: int) -> str:
        """Without shrinkage a covariance needs more rows than columns."""
        if all(each.shrinkage for each in self.estimators) or n_train - self.n_classes > self.n_columns:
            return ""
        return "its covariance has no more rows than columns in some training set"

    def held_out(self, moments: ClassMoments, rows: IntArray) -> tuple[FloatArray, BoolArray]:
        """Scores at every shrinkage."""
        deviation, zero, sure = self.scale(moments)
        sure &= (moments.n > 0).all(axis=1) & (moments.n_rows > self.n_classes)
        scores = np.empty((*rows.shape, self.n_values, self.n_columns_of_scores))
        for value, estimator in enumerate(self.estimators):
            priors = class_priors(estimator, moments)
            covariance = self._covariance(estimator, moments, priors, deviation)
            origin = np.einsum("bc,bcp->bp", priors, moments.mean)
            centred = moments.mean - origin[:, None]
            coef, common, is_known = self._coefficients(covariance, centred, origin - zero, deviation, estimator)
            is_known &= have_digits(np.einsum("bpp->bp", covariance), np.abs(moments.mean).max(axis=1))
            with np.errstate(divide="ignore"):
                constant = np.log(priors) - 0.5 * np.einsum("bcp,bpc->bc", centred, coef)
            if estimator.solver == "svd" and self.n_classes > 2:
                is_known &= _spreads(coef, centred, priors)
            elif self.n_classes > 2:
                constant += 0.5 * np.einsum("bp,bp->b", origin - zero, common)[:, None]
                coef += common[..., None]
            constant -= np.einsum("bp,bpc->bc", origin, coef)
            found = products(self.X, rows, self.in_columns(coef))
            np.add(found, self.in_columns(constant)[:, None], out=scores[:, :, value])
            sure &= is_known
        return scores, sure

    def _covariance(
        self, estimator: Any, moments: ClassMoments, priors: FloatArray, deviation: FloatArray
    ) -> FloatArray:
        """Covariance (B, p, p) of a solver."""
        if estimator.solver != "svd":
            return self._shrunk(estimator.shrinkage, moments, priors, deviation)
        assert moments.pooled is not None
        divisor = moments.n_rows - (self.n_classes if svd_counts_classes() else 0)
        covariance: FloatArray = moments.pooled / np.maximum(divisor, 1.0)[:, None, None]
        return covariance

    def _shrunk(self, shrinkage: Any, moments: ClassMoments, priors: FloatArray, deviation: FloatArray) -> FloatArray:
        """Covariance (B, p, p) of the solvers "lsqr" and "eigen", shrunk towards a multiple of the identity."""
        if moments.scatter is None:
            assert moments.pooled is not None
            return shrunk(moments.pooled / moments.n_rows[:, None, None], shrinkage or 0.0, deviation)
        n = np.maximum(moments.n, 1.0)
        each = moments.scatter / n[..., None, None]
        if isinstance(shrinkage, str):
            each = shrunk_automatically(self, each, moments)
        else:
            each = shrunk(each, shrinkage or 0.0, deviation[:, None])
        covariance: FloatArray = np.einsum("bc,bcpq->bpq", priors, each)
        return covariance

    def _coefficients(
        self, covariance: FloatArray, centred: FloatArray, moved: FloatArray, deviation: FloatArray, estimator: Any
    ) -> tuple[FloatArray, FloatArray, BoolArray]:
        """``Sigma^-1`` times the means (B, p, C) and the origin (B, p), and which training sets have all digits.

        The origin's is zero where that is so far away that a score would lose digits. No probability needs it; where
        scores themselves are asked for, such a training set is left to scikit-learn.
        """
        diagonal = np.einsum("bpp->bp", covariance)
        is_known = np.isfinite(diagonal).all(axis=1) & (diagonal > 0).all(axis=1)
        D = 1.0 / np.sqrt(np.where(is_known[:, None], diagonal, 1.0))
        A = np.where(is_known[:, None, None], covariance * D[:, :, None] * D[:, None], np.eye(D.shape[1]))
        right = np.empty((*D.shape, self.n_classes + 2))
        right[..., :-2] = D[:, :, None] * centred.swapaxes(1, 2)
        right[..., -2] = D * moved
        right[..., -1] = batched.probe(D.shape[1])
        solution = batched.solve_definite(A.copy(), right)
        finite = np.isfinite(solution).all(axis=(1, 2))
        is_known &= finite
        some = np.flatnonzero(is_known & batched.suspects(solution[..., -1]))
        # the trace of an inverse is more than the inverse of the smallest eigenvalue
        is_known[some] = np.abs(np.einsum("bpp->bp", np.linalg.inv(A[some]))).sum(axis=1) < 1.0 / batched.TRUSTED
        coef: FloatArray = np.where(is_known[:, None, None], D[:, :, None] * solution[..., :-1], 0.0)
        is_near = np.einsum("bp,bp->b", moved, coef[..., -1]) < FARTHEST
        if self.keeps_common:
            is_known &= is_near
        if estimator.solver != "svd":  # its solvers see the columns as they are, and cut off small eigenvalues
            size = diagonal / np.square(deviation)
            is_known &= size.min(axis=1) * batched.TRUSTED > LEAST_RATIO * size.max(axis=1)
        return coef[..., :-1], np.where(is_near[:, None], coef[..., -1], 0.0), is_known


class QuadraticDiscriminantLearner(ClassLearner):
    """Log densities of normal classes, each with its own covariance."""

    scatter = "classes"

    def of_two(self, scores: FloatArray) -> FloatArray:
        """From log odds."""
        return self.of_many(np.concatenate([np.zeros_like(scores), scores], axis=-1))

    def of_many(self, scores: FloatArray) -> FloatArray:
        """Exponentials of log probabilities, as in scikit-learn: they end at -745, and have its ties next to one."""
        below = scores - scores.max(axis=-1, keepdims=True)
        return np.asarray(np.exp(below - np.log(np.exp(below).sum(axis=-1, keepdims=True))))

    def needs_more_rows(self, n_train: int) -> str:
        """Without shrinkage the covariance of a class needs more rows than columns."""
        if all(getattr(each, "shrinkage", None) for each in self.estimators):
            return ""
        smallest = np.bincount(self.classes).min() * n_train // self.n
        return "" if smallest > self.n_columns else "the smallest class has no more rows than columns in a training set"

    def held_out(self, moments: ClassMoments, rows: IntArray) -> tuple[FloatArray, BoolArray]:
        """Scores at every regularization."""
        deviation, _, sure = self.scale(moments)
        sure &= (moments.n > 1).all(axis=1)
        assert moments.scatter is not None
        # of a column that no class varies in, a regularized class knows no scale: rounding errors tell rows apart there
        within = np.einsum("bcpp->bp", moments.scatter) / moments.n.sum(axis=1)[:, None]
        sure &= (within > CONSTANT * self.largest).all(axis=1)
        scores = np.empty((*rows.shape, self.n_values, self.n_columns_of_scores))
        for value, estimator in enumerate(self.estimators):
            covariance = self._covariances(estimator, moments, deviation)
            R, log_size, is_known = inverse_roots(covariance, deviation[:, None], estimator.tol)
            sure &= (is_known & have_digits(np.einsum("bcpp->bcp", covariance), moments.mean)).all(axis=1)
            if getattr(estimator, "solver", "svd") == "svd":  # which finds no more directions than rows
                sure &= (moments.n > self.n_columns).all(axis=1)
            with np.errstate(divide="ignore"):
                constant = np.log(class_priors(estimator, moments)) - 0.5 * log_size
            distance = np.empty((*rows.shape, self.n_classes))
            for each in range(self.n_classes):
                moved = np.einsum("bp,bpq->bq", moments.mean[:, each], R[:, each])
                Z = products(self.X, rows, R[:, each]) - moved[:, None]
                distance[..., each] = np.einsum("brp,brp->br", Z, Z)
            scores[:, :, value] = self.in_columns(constant[:, None] - 0.5 * distance)
        return scores, sure

    def _covariances(self, estimator: Any, moments: ClassMoments, deviation: FloatArray) -> FloatArray:
        """Covariances (B, C, p, p) of the classes."""
        assert moments.scatter is not None
        n = np.maximum(moments.n, 2.0)[..., None, None]
        identity = np.eye(self.n_columns) * np.square(deviation)[:, None, :, None]
        if getattr(estimator, "solver", "svd") == "svd":
            each = moments.scatter / (n - 1.0 if quadratic_counts_mean() else n)
            return np.asarray((1.0 - estimator.reg_param) * each + estimator.reg_param * identity)
        if isinstance(estimator.shrinkage, str):
            return shrunk_automatically(self, moments.scatter / n, moments)
        return shrunk(moments.scatter / n, estimator.shrinkage or 0.0, deviation[:, None])


def shrunk(covariance: FloatArray, share: float, deviation: FloatArray) -> FloatArray:
    """Covariances (..., p, p) of columns divided by their deviations, shrunk, in terms of the columns as they are."""
    squared = np.square(deviation)
    size = (np.einsum("...pp->...p", covariance) / squared).mean(axis=-1)
    identity = np.eye(squared.shape[-1]) * squared[..., None]
    found: FloatArray = (1.0 - share) * covariance + share * size[..., None, None] * identity
    return found


def shrunk_automatically(learner: ClassLearner, covariance: FloatArray, moments: ClassMoments) -> FloatArray:
    """Covariances (B, C, p, p) of the classes, shrunk by Ledoit and Wolf's lemma; NaN where that is not sure."""
    variance = np.einsum("bcpp->bcp", covariance)
    share = ledoit_wolf_shares(learner.X, learner.classes, covariance, moments)
    diagonal = np.eye(variance.shape[-1]) * variance[..., None]  # of columns with variance one the trace is p
    found: FloatArray = (1.0 - share[..., None, None]) * covariance + share[..., None, None] * diagonal
    return found


def _spreads(coef: FloatArray, centred: FloatArray, priors: FloatArray) -> BoolArray:
    """Whether the means of C classes surely span C - 1 directions for the solver "svd"."""
    root = np.sqrt(priors)
    between = root[:, :, None] * (centred @ coef) * root[:, None]
    values = np.linalg.eigvalsh(np.where(np.isfinite(between), between, 0.0))
    spreads: BoolArray = values[:, 1] > LEAST_SPREAD * values[:, -1]
    return spreads


@lru_cache
def svd_counts_classes() -> bool:
    """Whether the solver "svd" divides by the rows without the classes, as scikit-learn did before 1.8."""
    X, y = np.array([[0.0], [1.0], [3.0], [4.0], [5.0], [7.0]]), [0, 0, 0, 1, 1, 1]
    slope = float(LinearDiscriminantAnalysis().fit(X, y).coef_[0, 0])
    within = 2 * 14 / 3
    return abs(slope - 4.0 / (within / 4)) < abs(slope - 4.0 / (within / 6))


@lru_cache
def quadratic_counts_mean() -> bool:
    """Whether covariances are divided by the rows less one, as scikit-learn did before 1.8."""
    X, y = np.array([[0.0], [1.0], [3.0], [10.0], [11.0], [13.0]]), [0, 0, 0, 1, 1, 1]
    scaling = float(QuadraticDiscriminantAnalysis().fit(X, y).scalings_[0][0])
    return abs(scaling - 14 / 6) < abs(scaling - 14 / 9)


def _check(estimator: Discriminant, task: Task) -> None:
    """What cannot be the refit is refitted."""
    if task.problem.weights is not None:
        weight_name(estimator)  # says that it takes none
    if getattr(estimator, "covariance_estimator", None) is not None:
        raise RouteError("covariance_estimator is fitted anew in every training set")
    known_priors(estimator, len(task.problem.classes))


def _estimators(estimator: Discriminant, task: Task, path: Path | None, encoding: Encoding | None = None) -> list[Any]:
    """Along a path, if no columns are so small that they are lost beside what covariances are moved towards.

    By Ledoit and Wolf's lemma columns are moved in units in which they are alike.
    """
    estimators = parameters_along(estimator, path)
    shares = [getattr(each, "shrinkage", None) or 0.0 for each in estimators]
    share = max((each for each in shares if not isinstance(each, str)), default=0.0)
    by_svd = [each for each in estimators if getattr(each, "solver", "svd") == "svd"]
    fixed = max((getattr(each, "reg_param", 0.0) for each in by_svd), default=0.0)
    if share:
        check_densities(task, lambda v: (1.0 - share) * v + share * v.mean(), f"a shrinkage of {share:.3g}", encoding)
    if fixed:
        check_densities(task, lambda v: (1.0 - fixed) * v + fixed, f"a reg_param of {fixed:.3g}", encoding)
    return estimators


def _check_linear(estimator: LinearDiscriminantAnalysis, task: Task, path: Path | None, n_columns: int) -> None:
    """The same, and what the solvers of a linear analysis refuse."""
    _check(estimator, task)
    if estimator.solver == "svd" and estimator.tol > LARGEST_TOL:
        raise RouteError("directions that tol cuts off are found anew in every training set")
    if estimator.solver == "svd" and (estimator.shrinkage is not None or path is not None):
        raise RouteError('shrinkage is not for solver="svd"')
    if estimator.n_components is not None and estimator.n_components > min(len(task.problem.classes) - 1, n_columns):
        raise RouteError("n_components is more than there can be")


def linear_discriminant(
    estimator: LinearDiscriminantAnalysis, task: Task, path: Path | None
) -> LinearDiscriminantLearner:
    """On the columns as they are."""
    _check_linear(estimator, task, path, task.problem.X.shape[1])
    return LinearDiscriminantLearner(_estimators(estimator, task, path), task)


def encoded_linear_discriminant(
    estimator: LinearDiscriminantAnalysis, task: Task, path: Path | None, encoding: Encoding
) -> LinearDiscriminantLearner:
    """After steps that learn from each training set."""
    _check_linear(estimator, task, path, encoding.block.n_most)
    return LinearDiscriminantLearner(_estimators(estimator, task, path, encoding), task, encoding)


def _check_quadratic(estimator: QuadraticDiscriminantAnalysis, task: Task, path: Path | None) -> None:
    """The same, and what its solvers refuse along a path."""
    _check(estimator, task)
    along = parameters_along(estimator, path)
    if any(getattr(each, "solver", "svd") == "svd" and getattr(each, "shrinkage", None) is not None for each in along):
        raise RouteError('shrinkage is not for solver="svd"')


def quadratic_discriminant(
    estimator: QuadraticDiscriminantAnalysis, task: Task, path: Path | None
) -> QuadraticDiscriminantLearner:
    """On the columns as they are."""
    _check_quadratic(estimator, task, path)
    return QuadraticDiscriminantLearner(_estimators(estimator, task, path), task)


def encoded_quadratic_discriminant(
    estimator: QuadraticDiscriminantAnalysis, task: Task, path: Path | None, encoding: Encoding
) -> QuadraticDiscriminantLearner:
    """After steps that learn from each training set."""
    _check_quadratic(estimator, task, path)
    return QuadraticDiscriminantLearner(_estimators(estimator, task, path, encoding), task, encoding)
