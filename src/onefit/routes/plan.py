"""Which route, by counting floating point operations; and the paper's break-even number of folds."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from ..validation import check_integer

__all__ = ["Plan", "breakeven_folds", "choose", "plan"]


@dataclass(frozen=True)
class Plan:
    """What each route would cost, and the one that `nested_cv` would take.

    Attributes
    ----------
    n, p, n_folds, n_repeats, n_values : int
        The question.
    flops : mapping
        Floating point operations of "gram", "onestep" and "refit".
    choice : str
        The fast route with the fewest.
    reason : str
        Why, in one sentence.
    """

    n: int
    p: int
    n_folds: int
    n_repeats: int
    n_values: int
    flops: Mapping[str, float]
    choice: str
    reason: str

    def __str__(self) -> str:
        lines = [f"n={self.n} rows, p={self.p} columns, K={self.n_folds} folds, L={self.n_repeats} repeats:"]
        for route, count in self.flops.items():
            mark = "->" if route == self.choice else "  "
            lines.append(f" {mark} {route:<8} {count:10.3g} flops")
        return "\n".join([*lines, self.reason])


def plan(n: int, p: int, n_folds: int, n_repeats: int = 1, n_values: int = 1) -> Plan:
    """Count the floating point operations of each route and choose.

    Parameters
    ----------
    n, p : int
        Rows, and columns of the design with the intercept.
    n_folds, n_repeats, n_values : int
        Folds K, repeats L and parameter values.

    Returns
    -------
    Plan

    Notes
    -----
    With m = n/K rows a fold and q = min(p, n) columns after rotation:

    - gram: ``4 n q^2`` for the decomposition; a repeat ``2 n q^2`` for the folds' Gram matrices and, for each value,
      ``2/3 q^3`` for each of K(K+1)/2 systems and ``2 n K q`` for the predictions;
    - onestep: for each value ``2 n^2 min(q, n)`` for the residual operator; a repeat and value ``14/3 m^3`` for each
      pair of folds and ``2/3 m^3`` for each fold;
    - refit: ``n p^2 + p^3 / 3`` for each of K(K+1)/2 training sets, values and repeats, as the paper counts.

    Examples
    --------
    >>> import onefit
    >>> onefit.plan(500, 20, 10).choice
    'gram'
    >>> onefit.plan(200, 300, 10).choice
    'onestep'
    """
    n = check_integer("n", n, 3)
    p = check_integer("p", p, 1)
    K = check_integer("n_folds", n_folds, 3, n)
    L = check_integer("n_repeats", n_repeats, 1)
    return choose(n, p, K, L, check_integer("n_values", n_values, 1), n / K)


def choose(n: int, p: int, K: int, L: int, V: int, m: float) -> Plan:
    """`plan`, with m rows in the largest fold: the one-step route works with folds of one size."""
    q = min(p, n)
    fits, pairs = K * (K + 1) / 2, K * (K - 1) / 2
    flops = {
        "gram": 4 * n * q**2 + L * (2 * n * q**2 + V * (fits * 2 / 3 * q**3 + 2 * n * K * q)),
        "onestep": V * (2 * n**2 * q + L * (pairs * 14 / 3 * m**3 + K * 2 / 3 * m**3)),
        "refit": L * V * fits * (n * p**2 + p**3 / 3),
    }
    choice = "gram" if flops["gram"] <= flops["onestep"] else "onestep"
    other = "onestep" if choice == "gram" else "gram"
    sizes = f"{q} x {q} (columns)", f"{math.ceil(m)} x {math.ceil(m)} (rows of a fold)"
    own, theirs = sizes if choice == "gram" else sizes[::-1]
    reason = (
        f"{choice} solves systems of {own} and needs {flops[other] / flops[choice]:.1f} times fewer operations than "
        f"{other} with {theirs}, {flops['refit'] / flops[choice]:.0f} times fewer than refits."
    )
    return Plan(n, p, K, L, V, MappingProxyType(flops), choice, reason)


def breakeven_folds(n: int, p: int) -> float | None:
    """Number of folds from which the paper's one-step formula needs fewer operations than refitting.

    This is K* of the paper's Proposition 2, which compares the literal formula with refits that recompute X'X each
    time. `plan` compares the routes as onefit computes them.

    Parameters
    ----------
    n, p : int
        Rows and columns.

    Returns
    -------
    float or None
        The smallest root in [2, n] of the paper's quartic; None if the formula always wins there, infinity if it
        never does.

    Examples
    --------
    >>> import onefit
    >>> round(onefit.breakeven_folds(1000, 10), 2)
    30.23
    """
    n = check_integer("n", n, 3)
    p = check_integer("p", p, 1)
    coefficients = [  # highest power first
        6 * p**2 * n + p**3 + 15 * p**2 + 6 * p * n,
        -18 * p**2 * n + p**3 + 15 * p**2 + 6 * n + 6 * p * n,
        -24 * p * n**2 - 60 * n**2,
        -8 * n**3 + 12 * p * n**2 + 30 * n**2,
        6 * n**3,
    ]
    roots = np.roots(np.array(coefficients, dtype=float))
    real = np.sort(roots.real[np.abs(roots.imag) <= 1e-9 * np.abs(roots)])
    inside = real[(real >= 2) & (real <= n)]
    if len(inside):
        return float(inside[0])
    return None if np.polyval(coefficients, n) > 0 else math.inf
