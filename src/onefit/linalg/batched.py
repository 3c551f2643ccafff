"""Many small positive definite systems at once, each checked for closeness to singularity."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from ..typing import BoolArray, FloatArray

__all__ = ["TRUSTED", "doubtful", "probe", "smallest_eigenvalues", "solve", "suspects"]

TRUSTED = 1e-5
"""Smallest eigenvalue, relative to the accuracy of the entries, down to which a system is trusted."""

_SUSPECT = 1e-3


def solve(systems: FloatArray, right: FloatArray) -> FloatArray:
    """``systems[i]^-1 right[i]``; NaN where a system is singular to the last bit."""
    try:
        solution = np.asarray(np.linalg.solve(systems, right), dtype=np.float64)
    except np.linalg.LinAlgError:
        solution = np.full(right.shape, np.nan)
        for index in np.ndindex(systems.shape[:-2]):
            try:
                solution[index] = np.linalg.solve(systems[index], right[index])
            except np.linalg.LinAlgError:
                continue
    return solution


@lru_cache(maxsize=64)
def probe(size: int) -> FloatArray:
    """Fixed random vector that `suspects` needs the solution for: a column more on the right-hand side."""
    return np.random.default_rng(20240229).standard_normal(size)


def suspects(answer: FloatArray, scale: float = 1.0) -> BoolArray:
    """Systems whose smallest eigenvalue may be small, from ``answer = M^-1 w`` for the random `probe` w.

    ``||M^-1 w||`` is at least ``|w'v| / eigenvalue`` for the eigenvector v; the margin between _SUSPECT and
    TRUSTED makes a miss a matter of ``|w'v| < 0.01``, and then of an eigenvalue just below TRUSTED.
    Neither the condition number nor `solve` would notice: near interpolation all of M is small.
    """
    return doubtful(np.square(answer).sum(axis=-1) * scale**2)


def doubtful(squares: FloatArray) -> BoolArray:
    """The same from the squared length of the answers."""
    found: BoolArray = np.logical_not(squares < 1.0 / _SUSPECT**2)  # NaN is doubtful, too
    return found


def smallest_eigenvalues(systems: FloatArray) -> FloatArray:
    """Smallest eigenvalue of each symmetric matrix."""
    return np.asarray(np.linalg.eigvalsh(systems)[..., 0], dtype=np.float64)
