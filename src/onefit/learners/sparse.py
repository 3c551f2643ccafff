"""Ridge regression and least squares in a sparse design."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from scipy import sparse

from ..errors import RouteError, TrainingSetError
from ..linalg.columns import Columns
from ..linalg.reinsch import Reinsch, spans
from ..linalg.sparse import Density, FirstBasis, first_basis, sparse_reinsch
from ..linalg.weights import is_light
from ..typing import FloatArray, IntArray
from .contract import Refusal
from .design import DesignSmoother
from .smoother import MOST_DENSE_BYTES, MOST_RATIO_OF_PENALTIES, Smoother

__all__ = ["SparseSmoother"]

MOST_REACH = 1e5
"""Largest number in a row of no weight, in units of the smallest column with its penalty: as many digits are lost."""


class SparseSmoother(Smoother):
    """Ridge or least squares in a sparse design, which stays sparse.

    Nothing is decomposed before it is asked for: refits, or a dense copy, may take less time than that.
    """

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
    def can_be_dense(self) -> bool:
        """Whether a dense copy is small."""
        return self.dense_bytes <= MOST_DENSE_BYTES

    @property
    def has_small_operator(self) -> bool:
        """Whether a dense copy is small, and a matrix between its rows."""
        return self.can_be_dense and 8 * self.n**2 <= MOST_DENSE_BYTES

    def dense(self) -> DesignSmoother:
        """The same with a dense copy of the design."""
        X = self._X[:, np.flatnonzero(self._penalized)].toarray()
        return DesignSmoother(X, None, self.fit_intercept, self.lams, self.weights, is_ridge=True)

    def densified(self) -> Smoother | Refusal:
        """A dense copy, if its columns are fit for it."""
        try:
            return self.dense()
        except RouteError as error:
            return Refusal(str(error))

    @cached_property
    def density(self) -> Density:
        """What its work is counted from."""
        return Density.of(self._X)

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
            first = self._unpenalized if max(key) == 0 else None
            self._bases[key] = sparse_reinsch(self._X, self._penalized, key, self.weights, first)
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

    def settled(self) -> Smoother | Refusal:
        """What is computed: itself if its Gram matrices determine the fit, or else a dense copy."""
        if self.is_accurate():
            return self
        if not self.can_be_dense:
            return Refusal(
                "the columns of the sparse X are so nearly dependent, or of such different scales, that its Gram "
                "matrix cannot tell, and X is too large to be made dense; use a larger penalty, or scale the columns"
            )
        return self.densified()

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
        """How many free columns depend on the others in the rows that a fit sees; the intercept never does."""
        if lam > 0 or self._has_full_rank():
            return 0
        return self.dense().count_lost(lam) if self.can_be_dense else 0  # if it cannot, it is refused or refitted

    @cached_property
    def _unpenalized(self) -> FirstBasis:
        return first_basis(self._X, self._penalized, [0.0], self.weights)

    def _has_full_rank(self) -> bool:
        """Whether one Cholesky factor tells that no column depends on the others."""
        try:
            return self._unpenalized.is_sound
        except TrainingSetError:
            return False
