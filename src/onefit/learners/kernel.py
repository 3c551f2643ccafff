"""Penalized least squares in the feature space of a kernel."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import cached_property
from typing import Self

import numpy as np
from scipy import linalg

from ..errors import DataError, OneFitWarning, RouteError, TrainingSetError
from ..linalg.columns import EPS, Columns, norms
from ..linalg.dual import Dual, dual_of
from ..linalg.reinsch import Reinsch, demmler_reinsch
from ..typing import FloatArray, IntArray
from .smoother import Smoother

__all__ = ["KernelSmoother"]

KERNEL_DIGITS = 1e-8
"""How much of the held-out residuals rounding errors of a kernel matrix may move; the fuzzer finds ten times that."""


def _too_small(lam: float) -> str:
    return (
        f"alpha={lam:.3g} is so small that rounding errors in the kernel matrix would decide the answer; use a larger "
        "alpha"
    )


class KernelSmoother(Smoother):
    """``(K + lam W^-1)^-1 y`` for a kernel matrix K: a fit in its feature space, without an intercept."""

    has_unit = False

    def __init__(self, K: FloatArray, lams: FloatArray, y: FloatArray, weights: FloatArray | None = None) -> None:
        super().__init__(lams, weights)
        if (lams <= 0).all():
            raise RouteError(_too_small(0.0))
        if 8 * K.size > 2**30:
            warnings.warn(
                f"A kernel model of {len(K)} rows holds some matrices of {len(K)} x {len(K)}, {8 * K.size / 2**30:.1f} "
                "GB each, and needs time with the cube of the rows.",
                OneFitWarning,
                stacklevel=6,
            )
        scale = np.abs(K).max(initial=0.0)
        if K.shape[0] != K.shape[1] or np.abs(K - K.T).max(initial=0.0) > 1e-10 * scale:
            raise DataError(f"The kernel matrix, of shape {K.shape}, is not square and symmetric.")
        e, U = linalg.eigh((K + K.T) / 2)
        if e[0] < -1e-8 * scale * len(e):
            raise RouteError(
                f"The kernel is not positive semi-definite (smallest eigenvalue {e[0]:.3g}), so the fit is not a "
                'penalized regression. Use route="refit".'
            )
        self._own = Dual(U, np.where(e > len(e) * EPS * e[-1], e, 0.0))
        self._refused = self._drowned(y, EPS * e[-1])
        if self._refused and self.n_values == 1:
            raise RouteError(self._refused[0])  # a single model is for the refit route

    def at(self, values: Sequence[int]) -> Self:
        """The same smoother at some of its values, given by their places."""
        other = super().at(values)
        other._refused = {at: self._refused[value] for at, value in enumerate(values) if value in self._refused}
        return other

    def check_fits(self, smallest_training_set: int) -> dict[int, str]:
        """Say at which values rounding errors in the kernel matrix would decide the answer; raise if at all."""
        if len(self._refused) == self.n_values:
            raise TrainingSetError(f"{self._refused[0]}.")
        return {value: f"{reason}." for value, reason in self._refused.items()}

    def _drowned(self, y: FloatArray, noise: float) -> dict[int, str]:
        """Values at which rounding errors ``noise`` in the kernel matrix would move the held-out residuals.

        An error D of K moves predictions by about ``D alpha`` with the dual coefficients ``alpha = Qy``; the residuals
        that leave one row out are ``alpha_i / Q_ii``.
        """
        F, e, root = self.dual.F, self.dual.e, self.root_weights(self.fitted_rows)[:, None]
        squares, refused = np.square(F), dict[int, str]()
        for outputs, path in self.outputs(y.shape[1]):
            projected = F.T @ (root * y[self.fitted_rows][:, outputs])
            for value, lam in enumerate(map(float, path)):
                if lam > 0:
                    alpha = F @ (projected / (e + lam)[:, None])
                    residuals = alpha / (root * (squares @ (1.0 / (e + lam)))[:, None])
                    lost = noise * norms(root * alpha) * np.sqrt(len(root))
                if lam <= 0 or (lost > KERNEL_DIGITS * norms(residuals)).any():
                    refused.setdefault(value, _too_small(lam))
        return refused

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self._own.F.shape[0])

    @property
    def width(self) -> int:
        """A kernel may have as many features as rows."""
        return self.n

    @property
    def n_free(self) -> int:
        """Nothing is free of the penalty."""
        return 0

    @cached_property
    def _columns(self) -> Columns:
        """Features with the kernel as their inner products."""
        seen = self._own.e > 0
        E = self._own.F[:, seen] * np.sqrt(self._own.e[seen])
        return Columns(E, np.zeros((self.n, 0)), norms(E), np.zeros(0))

    def count_lost(self, lam: float) -> int:
        """None is free, so none can be lost."""
        return 0

    def take(self, rows: IntArray) -> Columns:
        """Features of some rows."""
        return self._columns.rows(rows)

    def reinsch(self, lams: Sequence[float]) -> Reinsch:
        """Demmler-Reinsch basis of the features."""
        return demmler_reinsch(self._columns, lams, self.weights)

    @cached_property
    def dual(self) -> Dual:
        """The residual operator of the rows that a fit sees in dual form."""
        if self.weights is None:
            return self._own
        rows = self.fitted_rows
        return dual_of(self._columns.rows(rows).weighted(self.root_weights(rows)))

    @property
    def wants_dual(self) -> bool:
        """Always."""
        return True
