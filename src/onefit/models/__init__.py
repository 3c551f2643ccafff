"""Penalized models as scikit-learn estimators."""

from .additive import AdditiveModel
from .fpcr import FPCR
from .penalized import PenalizedRegression
from .signal import SignalRegression
from .spline import SplineRegression

__all__ = ["FPCR", "AdditiveModel", "PenalizedRegression", "SignalRegression", "SplineRegression"]
