"""Penalized models as scikit-learn estimators."""

from .penalized import PenalizedRegression

__all__ = ["PenalizedRegression"]
