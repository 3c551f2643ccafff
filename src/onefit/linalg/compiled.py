"""The compiled kernels, if they are there; every use of them has a twin in NumPy.

The environment variable ``ONEFIT_KERNEL`` set to "off" leaves them out, and set to "baseline", "AVX2" or "AVX-512"
allows instructions up to those.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import numpy as np

from ..typing import FloatArray, IntArray

_kernel: Any
try:
    _kernel = import_module("._kernel", __package__)
except ImportError:
    _kernel = None  # there was no compiler

__all__ = ["instructions", "is_on", "is_there", "moments", "switched", "systems"]

_SETTING = os.environ.get("ONEFIT_KERNEL", "on")
_state: dict[str, Any] = {"on": _kernel is not None and _SETTING != "off"}
_INSTRUCTIONS = _kernel.use(_SETTING) if _kernel is not None else ""


def is_on() -> bool:
    """Whether the compiled kernels are used."""
    return bool(_state["on"])


def is_there() -> bool:
    """Whether the compiled kernels were built."""
    return _kernel is not None


def instructions() -> str:
    """Which instructions the kernels use; empty if there are no kernels."""
    return _INSTRUCTIONS if is_on() else ""


@contextmanager
def switched(on: bool) -> Iterator[None]:
    """Use the kernels, or not, for a while: for tests and benchmarks."""
    before = _state["on"]
    _state["on"] = on and _kernel is not None
    try:
        yield
    finally:
        _state["on"] = before


def systems(
    grams: FloatArray, right: FloatArray, D: FloatArray, probe: FloatArray, sets: IntArray
) -> tuple[FloatArray, FloatArray]:
    """``(diag(D_v) - G_j - G_k)^-1 (b_j + b_k)`` for the folds ``sets`` (S, 2); k = -1 leaves out j alone.

    Parameters
    ----------
    grams : (L, K, d, d)
    right : (L, K, d, V, Q)
    D, probe : (V, d)
    sets : (S, 2)

    Returns
    -------
    solutions : (L, S, d, V, Q)
    squares : (L, S, V), the squared length, in the metric of D, of the solution for the probe
    """
    L, K, d, V, Q = right.shape
    change, squares = np.empty((L, len(sets), d, V, Q)), np.empty((L, len(sets), V))
    arrays = (np.ascontiguousarray(each, dtype=np.float64) for each in (grams, right, D, probe))
    _kernel.gram(*arrays, np.ascontiguousarray(sets, dtype=np.int64), change, squares, L, K, d, V, Q, len(sets))
    return change, squares


def moments(u: FloatArray, r: FloatArray, weights: FloatArray, sizes: IntArray) -> tuple[FloatArray, FloatArray]:
    """Mean and sum of squares about it, (F, O, C), over the rows of folds of ``weights (u + r)^2``.

    ``u`` is (F, m, O, C), ``r`` (F, m, C), ``weights`` (F, m); the first ``sizes`` (F,) rows of a fold are there.
    """
    F, m, others, C = u.shape
    mean, scatter = np.empty((2, F, others, C))
    arrays = (np.ascontiguousarray(each, dtype=np.float64) for each in (u, r, weights))
    _kernel.moments(*arrays, np.ascontiguousarray(sizes, dtype=np.int64), mean, scatter, F, m, others, C)
    return mean, scatter
