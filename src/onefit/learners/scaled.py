"""Ridge regression on columns that are scaled anew in every training set."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.preprocessing import StandardScaler

from ..checks import LEAST_SQUARED
from ..criteria import NEAR_ROUNDING, RowPart, Spectrum, spectrum_of_rows
from ..linalg.columns import EPS, Columns, norms
from ..linalg.standardized import CenteredGram, standardized_gram
from ..linalg.tall import row_blocks
from ..typing import FloatArray, IntArray
from ..validation import Problem
from .smoother import NOT_UNIQUE, Smoother
from .statistics import Coefficients, SmoothedLearner, TrainingStatistics
from .transformed import is_stateless
from .tuned import TunedLearner

__all__ = ["ScaledLearner", "scales_only"]

FEW_DIGITS = 1e-4
"""Part of the largest singular value below which a direction is not found by dividing by its singular value."""


def scales_only(steps: Sequence[Any], problem: Problem) -> bool:
    """Whether all that some steps learn is the mean and deviation of the columns.

    Weights of a pipeline go to its last step, and the scaler knows nothing of them.
    """
    return (
        bool(steps)
        and type(steps[-1]) is StandardScaler
        and all(is_stateless(step) for step in steps[:-1])
        and all(isinstance(flag, bool | np.bool_) for flag in (steps[-1].with_mean, steps[-1].with_std))
        and problem.weights is None
        and not sparse.issparse(problem.X)
    )


class ScaledLearner(SmoothedLearner):
    r"""Scikit-learn's StandardScaler before a ridge regression with an intercept, which absorbs the centring.

    The deviation of column j is ``||R_1j, ..., R_dj|| / sqrt(n)`` without the first row, that of the constant. With
    ``R diag(1/s) = U diag(mu)^(1/2) V'`` below that row, every penalty and every criterion is a function of mu and
    of ``U'z``. A training set of no more rows than columns is fitted from the products of its scaled rows, one
    eigendecomposition or a few factorizations of their number; from the triangular factor only if they lose digits.
    Where a penalty is chosen by leave-one-out and is far below the columns, the scaled rows are decomposed: those that
    the fit all but reaches are left out by fits without them.

    Parameters
    ----------
    inner : Smoother or TunedLearner
        The last step on columns scaled by the deviations of all rows: its penalties, or how it chooses one.
    X : array (n, p)
        The columns before they are scaled.
    """

    steps = 4
    reason = "the columns are scaled anew in every training set, from its triangular factor"

    def __init__(self, inner: Smoother | TunedLearner, X: FloatArray) -> None:
        self.tuned = inner if isinstance(inner, TunedLearner) else None
        # about the medians, which one wild row cannot move: the means of all rows may be far from those of the others
        super().__init__(inner.smoother if isinstance(inner, TunedLearner) else inner, X, _medians(X))
        self.needs_rows = self.tuned is not None and self.tuned.needs_rows
        self.hint = inner.hint
        if len(X) <= X.shape[1] + 1:
            self.reason = "the columns are scaled anew in every training set, from the products of its rows"

    @property
    def keeps_squares(self) -> bool:
        """Whether no column varies by so little that its squares vanish."""
        reach = np.maximum(self._columns.max(axis=0) - self._centre, self._centre - self._columns.min(axis=0))
        return not bool(((reach > 0) & (reach < LEAST_SQUARED)).any())

    @property
    def n_values(self) -> int:
        """One if the penalty is tuned."""
        return 1 if self.tuned else self.smoother.n_values

    def at(self, values: Sequence[int]) -> Self:
        """The same learner at some of its values."""
        other = copy(self)
        other.smoother = self.smoother.at(values)
        return other

    def fit(self, statistics: TrainingStatistics) -> Coefficients:
        """Coefficients (B, V, 1 + p, Q) of the constant and the columns as they were."""
        R, z = statistics.R, statistics.z
        n = statistics.n[:, None]
        deviation = np.linalg.norm(R[:, 1:, 1:], axis=1) / np.sqrt(n)
        mean = R[:, 0, 1:] / R[:, 0, :1]
        by = _scales(deviation, mean, self._centre, n, R.shape[2])
        scaled = R[:, 1:, 1:] * by[:, None]
        U, s, back = _decompose(scaled)
        gamma = U.swapaxes(1, 2) @ z[:, 1:]
        lams = self._penalties(statistics, U, np.square(s), gamma)[:, :, None]
        failures: dict[int, str] = {}
        if not s.all():
            free = np.flatnonzero((lams == 0).any(axis=(0, 2, 3)))
            failures = dict.fromkeys(map(int, free), f"Columns are linear combinations of the others, {NOT_UNIQUE}")
        divisor = np.square(s)[:, None, :, None] + lams
        shrunk = s[:, None, :, None] * gamma[:, None] / np.where(divisor > 0, divisor, 1.0)
        beta = back(shrunk) * by[:, None, :, None]
        constant = (z[:, None, :1] - R[:, None, :1, 1:] @ beta) / R[:, None, :1, :1]
        return Coefficients(np.concatenate([constant, beta], axis=2), failures)

    def fitted(self, train: IntArray, others: IntArray, y: FloatArray) -> FloatArray | None:
        """Predictions from the rows, if they are fewer than the columns, or if leave-one-out asks for fits without one.

        From their products if these keep the digits.
        """
        n, p = len(train), self.n_columns - 1
        smallest = self.tuned.smallest if self.tuned else float(self.smoother.lams.min())
        if n <= p + 1 and (self.tuned is not None or smallest > 0.0):
            gram = standardized_gram(self.X[:, 1:], self._centre, np.concatenate([train, others]), n)
            rows = CenteredGram(gram[:n, :n], gram[n:, :n], y[train])
            if rows.keeps_digits(smallest):
                return rows.fitted(self.smoother.lams if self.tuned is None else self._chosen(self.tuned, rows))
        if self.tuned is None or not self.needs_rows or (n > p + 1 and smallest > NEAR_ROUNDING * n * p):
            return None
        return self._decomposed(self.tuned, train, others, y)

    def _decomposed(self, tuned: TunedLearner, train: IntArray, others: IntArray, y: FloatArray) -> FloatArray:
        """Predictions (h, 1, Q) from the scaled rows themselves, of which rows that the fit reaches can be left out."""
        n, Z = len(train), self._columns[np.concatenate([train, others])]
        centre = np.median(Z[:n], axis=0)
        Z -= centre  # not the mean, into which one wild row would carry its rounding errors
        mean = Z[:n].mean(axis=0)
        Z *= _scales(norms(Z[:n] - mean) / np.sqrt(n), mean, centre, n, self.n_columns)
        ones = np.ones((n, 1))
        columns = Columns(Z[:n], ones, norms(Z[:n]), norms(ones), is_own=True, has_ones=True)
        fit = spectrum_of_rows(columns, y[train], smallest=tuned.smallest)
        a, b = fit.coefficients(tuned.choose(fit.spectrum)[0])
        predicted: FloatArray = (Z[n:] @ a + b)[:, None]
        return predicted

    def _chosen(self, tuned: TunedLearner, rows: CenteredGram) -> FloatArray:
        """The penalty of a training set that the columns interpolate, (1, Q)."""
        mu, U, gamma = rows.spectrum
        n, Q = rows.y.shape
        in_rows = RowPart(U[None], np.zeros((1, n)), np.zeros((1, n, Q))) if self.needs_rows else None
        spectrum = Spectrum.of(mu[None], gamma[None], np.zeros((1, Q)), np.array([float(n)]), 1, in_rows)
        return tuned.choose(spectrum)

    def _penalties(
        self, statistics: TrainingStatistics, U: FloatArray, mu: FloatArray, gamma: FloatArray
    ) -> FloatArray:
        """The penalties of each training set, (B, V, Q)."""
        B, Q = len(mu), gamma.shape[2]
        if self.tuned is None:
            return np.broadcast_to(self.smoother.lams, (B, self.n_values, Q))
        in_rows = self._row_part(statistics, U, mu, gamma) if self.needs_rows else None
        spectrum = Spectrum.of(mu, gamma, statistics.rest, statistics.n, 1, in_rows)
        return self.tuned.choose(spectrum)[:, None]

    def _row_part(self, statistics: TrainingStatistics, U: FloatArray, mu: FloatArray, gamma: FloatArray) -> RowPart:
        """Rows in the directions of the fit, for leave-one-out."""
        T = np.zeros((len(U), U.shape[1] + 1, U.shape[2] + 1))
        T[:, 0, 0] = 1.0
        T[:, 1:, 1:] = U
        directions, left = statistics.rows(T)
        # a direction that no column has is whatever the decomposition made of it: its part of y is left
        seen = np.hstack([np.ones((len(mu), 1)), mu > 0])[:, None]
        left = left + (directions * (1.0 - seen))[..., 1:] @ gamma
        directions = directions * seen
        return RowPart.of(directions[..., 1:], 1.0 - np.square(directions).sum(axis=2), left)


def _medians(X: FloatArray) -> FloatArray:
    """Medians of the columns; some columns at a time, so that nothing of their size is made."""
    return np.concatenate([np.median(X[:, some], axis=0) for some in row_blocks(X.shape[1], len(X))])


def _scales(
    deviation: FloatArray, mean: FloatArray, centre: FloatArray, n: FloatArray | int, n_terms: int
) -> FloatArray:
    """What the scaler multiplies columns about ``centre`` by; zero if they are constant, as they may not be elsewhere.

    Scikit-learn's bound: below it a column is constant up to rounding errors, and the scaler lets it be.
    """
    varies = deviation > n * EPS * np.maximum(np.abs(mean), np.abs(mean + centre))
    is_left = deviation > 10 * n_terms * EPS * np.abs(mean)
    return np.where(varies, 1.0 / np.where(varies, deviation, 1.0), is_left)


def _decompose(A: FloatArray) -> tuple[FloatArray, FloatArray, Callable[[FloatArray], FloatArray]]:
    """U and d of ``A = U diag(d) V'``, and the map from v to ``V v``; of wide matrices without V, which is large."""
    r, p = A.shape[1:]
    if r >= p:
        U, d, Vt = np.linalg.svd(A, full_matrices=False)
        return U, _clean(d, p), lambda v: Vt.swapaxes(1, 2)[:, None] @ v
    R: FloatArray = np.asarray(np.linalg.qr(A.swapaxes(1, 2), mode="r"))
    U, d, Wt = np.linalg.svd(R.swapaxes(1, 2))
    d = _clean(d, p)
    if ((d > 0) & (d < FEW_DIGITS * d[:, :1])).any():  # then A'U / d has no digits
        Q = np.linalg.qr(A.swapaxes(1, 2))[0]
        return U, d, lambda v: Q[:, None] @ (Wt.swapaxes(1, 2)[:, None] @ v)
    inverse = (1.0 / np.where(d > 0, d, np.inf))[:, None, :, None]
    return U, d, lambda v: A.swapaxes(1, 2)[:, None] @ (U[:, None] @ (inverse * v))


def _clean(d: FloatArray, p: int) -> FloatArray:
    """Singular values without those that are rounding errors, which a tiny penalty would fit."""
    return np.where(d > p * EPS * d[:, :1], d, 0.0)
