r"""Penalized least squares on all rows or on many training sets at once, diagonalized for every penalty.

Every penalized least squares problem ``min ||y - E a - N b||^2 + lam ||a||^2`` (rows times the roots of their
weights) has, once the free columns N are projected out of E, the singular value decomposition
``(I - P_N) E = U diag(mu)^(1/2) V'``. With ``gamma = U'y`` and the shrinkage ``f = lam / (mu + lam)``,

.. math::

    RSS = \rho + \sum f^2 \gamma^2, \quad RSS + lam \|a\|^2 = \rho + \sum f \gamma^2, \quad n - edf = \nu + \sum f,

where rho is what no column reaches of ``y'y``, and nu the dimension of that space. Residuals and the diagonal of
``I - H`` are ``r0 + U f gamma`` and ``a0 + U^2 f``. Sums of non-negative terms: nothing cancels near interpolation.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from ..typing import BoolArray, FloatArray

__all__ = ["NEARLY_REACHED", "NEAR_DEPENDENT", "NEAR_ROUNDING", "NEAR_UNEVEN", "RowPart", "Spectrum"]

NEAR_ROUNDING = 1e-8
"""Below this part of the largest, one minus a leverage has too few digits even from the rows themselves."""

NEAR_UNEVEN = 1e-6
"""The same for columns in very different units: directions of the small ones have fewer digits."""

NEAR_DEPENDENT = 1e-3
"""The same if such columns depend on each other: what a large one leaves of another is as large as a small column."""

REACHED = 1e-13
"""What one minus a leverage may be by rounding errors alone."""

NEARLY_REACHED = 1e-5
"""Below this a downdated one minus a leverage has too few digits."""


class Deleting(Protocol):
    """Residuals of rows from fits without them."""

    def residuals(self, rows: list[int], lams: FloatArray) -> dict[int, tuple[FloatArray, FloatArray]]:
        """Residual and its derivative in ``log lam``, (V, Q), of each row; of none without which there is no fit."""

    def output(self, one: slice) -> Deleting:
        """The same with some outputs only."""


@dataclass(frozen=True)
class RowPart:
    """What leave-one-out needs of the rows; rows that are not in a training set have U = r0 = 0 and a0 = 1.

    Attributes
    ----------
    U : (B, n, q)
    a0 : (B, n)
    r0 : (B, n, Q)
    deletions : fits without a row, if there is one problem only
    squares : (B, n, q) of U, or None: they are then made a part at a time
    near : what one minus a leverage is near its rounding errors from
    """

    U: FloatArray
    a0: FloatArray
    r0: FloatArray
    deletions: Deleting | None = None
    squares: FloatArray | None = None
    near: float = NEAR_ROUNDING

    @classmethod
    def of(cls, U: FloatArray, a0: FloatArray, r0: FloatArray, squares: FloatArray | None = None) -> RowPart:
        """The same without rounding errors in rows that the columns reach exactly.

        Such a row, the only one that sees a column, has a0 = r0 = 0, and its residual is a ratio of two numbers as
        small as the penalty.
        """
        is_reached = a0 <= REACHED
        return cls(U, np.where(is_reached, 0.0, a0), np.where(is_reached[..., None], 0.0, r0), squares=squares)

    def is_certain(self) -> BoolArray:
        """In which problems no row is so nearly reached that errors of downdating would be seen in it, (B,)."""
        certain: BoolArray = self.a0.min(axis=1) > NEARLY_REACHED
        return certain

    def left_out(
        self, some: slice, diagonal: FloatArray, f: FloatArray, lams: FloatArray
    ) -> Iterator[tuple[int, FloatArray, FloatArray]]:
        """Rows among ``some`` whose ``diagonal`` (1, V, m) is near its rounding errors, with `Deleting.residuals`."""
        if self.deletions is None:
            return
        errors = np.maximum(f[0].max(axis=0, initial=0.0), self.a0.max(initial=0.0))
        near = np.flatnonzero((diagonal[0] < self.near * errors[:, None]).any(axis=0))
        if not len(near):
            return
        for row, found in self.deletions.residuals((some.start + near).tolist(), lams[0]).items():
            yield row - some.start, *found


@dataclass(frozen=True)
class Spectrum:
    """B problems with q penalized directions and Q outputs, each diagonalized for every lam.

    Attributes
    ----------
    mu : (B, q) generalized eigenvalues of the Gram matrix against the penalty; zero for directions that no row sees
    gamma : (B, q, Q) projections of y
    rest : (B, Q) squared length of the part of y that no column reaches
    spare : (B,) dimension of that part, ``n - k - q``
    n : (B,) rows with a positive weight
    n_rows : (B,) all rows: scikit-learn's leave-one-out mean counts those without weight, too
    constant : (B,) part of REML that depends on neither lam nor y
    rows : RowPart or None
    """

    mu: FloatArray
    gamma: FloatArray
    rest: FloatArray
    spare: FloatArray
    n: FloatArray
    n_rows: FloatArray
    constant: FloatArray
    rows: RowPart | None = None

    @classmethod
    def of(
        cls,
        mu: FloatArray,
        gamma: FloatArray,
        rest: FloatArray,
        n: FloatArray,
        n_free: int,
        rows: RowPart | None = None,
    ) -> Spectrum:
        """Problems of n rows (B,) and ``n_free`` free columns, to choose a penalty by.

        What does not move a minimum is left out: the constant of REML, and rows without weight.
        """
        return cls(mu, gamma, rest, n - n_free - mu.shape[1], n, n, np.zeros(len(mu)), rows)

    def shrinkage(self, lams: FloatArray) -> FloatArray:
        """Factors f (B, q, V) at ``lams`` (B, V): one is a direction shrunk to nothing."""
        mu, lam = self.mu[:, :, None], lams[:, None, :]
        D = mu + lam
        seen: FloatArray = np.where(D > 0, lam / np.where(D > 0, D, 1.0), 1.0)
        return seen

    def part(self, some: slice, rows: RowPart) -> Spectrum:
        """Some of the problems, with their rows."""
        tables = {name: getattr(self, name)[some] for name in self.__dataclass_fields__ if name != "rows"}
        return Spectrum(**tables, rows=rows)

    def output(self, index: int) -> Spectrum:
        """The same problems with one output only."""
        return self.outputs(slice(index, index + 1))

    def outputs(self, one: slice) -> Spectrum:
        """The same problems with some outputs only."""
        rows = self.rows
        if rows is not None:
            deletions = None if rows.deletions is None else rows.deletions.output(one)
            rows = replace(rows, r0=rows.r0[..., one], deletions=deletions)
        return replace(self, gamma=self.gamma[..., one], rest=self.rest[..., one], rows=rows)
