"""Penalized least squares in the columns of a design."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property

import numpy as np

from ..criteria import AllRows, criteria_of_all_rows
from ..linalg.columns import ColumnMap, Columns, Penalty, Shift, are_held_at_zero, column_map, norms
from ..linalg.dual import Dual, dual_of
from ..linalg.refined import ExactRows
from ..linalg.reinsch import Reinsch, demmler_reinsch
from ..linalg.tall import is_far_from_singular
from ..typing import FloatArray, IntArray
from ..vocabulary import CRITERIA
from .contract import Scores
from .smoother import Smoother

__all__ = ["DesignSmoother"]

MANY_ROWS = 50
"""Rows a column from which it hardly matters how many columns there are, and would take long to find out."""


class DesignSmoother(Smoother):
    """``min sum w (y - c - X b)^2 + lam b'Sb``; S None is the identity.

    Parameters
    ----------
    X : array (n, p)
    penalty : Penalty, matrix S (p, p) or None
    fit_intercept : bool
    lams : array (V, 1) or (V, Q)
        The penalty of each parameter value, one for all outputs or one for each.
    weights : array (n,) or None
    is_ridge : bool, default=False
        Whether X are the columns as the estimator got them and S is the identity: a scaler before the estimator is
        then a change of S.

    Attributes
    ----------
    all_rows : AllRows or None
        What a route has found out that went over all rows.
    """

    def __init__(
        self,
        X: FloatArray,
        penalty: Penalty | FloatArray | None,
        fit_intercept: bool,
        lams: FloatArray,
        weights: FloatArray | None = None,
        is_ridge: bool = False,
    ) -> None:
        super().__init__(lams, weights, fit_intercept)
        self.all_rows: AllRows | None = None
        # a training set may lack what other rows have of a column, so it is refitted to columns that are not mixed
        seen = None if self.weights is None else self._weighted_rows
        self._X, self._penalty, self._map = X, penalty, column_map(X, penalty, fit_intercept, seen)
        self.is_ridge = is_ridge
        self._leave_out_what_is_held()
        size = norms(X if seen is None else X[seen]) if self._map.mixes else self._map.E_size
        self._check_span(size, self._map.mixes)

    def _leave_out_what_is_held(self) -> None:
        """Columns that the penalty holds at zero are so many directions less in which rounding errors are fitted."""
        if self._map.mixes or not self._all_penalized:
            return
        size = self._map.E_size if self.weights is None else norms(self._X)
        held = (size > 0) & are_held_at_zero(size, float(self.lams.min()))
        if held.any():
            self._map = replace(self._map, unseen=held if self._map.unseen is None else held | self._map.unseen)

    @property
    def column_map(self) -> ColumnMap:
        """How rows of X become rows of the design: of these rows, and of any others, which may have more columns."""
        return replace(self._map, unseen=None)

    def is_made_of(self, X: FloatArray) -> bool:
        """Whether its design is made of these columns and nothing else."""
        return self._X is X or np.array_equal(self._X, X)

    @cached_property
    def _unmixed(self) -> Columns:
        """All rows."""
        return self._map.of(self._X)

    @cached_property
    def _columns(self) -> Columns:
        """In directions that some row sees, if a penalty holds the others."""
        if not self._all_penalized:
            return self._unmixed
        return self._unmixed.full_rank(float(self.lams.min()), self.fitted_rows)

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self._X)

    @property
    def _all_penalized(self) -> bool:
        return bool((self.lams > 0).all())

    @property
    def width(self) -> int:
        """Columns after the rotation that leaves at most n penalized ones; of many rows, without looking for it."""
        if self.n > MANY_ROWS * (r := len(self._map.E_size)):
            return r + self.n_free
        columns = self._columns
        return int(columns.N.shape[1] + (min(columns.E.shape) if self._all_penalized else columns.E.shape[1]))

    @property
    def n_columns(self) -> int:
        """Penalized and free columns, as `block` has them."""
        return len(self._map.E_size) + len(self._map.N_size)

    @property
    def n_free(self) -> int:
        """Number of columns without a penalty, at a positive value."""
        return len(self._map.N_size)

    def count_lost(self, lam: float) -> int:
        """How many free columns depend on the others in the rows that a fit sees."""
        if lam > 0 and not self._map.maps.free.shape[1]:
            return 0  # the constant, or nothing
        if lam == 0 and self.weights is None and self._is_far_from_singular():
            return 0
        columns = self._unmixed.free() if lam > 0 else self._unmixed
        return columns.rows(self.fitted_rows).weighted(self.root_weights(self.fitted_rows)).at(lam).dependent()

    def criteria(self, y: FloatArray) -> Scores:
        """Those of the fit on all rows; where a route has gone over very many of them, without decomposing them."""
        if self.all_rows is not None:
            arguments = (self.all_rows, self.block, self.centre(y), self.weights, self.lams[:, 0], CRITERIA)
            found = criteria_of_all_rows(*arguments)
            if found is not None:
                degrees, tables = found
                return Scores(tables, np.repeat(degrees[:, None], y.shape[1], axis=1))
        return super().criteria(y)

    @cached_property
    def _narrow(self) -> Columns:
        return self._columns.narrow()

    def take(self, rows: IntArray) -> Columns:
        """The design in some rows, without the weights."""
        return self.block(rows) if "_unmixed" not in self.__dict__ else self._unmixed.rows(rows)

    def block(self, rows: IntArray | slice) -> Columns:
        """The same, also in consecutive rows; nothing is made of all rows."""
        return self._map.of(self._X[rows])

    def predict(self, rows: IntArray, y: FloatArray, lam: float, new: IntArray) -> FloatArray:
        """Predictions at ``new`` rows of a fit to some that count, by QR, in mixtures of columns of their own.

        Mixtures are made so that the largest columns are in few of them. Where those are zero in the rows of the fit,
        all of them would have the rounding errors of the next largest.
        """
        if not self._map.mixes:
            return super().predict(rows, y, lam, new)
        own = copy(self)
        own.__dict__.pop("_unmixed", None)
        own._map = column_map(self._X, self._penalty, self.fit_intercept, rows)
        return super(DesignSmoother, own).predict(rows, y, lam, new)

    def exact_rows(self, shift: Shift | None) -> Callable[[IntArray], ExactRows]:
        """How rows are had to all digits of the data, less a shift."""
        return lambda rows: ExactRows.of(self._X[rows], self._map.centre, self._map.maps, shift)

    def data_and_maps(self) -> tuple[FloatArray, Penalty]:
        """The data, and how penalized and free columns are made of them."""
        return self._X, self._map.maps

    def _is_far_from_singular(self) -> bool:
        """Whether the columns surely do not depend on each other in all rows."""
        sizes = np.hstack([self._map.E_size, self._map.N_size])

        def rows(some: slice) -> FloatArray:
            columns = self.block(some)
            return np.hstack([columns.E, columns.N])

        return is_far_from_singular(rows, self.n, len(sizes), sizes)

    def decomposed(self) -> Columns:
        """The design of all rows, in the directions that some row sees."""
        return self._narrow

    def reinsch(self, lams: Sequence[float]) -> Reinsch:
        """Demmler-Reinsch basis, of at most n penalized columns."""
        columns = self._narrow if min(lams) > 0 else self._columns.at(0.0)
        return demmler_reinsch(columns, lams, self.weights)

    @cached_property
    def dual(self) -> Dual:
        """The residual operator of the rows that a fit sees in dual form."""
        rows = self.fitted_rows
        return dual_of(self._columns.rows(rows).weighted(self.root_weights(rows)))

    @property
    def wants_dual(self) -> bool:
        """As many columns as rows, and all of them identified by the penalty."""
        return self._all_penalized and self._columns.width >= len(self.fitted_rows)
