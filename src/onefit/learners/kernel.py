"""Penalized least squares in the feature space of a kernel."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple, Self

import numpy as np
from scipy import linalg

from ..errors import DataError, OneFitWarning, RouteError, TrainingSetError
from ..linalg.columns import EPS, Columns, norms
from ..linalg.dual import Dual, dual_of
from ..linalg.reinsch import Reinsch, demmler_reinsch
from ..typing import FloatArray, IntArray
from .kernel_refits import fit_and_predict, leave_one_out
from .smoother import Smoother

__all__ = ["KernelSmoother", "too_small"]

KERNEL_DIGITS = 1e-8
"""How much of the held-out residuals rounding errors of a kernel matrix may move; the fuzzer finds ten times that."""

HOPELESS = 1e-7
"""The same of residuals that leave one row out, beyond which larger folds, which may be better known, are not tried."""

LARGEST = 1e300
"""Entries of a kernel matrix whose sums are still numbers, for up to some ten million rows."""

NONE = 1e3
"""Smallest eigenvalue to trust if none can be: they are at most one."""

MOST_REFITTED = 200
"""Rows up to which a kernel that its eigendecomposition does not know well enough is fitted to every training set."""


def too_small(lam: float) -> str:
    """What is wrong with a penalty, and what to do."""
    return (
        f"alpha={lam:.3g} is so small that rounding errors in the kernel matrix would decide the answer; use a larger "
        "alpha"
    )


class Sizes(NamedTuple):
    """Largest residuals (Q,), and largest times the roots of the weights: what rounding errors are held to."""

    own: FloatArray
    weighted: FloatArray

    @classmethod
    def of(cls, residuals: FloatArray, root: FloatArray) -> Sizes:
        """Of residuals (m, Q) in rows whose weights have these roots."""
        sizes = np.abs(residuals)
        return cls(sizes.max(axis=0), (root[:, None] * sizes).max(axis=0))

    def exceed(self, errors: FloatArray, root: FloatArray, part: float) -> bool:
        """Whether errors in such rows are at most this part of them."""
        largest = Sizes.of(errors, root)
        return bool(((largest.own <= part * self.own) & (largest.weighted <= part * self.weighted)).all())


class KernelSmoother(Smoother):
    """``(K + lam W^-1)^-1 y`` for a kernel matrix K: a fit in its feature space, without an intercept."""

    has_unit = False
    remedy = 'Or use route="refit", where the estimator\'s own answer stands.'

    def __init__(self, K: FloatArray, lams: FloatArray, y: FloatArray, weights: FloatArray | None = None) -> None:
        super().__init__(lams, weights)
        if (lams <= 0).all():
            raise RouteError(too_small(0.0))
        if 8 * K.size > 2**30:
            warnings.warn(
                f"A kernel model of {len(K)} rows holds some matrices of {len(K)} x {len(K)}, {8 * K.size / 2**30:.1f} "
                "GB each, and needs time with the cube of the rows.",
                OneFitWarning,
                stacklevel=6,
            )
        scale = float(np.abs(K).max(initial=0.0))
        if not scale < LARGEST:
            raise RouteError(f"the kernel matrix has values of {scale:.3g}, whose sums may not be numbers; rescale X")
        if K.shape[0] != K.shape[1] or np.abs(K - K.T).max(initial=0.0) > 1e-10 * scale:
            raise DataError(f"The kernel matrix, of shape {K.shape}, is not square and symmetric.")
        self.K = (K + K.T) / 2
        e, U = linalg.eigh(self.K)
        if e[0] < -1e-8 * scale * len(e):
            raise RouteError(
                f"The kernel is not positive semi-definite (smallest eigenvalue {e[0]:.3g}), so the fit is not a "
                'penalized regression. Use route="refit".'
            )
        self._own = Dual(U, np.where(e > len(e) * EPS * e[-1], e, 0.0))
        self._noise = EPS * max(e[-1], 0.0)
        self._sizes: dict[tuple[float, bytes], Sizes | None] = {}
        self._refused = self._drowned(y)
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

    def _drowned(self, y: FloatArray) -> dict[int, str]:
        """Values at which rounding errors of the kernel matrix would move even the residuals that leave one row out."""
        refused = dict[int, str]()
        for outputs, path in self.outputs(y.shape[1]):
            for value, lam in enumerate(map(float, path)):
                if lam <= 0 or not self._is_determined(y[:, outputs], lam):
                    refused.setdefault(value, too_small(lam))
        return refused

    def _is_determined(self, y: FloatArray, lam: float) -> bool:
        """Whether single rows can be left out, by the decomposition or, of a few rows, by the entries themselves.

        A single model is for the refit route if they cannot; of several values each training set is tried.
        """
        leverage = 1.0 - lam * (np.square(self.dual.F) @ (1.0 / (self.dual.e + lam)))
        if self.least_trusted(y, lam) < 1.0 - np.median(leverage):
            return True
        return len(self.fitted_rows) <= MOST_REFITTED and (self.n_values > 1 or self._left_out(y, lam) is not None)

    @np.errstate(over="ignore", divide="ignore", invalid="ignore")  # what is too large for numbers is not trusted
    def least_trusted(self, y: FloatArray, lam: float) -> float:
        """Smallest eigenvalue of ``A_JJ`` with which the rows J can be deleted; `NONE` if they cannot.

        An error D of K moves the residuals of J by ``A_JJ^-1 A_J: D alpha`` with the dual coefficients alpha of the
        fit without J. The rows of the first factor are no longer than ``eigenvalue^(-1/2)``, and alpha than
        ``(y'Qy / lam)^(1/2)``, whatever J is.
        """
        rows = self.fitted_rows
        F, e, root = self.dual.F, self.dual.e, self.root_weights(rows)[:, None]
        projected = F.T @ (root * y[rows])
        within = 1.0 / (e + lam)[:, None]
        weighted = (F @ (projected * within)) / (np.square(F) @ within)  # residuals that leave one row out
        length = np.sqrt((np.square(projected) * within).sum(axis=0) / lam)
        heaviest = root.max(initial=0.0)
        noise = max(EPS * e.max(initial=0.0), np.square(heaviest) * self._noise)
        size, own_size = np.sqrt(np.square(weighted).mean(axis=0)), np.sqrt(np.square(weighted / root).mean(axis=0))
        lost = noise * length / np.sqrt(len(rows)) / KERNEL_DIGITS
        least = np.square(lost / np.minimum(size, root.min() * own_size))
        if len(rows) < self.n:  # predictions of the others are made of columns, in the units of all rows
            farthest = np.delete(np.diag(self.K), rows).max()
            reach = noise * np.sqrt(max(farthest, 0.0) / (4 * lam)) + self._noise * heaviest
            is_lost = reach * length / np.sqrt(len(rows)) > KERNEL_DIGITS * own_size
            least = np.where(is_lost, np.inf, least)
        most = float(np.where(length > 0, least, 0.0).max(initial=0.0))
        return most if most < 1.0 else NONE

    @np.errstate(over="ignore", divide="ignore", invalid="ignore")
    def predict(self, rows: IntArray, y: FloatArray, lam: float, new: IntArray) -> FloatArray:
        """From the kernel of these rows alone, or an error if its rounding errors would decide."""
        error = TrainingSetError(too_small(lam))
        error.lam = lam
        try:
            found = fit_and_predict(self.K, self.weights, rows, y, lam, new)
        except linalg.LinAlgError:
            raise error from None
        sizes = Sizes.of(y[new] - found.values, self.root_weights(new))
        if left_out := self._left_out(y, lam):
            sizes = Sizes(*map(np.maximum, sizes, left_out))
        if not sizes.exceed(found.errors, self.root_weights(new), KERNEL_DIGITS):
            raise error
        return found.values

    def _left_out(self, y: FloatArray, lam: float) -> Sizes | None:
        """Sizes of the residuals that leave one row out; None if rounding errors of the entries would decide them."""
        key = lam, y.tobytes()
        if key not in self._sizes:
            self._sizes[key] = self._size_left_out(y, lam)
        return self._sizes[key]

    @np.errstate(over="ignore", divide="ignore", invalid="ignore")
    def _size_left_out(self, y: FloatArray, lam: float) -> Sizes | None:
        try:
            left = leave_one_out(self.K, self.weights, self.fitted_rows, y, lam)
        except linalg.LinAlgError:
            return None
        root = self.root_weights(self.fitted_rows)
        sizes = Sizes.of(left.values, root)
        return sizes if sizes.exceed(left.errors, root, HOPELESS) else None

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
