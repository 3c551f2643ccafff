"""Ridge regressions of a few rows in as many digits as it takes, however uneven their columns."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, getcontext, localcontext
from operator import mul
from typing import TypeAlias

import numpy as np

from ..typing import FloatArray
from .penalty import Penalty

__all__ = ["MOST_EXACT_ROWS", "predict_exactly"]

MOST_EXACT_ROWS = 48
"""Rows of a fit up to which this takes a second or so, if its columns are no more than twice as many."""

DIGITS = (50, 100, 300, 900)
"""Decimal digits, one after another until two of them agree."""

SAME = Decimal("1e-18")
"""Relative difference of numbers that are the same double, but for ties."""

Table: TypeAlias = list[list[Decimal]]


@dataclass(frozen=True)
class _Predictions:
    """Of rows and outputs, one after another; ``sizes`` are those of the sums that they are."""

    values: list[Decimal]
    sizes: list[Decimal]


def predict_exactly(
    X: FloatArray, maps: Penalty, y: FloatArray, weights: FloatArray, lam: float, fit_intercept: bool, new: FloatArray
) -> FloatArray:
    r"""Predictions (m, Q) at rows ``new`` of ``min sum w (y - E a - N b)^2 + lam ||a||^2``, correctly rounded.

    The columns E and N, a constant among them if there is an intercept, are made of X by ``maps``. With ``a = E'W v``
    it is ``(EE'W + lam I) v + N b = y`` and ``N'W v = 0``: elimination needs no exchange of rows, as the leading minors
    of ``EE' + lam W^-1`` are positive. Digits are enough if twice as many, or more, give the same predictions.
    ZeroDivisionError if N has not full rank.
    """
    last: _Predictions | None = None
    for fewer, digits in zip((0, *DIGITS), DIGITS, strict=False):
        with localcontext(Context(prec=digits, Emin=MIN_EMIN, Emax=MAX_EMAX)):
            found = _predictions(X, maps, y, weights, lam, fit_intercept, new)
            if found is not None and last is not None and _agree(last, found, Decimal(10) ** (-fewer // 2)):
                return np.array([float(value) for value in found.values]).reshape(len(new), y.shape[1])
            last = found
    raise ZeroDivisionError


def _agree(fewer: _Predictions, more: _Predictions, noise: Decimal) -> bool:
    """Whether predictions are the same with fewer digits, or zero beside the noise of their sums."""
    each = zip(fewer.values, more.values, more.sizes, strict=True)
    return all(abs(a - b) <= max(SAME * abs(b), noise * size) for a, b, size in each)


def _predictions(
    X: FloatArray, maps: Penalty, y: FloatArray, weights: FloatArray, lam: float, fit_intercept: bool, new: FloatArray
) -> _Predictions | None:
    """The same with the digits of the context; None if they are too few."""
    E, N = _columns(X, maps, fit_intercept)
    (w,) = _decimal(weights[None])
    heavy = [[value * own for value in row] for row, own in zip(E, w, strict=True)]  # WE
    system = [[_dot(one, other) for other in heavy] for one in E]
    for at, (line, beside, right) in enumerate(zip(system, N, _decimal(y), strict=True)):
        line[at] += Decimal(lam)
        line += beside + right
    k, Q = len(N[0]), y.shape[1]
    for free in range(k):
        system.append([row[free] * own for row, own in zip(N, w, strict=True)] + [Decimal(0)] * (k + Q))
    if (ends := _solved(system)) is None:
        return None
    a = [[_dot(column, v) for column in zip(*heavy, strict=True)] for v in zip(*ends[: len(E)], strict=True)]
    b = list(zip(*ends[len(E) :], strict=True)) or [()] * Q
    values, sizes = [], []
    for row, beside in zip(*_columns(new, maps, fit_intercept), strict=True):
        for penalized, free_ones in zip(a, b, strict=True):
            terms = [*map(mul, row, penalized), *map(mul, beside, free_ones)]
            values.append(sum(terms, Decimal(0)))
            sizes.append(sum(map(abs, terms), Decimal(0)))
    return _Predictions(values, sizes)


def _columns(X: FloatArray, maps: Penalty, fit_intercept: bool) -> tuple[Table, Table]:
    """Penalized and free columns of some rows."""
    rows = _decimal(X)
    E = rows if maps.penalized is None else _product(rows, maps.penalized)
    N = _product(rows, maps.free)
    return E, [[Decimal(1), *line] for line in N] if fit_intercept else N


def _product(rows: Table, table: FloatArray) -> Table:
    columns = _decimal(table.T)
    return [[_dot(row, column) for column in columns] for row in rows]


def _decimal(table: FloatArray) -> Table:
    """All digits, whatever the context."""
    return [[Decimal(value) for value in line] for line in table.tolist()]


def _dot(one: Iterable[Decimal], other: Iterable[Decimal]) -> Decimal:
    return sum(map(mul, one, other), Decimal(0))


def _solved(table: Table) -> Table | None:
    """Solutions (N, Q) of a table (N, N + Q), which is overwritten; None if a pivot has lost half of its digits."""
    sizes = [abs(line[at]) for at, line in enumerate(table)]
    lost = Decimal(10) ** (-getcontext().prec // 2)
    for at, own in enumerate(table):
        pivot, tail = own[at], own[at + 1 :]
        if abs(pivot) <= lost * sizes[at]:
            return None
        for place in range(at + 1, len(table)):
            line = table[place]
            factor = line[at] / pivot
            line[at + 1 :] = [a - factor * b for a, b in zip(line[at + 1 :], tail, strict=True)]
            sizes[place] = max(sizes[place], abs(factor * own[place]))
    found: Table = []
    for at in range(len(table) - 1, -1, -1):
        line, n = table[at], len(table)
        known = [_dot(line[at + 1 : n], column) for column in zip(*found, strict=True)] or [Decimal(0)] * len(line[n:])
        found.insert(0, [(right - less) / line[at] for right, less in zip(line[n:], known, strict=True)])
    return found
