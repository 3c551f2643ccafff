"""Coordinates in which the Gram matrix of many rows has all its digits, from a sample of the rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from ..typing import FloatArray, IntArray
from . import compiled
from .columns import Columns, norms
from .reinsch import along_penalty, scale_of

__all__ = ["Coordinates", "Rotation", "precondition", "rotate", "sample_rows", "whiten"]

SAMPLE_ROWS = 4096
"""Rows of the sample, at least; and at least SAMPLE_WIDTHS for each column."""

SAMPLE_WIDTHS = 8

SEED = 20261117

FLOOR = 1e-3
"""Part of a column's length that the coordinates take for granted: so they never magnify rounding errors by more."""

LEAST_SEEN = 1e-6
"""Part of the sample's largest direction below which the pilot leaves one alone."""

ORTHOGONAL = 10.0
"""Condition of columns of one length below which they are good coordinates themselves."""

MOST_CONDITION = 1e4
"""Of the Gram matrix of all rows in these coordinates; digits are lost in its proportion."""


@dataclass(frozen=True)
class Coordinates:
    """``Z = (E N) T``, nearly orthonormal with the penalty; and the coefficients of a fit to the sample.

    ``T`` is (r + k, r + k) and upper triangular, ``pilot`` (r + k, Q), and the first ``n_penalized`` columns carry the
    penalty, about ``tau``. If it ``is_diagonal``, columns are scaled only.
    """

    T: FloatArray
    pilot: FloatArray
    n_penalized: int
    tau: float
    is_diagonal: bool = False

    def put(self, columns: Columns, y: FloatArray, rows: FloatArray) -> None:
        """Write rows of Z and of the residuals of the pilot fit, (n, r + k + Q); ``rows`` are contiguous."""
        if self.is_diagonal and y.shape[1] == 1 and compiled.is_on():
            compiled.project(columns.E, columns.N, y, np.diag(self.T), self.pilot, rows)
            return
        self._put_coordinates(columns, rows[:, : -y.shape[1]])
        rows[:, -y.shape[1] :] = y - columns.times(self.pilot)

    def _put_coordinates(self, columns: Columns, Z: FloatArray) -> None:
        if self.is_diagonal:
            scale, r = np.diag(self.T), self.n_penalized
            np.multiply(columns.E, scale[:r], out=Z[:, :r])
            np.multiply(columns.N, scale[r:], out=Z[:, r:])
        else:
            Z[:] = columns.times(self.T)

    @property
    def penalty(self) -> FloatArray:
        """The penalty matrix at one unit of lam."""
        return self.root_penalty.T @ self.root_penalty

    @property
    def root_penalty(self) -> FloatArray:
        """The penalty's factor, (r, r + k): it has the digits of directions that the penalty holds little."""
        return self.T[: self.n_penalized]


def sample_rows(n: int, width: int, least: int = SAMPLE_ROWS, per_column: int = SAMPLE_WIDTHS) -> IntArray:
    """Rows to make coordinates from, drawn from a fixed seed: at equal distances they might all be alike."""
    size = min(n, max(least, per_column * width))
    return np.sort(np.random.default_rng(SEED).choice(n, size, replace=False))


def precondition(sample: Columns, y: FloatArray, share: float, tau: float, smallest: float) -> Coordinates:
    """From a weighted sample of rows, ``share`` of all; ``tau`` is in the middle of the penalties.

    No direction counts for less than `FLOOR`, as a sample may miss what few rows have; how good the coordinates are is
    seen when all rows are in them.
    """
    design = np.hstack([sample.E, sample.N])
    r = sample.E.shape[1]
    size = norms(design) / np.sqrt(share)
    size = np.where(size > 0, size, 1.0)  # what is not in the sample is seen when all rows are
    scaled = design / (np.sqrt(share) * size)
    held = np.zeros(len(size))
    held[:r] = np.sqrt(tau) / size[:r]
    R = linalg.qr(np.vstack([scaled, np.diag(held), FLOOR * np.eye(len(size))]), mode="r", check_finite=False)[0]
    T = linalg.solve_triangular(R[: len(size)], np.eye(len(size)))
    is_diagonal = bool(np.linalg.norm(R, 2) * np.linalg.norm(T, 2) < ORTHOGONAL)
    T = np.diag(1.0 / size) if is_diagonal else T / size[:, None]
    # the pilot is as close a fit as there will be: held-out residuals are then no small differences of large ones; but
    # what the sample hardly sees would be a fit to its rounding errors
    held[:r] = np.sqrt(smallest) / size[:r]
    right = np.vstack([y / np.sqrt(share), np.zeros((len(size), y.shape[1]))])
    stacked = np.vstack([scaled, np.diag(held)])
    pilot = linalg.lstsq(stacked, right, cond=LEAST_SEEN, lapack_driver="gelsy", check_finite=False)[0]
    return Coordinates(T, pilot / size[:, None], r, tau, is_diagonal)


@dataclass(frozen=True)
class Rotation:
    """``Z B`` with a diagonal Gram matrix ``x`` and a diagonal penalty ``s``: Demmler-Reinsch from small matrices."""

    B: FloatArray
    x: FloatArray
    s: FloatArray

    def scale(self, lam: float) -> FloatArray:
        """Column scales g with which the hat matrix is that of orthonormal columns."""
        return scale_of(self.x, self.s, lam)


def whiten(M: FloatArray) -> FloatArray | None:
    """An upper triangular A with ``A'MA = I``; None if digits would be lost.

    Scales of the coordinates cost no digits, so the condition is that of M with a unit diagonal.
    """
    size = np.sqrt(np.diag(M))
    if not (size > 0).all():
        return None
    scaled = M / np.multiply.outer(size, size)
    values = linalg.eigvalsh(scaled, check_finite=False)
    if not values[0] * MOST_CONDITION > values[-1]:
        return None
    L = linalg.cholesky(scaled, lower=True)
    A: FloatArray = linalg.solve_triangular(L, np.eye(len(M)), lower=True).T / size[:, None]
    return A


def rotate(G: FloatArray, F: FloatArray, tau: float, n_free: int, most: float) -> Rotation | None:
    """Diagonalize the Gram matrix G and the penalty F'F of some coordinates together; None if digits would be lost.

    About a penalty tau; ``most`` is the largest that will be asked for.
    """
    A = whiten(G + tau * (F.T @ F))
    if A is None:
        return None
    B, s = along_penalty(A, lambda columns: F.T @ (F @ columns), tau, most)
    s[:n_free] = 0.0  # the free directions, which a large penalty must not find
    x = np.einsum("ij,ij->j", B, G @ B)
    return Rotation(B, np.maximum(x, 0.0), np.maximum(s, 0.0))
