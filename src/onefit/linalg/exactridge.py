"""Ridge regressions of a few rows in whole numbers: no digit of the data is lost, whatever the sizes of the columns."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from ..typing import FloatArray
from .penalty import Penalty

__all__ = ["MOST_EXACT_ROWS", "predict_exactly"]

MOST_EXACT_ROWS = 24
"""Rows of a fit up to which this takes a second or less: the numbers grow by some hundred bits a row."""

Whole: TypeAlias = list[list[int]]


def predict_exactly(
    X: FloatArray, maps: Penalty, y: FloatArray, weights: FloatArray, lam: float, fit_intercept: bool, new: FloatArray
) -> FloatArray:
    r"""Predictions (m, Q) at rows ``new`` of ``min sum w (y - E a - N b)^2 + lam ||a||^2``, correctly rounded.

    The columns E and N, a constant among them if there is an intercept, are made of X by ``maps``. With ``a = E'W v``
    it is ``(EE'W + lam I) v + N b = y`` and ``N'W v = 0``. Numbers in double precision are whole ones times a power of
    two, and elimination without fractions (Bareiss, 1968) keeps them whole: leading minors are not zero, as those of
    ``EE' + lam W^-1`` are positive, so that it needs no exchange of rows. ZeroDivisionError if N has not full rank.
    """
    n = len(y)
    tables, s, z = _columns(np.vstack([X, new]), maps, fit_intercept)
    (E, N), (E_new, N_new) = ([table[:n] for table in tables], [table[n:] for table in tables])
    (heavy,), t = _whole(weights[None])
    ((penalty,),), u = _whole(np.array([[lam]]))
    target, e = _whole(y)
    power = max(2 * s + t, u, e, z)  # all equations times two to this power
    free = range(len(N[0]))
    system = []
    for at, (one, beside, right) in enumerate(zip(E, N, target, strict=True)):
        line = [(_dot(one, other) * w) << (power - 2 * s - t) for other, w in zip(E, heavy, strict=True)]
        line[at] += penalty << (power - u)
        system.append(line + [value << (power - z) for value in beside] + [value << (power - e) for value in right])
    for k in free:
        system.append([beside[k] * w for beside, w in zip(N, heavy, strict=True)] + [0] * (len(free) + y.shape[1]))
    ends, size = _eliminated(system)
    over = max(2 * s + t, z)
    found = np.empty((len(new), y.shape[1]))
    for place, (row, beside) in enumerate(zip(E_new, N_new, strict=True)):
        reach = [(_dot(row, each) * w) << (over - 2 * s - t) for each, w in zip(E, heavy, strict=True)]
        reach += [value << (over - z) for value in beside]
        for output in range(y.shape[1]):
            found[place, output] = _divided(_dot(reach, [line[output] for line in ends]), size << over)
    return found


def _columns(X: FloatArray, maps: Penalty, fit_intercept: bool) -> tuple[tuple[Whole, Whole], int, int]:
    """Penalized and free columns of some rows in whole numbers, with the exponents of the powers below them."""
    rows, s = _whole(X)
    E, exponent = rows, s
    if maps.penalized is not None:
        E, exponent = _product(rows, s, maps.penalized)
    N, z = _product(rows, s, maps.free)
    if fit_intercept:
        N = [[1 << z, *line] for line in N]
    return (E, N), exponent, z


def _product(rows: Whole, exponent: int, table: FloatArray) -> tuple[Whole, int]:
    columns, more = _whole(table.T)
    return [[_dot(row, column) for column in columns] for row in rows], exponent + more


def _divided(above: int, below: int) -> float:
    """Correctly rounded; infinite beyond the largest double."""
    try:
        return above / below
    except OverflowError:
        return float("inf") if (above > 0) == (below > 0) else float("-inf")


def _whole(table: FloatArray) -> tuple[Whole, int]:
    """A table of doubles as whole numbers over one power of two, and its exponent, which is not negative."""
    ratios = [[value.as_integer_ratio() for value in line] for line in table.tolist()]
    exponent = max((below.bit_length() - 1 for line in ratios for _, below in line), default=0)
    return [[above << (exponent - below.bit_length() + 1) for above, below in line] for line in ratios], exponent


def _dot(one: list[int], other: list[int]) -> int:
    return sum(a * b for a, b in zip(one, other, strict=True))


def _eliminated(table: Whole) -> tuple[Whole, int]:
    """The solutions (N, Q) of a table (N, N + Q), times the determinant, and that, by exact divisions."""
    last = 1
    for at in range(len(table)):
        pivot, own = table[at][0], table[at][1:]
        for place, line in enumerate(table):
            first = line[0]
            if place != at:
                table[place] = [(pivot * a - first * b) // last for a, b in zip(line[1:], own, strict=True)]
        table[at], last = own, pivot
    return table, last
