"""Doubles as exact numbers: matrices of balls (python-flint), sizes, and ranks modulo a prime."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from flint import arb_mat, nmod_mat

__all__ = ["as_balls", "exponent", "has_full_rank"]

PRIME = 2**61 - 1
"""A rank modulo this prime is the rank, but for a chance of about 1e-17."""


def as_balls(values: np.ndarray) -> arb_mat:
    """A matrix of doubles, exactly."""
    matrix = np.asarray(values, dtype=float)
    return arb_mat(matrix.shape[0], matrix.shape[1], matrix.ravel().tolist())


def exponent(value: float) -> int:
    """The power of two just above a number; zero for zero."""
    return int(np.frexp(value)[1]) if value else 0


def has_full_rank(rows: Sequence[np.ndarray]) -> bool:
    """Whether the columns of stacked matrices of doubles are linearly independent, exactly."""
    stacked = np.vstack([np.asarray(each, dtype=float) for each in rows])
    if stacked.shape[0] < stacked.shape[1]:
        return False
    residues = [[_residue(value) for value in row] for row in stacked.tolist()]
    return int(nmod_mat(residues, PRIME).rank()) == stacked.shape[1]


def _residue(value: float) -> int:
    numerator, denominator = value.as_integer_ratio()
    return numerator % PRIME * pow(denominator, -1, PRIME) % PRIME
