"""Linear smoothers: penalized least squares in a design, or in the feature space of a kernel."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from functools import cached_property

import numpy as np
from scipy import linalg

from ..errors import DataError, RouteError, TrainingSetError
from ..linalg.columns import Columns, columns_of, norms
from ..linalg.dual import Dual, dual_of
from ..typing import FloatArray, IntArray

__all__ = ["DesignSmoother", "KernelSmoother", "Smoother"]


class Smoother(ABC):
    """A fit that is linear in y, on a path of penalties.

    Parameters
    ----------
    lams : array (V, 1) or (V, Q)
        The penalty of each parameter value, one for all outputs or one for each.
    """

    def __init__(self, lams: FloatArray) -> None:
        self.lams = lams

    @property
    def n_values(self) -> int:
        """Number of parameter values V."""
        return int(self.lams.shape[0])

    @property
    @abstractmethod
    def n(self) -> int:
        """Number of rows."""

    @property
    @abstractmethod
    def width(self) -> int:
        """Size of the systems that the gram route solves."""

    @cached_property
    @abstractmethod
    def columns(self) -> Columns:
        """The design as penalized and free columns."""

    @cached_property
    @abstractmethod
    def dual(self) -> Dual:
        """The residual operator in dual form."""

    @property
    @abstractmethod
    def wants_dual(self) -> bool:
        """Whether the dual form is the accurate one: as many columns as rows."""

    @property
    @abstractmethod
    def n_free(self) -> int:
        """Number of columns without a penalty, at a positive value."""

    def outputs(self, n_outputs: int) -> Iterator[tuple[IntArray, FloatArray]]:
        """Outputs that share their penalties, with the (V,) penalties."""
        if self.lams.shape[1] == 1:
            yield np.arange(n_outputs), self.lams[:, 0]
            return
        distinct, inverse = np.unique(self.lams, axis=1, return_inverse=True)
        for group in range(distinct.shape[1]):
            yield np.flatnonzero(inverse.ravel() == group), distinct[:, group]

    def check_fits(self, smallest_training_set: int) -> None:
        """Raise if no training set of this size can determine the fit, or if not even all rows do."""
        for lam, needed in ((0.0, self.width), (1.0, self.n_free)):
            if not ((self.lams > 0) == (lam > 0)).any():
                continue
            without = "unpenalized " if lam else ""
            if smallest_training_set < needed:
                raise TrainingSetError(
                    f"The smallest training set, with two folds out, has {smallest_training_set} rows for {needed} "
                    f"{without}columns (the intercept among them, if there is one), so the fit is not unique. "
                    'Use more folds, fewer columns or a penalty; or route="refit", where the estimator\'s own '
                    "(minimum-norm) answer stands."
                )
            lost = self.columns.at(lam).dependent()
            if lost:
                raise TrainingSetError(
                    f"{lost} of the {needed} {without}columns are linear combinations of the others (the intercept "
                    "counts as a column of ones), so the fit is not unique. Drop them or use a penalty; or "
                    'route="refit", where the estimator\'s own (minimum-norm) answer stands.'
                )


class DesignSmoother(Smoother):
    """``min ||y - c - X b||^2 + lam b'Sb``; S None is the identity."""

    def __init__(self, X: FloatArray, penalty: FloatArray | None, fit_intercept: bool, lams: FloatArray) -> None:
        super().__init__(lams)
        self.X = X
        self._full = columns_of(X, penalty, fit_intercept)

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.X.shape[0])

    @property
    def width(self) -> int:
        """Columns after the rotation that leaves at most n penalized ones."""
        full = self._full
        return int(full.N.shape[1] + (min(full.E.shape) if (self.lams > 0).all() else full.E.shape[1]))

    @property
    def n_free(self) -> int:
        """Number of columns without a penalty, at a positive value."""
        return int(self._full.N.shape[1])

    @cached_property
    def columns(self) -> Columns:
        """The design, narrowed to at most n penalized columns if all values are penalized."""
        return self._full.narrow() if (self.lams > 0).all() else self._full

    @cached_property
    def dual(self) -> Dual:
        """The residual operator in dual form."""
        return dual_of(self.columns)

    @property
    def wants_dual(self) -> bool:
        """As many columns as rows, and all of them identified by the penalty."""
        return bool((self.lams > 0).all()) and self._full.width >= self.n


class KernelSmoother(Smoother):
    """``(K + lam I)^-1 y`` for a kernel matrix K: a fit in its feature space, without an intercept."""

    def __init__(self, K: FloatArray, lams: FloatArray) -> None:
        super().__init__(lams)
        if (lams <= 0).any():
            raise RouteError(
                "A kernel model with alpha=0 interpolates, and small errors in the kernel decide its answer. Use a "
                'positive alpha, or route="refit".'
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
        self._dual = Dual(U, np.maximum(e, 0.0))

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self._dual.F.shape[0])

    @property
    def width(self) -> int:
        """A kernel may have as many features as rows."""
        return self.n

    @property
    def n_free(self) -> int:
        """Nothing is free of the penalty."""
        return 0

    @cached_property
    def columns(self) -> Columns:
        """Features with the kernel as their inner products."""
        E = self._dual.F * np.sqrt(self._dual.e)
        return Columns(E, np.zeros((self.n, 0)), norms(E), np.zeros(0))

    @cached_property
    def dual(self) -> Dual:
        """The residual operator in dual form."""
        return self._dual

    @property
    def wants_dual(self) -> bool:
        """Always."""
        return True
