"""Coordinates of a model in which each of its penalties is the identity of its own part, and what none sees is free."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TypeAlias

import numpy as np
from scipy import linalg

from ..errors import DataError
from ..linalg.columns import norms
from ..typing import FloatArray, IntArray

__all__ = ["EPS", "Coordinates", "Roots", "coordinates_of"]

EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class Coordinates:
    """Coefficients ``b = both [v; a]`` in free and penalized coordinates; they do not depend on the data.

    Attributes
    ----------
    both : (d, d) the map
    k : number of free directions v
    terms : places of each term's part in a
    """

    both: FloatArray
    k: int
    terms: tuple[slice, ...]

    @cached_property
    def absolute(self) -> FloatArray:
        """Absolute values of the map of v, (d, k)."""
        return np.abs(self.both[:, : self.k])

    @cached_property
    def of_term(self) -> FloatArray:
        """Indicators (T, r): sums over the columns of each term are products with it."""
        indicators: FloatArray = (np.arange(len(self.terms))[:, None] == self.term).astype(np.float64)
        return indicators

    @cached_property
    def term(self) -> IntArray:
        """Term of each coordinate in a, (r,)."""
        return np.repeat(np.arange(len(self.terms)), [own.stop - own.start for own in self.terms])


Roots: TypeAlias = tuple[FloatArray, ...] | Coordinates


def coordinates_of(roots: Roots, d: int) -> Coordinates:
    """Coordinates in which every root is the identity of its own part.

    Every function that takes roots takes these in their place: many problems with the same penalties share them.

    Parameters
    ----------
    roots : tuple of (r_t, d)
        Of full row rank, each on its own columns.
    d : int

    Returns
    -------
    Coordinates

    Examples
    --------
    >>> import numpy as np
    >>> from onefit.criteria.coordinates import coordinates_of
    >>> coordinates_of((np.array([[0.0, 2.0]]),), 2).both.tolist()
    [[1.0, 0.0], [0.0, 0.5]]
    """
    if isinstance(roots, Coordinates):
        return roots
    others = np.ones(d, dtype=bool)
    free: list[FloatArray] = []
    penalized: list[FloatArray] = []
    for index, root in enumerate(roots):
        columns = np.flatnonzero((root != 0).any(axis=0))
        if not others[columns].all():
            raise DataError(f"Penalty {index} shares columns with another one; give each term columns of its own.")
        others[columns] = False
        inside, null = _basis(root[:, columns], index)
        for parts, part in ((penalized, inside), (free, null)):
            parts.append(np.zeros((d, part.shape[1])))
            parts[-1][columns] = part
    free.insert(0, np.eye(d)[:, others])
    ends = np.cumsum([0, *(len(root) for root in roots)])
    terms = tuple(slice(int(a), int(b)) for a, b in pairwise(ends))
    return Coordinates(np.hstack([*free, *penalized]), int(d - ends[-1]), terms)


def _basis(root: FloatArray, index: int) -> tuple[FloatArray, FloatArray]:
    """Right inverse (c, r) and null space (c, c - r) of a root; refuses one without full row rank."""
    r, c = root.shape
    Q, factor = linalg.qr(root.T, check_finite=False) if c else (np.zeros((0, 0)), np.zeros((0, r)))
    if r > c or (np.abs(factor.diagonal()) <= max(r, c) * EPS * norms(factor)).any():
        raise DataError(f"The rows of penalty root {index} are linearly dependent; give a root of full row rank.")
    return linalg.solve_triangular(factor[:r], Q[:, :r].T, check_finite=False).T, Q[:, r:]
