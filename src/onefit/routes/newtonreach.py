"""How much of the coefficients single rows see, beside the curvatures by which training sets are judged converged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import linalg, sparse

from ..linalg.weights import MOST_RATIO
from ..typing import BoolArray, FloatArray
from .engine import per_block
from .newtonbatch import NewtonSets
from .newtonparts import dense, mapped

__all__ = ["Reach", "are_usual"]

RIDGE = 1e-10
"""Part of the diagonal that is added to a Hessian for directions that no row has."""


@dataclass(frozen=True)
class Reach:
    """The largest ``x'B^-1 x``, x the gradients of predictors of all rows, and the matrix B (d, d).

    Notes
    -----
    What is left of the error e of coefficients is known as ``e'He`` over the sum of curvatures, H the Hessian of a
    training set. In a predictor it is, squared, up to ``x'H^-1 x`` times that sum as large, and ``x'H^-1 x`` is at most
    ``most tr(H^-1 B)`` for any B. Of rows of even weights the product is about the number of columns; what light rows
    alone determine they see by the ratio of the weights, with the rounding errors of the others' gradients there.
    """

    B: FloatArray
    most: float

    @classmethod
    def of(cls, B: FloatArray, basis: FloatArray, design: FloatArray | sparse.csr_matrix) -> Reach:
        """That of a design (n, q) with predictors ``basis gamma x``; B may be nearly singular."""
        d = np.diag(B)
        scale = np.where(d > 0, 1.0 / np.sqrt(np.where(d > 0, d, 1.0)), 1.0)
        safe = B + np.diag(np.where(d > 0, RIDGE * d, 1.0))
        P, c = basis.shape
        q = len(B) // c
        try:
            factor = linalg.cho_factor(safe * np.multiply.outer(scale, scale), lower=True)
        except linalg.LinAlgError:
            return cls(safe, np.inf)
        inverse = linalg.cho_solve(factor, np.diag(scale)) * scale[:, None]
        squares = np.einsum("pa,aibj,pb->pij", basis, inverse.reshape(c, q, c, q), basis)
        most, step = 0.0, per_block(8 * q * P)
        for start in range(0, design.shape[0], step):
            part = dense(design[start : start + step])
            seen = np.einsum("pni,ni->pn", np.matmul(part[None], squares), part)
            most = max(most, float(seen.max(initial=0.0)))
        return cls(safe, most)

    def traces(self, sets: NewtonSets, some: slice) -> FloatArray:
        """Of the inverses of Hessians of some training sets, with their penalties, times B in their columns."""
        maps = None if sets.maps is None else sets.maps[: some.stop - some.start]
        return sets.hessians.traces(sets.penalty, mapped(self.B[None], maps), some)


def are_usual(reaches: Sequence[Reach], sets: NewtonSets) -> BoolArray:
    """Training sets (S,), value by value, no row sees more of than rows do whose weights are not uneven."""
    T = len(sets.penalty) // len(reaches)
    squares = np.concatenate(
        [each.most * each.traces(sets, slice(at * T, (at + 1) * T)) for at, each in enumerate(reaches)]
    )
    return np.asarray(squares * sets.curvature <= np.sqrt(MOST_RATIO) * sets.hessians.pieces.shape[1])
