"""From held-out residuals to e_in and e_out, one training set at a time."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

__all__ = ["Errors", "HeldOut", "sweep"]

Errors = tuple[NDArray[np.float64], NDArray[np.float64]]
HeldOut = Callable[[NDArray[np.intp]], NDArray[np.float64]]
"""Residuals at the given rows of the fit that does without them."""


def sweep(held_out: HeldOut, folds: NDArray[np.intp]) -> Errors:
    """(e_in, e_out), both (repeats, folds), from every single fold and every pair of folds held out."""
    n_repeats, n_folds = len(folds), int(folds.max()) + 1
    e_in, e_out = np.empty((n_repeats, n_folds)), np.empty((n_repeats, n_folds))
    for repeat, ids in enumerate(folds):
        e_in[repeat], e_out[repeat] = _one_partition(held_out, ids, n_folds)
    return e_in, e_out


def _one_partition(held_out: HeldOut, ids: NDArray[np.intp], n_folds: int) -> Errors:
    members = [np.flatnonzero(ids == j) for j in range(n_folds)]
    sizes = np.array([len(rows) for rows in members])
    e_out = np.array([np.mean(held_out(rows) ** 2) for rows in members])
    inner = np.zeros(n_folds)
    for j, k in combinations(range(n_folds), 2):
        loss = held_out(np.concatenate([members[j], members[k]])) ** 2
        inner[k] += loss[: sizes[j]].sum()
        inner[j] += loss[sizes[j] :].sum()
    return inner / (len(ids) - sizes), e_out
