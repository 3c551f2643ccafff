"""Prior probabilities of classes, given or counted."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import RouteError
from ..typing import FloatArray
from .classmoments import ClassMoments

__all__ = ["class_priors", "known_priors"]


def known_priors(estimator: Any, n_classes: int) -> None:
    """Refuse priors that are not one positive number a class: what scikit-learn makes of them, a refit shows."""
    if estimator.priors is None:
        return
    try:
        priors = np.asarray(estimator.priors, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise RouteError("priors are no numbers") from error
    if priors.shape != (n_classes,) or not (priors > 0).all() or abs(priors.sum() - 1.0) > 1e-9:
        raise RouteError("priors are not a positive number for each class that sum to one")


def class_priors(estimator: Any, moments: ClassMoments) -> FloatArray:
    """Priors (B, C) of some training sets."""
    if estimator.priors is None:
        shares: FloatArray = moments.n / moments.n.sum(axis=1, keepdims=True)
        return shares
    return np.broadcast_to(np.asarray(estimator.priors, dtype=np.float64), moments.n.shape)
