"""RidgeCV after steps that learn anew in every training set: leave-one-out from the spectrum of its Gram matrix."""

from __future__ import annotations

import numpy as np

from ..criteria import NEARLY_REACHED, RowPart, Spectrum, spectrum_of_rows
from ..typing import BoolArray, FloatArray
from .encoded import EncodedLearner, EncodedSets, free_and_penalized, keeps_digits
from .encoding import Encoding
from .tuned import Tuning

__all__ = ["TunedEncodedLearner"]

SQUARED = 1e-8
"""Part of the squares of all columns that the smallest penalty must exceed, for products of them to tell enough."""


class TunedEncodedLearner(EncodedLearner):
    """Ridge regression whose penalty is chosen in every training set by leaving out each of its rows.

    Parameters
    ----------
    tuning : Tuning
        The penalties to choose from, and how.
    """

    needs_rows = True

    def __init__(
        self,
        encoding: Encoding,
        tuning: Tuning,
        weights: FloatArray | None,
        fit_intercept: bool,
    ) -> None:
        super().__init__(encoding, np.ones((1, 1)), weights, fit_intercept)
        self.tuning = tuning
        self.n_candidates = 0 if tuning.grid is None else len(tuning.grid)

    def fit(self, sets: EncodedSets) -> tuple[FloatArray, BoolArray]:
        """Coefficients (S, 1, p, Q), and which training sets have those of a refit to all digits."""
        A, h = self._normal_equations(sets)
        S, p, Q = h.shape
        found, is_sound = np.zeros((S, 1, p, Q)), np.zeros(S, dtype=bool)
        for index in np.flatnonzero(keeps_digits(sets, np.einsum("spp->sp", A))).tolist():
            largest = float(np.trace(A[index]))
            if self.tuning.smallest <= SQUARED * largest:
                continue
            mu, V = np.linalg.eigh(A[index])
            kept = mu > p * np.finfo(float).eps * max(mu[-1], 0.0)
            mu, V = mu[kept], V[:, kept]
            assert sets.rows is not None
            Z, y, root = sets.rows(index)
            U = (root[:, None] * Z) @ (V / np.sqrt(mu))
            gamma = U.T @ (root[:, None] * y)
            rows = self._row_part(U, gamma, root, y)
            spectrum = Spectrum.of(
                mu[None],
                gamma[None],
                np.square(rows.r0).sum(axis=1),
                np.array([float(len(y))]),
                int(self.fit_intercept),
                rows,
            )
            f = self.tuning.smallest / (mu + self.tuning.smallest)
            is_sound[index] = bool((rows.a0[0] + np.square(U) @ f).min() > NEARLY_REACHED)
            lams = self.tuning.choose(spectrum)[0]
            found[index, 0] = V @ (np.sqrt(mu)[:, None] / (mu[:, None] + lams) * gamma)
        return found, is_sound

    def _row_part(self, U: FloatArray, gamma: FloatArray, root: FloatArray, y: FloatArray) -> RowPart:
        """The rows of one training set in the directions of its columns."""
        weighted = root[:, None] * y
        free = np.square(root) / np.square(root).sum() if self.fit_intercept else 0.0
        a0 = 1.0 - np.square(U).sum(axis=1) - free
        return RowPart.of(U[None], a0[None], (weighted - U @ gamma)[None])

    def fit_rows(self, Z: FloatArray, y: FloatArray, root: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Coefficients (1, p, Q) and constants (1, Q) of one training set from its rows."""
        columns, middle = free_and_penalized(Z, root, self.fit_intercept)
        fit = spectrum_of_rows(columns, root[:, None] * y, smallest=self.tuning.smallest)
        a, b = fit.coefficients(self.tuning.choose(fit.spectrum)[0])
        return a[None], (b.sum(axis=0) - middle @ a)[None]
