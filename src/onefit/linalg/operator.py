"""The residual operator of a fit on all rows, from which rows are deleted by Schur complements."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..typing import BoolArray, FloatArray, IntArray
from .batched import TRUSTED, error_scale

__all__ = ["Operator", "dual_operator", "primal_operator", "row_scales"]


@dataclass(frozen=True)
class Operator:
    """A matrix M and a vector r with ``v_J = M_JJ^-1 r_J`` and held-out residuals ``u = v / rho``.

    M is ``I - left right'`` (primal; ``A = I - H`` if nothing is weighted), or it is stored (a multiple of A in its
    dual form). Row n is padding: zero in M, with `scale` on its diagonal.

    Attributes
    ----------
    left, right : (n + 1, d) or None
    stored : (n + 1, n + 1) or None
    r : (n + 1, Q)
    rho : (n + 1,) scales of the rows: the roots of their weights, or one for rows of no weight
    light : (n + 1,) rows of no weight: nothing depends on them
    scale : size of the errors in the entries, in units of the machine's precision
    least : smallest eigenvalue of blocks that can be trusted, whatever the errors in the entries
    """

    left: FloatArray | None
    right: FloatArray | None
    stored: FloatArray | None
    r: FloatArray
    rho: FloatArray
    light: BoolArray
    scale: float
    least: float = 0.0

    @property
    def trusted_scale(self) -> float:
        """The scale of errors by which blocks are judged."""
        return max(self.scale, self.least / TRUSTED)

    @property
    def is_symmetric(self) -> bool:
        """Whether M equals its transpose."""
        return not self.light[:-1].any()

    @property
    def light_squares(self) -> FloatArray:
        """Squared lengths of the rows of no weight in the basis of the hat matrix, or of their rows of it."""
        rows = np.flatnonzero(self.light)
        if self.left is None:
            assert self.stored is not None
            lengths = self.stored[np.ix_(rows, np.flatnonzero(~self.light))] / self.scale
        else:
            lengths = self.left[rows]
        squares: FloatArray = np.square(lengths).sum(axis=1)
        return squares

    @property
    def width(self) -> int:
        """Numbers that must be read to make a row of M, if it is not stored."""
        return 0 if self.left is None or self.stored is not None else int(self.left.shape[1])

    def blocks(self, rows: IntArray, columns: IntArray) -> FloatArray:
        """Off-diagonal blocks M[rows, columns]; leading axes broadcast, no row is in both."""
        if self.stored is not None:
            return self.stored[rows[..., :, None], columns[..., None, :]]
        assert self.left is not None
        assert self.right is not None
        return -(self.left[rows] @ self.right[columns].swapaxes(-1, -2))

    def diagonal_blocks(self, rows: IntArray) -> FloatArray:
        """Blocks M[rows, rows]."""
        blocks = self.blocks(rows, rows)
        index = np.arange(rows.shape[-1])
        padding = rows == len(self.r) - 1
        if self.stored is None:
            blocks[..., index, index] += 1.0
        blocks[..., index, index] = np.where(padding, self.scale, blocks[..., index, index])
        return blocks

    def diagonal(self) -> FloatArray:
        """The n diagonal entries of M."""
        if self.stored is not None:
            return np.diag(self.stored)[:-1].copy()
        assert self.left is not None
        assert self.right is not None
        own: FloatArray = 1.0 - np.einsum("ij,ij->i", self.left[:-1], self.right[:-1])
        return own


def row_scales(weights: FloatArray | None, n: int) -> tuple[FloatArray, FloatArray, BoolArray]:
    """Weights, the scales rho that make ``I - ZZ'W`` symmetric, and the rows of no weight, which have none."""
    w = np.ones(n) if weights is None else weights
    light: BoolArray = w == 0
    return w, np.where(light, 1.0, np.sqrt(w)), light


def primal_operator(Z: FloatArray, y: FloatArray, weights: FloatArray | None, most_stored: float) -> Operator:
    """From the rows Z of a basis in which the hat matrix is ``ZZ'W``.

    ``(I - ZZ'W)_JJ u_J = r_J``, made symmetric by the roots of the weights where they are not zero.
    """
    n = len(y)
    w, rho, light = row_scales(weights, n)
    r = np.zeros((n + 1, y.shape[1]))
    residuals = np.matmul(Z, Z.T @ (y if weights is None else w[:, None] * y), out=r[:-1])
    np.subtract(y, residuals, out=residuals)
    left = _padded(rho[:, None] * Z)
    right = left if not light.any() else _padded((w / rho)[:, None] * Z)
    stored = None
    if 8 * (n + 1) ** 2 <= most_stored:
        stored = -(left @ right.T)
        stored[np.diag_indices(n)] += 1.0  # but not the padding's: it is in several folds
    diagonal = 1.0 - np.einsum("ij,ij->i", left[:-1], right[:-1])
    if weights is None:
        scale = float(error_scale(y, residuals[None], diagonal[None])[0])
    else:
        root = np.sqrt(w)
        scale = float(error_scale(root[:, None] * y, (root[:, None] * residuals)[None], diagonal[None], root)[0])
        residuals *= rho[:, None]
    return Operator(left, right, stored, r, np.append(rho, 1.0), np.append(light, False), scale)


def dual_operator(
    Q: FloatArray, y: FloatArray, root: FloatArray, light: BoolArray, hat: FloatArray, least: float
) -> Operator:
    """From Q of the rows that have weight, and the prediction weights ``hat`` of those that have none.

    ``root`` are the roots of the weights of all rows; Q and ``hat`` act on y times them. Blocks of Q with eigenvalues
    below ``least`` are not to be trusted.
    """
    n, seen = len(y), np.flatnonzero(~light)
    without = np.flatnonzero(light)
    scale = float(np.diag(Q).max())
    weighted = root[seen, None] * y[seen]
    stored = np.zeros((n + 1, n + 1))
    r = np.zeros((n + 1, y.shape[1]))
    stored[np.ix_(seen, seen)], r[seen] = Q, Q @ weighted
    stored[np.ix_(without, seen)], r[without] = -scale * hat, scale * (y[without] - hat @ weighted)
    stored[without, without] = scale
    rho = np.append(np.where(light, 1.0, root), 1.0)
    return Operator(None, None, stored, r, rho, np.append(light, False), scale, least)


def _padded(values: FloatArray) -> FloatArray:
    return np.vstack([values, np.zeros(values.shape[1])])
