"""Linear smoothers: penalized least squares in a design, or in the feature space of a kernel."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from scipy import linalg, sparse

from ..errors import DataError, OneFitWarning, RouteError, TrainingSetError
from ..linalg.columns import EPS, MOST_SPAN, Columns, Penalty, columns_of, norms
from ..linalg.dual import Dual, dual_of
from ..linalg.reinsch import Reinsch, demmler_reinsch, spans
from ..linalg.sparse import sparse_reinsch
from ..linalg.weights import MOST_RATIO, is_light, weight_ratio
from ..typing import FloatArray, IntArray

__all__ = ["DesignSmoother", "KernelSmoother", "Smoother", "SparseSmoother"]

MOST_RATIO_OF_PENALTIES = 1e16
"""Largest ratio of penalties that share a decomposition in the middle between them: its fourth root is lost."""

KERNEL_DIGITS = 1e-8
"""How much of the held-out residuals rounding errors of a kernel matrix may move; the fuzzer finds ten times that."""

NOT_UNIQUE = (
    'so the fit is not unique. Drop such columns or use a penalty; or use route="refit", where the estimator\'s own '
    "(minimum-norm) answer stands."
)


class Smoother(ABC):
    """A fit that is linear in y, on a path of penalties.

    Parameters
    ----------
    lams : array (V, 1) or (V, Q)
        The penalty of each parameter value, one for all outputs or one for each.
    weights : array (n,) or None
        Weights of the rows in the fits.
    fit_intercept : bool
        Whether a constant is among the free columns.
    """

    def __init__(self, lams: FloatArray, weights: FloatArray | None, fit_intercept: bool = False) -> None:
        self.lams, self.fit_intercept, self.weights = lams, fit_intercept, weights
        if weights is not None and (ratio := weight_ratio(weights)) > MOST_RATIO:
            raise RouteError(
                f"the largest sample_weight is {ratio:.2g} times the smallest that is not zero, and beyond "
                f"{MOST_RATIO:.0e} the rounding errors of some rows would be all that is seen of others; set such "
                "weights to zero, or bring them closer"
            )

    def centre(self, y: FloatArray) -> FloatArray:
        """Y without its mean if an intercept absorbs it: residuals stay the same, and keep more digits."""
        return y - y[self.heavy].mean(axis=0) if self.fit_intercept else y

    @property
    def n_values(self) -> int:
        """Number of parameter values V."""
        return int(self.lams.shape[0])

    @property
    def heavy(self) -> IntArray:
        """Rows with a positive weight: those that a fit sees."""
        return np.arange(self.n) if self.weights is None else self._heavy_of

    @cached_property
    def _heavy_of(self) -> IntArray:
        assert self.weights is not None
        return np.flatnonzero(self.weights > 0)

    @property
    @abstractmethod
    def n(self) -> int:
        """Number of rows."""

    @property
    @abstractmethod
    def width(self) -> int:
        """Size of the systems that the gram route solves."""

    @property
    @abstractmethod
    def n_free(self) -> int:
        """Number of columns without a penalty, at a positive value."""

    @property
    def wants_dual(self) -> bool:
        """Whether the dual form is the accurate one: as many columns as rows."""
        return False

    @property
    def why_not_onestep(self) -> str:
        """Why the one-step route cannot serve; empty if it can."""
        return ""

    @abstractmethod
    def take(self, rows: IntArray) -> Columns:
        """The design in some rows, without the weights."""

    def decomposed(self) -> Columns:
        """The design of all rows as `reinsch` decomposes it at positive values."""
        return self.take(np.arange(self.n)).narrow()

    @abstractmethod
    def reinsch(self, lams: Sequence[float]) -> Reinsch:
        """Demmler-Reinsch basis for values that are all positive, or all zero."""

    def spans(self, lams: FloatArray) -> list[IntArray]:
        """Values that share a basis: its error at a value grows with a root of the ratio to their middle."""
        return spans(lams, MOST_RATIO_OF_PENALTIES)

    @cached_property
    def dual(self) -> Dual:
        """The residual operator of the heavy rows, times the roots of their weights, in dual form."""
        raise NotImplementedError

    def outputs(self, n_outputs: int) -> Iterator[tuple[IntArray, FloatArray]]:
        """Outputs that share their penalties, with the (V,) penalties."""
        if self.lams.shape[1] == 1:
            yield np.arange(n_outputs), self.lams[:, 0]
            return
        distinct, inverse = np.unique(self.lams, axis=1, return_inverse=True)
        for group in range(distinct.shape[1]):
            yield np.flatnonzero(inverse.ravel() == group), distinct[:, group]

    def root_weights(self, rows: IntArray) -> FloatArray:
        """Roots of the weights of some rows."""
        return np.ones(len(rows)) if self.weights is None else np.sqrt(self.weights[rows])

    def _check_span(self, size: FloatArray) -> None:
        """Refuse columns of sizes so different that no method keeps the digits of all of them."""
        felt = size[size > 1e-10 * np.sqrt(self.lams.min())]  # others are held at zero by the penalty
        if size.max(initial=0.0) > MOST_SPAN * felt.min(initial=np.inf):
            raise RouteError(
                f"the sizes of the columns span a ratio of {size.max() / felt.min():.1g}, beyond all digits; scale the "
                "columns"
            )

    def check_fits(self, smallest_training_set: int) -> None:
        """Raise if no training set of this size can determine the fit, or if not even all rows do."""
        for lam, needed in ((0.0, self.width), (1.0, self.n_free)):
            if not ((self.lams > 0) == (lam > 0)).any():
                continue
            kind = "unpenalized columns" if lam else "columns"
            message = ""
            if smallest_training_set < needed:
                message = (
                    f"The smallest training set, with two folds out, has {smallest_training_set} rows for {needed} "
                    f"{kind} (the intercept among them, if there is one), {NOT_UNIQUE}"
                )
            elif lost := self.count_lost(lam):
                message = (
                    f"{lost} of the {needed} {kind} are linear combinations of the others (the intercept counts as a "
                    f"column of ones), {NOT_UNIQUE}"
                )
            if message:
                error = TrainingSetError(message)
                error.lam = None if lam else 0.0
                raise error

    @abstractmethod
    def count_lost(self, lam: float) -> int:
        """How many free columns depend on the others in the heavy rows."""


class DesignSmoother(Smoother):
    """``min sum w (y - c - X b)^2 + lam b'Sb``; S None is the identity."""

    def __init__(
        self,
        X: FloatArray,
        penalty: Penalty | FloatArray | None,
        fit_intercept: bool,
        lams: FloatArray,
        weights: FloatArray | None = None,
    ) -> None:
        super().__init__(lams, weights, fit_intercept)
        # a training set may lack what other rows have of a column, so it is refitted to columns that are not mixed
        self._unmixed = columns_of(X, penalty, fit_intercept, None if self.weights is None else self._heavy_of)
        self._columns = self._unmixed
        self._check_span(norms(X if self.weights is None else X[self._heavy_of]))
        if self._all_penalized:
            self._columns = self._columns.full_rank(float(lams.min()), self.heavy)

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self._columns.E.shape[0])

    @property
    def _all_penalized(self) -> bool:
        return bool((self.lams > 0).all())

    @property
    def width(self) -> int:
        """Columns after the rotation that leaves at most n penalized ones."""
        columns = self._columns
        return int(columns.N.shape[1] + (min(columns.E.shape) if self._all_penalized else columns.E.shape[1]))

    @property
    def n_free(self) -> int:
        """Number of columns without a penalty, at a positive value."""
        return int(self._columns.N.shape[1])

    def count_lost(self, lam: float) -> int:
        """How many free columns depend on the others in the heavy rows."""
        columns = self._unmixed.free() if lam > 0 else self._unmixed
        return columns.rows(self.heavy).weighted(self.root_weights(self.heavy)).at(lam).dependent()

    @cached_property
    def _narrow(self) -> Columns:
        return self._columns.narrow()

    def take(self, rows: IntArray) -> Columns:
        """The design in some rows, without the weights."""
        return self._unmixed.rows(rows)

    def decomposed(self) -> Columns:
        """The design of all rows, in the directions that some row sees."""
        return self._narrow

    def reinsch(self, lams: Sequence[float]) -> Reinsch:
        """Demmler-Reinsch basis, of at most n penalized columns."""
        columns = self._narrow if min(lams) > 0 else self._columns.at(0.0)
        return demmler_reinsch(columns, lams, self.weights)

    @cached_property
    def dual(self) -> Dual:
        """The residual operator of the heavy rows in dual form."""
        rows = self.heavy
        return dual_of(self._columns.rows(rows).weighted(self.root_weights(rows)))

    @property
    def wants_dual(self) -> bool:
        """As many columns as rows, and all of them identified by the penalty."""
        return self._all_penalized and self._columns.width >= len(self.heavy)


class SparseSmoother(Smoother):
    """Ridge or least squares in a sparse design, which stays sparse."""

    def __init__(self, X: Any, fit_intercept: bool, lams: FloatArray, weights: FloatArray | None = None) -> None:
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
        if self.weights is not None and is_light(self.weights[self.heavy]).any():
            return False  # the squares of their roots are lost in sums
        try:
            for _, lams in self.outputs(self.lams.shape[1]):
                for values in self.spans(lams):
                    self.reinsch(list(lams[values]))
        except TrainingSetError:
            return False
        return True

    def spans(self, lams: FloatArray) -> list[IntArray]:
        """Values that share a basis: fewer, as Gram matrices have half of the digits."""
        return spans(lams, np.sqrt(MOST_RATIO_OF_PENALTIES))

    def count_lost(self, lam: float) -> int:
        """None: `is_accurate` has said so."""
        return 0


class KernelSmoother(Smoother):
    """``(K + lam W^-1)^-1 y`` for a kernel matrix K: a fit in its feature space, without an intercept."""

    def _refuse(self, lam: float) -> None:
        """A value of a path is at fault by itself; a single model is for the refit route."""
        reason = f"alpha={lam:.3g} is so small that rounding errors in the kernel matrix would decide the answer"
        if self.n_values == 1:
            raise RouteError(f"{reason}; use a larger alpha")
        error = TrainingSetError(f"{reason}; use a larger alpha.")
        error.lam = lam
        raise error

    def __init__(self, K: FloatArray, lams: FloatArray, y: FloatArray, weights: FloatArray | None = None) -> None:
        super().__init__(lams, weights)
        if (lams <= 0).any():
            self._refuse(0.0)
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
        for outputs, path in self.outputs(y.shape[1]):
            self._check_noise(y[:, outputs], path, EPS * e[-1])

    def _check_noise(self, y: FloatArray, lams: FloatArray, noise: float) -> None:
        """Refuse a penalty so small that rounding errors in the kernel matrix would move the held-out residuals.

        An error D of K moves predictions by about ``D alpha`` with the dual coefficients ``alpha = Qy``; the residuals
        that leave one row out are ``alpha_i / Q_ii``.
        """
        F, e, root = self.dual.F, self.dual.e, self.root_weights(self.heavy)[:, None]
        projected, squares = F.T @ (root * y[self.heavy]), np.square(F)
        for lam in np.unique(lams):
            alpha = F @ (projected / (e + lam)[:, None])
            residuals = alpha / (root * (squares @ (1.0 / (e + lam)))[:, None])
            lost = noise * norms(root * alpha) * np.sqrt(len(root))
            if (lost > KERNEL_DIGITS * norms(residuals)).any():
                self._refuse(float(lam))

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
        """The residual operator of the heavy rows in dual form."""
        if self.weights is None:
            return self._own
        rows = self.heavy
        return dual_of(self._columns.rows(rows).weighted(self.root_weights(rows)))

    @property
    def wants_dual(self) -> bool:
        """Always."""
        return True
