"""Ridge regression and least squares in a sparse design."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import sparse

from ..errors import TrainingSetError
from ..linalg.columns import Columns
from ..linalg.reinsch import Reinsch, spans
from ..linalg.sparse import sparse_reinsch
from ..linalg.weights import is_light
from ..typing import FloatArray, IntArray
from .smoother import MOST_RATIO_OF_PENALTIES, Smoother

__all__ = ["SparseSmoother"]

MOST_REACH = 1e5
"""Largest number in a row of no weight, in units of the smallest column with its penalty: as many digits are lost."""


class SparseSmoother(Smoother):
    """Ridge or least squares in a sparse design, which stays sparse."""

    def __init__(
        self, X: sparse.csr_matrix, fit_intercept: bool, lams: FloatArray, weights: FloatArray | None = None
    ) -> None:
        super().__init__(lams, weights, fit_intercept)
        p = X.shape[1]
        self._bases: dict[tuple[float, ...], Reinsch] = {}
        self._X = sparse.csr_matrix(X, dtype=np.float64)
        self._check_span(abs(self._X).max(axis=0).toarray().ravel())
        self._penalized = np.ones(p)
        if fit_intercept:
            self._X = sparse.hstack([self._X, np.ones((X.shape[0], 1))], format="csr")
            self._penalized = np.append(self._penalized, 0.0)

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self._X.shape[0])

    @property
    def width(self) -> int:
        """All columns: a sparse design is not rotated."""
        return int(self._X.shape[1])

    @property
    def dense_bytes(self) -> int:
        """The size of the design as an array."""
        return 8 * self.n * self.width

    @property
    def n_free(self) -> int:
        """The intercept, if there is one."""
        return int((self._penalized == 0).sum())

    @property
    def why_not_onestep(self) -> str:
        """The residual operator of a sparse design is dense."""
        return "X is sparse, and this route needs a dense n x n matrix; pass X.toarray() if it fits in memory"

    def take(self, rows: IntArray) -> Columns:
        """The design in some rows, made dense."""
        X = self._X[rows].toarray()
        E, N = X[:, self._penalized == 1], X[:, self._penalized == 0]
        size = np.sqrt(np.asarray(self._X.multiply(self._X).sum(axis=0)).ravel())
        sizes = size[self._penalized == 1], size[self._penalized == 0]
        return Columns(E, N, *sizes, is_own=True, has_ones=self.fit_intercept)

    def reinsch(self, lams: Sequence[float]) -> Reinsch:
        """Demmler-Reinsch basis from Gram matrices; kept, as `is_accurate` and the routes ask for the same."""
        key = tuple(float(lam) for lam in lams)
        if key not in self._bases:
            self._bases[key] = sparse_reinsch(self._X, self._penalized, key, self.weights)
        return self._bases[key]

    def is_accurate(self) -> bool:
        """Whether the Gram matrices of all rows determine the fit at every value; else it takes their rows."""
        if self.weights is not None and is_light(self.weights[self.fitted_rows]).any():
            return False  # the squares of their roots are lost in sums
        if self._reaches_far():
            return False
        try:
            for _, lams in self.outputs(self.lams.shape[1]):
                for values in self.spans(lams):
                    self.reinsch(list(lams[values]))
        except TrainingSetError:
            return False
        return True

    def _reaches_far(self) -> bool:
        """Whether rows of no weight are so large beside the smallest column that the map to the basis fails in them.

        Its errors are as large as its largest numbers, those of the smallest columns; rows that count in the fit see
        what is orthogonal all the same.
        """
        if self.weights is None or (self.weights > 0).all():
            return False
        counted = self._X[self.fitted_rows]
        weights = self.weights[self.fitted_rows][:, None]
        squares = np.asarray(counted.multiply(counted).multiply(weights).sum(axis=0)).ravel()
        size = np.sqrt(squares + self.lams.min() * self._penalized)
        return bool(abs(self._X[self.weights == 0]).max() > MOST_REACH * size.min(initial=np.inf))

    def spans(self, lams: FloatArray) -> list[IntArray]:
        """Values that share a basis: fewer, as Gram matrices have half of the digits."""
        return spans(lams, np.sqrt(MOST_RATIO_OF_PENALTIES))

    def count_lost(self, lam: float) -> int:
        """None: `is_accurate` has said so."""
        return 0
