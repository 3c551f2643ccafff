"""Milliseconds of every compiled kernel with each instruction set of the machine, on a few shapes.

Which instructions a kernel takes is written in its source, and never measured at run time, as then results could differ
from one run to the next; this table is what it is written from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onefit.linalg import compiled

from .measure import best_of
from .table import plain

__all__ = ["kernels_report"]

Array = NDArray[Any]
INSTRUCTIONS = ("baseline", "AVX2", "AVX-512")
SHAPES = ((67, 10, 50, 21, 1), (4, 10, 100, 41, 50), (1, 10, 200, 101, 1), (1, 10, 1000, 201, 1), (50, 5, 20, 6, 1))
QUICK_SHAPES = ((2, 4, 5, 3, 1), (1, 4, 5, 3, 9))
TILE = 512
HEAD = ("kernel", "L", "K", "m", "d", "values", *(f"{name}, ms" for name in INSTRUCTIONS), "NumPy, ms", "fastest")
CLOSE = 1.05
"""Times within this factor of the shortest count as the shortest."""


def kernels_report(quick: bool) -> str:
    """The table as text; "NumPy" is the twin, where it is one expression."""
    if not compiled.is_there():
        return "There are no compiled kernels."
    there = [name for name in INSTRUCTIONS if compiled.use(name) == name]
    lines = []
    for shape in QUICK_SHAPES if quick else SHAPES:
        for name, call, twin in _calls(*shape):
            calls = [(each, call) for each in there] + ([("NumPy", twin)] if twin else [])
            seconds = _turns(calls, 1 if quick else 12)
            best = min(seconds[each] for each in there)
            cells = [f"{1e3 * seconds[each]:.3f}" if each in seconds else "-" for each in (*INSTRUCTIONS, "NumPy")]
            fastest = " or ".join(each for each in there if seconds[each] <= CLOSE * best)
            lines.append([name, *(str(number) for number in shape), *cells, fastest])
    compiled.use(compiled.SETTING)
    return plain(HEAD, lines, ("kernel", "fastest"))


def _turns(calls: list[tuple[str, Callable[[], object]]], rounds: int) -> dict[str, float]:
    """Shortest seconds of each, turn by turn, as the machine may not be quiet."""
    seconds: dict[str, float] = {}
    for _ in range(rounds):
        for name, call in calls:
            compiled.use(name if name in INSTRUCTIONS else compiled.SETTING)
            seconds[name] = min(seconds.get(name, np.inf), best_of(call, 0.002)[0])
    return seconds


def _calls(
    L: int, K: int, m: int, d: int, V: int
) -> Iterator[tuple[str, Callable[[], object], Callable[[], object] | None]]:
    """Kernels of the gram route on random folds of one design, and those of the others on as many numbers."""
    rng = np.random.default_rng(0)
    n = K * m
    Z, r, ones = np.linalg.qr(rng.standard_normal((n, d)))[0], rng.standard_normal((n, V)), np.ones(n)
    members = np.stack([rng.permutation(n).reshape(K, m) for _ in range(L)])
    sizes, sets = np.full((L, K), m), np.array(list(combinations(range(K), 2)))
    D = np.linspace(1.1, 9.0, V)[:, None] * np.ones(d)
    grams, right = compiled.collect(Z, r, ones, members, sizes)
    sides = right[..., None]
    change, _ = compiled.systems(grams, sides, D, np.sqrt(D), sets)
    own = rng.standard_normal((L, K, d, V))
    tables = (np.zeros((L, K, K, V)), np.zeros((L, K, K, V)))
    u = compiled.residuals(Z, r, own, members, sizes).reshape(L * K, m, 1, V)
    zeros = np.zeros((L * K, m, V))

    def products() -> tuple[Array, Array]:
        rows = Z[members]
        return rows.swapaxes(-1, -2) @ rows, rows.swapaxes(-1, -2) @ r[members]

    yield "collect", lambda: compiled.collect(Z, r, ones, members, sizes), products
    yield "systems", lambda: compiled.systems(grams, sides, D, np.sqrt(D), sets), None
    yield "residuals", lambda: compiled.residuals(Z, r, own, members, sizes), lambda: r[members] + Z[members] @ own
    changes = change.reshape(L, len(sets), d, V)
    yield "predict", lambda: compiled.predict(Z, r, changes, ones, sizes, sets, tables, members), None
    parents, ids = np.maximum(np.arange(V) - 1, 0), np.empty(n, dtype=np.intp)
    ids[members[0]] = np.arange(K)[:, None]
    sums = (np.zeros((n, V)), np.zeros((n, V)), np.zeros((K, V + 2, V + 2)), np.zeros((4, 4, V)))
    rows = Z, own[0], ones, np.zeros(K), np.ones((2, V)), ids, parents
    yield "score, a repeat", lambda: compiled.score(*rows, sums), None
    yield "moments", lambda: compiled.moments(u, zeros, np.ones((L * K, m)), sizes.ravel()), None
    yield from _calls_of_rows(rng, min(m, 20), min(n, TILE), V)


def _calls_of_rows(
    rng: np.random.Generator, m: int, n: int, V: int
) -> Iterator[tuple[str, Callable[[], object], None]]:
    """Pairs of folds of m rows on the one-step route, and pairs of rows."""
    K = max(3, n // m)
    members = np.arange(K * m).reshape(1, K, m)
    M = np.eye(K * m) - 0.5 / (K * m)
    diagonal = np.ascontiguousarray(M.reshape(K, m, K, m)[np.arange(K), :, np.arange(K)])[None]
    right, gains, sizes = rng.standard_normal((1, K, m, 2)), np.ones((1, K, m)), np.full((1, K), m)
    mean, scatter = np.zeros((2, 1, K, K, 1))
    yield (
        "fold_pairs",
        lambda: compiled.fold_pairs_moments(M, members, diagonal, right, gains, sizes, mean, scatter),
        None,
    )
    of_rows = np.ones((4, V, n))
    operator, changes = rng.uniform(0, 1e-3, (V, n, n)), np.empty((V, n, n))
    order = np.arange(V)
    chain = np.zeros(V), order, np.maximum(order - 1, 0)
    yield "row_pairs", lambda: compiled.row_pairs(operator, of_rows, of_rows, *chain, changes, False, False), None
