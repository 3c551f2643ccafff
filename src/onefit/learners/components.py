"""Principal components that are found anew in every training set, from its triangular factor."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from typing import Self

import numpy as np

from ..criteria import RowPart, Spectrum, search
from ..errors import TrainingSetError
from ..typing import FloatArray, IntArray
from .smoother import Smoother
from .statistics import Coefficients, SmoothedLearner, TrainingStatistics

__all__ = ["ComponentsLearner", "count_components"]


def count_components(singular_values: FloatArray, n_components: float, size: int) -> IntArray:
    """How many components to keep, of singular values (..., q) in descending order of a matrix of this larger side.

    A whole number is taken as it is, a proportion below one as the smallest number of components that explain as much
    of the variance; but never more than the numerical rank.
    """
    largest = singular_values[..., :1]
    rank: IntArray = (singular_values > size * np.finfo(float).eps * largest).sum(axis=-1)
    if isinstance(n_components, int | np.integer):
        number: IntArray = np.minimum(int(n_components), rank)
        return number
    # by the largest, or the squares of small ones vanish
    variance = np.cumsum(np.square(singular_values / np.where(largest > 0, largest, 1.0)), axis=-1)
    total = np.where(variance[..., -1:] > 0, variance[..., -1:], 1.0)
    # a sum of all is one up to rounding errors
    enough: IntArray = np.minimum((variance / total < n_components - 1e-14).sum(axis=-1) + 1, rank)
    return enough


@dataclass(frozen=True)
class _Reduced:
    """Training sets in the coordinates of their p components, with data and penalty diagonal together.

    With loadings V_p and the design ``A V_p = P T`` (T triangular or diagonal), the penalty ``||root V_p b||^2`` on
    ``c = T b`` has the singular values ``tau`` of ``root V_p T^-1 = . diag(tau) C'``, so that in ``C'c`` the fit is
    ``gamma / (1 + lam tau^2)``.
    """

    P: FloatArray
    C: FloatArray
    to_coef: FloatArray
    n_free: int
    gamma: FloatArray
    beyond: FloatArray
    mu: FloatArray


class ComponentsLearner(SmoothedLearner):
    """Penalized regression on the leading components of the column-centred design of each training set.

    Parameters
    ----------
    smoother : Smoother
        The model on all rows, for its scores and weights.
    X : array (n, M)
        The columns whose components are taken.
    root : array (r, M)
        Root of the penalty on their coefficients, of full row rank.
    n_components : int or float
    lam : str or array (V,)
        A criterion, or the penalties.
    fit_intercept : bool
    """

    steps = 20
    reason = "the components are found anew in every training set, from its triangular factor"

    def __init__(
        self,
        smoother: Smoother,
        X: FloatArray,
        root: FloatArray,
        n_components: float,
        lam: str | FloatArray,
        fit_intercept: bool,
    ) -> None:
        # the components are those of centred columns even if the fit has no intercept
        super().__init__(smoother, X, smoother.mean_of(X) if fit_intercept else np.zeros(X.shape[1]))
        self.root, self.n_components, self.lam = root, n_components, lam
        self._length = float(np.linalg.norm(smoother.root_weights(np.arange(len(X)))[:, None] * X))
        self.fit_intercept = fit_intercept
        self.needs_rows = isinstance(lam, str) and lam == "loo"

    @property
    def n_values(self) -> int:
        """One if the penalty is tuned."""
        return 1 if isinstance(self.lam, str) else len(self.lam)

    def at(self, values: Sequence[int]) -> Self:
        """The same learner at some of its values."""
        other = copy(self)
        if not isinstance(self.lam, str):
            other.smoother, other.lam = self.smoother.at(values), self.lam[list(values)]
        return other

    def fit(self, statistics: TrainingStatistics) -> Coefficients:
        """Coefficients (B, V, 1 + M, Q) of the constant and the columns."""
        R, z = statistics.R, statistics.z
        B, _, d = R.shape
        _, s, Vt = np.linalg.svd(R[:, 1:, 1:], full_matrices=False)
        size = max(d - 1, int(statistics.n.max()))
        # what is tiny against the design before it was centred is rounding error, as in a fit
        s = np.where(s > size * np.finfo(float).eps * self._length, s, 0.0)
        counts = count_components(s, self.n_components, size)
        if not counts.all():
            raise TrainingSetError("all curves of the training set are the same, so they have no components.")
        found = np.zeros((B, self.n_values, d, z.shape[2]))
        for p in np.unique(counts):
            some = np.flatnonzero(counts == p)
            found[some] = self._fit(statistics, some, Vt[some, :p].swapaxes(1, 2))
        return Coefficients(found)

    def _fit(self, statistics: TrainingStatistics, some: IntArray, V: FloatArray) -> FloatArray:
        """The same for training sets that have the loadings V (B, M, p)."""
        R, z, first = statistics.R[some], statistics.z[some], int(self.fit_intercept)
        reduced = self._reduce(R[:, first:, 1:] @ V, z[:, first:], self.root @ V)
        lams = self._choose(statistics, some, reduced)
        shrunk = np.repeat(reduced.gamma[:, None], lams.shape[1], axis=1)
        k = reduced.n_free
        D = reduced.mu[:, None] + lams[..., None]
        factor = np.where(D > 0, reduced.mu[:, None] / np.where(D > 0, D, 1.0), 0.0)
        shrunk[:, :, k:] *= factor[..., None]
        beta = V[:, None] @ (reduced.to_coef[:, None] @ shrunk)
        constant = np.zeros((*beta.shape[:2], 1, beta.shape[3]))
        if first:
            constant = (z[:, None, :1] - R[:, None, :1, 1:] @ beta) / R[:, None, :1, :1]
        return np.concatenate([constant, beta], axis=2)

    def _reduce(self, A: FloatArray, z: FloatArray, root: FloatArray) -> _Reduced:
        p = A.shape[2]
        P, T = np.linalg.qr(A)
        T_inverse = np.linalg.inv(T) if p else T
        _, tau, Ct = np.linalg.svd(root @ T_inverse, full_matrices=True)
        n_free = p - tau.shape[1]
        C = Ct[:, ::-1].swapaxes(1, 2)  # free directions first, then the least penalized
        inside = P.swapaxes(1, 2) @ z
        with np.errstate(divide="ignore"):
            mu = 1.0 / np.square(tau[:, ::-1])
        return _Reduced(P, C, T_inverse @ C, n_free, C.swapaxes(1, 2) @ inside, z - P @ inside, mu)

    def _choose(self, statistics: TrainingStatistics, some: IntArray, reduced: _Reduced) -> FloatArray:
        """The penalties of each training set, (B, V)."""
        if not isinstance(self.lam, str):
            return np.broadcast_to(self.lam, (len(some), len(self.lam)))
        k = reduced.n_free
        spectrum = Spectrum.of(
            reduced.mu,
            reduced.gamma[:, k:],
            statistics.rest[some] + np.square(reduced.beyond).sum(axis=1),
            statistics.n[some],
            int(self.fit_intercept) + k,
            self._row_part(statistics, some, reduced) if self.needs_rows else None,
        )
        return search(spectrum, self.lam)[:, None]

    def _row_part(self, statistics: TrainingStatistics, some: IntArray, reduced: _Reduced) -> RowPart:
        """Rows in the directions of the fit, for leave-one-out."""
        first, p, k = int(self.fit_intercept), reduced.P.shape[2], reduced.n_free
        B, r, Q = len(statistics.R), statistics.R.shape[1], statistics.z.shape[2]
        T = np.zeros((B, r, first + p + Q))
        T[:, :first, :first] = np.eye(first)
        T[some, first:, first : first + p] = reduced.P @ reduced.C
        T[some, first:, first + p :] = reduced.beyond
        inside, left = (each[some] for each in statistics.rows(T))
        directions = inside[..., : first + p]
        a0 = 1.0 - np.square(directions).sum(axis=2)
        return RowPart.of(directions[..., first + k :], a0, left + inside[..., first + p :])
