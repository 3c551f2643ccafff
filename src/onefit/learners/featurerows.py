"""Rows of learners that see fixed features: what all of them say of these."""

from __future__ import annotations

from abc import abstractmethod

from .fitrows import FitRows
from .fixedfeatures import FixedFeatures

__all__ = ["FeatureRows"]


class FeatureRows(FitRows):
    """The rows of a learner whose columns are made of fixed features."""

    @property
    @abstractmethod
    def fixed(self) -> FixedFeatures:
        """Of which its columns are made."""

    @property
    def n(self) -> int:
        """Number of rows."""
        return self.fixed.n

    @property
    def width(self) -> int:
        """Number of fixed features."""
        return self.fixed.n_columns
