"""The residual operators of a whole path, a tile at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ..typing import BoolArray, FloatArray, IntArray
from .batched import TRUSTED, error_scale
from .operator import Operator, row_scales

__all__ = ["FactorPath", "OperatorPath", "StoredPath", "factor_path"]


class OperatorPath(Protocol):
    """Operators M_v, v = 1..V, with ``v_J = M_JJ^-1 r_J`` and held-out residuals ``u = v / rho``; see `Operator`."""

    @property
    def r(self) -> FloatArray:
        """Right-hand sides, (V, n, Q)."""

    @property
    def diagonal(self) -> FloatArray:
        """Diagonals of the operators, (V, n)."""

    @property
    def scale(self) -> FloatArray:
        """Size of the errors in the entries, in units of the machine's precision, (V,)."""

    @property
    def rho(self) -> FloatArray:
        """Scales of the rows, (n,)."""

    @property
    def light(self) -> BoolArray:
        """Rows of no weight, (n,)."""

    def tile(self, rows: IntArray, columns: IntArray) -> FloatArray:
        """``M_v[rows, columns]``, (V, rows, columns); the diagonal of M is not in it."""


@dataclass(frozen=True)
class FactorPath:
    """``M_v = identity I + sign left diag(factors_v) right'``: one basis for all values."""

    left: FloatArray
    right: FloatArray
    factors: FloatArray
    sign: float
    r: FloatArray
    diagonal: FloatArray
    scale: FloatArray
    rho: FloatArray
    light: BoolArray

    def tile(self, rows: IntArray, columns: IntArray) -> FloatArray:
        """``M_v[rows, columns]``: the values are stacked, so that it is one matrix product."""
        V, d = self.factors.shape
        stacked = (self.sign * self.factors[:, None, :] * self.left[rows]).reshape(V * len(rows), d)
        return (stacked @ self.right[columns].T).reshape(V, len(rows), len(columns))


class StoredPath:
    """Operators that are held as matrices."""

    def __init__(self, operators: Sequence[Operator]) -> None:
        self.operators = operators
        self.r = np.stack([each.r[:-1] for each in operators])
        self.diagonal = np.stack([each.diagonal() for each in operators])
        self.scale = np.array([each.trusted_scale for each in operators])
        self.rho, self.light = operators[0].rho[:-1], operators[0].light[:-1]

    def tile(self, rows: IntArray, columns: IntArray) -> FloatArray:
        """``M_v[rows, columns]``."""
        return np.stack([each.blocks(rows, columns) for each in self.operators])


def factor_path(
    Z: FloatArray,
    factors: FloatArray,
    y: FloatArray,
    weights: FloatArray | None,
    is_dual: bool,
    least: FloatArray | None = None,
) -> FactorPath:
    """From a basis in which all operators are diagonal.

    Primal: ``A = I - Z diag(factors) Z'W``, made symmetric by the roots of the weights. Dual: the rows of Z belong to y
    times the roots of the weights, and ``Q = Z diag(factors) Z'``; ``least`` (V,) is that of `Operator`.
    """
    n = len(y)
    if is_dual:
        rho = np.ones(n) if weights is None else np.sqrt(weights)
        r = np.matmul(Z, factors[:, :, None] * (Z.T @ (rho[:, None] * y)))
        diagonal = factors @ np.square(Z).T
        scale = diagonal.max(axis=1) if least is None else np.maximum(diagonal.max(axis=1), least / TRUSTED)
        return FactorPath(Z, Z, factors, 1.0, r, diagonal, scale, rho, np.zeros(n, dtype=bool))
    w, rho, light = row_scales(weights, n)
    left, right = rho[:, None] * Z, (w / rho)[:, None] * Z
    projected = Z.T @ (w[:, None] * y)
    residuals = y - np.matmul(Z, factors[:, :, None] * projected)
    diagonal = 1.0 - factors @ (left * right).T
    root = np.sqrt(w)[:, None]
    scale = error_scale(root * y, root * residuals, diagonal, None if weights is None else root[:, 0])
    return FactorPath(left, right, factors, -1.0, rho[:, None] * residuals, diagonal, scale, rho, light)
