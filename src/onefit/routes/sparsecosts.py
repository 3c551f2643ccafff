"""What a sparse design takes: the gram route on its products, and refits, which scikit-learn iterates."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, lsqr
from sklearn.linear_model import LinearRegression, Ridge, RidgeClassifier

from ..learners import Learner, RefitLearner, SparseSmoother, Task
from ..linalg.sparse import MOST_KEPT
from ..typing import FloatArray
from ..validation import Problem
from .contract import FoldPlan, Offer
from .costs import Shape

__all__ = [
    "GRAM",
    "REFIT",
    "Solver",
    "gram_terms",
    "offer_refits",
    "on_a_copy",
    "refit_terms",
    "seconds_of_terms",
    "solver_of",
    "steps_of",
]

# Nanoseconds for one unit of each term, as `python -m benchmarks --sparse --calibrate` fits them to measured times, in
# the units of `costs.NANOSECONDS`; the choice hangs on ratios. What `Density` counts is in nanoseconds already.
GRAM: Mapping[str, float] = {
    "call": 7.03e06,
    "products": 1.16,
    "cubes": 0.504,
    "rotations": 0.141,
    "factorizations": 0.00985,
    "factorizations, beyond the caches": 2.39e-05,
    "losses": 7.34,
    "values and rows": 253.0,
    "values": 3.05e05,
    "criteria": 11.3,
    "criteria, rows": 0.346,
}
REFIT: Mapping[str, float] = {
    "call": 2.19e05,
    "fits": 2.58e06,
    "entries": 14.3,
    "steps": 1.41e04,
    "products": 0.422,
    "vectors": 25.0,
}

LESS_EXACT = 1.25
"""Factor by which refits must be faster: they stop iterating when they are near the solution."""

A_COPY, WITH_A_COPY = 0.015, 1.15
"""Seconds, and a factor, by which a dense copy must be faster: it takes memory."""

FEWEST = 4
"""Steps that hardly any fit does without: with so few, refits offer to count them."""


def seconds_of_terms(costs: Mapping[str, float], terms: Mapping[str, float]) -> float:
    """Seconds of some units of work."""
    return 1e-9 * sum(costs.get(name, 0.0) * amount for name, amount in terms.items())


def gram_terms(smoother: SparseSmoother, shape: Shape, n_outputs: int) -> dict[str, float]:
    """How often the gram route does what it does on a sparse design."""
    density, d = smoother.density, float(smoother.width)
    L, K, C = shape.L, shape.K, shape.V * n_outputs
    bases = [smoother.spans(lams) for _, lams in smoother.outputs(n_outputs)]
    n_bases, n_rotated = sum(map(len, bases)), sum(len(values) > 1 for spans in bases for values in spans)
    rows = min(density.rows(d).values()) + density.n * d
    is_kept = density.n * d <= MOST_KEPT
    ways = density.repeat(d, K, C)
    each = n_bases * (ways["rows"] - rows if is_kept else min(ways.values()))
    return {
        "call": 1.0,
        "products": n_bases * (min(density.gram.values()) + is_kept * rows) + n_rotated * rows + L * each,
        "cubes": n_bases * d**3,
        "rotations": n_rotated * d**3,
        "factorizations": L * shape.V * shape.fits * d**3,
        "factorizations, beyond the caches": L * shape.V * shape.fits * d**4,
        "substitutions": L * C * shape.fits * d**2,
        "systems": L * C * shape.fits,
        "losses": L * C * density.n * K,
        "values and rows": L * C * density.n,
        "values": L * shape.V,
        **_criteria_terms(smoother, shape),
    }


def _criteria_terms(smoother: SparseSmoother, shape: Shape) -> dict[str, float]:
    """The criteria that a curve shows, see `Smoother.scores`."""
    if shape.V == 1 or not smoother.can_be_dense:
        return {}
    return {"criteria": float(smoother.width) ** 3, "criteria, rows": float(smoother.n) * smoother.width**2}


def on_a_copy(offer: Offer, smoother: SparseSmoother, shape: Shape) -> Offer:
    """An offer for dense designs as one that makes a dense copy."""
    extra = A_COPY + seconds_of_terms(GRAM, _criteria_terms(smoother, shape))
    return replace(offer, seconds=offer.seconds + extra, settle=smoother.densified, handicap=WITH_A_COPY)


def refit_terms(X: Any, shape: Shape, n_outputs: int, steps: float) -> dict[str, float]:
    """How often refits on a sparse design do what they do, each fit with so many steps of its solver."""
    n, p = X.shape
    fits, C = shape.L * shape.V * shape.fits, n_outputs * steps
    share = (shape.K - 1 + shape.pairs * (shape.K - 2) / shape.K) / shape.fits  # of the rows in a training set
    return {
        "call": 1.0,
        "fits": fits,
        "entries": fits * X.nnz,
        "steps": fits * C,
        "products": fits * C * 2 * share * X.nnz,
        "vectors": fits * C * (share * n + p),
    }


@dataclass(frozen=True)
class Solver:
    """How scikit-learn iterates on a sparse design: "sparse_cg" or "lsqr", to a tolerance."""

    name: str
    alpha: float
    tol: float
    fit_intercept: bool


def solver_of(estimator: Any) -> Solver | None:
    """The solver of an estimator on a sparse design; None if nothing is known of the estimator, or of its solver."""
    if type(estimator) not in (LinearRegression, Ridge, RidgeClassifier) or estimator.positive:
        return None
    name, alpha, tol = "lsqr", np.zeros(1), getattr(estimator, "tol", 1e-6)
    if type(estimator) is not LinearRegression:
        if estimator.max_iter is not None or not isinstance(estimator.alpha, Real | np.ndarray):
            return None
        name, alpha = estimator.solver, np.atleast_1d(np.asarray(estimator.alpha))
    name = "sparse_cg" if name == "auto" else name
    if name not in ("sparse_cg", "lsqr") or alpha.dtype.kind not in "if" or not isinstance(tol, Real):
        return None  # if a parameter is not what it should be, its fit will say so
    if not (float(tol) > 0 and alpha.size and alpha.min() >= 0):
        return None
    return Solver(name, float(alpha.min()), float(tol), bool(estimator.fit_intercept))


def steps_of(solver: Solver, problem: Problem, most: int) -> float:
    """Steps that a fit to all rows takes for one output; beyond ``most`` by the rate at which it has come closer.

    They are counted, not timed: the choice must not hang on what else the machine does.
    """
    design, y = _centred(problem, solver.fit_intercept)
    if solver.name == "lsqr":
        found = lsqr(design, y, damp=np.sqrt(solver.alpha), atol=solver.tol, btol=solver.tol, iter_lim=most)
        count, residual, size, gradient = found[2], found[4], found[5], found[7]
        return _extrapolated(count, most, gradient / max(size * residual, 1e-300), solver.tol)
    n, p = design.shape
    if p > n:
        return _conjugate_gradients(lambda v: design.matvec(design.rmatvec(v)), solver.alpha, y, solver.tol, most)
    start = design.rmatvec(y)
    return _conjugate_gradients(lambda v: design.rmatvec(design.matvec(v)), solver.alpha, start, solver.tol, most)


def _centred(problem: Problem, fit_intercept: bool) -> tuple[LinearOperator, FloatArray]:
    """X and the first output as the solvers see them: less their means, times the roots of the weights."""
    X, y = problem.X, problem.y[:, 0]
    weights = np.ones(len(y)) if problem.weights is None else problem.weights
    root, share = np.sqrt(weights), weights / weights.sum()
    means = X.T @ share if fit_intercept else np.zeros(X.shape[1])
    design = LinearOperator(
        X.shape,
        matvec=lambda v: root * (X @ v - means @ v),
        rmatvec=lambda u: X.T @ (root * u) - means * (root @ u),
        dtype=np.float64,
    )
    return design, root * (y - share @ y if fit_intercept else y)


def _conjugate_gradients(
    product: Callable[[FloatArray], FloatArray], alpha: float, right: FloatArray, tol: float, most: int
) -> float:
    """Steps until the residuals are ``tol`` times the right-hand side."""
    residual = right.copy()
    direction, square = right.copy(), float(right @ right)
    first = square
    for step in range(most):
        if square <= tol**2 * first:
            return float(step)
        along = product(direction) + alpha * direction
        curvature = float(direction @ along)
        if not curvature > 0:
            return float(step)
        residual -= square / curvature * along
        previous, square = square, float(residual @ residual)
        direction = residual + square / previous * direction
    return _extrapolated(most, most, float(np.sqrt(square / first)) if first else 0.0, tol)


def _extrapolated(count: int, most: int, left: float, tol: float) -> float:
    """How many steps there will be, if after all that were allowed a part of the error is left."""
    if count < most or left <= tol:
        return float(count)
    return count * float(np.log(tol) / np.log(min(left, 0.9)))


def offer_refits(learner: RefitLearner, task: Task, plan: FoldPlan) -> Offer | None:
    """What refits on a sparse design take; None if nobody knows.

    If it might be the cheapest with a few steps a fit, these are counted, in a part of the time of that.
    """
    if not sparse.issparse(task.problem.X):
        return None
    known = [solver for solver in map(solver_of, learner.given) if solver is not None]
    if len(known) < learner.n_values:
        return None
    X, Q, V = task.problem.X, task.problem.n_outputs, learner.n_values
    n, p = X.shape
    shape = Shape(n, p, plan.n_folds, plan.likely_repeats, V, float(plan.largest_fold))
    steps = FEWEST if learner.steps is None else learner.steps
    seconds = seconds_of_terms(REFIT, refit_terms(X, shape, Q, steps))
    systems = f"{'at least' if learner.steps is None else 'about'} {steps:.0f} steps of {known[0].name} a fit"

    def settle() -> Learner:
        some = {0, V // 2, V - 1}
        most = max(10, int(shape.L * V * shape.fits * Q * FEWEST / (4 * len(some))))
        return learner.counted(float(np.mean([steps_of(known[value], task.problem, most) for value in some])))

    return Offer(seconds, "X is sparse", systems, settle if learner.steps is None else None, LESS_EXACT)
