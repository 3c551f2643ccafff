"""Criteria of a fit to very many rows: from a pass over them that was made anyway, and one more for leave-one-out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import linalg

from ..linalg.columns import Columns
from ..linalg.precondition import Coordinates, rotate
from ..linalg.reinsch import middle_penalty
from ..linalg.tall import row_blocks
from ..typing import FloatArray
from .single import criterion_values, edf
from .spectrum import NEARLY_REACHED, Spectrum

__all__ = ["AllRows", "criteria_of_all_rows"]

CANCELS = 1e-6
"""Part of the pilot's squares below which what is left of them is a difference of which too few digits remain."""

LEAST_SEEN = 1e-8
"""Part of a direction that the data must have: below it, its eigenvalue has few digits in these coordinates."""


@dataclass(frozen=True)
class AllRows:
    """What a pass over all rows told: products of rows ``(Z, r)`` with themselves, r the residuals of the pilot."""

    coordinates: Coordinates
    products: FloatArray

    def rotated(self, tau: float, most: float) -> _Rotated | None:
        """In coordinates in which data and penalty are diagonal, up to a penalty; None if that would lose digits."""
        T = self.coordinates.T
        d, k = T.shape[1], len(T) - self.coordinates.n_penalized
        rotation = rotate(self.products[:d, :d], self.coordinates.root_penalty, tau, k, most)
        if rotation is None or rotation.x.min() < LEAST_SEEN:
            return None
        right = rotation.B.T @ self.products[:d, d:]
        return _Rotated(T @ rotation.B, rotation.x, rotation.s, right, self.coordinates.pilot, k)


@dataclass(frozen=True)
class _Rotated:
    """``Z'WZ = diag(x)``, penalty ``diag(s)``, zero in the first ``n_free``; ``right = Z'Wr``, r those of the pilot."""

    T: FloatArray
    x: FloatArray
    s: FloatArray
    right: FloatArray
    pilot: FloatArray
    n_free: int

    def spectrum(self, squares: FloatArray, n: int, n_rows: int, constant: float) -> Spectrum:
        """Directions of the fit, given the pilot's squared residuals (Q,)."""
        k = self.n_free
        of_pilot = linalg.solve(self.T, self.pilot)
        gamma = (self.right + self.x[:, None] * of_pilot) / np.sqrt(self.x)[:, None]
        rest = squares - (np.square(self.right) / self.x[:, None]).sum(axis=0)
        return Spectrum(
            mu=(self.x[k:] / self.s[k:])[None],
            gamma=gamma[None, k:],
            rest=np.maximum(rest, 0.0)[None],
            spare=np.array([float(n - len(self.x))]),
            n=np.array([float(n)]),
            n_rows=np.array([float(n_rows)]),
            constant=np.array([constant]),
        )

    def coefficients(self, lams: FloatArray) -> FloatArray:
        """Of the columns at each penalty, (p, V, Q)."""
        r = len(self.T) - self.n_free
        held = self.T[:r].T @ self.pilot[:r]
        D = self.x[:, None] + self.s[:, None] * lams
        step = (self.right[:, None] - lams[:, None] * held[:, None]) / D[..., None]
        coefficients: FloatArray = self.pilot[:, None] + np.einsum("pd,dvq->pvq", self.T, step, optimize=True)
        return coefficients


def criteria_of_all_rows(
    known: AllRows,
    block: Callable[[slice], Columns],
    y: FloatArray,
    weights: FloatArray | None,
    lams: FloatArray,
    names: Sequence[str],
) -> tuple[FloatArray, dict[str, FloatArray]] | None:
    """Degrees of freedom (V,) and criteria (V, Q) by name; None if they would lose digits.

    A row that the fit all but reaches is for the decomposition of the rows.
    """
    n, Q = y.shape
    if not lams.min() > 0:
        return None
    rotated = known.rotated(middle_penalty(lams), float(lams.max()))
    if rotated is None or not (rotated.s[rotated.n_free :] > 0).all():
        return None
    found = _second_pass(rotated, block, y, weights, lams)
    if found is None:
        return None
    loo, free = found
    log_weights = 0.0 if weights is None else float(np.log(weights).sum())
    constant = (float(np.linalg.slogdet(free)[1]) - log_weights) / 2
    squares = np.diagonal(known.products[-Q:, -Q:])
    spectrum = rotated.spectrum(squares, n, n, constant)
    if not (spectrum.rest[0] > CANCELS * squares).all():
        return None
    tables = {name: criterion_values(spectrum, lams[None], name)[0] for name in names if name != "loo"}
    return edf(spectrum, lams[None])[0], tables | {"loo": loo}


def _second_pass(
    rotated: _Rotated,
    block: Callable[[slice], Columns],
    y: FloatArray,
    weights: FloatArray | None,
    lams: FloatArray,
) -> tuple[FloatArray, FloatArray] | None:
    """Leave-one-out (V, Q), and the Gram matrix of the free columns; None if a row is nearly reached by the fit."""
    (n, Q), V = y.shape, len(lams)
    d = rotated.T.shape[1]
    maps = np.hstack([rotated.T, rotated.coefficients(lams).reshape(-1, V * Q)])
    shrink = 1.0 / (rotated.x[:, None] + rotated.s[:, None] * lams)
    total, free = np.zeros((V, Q)), np.zeros((rotated.n_free, rotated.n_free))
    for rows in row_blocks(n, len(rotated.T) + V * Q):
        columns = block(rows)
        w = None if weights is None else weights[rows, None]
        product = columns.times(maps)
        Z, residuals = product[:, :d], product[:, d:].reshape(-1, V, Q)  # views
        left = np.square(Z, out=Z) @ shrink
        np.subtract(1.0, left if w is None else w * left, out=left)
        if left.min() < NEARLY_REACHED:
            return None
        np.subtract(y[rows, None], residuals, out=residuals)
        residuals /= left[..., None]
        if w is not None:
            residuals *= np.sqrt(w)[..., None]
        total += np.einsum("nvq,nvq->vq", residuals, residuals)
        free += columns.N.T @ (columns.N if w is None else w * columns.N)
    return total / n, free
