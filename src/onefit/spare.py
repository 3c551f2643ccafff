"""Memory for blocks of rows that is used again when nobody looks at it any more.

A block of rows is a few megabytes, and every pass makes and drops millions of them. What is dropped goes back to the
operating system, at once on workers of Dask, whose allocator is told to; and memory that is touched for the first time
takes longer than what is computed with it.
"""

from __future__ import annotations

import weakref
from collections import deque
from math import prod
from threading import Lock

import numpy as np

from .typing import FloatArray

__all__ = ["spare_table"]

LEAST, MOST = 2**17, 2**24
"""Bytes of the tables that are worth it."""

KEPT = 8
"""Buffers that are kept of each size; sizes are powers of two."""

_free: dict[int, deque[FloatArray]] = {}
_lock = Lock()


def spare_table(*shape: int) -> FloatArray:
    """A table like that of `numpy.empty`, contiguous and of doubles."""
    count = prod(shape)
    if not LEAST <= 8 * count <= MOST:
        return np.empty(shape)
    size = 1 << (count - 1).bit_length()
    with _lock:
        kept = _free.setdefault(size, deque(maxlen=KEPT))
        buffer = kept.pop() if kept else None
    if buffer is None:
        buffer = np.empty(size)
    # every view of the table holds it, not the buffer, which is behind another kind of object
    table: FloatArray = np.frombuffer(buffer.data, dtype=np.float64, count=count)
    weakref.finalize(table, kept.append, buffer).atexit = False
    return table.reshape(shape)
