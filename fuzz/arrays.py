"""The description of a problem -> its arrays."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .problems import Problem

__all__ = ["Arrays", "make_arrays", "nudged"]


@dataclass(frozen=True)
class Arrays:
    """Data of a problem in double precision.

    ``y`` is (n,) or (n, Q), or the classes; ``folds`` (repeats, n) also where the library finds them itself.
    """

    X: np.ndarray
    y: np.ndarray
    weights: np.ndarray | None
    groups: np.ndarray | None
    folds: np.ndarray
    penalty: np.ndarray | None


def make_arrays(problem: Problem) -> Arrays:
    """The arrays of a problem: always the same."""
    rng = np.random.default_rng([problem.seed, 2])
    plain = _plain_columns(rng, problem)
    X = _scaled_columns(rng, problem, plain)
    y = _classes(rng, problem, plain) if problem.model == "classifier" else _response(rng, problem, plain)
    groups = _groups(rng, problem.n) if problem.has_groups else None
    folds = _folds(rng, problem, groups)
    weights = _weights(rng, problem)
    if problem.kernel == "precomputed":
        X = X @ X.T
        X = (X + X.T) / 2
    return Arrays(X, y, weights, groups, folds, _penalty(rng, problem))


def nudged(arrays: Arrays, problem: Problem, copy: int) -> Arrays:
    """The same data, each number moved to one of its neighbours in double precision; zeros stay."""
    rng = np.random.default_rng([problem.seed, 3, copy])

    def moved(values: Any) -> Any:
        if values is None or values.dtype.kind != "f":
            return values
        towards = np.where(rng.random(values.shape) < 0.5, -np.inf, np.inf)
        return np.where(values == 0, values, np.nextafter(values, towards))

    X = moved(arrays.X)
    if problem.kernel == "precomputed":
        X = np.triu(X) + np.triu(X, 1).T
    return replace(arrays, X=X, y=moved(arrays.y), weights=moved(arrays.weights))


def _plain_columns(rng: np.random.Generator, problem: Problem) -> np.ndarray:
    """Columns of size about one, without scales and offsets; copies and sums of others come later."""
    n, columns = problem.n, []
    for kind in problem.columns:
        column = rng.standard_normal(n)
        if kind == "rare":
            column = np.where(rng.permutation(n) < rng.integers(1, 4), column, 0.0)
        elif kind == "dummy":
            column = (rng.random(n) < rng.uniform(0.1, 0.9)).astype(float)
        elif kind == "constant":
            column = np.ones(n)
        columns.append(column)
    return np.stack(columns, axis=1)


def _scaled_columns(rng: np.random.Generator, problem: Problem, plain: np.ndarray) -> np.ndarray:
    """Columns with their scales and offsets, then those that are made of others."""
    X = np.empty_like(plain)
    for j, kind in enumerate(problem.columns):
        scale, offset = 10.0 ** problem.column_scales[j], problem.column_offsets[j]
        X[:, j] = plain[:, j] * scale
        if offset is not None and kind not in ("rare", "dummy") and not problem.is_sparse:
            X[:, j] += scale * 10.0**offset
        if kind in ("duplicate", "copy", "sum") and j > 0:
            first, second = rng.integers(0, j, 2)
            if kind == "duplicate":
                X[:, j] = X[:, first]
            elif kind == "copy":
                X[:, j] = -0.5 * X[:, first]
            elif np.abs(problem.column_scales[first] - problem.column_scales[second]) < 12:
                X[:, j] = X[:, first] + X[:, second]
        if kind == "normal" and problem.is_sparse:
            X[:, j] *= rng.random(problem.n) < 0.4
    return X


def _response(rng: np.random.Generator, problem: Problem, plain: np.ndarray) -> np.ndarray:
    """The outputs: linear in the plain columns, noise, or one value."""
    n, Q = problem.n, problem.n_outputs
    signal = plain @ rng.standard_normal((problem.p, Q)) / np.sqrt(problem.p)
    noise = rng.standard_normal((n, Q))
    y = {"signal": signal + noise, "noise": noise, "constant": np.ones((n, Q)), "exact": signal}[problem.response]
    y = y * 10.0**problem.response_scale
    if problem.response_offset is not None:
        y = y + 10.0 ** (problem.response_scale + problem.response_offset)
    return y[:, 0] if Q == 1 else y


def _classes(rng: np.random.Generator, problem: Problem, plain: np.ndarray) -> np.ndarray:
    """Two or three classes, each in three rows or more."""
    score = plain @ rng.standard_normal(problem.p) / np.sqrt(problem.p) + rng.standard_normal(problem.n)
    count = 3 if problem.n >= 12 and rng.random() < 0.4 else 2
    place = np.argsort(np.argsort(score))
    return place * count // problem.n


def _groups(rng: np.random.Generator, n: int) -> np.ndarray:
    """At least n/3 groups of one to three rows or so."""
    count = max(n // 3, 3)
    return rng.permutation(np.arange(n) % count)


def _folds(rng: np.random.Generator, problem: Problem, groups: np.ndarray | None) -> np.ndarray:
    """Fold ids; groups stay together, and folds are uneven half of the time."""
    unit = np.arange(problem.n) if groups is None else groups
    n_units = int(unit.max()) + 1
    if problem.folds == "n":
        return unit[None, :]
    rows = []
    for _ in range(problem.n_repeats):
        rest = n_units - problem.n_folds
        extra = rng.integers(0, problem.n_folds, rest) if rng.random() < 0.5 else np.arange(rest) % problem.n_folds
        ids = rng.permutation(np.append(np.arange(problem.n_folds), extra))
        if problem.folds == "unscored":
            spare = np.flatnonzero(np.bincount(ids)[ids] > 1)  # a fold must keep a unit
            for position in rng.permutation(spare)[: max(1, n_units // 5)]:
                if (ids == ids[position]).sum() > 1:
                    ids[position] = -1
        rows.append(ids[unit])
    return np.stack(rows)


def _weights(rng: np.random.Generator, problem: Problem) -> np.ndarray | None:
    """Weights of the rows; at least three are positive."""
    n = problem.n
    if problem.weights == "none":
        return None
    weights = rng.uniform(0.2, 3.0, n)
    if problem.weights == "zeros":
        weights[rng.permutation(n)[: min(max(1, n // 4), n - 3)]] = 0.0
    elif problem.weights in ("wild", "extreme"):
        decades = rng.uniform(0, 12) if problem.weights == "wild" else rng.uniform(12, 20)
        weights = 10 ** rng.uniform(-decades, 0, n)
        weights = weights * (10 ** rng.uniform(-5, 5))
    return weights


def _penalty(rng: np.random.Generator, problem: Problem) -> np.ndarray | None:
    """A symmetric matrix whose entries, and so its null space, are exact in double precision."""
    p = problem.p
    if problem.matrix == "identity":
        return None
    if problem.matrix == "differences" and p > 2:
        D = np.diff(np.eye(p), n=int(rng.integers(1, 3)), axis=0)
        return D.T @ D
    diagonal = 2.0 ** rng.integers(-8, 9, p)
    if problem.matrix == "with zeros":
        diagonal[rng.random(p) < 0.3] = 0.0
    return np.diag(diagonal)
