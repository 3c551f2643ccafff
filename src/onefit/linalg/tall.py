"""Questions about designs with many rows that their Gram matrix answers, so that no decomposition is needed."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from scipy import linalg

from ..typing import FloatArray

__all__ = ["EPS", "is_far_from_singular", "norms", "row_blocks"]

EPS = float(np.finfo(float).eps)

BLOCK = 2**17
"""Numbers in a block of rows: what the caches hold."""

SAFE_SQUARES = 1e-200, 1e200
"""Sums of squares between these have neither overflowed nor lost anything."""

LEAST_ROWS = 8
"""Rows a column from which a Gram matrix costs much less than a decomposition."""

LEAST_EIGENVALUE = 1e-6
"""Far above the rounding errors of a Gram matrix with a unit diagonal."""


def row_blocks(n: int, width: int) -> Iterator[slice]:
    """Rows in blocks that the caches hold."""
    step = max(1, BLOCK // max(width, 1))
    return (slice(start, min(start + step, n)) for start in range(0, n, step))


def norms(columns: FloatArray) -> FloatArray:
    """Euclidean norm of each column, safe from overflow; in blocks, so that nothing of their size is made."""
    width = columns.shape[1]
    with np.errstate(over="ignore"):
        squares = sum((np.einsum("ij,ij->j", part, part) for part in _parts(columns)), start=np.zeros(width))
    low, high = SAFE_SQUARES
    if ((squares > low) & (squares < high)).all():
        return np.asarray(np.sqrt(squares))
    largest = np.maximum(columns.max(axis=0, initial=0.0), -columns.min(axis=0, initial=0.0))
    scale = np.where(largest > 0, largest, 1.0)
    scaled = (part / scale for part in _parts(columns))
    squares = sum((np.einsum("ij,ij->j", part, part) for part in scaled), start=np.zeros(width))
    lengths: FloatArray = largest * np.sqrt(squares)
    return lengths


def _parts(columns: FloatArray) -> Iterator[FloatArray]:
    return (columns[rows] for rows in row_blocks(*columns.shape))


def is_far_from_singular(
    block: Callable[[slice], FloatArray], n: int, width: int, size: FloatArray | None = None
) -> bool:
    """Whether columns, scaled to one length, are surely far from linear dependence; ``block`` has them in some rows.

    False says nothing: then only a decomposition can tell, or there are so few rows that it costs as little. ``size``
    (width,) are the lengths that the columns would have without cancellation in their making: what is tiny against
    them is rounding error.
    """
    if n < LEAST_ROWS * width or not width:
        return False
    G = np.zeros((width, width))
    for rows in row_blocks(n, width):
        part = block(rows)
        G += part.T @ part
    length = np.sqrt(np.diag(G))
    if not (np.isfinite(length).all() and (length > 0).all()):
        return False
    lost = 10 * EPS * (n if size is None else max(n, float(np.linalg.norm(np.maximum(size / length, 1.0)))))
    least = linalg.eigvalsh(G / np.multiply.outer(length, length), subset_by_index=(0, 0))[0]
    return bool(least > LEAST_EIGENVALUE and lost < LEAST_EIGENVALUE**0.5)
