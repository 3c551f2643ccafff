"""Penalized likelihood by iterated working least squares, at given penalties or at those that a criterion chooses.

Fixed penalties: Newton's method on the penalized likelihood, until its gradient vanishes. Penalties to be chosen: a
criterion chooses them for the working model at the present fit, and the fit is made anew, until neither changes
(performance iteration: Gu 1992; mgcv's ``optimizer="perf"``).
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..criteria.multiple import KNOWN_SCALE, Choice
from ..errors import DataError, SmoothnessWarning
from ..learners import NoFiniteFit, fit_newton
from ..linalg.columns import Penalty
from ..typing import FloatArray
from .fitting import Design, PenalizedFit, fit_design
from .joint import choice_of_rows, joint_penalty, warn_undecided
from .responses import Response

__all__ = ["GeneralizedFit", "fit_generalized", "known_scores"]

MOST_ROUNDS = 100

SETTLED = 1e-9
"""Change of the linear predictor, as a weighted root mean square, at which penalties and fit are final."""

STALLED = 0.9
"""If the change has not fallen by this factor, logarithms of penalties go only half of the way from then on."""

SHORTEST = 1e-3


@dataclass(frozen=True)
class GeneralizedFit:
    """A fit of a working model at its fixed point, and what is known of the likelihood.

    ``choice`` are the penalties; ``n_rounds`` how many working models they were chosen in, zero if they were given.
    """

    fit: PenalizedFit
    choice: Choice
    deviance: float
    null_deviance: float
    n_rounds: int


@dataclass(frozen=True)
class Data:
    """Columns (n, p) without a constant, y (n,) as the loss codes it, and weights (n,)."""

    columns: FloatArray
    y: FloatArray
    weights: FloatArray
    response: Response


def fit_generalized(data: Data, roots: Sequence[FloatArray], lams: FloatArray, criterion: str) -> GeneralizedFit:
    """Fit with a penalty root for each group of columns; penalties that are NaN are chosen by the criterion."""
    counted = data.weights > 0
    data = replace(data, columns=data.columns[counted], y=data.y[counted], weights=data.weights[counted])
    response, y, weights = data.response, data.y, data.weights
    choice, n_rounds = Choice(lams, ("",) * len(lams), True), 0
    if np.isnan(lams).any():
        choice, n_rounds = _chosen(data, roots, lams, criterion)
    eta = _likeliest(data, joint_penalty(roots, choice.lams), None)[1]
    z, w = response.working(eta, y)
    design = Design(data.columns, joint_penalty(roots, choice.lams))
    fit = fit_design(design, z[:, None], w * weights, 1.0, minimum_norm=True)
    if response.has_known_scale:
        fit = replace(fit, scale=np.ones(1), scores=known_scores(fit, design, z, w * weights))
    if any(len(root) and lam == 0 for root, lam in zip(roots, choice.lams, strict=True)):
        fit.scores["reml"] = np.full(1, np.inf)  # log|lam S| is infinite
    deviance, null = (response.deviance(each, y, weights) for each in (eta, response.null_predictor(y, weights)))
    return GeneralizedFit(fit, choice, deviance, null, n_rounds)


def _chosen(data: Data, roots: Sequence[FloatArray], lams: FloatArray, criterion: str) -> tuple[Choice, int]:
    """Penalties at the fixed point of fitting and choosing, and the rounds that it took."""
    response, y, weights = data.response, data.y, data.weights
    kind = KNOWN_SCALE[criterion] if response.has_known_scale else criterion
    eta, coef = response.start(y), None
    rho: FloatArray | None = None
    share, last = 1.0, np.inf
    for n_rounds in range(1, MOST_ROUNDS + 1):
        z, w = response.working(eta, y)
        choice = choice_of_rows(data.columns, z[:, None], w * weights, roots, lams, kind)
        with np.errstate(divide="ignore"):
            there = np.log(choice.lams)
        rho = there if rho is None or share == 1.0 else _between(rho, there, share)
        coef, new = _likeliest(data, joint_penalty(roots, np.exp(rho)), coef)
        change = float(np.sqrt(np.average(np.square(new - eta), weights=w * weights)))
        eta = new
        if change <= SETTLED * share:
            break
        if n_rounds > 3 and change > STALLED * last:
            share = max(share / 2.0, SHORTEST)
        last = change
    else:
        warnings.warn(
            f'lam="{criterion}" and the fit did not settle: each changed the other in {MOST_ROUNDS} rounds. Give lam '
            "as a number, use fewer terms, or a smaller n_basis.",
            SmoothnessWarning,
            stacklevel=5,
        )
    if not choice.converged:
        warn_undecided(criterion, data.columns.shape, stacklevel=5)
    return choice, n_rounds


def _between(here: FloatArray, there: FloatArray, share: float) -> FloatArray:
    """A part of the way; terms without a penalty stay."""
    with np.errstate(invalid="ignore"):
        return np.where(np.isfinite(there) & np.isfinite(here), here + share * (there - here), there)


def _likeliest(data: Data, penalty: Penalty, coef: FloatArray | None) -> tuple[FloatArray, FloatArray]:
    """Coefficients (1 + p,) and linear predictors (n,) of the penalized likelihood's maximum, from coefficients."""
    assert penalty.penalized is not None
    maps = np.hstack([penalty.penalized, penalty.free])
    r, p = penalty.penalized.shape[1], maps.shape[1]
    Z = np.hstack([data.columns @ maps, np.ones((len(data.y), 1))])
    held = np.zeros(p + 1)
    held[:r] = 1.0
    family = data.response.family
    theta = np.zeros((1, p + 1))
    theta[0, -1] = family.start(data.y[None], data.weights)[0]
    if coef is not None:
        theta[0] = np.append(np.linalg.solve(maps, coef[1:]), coef[0])
    try:
        found = fit_newton(Z, data.y[None], data.weights, held, family, theta).theta[0]
    except NoFiniteFit:
        what = "classes" if data.response.has_classes else "rows"
        raise DataError(
            f"The likelihood has no maximum: the terms tell {what} apart without error, and the function goes to "
            "infinity. Use fewer terms, linear ones among them, a smaller n_basis, or more rows."
        ) from None
    return np.append(found[-1], maps @ found[:-1]), Z @ found


def known_scores(fit: PenalizedFit, design: Design, z: FloatArray, w: FloatArray) -> dict[str, FloatArray]:
    """UBRE as "gcv", and REML, of a working model whose variance is known to be one."""
    counted = w > 0
    n, free = int(counted.sum()), 1 + design.penalty.free.shape[1]
    rss = float(w @ np.square(z - fit.intercept[0] - design.X @ fit.coef[:, 0]))
    scores = {"gcv": np.array([(rss + 2.0 * fit.edf) / n - 1.0])}
    penalized = rss + _roughness(design.penalty, fit.coef[:, 0])
    D = n - free
    if D > 0 and np.isfinite(fit.scores["reml"]).all() and penalized > 0:
        profiled = D / 2 * (1.0 + np.log(2.0 * np.pi * penalized / D))
        scores["reml"] = fit.scores["reml"] - profiled + penalized / 2 + D / 2 * np.log(2.0 * np.pi)
    else:
        scores["reml"] = np.array([np.inf])
    return scores


def _roughness(penalty: Penalty, coef: FloatArray) -> float:
    """``b'Sb`` of coefficients."""
    assert penalty.penalized is not None
    both = np.linalg.solve(np.hstack([penalty.penalized, penalty.free]), coef)
    return float(np.square(both[: penalty.penalized.shape[1]]).sum())
