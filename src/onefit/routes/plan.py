"""Which route, by counted operations and measured seconds; and the paper's break-even number of folds."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from ..checks import check_integer
from ..display.html import plan_html
from ..linalg import compiled
from ..linalg.downdate import LARGE_COMPILED, MANY, MANY_COMPILED
from .base import TABLE_BYTES
from .onestep import MOST_COMPILED

__all__ = ["Plan", "breakeven_folds", "choose", "plan", "work"]

# Nanoseconds for one unit of each term of `work`, as `python -m benchmarks --calibrate` fits them to measured times:
# with the compiled kernels, and without. Another machine changes all of them, and the choice hangs on their ratios.
NANOSECONDS: Mapping[bool, Mapping[str, Mapping[str, float]]] = {
    True: {
        "gram": {
            "call": 3.82e06,
            "decomposition": 0.512,
            "gram matrices": 0.0227,
            "gathered rows": 40.3,
            "factorizations": 0.0105,
            "substitutions": 0.853,
            "eigendecompositions": 0.741,
            "rotations": 0.606,
            "systems": 269,
            "training sets": 584,
            "refits": 0.0494,
            "predictions": 0.228,
            "losses": 0.888,
            "values and rows": 240,
            "values": 469000,
        },
        "onestep": {
            "call": 3.19e06,
            "decompositions": 0.414,
            "operators": 0.0287,
            "entries": 4.81,
            "products": 0.0227,
            "values and rows": 1770,
            "values": 1.14e06,
            "eliminations, compiled": 0.0853,
            "systems, compiled": 193,
            "eliminations, LAPACK": 0.262,
            "gathered blocks, LAPACK": 0.37,
            "losses, LAPACK": 37.2,
            "systems, LAPACK": 192000,
        },
    },
    False: {
        "gram": {
            "call": 4.3e06,
            "decomposition": 0.415,
            "gram matrices": 0.0227,
            "gathered rows": 38.7,
            "factorizations": 0.00758,
            "substitutions": 16.9,
            "eigendecompositions": 0.341,
            "rotations": 4.05,
            "systems": 688,
            "training sets": 1030,
            "refits": 0.0358,
            "predictions": 0.213,
            "losses": 3.84,
            "values and rows": 294,
            "values": 426000,
        },
        "onestep": {
            "call": 3.24e06,
            "decompositions": 0.516,
            "operators": 0.0227,
            "entries": 7.07,
            "products": 0.0227,
            "folds": 117000,
            "values": 1.58e06,
            "eliminations, LAPACK": 0.169,
            "gathered blocks, LAPACK": 25.2,
            "losses, LAPACK": 370,
            "systems, LAPACK": 286,
        },
    },
}


@dataclass(frozen=True)
class Plan:
    """What each route would cost, and the one that `nested_cv` would take.

    Attributes
    ----------
    n, p, n_folds, n_repeats, n_values : int
        The question.
    flops : mapping
        Floating point operations of "gram", "onestep" and "refit".
    seconds : mapping
        Estimated seconds of the fast routes "gram" and "onestep", on one thread of the machine that they were
        calibrated on. Elsewhere they tell the routes apart, no more.
    choice : str
        The fast route with the fewest seconds.
    reason : str
        Why, in one sentence.
    """

    n: int
    p: int
    n_folds: int
    n_repeats: int
    n_values: int
    flops: Mapping[str, float]
    seconds: Mapping[str, float]
    choice: str
    reason: str

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "flops": dict(self.flops), "seconds": dict(self.seconds)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        views = {name: MappingProxyType(state[name]) for name in ("flops", "seconds")}  # which cannot be pickled
        self.__dict__.update(state, **views)

    def __str__(self) -> str:
        lines = [f"n={self.n} rows, p={self.p} columns, K={self.n_folds} folds, L={self.n_repeats} repeats:"]
        for route, count in self.flops.items():
            mark = "->" if route == self.choice else "  "
            about = f", about {self.seconds[route]:.2g} s" if route in self.seconds else ""
            lines.append(f" {mark} {route:<8} {count:10.3g} flops{about}")
        return "\n".join([*lines, self.reason])

    def _repr_html_(self) -> str:
        return plan_html(self)


def plan(n: int, p: int, n_folds: int, n_repeats: int = 1, n_values: int = 1) -> Plan:
    """Count the floating point operations of each route, estimate its time, and choose.

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
    With m = n/K rows a fold and q = min(p, n) columns after rotation, the operations are

    - gram: ``4 n q^2`` for the decomposition; a repeat ``2 n q^2`` for the folds' Gram matrices and, for each value,
      ``q^3 / 3`` for each of K(K+1)/2 systems and ``2 n K q`` for the predictions; for many values one
      eigendecomposition of a system, ``15 q^3``, serves all;
    - onestep: for each value ``2 n^2 q`` for the residual operator; a repeat and value ``7/3 m^3`` for each pair of
      folds and ``m^3 / 3`` for each fold;
    - refit: ``n p^2 + p^3 / 3`` for each of K(K+1)/2 training sets, values and repeats.

    Operations differ in speed: a large matrix product runs ten times faster than a factorization of a small system, and
    small systems are mostly overhead. So the choice goes by seconds: the amounts of work that grow differently with
    n, p, K, L and the number of values (systems, predictions, losses, tables of pairs of folds, gathered blocks; see
    `onefit.routes.plan.work`), times what one unit of each was measured to cost, with the compiled kernels or without
    them. ``python -m benchmarks --plan`` shows how good that is.

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
    flops = _flops(n, p, K, L, V, m)
    costs = NANOSECONDS[compiled.is_on()]
    seconds = {
        route: 1e-9 * sum(costs[route].get(term, 0.0) * amount for term, amount in terms.items())
        for route, terms in work(n, p, K, L, V, m).items()
    }
    choice = "gram" if seconds["gram"] <= seconds["onestep"] else "onestep"
    other = "onestep" if choice == "gram" else "gram"
    sizes = f"{q} x {q} (columns)", f"{math.ceil(m)} x {math.ceil(m)} (rows of a fold)"
    own, theirs = sizes if choice == "gram" else sizes[::-1]
    reason = (
        f"{choice} solves systems of {own} and should be {seconds[other] / seconds[choice]:.1f} times faster than "
        f"{other} with {theirs}; it needs {flops['refit'] / flops[choice]:.0f} times fewer operations than refits."
    )
    return Plan(n, p, K, L, V, MappingProxyType(flops), MappingProxyType(seconds), choice, reason)


def _flops(n: int, p: int, K: int, L: int, V: int, m: float) -> dict[str, float]:
    """Floating point operations of each route."""
    q = min(p, n)
    fits, pairs = K * (K + 1) / 2, K * (K - 1) / 2
    return {
        "gram": 4 * n * q**2 + L * (2 * n * q**2 + fits * min(V / 3, 15) * q**3 + V * 2 * n * K * q),
        "onestep": V * (2 * n**2 * q + L * (pairs * 7 / 3 * m**3 + K * m**3 / 3)),
        "refit": L * V * fits * (n * p**2 + p**3 / 3),
    }


def work(n: int, p: int, K: int, L: int, V: int, m: float) -> dict[str, dict[str, float]]:
    """How often each fast route does what it does; `NANOSECONDS` has what one unit takes.

    Every term is a power of the sizes, so that the cost of a system, say, is ``a q^3 + b q^2 + c``: fast for large q
    and all overhead for small q.
    """
    q = min(p, n)
    fits, pairs = K * (K + 1) / 2, K * (K - 1) / 2
    is_compiled = compiled.is_on()
    is_long = V >= MANY and (not is_compiled or (V >= MANY_COMPILED and q >= LARGE_COMPILED))
    is_stored = 8 * (n + 1) ** 2 <= TABLE_BYTES
    gram = {
        "call": 1.0,
        "decomposition": n * p * q,
        "gram matrices": L * n * q**2,
        "gathered rows": L * n * q,
        "factorizations": 0.0 if is_long else L * V * fits * q**3,
        "substitutions": 0.0 if is_long else L * V * fits * q**2,
        "eigendecompositions": L * fits * q**3 if is_long else 0.0,
        "rotations": L * V * fits * q**2 if is_long else 0.0,
        "systems": L * V * fits,
        "training sets": L * fits,
        "refits": L * V * fits * n * q**2 if q > n - 2 * m else 0.0,  # near interpolation, see `refit_residuals`
        "predictions": L * V * n * K * q,
        "losses": L * V * n * K,
        "values and rows": L * V * n,
        "values": L * V,
    }
    onestep = {
        "call": 1.0,
        "decompositions": V * n * p * q,
        "operators": V * n**2 * q,
        "entries": V * n**2,
        "products": 0.0 if is_stored else L * V * n**2 * q,
        "folds": L * V * K,
        "values and rows": L * V * n,
        "values": V,
    }
    by = "compiled" if is_compiled and m <= MOST_COMPILED else "LAPACK"
    of_pairs = {"eliminations": m**3, "gathered blocks": m**2, "losses": m, "systems": 1.0}
    onestep |= {f"{term}, {by}": L * V * pairs * amount for term, amount in of_pairs.items()}
    return {"gram": gram, "onestep": onestep}


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
    exact = [  # highest power first
        6 * p**2 * n + p**3 + 15 * p**2 + 6 * p * n,
        -18 * p**2 * n + p**3 + 15 * p**2 + 6 * n + 6 * p * n,
        -24 * p * n**2 - 60 * n**2,
        -8 * n**3 + 12 * p * n**2 + 30 * n**2,
        6 * n**3,
    ]
    coefficients = np.array(exact, dtype=float)
    roots = np.roots(coefficients)
    real = np.sort(roots.real[np.abs(roots.imag) <= 1e-9 * np.abs(roots)])
    inside = real[(real >= 2) & (real <= n)]
    if len(inside):
        return float(inside[0])
    return None if np.polyval(coefficients, float(n)) > 0 else math.inf
