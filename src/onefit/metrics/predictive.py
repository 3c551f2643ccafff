"""Metrics of predictions that come with a standard deviation: the log score, and the coverage of normal bands.

Their response is `PREDICTIVE`: arrays (..., Q, 2) of the residual and the standard deviation of an observation.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from scipy import stats

from ..errors import DataError
from ..typing import FloatArray
from ..vocabulary import PREDICTIVE
from .contract import Metric
from .means import MeanMetric
from .orientation import AS_LOSS, NEGATED, ONE_MINUS
from .scored import Scored

__all__ = ["BANDS", "OWN_LOSSES", "OWN_SCORES", "neg_log_density", "outside"]

LEVELS = (0.5, 0.8, 0.95)
"""Of the bands whose coverage comes beside a log score."""


def neg_log_density(scored: Scored) -> FloatArray:
    """Minus the log of the normal density of the observed value."""
    residual, std = _residual_and_std(scored)
    losses: FloatArray = np.log(std) + 0.5 * np.square(residual / std) + 0.5 * np.log(2 * np.pi)
    return losses


def outside(scored: Scored, level: float) -> FloatArray:
    """Whether the observed value lies outside the central normal band of this level."""
    residual, std = _residual_and_std(scored)
    losses: FloatArray = (np.abs(residual) > stats.norm.ppf((1 + level) / 2) * std).astype(np.float64)
    return losses


def _residual_and_std(scored: Scored) -> tuple[FloatArray, FloatArray]:
    residual, std = scored.response[..., 0], scored.response[..., 1]
    if not (np.isfinite(std).all() and (std > 0).all()):
        raise DataError(
            f"A standard deviation that is predicted in {scored.where} is {np.min(std):.3g}, and a density needs "
            "positive ones: give the model noise, as alpha or a WhiteKernel of a Gaussian process."
        )
    return residual, std


def _log_score(name: str) -> MeanMetric:
    shown = AS_LOSS if name.startswith("neg_") else NEGATED
    return MeanMetric(name, neg_log_density, PREDICTIVE, "identity", shown, per_output=True)


def _band(level: float) -> MeanMetric:
    name = f"band_{100 * level:.0f}"
    metric = MeanMetric(name, partial(outside, level=level), PREDICTIVE, "logit", ONE_MINUS, True, is_share=True)
    object.__setattr__(metric, "is_extra", True)
    return metric


OWN_LOSSES: dict[str, Metric] = {"neg_log_predictive": _log_score("neg_log_predictive")}
"""By the names of ``loss=``."""

OWN_SCORES: dict[str, Metric] = {"log_predictive": _log_score("log_predictive")}
"""By the names of ``scoring=``: what scikit-learn has no scorer for."""

BANDS: tuple[Metric, ...] = tuple(map(_band, LEVELS))
"""Coverage of bands, which comes beside a log score."""
