r"""Logistic recalibration of held-out probabilities: slope and intercept.

On the held-out rows of a repeat, ``logit P(y = 1) = intercept + slope z`` with z the logit of the predicted
probability: a slope below one means predictions that are too extreme, an intercept below zero ones that are too large.
The two solve ``mean of psi = 0`` with ``psi = w (y - q)(1, z)``, q the recalibrated probability. With
``A = mean of w q (1 - q) (1, z)(1, z)'`` the influence of a row is ``theta + A^-1 psi``, and what a second fold changes
in fold j is ``A^-1 (mean of psi in j - the same without j and k)``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logit

from ..typing import FloatArray
from .contract import Metric, Reduced, Repeat, Shown
from .orientation import AS_LOSS
from .scored import Scored, folds_of, row_mean, to_rows

__all__ = ["CALIBRATION", "CalibrationMetric"]

LEAST = 1e-12
"""Probabilities nearer to zero or one are taken to be so far away."""

SLACK = 1e-14
"""Part of the loss that its rounding errors are taken to be."""

MOST_STEPS, CLOSE, MOST_SLOPE = 50, 1e-12, 1e3
"""Newton's steps at most, the relative change at which they end, and the slope from which classes are separated."""


@dataclass(frozen=True)
class CalibrationMetric(Metric):
    """One of the two numbers of a recalibration, of two classes; NaN where they do not exist."""

    is_extra = True

    name: str
    component: int
    response: str = "predict_proba"
    scale: str = "identity"
    shown: Shown = AS_LOSS
    family: str = "pooled"

    def n_figures(self, n_outputs: int) -> int:
        """One."""
        return 1

    def reduce(self, repeat: Repeat) -> Reduced:
        """Solve for all held-out rows, and linearize there."""
        folds = [_logits(scored) for scored in folds_of(repeat, self.response)]
        own = [scored.response[fold] for fold, scored in enumerate(folds)]
        z, y, w = np.concatenate(own), _observed(folds), np.concatenate([scored.weights for scored in folds])
        V = z.shape[1]
        theta, inverse = np.full((V, 2), np.nan), np.full((V, 2, 2), np.nan)
        for value in range(V):
            theta[value], inverse[value] = recalibrated(z[:, value], y, w)
        row = inverse[:, self.component]  # (V, 2)
        influence, change, values = [], [], []
        for fold, scored in enumerate(folds):
            scores = _scores(scored, theta)  # (K, m, V, 2)
            parts = np.einsum("kmvc,vc->kmv", scores, row)
            influence.append(theta[:, self.component] + parts[fold])
            means = row_mean(scored.weights, parts[..., None])[..., 0] * scored.weights.mean()
            change.append(means[fold] - means)
            values.append(theta[:, self.component] + row_mean(scored.weights, parts[fold][..., None])[:, 0])
        return Reduced(np.stack(values)[..., None], to_rows(repeat, influence)[..., None], np.stack(change)[..., None])


CALIBRATION = (CalibrationMetric("calibration_slope", 1), CalibrationMetric("calibration_intercept", 0))
"""What is computed beside metrics of probabilities of two classes."""


def _logits(scored: Scored) -> Scored:
    """The rows with logits (K, m, V) of the second class."""
    chances = np.clip(scored.response[..., 1], LEAST, 1 - LEAST)
    return Scored(scored.observed, logit(chances), scored.labels, scored.weights, scored.where)


def _observed(folds: list[Scored]) -> FloatArray:
    return np.concatenate([scored.observed[:, 0] for scored in folds]).astype(np.float64)


def _scores(scored: Scored, theta: FloatArray) -> FloatArray:
    """Psi per unit of weight, (K, m, V, 2)."""
    z = scored.response
    rest = scored.observed - expit(theta[:, 0] + theta[:, 1] * z)
    return np.stack([rest, rest * z], axis=-1)


def recalibrated(z: FloatArray, y: FloatArray, w: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Intercept and slope, and the inverse of A, by Newton's method with halving; NaN if they do not exist."""
    missing = np.full(2, np.nan), np.full((2, 2), np.nan)
    design = np.stack([np.ones_like(z), z], axis=1)
    theta = np.array([0.0, 1.0])
    up, down = (z[(y == label) & (w > 0)] for label in (1, 0))
    if not (len(up) and len(down) and up.max() > down.min() and down.max() > up.min()):
        return missing  # one class, constant, or separated by z: the likelihood has no maximum
    loss = _loss(design @ theta, y, w)
    for _ in range(MOST_STEPS):
        q = expit(design @ theta)
        A = (design * (w * q * (1 - q))[:, None]).T @ design / w.sum()
        gradient = design.T @ (w * (y - q)) / w.sum()
        try:
            step = np.linalg.solve(A, gradient)
        except np.linalg.LinAlgError:
            return missing
        size, highest = 1.0, loss * (1.0 + SLACK)  # close to the end rounding errors of the loss are all that is left
        while size > LEAST and not _loss(design @ (theta + size * step), y, w) <= highest:
            size /= 2
        theta = theta + size * step
        loss = _loss(design @ theta, y, w)
        if not np.isfinite(theta).all() or np.abs(theta).max() > MOST_SLOPE:
            return missing
        if np.abs(step).max() <= CLOSE * (1 + np.abs(theta).max()):
            break
    q = expit(design @ theta)
    A = (design * (w * q * (1 - q))[:, None]).T @ design / w.sum()
    return (theta, np.linalg.inv(A)) if np.linalg.cond(A) < 1 / LEAST else missing


def _loss(eta: FloatArray, y: FloatArray, w: FloatArray) -> float:
    """Log loss at linear predictors."""
    return float(w @ (np.logaddexp(0.0, eta) - y * eta) / w.sum())
