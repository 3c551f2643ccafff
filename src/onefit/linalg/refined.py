"""Least squares solutions to the last digits of the data: iterative refinement in extended precision."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..typing import FloatArray
from .columns import EPS, Columns, Penalty, Shift, norms
from .reflections import Reflections

__all__ = ["MOST_ENTRIES", "ExactRows", "can_be_refined", "refine", "rounding_of_small"]

Extended = NDArray[np.longdouble]

MOST_STEPS = 10
SHRUNK = 1e-2
"""Steps that have become this much smaller are those of a refinement that converges."""

MOST_COLUMNS = 100
"""Columns that are refined however few the rows; beyond twice the rows it would take far longer than the fit."""

MOST_ENTRIES = 4_000_000
"""Entries of a design that are copied in extended precision, at sixteen bytes each."""


@dataclass(frozen=True)
class ExactRows:
    """Some rows of the columns E and N as operators, to the digits of the data X that they are made from.

    In double precision ``X penalized`` has the rounding errors of the largest columns of X, which may be larger than
    the smallest ones; these products are made from the right, in extended precision.
    """

    X: Extended
    maps: Penalty
    shift: Extended
    has_ones: bool

    @classmethod
    def of(cls, X: FloatArray, centre: FloatArray | None, maps: Penalty, shift: Shift | None) -> ExactRows:
        """Rows of X less the centre of all and the shift of a training set, as `Columns.moved` has them."""
        wide = X.astype(np.longdouble)
        if centre is not None:
            wide -= centre
        if shift is None:
            r = X.shape[1] if maps.penalized is None else maps.penalized.shape[1]
            moved = np.zeros(r + maps.free.shape[1], dtype=np.longdouble)
        else:
            moved = np.concatenate([each.astype(np.longdouble) for each in shift[0]])
            moved += np.concatenate(shift[1])
        return cls(wide, maps, moved, centre is not None)

    def times(self, coefficients: Extended) -> Extended:
        """``(E N) c`` for coefficients (r + k, Q)."""
        k = self.maps.free.shape[1]
        r = len(self.shift) - k
        a, b = coefficients[:r], coefficients[len(coefficients) - k :]
        of_data = (a if self.maps.penalized is None else self.maps.penalized @ a) + self.maps.free @ b
        product: Extended = self.X @ of_data - self.shift @ np.concatenate([a, b])
        return product + coefficients[r] if self.has_ones else product

    def transpose_times(self, rows: Extended) -> Extended:
        """``(E N)'c`` for rows (n, Q)."""
        of_data, total = self.X.T @ rows, rows.sum(axis=0)
        k = self.maps.free.shape[1]
        r = len(self.shift) - k
        penalized = of_data if self.maps.penalized is None else self.maps.penalized.T @ of_data
        ones = total[None] if self.has_ones else total[None][:0]
        free = self.maps.free.T @ of_data - np.multiply.outer(self.shift[r:], total)
        return np.concatenate([penalized - np.multiply.outer(self.shift[:r], total), ones, free])


def can_be_refined(columns: Columns) -> bool:
    """Whether the columns are so uneven that it may be needed, and neither time nor memory speak against it."""
    n, r = columns.E.shape
    has_digits = np.finfo(np.longdouble).eps < EPS
    is_small = r <= max(2 * n, MOST_COLUMNS) and n * r <= MOST_ENTRIES
    return bool(has_digits and n and is_small and columns.is_uneven)


def rounding_of_small(columns: Columns, lam: float) -> float:
    """Rounding errors of the largest columns, relative to the smallest that are not small beside the penalty."""
    size = norms(columns.E)
    least = max(float(size[size > 0].min(initial=np.inf)), float(np.sqrt(lam)))
    return float(EPS * size.max(initial=0.0) / least)


def refine(
    exact: ExactRows, root: FloatArray, columns: Columns, y: FloatArray, lam: float, start: FloatArray
) -> tuple[Extended, bool]:
    """Coefficients (r + k, Q) of ``min ||y - E a - N b||^2 + lam ||a||^2`` from those of a fit in double precision.

    Returns them, and whether they are any better than the start.

    ``exact`` are the rows of ``columns`` and y without their factors ``root``. The residuals of the normal equations
    and of the rows, with the penalty's below them, are both unknowns, ``[I A; A' 0] [rho; x] = [f; 0]`` (Björck,
    1967): then the errors shrink in each step by those of one fit, whatever the residuals, down to the last digits of
    extended precision times the condition, and times its square and the residuals. The residuals come first: those of
    the start are known to double precision, which times the square of the condition may be far more than its errors.
    Where these do not shrink, the start is all that is known.
    """
    n, r = columns.E.shape
    root_lam = np.sqrt(np.longdouble(lam))
    weight = root.astype(np.longdouble)[:, None]
    factor = Reflections(_stacked(columns, lam))
    if not np.diag(factor.R).all():
        return start.astype(np.longdouble), False
    x = start.astype(np.longdouble)
    rho = np.concatenate([weight * (y - exact.times(x)), -root_lam * x[:r]])
    found, first, last, is_better = start.astype(np.longdouble), np.inf, np.inf, False
    for at in range(MOST_STEPS):
        of_rows = np.concatenate([weight * (y - exact.times(x)), -root_lam * x[:r]]) - rho
        of_columns = -exact.transpose_times(weight * rho[:n])
        of_columns[:r] -= root_lam * rho[n:]
        change, step = factor.augmented(of_rows.astype(np.float64), of_columns.astype(np.float64))
        rho = rho + change
        if not at:
            continue  # the step knows the residuals to double precision
        x = x + step
        size = float(np.abs(factor.size[:, None] * step).max(initial=0.0))
        if not size < last / 2:
            if last <= SHRUNK * first:
                found, is_better = x - step, True  # as it was before it stopped getting better
            break
        first = size if np.isinf(first) else first
        if size <= EPS * float(np.abs(factor.size[:, None] * x).max(initial=0.0)):
            # other rows may see more of a coefficient than these, so go on as long as it gets better
            found, is_better = x, True
        last = size
    # as in a fit from its rows: of a column that is small beside the penalty, or zero here and large in other rows, the
    # steps know the coefficient to the last bit of larger ones only
    small = norms(columns.E) < root_lam
    found[:r][small] = columns.E[:, small].T @ rho[:n] / np.longdouble(lam)
    return found, is_better


def _stacked(columns: Columns, lam: float) -> FloatArray:
    """``[E N; sqrt(lam) I 0]``."""
    (n, r), k = columns.E.shape, columns.N.shape[1]
    A = np.zeros((n + r, r + k))
    A[:n, :r], A[:n, r:] = columns.E, columns.N
    A[n + np.arange(r), np.arange(r)] = np.sqrt(lam)
    return A
