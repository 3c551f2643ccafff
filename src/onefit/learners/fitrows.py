"""Which rows a fit sees, and how much each of them counts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property

import numpy as np

from ..typing import FloatArray, IntArray

__all__ = ["FitRows"]


class FitRows(ABC):
    """The rows of a learner.

    Attributes
    ----------
    weights : array (n,) or None
        Weights of the rows in the fits; a row of weight zero is never seen.
    fit_intercept : bool
        Whether a constant absorbs the mean of y.
    """

    weights: FloatArray | None
    fit_intercept: bool

    @property
    @abstractmethod
    def n(self) -> int:
        """Number of rows."""

    @property
    def fitted_rows(self) -> IntArray:
        """Rows with a positive weight: those that a fit sees."""
        return np.arange(self.n) if self.weights is None else self._weighted_rows

    @cached_property
    def _weighted_rows(self) -> IntArray:
        assert self.weights is not None
        return np.flatnonzero(self.weights > 0)

    @property
    def unweighted_rows(self) -> IntArray:
        """The others."""
        return np.zeros(0, dtype=np.intp) if self.weights is None else np.flatnonzero(self.weights <= 0)

    def fault(self, n: int) -> str:
        """What is wrong with rows that should be n; empty if nothing is."""
        if self.n != n:
            return f"of {self.n} rows for {n}"
        if self.weights is not None and self.weights.shape != (n,):
            return f"with weights of shape {self.weights.shape} for {n} rows"
        return ""

    def root_weights(self, rows: IntArray) -> FloatArray:
        """Roots of the weights of some rows."""
        return np.ones(len(rows)) if self.weights is None else np.sqrt(self.weights[rows])

    def centre(self, y: FloatArray) -> FloatArray:
        """Y without its mean if an intercept absorbs it: residuals stay the same, and keep more digits."""
        return y - self.mean_of(y) if self.fit_intercept else y

    def mean_of(self, columns: FloatArray) -> FloatArray:
        """Means over the rows that a fit sees."""
        mean: FloatArray = (columns if self.weights is None else columns[self.fitted_rows]).mean(axis=0)
        return mean
