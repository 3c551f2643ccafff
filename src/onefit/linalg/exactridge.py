"""Ridge regressions of a few rows in whole numbers: no digit of the data is lost, whatever the sizes of the columns."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from ..typing import FloatArray

__all__ = ["MOST_EXACT_ROWS", "predict_exactly"]

MOST_EXACT_ROWS = 24
"""Rows of a fit up to which this takes a second or less: the numbers grow by some hundred bits a row."""

Whole: TypeAlias = list[list[int]]


def predict_exactly(
    X: FloatArray, y: FloatArray, weights: FloatArray, lam: float, fit_intercept: bool, new: FloatArray
) -> FloatArray:
    r"""Predictions (m, Q) at rows ``new`` of ``min sum w (y - X a - b)^2 + lam ||a||^2``, correctly rounded.

    With ``a = X'W v`` it is ``(XX'W + lam I) v + b = y`` and ``w'v = 0``. Numbers in double precision are whole ones
    times a power of two, and elimination without fractions (Bareiss, 1968) keeps them whole: all leading minors are
    positive, as those of ``XX' + lam W^-1`` are, so that it needs no exchange of rows.
    """
    (rows, others), s = _whole(X, new)
    ((heavy,),), t = _whole(weights[None])
    ((penalty,),), u = _whole(np.array([[lam]]))
    (target,), e = _whole(y)
    shift = max(2 * s + t, u, e)  # all equations times two to this power
    by, n = 1 << (shift - 2 * s - t), len(y)
    system = [[_dot(one, other) * w * by for other, w in zip(rows, heavy, strict=True)] for one in rows]
    for at in range(n):
        system[at][at] += penalty[0] << (shift - u)
    if fit_intercept:
        system = [[*line, 1 << shift] for line in system] + [[*heavy, 0]]
    right = [[value << (shift - e) for value in line] for line in target] + [[0] * y.shape[1]] * int(fit_intercept)
    ends, size = _eliminated([line + each for line, each in zip(system, right, strict=True)])
    found = np.empty((len(new), y.shape[1]))
    for place, row in enumerate(others):
        reach = [_dot(row, each) * w for each, w in zip(rows, heavy, strict=True)]
        reach += [1 << (2 * s + t)] * int(fit_intercept)
        for output in range(y.shape[1]):
            total = _dot(reach, [line[output] for line in ends])
            try:
                found[place, output] = total / (size << (2 * s + t))
            except OverflowError:  # beyond the largest double
                found[place, output] = np.inf if (total > 0) == (size > 0) else -np.inf
    return found


def _whole(*tables: FloatArray) -> tuple[list[Whole], int]:
    """Tables of doubles as whole numbers over one power of two, and its exponent, which is not negative."""
    ratios = [[[value.as_integer_ratio() for value in line] for line in table.tolist()] for table in tables]
    exponent = max((below.bit_length() - 1 for each in ratios for line in each for _, below in line), default=0)
    return [
        [[above << (exponent - below.bit_length() + 1) for above, below in line] for line in each] for each in ratios
    ], exponent


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
