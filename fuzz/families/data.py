"""Random tables, responses, weights and folds."""

from __future__ import annotations

import numpy as np
import pandas as pd

from .contract import pick

__all__ = ["classes", "deal", "draw_groups", "draw_weights", "numbers", "shape", "signal", "table"]

LEVELS = np.array(list("uvwxyz"))


def shape(rng: np.random.Generator, most: int = 8) -> tuple[int, int]:
    """Rows and columns: tall, as most tables are."""
    return int(rng.integers(24, 61)), int(rng.integers(1, most + 1))


def numbers(rng: np.random.Generator, n: int, p: int, is_plain: bool = False) -> np.ndarray:
    """Columns with scales and offsets, some of them rare, constant, whole, or made of others."""
    awkward = {"rare": 2, "dummy": 3, "constant": 1, "whole": 1, "copy": 1}
    odds: dict[str, float] = {"normal": 8}
    if not is_plain and rng.random() < 0.5:
        odds |= {name: each for name, each in awkward.items() if rng.random() < 0.5}
    spread = float(pick(rng, {0.0: 5, 1.0: 3, 3.0: 2, 6.0: 0.5}))
    offset = float(pick(rng, {-np.inf: 5, 1.0: 3, 3.0: 2, 5.0: 0.5}))
    X = np.empty((n, p))
    for j in range(p):
        kind = pick(rng, odds)
        column = rng.standard_normal(n)
        if kind == "rare":
            column = np.where(rng.permutation(n) < rng.integers(1, 4), column, 0.0)
        elif kind == "dummy":
            column = (rng.random(n) < rng.uniform(0.1, 0.9)).astype(float)
        elif kind == "constant":
            column = np.ones(n)
        elif kind == "whole":
            column = rng.integers(0, 4, n).astype(float)
        scale = 10.0 ** rng.uniform(-spread, spread)
        X[:, j] = column * scale
        if kind == "normal" and np.isfinite(offset):
            X[:, j] += scale * 10.0 ** rng.uniform(0, offset)
        if kind == "copy" and j:
            X[:, j] = -0.5 * X[:, int(rng.integers(0, j))]
    return X


def signal(rng: np.random.Generator, X: np.ndarray) -> np.ndarray:
    """A linear combination of the columns, of size about one."""
    spread = X.std(axis=0)
    Z = (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    return Z @ rng.standard_normal(X.shape[1]) / np.sqrt(X.shape[1])


def classes(rng: np.random.Generator, X: np.ndarray, count: int, strength: float = 1.0) -> np.ndarray:
    """Labels that depend on the columns; at least six of each."""
    scores = np.stack([strength * signal(rng, X) + rng.gumbel(size=len(X)) for _ in range(count)], axis=1)
    labels = scores.argmax(axis=1)
    labels[rng.permutation(len(X))[: 6 * count]] = np.repeat(np.arange(count), 6)
    return np.array(["ash", "elm", "oak"])[labels] if rng.random() < 0.5 else labels


def table(rng: np.random.Generator, n: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Numbers a, b, ... and levels s, t, some of both missing; and y."""
    numeric = numbers(rng, n, int(rng.integers(1, 5)))
    y = signal(rng, numeric) + rng.standard_normal(n)
    columns: dict[str, np.ndarray] = dict(zip("abcd", numeric.T, strict=False))
    for name in "st"[: int(rng.integers(1, 3))]:
        shares = rng.dirichlet(np.ones(rng.integers(2, 7)) / pick(rng, {0.5: 1, 2.0: 1}))
        columns[name] = LEVELS[rng.choice(len(shares), size=n, p=shares)].astype(object)
        y = y + rng.standard_normal(len(LEVELS))[np.searchsorted(LEVELS, columns[name].astype(str))]
    frame = pd.DataFrame(columns)
    gap = pick(rng, {0.0: 2, 0.1: 1, 0.3: 1})
    for name in frame:
        frame.loc[rng.random(n) < gap, name] = np.nan
    return frame, y * 10.0 ** pick(rng, {0.0: 3, 4.0: 1, -4.0: 1})


def draw_weights(rng: np.random.Generator, n: int) -> np.ndarray | None:
    """None, plain ones, some zeros, or over several decades."""
    kind = pick(rng, {"none": 6, "plain": 2, "zeros": 2, "wild": 1})
    if kind == "none":
        return None
    weights = rng.uniform(0.2, 3.0, n)
    if kind == "zeros":
        weights[rng.permutation(n)[: n // 5]] = 0.0
    return 10 ** rng.uniform(-4, 2, n) if kind == "wild" else weights


def draw_groups(rng: np.random.Generator, n: int) -> np.ndarray:
    """Groups of two or so."""
    return rng.permutation(np.arange(n) % (n // 2))


def deal(rng: np.random.Generator, n: int, y: np.ndarray, groups: np.ndarray | None, has_all: bool) -> np.ndarray:
    """Partitions (L, n); some rows are never scored now and then, and classes are in every fold if ``has_all``."""
    if n <= 26 and groups is None and not has_all and rng.random() < 0.1:
        return np.arange(n)[None, :]
    K, repeats = int(rng.integers(3, 7)), int(rng.integers(1, 3))
    unit = np.arange(n) if groups is None else groups
    rows = []
    for _ in range(repeats):
        ids = rng.permutation(np.arange(unit.max() + 1) % K)
        if has_all and groups is None:
            ids = np.empty(n, dtype=int)
            for label in np.unique(y):
                members = rng.permutation(np.flatnonzero(y == label))
                ids[members] = (np.arange(len(members)) + rng.integers(K)) % K
        elif rng.random() < 0.2:
            spare = rng.permutation(len(ids))[: len(ids) // 6]
            ids[spare] = np.where(np.bincount(ids, minlength=K)[ids[spare]] > 3, -1, ids[spare])
        rows.append(ids[unit])
    folds = np.stack(rows)
    return folds if all(len(np.unique(ids[ids >= 0])) == K for ids in folds) else folds[:1] * 0 + unit % K
