"""One decomposition for the whole path: Demmler-Reinsch from a stacked QR."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy import linalg

from ..typing import FloatArray, IntArray
from .columns import Columns
from .stacked import graded_qr
from .weights import is_light

__all__ = [
    "DenseBasis",
    "Diagonal",
    "Reinsch",
    "ReinschBasis",
    "along_penalty",
    "demmler_reinsch",
    "geometric_mean",
    "middle_penalty",
    "scale_of",
    "spans",
]


SMALL_PART = 1e-2
"""Squared length of a direction in the data below which the penalty does not say which direction it is."""

HELD_LITTLE = 1e-2
"""Part of the largest penalty of a direction below which others are told apart by themselves."""

SHARP = 2e-14
"""Times the root of the width: a deviation from orthonormal columns that costs no digits that matter."""


class ReinschBasis(Protocol):
    """Rows of Z, on demand; row n is padding and zero."""

    width: int

    def take(self, rows: IntArray) -> FloatArray:
        """Rows (..., d)."""

    def times(self, coefficients: FloatArray) -> FloatArray:
        """``Z c`` for all n rows."""

    def transpose_times(self, values: FloatArray) -> FloatArray:
        """``Z'v`` over all n rows."""


class Diagonal(Protocol):
    """Data and penalty in coordinates in which both are diagonal."""

    @property
    def x(self) -> FloatArray:
        """The data's part."""

    @property
    def s(self) -> FloatArray:
        """The penalty's part."""

    def scale(self, lam: float) -> FloatArray:
        """``(x + lam s)^(-1/2)``."""


class DenseBasis:
    """Z held in memory."""

    def __init__(self, Z: FloatArray) -> None:
        self.width = Z.shape[1]
        self.padded = np.empty((len(Z) + 1, self.width))  # in C order, whatever Z has
        self.padded[:-1], self.padded[-1] = Z, 0.0

    def take(self, rows: IntArray) -> FloatArray:
        """Rows (..., d)."""
        return self.padded[rows]

    def times(self, coefficients: FloatArray) -> FloatArray:
        """``Z c`` for all n rows."""
        return self.padded[:-1] @ coefficients

    def transpose_times(self, values: FloatArray) -> FloatArray:
        """``Z'v`` over all n rows."""
        return self.padded[:-1].T @ values


@dataclass(frozen=True)
class Reinsch:
    """Basis Z in which the data and the penalty are diagonal together.

    ``Z'WZ = diag(x)`` and the penalty is ``diag(s)``, so that the hat matrix at lam is
    ``Z diag(1/(x + lam s)) Z'W`` for every lam. ``x + lam s`` rather than ``1 + (lam - tau) s``: the latter
    cancels. The rows of Z are those of the design, without the weights W.
    """

    basis: ReinschBasis
    x: FloatArray
    s: FloatArray

    def scale(self, lam: float) -> FloatArray:
        """Column scales g with ``H = (Z g)(Z g)'W``."""
        return scale_of(self.x, self.s, lam)


def scale_of(x: FloatArray, s: FloatArray, lam: float) -> FloatArray:
    """``(x + lam s)^(-1/2)``; zero in a direction that neither data nor penalty hold."""
    D = x + lam * s
    scale: FloatArray = 1.0 / np.sqrt(np.where(D > 0, D, np.inf))
    return scale


def middle_penalty(lams: FloatArray) -> float:
    """Value about which a path of positive values is decomposed; zero if one is zero."""
    return geometric_mean(lams.tolist()) if lams.min() > 0 else 0.0


def spans(lams: FloatArray, most: float) -> list[IntArray]:
    """Values, in rising order, that share a basis: zeros, and others whose ratio is at most ``most``."""
    order = np.argsort(lams, kind="stable")
    zeros = order[lams[order] == 0]
    parts, rest = [zeros] if len(zeros) else [], order[len(zeros) :]
    while len(rest):
        count = int((lams[rest] <= most * lams[rest[0]]).sum())
        parts.append(np.sort(rest[:count]))
        rest = rest[count:]
    return parts


def geometric_mean(lams: Sequence[float]) -> float:
    """Value about which the path is decomposed."""
    return float(np.exp(np.mean(np.log(lams))))


def along_penalty(
    T: FloatArray, penalty: Callable[[FloatArray], FloatArray], tau: float, most: float
) -> tuple[FloatArray, FloatArray]:
    """``T V`` and s, in rising order, with V orthogonal so that ``V'T'PTV = diag(s)`` for ``penalty`` P times columns.

    Columns of T are orthonormal with the penalty tau; ``most`` is the largest that will be asked for. The errors of an
    eigendecomposition have the size of the largest s, in all others too. Far above tau they count as many times more in
    directions that the penalty holds little, so these are taken apart again, from what it is of them alone; and of
    these the next, as a spectrum may fall evenly over many decades.
    """
    s, V = linalg.eigh(T.T @ penalty(T), driver="evd")  # the default is less orthogonal where values are nearly equal
    T = T @ V
    size, little = len(s), _held_little(s)
    while 1 < little < size and _mixing(T, penalty, s, tau, most) > SHARP * np.sqrt(len(s)):
        part = T[:, :little]
        s[:little], V = linalg.eigh(part.T @ penalty(part), driver="evd")
        T[:, :little] = part @ V
        size, little = little, _held_little(s[:little])
    return T, s


def _held_little(s: FloatArray) -> int:
    """How many of some directions the penalty holds far less than the last of them."""
    return int((s < HELD_LITTLE * s[-1:]).sum())


def _mixing(T: FloatArray, penalty: Callable[[FloatArray], FloatArray], s: FloatArray, tau: float, lam: float) -> float:
    """How far ``I + (lam - tau) T'PT`` is from diagonal, scaled to ones, in its product with a random vector."""
    if not lam > tau:
        return 0.0
    scale = 1.0 / np.sqrt(1.0 + (lam - tau) * np.maximum(s, 0.0))
    probe = scale * np.random.default_rng(0).choice([-1.0, 1.0], size=len(s))
    off = T.T @ penalty((T @ probe)[:, None])[:, 0] - s * probe
    return float(np.abs((lam - tau) * scale * off).max(initial=0.0))


def demmler_reinsch(columns: Columns, lams: Sequence[float], weights: FloatArray | None = None) -> Reinsch:
    """Decompose ``[W^1/2 (E N); sqrt(tau) I 0] = QR`` and rotate Q so that its lower block is diagonal.

    Never from normal equations: those square the condition number. ``tau`` is the geometric mean of the
    values; with one value the rotation is not needed, as ``x + tau s = 1``.
    """
    (n, r), k = columns.E.shape, columns.N.shape[1]
    stacked = np.zeros((n + r, r + k))
    stacked[:n, :r], stacked[:n, r:] = columns.E, columns.N
    design = stacked[:n].copy() if weights is not None and is_light(weights).any() else None
    if weights is not None:
        stacked[:n] *= np.sqrt(weights)[:, None]
    tau = geometric_mean(lams) if r else 0.0
    stacked[n + np.arange(r), np.arange(r)] = np.sqrt(tau)
    if design is None or weights is None:
        Q = linalg.qr(stacked, mode="economic", overwrite_a=True, check_finite=False)[0]
        Z = Q[:n] if weights is None else Q[:n] / np.sqrt(weights)[:, None]
    else:  # an ordinary Q has errors of the size of the heaviest rows in all others, whose weights then divide them
        Q, R, order = graded_qr(stacked)
        unseen = weights == 0
        Z = Q[:n] / np.sqrt(np.where(unseen, 1.0, weights))[:, None]
        Z[unseen] = linalg.solve_triangular(R, design[unseen][:, order].T, trans="T").T
    if r == 0 or min(lams) == max(lams):
        return Reinsch(DenseBasis(Z), np.ones(r + k), np.zeros(r + k))
    c, V = _rotation(Q[:n], Q[n:])
    Z = Z @ V
    s = np.zeros(r + k)
    s[: len(c)] = np.square(c) / tau
    x = np.square(Z).sum(axis=0) if weights is None else (weights[:, None] * np.square(Z)).sum(axis=0)
    return Reinsch(DenseBasis(Z), x, s)


def _rotation(upper: FloatArray, lower: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Lengths c and V so that ``lower V`` and ``upper V`` have orthogonal columns; stacked, the two are orthonormal.

    From the singular vectors of the lower block; but where these are as good as one, they do not tell directions apart
    that the data see little of: those are the singular vectors of what is left for the upper block.
    """
    _, c, Vt = linalg.svd(lower, full_matrices=True, check_finite=False)
    V = Vt.T
    count = int((np.square(c) > 0.5).sum())
    part = upper @ V[:, :count]
    if count > 1 and np.square(part).sum(axis=0).min() < SMALL_PART:
        R = linalg.qr(part, mode="r", check_finite=False)[0][:count]  # full matrices, but none of n rows
        V[:, :count] = V[:, :count] @ linalg.svd(R, full_matrices=True, check_finite=False)[2].T
        c[:count] = np.linalg.norm(lower @ V[:, :count], axis=0)
    return c, V
