"""Second phase of the gram route over blocks of rows: from statistics of folds to coefficients of all training sets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from ..linalg import batched
from ..linalg.downdate import Downdate
from ..linalg.precondition import Coordinates, rotate
from ..linalg.reinsch import middle_penalty
from ..typing import FloatArray, IntArray
from .collect import FoldStatistics

__all__ = ["Doubtful", "TrainingSets", "solve"]

CANCELS = 1e-6
"""Part of the pilot's squares below which those of a training set are a difference of which too few digits are left."""

Doubtful = tuple[int, tuple[int, ...], int]
"""Repeat, folds that are out, and value of a training set that must be fitted from its rows."""


@dataclass
class TrainingSets:
    """Every training set of some repeats: coefficients of the columns, and sums of squares of the folds that are out.

    ``own`` (L, K, p, V, Q) are the coefficients without each fold. ``squares`` (L, K, K, V, Q) are the weighted sums of
    the squared residuals of fold j without j and k, None where they would not keep their digits.
    """

    own: FloatArray
    squares: FloatArray | None
    doubtful: list[Doubtful]
    _T: FloatArray = field(repr=False)
    _pilot: FloatArray = field(repr=False)
    _steps: FloatArray | None = field(repr=False)

    @cached_property
    def own_residuals(self) -> FloatArray:
        """What rows ``(columns, y)`` are multiplied by for the residuals without their fold, (L, K, p + Q, V Q)."""
        return np.stack([[_residual_map(c[:, None]) for c in each] for each in self.own])

    @cached_property
    def pair_residuals(self) -> FloatArray:
        """The same without it and each other fold, (L, K, p + Q, K V Q); at itself, without it alone."""
        assert self._steps is not None
        return np.stack([[self._pair_residual(steps) for steps in each] for each in self._steps])

    def _pair_residual(self, steps: FloatArray) -> FloatArray:
        """Of one fold, from the steps (K, d, V, Q) to its training sets."""
        K, d, V, Q = steps.shape
        moved = self._T @ np.moveaxis(steps, 0, 1).reshape(d, -1)
        return _residual_map(self._pilot[:, None, None] + moved.reshape(-1, K, V, Q))


def _residual_map(coefficients: FloatArray) -> FloatArray:
    """``(-c; 1)`` for coefficients c (p, K, V, Q), as a matrix."""
    p, K, V, Q = coefficients.shape
    matrix = np.empty((p + Q, K, V, Q))
    matrix[:p] = -coefficients
    matrix[p:] = np.eye(Q)[:, None, None]
    return matrix.reshape(p + Q, -1)


def solve(
    statistics: FoldStatistics, coordinates: Coordinates, lams: FloatArray, with_pairs: bool, tick: Callable[[], None]
) -> TrainingSets | None:
    """Coefficients of all training sets; None if the coordinates are not good enough for all rows.

    With ``r = y - Z c_0`` for a pilot fit, whatever it is, the training set without the rows J has the coefficients
    ``c_0 + e`` with ``(D - G_J) e = h - g_J``: D and h are of all rows, ``G_J = Z_J'WZ_J`` and ``g_J = Z_J'Wr_J``. The
    held-out residuals are ``r_J - Z_J e``, and the sum of their squares follows from the statistics alone.
    """
    Q = len(statistics.squares)
    d = statistics.total.shape[0] - Q
    tau = middle_penalty(lams)
    rotation = rotate(statistics.total[:d, :d], coordinates.penalty, tau, d - coordinates.n_penalized if tau else d)
    if rotation is None:
        return None
    B, T = rotation.B, coordinates.T @ rotation.B
    downdate = Downdate(rotation, lams)
    grams = B.T @ statistics.products[:, :, :d, :d] @ B
    right = B.T @ statistics.products[:, :, :d, d:]  # (L, K, d, Q)
    held = T[: coordinates.n_penalized].T @ coordinates.pilot[: coordinates.n_penalized]
    all_right = B.T @ statistics.total[:d, d:]
    step = np.square(downdate.scales).T[:, :, None] * (
        all_right[:, None] - lams[:, None] * held[:, None]
    )  # (d, V, Q): from the pilot to the fit on all rows
    rest = np.diagonal(statistics.products[:, :, d:, d:], axis1=2, axis2=3)  # (L, K, Q)
    scale = _error_scale(statistics, rotation.x, step, all_right)
    work = _Work(downdate, grams, right, step, scale, tick)
    V = len(lams)
    K = grams.shape[1]
    single = np.stack([np.arange(K), np.full(K, -1)], axis=1)
    own = work.steps(single)  # (L, K, d, V, Q)
    columns = coordinates.pilot[:, None] + (T @ own.reshape(*own.shape[:3], -1)).reshape(*own.shape[:2], -1, V, Q)
    if not with_pairs:
        squares = work.squares_of(own[:, :, None], rest)
        return TrainingSets(columns, squares, work.doubtful, T, coordinates.pilot, None)
    pairs = np.stack(np.triu_indices(K, 1), axis=1)
    found = work.steps(pairs)
    steps = np.empty((len(grams), K, K, *own.shape[2:]))
    steps[:, np.arange(K), np.arange(K)] = own
    steps[:, pairs[:, 0], pairs[:, 1]] = steps[:, pairs[:, 1], pairs[:, 0]] = found
    squares = work.squares_of(steps, rest)
    return TrainingSets(columns, squares, work.doubtful, T, coordinates.pilot, steps)


def _error_scale(statistics: FoldStatistics, x: FloatArray, step: FloatArray, right: FloatArray) -> FloatArray:
    """`batched.error_scale` (V,), with the residuals of the fit on all rows for held-out ones, which are larger."""
    Q = len(statistics.squares)
    rest = np.diagonal(statistics.total[-Q:, -Q:])
    moved = np.einsum("dvq,dvq,d->vq", step, step, x) - 2 * np.einsum("dvq,dq->vq", step, right)
    return batched.error_scale_of(np.sqrt(statistics.squares), np.sqrt(np.maximum(rest + moved, 0.0)))


class _Work:
    """Solves the systems, and notes those that cannot be trusted."""

    def __init__(
        self,
        downdate: Downdate,
        grams: FloatArray,
        right: FloatArray,
        step: FloatArray,
        scale: FloatArray,
        tick: Callable[[], None],
    ) -> None:
        self.downdate, self.grams, self.right, self.step, self.scale, self.tick = (
            downdate,
            grams,
            right,
            step,
            scale,
            tick,
        )
        L, K, d, Q = right.shape
        moved = (grams @ step.reshape(d, -1)).reshape(L, K, d, -1, Q)
        self._right = right[:, :, :, None] - moved  # at the fit on all rows
        self.doubtful: list[Doubtful] = []

    def steps(self, sets: IntArray) -> FloatArray:
        """From the pilot to each training set, (L, S, d, V, Q); to the fit on all rows where it cannot be trusted."""
        change, squares = self.downdate.solve(self.grams, self._right, sets)
        self.tick()
        for repeat, index, value, out in self.downdate.untrusted(self.grams, squares, self.scale, sets):
            self.doubtful.append((repeat, out, value))
            change[repeat, index, :, value] = 0.0
        return self.step - change

    def squares_of(self, steps: FloatArray, rest: FloatArray) -> FloatArray | None:
        """Sums of the squared residuals of fold j, (L, K, P, V, Q), after steps (L, K, P, d, V, Q); None if few digits.

        ``||r - Z e||^2 = r'r - 2 e'g + e'Ge`` over the rows of the fold; the pilot fits them about as well as any, so
        that it is no small difference.
        """
        L, K, P, d, V, Q = steps.shape
        squares = np.empty((L, K, P, V, Q))
        for repeat, fold in np.ndindex(L, K):
            e = np.moveaxis(steps[repeat, fold], 0, 1)  # (d, P, V, Q)
            curved = (self.grams[repeat, fold] @ e.reshape(d, -1)).reshape(e.shape)
            curved -= 2 * self.right[repeat, fold][:, None, None]
            squares[repeat, fold] = rest[repeat, fold] + np.einsum("dpvq,dpvq->pvq", e, curved)
        return squares if (squares > CANCELS * rest[:, :, None, None]).all() else None
