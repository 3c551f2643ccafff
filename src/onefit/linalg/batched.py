"""Many small positive definite systems at once, each checked for closeness to singularity."""

from __future__ import annotations

from contextlib import suppress
from functools import lru_cache

import numpy as np
from scipy.linalg import lapack

from ..typing import BoolArray, FloatArray

__all__ = [
    "TRUSTED",
    "doubtful",
    "error_scale",
    "error_scale_of",
    "inverse_roots",
    "inverses",
    "is_trusted",
    "probe",
    "smallest_eigenvalues",
    "solve",
    "solve_definite",
    "solve_penalized",
    "suspects",
]

TRUSTED = 1e-5
"""Smallest eigenvalue, relative to the accuracy of the entries, down to which a system is trusted."""

_SUSPECT = 1e-3

LEAST_FACTORED = 32
"""From this size on Cholesky's factorization, system by system, is faster than elimination in one call for all."""

_DIGITS = 1e-8
"""How much of the held-out residuals the rounding errors of y may be magnified to."""

_MARGIN = 100.0
"""How much larger the errors of rows of little weight may be than y's: those of the basis are divided by roots, too."""

_MOST = 0.1
"""Above this eigenvalue a refit would hardly be more accurate, whatever y is."""


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


def inverses(systems: FloatArray) -> FloatArray:
    """Inverses of systems (S, d, d), each by itself; NaN where one is singular to the last bit."""
    try:
        return np.asarray(np.linalg.inv(systems), dtype=np.float64)
    except np.linalg.LinAlgError:
        found = np.full(systems.shape, np.nan)
        for index, system in enumerate(systems):
            with suppress(np.linalg.LinAlgError):
                found[index] = np.linalg.inv(system)
        return found


def solve_definite(systems: FloatArray, right: FloatArray) -> FloatArray:
    """The same for symmetric positive definite systems (S, p, p), which are overwritten; NaN where they are not."""
    if systems.shape[-1] < LEAST_FACTORED:
        return solve(systems, right)
    solution = np.empty(right.shape)
    for index, system in enumerate(systems):
        _, found, failed = lapack.dposv(system.T, right[index], lower=1, overwrite_a=1)
        solution[index] = np.nan if failed else found
    return solution


def solve_penalized(systems: FloatArray, penalty: FloatArray, right: FloatArray) -> FloatArray:
    """The same with ``penalty`` (S, p) added to the diagonals; the systems are left as they are."""
    at = np.arange(systems.shape[-1])
    if systems.shape[-1] < LEAST_FACTORED:
        held = systems.copy()
        held[:, at, at] += penalty
        return solve(held, right)
    solution, held = np.empty(right.shape), np.empty(systems.shape[1:])
    for index, system in enumerate(systems):
        np.copyto(held, system)
        held[at, at] += penalty[index]
        _, found, failed = lapack.dposv(held.T, right[index], lower=1, overwrite_a=1)
        solution[index] = np.nan if failed else found
    return solution


def inverse_roots(squares: FloatArray) -> FloatArray:
    """``1 / sqrt``; zero for what is zero, as the coefficient of a column without a length is."""
    is_seen = squares > 0
    found: FloatArray = np.where(is_seen, 1.0 / np.sqrt(np.where(is_seen, squares, 1.0)), 0.0)
    return found


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
    with np.errstate(over="ignore"):  # what overflows is doubtful
        return doubtful(np.square(answer * scale).sum(axis=-1))


def doubtful(squares: FloatArray, scale: float | FloatArray = 1.0) -> BoolArray:
    """The same from the squared length of the answers, which may be infinite; the square of a scale may be zero."""
    with np.errstate(over="ignore", invalid="ignore"):
        found: BoolArray = np.logical_not(np.sqrt(squares) * scale < 1.0 / _SUSPECT)  # NaN is doubtful, too
    return found


def error_scale(y: FloatArray, r: FloatArray, diagonal: FloatArray, root: FloatArray | None = None) -> FloatArray:
    """Size of the errors of a residual operator ``A = I - H`` in units of the machine's precision, (V,); at least one.

    The residuals ``r = y - Hy`` (V, n, Q) have the rounding errors of y (n, Q), and ``A_JJ^-1`` magnifies them by the
    inverse of its smallest eigenvalue, where a refit would not. That does not matter unless y is far larger than the
    held-out residuals, whose size is that of ``r`` over the ``diagonal`` (V, n) of A. All are times the roots of the
    weights, ``root`` (n,) if there are any: then the errors also count without them, where a row of little weight has
    them as many times larger.
    """
    trusted = np.maximum(diagonal, TRUSTED)
    size = np.sqrt(np.einsum("nq,nq->q", y, y))
    # sums of products, without a table of the residuals over the diagonal: with many outputs it is large
    scale = error_scale_of(size, np.sqrt(np.einsum("vnq,vnq,vn->vq", r, r, np.square(1.0 / trusted))))
    if root is None or not (root > 0).any():
        return scale
    left = r / trusted[..., None]
    counted = root > 0
    # a row of the basis is the root of its leverage long, over the root of its weight
    reach = np.sqrt(np.maximum(1.0 - diagonal[:, counted], 0.0)) / root[counted]
    largest = np.abs(left[:, counted] / root[counted, None]).max(axis=1)  # (V, Q)
    by_rows = error_scale_of(_MARGIN * size, largest / np.maximum(reach.max(axis=1), 1e-300)[:, None])
    return np.maximum(scale, by_rows)


def error_scale_of(size: FloatArray, held_out: FloatArray) -> FloatArray:
    """The same from the lengths of y, (Q,), and of the held-out residuals, (V, Q)."""
    lost = np.finfo(float).eps * size
    least = np.where(lost < _MOST * _DIGITS * held_out, lost / np.where(held_out > 0, _DIGITS * held_out, 1.0), _MOST)
    scale: FloatArray = np.maximum(np.where(lost > 0, least, 0.0).max(axis=1) / TRUSTED, 1.0)
    return scale


def smallest_eigenvalues(systems: FloatArray) -> FloatArray:
    """Smallest eigenvalue of each symmetric matrix."""
    return np.asarray(np.linalg.eigvalsh(systems)[..., 0], dtype=np.float64)


def is_trusted(system: FloatArray) -> bool:
    """Whether the smallest eigenvalue of a symmetric matrix is above `TRUSTED`; a factor takes a tenth of the work."""
    if not system.size:
        return True
    held = np.array(system, order="F")
    held[np.diag_indices(len(held))] -= TRUSTED
    factor, failed = lapack.dpotrf(held, lower=1, overwrite_a=1, clean=0)
    return failed == 0 and bool(np.isfinite(factor[-1, -1]))
